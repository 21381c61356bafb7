/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A value of 16 bytes or more, little-endian:
 *
 *     0   8  hash of the key, XXH3-64
 *     8   4  version
 *     12  4  checksum of all the rest
 *     16     body: segments of up to 1 KiB, each with random words first, then filler
 *
 * So every reader detects a value that is torn, truncated, or of another key or version,
 * without seed and ratio. A shorter value is the beginning of the key's hash and of a second
 * hash.
 *
 * Versions have 48 bits. Below 2^32 the layout is as above. From 2^32 on, the first word
 * of the body is the upper 16 bits of the version, xor a hash of the key's hash. Another word
 * looks like that in one value of 2^48. The checksum of both layouts includes the version.
 * Values of less than 24 bytes do not have that word; they reuse versions 1..2^32-1. So do
 * values of any size from old versions of mininb, which it still reads.
 *
 * The random words are a fixed table. Each word is increased by the mark of the value, a hash
 * of (seed, key, version), and by a hash of the segment's number. So no word occurs twice in a
 * value or in two values, and no window of a compressor finds a repetition. Rejected: slices of
 * one random pool, as in LevelDB's benchmark, which a large window finds; a generator call for
 * each word, which costs more than the rest of a put. The filler is one repeated byte that is
 * never rewritten: a buffer is prepared once, and an operation writes only the header and the
 * random words. Segments keep the ratio equal in every kilobyte, for any block size of an
 * engine.
 *
 * The checksum is the sum of the body's words, each multiplied by an odd factor for its
 * position, mixed with the header and cut to 32 bits (multilinear hashing: Lemire and Kaser,
 * "Strongly universal string hashing is fast", The Computer Journal 57, 2014; here with factors
 * in arithmetic progression). Every change of one word changes the sum, and so do torn, shifted
 * or exchanged pages. The cut misses one in 2^32 of them. The marks of segments are not in
 * arithmetic progression, because exchanged halves of 256 MiB would then cancel out. The sum is
 * linear in the mark, so it costs one multiplication for any size. Rejected: XXH3 over the
 * finished body, which reads all bytes again and takes three times as long as the rest.
 *
 * Values of other sizes have words and filler at the same places as in a spec of their size.
 * Their sum is computed per segment. The factors are in arithmetic progression, so the sum of
 * words from place b is their sum at place 0 plus b steps of their plain sum; both are in a
 * table.
 *
 * The ratio is exact to 8 bytes and includes the 12 incompressible header bytes, which are its
 * minimum. Its maximum is all bytes except the version and those after the last whole word.
 * Cause of a wrong ratio: a compressor that needs space for the filler (about 3 bytes in 64 for
 * Snappy, less for others).
 *
 * _FORTIFY_SOURCE is off in this file. It could check no call here, but with its headers GCC 12
 * inlines less, which costs 6 of about 320 instructions in each put.
 */
#undef _FORTIFY_SOURCE
#include "workload/values.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/rng.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
	HEADER = VALUES_HEADER,
	HEADER_RANDOM = 12, /* incompressible bytes of the header */
	SEGMENT = VALUE_SEGMENT_WORDS * 8,
	WIDE = HEADER + 8, /* minimum size of a value with all bits of its version */
	FILLER = 'v',
	SAMPLE = 64 << 10,     /* bytes to compress: twice zlib's window */
	SAMPLE_VALUE = 1 << 20 /* maximum size of a value in the sample */
};

#define FILLER_WORD UINT64_C(0x7676767676767676)

/* Separates the hash that masks the upper half of a version from other hashes. */
#define UPPER_SALT UINT64_C(0x8ebc6af09c88c6e3)

/* Odd constants with as many ones as zeros: primes of wyhash and xxHash. */
#define VERSION_FACTOR UINT64_C(0xa0761d6478bd642f)
#define FACTOR_FIRST UINT64_C(0x9e3779b185ebca87)
#define FACTOR_STEP (UINT64_C(0xc2b2ae3d27d4eb4f) << 1)

