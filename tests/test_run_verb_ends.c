/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a run of put, get or delete ends: with a failure of the engine, settled, stopped, or with
 * a database that is opened again. Every failure is reported, and the database is closed in any
 * case.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/error.h"
#include "unit.h"
#include "verb_rig.h"

/** Break the put of key 700 of the file. */
static void
break_put_700(void)
{
	toy_break(TOY_FAIL, TOY_PUT, 1, 1);
	toy.number = __builtin_bswap64(700) + 1;
}

/** Check whether the run has a result, and whether the result is partial. */
static void
assert_result(bool is_there, bool is_partial)
{
	struct nb_result *result = NULL;
	ck_assert_int_eq(nb_result_new(&result, rig.run), is_there ? NB_OK : NB_FAIL);
	ck_assert_int_eq(result != NULL, is_there);
	if (is_there)
		ck_assert_int_eq(nb_result_is_partial(result), is_partial);
	nb_result_delete(result);
}

/* --- failures --- */

TEST(a_failing_put_ends_the_run_with_its_text)
{
	static const struct {
		uint32_t verb;
		bool is_at_once, is_partial; /* not partial: no result */
		const char *text;
	} cases[] = {
		{NB_VERB_PUT, false, true, "toy: put, operation 700: the toy is broken"},
		{NB_VERB_PUT, true, true, "toy: put, operation "},
		{NB_VERB_GET, false, false, "toy: loading, operation 700: the toy is broken"},
		{NB_VERB_DELETE, false, false,
			"toy: loading, operation 700: the toy is broken"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct nb_engine engine = rig_begin(cases[i].verb, 3);
		if (cases[i].is_at_once)
			toy_break(TOY_FAIL, TOY_PUT, 1, 0);
		else
			break_put_700();
		ck_assert_int_eq(rig_run(&rig, &engine), NB_FAIL);
		rig_assert_told(cases[i].text);
		ck_assert_uint_lt(rig_measured()->ops, COUNT);
		ck_assert_uint_eq(
			nb_histogram_count(rig_measured()->service), rig_measured()->ops);
		ck_assert(!rig_measured()->has_settled && !rig_measured()->has_read_back);
		assert_result(cases[i].is_partial, true);
	}
}

static int
session_open_null(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	*out = NULL;
	return NB_OK;
}

TEST(failing_session_ends_the_run_before_its_first_operation)
{
	static const struct {
		uint32_t defect;
		const char *text;
	} cases[] = {{TOY_FAIL, "toy: session_open: the toy is broken"},
		{TOY_MUTE, "toy: session_open: failed without saying why"},
		{TOY_RIGHT, "toy: session_open: gave no session"}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct nb_engine engine = rig_begin(NB_VERB_PUT, 3);
		if (cases[i].defect == TOY_RIGHT)
			engine.session_open = session_open_null;
		toy_break(cases[i].defect, TOY_SESSION_OPEN, 2, 1);
		ck_assert_int_eq(rig_run(&rig, &engine), NB_FAIL);
		ck_assert_str_eq(nb_error_text(), cases[i].text);
		ck_assert_uint_eq(toy_calls(TOY_PUT), 0);
		assert_result(false, false);
	}
}

static int
open_failing(struct nb_db **out, const struct nb_open_args *args)
{
	return (args->host->fail)(
		NB_FAIL, "damaged at block 7"); /* fail is a macro of check.h */
}

static int
open_silent(struct nb_db **out, const struct nb_open_args *args)
{
	return 5;
}

static int
open_null(struct nb_db **out, const struct nb_open_args *args)
{
	*out = NULL;
	return NB_OK;
}

TEST(failing_open_names_the_database)
{
	static const struct {
		int (*open)(struct nb_db **out, const struct nb_open_args *args);
		const char *text;
		bool has_path;
	} cases[] = {{open_failing, "damaged at block 7", true},
		/* an earlier failure is not reported again */
		{open_silent,
			"toy: open: answered 5, but may answer only NB_OK (0) or a negative failure"},
		{open_null, "gave no database", true}};
	struct nb_engine engine = rig_begin(NB_VERB_PUT, 2);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char path[192] = "";
		engine.open = cases[i].open;
		ck_assert_int_eq(rig_run(&rig, &engine), NB_FAIL);
		if (cases[i].has_path)
			snprintf(path, sizeof(path), "toy: %s/memory: ", rig.path);
		rig_assert_told(path);
		ck_assert_str_eq(nb_error_text() + strlen(path), cases[i].text);
		assert_result(false, false);
	}
}

