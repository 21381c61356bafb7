/* SPDX-License-Identifier: BSD-2-Clause */
/* A comparison as it is written: in words, as tables, as JSON. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare_rig.h"
#include "unit.h"

/** `count` runs of each of two engines, the second with these factors. */
static char *
written(uint32_t count, double rate, double latency, const char *format, uint32_t flags)
{
	struct nb_results *results = rig_results();
	rig_add_spread(results, "one", 1000, 5000, count);
	rig_add_spread(results, "two", 1000 * rate, 5000 * latency, count);
	struct nb_comparison *comparison = rig_compared(results, NULL);
	char *text = rig_written(comparison, format, flags);
	nb_comparison_delete(comparison);
	nb_results_delete(results);
	return text;
}

START_TEST(verdict_comes_first_in_words)
{
	char *text = written(5, 3.1, 1.0 / 4, "text", 0);
	static const char verdict[] =
		"two is 3.1 times faster than one in throughput (95 % CI 3.0 to 3.2), 4.0 "
		"times\n"
		"  faster at p50 (3.9 to 4.1), 4.0 times faster at p99 (3.9 to 4.1).\n"
		"\n"
		"get: two (5 runs) against one (5 runs), service times\n";
	ck_assert_msg(strncmp(text, verdict, strlen(verdict)) == 0, "%s", text);
	free(text);
}
END_TEST

START_TEST(small_differences_are_percents_of_the_first)
{
	char *text = written(5, 0.9, 1.25, "text", 0);
	rig_assert_has(text, "two is 10 % slower than one in throughput (95 % CI 7.3 to 13 %)");
	rig_assert_has(text, "25 % slower at\n  p50 (21 to 29 %)");
	free(text);
}
END_TEST

START_TEST(what_may_be_chance_is_said_to_be)
{
	char *text = written(5, 1, 1.25, "text", 0);
	rig_assert_has(text, "; cannot be told apart at n = 5: throughput (");
	rig_assert_has(text, "throughput (2.9 % slower to 3.0 %\n  faster).");
	free(text);
	text = written(5, 1, 1, "text", 0);
	rig_assert_has(text,
		"two and one cannot be told apart at n = 5: throughput (95 % CI 2.9 "
		"%");
	free(text);
}
END_TEST

/* The bootstrap's interval may be beside 1 where the test is not sure. */
START_TEST(what_may_be_chance_has_a_direction)
{
	struct nb_results *one = rig_results(), *two = rig_results();
	rig_add_spread(one, "one", 1000, 5000, 10);
	rig_add_spread(two, "two", 1000, 5000, 10);
	struct nb_comparison *comparison = rig_compared(one, two);
	struct compare_pair *pair =
		&((struct compare_metric *)(uintptr_t)rig_metric(comparison, "p99"))->pairs[1];
	pair->verdict = COMPARE_UNCERTAIN;
	pair->ratio.low = 1.005;
	pair->ratio.high = 1.03;
	char *text = rig_written(comparison, "md", 0);
	rig_assert_has(text, "p99 (3.0 % slower to 0.5 % slower)");
	free(text);
	nb_comparison_delete(comparison);
	nb_results_delete(one);
	nb_results_delete(two);
}
END_TEST

START_TEST(single_runs_are_told_without_an_interval)
{
	char *text = written(1, 2.5, 1, "text", 0);
	rig_assert_has(text, "two is 2.5 times faster than one in throughput, the same at p50");
	rig_assert_has(text, "One run each: how much it varies is not known; repeat");
	rig_assert_lacks(text, "..");
	free(text);
}
END_TEST

START_TEST(too_few_runs_are_told_how_many_are_needed)
{
	char *text = written(3, 2.5, 1, "text", 0);
	rig_assert_has(text, "With n = 3 that may be chance");
	rig_assert_has(text, "needs 4 runs each");
	rig_assert_has(text, "of 90 %.");
	free(text);
}
END_TEST

START_TEST(table_has_medians_ratio_interval_and_p)
{
	char *text = written(5, 3.1, 1.0 / 4, "text", 0);
	/* 1020, 3162: medians; 2 / C(10, 5) */
	rig_assert_has(text,
		"                    one   two  ratio       95 % CI       p\n"
		"throughput ops/s   1020  3162  3.100  3.011..3.192  0.0079\n"
		"p50 us             7.65  1.91  0.250  0.243..0.257  0.0079\n");
	rig_assert_has(text, "\nToo few operations for p99.9, p99.99.\n");
	free(text);
}
END_TEST

START_TEST(bars_show_intervals_against_one)
{
	char *text = written(5, 3.1, 1.0 / 3.1, "text", NB_TEXT_BARS);
	rig_assert_has(text, "0.0079       |    #\n");
	rig_assert_has(text, "0.0079  #    |\n");
	free(text);
	text = written(5, 1, 1, "text", NB_TEXT_BARS);
	rig_assert_has(text, "  -----#-----\n");
	free(text);
}
END_TEST

/* As --confidence=0 makes them, or values of a file that are far from all others. */
START_TEST(a_ratio_beside_its_interval_is_at_the_end_of_the_axis)
{
	static const double odd[][3] = {
		{1.001, 3, 1.001}, {0.999, 1e-300, 0.999}, {0, 1, INFINITY}, {0, 1e-300, 0.5}};
	static const char *const bars[] = {"     |    #", "#    |", "-----#-----", "-----#\n"};
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		struct nb_results *one = rig_results(), *two = rig_results();
		rig_add_spread(one, "one", 1000, 5000, 5);
		rig_add_spread(two, "two", 1000, 5000, 5);
		struct nb_comparison *comparison = rig_compared(one, two);
		struct compare_work *work = &comparison->works[0];
		for (size_t m = 0; m < work->metric_count; m++) {
			struct stats_ratio *ratio = &work->metrics[m].pairs[1].ratio;
			ratio->low = odd[i][0];
			ratio->ratio = odd[i][1];
			ratio->high = odd[i][2];
		}
		char *text = rig_written(comparison, "text", NB_TEXT_BARS);
		rig_assert_has(text, bars[i]);
		free(text);
		nb_comparison_delete(comparison);
		nb_results_delete(one);
		nb_results_delete(two);
	}
}
END_TEST

