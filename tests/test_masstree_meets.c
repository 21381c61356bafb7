/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The effects that two sessions can have on each other, without threads and without chance. One
 * session stops at a point where it could meet another, and the other performs a whole
 * operation there.
 *
 * A reader that meets a change waits for its end, and so does a writer whose leaf is locked.
 * Here that end cannot come, so the test abandons an operation that waits. At that point it
 * holds no lock, and can be repeated.
 */
#include "masstree_rig.h"

#include <semaphore.h>
#include <setjmp.h>

/* Records whose number is a multiple of STABLE exist during the whole test. */
enum {
	STABLE = 6,
	KEYS = 72,
	STEPS_MAX = 20000,
	WAITS_MAX = 10,
	FORMATS = 7 + (LEAF_SLOTS_MAX >= 10)
};

static const struct rig_format *format;
static struct nb_db *tree;
static struct nb_session *outer, *inner;

static struct {
	void (*visit)(void); /* called for the inner session when the outer one stops */
	unsigned first, step;
	bool is_inside;
	unsigned steps, inner_steps, outer_waits;
	jmp_buf abandoned;
} stop;

static void
at_meet(void)
{
	if (stop.is_inside) {
		ck_assert_msg(
			++stop.inner_steps < STEPS_MAX, "the operation neither ends nor waits");
		return;
	}
	unsigned now = stop.steps++;
	if (stop.visit == NULL || now < stop.first || (now - stop.first) % stop.step != 0)
		return;
	stop.is_inside = true;
	stop.visit();
	stop.is_inside = false;
}

static void
at_wait(void)
{
	if (stop.is_inside)
		longjmp(stop.abandoned, 1);
	ck_assert_msg(++stop.outer_waits < WAITS_MAX, "the operation waits without a reason");
}

/* Stop at step `first` of the next operation, and at each `step` steps from there on. */
static void
stop_at(void (*visit)(void), unsigned first, unsigned step)
{
	stop.visit = visit;
	stop.first = first;
	stop.step = step;
	stop.steps = stop.outer_waits = 0;
}

/* Perform an operation of the inner session. False: it would have to wait. */
static bool
performs(void (*operation)(uint64_t), uint64_t number)
{
	stop.inner_steps = 0;
	if (setjmp(stop.abandoned) != 0) {
		mt_release(inner);
		return false;
	}
	operation(number);
	return true;
}

/* --- records --- */

static uint64_t random_state, marks[KEYS]; /* 0: the record does not exist */

static void
put_number(struct nb_session *session, uint64_t number)
{
	uint8_t room[RIG_KEY_MAX], value[RIG_VALUE_MAX];
	uint64_t mark = (number + 1) << 32 | rig_random(&random_state, 1u << 31);

	ck_assert_int_eq(mt_put(session, format->key(room, number),
				 rig_value(value, format, &random_state, mark)),
		NB_OK);
	marks[number] = mark;
}

static void
del_number(struct nb_session *session, uint64_t number)
{
	uint8_t room[RIG_KEY_MAX];
	int rc = mt_del(session, format->key(room, number));

	ck_assert_int_eq(rc, marks[number] != 0 ? NB_OK : NB_NOT_FOUND);
	marks[number] = 0;
}

static void
is_of(struct nb_slice value, uint64_t number)
{
	uint64_t mark;

	ck_assert(rig_is_whole(value, &mark));
	ck_assert_uint_eq(mark >> 32, number + 1);
}

static void
has_stable(struct nb_session *session, uint64_t number)
{
	uint8_t room[RIG_KEY_MAX];
	struct nb_slice value;

	ck_assert_msg(mt_get(session, format->key(room, number), &value) == NB_OK,
		"%s: %d is not found", format->name, (int)number);
	is_of(value, number);
	mt_release(session);
}

/* Check that a scan returns every stable record once, and all records in order. */
static void
scan_all(struct nb_session *session, bool is_backward)
{
	struct nb_scan_args args = {
		.size = sizeof(args), .flags = is_backward ? NB_SCAN_BACKWARD : 0};
	long step = is_backward ? -1 : 1, before = is_backward ? KEYS : -1, stable = 0;
	struct nb_slice key, value;

	ck_assert_int_eq(mt_scan_open(session, &args), NB_OK);
	while (mt_scan_next(session, &key, &value) == NB_OK) {
		long number = (long)rig_number(format, key, KEYS);

		ck_assert_msg((number - before) * step > 0, "%s: %ld after %ld", format->name,
			number, before);
		is_of(value, (uint64_t)number);
		stable += number % STABLE == 0;
		before = number;
	}
	ck_assert_int_eq(stable, KEYS / STABLE);
	ck_assert_int_eq(mt_scan_close(session), NB_OK);
}