static int
close_failing(struct nb_db *db)
{
	int rc = toy_engine().close(db);
	return rc != NB_OK ? rc : error_set(NB_FAIL, "last block not written");
}

static char logged[256];

static void
keep_log(void *arg, uint32_t level, const char *text)
{
	snprintf(logged, sizeof(logged), "%s", text);
}

TEST(failing_close_is_the_failure_or_is_reported_beside_the_first_one)
{
	struct nb_engine engine = rig_begin(NB_VERB_PUT, 2);
	engine.close = close_failing;
	nb_set_log(keep_log, NULL);
	ck_assert_int_eq(rig_run(&rig, &engine), NB_FAIL);
	ck_assert_str_eq(nb_error_text(), "toy: closing: last block not written");
	ck_assert(!rig_measured()->has_settled);
	ck_assert_str_eq(logged, "");
	break_put_700();
	ck_assert_int_eq(rig_run(&rig, &engine), NB_FAIL);
	ck_assert_str_eq(nb_error_text(), "toy: put, operation 700: the toy is broken");
	ck_assert_str_eq(logged, "toy: closing: last block not written");
	nb_set_log(NULL, NULL);
}

/* --- settling --- */

static int flush_answers[2], flush_calls[2]; /* by NB_SETTLE_* */

static int
flush_as_told(struct nb_db *db, uint32_t upto)
{
	flush_calls[upto]++;
	return flush_answers[upto];
}

TEST(result_states_how_the_engine_settled)
{
	static const struct {
		uint32_t asked;
		int flush, compact, settled, rc;
		bool called_flush, called_compact;
		const char *text;
	} cases[] = {
		{NB_RUN_SETTLE_COMPACT, NB_OK, NB_OK, NB_RUN_SETTLE_COMPACT, NB_OK, 0, 1},
		{NB_RUN_SETTLE_COMPACT, NB_OK, NB_UNSUPPORTED, NB_RUN_SETTLE_FLUSH, NB_OK, 1,
			1},
		{NB_RUN_SETTLE_COMPACT, NB_UNSUPPORTED, NB_UNSUPPORTED, NB_RUN_SETTLE_NONE,
			NB_OK, 1, 1},
		{NB_RUN_SETTLE_FLUSH, NB_OK, NB_OK, NB_RUN_SETTLE_FLUSH, NB_OK, 1, 0},
		{NB_RUN_SETTLE_FLUSH, NB_UNSUPPORTED, NB_OK, NB_RUN_SETTLE_NONE, NB_OK, 1, 0},
		{NB_RUN_SETTLE_NONE, NB_OK, NB_OK, NB_RUN_SETTLE_NONE, NB_OK, 0, 0},
		{NB_RUN_SETTLE_COMPACT, NB_OK, NB_FAIL, NB_RUN_SETTLE_NONE, NB_FAIL, 0, 1,
			"toy: settling: failed without saying why"},
		{NB_RUN_SETTLE_COMPACT, 1, NB_UNSUPPORTED, NB_RUN_SETTLE_NONE, NB_FAIL, 1, 1,
			"toy: flush: answered 1, but may answer only NB_OK (0) or a "
			"negative failure"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct nb_engine engine = rig_begin(NB_VERB_PUT, 2);
		engine.flush = flush_as_told;
		rig.options.settle = cases[i].asked;
		flush_answers[NB_SETTLE_FLUSH] = cases[i].flush;
		flush_answers[NB_SETTLE_COMPACT] = cases[i].compact;
		flush_calls[0] = flush_calls[1] = 0;
		ck_assert_int_eq(rig_run(&rig, &engine), cases[i].rc);
		ck_assert_int_eq(rig_measured()->settled, cases[i].settled);
		ck_assert_int_eq(rig_measured()->has_settled, cases[i].rc == NB_OK);
		ck_assert_int_eq(flush_calls[NB_SETTLE_FLUSH], cases[i].called_flush);
		ck_assert_int_eq(flush_calls[NB_SETTLE_COMPACT], cases[i].called_compact);
		ck_assert_uint_eq(rig_measured()->ops, COUNT);
		if (cases[i].rc != NB_OK)
			ck_assert_str_eq(nb_error_text(), cases[i].text);
	}
}

TEST(engine_without_flush_and_reads_do_not_settle)
{
	struct nb_engine engine = rig_begin(NB_VERB_PUT, 1);
	engine.flush = NULL;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_OK);
	ck_assert_int_eq(rig_measured()->settled, NB_RUN_SETTLE_NONE);
	engine = rig_begin(NB_VERB_GET, 1);
	engine.flush = flush_as_told;
	flush_answers[0] = flush_answers[1] = NB_FAIL;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_OK);
}

