/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Engines that hang: the call that the error names, and the state of the abandoned run. Limits
 * are short, and no test depends on exact durations.
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "rig.h"
#include "run/fault.h"
#include "unit.h"

enum { COUNT = 1000, STUCK_AT = 300 };
#define TIMEOUT_NS UINT64_C(30000000)

static struct rig rig;
static uint64_t puts_begun; /* atomic */
static int is_free;         /* atomic: the hanging call may continue */
static int is_stuck;        /* atomic: a call hangs */
static bool was_closed;

/** The memory of the workers of an abandoned run, which LeakSanitizer must ignore. */
const char *
__lsan_default_suppressions(void);

const char *
__lsan_default_suppressions(void)
{
	return "leak:job_worker_enter\nleak:ops_maker_create\nleak:session_open\n";
}

const char *
__lsan_default_options(void);

const char *
__lsan_default_options(void)
{
	return "print_suppressions=0";
}

static void
be_stuck(void)
{
	__atomic_store_n(&is_stuck, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&is_free, __ATOMIC_ACQUIRE) == 0)
		usleep(1000);
}

static enum { NOWHERE, OPEN, SESSION_OPEN, PUT, CLOSE } stuck_in;

static int
put_stuck(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	if (__atomic_fetch_add(&puts_begun, 1, __ATOMIC_RELAXED) == STUCK_AT && stuck_in == PUT)
		be_stuck();
	return rig_right()->put(session, key, value);
}

static int
close_stuck(struct nb_db *db)
{
	if (stuck_in == CLOSE)
		be_stuck();
	was_closed = stuck_in != CLOSE;
	return rig_right()->close(db);
}

static int
open_stuck(struct nb_db **out, const struct nb_open_args *args)
{
	if (stuck_in == OPEN)
		be_stuck();
	return rig_right()->open(out, args);
}

static int
session_open_stuck(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	if (stuck_in == SESSION_OPEN && id == 1)
		be_stuck();
	return rig_right()->session_open(out, db, id);
}

static struct nb_engine engine;

static void
begin(uint32_t threads)
{
	engine = *rig_right();
	engine.open = open_stuck;
	engine.session_open = session_open_stuck;
	engine.put = put_stuck;
	engine.close = close_stuck;
	rig_create(&rig, NB_VERB_PUT, COUNT);
	rig.options.threads = threads;
	rig.options.op_timeout_ns = rig.options.call_timeout_ns = TIMEOUT_NS;
	int number;
	ck_assert_int_eq(nb_run_left(&number), 0);
}

/** The run was abandoned; the engine was not closed. */
static void
expect_left(int where, const char *told)
{
	int number = -1;
	stuck_in = where;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_FAIL);
	rig_assert_told(told);
	rig_assert_told("has not returned for ");
	rig_assert_told("use --op-timeout=TIME to wait longer");
	ck_assert(!was_closed);
	ck_assert_int_ne(nb_run_left(&number), 0);
	ck_assert_int_eq(number, 0);
}

TEST(hanging_operation_ends_the_run_and_earlier_ones_are_reported)
{
	begin(1);
	expect_left(PUT, "memory: put, operation 300 (key ");
	const struct measurement *measured = &rig.run->measured;
	ck_assert(measured->is_partial);
	ck_assert_uint_eq(measured->ops, STUCK_AT);
	ck_assert_uint_eq(nb_histogram_count(measured->service), STUCK_AT);
	ck_assert_uint_eq(measured->answers[NB_OK], STUCK_AT);
	ck_assert_uint_eq(measured->value_bytes, STUCK_AT * rig.workload.value_size);
	struct nb_result *result;
	ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
	nb_result_delete(result);
}

TEST(the_other_workers_stop_and_are_counted)
{
	begin(3);
	expect_left(PUT, "memory: put, operation ");
	const struct measurement *measured = &rig.run->measured;
	ck_assert(measured->is_partial);
	ck_assert_uint_eq(measured->ops, nb_histogram_count(measured->service));
	/* all puts that have begun, except the hanging one */
	ck_assert_uint_eq(measured->ops, __atomic_load_n(&puts_begun, __ATOMIC_RELAXED) - 1);
}

TEST(late_return_of_a_call_has_no_effect)
{
	begin(1);
	expect_left(PUT, "operation 300");
	const struct job_worker *worker = rig.run->loading.workers[0];
	__atomic_store_n(&is_free, 1, __ATOMIC_RELEASE);
	while (worker_pool_busy(&rig.run->pool) > 0)
		usleep(1000);
	ck_assert_uint_eq(worker->done, STUCK_AT + 1);
	ck_assert_uint_eq(worker->counted, STUCK_AT);
	ck_assert_uint_eq(nb_histogram_count(worker->counts[NB_OP_INSERT].service), STUCK_AT);
	ck_assert_uint_eq(rig.run->measured.ops, STUCK_AT);
}

