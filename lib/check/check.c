/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The promises, in the order in which an author should mend them: each is tried
 * with what the ones before it have shown to work, so the first that is broken is
 * the cause of those below more often than the other way round. The table, single
 * records and random use of them, opening, further verbs, scans, reopening,
 * threads, and at last random use of everything against the oracle.
 *
 * What a promise needs stands beside it. An engine that lacks it is not
 * skipped silently: the finding names the capability or the verb.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/board.h"
#include "check/suite.h"

enum {
	NEEDS_DATA = 1u << 0, /* not synthetic */
	NEEDS_SYNTHETIC = 1u << 1,
	NEEDS_PERSISTENT = 1u << 2,
	NEEDS_CONCURRENT = 1u << 3,
	NEEDS_ORDERED = 1u << 4,
	NEEDS_SNAPSHOT = 1u << 5,
	NEEDS_SCAN = 1u << 6,
	NEEDS_INSERT = 1u << 7,
	NEEDS_MULTI_GET = 1u << 8,
	NEEDS_BATCH = 1u << 9,
	NEEDS_ATOMIC = 1u << 10,
	NEEDS_TXN = 1u << 11,
	NEEDS_SUBMIT = 1u << 12,
	NEEDS_FLUSH = 1u << 13,
	NEEDS_CHECKPOINT = 1u << 14,
	NEEDS_STATS = 1u << 15,
	NEEDS_OPEN = 1u << 16 /* only that a database can be opened */
};