static void
begin(int i)
{
	format = rig_format(i);
	random_state = rig_seed((uint64_t)i);
	tree = rig_open(format);
	outer = rig_session(tree, 0);
	inner = rig_session(tree, 1);
	memset(marks, 0, sizeof(marks));
	for (uint64_t number = 0; number < KEYS; number += STABLE)
		put_number(outer, number);
	stop.visit = NULL;
	rig_at_meet = at_meet;
	rig_at_wait = at_wait;
}

static void
end(void)
{
	int64_t records = 0;

	rig_at_meet = rig_at_wait = NULL;
	for (uint64_t number = 0; number < KEYS; number++)
		records += marks[number] != 0;
	rig_check(tree, records);
	mt_session_close(inner);
	mt_session_close(outer);
	mt_close(tree);
}

/* --- reads within writes --- */

static unsigned answered, waited; /* reads */
static uint64_t visited;          /* the outer session's key */

static void
get_inside(uint64_t number)
{
	has_stable(inner, number);
}

static void
scan_inside(uint64_t is_backward)
{
	scan_all(inner, is_backward == 1);
}

/* Get the stable records on both sides of the record that is being written. */
static void
get_neighbours(void)
{
	uint64_t first = visited / STABLE * STABLE;

	for (uint64_t number = first; number < KEYS && number <= first + STABLE;
		number += STABLE)
		if (performs(get_inside, number))
			answered++;
		else
			waited++;
}

static void
scan_both_ways(void)
{
	for (uint64_t is_backward = 0; is_backward < 2; is_backward++)
		if (performs(scan_inside, is_backward))
			answered++;
		else
			waited++;
}

static void
write_and_stop(
	uint64_t number, bool is_delete, void (*visit)(void), unsigned first, unsigned step)
{
	if (number % STABLE == 0)
		return;
	visited = number;
	stop_at(visit, first, step);
	if (is_delete)
		del_number(outer, number);
	else
		put_number(outer, number);
	stop_at(NULL, 0, 1);
}

/* Add, replace and delete all records that are not stable: leaves split and are removed. */
static void
write_with(void (*visit)(void), unsigned rounds, unsigned step)
{
	answered = waited = 0;
	for (unsigned round = 0; round < rounds; round++) {
		uint64_t turn = 1 + rig_random(&random_state, KEYS - 1) * 2;

		while (turn % 3 == 0) /* coprime to KEYS */
			turn += 2;
		for (uint64_t i = 0; i < 3 * (uint64_t)KEYS; i++)
			write_and_stop(i * turn % KEYS, i >= 2 * (uint64_t)KEYS, visit,
				(unsigned)rig_random(&random_state, step), step);
	}
	ck_assert_uint_gt(answered, 100);
	ck_assert_uint_gt(waited, 0);
}

TEST_EACH(gets_find_each_record_at_every_moment_of_a_write, FORMATS)
{
	begin(_i);
	write_with(get_neighbours, 2, 1);
	end();
}

TEST_EACH(scans_find_each_record_at_every_moment_of_a_write, FORMATS)
{
	begin(_i);
	write_with(scan_both_ways, 1, 16);
	end();
}

/* --- writes within reads --- */

/* Add and delete some records. The leaf of the stopped reader may be reused when it continues. */
static void
write_some(void)
{
	for (unsigned i = 0; i < 8; i++) {
		uint64_t number = rig_random(&random_state, KEYS);

		if (number % STABLE == 0)
			put_number(inner, number);
		else if (rig_random(&random_state, 2) == 0)
			del_number(inner, number);
		else
			put_number(inner, number);
		stop.inner_steps = 0;
	}
}

/* Stop a get at step `at`. Returns whether it has so many steps. */
static bool
get_and_stop(uint64_t number, unsigned at)
{
	stop_at(write_some, at, UINT32_MAX);
	has_stable(outer, number);
	stop.visit = NULL;
	return stop.steps > at;
}

