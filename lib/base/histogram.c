/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a histogram: percentiles, counts below a bound, merging.
 *
 * The number of values is not stored but computed on request. That saves one increment per
 * operation and costs about 10 us per report.
 *
 * The bounds of the printed table are decimal and buckets are binary, so above 2 us a bound may
 * be inside a bucket. Such buckets, at most one for each bound, are marked. A second counter
 * has the number of their values below the bound. Rejected: to assign the bucket to one side,
 * which makes rows wrong by up to 0.1 % of their bound; finer buckets, which only reduce the
 * error.
 *
 * A percentile is the upper end of its bucket, so it may be too high by 1/1024 and is never too
 * low. Ranks are computed in integers: 0.999 * 1000 in floating point may be above 999, and
 * would then select the next value.
 */
#include "base/histogram.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define COUNT_MAX (~HISTOGRAM_MARK)

/* Percentages are integers in this unit, 10^-7 of a percent. */
#define WHOLE UINT64_C(1000000000)

/* A percentile is printed if at least this many values are on either side. */
#define SUPPORT UINT64_C(10)

#define DECADE(unit) \
	10 * (unit), 12 * (unit), 14 * (unit), 16 * (unit), 18 * (unit), 20 * (unit), \
		25 * (unit), 30 * (unit), 35 * (unit), 40 * (unit), 45 * (unit), 50 * (unit), \
		60 * (unit), 70 * (unit), 80 * (unit), 90 * (unit)

#define US UINT64_C(1000)
#define SEC UINT64_C(1000000000)

static const uint64_t bounds[] = {
	0,
	DECADE(UINT64_C(1)),
	DECADE(UINT64_C(10)),
	1 * US,
	2 * US,
	3 * US,
	4 * US,
	5 * US,
	6 * US,
	7 * US,
	8 * US,
	9 * US,
	DECADE(US),
	DECADE(10 * US),
	DECADE(100 * US),
	DECADE(1000 * US),
	DECADE(10000 * US),
	DECADE(100000 * US),
	DECADE(SEC),
	DECADE(10 * SEC),
	1000 * SEC,
	1200 * SEC,
	1400 * SEC,
	1600 * SEC,
	1800 * SEC,
	2000 * SEC,
	2500 * SEC,
	3000 * SEC,
	3500 * SEC,
};

_Static_assert(sizeof(bounds) / sizeof(bounds[0]) == HISTOGRAM_BOUNDS, "bounds of the table");
_Static_assert(sizeof(struct nb_histogram) % HISTOGRAM_ALIGN == 0, "can be an array");

static uint64_t
add_capped(uint64_t a, uint64_t b, uint64_t limit)
{
	uint64_t sum;
	return __builtin_add_overflow(a, b, &sum) || sum > limit ? limit : sum;
}

void
histogram_create(struct nb_histogram *histogram)
{
	memset(histogram, 0, sizeof(*histogram));
	histogram->min = UINT64_MAX;
	for (size_t i = 0; i < HISTOGRAM_BOUNDS; i++) {
		size_t index = histogram_index(bounds[i]);
		if (histogram_low(index) < bounds[i])
			histogram->counts[index] = HISTOGRAM_MARK;
	}
}

int
nb_histogram_new(struct nb_histogram **out)
{
	struct nb_histogram *histogram = aligned_alloc(HISTOGRAM_ALIGN, sizeof(*histogram));
	if (histogram == NULL)
		return error_system("a histogram of %zu bytes", sizeof(*histogram));
	histogram_create(histogram);
	*out = histogram;
	return NB_OK;
}

void
nb_histogram_delete(struct nb_histogram *histogram)
{
	free(histogram);
}

void
nb_histogram_reset(struct nb_histogram *histogram)
{
	histogram_create(histogram);
}

void
nb_histogram_add(struct nb_histogram *histogram, uint64_t value_ns)
{
	histogram_add(histogram, value_ns);
}

/* All values are in the buckets from first_bucket() up to, not including, end_bucket(). */
static size_t
first_bucket(const struct nb_histogram *histogram)
{
	return histogram_bucket(histogram->min);
}

static size_t
end_bucket(const struct nb_histogram *histogram)
{
	return histogram->min <= histogram->max ? histogram_bucket(histogram->max) + 1 : 0;
}

static void
widen(struct nb_histogram *histogram, size_t index)
{
	uint64_t low = histogram_low(index), high = histogram_high(index);
	histogram->min = histogram->min < low ? histogram->min : low;
	histogram->max = histogram->max > high ? histogram->max : high;
}

void
histogram_peek(struct nb_histogram *into, const struct nb_histogram *from)
{
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t count = __atomic_load_n(&from->counts[i], __ATOMIC_RELAXED) &
			~HISTOGRAM_MARK;
		into->counts[i] += count;
		if (count == 0)
			continue;
		into->sum += (uint128)count * (histogram_low(i) + histogram_high(i)) / 2;
		widen(into, i);
	}
}

void
histogram_since(struct nb_histogram *now, struct nb_histogram *before)
{
	size_t first = first_bucket(now), end = end_bucket(now);
	now->min = UINT64_MAX;
	now->max = 0;
	for (size_t i = first; i < end; i++) {
		uint64_t count = histogram_at(now, i), known = histogram_at(before, i);
		before->counts[i] += count - known;
		now->counts[i] -= known;
		if (count != known)
			widen(now, i);
	}
}

