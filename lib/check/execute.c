/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * execute: a list of steps as one call. A scene is such a list, with the answer of each
 * step and the resulting records; all scenes begin with the same records. An engine may
 * refuse steps and flags, but then it must not change anything, because the host executes
 * the steps in another way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "check/suite.h"

enum {
	STEPS = 9,
	RECORDS = 8,
	BYTES = 16,
	AGE_OFFSET = 4,
	UNKNOWN_STEP = 77,
	THREADS = 4,
	ACCOUNTS = 4,
	TRANSFERS = 100
};

#define UNKNOWN_FLAG (1u << 31)
#define BALANCE UINT64_C(1000)

/*
 * The first character of a key defines the type of its value: '#' a number of 8 bytes, '@'
 * four bytes and then the age, any other a text.
 */
struct record {
	const char *key, *value; /* NULL: missing */
};

struct step {
	uint32_t verb;
	const char *key, *value; /* of a get: the expected value */
	int answer;
	uint32_t skips;
	uint64_t operand;
};

struct scene {
	struct step steps[STEPS];     /* ended by a NULL key */
	struct record after[RECORDS]; /* ended by a NULL key */
};

static const struct record before[] = {{"a", "1"}, {"ab", "2"}, {"#n", "40"}, {"@t", "5"},
	{"@-", "-3"}, {"b", NULL}, {"c", NULL}, {"#m", NULL}};

/* A last byte of a key, and its bit in a set. */
#define LAST_2 "\002"
#define LAST_63 "\077"
#define SET(byte) (UINT64_C(1) << (byte))

static const struct scene each_verb = {
	.steps = {{NB_STEP_GET, "a", "1"}, {NB_STEP_GET, "b", NULL, NB_NOT_FOUND},
		{NB_STEP_PUT, "b", "3"}, {NB_STEP_PUT, "a", "4"}, {NB_STEP_DEL, "ab"},
		{NB_STEP_INSERT, "c", "5"}, {NB_STEP_INSERT, "a", "6", NB_EXISTS}},
	.after = {{"a", "4"}, {"ab", NULL}, {"b", "3"}, {"c", "5"}, {"#n", "40"}}};

static const struct scene sums = {
	.steps = {{NB_STEP_MERGE, "#n", .operand = 2}, {NB_STEP_MERGE, "#m", .operand = 7},
		{NB_STEP_MERGE, "#n", .operand = UINT64_MAX}, {NB_STEP_GET, "#n", "41"}},
	.after = {{"#n", "41"}, {"#m", "7"}}};

static const struct scene dependent = {
	.steps = {{NB_STEP_PUT, "b", "3"}, {NB_STEP_GET, "b", "3"}, {NB_STEP_DEL, "b"},
		{NB_STEP_GET, "b", NULL, NB_NOT_FOUND}, {NB_STEP_INSERT, "b", "4"},
		{NB_STEP_GET, "b", "4"}, {NB_STEP_INSERT, "b", "5", NB_EXISTS},
		{NB_STEP_PUT, "b", "6"}},
	.after = {{"a", "1"}, {"b", "6"}}};

static const struct scene skipping = {
	.steps = {{NB_STEP_GET, "b", NULL, NB_NOT_FOUND, .skips = 2},
		{NB_STEP_PUT, "a", "2", NB_EXISTS, .skips = 3},
		{NB_STEP_DEL, "a", NULL, NB_EXISTS}, {NB_STEP_GET, "a", "1", .skips = 1},
		{NB_STEP_PUT, "c", "3"}, {NB_STEP_INSERT, "c", "4", NB_EXISTS, .skips = 100},
		{NB_STEP_DEL, "ab", NULL, NB_EXISTS}},
	.after = {{"a", "1"}, {"ab", "2"}, {"b", NULL}, {"c", "3"}}};

static const struct scene newer = {
	.steps = {{NB_STEP_PUT_IF_NEWER, "@t", "5", NB_EXISTS},
		{NB_STEP_PUT_IF_NEWER, "@t", "-7", NB_EXISTS},
		{NB_STEP_PUT_IF_NEWER, "@t", "6"}, {NB_STEP_PUT_IF_NEWER, "@t", "5", NB_EXISTS},
		{NB_STEP_PUT_IF_NEWER, "@u", "9", NB_NOT_FOUND},
		{NB_STEP_PUT_IF_NEWER, "@-", "-4", NB_EXISTS},
		{NB_STEP_PUT_IF_NEWER, "@-", "2"}},
	.after = {{"@t", "6"}, {"@u", NULL}, {"@-", "2"}}};

