/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tree under many sessions at once. Leaves and inner nodes are as small as they can be, so
 * few keys split and merge them all the time. Most tests run once for each format. No test
 * depends on a time: a thread performs a number of operations, or continues until others
 * have finished theirs.
 */
#include "contest.h"
#include "fptree_rig.h"

#include <sched.h>
enum { KEY_MAX = 40, VALUE_MAX = 3000, SIZES = 4 };

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

/*
 * Make key number `i`; keys have the order of their numbers. In longer keys, three neighbours
 * share the first eight bytes.
 */
static struct nb_slice
key_of_number(uint8_t *room, const struct format *format, uint64_t i)
{
	uint64_t word = format->key == 8 ? i + 1 : i / 3 + 1;

	memset(room, 'k', format->key);
	for (unsigned at = 0; at < 8; at++)
		room[at] = (uint8_t)(word >> (56 - 8 * at));
	if (format->key > 8)
		room[format->key - 1] = (uint8_t)(i % 3);
	return slice_of(room, format->key);
}

static uint64_t
number_of_key(const struct format *format, struct nb_slice key)
{
	const uint8_t *bytes = key.data;
	uint64_t word = 0;

	ck_assert_uint_eq(key.size, format->key);
	for (unsigned at = 0; at < 8; at++)
		word = word << 8 | bytes[at];
	return format->key == 8 ? word - 1 : (word - 1) * 3 + bytes[format->key - 1];
}

static struct nb_slice
value_of_mark(uint8_t *room, const struct format *format, uint64_t *random, uint64_t mark)
{
	size_t size = format->values[rig_random(random, SIZES)];

	rig_fill(room, size, mark);
	return slice_of(room, size);
}

/* --- linearizability --- */

static void *
open_session(void *to, unsigned id)
{
	return rig_session(to, id);
}

static void
close_session(void *session)
{
	rig_end_session(session);
}

CONTEST_VERBS(tree)

static struct nb_slice
contest_key(uint8_t *room, const void *format, uint64_t number)
{
	return key_of_number(room, format, number);
}

static void
contest_check(void *to, int64_t records)
{
	rig_check(to, records);
}

TEST_EACH(every_history_of_a_key_is_linearizable, FORMATS)
{
	const struct format *format = &formats[_i];
	struct rig rig = open_format(format, 0);
	struct contest_subject subject = {format->name, open_session, close_session,
		CONTEST_VERB_NAMES, contest_key, format, {0}, contest_check, &rig};
	struct tree_stats stats;

	memcpy(subject.values, format->values, sizeof(subject.values));
	contest_run(&subject, 10, (uint64_t)_i);
	tree_stats(rig.tree, &stats);
	ck_assert_uint_gt(stats.splits, 10);
	ck_assert_uint_gt(stats.merges, 10);
	rig_close(&rig);
}

/* --- additions --- */

enum { ADD_KEYS = 5, ADD_THREADS = 8, ADDITIONS = 800 };

struct adding {
	struct rig rig;
	const struct format *format;
	uint64_t sums[ADD_KEYS]; /* atomic */
};

/*
 * Adds to the keys. Other records between these keys come and go, which splits and merges the
 * leaves.
 */
static void
add_to_all(void *to, unsigned id)
{
	struct adding *adding = to;
	struct nb_session *session = rig_session(&adding->rig, id);
	uint64_t random = rig_seed(id);
	uint8_t key[KEY_MAX], value[VALUE_MAX];

	for (unsigned i = 0; i < ADDITIONS; i++) {
		unsigned which = (unsigned)rig_random(&random, ADD_KEYS);
		uint64_t operand = rig_random(&random, 1ull << 62);
		uint64_t beside = which * 100 + 1 + id;
		int rc = tree_add(session, key_of_number(key, adding->format, which * 100),
			NB_MERGE_ADD_U64, operand);

		ck_assert_msg(rc == NB_OK, "%s", host_failure);
		__atomic_add_fetch(&adding->sums[which], operand, __ATOMIC_RELAXED);
		key_of_number(key, adding->format, beside);
		rc = i % 2 == 0 ? tree_put(session, slice_of(key, adding->format->key),
					  value_of_mark(value, adding->format, &random, i + 1))
				: tree_del(session, slice_of(key, adding->format->key));
		ck_assert_int_ge(rc, 0);
	}
	rig_end_session(session);
}

