/* SPDX-License-Identifier: BSD-2-Clause */
/* The decisions of a gate. */
#include <stdlib.h>
#include <string.h>

#include "compare_rig.h"
#include "unit.h"

static char *lines; /* output of the last gate() */

/** Takes ownership of the results. */
static int
judge(struct nb_results *before, struct nb_results *now, const char *limits, bool is_forced)
{
	struct nb_compare_input inputs[2] = {{before, "a.json"}, {now, "b.json"}};
	struct nb_compare_options options = NB_COMPARE_OPTIONS_INIT;
	struct nb_comparison *comparison;
	size_t size;
	options.resamples = 1000;
	options.force = is_forced;
	ck_assert_int_eq(nb_comparison_new(&comparison, inputs, 2, &options), NB_OK);
	free(lines);
	FILE *out = open_memstream(&lines, &size);
	int rc = nb_comparison_gate(comparison, limits, out);
	fclose(out);
	nb_comparison_delete(comparison);
	nb_results_delete(before);
	nb_results_delete(now);
	return rc;
}

/**
 * Run the gate on `count` runs each before and after, the latter with these factors. Returns
 * its decision.
 */
static int
gate(uint32_t count, double rate, double latency, const char *limits)
{
	struct nb_results *before = rig_results(), *now = rig_results();
	rig_add_spread(before, "one", 1000, 5000, count);
	rig_add_spread(now, "one", 1000 * rate, 5000 * latency, count);
	return judge(before, now, limits, false);
}

TEST(worse_by_more_than_the_limit_fails)
{
	ck_assert_int_eq(gate(5, 1, 1.2, "p99:5%"), 1);
	rig_assert_has(lines, "FAILED: get one p99: 20.0 % worse (");
	rig_assert_has(lines, "limit 5 %\n");
	ck_assert_int_eq(gate(5, 0.8, 1, "throughput:3%"), 1);
	rig_assert_has(lines, "throughput: 20.0 % worse (96.8254 % CI 17.");
}

TEST(worse_within_the_limit_passes)
{
	ck_assert_int_eq(gate(5, 0.9, 1.2, "p99:25%,throughput:15%"), 0);
	rig_assert_has(lines, "ok: get one p99: 20.0 % worse");
	rig_assert_has(lines, "ok: get one throughput: 10.0 % worse");
}

TEST(better_passes)
{
	ck_assert_int_eq(gate(5, 2, 0.5, "p50:0%,throughput:0%"), 0);
	rig_assert_has(lines, "throughput: 100.0 % better");
	rig_assert_has(lines, "p50: 50.0 % better");
}

TEST(insignificant_difference_passes_and_is_reported)
{
	ck_assert_int_eq(gate(5, 1, 1.015, "p99:1%"), 0);
	rig_assert_has(lines, "ok: get one p99: 1.");
	rig_assert_has(lines, "; not significant\n");
}

TEST(one_limit_of_several_is_enough_to_fail)
{
	ck_assert_int_eq(gate(5, 1, 1.2, "throughput:3%,p50:5%,p99:50%"), 1);
	rig_assert_has(lines, "ok: get one throughput");
	rig_assert_has(lines, "FAILED: get one p50");
	rig_assert_has(lines, "ok: get one p99");
}

TEST(single_runs_are_judged_by_the_ratio_alone)
{
	ck_assert_int_eq(gate(1, 1, 1.2, "p99:5%"), 1);
	rig_assert_has(lines, "one run on a side");
	ck_assert_int_eq(gate(1, 1, 1.02, "p99:5%"), 0);
	rig_assert_has(lines, "one run on a side");
}

/**
 * Run the gate on `count` runs each; other processes used this share of the CPU. Returns its
 * decision.
 */
static int
gate_beside(uint32_t count, uint32_t percent, bool is_forced)
{
	struct nb_results *sides[] = {rig_results(), rig_results()};
	for (size_t i = 0; i < 2; i++) {
		rig_add_spread(sides[i], "one", i == 0 ? 1000 : 800, 5000, count);
		rig_set_taken(sides[i], percent);
	}
	return judge(sides[0], sides[1], "throughput:3%", is_forced);
}

