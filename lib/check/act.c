/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executes a random operation on the engine and the oracle, and compares the answers.
 *
 * Verbs, steps of an execute and verbs in a transaction are judged in the same way, by the
 * present contents of the oracle. The oracle needs only get, put, del and scans: the
 * meaning of the other verbs is defined here.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/model.h"

static bool
differ(struct model *m, const char *call, int rc, const char *wanted)
{
	answer_write(m->why, sizeof(m->why), call, rc);
	size_t used = strlen(m->why);
	snprintf(m->why + used, sizeof(m->why) - used, " where %s is right", wanted);
	return false;
}

/** Describe in m->why how the answer differs. Returns false. */
static bool
explain(struct model *m, const char *fmt, ...) NB_PRINTF(2, 3);

static bool
explain(struct model *m, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(m->why, sizeof(m->why), fmt, args);
	va_end(args);
	return false;
}

static bool
oracle_failed(struct model *m)
{
	return explain(m, "the oracle itself failed: %s", host_text());
}

static void
release(const struct database *db)
{
	if (db->engine->release != NULL)
		db->engine->release(db->session);
}

/** Whether the oracle has the key. */
static bool
oracle_has(struct model *m, struct nb_slice key)
{
	struct nb_slice value;
	bool is_there = m->oracle.engine->get(m->oracle.session, key, &value) == NB_OK;
	if (is_there)
		release(&m->oracle);
	return is_there;
}

static bool
oracle_write(struct model *m, struct nb_slice key, const struct nb_slice *value)
{
	const struct nb_engine *oracle = m->oracle.engine;
	int rc = value == NULL ? oracle->del(m->oracle.session, key)
			       : oracle->put(m->oracle.session, key, *value);
	return rc >= 0 || oracle_failed(m);
}

/** Compare an answer for `key` and its value with the oracle's. */
static bool
same_as_oracle(
	struct model *m, const char *verb, struct nb_slice key, int rc, struct nb_slice value)
{
	const struct nb_engine *oracle = m->oracle.engine;
	char quoted[QUOTE_SIZE], what[QUOTE_SIZE + 64];
	struct nb_slice wanted = {0};
	snprintf(what, sizeof(what), "%s(%s)", verb, slice_quote(quoted, key));
	int right = oracle->get(m->oracle.session, key, &wanted);
	bool is_same = right == rc;
	if (right < 0)
		return oracle_failed(m);
	if (!is_same)
		differ(m, what, rc, answer_name(right));
	else if (rc == NB_OK && !slice_equal(value, wanted))
		is_same = explain(m, "%s lent %zu bytes%s where %zu were put last", what,
			value.size, value.size == wanted.size ? " with other contents" : "",
			wanted.size);
	if (right == NB_OK)
		release(&m->oracle);
	return is_same;
}

/**
 * Read the oracle's value as a number, 0 if missing; false: the value does not have 8
 * bytes.
 */
static bool
oracle_number(struct model *m, struct nb_slice key, uint64_t *number)
{
	struct nb_slice value;
	*number = 0;
	if (m->oracle.engine->get(m->oracle.session, key, &value) != NB_OK)
		return true;
	bool is_number = value.size == sizeof(*number);
	if (is_number)
		memcpy(number, value.data, sizeof(*number));
	release(&m->oracle);
	return is_number;
}

static bool
oracle_prefix_is_empty(struct model *m, struct nb_slice prefix)
{
	struct nb_scan_args args = {.size = sizeof(args), .from = prefix, .limit = 1};
	struct nb_slice key = {0}, value;
	if (m->oracle.engine->scan_open(m->oracle.session, &args) != NB_OK)
		return true;
	bool is_one = m->oracle.engine->scan_next(m->oracle.session, &key, &value) == NB_OK &&
		key.size >= prefix.size && memcmp(key.data, prefix.data, prefix.size) == 0;
	(void)m->oracle.engine->scan_close(m->oracle.session);
	return !is_one;
}