static bool
scan_and_stop(bool is_backward, unsigned at)
{
	stop_at(write_some, at, UINT32_MAX);
	scan_all(outer, is_backward);
	stop.visit = NULL;
	return stop.steps > at;
}

TEST_EACH(reads_are_correct_with_any_write_at_any_moment, FORMATS)
{
	begin(_i);
	for (uint64_t number = 0; number < KEYS; number += STABLE)
		for (unsigned at = 0; get_and_stop(number, at); at++)
			;
	for (int is_backward = 0; is_backward < 2; is_backward++)
		for (unsigned at = 0; scan_and_stop(is_backward == 1, at); at += 3)
			;
	end();
}

/* --- writes within writes --- */

static bool is_inner_delete, has_waited;
static uint64_t inner_number;

static void
write_inside(uint64_t number)
{
	if (is_inner_delete)
		del_number(inner, number);
	else
		put_number(inner, number);
}

static void
write_once(void)
{
	has_waited = !performs(write_inside, inner_number);
}

/* Repeat an abandoned write completely. An abandoned delete may have removed the record already. */
static void
write_again(uint64_t number)
{
	if (is_inner_delete)
		put_number(inner, number);
	write_inside(number);
}

TEST_EACH(no_write_is_lost_with_any_write_at_any_moment, FORMATS)
{
	enum { WRITES = 6000 };

	begin(_i);
	for (unsigned i = 0; i < WRITES; i += UNIT_STEP) {
		uint64_t number = rig_random(&random_state, KEYS);
		uint64_t deletes = i / 500 % 2 == 0 ? 1 : 3; /* in 4 */

		inner_number = (number + 1 + rig_random(&random_state, 6)) % KEYS;
		is_inner_delete = rig_random(&random_state, 4) < deletes;
		has_waited = false;
		stop_at(write_once, (unsigned)rig_random(&random_state, 90), UINT32_MAX);
		if (rig_random(&random_state, 4) < deletes)
			del_number(outer, number);
		else
			put_number(outer, number);
		stop.visit = NULL;
		if (has_waited)
			write_again(inner_number);
		if (i % 200 == 0)
			for (number = 0; number < KEYS; number++)
				if (marks[number] != 0)
					has_stable(outer, number);
	}
	end();
}

/* --- writes in order --- */

/* A put after the last key. Returns the number of its steps. */
static unsigned
append(uint64_t number)
{
	uint8_t room[RIG_KEY_MAX];

	stop_at(NULL, 0, 1);
	ck_assert_int_eq(
		mt_put(outer, format->key(room, number), slice_of("12345678", 8)), NB_OK);
	return stop.steps;
}

TEST(a_put_in_order_descends_only_after_a_split_of_the_parent)
{
	enum { PUTS = 500 };
	unsigned most = 0, least = UINT32_MAX; /* steps without a descent, and with one */
	bool had_descent = false;
	struct mt_stats before, after;

	begin(0);
	append(KEYS);
	mt_stats(tree, &before);
	for (uint64_t number = KEYS + 1; number < KEYS + PUTS; number++, before = after) {
		unsigned steps = append(number);

		mt_stats(tree, &after);
		if (after.leaf_splits > before.leaf_splits) {
			had_descent = after.inner_splits > before.inner_splits;
			continue;
		}
		if (had_descent && steps < least)
			least = steps;
		if (!had_descent && steps > most)
			most = steps;
		had_descent = false;
	}
	ck_assert_uint_ne(most, 0);
	ck_assert_uint_lt(most, least);
	stop_at(NULL, 0, 1);
	rig_at_meet = rig_at_wait = NULL;
	rig_check(tree, KEYS / STABLE + PUTS);
	mt_session_close(inner);
	mt_session_close(outer);
	mt_close(tree);
}

/* --- lists --- */

/* For each of two keys that a list writes, the mark of its value; 0: the key does not exist. */
static uint64_t pair_marks[2], pair_seen;
static bool has_new;

static void
mark_of_pair(uint64_t which)
{
	uint8_t room[RIG_KEY_MAX];
	struct nb_slice value;
	int rc = mt_get(inner, format->key(room, which * (KEYS - 1)), &value);

	pair_seen = 0;
	if (rc != NB_OK)
		return;
	ck_assert(rig_is_whole(value, &pair_seen));
	mt_release(inner);
}

