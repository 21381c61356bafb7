/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A Python script, written from the description at the head of keyspace.c, computed the
 * expected keys. The keys of YCSB also occur in its own databases ("user6284781860667377211" is
 * always the first record). Bounds of chi-square: see test_keys.c.
 */
#include "workload/keyspace.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "laws.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

enum { KEY_MAX = 300 };

static struct nb_job
job_of(uint32_t format, uint32_t order, uint64_t key_size)
{
	struct nb_job job = {.size = sizeof(job),
		.seed = 7,
		.key_format = format,
		.key_order = order,
		.key_size = key_size};
	strcpy(job.key_prefix, "user");
	return job;
}

static struct keyspace
make(const struct nb_job *job, uint64_t numbers)
{
	struct keyspace space;
	int rc = keyspace_create(&space, job, numbers);
	ck_assert_msg(rc == NB_OK, "%s", nb_error_text());
	return space;
}

static void
check_key(const struct keyspace *space, uint64_t number, const void *expected, size_t size)
{
	uint8_t key[KEY_MAX];
	ck_assert_uint_eq(keyspace_key(space, number, key), size);
	ck_assert_mem_eq(key, expected, size);
	ck_assert_uint_le(size, space->key_size_max);
	if (space->key_size != 0)
		ck_assert_uint_eq(size, space->key_size);
}

static void
check_text(const struct nb_job *job, uint64_t numbers, uint64_t number, const char *expected)
{
	struct keyspace space = make(job, numbers);
	check_key(&space, number, expected, strlen(expected));
	keyspace_destroy(&space);
}

static const uint64_t huge = UINT64_C(1) << 62;

TEST(ycsb_keys_equal_those_of_ycsb)
{
	ck_assert_uint_eq(keyspace_ycsb_hash(0), UINT64_C(6284781860667377211));
	ck_assert_uint_eq(keyspace_ycsb_hash(1), UINT64_C(8517097267634966620));
	ck_assert_uint_eq(keyspace_ycsb_hash(2), UINT64_C(1820151046732198393));
	struct nb_job job = job_of(NB_KEY_TEXT, NB_ORDER_YCSB, 0);
	check_text(&job, huge, 0, "user6284781860667377211");
	check_text(&job, huge, 1, "user8517097267634966620");
	job.key_digits = 24;
	check_text(&job, huge, 2, "user000001820151046732198393");
	job = job_of(NB_KEY_BE64, NB_ORDER_YCSB, 0);
	struct keyspace space = make(&job, huge);
	check_key(&space, 0, "\x57\x38\x07\xcd\xd7\xe5\xc6\x3b", 8);
	uint64_t number;
	struct nb_slice key = {"\x57\x38\x07\xcd\xd7\xe5\xc6\x3b", 8};
	ck_assert(!space.is_reversible && !space.is_ordered);
	ck_assert(!keyspace_number(&space, key, &number));
}