static const struct scene prefixes = {
	.steps = {{NB_STEP_PREFIX_EMPTY, "a", NULL, NB_EXISTS},
		{NB_STEP_PREFIX_EMPTY, "ab", NULL, NB_EXISTS}, {NB_STEP_PREFIX_EMPTY, "abc"},
		{NB_STEP_PREFIX_EMPTY, "b"}, {NB_STEP_PUT, "bc", "3"},
		{NB_STEP_PREFIX_EMPTY, "b", NULL, NB_EXISTS}, {NB_STEP_DEL, "ab"},
		{NB_STEP_PREFIX_EMPTY, "ab"}, {NB_STEP_PREFIX_EMPTY, "a", NULL, NB_EXISTS}},
	.after = {{"a", "1"}, {"ab", NULL}, {"bc", "3"}}};

/*
 * The prefix itself does not count as a key, nor does a key whose last byte is not in the
 * set.
 */
static const struct scene sets = {
	.steps = {{NB_STEP_PUT, "e" LAST_2, "1"}, {NB_STEP_PUT, "e" LAST_2 "x" LAST_63, "2"},
		{NB_STEP_PREFIX_EMPTY, "e", NULL, NB_EXISTS, .operand = SET(1) | SET(2)},
		{NB_STEP_PREFIX_EMPTY, "e", .operand = SET(0) | SET(1) | SET(3)},
		{NB_STEP_PREFIX_EMPTY, "e" LAST_2, .operand = SET(2)},
		{NB_STEP_PREFIX_EMPTY, "e" LAST_2, NULL, NB_EXISTS, .operand = SET(63)},
		{NB_STEP_PREFIX_EMPTY, "e", NULL, NB_EXISTS, .operand = SET(63), .skips = 1},
		{NB_STEP_PUT, "b", "3", NB_EXISTS},
		{NB_STEP_PREFIX_EMPTY, "a", .operand = UINT64_MAX}},
	.after = {{"a", "1"}, {"ab", "2"}, {"b", NULL}, {"e" LAST_2, "1"},
		{"e" LAST_2 "x" LAST_63, "2"}}};

static const struct scene reads = {
	.steps = {{NB_STEP_GET, "a", "1"}, {NB_STEP_GET, "ab", "2"},
		{NB_STEP_GET, "b", NULL, NB_NOT_FOUND}, {NB_STEP_GET, "a", "1"}},
	.after = {{"a", "1"}, {"ab", "2"}}};

/** Each get lends a value, and later steps on the record do not change it. */
static const struct scene loans = {
	.steps = {{NB_STEP_GET, "a", "1"}, {NB_STEP_PUT, "a", "3"}, {NB_STEP_GET, "a", "3"},
		{NB_STEP_GET, "ab", "2"}, {NB_STEP_DEL, "ab"}, {NB_STEP_GET, "#n", "40"},
		{NB_STEP_PUT, "#n", "50"}},
	.after = {{"a", "3"}, {"ab", NULL}, {"#n", "50"}}};

static struct nb_slice
slice_of(const char *text)
{
	return (struct nb_slice){text, text == NULL ? 0 : strlen(text)};
}

/** Encode `text` as a value of the key. */
static struct nb_slice
value_of(unsigned char buf[BYTES], const char *key, const char *text)
{
	if (text == NULL || (key[0] != '#' && key[0] != '@'))
		return slice_of(text);
	size_t at = key[0] == '@' ? AGE_OFFSET : 0;
	int64_t number = strtoll(text, NULL, 10);
	memset(buf, 'x', BYTES);
	memcpy(buf + at, &number, sizeof(number));
	return (struct nb_slice){buf, at + sizeof(number)};
}

static bool
expect_records(struct suite *s, const struct record *records, size_t count)
{
	unsigned char buf[BYTES];
	for (size_t i = 0; i < count && records[i].key != NULL; i++) {
		struct nb_slice key = slice_of(records[i].key);
		struct nb_slice value = value_of(buf, records[i].key, records[i].value);
		if (records[i].value != NULL ? !has(s, key, value) : !lacks(s, key))
			return false;
	}
	return true;
}

static bool
open_before(struct suite *s)
{
	unsigned char buf[BYTES];
	bool is_right = suite_open(s);
	for (size_t i = 0; is_right && i < COUNT_OF(before); i++)
		if (before[i].value != NULL)
			is_right = put(s, slice_of(before[i].key),
				value_of(buf, before[i].key, before[i].value));
	return is_right;
}

/** Execute in the main session; a conflict is retried. */
static int
do_execute(struct suite *s, struct nb_step *steps, size_t count, uint32_t flags)
{
	return session_execute(s, s->main.session, steps, count, flags);
}

/** Check a refusal: it has a text, and nothing has changed. */
static bool
refused_cleanly(struct suite *s, int rc)
{
	return suite_failed(s, "execute that is refused", rc) &&
		expect_records(s, before, COUNT_OF(before));
}

