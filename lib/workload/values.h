/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_VALUES_H
#define WORKLOAD_VALUES_H
/**
 * The bytes of values. A value identifies its key and version, has its own checksum, and
 * compresses to a given ratio. values.c describes the layout.
 */
#include <stdbool.h>

#include <mininb/mininb.h>

enum { VALUE_SEGMENT_WORDS = 128 };

/** Shorter values have no version and no checksum. */
enum { VALUES_HEADER = 16 };

/** Versions are 0..VALUE_VERSIONS. */
#define VALUE_VERSIONS UINT64_C(0xffffffffffff)

/** Values of one workload. Made once, then read-only. */
struct value_spec {
	size_t size;        /* of all values, or the maximum */
	size_t random_size; /* incompressible bytes after the header */
	bool begins_filled; /* the first word after the header is filler */
	uint64_t seed;
	uint64_t sum;        /* weighted sum of a body with mark 0 */
	uint64_t sum_factor; /* increment of the sum per unit of the mark */
	uint64_t words[VALUE_SEGMENT_WORDS];
	/* for values of other sizes: the ratio, and sums of the first words */
	double ratio;
	uint64_t plain_sums[VALUE_SEGMENT_WORDS + 1];    /* each word counted once */
	uint64_t weighted_sums[VALUE_SEGMENT_WORDS + 1]; /* weighted as in the first segment */
};

/** `ratio` is the size after ideal compression relative to the original size, 0..1. */
void
value_spec_create(struct value_spec *spec, size_t size, double ratio, uint64_t seed);

/**
 * Fill a buffer of spec->size bytes with the content that is common to all values. Once per
 * buffer.
 */
void
value_prepare(const struct value_spec *spec, void *buf);

/**
 * Write values of this version to the `count` prepared buffers at out, out + stride, ... The
 * `count` keys are contiguous at `keys`.
 */
void
values_write(const struct value_spec *spec, void *out, size_t stride, const void *keys,
	size_t key_size, uint32_t count, uint64_t version);

/** The same with keys at any place, and a version for each. */
void
values_write_each(const struct value_spec *spec, void *out, size_t stride,
	const struct nb_slice *keys, const uint64_t *versions, uint32_t count);

/**
 * Write the value of that key, size and version to the first `size` bytes at `out`. `size` is
 * at most spec->size. The result is that of a spec of that size. The buffer need not be
 * prepared and may contain another value.
 */
void
values_write_sized(const struct value_spec *spec, void *out, struct nb_slice key, size_t size,
	uint64_t version);

/**
 * Compression ratio of zlib (level 6) for values of that size, 0..1, measured on about 64 KiB
 * of consecutive values. Reports print it next to the requested ratio. For sizes above 1 MiB,
 * one value of 1 MiB is used. 1 for size 0. NAN: out of memory.
 */
double
values_measured_ratio(const struct value_spec *spec, size_t size);

/*
 * Byte offset of a signed number in native byte order, in values of at least 16 bytes. Its
 * upper half is the version, so it grows with the version among values of one key.
 */
enum { VALUES_AGE_AT = 4 };

/* Results of value_check(). */
enum {
	VALUE_GOOD = 0,
	VALUE_WRONG_SIZE,
	VALUE_OF_OTHER_KEY, /* intact, but written for another key */
	VALUE_CORRUPT,
	VALUE_STALE, /* intact, but not the last version; only the caller detects it */
	VALUE_VERDICTS
};

/**
 * Whether the bytes are a value of the key and of that size, for any seed, ratio and version.
 * Values of less than 16 bytes contain only a part of the key's hash, so a defect is missed
 * with probability 256^-size. In empty values no defect is found.
 */
int
value_check(struct nb_slice value, size_t size, struct nb_slice key);

/** value_check() for a value of any size. */
int
value_check_any(struct nb_slice value, struct nb_slice key);

/** The version in a value; 0 if it is too short for one. The value need not be intact. */
uint64_t
value_version(struct nb_slice value);

/** Number of versions above 0 before the versions in values of `size` bytes repeat. */
uint64_t
value_versions(size_t size);

/** The version that value_version() finds in a value of that version and `size` >= 16 bytes. */
uint64_t
value_version_in(uint64_t version, size_t size);

#endif /* WORKLOAD_VALUES_H */