static const struct {
	const char *name;
	void (*check)(struct suite *s);
	uint32_t needs;
} promises[] = {
	{"name_is_lower_case_letters_digits_dash_underscore", check_name_is_well_formed, 0},
	{"table_tells_summary_licence_home_build_version", check_table_tells_what_it_is, 0},
	{"verbs_come_whole_and_fit_the_capabilities", check_verbs_are_whole, 0},
	{"durability_levels_fit_the_capabilities", check_durabilities_fit, 0},
	{"automatic_durability_is_among_those_offered", check_auto_durability_is_offered, 0},
	{"options_have_names_types_and_help", check_options_are_well_formed, 0},
	{"choices_of_options_are_well_formed", check_choices_are_well_formed, 0},
	{"defaults_of_options_are_allowed_values", check_defaults_are_allowed, 0},

	{"synthetic_get_lends_value_size_bytes", check_synthetic_get, NEEDS_SYNTHETIC},
	{"put_is_found", check_put_is_found, NEEDS_DATA},
	{"missing_key_is_not_found", check_missing_key_is_not_found, NEEDS_DATA},
	{"overwrite_replaces_the_value", check_overwrite_replaces, NEEDS_DATA},
	{"deleted_key_is_not_found", check_delete_removes, NEEDS_DATA},
	{"delete_of_a_missing_key_is_no_failure", check_delete_of_missing, NEEDS_DATA},
	{"put_after_delete_is_found", check_put_after_delete, NEEDS_DATA},
	{"other_records_outlive_a_delete", check_deletes_are_apart, NEEDS_DATA},
	{"empty_value_is_a_value", check_empty_value, NEEDS_DATA},
	{"one_byte_values_are_kept", check_one_byte_values, NEEDS_DATA},
	{"values_of_every_size_are_kept", check_value_sizes, NEEDS_DATA},
	{"values_of_64_kib_are_kept", check_long_values, NEEDS_DATA},
	{"value_of_the_greatest_size_is_kept", check_longest_value, NEEDS_DATA},
	{"values_are_kept_byte_for_byte", check_values_are_exact, NEEDS_DATA},
	{"keys_are_told_apart_byte_for_byte", check_keys_are_exact, NEEDS_DATA},
	{"keys_of_every_size_are_kept", check_key_sizes, NEEDS_DATA},
	{"key_of_the_greatest_size_is_kept", check_longest_key, NEEDS_DATA},
	{"key_that_is_too_long_is_kept_or_refused_with_text", check_too_long_key, NEEDS_DATA},
	{"many_records_are_kept", check_many_records, NEEDS_DATA},
	{"databases_are_apart", check_databases_are_apart, NEEDS_DATA},
	{"random_puts_gets_deletes_answer_as_the_oracle", check_model_points, NEEDS_DATA},

	{"offered_durability_opens", check_offered_levels_open, NEEDS_OPEN},
	{"other_durability_is_refused_with_text", check_other_levels_are_refused, NEEDS_OPEN},
	{"sessions_open_and_close_many_times", check_session_churn, NEEDS_OPEN},

	{"insert_keeps_what_is_there", check_insert_keeps_the_first, NEEDS_DATA | NEEDS_INSERT},
	{"multi_get_answers_as_get_does", check_multi_get_is_get, NEEDS_DATA | NEEDS_MULTI_GET},
	{"batch_is_applied_in_order", check_batch_in_order, NEEDS_DATA | NEEDS_BATCH},
	{"atomic_batch_is_honoured_or_refused", check_batch_atomic_flag,
		NEEDS_DATA | NEEDS_BATCH},
	{"atomic_batch_that_fails_leaves_nothing", check_batch_all_or_nothing,
		NEEDS_DATA | NEEDS_BATCH | NEEDS_ATOMIC},
	{"aborted_transaction_leaves_nothing", check_abort_leaves_nothing,
		NEEDS_DATA | NEEDS_TXN},
	{"committed_transaction_is_kept_whole", check_commit_keeps_all, NEEDS_DATA | NEEDS_TXN},
	{"every_request_comes_back_once", check_every_request_comes_back,
		NEEDS_DATA | NEEDS_SUBMIT},
	{"flush_settles_or_says_it_cannot", check_flush_levels, NEEDS_OPEN | NEEDS_FLUSH},
	{"statistics_have_names_and_units", check_stats_are_named, NEEDS_OPEN | NEEDS_STATS},
	{"counters_only_grow", check_stats_counters_grow, NEEDS_OPEN | NEEDS_STATS},

	{"scan_gives_each_record_once", check_scan_is_whole, NEEDS_DATA | NEEDS_SCAN},
	{"scan_of_an_empty_database_is_at_its_end", check_scan_of_empty,
		NEEDS_DATA | NEEDS_SCAN},
	{"scan_that_is_at_its_end_stays_there", check_scan_end_stays, NEEDS_DATA | NEEDS_SCAN},
	{"scan_leaves_the_session_usable", check_scan_leaves_session, NEEDS_DATA | NEEDS_SCAN},
	{"scan_of_keys_only_gives_every_key", check_scan_keys_only, NEEDS_DATA | NEEDS_SCAN},
	{"scan_follows_the_order_of_bytes", check_scan_is_ordered,
		NEEDS_DATA | NEEDS_SCAN | NEEDS_ORDERED},
	{"scan_backward_is_the_reverse", check_scan_backward,
		NEEDS_DATA | NEEDS_SCAN | NEEDS_ORDERED},
	{"scan_begins_where_it_is_told", check_scan_from,
		NEEDS_DATA | NEEDS_SCAN | NEEDS_ORDERED},
	{"scan_backward_begins_where_it_is_told", check_scan_from_backward,
		NEEDS_DATA | NEEDS_SCAN | NEEDS_ORDERED},
	{"scans_of_many_records_give_all_of_them", check_many_records_in_scans,
		NEEDS_DATA | NEEDS_SCAN},

	{"reopen_finds_everything", check_reopen_finds_all, NEEDS_DATA | NEEDS_PERSISTENT},
	{"open_to_create_keeps_what_is_there", check_create_keeps,
		NEEDS_DATA | NEEDS_PERSISTENT},
	{"open_read_only_finds_everything", check_read_only_finds_all,
		NEEDS_DATA | NEEDS_PERSISTENT},
	{"open_of_no_database_fails_with_text", check_open_of_nothing,
		NEEDS_DATA | NEEDS_PERSISTENT},
	{"checkpoint_loses_nothing", check_checkpoint_keeps, NEEDS_DATA | NEEDS_CHECKPOINT},

	{"sessions_come_and_go_with_threads", check_thread_churn, NEEDS_OPEN},
	{"sessions_see_one_another", check_sessions_share, NEEDS_DATA | NEEDS_CONCURRENT},
	{"ranges_written_in_parallel_read_back", check_parallel_ranges,
		NEEDS_DATA | NEEDS_CONCURRENT},
	{"racing_writers_leave_a_whole_value", check_racing_writers,
		NEEDS_DATA | NEEDS_CONCURRENT},
	{"loan_stays_until_release", check_loan_stays, NEEDS_DATA | NEEDS_CONCURRENT},
	{"scan_sees_one_version_of_the_data", check_scan_snapshot,
		NEEDS_DATA | NEEDS_SCAN | NEEDS_SNAPSHOT | NEEDS_CONCURRENT},

	{"random_use_of_every_verb_answers_as_the_oracle", check_model_all, NEEDS_DATA},
	{"prints_nothing_on_standard_output", check_prints_nothing, NEEDS_OPEN},
};