/** The factor of word `index` of the body: odd, so every change of one word changes the sum. */
static inline uint64_t
factor(size_t index)
{
	return FACTOR_FIRST + index * FACTOR_STEP;
}

/** Added to the mark in the segment that begins at `begin`; 0 for the first. */
static inline uint64_t
segment_mark(size_t begin)
{
	return splitmix64_mix(begin / SEGMENT);
}

/** Parts of the body of a value. */
struct body {
	size_t size;         /* in bytes */
	size_t words;        /* whole words */
	size_t random_words; /* random words among them */
};

/** Number of random words among the first `count`, if they are spread evenly. */
static inline size_t
random_words(const struct body *body, size_t count)
{
	uint64_t all = body->words, random = body->random_words;
	return count >= all ? random : random * count / all;
}

/** Number of random words at the start of the segment that begins at `begin`. */
static inline size_t
segment_words(const struct body *body, size_t begin)
{
	return random_words(body, begin / 8 + VALUE_SEGMENT_WORDS) -
		random_words(body, begin / 8);
}

/** llround() for x >= 0, without the call. */
static inline size_t
round_half_up(double x)
{
	size_t whole = (size_t)x;
	return whole + (x - (double)whole >= 0.5);
}

/** The body of a value of `size` bytes, at least HEADER. */
static inline struct body
body_of(size_t size, double ratio)
{
	struct body body = {.size = size - HEADER, .words = (size - HEADER) / 8};
	double wanted = ratio * (double)size - HEADER_RANDOM;
	size_t words = wanted > 0 ? round_half_up(wanted / 8) : 0;
	body.random_words = words < body.words && ratio < 1 ? words : body.words;
	return body;
}

/** Sum of the factors of `count` words from position `index`. */
static inline uint64_t
factor_sum(size_t index, size_t count)
{
	uint64_t n = count;
	uint64_t pairs = n * (n - 1) / 2; /* 0 + 1 + ... + n - 1 */
	return n * factor(index) + pairs * FACTOR_STEP;
}

/** Sum of a segment of `size` bytes with `words` random words of that mark. */
static inline uint64_t
segment_sum(
	const struct value_spec *spec, size_t begin, size_t size, size_t words, uint64_t mark)
{
	size_t index = begin / 8, filled = index + words, rest = size / 8 - words;
	uint64_t sum = spec->weighted_sums[words] +
		index * FACTOR_STEP * spec->plain_sums[words];
	sum += mark * factor_sum(index, words);
	sum += FILLER_WORD * factor_sum(filled, rest);
	uint64_t last = size % 8 == 0 ? 0 : FILLER_WORD >> (64 - size % 8 * 8);
	return sum + last * factor(filled + rest);
}

/** Compute the part of the sum that does not depend on the mark, and the mark's factor. */
static void
sum_up(struct value_spec *spec, const struct body *body)
{
	for (size_t begin = 0; begin < body->size; begin += SEGMENT) {
		size_t size = body->size - begin < SEGMENT ? body->size - begin : SEGMENT;
		size_t words = segment_words(body, begin);
		spec->sum += segment_sum(spec, begin, size, words, segment_mark(begin));
		spec->sum_factor += factor_sum(begin / 8, words);
	}
}

static void
make_words(struct value_spec *spec)
{
	struct rng rng;
	rng_create(&rng, spec->seed);
	for (size_t i = 0; i < VALUE_SEGMENT_WORDS; i++) {
		uint64_t word = rng_next(&rng);
		spec->words[i] = word;
		spec->plain_sums[i + 1] = spec->plain_sums[i] + word;
		spec->weighted_sums[i + 1] = spec->weighted_sums[i] + word * factor(i);
	}
}

void
value_spec_create(struct value_spec *spec, size_t size, double ratio, uint64_t seed)
{
	assert(ratio >= 0 && ratio <= 1);
	*spec = (struct value_spec){.size = size, .seed = seed, .ratio = ratio};
	make_words(spec);
	if (size <= HEADER)
		return;
	struct body body = body_of(size, ratio);
	spec->random_size = body.random_words * 8;
	spec->begins_filled = body.words > 0 && segment_words(&body, 0) == 0;
	sum_up(spec, &body);
}