START_TEST(text_fits_80_columns)
{
	struct nb_results *first = rig_results(), *second = rig_results();
	for (int i = 0; i < 5; i++) {
		rig_add_job(first, "an-engine-with-a-name", 1e6 + i, 123456, 9e7);
		rig_add_job(second, "an-engine-with-a-name", 1e5 + i, 123456, 9e8);
	}
	snprintf(second->records[0].run->environment.cpu, 96,
		"a CPU whose name is so long that the line which tells of it has to be broken");
	struct nb_comparison *comparison = rig_compared(first, second);
	char *text = rig_written(comparison, "text", NB_TEXT_BARS), *rest = text;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;)
		ck_assert_msg(strlen(line) <= 80, "%s", line);
	free(text);
	nb_comparison_delete(comparison);
	nb_results_delete(first);
	nb_results_delete(second);
}
END_TEST

START_TEST(differences_and_warnings_stand_before_all)
{
	struct nb_results *results = rig_results();
	rig_add(results, "one", 1000, 5000);
	struct record *other = rig_add(results, "two", 1000, 5000);
	other->run->threads = 2;
	snprintf(other->run->environment.cpu, 96, "another");
	const struct nb_compare_input input = {results, "a"};
	struct nb_compare_options options = NB_COMPARE_OPTIONS_INIT;
	options.force = 1;
	struct nb_comparison *comparison;
	ck_assert_int_eq(nb_comparison_new(&comparison, &input, 1, &options), NB_OK);
	char *text = rig_written(comparison, "text", 0);
	static const char head[] = "NOT COMPARABLE: differing threads: 1 (one), 2 (two)\n"
				   "Note: differing CPU: a CPU (one), another (two)\n\ntwo is ";
	ck_assert_msg(strncmp(text, head, strlen(head)) == 0, "%s", text);
	free(text);
	nb_comparison_delete(comparison);
	nb_results_delete(results);
}
END_TEST

START_TEST(markdown_has_the_same_in_a_table)
{
	char *text = written(5, 3.1, 1.0 / 4, "md", NB_TEXT_BARS);
	rig_assert_has(text,
		"- two is 3.1 times faster than one in throughput (95 % CI 3.0 to "
		"3.2), 4.0 times faster at p50");
	rig_assert_has(text,
		"\n|  | one | two | ratio | 95 % CI | p |\n"
		"| --- | ---: | ---: | ---: | ---: | ---: |\n"
		"| throughput ops/s | 1020 | 3162 | 3.100 | 3.011..3.192 | 0.0079 |\n");
	free(text);
}
END_TEST

START_TEST(json_has_all_values_and_what_came_of_them)
{
	char *text = written(5, 3.1, 1.0 / 4, "json", 0);
	json_error_t error;
	json_t *whole = json_loads(text, 0, &error);
	ck_assert_msg(whole != NULL, "%s", error.text);
	const char *name, *verdict, *method;
	double ratio, median;
	json_t *values;
	json_t *metric = json_array_get(
		json_object_get(
			json_array_get(json_object_get(whole, "comparisons"), 0), "metrics"),
		0);
	ck_assert_int_eq(
		json_unpack_ex(metric, &error, 0, "{s:s, s:[{s:o, s:F}], s:[{s:s, s:s, s:F}]}",
			"name", &name, "samples", "values", &values, "median", &median, "pairs",
			"verdict", &verdict, "method", &method, "ratio", &ratio),
		0);
	ck_assert_str_eq(name, "throughput");
	ck_assert_uint_eq(json_array_size(values), 5);
	ck_assert_double_eq_tol(median, 1020, 0.01);
	ck_assert_double_eq_tol(ratio, 3.1, 1e-6);
	ck_assert_str_eq(verdict, "better");
	ck_assert_str_eq(method, "order statistics");
	json_decref(whole);
	free(text);
}
END_TEST

START_TEST(another_format_is_refused)
{
	struct nb_results *results = rig_results();
	rig_add(results, "one", 1000, 5000);
	rig_add(results, "two", 1000, 5000);
	struct nb_comparison *comparison = rig_compared(results, NULL);
	ck_assert_int_eq(nb_comparison_write(comparison, "html", stdout, 0), NB_ERR_USAGE);
	rig_assert_has(nb_error_text(), "text, md and json");
	nb_comparison_delete(comparison);
	nb_results_delete(results);
}
END_TEST

int
main(void)
{
	return UNIT_RUN("compare_write", verdict_comes_first_in_words,
		small_differences_are_percents_of_the_first, what_may_be_chance_is_said_to_be,
		what_may_be_chance_has_a_direction, single_runs_are_told_without_an_interval,
		too_few_runs_are_told_how_many_are_needed,
		table_has_medians_ratio_interval_and_p, bars_show_intervals_against_one,
		a_ratio_beside_its_interval_is_at_the_end_of_the_axis, text_fits_80_columns,
		differences_and_warnings_stand_before_all, markdown_has_the_same_in_a_table,
		json_has_all_values_and_what_came_of_them, another_format_is_refused);
}
