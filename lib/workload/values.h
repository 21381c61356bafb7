/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_VALUES_H
#define WORKLOAD_VALUES_H
/**
 * The bytes of values: they tell their key, their version and their own
 * checksum, and compress to a stated ratio. The layout is in values.c.
 */
#include <stdbool.h>

#include <mininb/mininb.h>

enum { VALUE_SEGMENT_WORDS = 128 };

/** Versions are 0..VALUE_VERSIONS. */
#define VALUE_VERSIONS UINT64_C(0xffffffffffff)

/** Values of one workload. Made once, then only read. */
struct value_spec {
	size_t size;        /* of all, or the largest there is */
	size_t random_size; /* bytes after the header that do not compress */
	bool begins_filled; /* the first word after the header is filler */
	uint64_t seed;
	uint64_t sum;        /* what a body of mark 0 sums up to */
	uint64_t sum_factor; /* what each unit of the mark adds to that */
	uint64_t words[VALUE_SEGMENT_WORDS];
	/* for values of other sizes: the ratio, and what the first words sum up to */
	double ratio;
	uint64_t plain_sums[VALUE_SEGMENT_WORDS + 1];    /* each counted once */
	uint64_t weighted_sums[VALUE_SEGMENT_WORDS + 1]; /* as in the first segment */
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
	size_t key_size, uint32_t count, uint64_t version);

/** The same with keys that stand anywhere, each with a version of its own. */
void
values_write_each(const struct value_spec *spec, void *out, size_t stride,
	const struct nb_slice *keys, const uint64_t *versions, uint32_t count);

/**
 * Make the first `size` bytes at `out`, no more than spec->size, the value of that key,
 * size and version: the one that a spec of that size would make. The buffer need not be
 * prepared, and may hold another value.
 */
void
values_write_sized(const struct value_spec *spec, void *out, struct nb_slice key, size_t size,
	uint64_t version);

/**
 * What zlib (level 6) leaves of values of that size, some 64 KiB of them one after the
 * other, 0..1: for reports, beside the ratio that was asked for. Of more than 1 MiB, one
 * of 1 MiB is looked at. 1 for size 0. NAN if memory is short.
 */
double
values_measured_ratio(const struct value_spec *spec, size_t size);

/*
 * Byte at which a value of at least 16 bytes has a signed number, in the machine's order, that
 * grows with its version among values of one key: its upper half is the version.
 */
enum { VALUES_AGE_AT = 4 };

/* What value_check() finds. */
enum {
	VALUE_GOOD = 0,
	VALUE_WRONG_SIZE,
	VALUE_OF_OTHER_KEY, /* whole, but written for another key */
	VALUE_CORRUPT,
	VALUE_STALE, /* good, but not the last version; only the caller can know that */
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

/** value_check() of whatever size the value has. */
int
value_check_any(struct nb_slice value, struct nb_slice key);

/** The version in a value; 0 if it is too short for one. The value need not be good. */
uint64_t
value_version(struct nb_slice value);

/** Different versions above 0 that values of `size` bytes have: then they are used again. */
uint64_t
value_versions(size_t size);

/** What value_version() finds in a value of `size` bytes, at least 16, of that version. */
uint64_t
value_version_in(uint64_t version, size_t size);

#endif /* WORKLOAD_VALUES_H */
