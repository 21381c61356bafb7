/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tree under many sessions at once. Leaves and inner nodes are as small as they can be, so
 * few keys split and merge them all the time. Most tests run once for each format.
 */
#include "crowd.h"
#include "fptree_rig.h"

enum { KEY_MAX = 40, SIZES = CONTEST_SIZES };

/* --- formats --- */

struct format {
	const char *name;
	uint64_t key_size, value_size; /* announced */
	size_t key;                    /* size of keys in bytes */
	size_t values[SIZES];          /* possible sizes of values in bytes */
};

static const struct format formats[] = {
	{"words", 8, 8, 8, {8, 8, 8, 8}},
	{"words-or-blobs", 8, 8, 8, {8, 8, 100, 1000}},
	{"blobs", 0, 0, 12, {8, 40, 3000, 20}},
	{"in-place", 16, 8, 16, {8, 8, 8, 8}},
	{"cells", 16, 100, 16, {100, 40, 8, 100}},
	{"cells-or-blobs", 16, 100, 16, {100, 300, 8, 100}},
	{"long-cells", 40, 400, 40, {400, 100, 8, 2000}},
};

enum { FORMATS = UNIT_COUNT(formats) };

/*
 * Make key number `i`; keys have the order of their numbers. In longer keys, three neighbours
 * share the first eight bytes.
 */
static struct nb_slice
key_of_number(uint8_t *room, const void *to, uint64_t i)
{
	const struct format *format = to;
	uint64_t word = format->key == 8 ? i + 1 : i / 3 + 1;

	memset(room, 'k', format->key);
	for (unsigned at = 0; at < 8; at++)
		room[at] = (uint8_t)(word >> (56 - 8 * at));
	if (format->key > 8)
		room[format->key - 1] = (uint8_t)(i % 3);
	return slice_of(room, format->key);
}

static uint64_t
number_of_key(struct nb_slice key, const void *to, uint64_t count)
{
	const struct format *format = to;
	const uint8_t *bytes = key.data;
	uint64_t word = 0;

	ck_assert_uint_eq(key.size, format->key);
	for (unsigned at = 0; at < 8; at++)
		word = word << 8 | bytes[at];
	return format->key == 8 ? word - 1 : (word - 1) * 3 + bytes[format->key - 1];
}

static struct rig
open_format(const struct format *format, uint64_t pool_bytes)
{
	struct rig rig = {.args = {.key_size = format->key_size,
				  .value_size = format->value_size,
				  .leaf_slots = 4,
				  .fanout = 4},
		.pool_bytes = pool_bytes};

	rig_open(&rig);
	rig.tree->verbs = &tree_verbs_plain;
	rig_lets_meet = true;
	return rig;
}

static void
check_tree(void *to, int64_t records)
{
	rig_check(to, records);
}

static struct nb_db *
reopen_tree(void *to)
{
	struct rig *rig = to;

	rig_reopen(rig);
	rig->tree->verbs = &tree_verbs_plain;
	return rig->tree;
}

static const struct nb_engine verbs = {.session_open = tree_session_open,
	.session_close = tree_session_close,
	.get = tree_get,
	.multi_get = tree_multi_get,
	.release = tree_release,
	.put = tree_put,
	.insert = tree_insert,
	.del = tree_del,
	.merge = tree_add,
	.scan_open = tree_scan_open,
	.scan_next = tree_scan_next,
	.scan_close = tree_scan_close};

/* Open the format in the rig, which must outlive the subject. */
static struct contest_subject
subject_of(struct rig *rig, const struct format *format)
{
	*rig = open_format(format, 0);
	struct contest_subject subject = {.name = format->name,
		.verbs = &verbs,
		.db = rig->tree,
		.key = key_of_number,
		.format = format,
		.check = check_tree,
		.to = rig,
		.number = number_of_key,
		.reopen = reopen_tree};

	memcpy(subject.values, format->values, sizeof(subject.values));
	return subject;
}

TEST_EACH(every_history_of_a_key_is_linearizable, FORMATS)
{
	struct rig rig;
	struct contest_subject subject = subject_of(&rig, &formats[_i]);
	struct tree_stats stats;

	contest_run(&subject, 10, (uint64_t)_i);
	tree_stats(rig.tree, &stats);
	ck_assert_uint_gt(stats.counts.splits, 10);
	ck_assert_uint_gt(stats.counts.merges, 10);
	rig_close(&rig);
}

TEST_EACH(no_addition_of_many_sessions_is_lost, FORMATS)
{
	struct rig rig;
	struct contest_subject subject = subject_of(&rig, &formats[_i]);

	crowd_add(&subject);
	rig_close(&rig);
}

TEST_EACH(scans_return_stable_records_once_and_in_order, FORMATS)
{
	struct rig rig;
	struct contest_subject subject = subject_of(&rig, &formats[_i]);

	crowd_scan(&subject);
	rig_close(&rig);
}

TEST_EACH(writers_of_separate_keys_do_not_interfere, FORMATS)
{
	struct rig rig;
	struct contest_subject subject = subject_of(&rig, &formats[_i]);

	crowd_write(&subject);
	rig_close(&rig);
}

TEST_EACH(no_ordered_insert_at_one_place_is_lost, FORMATS)
{
	struct rig rig;
	struct contest_subject subject = subject_of(&rig, &formats[_i]);

	crowd_insert_in_order(&subject);
	rig_close(&rig);
}

TEST_EACH(lent_values_stay_while_sessions_open_and_close, FORMATS)
{
	struct rig rig;
	struct contest_subject subject = subject_of(&rig, &formats[_i]);

	crowd_visit(&subject);
	rig_close(&rig);
}

