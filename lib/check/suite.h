/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SUITE_H
#define SUITE_H
/**
 * What the promises are written with. A check is a function of a struct suite
 * that returns when it has seen enough: every helper that finds the engine
 * wrong notes it by suite_break() and returns false, and whatever is still open
 * in `main` is closed and removed by the caller of the check.
 */
#include <pthread.h>
#include <stdbool.h>

#include <mininb/check.h>

enum {
	SUITE_SESSIONS = 8,
	SUITE_PATH_SIZE = 1024,
	SUITE_TEXT_SIZE = 2048,
	SUITE_STEPS_SIZE = 16384,
	SUITE_LONG = 65536,
	SUITE_VALUE_SIZE = 2 * SUITE_LONG + 1, /* the longest that is tried */
	SUITE_VALUES = 4,                      /* that a check can hold at once */
	QUOTE_SIZE = 128
};

/** An engine, the database that it has open and one session of it; NULL if not open. */
struct place {
	const struct nb_engine *engine;
	const struct nb_option_value *options;
	struct nb_db *db;
	struct nb_session *session;
	uint64_t value_size; /* the hint */
	uint32_t durability;
	char path[SUITE_PATH_SIZE];
};

struct suite {
	const struct nb_check_args *args;
	const struct nb_engine *engine;
	struct place main;
	pthread_mutex_t lock; /* of the four below */
	uint32_t outcome;
	uint32_t step_count;
	char text[SUITE_TEXT_SIZE];
	char steps[SUITE_STEPS_SIZE];
	unsigned char *values; /* SUITE_VALUES x SUITE_VALUE_SIZE */
	uint32_t next_value;
	uint32_t next_dir;
};

/** Bytes of a literal, NULs in it included. */
#define SLICE(literal) ((struct nb_slice){.data = (literal), .size = sizeof(literal) - 1})

/** The promise is broken: keep the first such text. Returns false. Any thread. */
bool
suite_break(struct suite *s, const char *fmt, ...) NB_PRINTF(2, 3);

/** The promise does not apply. Returns false. */
bool
suite_skip(struct suite *s, const char *fmt, ...) NB_PRINTF(2, 3);

/** Break the promise because `call` answered `rc`, with the text that fail() was told. */
bool
suite_wrong(struct suite *s, const char *call, int rc, const char *wanted);

/** rc must be one of a failure, and fail() must have been told why. */
bool
suite_failed(struct suite *s, const char *call, int rc);

/** `size` bytes that follow from `seed`, the suite's, good for SUITE_VALUES - 1 more calls. */
struct nb_slice
suite_value(struct suite *s, size_t size, uint64_t seed);

/** Next of a sequence that looks random. */
uint64_t
random_next(uint64_t *state);

void
bytes_fill(void *to, size_t size, uint64_t seed);

bool
slice_equal(struct nb_slice a, struct nb_slice b);

/** As memcmp(), a prefix first. */
int
slice_compare(struct nb_slice a, struct nb_slice b);

/** The key as a C literal, cut if it is long. Returns buf, of QUOTE_SIZE. */
const char *
slice_quote(char *buf, struct nb_slice slice);

/** The same of the first bytes of `total`. */
void
slice_write(char *buf, size_t size, struct nb_slice shown, size_t total);

/** "NB_NOT_FOUND" or the number. */
const char *
answer_name(int rc);

/* --- the host that is lent to engines, host.c --- */

extern const struct nb_host suite_host;

/** Forget what fail() was told on this thread. */
void
host_forget(void);

/** What fail() was last told on this thread since; "" if nothing. */
const char *
host_text(void);

/** Begin anew, and pass on what is logged. */
void
host_reset(const struct nb_host *to);

/** How fail() or log() was misused since host_reset(), or NULL. */
const char *
host_misuse(void);

/* --- databases --- */

/** Make `place` a closed one in a directory of its own. */
bool
place_make(struct suite *s, struct place *place, const struct nb_engine *engine,
	const struct nb_option_value *options);

/** Open the database and session 0. Returns what open or session_open did. */
int
place_open(struct place *place, uint32_t flags);

/** Close what is open. Returns the first failure. */
int
place_close(struct place *place);

/** Close and remove the directory. */
void
place_remove(struct place *place);

/** Open `main`, a new database. */
bool
suite_open(struct suite *s);

/** Close `main` and open it again. */
bool
suite_reopen(struct suite *s, uint32_t flags);