static const struct {
	uint32_t need, cap;
	const char *missing;
} cap_needs[] = {
	{NEEDS_SYNTHETIC, NB_CAP_SYNTHETIC, "not synthetic"},
	{NEEDS_PERSISTENT, NB_CAP_PERSISTENT, "not persistent"},
	{NEEDS_CONCURRENT, NB_CAP_CONCURRENT, "no concurrent sessions"},
	{NEEDS_ORDERED, NB_CAP_ORDERED, "not ordered"},
	{NEEDS_SNAPSHOT, NB_CAP_SNAPSHOT, "no snapshots"},
	{NEEDS_ATOMIC, NB_CAP_ATOMIC_BATCH, "no atomic batch"},
};

#define VERB(name) offsetof(struct nb_engine, name), #name

static const struct {
	uint32_t need;
	size_t offset;
	const char *verb;
} verb_needs[] = {
	{NEEDS_SCAN, VERB(scan_open)},
	{NEEDS_SCAN, VERB(scan_next)},
	{NEEDS_SCAN, VERB(scan_close)},
	{NEEDS_INSERT, VERB(insert)},
	{NEEDS_MULTI_GET, VERB(multi_get)},
	{NEEDS_BATCH, VERB(batch)},
	{NEEDS_TXN, VERB(begin)},
	{NEEDS_TXN, VERB(commit)},
	{NEEDS_TXN, VERB(abort)},
	{NEEDS_SUBMIT, VERB(submit)},
	{NEEDS_SUBMIT, VERB(reap)},
	{NEEDS_FLUSH, VERB(flush)},
	{NEEDS_CHECKPOINT, VERB(checkpoint)},
	{NEEDS_STATS, VERB(stats)},
};

/* Mandatory ones: a loader refuses an engine without them, but no one must have asked it. */
static const struct {
	size_t offset;
	const char *verb;
} mandatory[] = {
	{VERB(open)},
	{VERB(close)},
	{VERB(session_open)},
	{VERB(session_close)},
	{VERB(get)},
	{VERB(put)},
	{VERB(del)},
};

enum { PROMISES = sizeof(promises) / sizeof(promises[0]) };
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static bool
has_verb(const struct nb_engine *engine, size_t offset)
{
	void (*verb)(void);
	memcpy(&verb, (const char *)engine + offset, sizeof(verb));
	return verb != NULL;
}

/* Whether the promise applies; if not, the suite says why not. */
static bool
applies(struct suite *s, uint32_t needs)
{
	for (size_t i = 0; needs != 0 && i < COUNT_OF(mandatory); i++)
		if (!has_verb(s->engine, mandatory[i].offset))
			return suite_break(
				s, "the mandatory verb %s is missing", mandatory[i].verb);
	if ((needs & NEEDS_DATA) != 0 && (s->engine->caps & NB_CAP_SYNTHETIC) != 0)
		return suite_skip(s, "synthetic: it keeps nothing");
	for (size_t i = 0; i < COUNT_OF(cap_needs); i++)
		if ((needs & cap_needs[i].need) != 0 &&
			(s->engine->caps & cap_needs[i].cap) == 0)
			return suite_skip(s, "%s", cap_needs[i].missing);
	for (size_t i = 0; i < COUNT_OF(verb_needs); i++)
		if ((needs & verb_needs[i].need) != 0 &&
			!has_verb(s->engine, verb_needs[i].offset))
			return suite_skip(s, "no verb %s", verb_needs[i].verb);
	return true;
}

static void
run_promise(struct suite *s, size_t index)
{
	s->values = malloc((size_t)SUITE_VALUES * SUITE_VALUE_SIZE);
	if (s->values == NULL) {
		suite_break(s, "the suite is out of memory");
		return;
	}
	host_reset(nb_engine_host());
	if (applies(s, promises[index].needs))
		promises[index].check(s);
	place_remove(&s->main);
	if (s->outcome != NB_CHECK_BROKEN && host_misuse() != NULL)
		suite_break(s, "%s", host_misuse());
	host_reset(NULL);
	free(s->values);
}

size_t
nb_check_count(void)
{
	return PROMISES;
}

const char *
nb_check_name(size_t index)
{
	return promises[index].name;
}

int
nb_check_one(
	const struct nb_check_args *args, size_t index, nb_check_report_fn report, void *to)
{
	static struct suite s; /* too large for a stack; one check at a time, see check.h */
	s = (struct suite){.args = args,
		.engine = args->engine,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.outcome = NB_CHECK_KEPT};
	if (board_make() == NB_OK) {
		s.engine = calls_watch(args->engine);
		run_promise(&s, index);
	} else
		suite_break(&s, "%s", nb_error_text());
	struct nb_check_finding finding = {
		.size = sizeof(finding),
		.index = index,
		.promise = promises[index].name,
		.outcome = s.outcome,
		.step_count = s.step_count,
		.text = s.text,
		.steps = s.steps,
	};
	if (report != NULL)
		report(to, &finding);
	return (int)s.outcome;
}
