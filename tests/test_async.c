/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The worker loop with requests in flight. It executes and counts each operation once, in
 * whatever order the requests complete. It finds the same defects as the synchronous loop.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "run/doubt.h"
#include "run/worker_taken.h"
#include "toy.h"
#include "unit.h"

enum { COUNT = 640, VALUE = 100, DEPTH = 16 };

#define BASE "records = 500\n"
#define MIX "read = 4\nupdate = 3\ninsert = 1\nupsert = 1\n"

static struct toy_rig rig;
static struct toy_worker with;

static void
make(const char *text)
{
	char all[512];
	const char *count = strstr(text, "count = ") != NULL ? "" : "count = 640";
	const char *depth = strstr(text, "depth = ") != NULL ? "" : "depth = 16";
	const char *records = strstr(text, "records = ") != NULL ? "" : BASE;
	snprintf(all, sizeof(all), "%s%s\n%s\n%s\n", records, count, depth, text);
	toy_create(&rig, all);
}

/** Create the job; returns its worker, ready to run. */
static struct job_worker *
start(void)
{
	toy_new(&rig);
	toy_load(&rig);
	toy_enter(&rig, &with, &rig.run->parts[0]);
	toy_reset();
	return with.workers[0];
}

static struct job_worker *
begin(const char *text)
{
	make(text);
	return start();
}

static void
assert_done(const struct job_worker *worker, uint64_t count)
{
	ck_assert_msg(worker->rc == NB_OK, "%s", worker->text);
	ck_assert_uint_eq(worker->done, count);
	ck_assert_uint_eq(worker->counted, count);
	ck_assert_uint_eq(worker->measured, count);
	ck_assert_uint_eq(toy_wrong(&worker->findings), 0);
}

static void
assert_failed(const struct job_worker *worker, const char *text)
{
	ck_assert_int_lt(worker->rc, 0);
	ck_assert_msg(
		strstr(worker->text, text) != NULL, "'%s' is not in: %s", text, worker->text);
}

static const struct {
	const char *mix;
	uint32_t kind, verb, values;
} kinds[] = {
	{"read = 1", NB_OP_READ, TOY_GET, 1},
	{"update = 1", NB_OP_UPDATE, TOY_PUT, 1},
	{"insert = 1", NB_OP_INSERT, TOY_PUT, 1},
	{"upsert = 1", NB_OP_UPSERT, TOY_PUT, 1},
	{"delete = 1\ncount = 500\ndistribution = sequential", NB_OP_DELETE, TOY_DEL, 0},
};

TEST(each_operation_is_one_request_and_counts_once)
{
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		struct job_worker *worker = begin(kinds[k].mix);
		uint64_t count = kinds[k].kind == NB_OP_DELETE ? 500 : COUNT;
		toy_go(&with);
		assert_done(worker, count);
		const struct job_counts *counts = &worker->counts[kinds[k].kind];
		ck_assert_uint_eq(toy_calls(kinds[k].verb), count);
		ck_assert_uint_eq(toy_calls(TOY_REAP), count);
		ck_assert_uint_eq(counts->answers[NB_OK], count);
		ck_assert_uint_eq(counts->records, count * kinds[k].values);
		ck_assert_uint_eq(counts->bytes, count * kinds[k].values * VALUE);
		ck_assert_uint_eq(nb_histogram_count(counts->service), count);
		ck_assert_ptr_null(counts->response); /* the job has no rate */
	}
}

TEST(answers_are_correct_at_any_depth_in_any_order)
{
	static const char *const depths[] = {"2", "7", "64", "200"};
	static const uint64_t rooms[] = {0, 1, 5}, reaped[] = {0, 1, 3};
	static const char *const bytes[] = {"0", "130", "200"};
	/* A step that shares no factor with these numbers: each value of each part occurs. */
	enum { STEP = UNIT_STEP > 1 ? UNIT_STEP + 1 : 1 };
	for (size_t i = 0; i < 2 * 4 * 3 * 3 * 3; i += STEP) {
		char text[256];
		snprintf(text, sizeof(text),
			"records = 40\n" MIX "lag = 400\ndepth = %s\nbatch-bytes = %s",
			depths[i / 2 % 4], bytes[i / 72]);
		make(text);
		toy.copies = i % 2 != 0;
		struct job_worker *worker = start();
		toy.room = rooms[i / 8 % 3];
		toy.reaped_most = reaped[i / 24 % 3];
		toy_go(&with);
		assert_done(worker, COUNT);
		ck_assert_uint_eq(worker->findings.foreign, 0);
		ck_assert_int_eq(job_worker_read_back(worker), NB_OK);
		ck_assert_uint_gt(worker->findings.read_back, 0);
		ck_assert_uint_eq(toy_wrong(&worker->findings), 0);
	}
}