/* with seed 7 */
TEST(hashed_keys_are_as_documented)
{
	static const struct {
		uint64_t number;
		uint8_t key[27];
	} long_keys[] = {
		{UINT64_C(0),
			{0x74, 0xb5, 0xab, 0xcc, 0x66, 0xb8, 0xbd, 0xc1, 0xca, 0x5b, 0x36, 0xc2,
				0xfb, 0x3e, 0x10, 0x9f, 0x3b, 0xa3, 0x14, 0xb3, 0xce, 0xff,
				0xd8, 0xf6, 0x4c, 0xe1, 0x62}},
		{UINT64_C(1),
			{0x3c, 0xa4, 0xfb, 0xd2, 0x39, 0x38, 0x08, 0xbc, 0xe9, 0xbc, 0x04, 0xf6,
				0x41, 0xb7, 0xee, 0x3b, 0x74, 0xdc, 0x1c, 0xee, 0x9c, 0x78,
				0x13, 0x14, 0x9b, 0x58, 0x14}},
		{UINT64_C(1099511627776),
			{0x74, 0x78, 0xdf, 0xb3, 0xd5, 0x05, 0xe2, 0xd8, 0x3a, 0x07, 0x71, 0xfa,
				0x16, 0xcb, 0x8c, 0xa5, 0xf4, 0x26, 0x73, 0x6d, 0x37, 0x82,
				0x31, 0x5d, 0x38, 0x32, 0x00}},
	};
	static const struct {
		uint64_t number;
		uint8_t keys[3][7]; /* keys of 1, 3 and 7 bytes */
	} short_keys[] = {
		{0, {{0x89}, {0xc1, 0x7c, 0x8a}, {0x99, 0xb8, 0xe4, 0xe6, 0xac, 0x16, 0x2d}}},
		{1, {{0xfc}, {0x8b, 0xbc, 0xb1}, {0xc2, 0xdf, 0x81, 0xf0, 0xda, 0x3a, 0x25}}},
		{200, {{0x6e}, {0x5c, 0x35, 0x4e}, {0xa7, 0xe9, 0xde, 0x95, 0x8b, 0xe2, 0xc5}}},
	};
	static const uint64_t sizes[] = {8, 9, 16, 20, 27};
	for (size_t i = 0; i < 3 * 5; i++) {
		struct nb_job job = job_of(NB_KEY_RAW, NB_ORDER_HASHED, sizes[i % 5]);
		struct keyspace space = make(&job, huge);
		check_key(&space, long_keys[i / 5].number, long_keys[i / 5].key, sizes[i % 5]);
	}
	static const uint64_t short_sizes[] = {1, 3, 7};
	for (size_t i = 0; i < 3 * 3; i++) {
		struct nb_job job = job_of(NB_KEY_RAW, NB_ORDER_HASHED, short_sizes[i % 3]);
		struct keyspace space = make(&job, 256);
		check_key(&space, short_keys[i / 3].number, short_keys[i / 3].keys[i % 3],
			short_sizes[i % 3]);
	}
	struct nb_job be64 = job_of(NB_KEY_BE64, NB_ORDER_HASHED, 0);
	struct keyspace space = make(&be64, huge);
	check_key(&space, 1, long_keys[1].key, 8);
	struct nb_job text = job_of(NB_KEY_TEXT, NB_ORDER_HASHED, 0);
	check_text(&text, huge, 0, "user8409816773569330625");
	check_text(&text, huge, 1, "user4369894418777901244");
}

TEST(ordered_keys_are_their_numbers)
{
	struct nb_job job = job_of(NB_KEY_RAW, NB_ORDER_ORDERED, 3);
	struct keyspace space = make(&job, 1 << 24);
	check_key(&space, 0x010203, "\x01\x02\x03", 3);
	job.key_size = 11;
	space = make(&job, huge);
	check_key(&space, 0x0102030405060708, "\0\0\0\x01\x02\x03\x04\x05\x06\x07\x08", 11);
	job = job_of(NB_KEY_BE64, NB_ORDER_ORDERED, 99);
	space = make(&job, huge);
	check_key(&space, 0x0102030405060708, "\x01\x02\x03\x04\x05\x06\x07\x08", 8);
	job = job_of(NB_KEY_TEXT, NB_ORDER_ORDERED, 0);
	check_text(&job, huge, 0, "user0");
	check_text(&job, huge, 1234567890, "user1234567890");
	job.key_digits = 5;
	check_text(&job, huge, 42, "user00042");
	check_text(&job, huge, 123456, "user123456");
	job.key_prefix[0] = '\0';
	check_text(&job, 10, 7, "00007");
	memset(job.key_prefix, 'p', sizeof(job.key_prefix)); /* without a NUL at its end */
	check_text(&job, 10, 7, "pppppppppppppppppppppppppppppppp00007");
}

