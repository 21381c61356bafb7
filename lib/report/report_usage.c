/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The system resources that a run used: memory, faults, bytes at each layer, the processor,
 * and its stalls. An unknown quantity has no line. The exception is the processor's
 * counters: most rented machines have none, so text gives the reason.
 *
 * "2.3x" is relative to a requested byte of keys and values; see figures.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "report/metric.h"
#include "report/report.h"

/** Append " (2.34x)"; nothing if it is unknown or would be rounded to 0. */
static void
add_times(struct doc *doc, double times)
{
	if (times >= 0.005)
		doc_more(doc, " (%.*fx)",
			times < 10            ? 2
				: times < 100 ? 1
					      : 0,
			times < 1e15 ? times : 1e15);
}

/** The charged memory shows whether the limit included the page cache. */
static void
add_limit(struct doc *doc, const struct memory_use *memory)
{
	if (memory->limit_bytes == 0)
		return;
	doc_line(doc, "Memory limit", "%s, and %s for mininb itself",
		UNITS_BYTES(memory->limit_bytes), UNITS_BYTES(memory->harness_bytes));
	doc_line(doc, "Memory peak", "%s charged; after settling %s anonymous, %s page cache",
		UNITS_BYTES(memory->peak_bytes), UNITS_BYTES(memory->anonymous_bytes),
		UNITS_BYTES(memory->file_bytes));
	if (memory->pressure_ns > 0)
		doc_more(doc, "; %.3f s of waiting for memory",
			(double)memory->pressure_ns / 1e9);
	if (memory->kills > 0)
		doc_more(doc, "; %" PRIu64 " killed by the limit", memory->kills);
}

void
report_memory(struct doc *doc, const struct nb_result *result)
{
	const struct measurement *measured = &result->measured;
	const struct system_levels *levels = &measured->after;
	doc_line(doc, "Memory", "%s resident at most",
		UNITS_BYTES(measured->max_resident_bytes));
	if (levels->anonymous_bytes + levels->file_bytes > 0)
		doc_more(doc, "; at the end %s anonymous, %s of files",
			UNITS_BYTES(levels->anonymous_bytes), UNITS_BYTES(levels->file_bytes));
	if (levels->anonymous_bytes + levels->file_bytes > 0 && levels->shared_bytes > 0)
		doc_more(doc, ", shared %s", UNITS_BYTES(levels->shared_bytes));
	add_limit(doc, &measured->memory);
}

static void
add_process(struct doc *doc, const struct measurement *measured)
{
	const struct system_counts *used = &measured->used;
	uint64_t ns = measured->usage_ns;
	if ((used->known & SYSTEM_PROCESS) == 0)
		return;
	doc_line(doc, "Faults", "%" PRIu64 " minor (%.0f/s), %" PRIu64 " major (%.0f/s)",
		used->minor_faults, result_rate((double)used->minor_faults, ns),
		used->major_faults, result_rate((double)used->major_faults, ns));
	doc_line(doc, "Switches", "%.0f/s voluntary, %.0f/s involuntary",
		result_rate((double)used->voluntary_switches, ns),
		result_rate((double)used->involuntary_switches, ns));
}

static void
add_layer(struct doc *doc, const char *label, const char *layer, uint64_t bytes, double times)
{
	doc_list(doc, label, "%s %s", layer, UNITS_BYTES(bytes));
	add_times(doc, times);
}

/**
 * Add the layers of one direction. If the process wrote nothing, the device's bytes belong
 * to others.
 */
static void
add_layers(struct doc *doc, const char *label, const struct measurement *measured,
	const uint64_t bytes[3], const double times[3])
{
	if ((measured->used.known & SYSTEM_IO) != 0) {
		add_layer(doc, label, "calls", bytes[0], times[0]);
		add_layer(doc, label, "storage", bytes[1], times[1]);
	}
	if ((measured->used.known & SYSTEM_DEVICE) != 0)
		add_layer(doc, label, "device", bytes[2], times[2]);
}

