/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reference() makes a value in another way, word by word as the head of values.c describes it.
 * A Python script (module xxhash, plain integers), written from the same description, made
 * golden_bytes.
 */
#include "workload/values.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define XXH_NO_INLINE_HINTS 1 /* at -Og, GCC 14 cannot inline every function that demands it */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/rng.h"
#include "unit.h"

/*
 * zeros after the end: gcc 12 warns about branches of XXH3 that keys of this size do not take
 */
static const char key_bytes[512] = "0123456789abcdefghijklmnopqrstuvwxyz";

static uint8_t *
allocate(size_t size)
{
	uint8_t *bytes = malloc(size + 1);
	ck_assert_ptr_nonnull(bytes);
	return bytes;
}

/** A value in its own memory. Free it. */
static uint8_t *
make(size_t size, double ratio, uint64_t seed, struct nb_slice key, uint64_t version)
{
	struct value_spec spec;
	value_spec_create(&spec, size, ratio, seed);
	uint8_t *value = allocate(size);
	value_prepare(&spec, value);
	values_write(&spec, value, size, key.data, key.size, 1, version);
	return value;
}

static struct nb_slice
key_of(size_t size)
{
	return (struct nb_slice){key_bytes, size};
}

static int
verdict(const uint8_t *value, size_t size, struct nb_slice key)
{
	return value_check((struct nb_slice){value, size}, size, key);
}

static bool
is_good(const uint8_t *value, size_t size)
{
	return verdict(value, size, key_of(16)) == VALUE_GOOD;
}

static uint64_t
word_at(const uint8_t *bytes, size_t size, size_t at)
{
	uint64_t word = 0;
	for (size_t i = 0; i < 8 && at + i < size; i++)
		word |= (uint64_t)bytes[at + i] << 8 * i;
	return word;
}

static void
put_word(uint8_t *bytes, size_t size, size_t at, uint64_t word)
{
	for (size_t i = 0; i < 8 && at + i < size; i++)
		bytes[at + i] = (uint8_t)(word >> 8 * i);
}

static void
reference(uint8_t *out, size_t size, double ratio, uint64_t seed, struct nb_slice key,
	uint32_t version)
{
	uint64_t hash = XXH3_64bits(key.data, key.size);
	memset(out, 'v', size);
	put_word(out, size, 0, hash);
	if (size < 16) {
		put_word(out, size, 8, splitmix64_mix(hash));
		return;
	}
	struct rng rng;
	rng_create(&rng, seed);
	uint64_t table[128];
	for (int i = 0; i < 128; i++)
		table[i] = rng_next(&rng);
	size_t body_words = (size - 16) / 8;
	double wanted = round((ratio * (double)size - 12) / 8);
	size_t random_words = wanted < 0 ? 0 : (size_t)wanted;
	if (ratio >= 1 || random_words > body_words)
		random_words = body_words;
	uint64_t mark = splitmix64_mix((hash ^ seed) + version);
	for (size_t begin = 0; begin < body_words; begin += 128) {
		size_t end = begin + 128 < body_words ? begin + 128 : body_words;
		size_t words = random_words * end / body_words -
			random_words * begin / body_words;
		for (size_t i = 0; i < words; i++)
			put_word(out, size, 16 + (begin + i) * 8,
				table[i] + mark + splitmix64_mix(begin / 128));
	}
	uint64_t sum = 0;
	for (size_t i = 0; i * 8 < size - 16; i++)
		sum += word_at(out, size, 16 + i * 8) *
			(UINT64_C(0x9e3779b185ebca87) + i * 2 * UINT64_C(0xc2b2ae3d27d4eb4f));
	sum ^= hash + version * UINT64_C(0xa0761d6478bd642f);
	uint128 product = (uint128)sum * UINT64_C(0x9e3779b185ebca87);
	put_word(out, size, 8, ((uint64_t)(product >> 64) ^ (uint64_t)product) << 32 | version);
}

