/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a run took of the system, below the engine: memory, faults, bytes at each layer, the
 * processor, and when it stood still. A line for what is known, none for what is not, but for
 * the processor's counters, of which most machines that are rented have none: that is said.
 *
 * "2.3x" is for a byte of keys and values that was asked for; see figures.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "report/record.h"

enum { TIMES_SIZE = 24, PART_SIZE = UNITS_SIZE + TIMES_SIZE + 16, SYNCS_SIZE = 512 };

/** " (2.34x)"; nothing if it is not known, or would be rounded to nothing. */
static void
format_times(char text[TIMES_SIZE], double times)
{
	text[0] = '\0';
	if (times >= 0.005)
		snprintf(text, TIMES_SIZE,
			times < 10            ? " (%.2fx)"
				: times < 100 ? " (%.1fx)"
					      : " (%.0fx)",
			times < 1e15 ? times : 1e15);
}

void
report_memory(const struct nb_result *result, FILE *out)
{
	const struct measurement *measured = &result->measured;
	const struct system_levels *levels = &measured->after;
	char most[UNITS_SIZE], anonymous[UNITS_SIZE], files[UNITS_SIZE], shared[UNITS_SIZE];
	units_format_bytes(most, sizeof(most), (double)measured->max_resident_bytes);
	units_format_bytes(anonymous, sizeof(anonymous), (double)levels->anonymous_bytes);
	units_format_bytes(files, sizeof(files), (double)levels->file_bytes);
	units_format_bytes(shared, sizeof(shared), (double)levels->shared_bytes);
	if (levels->anonymous_bytes + levels->file_bytes == 0)
		report_line(out, "Memory", "%s resident at most", most);
	else
		report_line(out, "Memory",
			"%s resident at most; at the end %s anonymous, %s of files%s%s", most,
			anonymous, files, levels->shared_bytes > 0 ? ", shared " : "",
			levels->shared_bytes > 0 ? shared : "");
}

static void
write_process(const struct measurement *measured, FILE *out)
{
	const struct system_counts *used = &measured->used;
	uint64_t ns = measured->usage_ns;
	if ((used->known & SYSTEM_PROCESS) == 0)
		return;
	report_line(out, "Faults", "%" PRIu64 " minor (%.0f/s), %" PRIu64 " major (%.0f/s)",
		used->minor_faults, result_rate((double)used->minor_faults, ns),
		used->major_faults, result_rate((double)used->major_faults, ns));
	report_line(out, "Switches", "%.0f/s voluntary, %.0f/s involuntary",
		result_rate((double)used->voluntary_switches, ns),
		result_rate((double)used->involuntary_switches, ns));
}

struct layer {
	const char *name;
	bool is_known;
	uint64_t bytes;
	double times;
};

static void
write_layers(const char *name, const struct layer layers[3], FILE *out)
{
	char text[3 * PART_SIZE] = "", bytes[UNITS_SIZE], times[TIMES_SIZE];
	size_t used = 0;
	for (size_t i = 0; i < 3; i++) {
		if (!layers[i].is_known)
			continue;
		units_format_bytes(bytes, sizeof(bytes), (double)layers[i].bytes);
		format_times(times, layers[i].times);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s%s",
			used > 0 ? ", " : "", layers[i].name, bytes, times);
	}
	if (used > 0)
		report_line(out, name, "%s", text);
}

/** With nothing read or written by the process the device's are those of others. */
static void
write_bytes(const struct measurement *measured, const struct record_figures *figures, FILE *out)
{
	const struct system_counts *used = &measured->used, *after = &measured->used_after;
	bool has_io = (used->known & SYSTEM_IO) != 0;
	bool has_device = (used->known & SYSTEM_DEVICE) != 0;
	uint64_t called = used->call_write_bytes + after->call_write_bytes;
	uint64_t dirtied = used->storage_write_bytes + after->storage_write_bytes;
	uint64_t removed = used->cancelled_write_bytes + after->cancelled_write_bytes;
	const struct layer written[] = {{"calls", has_io, called, figures->write_calls},
		{"storage", has_io, dirtied > removed ? dirtied - removed : 0,
			figures->write_storage},
		{"device", has_device, used->device_write_bytes + after->device_write_bytes,
			figures->write_device}};
	const struct layer read[] = {
		{"calls", has_io, used->call_read_bytes, figures->read_calls},
		{"storage", has_io, used->storage_read_bytes, figures->read_storage},
		{"device", has_device, used->device_read_bytes, figures->read_device}};
	if (figures->logical_write_bytes > 0 || called + dirtied > 0)
		write_layers("Bytes written", written, out);
	if (figures->logical_read_bytes > 0 ||
		used->call_read_bytes + used->storage_read_bytes > 0)
		write_layers("Bytes read", read, out);
}

