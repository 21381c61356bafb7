/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results in the closing block of TAOBench, for comparison with its figures.
 *
 * Lines, words and numbers are printed like the original: rates with %g, times in
 * microseconds with two decimals, kinds of operations in its order without those that have
 * no operation, and an aggregate WRITE of inserts, updates and deletes. Differences:
 * - all counts exclude the warm-up, which the original's counts of overtime and failed
 *   operations include;
 * - overtime is the number of operations minus one for each thread: the original's target
 *   is 1 ns for an operation, so each but a thread's first one is late. With a rate, mininb
 *   counts operations that were due before the end and not done;
 * - status lines have times with three digits, counted from the end of the warm-up; the
 *   original counts from the first interval after it.
 *
 * An aggregate without a write has the largest double as its minimum, as in the original.
 * Runs without a social graph have the kinds of their operations in the same places.
 */
#include <float.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include <mininb/results.h>
#include <mininb/run.h>

#include "report/walk.h"
#include "workload/tao_job.h"

enum { INSERT, READ, UPDATE, SCAN, READ_MODIFY_WRITE, DELETE, READ_TXN, WRITE_TXN, KINDS };

static const char *const names[KINDS] = {"INSERT", "READ", "UPDATE", "SCAN", "READMODIFYWRITE",
	"DELETE", "READTRANSACTION", "WRITETRANSACTION"};

/** The times of one kind of the original. */
struct times {
	uint64_t count;
	double sum_ns, min_ns, max_ns;
};

static void
join_times(struct times *into, const struct times *more)
{
	if (into->count == 0 || more->min_ns < into->min_ns)
		into->min_ns = more->min_ns;
	into->max_ns = more->max_ns > into->max_ns ? more->max_ns : into->max_ns;
	into->sum_ns += more->sum_ns;
	into->count += more->count;
}

static void
add_times(struct times *into, const struct nb_histogram *times)
{
	uint64_t count = times != NULL ? nb_histogram_count(times) : 0;
	if (count == 0)
		return;
	struct times more = {.count = count,
		.sum_ns = nb_histogram_mean(times) * (double)count,
		.min_ns = (double)nb_histogram_min(times),
		.max_ns = (double)nb_histogram_max(times)};
	join_times(into, &more);
}

/** The original's kind for a kind of mininb; KINDS: none. */
static uint32_t
kind_of(bool is_graph, uint32_t kind)
{
	static const uint32_t plain[NB_OP_KINDS] = {[NB_OP_READ] = READ,
		[NB_OP_UPDATE] = UPDATE,
		[NB_OP_INSERT] = INSERT,
		[NB_OP_UPSERT] = UPDATE,
		[NB_OP_DELETE] = DELETE,
		[NB_OP_SCAN] = SCAN,
		[NB_OP_RMW] = READ_MODIFY_WRITE,
		[NB_OP_BATCH] = WRITE_TXN,
		[NB_OP_MULTIGET] = READ_TXN,
		[NB_OP_TXN_READ] = READ_TXN,
		[NB_OP_TXN_WRITE] = WRITE_TXN};
	if (kind < NB_OP_KINDS)
		return plain[kind];
	if (!is_graph)
		return KINDS;
	return kind == TAO_KIND_INSERT       ? INSERT
		: kind == TAO_KIND_UPDATE    ? UPDATE
		: kind == TAO_KIND_DELETE    ? DELETE
		: kind == TAO_KIND_TXN_WRITE ? WRITE_TXN
		: kind >= TAO_KIND_TXN_READ  ? READ_TXN
					     : KINDS;
}

static void
write_times(const char *name, const struct times *times, FILE *out)
{
	double count = times->count > 0 ? (double)times->count : 1;
	double min_us = times->count > 0 ? times->min_ns / 1000 : times->min_ns;
	fprintf(out, " [%s: Count=%" PRIu64 " Max=%.2f Min=%.2f Avg=%.2f]", name, times->count,
		times->max_ns / 1000, min_us, times->sum_ns / count / 1000);
}

static void
write_status(const struct times times[KINDS], uint64_t ops, FILE *out)
{
	static const uint32_t writes[] = {INSERT, UPDATE, DELETE};
	struct times all = {.min_ns = DBL_MAX};
	fprintf(out, "%" PRIu64 " operations;", ops);
	for (uint32_t kind = 0; kind < KINDS; kind++) {
		if (times[kind].count > 0)
			write_times(names[kind], &times[kind], out);
	}
	for (uint32_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++) {
		const struct times *one = &times[writes[i]];
		if (one->count == 0)
			continue;
		all.min_ns = one->min_ns < all.min_ns ? one->min_ns : all.min_ns;
		all.max_ns = one->max_ns > all.max_ns ? one->max_ns : all.max_ns;
		all.sum_ns += one->sum_ns;
		all.count += one->count;
	}
	write_times("WRITE", &all, out);
	fputc('\n', out);
}