TEST(slots_are_refilled_as_soon_as_they_are_free)
{
	struct job_worker *worker = begin("read = 1\ncount = 6400");
	toy.reaped_most = 1;
	toy_go(&with);
	assert_done(worker, 6400);
	ck_assert_uint_eq(toy.in_flight_most, DEPTH);
	/* 8.5 if the worker waited for the whole batch */
	ck_assert_double_ge((double)toy.in_flight_sum / (double)toy.reaps, DEPTH - 0.1);
}

TEST(next_requests_are_gathered_before_the_wait)
{
	struct job_worker *worker = begin("read = 1");
	toy_break(TOY_FAIL, TOY_REAP, 1, 0);
	toy_go(&with);
	ck_assert_int_lt(worker->rc, 0);
	ck_assert_uint_eq(toy.in_flight_most, DEPTH);
	ck_assert_uint_eq(worker->async->tail - worker->async->head, DEPTH);
}

TEST(server_gets_a_part_of_the_depth_at_once)
{
	for (int is_remote = 0; is_remote < 2; is_remote++) {
		toy.is_remote = is_remote != 0;
		struct job_worker *worker = begin("update = 1");
		toy_go(&with);
		assert_done(worker, COUNT);
		ck_assert_uint_eq(toy.in_flight_most, DEPTH);
		ck_assert_uint_eq(toy.submitted_most, is_remote ? DEPTH / 4 + 1 : DEPTH);
		ck_assert_uint_eq(nb_histogram_count(worker->batch), toy_calls(TOY_SUBMIT));
	}
	toy.is_remote = false;
}

TEST(bytes_are_gathered_before_their_submission)
{
	/* each put has 8 bytes of key and 100 of value: three of them are 324 */
	struct job_worker *worker = begin("update = 1\nbatch-bytes = 300");
	toy.reaped_most = 1;
	toy_go(&with);
	assert_done(worker, COUNT);
	ck_assert_uint_le(toy_calls(TOY_SUBMIT), COUNT / 3 + 2);
	ck_assert_uint_eq(nb_histogram_count(worker->batch), toy_calls(TOY_SUBMIT));
}

TEST(two_batches_of_small_requests_are_in_flight)
{
	/* each get has 8 bytes: a batch could have 38 of them, but the depth is 16 */
	struct job_worker *worker = begin("read = 1\nbatch-bytes = 300");
	toy_go(&with);
	assert_done(worker, COUNT);
	ck_assert_uint_eq(toy.submitted_most, DEPTH / 2);
	ck_assert_uint_eq(toy.in_flight_most, DEPTH);
}

TEST(the_time_of_a_batch_is_that_of_its_slowest)
{
	struct job_worker *worker = begin("read = 1\ncount = 16");
	toy.reaped_most = 1;
	toy_go(&with);
	const struct nb_histogram *service = worker->counts[NB_OP_READ].service;
	ck_assert_uint_eq(nb_histogram_count(worker->batch), 1);
	ck_assert_uint_eq(nb_histogram_max(worker->batch), nb_histogram_max(service));
	ck_assert_uint_lt(nb_histogram_min(service), nb_histogram_max(service));
}

TEST(a_warm_up_does_not_count)
{
	struct job_worker *worker = begin("read = 1\nwarmup = 600");
	toy_go(&with);
	ck_assert_uint_eq(worker->done, COUNT);
	ck_assert_uint_eq(worker->measured, 40);
	ck_assert_uint_eq(nb_histogram_count(worker->counts[NB_OP_READ].service), 40);
}

