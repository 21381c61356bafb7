/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H
/**
 * The histogram from inside: its layout, and the counting that is inlined into
 * the worker's loop. What it promises stands in <mininb/histogram.h>.
 *
 * Index of a value, as in HdrHistogram: values below 2048 have a bucket each;
 * above, each power of two is cut into 1024 buckets, so
 * index = shift * 1024 + (value >> shift), shift = bits of the value above 11.
 */
#include <stdbool.h>

#include <mininb/histogram.h>

#include "base/uint128.h"

enum {
	HISTOGRAM_SUB_BITS = 11, /* 2048 >= 2 * 10^3: 3 digits */
	HISTOGRAM_HALF = 1 << (HISTOGRAM_SUB_BITS - 1),
	HISTOGRAM_BUCKETS = 33 * HISTOGRAM_HALF, /* up to 2^42 ns, the next above an hour */
	HISTOGRAM_BOUNDS = 179,                  /* of nb_histogram_bound() */
	HISTOGRAM_ALIGN = 128,                   /* lines are prefetched in pairs */
};

/** Longer times are counted with this one. */
#define HISTOGRAM_HOUR UINT64_C(3600000000000)

/**
 * Set in the count of a bucket with a bound inside it: whoever counts there sees
 * it in the number that was loaded anyway. The other bits are the count.
 */
#define HISTOGRAM_MARK (UINT64_C(1) << 63)

/**
 * Some 270 KB, wherever the owner wants them: a worker has its own, on cache
 * lines of its own. Needs histogram_create() and no destruction.
 */
struct nb_histogram {
	/* 128 bits: response times of an overloaded run can pass 2^64 ns within minutes */
	_Alignas(HISTOGRAM_ALIGN) uint128 sum;
	uint64_t min; /* UINT64_MAX if empty */
	uint64_t max;
	uint64_t counts[HISTOGRAM_BUCKETS]; /* with marks: read by histogram_at() */
	/* for a bound inside a bucket: how many of that bucket's values are below it */
	uint64_t below[HISTOGRAM_BOUNDS];
};

/** Make it empty and touch all its memory, so that counting never faults a page in. */
void
histogram_create(struct nb_histogram *histogram);

/** The rest of counting a value that fell into a marked bucket. */
void
histogram_add_at_bound(struct nb_histogram *histogram, uint64_t value_ns);

/**
 * Count in `into` what `from` has counted so far, which its owner may go on with meanwhile:
 * the counts; sum, minimum and maximum follow from those, in three digits.
 */
void
histogram_peek(struct nb_histogram *into, const struct nb_histogram *from);

/** Take off `now` all that `before` has, which becomes what `now` was. As of histogram_peek(). */
void
histogram_since(struct nb_histogram *now, struct nb_histogram *before);

/** Of any value, also above an hour; then it may be >= HISTOGRAM_BUCKETS. */
static inline size_t
histogram_index(uint64_t value)
{
	unsigned shift = 64 - HISTOGRAM_SUB_BITS -
		(unsigned)__builtin_clzll(value | (2 * HISTOGRAM_HALF - 1));
	return ((size_t)shift << (HISTOGRAM_SUB_BITS - 1)) + (size_t)(value >> shift);
}

/** How many bits wide the values of that bucket are spread. */
static inline unsigned
histogram_shift(size_t index)
{
	return index < 2 * HISTOGRAM_HALF ? 0 : (unsigned)(index / HISTOGRAM_HALF) - 1;
}

/** The lowest value of a bucket. */
static inline uint64_t
histogram_low(size_t index)
{
	unsigned shift = histogram_shift(index);
	return (uint64_t)(index - (size_t)shift * HISTOGRAM_HALF) << shift;
}

/** The highest value of a bucket. */
static inline uint64_t
histogram_high(size_t index)
{
	return histogram_low(index) + (UINT64_C(1) << histogram_shift(index)) - 1;
}

/** The count of a bucket. */
static inline uint64_t
histogram_at(const struct nb_histogram *histogram, size_t index)
{
	return histogram->counts[index] & ~HISTOGRAM_MARK;
}

/** Sum, minimum and maximum of values whose buckets alone have been counted. */
struct histogram_sums {
	uint128 sum;
	uint64_t min, max; /* UINT64_MAX and 0: there are none */
};

/**
 * Count a value. Its sum, minimum and maximum go to *sums, for histogram_add_sums() later. Without
 * a call or a division; the branch of the mark is taken only for values within 1/1024 of a bound
 * above 2 us.
 */
static inline void
histogram_add_part(
	struct nb_histogram *histogram, struct histogram_sums *sums, uint64_t value_ns)
{
	sums->sum += value_ns;
	sums->min = value_ns < sums->min ? value_ns : sums->min;
	sums->max = value_ns > sums->max ? value_ns : sums->max;
	uint64_t counted = value_ns < HISTOGRAM_HOUR ? value_ns : HISTOGRAM_HOUR;
	/* Whole for a thread that looks at it meanwhile (histogram_peek). */
	uint64_t *place = &histogram->counts[histogram_index(counted)];
	uint64_t now = __atomic_load_n(place, __ATOMIC_RELAXED) + 1;
	__atomic_store_n(place, now, __ATOMIC_RELAXED);
	if (__builtin_expect((now & HISTOGRAM_MARK) != 0, 0))
		histogram_add_at_bound(histogram, value_ns);
}

/** The sums of what histogram_add_part() counted. */
static inline void
histogram_add_sums(struct nb_histogram *histogram, const struct histogram_sums *sums)
{
	histogram->sum += sums->sum;
	histogram->min = sums->min < histogram->min ? sums->min : histogram->min;
	histogram->max = sums->max > histogram->max ? sums->max : histogram->max;
}

/**
 * Count values. The sums are in registers meanwhile: in memory, each value would wait for the one
 * before to be stored and loaded again.
 */
static inline void
histogram_add_block(struct nb_histogram *histogram, const uint64_t *values_ns, size_t count)
{
	struct histogram_sums sums = {.min = UINT64_MAX};
	for (size_t j = 0; j < count; j++)
		histogram_add_part(histogram, &sums, values_ns[j]);
	histogram_add_sums(histogram, &sums);
}

static inline void
histogram_add(struct nb_histogram *histogram, uint64_t value_ns)
{
	histogram_add_block(histogram, &value_ns, 1);
}

/** The same value so many times, at least once. */
static inline void
histogram_add_times(struct nb_histogram *histogram, uint64_t value_ns, uint64_t times)
{
	uint64_t counted = value_ns < HISTOGRAM_HOUR ? value_ns : HISTOGRAM_HOUR;
	uint64_t *place = &histogram->counts[histogram_index(counted)];
	uint64_t now = __atomic_load_n(place, __ATOMIC_RELAXED) + times;
	__atomic_store_n(place, now, __ATOMIC_RELAXED);
	histogram->sum += (uint128)value_ns * times;
	histogram->min = value_ns < histogram->min ? value_ns : histogram->min;
	histogram->max = value_ns > histogram->max ? value_ns : histogram->max;
	for (; (now & HISTOGRAM_MARK) != 0 && times > 0; times--)
		histogram_add_at_bound(histogram, value_ns);
}

/** 0: too few samples support that percentile. */
static inline uint64_t
histogram_supported(const struct nb_histogram *histogram, double percent)
{
	return nb_histogram_supports(histogram, percent, NULL)
		? nb_histogram_percentile(histogram, percent)
		: 0;
}

#endif /* BASE_HISTOGRAM_H */