/* Check: after a get has seen the new state of one key, no get sees the old state of either. */
static void
look_at_pair(void)
{
	for (uint64_t which = 0; which < 2; which++) {
		if (!performs(mark_of_pair, which)) {
			waited++;
			continue;
		}
		bool is_new = pair_seen != pair_marks[which];
		ck_assert_msg(
			!has_new || is_new, "%s: a part of a list is visible", format->name);
		has_new = has_new || is_new;
		answered++;
	}
}

/* The list reads a middle key. It writes the first and the last key, in different leaves. */
static void
execute_pair(uint32_t verb, uint64_t mark)
{
	uint8_t keys[3][RIG_KEY_MAX], values[2][RIG_VALUE_MAX];
	struct nb_step steps[3];

	for (unsigned i = 0; i < 2; i++)
		steps[i] = (struct nb_step){.key = format->key(keys[i], i * (KEYS - 1)),
			.value = rig_value(values[i], format, &random_state, mark),
			.verb = verb};
	steps[2] = (struct nb_step){.key = format->key(keys[2], KEYS / 2), .verb = NB_STEP_GET};
	ck_assert_int_eq(mt_execute(outer, steps, 3, NB_EXEC_ATOMIC), NB_OK);
	mt_release(outer);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(steps[i].answer, NB_OK);
		pair_marks[i] = verb == NB_STEP_DEL ? 0 : mark;
		marks[i * (KEYS - 1)] = pair_marks[i];
	}
}

TEST_EACH(lists_are_atomic_at_every_moment, FORMATS)
{
	static const uint32_t verbs[] = {NB_STEP_PUT, NB_STEP_DEL, NB_STEP_INSERT, NB_STEP_PUT};

	begin(_i);
	answered = waited = 0;
	del_number(outer, 0);
	for (uint64_t i = 0; i < 5 * UNIT_COUNT(verbs); i++) {
		uint32_t verb = verbs[i % UNIT_COUNT(verbs)];

		has_new = false;
		stop_at(look_at_pair, 0, 1);
		execute_pair(verb, i + 1);
		stop.visit = NULL;
		has_new = false;
		look_at_pair();
		ck_assert_uint_eq(pair_seen, pair_marks[1]);
		for (uint64_t number = 1; number + 1 < KEYS; number++)
			if (number % STABLE != 0 && i % 4 == number % 4)
				put_number(outer, number);
			else if (number % STABLE != 0)
				del_number(outer, number);
	}
	ck_assert_uint_gt(answered, 100);
	ck_assert_uint_gt(waited, 0);
	end();
}

/* Either the list has seen the other write, or the write has overwritten the list. */
TEST_EACH(each_write_is_ordered_before_or_after_a_list, FORMATS)
{
	begin(_i);
	for (unsigned i = 0; i < 400; i += UNIT_STEP) {
		uint8_t key[RIG_KEY_MAX], other[RIG_KEY_MAX], bytes[RIG_VALUE_MAX];
		struct nb_slice value;
		uint64_t before, after, mark = 1u << 20 | i;
		struct nb_step steps[] = {{.key = format->key(key, STABLE)},
			{.key = format->key(other, (uint64_t)STABLE * (2 + i % 8))},
			{.key = steps[0].key,
				.value = rig_value(bytes, format, &random_state, mark),
				.verb = NB_STEP_PUT}};

		put_number(inner, STABLE);
		inner_number = STABLE;
		is_inner_delete = has_waited = false;
		stop_at(write_once, i / 4, UINT32_MAX);
		ck_assert_int_eq(mt_execute(outer, steps, 3, NB_EXEC_ATOMIC), NB_OK);
		stop.visit = NULL;
		bool is_inside = stop.steps > i / 4 && !has_waited;
		ck_assert(rig_is_whole(steps[0].value, &before));
		mt_release(outer);
		ck_assert_int_eq(mt_get(outer, steps[0].key, &value), NB_OK);
		ck_assert(rig_is_whole(value, &after));
		mt_release(outer);
		ck_assert(after == mark || after == marks[STABLE]);
		if (is_inside)
			ck_assert_msg((before == marks[STABLE]) != (after == marks[STABLE]),
				"%s: a write within a list is lost", format->name);
	}
	end();
}