TEST(with_a_rate_response_time_starts_at_the_due_time)
{
	struct job_worker *worker = begin("read = 1\nrate = 100k");
	toy_go(&with);
	assert_done(worker, COUNT);
	const struct job_counts *counts = &worker->counts[NB_OP_READ];
	ck_assert_uint_eq(nb_histogram_count(counts->response), COUNT);
	ck_assert_uint_ge(
		nb_histogram_min(counts->response), nb_histogram_min(counts->service));
	ck_assert(nb_histogram_mean(counts->response) >= nb_histogram_mean(counts->service));
	/* the last operation is due after 639 / 640 of 6.4 ms and is not submitted earlier */
	ck_assert_uint_ge(worker->last_ticks - with.gate.begin, 6390000);
}

TEST(no_operation_due_after_the_end_begins)
{
	struct job_worker *worker = begin("read = 1\nrate = 100\nduration = 25ms\ncount = 0");
	toy_go(&with);
	ck_assert_uint_le(worker->done, 3);
	ck_assert_uint_eq(worker->done, toy_calls(TOY_GET));
}

/** Run on the engine null with requests that take `delay` and complete in another order. */
static const struct job_measurement *
run_delayed(const char *text, const char *delay)
{
	static const char *options[2] = {NULL, "reorder=3"};
	options[0] = delay;
	make(text);
	rig.options.driver = "null";
	rig.options.engine_options = options;
	rig.options.engine_option_count = 2;
	ck_assert_msg(nb_run_new(&rig.run, &rig.options) == NB_OK, "%s", nb_error_text());
	ck_assert_msg(nb_run_execute(rig.run) == NB_OK, "%s", nb_error_text());
	return toy_measured(&rig, 0);
}

#define MS UINT64_C(1000000)

TEST(littles_law_holds_between_depth_times_and_rate)
{
	const struct job_measurement *measured = run_delayed(
		"read = 1\ncount = 80\ndepth = 8", "delay=2ms");
	const struct nb_histogram *service = measured->kinds[NB_OP_READ].service;
	ck_assert_uint_eq(nb_histogram_count(service), 80);
	ck_assert_uint_ge(nb_histogram_min(service), 2 * MS);
	/*
	 * the sum of all times equals the mean number in flight times the duration of the run
	 */
	ck_assert_double_le(nb_histogram_mean(service) * 80, 8.0 * (double)measured->wall_ns);
	ck_assert_double_ge(nb_histogram_mean(service) * 80, 2.0 * (double)measured->wall_ns);
	ck_assert_uint_ge(measured->wall_ns, 80 / 8 * 2 * MS);
}

TEST(response_time_starts_when_due_and_service_time_at_submit)
{
	/*
	 * Four requests in flight of 5 ms each give 800/s, but 8000/s are due. Completion k
	 * comes not before 5 ms * k / 4, rounded up; operation i is due at i / 8 ms.
	 */
	const struct job_measurement *measured = run_delayed(
		"read = 1\ncount = 80\ndepth = 4\nrate = 8k", "delay=5ms");
	const struct nb_histogram *service = measured->kinds[NB_OP_READ].service;
	const struct nb_histogram *response = measured->kinds[NB_OP_READ].response;
	uint64_t ends_ms = 4 * 5 * (20 * 21 / 2), dues_ms = 80 * 79 / 2 / 8;
	ck_assert_uint_ge(nb_histogram_min(service), 5 * MS);
	ck_assert_uint_ge(nb_histogram_min(response), nb_histogram_min(service));
	ck_assert_uint_ge(nb_histogram_max(response), (100 - 10) * MS);
	ck_assert_double_ge(
		nb_histogram_mean(response) * 80, (double)((ends_ms - dues_ms) * MS) * 0.999);
	/* service times exclude the wait for a slot */
	ck_assert_double_le(nb_histogram_mean(service) * 80, 4.0 * (double)measured->wall_ns);
}

/* ---- waits ---- */

static int ticks;

static int
count_tick(struct nb_session *session)
{
	(void)session;
	ticks++;
	return NB_OK;
}