/** NB_OK if the key has an older value; ages are numbers at byte 0. */
static int
oracle_is_older(struct model *m, struct nb_slice key, struct nb_slice value)
{
	uint64_t found, age;
	if (!oracle_has(m, key))
		return NB_NOT_FOUND;
	oracle_number(m, key, &found);
	memcpy(&age, value.data, sizeof(age));
	return (int64_t)found < (int64_t)age ? NB_OK : NB_EXISTS;
}

/** The expected answer of a verb other than get; `*also` is correct as well. */
static int
foresee(struct model *m, const struct nb_step *step, int *also)
{
	bool is_there = oracle_has(m, step->key);
	*also = NB_OK;
	switch (step->verb) {
	case NB_STEP_DEL: /* for a missing key both answers are correct */
		return is_there ? NB_OK : NB_NOT_FOUND;
	case NB_STEP_INSERT:
		return *also = is_there ? NB_EXISTS : NB_OK;
	case NB_STEP_PUT_IF_NEWER:
		return *also = oracle_is_older(m, step->key, step->value);
	case NB_STEP_PREFIX_EMPTY:
		return *also = oracle_prefix_is_empty(m, step->key) ? NB_OK : NB_EXISTS;
	default:
		return NB_OK;
	}
}

/**
 * Compare the answer of a verb or a step with the expected one, and execute it on the
 * oracle.
 */
static bool
judge(struct model *m, const struct nb_step *step)
{
	const char *name = step_names[step->verb];
	int also, wanted, rc = step->answer;
	uint64_t sum;
	if (step->verb == NB_STEP_GET)
		return same_as_oracle(m, name, step->key, rc, step->value);
	wanted = foresee(m, step, &also);
	if (rc != wanted && rc != also)
		return differ(m, name, rc,
			wanted == NB_NOT_FOUND && also == NB_OK ? "NB_NOT_FOUND or NB_OK"
								: answer_name(wanted));
	if (rc != NB_OK || step->verb == NB_STEP_PREFIX_EMPTY)
		return true;
	if (step->verb == NB_STEP_DEL)
		return oracle_write(m, step->key, NULL);
	if (step->verb != NB_STEP_MERGE)
		return oracle_write(m, step->key, &step->value);
	oracle_number(m, step->key, &sum);
	sum += step->operand;
	return oracle_write(m, step->key, &(struct nb_slice){&sum, sizeof(sum)});
}

/** Execute a step by its single verb. */
static int
call_verb(const struct database *db, struct nb_step *step)
{
	const struct nb_engine *engine = db->engine;
	switch (step->verb) {
	case NB_STEP_GET:
		return engine->get(db->session, step->key, &step->value);
	case NB_STEP_PUT:
		return engine->put(db->session, step->key, step->value);
	case NB_STEP_DEL:
		return engine->del(db->session, step->key);
	case NB_STEP_INSERT:
		return engine->insert(db->session, step->key, step->value);
	default:
		return engine->merge(db->session, step->key, NB_MERGE_ADD_U64, step->operand);
	}
}

static bool
do_verb(struct model *m, struct nb_step step)
{
	step.answer = call_verb(&m->subject, &step);
	bool is_right = judge(m, &step);
	if (step.verb == NB_STEP_GET && step.answer == NB_OK)
		release(&m->subject);
	return is_right;
}

static bool
do_put(struct model *m, const struct op *op)
{
	return do_verb(m,
		(struct nb_step){.key = op_key(m, op, 0),
			.value = op_value(m, op, 0),
			.verb = op->kind == INSERT ? NB_STEP_INSERT : NB_STEP_PUT});
}

static bool
do_get(struct model *m, const struct op *op)
{
	return do_verb(m, (struct nb_step){.key = op_key(m, op, 0), .verb = NB_STEP_GET});
}

static bool
do_del(struct model *m, const struct op *op)
{
	return do_verb(m, (struct nb_step){.key = op_key(m, op, 0), .verb = NB_STEP_DEL});
}

