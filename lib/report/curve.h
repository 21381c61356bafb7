/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_CURVE_H
#define REPORT_CURVE_H
/**
 * Converts a histogram into points of its percentile curve, denser towards 100 %.
 * HdrHistogram calls it the percentile distribution.
 */
#include <stdbool.h>

#include <mininb/mininb.h>

/** Points for each halving of the distance to 100 %; HdrHistogram's default. */
enum { CURVE_TICKS = 5 };

struct curve {
	const struct nb_histogram *histogram;
	uint64_t total, seen; /* all values; values in the buckets before `index` */
	size_t index;         /* of the current bucket */
	double level;         /* percentile of the next point */
	bool is_done;
};

struct curve_point {
	double percent;    /* 0..100 */
	uint64_t value_ns; /* as nb_histogram_percentile() */
	uint64_t count;    /* number of values <= value_ns */
};

/** Start a curve. The histogram must outlive the curve. */
void
curve_begin(struct curve *curve, const struct nb_histogram *histogram);

/** Fetch the next point; false after the last point, which is at 100 %. */
bool
curve_next(struct curve *curve, struct curve_point *point);

#endif /* REPORT_CURVE_H */
