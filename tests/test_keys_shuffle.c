/* SPDX-License-Identifier: BSD-2-Clause */
/* Critical value of chi-square for 23 degrees of freedom: tables, p = 0.001. */
#include "workload/keys.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

/** Pseudo-random bytes that identify each key, even by parts of it. */
static uint8_t *
make_bytes(size_t size)
{
	uint8_t *bytes = malloc(size + 1);
	ck_assert_ptr_nonnull(bytes);
	uint32_t state = 1;
	for (size_t i = 0; i < size; i++) {
		state = state * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(state >> 24);
	}
	return bytes;
}

static void
shuffle(const char *path, uint64_t key_size, uint64_t count, uint64_t seed,
	uint64_t bucket_bytes)
{
	int rc = keys_shuffle(path, key_size, count, seed, bucket_bytes, NULL, NULL);
	ck_assert_msg(rc == NB_OK, "%s", nb_error_text());
}

static size_t compared_size;

static int
compare_keys(const void *a, const void *b)
{
	return memcmp(a, b, compared_size);
}

static void
check_same_keys(const uint8_t *before, const uint8_t *after, uint64_t key_size, uint64_t count)
{
	size_t size = key_size * count;
	uint8_t *sorted[2] = {malloc(size), malloc(size)};
	ck_assert(sorted[0] != NULL && sorted[1] != NULL);
	memcpy(sorted[0], before, size);
	memcpy(sorted[1], after, size);
	compared_size = key_size;
	for (int i = 0; i < 2; i++)
		qsort(sorted[i], count, key_size, compare_keys);
	ck_assert_mem_eq(sorted[0], sorted[1], size);
	free(sorted[0]);
	free(sorted[1]);
}

/** Shuffle the first keys of a file that has `behind` more bytes. */
static void
check_permutation(uint64_t key_size, uint64_t count, size_t behind, uint64_t bucket_bytes)
{
	size_t keys_size = key_size * count, size = keys_size + behind, found_size;
	uint8_t *before = make_bytes(size);
	file_put("permuted", before, size);
	shuffle("permuted", key_size, count, 99, bucket_bytes);
	uint8_t *after = file_get("permuted", &found_size);
	ck_assert_uint_eq(found_size, size);
	check_same_keys(before, after, key_size, count);
	ck_assert_mem_eq(after + keys_size, before + keys_size, behind);
	if (count >= 1000)
		ck_assert_mem_ne(after, before, keys_size);
	free(after);
	free(before);
}

static const uint64_t counts[] = {1, 2, 3, 1000, 100000};
enum { COUNTS = UNIT_COUNT(counts) };

TEST(same_keys_remain_and_bytes_after_them_stay)
{
	static const size_t behind[] = {0, 1, 15, 16, 33};
	for (size_t i = 0; i < COUNTS; i++) {
		for (size_t b = 0; b < 5; b++)
			check_permutation(16, counts[i], behind[b], KEYS_BUCKET_BYTES);
		check_permutation(1, counts[i], 1, KEYS_BUCKET_BYTES);
		check_permutation(13, counts[i], 7, KEYS_BUCKET_BYTES);
	}
	check_permutation(16, 1000, 3 << 20, KEYS_BUCKET_BYTES);
}

TEST(many_buckets_hold_the_same_keys)
{
	static const uint64_t buckets[] = {1, 16, 1000, 65536, 1000000};
	for (size_t b = 0; b < 5; b++) {
		for (size_t i = 0; i < COUNTS - 1; i++) {
			check_permutation(16, counts[i], 0, buckets[b]);
			check_permutation(3, counts[i], 2, buckets[b]);
		}
		check_permutation(700, 300, 1, buckets[b]);
	}
	check_permutation(16, 100000, 5, 65536);
	check_permutation(16, 100000, 5, 1000000);
	check_permutation(16, 30000, 5, 4096);
}

TEST(large_keys_stay_whole)
{
	check_permutation(300000, 20, 10, KEYS_BUCKET_BYTES);
	check_permutation(300000, 20, 10, 1000000);
	check_permutation(NB_KEY_SIZE_MAX, 5, 0, 1000000);
}