/** Execute a merge. A value of another size must stay unchanged, with or without a failure. */
static bool
do_merge(struct model *m, const struct op *op)
{
	uint64_t number;
	struct nb_step step = {.key = op_key(m, op, 0),
		.operand = op_hash(op->seed, 5000),
		.verb = NB_STEP_MERGE};
	if (oracle_number(m, step.key, &number))
		return do_verb(m, step);
	int rc = call_verb(&m->subject, &step);
	return rc <= NB_OK || differ(m, "merge", rc, "a failure");
}

/* --- several operations at once --- */

/** Whether the step works on numbers, and no earlier step of the list changes its record. */
static bool
is_of_numbers(struct model *m, const struct nb_step *steps, uint32_t i)
{
	uint64_t number;
	for (uint32_t j = 0; j < i; j++)
		if (slice_equal(steps[j].key, steps[i].key) && steps[j].verb != NB_STEP_GET)
			return false;
	return oracle_number(m, steps[i].key, &number) &&
		(steps[i].verb == NB_STEP_MERGE || steps[i].value.size >= sizeof(number));
}

/** Make a step. A step that could only fail becomes a get. */
static struct nb_step
op_step(struct model *m, const struct op *op, struct nb_step *steps, uint32_t i)
{
	uint64_t roll = op_hash(op->seed, 5000 + op->first + i);
	uint32_t verb = op_verb(m, op, i);
	steps[i] = (struct nb_step){.key = op_key(m, op, i),
		.operand = verb == NB_STEP_MERGE ? roll : 0,
		.verb = verb,
		.skips = op->kind == EXECUTE && roll % 4 == 0 ? 1 + roll / 4 % 3 : 0,
		.answer = INT32_MAX}; /* answered by no verb, so an unset answer is detected */
	if (op_writes_value(m, op, i))
		steps[i].value = op_value(m, op, i);
	if ((verb == NB_STEP_MERGE || verb == NB_STEP_PUT_IF_NEWER) &&
		!is_of_numbers(m, steps, i)) {
		steps[i].verb = NB_STEP_GET;
		steps[i].value = (struct nb_slice){0};
	}
	return steps[i];
}

static bool
judge_steps(struct model *m, const struct nb_step *steps, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!judge(m, &steps[i]))
			return false;
		uint32_t skips = steps[i].answer != NB_OK ? steps[i].skips : 0;
		for (; skips > 0 && i + 1 < count; skips--)
			if (steps[++i].answer != NB_EXISTS)
				return differ(m, "a step that is skipped", steps[i].answer,
					"NB_EXISTS");
	}
	return true;
}

static bool
do_execute(struct model *m, const struct op *op)
{
	static const uint32_t flags[] = {
		0, NB_EXEC_ATOMIC, NB_EXEC_SNAPSHOT, NB_EXEC_ATOMIC | NB_EXEC_SNAPSHOT};
	const struct nb_engine *engine = m->subject.engine;
	struct nb_step steps[GROUP], given[GROUP];
	for (uint32_t i = 0; i < op->count; i++)
		given[i] = op_step(m, op, steps, i);
	int rc = engine->execute(m->subject.session, given, op->count, flags[op->seed % 4]);
	if (rc == NB_UNSUPPORTED)
		return true; /* later operations show that it had no effect */
	if (rc != NB_OK)
		return differ(m, "execute", rc, "NB_OK");
	for (uint32_t i = 0; i < op->count; i++) { /* the engine may not change the rest */
		steps[i].answer = given[i].answer;
		if (steps[i].verb == NB_STEP_GET)
			steps[i].value = given[i].value;
	}
	bool is_right = judge_steps(m, steps, op->count);
	release(&m->subject);
	return is_right;
}

