/* SPDX-License-Identifier: BSD-2-Clause */
/* A job's result outlives its run. Its figures are those of the foreground groups. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/result.h"
#include "toy.h"
#include "unit.h"

static struct toy_rig rig;

TEST(a_result_outlives_its_run_and_its_job)
{
	struct nb_result *result;
	toy_create(&rig,
		"records = 100\nread = 1\nupdate = 1\ncount = 1000\nthreads = 3\n"
		"rate = 1M\n");
	ck_assert_int_eq(toy_run(&rig), NB_OK);
	uint64_t digest = rig.run->digest, wall_ns = toy_measured(&rig, 0)->wall_ns;
	uint64_t sum = nb_histogram_sum(toy_measured(&rig, 0)->kinds[NB_OP_READ].service);
	ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
	toy_destroy(&rig);
	rig.run = NULL;
	const struct job_result_group *group = &result->groups[0];
	ck_assert_uint_eq(result->group_count, 1);
	ck_assert_str_eq(group->name, "run");
	ck_assert_uint_eq(group->measured.ops, 1000);
	ck_assert_uint_eq(group->measured.thread_count, 3);
	ck_assert_uint_eq(nb_histogram_sum(group->measured.kinds[NB_OP_READ].service), sum);
	ck_assert_uint_eq(nb_histogram_count(nb_result_histogram(result, 0)), 1000);
	ck_assert_uint_eq(nb_histogram_count(nb_result_histogram(result, 1)), 1000);
	ck_assert_ptr_ne(nb_result_histogram(result, 0), nb_result_histogram(result, 1));
	struct nb_job_summary summary;
	nb_result_summarize_job(result, &summary);
	ck_assert_uint_eq(summary.size, sizeof(summary));
	ck_assert_uint_eq(summary.digest, digest);
	ck_assert_uint_eq(summary.ops, 1000);
	ck_assert_uint_eq(summary.wall_ns, wall_ns);
	ck_assert_double_eq_tol(summary.rate_ops_s, 1000 * 1e9 / (double)wall_ns, 1e-3);
	struct nb_summary row;
	nb_result_summarize(result, &row);
	ck_assert_double_eq(row.rate_ops_s, summary.rate_ops_s);
	ck_assert_str_eq(row.driver, "toy");
	ck_assert_uint_eq(row.threads, 3);
	nb_result_delete(result);
	nb_result_delete(NULL);
}

static void
add_puts(void *to, const char *name, const char *unit, uint32_t kind, uint64_t value)
{
	uint64_t *puts = to;
	if (strcmp(name, "puts") == 0 && strcmp(unit, "calls") == 0 && kind == NB_STAT_COUNTER)
		*puts += value;
}

TEST(counters_outlive_the_run)
{
	struct nb_result *result;
	uint64_t puts = 0;
	toy_create(&rig, "records = 100\nupdate = 1\ncount = 300\n");
	ck_assert_int_eq(toy_run(&rig), NB_OK);
	ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
	toy_destroy(&rig);
	nb_result_counters(result, add_puts, &puts);
	ck_assert_uint_eq(puts, 300);
	nb_result_delete(result);
}

TEST(only_scans_of_permanent_ordered_keys_are_checked_for_gaps)
{
	static const struct {
		const char *mix, *order;
		double rate;
		bool is_blind;
	} cases[] = {{"scan = 1", "ordered", 1, false}, {"scan = 1", "hashed", 1, true},
		{"read = 1", "hashed", 1, false}, {"scan = 1", "hashed", 0, false},
		{"scan = 1\ndelete = 1", "ordered", 1, true}};
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		char text[128];
		struct nb_result *result;
		snprintf(text, sizeof(text),
			"records = 200\ncount = 300\nscan-length = 4\n[run]\n%s", cases[c].mix);
		toy_create(&rig, text);
		snprintf(text, sizeof(text), "key-order=%s", cases[c].order);
		ck_assert_int_eq(nb_job_set(rig.job, text), NB_OK);
		rig.options.verify_rate = cases[c].rate;
		int rc = toy_run(&rig);
		ck_assert_msg(rc == NB_OK, "%s", nb_error_text());
		ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
		ck_assert_int_eq(result->groups[0].is_blind_to_gaps, cases[c].is_blind);
		nb_result_delete(result);
		toy_destroy(&rig);
	}
}

TEST(without_a_rate_there_is_no_histogram_of_responses)
{
	struct nb_result *result;
	toy_create(&rig, "records = 100\nread = 1\ncount = 1000\n");
	ck_assert_int_eq(toy_run(&rig), NB_OK);
	ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
	ck_assert_ptr_eq(nb_result_histogram(result, 0), nb_result_histogram(result, 1));
	ck_assert_uint_eq(nb_histogram_count(nb_result_histogram(result, 0)), 1000);
	nb_result_delete(result);
	toy_destroy(&rig);
}

TEST(job_that_did_not_begin_has_no_result)
{
	struct nb_result *result;
	toy_create(&rig, "records = 100\nread = 1\n");
	toy_new(&rig);
	ck_assert_int_eq(nb_result_new(&result, rig.run), NB_FAIL);
	toy_destroy(&rig);
}

TEST(background_groups_are_excluded_from_figures)
{
	struct nb_result *result;
	toy_create(&rig,
		"records = 100\n[main]\nread = 1\ncount = 5000\n[behind]\nupdate = 1\n"
		"background = yes\n");
	ck_assert_int_eq(toy_run(&rig), NB_OK);
	ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
	struct nb_job_summary summary;
	nb_result_summarize_job(result, &summary);
	ck_assert_uint_eq(summary.ops, 5000);
	ck_assert_uint_eq(nb_histogram_count(nb_result_histogram(result, 0)), 5000);
	nb_result_delete(result);
	toy_destroy(&rig);
}

/* ---- handmade groups ---- */

