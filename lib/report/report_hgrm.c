/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Percentile distributions in HdrHistogram's own text format, which its plotter and many
 * scripts read: one table for each histogram, with values in microseconds and a footer.
 *
 * A table begins with a comment that describes it, and ends with two blank lines, so that
 * gnuplot treats it as a data set (`index`). The plotter shows one curve for a file: of
 * several tables, give it only those for one curve.
 *
 * Mean and maximum are exact. The standard deviation uses the middles of the buckets, as
 * HdrHistogram does. The footer's sizes are those of a histogram up to an hour.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/histogram.h"
#include "report/curve.h"
#include "report/walk.h"

enum { BUCKETS = HISTOGRAM_BUCKETS / HISTOGRAM_HALF - 1 }; /* the first has both its halves */

static double
middle(size_t index)
{
	uint64_t width = UINT64_C(1) << histogram_shift(index);
	return (double)histogram_low(index) + (double)(width >> 1);
}

static double
standard_deviation(const struct nb_histogram *histogram)
{
	double mean = nb_histogram_mean(histogram), squares = 0;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		double off = middle(i) - mean;
		squares += off * off * (double)histogram_at(histogram, i);
	}
	return sqrt(squares / (double)nb_histogram_count(histogram));
}

static void
write_footer(const struct nb_histogram *histogram, FILE *out)
{
	fprintf(out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n",
		nb_histogram_mean(histogram) / 1000, standard_deviation(histogram) / 1000);
	fprintf(out, "#[Max     = %12.3f, Total count    = %12" PRIu64 "]\n",
		(double)nb_histogram_max(histogram) / 1000, nb_histogram_count(histogram));
	fprintf(out, "#[Buckets = %12d, SubBuckets     = %12d]\n", BUCKETS, 2 * HISTOGRAM_HALF);
}

static int
write_table(void *to, const struct walk_row *row)
{
	FILE *out = to;
	struct curve curve;
	struct curve_point point;
	if (nb_histogram_count(row->histogram) == 0)
		return NB_OK;
	fprintf(out, "# %s, %s%s%s, %s: %s time in microseconds\n", row->title,
		record_action(row->record), row->group != NULL ? ", " : "",
		row->group != NULL ? row->group->name : "", row->kind, row->series);
	fprintf(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
		"1/(1-Percentile)");
	curve_begin(&curve, row->histogram);
	while (curve_next(&curve, &point)) {
		fprintf(out, "%12.3f %2.12f %10" PRIu64, (double)point.value_ns / 1000,
			point.percent / 100, point.count);
		if (point.percent < 100)
			fprintf(out, " %14.2f", 1 / (1 - point.percent / 100));
		fputc('\n', out);
	}
	write_footer(row->histogram, out);
	fputs("\n\n", out);
	return NB_OK;
}

int
write_hgrm(const struct nb_results *results, FILE *out, uint32_t flags)
{
	(void)flags;
	return walk_results(results, write_table, out);
}