static bool
do_batch(struct model *m, const struct op *op)
{
	struct nb_write writes[GROUP];
	for (uint32_t i = 0; i < op->count; i++)
		writes[i] = (struct nb_write){.key = op_key(m, op, i),
			.value = op_value(m, op, i),
			.is_delete = op_is_delete(op, i)};
	bool is_atomic = (m->subject.engine->caps & NB_CAP_ATOMIC_BATCH) != 0 &&
		op->seed % 2 == 0;
	int rc = m->subject.engine->batch(
		m->subject.session, writes, op->count, is_atomic ? NB_BATCH_ATOMIC : 0);
	if (rc != NB_OK)
		return differ(m, "batch", rc, "NB_OK");
	bool is_done = true;
	for (uint32_t i = 0; is_done && i < op->count; i++)
		is_done = oracle_write(
			m, writes[i].key, writes[i].is_delete != 0 ? NULL : &writes[i].value);
	return is_done;
}

static bool
do_multi_get(struct model *m, const struct op *op)
{
	const struct nb_engine *engine = m->subject.engine;
	struct nb_slice keys[GROUP], values[GROUP] = {{0}};
	int32_t answers[GROUP];
	for (uint32_t i = 0; i < op->count; i++) {
		keys[i] = op_key(m, op, i);
		/* answered by no verb, so an unset answer is detected */
		answers[i] = INT32_MAX;
	}
	int rc = engine->multi_get(m->subject.session, keys, op->count, values, answers);
	if (rc != NB_OK)
		return differ(m, "multi_get", rc, "NB_OK");
	bool is_same = true;
	for (uint32_t i = 0; is_same && i < op->count; i++)
		is_same = same_as_oracle(m, "multi_get", keys[i], answers[i], values[i]);
	release(&m->subject);
	return is_same;
}

/** A record of the oracle before a transaction. */
struct saved {
	struct nb_slice key;
	void *value; /* a copy; NULL: the record did not exist */
	size_t size;
};

static void
save(struct model *m, struct saved *saved, struct nb_slice key)
{
	struct nb_slice value;
	*saved = (struct saved){.key = key};
	if (m->oracle.engine->get(m->oracle.session, key, &value) != NB_OK)
		return;
	saved->value = malloc(value.size + 1);
	saved->size = value.size;
	if (saved->value != NULL && value.size > 0)
		memcpy(saved->value, value.data, value.size);
	release(&m->oracle);
}

/** If the transaction is aborted, undo its steps in the oracle. */
static bool
end_saved(struct model *m, struct saved *saved, uint32_t count, bool is_kept)
{
	bool is_right = true;
	while (count-- > 0) {
		struct nb_slice value = {saved[count].value, saved[count].size};
		if (!is_kept)
			is_right = oracle_write(m, saved[count].key,
					   value.data == NULL ? NULL : &value) &&
				is_right;
		free(saved[count].value);
	}
	return is_right;
}

/** Execute the steps one by one. The transaction must see each of its writes. */
static bool
write_in_transaction(
	struct model *m, const struct op *op, struct saved *saved, uint32_t *saved_count)
{
	struct nb_step steps[GROUP];
	for (uint32_t i = 0; i < op->count; i++) {
		struct nb_step step = op_step(m, op, steps, i);
		save(m, &saved[(*saved_count)++], step.key);
		if (!do_verb(m, step) ||
			!do_verb(m, (struct nb_step){.key = step.key, .verb = NB_STEP_GET}))
			return false;
	}
	return true;
}

/**
 * Execute a transaction. A committed one also changes the oracle; an aborted one has no
 * effect.
 */
static bool
do_transaction(struct model *m, const struct op *op)
{
	const struct nb_engine *engine = m->subject.engine;
	struct saved saved[GROUP];
	uint32_t saved_count = 0;
	int rc = engine->begin(m->subject.session, 0);
	if (rc != NB_OK)
		return differ(m, "begin", rc, "NB_OK");
	bool is_done = write_in_transaction(m, op, saved, &saved_count);
	bool commits = is_done && op_commits(op);
	is_done = end_saved(m, saved, saved_count, commits) && is_done;
	if (!commits) {
		engine->abort(m->subject.session);
		return is_done;
	}
	rc = engine->commit(m->subject.session);
	return rc == NB_OK || differ(m, "commit of the only transaction", rc, "NB_OK");
}