static const double ratios[] = {0, 0.25, 0.5, 0.75, 1};
enum { RATIOS = sizeof(ratios) / sizeof(ratios[0]) };

static size_t
some_size(size_t i)
{
	static const size_t large[] = {1000, 1023, 1024, 1025, 1039, 1040, 1041, 1047, 1048,
		4096, 10000, 65536, 99999};
	return i <= 300 ? i : large[i - 301];
}

enum { SOME_SIZES = 301 + 13 };

TEST(the_bytes_are_as_documented)
{
	static const size_t key_sizes[] = {16, 8, 1, 17, 36};
	for (size_t i = 0; i < SOME_SIZES; i++) {
		size_t size = some_size(i);
		double ratio = ratios[i % RATIOS];
		struct nb_slice key = key_of(key_sizes[i / RATIOS % 5]);
		uint8_t *expected = allocate(size);
		reference(expected, size, ratio, i, key, (uint32_t)i * 77777777);
		uint8_t *value = make(size, ratio, i, key, (uint32_t)i * 77777777);
		ck_assert_msg(memcmp(value, expected, size) == 0, "size %zu", size);
		free(value);
		free(expected);
	}
}

TEST(bytes_equal_those_of_the_first_release)
{
	static const uint8_t golden_bytes[] = {0x2d, 0x21, 0xfa, 0xd8, 0x46, 0x99, 0x43, 0x64,
		0x00, 0x00, 0x00, 0x00, 0x8f, 0x59, 0x04, 0x37, 0xe0, 0x01, 0x5c, 0x54, 0xda,
		0x91, 0x7e, 0x44, 0x05, 0x3e, 0xcb, 0x8b, 0x03, 0x38, 0xc7, 0x15, 0x2f, 0x36,
		0xbf, 0x4c, 0xc3, 0x79, 0x84, 0x23, 0xc2, 0x94, 0xfb, 0x06, 0xe9, 0xfe, 0xb9,
		0xf4, 0x8e, 0x27, 0xb8, 0xde, 0x4f, 0x2b, 0x06, 0x43, 0x76, 0x76, 0x76, 0x76,
		0x76, 0x76, 0x76, 0x76, 0x76, 0x76, 0x76, 0x76, 0x76, 0x76, 0x76, 0x76, 0x76,
		0x76, 0x76, 0x76, 0x76, 0x76, 0x76, 0x76, 0x76, 0x76, 0x76, 0x76, 0x76, 0x76,
		0x76, 0x76, 0x76, 0x76, 0x76, 0x76, 0x76, 0x76, 0x76, 0x76, 0x76, 0x76, 0x76,
		0x76};
	uint8_t *value = make(sizeof(golden_bytes), 0.5, 1, key_of(16), 0);
	ck_assert_mem_eq(value, golden_bytes, sizeof(golden_bytes));
	free(value);
}

TEST(many_values_at_once_equal_single_ones)
{
	enum { COUNT = 32, STRIDE = 128, SIZE = 100 };
	static const size_t key_sizes[] = {8, 16, 5};
	for (size_t k = 0; k < 3; k++) {
		size_t key_size = key_sizes[k];
		uint8_t keys[COUNT * 16], out[COUNT * STRIDE];
		for (size_t i = 0; i < sizeof(keys); i++)
			keys[i] = (uint8_t)(i * i + k);
		memset(out, 0xee, sizeof(out));
		struct value_spec spec;
		value_spec_create(&spec, SIZE, 0.5, 3);
		for (size_t i = 0; i < COUNT; i++)
			value_prepare(&spec, out + i * STRIDE);
		/* a buffer that was prepared once takes several values in turn */
		for (uint32_t version = 0; version < 3; version++)
			values_write(&spec, out, STRIDE, keys, key_size, COUNT, version);
		for (size_t i = 0; i < COUNT; i++) {
			struct nb_slice key = {keys + i * key_size, key_size};
			uint8_t *value = make(SIZE, 0.5, 3, key, 2);
			ck_assert_mem_eq(out + i * STRIDE, value, SIZE);
			free(value);
			for (size_t at = SIZE; at < STRIDE; at++)
				ck_assert_uint_eq(out[i * STRIDE + at], 0xee);
		}
	}
}