/** Each key is at each place equally often: the sum of chi-square over all orders of four. */
static void
check_orders(uint64_t bucket_bytes)
{
	enum { SEEDS = 2400, ORDERS = 256 };
	uint32_t observed[ORDERS] = {0};
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		file_put("orders", "\0\0\1\1\2\2\3\3", 8);
		shuffle("orders", 2, 4, seed, bucket_bytes);
		size_t size;
		uint8_t *after = file_get("orders", &size);
		observed[after[0] | after[2] << 2 | after[4] << 4 | after[6] << 6]++;
		free(after);
	}
	double expected = SEEDS / 24.0, sum = 0;
	int orders = 0;
	for (int i = 0; i < ORDERS; i++)
		if (observed[i] != 0) {
			orders++;
			sum += (observed[i] - expected) * (observed[i] - expected) / expected;
		}
	ck_assert_int_eq(orders, 24);
	ck_assert_double_lt(sum, 49.73);
}

TEST(all_orders_are_equally_likely)
{
	check_orders(KEYS_BUCKET_BYTES);
	check_orders(4); /* two buckets of two keys */
	check_orders(3); /* three */
	check_orders(1); /* eight, most of them empty */
}

/* The old and new places of a key are independent: by quarters of a long file. */
TEST(keys_move_anywhere_with_buckets)
{
	enum { COUNT = 60000 };
	uint32_t *keys = malloc(COUNT * sizeof(*keys));
	ck_assert_ptr_nonnull(keys);
	for (uint32_t i = 0; i < COUNT; i++)
		keys[i] = i;
	file_put("far", keys, COUNT * sizeof(*keys));
	free(keys);
	shuffle("far", 4, COUNT, 5, 20000);
	size_t size;
	keys = (uint32_t *)file_get("far", &size);
	uint32_t observed[4][4] = {{0}}, in_order = 0;
	for (uint32_t i = 0; i < COUNT; i++) {
		observed[keys[i] / (COUNT / 4)][i / (COUNT / 4)]++;
		in_order += i > 0 && keys[i] > keys[i - 1];
	}
	double sum = 0, expected = COUNT / 16.0;
	for (int i = 0; i < 16; i++) {
		double difference = observed[i / 4][i % 4] - expected;
		sum += difference * difference / expected;
	}
	ck_assert_double_lt(sum, 27.88); /* 9 degrees of freedom */
	/* half of the adjacent pairs, within 4 standard deviations of sqrt(n / 12) */
	ck_assert_double_lt(
		in_order > COUNT / 2 ? in_order - COUNT / 2 : COUNT / 2 - in_order, 4 * 71);
	free(keys);
}

TEST(order_depends_only_on_the_seed)
{
	static const uint64_t buckets[] = {KEYS_BUCKET_BYTES, 5000};
	uint8_t *before = make_bytes(16000);
	for (size_t b = 0; b < 2; b++) {
		uint8_t *after[3];
		size_t size;
		for (int i = 0; i < 3; i++) {
			file_put("seeded", before, 16000);
			if (b == 0 && i == 1) /* the public function does the same */
				ck_assert_int_eq(
					nb_keys_shuffle("seeded", 16, 1000, 7, NULL, NULL), 0);
			else
				shuffle("seeded", 16, 1000, i == 2 ? 8 : 7, buckets[b]);
			after[i] = file_get("seeded", &size);
		}
		ck_assert_mem_eq(after[0], after[1], 16000);
		ck_assert_mem_ne(after[0], after[2], 16000);
		for (int i = 0; i < 3; i++)
			free(after[i]);
	}
	free(before);
}