TEST(engine_ticks_while_no_request_completes)
{
	ticks = 0;
	struct job_worker *worker = begin("read = 1\ncount = 64");
	rig.run->engine->table.tick = count_tick;
	with.part->plan.timeout_ticks = clock_ticks(&rig.run->clock, 20000000);
	toy_break(TOY_DROP, TOY_REAP, 64, 1);
	toy_go(&with);
	assert_failed(worker, "the request has not come out of reap for ");
	ck_assert_int_ge(ticks, 1);
}

/** The other worker ends at the third tick. Without ticks, the first one would wait forever. */
static int
end_other_at_third(struct nb_session *session)
{
	(void)session;
	__atomic_store_n(&with.workers[1]->is_over, ++ticks >= 3, __ATOMIC_RELEASE);
	return NB_OK;
}

TEST(engine_ticks_while_a_thread_waits_for_another)
{
	ticks = 0;
	begin("read = 1\ninsert = 1\nthreads = 2\nlag = 128\ndepth = 8\ncount = 640");
	with.workers[1]->strata_done = 5;
	rig.run->engine->table.tick = end_other_at_third;
	toy_go(&with);
	ck_assert_int_eq(with.workers[0]->rc, NB_OK);
	ck_assert_int_eq(ticks, 3);
}

/* ---- what is wrong is found ---- */

TEST(each_wrong_value_is_detected)
{
	static const struct {
		uint32_t defect;
		int verdict;
	} defects[] = {{TOY_FLIP, JOB_CORRUPT}, {TOY_CUT, JOB_WRONG_SIZE},
		{TOY_MISS, JOB_MISSING}, {TOY_OTHER, JOB_OTHER_KEY}};
	for (size_t i = 0; i < sizeof(defects) / sizeof(*defects); i++) {
		struct job_worker *worker = begin("read = 1");
		toy_break(defects[i].defect, TOY_GET, 300, 1);
		toy_go(&with);
		ck_assert_int_eq(worker->rc, NB_OK);
		ck_assert_uint_eq(worker->findings.verdicts[defects[i].verdict], 1);
		ck_assert_uint_eq(toy_wrong(&worker->findings), 1);
	}
}

TEST(insert_verb_is_used_if_requested_and_an_existing_key_is_detected)
{
	struct job_worker *worker = begin("insert = 1\ninsert-verb = insert");
	uint8_t key[8] = {[6] = 1, [7] = 0xff}; /* record 511, one of the first inserted */
	struct nb_slice slice = {key, sizeof(key)};
	ck_assert_int_eq(rig.run->engine->table.put(worker->session, slice, slice), NB_OK);
	toy_go(&with);
	ck_assert_int_eq(worker->rc, NB_OK);
	ck_assert_uint_eq(worker->counts[NB_OP_INSERT].answers[NB_EXISTS], 1);
	ck_assert_uint_eq(worker->findings.verdicts[JOB_EXISTS], 1);
}

TEST(one_lost_put_in_a_thousand_is_detected)
{
	make("update = 1\ncount = 2000\ndepth = 64\nrecords = 2000\ndistribution = sequential");
	toy_break_run(&rig, TOY_DROP, TOY_PUT, 1990, 1);
	ck_assert_int_eq(toy_run(&rig), NB_ERR_DATA);
	toy_assert_told("stale 1");
}

TEST(values_without_a_version_are_verified_during_writes)
{
	static const struct {
		uint32_t defect;
		int verdict;
	} defects[] = {{TOY_FLIP, JOB_CORRUPT}, {TOY_MISS, JOB_MISSING}};
	for (size_t i = 0; i < sizeof(defects) / sizeof(*defects); i++) {
		struct job_worker *worker = begin(
			"records = 64\nread = 1\nupdate = 1\ncount = 6400\nvalue-size = 8");
		ck_assert(!worker->async->doubts);
		toy_break(defects[i].defect, TOY_GET, 300, 1);
		toy_go(&with);
		ck_assert_int_eq(worker->rc, NB_OK);
		ck_assert_uint_eq(worker->findings.verdicts[defects[i].verdict], 1);
		ck_assert_uint_eq(toy_wrong(&worker->findings), 1);
		ck_assert_int_eq(job_worker_read_back(worker), NB_OK);
		ck_assert_uint_eq(worker->findings.read_back, 64);
		ck_assert_uint_eq(toy_wrong(&worker->findings), 1);
	}
}

