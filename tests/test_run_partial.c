/* SPDX-License-Identifier: BSD-2-Clause */
/* Features for ranks: partial results, a begin that others choose, and one shard. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "report/result.h"
#include "toy.h"
#include "unit.h"

enum { PARTIALS = 3 };

static struct toy_rig rig;

static struct heard {
	uint64_t count, ops, wrong, digest;
} heard;

/** Check a partial result. Operations never decrease. The last one stops the run. */
static void
hear(void *arg, const struct nb_run *run)
{
	struct heard *into = arg;
	struct nb_result *result;
	if (nb_result_new(&result, run) != NB_OK) {
		into->wrong++;
		return;
	}
	uint64_t ops = nb_result_ops(result), by_group = 0;
	for (size_t g = 0; g < result->group_count; g++)
		by_group += result->groups[g].measured.ops;
	into->wrong += ops < into->ops || by_group != ops;
	into->wrong += nb_result_is_partial(result) == 0;
	/* histograms are read after the counts, while operations go on */
	into->wrong += ops > 0 && nb_histogram_count(nb_result_service(result)) == 0;
	into->wrong += result->measured.begun_at_ns == 0;
	into->wrong += result->measured.series.count > 0;
	into->ops = ops;
	into->digest = nb_result_digest(result);
	nb_result_delete(result);
	if (++into->count == PARTIALS)
		nb_stop();
}

static void
begin(const char *text)
{
	toy_create(&rig, text);
	heard = (struct heard){0};
	rig.options.partial = hear;
	rig.options.partial_arg = &heard;
	rig.options.partial_ns = 1000000;
}

/** Let the next partial result be due at once. */
static void
forget_cost(void *arg, const struct nb_progress *progress)
{
	(void)arg;
	(void)progress;
	rig.run->partial_cost_ns = 0;
}

TEST(partial_results_contain_the_finished_operations)
{
	begin("records = 100\n[a]\nread = 1\nduration = 200s\nrate = 2k\nthreads = 2\n"
	      "[b]\nupdate = 1\nduration = 200s\nrate = 1k\n");
	rig.options.progress = forget_cost;
	ck_assert_int_eq(toy_run(&rig), NB_ERR_INTERRUPTED);
	ck_assert_uint_ge(heard.count, PARTIALS);
	ck_assert_uint_eq(heard.wrong, 0);
	ck_assert_uint_ge(rig.run->measured.ops, heard.ops);
	ck_assert_uint_eq(rig.run->digest, heard.digest);
	/* the final result excludes the partial ones */
	ck_assert_uint_eq(nb_histogram_count(rig.run->measured.service), rig.run->measured.ops);
}

TEST(partial_results_have_no_series_which_the_final_one_has)
{
	begin("records = 100\nread = 1\ncount = 100\n");
	toy_new(&rig);
	struct series *series = &rig.run->measured.series;
	ck_assert_int_eq(series_add(series, &(struct sample){.ops = 7}), NB_OK);
	job_tell_partial(rig.run, 5000000);
	ck_assert_uint_eq(heard.count, 1);
	ck_assert_uint_eq(heard.wrong, 0);
	ck_assert_uint_eq(series->count, 1);
	ck_assert_uint_eq(series->samples[0].ops, 7);
}

/** Takes 2 ms of CPU time or more. */
static void
work(void *arg, const struct nb_run *run)
{
	uint64_t *calls = arg, end_ns = clock_thread_cpu_ns() + 2000000;
	while (clock_thread_cpu_ns() < end_ns)
		;
	++*calls;
}

TEST(calls_that_take_long_are_rare)
{
	const uint64_t ms = 1000000, hour = 3600000 * ms;
	uint64_t calls = 0;
	begin("records = 100\nread = 1\ncount = 100\n");
	rig.options.partial = work;
	rig.options.partial_arg = &calls;
	toy_new(&rig);
	job_tell_partial(rig.run, 5 * ms);
	ck_assert_uint_eq(calls, 1);
	job_tell_partial(rig.run, 6 * ms);
	job_tell_partial(rig.run, 2004 * ms);
	ck_assert_uint_eq(calls, 1);
	job_tell_partial(rig.run, hour);
	ck_assert_uint_eq(calls, 2);
}

/** The number of calls, and the start time that they return from `known_from` on. */
static struct {
	uint32_t asked, known_from;
	uint64_t moment_ns;
} start;

static uint64_t
tell_start(void *arg)
{
	(void)arg;
	return ++start.asked < start.known_from ? 0 : start.moment_ns;
}

static void
begin_at(uint64_t moment_ns)
{
	toy_create(&rig,
		"records = 100\n[a]\nread = 1\ncount = 100\n"
		"[b]\nread = 1\ncount = 100\nstart = after\n");
	start.asked = 0;
	start.known_from = 5;
	start.moment_ns = moment_ns;
	rig.options.start = tell_start;
}

TEST(operations_begin_at_the_given_time)
{
	uint64_t moment_ns = clock_real_ns() + UINT64_C(300000000);
	begin_at(moment_ns);
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	ck_assert_uint_eq(start.asked, 5); /* until it is known; not for phase two */
	/* a clock set meanwhile changes both */
	ck_assert_uint_ge(rig.run->measured.begun_at_ns, moment_ns - 1000000);
	ck_assert_uint_eq(rig.run->measured.ops, 200);
}

TEST(past_start_time_is_not_a_failure)
{
	begin_at(clock_real_ns() - 1000000000);
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	ck_assert_uint_eq(rig.run->measured.ops, 200);
}

TEST(shard_of_the_options_overrides_that_of_the_job)
{
	uint64_t digest = 0;
	for (uint32_t shard = 0; shard < 2; shard++) {
		toy_create(&rig, "records = 100\nread = 1\ncount = 1000\n");
		rig.options.shard = shard;
		rig.options.shards = 2;
		ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
		struct nb_result *result;
		ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
		ck_assert_str_eq(result->shard, shard == 0 ? "0/2" : "1/2");
		nb_result_delete(result);
		ck_assert_uint_lt(rig.run->measured.ops, 1000);
		ck_assert(shard == 0 || rig.run->digest == digest);
		digest = rig.run->digest;
	}
}