void
value_prepare(const struct value_spec *spec, void *buf)
{
	memset(buf, FILLER, spec->size);
}

/** Includes the header, so header and body must belong to the same value. */
static inline uint32_t
checksum_of(uint64_t key_hash, uint64_t version, uint64_t body_sum)
{
	uint64_t header = key_hash + version * VERSION_FACTOR;
	uint128 product = (uint128)(body_sum ^ header) * FACTOR_FIRST;
	return (uint32_t)((uint64_t)(product >> 64) ^ (uint64_t)product);
}

static inline void
write_short(uint8_t *out, size_t size, uint64_t key_hash)
{
	uint64_t words[2] = {key_hash, splitmix64_mix(key_hash)};
	if (size == sizeof(key_hash))
		memcpy(out, &key_hash, sizeof(key_hash));
	else
		memcpy(out, words, size);
}

/* gcc sometimes passes an array of this size through memory, at five times the cost. */
typedef uint64_t word_pair __attribute__((vector_size(16)));

static inline void
write_pair(uint8_t *out, const uint64_t *words, uint64_t mark)
{
	word_pair pair;
	memcpy(&pair, words, sizeof(pair));
	pair += mark;
	memcpy(out, &pair, sizeof(pair));
}

/** Four words at a time: values are short, and a loop for long ones has more overhead. */
static inline void
write_words(uint8_t *restrict out, const uint64_t *restrict words, size_t count, uint64_t mark)
{
	size_t i = 0;
	for (; i + 4 <= count; i += 4) {
		write_pair(out + i * 8, words + i, mark);
		write_pair(out + i * 8 + 16, words + i + 2, mark);
	}
	for (; i < count; i++) {
		uint64_t word = words[i] + mark;
		memcpy(out + i * 8, &word, 8);
	}
}

static __attribute__((noinline)) void
write_segments(const struct value_spec *spec, uint8_t *out, uint64_t mark)
{
	size_t size = spec->size - HEADER;
	struct body body = {size, size / 8, spec->random_size / 8};
	for (size_t begin = 0; begin < size; begin += SEGMENT)
		write_words(out + begin, spec->words, segment_words(&body, begin),
			mark + segment_mark(begin));
}

static inline uint64_t
mark_of(const struct value_spec *spec, uint64_t key_hash, uint64_t version)
{
	return splitmix64_mix((key_hash ^ spec->seed) + version);
}

static inline void
write_header(uint8_t *out, uint64_t key_hash, uint64_t version, uint64_t sum)
{
	uint64_t checksum = checksum_of(key_hash, version, sum);
	uint64_t rest = checksum << 32 | (uint32_t)version;
	memcpy(out, &key_hash, 8);
	memcpy(out + 8, &rest, 8);
}

/**
 * The upper half of a version as stored in the body. Applied twice, it restores the half. A
 * result above VALUE_VERSIONS >> 32 was never stored: such a body has no upper half.
 */
static inline uint64_t
hide_upper(uint64_t word, uint64_t key_hash)
{
	return word ^ splitmix64_mix(key_hash ^ UPPER_SALT);
}

/** Store the upper half of the version in a body with the sum `sum`; returns the new sum. */
static uint64_t
write_upper(uint8_t *body, uint64_t key_hash, uint64_t version, uint64_t sum)
{
	uint64_t old, word = hide_upper(version >> 32, key_hash);
	memcpy(&old, body, 8);
	memcpy(body, &word, 8);
	return sum + (word - old) * factor(0);
}

uint64_t
value_versions(size_t size)
{
	return size < WIDE ? UINT32_MAX : VALUE_VERSIONS;
}

uint64_t
value_version_in(uint64_t version, size_t size)
{
	uint64_t versions = value_versions(size);
	return version > versions ? (version - 1) % versions + 1 : version;
}

