/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine's counters, a line each: first those that grew, then the levels at the end, in
 * the engine's order. Those that are 0 are left out, since most engines have many that one
 * run does not touch.
 *
 * "Per op" is over all operations of the time that was counted, a warm-up included. It is left
 * out where it would be rounded to nothing.
 *
 * Bytes and times have their own units. Any other unit follows the number, unless the name
 * contains it: "flushed_lines 12", "splits 12 leaves".
 */
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "report/report.h"

static const double share_least = 0.01; /* the last that units.h writes as above 0 */

/** " (1.73 per op)", or nothing. */
static void
add_share(struct doc *doc, const struct counter *counter, uint64_t ops)
{
	char each[UNITS_SIZE];
	double share = ops > 0 ? (double)counter->value / (double)ops : 0;
	if (counter->kind != NB_STAT_COUNTER || share < share_least)
		return;
	if (units_format_of(each, sizeof(each), counter->unit, share))
		doc_more(doc, " (%s per op)", each);
	else
		doc_more(doc, share < 100 ? " (%.3g per op)" : " (%.0f per op)", share);
}

static void
add_counter(struct doc *doc, const struct counter *counter, uint64_t ops)
{
	char value[UNITS_SIZE];
	doc_line(doc, counter->kind == NB_STAT_COUNTER ? "Counter" : "Gauge", "%s ",
		counter->name);
	if (units_format_of(value, sizeof(value), counter->unit, (double)counter->value))
		doc_more(doc, "%s", value);
	else if (strstr(counter->name, counter->unit) == NULL)
		doc_more(doc, "%" PRIu64 " %s", counter->value, counter->unit);
	else
		doc_more(doc, "%" PRIu64, counter->value);
	add_share(doc, counter, ops);
}

static void
add_kind(struct doc *doc, const struct nb_result *result, uint32_t kind)
{
	const struct counters *counters = &result->measured.counters;
	for (size_t i = 0; i < counters->count; i++) {
		const struct counter *it = &counters->items[i];
		if (it->kind == kind && it->value != 0 && !it->has_run_back)
			add_counter(doc, it, result->measured.usage_ops);
	}
}

void
report_counters(struct doc *doc, const struct nb_result *result)
{
	if (result->is_of_processes && result->has_counters)
		doc_line(doc, "Counters", "not known of several processes");
	add_kind(doc, result, NB_STAT_COUNTER);
	add_kind(doc, result, NB_STAT_GAUGE);
}
