/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Defects of merge and execute: an update without a lock, a step executed as another one, an
 * ignored flag.
 */
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "broken.h"

enum { STEPS_MAX = 16, LENT_SIZE = 256 };

/* Give other threads a chance to run. */
static void
let_others(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 10000}, NULL);
}

/* --- merge --- */

MERGE(merge_existing)
{
	struct nb_slice value;
	int rc = broken_right->get(session, key, &value);
	if (rc != NB_OK)
		return rc;
	broken_right->release(session);
	return broken_right->merge(session, key, how, operand);
}

/*
 * Reads a number and writes the result of the addition. A value that is not 8 bytes long counts
 * as 0.
 */
static int
rewrite(struct nb_session *session, struct nb_slice key, uint64_t operand, bool to_saturate)
{
	struct nb_slice value;
	uint64_t number = 0;
	int rc = broken_right->get(session, key, &value);
	if (rc == NB_OK) {
		if (value.size == sizeof(number))
			memcpy(&number, value.data, sizeof(number));
		broken_right->release(session);
	}
	let_others();
	number = to_saturate && number + operand < number ? UINT64_MAX : number + operand;
	return broken_right->put(session, key, (struct nb_slice){&number, sizeof(number)});
}

MERGE(merge_saturating)
{
	(void)how;
	return rewrite(session, key, operand, true);
}

MERGE(merge_by_get_and_put)
{
	(void)how;
	return rewrite(session, key, operand, false);
}

MERGE(merge_as_add)
{
	(void)how;
	return broken_right->merge(session, key, NB_MERGE_ADD_U64, operand);
}

/* --- execute --- */

/* Executes the steps with verb `from` as steps with verb `to`. */
static int
execute_mistaken(struct nb_session *session, struct nb_step *steps, size_t count,
	uint32_t flags, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < count; i++)
		steps[i].verb = steps[i].verb == from ? to : steps[i].verb;
	return broken_right->execute(session, steps, count, flags);
}

EXECUTE(execute_with_inserts_as_puts)
{
	return execute_mistaken(session, steps, count, flags, NB_STEP_INSERT, NB_STEP_PUT);
}

EXECUTE(execute_with_newer_as_put)
{
	return execute_mistaken(
		session, steps, count, flags, NB_STEP_PUT_IF_NEWER, NB_STEP_PUT);
}

EXECUTE(execute_of_32_bits)
{
	for (size_t i = 0; i < count; i++)
		steps[i].operand &= UINT32_MAX;
	return broken_right->execute(session, steps, count, flags);
}

/* Checks only whether the key itself exists. */
EXECUTE(execute_with_prefix_as_key)
{
	bool is_prefix[STEPS_MAX] = {false};
	for (size_t i = 0; i < count && i < STEPS_MAX; i++)
		is_prefix[i] = steps[i].verb == NB_STEP_PREFIX_EMPTY;
	int rc = execute_mistaken(
		session, steps, count, flags, NB_STEP_PREFIX_EMPTY, NB_STEP_GET);
	for (size_t i = 0; i < count && i < STEPS_MAX; i++)
		if (is_prefix[i])
			steps[i].answer = steps[i].answer == NB_OK ? NB_EXISTS : NB_OK;
	return rc;
}

/* Counts any key with the prefix, whatever its last byte is. */
EXECUTE(execute_of_any_last_byte)
{
	for (size_t i = 0; i < count; i++)
		if (steps[i].verb == NB_STEP_PREFIX_EMPTY)
			steps[i].operand = 0;
	return broken_right->execute(session, steps, count, flags);
}

/* Executes all gets before all writes. */
EXECUTE(execute_gets_first)
{
	int rc = NB_OK;
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < count && rc == NB_OK; i++)
			if ((steps[i].verb == NB_STEP_GET) == (pass == 0))
				rc = broken_right->execute(session, &steps[i], 1, flags);
	return rc;
}

EXECUTE(execute_skipping_none)
{
	for (size_t i = 0; i < count; i++)
		steps[i].skips = 0;
	return broken_right->execute(session, steps, count, flags);
}

