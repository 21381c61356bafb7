/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results as Masstree's mttest prints them: the runs by name, a JSON object for each
 * thread, and a gnuplot script of the threads' rates as candlesticks.
 *
 * The script differs in one point: all trials of a test and table form one candlestick,
 * where mttest draws one for each trial. As in mttest, each figure is divided by the median
 * of the first table of its test, so that tests with different rates fit into one picture.
 * Quantiles between two threads are interpolated linearly.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/stats.h"
#include "report/tests.h"

/* Distances on the x axis, those of mttest. */
#define METRIC_STEP 0.2
#define TABLE_STEP 0.04
#define TEST_STEP 0.08

/* In mttest's plotting order. */
static const uint32_t plotted[] = {
	BOXPLOTS_OPS, BOXPLOTS_PUTS, BOXPLOTS_GETS, BOXPLOTS_SCANS, BOXPLOTS_REMOVES};
enum { PLOTTED = sizeof(plotted) / sizeof(*plotted) };

/** All tests of the results. */
struct all {
	struct test_run *runs; /* owned */
	size_t count;
};

static int
find_all(struct all *all, const struct nb_results *results)
{
	size_t room = results->count * NB_GROUPS_MAX;
	*all = (struct all){.runs = calloc(room + 1, sizeof(*all->runs))};
	if (all->runs == NULL)
		return error_memory();
	for (size_t r = 0; r < results->count; r++)
		all->count += tests_of(&results->records[r], all->runs + all->count);
	return NB_OK;
}

/** The table name; mttest calls Masstree "mb". */
static const char *
table_of(const struct test_run *run)
{
	return strcmp(run->record->driver, "masstree") == 0 ? "mb" : run->record->driver;
}

static bool
are_alike(const struct test_run *one, const struct test_run *other)
{
	return strcmp(one->name, other->name) == 0 &&
		strcmp(table_of(one), table_of(other)) == 0;
}

/** The number of runs of the same test and table before that one. */
static size_t
trial_of(const struct all *all, size_t index)
{
	size_t trial = 0;
	for (size_t i = 0; i < index; i++)
		trial += are_alike(&all->runs[i], &all->runs[index]);
	return trial;
}

static void
write_thread(const struct all *all, size_t index, uint32_t thread, FILE *out)
{
	const struct test_run *run = &all->runs[index];
	struct test_thread did = tests_thread(run, thread);
	fprintf(out, "%u: {\"table\":\"%s\",\"test\":\"%s\",\"trial\":%zu,\"thread\":%u",
		thread, table_of(run), run->name, trial_of(all, index), thread);
	tests_write_figures(run, &did, out);
	fputs("}\n", out);
}

static void
write_run(const struct all *all, size_t index, FILE *out)
{
	const struct test_run *run = &all->runs[index];
	bool is_masstree = strcmp(run->record->driver, "masstree") == 0;
	fprintf(out, "%zu/%zu %s/%s\n", index + 1, all->count, run->name,
		is_masstree ? "m" : run->record->driver);
	for (uint32_t t = 0; t < run->thread_count && run->has_two_phases; t++)
		fprintf(out, "%u: now getting\n", t);
	for (uint32_t t = 0; t < run->thread_count; t++)
		write_thread(all, index, t, out);
}

/* ---- the plot ---- */

/** A candlestick: a metric over all trials of a test and table. */
struct candlestick {
	const struct test_run *run; /* the first trial */
	uint32_t metric;            /* BOXPLOTS_* */
	double at, norm;
	double levels[5];
};

/**
 * Compute quantiles over the threads of all runs of the test and table. *is_there is false
 * if none has such a rate.
 */
static int
measure(struct candlestick *candle, const struct all *all, bool *is_there)
{
	size_t count = 0, room = 0;
	for (size_t i = 0; i < all->count; i++)
		room += all->runs[i].thread_count;
	double *rates = calloc(room + 1, sizeof(*rates));
	if (rates == NULL)
		return error_memory();
	for (size_t i = 0; i < all->count; i++) {
		const struct test_run *run = &all->runs[i];
		bool has_rate = (run->rated >> candle->metric & 1) != 0;
		for (uint32_t t = 0;
			has_rate && are_alike(run, candle->run) && t < run->thread_count; t++)
			rates[count++] = tests_thread(run, t).rates[candle->metric];
	}
	*is_there = count > 0;
	stats_sort(rates, count);
	for (size_t i = 0; i < 5 && count > 0; i++)
		candle->levels[i] = boxplots_level(rates, count, 0.25 * (double)i);
	free(rates);
	return NB_OK;
}