void
nb_interval_write_taobench(const struct nb_interval *interval, FILE *out)
{
	struct times times[KINDS] = {{0}};
	uint64_t ops = 0;
	char date[32] = "";
	time_t now = time(NULL);
	struct tm local;
	for (uint32_t kind = 0; interval->kinds != NULL && kind < NB_KINDS_MAX; kind++) {
		const struct nb_interval_kind *one = &interval->kinds[kind];
		uint32_t to = kind_of(true, kind);
		if (to == KINDS || one->ops == 0)
			continue;
		struct times more = {.count = one->ops,
			.sum_ns = one->mean_ns * (double)one->ops,
			.min_ns = (double)one->min_ns,
			.max_ns = (double)one->max_ns};
		join_times(&times[to], &more);
		ops += one->ops;
	}
	if (localtime_r(&now, &local) != NULL)
		strftime(date, sizeof(date), "%F %T", &local);
	fprintf(out, "%s %" PRIu64 " sec: ", date, interval->end_ns / UINT64_C(1000000000));
	write_status(times, ops, out);
}

/** The number of operations that missed a record which should exist. */
static uint64_t
failed(const struct nb_result *run)
{
	uint64_t count = 0;
	for (size_t g = 0; g < run->group_count; g++)
		count += run->groups[g].measured.kinds[NB_OP_READ].answers[NB_NOT_FOUND];
	return count;
}

static void
write_load(const struct nb_result *run, FILE *out)
{
	fprintf(out,
		"running benchmark!\nRunning batch insert phase!\nCreated DBs\n%" PRIu64
		"\nNumber of failed batch inserts: 0\nDone with batch insert phase!\n",
		run->groups[0].measured.done / TAO_PARTS);
}

static void
write_batch_read(const struct batch_read *read, FILE *out)
{
	fprintf(out,
		"num read by thread: %" PRIu64
		"\nNumber of failed batch reads: 0\nDone with batch read phase!\nTotal edges read: %" PRIu64
		"\n",
		read->edges, read->edges);
}

static void
write_run(const struct nb_result *run, FILE *out)
{
	struct times times[KINDS] = {{0}};
	uint64_t ops = 0, warmup_ns = 0, total_ns = 0, overtime = 0;
	uint32_t threads = 0;
	for (size_t g = 0; g < run->group_count; g++) {
		const struct job_result_group *group = &run->groups[g];
		const struct job_measurement *measured = &group->measured;
		bool grew = job_result_grew(group, &overtime);
		threads = group->threads > threads ? group->threads : threads;
		warmup_ns += group->warmup_ns;
		total_ns += group->duration_ns > 0 ? group->duration_ns : measured->span_ns;
		ops += measured->ops;
		if (!group->is_paced)
			overtime = measured->ops > group->threads
				? measured->ops - group->threads
				: 0;
		else if (!grew)
			overtime = 0;
		for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
			uint32_t to = kind_of(strcmp(run->key_format, "graph") == 0, kind);
			if (to < KINDS)
				add_times(&times[to], measured->kinds[kind].service);
		}
	}
	double wall_s = (double)run->measured.wall_ns / 1e9;
	if (run->measured.batch_read.pages > 0)
		write_batch_read(&run->measured.batch_read, out);
	fprintf(out,
		"Experiment description: %u threads, %.15g seconds (warmup), %.15g seconds (experiment)\n",
		threads, (double)warmup_ns / 1e9, (double)total_ns / 1e9);
	fprintf(out, "Total runtime (sec): %g\n", wall_s + (double)warmup_ns / 1e9);
	fprintf(out, "Runtime excluding warmup (sec): %g\n", wall_s);
	fprintf(out, "Total completed operations excluding warmup: %" PRIu64 "\n", ops);
	fprintf(out, "Throughput excluding warmup: %g\n",
		wall_s > 0 ? (double)ops / wall_s : 0);
	fprintf(out, "Number of overtime operations: %" PRIu64 "\n", overtime);
	fprintf(out, "Number of failed operations: %" PRIu64 "\n", failed(run));
	write_status(times, ops, out);
	fputc('\n', out);
}

int
write_taobench(const struct nb_results *results, FILE *out, uint32_t flags)
{
	(void)flags;
	for (size_t i = 0; i < results->count; i++) {
		const struct record *record = &results->records[i];
		if (record->run == NULL || !record->run->is_job)
			fprintf(out, "%s\n\n",
				record->run == NULL ? record->end : "not a run of a workload");
		else if (record->run->is_load)
			write_load(record->run, out);
		else
			write_run(record->run, out);
	}
	return NB_OK;
}
