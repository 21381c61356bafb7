/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shards of one run: whether their results are complete, whether they ran at the same time,
 * and the results of each.
 *
 * Results are refused if a shard is missing, occurs twice, or did other operations, because
 * the merged counts would belong to no run. Whether all ran at the same time is a matter of
 * degree, which a note reports. It compares the clocks of machines, which NTP keeps within
 * some milliseconds. The note is wrong by as much, unless the ranks of MPI have compared
 * their clocks.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/histogram.h"
#include "report/merge_parts.h"

enum { SHARDS_MAX = 1024 };

/** Parse "1/4"; false: the run did all operations, or merges some shards. */
static bool
read_shard(const struct record *record, uint32_t *shard, uint32_t *shards)
{
	return record->run != NULL &&
		sscanf(record->run->shard, "%" SCNu32 "/%" SCNu32, shard, shards) == 2 &&
		*shards <= SHARDS_MAX && *shard < *shards;
}

static int
refuse_missing(const bool *is_there, uint32_t shards)
{
	char list[200] = "";
	for (uint32_t i = 0; i < shards; i++) {
		size_t used = strlen(list);
		if (!is_there[i])
			snprintf(list + used, sizeof(list) - used, "%s%" PRIu32 "/%" PRIu32,
				used > 0 ? ", " : "", i, shards);
	}
	return error_set(NB_ERR_USAGE,
		"the shards %s are missing: merge the results of all %" PRIu32
		" shards of the run",
		list, shards);
}

/**
 * Whether a group visits keys of another again. The number of those depends on the process,
 * and is part of its digest.
 */
static bool
has_again(const struct nb_result *run)
{
	for (size_t g = 0; g < run->group_count; g++)
		if (run->groups[g].again[0] != '\0')
			return true;
	return false;
}

static int
check_shard(const struct nb_results *results, size_t index, bool *is_there, uint32_t shards)
{
	uint32_t shard, of;
	const struct nb_result *first = results->records[0].run;
	const struct nb_result *run = results->records[index].run;
	if (!read_shard(&results->records[index], &shard, &of))
		return error_set(NB_ERR_USAGE,
			"result %zu cannot be merged with the first: it is not a shard of %" PRIu32
			" as that is",
			index + 1, shards);
	if (of != shards)
		return error_set(NB_ERR_USAGE,
			"result %zu cannot be merged with the first: it is shard %s, and the first is %s",
			index + 1, run->shard, first->shard);
	if (is_there[shard])
		return error_set(NB_ERR_USAGE,
			"result %zu cannot be merged: shard %s is there twice", index + 1,
			run->shard);
	if (run->digest != first->digest && !has_again(run))
		return error_set(NB_ERR_USAGE,
			"result %zu cannot be merged with the first: shard %s did other operations than shard %s (the digests differ); give all shards the same workload, seed, count and rate",
			index + 1, run->shard, first->shard);
	is_there[shard] = true;
	return NB_OK;
}

int
merge_check_shards(const struct nb_results *results, bool may_miss, bool *are_shards)
{
	bool is_there[SHARDS_MAX] = {false};
	uint32_t shard, shards;
	*are_shards = (results->count > 1 || may_miss) &&
		read_shard(&results->records[0], &shard, &shards);
	if (!*are_shards)
		return NB_OK;
	int rc = NB_OK;
	for (size_t i = 0; i < results->count && rc == NB_OK; i++)
		rc = check_shard(results, i, is_there, shards);
	return rc == NB_OK && results->count < shards && !may_miss
		? refuse_missing(is_there, shards)
		: rc;
}

/** The begins and ends of all shards, by the clocks of their machines. */
struct windows {
	uint64_t first_begin, last_begin, first_end, last_end;
	const char *slowest; /* shard with the lowest rate */
	double slowest_ops_s;
	double error_ns; /* error of the clocks if they were compared; else 0 */
};