TEST(words_and_letters_are_written_as_they_are_described)
{
	struct nb_job job = job_of(NB_KEY_WORDS, NB_ORDER_ORDERED, 0);
	strcpy(job.key_prefix, "user|machine|opening|fartparade");
	check_text(&job, 1000, 0, "user0");
	check_text(&job, 1000, 1, "machine0");
	check_text(&job, 1000, 42, "opening10");
	check_text(&job, UINT64_C(8589934592), UINT64_C(8589934591), "fartparade2147483647");
	job.key_digits = 4;
	check_text(&job, 1000, 5, "machine0001");
	job = job_of(NB_KEY_LETTERS, NB_ORDER_ORDERED, 3);
	check_text(&job, 17576, 0, "aaa");
	check_text(&job, 17576, 27, "abb");
	check_text(&job, 17576, 17575, "zzz");
}

TEST(ambiguous_words_and_too_few_letters_are_refused)
{
	static const char *const prefixes[] = {
		"", "a|", "|a", "a||b", "user|use", "a|b|a", "x1"};
	struct keyspace space;
	for (size_t p = 0; p < sizeof(prefixes) / sizeof(*prefixes); p++) {
		struct nb_job job = job_of(NB_KEY_WORDS, NB_ORDER_HASHED, 0);
		strcpy(job.key_prefix, prefixes[p]);
		ck_assert_int_eq(keyspace_create(&space, &job, 10), NB_ERR_USAGE);
		ck_assert_ptr_nonnull(strstr(nb_error_text(), "key-prefix"));
	}
	struct nb_job job = job_of(NB_KEY_LETTERS, NB_ORDER_ORDERED, 3);
	ck_assert_int_eq(keyspace_create(&space, &job, 17577), NB_ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "17576 different keys of 3 letters"));
	job.key_order = NB_ORDER_HASHED;
	ck_assert_int_eq(keyspace_create(&space, &job, 16385), NB_ERR_USAGE);
	job.key_order = NB_ORDER_YCSB;
	ck_assert_int_eq(keyspace_create(&space, &job, 10), NB_ERR_USAGE);
}

/* ---- all formats and orders ---- */

struct kind {
	uint32_t format, order;
	uint64_t key_size;
	uint32_t digits;
};

static const struct kind kinds[] = {
	{NB_KEY_RAW, NB_ORDER_HASHED, 1, 0},
	{NB_KEY_RAW, NB_ORDER_HASHED, 2, 0},
	{NB_KEY_RAW, NB_ORDER_HASHED, 3, 0},
	{NB_KEY_RAW, NB_ORDER_HASHED, 5, 0},
	{NB_KEY_RAW, NB_ORDER_HASHED, 7, 0},
	{NB_KEY_RAW, NB_ORDER_HASHED, 8, 0},
	{NB_KEY_RAW, NB_ORDER_HASHED, 9, 0},
	{NB_KEY_RAW, NB_ORDER_HASHED, 16, 0},
	{NB_KEY_RAW, NB_ORDER_HASHED, 37, 0},
	{NB_KEY_RAW, NB_ORDER_ORDERED, 1, 0},
	{NB_KEY_RAW, NB_ORDER_ORDERED, 3, 0},
	{NB_KEY_RAW, NB_ORDER_ORDERED, 8, 0},
	{NB_KEY_RAW, NB_ORDER_ORDERED, 16, 0},
	{NB_KEY_RAW, NB_ORDER_ORDERED, 21, 0},
	{NB_KEY_RAW, NB_ORDER_YCSB, 8, 0},
	{NB_KEY_RAW, NB_ORDER_YCSB, 16, 0},
	{NB_KEY_TEXT, NB_ORDER_HASHED, 0, 0},
	{NB_KEY_TEXT, NB_ORDER_HASHED, 0, 20},
	{NB_KEY_TEXT, NB_ORDER_HASHED, 0, 100},
	{NB_KEY_TEXT, NB_ORDER_ORDERED, 0, 0},
	{NB_KEY_TEXT, NB_ORDER_ORDERED, 0, 3},
	{NB_KEY_TEXT, NB_ORDER_ORDERED, 0, 5},
	{NB_KEY_TEXT, NB_ORDER_YCSB, 0, 19},
	{NB_KEY_BE64, NB_ORDER_HASHED, 0, 0},
	{NB_KEY_BE64, NB_ORDER_ORDERED, 0, 0},
	{NB_KEY_BE64, NB_ORDER_YCSB, 0, 0},
	{NB_KEY_WORDS, NB_ORDER_HASHED, 0, 0},
	{NB_KEY_WORDS, NB_ORDER_ORDERED, 0, 7},
	{NB_KEY_LETTERS, NB_ORDER_HASHED, 4, 0},
	{NB_KEY_LETTERS, NB_ORDER_HASHED, 20, 0},
	{NB_KEY_LETTERS, NB_ORDER_ORDERED, 5, 0},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), NUMBERS = 65536 };