TEST(any_flipped_bit_is_detected)
{
	static const size_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
		17, 23, 24, 25, 100, 1040, 1041, 4096, 100000};
	for (size_t s = 0; s < UNIT_COUNT(sizes); s++)
		for (size_t r = 0; r<RATIOS; r += sizes[s]> 1000 ? 2 : 1) {
			size_t size = sizes[s], step = size > 4096 ? 3989 : size > 100 ? 29 : 1;
			uint8_t *value = make(size, ratios[r], 5, key_of(16), 9);
			for (size_t bit = 0; bit < size * 8; bit += step) {
				value[bit / 8] ^= (uint8_t)(1u << bit % 8);
				ck_assert_msg(
					!is_good(value, size), "size %zu, bit %zu", size, bit);
				value[bit / 8] ^= (uint8_t)(1u << bit % 8);
			}
			free(value);
		}
}

TEST(value_of_another_size_is_detected)
{
	for (size_t i = 0; i < SOME_SIZES; i++) {
		size_t size = some_size(i);
		uint8_t *value = make(size + 8, 0.5, 5, key_of(16), 0);
		struct nb_slice whole = {value, size + 8};
		ck_assert_int_eq(value_check(whole, size, key_of(16)), VALUE_WRONG_SIZE);
		ck_assert_int_eq(value_check(whole, size + 9, key_of(16)), VALUE_WRONG_SIZE);
		/* ends exactly at the expected size, as at a page boundary */
		if (size >= 16)
			ck_assert_int_eq(
				value_check_any((struct nb_slice){value, size}, key_of(16)),
				VALUE_CORRUPT);
		free(value);
	}
	ck_assert_uint_eq(value_version((struct nb_slice){NULL, 0}), 0);
	ck_assert_int_eq(
		value_check((struct nb_slice){NULL, 0}, 100, key_of(16)), VALUE_WRONG_SIZE);
	ck_assert_int_eq(value_check((struct nb_slice){NULL, 0}, 0, key_of(16)), VALUE_GOOD);
}

TEST(value_of_another_key_is_distinguished_from_a_corrupt_one)
{
	for (size_t i = 0; i < SOME_SIZES; i++) {
		size_t size = some_size(i);
		uint8_t *value = make(size, 0.5, 5, key_of(15), 0);
		int expected = size >= 16 ? VALUE_OF_OTHER_KEY : VALUE_CORRUPT;
		if (size >= 2) /* with one byte, 1 in 256 is missed */
			ck_assert_int_eq(verdict(value, size, key_of(16)), expected);
		if (size > 16) {
			value[16] ^= 1;
			ck_assert_int_eq(verdict(value, size, key_of(16)), VALUE_CORRUPT);
		}
		free(value);
	}
}

/** Swap two ranges. The check must fail if they differ. Then swap them back. */
static void
check_exchange(uint8_t *value, size_t size, size_t a, size_t b, size_t length)
{
	if (memcmp(value + a, value + b, length) == 0)
		return;
	uint8_t *passing = allocate(length);
	for (int i = 0; i < 2; i++) {
		memcpy(passing, value + a, length);
		memcpy(value + a, value + b, length);
		memcpy(value + b, passing, length);
		ck_assert_msg(is_good(value, size) == (i == 1), "%zu and %zu", a, b);
	}
	free(passing);
}

TEST(exchanged_words_are_detected)
{
	uint8_t *value = make(116, 1, 5, key_of(16), 0);
	for (size_t a = 0; a + 8 <= 116; a += 4)
		for (size_t b = a + 8; b + 8 <= 116; b += 4)
			check_exchange(value, 116, a, b, 8);
	free(value);
}

