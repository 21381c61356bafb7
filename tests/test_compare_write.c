/* SPDX-License-Identifier: BSD-2-Clause */
/* The output of comparisons as text, tables and JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare_rig.h"
#include "unit.h"

/** Compare `count` runs of each of two engines; the second has these factors. */
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

TEST(insignificant_difference_is_labelled)
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

/* The bootstrap interval may exclude 1 although the test is not significant. */
TEST(insignificant_difference_has_a_direction)
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

TEST(report_states_how_many_runs_are_needed)
{
	char *text = written(3, 2.5, 1, "text", 0);
	rig_assert_has(text, "With n = 3 no difference is significant");
	rig_assert_has(text, "95 % needs at\n  least 4 runs each");
	rig_assert_has(text, "of 90 %.");
	free(text);
}

TEST(table_has_medians_ratio_interval_and_p)
{
	char *text = written(5, 3.1, 1.0 / 4, "text", 0);
	/* medians 1020 and 3162; p = 2 / C(10, 5) */
	rig_assert_has(text,
		"                    one   two  ratio       95 % CI       p\n"
		"throughput ops/s   1020  3162  3.100  3.011..3.192  0.0079\n"
		"p50 us             7.65  1.91  0.250  0.243..0.257  0.0079\n");
	rig_assert_has(text, "\nToo few operations for p99.9, p99.99.\n");
	free(text);
}

TEST(bars_show_intervals_against_one)
{
	char *text = written(5, 3.1, 1.0 / 3.1, "text", NB_TEXT_BARS);
	rig_assert_has(text, "0.0079       |    #\n");
	rig_assert_has(text, "0.0079  #    |\n");
	free(text);
	text = written(5, 1, 1, "text", NB_TEXT_BARS);
	rig_assert_has(text, "  -----#-----\n");
	free(text);
}

/* As with --confidence=0, or with values in a file that are far from all others. */
TEST(ratio_outside_its_interval_is_at_the_end_of_the_axis)
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

TEST(text_fits_80_columns)
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

TEST(unknown_format_is_refused)
{
	static const struct nb_comparison comparison;
	ck_assert_int_eq(nb_comparison_write(&comparison, "html", stdout, 0), NB_ERR_USAGE);
	rig_assert_has(nb_error_text(), "use text, md, table or json");
}
