/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steady state after SNIA's Solid State Storage Performance Test Specification. Over a window
 * of intervals, the least-squares line changes by a small share of the mean, and no interval is
 * far from the mean. Both are needed: a rate that swings evenly has no slope, and one that
 * falls slowly stays within a band.
 *
 * There are two differences. The specification's excursion is the largest rate minus the
 * smallest, at most 20 % of the mean. Here it is the larger distance from the mean, so its 20 %
 * are some 10 % here. Also, a window with a mean of 0 is not steady: a stalled engine has not
 * reached any state.
 *
 * All sums are computed anew for each window, from distances to its own mean. A running sum
 * would collect rounding errors over days. The result is wrong if intervals are so short that
 * they show single stalls or clock steps. It is also wrong if the window is shorter than the
 * engine's compaction cycle.
 */
#include "run/steady.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <mininb/run.h>

#include "base/error.h"

void
steady_create(struct steady *steady, uint32_t window, double slope_limit, double band_limit)
{
	assert(window >= 3 && window <= STEADY_WINDOW_MAX);
	*steady = (struct steady){
		.window = window, .slope_limit = slope_limit, .band_limit = band_limit};
}

/** The rate of interval i of the window; 0 is the oldest. */
static double
rate_at(const struct steady *steady, uint32_t i)
{
	return steady->rates[(steady->count + i) % steady->window];
}

/**
 * If x is the distance from the middle of the window, the slope of the line is sum xy / sum xx.
 */
static void
look(struct steady *steady)
{
	double sum = 0, products = 0, squares = 0, farthest = 0;
	double middle = (steady->window - 1) / 2.0;
	for (uint32_t i = 0; i < steady->window; i++)
		sum += steady->rates[i];
	double mean = sum / steady->window;
	for (uint32_t i = 0; i < steady->window; i++) {
		double x = i - middle, y = rate_at(steady, i) - mean;
		products += x * y;
		squares += x * x;
		farthest = fmax(farthest, fabs(y));
	}
	double change = products / squares * (steady->window - 1);
	steady->mean = mean;
	steady->slope = mean > 0 ? change / mean : 0;
	steady->band = mean > 0 ? farthest / mean : 0;
}

bool
steady_add(struct steady *steady, double rate)
{
	steady->rates[steady->count % steady->window] = rate;
	steady->count++;
	if (steady->count < steady->window)
		return false;
	look(steady);
	return steady->mean > 0 && fabs(steady->slope) <= steady->slope_limit &&
		steady->band <= steady->band_limit;
}

/** Parse "5%" as 0.05. */
static int
parse_percentage(double *out, const char *text)
{
	char number[64];
	size_t length = strlen(text);
	if (length < 2 || length >= sizeof(number) || text[length - 1] != '%')
		return error_set(NB_ERR_USAGE, "'%s' is not a percentage such as 5%%", text);
	memcpy(number, text, length - 1);
	number[length - 1] = '\0';
	double percent = 0;
	int rc = nb_parse_real(&percent, number);
	if (rc != NB_OK)
		return rc;
	if (percent <= 0 || percent > 100)
		return error_set(NB_ERR_USAGE, "'%s' is not above 0%% and up to 100%%", text);
	*out = percent / 100;
	return NB_OK;
}

/** Parse "slope:5%" or "band:10%". Modifies `text`. */
static int
parse_limit(double limits[2], char *text)
{
	static const char *const names[] = {"slope", "band"};
	char *colon = strchr(text, ':');
	if (colon != NULL)
		*colon = '\0';
	size_t i = 0;
	while (i < 2 && strcmp(text, names[i]) != 0)
		i++;
	if (i == 2) {
		const char *nearest = nb_nearest(text, names, 2);
		return error_set(NB_ERR_USAGE, "'%s' is not a limit of a steady state; %s%s%s",
			text,
			nearest != NULL ? "did you mean '" : "the limits are slope and band",
			nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
	}
	if (colon == NULL)
		return error_set(NB_ERR_USAGE, "'%s' has no percentage: %s:5%%", text, text);
	if (limits[i] != 0)
		return error_set(NB_ERR_USAGE, "'%s' is given twice", text);
	return parse_percentage(&limits[i], colon + 1);
}

int
nb_steady_parse(struct nb_steady *out, const char *text)
{
	char *copy = strdup(text);
	if (copy == NULL)
		return error_memory();
	uint64_t window_ns = 0;
	double limits[2] = {0, 0};
	char *rest = copy, *part = strsep(&rest, ",");
	int rc = nb_parse_time(&window_ns, part);
	if (rc == NB_OK && window_ns == 0)
		rc = error_set(NB_ERR_USAGE, "'%s': the window must be longer than 0", part);
	while (rc == NB_OK && (part = strsep(&rest, ",")) != NULL)
		rc = parse_limit(limits, part);
	free(copy);
	if (rc != NB_OK)
		return rc;
	*out = (struct nb_steady){.window_ns = window_ns,
		.slope = limits[0] != 0 ? limits[0] : out->slope,
		.band = limits[1] != 0 ? limits[1] : out->band};
	return NB_OK;
}
