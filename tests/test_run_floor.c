/* SPDX-License-Identifier: BSD-2-Clause */
/* The overhead of mininb itself, measured for every mix that the engine null supports. */
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "toy.h"
#include "unit.h"

static struct toy_rig rig;

static void
measure(const char *text, uint32_t what)
{
	toy_create(&rig, text);
	rig.options.what = what;
	toy_new(&rig);
	ck_assert_msg(job_floor_measure(rig.run) == NB_OK, "%s", nb_error_text());
}

TEST(mixes_and_sizes_have_a_floor)
{
	static const char *const texts[] = {"records = 1000\nread = 1\nupdate = 1\n",
		"records = 10\ninsert = 1\nread = 1\n",
		"records = 10\nread = 1\nvalue-size = 0\n",
		"records = 10\nupdate = 1\nvalue-size = 9MiB\n",
		"records = 10\nupdate = 1\nvalue-size = uniform:1..10000\n",
		"records = 10\nread-modify-write = 1\nrate = 10\n",
		"records = 10\nread = 1\nduration = 1s\nwarmup = 500ms\n",
		"records = 10\nread = 1\ncount = 1\n",
		"records = 2\ninsert = 1\nread = 1\nvalue-size = 20MiB\n"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		for (uint32_t what = NB_JOB_LOAD; what <= NB_JOB_RUN; what++) {
			measure(texts[i], what);
			ck_assert(rig.run->measured.floor_op_ns > 0);
			ck_assert(rig.run->measured.floor_op_ns < 1e9);
		}
}

TEST(measurement_of_the_floor_does_not_change_the_run)
{
	measure("records = 100\nread = 1\nupdate = 1\nrate = 10k\nthreads = 3\n", NB_JOB_RUN);
	const struct job_part *part = &rig.run->parts[0];
	ck_assert_ptr_eq(part->plan.engine, &rig.run->engine->table);
	ck_assert_ptr_null(part->workers);
	ck_assert_uint_eq(part->measured.ops, 0);
	ck_assert_uint_eq(part->plan.threads, 3);
	ck_assert(part->plan.is_paced);
	ck_assert_uint_eq(toy_calls(TOY_GET) + toy_calls(TOY_PUT), 0);
}

TEST(operations_that_null_lacks_have_no_floor)
{
	static const char *const texts[] = {"records = 10\nscan = 1\n",
		"records = 10\nbatch = 1\n", "records = 10\nmulti-get = 1\n",
		"records = 10\ntxn-read = 1\n", "records = 10\ntxn-write = 1\nread = 1\n"};
	const struct nb_engine *null = engine_builtin("null");
	const bool can[] = {null->scan_open != NULL, null->batch != NULL,
		null->multi_get != NULL, null->begin != NULL, null->begin != NULL};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		measure(texts[i], NB_JOB_RUN);
		ck_assert_int_eq(rig.run->measured.floor_op_ns > 0, can[i]);
	}
}

TEST(latency_is_within_the_operation)
{
	measure("records = 30000\nread = 1\n", NB_JOB_RUN);
	/*
	 * Half of the latencies of a pass are at least their median m, so the pass takes at
	 * least m/2 per operation.
	 */
	const struct measurement *measured = &rig.run->measured;
	ck_assert((double)measured->floor_call_ns <= 8.1 * measured->floor_op_ns);
	ck_assert_uint_gt(measured->floor_call_ns, 0);
}

/**
 * The floor of reads of large values that are verified completely or only touched in each cache
 * line.
 */
static double
floor_of(double verify_rate)
{
	toy_create(&rig, "records = 200\nread = 1\nvalue-size = 64KiB\n");
	rig.options.verify_rate = verify_rate;
	toy_new(&rig);
	ck_assert_int_eq(job_floor_measure(rig.run), NB_OK);
	double op_ns = rig.run->measured.floor_op_ns;
	return op_ns;
}

TEST(floor_includes_the_verification_of_the_run)
{
	/* the latter takes 30 times as long; a disturbance would have to affect most passes */
	ck_assert(floor_of(0) < floor_of(1));
}

/** CPU time to measure the loading of `records` values of 8 MiB. */
static double
cost_of(const char *records)
{
	char text[96];
	struct timespec begin, end;
	snprintf(text, sizeof(text), "records = %s\nread = 1\nvalue-size = 8MiB\n", records);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	measure(text, NB_JOB_LOAD);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	return (double)(end.tv_sec - begin.tv_sec) +
		(double)(end.tv_nsec - begin.tv_nsec) / 1e9;
}

TEST(number_of_operations_with_large_values_is_limited_by_time)
{
	cost_of("1");
	ck_assert(cost_of("1000") < 10 * cost_of("1")); /* instead of 64 times */
}

TEST(floor_ends_after_a_stop)
{
	toy_create(&rig, "records = 1000\nread = 1\n");
	toy_new(&rig);
	nb_stop();
	ck_assert_int_eq(job_floor_measure(rig.run), NB_OK);
}
