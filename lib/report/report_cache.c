/* SPDX-License-Identifier: BSD-2-Clause */
/* How cold a run was: the line of reports that says what of the database was in memory. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "report/result.h"

struct line {
	char text[320];
	size_t used;
	char total[UNITS_SIZE]; /* that was told last; "" */
};

static void NB_PRINTF(2, 3) add(struct line *line, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	int length = vsnprintf(
		line->text + line->used, sizeof(line->text) - line->used, fmt, args);
	va_end(args);
	if (length > 0 && line->used + (size_t)length < sizeof(line->text))
		line->used += (size_t)length;
}

/** "41 % when the first operation began", with the size where that is another than before. */
static void
add_share(struct line *line, const struct residency *residency, const char *when)
{
	char total[UNITS_SIZE];
	if (!residency->is_known || residency->total_bytes == 0)
		return;
	double percent = 100 * (double)residency->resident_bytes /
		(double)residency->total_bytes;
	bool is_first = line->total[0] == '\0';
	add(line, "%s%.*f %%", is_first ? "; " : ", ", percent < 10 ? 1 : 0, percent);
	units_format_bytes(total, sizeof(total), (double)residency->total_bytes);
	if (strcmp(line->total, total) != 0)
		add(line, " of %s%s", total, is_first ? " resident" : "");
	add(line, " %s", when);
	strcpy(line->total, total);
}

void
report_cache_state(const struct nb_result *result, FILE *out)
{
	static const char *const made_cold[] = {
		[COLD_FILES] = "cold: files evicted", [COLD_CACHES] = "cold: caches dropped"};
	const struct measurement *measured = &result->measured;
	struct line line = {.used = 0};
	if (measured->cold != COLD_NOT)
		add(&line, "%s", made_cold[measured->cold]);
	else
		add(&line, "%s", measured->had_data ? "as it was found" : "new database");
	add_share(&line, &measured->residency_before, "before");
	if (measured->had_data)
		add_share(&line, &measured->residency_begin, "when the first operation began");
	add_share(&line, &measured->residency_after, "after");
	if (measured->residency_after.unread > 0)
		add(&line, "; of %u files that is not known", measured->residency_after.unread);
	if (line.total[0] != '\0')
		report_line(out, "Cache state", "%s", line.text);
	else if (measured->cold != COLD_NOT)
		report_line(out, "Cache state", "%s; how much stayed resident is not known",
			made_cold[measured->cold]);
}