/* Returns NB_OK or NB_NOT_FOUND. */
static int
del_number(struct nb_session *session, const struct format *format, uint64_t number)
{
	uint8_t key[KEY_MAX];
	int rc = tree_del(session, key_of_number(key, format, number));
	ck_assert_int_ge(rc, 0);
	return rc;
}

/* --- a full pool --- */

enum { FILLERS = 4, FILLER_KEYS = 3000, FILLS = 5000, FILLER_VALUE = 2500 };

struct filling {
	struct rig rig;
	bool is_there[FILLERS * FILLER_KEYS];
	unsigned refusals; /* atomic */
};

/* Each thread puts records until the pool is full, then deletes some. */
static void
fill_and_delete(void *to, unsigned id)
{
	struct filling *filling = to;
	struct nb_session *session = rig_session(&filling->rig, id);
	uint64_t random = rig_seed(id), deletes = 0;
	uint8_t key[KEY_MAX], value[FILLER_VALUE];

	for (unsigned i = 0; i < FILLS; i++) {
		uint64_t number = rig_random(&random, FILLER_KEYS) * FILLERS + id;
		bool *is_there = &filling->is_there[number];

		if (deletes > 0) {
			int rc = del_number(session, &formats[0], number);
			ck_assert_int_eq(rc, *is_there ? NB_OK : NB_NOT_FOUND);
			*is_there = false;
			deletes--;
			continue;
		}
		rig_fill(value, sizeof(value), number + 1);
		int rc = tree_put(session, key_of_number(key, &formats[0], number),
			slice_of(value, sizeof(value)));
		if (rc == NB_OK) {
			*is_there = true;
			continue;
		}
		ck_assert_msg(strstr(host_failure, "pool_size") != NULL, "%s", host_failure);
		__atomic_add_fetch(&filling->refusals, 1, __ATOMIC_RELAXED);
		deletes = 1 + rig_random(&random, 300);
	}
	rig_end_session(session);
}

TEST(full_pool_keeps_all_acknowledged_records_of_many_sessions)
{
	static struct filling filling;
	int64_t records = 0;
	struct nb_slice value;
	uint8_t key[KEY_MAX];
	uint64_t mark;

	filling.rig = open_format(&formats[0], POOL_SIZE_MIN);
	rig_run(FILLERS, fill_and_delete, &filling);
	ck_assert_uint_gt(filling.refusals, 10);
	struct nb_session *session = rig_session(&filling.rig, 0);
	for (uint64_t number = 0; number < FILLERS * FILLER_KEYS; number++) {
		int rc = tree_get(session, key_of_number(key, &formats[0], number), &value);
		ck_assert_int_eq(rc, filling.is_there[number] ? NB_OK : NB_NOT_FOUND);
		if (rc != NB_OK)
			continue;
		ck_assert_uint_eq(value.size, FILLER_VALUE);
		ck_assert(rig_is_whole(value, &mark));
		ck_assert_uint_eq(mark, number + 1);
		tree_release(session);
		records++;
	}
	rig_end_session(session);
	rig_check(&filling.rig, records);
	rig_reopen(&filling.rig);
	rig_check(&filling.rig, records);
	rig_close(&filling.rig);
}

/* --- counters --- */

enum { COUNTER_KEYS = 400, COUNTER_ROUNDS = 12, COUNTER_WRITERS = 2 };

struct counting {
	struct rig rig;
	unsigned writers; /* that still run; atomic */
};

/* The root changes during this. */
static void
count_or_write(void *to, unsigned id)
{
	struct counting *counting = to;
	struct tree_stats stats = {0}, before = {0};

	if (id < COUNTER_WRITERS) {
		struct nb_session *session = rig_session(&counting->rig, id);
		uint8_t key[KEY_MAX];
		for (uint64_t i = 0; i < COUNTER_ROUNDS * COUNTER_KEYS; i++) {
			uint64_t number = i % COUNTER_KEYS * COUNTER_WRITERS + id;
			if (i / COUNTER_KEYS % 2 == 0)
				ck_assert_int_eq(
					tree_put(session,
						key_of_number(key, &formats[0], number),
						slice_of(&i, sizeof(i))),
					NB_OK);
			else
				del_number(session, &formats[0], number);
		}
		rig_end_session(session);
		__atomic_sub_fetch(&counting->writers, 1, __ATOMIC_RELAXED);
		return;
	}
	while (__atomic_load_n(&counting->writers, __ATOMIC_RELAXED) > 0) {
		tree_stats(counting->rig.tree, &stats);
		ck_assert_uint_ge(stats.height, 2);
		ck_assert_uint_le(stats.height, 12);
		ck_assert_uint_ge(stats.counts.inserts, before.counts.inserts);
		ck_assert_uint_ge(stats.counts.deletes, before.counts.deletes);
		ck_assert_uint_ge(stats.lines, before.lines);
		ck_assert_uint_ge(stats.fences, before.fences);
		before = stats;
	}
}

TEST(counters_can_be_read_at_any_time_and_end_exact)
{
	static struct counting counting;
	const uint64_t writes = COUNTER_WRITERS * COUNTER_ROUNDS / 2 * COUNTER_KEYS;
	struct tree_stats stats;

	counting.rig = open_format(&formats[0], 0);
	counting.writers = COUNTER_WRITERS;
	rig_run(COUNTER_WRITERS + 1, count_or_write, &counting);
	tree_stats(counting.rig.tree, &stats);
	ck_assert_uint_eq(stats.counts.inserts, writes);
	ck_assert_uint_eq(stats.counts.deletes, writes);
	ck_assert_uint_eq(stats.records, 0);
	ck_assert_uint_ge(stats.lines, 2 * writes);
	ck_assert_uint_ge(stats.fences, 2 * writes);
	rig_check(&counting.rig, 0);
	rig_close(&counting.rig);
}