/** Add the candlesticks of one metric, in the order of the runs. */
static int
add_metric(struct candlestick *candles, size_t *count, const struct all *all, uint32_t metric,
	double *at)
{
	size_t first = *count;
	for (size_t i = 0; i < all->count; i++) {
		struct candlestick candle = {.run = &all->runs[i], .metric = metric};
		bool is_there = false;
		if (trial_of(all, i) > 0)
			continue; /* already part of an earlier candlestick */
		int rc = measure(&candle, all, &is_there);
		if (rc != NB_OK)
			return rc;
		if (!is_there)
			continue;
		candle.norm = candle.levels[2];
		for (size_t k = *count; k-- > first;) {
			if (strcmp(candles[k].run->name, candle.run->name) == 0)
				candle.norm = candles[k].norm;
		}
		if (*count > first)
			*at += strcmp(candles[*count - 1].run->name, candle.run->name) == 0
				? TABLE_STEP
				: TEST_STEP;
		candle.at = *at;
		candles[(*count)++] = candle;
	}
	if (*count > first)
		*at += METRIC_STEP;
	return NB_OK;
}

static void
write_commands(const struct candlestick *candles, size_t count, FILE *out)
{
	int metrics = 0;
	for (size_t i = 0; i < count; i++) {
		uint32_t metric = candles[i].metric;
		if (i > 0 && candles[i - 1].metric == metric)
			continue;
		fprintf(out,
			"%s '-' using 1:($3/$6):($2/$6):($5/$6):($4/$6) with candlesticks lt %d title '%s_per_sec', \\\n"
			" '-' using 1:($2/$3):($2/$3):($2/$3):($2/$3) with candlesticks lt %d notitle",
			metrics == 0 ? "plot " : ", \\\n", metrics + 1, boxplots_names[metric],
			metrics + 1);
		metrics++;
	}
	fputc('\n', out);
}

/** Write the inline data of each '-', in the same order. */
static void
write_points(const struct candlestick *candles, size_t count, FILE *out)
{
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && candles[end].metric == candles[i].metric; end++) {
			const struct candlestick *it = &candles[end];
			fprintf(out, "%.12g %.12g %.12g %.12g %.12g %.12g\n", it->at,
				it->levels[0], it->levels[1], it->levels[3], it->levels[4],
				it->norm);
		}
		fputs("e\n", out);
		for (size_t k = i; k < end; k++)
			fprintf(out, "%.12g %.12g %.12g\n", candles[k].at, candles[k].levels[2],
				candles[k].norm);
		fputs("e\n", out);
	}
}

static void
write_script(const struct candlestick *candles, size_t count, FILE *out)
{
	const struct nb_result *run = candles[0].run->record->run;
	fprintf(out,
		"set title \"%s (%u cores)\"\nset terminal png\nset xrange [%.12g:%.12g]\n",
		run->environment.host, run->threads, candles[0].at - TABLE_STEP,
		candles[count - 1].at + TABLE_STEP);
	fputs("set xtics rotate (", out);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%s\"%s/%s\" %.12g", i > 0 ? ", " : "", candles[i].run->name,
			table_of(candles[i].run), candles[i].at);
	fputs(")\nset key top left Left reverse\nset ylabel \"count, normalized per test\"\n",
		out);
	write_commands(candles, count, out);
	write_points(candles, count, out);
}

static int
write_plot(const struct all *all, FILE *out)
{
	struct candlestick *candles = calloc(all->count * PLOTTED + 1, sizeof(*candles));
	size_t count = 0;
	double at = 1;
	int rc = candles != NULL ? NB_OK : error_memory();
	for (size_t m = 0; m < PLOTTED && rc == NB_OK; m++)
		rc = add_metric(candles, &count, all, plotted[m], &at);
	if (rc == NB_OK && count > 0)
		write_script(candles, count, out);
	free(candles);
	return rc;
}

int
write_mttest(const struct nb_results *results, FILE *out, uint32_t flags)
{
	struct all all;
	int rc = find_all(&all, results);
	(void)flags;
	if (rc != NB_OK)
		return rc;
	for (size_t i = 0; i < all.count; i++)
		write_run(&all, i, out);
	fputs("EXPERIMENT x0\n", out);
	rc = write_plot(&all, out);
	free(all.runs);
	return rc;
}
