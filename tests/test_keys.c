/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bounds of chi-square for 255 degrees of freedom by Wilson and Hilferty's approximation.
 * Values below 161.5 and above 377.2 each have probability 10^-6. A value that is too even is
 * as wrong as one that is too uneven: a counter is too even.
 */
#include "workload/keys.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

static void
make(const char *path, uint64_t key_size, uint64_t count, uint64_t seed)
{
	int rc = nb_keys_make(path, key_size, count, seed, NULL, NULL);
	ck_assert_msg(rc == NB_OK, "%s", nb_error_text());
}

static void
check_says(const char *what)
{
	ck_assert_msg(strstr(nb_error_text(), what) != NULL, "%s", nb_error_text());
	ck_assert_ptr_null(strchr(nb_error_text(), '\n'));
}

static void
check_refused(const char *path, uint64_t key_size, uint64_t count, const char *what)
{
	struct keys keys;
	ck_assert_int_eq(keys_open(&keys, path, key_size, count), NB_FAIL);
	check_says(path);
	check_says(what);
}

TEST(every_key_of_the_file_is_read_including_the_last)
{
	uint8_t bytes[1000 * 7];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 31 >> 3);
	file_put("exact", bytes, sizeof(bytes));
	struct keys keys;
	ck_assert_int_eq(keys_open(&keys, "exact", 7, 1000), NB_OK);
	ck_assert_uint_eq(keys.count, 1000);
	ck_assert_uint_eq(keys.key_size, 7);
	for (size_t i = 0; i < 1000; i++) {
		struct nb_slice key = keys_get(&keys, i);
		ck_assert_uint_eq(key.size, 7);
		ck_assert_mem_eq(key.data, bytes + i * 7, 7);
	}
	keys_close(&keys);
	/* a single key, and fewer keys than in the file */
	ck_assert_int_eq(keys_open(&keys, "exact", 7000, 1), NB_OK);
	ck_assert_mem_eq(keys_get(&keys, 0).data, bytes, 7000);
	keys_close(&keys);
	ck_assert_int_eq(keys_open(&keys, "exact", 7, 3), NB_OK);
	ck_assert_uint_eq(keys.count, 3);
	keys_close(&keys);
}

TEST(file_one_byte_short_has_one_key_less)
{
	uint8_t bytes[1600] = {0};
	file_put("short", bytes, sizeof(bytes) - 1);
	check_refused("short", 16, 100, "holds 99 keys of 16 bytes, 100 are needed");
	check_says("mininb --action=keys -i short -k 16 -c 100");
	check_refused("short", 2000, 1, "holds 0 keys of 2000 bytes");
	check_refused("short", 1 << 20, UINT64_MAX, "are needed");
}

TEST(unsuitable_key_files_are_refused)
{
	check_refused("missing", 16, 100, "no such file");
	check_says("mininb --action=keys -i missing -k 16 -c 100");
	ck_assert_int_eq(mkfifo("pipe", 0600), 0); /* without a writer, open() must not block */
	alarm(20);
	check_refused("pipe", 16, 1, "not a regular file");
	file_put("empty", "", 0);
	check_refused("empty", 16, 1, "holds 0 keys of 16 bytes, 1 are needed");
	ck_assert_int_eq(mkdir("directory", 0700), 0);
	check_refused("directory", 16, 1, "not a regular file");
	check_refused("/dev/null", 16, 1, "not a regular file");
	check_refused("/dev/zero", 16, 1, "not a regular file");
	check_refused("empty/file", 16, 1, "Not a directory");
}

TEST(released_keys_can_be_read_again)
{
	enum { COUNT = 100000 };
	make("forgotten", 16, COUNT, 1);
	size_t size;
	uint8_t *bytes = file_get("forgotten", &size);
	struct keys keys;
	ck_assert_int_eq(keys_open(&keys, "forgotten", 16, COUNT), NB_OK);
	keys_forget(&keys, 0, COUNT);
	ck_assert_mem_eq(keys.data, bytes, size);
	keys_forget(&keys, 1, COUNT - 1);
	keys_forget(&keys, 5, 5);
	keys_forget(&keys, 5, 6);
	ck_assert_mem_eq(keys.data, bytes, size);
	keys_close(&keys);
	free(bytes);
}

static size_t compared_size;

static int
compare_keys(const void *a, const void *b)
{
	return memcmp(a, b, compared_size);
}