static void
add_bytes(struct doc *doc, const struct measurement *measured,
	const struct record_figures *figures)
{
	const struct system_counts *used = &measured->used, *after = &measured->used_after;
	uint64_t called = used->call_write_bytes + after->call_write_bytes;
	uint64_t dirtied = used->storage_write_bytes + after->storage_write_bytes;
	uint64_t removed = used->cancelled_write_bytes + after->cancelled_write_bytes;
	const uint64_t written[] = {called, dirtied > removed ? dirtied - removed : 0,
		used->device_write_bytes + after->device_write_bytes};
	const uint64_t read[] = {
		used->call_read_bytes, used->storage_read_bytes, used->device_read_bytes};
	const double write_times[] = {
		figures->write_calls, figures->write_storage, figures->write_device};
	const double read_times[] = {
		figures->read_calls, figures->read_storage, figures->read_device};
	if (figures->logical_write_bytes > 0 || called + dirtied > 0)
		add_layers(doc, "Bytes written", measured, written, write_times);
	if (figures->logical_read_bytes > 0 || read[0] + read[1] > 0)
		add_layers(doc, "Bytes read", measured, read, read_times);
}

/** In Markdown: the bytes of each layer per requested byte. */
static void
add_amplification(
	struct doc *doc, const char *label, double calls, double storage, double device)
{
	if (calls > 0)
		doc_list(doc, label, "%.3g by calls", calls);
	if (storage > 0)
		doc_list(doc, label, "%.3g by storage", storage);
	if (device > 0)
		doc_list(doc, label, "%.3g by device", device);
}

static void
add_syncs(struct doc *doc, const struct nb_result *result)
{
	char text[512];
	result_syncs_text(result, text, sizeof(text));
	if (text[0] != '\0')
		doc_line(doc, "Syncs", "%s", text);
}

static void
add_space(struct doc *doc, const struct measurement *measured,
	const struct record_figures *figures)
{
	if (figures->live_bytes == 0 || measured->data_bytes == 0)
		return;
	doc_line(doc, "Space", "%s allocated for %s of keys and values",
		UNITS_BYTES(measured->data_bytes), UNITS_BYTES(figures->live_bytes));
	add_times(doc, figures->space);
}

/** Print the part of used_missing about the processor's counters, up to the next part. */
static void
add_no_processor(struct doc *doc, const struct measurement *measured)
{
	static const char head[] = "hardware counters: ";
	const char *why = strstr(measured->used_missing, head);
	if (why == NULL)
		return;
	why += strlen(head);
	doc_line(doc, "Processor", "not counted: %.*s", (int)strcspn(why, ";"), why);
}

static void
add_processor(struct doc *doc, const struct measurement *measured,
	const struct record_figures *figures)
{
	if ((measured->used.known & SYSTEM_CYCLES) == 0)
		add_no_processor(doc, measured);
	if (figures->cycles_op <= 0)
		return;
	doc_line(doc, "Processor", "%.0f cycles/op, %.0f instructions/op, IPC %.2f",
		figures->cycles_op, figures->instructions_op,
		figures->instructions_op / figures->cycles_op);
	if ((measured->used.known & SYSTEM_CACHE) != 0)
		doc_more(doc, ", %.3g cache misses/op", figures->cache_misses_op);
	if (strstr(measured->used_missing, "user code only") != NULL)
		doc_more(doc, " (user code only)");
}

/** Add the metrics that have their own line. */
static void
add_metrics(struct doc *doc, const struct metric_source *source)
{
	for (const struct metric *it = metric_table; it->name != NULL; it++) {
		char text[160] = "";
		if (it->missing != NULL)
			metric_line(it, source, text, sizeof(text));
		if (text[0] != '\0')
			doc_line(doc, it->line, "%s", text);
	}
}

/* ---- stalls ---- */

static const struct stall *
worst_of(const struct stalls *stalls)
{
	const struct stall *worst = NULL;
	for (size_t i = 0; i < stalls->count; i++)
		if (worst == NULL || stalls->worst[i].duration_ns > worst->duration_ns)
			worst = &stalls->worst[i];
	return worst;
}