TEST(exchanged_pages_are_detected)
{
	static const size_t pages[] = {512, 1024, 4096, 16384};
	enum { SIZE = 65536 + 16 };
	for (size_t r = 1; r < RATIOS; r++) {
		uint8_t *value = make(SIZE, ratios[r], 5, key_of(16), 0);
		for (size_t p = 0; p < 4; p++)
			for (size_t b = pages[p]; b + pages[p] <= SIZE; b += pages[p]) {
				check_exchange(value, SIZE, 0, b, pages[p]);
				check_exchange(value, SIZE, b - pages[p] + 16, b + 16,
					pages[p] > SIZE - 16 - b ? SIZE - 16 - b : pages[p]);
			}
		free(value);
	}
}

TEST(exchanged_halves_of_a_huge_value_are_detected)
{
	enum { HALF = 128 << 20, SIZE = 16 + 2 * HALF };
	uint8_t *value = make(SIZE, 1, 5, key_of(16), 0);
	ck_assert(is_good(value, SIZE));
	uint8_t passing[4096];
	for (size_t at = 16; at < 16 + HALF; at += sizeof(passing)) {
		memcpy(passing, value + at, sizeof(passing));
		memcpy(value + at, value + HALF + at, sizeof(passing));
		memcpy(value + HALF + at, passing, sizeof(passing));
	}
	ck_assert(!is_good(value, SIZE));
	free(value);
}

TEST(shifted_value_is_detected)
{
	static const size_t sizes[] = {24, 100, 1024, 65536};
	static const size_t shifts[] = {1, 4, 8, 16, 1024};
	for (size_t i = 0; i < 4 * 5 * RATIOS; i++) {
		size_t size = sizes[i % 4], shift = shifts[i / 4 % 5];
		if (shift + 16 > size)
			continue;
		uint8_t *value = make(size, ratios[i / 20], 5, key_of(16), 0);
		uint8_t *shifted = allocate(size);
		memcpy(shifted, value, size);
		memmove(shifted, value + shift, size - shift);
		ck_assert(!is_good(shifted, size));
		memcpy(shifted, value, size);
		memmove(shifted + 16, value + 16 + shift, size - 16 - shift);
		ck_assert(!is_good(shifted, size) || memcmp(shifted, value, size) == 0);
		memcpy(shifted, value, size);
		memmove(shifted + shift, value, size - shift);
		ck_assert(!is_good(shifted, size) || memcmp(shifted, value, size) == 0);
		free(shifted);
		free(value);
	}
}

/** The first `at` bytes of one value and the rest of the other. */
static void
check_torn(const uint8_t *one, const uint8_t *other, size_t size, size_t at)
{
	uint8_t *torn = allocate(size);
	memcpy(torn, one, at);
	memcpy(torn + at, other + at, size - at);
	ck_assert_msg(!is_good(torn, size) || memcmp(torn, one, size) == 0 ||
			memcmp(torn, other, size) == 0,
		"size %zu at %zu", size, at);
	free(torn);
}

TEST(torn_value_is_detected)
{
	static const size_t sizes[] = {24, 100, 1024, 65536};
	for (size_t i = 0; i < 4 * RATIOS; i++) {
		size_t size = sizes[i % 4], step = size <= 100 ? 1 : size / 128;
		double ratio = ratios[i / 4];
		uint8_t *values[] = {make(size, ratio, 5, key_of(16), 1),
			make(size, ratio, 5, key_of(16), 2), make(size, ratio, 5, key_of(8), 1),
			make(size, ratio, 6, key_of(16), 1), make(size, 0.6, 5, key_of(16), 1),
			calloc(1, size)};
		for (size_t other = 1; other < 6; other++)
			for (size_t at = step; at < size; at += step) {
				check_torn(values[0], values[other], size, at);
				check_torn(values[other], values[0], size, at);
			}
		for (size_t v = 0; v < 6; v++)
			free(values[v]);
	}
}

