/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SUITE_H
#define SUITE_H
/**
 * Helpers for the promises. A promise is a function of a struct suite that returns false at
 * the first fault. Every helper that finds a fault in the engine reports it with
 * suite_break() and returns false. The caller closes and removes everything that is still
 * open in `main`.
 */
#include <pthread.h>
#include <stdbool.h>

#include <mininb/check.h>

#include "target/addresses.h"
#include "target/target.h"

enum {
	SUITE_SESSIONS = 8,
	SUITE_INFLIGHT = 64, /* limit for the requests in flight in a session */
	SUITE_PATH_SIZE = 1024,
	SUITE_TEXT_SIZE = 2048,
	SUITE_STEPS_SIZE = 16384,
	SUITE_LONG = 65536,
	SUITE_VALUE_SIZE = 2 * SUITE_LONG + 1, /* the longest value tested */
	SUITE_VALUES = 4,                      /* number of values in use at the same time */
	/* directory permissions, because a server may run as another user */
	SUITE_PASSABLE = 0711,
	QUOTE_SIZE = 128
};

/** An engine, its open database and session 0 of it; NULL if not open. */
struct database {
	const struct nb_engine *engine;
	const struct nb_option_value *options;
	struct suite *suite;
	struct target *target; /* private servers; NULL: none */
	struct nb_db *db;
	struct nb_session *session;
	uint64_t value_size; /* the value size hint for open */
	uint64_t inflight_bytes;
	uint32_t durability, inflight_ops;
	bool is_new;            /* it was never opened */
	const char *server_dir; /* of private servers; borrowed */
	char path[SUITE_PATH_SIZE];
};

