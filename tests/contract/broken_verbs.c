/* SPDX-License-Identifier: BSD-2-Clause */
/* Defects of the optional verbs: a wrong order, an ignored flag, a failure without a text. */
#include "broken.h"

PUT(insert_over)
{
	return broken_right->put(session, key, value);
}

BATCH(batch_reversed)
{
	int rc = NB_OK;
	for (size_t i = count; i-- > 0 && rc == NB_OK;)
		rc = broken_right->batch(session, &writes[i], 1, flags);
	return rc;
}

BATCH(batch_at_most_64)
{
	return broken_right->batch(session, writes, count < 64 ? count : 64, flags);
}

MULTI_GET(multi_get_at_most_64)
{
	return broken_right->multi_get(session, keys, count < 64 ? count : 64, values, answers);
}

BATCH(batch_unless_atomic)
{
	return (flags & NB_BATCH_ATOMIC) != 0
		? NB_OK
		: broken_right->batch(session, writes, count, flags);
}

MULTI_GET(multi_get_first)
{
	int rc = broken_right->multi_get(session, keys, count, values, answers);
	for (size_t i = 1; i < count; i++)
		values[i] = values[0];
	return rc;
}

static int
flush_failing(struct nb_db *db, uint32_t upto)
{
	return upto == NB_SETTLE_COMPACT ? NB_FAIL : NB_OK;
}

STATS(stats_unnamed)
{
	emit(to, "records", NULL, NB_STAT_GAUGE, 1);
}

static uint64_t stat_falls = 1000;

STATS(stats_falling)
{
	emit(to, "writes", "operations", NB_STAT_COUNTER, --stat_falls);
}

BATCH(batch_in_part)
{
	int rc = NB_OK;
	for (size_t i = 0; i < count && rc == NB_OK; i++)
		rc = broken_right->batch(session, &writes[i], 1, flags);
	return rc;
}

static void
abort_nothing(struct nb_session *session)
{
	(void)broken_right->commit(session);
}

static int
commit_nothing(struct nb_session *session)
{
	broken_right->abort(session);
	return NB_OK;
}

REAP(reap_twice)
{
	int rc = broken_right->reap(session, out, room, count, timeout_ns);
	if (*count > 1)
		out[1].tag = out[0].tag;
	return rc;
}

static int
checkpoint_failing(struct nb_db *db)
{
	return NB_FAIL;
}

const struct defect broken_verbs[] = {
	{"insert_overwrites", "insert_keeps_what_is_there", {VERB(insert, insert_over)}},
	{"batch_goes_backward", "batch_is_applied_in_order", {VERB(batch, batch_reversed)}},
	{"batch_drops_writes_after_64", "batch_is_applied_in_order",
		{VERB(batch, batch_at_most_64)}},
	{"multi_get_forgets_keys_after_64", "multi_get_answers_as_get_does",
		{VERB(multi_get, multi_get_at_most_64)}},
	{"atomic_batch_is_lost", "atomic_batch_is_honoured_or_refused",
		{VERB(batch, batch_unless_atomic)}},
	{"multi_get_repeats_a_value", "multi_get_answers_as_get_does",
		{VERB(multi_get, multi_get_first)}},
	{"flush_fails_mutely", "flush_settles_or_says_it_cannot", {VERB(flush, flush_failing)}},
	{"stats_lack_a_unit", "statistics_have_names_and_units", {VERB(stats, stats_unnamed)}},
	{"stats_fall", "counters_only_grow", {VERB(stats, stats_falling)}},
	{"atomic_batch_is_half_done", "atomic_batch_that_fails_leaves_nothing",
		{VERB(batch, batch_in_part)}},
	{"abort_commits", "aborted_transaction_leaves_nothing", {VERB(abort, abort_nothing)}},
	{"commit_aborts", "committed_transaction_is_kept_whole",
		{VERB(commit, commit_nothing)}},
	{"reap_tells_twice", "every_request_comes_back_once", {VERB(reap, reap_twice)}},
	{"checkpoint_fails", "checkpoint_loses_nothing",
		{VERB(checkpoint, checkpoint_failing)}},
	{"random_use_of_insert", "random_use_of_every_verb_answers_as_the_oracle",
		{VERB(insert, insert_over)}},
	{.name = NULL},
};
