/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the run used over time. A table of charts, each a few fields of the counts or of the
 * levels; one of which nothing is known, or which stayed 0, is named and not drawn.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "report/html.h"
#include "report/html_text.h"

enum { FIELDS = 3 };

struct field {
	const char *name;
	size_t offset; /* of a uint64_t, within system_counts or system_levels */
};

struct resource {
	const char *title, *y_name;
	enum svg_unit unit;
	uint64_t known; /* SYSTEM_* that it needs; 0: levels */
	double scale;   /* of the unit, per second, or of a level */
	bool is_stacked;
	struct field fields[FIELDS];
};

#define COUNT(field) offsetof(struct system_counts, field)
#define LEVEL(field) offsetof(struct system_levels, field)

static const struct resource resources[] = {
	{"CPU time", "CPUs", SVG_COUNT, SYSTEM_PROCESS, 1e-9, true,
		{{"user", COUNT(user_ns)}, {"user + system", COUNT(system_ns)}}},
	{"Resident memory", "bytes", SVG_BYTES, 0, 1, true,
		{{"anonymous", LEVEL(anonymous_bytes)},
			{"anonymous + file", LEVEL(file_bytes)}}},
	{"Bytes by calls", "bytes per second", SVG_BYTES, SYSTEM_IO, 1, false,
		{{"read(2) and kin", COUNT(call_read_bytes)},
			{"write(2) and kin", COUNT(call_write_bytes)}}},
	{"Bytes of storage", "bytes per second", SVG_BYTES, SYSTEM_IO, 1, false,
		{{"fetched", COUNT(storage_read_bytes)},
			{"dirtied", COUNT(storage_write_bytes)}}},
	{"Bytes of the device, whoever used it", "bytes per second", SVG_BYTES, SYSTEM_DEVICE,
		1, false,
		{{"read", COUNT(device_read_bytes)}, {"written", COUNT(device_write_bytes)}}},
	{"Device busy", "share of the time", SVG_COUNT, SYSTEM_DEVICE, 1e-9, false,
		{{"busy", COUNT(device_busy_ns)}}},
	{"Page faults", "faults per second", SVG_COUNT, SYSTEM_PROCESS, 1, false,
		{{"minor", COUNT(minor_faults)}, {"major", COUNT(major_faults)}}},
	{"Context switches", "switches per second", SVG_COUNT, SYSTEM_PROCESS, 1, false,
		{{"voluntary", COUNT(voluntary_switches)},
			{"involuntary", COUNT(involuntary_switches)}}},
	{"Database and dirty page cache", "bytes", SVG_BYTES, 0, 1, false,
		{{"database", LEVEL(data_bytes)},
			{"dirty, of the machine", LEVEL(dirty_bytes)}}},
	{"Some task was held up (pressure)", "share of the time", SVG_COUNT, SYSTEM_PRESSURE,
		1e-9, false,
		{{"CPU", COUNT(pressure_cpu_ns)}, {"memory", COUNT(pressure_memory_ns)},
			{"I/O", COUNT(pressure_io_ns)}}},
	{"Taken by the hypervisor or the cgroup", "CPUs", SVG_COUNT, SYSTEM_MACHINE, 1e-9,
		false, {{"steal", COUNT(steal_ns)}, {"throttled", COUNT(throttled_ns)}}},
	{"Swap, of the machine", "bytes per second", SVG_BYTES, SYSTEM_MACHINE, 1, false,
		{{"in", COUNT(swap_in_bytes)}, {"out", COUNT(swap_out_bytes)}}},
	{"Processor", "per second", SVG_COUNT, SYSTEM_CYCLES, 1, false,
		{{"cycles", COUNT(cycles)}, {"instructions", COUNT(instructions)}}},
	{"Cache misses", "per second", SVG_COUNT, SYSTEM_CACHE, 1, false,
		{{"misses", COUNT(cache_misses)}}},
};

enum { RESOURCES = sizeof(resources) / sizeof(*resources) };

