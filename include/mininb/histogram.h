/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_HISTOGRAM_H
#define MININB_HISTOGRAM_H
/**
 * A histogram of latencies.
 *
 * Log-linear, with the layout of HdrHistogram with 3 significant digits, from 1 ns to one hour.
 * A bucket is never wider than 1/1024 of its values. A longer time is counted as one hour.
 * Minimum, maximum and sum are exact. So are the counts below the bounds of the classic table
 * (nb_histogram_bound), which differ from HdrHistogram's bounds.
 *
 * Merging is exact, so percentiles of many threads, runs or machines come from merged
 * histograms and never from averaged percentiles.
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

/** Remove all values. */
void
nb_histogram_reset(struct nb_histogram *histogram);

/** Count one value, in ns. */
void
nb_histogram_add(struct nb_histogram *histogram, uint64_t value_ns);

/** Add all values of `from` to `into`. */
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
 * The value at or below which `percent` (0..100) of the values lie. Returns the upper end of
 * its bucket, but at most the maximum. So the result is never less than the exact percentile,
 * and exceeds it by less than 1/1024. 0 if empty.
 */
uint64_t
nb_histogram_percentile(const struct nb_histogram *histogram, double percent);

/**
 * Whether there are enough values for that percentile: at least ten on either side of it.
 * *needed, if not NULL, is set to the minimum count for it.
 */
int
nb_histogram_supports(const struct nb_histogram *histogram, double percent, uint64_t *needed);

/**
 * The bounds of the classic table in ns, ascending: 0; then 10 12 14 16 18 20 25 30 35 40 45 50
 * 60 70 80 90 in each decade up to 1 us; then 1..9 us in whole microseconds; then the same
 * sequence in each decade from 10 us up to one hour. Returns UINT64_MAX for index >= the number
 * of bounds.
 */
uint64_t
nb_histogram_bound(size_t index);

/**
 * Number of values below nb_histogram_bound(index), exact. A value equal to a bound is not
 * below it. After a decode, a bucket that contains a bound counts as above it.
 */
uint64_t
nb_histogram_count_below(const struct nb_histogram *histogram, size_t index);

/**
 * Encode as text: HdrHistogram's V2 compressed encoding in base64, as in its log files. *out is
 * yours to free().
 */
NB_MUST_CHECK int
nb_histogram_encode(const struct nb_histogram *histogram, char **out);

/**
 * Decode such a text, from mininb or another HdrHistogram with 3 significant digits and a
 * lowest value of 1. Minimum, maximum and sum are then those of the buckets. Any input is safe;
 * NB_ERR_DATA if it is invalid.
 */
NB_MUST_CHECK int
nb_histogram_decode(struct nb_histogram **out, const char *text);

#ifdef __cplusplus
}
#endif
#endif /* MININB_HISTOGRAM_H */
