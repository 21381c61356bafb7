/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Candlesticks of the threads' rates. The box spans the lower to the upper quartile, the
 * whiskers reach to the slowest and the fastest thread, and the line is the median. A
 * quartile between two threads is interpolated linearly (type 7 of Hyndman and Fan 1996,
 * the default of R and of Masstree).
 */
#include "report/boxplot.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/stats.h"
#include "report/plot.h"

const char *const boxplots_names[BOXPLOTS_KINDS] = {"ops", "puts", "gets", "scans", "removes"};

double
boxplots_level(const double *values, size_t count, double share)
{
	double at = share * (double)(count - 1);
	size_t below = (size_t)at;
	double rest = at - (double)below;
	return rest > 0 ? values[below] * (1 - rest) + values[below + 1] * rest : values[below];
}

int
boxplots_add(struct boxplots *boxplots, uint32_t kind, const char *label, double *rates,
	size_t count)
{
	if (count == 0)
		return NB_OK;
	struct candle *candle = array_append(
		&boxplots->items[kind], &boxplots->count[kind], sizeof(*candle));
	if (candle == NULL)
		return NB_FAIL;
	candle->label = strdup(label);
	if (candle->label == NULL)
		return error_memory();
	stats_sort(rates, count);
	for (size_t i = 0; i < 5; i++)
		candle->levels[i] = boxplots_level(rates, count, 0.25 * (double)i);
	return NB_OK;
}

static void
write_data(const struct boxplots *boxplots, uint32_t kind, FILE *out)
{
	fprintf(out,
		"\n# place, least, lower quartile, median, upper quartile, greatest\n"
		"$%s << EOD\n",
		boxplots_names[kind]);
	for (size_t i = 0; i < boxplots->count[kind]; i++) {
		const struct candle *it = &boxplots->items[kind][i];
		fprintf(out, "%zu %.6f %.6f %.6f %.6f %.6f ", i + 1, it->levels[0],
			it->levels[1], it->levels[2], it->levels[3], it->levels[4]);
		plot_text(out, it->label);
		fputc('\n', out);
	}
	fputs("EOD\n", out);
}

static void
write_plot(const struct boxplots *boxplots, uint32_t kind, FILE *out)
{
	char title[64];
	snprintf(title, sizeof(title), "%s of a thread in a second", boxplots_names[kind]);
	write_data(boxplots, kind, out);
	plot_begin(out, boxplots_names[kind], title);
	fprintf(out,
		"set xrange [0:%zu]\n"
		"plot $%s using 1:3:2:6:5:xtic(7) with candlesticks notitle whiskerbars, \\\n"
		"     $%s using 1:4:4:4:4 with candlesticks lt -1 notitle\n",
		boxplots->count[kind] + 1, boxplots_names[kind], boxplots_names[kind]);
}

void
boxplots_write(const struct boxplots *boxplots, FILE *out)
{
	plot_head(out, "Throughput of threads");
	fputs("set style fill solid 0.3\n"
	      "set boxwidth 0.5\n"
	      "set xtics rotate by -45 left\n"
	      "set yrange [0:*]\n"
	      "set ylabel \"a second\"\n",
		out);
	for (uint32_t kind = 0; kind < BOXPLOTS_KINDS; kind++) {
		if (boxplots->count[kind] > 0)
			write_plot(boxplots, kind, out);
	}
}

void
boxplots_destroy(struct boxplots *boxplots)
{
	for (uint32_t kind = 0; kind < BOXPLOTS_KINDS; kind++) {
		for (size_t i = 0; i < boxplots->count[kind]; i++)
			free(boxplots->items[kind][i].label);
		free(boxplots->items[kind]);
	}
	*boxplots = (struct boxplots){.count = {0}};
}
