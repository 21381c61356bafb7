/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results as text: what the command prints after a run, and prints again from a file.
 *
 * Of a sweep only the run that is its capacity has a report of its own, with the curve below
 * it; the others are points of that. In a list of engines each has its own. Of vs it is the
 * comparison, where two contestants have repetitions, and else each of these.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/compare.h"
#include "report/record.h"

static void
format_us(char *cell, size_t size, uint64_t ns)
{
	cell[0] = '\0';
	if (ns > 0)
		snprintf(cell, size, "%.*f", ns < 100000 ? 2 : 0, (double)ns / 1000);
}

/** What is not measured, as the latencies of a warm-up, is left blank. */
void
nb_interval_write_text(const struct nb_interval *interval, FILE *out, int has_titles)
{
	char p50[32] = "", p99[32] = "", most[32] = "", behind[32] = "", line[256];
	if (!interval->is_warmup) {
		format_us(p50, sizeof(p50), interval->p50_ns);
		format_us(p99, sizeof(p99), interval->p99_ns);
		format_us(most, sizeof(most), interval->max_ns);
	}
	if (interval->behind_ops > 0)
		snprintf(behind, sizeof(behind), "%" PRIu64, interval->behind_ops);
	if (!has_titles)
		fprintf(out, "%8s %12s %12s %10s %10s %10s %10s\n", "seconds", "ops", "ops/s",
			"p50 us", "p99 us", "max us", "behind");
	int length = snprintf(line, sizeof(line),
		"%8.2f %12" PRIu64 " %12.0f %10s %10s %10s %10s%s",
		(double)interval->end_ns / 1e9, interval->ops, interval->rate_ops_s, p50, p99,
		most, behind, interval->is_warmup ? "  warm-up" : "");
	while (length > 0 && line[length - 1] == ' ')
		length--;
	fprintf(out, "%.*s\n", length, line);
}

static int
write_record(const struct record *record, bool is_list, FILE *out, uint32_t flags)
{
	for (size_t i = 0; i < record->interval_count; i++)
		nb_interval_write_text(&record->intervals[i], out, i > 0);
	if (record->interval_count > 0)
		fputc('\n', out);
	if (record->run == NULL) {
		if (!is_list) /* else the table says it */
			fprintf(out, "%s: %s\n", record->driver, record->end);
		return NB_OK;
	}
	return record->job != NULL ? nb_job_result_write_text(record->job, out, flags)
				   : nb_result_write_text(record->run, out, flags);
}

static int
write_curve(const struct record_sweep *sweep, FILE *out, uint32_t flags)
{
	fprintf(out, "\nCapacity: %.0f ops/s, closed loop\n\n", sweep->capacity_ops_s);
	int rc = nb_curve_write_text(sweep->curve, sweep->curve_count, out, flags);
	if (rc == NB_OK && sweep->slo_ops_s > 0)
		fprintf(out,
			"\nHighest rate that held %s: %.0f ops/s, %.0f %% of the capacity\n",
			sweep->slo, sweep->slo_ops_s,
			100 * sweep->slo_ops_s / sweep->capacity_ops_s);
	return rc;
}

static int
write_list(const struct nb_results *results, FILE *out, uint32_t flags)
{
	struct nb_summary *summaries = calloc(results->count + 1, sizeof(*summaries));
	size_t count = 0;
	if (summaries == NULL)
		return error_set(NB_FAIL, "out of memory");
	for (size_t i = 0; i < results->count; i++)
		if (!results->records[i].is_point)
			nb_results_summarize(results, i, &summaries[count++]);
	fputs("\n== all\n", out);
	int rc = nb_summaries_write_text(summaries, count, out, flags);
	free(summaries);
	return rc;
}

int
write_text(const struct nb_results *results, FILE *out, uint32_t flags)
{
	struct nb_comparison *comparison;
	if (results_are_versus(results) && compare_versus(&comparison, results) == NB_OK) {
		int written = nb_comparison_write(comparison, "text", out, flags);
		nb_comparison_delete(comparison);
		return written;
	}
	int rc = NB_OK;
	bool is_list = results->list_count > 1;
	size_t written = 0;
	for (size_t i = 0; i < results->count && rc == NB_OK; i++) {
		const struct record *record = &results->records[i];
		if (record->is_point)
			continue;
		if (written++ > 0)
			fputc('\n', out);
		if (is_list)
			fprintf(out, "== %s, %zu of %u\n", record->driver, written,
				results->list_count);
		rc = write_record(record, is_list, out, flags);
		if (rc == NB_OK && record->sweep.curve != NULL)
			rc = write_curve(&record->sweep, out, flags);
	}
	return rc == NB_OK && is_list ? write_list(results, out, flags) : rc;
}
