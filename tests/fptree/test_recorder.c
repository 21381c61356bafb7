/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder and the images alone. On a file that only the test writes, the tests check
 * which images exist. On pools of libpmemobj, correct programs must pass and broken ones must
 * fail.
 */
#include "image.h"

#include <libpmemobj.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../scratch.h"
#include "../unit.h"
#include "pm.h"

enum { FILE_WORDS = 8192, WORDS_A_LINE = 8 };

static struct pm pm = {.flush = PM_FLUSH_NONE};
static struct record record;
static uint64_t *words; /* the mapped file */

static void
file_begin(void)
{
	scratch_enter();
	file_put("a.pmem", (uint64_t[FILE_WORDS]){0}, FILE_WORDS * sizeof(uint64_t));
	int fd = open("a.pmem", O_RDWR);
	ck_assert_int_ge(fd, 0);
	words = mmap(NULL, FILE_WORDS * 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(words, MAP_FAILED);
	close(fd);
	ck_assert(record_begin(&record, scratch_path));
}

static void
file_end(void)
{
	munmap(words, FILE_WORDS * 8);
	record_free(&record);
	scratch_leave();
}

/*
 * The images at the last event, as sums 1 a + 10 b + ... of the first words of lines, or of
 * the words of the first line; and the number of times that each sum occurs.
 */
struct seen {
	unsigned times[100000];
	unsigned distinct;
};

static struct seen
seen_at_end(bool by_line)
{
	static struct seen seen;
	struct replay replay;
	struct crash crash = {0};
	struct image image = {0};

	memset(&seen, 0, sizeof(seen));
	record_end();
	replay_begin(&replay, &record);
	while (replay_next(&replay) != NULL)
		continue;
	for (uint32_t k = 0; k < crash_count(&replay); k++) {
		crash_choose(&replay, &crash, k, 1);
		ck_assert(image_write(&image, &replay, &crash));
		uint64_t sum = 0, unit = 1;
		for (int i = 0; i < 5; i++, unit *= 10)
			sum += unit * words[by_line ? i * WORDS_A_LINE : i];
		ck_assert_uint_lt(sum, 100000);
		seen.distinct += seen.times[sum]++ == 0;
	}
	image_end(&image);
	crash_free(&crash);
	replay_end(&replay);
	return seen;
}

static uint64_t *
line(int i)
{
	return &words[i * WORDS_A_LINE];
}

TEST(lines_between_fences_persist_in_any_combination)
{
	file_begin();
	pm_store64(line(0), 1);
	pm_store64(line(1), 1);
	pm_store64(line(2), 1);
	struct seen seen = seen_at_end(true);
	ck_assert_uint_eq(seen.distinct, 8);
	file_end();
}

TEST(later_store_to_a_line_never_persists_without_the_earlier)
{
	file_begin();
	pm_store64(&words[0], 1);
	pm_store64(&words[1], 1);
	pm_store64(&words[0], 2);
	struct seen seen = seen_at_end(false);
	ck_assert_uint_eq(seen.distinct, 4);
	ck_assert_uint_eq(seen.times[0], 1);
	ck_assert_uint_eq(seen.times[1], 1);
	ck_assert_uint_eq(seen.times[11], 1);
	ck_assert_uint_eq(seen.times[12], 1);
	file_end();
}

TEST(flush_and_fence_make_a_store_durable)
{
	file_begin();
	pm_store64(line(0), 1);
	pm_flush_line(&pm, line(0));
	pm_fence(&pm);
	pm_store64(line(1), 1);
	struct seen seen = seen_at_end(true);
	ck_assert_uint_eq(seen.distinct, 2);
	ck_assert_uint_eq(seen.times[1], 1);
	ck_assert_uint_eq(seen.times[11], 1);
	file_end();
}

TEST(flush_alone_and_fence_alone_do_not_make_a_store_durable)
{
	file_begin();
	pm_store64(line(0), 1);
	pm_fence(&pm);
	pm_store64(line(1), 1);
	pm_flush_line(&pm, line(1));
	struct seen seen = seen_at_end(true);
	ck_assert_uint_eq(seen.distinct, 4);
	file_end();
}

TEST(flush_does_not_cover_a_later_store)
{
	file_begin();
	pm_store64(line(0), 1);
	pm_flush_line(&pm, line(0));
	pm_store64(line(0), 2);
	pm_fence(&pm);
	struct seen seen = seen_at_end(true);
	ck_assert_uint_eq(seen.distinct, 2);
	ck_assert_uint_eq(seen.times[0], 0);
	file_end();
}

TEST(copy_may_be_torn_into_its_words)
{
	file_begin();
	pm_copy(words, (uint64_t[]){1, 1, 1}, 24);
	bool is_torn = false;
	struct seen seen = seen_at_end(false);
	for (int sum = 0; sum < 112; sum++)
		is_torn = is_torn || (sum != 0 && sum != 111 && seen.times[sum] > 0);
	ck_assert(is_torn);
	file_end();
}

TEST(word_is_never_torn)
{
	file_begin();
	pm_copy(words, (uint8_t[]){1, 0, 0, 0, 0, 0, 0, 0}, 8);
	pm_store16((uint16_t *)(void *)&words[1], 1);
	struct seen seen = seen_at_end(false);
	ck_assert_uint_eq(seen.distinct, 3);
	file_end();
}

TEST(each_of_many_lines_is_sampled_missing_and_alone)
{
	file_begin();
	for (int i = 0; i < 16; i++)
		pm_store64(line(i), 1);
	struct seen seen = seen_at_end(true);
	ck_assert_uint_ge(seen.distinct, 12); /* of 32 combinations of five lines */
	ck_assert_uint_gt(seen.times[11111 - 100], 0);
	ck_assert_uint_gt(seen.times[100], 0);
	file_end();
}

static void *
fence_elsewhere(void *unused)
{
	pm_fence(&pm);
	return unused;
}

TEST(fence_of_another_thread_has_no_effect)
{
	pthread_t thread;

	file_begin();
	pm_store64(line(0), 1);
	pm_flush_line(&pm, line(0));
	ck_assert_int_eq(pthread_create(&thread, NULL, fence_elsewhere, NULL), 0);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(seen_at_end(true).distinct, 2);
	file_end();
}

TEST(store_without_pm_h_is_detected)
{
	file_begin();
	words[0] = 1;
	pm_flush_line(&pm, words);
	ck_assert_uint_eq(record.unseen, 1);
	uint64_t elsewhere = 0;
	pm_store64(&elsewhere, 1);
	ck_assert_uint_eq(record.strays, 1);
	record_end();
	file_end();
}

TEST(image_keeps_no_state_of_the_previous_one)
{
	struct replay replay;
	struct crash crash = {0};
	struct image image = {0};

	file_begin();
	pm_store64(line(0), 1);
	record_end();
	replay_begin(&replay, &record);
	replay_next(&replay);
	crash_choose(&replay, &crash, 1, 1);
	ck_assert(image_write(&image, &replay, &crash));
	ck_assert_uint_eq(words[0], 1);
	words[FILE_WORDS - 1] = 5;
	file_put("b.pmem", "a part that was added", 22);
	crash_choose(&replay, &crash, 0, 1);
	ck_assert(image_write(&image, &replay, &crash));
	ck_assert_uint_eq(words[0], 0);
	ck_assert_uint_eq(words[FILE_WORDS - 1], 0);
	ck_assert_int_eq(entries_of("."), 1);
	image_end(&image);
	crash_free(&crash);
	replay_end(&replay);
	file_end();
}

/* --- programs on pools of libpmemobj --- */

enum { APPENDS = 8, RECORD_WORDS = 3 };

/* A log of records. Each contains the same number three times, and some cross lines. */
struct log {
	uint64_t count;
	uint64_t pad[WORDS_A_LINE - 1];
	uint64_t records[APPENDS][RECORD_WORDS];
};

enum defect { NO_DEFECT, NO_FLUSH, NO_FENCE, NO_LAST_FENCE, ONE_LINE_OF_TWO, FLUSH_TOO_EARLY };

static void
append(struct log *log, uint64_t i, enum defect defect)
{
	if (defect == FLUSH_TOO_EARLY)
		pm_flush(&pm, log->records[i], 24);
	pm_copy(log->records[i], (uint64_t[]){i + 1, i + 1, i + 1}, 24);
	if (defect == ONE_LINE_OF_TWO)
		pm_flush_line(&pm, log->records[i]);
	else if (defect != NO_FLUSH && defect != FLUSH_TOO_EARLY)
		pm_flush(&pm, log->records[i], 24);
	if (defect != NO_FENCE)
		pm_fence(&pm);
	pm_store64(&log->count, i + 1);
	pm_flush(&pm, &log->count, 8);
	if (defect != NO_LAST_FENCE)
		pm_fence(&pm);
}

static bool
log_is_right(const struct log *log, uint64_t acknowledged)
{
	if (log->count < acknowledged || log->count > acknowledged + 1)
		return false;
	for (uint64_t i = 0; i < log->count; i++)
		for (int j = 0; j < RECORD_WORDS; j++)
			if (log->records[i][j] != i + 1)
				return false;
	return true;
}

/* Open a pool of parts in a directory, which grows automatically. */
static PMEMobjpool *
pool_open(void)
{
	PMEMobjpool *pool = pmemobj_open("set", "test");
	if (pool == NULL)
		return NULL;
	long long growth = PMEMOBJ_MIN_POOL;
	ck_assert_int_eq(pmemobj_ctl_set(pool, "heap.size.granularity", &growth), 0);
	return pool;
}

static PMEMobjpool *
pool_begin(void)
{
	char set[200];

	scratch_enter();
	int size = snprintf(set, sizeof(set), "PMEMPOOLSET\nOPTION SINGLEHDR\n64M %s/parts\n",
		scratch_path);
	file_put("set", set, (size_t)size);
	ck_assert_int_eq(mkdir("parts", 0700), 0);
	PMEMobjpool *pool = pmemobj_create("set", "test", 0, 0600);
	ck_assert_msg(pool != NULL, "%s", pmemobj_errormsg());
	ck_assert(!OID_IS_NULL(pmemobj_root(pool, sizeof(struct log))));
	pmemobj_close(pool);
	ck_assert(record_begin(&record, scratch_path));
	pool = pool_open();
	ck_assert_msg(pool != NULL, "%s", pmemobj_errormsg());
	return pool;
}

/* True: the pool is right. `acknowledged`: the value of the last note. */
typedef bool (*check_fn)(PMEMobjpool *pool, uint64_t acknowledged);

static bool
image_is_right(check_fn check, uint64_t acknowledged)
{
	PMEMobjpool *pool = pool_open();
	if (pool == NULL)
		return false;
	bool is_right = check(pool, acknowledged);
	pmemobj_close(pool);
	return is_right;
}

/* Is any image wrong? Stops at the first one. *images: the number of images tested. */
static bool
has_wrong_image(check_fn check, unsigned *images)
{
	struct replay replay;
	struct crash crash = {0};
	struct image image = {.is_mended = true};
	uint64_t acknowledged = 0;
	bool is_right = true;

	*images = 0;
	ck_assert_uint_eq(record.strays, 0);
	replay_begin(&replay, &record);
	for (const struct event *at; is_right && (at = replay_next(&replay)) != NULL;) {
		if (at->kind == EVENT_NOTE)
			acknowledged = at->what;
		if (at->kind != EVENT_FENCE)
			continue;
		for (uint32_t k = 0; is_right && k < crash_count(&replay); k++) {
			crash_choose(&replay, &crash, k, 7);
			ck_assert(image_write(&image, &replay, &crash));
			is_right = image_is_right(check, acknowledged);
			++*images;
		}
	}
	image_end(&image);
	crash_free(&crash);
	replay_end(&replay);
	record_free(&record);
	scratch_leave();
	return !is_right;
}

static bool
check_log(PMEMobjpool *pool, uint64_t acknowledged)
{
	return log_is_right(
		pmemobj_direct(pmemobj_root(pool, sizeof(struct log))), acknowledged);
}

static bool
has_wrong_append(enum defect defect, unsigned *images)
{
	PMEMobjpool *pool = pool_begin();
	struct log *log = pmemobj_direct(pmemobj_root(pool, sizeof(*log)));

	for (uint64_t i = 0; i < APPENDS; i++) {
		append(log, i, defect);
		record_note(i + 1);
	}
	ck_assert_uint_eq(record.unseen, 0);
	pmemobj_close(pool);
	record_end();
	return has_wrong_image(check_log, images);
}

TEST(correct_program_has_no_wrong_image)
{
	unsigned images;
	ck_assert(!has_wrong_append(NO_DEFECT, &images));
	ck_assert_uint_ge(images, 4 * APPENDS);
}

TEST_EACH(broken_program_has_a_wrong_image, FLUSH_TOO_EARLY)
{
	unsigned images;
	ck_assert(has_wrong_append(NO_FLUSH + (enum defect)_i, &images));
}

/* --- libpmemobj's own operations --- */

enum { OBJECTS = 8 };

/* Check that each allocated object exists and contains 7. */
static bool
check_objects(PMEMobjpool *pool, uint64_t acknowledged)
{
	uint64_t count = 0, most = OBJECTS + 1;
	for (PMEMoid at = POBJ_FIRST_TYPE_NUM(pool, 1); !OID_IS_NULL(at) && count <= most;
		at = POBJ_NEXT_TYPE_NUM(at)) {
		count++;
		if (*(uint64_t *)pmemobj_direct(at) != 7)
			return false;
	}
	PMEMoid more;
	if (pmemobj_alloc(pool, &more, 4000, 2, NULL, NULL) != 0)
		return false;
	return count == acknowledged || count == acknowledged + 1;
}

static int
object_make(PMEMobjpool *pool, void *at, void *unused)
{
	*(uint64_t *)at = 7;
	pmemobj_persist(pool, at, sizeof(uint64_t));
	return 0;
}

TEST(allocation_of_libpmemobj_survives_every_image)
{
	PMEMobjpool *pool = pool_begin();
	unsigned images;

	for (uint64_t i = 0; i < OBJECTS; i++) {
		PMEMoid oid;
		size_t size = i % 4 == 3 ? 3 << 20 : 3000; /* chunks, or from runs */
		ck_assert_msg(pmemobj_alloc(pool, &oid, size, 1, object_make, NULL) == 0, "%s",
			pmemobj_errormsg());
		record_note(i + 1);
	}
	pmemobj_close(pool);
	record_end();
	ck_assert_uint_gt(record.parts_count, record.first_parts); /* the pool has grown */
	ck_assert(!has_wrong_image(check_objects, &images));
	ck_assert_uint_gt(images, 10 * OBJECTS);
}

/* Two numbers that transactions keep equal. */
static bool
check_pair(PMEMobjpool *pool, uint64_t acknowledged)
{
	const struct log *log = pmemobj_direct(pmemobj_root(pool, sizeof(*log)));
	return log->count == log->records[APPENDS - 1][0] &&
		(log->count == acknowledged || log->count == acknowledged + 1);
}

static bool
has_wrong_pair(bool is_snapshot_whole)
{
	PMEMobjpool *pool = pool_begin();
	struct log *log = pmemobj_direct(pmemobj_root(pool, sizeof(*log)));
	uint64_t *other = &log->records[APPENDS - 1][0];
	unsigned images;

	for (uint64_t i = 0; i < 4; i++) {
		TX_BEGIN(pool)
		{
			pmemobj_tx_add_range_direct(&log->count, sizeof(log->count));
			if (is_snapshot_whole)
				pmemobj_tx_add_range_direct(other, sizeof(*other));
			log->count = i + 1;
			*other = i + 1;
			if (!is_snapshot_whole)
				pmemobj_persist(pool, other, sizeof(*other));
		}
		TX_END
		record_note(i + 1);
	}
	pmemobj_close(pool);
	record_end();
	return has_wrong_image(check_pair, &images);
}

TEST(transaction_of_libpmemobj_survives_every_image)
{
	ck_assert(!has_wrong_pair(true));
}

TEST(transaction_without_a_snapshot_does_not_survive)
{
	ck_assert(has_wrong_pair(false));
}
