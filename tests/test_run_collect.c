/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reports during a job: the operations of all intervals add up, the backlog, and the moment
 * when the run becomes steady.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/result.h"
#include "toy.h"
#include "unit.h"

static struct toy_rig rig;

static struct heard {
	uint64_t count, ops, last_end_ns, behind, wrong, warmup_ns;
	uint32_t phases, warmups;
} heard;

static void
hear(void *arg, const struct nb_interval *interval)
{
	struct heard *into = arg;
	if (into->count > 0 && interval->phase + 1 != into->phases)
		into->last_end_ns = 0; /* each phase starts at time 0 */
	into->count++;
	into->ops += interval->ops;
	into->phases = interval->phase + 1;
	into->warmups += interval->is_warmup;
	/* the middle of an interval decides */
	into->wrong += interval->is_warmup !=
		(interval->end_ns - interval->duration_ns / 2 - interval->duration_ns % 2 <
			into->warmup_ns);
	into->behind = interval->behind_ops;
	into->wrong += interval->size != sizeof(*interval);
	/* each interval begins where the last one ended */
	into->wrong += interval->end_ns - interval->duration_ns != into->last_end_ns;
	into->wrong += interval->p50_ns > interval->p99_ns && interval->p99_ns > 0;
	into->wrong += interval->p99_ns > interval->max_ns;
	into->last_end_ns = interval->end_ns;
}

static void
begin(const char *text, uint64_t interval_ns)
{
	toy_create(&rig, text);
	heard = (struct heard){0};
	rig.options.interval_ns = interval_ns;
	rig.options.interval = hear;
	rig.options.interval_arg = &heard;
}

TEST(operations_of_intervals_are_all_operations)
{
	static const uint64_t lengths[] = {1000000, 30000000, UINT64_C(100000000000)};
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		begin("records = 100\nread = 1\nupdate = 1\ncount = 1000\nthreads = 3\n"
		      "rate = 10k\nwarmup = 100\n",
			lengths[i]);
		ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
		ck_assert_uint_ge(heard.count, 1);
		ck_assert_uint_eq(heard.ops, 1000); /* includes the warm-up */
		ck_assert_uint_eq(heard.wrong, 0);
		ck_assert_uint_eq(heard.behind, 0); /* in the last interval */
	}
}

TEST(each_phase_has_its_own_intervals)
{
	begin("records = 100\n[first]\nread = 1\ncount = 500\nrate = 20k\n"
	      "[second]\nupdate = 1\ncount = 300\nstart = after\n",
		1000000);
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	ck_assert_uint_eq(heard.ops, 800);
	ck_assert_uint_eq(heard.phases, 2);
	ck_assert_uint_eq(heard.wrong, 0);
}

TEST(intervals_of_a_warm_up_are_marked)
{
	begin("records = 100\nread = 1\nduration = 60ms\nwarmup = 30ms\nrate = 10k\n", 1000000);
	heard.warmup_ns = 30000000;
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	ck_assert_uint_eq(heard.wrong, 0);
	ck_assert_uint_gt(heard.count, 0);
}

TEST(finished_group_no_longer_falls_behind)
{
	/* the first group ends long before the second one, which is limited by time */
	begin("records = 100\n[few]\nread = 1\nrate = 100k\ncount = 10\n"
	      "[long]\nread = 1\nduration = 60ms\n",
		10000000);
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	ck_assert_uint_eq(heard.behind, 0);
	ck_assert_uint_eq(toy_measured(&rig, 0)->ops, 10);
}

TEST(group_no_longer_falls_behind_after_its_duration)
{
	/* 20 operations are due in its time; 100 would be at the end of the other group */
	begin("records = 100\n[short]\nread = 1\nrate = 1k\nduration = 20ms\n"
	      "[long]\nread = 1\nduration = 100ms\n",
		10000000);
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	ck_assert_uint_le(heard.behind, 20);
	toy_destroy(&rig);
}

TEST(missed_due_times_form_a_queue)
{
	begin("records = 100\nread = 1\nrate = 100k\nduration = 40ms\n", 10000000);
	toy_break_run(&rig, TOY_SLOW, TOY_GET, 1, 0);
	toy.sleep_ns = 1000000;
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	const struct job_measurement *measured = toy_measured(&rig, 0);
	/* 4000 are due, but at most one per millisecond can be done */
	ck_assert_uint_le(measured->done, 41);
	ck_assert_double_le(measured->offered_ops, 4000);
	ck_assert_double_ge(measured->offered_ops, 3990);
	ck_assert_uint_ge(heard.behind, 3900);
	/* the last operation began after all others, and was due with the first 41 */
	ck_assert_uint_ge(measured->lag_ns + 410000, (measured->done - 1) * 1000000);
	struct nb_result *result;
	struct nb_job_summary summary;
	ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
	nb_result_summarize_job(result, &summary);
	ck_assert_uint_eq(summary.has_queue_grown, 1);
	ck_assert_uint_ge(summary.behind_ops, 3900);
	ck_assert_uint_eq(summary.behind_ns, measured->lag_ns);
	nb_result_delete(result);
}