static size_t
make_steps(struct nb_step *steps, unsigned char (*bytes)[BYTES], const struct scene *scene)
{
	size_t count = 0;
	for (; count < STEPS && scene->steps[count].key != NULL; count++) {
		const struct step *from = &scene->steps[count];
		bool is_newer = from->verb == NB_STEP_PUT_IF_NEWER;
		steps[count] = (struct nb_step){.key = slice_of(from->key),
			.operand = is_newer ? AGE_OFFSET : from->operand,
			.verb = from->verb,
			.skips = from->skips,
			/* answered by no verb, so an unset answer is detected */
			.answer = INT32_MAX};
		if (from->verb != NB_STEP_GET)
			steps[count].value = value_of(bytes[count], from->key, from->value);
	}
	return count;
}

static bool
expect_step(struct suite *s, const struct scene *scene, size_t i, const struct nb_step *step)
{
	const struct step *wanted = &scene->steps[i];
	unsigned char buf[BYTES];
	char call[64];
	snprintf(call, sizeof(call), "step %zu of an execute", i);
	if (step->answer != wanted->answer)
		return suite_wrong(s, call, step->answer, answer_name(wanted->answer));
	return wanted->verb != NB_STEP_GET || wanted->answer != NB_OK ||
		slice_equal(step->value, value_of(buf, wanted->key, wanted->value)) ||
		suite_break(s, "%s lent another value than the key had then", call);
}

/** Execute a scene; `*is_refused`: the engine cannot. */
static bool
play(struct suite *s, const struct scene *scene, uint32_t flags, bool *is_refused)
{
	struct nb_step steps[STEPS];
	unsigned char bytes[STEPS][BYTES];
	if (!open_before(s))
		return false;
	size_t count = make_steps(steps, bytes, scene);
	int rc = do_execute(s, steps, count, flags);
	*is_refused = rc == NB_UNSUPPORTED;
	if (*is_refused)
		return refused_cleanly(s, rc);
	bool is_right = suite_ok(s, "execute", rc);
	for (size_t i = 0; is_right && i < count; i++)
		is_right = expect_step(s, scene, i, &steps[i]);
	if (rc == NB_OK)
		session_release(s, s->main.session);
	return is_right && expect_records(s, scene->after, RECORDS);
}

static bool
keeps(struct suite *s, const struct scene *scene)
{
	bool is_refused = false;
	return play(s, scene, 0, &is_refused) &&
		(!is_refused || suite_skip(s, "it refuses such steps: %s", host_text()));
}

PROMISE(execute_answers_each_step_as_its_verb)
{
	return keeps(s, &each_verb);
}

PROMISE(execute_adds_to_numbers)
{
	return keeps(s, &sums);
}

PROMISE(execute_steps_see_the_writes_before_them)
{
	return keeps(s, &dependent);
}

PROMISE(execute_leaves_out_what_a_step_skips)
{
	return keeps(s, &skipping);
}

PROMISE(execute_puts_what_is_newer)
{
	return keeps(s, &newer);
}

PROMISE(execute_finds_whether_a_prefix_is_empty)
{
	return keeps(s, &prefixes);
}

PROMISE(execute_looks_for_prefixes_with_a_last_byte_of_a_set)
{
	return keeps(s, &sets);
}

PROMISE(execute_lends_every_value_until_release)
{
	return keeps(s, &loans);
}

PROMISE(execute_answers_alike_with_each_flag)
{
	static const struct {
		const struct scene *scene;
		uint32_t flags;
	} cases[] = {{&dependent, NB_EXEC_ATOMIC}, {&dependent, NB_EXEC_SNAPSHOT},
		{&dependent, NB_EXEC_ATOMIC | NB_EXEC_SNAPSHOT}, {&reads, NB_EXEC_READ_ONLY},
		{&reads, NB_EXEC_READ_ONLY | NB_EXEC_SNAPSHOT}};
	bool is_refused;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		if (!play(s, cases[i].scene, cases[i].flags, &is_refused))
			return false;
		database_remove(&s->main);
	}
	return true;
}

/** Check that a put followed by this step is refused as a whole. */
static bool
refuses(struct suite *s, const char *call, struct nb_step bad, uint32_t flags)
{
	struct nb_step steps[] = {
		{.key = SLICE("b"), .value = SLICE("3"), .verb = NB_STEP_PUT}, bad};
	int rc = do_execute(s, steps, COUNT_OF(steps), flags);
	if (rc == NB_OK)
		session_release(s, s->main.session);
	return (rc == NB_UNSUPPORTED || suite_wrong(s, call, rc, "NB_UNSUPPORTED")) &&
		refused_cleanly(s, rc);
}

PROMISE(execute_refuses_unknown_steps_and_flags)
{
	struct nb_step get = {.key = SLICE("a"), .verb = NB_STEP_GET};
	struct nb_step unknown = {.key = SLICE("a"), .verb = UNKNOWN_STEP};
	return open_before(s) &&
		refuses(s, "execute with an unknown flag", get, UNKNOWN_FLAG) &&
		refuses(s, "execute of an unknown step", unknown, 0);
}