static struct nb_job
job_of_kind(size_t k)
{
	struct nb_job job = job_of(kinds[k].format, kinds[k].order, kinds[k].key_size);
	job.key_digits = kinds[k].digits;
	if (job.key_format == NB_KEY_WORDS)
		strcpy(job.key_prefix, "user|machine|x");
	return job;
}

static uint64_t
numbers_of_kind(size_t k)
{
	return kinds[k].format == NB_KEY_RAW && kinds[k].key_size == 1 ? 256 : NUMBERS;
}

static int
compare_slices(const void *a, const void *b)
{
	const struct nb_slice *x = a, *y = b;
	size_t size = x->size < y->size ? x->size : y->size;
	int order = memcmp(x->data, y->data, size);
	return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

/** Make all keys of a kind. Returns the memory behind the slices. */
static uint8_t *
all_keys(const struct keyspace *space, struct nb_slice *slices, uint64_t numbers)
{
	uint8_t *bytes = malloc(numbers * space->key_size_max);
	ck_assert_ptr_nonnull(bytes);
	for (uint64_t n = 0; n < numbers; n++) {
		uint8_t *key = bytes + n * space->key_size_max;
		slices[n] = (struct nb_slice){key, keyspace_key(space, n, key)};
		LAW_MUST(slices[n].size <= space->key_size_max);
		LAW_MUST(space->key_size == 0 || slices[n].size == space->key_size);
	}
	return bytes;
}

TEST(keys_are_unique_and_in_the_stated_order_and_encode_their_number)
{
	static struct nb_slice slices[NUMBERS];
	for (size_t k = 0; k < KINDS; k++) {
		struct nb_job job = job_of_kind(k);
		uint64_t numbers = numbers_of_kind(k), number = 0, descents = 0;
		struct keyspace space = make(&job, numbers);
		ck_assert_int_eq(space.is_reversible, kinds[k].order != NB_ORDER_YCSB);
		uint8_t *bytes = all_keys(&space, slices, numbers);
		for (uint64_t n = 0; n < numbers; n++) {
			bool is_found = keyspace_number(&space, slices[n], &number);
			LAW_MUST(is_found == space.is_reversible && (!is_found || number == n));
			descents += n > 0 && compare_slices(&slices[n - 1], &slices[n]) >= 0;
		}
		ck_assert_msg(space.is_ordered == (descents == 0), "kind %zu", k);
		qsort(slices, numbers, sizeof(slices[0]), compare_slices);
		for (uint64_t i = 1; i < numbers; i++)
			LAW_MUST(compare_slices(&slices[i - 1], &slices[i]) < 0);
		free(bytes);
		/* large numbers, if the format has them */
		if (kinds[k].key_size != 0 && kinds[k].key_size < 8)
			continue;
		space = make(&job, UINT64_MAX);
		for (uint64_t n = 1; n < UINT64_MAX / 3 && space.is_reversible; n = n * 3 + 1) {
			uint8_t key[KEY_MAX];
			struct nb_slice slice = {key, keyspace_key(&space, n, key)};
			ck_assert(keyspace_number(&space, slice, &number));
			ck_assert_uint_eq(number, n);
		}
	}
}

/** A changed key has either no number or the number of the key that it has become. */
TEST(invalid_key_has_no_number)
{
	for (size_t k = 0; k < KINDS; k++) {
		struct nb_job job = job_of_kind(k);
		struct keyspace space = make(&job, 200);
		uint8_t key[KEY_MAX], again[KEY_MAX];
		uint64_t number;
		for (uint64_t n = 0; n < 200; n++) {
			size_t size = keyspace_key(&space, n, key);
			for (size_t bit = 0; bit < size * 8; bit++) {
				key[bit / 8] ^= (uint8_t)(1 << bit % 8);
				struct nb_slice slice = {key, size};
				if (keyspace_number(&space, slice, &number)) {
					LAW_MUST(number < 200 && number != n);
					LAW_MUST(keyspace_key(&space, number, again) == size);
					LAW_MUST(memcmp(key, again, size) == 0);
				}
				key[bit / 8] ^= (uint8_t)(1 << bit % 8);
			}
			if (space.key_size != 0) {
				struct nb_slice cut = {key, size - 1}, longer = {key, size + 1};
				LAW_MUST(!keyspace_number(&space, cut, &number));
				LAW_MUST(!keyspace_number(&space, longer, &number));
			}
		}
		struct nb_slice none = {NULL, 0};
		ck_assert(!keyspace_number(&space, none, &number));
	}
}

TEST(key_text_has_one_valid_form)
{
	static const char *const wrong[] = {"user", "user0001", "user00001234", "user00x12",
		"usex00012", "0001", "user 0012", "user-0012", "user00012 ", "user99999",
		"user18446744073709551616", "user18446744073709551617",
		"user99999999999999999999", "user118446744073709551615"};
	struct nb_job job = job_of(NB_KEY_TEXT, NB_ORDER_ORDERED, 0);
	job.key_digits = 5;
	uint64_t number;
	for (uint64_t numbers = 50000; numbers > 0; numbers = numbers == 50000 ? huge : 0) {
		struct keyspace space = make(&job, numbers);
		for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
			struct nb_slice key = {wrong[i], strlen(wrong[i])};
			bool is_number = keyspace_number(&space, key, &number);
			ck_assert_msg(!is_number || (numbers == huge && number == 99999), "%s",
				wrong[i]);
		}
		struct nb_slice right = {"user01234", 9};
		ck_assert(keyspace_number(&space, right, &number));
		ck_assert_uint_eq(number, 1234);
	}
	struct keyspace space = make(&job, UINT64_MAX);
	struct nb_slice last = {"user18446744073709551614", 24};
	ck_assert(keyspace_number(&space, last, &number));
	ck_assert_uint_eq(number, UINT64_MAX - 1);
}