static double
read_field(const struct span *span, const struct resource *it, size_t field)
{
	uint64_t value;
	const char *from = it->known != 0 ? (const char *)&span->used
					  : (const char *)&span->levels;
	memcpy(&value, from + it->fields[field].offset, sizeof(value));
	double scaled = (double)value * it->scale;
	return it->known != 0 ? scaled / span_s(span) : scaled;
}

/** Stacked ones stand on those before them. *is_any: one is not 0. */
static const double *
values_of(struct page *page, const struct spans *spans, const struct resource *it, size_t field,
	bool *is_any)
{
	double *y = page_numbers(page, spans->count);
	for (size_t i = 0; y != NULL && i < spans->count; i++) {
		const struct span *span = &spans->items[i];
		bool is_known = it->known == 0 || (span->used.known & it->known) == it->known;
		y[i] = NAN;
		if (span->count == 0 || !is_known)
			continue;
		double own = read_field(span, it, field);
		*is_any |= own > 0;
		y[i] = own;
		for (size_t f = 0; it->is_stacked && f < field; f++)
			y[i] += read_field(span, it, f);
	}
	return y;
}

static bool
write_resource(struct page *page, const struct series *series, const struct spans *spans,
	const double *x, const struct resource *it, const char *sync)
{
	bool is_any = false;
	struct chart chart = {.title = it->title,
		.what = "What the system counted over the time of the run.",
		.y_name = it->y_name,
		.y_unit = it->unit,
		.is_small = true,
		.x = x,
		.count = spans->count};
	chart_set_time(&chart, series, sync);
	for (size_t f = 0; f < FIELDS && it->fields[f].name != NULL; f++) {
		const double *y = values_of(page, spans, it, f, &is_any);
		if (y != NULL)
			chart_add_line(&chart, it->fields[f].name, y, it->is_stacked && f == 0);
	}
	return is_any && page_chart(page, &chart);
}

/** With a rate: how much was overdue. */
static void
write_behind(struct page *page, const struct series *series, const struct spans *spans,
	const double *x, const char *sync)
{
	bool is_any = false;
	double *y = page_numbers(page, spans->count);
	for (size_t i = 0; y != NULL && i < spans->count; i++) {
		is_any |= spans->items[i].behind_ops > 0;
		y[i] = spans->items[i].count > 0 ? (double)spans->items[i].behind_ops : NAN;
	}
	if (!is_any)
		return;
	struct chart chart = {.title = "Queue: operations due and not done",
		.what = "How many operations were overdue, over the time of the run.",
		.y_name = "operations",
		.y_unit = SVG_COUNT,
		.is_small = true,
		.x = x,
		.count = spans->count};
	chart_set_time(&chart, series, sync);
	chart_add_line(&chart, "overdue", y, true);
	page_chart(page, &chart);
}

void
page_resources(struct page *page, const struct record *record, const char *sync)
{
	const struct series *series = &record->run->measured.series;
	const struct resource *left_out[RESOURCES];
	size_t left = 0;
	struct spans spans = page_spans(page, series, page->small_points);
	const double *x = spans_x(page, &spans);
	fputs("<h3>Resources over time</h3>\n", page->out);
	if (spans.count == 0 || x == NULL) {
		fputs("<p>What was used over time was not kept.</p>\n", page->out);
		return;
	}
	fputs("<div class=\"grid\">\n", page->out);
	write_behind(page, series, &spans, x, sync);
	for (size_t i = 0; i < RESOURCES; i++) {
		if (!write_resource(page, series, &spans, x, &resources[i], sync))
			left_out[left++] = &resources[i];
	}
	fputs("</div>\n", page->out);
	for (size_t i = 0; i < left; i++) {
		fputs(i == 0 ? "<p class=\"aside\">Not known, or 0 throughout: " : "; ",
			page->out);
		html_text(page->out, left_out[i]->title);
	}
	fputs(left > 0 ? ".</p>\n" : "", page->out);
}