/** Find the windows. False: a time is unknown. */
static bool
find_windows(struct windows *windows, const struct nb_results *results)
{
	*windows = (struct windows){.first_begin = UINT64_MAX, .first_end = UINT64_MAX};
	for (size_t i = 0; i < results->count; i++) {
		struct nb_summary summary;
		const struct measurement *measured = &results->records[i].run->measured;
		uint64_t begin = measured->begun_at_ns, end = begin + measured->wall_ns;
		if (begin == 0)
			return false;
		record_summary(&results->records[i], &summary);
		if (measured->clock_error_ns > windows->error_ns)
			windows->error_ns = measured->clock_error_ns;
		windows->first_begin = begin < windows->first_begin ? begin
								    : windows->first_begin;
		windows->last_begin = begin > windows->last_begin ? begin : windows->last_begin;
		windows->first_end = end < windows->first_end ? end : windows->first_end;
		windows->last_end = end > windows->last_end ? end : windows->last_end;
		if (windows->slowest == NULL || summary.rate_ops_s < windows->slowest_ops_s) {
			windows->slowest = results->records[i].run->shard;
			windows->slowest_ops_s = summary.rate_ops_s;
		}
	}
	return windows->last_end > windows->first_begin;
}

/** Limit for the overlap: below it, the merged throughput is not that of concurrent shards. */
static const double together_min = 0.9;

const char *
merge_describe_shards(const struct nb_results *results, char *text, size_t size)
{
	struct windows windows;
	if (!find_windows(&windows, results)) {
		snprintf(text, size,
			"%zu shards, and at least one does not state when it ran: whether all ran at the same time is unknown",
			results->count);
		return "shards-apart";
	}
	double all_ns = (double)(windows.last_end - windows.first_begin);
	double together_ns = windows.first_end > windows.last_begin
		? (double)(windows.first_end - windows.last_begin)
		: 0;
	bool is_together = together_ns / all_ns >= together_min;
	char clocks[80] = "the clocks of their machines";
	if (windows.error_ns > 0)
		snprintf(clocks, sizeof(clocks), "clocks that were compared to within %.3f ms",
			windows.error_ns / 1e6);
	snprintf(text, size,
		"the first operations of %zu shards began within %.3f ms, by %s, and all of them ran during %.1f %% of the time; the slowest, %s, did %.0f ops/s%s",
		results->count, (double)(windows.last_begin - windows.first_begin) / 1e6,
		clocks, 100 * together_ns / all_ns, windows.slowest, windows.slowest_ops_s,
		is_together ? "" : "; the throughput adds up operations of different times");
	return is_together ? "shards" : "shards-apart";
}

/** The summary of one shard, for the list of all. */
static struct result_generator
generator_of(const struct record *record)
{
	struct result_generator generator = {.is_partial = true};
	snprintf(generator.end, sizeof(generator.end), "%.*s", (int)sizeof(generator.end) - 1,
		record->end);
	if (record->run == NULL) {
		snprintf(generator.shard, sizeof(generator.shard), "%.23s", record->label);
		snprintf(generator.host, sizeof(generator.host), "%.63s", record->name);
		return generator;
	}
	struct nb_summary summary;
	const struct measurement *measured = &record->run->measured;
	const struct nb_histogram *service = record_latency(record, false);
	record_summary(record, &summary);
	memcpy(generator.shard, record->run->shard, sizeof(generator.shard));
	snprintf(
		generator.host, sizeof(generator.host), "%.63s", record->run->environment.host);
	generator.is_partial = measured->is_partial;
	generator.ops = measured->ops;
	generator.wall_ns = measured->wall_ns;
	generator.begun_at_ns = measured->begun_at_ns;
	generator.rate_ops_s = summary.rate_ops_s;
	generator.p50_ns = histogram_supported(service, 50);
	generator.p99_ns = histogram_supported(service, 99);
	generator.clock_offset_ns = measured->clock_offset_ns;
	generator.clock_error_ns = measured->clock_error_ns;
	return generator;
}

int
merge_list_generators(struct nb_result *into, const struct nb_results *from)
{
	struct result_generator *list = calloc(from->count + 1, sizeof(*list));
	if (list == NULL)
		return error_memory();
	for (size_t i = 0; i < from->count; i++)
		list[i] = generator_of(&from->records[i]);
	free(into->generators);
	into->generators = list;
	into->generator_count = from->count;
	return NB_OK;
}