static void
add_stalls_text(struct doc *doc, const struct stalls *stalls)
{
	const struct stall *worst = worst_of(stalls);
	if (worst == NULL) {
		doc_line(doc, "Stalls", "none in %s", UNITS_NS(stalls->looked_ns));
		return;
	}
	doc_line(doc, "Stalls", "%s of %s below half of %.0f ops/sec, ",
		UNITS_NS(stalls->slow_ns), UNITS_NS(stalls->looked_ns), stalls->median_ops_s);
	if (stalls->longest_gap_ns > 0)
		doc_more(doc, "longest gap %s", UNITS_NS(stalls->longest_gap_ns));
	else
		doc_more(doc, "no gap");
	doc_line(doc, "Worst stall", "%s at %s, %.0f ops/sec%s%s", UNITS_NS(worst->duration_ns),
		UNITS_NS(worst->begin_ns), worst->rate_ops_s,
		worst->cause[0] != '\0' ? ": " : "", worst->cause);
}

static void
add_stalls_markdown(struct doc *doc, const struct stalls *stalls)
{
	static const struct doc_column columns[] = {{"at", DOC_RIGHT, 0}, {"for", DOC_RIGHT, 0},
		{"ops/s then", DOC_RIGHT, 0}, {"meanwhile", DOC_LEFT, 0}};
	doc_line(doc, "Stalls",
		"longest time without an operation %s, at %s; below half of the median rate of %.0f ops/s for %s of %s",
		UNITS_NS(stalls->longest_gap_ns), UNITS_NS(stalls->longest_gap_at_ns),
		stalls->median_ops_s, UNITS_NS(stalls->slow_ns), UNITS_NS(stalls->looked_ns));
	doc_table(doc, columns, 0, DOC_APART);
	for (size_t i = 0; i < stalls->count; i++) {
		const struct stall *it = &stalls->worst[i];
		doc_row(doc);
		doc_cell(doc, "%s", UNITS_NS(it->begin_ns));
		doc_cell_ns(doc, (double)it->duration_ns);
		doc_cell(doc, "%.0f", it->rate_ops_s);
		doc_cell(doc, "%s", it->cause);
	}
}

/** Text and Markdown show the same quantities in different lines; both have "Syncs". */
void
report_usage(struct doc *doc, const struct record *record)
{
	struct metric_source source = {.record = record};
	const struct measurement *measured = &record->run->measured;
	const struct record_figures *figures = &source.figures;
	record_figures(record, &source.figures);
	doc_show(doc, DOC_TEXT);
	add_process(doc, measured);
	add_bytes(doc, measured, figures);
	doc_show(doc, DOC_MARKDOWN);
	if (figures->cycles_op > 0)
		doc_line(doc, "Processor",
			"%.0f cycles and %.0f instructions for an operation, %.3g cache misses",
			figures->cycles_op, figures->instructions_op, figures->cache_misses_op);
	add_amplification(doc, "Write amplification", figures->write_calls,
		figures->write_storage, figures->write_device);
	add_amplification(doc, "Read amplification", figures->read_calls, figures->read_storage,
		figures->read_device);
	doc_show(doc, 0);
	add_syncs(doc, record->run);
	doc_show(doc, DOC_TEXT);
	add_space(doc, measured, figures);
	add_processor(doc, measured, figures);
	doc_show(doc, 0);
	add_metrics(doc, &source);
	doc_show(doc, DOC_TEXT);
	if (figures->stalls.looked_ns > 0)
		add_stalls_text(doc, &figures->stalls);
	doc_show(doc, DOC_MARKDOWN);
	if (figures->space > 0)
		doc_line(doc, "Space amplification", "%.3g", figures->space);
	if (figures->resident_share >= 0 && measured->residency_begin.is_known)
		doc_line(doc, "In the page cache at the begin", "%.1f %% of the database",
			100 * figures->resident_share);
	if (figures->stalls.looked_ns > 0)
		add_stalls_markdown(doc, &figures->stalls);
	doc_show(doc, 0);
}