static inline __attribute__((always_inline)) void
write_value(const struct value_spec *spec, uint8_t *out, uint64_t key_hash, uint64_t version)
{
	if (spec->size < HEADER) {
		write_short(out, spec->size, key_hash);
		return;
	}
	uint64_t mark = mark_of(spec, key_hash, version);
	write_header(out, key_hash, version, spec->sum + mark * spec->sum_factor);
	if (spec->size <= HEADER + SEGMENT)
		write_words(out + HEADER, spec->words, spec->random_size / 8, mark);
	else
		write_segments(spec, out + HEADER, mark);
}

/** write_value() for any version, over any other value of the spec. */
static __attribute__((noinline)) void
write_wide(const struct value_spec *spec, uint8_t *out, uint64_t key_hash, uint64_t version)
{
	uint64_t filler = FILLER_WORD;
	if (spec->size < HEADER) {
		write_short(out, spec->size, key_hash);
		return;
	}
	version = value_version_in(version, spec->size);
	uint64_t mark = mark_of(spec, key_hash, version);
	uint64_t sum = spec->sum + mark * spec->sum_factor;
	if (spec->begins_filled)
		memcpy(out + HEADER, &filler, 8);
	write_segments(spec, out + HEADER, mark);
	if (version > UINT32_MAX)
		sum = write_upper(out + HEADER, key_hash, version, sum);
	write_header(out, key_hash, version, sum);
}

/** Whether a version needs write_wide(); checked once per block. */
static inline bool
needs_wide(const struct value_spec *spec, uint64_t version)
{
	return __builtin_expect(version > UINT32_MAX || spec->begins_filled, 0);
}

/** With a constant key_size the hash is a few instructions. */
static inline __attribute__((always_inline)) void
write_values(const struct value_spec *spec, uint8_t *out, size_t stride, const uint8_t *keys,
	size_t key_size, uint32_t count, uint64_t version)
{
	for (uint32_t i = 0; i < count; i++)
		write_value(spec, out + i * stride, XXH3_64bits(keys + i * key_size, key_size),
			version);
}

void
values_write(const struct value_spec *spec, void *out, size_t stride, const void *keys,
	size_t key_size, uint32_t count, uint64_t version)
{
	const uint8_t *key = keys;
	if (needs_wide(spec, version)) {
		for (uint32_t i = 0; i < count; i++, key += key_size)
			write_wide(spec, (uint8_t *)out + i * stride,
				XXH3_64bits(key, key_size), version);
	} else if (key_size == 16) {
		write_values(spec, out, stride, keys, 16, count, version);
	} else if (key_size == 8) {
		write_values(spec, out, stride, keys, 8, count, version);
	} else {
		write_values(spec, out, stride, keys, key_size, count, version);
	}
}

/** With constant key sizes the hash is a few instructions. */
static inline uint64_t
hash_of(struct nb_slice key)
{
	if (key.size == 16)
		return XXH3_64bits(key.data, 16);
	if (key.size == 8)
		return XXH3_64bits(key.data, 8);
	return XXH3_64bits(key.data, key.size);
}

/** values_write_each() for values without a version. */
static void
write_short_values(const struct value_spec *spec, uint8_t *out, size_t stride,
	const struct nb_slice *keys, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		write_short(out + i * stride, spec->size, hash_of(keys[i]));
}

void
values_write_each(const struct value_spec *spec, void *out, size_t stride,
	const struct nb_slice *keys, const uint64_t *versions, uint32_t count)
{
	if (spec->size < HEADER) {
		write_short_values(spec, out, stride, keys, count);
		return;
	}
	uint64_t all = 0;
	for (uint32_t i = 0; i < count; i++)
		all |= versions[i];
	bool is_wide = needs_wide(spec, all);
	for (uint32_t i = 0; i < count && is_wide; i++)
		write_wide(spec, (uint8_t *)out + i * stride, hash_of(keys[i]), versions[i]);
	for (uint32_t i = 0; i < count && !is_wide; i++)
		write_value(spec, (uint8_t *)out + i * stride, hash_of(keys[i]), versions[i]);
}

