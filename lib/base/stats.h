/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_STATS_H
#define BASE_STATS_H
/**
 * Statistics of two small samples: whether they differ, by how much, and how sure that is.
 * A value is what one repetition gave; none of this looks inside a repetition.
 *
 * Nothing is assumed of how the values are distributed but that the repetitions are
 * independent. Not for NaN.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mininb/mininb.h>

/** In place, ascending. */
void
stats_sort(double *values, size_t count);

/** Of sorted values; the mean of the middle two of an even number. 0 if there are none. */
double
stats_median(const double *sorted, size_t count);

/**
 * The values between which the median of the whole population lies with the wanted confidence, or
 * more: the i-th smallest and the i-th largest (Conover, Practical Nonparametric Statistics, 3.2).
 * Returns the confidence that they have; with too few values they are the least and the largest,
 * and it is less. Of at least one sorted value.
 */
double
stats_median_interval(
	double *low, double *high, const double *sorted, size_t count, double wanted);

/** Median of the distances from the median, as they are: not scaled to a normal distribution. */
NB_MUST_CHECK int
stats_mad(double *mad, const double *sorted, size_t count);

/** Mann and Whitney's test of whether one sample tends to have the larger values. */
struct stats_test {
	double u;      /* pairs in which the second sample's value is the larger, ties half */
	double p;      /* two-sided */
	bool is_exact; /* else by the normal approximation */
};

/** Each count at least 1. */
NB_MUST_CHECK int
stats_mann_whitney(struct stats_test *out, const double *first, size_t first_count,
	const double *second, size_t second_count);

/** The least p that two samples of such sizes can have: that of samples without overlap. */
double
stats_least_p(size_t first_count, size_t second_count);

/** How many values both samples need so that a p below 1 - confidence is possible at all. */
size_t
stats_least_count(double confidence);

/** How the interval of a ratio was found. */
enum { STATS_NONE, STATS_ORDER, STATS_BOOTSTRAP };

/** second / first. */
struct stats_ratio {
	double ratio;     /* Hodges and Lehmann's estimate, on logarithms */
	double low, high; /* of its interval; the ratio itself if there is none */
	double confidence; /* that the interval has; 0: there is none, with one value on a side */
	uint32_t method;   /* STATS_* */
};

/**
 * All values above 0, each count at least 1. `confidence` is what the interval should have;
 * where there are too few values for it, it is the widest that there is, with less.
 */
NB_MUST_CHECK int
stats_ratio(struct stats_ratio *out, const double *first, size_t first_count,
	const double *second, size_t second_count, double confidence, uint32_t resamples,
	uint64_t seed);

#endif /* BASE_STATS_H */
