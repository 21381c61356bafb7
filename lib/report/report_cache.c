/* SPDX-License-Identifier: BSD-2-Clause */
/* How cold a run was: the line of text that says how much of the database was in memory. */
#include <string.h>

#include "base/units.h"
#include "report/report.h"

/**
 * "41 % when the first operation began"; with the size if the share before had another.
 * `told` is the size that was written last, "" before the first share.
 */
static void
add_share(struct doc *doc, char told[UNITS_SIZE], const struct residency *residency,
	const char *when)
{
	if (!residency->is_known || residency->total_bytes == 0)
		return;
	double percent = 100 * (double)residency->resident_bytes /
		(double)residency->total_bytes;
	bool is_first = told[0] == '\0';
	const char *total = UNITS_BYTES(residency->total_bytes);
	doc_more(doc, "%s%.*f %%", is_first ? "; " : ", ", percent < 10 ? 1 : 0, percent);
	if (strcmp(told, total) != 0)
		doc_more(doc, " of %s%s", total, is_first ? " resident" : "");
	doc_more(doc, " %s", when);
	strcpy(told, total);
}

static bool
is_known(const struct residency *residency)
{
	return residency->is_known && residency->total_bytes > 0;
}

void
report_cache_state(struct doc *doc, const struct nb_result *result)
{
	static const char *const made_cold[] = {
		[COLD_FILES] = "cold: files evicted", [COLD_CACHES] = "cold: caches dropped"};
	const struct measurement *measured = &result->measured;
	bool has_begin = measured->had_data && is_known(&measured->residency_begin);
	bool has_any = is_known(&measured->residency_before) || has_begin ||
		is_known(&measured->residency_after);
	char told[UNITS_SIZE] = "";
	if (!has_any && measured->cold == COLD_NOT)
		return;
	doc_line(doc, "Cache state", "%s",
		measured->cold != COLD_NOT   ? made_cold[measured->cold]
			: measured->had_data ? "as it was found"
					     : "new database");
	if (!has_any) {
		doc_more(doc, "; how much stayed resident is not known");
		return;
	}
	add_share(doc, told, &measured->residency_before, "before");
	if (measured->had_data)
		add_share(doc, told, &measured->residency_begin,
			"when the first operation began");
	add_share(doc, told, &measured->residency_after, "after");
	if (measured->residency_after.unread > 0)
		doc_more(doc, "; of %u files that is not known",
			measured->residency_after.unread);
}