/* Two sides: keys that begin with one of two letters. Other records are between them. */
static struct nb_slice
side_key(uint8_t *room, char side, size_t size)
{
	memset(room, 'p', size);
	room[0] = (uint8_t)side;
	return slice_of(room, size);
}

/* Execute a list that adds a record to a side if the other is empty. Returns whether it did. */
static bool
comes_in(struct nb_session *session, char side, char other)
{
	uint8_t own[RIG_KEY_MAX], prefix[RIG_KEY_MAX];
	struct nb_step steps[] = {
		{.key = side_key(prefix, other, 1), .verb = NB_STEP_PREFIX_EMPTY, .skips = 1},
		{.key = side_key(own, side, 12),
			.value = slice_of("in", 2),
			.verb = NB_STEP_PUT}};

	ck_assert_int_eq(mt_execute(session, steps, 2, NB_EXEC_ATOMIC), NB_OK);
	return steps[0].answer == NB_OK;
}

static bool is_list, has_put, has_come, sees_outer;

/* Performed by the inner session at one moment of the outer session's list: a list, or a put. */
static void
come_inside(uint64_t unused)
{
	uint8_t key[RIG_KEY_MAX];
	struct nb_slice value;

	if (is_list) {
		has_come = comes_in(inner, 'x', 'c');
		return;
	}
	if (!has_put)
		ck_assert_int_eq(
			mt_put(inner, side_key(key, 'x', 12), slice_of("in", 2)), NB_OK);
	has_put = true;
	sees_outer = mt_get(inner, side_key(key, 'c', 12), &value) == NB_OK;
	mt_release(inner);
	has_come = true;
}

/* Scan as the list of the inner session does. */
static void
scan_outer(uint64_t unused)
{
	uint8_t from[RIG_KEY_MAX];
	struct nb_scan_args args = {.size = sizeof(args), .from = side_key(from, 'c', 1)};
	struct nb_slice key, value;
	unsigned left = 3;

	ck_assert_int_eq(mt_scan_open(inner, &args), NB_OK);
	while (left > 0 && mt_scan_next(inner, &key, &value) == NB_OK)
		left--;
	ck_assert_int_eq(mt_scan_close(inner), NB_OK);
}

/* The inner list must not meet a leaf that is being changed: it would be abandoned with a lock. */
static void
come_once(void)
{
	if (!is_list || performs(scan_outer, 0))
		(void)performs(come_inside, 0);
}

static bool
meets_at(unsigned at)
{
	uint8_t key[RIG_KEY_MAX];

	has_put = has_come = sees_outer = false;
	stop_at(come_once, at, UINT32_MAX);
	bool is_in = comes_in(outer, 'c', 'x');
	stop.visit = NULL;
	if (is_list)
		ck_assert_msg(!(is_in && has_come), "both lists found the other side empty");
	else if (has_come)
		ck_assert_msg(!is_in || sees_outer, "a put within a list is lost");
	(void)comes_in(inner, 'x', 'c'); /* an abandoned list has left a placeholder */
	mt_del(outer, side_key(key, 'x', 12));
	mt_del(outer, side_key(key, 'c', 12));
	return stop.steps > at;
}

TEST_EACH(two_lists_never_both_find_the_prefixes_empty, 2)
{
	uint8_t key[RIG_KEY_MAX];

	begin(0);
	is_list = _i == 1;
	for (char between = 'd'; between < 'x'; between++)
		ck_assert_int_eq(
			mt_put(outer, side_key(key, between, 8), slice_of("", 0)), NB_OK);
	for (unsigned at = 0; meets_at(at); at++)
		;
	for (char between = 'd'; between < 'x'; between++)
		ck_assert_int_eq(mt_del(outer, side_key(key, between, 8)), NB_OK);
	end();
}

static bool has_waited_for_lock;

static void
come_or_wait(void)
{
	has_waited_for_lock = !performs(come_inside, 0);
}