static int
compare_words(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/** Values with consecutive numbers of keys with consecutive numbers, one after the other. */
static uint8_t *
make_many(size_t size, double ratio, uint64_t seed, uint32_t count, uint32_t version)
{
	struct value_spec spec;
	value_spec_create(&spec, size, ratio, seed);
	uint8_t *out = allocate(size * count);
	uint64_t *keys = calloc(count, sizeof(*keys));
	ck_assert_ptr_nonnull(keys);
	for (uint32_t i = 0; i < count; i++) {
		keys[i] = i;
		value_prepare(&spec, out + i * size);
	}
	values_write(&spec, out, size, keys, sizeof(*keys), count, version);
	free(keys);
	return out;
}

/** Append the words of the body that are not filler. Returns the new count. */
static size_t
collect_words(uint64_t *words, size_t used, const uint8_t *values, size_t size, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t at = 16; at + 8 <= size; at += 8) {
			uint64_t word = word_at(values + i * size, size, at);
			if (word != UINT64_C(0x7676767676767676))
				words[used++] = word;
		}
	return used;
}

TEST(no_random_word_repeats)
{
	static const struct {
		size_t size;
		uint32_t count;
	} cases[] = {{100, 4000}, {1000, 400}, {65536, 8}};
	for (size_t c = 0; c < 3; c++) {
		size_t size = cases[c].size;
		uint64_t *words = calloc(3 * size * cases[c].count / 8, sizeof(*words));
		ck_assert_ptr_nonnull(words);
		size_t used = 0;
		for (uint32_t part = 0; part < 3; part++) { /* other seeds and versions */
			uint8_t *values = make_many(
				size, 1, 5 + part / 2, cases[c].count, part % 2);
			used = collect_words(words, used, values, size, cases[c].count);
			free(values);
		}
		ck_assert_uint_eq(used, 3 * ((size - 16) / 8) * cases[c].count);
		qsort(words, used, sizeof(*words), compare_words);
		for (size_t i = 1; i < used; i++)
			ck_assert_uint_ne(words[i - 1], words[i]);
		free(words);
	}
}

/* 12 bytes of the header never compress. A body of less than 8 bytes is filler. */
TEST(the_ratio_is_exact_to_the_nearest_8_bytes)
{
	for (size_t i = 16; i < SOME_SIZES; i++)
		for (int percent = 0; percent <= 100; percent++) {
			size_t size = some_size(i), body = (size - 16) / 8;
			uint64_t words[100000 / 8];
			uint8_t *value = make(size, percent / 100.0, 5, key_of(16), 0);
			size_t used = collect_words(words, 0, value, size, 1);
			free(value);
			double wanted = size * percent / 100.0, got = 12.0 + 8.0 * (double)used;
			if (percent == 100)
				ck_assert_uint_eq(used, body);
			else if (wanted <= 12)
				ck_assert_uint_le(used, 0);
			else if (used < body)
				ck_assert_double_le(fabs(got - wanted), 4.0001);
			else
				ck_assert_double_ge(wanted, got - 4.0001);
		}
}

TEST(the_ratio_holds_in_every_kilobyte)
{
	enum { SIZE = 65552 };
	for (size_t r = 0; r < RATIOS; r++) {
		uint8_t *value = make(SIZE, ratios[r], 5, key_of(16), 0);
		for (size_t at = 16; at + 1024 <= SIZE; at += 1024) {
			uint64_t words[128];
			size_t used = collect_words(words, 0, value + at - 16, 1040, 1);
			ck_assert_double_le(fabs((double)used - ratios[r] * 128), 1.0001);
		}
		free(value);
	}
}

/** The incompressible share: 12 bytes of the header, and whole words of the body. */
static double
ideal_share(size_t size, double ratio)
{
	double words = round((ratio * (double)size - 12) / 8), all = floor((size - 16) / 8.0);
	return (12 + 8 * fmax(0, fmin(words, all))) / (double)size;
}

