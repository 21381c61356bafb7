/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LAWS_H
#define LAWS_H
/**
 * Goodness-of-fit tests for random draws: Pearson's chi-square test and the Kolmogorov-Smirnov
 * test, both at a significance level of 10^-4. Seeds are fixed, so a test always passes or
 * always fails.
 *
 * Critical values: SciPy 1.x, scipy.stats.chi2.isf(1e-4, df) for df = 1, 2, ... and
 * scipy.stats.kstwobign.isf(1e-4).
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "unit.h"

static const double law_chi_square[128] = {0.00, 15.14, 18.42, 21.11, 23.51, 25.74, 27.86,
	29.88, 31.83, 33.72, 35.56, 37.37, 39.13, 40.87, 42.58, 44.26, 45.92, 47.57, 49.19,
	50.80, 52.39, 53.96, 55.52, 57.07, 58.61, 60.14, 61.66, 63.16, 64.66, 66.15, 67.63,
	69.11, 70.57, 72.03, 73.48, 74.93, 76.36, 77.80, 79.22, 80.65, 82.06, 83.47, 84.88,
	86.28, 87.68, 89.07, 90.46, 91.84, 93.22, 94.60, 95.97, 97.34, 98.70, 100.06, 101.42,
	102.78, 104.13, 105.48, 106.82, 108.16, 109.50, 110.84, 112.17, 113.50, 114.83, 116.16,
	117.48, 118.80, 120.12, 121.44, 122.75, 124.07, 125.38, 126.68, 127.99, 129.29, 130.60,
	131.89, 133.19, 134.49, 135.78, 137.07, 138.37, 139.65, 140.94, 142.23, 143.51, 144.79,
	146.07, 147.35, 148.63, 149.90, 151.18, 152.45, 153.72, 154.99, 156.26, 157.53, 158.79,
	160.06, 161.32, 162.58, 163.84, 165.10, 166.36, 167.61, 168.87, 170.12, 171.38, 172.63,
	173.88, 175.13, 176.38, 177.62, 178.87, 180.12, 181.36, 182.60, 183.84, 185.09, 186.33,
	187.56, 188.80, 190.04, 191.28, 192.51, 193.75, 194.98};

/**
 * A fast ck_assert() for loops of millions. ck_assert() reports each success to its parent
 * process.
 */
#define LAW_MUST(claim) \
	do { \
		if (!(claim)) \
			ck_abort_msg("%s", #claim); \
	} while (0)

#define LAW_KS 2.22525

/** Adjacent cells are merged until at least this many draws are expected in each. */
enum { LAW_CELL_MIN = 10 };

/** The chi-square statistic divided by its critical value. Above 1, the law is rejected. */
static inline double
law_misfit(const double *shares, const uint64_t *observed, size_t cells, double draws)
{
	double sum = 0, expected = 0, found = 0, last_expected = 0, last_found = 0;
	size_t used = 0;
	for (size_t i = 0; i < cells; i++) {
		expected += shares[i] * draws;
		found += (double)observed[i];
		if (expected < LAW_CELL_MIN)
			continue;
		sum += (found - expected) * (found - expected) / expected;
		used++;
		last_expected = expected;
		last_found = found;
		expected = found = 0;
	}
	if (expected > 0 || found > 0) { /* too few draws: add them to the last cell */
		double whole = last_expected + expected, both = last_found + found;
		sum += (both - whole) * (both - whole) / whole -
			(last_found - last_expected) * (last_found - last_expected) /
				last_expected;
	}
	ck_assert_uint_ge(used, 2);
	ck_assert_uint_le(used - 1, 127);
	return sum / law_chi_square[used - 1];
}

static inline int
law_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/**
 * The Kolmogorov-Smirnov distance divided by its critical value. Each element of `below` is the
 * law's cumulative probability at one draw; under the law they are uniform on [0, 1]. Sorts
 * `below`.
 */
static inline double
law_distance(double *below, size_t count)
{
	double distance = 0, n = (double)count;
	qsort(below, count, sizeof(*below), law_compare);
	for (size_t i = 0; i < count; i++) {
		distance = fmax(distance, below[i] - (double)i / n);
		distance = fmax(distance, (double)(i + 1) / n - below[i]);
	}
	return distance * sqrt(n) / LAW_KS;
}

#endif /* LAWS_H */