TEST(sum_excludes_background_groups)
{
	begin("records = 100\n[readers]\nread = 1\ncount = 20000\n[writers]\nupdate = 1\n"
	      "background = yes\n",
		0);
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	struct nb_result *result;
	struct nb_summary sum;
	ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
	nb_result_summarize(result, &sum);
	const struct nb_histogram *reads = toy_measured(&rig, 0)->kinds[NB_OP_READ].service;
	ck_assert_uint_eq(sum.ops, 20000);
	ck_assert_uint_eq(sum.max_ns, nb_histogram_max(reads));
	ck_assert_uint_eq(sum.p50_ns, nb_histogram_percentile(reads, 50));
	ck_assert_uint_eq(sum.p999_ns, nb_histogram_percentile(reads, 99.9));
	nb_result_delete(result);
}

TEST(few_operations_are_not_a_queue)
{
	/*
	 * the first operation is due at once and begins some microseconds later; it is the only
	 * one
	 */
	begin("records = 100\nread = 1\nrate = 10\nduration = 20ms\n", 0);
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	struct nb_result *result;
	struct nb_job_summary sum;
	ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
	nb_result_summarize_job(result, &sum);
	ck_assert_uint_eq(sum.ops, 1);
	ck_assert_uint_eq(sum.has_queue_grown, 0);
	nb_result_delete(result);
}

static bool
is_noted(const struct nb_result *result, const char *part)
{
	for (size_t i = 0; i < result->note_count; i++) {
		if (strstr(result->notes[i].text, part) != NULL)
			return true;
	}
	return false;
}

TEST(missing_work_and_measurements_are_noted)
{
	static const struct {
		const char *text;
		bool is_nothing, is_idle;
	} cases[] = {{"count = 640", false, false}, {"count = 640\nwarmup = 100s", true, false},
		{"count = 100\nthreads = 5", false, true},
		{"count = 640\nthreads = 5", false, false}};
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		char text[128];
		snprintf(text, sizeof(text), "records = 100\nread = 1\n%s\n", cases[c].text);
		begin(text, 0);
		ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
		struct nb_result *result;
		ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
		ck_assert_int_eq(is_noted(result, "nothing was measured: all of its 640 "),
			cases[c].is_nothing);
		ck_assert_int_eq(
			is_noted(result, "3 of 5 threads did nothing"), cases[c].is_idle);
		nb_result_delete(result);
	}
}

TEST(steady_run_may_end)
{
	/* any rate is steady within such limits, after one full window */
	begin("records = 100\nread = 1\nduration = 100s\nthreads = 2\n", 0);
	rig.options.steady = (struct nb_steady){100000000, 1000, 1000};
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	ck_assert(rig.run->is_steady);
	ck_assert(!toy_measured(&rig, 0)->is_partial);
	ck_assert_uint_lt(toy_measured(&rig, 0)->span_ns, UINT64_C(100000000000));
	ck_assert_uint_ge(toy_measured(&rig, 0)->span_ns, 90000000);
}

TEST(load_never_ends_because_it_is_steady)
{
	begin("records = 3000\nread = 1\ncount = 100\n[load]\nrate = 10k\n", 1000000);
	rig.options.steady = (struct nb_steady){20000000, 1000, 1000};
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	ck_assert_uint_eq(rig.run->loading.measured.ops, 3000);
	ck_assert_uint_eq(heard.ops, 100);
}

TEST(unsteady_run_continues_to_its_bound)
{
	begin("records = 100\nread = 1\ncount = 2000\n", 0);
	rig.options.steady = (struct nb_steady){UINT64_C(1000000000000), 0.01, 0.01};
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	ck_assert(!rig.run->is_steady);
	ck_assert_uint_eq(toy_measured(&rig, 0)->ops, 2000);
}

/* ---- the verdict ---- */

TEST(all_that_is_wrong_is_counted_and_named)
{
	begin("records = 10\n[good]\nread = 1\ncount = 10\n[bad]\nread = 1\ncount = 10\n", 0);
	toy_new(&rig);
	ck_assert_int_eq(job_judge(rig.run), NB_OK);
	struct job_findings *findings = &rig.run->parts[1].measured.findings;
	findings->verified = 100;
	findings->verdicts[JOB_GOOD] = 93;
	for (int i = JOB_GOOD + 1; i < JOB_VERDICTS; i++)
		findings->verdicts[i] = 1;
	ck_assert_int_eq(job_judge(rig.run), NB_ERR_DATA);
	toy_assert_told(
		"bad: 13 of 100 verified records are wrong: "
		"missing 1, wrong size 1, value of another key 1, corrupt 1, stale 1, ");
}