static void
check_distinct(uint64_t key_size, uint64_t count, uint64_t seed)
{
	make("distinct", key_size, count, seed);
	size_t size;
	uint8_t *bytes = file_get("distinct", &size);
	ck_assert_uint_eq(size, key_size * count);
	compared_size = key_size;
	qsort(bytes, count, key_size, compare_keys);
	for (uint64_t i = 1; i < count; i++)
		ck_assert_mem_ne(bytes + (i - 1) * key_size, bytes + i * key_size, key_size);
	free(bytes);
}

TEST(all_keys_are_distinct)
{
	for (uint64_t seed = 0; seed < 5; seed++) {
		check_distinct(1, 256, seed);
		check_distinct(2, 65536, seed);
	}
	check_distinct(3, 200000, 1);
	check_distinct(5, 100000, 2);
	check_distinct(7, 100000, 3);
	check_distinct(8, 100000, 4);
	check_distinct(16, 100000, UINT64_MAX);
}

TEST(more_keys_than_possible_are_refused)
{
	static const struct {
		uint64_t key_size, count;
		const char *what;
	} cases[] = {
		{1, 257, "only 256 different keys of 1 bytes, not 257"},
		{2, 65537, "only 65536 different keys of 2 bytes"},
		{3, (1 << 24) + 1, "only 16777216 different keys"},
		{7, (UINT64_C(1) << 56) + 1, "different keys of 7 bytes"},
		{0, 1, "1..1048576 bytes"},
		{(1 << 20) + 1, 1, "1..1048576 bytes"},
		{UINT64_MAX, UINT64_MAX, "1..1048576 bytes"},
		{16, 0, "a count of at least 1"},
		{16, UINT64_MAX, "no file can be that large"},
		{1 << 20, UINT64_C(1) << 44, "no file can be that large"},
	};
	file_put("old", "old", 3);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_int_eq(
			nb_keys_make("old", cases[i].key_size, cases[i].count, 1, NULL, NULL),
			NB_ERR_USAGE);
		check_says(cases[i].what);
	}
	file_is("old", "old", 3);
}

TEST(the_first_keys_do_not_depend_on_the_count)
{
	static const uint64_t key_sizes[] = {1, 2, 3, 8, 16, 100};
	for (size_t k = 0; k < sizeof(key_sizes) / sizeof(key_sizes[0]); k++) {
		uint64_t all = key_sizes[k] == 1 ? 256 : 20000, some = all / 3;
		make("all", key_sizes[k], all, 42);
		size_t size;
		uint8_t *bytes = file_get("all", &size);
		make("some", key_sizes[k], some, 42);
		file_is("some", bytes, some * key_sizes[k]);
		make("all_again", key_sizes[k], all, 42);
		file_is("all_again", bytes, size);
		free(bytes);
	}
}

TEST(other_seeds_make_other_keys)
{
	enum { SEEDS = 6 };
	static const uint64_t seeds[SEEDS] = {0, 1, 2, 3, UINT64_C(1) << 63, UINT64_MAX};
	uint8_t *files[SEEDS];
	size_t size;
	for (int i = 0; i < SEEDS; i++) {
		make("seed", 16, 1000, seeds[i]);
		files[i] = file_get("seed", &size);
		for (int j = 0; j < i; j++)
			for (size_t at = 0; at < size; at += 16)
				ck_assert_mem_ne(files[i] + at, files[j] + at, 16);
	}
	for (int i = 0; i < SEEDS; i++)
		free(files[i]);
}

/* Otherwise a second file would start somewhere in the first and repeat it from there. */
TEST(order_of_another_seed_is_not_a_rotation)
{
	enum { COUNT = 65536 };
	static uint16_t place[COUNT];
	static bool is_seen[COUNT];
	size_t size;
	make("rotation", 2, COUNT, 1);
	uint16_t *one = (uint16_t *)file_get("rotation", &size);
	make("rotation", 2, COUNT, 2);
	uint16_t *other = (uint16_t *)file_get("rotation", &size);
	for (uint32_t i = 0; i < COUNT; i++)
		place[one[i]] = (uint16_t)i;
	uint32_t lags = 0;
	for (uint32_t i = 0; i < COUNT; i++) {
		uint16_t lag = (uint16_t)(place[other[i]] - i);
		lags += !is_seen[lag];
		is_seen[lag] = true;
	}
	/* two random orders share 1 - 1/e of all lags */
	ck_assert_uint_gt(lags, COUNT / 2);
	free(one);
	free(other);
}

