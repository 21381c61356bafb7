/* SPDX-License-Identifier: BSD-2-Clause */
/* What a gate lets pass. */
#include <stdlib.h>
#include <string.h>

#include "compare_rig.h"
#include "unit.h"

static char *lines; /* of the last gate() */

/** `count` runs each of before and now, now with these factors; the gate's answer. */
static int
gate(uint32_t count, double rate, double latency, const char *limits)
{
	struct nb_results *before = rig_results(), *now = rig_results();
	size_t size;
	rig_add_spread(before, "one", 1000, 5000, count);
	rig_add_spread(now, "one", 1000 * rate, 5000 * latency, count);
	struct nb_comparison *comparison = rig_compared(before, now);
	free(lines);
	FILE *out = open_memstream(&lines, &size);
	int rc = nb_comparison_gate(comparison, limits, out);
	fclose(out);
	nb_comparison_delete(comparison);
	nb_results_delete(before);
	nb_results_delete(now);
	return rc;
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

TEST(what_may_be_chance_passes_and_is_told)
{
	ck_assert_int_eq(gate(5, 1, 1.015, "p99:1%"), 0);
	rig_assert_has(lines, "ok: get one p99: 1.");
	rig_assert_has(lines, "; that may be chance\n");
}

TEST(one_limit_of_several_is_enough_to_fail)
{
	ck_assert_int_eq(gate(5, 1, 1.2, "throughput:3%,p50:5%,p99:50%"), 1);
	rig_assert_has(lines, "ok: get one throughput");
	rig_assert_has(lines, "FAILED: get one p50");
	rig_assert_has(lines, "ok: get one p99");
}

TEST(single_runs_are_judged_by_the_figure_alone)
{
	ck_assert_int_eq(gate(1, 1, 1.2, "p99:5%"), 1);
	rig_assert_has(lines, "one run on a side");
	ck_assert_int_eq(gate(1, 1, 1.02, "p99:5%"), 0);
	rig_assert_has(lines, "one run on a side");
}

/** Of `count` runs each on a machine of which others had so much; the gate's answer. */
static int
gate_beside(uint32_t count, uint32_t percent, bool is_forced)
{
	struct nb_results *sides[] = {rig_results(), rig_results()};
	struct nb_compare_input inputs[2] = {{sides[0], "a.json"}, {sides[1], "b.json"}};
	struct nb_compare_options options = NB_COMPARE_OPTIONS_INIT;
	struct nb_comparison *comparison;
	size_t size;
	options.force = is_forced;
	for (size_t i = 0; i < 2; i++) {
		rig_add_spread(sides[i], "one", i == 0 ? 1000 : 800, 5000, count);
		rig_set_taken(sides[i], percent);
	}
	ck_assert_int_eq(nb_comparison_new(&comparison, inputs, 2, &options), NB_OK);
	free(lines);
	FILE *out = open_memstream(&lines, &size);
	int rc = nb_comparison_gate(comparison, "throughput:3%", out);
	fclose(out);
	nb_comparison_delete(comparison);
	nb_results_delete(sides[0]);
	nb_results_delete(sides[1]);
	return rc;
}

TEST(single_runs_beside_other_programs_are_not_judged)
{
	ck_assert_int_eq(gate_beside(1, 8, false), 1);
	ck_assert_int_eq(gate_beside(1, 12, false), NB_ERR_USAGE);
	rig_assert_has(nb_error_text(),
		"not comparable: with one run on a side, other "
		"processes and the hypervisor had 12 % of the CPU time "
		"of a.json");
	rig_assert_has(nb_error_text(), "mininb vs");
	ck_assert_str_eq(lines, "");
	ck_assert_int_eq(gate_beside(1, 12, true), 1);
	ck_assert_int_eq(gate_beside(5, 12, false), 1); /* the interval knows */
}

TEST(too_few_runs_can_fail_all_the_same)
{
	ck_assert_int_eq(gate(2, 1, 1.2, "p99:5%"), 1);
	rig_assert_has(lines, "4 runs each at least for 95 %");
}

TEST(a_metric_that_is_absent_is_an_error_that_names_the_others)
{
	ck_assert_int_eq(gate(5, 1, 1, "throughput:3%,p99.9:5%"), NB_ERR_USAGE);
	rig_assert_has(nb_error_text(), "'p99.9'");
	rig_assert_has(nb_error_text(), "there are: throughput, p50, p90, p99");
	ck_assert_str_eq(lines, "");
}

/** The answer to a before of these engines, "" for none, and a now of those. */
static int
gate_of(const char *const before[2], const char *const now[2], const char *limits)
{
	struct nb_results *sides[] = {rig_results(), rig_results()};
	size_t size;
	for (size_t i = 0; i < 2; i++) {
		if (before[i][0] != '\0')
			rig_add_spread(sides[0], before[i], 1000, 5000, 5);
		if (now[i][0] != '\0')
			rig_add_spread(sides[1], now[i], 1000, 5000, 5);
	}
	struct nb_comparison *comparison = rig_compared(sides[0], sides[1]);
	free(lines);
	FILE *out = open_memstream(&lines, &size);
	int rc = nb_comparison_gate(comparison, limits, out);
	fclose(out);
	nb_comparison_delete(comparison);
	nb_results_delete(sides[0]);
	nb_results_delete(sides[1]);
	return rc;
}

TEST(engines_of_one_file_are_no_before_and_after)
{
	const char *const both[] = {"one", "two"}, *const one[] = {"one", ""},
			  *const other[] = {"two", ""};
	ck_assert_int_eq(gate_of(both, both, "p99:5%"), 0);
	ck_assert_int_eq(gate_of(one, other, "p99:5%"), 0);
	ck_assert_int_eq(gate_of(both, one, "p99:5%"), NB_ERR_USAGE);
	rig_assert_has(nb_error_text(), "both files must be of the same engines");
	ck_assert_int_eq(gate_of(one, both, "p99:5%"), NB_ERR_USAGE);
}

TEST(a_work_that_is_lost_fails)
{
	struct nb_results *before = rig_results(), *now = rig_results();
	size_t size;
	rig_add_spread(before, "one", 1000, 5000, 5);
	rig_add_job(before, "one", 1000, 5000, 5000);
	rig_add_spread(now, "one", 1000, 5000, 5);
	struct nb_comparison *lost = rig_compared(before, now),
			     *gained = rig_compared(now, before);
	free(lines);
	FILE *out = open_memstream(&lines, &size);
	ck_assert_int_eq(nb_comparison_gate(lost, "p99:5%", out), 1);
	fflush(out);
	rig_assert_has(lines, "FAILED: run one: there is no run of it any more\n");
	ck_assert_int_eq(nb_comparison_gate(gained, "p99:5%", out), 0);
	fclose(out);
	nb_comparison_delete(lost);
	nb_comparison_delete(gained);
	nb_results_delete(before);
	nb_results_delete(now);
}

TEST(a_limit_that_could_never_fail_is_refused)
{
	ck_assert_int_eq(gate(5, 1, 1, "throughput:100%"), NB_ERR_USAGE);
	rig_assert_has(nb_error_text(), "would never fail");
	ck_assert_int_eq(gate(5, 1, 1, "throughput:99%,p99:100%"), 0);
}

TEST(limits_that_make_no_sense_are_refused)
{
	static const char *const wrong[] = {"", "p99", "p99:", "p99:5", "p99:%", ":5%",
		"p99:x%", "p99:-1%", "p99:5%,", ",p99:5%", "p99=5%", "p99:5%%", "p99:nan%",
		"p99:100000000000000000000000000000000000000000000000%"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		ck_assert_msg(gate(2, 1, 1, wrong[i]) == NB_ERR_USAGE, "%s", wrong[i]);
		ck_assert_str_eq(lines, "");
	}
}