TEST(a_short_value_begins_a_longer_one)
{
	uint8_t *longest = make(15, 0.5, 5, key_of(16), 0);
	uint64_t hash = XXH3_64bits(key_bytes, 16);
	for (size_t size = 0; size < 15; size++) {
		uint8_t *value = make(size, 0.25, 6, key_of(16), 7);
		ck_assert_msg(memcmp(value, longest, size) == 0, "size %zu", size);
		free(value);
	}
	ck_assert_uint_eq(word_at(longest, 15, 0), hash);
	free(longest);
}

/* ---- values of many sizes from one spec ---- */

static const double odd_ratios[] = {0, 0.013, 0.25, 1 / 3.0, 0.5, 0.77, 0.999, 1};
enum { ODD_RATIOS = sizeof(odd_ratios) / sizeof(odd_ratios[0]) };

/** Make a value of this size with the spec of a larger one, in a buffer full of garbage. */
static void
check_sized(const struct value_spec *largest, uint8_t *out, size_t size, struct nb_slice key,
	uint32_t version)
{
	memset(out, 0xee, size + 8);
	values_write_sized(largest, out, key, size, version);
	uint8_t *value = make(size, largest->ratio, largest->seed, key, version);
	if (memcmp(out, value, size) != 0)
		ck_abort_msg("size %zu, ratio %f", size, largest->ratio);
	for (size_t at = size; at < size + 8; at++)
		if (out[at] != 0xee)
			ck_abort_msg("size %zu, byte %zu", size, at);
	free(value);
}

TEST(a_value_of_any_size_is_that_of_a_spec_of_its_size)
{
	enum { SMALL = 3000, LARGEST = 3 << 20 };
	static const size_t large[] = {4096, 10007, 65535, 65536, 99999, 1 << 20, LARGEST};
	static const size_t key_sizes[] = {16, 8, 1, 36};
	uint8_t *out = allocate(LARGEST + 8);
	for (size_t r = 0; r < ODD_RATIOS; r++) {
		struct value_spec spec;
		value_spec_create(&spec, LARGEST, odd_ratios[r], 77 + r);
		for (size_t i = 0; i < SMALL + UNIT_COUNT(large); i++)
			check_sized(&spec, out, i < SMALL ? i : large[i - SMALL],
				key_of(key_sizes[i % 4]), (uint32_t)i * 1000003);
	}
	free(out);
}

TEST(a_buffer_takes_values_of_all_sizes_in_turn)
{
	enum { LARGEST = 2500 };
	struct value_spec spec;
	value_spec_create(&spec, LARGEST, 0.4, 9);
	uint8_t *out = allocate(LARGEST);
	struct rng rng;
	rng_create(&rng, 1);
	for (uint32_t version = 0; version < 5000; version++) {
		size_t size = rng_below(&rng, LARGEST + 1);
		struct nb_slice key = key_of(1 + rng_below(&rng, 30));
		values_write_sized(&spec, out, key, size, version);
		struct nb_slice value = {out, size};
		ck_assert_int_eq(value_check_any(value, key), VALUE_GOOD);
		ck_assert_uint_eq(value_version(value), size < 16 ? 0 : version);
		size_t at = size > 0 ? rng_below(&rng, size) : 0;
		uint8_t flip = (uint8_t)(1 + rng_below(&rng, 255));
		if (size == 0)
			continue;
		out[at] ^= flip;
		ck_assert_int_eq(value_check_any(value, key), VALUE_CORRUPT);
		out[at] ^= flip;
		/* the key of another hash; with one byte, 1 in 256 is equal */
		if (size > 2)
			ck_assert_int_eq(value_check_any(value, key_of(40)),
				size < 16 ? VALUE_CORRUPT : VALUE_OF_OTHER_KEY);
	}
	free(out);
}

