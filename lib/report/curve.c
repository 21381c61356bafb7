/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The percentile curve of a histogram, at the levels of the lines of HdrHistogram's
 * outputPercentileDistribution(), so that both can be compared.
 *
 * Each level is the previous one plus 100 / (CURVE_TICKS * 2^(halvings + 1)) percent.
 * `halvings` is how often the distance to 100 % has been halved so far: its log2, rounded
 * down. The value is the upper end of the first bucket with that share of the values at or
 * below it, and never above the exact maximum. Levels continue until the last value is
 * reached. A point at 100 % follows, with the same value if a lower level had it already.
 */
#include "report/curve.h"

#include <math.h>

#include "base/histogram.h"

void
curve_begin(struct curve *curve, const struct nb_histogram *histogram)
{
	*curve = (struct curve){.histogram = histogram, .total = nb_histogram_count(histogram)};
	curve->is_done = curve->total == 0;
}

static double
next_level(double level)
{
	double halvings = floor(log2(100 / (100 - level))) + 1;
	return level + 100 / (CURVE_TICKS * exp2(halvings));
}

/** The value of a bucket, as nb_histogram_percentile() reports it. */
static uint64_t
value_of(const struct nb_histogram *histogram, size_t index)
{
	uint64_t high = histogram_high(index), max = nb_histogram_max(histogram);
	return high < max && index < histogram_index(HISTOGRAM_HOUR) ? high : max;
}

bool
curve_next(struct curve *curve, struct curve_point *point)
{
	if (curve->is_done)
		return false;
	for (; curve->index < HISTOGRAM_BUCKETS; curve->index++) {
		uint64_t here = histogram_at(curve->histogram, curve->index);
		uint64_t up_to = curve->seen + here;
		if (here > 0 && 100 * (double)up_to / (double)curve->total >= curve->level) {
			*point = (struct curve_point){
				curve->level, value_of(curve->histogram, curve->index), up_to};
			if (curve->level >= 100)
				curve->is_done = true;
			else
				curve->level = up_to == curve->total ? 100
								     : next_level(curve->level);
			return true;
		}
		curve->seen = up_to;
	}
	curve->is_done = true;
	return false;
}