/* The last step adds to a value that does not have 8 bytes. */
PROMISE(atomic_execute_that_fails_leaves_nothing)
{
	struct nb_step steps[] = {
		{.key = SLICE("b"), .value = SLICE("3"), .verb = NB_STEP_PUT},
		{.key = SLICE("a"), .value = SLICE("3"), .verb = NB_STEP_PUT},
		{.key = SLICE("#n"), .verb = NB_STEP_DEL},
		{.key = SLICE("ab"), .operand = 1, .verb = NB_STEP_MERGE},
	};
	if (!open_before(s))
		return false;
	int rc = do_execute(s, steps, COUNT_OF(steps), NB_EXEC_ATOMIC);
	if (rc == NB_OK)
		session_release(s, s->main.session);
	return suite_failed(s, "execute that adds to a value of 1 byte", rc) &&
		expect_records(s, before, COUNT_OF(before));
}

/* --- several sessions --- */

static const char *const accounts[ACCOUNTS] = {"#0", "#1", "#2", "#3"};

/** Move an amount from one account to another. */
static int
transfer(struct suite *s, struct nb_session *session, uint64_t roll)
{
	uint32_t from = roll % ACCOUNTS, to = (from + 1 + roll / 8 % (ACCOUNTS - 1)) % ACCOUNTS;
	uint64_t amount = roll >> 32;
	struct nb_step steps[] = {
		{.key = slice_of(accounts[from]), .operand = -amount, .verb = NB_STEP_MERGE},
		{.key = slice_of(accounts[to]), .operand = amount, .verb = NB_STEP_MERGE}};
	int rc = session_execute(s, session, steps, COUNT_OF(steps), NB_EXEC_ATOMIC);
	if (rc == NB_OK)
		session_release(s, session);
	return rc;
}

/** Read all accounts in one execute, and check that their sum is unchanged. */
static bool
expect_sum(struct suite *s, struct nb_session *session, uint32_t flags)
{
	struct nb_step steps[ACCOUNTS];
	uint64_t sum = 0, number;
	for (int i = 0; i < ACCOUNTS; i++)
		steps[i] = (struct nb_step){.key = slice_of(accounts[i]), .verb = NB_STEP_GET};
	int rc = session_execute(s, session, steps, ACCOUNTS, flags);
	if (rc == NB_UNSUPPORTED && flags != 0)
		return true; /* whether it may refuse is another promise */
	if (!suite_ok(s, "execute of gets", rc))
		return false;
	for (int i = 0; i < ACCOUNTS; i++)
		if (steps[i].answer == NB_OK && steps[i].value.size == sizeof(number)) {
			memcpy(&number, steps[i].value.data, sizeof(number));
			sum += number;
		}
	session_release(s, session);
	return sum == BALANCE * ACCOUNTS ||
		suite_break(s, "the accounts hold %llu, not the %llu that they held before",
			(unsigned long long)sum, (unsigned long long)BALANCE * ACCOUNTS);
}

static void
move_money(struct worker *worker)
{
	struct suite *s = worker->suite;
	uint64_t random = s->args->seed + worker->id;
	for (int i = 0; i < TRANSFERS; i++)
		if (!suite_ok(s, "execute of two merges",
			    transfer(s, worker->session, splitmix64_next(&random))))
			return;
}

static void
move_and_count_money(struct worker *worker)
{
	struct suite *s = worker->suite;
	uint64_t random = s->args->seed + worker->id;
	for (int i = 0; i < TRANSFERS; i++)
		if (!suite_ok(s, "execute of two merges",
			    transfer(s, worker->session, splitmix64_next(&random))) ||
			!expect_sum(s, worker->session, NB_EXEC_SNAPSHOT | NB_EXEC_READ_ONLY))
			return;
}

static bool
run_bank(struct suite *s, void (*run)(struct worker *worker))
{
	uint64_t balance = BALANCE;
	bool is_right = suite_open(s);
	for (int i = 0; is_right && i < ACCOUNTS; i++)
		is_right = put(
			s, slice_of(accounts[i]), (struct nb_slice){&balance, sizeof(balance)});
	if (is_right && transfer(s, s->main.session, 0) == NB_UNSUPPORTED)
		return suite_skip(
			s, "it refuses an atomic execute of two merges: %s", host_text());
	return is_right && workers_run(s, THREADS, run) && expect_sum(s, s->main.session, 0);
}

PROMISE(executes_of_threads_are_all_counted)
{
	return run_bank(s, move_money);
}

PROMISE(execute_of_a_snapshot_sees_one_version)
{
	return run_bank(s, move_and_count_money);
}
