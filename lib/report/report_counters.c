/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the engine has counted, a line each: first what grew, then the levels at the end, in
 * the engine's order. Those that are 0 are left out, since most engines have many that one
 * run does not touch.
 *
 * "Per op" is of all operations in the time that was counted, so those of a warm-up, too. It
 * is left out where it would be rounded to nothing: a thing that happens once in thousands
 * of operations is none of an operation.
 *
 * Bytes and times stand in their own units; any other unit stands behind the number, unless
 * the name says it already: "flushed_lines 12", "splits 12 leaves".
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "report/result.h"

enum { SHARE_SIZE = UNITS_SIZE + 16 };

static const double share_least = 0.01; /* the last that units.h writes as above 0 */

static bool
has_unit(const struct counter *counter, const char *unit)
{
	return strcmp(counter->unit, unit) == 0;
}

/** Whether the unit is one of those that units.h writes; then it is. */
static bool
format_scaled(char *text, size_t size, const struct counter *counter, double value)
{
	if (has_unit(counter, "bytes"))
		units_format_bytes(text, size, value);
	else if (has_unit(counter, "ns"))
		units_format_ns(text, size, value);
	else if (has_unit(counter, "us"))
		units_format_ns(text, size, value * 1e3);
	else
		return false;
	return true;
}

/** " (1.73 per op)", or nothing. */
static void
format_share(char *text, size_t size, const struct counter *counter, uint64_t ops)
{
	char each[UNITS_SIZE];
	double share = ops > 0 ? (double)counter->value / (double)ops : 0;
	text[0] = '\0';
	if (counter->kind != NB_STAT_COUNTER || share < share_least)
		return;
	if (!format_scaled(each, sizeof(each), counter, share))
		snprintf(each, sizeof(each), share < 100 ? "%.3g" : "%.0f", share);
	snprintf(text, size, " (%s per op)", each);
}

static void
write_counter(const struct counter *counter, uint64_t ops, FILE *out)
{
	char value[UNITS_SIZE], share[SHARE_SIZE];
	const char *unit = "";
	if (!format_scaled(value, sizeof(value), counter, (double)counter->value)) {
		snprintf(value, sizeof(value), "%" PRIu64, counter->value);
		unit = strstr(counter->name, counter->unit) == NULL ? counter->unit : "";
	}
	format_share(share, sizeof(share), counter, ops);
	report_line(out, counter->kind == NB_STAT_COUNTER ? "Counter" : "Gauge", "%s %s%s%s%s",
		counter->name, value, unit[0] != '\0' ? " " : "", unit, share);
}

static void
write_kind(const struct nb_result *result, uint32_t kind, FILE *out)
{
	const struct counters *counters = &result->measured.counters;
	for (size_t i = 0; i < counters->count; i++) {
		const struct counter *it = &counters->items[i];
		if (it->kind == kind && it->value != 0 && !it->has_run_back)
			write_counter(it, result->measured.usage_ops, out);
	}
}

void
report_counters(const struct nb_result *result, FILE *out)
{
	if (result->is_of_processes && result->has_counters)
		report_line(out, "Counters", "not known of several processes");
	write_kind(result, NB_STAT_COUNTER, out);
	write_kind(result, NB_STAT_GAUGE, out);
}
