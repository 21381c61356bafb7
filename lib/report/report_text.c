/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The classic report, and below it, in the same plain style, how it came about.
 *
 * The first block has the form that scripts and readers have known since the
 * first mininb: buckets in microseconds, half-open, only those that hold
 * something. Counts of buckets are exact. A percentile is the upper end of the
 * histogram's bucket, so never flattering, and is not given where fewer than ten
 * values lie beyond it on either side. Throughput is operations over wall time;
 * the sum of latencies stands in the line "Total".
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "report/record.h"

static const double percentiles[] = {5, 50, 95, 96, 97, 98, 99, 99.5, 99.9, 99.95, 99.99};

static const char rule[] = "--------------------------------------------------\n";

static bool
is_write(const struct nb_result *result)
{
	return result->workload.verb != NB_VERB_GET;
}

/** Scripts look for the word as it is written here. */
static void
write_partial(const struct nb_result *result, FILE *out)
{
	const struct measurement *measured = &result->measured;
	if (measured->is_partial)
		fprintf(out,
			"Partial: yes, a partial result: only %" PRIu64 " of %" PRIu64
			" operations were done\n",
			measured->ops, result->workload.count);
	else if (is_write(result) && !measured->has_read_back)
		fprintf(out, "Partial: yes, a partial result: the run ended before it was %s\n",
			measured->has_settled ? "read back" : "settled");
}

static void
write_head(const struct nb_result *result, FILE *out)
{
	fprintf(out, "Action: %s\n", nb_verb_name(result->workload.verb));
	fprintf(out, "Driver: %s\n", result->engine.name);
	fprintf(out, "Key Len: %" PRIu64 "\n", result->workload.key_size);
	fprintf(out, "Val Len: %" PRIu64 "\n", result->workload.value_size);
	fprintf(out, "Count: %" PRIu64 "\n", result->measured.ops);
	write_partial(result, out);
}

static void
write_bar(FILE *out, double percent)
{
	fputs("  ", out);
	for (int marks = (int)(percent / 5 + 0.5); marks > 0; marks--)
		fputc('#', out);
}

static void
write_bucket(const struct nb_result *result, FILE *out, uint64_t from_ns, uint64_t to_ns,
	uint64_t count, uint32_t flags)
{
	char to[32] = "inf";
	if (to_ns != UINT64_MAX)
		snprintf(to, sizeof(to), "%.10g", (double)to_ns / 1000);
	double percent = 100 * (double)count / (double)result->measured.ops;
	fprintf(out, "[%7.10g, %7s)%17" PRIu64 "%12.2f", (double)from_ns / 1000, to, count,
		percent);
	if ((flags & NB_TEXT_BARS) != 0)
		write_bar(out, percent);
	fputc('\n', out);
}

static void
write_buckets(const struct nb_result *result, FILE *out, uint32_t flags)
{
	const struct nb_histogram *service = result->measured.service;
	uint64_t from = 0, below = 0;
	for (size_t i = 1; from != UINT64_MAX; i++) {
		uint64_t to = nb_histogram_bound(i);
		if ((flags & NB_TEXT_FOLD) != 0 && to < 1000)
			continue;
		uint64_t until = to == UINT64_MAX ? nb_histogram_count(service)
						  : nb_histogram_count_below(service, i);
		if (until > below)
			write_bucket(result, out, from, to, until - below, flags);
		from = to;
		below = until;
	}
}

static void
write_percentile(const struct nb_result *result, FILE *out, double percent)
{
	const struct nb_histogram *service = result->measured.service;
	uint64_t needed;
	if (nb_histogram_supports(service, percent, &needed))
		fprintf(out, "%.4f%%  latency  : %.6f * 1e-6 sec/op\n", percent,
			(double)nb_histogram_percentile(service, percent) / 1000);
	else
		fprintf(out,
			"%.4f%%  latency  : too few samples (%" PRIu64 " of at least %" PRIu64
			")\n",
			percent, nb_histogram_count(service), needed);
}

static void
write_classic(const struct nb_result *result, FILE *out, uint32_t flags)
{
	const struct nb_histogram *service = result->measured.service;
	fputs("\nHistogram:\n", out);
	fprintf(out, "[  t min,   t max)%17s%12s\n", "ops count", "%");
	fputs(rule, out);
	write_buckets(result, out, flags);
	fputs(rule, out);
	fprintf(out, "Total:%12.0f%17" PRIu64 "%11s%%\n",
		(double)nb_histogram_sum(service) / 1000, result->measured.ops, "100");
	fprintf(out, "Min latency       : %.6f * 1e-6 sec/op\n",
		(double)nb_histogram_min(service) / 1000);
	fprintf(out, "Avg latency       : %.6f * 1e-6 sec/op\n",
		nb_histogram_mean(service) / 1000);
	fprintf(out, "Max latency       : %.6f * 1e-6 sec/op\n",
		(double)nb_histogram_max(service) / 1000);
	for (size_t i = 0; i < sizeof(percentiles) / sizeof(*percentiles); i++)
		write_percentile(result, out, percentiles[i]);
	fprintf(out, "Avg throughput    : %7.0f ops/sec\n",
		result_rate((double)result->measured.ops, result->measured.wall_ns));
}

