/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H
/**
 * The internals of the histogram: its layout, and the counting that is inlined into the
 * worker's loop. <mininb/histogram.h> describes its behaviour.
 *
 * Index of a value, as in HdrHistogram: each value below 2048 has its own bucket. Above, each
 * power of two is divided into 1024 buckets, so index = shift * 1024 + (value >> shift), where
 * shift is the number of bits of the value above 11.
 */
#include <stdbool.h>

#include <mininb/histogram.h>

#include "base/uint128.h"

enum {
	HISTOGRAM_SUB_BITS = 11, /* 2048 >= 2 * 10^3: 3 digits */
	HISTOGRAM_HALF = 1 << (HISTOGRAM_SUB_BITS - 1),
	HISTOGRAM_BUCKETS = 33 * HISTOGRAM_HALF, /* 2^42 ns: the power of two above an hour */
	HISTOGRAM_BOUNDS = 179,                  /* number of nb_histogram_bound() values */
	HISTOGRAM_ALIGN = 128,                   /* the CPU prefetches cache lines in pairs */
};

/** Longer times are counted as this one. */
#define HISTOGRAM_HOUR UINT64_C(3600000000000)

/**
 * Set in the count of a bucket that contains a bound. The counting code sees it in the number
 * that it loads anyway. The other bits are the count.
 */
#define HISTOGRAM_MARK (UINT64_C(1) << 63)

/**
 * About 270 KB, placed by the owner: each worker has its own, on separate cache lines. Needs
 * histogram_create() and no destruction.
 */
struct nb_histogram {
	/*
	 * 128 bits: the response times of an overloaded run can exceed 2^64 ns within minutes
	 */
	_Alignas(HISTOGRAM_ALIGN) uint128 sum;
	uint64_t min; /* UINT64_MAX if empty */
	uint64_t max;
	uint64_t counts[HISTOGRAM_BUCKETS]; /* with marks: use histogram_at() */
	/* for a bound inside a bucket: number of the bucket's values below the bound */
	uint64_t below[HISTOGRAM_BOUNDS];
};

/** Make it empty and touch all its memory, so that counting causes no page faults. */
void
histogram_create(struct nb_histogram *histogram);

/** Complete the count of a value in a marked bucket. */
void
histogram_add_at_bound(struct nb_histogram *histogram, uint64_t value_ns);

/**
 * Add the current counts of `from` to `into`, while the owner of `from` may continue to count.
 * Sum, minimum and maximum are computed from the counts, to three digits.
 */
void
histogram_peek(struct nb_histogram *into, const struct nb_histogram *from);

/**
 * Subtract `before` from `now`, and set `before` to the old `now`. Three digits, as in
 * histogram_peek().
 */
void
histogram_since(struct nb_histogram *now, struct nb_histogram *before);

/**
 * Add the counts of a text that nb_histogram_decode() can read. After a failure, `histogram` may
 * contain some of them.
 */
NB_MUST_CHECK int
histogram_add_text(struct nb_histogram *histogram, const char *text);

/** Bucket of any value. Above one hour it may be >= HISTOGRAM_BUCKETS. */
static inline size_t
histogram_index(uint64_t value)
{
	unsigned shift = 64 - HISTOGRAM_SUB_BITS -
		(unsigned)__builtin_clzll(value | (2 * HISTOGRAM_HALF - 1));
	return ((size_t)shift << (HISTOGRAM_SUB_BITS - 1)) + (size_t)(value >> shift);
}

/** The bucket that counts a value. */
static inline size_t
histogram_bucket(uint64_t value_ns)
{
	return histogram_index(value_ns < HISTOGRAM_HOUR ? value_ns : HISTOGRAM_HOUR);
}

/** log2 of the number of values of a bucket. */
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

/** Sum, minimum and maximum of values that so far were only counted in buckets. */
struct histogram_sums {
	uint128 sum;
	uint64_t min, max; /* UINT64_MAX and 0: no values */
};

/**
 * Count a value, and add its sum, minimum and maximum to *sums, for a later
 * histogram_add_sums(). Needs no call and no division. It takes the branch of the mark only for
 * values within 1/1024 of a bound above 2 us.
 */
static inline void
histogram_add_part(
	struct nb_histogram *histogram, struct histogram_sums *sums, uint64_t value_ns)
{
	sums->sum += value_ns;
	sums->min = value_ns < sums->min ? value_ns : sums->min;
	sums->max = value_ns > sums->max ? value_ns : sums->max;
	/* Atomic, for a thread that reads it concurrently (histogram_peek). */
	uint64_t *place = &histogram->counts[histogram_bucket(value_ns)];
	uint64_t now = __atomic_load_n(place, __ATOMIC_RELAXED) + 1;
	__atomic_store_n(place, now, __ATOMIC_RELAXED);
	if (__builtin_expect((now & HISTOGRAM_MARK) != 0, 0))
		histogram_add_at_bound(histogram, value_ns);
}

/** Add the sums that histogram_add_part() collected. */
static inline void
histogram_add_sums(struct nb_histogram *histogram, const struct histogram_sums *sums)
{
	histogram->sum += sums->sum;
	histogram->min = sums->min < histogram->min ? sums->min : histogram->min;
	histogram->max = sums->max > histogram->max ? sums->max : histogram->max;
}

/**
 * Count values. The sums stay in registers meanwhile. In memory, each value would have to wait
 * for the store and load of the previous sum.
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

/** Count the same value `times` times, at least once. */
static inline void
histogram_add_times(struct nb_histogram *histogram, uint64_t value_ns, uint64_t times)
{
	uint64_t *place = &histogram->counts[histogram_bucket(value_ns)];
	uint64_t now = __atomic_load_n(place, __ATOMIC_RELAXED) + times;
	__atomic_store_n(place, now, __ATOMIC_RELAXED);
	histogram->sum += (uint128)value_ns * times;
	histogram->min = value_ns < histogram->min ? value_ns : histogram->min;
	histogram->max = value_ns > histogram->max ? value_ns : histogram->max;
	for (; (now & HISTOGRAM_MARK) != 0 && times > 0; times--)
		histogram_add_at_bound(histogram, value_ns);
}

/** The percentile, or 0 if there are too few samples for it. */
static inline uint64_t
histogram_supported(const struct nb_histogram *histogram, double percent)
{
	return nb_histogram_supports(histogram, percent, NULL)
		? nb_histogram_percentile(histogram, percent)
		: 0;
}

#endif /* BASE_HISTOGRAM_H */