TEST(scattered_keys_have_their_own_versions)
{
	enum { COUNT = 40, STRIDE = 1200 };
	static const size_t sizes[] = {0, 7, 16, 24, 100, 1040, 1041, 1200};
	static uint8_t out[COUNT * STRIDE];
	struct nb_slice keys[COUNT];
	uint64_t versions[COUNT];
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		struct value_spec spec;
		value_spec_create(&spec, sizes[s], 0.5, 3);
		for (uint32_t i = 0; i < COUNT; i++) {
			keys[i] = (struct nb_slice){
				key_bytes + i, (size_t[]){8, 16, 5, 20}[i % 4]};
			versions[i] = (uint64_t)i * i * i * 1000003;
			value_prepare(&spec, out + i * STRIDE);
		}
		values_write_each(&spec, out, STRIDE, keys, versions, COUNT);
		for (uint32_t i = 0; i < COUNT; i++) {
			uint8_t *value = make(sizes[s], 0.5, 3, keys[i], versions[i]);
			ck_assert_mem_eq(out + i * STRIDE, value, sizes[s]);
			free(value);
		}
	}
}

TEST(wide_versions_are_encoded_if_they_fit)
{
	static const size_t sizes[] = {16, 23, 24, 31, 100, 1040, 1041, 3000};
	static const uint64_t versions[] = {
		1, UINT32_MAX, UINT64_C(1) << 32, UINT64_C(0x123456789abc), VALUE_VERSIONS};
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (size_t r = 0; r < RATIOS; r++)
			for (size_t v = 0; v < 5; v++) {
				size_t size = sizes[s];
				struct nb_slice key = key_of(16);
				uint8_t *value = make(size, ratios[r], 3, key, versions[v]);
				struct nb_slice its = {value, size};
				ck_assert_int_eq(value_check_any(its, key), VALUE_GOOD);
				ck_assert_uint_eq(value_version(its),
					size >= 24 ? versions[v]
						: versions[v] <= UINT32_MAX
						? versions[v]
						: (versions[v] - 1) % UINT32_MAX + 1);
				for (size_t at = 0; at < size; at++) {
					value[at] ^= 0x40;
					ck_assert_int_eq(
						value_check_any(its, key), VALUE_CORRUPT);
					value[at] ^= 0x40;
				}
				free(value);
			}
}

/* Filler is not written again, except where a wide version has overwritten it. */
TEST(a_buffer_takes_wide_and_other_versions_in_turn)
{
	enum { SIZE = 3000 };
	static const uint64_t versions[] = {5, UINT64_C(1) << 40, 6};
	for (size_t r = 0; r < RATIOS; r++) {
		struct value_spec spec;
		uint8_t bytes[SIZE];
		value_spec_create(&spec, SIZE, ratios[r], 3);
		value_prepare(&spec, bytes);
		for (size_t v = 0; v < 3; v++) {
			uint8_t *fresh = make(SIZE, ratios[r], 3, key_of(16), versions[v]);
			values_write(&spec, bytes, SIZE, key_bytes, 16, 1, versions[v]);
			ck_assert_mem_eq(bytes, fresh, SIZE);
			values_write_sized(&spec, bytes, key_of(16), SIZE, versions[v]);
			ck_assert_mem_eq(bytes, fresh, SIZE);
			free(fresh);
		}
	}
}

/* zlib uses some bytes for each run of filler, up to `tolerance`. */
TEST(the_measured_ratio_is_near_the_stated_one)
{
	static const struct {
		size_t size;
		double tolerance;
	} cases[] = {
		{100, 0.06}, {1000, 0.02}, {65536, 0.02}, {1 << 20, 0.02}, {5 << 20, 0.02}};
	struct value_spec spec;
	for (size_t c = 0; c < 5; c++)
		for (size_t r = 0; r < RATIOS; r++) {
			value_spec_create(&spec, 5 << 20, ratios[r], 5);
			double wanted = ideal_share(cases[c].size, ratios[r]);
			double got = values_measured_ratio(&spec, cases[c].size);
			ck_assert_double_ge(got, wanted - 0.002);
			ck_assert_double_le(got, wanted + cases[c].tolerance);
		}
	ck_assert(values_measured_ratio(&spec, 0) == 1);
	ck_assert_double_gt(values_measured_ratio(&spec, 8), 0.9);
}