void
report_clean(char *text)
{
	for (unsigned char *at = (unsigned char *)text; *at != '\0'; at++) {
		if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0) /* U+0080 to U+009F */
			at[0] = at[1] = '?';
		else if (*at < ' ' || *at == 0x7f)
			*at = '?';
	}
}

void
report_line(FILE *out, const char *name, const char *fmt, ...)
{
	char *text;
	va_list args;
	va_start(args, fmt);
	int length = vasprintf(&text, fmt, args);
	va_end(args);
	if (length < 0)
		return;
	report_clean(text);
	fprintf(out, "%-18s: %s\n", name, text);
	free(text);
}

static void
write_settled(const struct nb_result *result, FILE *out)
{
	static const char *const settled[] = {[NB_RUN_SETTLE_NONE] = "not settled",
		[NB_RUN_SETTLE_FLUSH] = "flushed",
		[NB_RUN_SETTLE_COMPACT] = "flushed and compacted"};
	const struct measurement *measured = &result->measured;
	char how[64] = "not settled"; /* by an engine that has no flush, in no time */
	if (result->settle == NB_RUN_SETTLE_NONE) {
		report_line(out, "Settled throughput", "not settled, as asked");
		return;
	}
	if (measured->settle_ns > 0)
		snprintf(how, sizeof(how), "%s in %.6f sec", settled[measured->settled],
			(double)measured->settle_ns / 1e9);
	report_line(out, "Settled throughput", "%.0f ops/sec (%s, closed in %.6f sec)",
		record_settled_rate(&(struct record){.run = (struct nb_result *)result}), how,
		(double)measured->close_ns / 1e9);
}

static void
write_throughput(const struct nb_result *result, FILE *out)
{
	const struct measurement *measured = &result->measured;
	double ops = (double)measured->ops;
	report_line(out, "Threads", "%u", result->threads);
	report_line(out, "Wall time", "%.6f sec", (double)measured->wall_ns / 1e9);
	if (is_write(result))
		report_line(out, "Acked throughput", "%.0f ops/sec",
			result_rate(ops, measured->wall_ns));
	if (is_write(result) && measured->has_settled)
		write_settled(result, out);
	report_line(out, "Data rate", "%.0f bytes/sec (%s)",
		result_rate((double)result_bytes(result), measured->wall_ns),
		result->workload.verb == NB_VERB_DELETE ? "keys" : "keys and values");
}

static void
write_data(const struct nb_result *result, FILE *out)
{
	const struct worker_findings *findings = &result->measured.findings;
	const uint64_t *answers = result->measured.answers;
	bool are_few = result->workload.verb == NB_VERB_GET && answers[NB_OK] > 0 &&
		answers[NB_OK] < answers[NB_NOT_FOUND];
	if (are_few) /* not to be lost among the misses */
		report_line(out, "Not found", "%" PRIu64 " (found: %" PRIu64 ")",
			answers[NB_NOT_FOUND], answers[NB_OK]);
	else
		report_line(out, "Not found", "%" PRIu64, answers[NB_NOT_FOUND]);
	if (answers[NB_CONFLICT] > 0)
		report_line(out, "Conflicts",
			"%" PRIu64 " (each tried again, in the same latency)",
			answers[NB_CONFLICT]);
	bool is_cut = is_write(result) && !result->measured.has_read_back;
	if ((result->engine.caps & NB_CAP_SYNTHETIC) != 0 || result->verify_rate == 0)
		report_line(out, "Verified", "0 of %" PRIu64 " (%s)", result->measured.ops,
			result->verify_rate == 0 ? "not asked for" : "not possible");
	else if (is_cut && findings->verified == 0)
		report_line(out, "Verified",
			"0 of %" PRIu64 " (not read back: the run ended before that)",
			result->measured.ops);
	else
		report_line(out, "Verified",
			"%" PRIu64 " of %" PRIu64 " (%s): %" PRIu64 " %s, %" PRIu64 " wrong",
			findings->verified, result->measured.ops,
			!is_write(result) ? "as they were read"
				: is_cut  ? "read back until the run ended"
				: result->measured.is_reopened
				? "read back after close and reopen"
				: "read back after the run",
			findings->missing,
			result->workload.verb == NB_VERB_DELETE ? "still there" : "missing",
			findings_wrong(findings));
	if (result->keys.is_estimate)
		report_line(out, "Duplicate keys",
			"about %" PRIu64 ", counted in %" PRIu64 " of %" PRIu64 " keys",
			result->keys.duplicates, result->keys.looked, result->workload.count);
	else
		report_line(out, "Duplicate keys", "%" PRIu64, result->keys.duplicates);
	if (result->workload.verb == NB_VERB_PUT) /* others find what a put has made */
		report_line(out, "Value ratio", "%g (size when compressed : size)",
			result->workload.value_ratio);
}