TEST(old_value_is_detected_with_other_requests_in_flight)
{
	/* every record is written repeatedly, with four of 64 in flight */
	struct job_worker *worker = begin(
		"records = 64\nread = 1\nupdate = 1\ncount = 6400\ndepth = 4");
	toy_break(TOY_OLD, TOY_GET, 2000, 100);
	toy_go(&with);
	ck_assert_int_eq(worker->rc, NB_OK);
	ck_assert_uint_ge(worker->findings.verdicts[JOB_STALE], 60);
}

TEST(older_write_that_completes_late_does_not_replace_a_newer_version)
{
	struct job_worker *worker = begin("update = 1");
	uint64_t one = 3, other = 3 + worker->plan->own_places; /* same place */
	struct track tracks[3];
	doubt_take(worker, &tracks[0], one, true, true);
	doubt_take(worker, &tracks[1], one, true, true);
	doubt_take(worker, &tracks[2], other, true, true);
	doubt_settle(worker, &tracks[1], one, 20, NB_OP_UPDATE, true);
	ck_assert_uint_eq(job_own_index(job_own_of(worker, one)), 20);
	doubt_settle(worker, &tracks[2], other, 30, NB_OP_UPDATE, true);
	doubt_settle(worker, &tracks[0], one, 10, NB_OP_UPDATE, true);
	ck_assert_uint_eq(job_own_of(worker, one)->number, other + 1);
}

TEST(only_old_and_new_values_are_accepted_during_a_write)
{
	struct job_worker *worker = begin("update = 1");
	struct job_doubt doubt = {.settled = 101, .has_put = true};
	struct ops_op op = {.kind = NB_OP_READ, .items = 1, .index = 200};
	uint8_t key[8] = {0}, bytes[VALUE];
	uint64_t number = 0;
	struct nb_slice slice = {key, sizeof(key)};
	const struct ops_spec *spec = &rig.run->parts[0].spec;
	static const struct {
		uint64_t index;
		bool is_loaded, is_stale;
	} values[] = {
		{100, false, false}, {150, false, false}, {99, false, true}, {0, true, true}};
	op.numbers = &number;
	op.keys = &slice;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		uint64_t version = values[i].is_loaded ? 0 : ops_version(spec, values[i].index);
		uint64_t before = worker->findings.verdicts[JOB_STALE];
		values_write_sized(&spec->values, bytes, slice, VALUE, version);
		worker->doubt = &doubt;
		job_verify_value(worker, &op, 0, (struct nb_slice){bytes, VALUE});
		ck_assert_uint_eq(
			worker->findings.verdicts[JOB_STALE] - before, values[i].is_stale);
	}
	worker->doubt = NULL;
}

/* ---- conflicts ---- */

TEST(conflicting_request_is_submitted_again_without_delaying_others)
{
	for (int copies = 0; copies < 2; copies++) {
		make("records = 8\nread = 1\nupdate = 1\ncount = 6400");
		toy.copies = copies != 0;
		struct job_worker *worker = start();
		toy_break(TOY_CONFLICT, TOY_PUT, 5, 300);
		toy.reaped_most = 2; /* so a retried write meets reads in flight */
		toy_go(&with);
		assert_done(worker, 6400);
		ck_assert_uint_eq(worker->counts[NB_OP_UPDATE].answers[NB_CONFLICT], 300);
		ck_assert_uint_eq(
			toy_calls(TOY_PUT), worker->counts[NB_OP_UPDATE].answers[NB_OK] + 300);
		ck_assert_int_eq(job_worker_read_back(worker), NB_OK);
		ck_assert_uint_eq(toy_wrong(&worker->findings), 0);
	}
}