struct suite {
	const struct nb_check_args *args;
	const struct nb_engine *engine;
	struct addresses servers;
	struct target_spec spec; /* of private servers */
	struct placeholder *placeholders;
	/* each database has private servers, which are stopped when it is closed */
	bool has_own_servers;
	struct database main;
	pthread_mutex_t lock; /* protects outcome and text */
	uint32_t outcome;
	uint32_t step_count;
	char text[SUITE_TEXT_SIZE];
	char steps[SUITE_STEPS_SIZE];
	unsigned char *values; /* SUITE_VALUES x SUITE_VALUE_SIZE */
	uint32_t next_value;
	uint32_t next_dir;
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/** Bytes of a literal, including NULs in it. */
#define SLICE(literal) ((struct nb_slice){.data = (literal), .size = sizeof(literal) - 1})

/** Report that the promise is broken. Keeps the first text. Returns false. Any thread. */
bool
suite_break(struct suite *s, const char *fmt, ...) NB_PRINTF(2, 3);

/** Report that the promise does not apply. Returns false. */
bool
suite_skip(struct suite *s, const char *fmt, ...) NB_PRINTF(2, 3);

/** Report a wrong answer `rc` of `call`, with the text given to fail(). */
bool
suite_wrong(struct suite *s, const char *call, int rc, const char *wanted);

/** Require that rc is NB_OK. */
bool
suite_ok(struct suite *s, const char *call, int rc);

/** Require that rc is a failure and that fail() was given a text. */
bool
suite_failed(struct suite *s, const char *call, int rc);

/**
 * Write `call` and its answer, with the text given to fail(): "get answered NB_FAIL (its
 * text)".
 */
void
answer_write(char *buf, size_t size, const char *call, int rc);

/** `size` bytes made from `seed`. Owned by the suite, valid for SUITE_VALUES - 1 more calls. */
struct nb_slice
suite_value(struct suite *s, size_t size, uint64_t seed);

/** `size`, limited to `max`, the limit of the engine; 0: no limit. */
static inline size_t
limited(size_t size, uint64_t max)
{
	return max != 0 && size > max ? (size_t)max : size;
}

/** Fill with random bytes, the same for equal seeds. */
void
bytes_fill(void *to, size_t size, uint64_t seed);

bool
slice_equal(struct nb_slice a, struct nb_slice b);

/** Like memcmp(); a prefix sorts first. */
int
slice_compare(struct nb_slice a, struct nb_slice b);

/** Write the slice as a C literal, cut if it is long. Returns buf, of QUOTE_SIZE bytes. */
const char *
slice_quote(char *buf, struct nb_slice slice);

/** The same for the first bytes of `total`. */
void
slice_write(char *buf, size_t size, struct nb_slice shown, size_t total);

/** The name of an answer: "NB_NOT_FOUND". */
const char *
answer_name(int rc);

/* --- the host interface that the suite gives to engines, host.c --- */

extern const struct nb_host suite_host;

/** Clear the text given to fail() on this thread. */
void
host_forget(void);

/** The last text given to fail() on this thread since host_forget(); "" if none. */
const char *
host_text(void);

/** Clear everything. Log messages go to `to`, which may be NULL. */
void
host_reset(const struct nb_host *to);

/** How fail() or log() was misused since host_reset(); NULL: not at all. */
const char *
host_misuse(void);

/* --- databases --- */

/** Make *db a closed database in a new directory. */
bool
database_make(struct suite *s, struct database *db, const struct nb_engine *engine,
	const struct nb_option_value *options);

/** Open the database and session 0. Returns the answer of open or session_open. */
int
database_open(struct database *db, uint32_t flags);

/** Close the session and the database if open. Returns the first failure. */
int
database_close(struct database *db);

/** Close the database and remove its directory. */
void
database_remove(struct database *db);

/** Open `main` as a new database. */
bool
suite_open(struct suite *s);

/** Close `main` and open it again. */
bool
suite_reopen(struct suite *s, uint32_t flags);

/* --- one call and its expected answer; NB_CONFLICT is retried --- */

bool
expect_put(struct suite *s, struct nb_session *session, struct nb_slice key,
	struct nb_slice value);

/** Also checks that get does not find the key, so that a bad delete is reported as such. */
bool
expect_del(struct suite *s, struct nb_session *session, struct nb_slice key);

/** get must lend exactly `value`. */
bool
expect_value(struct suite *s, struct nb_session *session, struct nb_slice key,
	struct nb_slice value);

bool
expect_missing(struct suite *s, struct nb_session *session, struct nb_slice key);

/** The same four in the session of `main`. */
static inline bool
put(struct suite *s, struct nb_slice key, struct nb_slice value)
{
	return expect_put(s, s->main.session, key, value);
}

static inline bool
del(struct suite *s, struct nb_slice key)
{
	return expect_del(s, s->main.session, key);
}

static inline bool
has(struct suite *s, struct nb_slice key, struct nb_slice value)
{
	return expect_value(s, s->main.session, key, value);
}

static inline bool
lacks(struct suite *s, struct nb_slice key)
{
	return expect_missing(s, s->main.session, key);
}

int
session_get(struct suite *s, struct nb_session *session, struct nb_slice key,
	struct nb_slice *value);

int
session_put(struct suite *s, struct nb_session *session, struct nb_slice key,
	struct nb_slice value);

int
session_merge(
	struct suite *s, struct nb_session *session, struct nb_slice key, uint64_t operand);

int
session_execute(struct suite *s, struct nb_session *session, struct nb_step *steps,
	size_t count, uint32_t flags);

/** Whether to try again after `i` conflicts. Waits first, longer after more conflicts. */
bool
suite_may_retry(uint32_t i);

static inline void
session_release(struct suite *s, struct nb_session *session)
{
	if (s->engine->release != NULL)
		s->engine->release(session);
}

/* --- threads --- */

/** A thread with its own session. */
struct worker {
	struct suite *suite;
	uint32_t id; /* of the session */
	void (*run)(struct worker *worker);
	struct nb_session *session;
	pthread_t thread;
	struct worker *peer; /* the other worker of a pair */
	int tid;             /* this and the following members are atomic */
	uint32_t met;
	bool is_done;
};

bool
worker_start(struct worker *worker, struct suite *s, uint32_t id,
	void (*run)(struct worker *worker));

/**
 * Wait until the worker is done or sleeps, at most two seconds. An engine may block it
 * while the caller holds a loan, a scan or a transaction; both outcomes are correct.
 */
void
worker_give_time(struct worker *worker);

/** Wait in the same way until the peer has called it as often as this worker. */
void
worker_meet(struct worker *worker);

void
worker_join(struct worker *worker);

/** Close the session of `main`, so that a worker may use its id. */
bool
suite_close_session(struct suite *s);

/** Open the session of `main` again. */
bool
suite_open_session(struct suite *s, const char *call, uint32_t id);

/** Run `count` workers concurrently with ids from 0; the first two are peers. */
bool
workers_run(struct suite *s, uint32_t count, void (*run)(struct worker *worker));

/* --- the promises --- */

/**
 * The name of each promise and its requirements, in the order in which an author should fix
 * them: see check.c.
 */
#define PROMISES(X) \
	X(name_is_lower_case_letters_digits_dash_underscore, 0) \
	X(table_tells_summary_licence_home_build_version, 0) \
	X(verbs_come_whole_and_fit_the_capabilities, 0) \
	X(durability_levels_fit_the_capabilities, 0) \
	X(automatic_durability_is_among_those_offered, 0) \
	X(options_have_names_types_and_help, 0) \
	X(choices_of_options_are_well_formed, 0) \
	X(defaults_of_options_are_allowed_values, 0) \
	X(synthetic_get_lends_value_size_bytes, SYNTHETIC) \
	X(put_is_found, DATA) \
	X(missing_key_is_not_found, DATA) \
	X(overwrite_replaces_the_value, DATA) \
	X(deleted_key_is_not_found, DATA) \
	X(delete_of_a_missing_key_is_no_failure, DATA) \
	X(put_after_delete_is_found, DATA) \
	X(other_records_outlive_a_delete, DATA) \
	X(empty_value_is_a_value, DATA) \
	X(one_byte_values_are_kept, DATA) \
	X(values_of_every_size_are_kept, DATA) \
	X(values_of_64_kib_are_kept, DATA) \
	X(value_of_the_greatest_size_is_kept, DATA) \
	X(values_are_kept_byte_for_byte, DATA) \
	X(keys_are_told_apart_byte_for_byte, DATA) \
	X(keys_of_every_size_are_kept, DATA) \
	X(key_of_the_greatest_size_is_kept, DATA) \
	X(key_that_is_too_long_is_kept_or_refused_with_text, DATA) \
	X(many_records_are_kept, DATA) \
	X(databases_are_apart, DATA) \
	X(random_puts_gets_deletes_answer_as_the_oracle, DATA) \
	X(offered_durability_opens, OPEN | RESTART) \
	X(other_durability_is_refused_with_text, OPEN) \
	X(sessions_open_and_close_many_times, OPEN) \
	X(insert_keeps_what_is_there, DATA | INSERT) \
	X(merge_counts_a_missing_key_as_0, DATA | MERGE) \
	X(merge_adds_modulo_2_to_the_64, DATA | MERGE) \
	X(merge_leaves_a_value_of_another_size, DATA | MERGE) \
	X(merge_of_an_unknown_kind_is_unsupported, DATA | MERGE) \
	X(multi_get_answers_as_get_does, DATA | MULTI_GET) \
	X(batch_is_applied_in_order, DATA | BATCH) \
	X(atomic_batch_is_honoured_or_refused, DATA | BATCH) \
	X(atomic_batch_that_fails_leaves_nothing, DATA | BATCH | ATOMIC) \
	X(aborted_transaction_leaves_nothing, DATA | TRANSACTION) \
	X(committed_transaction_is_kept_whole, DATA | TRANSACTION) \
	X(read_only_transaction_reads_and_harms_nothing, DATA | TRANSACTION) \
	X(write_in_a_read_only_transaction_fails_or_is_undone, DATA | TRANSACTION) \
	X(execute_answers_each_step_as_its_verb, DATA | EXECUTE) \
	X(execute_steps_see_the_writes_before_them, DATA | EXECUTE) \
	X(execute_leaves_out_what_a_step_skips, DATA | EXECUTE) \
	X(execute_lends_every_value_until_release, DATA | EXECUTE) \
	X(execute_adds_to_numbers, DATA | EXECUTE) \
	X(execute_puts_what_is_newer, DATA | EXECUTE) \
	X(execute_finds_whether_a_prefix_is_empty, DATA | EXECUTE) \
	X(execute_looks_for_prefixes_with_a_last_byte_of_a_set, DATA | EXECUTE) \
	X(execute_answers_alike_with_each_flag, DATA | EXECUTE) \
	X(execute_refuses_unknown_steps_and_flags, DATA | EXECUTE) \
	X(atomic_execute_that_fails_leaves_nothing, DATA | EXECUTE) \
	X(every_request_comes_back_once, DATA | SUBMIT) \
	X(requests_answer_as_their_verbs_do, DATA | SUBMIT) \
	X(requests_of_one_key_keep_their_order, DATA | SUBMIT) \
	X(requests_of_an_unknown_verb_are_unsupported, DATA | SUBMIT) \
	X(request_that_fails_is_told_by_its_answer, DATA | SUBMIT) \
	X(requests_keep_long_values, DATA | SUBMIT) \
	X(requests_in_flight_stay_within_inflight_ops, DATA | SUBMIT) \
	X(requests_in_flight_stay_within_inflight_bytes, DATA | SUBMIT) \
	X(requests_that_are_not_taken_do_not_happen, DATA | SUBMIT) \
	X(requests_that_find_no_room_are_taken_later, DATA | SUBMIT) \
	X(reap_with_nothing_in_flight_returns_at_once, DATA | SUBMIT) \
	X(reap_with_no_timeout_does_not_wait, DATA | SUBMIT) \
	X(verbs_between_submit_and_reap_answer_right, DATA | SUBMIT) \
	X(session_closes_with_requests_in_flight, DATA | SUBMIT) \
	X(submit_copies_keys_and_values, DATA | SUBMIT | COPIES) \
	X(flush_settles_or_says_it_cannot, OPEN | FLUSH) \
	X(statistics_have_names_and_units, OPEN | STATS) \
	X(counters_only_grow, OPEN | STATS) \
	X(scan_gives_each_record_once, DATA | SCAN) \
	X(scan_of_an_empty_database_is_at_its_end, DATA | SCAN) \
	X(scan_that_is_at_its_end_stays_there, DATA | SCAN) \
	X(scan_leaves_the_session_usable, DATA | SCAN) \
	X(scan_of_keys_only_gives_every_key, DATA | SCAN) \
	X(scan_follows_the_order_of_bytes, DATA | SCAN | ORDERED) \
	X(scan_backward_is_the_reverse, DATA | SCAN | ORDERED) \
	X(scan_begins_where_it_is_told, DATA | SCAN | ORDERED) \
	X(scan_backward_begins_where_it_is_told, DATA | SCAN | ORDERED) \
	X(scans_of_many_records_give_all_of_them, DATA | SCAN) \
	X(scan_in_a_transaction_sees_its_writes, DATA | SCAN | TRANSACTION) \
	X(reset_removes_every_record, DATA | RESET) \
	X(tick_changes_nothing, DATA | TICK) \
	X(reopen_finds_everything, DATA | PERSISTENT) \
	X(open_to_create_keeps_what_is_there, DATA | PERSISTENT) \
	X(open_read_only_finds_everything, DATA | PERSISTENT) \
	X(open_of_no_database_fails_with_text, DATA | PERSISTENT) \
	X(checkpoint_loses_nothing, DATA | CHECKPOINT) \
	X(sessions_come_and_go_with_threads, OPEN) \
	X(sessions_see_one_another, DATA | CONCURRENT) \
	X(ranges_written_in_parallel_read_back, DATA | CONCURRENT) \
	X(racing_writers_leave_a_whole_value, DATA | CONCURRENT) \
	X(loan_stays_until_release, DATA | CONCURRENT) \
	X(sessions_reap_their_own_requests, DATA | SUBMIT | CONCURRENT) \
	X(scan_sees_one_version_of_the_data, DATA | SCAN | SNAPSHOT | CONCURRENT) \
	X(session_that_is_parked_holds_nobody_up, DATA | CONCURRENT) \
	X(racing_inserters_have_one_winner, DATA | INSERT | CONCURRENT) \
	X(merges_of_threads_are_all_counted, DATA | MERGE | CONCURRENT) \
	X(executes_of_threads_are_all_counted, DATA | EXECUTE | CONCURRENT) \
	X(execute_of_a_snapshot_sees_one_version, DATA | EXECUTE | CONCURRENT) \
	X(open_transaction_is_unseen_by_others, DATA | TRANSACTION | CONCURRENT) \
	X(transaction_reads_one_version, DATA | TRANSACTION | CONCURRENT) \
	X(scan_in_a_transaction_sees_one_version, DATA | SCAN | TRANSACTION | CONCURRENT) \
	X(transactions_lose_no_update, DATA | TRANSACTION | CONCURRENT) \
	X(transactions_of_threads_keep_a_sum, DATA | TRANSACTION | CONCURRENT) \
	X(transaction_that_lost_leaves_nothing, DATA | TRANSACTION | CONCURRENT) \
	X(serializable_transactions_show_no_write_skew, DATA | TRANSACTION | CONCURRENT) \
	X(random_use_of_every_verb_answers_as_the_oracle, DATA) \
	X(prints_nothing_on_standard_output, OPEN)

/** The head of the function that checks a promise. */
#define PROMISE(name) bool check_##name(struct suite *s)

#define PROMISE_DECLARE(name, needs) PROMISE(name);
PROMISES(PROMISE_DECLARE)
#undef PROMISE_DECLARE

#endif /* SUITE_H */
