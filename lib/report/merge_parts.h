/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_MERGE_PARTS_H
#define REPORT_MERGE_PARTS_H
/**
 * Merges parts of the records of parallel runs. The functions may move data out of `from`.
 * A failure is stored in *rc; if *rc is already a failure, the functions do nothing.
 */
#include "report/record.h"

struct json_field;

/** Merge two structures by their table of fields, each member by its rule (merge_fields.c). */
void
merge_fields(const struct json_field *fields, void *into, const void *from, int *rc);

/**
 * If the first of several results is a shard, check that all are shards of one run and that
 * none occurs twice. Unless `may_miss`, also check that none is missing. NB_ERR_USAGE: the
 * text names the shard that is missing or belongs to another run.
 */
NB_MUST_CHECK int
merge_check_shards(const struct nb_results *results, bool may_miss, bool *are_shards);

/** List in `into` the results of each shard, including shards without a result. */
NB_MUST_CHECK int
merge_list_generators(struct nb_result *into, const struct nb_results *from);

/**
 * Like nb_results_merge(), for the shards that have a result. If some have none, the merged
 * result is partial.
 */
NB_MUST_CHECK int
results_merge_some(struct nb_results **out, const struct nb_results *from);

/** Write a note about whether the shards ran at the same time. Returns the note's identifier. */
const char *
merge_describe_shards(const struct nb_results *results, char *text, size_t size);

/** Merge two histograms; NULL is an empty one. */
void
merge_histogram(struct nb_histogram **into, const struct nb_histogram *from, int *rc);

/** Add counters; for a gauge, keep the highest level. */
void
merge_counters(struct counters *into, const struct counters *from, int *rc);

/** Append one list to the other; the result is empty if either list is unknown. */
void
merge_threads(struct job_thread **into, uint32_t *count, const struct job_thread *from,
	uint32_t from_count, int *rc);

/**
 * Merge the samples that have the same time. False: the two series do not fit, so `into`
 * loses its samples or its pulses.
 */
bool
merge_series(struct series *into, struct series *from, int *rc);

/** Merge groups that have the same name, phase and mix. */
void
merge_group(struct job_result_group *into, const struct job_result_group *from, int *rc);

/** The sum, limited to UINT64_MAX. */
static inline uint64_t
merge_sum(uint64_t a, uint64_t b)
{
	uint64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t
merge_most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

#endif /* REPORT_MERGE_PARTS_H */