TEST(mode_and_link_stay_and_no_temporary_file_remains)
{
	scratch_fresh("mode");
	uint8_t *before = make_bytes(16000);
	file_put("file", before, 16000);
	free(before);
	ck_assert_int_eq(chmod("file", 0604), 0);
	ck_assert_int_eq(symlink("file", "link"), 0);
	shuffle("link", 16, 1000, 7, 5000);
	struct stat st;
	ck_assert_int_eq(lstat("link", &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	ck_assert_int_eq(lstat("file", &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0604);
	ck_assert_int_eq(st.st_size, 16000);
	ck_assert_int_eq(entries_of("."), 2);
}

TEST(unsuitable_file_is_refused_and_stays)
{
	scratch_fresh("refused");
	static const struct {
		uint64_t key_size, count;
		int rc;
		const char *what;
	} cases[] = {
		{0, 1, NB_ERR_USAGE, "key size of 1..1048576"},
		{NB_KEY_SIZE_MAX + 1, 1, NB_ERR_USAGE, "key size of 1..1048576"},
		{16, 0, NB_ERR_USAGE, "count of at least 1"},
		{16, 101, NB_FAIL, "file: holds 100 keys of 16 bytes, 101 are needed"},
		{NB_KEY_SIZE_MAX, UINT64_MAX, NB_FAIL, "holds 0 keys"},
	};
	uint8_t *before = make_bytes(1600);
	file_put("file", before, 1600);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_int_eq(nb_keys_shuffle("file", cases[i].key_size, cases[i].count, 1,
					 NULL, NULL),
			cases[i].rc);
		ck_assert_msg(
			strstr(nb_error_text(), cases[i].what) != NULL, "%s", nb_error_text());
	}
	ck_assert_int_eq(nb_keys_shuffle("none", 16, 10, 1, NULL, NULL), NB_FAIL);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "none: "));
	file_is("file", before, 1600);
	free(before);
	ck_assert_int_eq(entries_of("."), 1);
}

struct watch {
	int calls;
	int stop_at; /* number of the call; 0: never */
	uint64_t done;
	size_t most_allocated;
};

static void
look(void *arg, const struct nb_progress *progress)
{
	struct watch *watch = arg;
	ck_assert_uint_ge(progress->done, watch->done);
	ck_assert_uint_le(progress->done, progress->total);
	watch->done = progress->done;
	struct mallinfo2 info = mallinfo2();
	if (info.uordblks + info.hblkhd > watch->most_allocated)
		watch->most_allocated = info.uordblks + info.hblkhd;
	if (++watch->calls == watch->stop_at)
		nb_stop();
}

/** Stop at each check in turn: the file must not change. Returns the number of checks. */
static int
check_stops(uint64_t key_size, uint64_t count, uint64_t bucket_bytes)
{
	size_t size = key_size * count + 3;
	uint8_t *before = make_bytes(size);
	file_put("stopped", before, size);
	struct watch watch = {0};
	for (int stop_at = 1;; stop_at++) {
		watch = (struct watch){.stop_at = stop_at};
		int rc = keys_shuffle(
			"stopped", key_size, count, 1, bucket_bytes, look, &watch);
		if (rc == NB_OK)
			break;
		ck_assert_int_eq(rc, NB_ERR_INTERRUPTED);
		ck_assert_int_eq(watch.calls, stop_at);
		nb_stop_clear();
		file_is("stopped", before, size);
		ck_assert_int_eq(entries_of("."), 1);
	}
	free(before);
	return watch.calls;
}

TEST(stop_request_is_obeyed_and_leaves_the_file)
{
	scratch_fresh("stop");
	ck_assert_int_ge(check_stops(2, 300000, KEYS_BUCKET_BYTES), 2);
	ck_assert_int_ge(check_stops(2, 300000, 100000), 2);
	ck_assert_int_ge(check_stops(16, 10, KEYS_BUCKET_BYTES), 1);
	/* as many checks by bytes: some megabytes take as long as many small keys */
	ck_assert_int_ge(check_stops(NB_KEY_SIZE_MAX, 24, KEYS_BUCKET_BYTES), 6);
}

/* Two buckets, plus the needs of the heap and the buckets' heads. */
TEST(memory_does_not_grow_with_the_file)
{
	enum { BUCKET = 256 << 10 };
	static const uint64_t key_sizes[] = {16, 30000};
	for (size_t k = 0; k < 2; k++) {
		size_t size = key_sizes[k] * ((16 << 20) / key_sizes[k]);
		uint8_t *before = make_bytes(size);
		file_put("memory", before, size);
		free(before);
		struct watch watch = {0};
		size_t at_rest = mallinfo2().uordblks + mallinfo2().hblkhd;
		ck_assert_int_eq(keys_shuffle("memory", key_sizes[k], size / key_sizes[k], 1,
					 BUCKET, look, &watch),
			NB_OK);
		ck_assert_int_gt(watch.calls, 0);
		ck_assert_uint_lt(watch.most_allocated, at_rest + 2 * BUCKET + (128 << 10));
	}
}
