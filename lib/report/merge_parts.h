/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_MERGE_PARTS_H
#define REPORT_MERGE_PARTS_H
/**
 * Parts of records merged, as of runs side by side. `from` may be left with less. A failure is
 * stored in *rc; if *rc is a failure already, the functions do nothing.
 */
#include "report/record.h"

struct json_field;

/** Structures of a table of fields, each member by its rule (merge_fields.c). */
void
merge_fields(const struct json_field *fields, void *into, const void *from, int *rc);

/**
 * If the first of several results is a shard, checks that they are all shards of one run, each
 * once, and unless `may_miss` that all are there. NB_ERR_USAGE says which is missing or of
 * another run.
 */
NB_MUST_CHECK int
merge_check_shards(const struct nb_results *results, bool may_miss, bool *are_shards);

/** Lists in `into` what each shard did; also those that have no result. */
NB_MUST_CHECK int
merge_list_generators(struct nb_result *into, const struct nb_results *from);

/**
 * As nb_results_merge(), of the shards that have a result. Is partial if others have none.
 */
NB_MUST_CHECK int
results_merge_some(struct nb_results **out, const struct nb_results *from);

/** A note of whether they ran at the same time. Returns its identifier. */
const char *
merge_describe_shards(const struct nb_results *results, char *text, size_t size);

/** NULL is an empty one. */
void
merge_histogram(struct nb_histogram **into, const struct nb_histogram *from, int *rc);

/** Counters add up; a gauge has the highest level. */
void
merge_counters(struct counters *into, const struct counters *from, int *rc);

/** One list after the other; none if one is not known. */
void
merge_threads(struct job_thread **into, uint32_t *count, const struct job_thread *from,
	uint32_t from_count, int *rc);

/**
 * Sample by sample, of the same time. False: some of it does not fit and is left out: `into` has
 * no samples, or no pulses.
 */
bool
merge_series(struct series *into, struct series *from, int *rc);

/** Of equal name, phase and mix. */
void
merge_group(struct job_result_group *into, const struct job_result_group *from, int *rc);

/** Stays at UINT64_MAX. */
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