void
values_write_sized(const struct value_spec *spec, void *out, struct nb_slice key, size_t size,
	uint64_t version)
{
	assert(size <= spec->size);
	uint8_t *bytes = out;
	uint64_t key_hash = hash_of(key);
	if (size < HEADER) {
		write_short(bytes, size, key_hash);
		return;
	}
	version = value_version_in(version, size);
	struct body body = body_of(size, spec->ratio);
	uint64_t mark = mark_of(spec, key_hash, version), sum = 0;
	for (size_t begin = 0; begin < body.size; begin += SEGMENT) {
		size_t rest = body.size - begin, in_segment = rest < SEGMENT ? rest : SEGMENT;
		size_t words = segment_words(&body, begin);
		uint64_t its_mark = mark + segment_mark(begin);
		uint8_t *segment = bytes + HEADER + begin;
		write_words(segment, spec->words, words, its_mark);
		memset(segment + words * 8, FILLER, in_segment - words * 8);
		sum += segment_sum(spec, begin, in_segment, words, its_mark);
	}
	if (version > UINT32_MAX)
		sum = write_upper(bytes + HEADER, key_hash, version, sum);
	write_header(bytes, key_hash, version, sum);
}

double
values_measured_ratio(const struct value_spec *spec, size_t size)
{
	if (size == 0)
		return 1;
	if (size > SAMPLE_VALUE)
		size = SAMPLE_VALUE;
	size_t count = (SAMPLE + size - 1) / size, total = count * size;
	uLongf packed_size = compressBound(total);
	uint8_t *values = malloc(total), *packed = malloc(packed_size);
	double ratio = NAN;
	if (values == NULL || packed == NULL)
		goto free_both;
	for (uint64_t i = 0; i < count; i++) {
		struct nb_slice key = {&i, sizeof(i)};
		values_write_sized(spec, values + i * size, key, size, 0);
	}
	if (compress2(packed, &packed_size, values, total, 6) == Z_OK)
		ratio = (double)packed_size / (double)total;
free_both:
	free(packed);
	free(values);
	return ratio;
}

static uint64_t
sum_body(const uint8_t *body, size_t size)
{
	uint64_t sum = 0;
	for (size_t at = 0; at < size; at += 8) {
		uint64_t word = 0;
		memcpy(&word, body + at, size - at < 8 ? size - at : 8);
		sum += word * factor(at / 8);
	}
	return sum;
}

int
value_check(struct nb_slice value, size_t size, struct nb_slice key)
{
	if (value.size != size)
		return VALUE_WRONG_SIZE;
	uint64_t key_hash = XXH3_64bits(key.data, key.size);
	const uint8_t *bytes = value.data;
	if (size < HEADER) {
		uint8_t expected[HEADER];
		write_short(expected, size, key_hash);
		return size == 0 || memcmp(bytes, expected, size) == 0 ? VALUE_GOOD
								       : VALUE_CORRUPT;
	}
	uint64_t told_hash, version = value_version(value);
	uint32_t checksum;
	memcpy(&told_hash, bytes, 8);
	memcpy(&checksum, bytes + 12, 4);
	uint64_t sum = sum_body(bytes + HEADER, size - HEADER);
	if (checksum != checksum_of(told_hash, version, sum))
		return VALUE_CORRUPT;
	return told_hash == key_hash ? VALUE_GOOD : VALUE_OF_OTHER_KEY;
}

int
value_check_any(struct nb_slice value, struct nb_slice key)
{
	return value_check(value, value.size, key);
}

uint64_t
value_version(struct nb_slice value)
{
	const uint8_t *bytes = value.data;
	uint32_t lower = 0;
	uint64_t key_hash, word;
	if (value.size >= HEADER)
		memcpy(&lower, bytes + 8, sizeof(lower));
	if (value.size < WIDE)
		return lower;
	memcpy(&key_hash, bytes, 8);
	memcpy(&word, bytes + HEADER, 8);
	uint64_t upper = hide_upper(word, key_hash);
	return upper <= VALUE_VERSIONS >> 32 ? upper << 32 | lower : lower;
}
