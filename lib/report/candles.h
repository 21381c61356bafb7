/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_CANDLES_H
#define REPORT_CANDLES_H
/** Figures by thread as candlesticks: minimum, quartiles and maximum of each run. */
#include <stdio.h>

#include <mininb/mininb.h>

/** The figures of a thread, in this order and with the names of Masstree's notebooks. */
enum { CANDLES_OPS, CANDLES_PUTS, CANDLES_GETS, CANDLES_SCANS, CANDLES_REMOVES, CANDLES_KINDS };

extern const char *const candles_names[CANDLES_KINDS]; /* "ops", "puts", ... */

struct candle {
	char *label;
	double levels[5]; /* least, lower quartile, median, upper quartile, greatest */
};

/** {0} is an empty one. */
struct candles {
	struct candle *items[CANDLES_KINDS];
	size_t count[CANDLES_KINDS];
};

/** Append one; `rates` are sorted by it. None if there are no rates. */
NB_MUST_CHECK int
candles_add(
	struct candles *candles, uint32_t kind, const char *label, double *rates, size_t count);

/** A gnuplot script with a picture for each kind that there is. */
void
candles_write(const struct candles *candles, FILE *out);

void
candles_destroy(struct candles *candles);

#endif /* REPORT_CANDLES_H */