/* Lends all values from one buffer. */
EXECUTE(execute_with_one_buffer)
{
	static char buf[LENT_SIZE];
	int rc = broken_right->execute(session, steps, count, flags);
	for (size_t i = 0; i < count && rc == NB_OK; i++)
		if (steps[i].verb == NB_STEP_GET && steps[i].answer == NB_OK &&
			steps[i].value.size <= LENT_SIZE) {
			memcpy(buf, steps[i].value.data, steps[i].value.size);
			steps[i].value.data = buf;
		}
	return rc;
}

EXECUTE(execute_without_snapshots)
{
	return (flags & NB_EXEC_SNAPSHOT) != 0
		? NB_OK
		: broken_right->execute(session, steps, count, flags);
}

EXECUTE(execute_of_any_flag)
{
	return broken_right->execute(session, steps, count, flags & NB_EXEC_ATOMIC);
}

EXECUTE(execute_of_any_step)
{
	for (size_t i = 0; i < count; i++)
		steps[i].verb %= NB_STEP_PREFIX_EMPTY + 1;
	return broken_right->execute(session, steps, count, flags);
}

EXECUTE(execute_one_by_one)
{
	int rc = NB_OK;
	for (size_t i = 0; i < count && rc == NB_OK; i++) {
		rc = broken_right->execute(session, &steps[i], 1, flags);
		let_others();
	}
	return rc;
}

EXECUTE(execute_merges_unlocked)
{
	int rc = NB_OK;
	for (size_t i = 0; i < count && rc == NB_OK; i++)
		rc = steps[i].verb == NB_STEP_MERGE
			? rewrite(session, steps[i].key, steps[i].operand, false)
			: broken_right->execute(session, &steps[i], 1, flags);
	return rc;
}

const struct defect broken_execute[] = {
	{"merge_needs_a_number", "merge_counts_a_missing_key_as_0",
		{VERB(merge, merge_existing)}},
	{"merge_saturates", "merge_adds_modulo_2_to_the_64", {VERB(merge, merge_saturating)}},
	{"merge_replaces_what_is_no_number", "merge_leaves_a_value_of_another_size",
		{VERB(merge, merge_by_get_and_put)}},
	{"merge_only_adds", "merge_of_an_unknown_kind_is_unsupported",
		{VERB(merge, merge_as_add)}},
	{"merge_has_no_lock", "merges_of_threads_are_all_counted",
		{VERB(merge, merge_by_get_and_put)}},
	{"execute_inserts_over", "execute_answers_each_step_as_its_verb",
		{VERB(execute, execute_with_inserts_as_puts)}},
	{"execute_adds_32_bits", "execute_adds_to_numbers",
		{VERB(execute, execute_of_32_bits)}},
	{"execute_reads_before_it_writes", "execute_steps_see_the_writes_before_them",
		{VERB(execute, execute_gets_first)}},
	{"execute_skips_nothing", "execute_leaves_out_what_a_step_skips",
		{VERB(execute, execute_skipping_none)}},
	{"execute_puts_what_is_older", "execute_puts_what_is_newer",
		{VERB(execute, execute_with_newer_as_put)}},
	{"execute_takes_a_prefix_for_a_key", "execute_finds_whether_a_prefix_is_empty",
		{VERB(execute, execute_with_prefix_as_key)}},
	{"execute_ignores_a_set_of_last_bytes",
		"execute_looks_for_prefixes_with_a_last_byte_of_a_set",
		{VERB(execute, execute_of_any_last_byte)}},
	{"execute_lends_one_buffer", "execute_lends_every_value_until_release",
		{VERB(execute, execute_with_one_buffer)}},
	{"execute_forgets_snapshots", "execute_answers_alike_with_each_flag",
		{VERB(execute, execute_without_snapshots)}},
	{"execute_takes_any_flag", "execute_refuses_unknown_steps_and_flags",
		{VERB(execute, execute_of_any_flag)}},
	{"execute_takes_any_step", "execute_refuses_unknown_steps_and_flags",
		{VERB(execute, execute_of_any_step)}},
	{"execute_is_half_done", "atomic_execute_that_fails_leaves_nothing",
		{VERB(execute, execute_one_by_one)}},
	{"execute_merges_without_a_lock", "executes_of_threads_are_all_counted",
		{VERB(execute, execute_merges_unlocked)}},
	{"execute_is_seen_half_done", "execute_of_a_snapshot_sees_one_version",
		{VERB(execute, execute_one_by_one)}},
	{.name = NULL},
};
