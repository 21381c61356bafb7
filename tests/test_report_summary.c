/* SPDX-License-Identifier: BSD-2-Clause */
/* Results side by side: the content of a row, and the text before the table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"
#include "unit.h"

static char *text;

static void
write_table(const struct nb_summary *summaries, size_t count, uint32_t flags)
{
	size_t size;
	free(text);
	FILE *out = open_memstream(&text, &size);
	ck_assert_msg(nb_summaries_write_text(summaries, count, out, flags) == NB_OK, "%s",
		nb_error_text());
	fclose(out);
}

static struct nb_summary
make(const char *driver, double rate, uint32_t durability)
{
	struct nb_summary summary = {.size = sizeof(summary),
		.is_measured = 1,
		.durability = durability,
		.digest = 7,
		.rate_ops_s = rate,
		.settled_ops_s = rate / 2,
		.p50_ns = 1500,
		.p99_ns = 2500000,
		.max_ns = 3000000000,
		.cpu_ns_op = 1234,
		.data_bytes = 1 << 20,
		.max_resident_bytes = 3 << 20};
	snprintf(summary.driver, sizeof(summary.driver), "%s", driver);
	snprintf(summary.version, sizeof(summary.version), "1.0");
	return summary;
}

TEST(bars_are_as_long_as_the_rates)
{
	struct nb_summary all[] = {make("a", 1000, 0), make("b", 500, 0), make("c", 1, 0)};
	write_table(all, 3, NB_TEXT_BARS);
	ck_assert_ptr_nonnull(strstr(text, "  ########\n"));
	ck_assert_ptr_nonnull(strstr(text, "  ####\n"));
	ck_assert_ptr_nonnull(strstr(text, "1.23us  \n\ndriver"));
	write_table(all, 3, 0);
	ck_assert_ptr_null(strchr(text, '#'));
}

TEST(tables_fit_a_terminal)
{
	struct nb_summary all[] = {make("kyotocabinet", 1234567, NB_DUR_PERIODIC),
		make("b", 500, NB_DUR_PERIODIC)};
	strcpy(all[0].version, "1.2.79-2+b1");
	all[0].p50_ns = 1234;
	all[0].p999_ns = 123456789;
	all[0].data_bytes = UINT64_C(123) << 30;
	write_table(all, 2, 0);
	for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
		ck_assert_uint_le(strcspn(line, "\n"), 80);
}

TEST(groups_of_jobs_have_a_table_below)
{
	struct nb_summary one = make("one", 1000, NB_DUR_PROCESS);
	one.parts[0] = (struct nb_summary_part){
		.name = "load", .ops = 30, .inserts = 30, .ns_op = 12.34, .rate_ops_s = 99.6};
	one.part_count = 1;
	write_table(&one, 1, 0);
	ck_assert_ptr_nonnull(strstr(text,
		"done\n\n"
		"driver  group  ops  inserts  reads  updates  ns/op  ops/s  p50  p99\n"
		"one     load    30       30                   12.3    100          \n"));
}

TEST(summary_is_that_of_its_result)
{
	struct rig rig;
	struct nb_result *result;
	struct nb_summary summary;
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		rig_create(&rig, verb, 1000);
		ck_assert_int_eq(rig_run(&rig, NULL), NB_OK);
		ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
		nb_result_summarize(result, &summary);
		ck_assert_str_eq(summary.driver, "memory");
		ck_assert_str_eq(summary.version, result->engine_version);
		ck_assert_uint_eq(summary.ops, 1000);
		ck_assert_uint_eq(summary.digest, nb_result_digest(result));
		ck_assert_uint_eq(summary.is_measured, 1);
		ck_assert_uint_eq(summary.is_partial, 0);
		double wall = (double)nb_result_wall_ns(result);
		ck_assert(summary.rate_ops_s * wall > 0.999e12);
		ck_assert(summary.rate_ops_s * wall < 1.001e12);
		ck_assert_int_eq(summary.settled_ops_s > 0, verb != NB_VERB_GET);
		ck_assert(summary.settled_ops_s <= summary.rate_ops_s);
		ck_assert_uint_eq(
			summary.p50_ns, nb_histogram_percentile(nb_result_service(result), 50));
		ck_assert_uint_eq(summary.p999_ns, 0); /* 1000 are too few for it */
		ck_assert_uint_eq(summary.max_ns, nb_histogram_max(nb_result_service(result)));
		ck_assert_str_eq(summary.end, "");
		nb_result_delete(result);
		rig_destroy(&rig);
	}
}
