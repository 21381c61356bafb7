/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_STATS_H
#define BASE_STATS_H
/**
 * Statistics of two small samples: whether they differ, by how much, and with which confidence.
 * Each value is the result of one repetition.
 *
 * The repetitions must be independent; their distribution does not matter. Not for NaN.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mininb/mininb.h>

/** Sort in place, ascending. */
void
stats_sort(double *values, size_t count);

/**
 * The median of sorted values; for an even number the mean of the middle two. 0 without values.
 */
double
stats_median(const double *sorted, size_t count);

/**
 * Confidence interval of the population median: the i-th smallest and the i-th largest value
 * (Conover, Practical Nonparametric Statistics, 3.2). The confidence is at least `wanted`, and
 * is returned. With too few values the interval goes from the smallest to the largest value,
 * and the confidence is lower. Needs at least one value; values are sorted.
 */
double
stats_median_interval(
	double *low, double *high, const double *sorted, size_t count, double wanted);

/** Median absolute deviation from the median, not scaled to a normal distribution. */
NB_MUST_CHECK int
stats_mad(double *mad, const double *sorted, size_t count);

/** Mann-Whitney test of whether one sample tends to have the larger values. */
struct stats_test {
	double u;      /* pairs where the second sample's value is larger; ties count half */
	double p;      /* two-sided */
	bool is_exact; /* else computed by the normal approximation */
};

/** Each count is at least 1. */
NB_MUST_CHECK int
stats_mann_whitney(struct stats_test *out, const double *first, size_t first_count,
	const double *second, size_t second_count);

/** The smallest possible p of two samples of these sizes: that of samples without overlap. */
double
stats_least_p(size_t first_count, size_t second_count);

/** Minimum size of both samples for which a p below 1 - confidence is possible. */
size_t
stats_least_count(double confidence);

/** Method that computed the interval of a ratio. */
enum { STATS_NONE, STATS_ORDER, STATS_BOOTSTRAP };

/** second / first. */
struct stats_ratio {
	double ratio;      /* Hodges-Lehmann estimate, on logarithms */
	double low, high;  /* ends of the interval; the ratio itself without one */
	double confidence; /* of the interval; 0: no interval, a sample has one value */
	uint32_t method;   /* STATS_* */
};

/**
 * Ratio of two samples. All values are above 0; each count is at least 1. `confidence` is the
 * wanted confidence of the interval. With too few values, the interval is the widest possible
 * one and its confidence is lower.
 */
NB_MUST_CHECK int
stats_ratio(struct stats_ratio *out, const double *first, size_t first_count,
	const double *second, size_t second_count, double confidence, uint32_t resamples,
	uint64_t seed);

#endif /* BASE_STATS_H */
