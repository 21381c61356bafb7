/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_HISTOGRAM_H
#define MININB_HISTOGRAM_H
/**
 * Latencies, counted: how many operations took how long.
 *
 * Log-linear, laid out as HdrHistogram's with 3 significant digits, from 1 ns
 * to one hour: a bucket is never wider than 1/1024 of its values. A longer
 * time is counted as one hour; the maximum stays exact. Minimum, maximum and
 * sum are exact, and so are the counts below the bounds of the classic table
 * (nb_histogram_bound), which are no bounds of HdrHistogram's.
 *
 * Merging is exact, so percentiles of many threads, runs or machines come from
 * merged histograms and never from averaged percentiles.
 */
#include <mininb/mininb.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nb_histogram;

NB_MUST_CHECK int
nb_histogram_new(struct nb_histogram **out);

/** NULL is fine. */
void
nb_histogram_delete(struct nb_histogram *histogram);

/** Forget all. */
void
nb_histogram_reset(struct nb_histogram *histogram);

/** Count one value, in ns. */
void
nb_histogram_add(struct nb_histogram *histogram, uint64_t value_ns);

/** Count in `into` all that `from` has counted. */
void
nb_histogram_merge(struct nb_histogram *into, const struct nb_histogram *from);

uint64_t
nb_histogram_count(const struct nb_histogram *histogram);

/** Exact. 0 if empty. */
uint64_t
nb_histogram_min(const struct nb_histogram *histogram);

/** Exact, also beyond one hour. 0 if empty. */
uint64_t
nb_histogram_max(const struct nb_histogram *histogram);

/** Sum of all values, exact; stays at UINT64_MAX (584 years) if it would overflow. */
uint64_t
nb_histogram_sum(const struct nb_histogram *histogram);

/** Arithmetic mean, from the exact sum. 0 if empty. */
double
nb_histogram_mean(const struct nb_histogram *histogram);

/**
 * The value at or below which `percent` (0..100) of the values lie. The upper
 * end of the bucket that holds it, at most the maximum: so never less than the
 * true one, and above it by less than 1/1024. 0 if empty.
 */
uint64_t
nb_histogram_percentile(const struct nb_histogram *histogram, double percent);

/**
 * Whether there are values enough to speak of that percentile: at least ten on
 * either side of it. *needed, if not NULL, is set to the count from which on
 * there are.
 */
int
nb_histogram_supports(const struct nb_histogram *histogram, double percent, uint64_t *needed);

/**
 * The bounds of the classic table in ns, ascending: 0, then 10 12 14 16 18 20
 * 25 30 35 40 45 50 60 70 80 90 in each decade up to 1 us, 1..9 us in whole
 * ones, and the same sequence as before in each decade from 10 us up to an
 * hour. Returns UINT64_MAX for index >= the number of bounds.
 */
uint64_t
nb_histogram_bound(size_t index);

/**
 * How many values are below nb_histogram_bound(index): exact, half-open, so
 * that a value equal to a bound counts above it. After a decode the bounds that
 * fall inside a bucket count that whole bucket above them.
 */
uint64_t
nb_histogram_count_below(const struct nb_histogram *histogram, size_t index);

/**
 * As text, HdrHistogram's V2 compressed encoding in base64: what its log files
 * carry. *out is yours, to free().
 */
NB_MUST_CHECK int
nb_histogram_encode(const struct nb_histogram *histogram, char **out);

/**
 * Read such a text, ours or another HdrHistogram's with 3 significant digits
 * and a lowest value of 1. Minimum, maximum and sum are then those of the
 * buckets. Any input is safe; a bad one is NB_ERR_DATA.
 */
NB_MUST_CHECK int
nb_histogram_decode(struct nb_histogram **out, const char *text);

#ifdef __cplusplus
}
#endif
#endif /* MININB_HISTOGRAM_H */