TEST(request_that_always_conflicts_fails)
{
	struct job_worker *worker = begin("update = 1");
	with.part->plan.conflict_ns = 2000000;
	toy_break(TOY_CONFLICT, TOY_PUT, 100, 0);
	toy_go(&with);
	assert_failed(worker, "answered with nothing but conflicts for 0.002 s");
	ck_assert_uint_eq(worker->done, 99);
}

/* ---- failures and the end ---- */

TEST(failed_request_has_its_own_text)
{
	struct job_worker *worker = begin("update = 1");
	toy_break(TOY_FAIL, TOY_PUT, 100, 1);
	toy_go(&with);
	assert_failed(worker, "the request is broken");
	assert_failed(worker, "update, operation ");
	ck_assert_uint_ge(worker->done, 99);
	ck_assert_uint_eq(worker->done, toy_calls(TOY_PUT) - 1);
}

TEST(errors_of_submit_and_reap_are_reported)
{
	static const struct {
		uint32_t defect, verb;
		const char *text;
	} defects[] = {{TOY_FAIL, TOY_SUBMIT, "submit: the toy is broken"},
		{TOY_ODD, TOY_SUBMIT, "submit: gave an answer that means nothing here"},
		{TOY_MISS, TOY_SUBMIT, "submit: gave an answer that means nothing here"},
		{TOY_FAIL, TOY_REAP, "reap: the toy is broken"},
		{TOY_ODD, TOY_REAP, "reap: returned a tag that is not in flight"},
		{TOY_REPEAT, TOY_REAP, "reap: returned a tag that is not in flight"}};
	for (size_t i = 0; i < sizeof(defects) / sizeof(*defects); i++) {
		struct job_worker *worker = begin("update = 1");
		toy_break(defects[i].defect, defects[i].verb, 3, 1);
		toy_go(&with);
		assert_failed(worker, defects[i].text);
		ck_assert_uint_eq(worker->counted, worker->done);
	}
}

TEST(invalid_answer_is_reported)
{
	struct job_worker *worker = begin("update = 1");
	toy_break(TOY_ODD, TOY_PUT, 3, 1);
	toy_go(&with);
	assert_failed(worker, "answered 9, which means nothing here");
}

TEST(value_with_an_impossible_size_is_refused)
{
	struct job_worker *worker = begin("read = 1");
	toy_break(TOY_HUGE, TOY_GET, 3, 1);
	toy_go(&with);
	assert_failed(worker, "reap");
}

TEST(request_that_never_completes_ends_the_run)
{
	struct job_worker *worker = begin("read = 1\ncount = 64");
	with.part->plan.timeout_ticks = clock_ticks(&rig.run->clock, 20000000);
	toy_break(TOY_DROP, TOY_REAP, 64, 1); /* after all other requests have completed */
	toy_go(&with);
	assert_failed(worker, "the request has not come out of reap for ");
	ck_assert_uint_eq(worker->done, 63);
	ck_assert_uint_eq(worker->counted, 63);
}

TEST(stopped_process_loses_no_request)
{
	struct job_worker *worker = begin("read = 1\ncount = 64");
	with.part->plan.timeout_ticks = clock_ticks(&rig.run->clock, 200000000);
	toy.reaped_most = 1;
	toy.sleep_ns = 300000000; /* the others are still in flight */
	toy_break(TOY_SLOW, TOY_REAP, 10, 1);
	toy_go(&with);
	assert_done(worker, 64);
}

TEST(all_operations_are_counted_after_a_stop)
{
	struct job_worker *worker = begin("update = 1");
	toy_break(TOY_STOP, TOY_PUT, 200, 1);
	toy_go(&with);
	nb_stop_clear();
	ck_assert_int_eq(worker->rc, NB_OK);
	ck_assert_uint_lt(worker->done, COUNT);
	ck_assert_uint_eq(worker->done, toy_calls(TOY_PUT)); /* none is left in flight */
	ck_assert_uint_eq(worker->counted, worker->done);
}

TEST(halt_ends_the_run_soon)
{
	struct job_worker *worker = begin("read = 1");
	with.halt = 1;
	toy_go(&with);
	ck_assert_int_eq(worker->rc, NB_OK);
	ck_assert_uint_eq(worker->done, 0);
}

/* ---- threads ---- */