static void
write_cpu(const struct record *record, FILE *out)
{
	const struct measurement *measured = &record->run->measured;
	const struct sysinfo_usage *usage = &measured->usage;
	const char *others = record_no_cpu(record);
	double all_ns = (double)(usage->user_ns + usage->system_ns);
	double user = all_ns > 0 ? (double)usage->user_ns / all_ns : 0;
	double each_ns = record_cpu_ns_op(record);
	if (others != NULL)
		report_line(out, "CPU time",
			"%.6f sec in all; not known for an operation, since %s used part of it",
			all_ns / 1e9, others);
	else
		report_line(out, "CPU time", "%.0f ns/op user, %.0f ns/op system",
			each_ns * user, each_ns * (1 - user));
}

static void
write_phases(const struct measurement *measured, FILE *out)
{
	char text[RUN_PHASES_MAX * (sizeof(measured->phases[0].name) + UNITS_SIZE + 3)] = "";
	char took[UNITS_SIZE];
	size_t used = 0;
	for (uint32_t i = 0; i < measured->phase_count; i++) {
		units_format_ns(took, sizeof(took), (double)measured->phases[i].ns);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s",
			used > 0 ? ", " : "", measured->phases[i].name, took);
	}
	if (used > 0)
		report_line(out, "Phases", "%s", text);
}

void
report_conditions(const struct record *record, FILE *out)
{
	const struct nb_result *result = record->run;
	static const char *const survives[] = {[NB_DUR_NONE] = "kill -9 may lose writes",
		[NB_DUR_PROCESS] = "writes survive kill -9, not power loss",
		[NB_DUR_PERIODIC] = "power loss may take the last sync interval",
		[NB_DUR_COMMIT] = "writes survive power loss"};
	const struct measurement *measured = &result->measured;
	char data[UNITS_SIZE], cache[UNITS_SIZE] = "engine's default";
	units_format_bytes(data, sizeof(data), (double)measured->data_bytes);
	if (result->cache_bytes > 0)
		units_format_bytes(cache, sizeof(cache), (double)result->cache_bytes);
	report_line(out, "Durability", "%s%s (%s)", nb_durability_name(result->durability),
		result->is_auto_durability ? ", by default" : "", survives[result->durability]);
	report_line(out, "Cache", "%s", cache);
	report_line(out, "Database", "%s on %s", measured->data_bytes > 0 ? data : "no data",
		result->sysinfo.filesystem[0] != '\0' ? result->sysinfo.filesystem : "unknown");
	report_cache_state(result, out);
	if (result->is_of_processes) {
		report_line(out, "CPU time", "not known of several processes");
		report_line(out, "Memory", "not known of several processes");
	} else {
		write_cpu(record, out);
		report_memory(result, out);
	}
	report_usage(record, out);
	write_phases(measured, out);
	report_line(out, "Clock",
		"%s, %.3f MHz, in steps of %.2g ns, %.1f ns a stamp, two for each operation",
		clock_name(&result->clock), result->clock.tick_hz / 1e6, result->clock.step_ns,
		result->clock.read_ns);
	if (measured->floor_op_ns > 0)
		report_line(out, "Harness",
			"%.1f ns/op with the null engine, of which %" PRIu64
			" ns inside each latency",
			measured->floor_op_ns, measured->floor_call_ns);
	report_line(out, "Stream digest", "%016" PRIx64, result->digest);
}

void
report_origin(const struct nb_result *result, FILE *out)
{
	report_line(out, "Engine", "%s %s, %s, %s, %s", result->engine.name,
		result->engine_version, result->engine.licence, result->engine.build,
		result->engine_path);
	for (size_t i = 0; i < result->option_count; i++)
		report_line(out, "Option", "%s=%s", result->options[i].name,
			result->options[i].value);
	report_counters(result, out);
	report_line(out, "mininb", "%s", result->version);
	for (size_t i = 0; i < result->note_count; i++)
		report_line(out, "Note", "%s", result->notes[i].text);
}

int
nb_result_write_text(const struct nb_result *result, FILE *out, uint32_t flags)
{
	write_head(result, out);
	write_classic(result, out, flags);
	fputc('\n', out);
	write_throughput(result, out);
	write_data(result, out);
	report_conditions(&(struct record){.run = (struct nb_result *)result}, out);
	report_origin(result, out);
	if (fflush(out) != 0 || ferror(out))
		return error_system("the result cannot be written");
	return NB_OK;
}