/** Prepare slices as a maker of operations does before keyspace_keys(). */
static void
point_to_keys(const struct keyspace *space, struct nb_slice *slices, size_t count, uint8_t *out,
	size_t stride)
{
	for (size_t i = 0; i < count; i++)
		slices[i] = (struct nb_slice){out + i * stride, space->key_size};
}

TEST(many_keys_at_once_equal_single_ones)
{
	enum { COUNT = 100, STRIDE = 128 };
	for (size_t k = 0; k < KINDS; k++) {
		struct nb_job job = job_of_kind(k);
		uint64_t all = numbers_of_kind(k), numbers[COUNT];
		struct keyspace space = make(&job, all);
		uint8_t out[COUNT * STRIDE], key[KEY_MAX];
		struct nb_slice slices[COUNT];
		for (uint64_t i = 0; i < COUNT; i++)
			numbers[i] = i * i * 31 % all;
		memset(out, 0xee, sizeof(out));
		point_to_keys(&space, slices, COUNT, out, STRIDE);
		keyspace_keys(&space, numbers, COUNT, out, STRIDE, slices);
		for (size_t i = 0; i < COUNT; i++) {
			size_t size = keyspace_key(&space, numbers[i], key);
			LAW_MUST(slices[i].data == out + i * STRIDE && slices[i].size == size);
			LAW_MUST(memcmp(slices[i].data, key, size) == 0);
			for (size_t at = size; at < STRIDE; at++)
				LAW_MUST(out[i * STRIDE + at] == 0xee);
		}
		memset(out, 0xee, sizeof(out));
		keyspace_keys(&space, numbers, 0, out, STRIDE, slices);
		ck_assert_uint_eq(out[0], 0xee);
	}
}