TEST(threads_share_the_operations_and_read_inserts_of_others)
{
	make("records = 100\n" MIX "threads = 3\ncount = 6400\nlag = 320");
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	const struct job_measurement *measured = toy_measured(&rig, 0);
	ck_assert_uint_eq(measured->done, 6400);
	ck_assert_uint_eq(toy_wrong(&measured->findings), 0);
	ck_assert_uint_gt(measured->findings.verified, 1000);
}

TEST(a_thread_waits_for_the_inserts_that_it_may_read)
{
	begin("read = 1\ninsert = 1\nthreads = 2\nlag = 128\ndepth = 8\ncount = 640");
	/*
	 * the other thread has executed strata 1 and 3 and ended: operations that need its
	 * stratum 5 never begin
	 */
	with.workers[1]->strata_done = 5;
	with.workers[1]->is_over = 1;
	toy_go(&with);
	ck_assert_int_eq(with.workers[0]->rc, NB_OK);
	ck_assert_uint_eq(with.workers[0]->done, 4 * OPS_STRATUM); /* strata 0, 2, 4 and 6 */
}

TEST(load_and_its_verification_have_requests_in_flight)
{
	make("records = 1000\nread = 1\n");
	rig.options.what = NB_JOB_LOAD;
	rig.job->load->depth = DEPTH;
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	ck_assert_uint_eq(rig.run->loading.measured.done, 1000);
	ck_assert_uint_eq(rig.run->loading.measured.findings.read_back, 1000);
	ck_assert_uint_eq(toy_calls(TOY_REAP), 1000);
}

/* ---- rejected jobs ---- */

static void
assert_refused(const char *text, int code, const char *part)
{
	make(text);
	ck_assert_int_eq(nb_run_new(&rig.run, &rig.options), code);
	toy_assert_told(part);
}

TEST(operations_that_cannot_be_in_flight_are_refused)
{
	assert_refused("scan = 1", NB_ERR_USAGE, "a scan cannot be a request in flight");
	assert_refused("batch = 1", NB_ERR_USAGE, "a batch cannot be a request in flight");
	assert_refused("read-modify-write = 1", NB_ERR_USAGE, "use --depth=1");
	assert_refused("read = 1\nlatency = sampled:64", NB_ERR_USAGE, "latency: must be each");
	assert_refused("txn-read = 1", NB_ERR_USAGE, "a txn-read cannot");
	assert_refused("multi-get = 1", NB_ERR_USAGE, "a multi-get cannot");
	assert_refused(
		"read = 1\ndepth = 1\nbatch-bytes = 1", NB_ERR_USAGE, "needs a depth above 1");
	assert_refused("read = 1\nbatch-bytes = 1729", NB_ERR_USAGE,
		"16 requests of up to 108 bytes hold 1728");
	assert_refused("read = 1\ndepth = 65536\nvalue-size = 1MiB", NB_ERR_USAGE,
		"at most 1023 are possible");
	assert_refused("read = 1\ninsert = 1\nlag = 64", NB_ERR_USAGE, "--lag=80");
}

TEST(an_engine_without_requests_is_refused)
{
	struct nb_group group = {.name = "run", .depth = 2, .weights = {1}};
	struct nb_engine engine = {.name = "mine"};
	ck_assert_int_eq(run_check_verbs(&engine,
				 &(struct nb_job){.size = sizeof(struct nb_job)}, &group),
		NB_UNSUPPORTED);
	toy_assert_told("run: mine cannot do several requests in flight; use --depth=1");
	group.depth = 1;
	ck_assert_int_eq(run_check_verbs(&engine,
				 &(struct nb_job){.size = sizeof(struct nb_job)}, &group),
		NB_OK);
}

TEST(depths_out_of_range_are_refused)
{
	make("read = 1");
	ck_assert_int_eq(nb_job_set(rig.job, "depth=0"), NB_ERR_USAGE);
	ck_assert_int_eq(nb_job_set(rig.job, "depth=65537"), NB_ERR_USAGE);
	ck_assert_int_eq(nb_job_set(rig.job, "depth=65536"), NB_OK);
	toy_destroy(&rig);
}