static void
sums_are_there(struct adding *adding)
{
	struct nb_session *session = rig_session(&adding->rig, 0);
	uint8_t key[KEY_MAX];
	struct nb_slice value;

	for (unsigned which = 0; which < ADD_KEYS; which++) {
		ck_assert_int_eq(
			tree_get(session, key_of_number(key, adding->format, which * 100),
				&value),
			NB_OK);
		ck_assert_uint_eq(value.size, sizeof(uint64_t));
		ck_assert_mem_eq(value.data, &adding->sums[which], value.size);
		tree_release(session);
	}
	rig_end_session(session);
}

TEST_EACH(no_addition_of_many_sessions_is_lost, FORMATS)
{
	static struct adding adding;

	adding.format = &formats[_i];
	adding.rig = open_format(adding.format, 0);
	rig_run(ADD_THREADS, add_to_all, &adding);
	sums_are_there(&adding);
	rig_reopen(&adding.rig);
	sums_are_there(&adding);
	rig_check(&adding.rig, -1);
	rig_close(&adding.rig);
}

/* --- scans --- */

/* The even keys of 0..SCAN_KEYS - 1 exist throughout. */
enum { SCAN_KEYS = 160, SCANS = 60, SCANNERS = 2, SCAN_THREADS = 5 };

struct scanning {
	struct rig rig;
	const struct format *format;
	unsigned scanners; /* that still run; atomic */
};

/* A mark contains the key's number and a random part. */
static uint64_t
mark_for(uint64_t number, uint64_t *random)
{
	return (number + 1) << 32 | rig_random(random, 1u << 31);
}

