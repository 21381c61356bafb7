/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_VALUES_H
#define WORKLOAD_VALUES_H
/**
 * The bytes of values: they tell their key, their version and their own
 * checksum, and compress to a stated ratio. The layout is in values.c.
 */
#include <mininb/mininb.h>

enum { VALUE_SEGMENT_WORDS = 128 };

/** Values of one workload. Made once, then only read. */
struct value_spec {
	size_t size;
	size_t random_size; /* of the bytes behind the header, those that do not compress */
	uint64_t seed;
	uint64_t sum;        /* what a body of mark 0 sums up to */
	uint64_t sum_factor; /* what each unit of the mark adds to that */
	uint64_t words[VALUE_SEGMENT_WORDS];
};

/** `ratio` is what is left of a value after ideal compression, 0..1. */
void
value_spec_create(struct value_spec *spec, size_t size, double ratio, uint64_t seed);

/** Fill a buffer of spec->size with what all values have in common. Once for each buffer. */
void
value_prepare(const struct value_spec *spec, void *buf);

/**
 * Make the `count` prepared buffers at out, out + stride, ... the values of this
 * version of the `count` keys that stand one after the other at `keys`.
 */
void
values_write(const struct value_spec *spec, void *out, size_t stride, const void *keys,
	size_t key_size, uint32_t count, uint32_t version);

/* What value_check() finds. */
enum {
	VALUE_GOOD = 0,
	VALUE_WRONG_SIZE,
	VALUE_OF_OTHER_KEY, /* whole, but written for another key */
	VALUE_CORRUPT,
	VALUE_STALE, /* good, but not what was put last: not found here, but by those who know that */
	VALUE_VERDICTS
};

/**
 * Whether the bytes are a value of the key, of that size, of any seed, ratio
 * and version. Values of less than 16 bytes carry only a part of the key's
 * hash, so that the chance to miss a defect is 256^-size; of no bytes, none is
 * found.
 */
int
value_check(struct nb_slice value, size_t size, struct nb_slice key);

/** "wrong size" and so on, for a report. */
const char *
value_verdict_name(int verdict);

#endif /* WORKLOAD_VALUES_H */