static bool
do_settle(struct model *m, const struct op *op)
{
	const struct nb_engine *engine = m->subject.engine;
	int how = op_settles(m, op);
	if (how == SETTLE_CHECKPOINT) {
		int rc = engine->checkpoint(m->subject.db);
		return rc == NB_OK || differ(m, "checkpoint", rc, "NB_OK");
	}
	int rc = engine->flush(
		m->subject.db, how == SETTLE_FLUSH ? NB_SETTLE_FLUSH : NB_SETTLE_COMPACT);
	return rc == NB_OK || rc == NB_UNSUPPORTED ||
		differ(m, "flush", rc, "NB_OK or NB_UNSUPPORTED");
}

/** Compare the next records of the two open scans, and their ends. */
static bool
scans_agree(struct model *m, uint32_t limit)
{
	struct nb_slice key = {0}, value = {0}, right_key = {0}, right_value = {0};
	char got[QUOTE_SIZE], want[QUOTE_SIZE];
	for (uint32_t i = 0; i < limit; i++) {
		int rc = m->subject.engine->scan_next(m->subject.session, &key, &value);
		int right = m->oracle.engine->scan_next(
			m->oracle.session, &right_key, &right_value);
		if (rc != right)
			return differ(m, "scan_next", rc, answer_name(right));
		if (rc != NB_OK)
			return true;
		slice_quote(got, key);
		if (!slice_equal(key, right_key))
			return explain(m, "scan_next gave the key %s where %s is next", got,
				slice_quote(want, right_key));
		if (!slice_equal(value, right_value))
			return explain(m,
				"scan_next gave %zu bytes for the key %s, not the %zu put last",
				value.size, got, right_value.size);
	}
	return true;
}

static bool
do_scan(struct model *m, const struct op *op)
{
	struct nb_scan_args args = {.size = sizeof(args),
		.flags = op->kind == SCAN_BACK ? NB_SCAN_BACKWARD : 0,
		.from = op_from(m, op),
		.limit = op->count};
	if (op->kind == SCAN_BACK && m->refuses_backward)
		return true;
	int rc = m->subject.engine->scan_open(m->subject.session, &args);
	if (rc == NB_UNSUPPORTED && op->kind == SCAN_BACK) {
		m->refuses_backward = true;
		return true;
	}
	if (rc != NB_OK)
		return differ(m, "scan_open", rc, "NB_OK");
	if (m->oracle.engine->scan_open(m->oracle.session, &args) != NB_OK) {
		(void)m->subject.engine->scan_close(m->subject.session);
		return oracle_failed(m);
	}
	bool is_same = scans_agree(m, op->count);
	(void)m->oracle.engine->scan_close(m->oracle.session);
	rc = m->subject.engine->scan_close(m->subject.session);
	return is_same && (rc == NB_OK || differ(m, "scan_close", rc, "NB_OK"));
}

static bool
do_reopen(struct model *m, const struct op *op)
{
	(void)op;
	int rc = database_close(&m->subject);
	if (rc != NB_OK)
		return differ(m, "close", rc, "NB_OK");
	rc = database_open(&m->subject, 0);
	return rc == NB_OK || differ(m, "open of the closed database", rc, "NB_OK");
}

const struct op_kind op_kinds[KINDS] = {
	[PUT] = {"put", do_put, 3000},
	[GET] = {"get", do_get, 3500},
	[DEL] = {"del", do_del, 1500},
	[INSERT] = {"insert", do_put, 800},
	[MERGE] = {"merge", do_merge, 400},
	[BATCH] = {"batch", do_batch, 400},
	[MULTI_GET] = {"multi_get", do_multi_get, 500},
	[SCAN] = {"scan", do_scan, 300},
	[SCAN_BACK] = {"scan backward", do_scan, 200},
	[EXECUTE] = {"execute", do_execute, 300},
	[TRANSACTION] = {"transaction", do_transaction, 150},
	[SETTLE] = {"settle", do_settle, 10},
	[REOPEN] = {"close and open", do_reopen, 15},
};