/* --- one call and what must come of it; NB_CONFLICT is tried again --- */

bool
expect_put(struct suite *s, struct nb_session *session, struct nb_slice key,
	struct nb_slice value);

/** And a get finds it no more: what breaks because of a bad delete says so. */
bool
expect_del(struct suite *s, struct nb_session *session, struct nb_slice key);

/** get lends precisely `value`. */
bool
expect_value(struct suite *s, struct nb_session *session, struct nb_slice key,
	struct nb_slice value);

bool
expect_missing(struct suite *s, struct nb_session *session, struct nb_slice key);

/** get, tried again while it answers NB_CONFLICT. */
int
session_get(struct suite *s, struct nb_session *session, struct nb_slice key,
	struct nb_slice *value);

/** put, likewise. */
int
session_put(struct suite *s, struct nb_session *session, struct nb_slice key,
	struct nb_slice value);

void
session_release(struct suite *s, struct nb_session *session);

/* --- threads --- */

/** A thread with a session of its own. */
struct worker {
	struct suite *suite;
	uint32_t id; /* of the session */
	void (*run)(struct worker *worker);
	void *arg;
	struct nb_session *session;
	pthread_t thread;
	pthread_mutex_t lock; /* of is_done */
	pthread_cond_t done;
	bool is_done;
};

bool
worker_start(struct worker *worker, struct suite *s, uint32_t id,
	void (*run)(struct worker *worker), void *arg);

/**
 * Wait until it is done or for two seconds, since an engine may make it wait for
 * what the caller holds: a loan, a scan. Either is fine.
 */
void
worker_give_time(struct worker *worker);

void
worker_join(struct worker *worker);

/** `count` of them with the ids from 0 on, at once. */
void
workers_run(struct suite *s, uint32_t count, void (*run)(struct worker *worker), void *arg);

/* --- the checks, by file --- */

#define CHECKS(X) \
	/* table.c */ \
	X(name_is_well_formed) \
	X(table_tells_what_it_is) \
	X(verbs_are_whole) \
	X(durabilities_fit) \
	X(auto_durability_is_offered) \
	X(options_are_well_formed) \
	X(choices_are_well_formed) \
	X(defaults_are_allowed) \
	/* values.c */ \
	X(put_is_found) \
	X(missing_key_is_not_found) \
	X(overwrite_replaces) \
	X(delete_removes) \
	X(deletes_are_apart) \
	X(delete_of_missing) \
	X(put_after_delete) \
	X(empty_value) \
	X(one_byte_values) \
	X(long_values) \
	X(values_are_exact) \
	X(keys_are_exact) \
	X(longest_key) \
	X(too_long_key) \
	X(longest_value) \
	X(value_sizes) \
	X(key_sizes) \
	X(synthetic_get) \
	/* verbs.c */ \
	X(insert_keeps_the_first) \
	X(multi_get_is_get) \
	X(batch_in_order) \
	X(batch_atomic_flag) \
	X(batch_all_or_nothing) \
	X(abort_leaves_nothing) \
	X(commit_keeps_all) \
	X(flush_levels) \
	X(checkpoint_keeps) \
	X(stats_are_named) \
	X(stats_counters_grow) \
	/* async.c */ \
	X(every_request_comes_back) \
	/* scans.c */ \
	X(scan_is_ordered) \
	X(scan_backward) \
	X(scan_from) \
	X(scan_from_backward) \
	X(scan_of_empty) \
	X(scan_end_stays) \
	X(scan_keys_only) \
	X(scan_is_whole) \
	X(scan_leaves_session) \
	X(scan_snapshot) \
	/* reopen.c */ \
	X(reopen_finds_all) \
	X(create_keeps) \
	X(read_only_finds_all) \
	X(open_of_nothing) \
	X(databases_are_apart) \
	/* durability.c */ \
	X(offered_levels_open) \
	X(other_levels_are_refused) \
	/* sessions.c */ \
	X(session_churn) \
	X(thread_churn) \
	X(sessions_share) \
	X(parallel_ranges) \
	X(racing_writers) \
	X(loan_stays) \
	/* model.c */ \
	X(model_points) \
	X(model_all) \
	X(prints_nothing) \
	/* many.c */ \
	X(many_records) \
	X(many_records_in_scans)

#define CHECK_DECLARE(name) void check_##name(struct suite *s);
CHECKS(CHECK_DECLARE)
#undef CHECK_DECLARE

#endif /* SUITE_H */