static struct job_result_group groups[3];
static struct nb_result made;

static void
make_groups(size_t count)
{
	memset(groups, 0, sizeof(groups));
	made = (struct nb_result){.is_job = true, .groups = groups, .group_count = count};
	for (size_t g = 0; g < count; g++) {
		groups[g].threads = 2;
		groups[g].measured.ops = groups[g].measured.done = 1000;
		groups[g].measured.wall_ns = groups[g].measured.span_ns = 500000000;
	}
}

TEST(rates_of_parallel_groups_are_added_but_those_of_phases_are_not)
{
	struct nb_job_summary summary;
	make_groups(2);
	nb_result_summarize_job(&made, &summary);
	ck_assert_uint_eq(summary.ops, 2000);
	ck_assert_uint_eq(summary.wall_ns, 500000000);
	ck_assert_double_eq_tol(summary.rate_ops_s, 4000, 1e-6);
	ck_assert_double_eq(summary.offered_ops_s, 0);
	/* one after the other: the same number of operations in twice the time */
	groups[1].phase = 1;
	nb_result_summarize_job(&made, &summary);
	ck_assert_uint_eq(summary.ops, 2000);
	ck_assert_uint_eq(summary.wall_ns, 1000000000);
	ck_assert_double_eq_tol(summary.rate_ops_s, 2000, 1e-6);
	/* a phase with 3000/s for a second, then one with 4000/s for another */
	make_groups(3);
	groups[0].measured.ops = 3000;
	groups[0].measured.wall_ns = 1000000000;
	groups[1].phase = groups[2].phase = 1;
	groups[1].measured.ops = groups[2].measured.ops = 2000;
	groups[1].measured.wall_ns = groups[2].measured.wall_ns = 1000000000;
	nb_result_summarize_job(&made, &summary);
	ck_assert_double_eq_tol(summary.rate_ops_s, 3500, 1e-6);
	ck_assert_uint_eq(summary.wall_ns, 2000000000);
}

TEST(queue_excludes_operations_in_progress)
{
	static const struct {
		uint32_t arrivals;
		double offered;
		uint64_t done, lag_ns, span_ns;
		bool grew;
		uint64_t behind;
	} cases[] = {/* no queue without a rate */
		{NB_ARRIVAL_CLOSED, 0, 1000, 0, 1000000000, false, 0},
		/* 8 operations are in progress in two threads */
		{NB_ARRIVAL_FIXED, 508, 500, 0, 1000000000, false, 8},
		{NB_ARRIVAL_FIXED, 509.5, 500, 0, 1000000000, true, 9},
		/* more, but at most a hundredth */
		{NB_ARRIVAL_FIXED, 10100, 10000, 0, 1000000000, false, 100},
		{NB_ARRIVAL_POISSON, 10110, 10000, 0, 1000000000, true, 110},
		/*
		 * everything is done, but late: by more than 10 ms and a twentieth of the time
		 */
		{NB_ARRIVAL_FIXED, 1000, 1000, 51000000, 1000000000, true, 0},
		{NB_ARRIVAL_FIXED, 1000, 1000, 51000000, 2000000000, false, 0},
		{NB_ARRIVAL_FIXED, 1000, 1000, 9000000, 100000000, false, 0},
		{NB_ARRIVAL_FIXED, 990, 1000, 0, 1000000000, false, 0}};
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		uint64_t behind = 77;
		make_groups(1);
		groups[0].arrivals = cases[c].arrivals;
		groups[0].is_paced = cases[c].arrivals != NB_ARRIVAL_CLOSED;
		groups[0].measured.offered_ops = cases[c].offered;
		groups[0].measured.done = cases[c].done;
		groups[0].measured.lag_ns = cases[c].lag_ns;
		groups[0].measured.span_ns = cases[c].span_ns;
		ck_assert_msg(
			job_result_grew(&groups[0], &behind) == cases[c].grew, "case %zu", c);
		ck_assert_uint_eq(behind, cases[c].behind);
	}
}