static void
check_chi_square(const uint32_t *observed, uint64_t count)
{
	double expected = (double)count / 256, sum = 0;
	for (int i = 0; i < 256; i++)
		sum += (observed[i] - expected) * (observed[i] - expected) / expected;
	ck_assert_msg(sum > 161.5 && sum < 377.2, "%f", sum);
}

TEST(hashed_keys_look_random)
{
	static const uint64_t key_sizes[] = {3, 5, 8, 16, 29};
	enum { COUNT = 50000 };
	for (int c = 0; c < 5 * 4; c++) {
		struct nb_job job = job_of(NB_KEY_RAW, NB_ORDER_HASHED, key_sizes[c % 5]);
		job.seed = (uint64_t)c / 5;
		struct keyspace space = make(&job, COUNT);
		uint32_t values[32][256] = {{0}}, steps[32][256] = {{0}};
		uint8_t before[32] = {0}, key[32];
		for (uint64_t n = 0; n < COUNT; n++) {
			keyspace_key(&space, n, key);
			for (uint64_t at = 0; at < job.key_size; at++) {
				values[at][key[at]]++;
				steps[at][(uint8_t)(key[at] - before[at])]++;
			}
			memcpy(before, key, sizeof(before));
		}
		for (uint64_t at = 0; at < job.key_size; at++) {
			check_chi_square(values[at], COUNT);
			check_chi_square(steps[at], COUNT);
		}
	}
}

TEST(seed_changes_only_hashed_keys)
{
	for (size_t k = 0; k < KINDS; k++) {
		struct nb_job job = job_of_kind(k);
		struct keyspace one = make(&job, 256);
		job.seed++;
		struct keyspace other = make(&job, 256);
		int same = 0;
		for (uint64_t n = 0; n < 256; n++) {
			uint8_t a[KEY_MAX], b[KEY_MAX];
			size_t a_size = keyspace_key(&one, n, a);
			size_t b_size = keyspace_key(&other, n, b);
			same += a_size == b_size && memcmp(a, b, a_size) == 0;
		}
		bool is_seeded = kinds[k].order == NB_ORDER_HASHED ||
			(kinds[k].order == NB_ORDER_YCSB && kinds[k].key_size > 8);
		ck_assert_msg(is_seeded ? same < 10 : same == 256, "kind %zu: %d", k, same);
		ck_assert_int_eq(keyspace_hash(&one) != keyspace_hash(&other), is_seeded);
	}
}

TEST(other_keys_have_another_hash)
{
	uint64_t hashes[KINDS + 1];
	for (size_t k = 0; k < KINDS; k++) {
		struct nb_job job = job_of_kind(k);
		struct keyspace space = make(&job, 200);
		hashes[k] = keyspace_hash(&space);
		space = make(&job, 256); /* the hash ignores the number of records */
		ck_assert_uint_eq(keyspace_hash(&space), hashes[k]);
	}
	struct nb_job job = job_of(NB_KEY_TEXT, NB_ORDER_HASHED, 0);
	strcpy(job.key_prefix, "uses");
	struct keyspace space = make(&job, 200);
	hashes[KINDS] = keyspace_hash(&space);
	for (size_t i = 0; i <= KINDS; i++)
		for (size_t j = 0; j < i; j++) {
			/* raw keys of 8 bytes and be64 give the same keys */
			bool is_same = i < KINDS && kinds[i].format == NB_KEY_BE64 &&
				kinds[j].format == NB_KEY_RAW && kinds[j].key_size == 8 &&
				kinds[i].order == kinds[j].order;
			ck_assert_int_eq(hashes[i] == hashes[j], is_same);
		}
}