void
histogram_add_at_bound(struct nb_histogram *histogram, uint64_t value_ns)
{
	/* The only bound in this bucket is the first above the bucket's lowest value. */
	uint64_t low = histogram_low(histogram_index(value_ns));
	size_t from = 0, to = HISTOGRAM_BOUNDS - 1;
	while (from < to) {
		size_t middle = (from + to) / 2;
		if (bounds[middle] <= low)
			from = middle + 1;
		else
			to = middle;
	}
	assert(histogram_index(bounds[from]) == histogram_index(value_ns));
	histogram->below[from] += value_ns < bounds[from];
}

void
nb_histogram_merge(struct nb_histogram *into, const struct nb_histogram *from)
{
	into->sum += from->sum;
	if (from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
	for (size_t i = first_bucket(from), end = end_bucket(from); i < end; i++) {
		uint64_t mark = into->counts[i] & HISTOGRAM_MARK;
		uint64_t count = add_capped(
			histogram_at(into, i), histogram_at(from, i), COUNT_MAX);
		into->counts[i] = mark | count;
	}
	for (size_t i = 0; i < HISTOGRAM_BOUNDS; i++)
		into->below[i] = add_capped(into->below[i], from->below[i], COUNT_MAX);
}

static uint64_t
count_up_to(const struct nb_histogram *histogram, size_t end)
{
	/* Sums of 32-bit halves cannot overflow, so the loop needs no check. */
	uint64_t lower = 0, upper = 0;
	if (end > end_bucket(histogram))
		end = end_bucket(histogram);
	for (size_t i = first_bucket(histogram); i < end; i++) {
		lower += histogram->counts[i] & UINT32_MAX;
		upper += histogram_at(histogram, i) >> 32;
	}
	uint128 total = ((uint128)upper << 32) + lower;
	return total <= UINT64_MAX ? (uint64_t)total : UINT64_MAX;
}

uint64_t
nb_histogram_count(const struct nb_histogram *histogram)
{
	return count_up_to(histogram, HISTOGRAM_BUCKETS);
}

uint64_t
nb_histogram_min(const struct nb_histogram *histogram)
{
	/* UINT64_MAX can be a value; then it is also the maximum */
	return histogram->min <= histogram->max ? histogram->min : 0;
}

uint64_t
nb_histogram_max(const struct nb_histogram *histogram)
{
	return histogram->max;
}

uint64_t
nb_histogram_sum(const struct nb_histogram *histogram)
{
	return histogram->sum <= UINT64_MAX ? (uint64_t)histogram->sum : UINT64_MAX;
}

double
nb_histogram_mean(const struct nb_histogram *histogram)
{
	uint64_t count = nb_histogram_count(histogram);
	return count == 0 ? 0 : (double)histogram->sum / (double)count;
}

static uint64_t
parts_of_whole(double percent)
{
	if (!(percent > 0)) /* NaN too */
		return 0;
	if (percent >= 100)
		return WHOLE;
	return (uint64_t)llround(percent * (double)(WHOLE / 100));
}

static uint64_t
divide_up(uint64_t dividend, uint64_t divisor)
{
	return dividend / divisor + (dividend % divisor != 0);
}

/* The smallest count that is at least parts/WHOLE of `count`, at least 1. */
static uint64_t
rank_of(uint64_t count, uint64_t parts)
{
	uint64_t rank = count / WHOLE * parts + divide_up(count % WHOLE * parts, WHOLE);
	return rank == 0 ? 1 : rank;
}

uint64_t
nb_histogram_percentile(const struct nb_histogram *histogram, double percent)
{
	uint64_t rank = rank_of(nb_histogram_count(histogram), parts_of_whole(percent));
	/* Values in the hour's bucket may be as long as the maximum. */
	size_t last = histogram_index(HISTOGRAM_HOUR);
	uint64_t seen = 0;
	for (size_t i = first_bucket(histogram); i < last; i++) {
		seen = add_capped(seen, histogram_at(histogram, i), UINT64_MAX);
		if (seen >= rank) {
			uint64_t high = histogram_high(i);
			return high < histogram->max ? high : histogram->max;
		}
	}
	return histogram->max;
}

int
nb_histogram_supports(const struct nb_histogram *histogram, double percent, uint64_t *needed)
{
	uint64_t below = parts_of_whole(percent);
	uint64_t above = WHOLE - below;
	uint64_t rarer = below < above ? below : above;
	/* 0 % and 100 % have no values on one side: no count suffices */
	uint64_t enough = rarer == 0 ? UINT64_MAX : divide_up(SUPPORT * WHOLE, rarer);
	if (needed != NULL)
		*needed = enough;
	return rarer != 0 && nb_histogram_count(histogram) >= enough;
}

uint64_t
nb_histogram_bound(size_t index)
{
	return index < HISTOGRAM_BOUNDS ? bounds[index] : UINT64_MAX;
}

uint64_t
nb_histogram_count_below(const struct nb_histogram *histogram, size_t index)
{
	if (index >= HISTOGRAM_BOUNDS)
		return nb_histogram_count(histogram);
	uint64_t whole_buckets = count_up_to(histogram, histogram_index(bounds[index]));
	return add_capped(whole_buckets, histogram->below[index], UINT64_MAX);
}