/* --- nb_stop() --- */

static int calls_of_all;                       /* atomic */
static int stop_put_at = -1, stop_get_at = -1; /* number of the call that requests the stop */

/** Wait until the run halts; otherwise the test times out. */
static void
wait_for_halt(void)
{
	const int *halt = rig.run->active[0]->plan.halt;
	while (__atomic_load_n(halt, __ATOMIC_RELAXED) == 0)
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

/** Later calls wait, so that some operations remain when the run notices the stop. */
static void
stop_at(int at)
{
	int call = __atomic_fetch_add(&calls_of_all, 1, __ATOMIC_RELAXED);
	if (at >= 0 && call == at)
		nb_stop();
	if (at >= 0 && call >= at)
		wait_for_halt();
}

static int
put_stopping(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	stop_at(stop_put_at);
	return toy_engine().put(session, key, value);
}

static int
get_stopping(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	stop_at(stop_get_at);
	return toy_engine().get(session, key, value);
}

TEST(stop_ends_the_operations_with_a_partial_result)
{
	struct nb_engine engine = rig_begin(NB_VERB_PUT, 2);
	engine.put = put_stopping;
	stop_put_at = 50;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_ERR_INTERRUPTED);
	ck_assert(rig_measured()->is_partial);
	ck_assert_uint_ge(rig_measured()->ops, 50);
	ck_assert_uint_lt(rig_measured()->ops, COUNT);
	ck_assert_uint_eq(nb_histogram_count(rig_measured()->service), rig_measured()->ops);
	ck_assert_uint_eq(rig_measured()->findings.verified, 0);
	ck_assert(!rig_measured()->has_read_back);
	assert_result(true, true);
	nb_stop_clear();
}

static int
get_stopping_in_vain(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	stop_at(stop_get_at);
	return NB_NOT_FOUND;
}

TEST(stop_does_not_hide_missing_records)
{
	struct nb_engine engine = rig_begin(NB_VERB_GET, 1);
	engine.get = get_stopping_in_vain;
	stop_get_at = 50;
	logged[0] = '\0';
	nb_set_log(keep_log, NULL);
	ck_assert_int_eq(rig_run(&rig, &engine), NB_ERR_INTERRUPTED);
	nb_set_log(NULL, NULL);
	ck_assert_str_eq(nb_error_text(), "interrupted");
	ck_assert_ptr_nonnull(strstr(logged, "51 of 51 keys were not found"));
	nb_stop_clear();
}

TEST(stop_ends_the_verification)
{
	struct nb_engine engine = rig_begin(NB_VERB_PUT, 2);
	engine.get = get_stopping;
	stop_get_at = 50;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_ERR_INTERRUPTED);
	ck_assert(!rig_measured()->is_partial);  /* no operation is missing */
	ck_assert(!rig_measured()->has_settled); /* comes after reading back */
	ck_assert(!rig_measured()->has_read_back);
	ck_assert_uint_ge(rig_measured()->findings.verified, 50);
	ck_assert_uint_lt(rig_measured()->findings.verified, COUNT);
	nb_stop_clear();
}

TEST(stop_during_the_load_leaves_no_result)
{
	struct nb_engine engine = rig_begin(NB_VERB_GET, 2);
	engine.put = put_stopping;
	stop_put_at = 50;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_ERR_INTERRUPTED);
	ck_assert_int_lt(calls_of_all, COUNT);
	assert_result(false, false);
	nb_stop_clear();
}

TEST(stop_before_the_run_leaves_no_files)
{
	struct nb_engine engine = rig_begin(NB_VERB_PUT, 2);
	rig_new(&rig, &engine);
	nb_stop();
	ck_assert_int_eq(nb_run_execute(rig.run), NB_ERR_INTERRUPTED);
	ck_assert(!rig_has(&rig, "nb"));
	nb_stop_clear();
}

/* --- an engine that keeps its data --- */

