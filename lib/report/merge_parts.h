/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_MERGE_PARTS_H
#define REPORT_MERGE_PARTS_H
/** Parts of records put together, as of runs side by side. `from` may be left with less. */
#include "report/record.h"

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

struct json_field;

/** Structures of a table of fields, each member by its rule (merge_fields.c). */
NB_MUST_CHECK int
merge_fields(const struct json_field *fields, void *into, const void *from);

/** NULL is an empty one. */
NB_MUST_CHECK int
merge_histogram(struct nb_histogram **into, const struct nb_histogram *from);

/** Counters add up; of a gauge the highest level. */
NB_MUST_CHECK int
merge_counters(struct counters *into, const struct counters *from);

/** One list behind the other; none if one is not known. */
NB_MUST_CHECK int
merge_threads(struct job_thread **into, uint32_t *count, const struct job_thread *from,
	uint32_t from_count);

/**
 * Sample by sample, of the same time. False in *is_whole: what they have does not fit, and
 * is left out: `into` has none, or no pulses.
 */
NB_MUST_CHECK int
merge_series(struct series *into, struct series *from, bool *is_whole);

/** Of equal name, phase and mix. */
NB_MUST_CHECK int
merge_group(struct job_result_group *into, const struct job_result_group *from);

#endif /* REPORT_MERGE_PARTS_H */