static void
put_marked(struct nb_session *session, const struct format *format, uint64_t number,
	uint64_t *random)
{
	uint8_t key[KEY_MAX], value[VALUE_MAX];
	int rc = tree_put(session, key_of_number(key, format, number),
		value_of_mark(value, format, random, mark_for(number, random)));
	ck_assert_msg(rc == NB_OK, "%s", host_failure);
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

static void
is_marked(struct nb_slice value, uint64_t number)
{
	uint64_t mark;
	ck_assert(rig_is_whole(value, &mark));
	ck_assert_uint_eq(mark >> 32, number + 1);
}

/* Scan from `from` to the end, in either direction. */
static void
scan_from(struct scanning *scanning, struct nb_session *session, long from, bool is_backward)
{
	long step = is_backward ? -1 : 1, expected = from + from % 2 * step;
	uint8_t room[KEY_MAX];
	struct nb_scan_args args = {.size = sizeof(args),
		.flags = is_backward ? NB_SCAN_BACKWARD : 0,
		.from = key_of_number(room, scanning->format, (uint64_t)from)};
	struct nb_slice key, value;
	long before = from - step;

	ck_assert_int_eq(tree_scan_open(session, &args), NB_OK);
	while (tree_scan_next(session, &key, &value) == NB_OK) {
		long number = (long)number_of_key(scanning->format, key);

		ck_assert_msg((number - before) * step > 0, "%s: %ld after %ld",
			scanning->format->name, number, before);
		ck_assert_msg((expected - number) * step >= 0, "%s: %ld, but not %ld",
			scanning->format->name, number, expected);
		is_marked(value, (uint64_t)number);
		if (number == expected)
			expected += 2 * step;
		before = number;
	}
	ck_assert_int_eq(expected, is_backward ? -2 : SCAN_KEYS);
	ck_assert_int_eq(tree_scan_close(session), NB_OK);
}

static void
scan_or_write(void *to, unsigned id)
{
	struct scanning *scanning = to;
	struct nb_session *session = rig_session(&scanning->rig, id);
	uint64_t random = rig_seed(id);

	if (id < SCANNERS) {
		for (unsigned i = 0; i < SCANS; i++)
			scan_from(scanning, session, (long)rig_random(&random, SCAN_KEYS),
				rig_random(&random, 2) == 0);
		__atomic_sub_fetch(&scanning->scanners, 1, __ATOMIC_RELAXED);
	}
	while (__atomic_load_n(&scanning->scanners, __ATOMIC_RELAXED) > 0) {
		/* Runs of neighbours fill leaves and empty them. */
		uint64_t first = rig_random(&random, SCAN_KEYS - 16) | 1;
		bool is_delete = rig_random(&random, 2) == 0;

		for (uint64_t number = first; number < first + 16; number += 2) {
			if (is_delete)
				del_number(session, scanning->format, number);
			else
				put_marked(session, scanning->format, number, &random);
			if (rig_random(&random, 4) == 0)
				put_marked(session, scanning->format, number - 1, &random);
		}
	}
	rig_end_session(session);
}

TEST_EACH(scans_return_stable_records_once_and_in_order, FORMATS)
{
	static struct scanning scanning;
	uint64_t random = rig_seed((uint64_t)_i);

	scanning.format = &formats[_i];
	scanning.rig = open_format(scanning.format, 0);
	scanning.scanners = SCANNERS;
	struct nb_session *session = rig_session(&scanning.rig, 0);
	for (uint64_t number = 0; number < SCAN_KEYS; number += 2)
		put_marked(session, scanning.format, number, &random);
	rig_end_session(session);
	rig_run(SCAN_THREADS, scan_or_write, &scanning);
	rig_check(&scanning.rig, -1);
	rig_close(&scanning.rig);
}

/* --- writers --- */

enum { WRITERS = 6, WRITES = 1500, WRITER_KEYS = 240 };

struct writing {
	struct rig rig;
	const struct format *format;
	uint64_t marks[WRITER_KEYS]; /* 0: no record. Only the key's writer changes it */
	size_t sizes[WRITER_KEYS];
};

static void
own_is_known(struct writing *writing, struct nb_session *session, uint64_t number)
{
	uint8_t key[KEY_MAX];
	struct nb_slice value;
	uint64_t mark;
	int rc = tree_get(session, key_of_number(key, writing->format, number), &value);

	ck_assert_int_eq(rc, writing->marks[number] != 0 ? NB_OK : NB_NOT_FOUND);
	if (rc != NB_OK)
		return;
	ck_assert_uint_eq(value.size, writing->sizes[number]);
	ck_assert(rig_is_whole(value, &mark));
	ck_assert_uint_eq(mark, writing->marks[number]);
	tree_release(session);
}

/* Each thread writes and reads only its own keys, so it sees exactly its own writes. */
static void
write_own(void *to, unsigned id)
{
	struct writing *writing = to;
	struct nb_session *session = rig_session(&writing->rig, id);
	uint64_t random = rig_seed(id);
	uint8_t key[KEY_MAX], room[VALUE_MAX];

	for (unsigned i = 0; i < WRITES; i++) {
		uint64_t number = rig_random(&random, WRITER_KEYS / WRITERS) * WRITERS + id;
		uint64_t mark = mark_for(number, &random) | 1;
		struct nb_slice value = value_of_mark(room, writing->format, &random, mark);
		bool was_there = writing->marks[number] != 0;
		bool is_growing = i / 250 % 2 == 0;

		own_is_known(writing, session, number);
		if (rig_random(&random, 4) < (is_growing ? 1 : 3)) {
			ck_assert_int_eq(del_number(session, writing->format, number),
				was_there ? NB_OK : NB_NOT_FOUND);
			writing->marks[number] = 0;
			continue;
		}
		ck_assert_int_eq(
			tree_put(session, key_of_number(key, writing->format, number), value),
			NB_OK);
		writing->marks[number] = mark;
		writing->sizes[number] = value.size;
	}
	rig_end_session(session);
}

/* The number of records equals the writers' answers, also after the tree is rebuilt. */
TEST_EACH(writers_of_separate_keys_do_not_interfere, FORMATS)
{
	static struct writing writing;
	int64_t records = 0;

	writing.format = &formats[_i];
	writing.rig = open_format(writing.format, 0);
	rig_run(WRITERS, write_own, &writing);
	for (uint64_t number = 0; number < WRITER_KEYS; number++)
		records += writing.marks[number] != 0;
	rig_check(&writing.rig, records);
	rig_reopen(&writing.rig);
	rig_check(&writing.rig, records);
	struct nb_session *session = rig_session(&writing.rig, 0);
	for (uint64_t number = 0; number < WRITER_KEYS; number++)
		own_is_known(&writing, session, number);
	rig_end_session(session);
	rig_close(&writing.rig);
}

/* All threads insert at the same place: the end or the beginning. */
static void
insert_in_order(void *to, unsigned id)
{
	struct writing *writing = to;
	struct nb_session *session = rig_session(&writing->rig, id);
	uint64_t random = rig_seed(id);
	uint8_t key[KEY_MAX], value[VALUE_MAX];
	struct nb_slice found;

	for (uint64_t i = 0; i < WRITES; i++) {
		uint64_t number = 2 * i + id % 2;

		if (id >= 2) /* descending */
			number = 8 * WRITES - number;
		struct nb_slice slice = key_of_number(key, writing->format, number);
		ck_assert_int_eq(tree_insert(session, slice,
					 value_of_mark(value, writing->format, &random,
						 mark_for(number, &random))),
			NB_OK);
		/* The next split moves this record. */
		ck_assert_int_eq(tree_get(session, slice, &found), NB_OK);
		tree_release(session);
	}
	rig_end_session(session);
}

TEST_EACH(no_ordered_insert_at_one_place_is_lost, FORMATS)
{
	static struct writing writing;

	writing.format = &formats[_i];
	writing.rig = open_format(writing.format, 0);
	rig_run(4, insert_in_order, &writing);
	rig_check(&writing.rig, 4 * WRITES);
	rig_close(&writing.rig);
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

/* --- sessions and loans --- */

enum { VISITORS = 3, VISITS = 12, HOST_KEYS = 40 };

struct visiting {
	struct rig rig;
	const struct format *format;
	unsigned visitors; /* that still run; atomic */
};

static void
visit(struct visiting *visiting, unsigned id, uint64_t *random)
{
	struct nb_session *session = rig_session(&visiting->rig, id);
	uint8_t key[KEY_MAX], first[VALUE_MAX];
	struct nb_slice value;

	for (unsigned i = 0; i < 8; i++) {
		uint64_t number = rig_random(random, HOST_KEYS);
		struct nb_slice slice = key_of_number(key, visiting->format, number);

		if (rig_random(random, 4) == 0)
			del_number(session, visiting->format, number);
		if (tree_get(session, slice, &value) != NB_OK)
			continue;
		memcpy(first, value.data, value.size);
		for (unsigned j = 0; j < 2; j++) {
			sched_yield();
			ck_assert(memcmp(first, value.data, value.size) == 0);
		}
		is_marked(value, number);
		tree_release(session);
	}
	rig_end_session(session);
}

static void
visit_or_write(void *to, unsigned id)
{
	struct visiting *visiting = to;
	uint64_t random = rig_seed(id);

	if (id < VISITORS) {
		for (unsigned i = 0; i < VISITS; i++)
			visit(visiting, id, &random);
		__atomic_sub_fetch(&visiting->visitors, 1, __ATOMIC_RELAXED);
		return;
	}
	struct nb_session *session = rig_session(&visiting->rig, id);
	while (__atomic_load_n(&visiting->visitors, __ATOMIC_RELAXED) > 0) {
		put_marked(session, visiting->format, rig_random(&random, HOST_KEYS), &random);
		del_number(session, visiting->format, rig_random(&random, HOST_KEYS));
	}
	rig_end_session(session);
}

TEST_EACH(lent_values_stay_while_sessions_open_and_close, FORMATS)
{
	static struct visiting visiting;

	visiting.format = &formats[_i];
	visiting.rig = open_format(visiting.format, 0);
	visiting.visitors = VISITORS;
	rig_run(VISITORS + 2, visit_or_write, &visiting);
	rig_check(&visiting.rig, -1);
	rig_close(&visiting.rig);
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
	uint64_t random = rig_seed(id);

	if (id < COUNTER_WRITERS) {
		struct nb_session *session = rig_session(&counting->rig, id);
		for (unsigned i = 0; i < COUNTER_ROUNDS * COUNTER_KEYS; i++) {
			uint64_t number = i % COUNTER_KEYS * COUNTER_WRITERS + id;
			if (i / COUNTER_KEYS % 2 == 0)
				put_marked(session, &formats[0], number, &random);
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
		ck_assert_uint_ge(stats.inserts, before.inserts);
		ck_assert_uint_ge(stats.deletes, before.deletes);
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
	ck_assert_uint_eq(stats.inserts, writes);
	ck_assert_uint_eq(stats.deletes, writes);
	ck_assert_uint_eq(stats.records, 0);
	ck_assert_uint_ge(stats.lines, 2 * writes);
	ck_assert_uint_ge(stats.fences, 2 * writes);
	rig_check(&counting.rig, 0);
	rig_close(&counting.rig);
}
