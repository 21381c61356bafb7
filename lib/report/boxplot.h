/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_BOXPLOT_H
#define REPORT_BOXPLOT_H
/** Figures by thread as candlesticks: minimum, quartiles and maximum of each run. */
#include <stdio.h>

#include <mininb/mininb.h>

/** The figures of a thread, in the order and with the names of Masstree's notebooks. */
enum {
	BOXPLOTS_OPS,
	BOXPLOTS_PUTS,
	BOXPLOTS_GETS,
	BOXPLOTS_SCANS,
	BOXPLOTS_REMOVES,
	BOXPLOTS_KINDS
};

extern const char *const boxplots_names[BOXPLOTS_KINDS]; /* "ops", "puts", ... */

struct candle {
	char *label;
	double levels[5]; /* minimum, lower quartile, median, upper quartile, maximum */
};

/** {0} is an empty set of boxplots. */
struct boxplots {
	struct candle *items[BOXPLOTS_KINDS];
	size_t count[BOXPLOTS_KINDS];
};

/** The level at `share` (0..1) of the way from the first to the last sorted value; count > 0. */
double
boxplots_level(const double *values, size_t count, double share);

/** Sort `rates` and append their candle. Appends nothing if count is 0. */
NB_MUST_CHECK int
boxplots_add(struct boxplots *boxplots, uint32_t kind, const char *label, double *rates,
	size_t count);

/** Write a gnuplot script with one picture for each kind that has candles. */
void
boxplots_write(const struct boxplots *boxplots, FILE *out);

void
boxplots_destroy(struct boxplots *boxplots);

#endif /* REPORT_BOXPLOT_H */
