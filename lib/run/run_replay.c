/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A job whose operations come from traces.
 *
 * A separate thread reads each trace, ahead of the workers and never in their timed spans
 * (feed.c). It is not measured, but it uses CPU time. If every CPU has a worker, the workers
 * wait for it from time to time. With a trace in memory, that is some 20 ns per operation.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "run/worker_pool.h"
#include "run/run.h"

/** The kinds that a trace may contain. */
enum {
	TRACE_KINDS = 1u << NB_OP_READ | 1u << NB_OP_UPDATE | 1u << NB_OP_INSERT |
		1u << NB_OP_UPSERT | 1u << NB_OP_DELETE | 1u << NB_OP_SCAN | 1u << NB_OP_RMW
};

/**
 * The next due time for all threads. A thread has the operations of its keys, so none has its
 * own schedule.
 */
static uint64_t
next_due(void *arg)
{
	uint64_t due_ns;
	arrivals_next(arg, &due_ns, 1);
	return due_ns;
}

/** Open a mapped file of keys. The workers make its operations themselves. */
static int
open_array(struct nb_run *run, struct job_part *part, const struct nb_trace_options *options)
{
	const struct nb_group *group = part->group;
	bool is_loading = run->options.makes_database != 0 && part == run->parts;
	if (part->plan.schedule == NULL && part->plan.is_paced)
		return error_set(NB_ERR_USAGE,
			"an array has no timestamps; --speed needs them (use --rate)");
	int rc = array_open(&part->array, &part->spec, options);
	if (rc == NB_OK)
		rc = run_check_verbs(&run->engine->table, run->job, group);
	if (rc != NB_OK)
		return rc;
	uint64_t keys = part->array.job.records;
	bool has_count = group->count > 0 && group->count < INT64_MAX;
	if (is_loading) /* each key once */
		part->plan.count = has_count && group->count < keys ? group->count : keys;
	else if (!has_count)
		part->plan.count = group->duration_ns > 0 ? UINT64_MAX : keys;
	part->spec.end = part->plan.count;
	run->digest = splitmix64_mix(run->digest) ^
		ops_digest(&part->spec, keyspace_hash(&part->array.keys));
	snprintf(part->measured.trace, sizeof(part->measured.trace),
		"%s, an array of %llu keys", options->path, (unsigned long long)keys);
	return NB_OK;
}

int
job_open_trace(
	struct nb_run *run, struct job_part *part, const struct nb_trace_options *options)
{
	bool is_loading = run->options.makes_database != 0 && part == run->parts;
	bool is_array = (options->flags & NB_TRACE_ARRAY) != 0;
	if (part->plan.of_all > part->plan.threads && (!is_array || is_loading))
		return error_set(NB_ERR_USAGE, "shard: %s; omit shard",
			is_loading ? "a replay that loads does it whole"
				   : "a trace that is not an array is read by one process");
	if (is_array)
		return open_array(run, part, options);
	int rc = trace_reader_open(&part->reader, options);
	if (rc != NB_OK)
		return rc;
	struct feed_options feed = {.reader = part->reader,
		.spec = &part->spec,
		.shards = part->plan.threads,
		.are_values_keys = trace_reader_format(part->reader) == NB_TRACE_YCSB_TEXT,
		.can_scan = engine_has_scan(&run->engine->table),
		.key_size_max = run->engine->table.key_size_max,
		.value_size_max = run->engine->table.value_size_max,
		.count = part->group->count,
		.speed = part->plan.schedule == NULL && part->plan.is_paced ? run->options.speed
									    : 0};
	if (part->plan.schedule != NULL) {
		arrivals_create(&part->arrivals, part->plan.schedule, 0, 1, part->spec.seed);
		feed.next_due = next_due;
		feed.next_due_arg = &part->arrivals;
	}
	rc = feed_new(&part->feed, &feed);
	if (rc != NB_OK)
		return rc;
	part->spec.end = UINT64_MAX; /* a mix uses as many keys as there are */
	part->plan.feed = part->feed;
	part->plan.kinds = TRACE_KINDS;
	part->plan.count = UINT64_MAX;
	part->plan.are_values_keys = feed.are_values_keys;
	return NB_OK;
}

static void *
read_ahead(void *arg)
{
	struct job_part *part = arg;
	part->feed_rc = feed_run(part->feed, part->halt);
	if (part->feed_rc != NB_OK)
		snprintf(part->feed_text, sizeof(part->feed_text), "%s", nb_error_text());
	return NULL;
}

int
job_start_feeds(struct nb_run *run)
{
	sigset_t all, before;
	int rc = NB_OK;
	worker_pool_outer_signals(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (size_t p = 0; p < run->active_count && rc == NB_OK; p++) {
		struct job_part *part = run->active[p];
		if (part->feed == NULL)
			continue;
		errno = pthread_create(&part->feeder, NULL, read_ahead, part);
		if (errno != 0)
			rc = error_thread("the thread that reads the trace");
		else
			part->is_fed = true;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

/** Describe the trace and the skipped parts for the report. */
static void
describe_trace(struct job_part *part, const char *path)
{
	const struct nb_trace_counts *counts = trace_reader_counts(part->reader);
	part->measured.trace_counts = *counts;
	snprintf(part->measured.trace, sizeof(part->measured.trace),
		"%s, a trace in the format %s", path,
		nb_trace_format_name(trace_reader_format(part->reader)));
}

int
job_end_feeds(struct nb_run *run, int rc)
{
	char text[WORKER_TEXT];
	snprintf(text, sizeof(text), "%s", nb_error_text());
	for (size_t p = 0; p < run->active_count; p++) {
		struct job_part *part = run->active[p];
		if (!part->is_fed)
			continue;
		/* its consumers have ended */
		__atomic_store_n(part->halt, 1, __ATOMIC_RELAXED);
		pthread_join(part->feeder, NULL);
		part->is_fed = false;
		describe_trace(part, run->options.traces[part - run->parts].path);
		run->digest = splitmix64_mix(run->digest) ^ feed_digest(part->feed);
		if (rc == NB_OK && part->feed_rc != NB_OK) {
			rc = part->feed_rc;
			snprintf(text, sizeof(text), "%s", part->feed_text);
		}
	}
	return rc == NB_OK ? NB_OK : error_set(rc, "%s", text);
}