static void
write_syncs(const struct nb_result *result, FILE *out)
{
	char text[SYNCS_SIZE];
	result_syncs_text(result, text, sizeof(text));
	if (text[0] != '\0')
		report_line(out, "Syncs", "%s", text);
}

static void
write_space(const struct measurement *measured, const struct record_figures *figures, FILE *out)
{
	char allocated[UNITS_SIZE], live[UNITS_SIZE], times[TIMES_SIZE];
	if (figures->live_bytes == 0 || measured->data_bytes == 0)
		return;
	units_format_bytes(allocated, sizeof(allocated), (double)measured->data_bytes);
	units_format_bytes(live, sizeof(live), (double)figures->live_bytes);
	format_times(times, figures->space);
	report_line(out, "Space", "%s allocated for %s of keys and values%s", allocated, live,
		times);
}

/** The part of used_missing that is of them, up to the next. */
static void
write_no_processor(const struct measurement *measured, FILE *out)
{
	static const char head[] = "hardware counters: ";
	const char *why = strstr(measured->used_missing, head);
	if (why == NULL)
		return;
	why += strlen(head);
	report_line(out, "Processor", "not counted: %.*s", (int)strcspn(why, ";"), why);
}

static void
write_processor(const struct nb_result *result, const struct record_figures *figures, FILE *out)
{
	char misses[64] = "";
	bool is_of_user = strstr(result->measured.used_missing, "user code only") != NULL;
	if ((result->measured.used.known & SYSTEM_CYCLES) == 0)
		write_no_processor(&result->measured, out);
	if (figures->cycles_op <= 0)
		return;
	if ((result->measured.used.known & SYSTEM_CACHE) != 0)
		snprintf(misses, sizeof(misses), ", %.3g cache misses/op",
			figures->cache_misses_op);
	report_line(out, "Processor", "%.0f cycles/op, %.0f instructions/op, IPC %.2f%s%s",
		figures->cycles_op, figures->instructions_op,
		figures->instructions_op / figures->cycles_op, misses,
		is_of_user ? " (user code only)" : "");
}

static void
write_stalls(const struct stalls *stalls, FILE *out)
{
	char slow[UNITS_SIZE], looked[UNITS_SIZE], gap[UNITS_SIZE], at[UNITS_SIZE];
	const struct stall *worst = NULL;
	if (stalls->looked_ns == 0)
		return;
	units_format_ns(looked, sizeof(looked), (double)stalls->looked_ns);
	for (size_t i = 0; i < stalls->count; i++) {
		if (worst == NULL || stalls->worst[i].duration_ns > worst->duration_ns)
			worst = &stalls->worst[i];
	}
	if (worst == NULL) {
		report_line(out, "Stalls", "none in %s", looked);
		return;
	}
	units_format_ns(slow, sizeof(slow), (double)stalls->slow_ns);
	units_format_ns(gap, sizeof(gap), (double)stalls->longest_gap_ns);
	report_line(out, "Stalls", "%s of %s below half of %.0f ops/sec, %s%s", slow, looked,
		stalls->median_ops_s, stalls->longest_gap_ns > 0 ? "longest gap " : "no gap",
		stalls->longest_gap_ns > 0 ? gap : "");
	units_format_ns(slow, sizeof(slow), (double)worst->duration_ns);
	units_format_ns(at, sizeof(at), (double)worst->begin_ns);
	report_line(out, "Worst stall", "%s at %s, %.0f ops/sec%s%s", slow, at,
		worst->rate_ops_s, worst->cause[0] != '\0' ? ": " : "", worst->cause);
}

void
report_usage(const struct record *record, FILE *out)
{
	struct record_figures figures;
	const struct measurement *measured = &record->run->measured;
	record_figures(record, &figures);
	write_process(measured, out);
	write_bytes(measured, &figures, out);
	write_syncs(record->run, out);
	write_space(measured, &figures, out);
	write_processor(record->run, &figures, out);
	write_stalls(&figures.stalls, out);
}