static struct nb_open_args opened_with; /* arguments of the first open */
static uint32_t opened_last;            /* flags of the last open */
static int opens;

static int
open_noting(struct nb_db **out, const struct nb_open_args *args)
{
	struct nb_open_args right = *args;
	if (opens++ == 0)
		opened_with = *args;
	opened_last = args->flags;
	right.flags = NB_OPEN_CREATE;
	return toy_engine().open(out, &right);
}

TEST(database_is_made_by_put_only_and_read_only_for_get)
{
	static const uint32_t flags[] = {[NB_VERB_PUT] = NB_OPEN_CREATE,
		[NB_VERB_GET] = NB_OPEN_READ_ONLY,
		[NB_VERB_DELETE] = 0};
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		struct nb_engine engine = rig_begin(verb, 2);
		char path[128];
		opens = 0;
		engine.open = open_noting;
		engine.caps |= NB_CAP_PERSISTENT;
		rig.options.flags = NB_RUN_ALLOW_MISSING |
			NB_RUN_FORCE; /* memory keeps nothing */
		rig.options.cache_bytes = 4711;
		snprintf(path, sizeof(path), "%s/memory", rig.path);
		ck_assert_int_eq(mkdir(rig.path, 0777), 0);
		ck_assert_int_eq(mkdir(path, 0777), 0);
		strcat(path, "/data");
		fclose(fopen(path, "w"));
		(void)!rig_run(&rig, &engine);
		ck_assert_uint_eq(opened_with.flags, flags[verb]);
		ck_assert_uint_eq(opened_last, NB_OPEN_READ_ONLY);
		ck_assert_int_eq(opens, verb == NB_VERB_GET ? 1 : 2);
		ck_assert_uint_eq(opened_with.size, sizeof(opened_with));
		ck_assert_uint_eq(opened_with.records, COUNT);
		ck_assert_uint_eq(opened_with.key_size, 16);
		ck_assert_uint_eq(opened_with.value_size, 100);
		ck_assert_uint_eq(opened_with.sessions, 2);
		ck_assert_uint_eq(opened_with.cache_bytes, 4711);
		ck_assert_uint_eq(opened_with.durability, NB_DUR_NONE);
		ck_assert(!rig_measured()->is_loaded);
		ck_assert(rig_measured()->had_data);
	}
}

/** A put on `memory`, which loses everything in close, but claims to keep its data. */
static struct nb_engine
begin_forgetful(void)
{
	struct nb_engine engine = rig_begin(NB_VERB_PUT, 2);
	opens = 0;
	engine.open = open_noting;
	engine.caps |= NB_CAP_PERSISTENT;
	rig.options.flags = NB_RUN_ALLOW_MISSING | NB_RUN_FORCE;
	return engine;
}

TEST(writes_that_stay_in_a_cache_are_reported_as_missing)
{
	struct nb_engine engine = begin_forgetful();
	struct rig_told told = {.thread = pthread_self()};
	rig.options.progress = rig_note_progress;
	rig.options.progress_arg = &told;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_ERR_DATA);
	ck_assert_uint_eq(rig_measured()->findings.missing, COUNT);
	ck_assert_uint_eq(rig_measured()->findings.verified, COUNT);
	ck_assert(rig_measured()->is_reopened && rig_measured()->has_read_back);
	ck_assert(rig_measured()->has_settled);
	ck_assert_str_eq(
		told.whats, "looking at the keys|open|put|settle|close|reopen|verify|");
	ck_assert_uint_eq(told.wrong, 0);
}

TEST(database_is_not_reopened_without_verification)
{
	struct nb_engine engine = begin_forgetful();
	rig.options.verify_rate = 0;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_OK);
	ck_assert_int_eq(opens, 1);
	ck_assert(!rig_measured()->is_reopened);
}

static int
open_once(struct nb_db **out, const struct nb_open_args *args)
{
	if (opens > 0)
		return (args->host->fail)(NB_FAIL, "the file is damaged");
	return open_noting(out, args);
}

TEST(a_database_that_cannot_be_opened_again_ends_the_run)
{
	struct nb_engine engine = begin_forgetful();
	engine.open = open_once;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_FAIL);
	rig_assert_told("the database cannot be opened again to read back: ");
	rig_assert_told("the file is damaged");
	ck_assert(!rig_measured()->has_read_back && rig_measured()->has_settled);
	ck_assert_uint_eq(rig_measured()->ops, COUNT);
}