TEST(session_that_does_not_open_is_reported_with_its_worker)
{
	begin(2);
	expect_left(SESSION_OPEN, "memory: session_open, worker 1: ");
}

TEST(open_and_close_have_their_own_limit)
{
	begin(1);
	rig.options.op_timeout_ns = 0;
	expect_left(OPEN, "memory: open: ");
	rig_assert_told("nothing was measured");
	ck_assert_uint_ge(rig.run->measured.open_ns, TIMEOUT_NS);
	ck_assert(!rig.run->measured.has_begun);
}

TEST(a_close_that_hangs_leaves_a_whole_result)
{
	begin(1);
	rig.options.op_timeout_ns = 0;
	expect_left(CLOSE, "memory: close: ");
	ck_assert_uint_eq(rig.run->measured.ops, COUNT);
	ck_assert(!rig.run->measured.is_partial);
	ck_assert(!rig.run->measured.has_settled);
}

TEST(without_a_limit_nothing_is_overdue)
{
	struct heartbeat heartbeat = {.call = NULL};
	begin(1);
	rig.options.op_timeout_ns = 0;
	rig_new(&rig, NULL);
	heartbeat_enter(&heartbeat, "put");
	for (int i = 0; i < 3; i++) {
		ck_assert(!run_watch(rig.run, &heartbeat, false));
		usleep(1000);
	}
}

/** Requests a stop twice, once the engine hangs. */
static void *
stop_twice(void *arg)
{
	while (__atomic_load_n(&is_stuck, __ATOMIC_ACQUIRE) == 0)
		usleep(1000);
	nb_stop();
	nb_stop_waiting();
	return arg;
}

/** The error of a run without time limits that is stopped twice while `where` hangs. */
static void
expect_interrupted(int where, const char *told)
{
	pthread_t other;
	begin(1);
	rig.options.op_timeout_ns = rig.options.call_timeout_ns = 0;
	ck_assert_int_eq(pthread_create(&other, NULL, stop_twice, NULL), 0);
	stuck_in = where;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_ERR_INTERRUPTED);
	rig_assert_told("interrupted: memory: ");
	rig_assert_told(told);
	ck_assert(!was_closed);
	pthread_join(other, NULL);
	nb_stop_clear();
}

TEST(a_second_request_to_stop_waits_for_no_operation)
{
	expect_interrupted(PUT, "put, operation 300 ");
	ck_assert_uint_eq(rig.run->measured.ops, STUCK_AT);
}

TEST(a_second_request_to_stop_waits_for_no_close)
{
	expect_interrupted(CLOSE, "close: ");
	ck_assert_uint_eq(rig.run->measured.ops, COUNT);
}

TEST(a_request_to_stop_gives_a_call_some_time)
{
	begin(1);
	rig.options.op_timeout_ns = rig.options.call_timeout_ns = 0;
	rig_new(&rig, NULL);
	struct heartbeat heartbeat = {.call = NULL};
	heartbeat_enter(&heartbeat, "put");
	ck_assert(!run_watch(rig.run, &heartbeat, false));
	heartbeat.since_ns -= UINT64_C(20000000000); /* simulates a call of 20 s */
	nb_stop();
	ck_assert(!run_watch(rig.run, &heartbeat, false));
	rig.run->left.stop_ns -= UINT64_C(20000000000);
	ck_assert(!run_watch(rig.run, &heartbeat, true)); /* if it closes */
	ck_assert(run_watch(rig.run, &heartbeat, false));
	ck_assert_int_eq(run_left_failure(rig.run), NB_ERR_INTERRUPTED);
	nb_stop_clear();
}

static pthread_t callers[3];

static int
note_caller(struct nb_run *run)
{
	callers[run->settle_upto++] = pthread_self();
	return run->settle_upto == 2 ? error_set(NB_UNSUPPORTED, "not here") : NB_OK;
}

TEST(one_other_thread_executes_all_calls)
{
	begin(1);
	rig_new(&rig, NULL);
	(void)error_set(NB_FAIL, "of earlier");
	ck_assert_int_eq(run_call(rig.run, "stats", false, note_caller), NB_OK);
	ck_assert_int_eq(run_call(rig.run, "stats", false, note_caller), NB_UNSUPPORTED);
	ck_assert_str_eq(nb_error_text(), "not here");
	ck_assert_int_eq(run_call(rig.run, "stats", false, note_caller), NB_OK);
	ck_assert_str_eq(nb_error_text(), "");
	ck_assert(!pthread_equal(callers[0], pthread_self()));
	ck_assert(pthread_equal(callers[0], callers[1]));
	ck_assert(pthread_equal(callers[0], callers[2]));
}
