/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results in the lines of the YCSB client of SoFASTER (distributed FASTER), for comparison
 * with its figures. Its log has a time and a source position before each line; this report
 * has only the lines.
 *
 * Its latency is the median time of a batch, from sending to the answer, without the time
 * that the batch waited to be sent. This report has that of the batches of all threads.
 * Figures that a run of mininb does not have are left out: requests that went pending,
 * which depend on its server.
 */
#include <inttypes.h>

#include "base/histogram.h"
#include "report/walk.h"

static void
write_settings(const struct record *record, const struct nb_summary *summary, FILE *out)
{
	const struct nb_result *run = record->run;
	const struct measurement *measured = &run->measured;
	const char *name = run->name != NULL ? run->name : record_action(record);
	uint64_t keys = run->is_job ? run->records : run->workload.count;
	fprintf(out, "Running client with %u threads. Each thread will run %s",
		summary->threads, name);
	if (keys > 0)
		fprintf(out, " with %" PRIu64 " keys", keys);
	if (run->is_bound_by_time)
		fprintf(out, " for %.6g seconds", (double)measured->wall_ns / 1e9);
	else
		fprintf(out, " %s %" PRIu64 " transactions in all", keys > 0 ? "and" : "with",
			summary->ops);
	if (measured->depth == 0)
		fprintf(out, ". Requests will be issued one at a time\n");
	else if (measured->batch_bytes == 0)
		fprintf(out, ". Requests will be issued with up to %u in flight\n",
			measured->depth);
	else
		fprintf(out,
			". Requests will be issued in batches of %" PRIu64
			" B with up to %u requests in flight\n",
			measured->batch_bytes, measured->depth);
}

static void
write_latency(const struct nb_result *run, FILE *out)
{
	const struct nb_histogram *batch = run->measured.batch;
	uint64_t p50_ns = batch != NULL ? histogram_supported(batch, 50) : 0;
	if (p50_ns > 0)
		fprintf(out, "Median Latency: %.2f microseconds\n", (double)p50_ns / 1000);
	else
		fprintf(out, "Median Latency: not known (%s)\n",
			run->measured.depth == 0
				? "it is of a batch; a run with --depth has batches"
				: "too few batches");
}

static void
write_record(const struct nb_results *results, size_t index, FILE *out)
{
	const struct record *record = &results->records[index];
	char title[WALK_TITLE];
	walk_title(results, index, title);
	if (results->count > 1)
		fprintf(out, "%s%s:\n", index > 0 ? "\n" : "", title);
	if (record->run == NULL) {
		fprintf(out, "%s\n", record->end);
		return;
	}
	struct nb_summary summary = {.size = sizeof(summary)};
	record_summary(record, &summary);
	write_settings(record, &summary, out);
	if (record->end[0] != '\0')
		fprintf(out, "Ended early: %s\n", record->end);
	else
		fprintf(out, "Completed Experiment\n");
	fprintf(out, "Average Throughput: %.*f Mops/sec\n", summary.rate_ops_s < 1e7 ? 6 : 3,
		summary.rate_ops_s / 1e6);
	fprintf(out, "Completed: %" PRIu64 "\n", summary.ops);
	write_latency(record->run, out);
}

int
write_sofaster(const struct nb_results *results, FILE *out, uint32_t flags)
{
	(void)flags;
	for (size_t i = 0; i < results->count; i++)
		write_record(results, i, out);
	return NB_OK;
}