/* A put that keeps the size of its value locks the leaf, and never makes it dirty. */
TEST(a_list_does_not_wait_for_a_locked_leaf_that_it_only_scans)
{
	uint8_t key[RIG_KEY_MAX];
	unsigned at = 0;

	begin(0);
	is_list = true;
	for (char record = 'c'; record < 'x'; record++)
		ck_assert_int_eq(
			mt_put(outer, side_key(key, record, 12), slice_of("on", 2)), NB_OK);
	do {
		stop_at(come_or_wait, at, UINT32_MAX);
		ck_assert_int_eq(
			mt_put(outer, side_key(key, 'c', 12), slice_of("in", 2)), NB_OK);
		stop.visit = NULL;
		ck_assert_msg(!has_waited_for_lock, "the list waits at step %u", at);
		ck_assert(!has_come);
	} while (stop.steps > at++);
	ck_assert_uint_ge(at, 3);
	for (char record = 'c'; record <= 'x'; record++)
		mt_del(outer, side_key(key, record, 12));
	end();
}

/* --- reads during unfinished writes --- */

/*
 * A get stops at one of its steps. Then a write begins and stops at one of its own steps, and
 * the get continues. So the get has a leaf's version from before a change, and reads the leaf
 * during the change. A second thread performs the write; only one of the two threads runs at a
 * time.
 */
static struct {
	sem_t begin, paused, resume;
	uint64_t number;
	unsigned at, steps; /* the step at which the write stops, and its steps so far */
	bool is_delete, is_over, is_paused;
} half;

static _Thread_local bool is_writer;
static unsigned get_at, get_steps;

static void
half_meet(void)
{
	if (!is_writer) {
		if (get_steps++ != get_at)
			return;
		ck_assert_int_eq(sem_post(&half.begin), 0);
		ck_assert_int_eq(sem_wait(&half.paused), 0);
	} else if (half.steps++ == half.at) {
		half.is_paused = true;
		ck_assert_int_eq(sem_post(&half.paused), 0);
		ck_assert_int_eq(sem_wait(&half.resume), 0);
	}
}

/* Called when the get waits: let the write end. */
static void
half_wait(void)
{
	if (is_writer || !half.is_paused)
		return;
	half.is_paused = false;
	half.at = UINT32_MAX;
	ck_assert_int_eq(sem_post(&half.resume), 0);
	ck_assert_int_eq(sem_wait(&half.paused), 0);
}

static void *
write_halves(void *unused)
{
	is_writer = true;
	for (;;) {
		ck_assert_int_eq(sem_wait(&half.begin), 0);
		if (half.is_over)
			return NULL;
		half.steps = 0;
		if (half.is_delete)
			del_number(inner, half.number);
		else
			put_number(inner, half.number);
		ck_assert_int_eq(sem_post(&half.paused), 0);
	}
}

static void
get_in_the_middle(uint64_t number)
{
	/*
	 * A record on either side of `number`, because a split moves the records above its
	 * position.
	 */
	half.number = number + 1 + rig_random(&random_state, STABLE - 1);
	if (number > 0 && rig_random(&random_state, 2) == 0)
		half.number -= STABLE;
	half.is_delete = marks[half.number] != 0; /* leaves split and are removed */
	half.is_paused = false;
	half.at = (unsigned)rig_random(&random_state, half.steps + 1);
	get_at = (unsigned)rig_random(&random_state, get_steps + 1);
	get_steps = 0;
	has_stable(outer, number);
	if (get_steps <= get_at) { /* the get was too short: the write has not begun */
		half.at = UINT32_MAX;
		ck_assert_int_eq(sem_post(&half.begin), 0);
		ck_assert_int_eq(sem_wait(&half.paused), 0);
	}
	half_wait();
}

TEST_EACH(gets_find_each_record_if_a_write_starts_and_stops_during_them, FORMATS)
{
	pthread_t thread;

	begin(_i);
	ck_assert_int_eq(sem_init(&half.begin, 0, 0), 0);
	ck_assert_int_eq(sem_init(&half.paused, 0, 0), 0);
	ck_assert_int_eq(sem_init(&half.resume, 0, 0), 0);
	rig_at_meet = half_meet;
	rig_at_wait = half_wait;
	half.is_over = false;
	get_at = UINT32_MAX;
	ck_assert_int_eq(pthread_create(&thread, NULL, write_halves, NULL), 0);
	for (unsigned i = 0; i < 12000; i += UNIT_STEP)
		get_in_the_middle(rig_random(&random_state, KEYS / STABLE) * STABLE);
	half.is_over = true;
	ck_assert_int_eq(sem_post(&half.begin), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	get_at = UINT32_MAX;
	end();
}