static void
check_chi_square(const uint32_t *observed, uint64_t count, const char *what, uint64_t position)
{
	double expected = (double)count / 256, sum = 0;
	for (int i = 0; i < 256; i++)
		sum += (observed[i] - expected) * (observed[i] - expected) / expected;
	ck_assert_msg(sum > 161.5 && sum < 377.2, "%s at %llu: %f", what,
		(unsigned long long)position, sum);
}

/** Check the bytes at each place, and the differences between keys and between bytes. */
static void
check_random(uint64_t key_size, uint64_t count, uint64_t seed)
{
	make("random", key_size, count, seed);
	size_t size;
	uint8_t *bytes = file_get("random", &size);
	for (uint64_t at = 0; at < key_size; at++) {
		uint32_t values[256] = {0}, steps[256] = {0}, slopes[256] = {0};
		for (uint64_t i = 0; i < count; i++) {
			const uint8_t *key = bytes + i * key_size;
			const uint8_t *next = bytes + (i + 1) % count * key_size;
			values[key[at]]++;
			steps[(uint8_t)(next[at] - key[at])]++;
			slopes[(uint8_t)(key[(at + 1) % key_size] - key[at])]++;
		}
		check_chi_square(values, count, "bytes", at);
		check_chi_square(steps, count, "steps", at);
		if (key_size > 1)
			check_chi_square(slopes, count, "slopes", at);
	}
	free(bytes);
}

TEST(keys_look_random)
{
	for (uint64_t seed = 0; seed < 4; seed++) {
		check_random(3, 50000, seed);
		check_random(4, 50000, seed);
		check_random(8, 50000, seed);
		check_random(16, 50000, seed);
		check_random(29, 20000, seed);
	}
}

TEST(keys_of_a_mebibyte_can_be_made)
{
	make("large", NB_KEY_SIZE_MAX, 5, 1);
	size_t size;
	uint8_t *bytes = file_get("large", &size);
	ck_assert_uint_eq(size, 5 * NB_KEY_SIZE_MAX);
	uint32_t observed[256] = {0};
	for (size_t i = 0; i < size; i++)
		observed[bytes[i]]++;
	check_chi_square(observed, size, "bytes", 0);
	free(bytes);
	struct keys keys;
	ck_assert_int_eq(keys_open(&keys, "large", NB_KEY_SIZE_MAX, 5), NB_OK);
	keys_close(&keys);
}

TEST(stop_request_leaves_the_old_file)
{
	scratch_fresh("stop");
	file_put("old", "old", 3);
	nb_stop();
	ck_assert_int_eq(nb_keys_make("old", 16, 1000, 1, NULL, NULL), NB_ERR_INTERRUPTED);
	ck_assert_int_eq(nb_keys_make("new", 16, 1000, 1, NULL, NULL), NB_ERR_INTERRUPTED);
	nb_stop_clear();
	file_is("old", "old", 3);
	ck_assert_int_eq(entries_of("."), 1);
	make("old", 16, 1000, 1);
}

struct seen {
	int calls;
	uint64_t done, total;
};

static void
see(void *arg, const struct nb_progress *progress)
{
	struct seen *seen = arg;
	seen->calls++;
	ck_assert_uint_eq(progress->size, sizeof(*progress));
	ck_assert_uint_ge(progress->done, seen->done);
	ck_assert_uint_le(progress->done, progress->total);
	seen->done = progress->done;
	seen->total = progress->total;
	if (seen->calls == 1) /* until the end, the old file stays */
		file_is("watched", "old", 3);
}

TEST(an_old_file_is_replaced_at_the_end)
{
	scratch_fresh("watched");
	file_put("watched", "old", 3);
	struct seen seen = {0};
	ck_assert_int_eq(nb_keys_make("watched", 16, 300000, 1, see, &seen), NB_OK);
	ck_assert_int_gt(seen.calls, 2);
	ck_assert_uint_eq(seen.total, 300000);
	ck_assert_uint_eq(seen.done, 300000);
	ck_assert_int_eq(entries_of("."), 1);
	struct keys keys;
	ck_assert_int_eq(keys_open(&keys, "watched", 16, 300000), NB_OK);
	keys_close(&keys);
	check_refused("watched", 16, 300001, "holds 300000 keys");
}

TEST(a_file_that_cannot_be_written_is_named)
{
	ck_assert_int_eq(nb_keys_make("no/such/file", 16, 10, 1, NULL, NULL), NB_FAIL);
	check_says("no/such/file: ");
	check_says("No such file or directory");
	ck_assert_int_eq(nb_keys_make("/dev/null", 16, 10, 1, NULL, NULL), NB_FAIL);
	check_says("/dev/null: ");
}