TEST(single_runs_beside_other_programs_are_not_judged)
{
	ck_assert_int_eq(gate_beside(1, 8, false), 1);
	ck_assert_int_eq(gate_beside(1, 12, false), NB_ERR_USAGE);
	rig_assert_has(nb_error_text(),
		"not comparable: with one run on a side, other processes and the hypervisor "
		"may use at most 10 % of the CPU time; they used 12 % in a.json");
	rig_assert_has(nb_error_text(), "mininb vs");
	ck_assert_str_eq(lines, "");
	ck_assert_int_eq(gate_beside(1, 12, true), 1);
	ck_assert_int_eq(gate_beside(5, 12, false), 1); /* the interval shows it */
}

TEST(too_few_runs_can_still_fail)
{
	ck_assert_int_eq(gate(2, 1, 1.2, "p99:5%"), 1);
	rig_assert_has(lines, "95 % needs at least 4 runs each");
}

TEST(missing_metric_is_an_error_that_names_the_others)
{
	ck_assert_int_eq(gate(5, 1, 1, "throughput:3%,p99.9:5%"), NB_ERR_USAGE);
	rig_assert_has(nb_error_text(), "'p99.9'");
	rig_assert_has(nb_error_text(), "both have: throughput, p50, p90, p99");
	ck_assert_str_eq(lines, "");
}

/** The gate's decision on these engines before ("": none) and those after. */
static int
gate_of(const char *const before[2], const char *const now[2], const char *limits)
{
	struct nb_results *sides[] = {rig_results(), rig_results()};
	for (size_t i = 0; i < 2; i++) {
		if (before[i][0] != '\0')
			rig_add_spread(sides[0], before[i], 1000, 5000, 5);
		if (now[i][0] != '\0')
			rig_add_spread(sides[1], now[i], 1000, 5000, 5);
	}
	return judge(sides[0], sides[1], limits, false);
}

TEST(engines_of_one_file_are_not_compared_as_before_and_after)
{
	const char *const both[] = {"one", "two"}, *const one[] = {"one", ""},
			  *const other[] = {"two", ""};
	ck_assert_int_eq(gate_of(both, both, "p99:5%"), 0);
	ck_assert_int_eq(gate_of(one, other, "p99:5%"), 0);
	ck_assert_int_eq(gate_of(both, one, "p99:5%"), NB_ERR_USAGE);
	rig_assert_has(nb_error_text(), "both files must have the same engines");
	ck_assert_int_eq(gate_of(one, both, "p99:5%"), NB_ERR_USAGE);
}

TEST(missing_work_fails)
{
	for (size_t lost = 0; lost < 2; lost++) {
		struct nb_results *sides[] = {rig_results(), rig_results()};
		for (size_t i = 0; i < 2; i++)
			rig_add_spread(sides[i], "one", 1000, 5000, 5);
		rig_add_job(sides[1 - lost], "one", 1000, 5000, 5000);
		ck_assert_int_eq(judge(sides[0], sides[1], "p99:5%", false), lost);
		if (lost)
			rig_assert_has(
				lines, "FAILED: run one: the second file has no run of it\n");
	}
}

TEST(limit_that_can_never_fail_is_refused)
{
	ck_assert_int_eq(gate(5, 1, 1, "throughput:100%"), NB_ERR_USAGE);
	rig_assert_has(nb_error_text(), "can never fail");
	ck_assert_int_eq(gate(5, 1, 1, "throughput:99%,p99:100%"), 0);
}

TEST(invalid_limits_are_refused)
{
	static const char *const wrong[] = {"", "p99", "p99:", "p99:5", "p99:%", ":5%",
		"p99:x%", "p99:-1%", "p99:5%,", ",p99:5%", "p99=5%", "p99:5%%", "p99:nan%",
		"p99:100000000000000000000000000000000000000000000000%"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		ck_assert_msg(gate(2, 1, 1, wrong[i]) == NB_ERR_USAGE, "%s", wrong[i]);
		ck_assert_str_eq(lines, "");
	}
}