TEST(a_file_gives_its_keys_in_order)
{
	scratch_fresh("file");
	ck_assert_int_eq(nb_keys_make("keys.bin", 20, 1000, 3, NULL, NULL), NB_OK);
	size_t size;
	uint8_t *bytes = file_get("keys.bin", &size);
	char path[] = "keys.bin";
	struct nb_job job = job_of(NB_KEY_FILE, NB_ORDER_HASHED, 20);
	job.keys_path = path;
	struct keyspace space = make(&job, 1000), fewer = make(&job, 999);
	ck_assert(!space.is_ordered && !space.is_reversible);
	for (uint64_t n = 0; n < 1000; n++)
		check_key(&space, n, bytes + n * 20, 20);
	uint64_t numbers[3] = {999, 0, 500};
	uint8_t out[3 * 24];
	struct nb_slice slices[3];
	point_to_keys(&space, slices, 3, out, 24);
	keyspace_keys(&space, numbers, 3, out, 24, slices);
	for (int i = 0; i < 3; i++)
		ck_assert_mem_eq(slices[i].data, bytes + numbers[i] * 20, 20);
	uint64_t number, hash = keyspace_hash(&space);
	ck_assert(!keyspace_number(&space, slices[0], &number));
	ck_assert_uint_eq(keyspace_hash(&space), hash);
	ck_assert_uint_ne(keyspace_hash(&fewer), hash);
	keyspace_destroy(&space);
	keyspace_destroy(&fewer);
	bytes[999 * 20 + 19] ^= 1;
	file_put("keys.bin", bytes, size);
	space = make(&job, 1000);
	ck_assert_uint_ne(keyspace_hash(&space), hash);
	keyspace_destroy(&space);
	job.key_size = 10;
	space = make(&job, 2000);
	uint64_t halves = keyspace_hash(&space);
	keyspace_destroy(&space);
	ck_assert_uint_ne(halves, hash);
	free(bytes);
}

TEST(keys_that_cannot_distinguish_records_are_refused)
{
	scratch_fresh("refused");
	file_put("one.bin", "0123456789abcdef", 16);
	static const struct {
		uint32_t format, order;
		uint64_t key_size, numbers;
		const char *path, *why;
		uint32_t digits;
		int code; /* 0: NB_ERR_USAGE */
	} cases[] = {
		{NB_KEY_RAW, NB_ORDER_HASHED, 1, 257, "",
			"256 different keys of 1 bytes, and 257"},
		{NB_KEY_RAW, NB_ORDER_ORDERED, 1, 257, "", "only 256 different keys"},
		{NB_KEY_RAW, NB_ORDER_YCSB, 1, 10, "",
			"needs raw keys of 8 bytes or more, not of 1"},
		{NB_KEY_RAW, 0, 7, (UINT64_C(1) << 56) + 1, "", "different keys of 7 bytes"},
		{NB_KEY_RAW, 0, 0, 1, "", "keys of 0 bytes: a key has 1..1048576"},
		{NB_KEY_RAW, 0, NB_KEY_SIZE_MAX + 1, 1, "", "keys of 1048577 bytes"},
		{NB_KEY_RAW, 0, 16, 0, "", "no records"},
		{NB_KEY_RAW, 3, 16, 1, "", "unknown order of keys 3"},
		{NB_KEY_LETTERS + 1, 0, 16, 1, "", "unknown format of keys 7"},
		{NB_KEY_TEXT, 0, 0, 1, "", "text keys of 4294967295 digits", UINT32_MAX},
		{NB_KEY_FILE, 0, 16, 1, NULL, "the file is not named"},
		{NB_KEY_FILE, 0, 16, 1, "gone.bin", "gone.bin: no such file", 0, NB_FAIL},
		{NB_KEY_FILE, 0, 16, 2, "one.bin", "holds 1 keys of 16 bytes, 2 are", 0,
			NB_FAIL},
		{NB_KEY_FILE, 0, 0, 1, "one.bin", "keys of 0 bytes"},
	};
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		struct nb_job job = job_of(cases[i].format, cases[i].order, cases[i].key_size);
		struct keyspace space;
		job.key_digits = cases[i].digits;
		job.keys_path = (char *)(uintptr_t)cases[i].path;
		int rc = keyspace_create(&space, &job, cases[i].numbers);
		ck_assert_int_eq(rc, cases[i].code != 0 ? cases[i].code : NB_ERR_USAGE);
		ck_assert_msg(strstr(nb_error_text(), cases[i].why) != NULL, "%zu: %s", i,
			nb_error_text());
	}
}
