/* SPDX-License-Identifier: BSD-2-Clause */
/* Comparisons: which runs form a sample, their weight, rejections and warnings. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare_rig.h"
#include "unit.h"

static struct nb_results *first, *second;
static struct nb_comparison *comparison;

static void
begin(void)
{
	nb_comparison_delete(comparison);
	nb_results_delete(first);
	nb_results_delete(second);
	first = rig_results();
	second = rig_results();
	comparison = NULL;
}

static void
compare_both(void)
{
	nb_comparison_delete(comparison);
	comparison = rig_compared(first, second);
}

/** Fails the test unless the comparison is rejected with this text. */
static void
assert_refused(const struct nb_results *other, const char *why)
{
	struct nb_comparison *none;
	ck_assert_int_eq(rig_compare(&none, first, other), NB_ERR_USAGE);
	rig_assert_has(nb_error_text(), why);
}

TEST(engines_of_one_file_are_samples)
{
	begin();
	rig_add_spread(first, "one", 1000, 5000, 3);
	rig_add_spread(first, "two", 2000, 5000, 4);
	rig_add_spread(first, "three", 500, 5000, 1);
	comparison = rig_compared(first, NULL);
	ck_assert_uint_eq(comparison->work_count, 1);
	ck_assert_uint_eq(comparison->works[0].sample_count, 3);
	ck_assert_str_eq(comparison->works[0].samples[1].name, "two");
	ck_assert_uint_eq(comparison->works[0].samples[1].runs, 4);
}

/** Four rounds of two contestants with the same engine, in random order in each round. */
static void
add_versus(struct nb_results *results)
{
	static const uint32_t order[4][2] = {{2, 1}, {2, 1}, {1, 2}, {2, 1}};
	for (uint32_t round = 0; round < 4; round++) {
		for (size_t i = 0; i < 2; i++) {
			uint32_t contestant = order[round][i];
			double rate = 1000 * contestant * (1 + 0.01 * round);
			rig_set_contestant(
				rig_add(results, "one", rate, 5000), contestant, round + 1);
		}
	}
}

TEST(base_of_vs_is_its_first_contestant_in_any_order_of_runs)
{
	begin();
	add_versus(first);
	comparison = rig_compared(first, NULL);
	ck_assert_uint_eq(comparison->work_count, 1);
	const struct compare_work *work = &comparison->works[0];
	ck_assert_uint_eq(work->sample_count, 2);
	ck_assert_str_eq(work->samples[0].name, "one#1");
	ck_assert_str_eq(work->samples[1].name, "one#2");
	ck_assert_uint_eq(work->samples[1].runs, 4);
	const struct compare_pair *pair = &rig_metric(comparison, "throughput")->pairs[1];
	ck_assert_uint_eq(pair->verdict, COMPARE_BETTER);
	ck_assert_double_eq_tol(pair->ratio.ratio, 2, 0.001);
	char *text = rig_written(comparison, "text", 0);
	rig_assert_has(text, "one#2 is 2.0 times faster than one#1 in throughput");
	free(text);
}

TEST(files_with_the_same_contestants_are_compared_for_each_contestant)
{
	begin();
	add_versus(first);
	add_versus(second);
	compare_both();
	ck_assert_uint_eq(comparison->work_count, 2);
	ck_assert_str_eq(comparison->works[0].title, "get one#1");
	ck_assert_str_eq(comparison->works[1].title, "get one#2");
	ck_assert_str_eq(comparison->works[1].samples[1].name, "b.json");
}

TEST(failed_contestant_is_omitted_with_all_its_repetitions)
{
	begin();
	add_versus(first);
	for (uint32_t round = 1; round <= 3; round++)
		rig_set_contestant(rig_add(first, "two", 9000, 5000), 3, round);
	struct record *failed = &first->records[first->count - 1];
	snprintf(failed->end, sizeof(failed->end), "get ended with status 3");
	comparison = rig_compared(first, NULL);
	ck_assert_uint_eq(comparison->works[0].sample_count, 2);
	ck_assert_uint_eq(comparison->warnings.count, 1);
	ck_assert_str_eq(comparison->warnings.items[0],
		"two#3 is left out, run 3: get ended with status 3");
}

/**
 * The confidence of a comparison of `first` for which `confidence` was requested; 0: rejected.
 */
static double
compared_at(double confidence)
{
	struct nb_compare_input input = {first, "a.json"};
	struct nb_compare_options options = NB_COMPARE_OPTIONS_INIT;
	options.confidence = confidence;
	nb_comparison_delete(comparison);
	comparison = NULL;
	int rc = nb_comparison_new(&comparison, &input, 1, &options);
	ck_assert(rc == NB_OK || rc == NB_ERR_USAGE);
	return rc == NB_OK ? comparison->confidence : 0;
}

TEST(vs_is_compared_with_its_requested_confidence)
{
	const char *name = "confidence", *value = "0.8";
	struct nb_command command = {.size = sizeof(command),
		.action = "vs",
		.names = &name,
		.values = &value,
		.option_count = 1};
	begin();
	add_versus(first);
	ck_assert_int_eq(nb_results_set_command(first, &command), NB_OK);
	ck_assert_double_eq(compared_at(0), 0.8);
	ck_assert_double_eq(compared_at(0.9), 0.9);
	begin();
	rig_add(first, "one", 1000, 5000);
	rig_add(first, "two", 1000, 5000);
	ck_assert_double_eq(compared_at(0), 0.95);
}

static void
set_options(struct record *record, const char *block, const char *cache)
{
	struct nb_result *run = record->run;
	run->options = calloc(2, sizeof(*run->options));
	ck_assert_ptr_nonnull(run->options);
	run->option_count = 2;
	run->options[0] = (struct result_option){strdup("block"), strdup(block)};
	run->options[1] = (struct result_option){strdup("cache"), strdup(cache)};
}

TEST(only_differing_engine_options_are_named)
{
	begin();
	for (uint32_t contestant = 1; contestant <= 2; contestant++) {
		struct record *record = rig_add(first, "one", 1000, 5000);
		rig_set_contestant(record, contestant, 1);
		set_options(record, contestant == 1 ? "4KiB" : "64KiB", "8MiB");
	}
	set_options(rig_add(first, "two", 1000, 5000), "1KiB", "1MiB");
	rig_set_contestant(&first->records[2], 3, 1);
	comparison = rig_compared(first, NULL);
	ck_assert_uint_eq(comparison->warnings.count, 1);
	ck_assert_str_eq(comparison->warnings.items[0],
		"differing option block of one: 4KiB (one#1), 64KiB (one#2)");
}

TEST(results_before_and_after_with_different_machine_load_are_refused)
{
	begin();
	rig_add_spread(first, "one", 1000, 5000, 3);
	rig_add_spread(second, "one", 1000, 5000, 3);
	rig_set_taken(first, 40);
	rig_set_taken(second, 50);
	compare_both();
	ck_assert_uint_eq(comparison->differences.count, 0);
	rig_set_taken(second, 2);
	assert_refused(second,
		"the machine was not equally busy: other processes and the "
		"hypervisor used 40 % of its CPU time (a.json), 2 % (b.json)");
	rig_set_taken(second, 78);
	assert_refused(second, "40 % of its CPU time (a.json), 78 % (b.json)");
	/* the median decides, so one run next to a busy program does not matter */
	rig_set_taken(second, 40);
	second->records[1].run->measured.usage.busy_ns *= 2;
	compare_both();
	/* a run too short for the kernel's clock ticks gives no information */
	rig_set_taken(second, 2);
	for (size_t i = 0; i < second->count; i++)
		second->records[i].run->measured.usage_ns = 100000000;
	compare_both();
}

TEST(machine_load_is_only_a_note_for_engines_of_one_file_and_none_for_vs)
{
	begin();
	rig_add(first, "one", 1000, 5000);
	rig_set_taken(first, 2);
	rig_add(second, "two", 1000, 5000);
	rig_set_taken(second, 40);
	ck_assert_int_eq(nb_results_append(first, second), NB_OK);
	comparison = rig_compared(first, NULL);
	ck_assert_uint_eq(comparison->warnings.count, 1);
	rig_assert_has(comparison->warnings.items[0], "2 % of its CPU time (one), 40 % (two)");
	nb_comparison_delete(comparison);
	for (uint32_t i = 0; i < 2; i++)
		rig_set_contestant(&first->records[i], i + 1, 1);
	comparison = rig_compared(first, NULL);
	ck_assert_uint_eq(comparison->warnings.count, 0);
}

TEST(files_with_the_same_engines_are_compared_for_each_engine)
{
	begin();
	rig_add(first, "one", 1000, 5000);
	rig_add(first, "two", 1000, 5000);
	rig_add(second, "two", 1000, 5000);
	rig_add(second, "one", 1000, 5000);
	compare_both();
	ck_assert_uint_eq(comparison->work_count, 2);
	ck_assert_str_eq(comparison->works[1].title, "get two");
	ck_assert_uint_eq(comparison->works[1].sample_count, 2);
}

TEST(engine_in_two_files_is_labelled_with_its_file)
{
	begin();
	rig_add(first, "one", 1000, 5000);
	rig_add(second, "one", 1000, 5000);
	rig_add(second, "two", 1000, 5000);
	compare_both();
	ck_assert_uint_eq(comparison->work_count, 1);
	ck_assert_str_eq(comparison->works[0].samples[0].name, "one of a.json");
	ck_assert_str_eq(comparison->works[0].samples[1].name, "one of b.json");
	ck_assert_str_eq(comparison->works[0].samples[2].name, "two");
}

TEST(two_builds_of_an_engine_are_labelled_with_their_plugins)
{
	begin();
	rig_add(first, "one", 1000, 5000)->run->engine_path = strdup("/old/one.so");
	rig_add(first, "one", 1000, 5000)->run->engine_path = strdup("/new/one.so");
	comparison = rig_compared(first, NULL);
	ck_assert_uint_eq(comparison->works[0].sample_count, 2);
	ck_assert_str_eq(comparison->works[0].samples[1].name, "/new/one.so");
}

TEST(each_run_is_one_sample_of_each_metric)
{
	begin();
	rig_add_spread(first, "one", 1000, 5000, 5);
	rig_add_spread(second, "one", 2000, 5000, 5);
	compare_both();
	const struct compare_metric *metric = rig_metric(comparison, "throughput");
	ck_assert_uint_eq(metric->of[0].count, 5);
	ck_assert_double_eq_tol(metric->of[0].median, 1020, 0.01);
	ck_assert_double_eq_tol(metric->of[1].median, 2040, 0.01);
	ck_assert_double_eq_tol(metric->of[1].mad, 20, 0.01);
	/* the pairs' ratios are 2 * (1 + 0.01 i) / (1 + 0.01 j), of which 2 is the median */
	ck_assert_double_eq_tol(metric->pairs[1].ratio.ratio, 2, 1e-6);
	ck_assert_double_eq_tol(metric->pairs[1].test.p, 2.0 / 252, 1e-9);
	ck_assert_uint_eq(metric->pairs[1].verdict, COMPARE_BETTER);
	/* latencies from 5000 * 1.02 to twice that: the median is at 1.5 of it */
	ck_assert_double_eq_tol(rig_metric(comparison, "p50")->of[0].median, 7650, 10);
	ck_assert_uint_eq(rig_metric(comparison, "p50")->pairs[1].verdict, COMPARE_UNCERTAIN);
}

TEST(percentiles_of_too_few_operations_are_not_metrics)
{
	begin();
	rig_add_spread(first, "one", 1000, 5000, 2);
	rig_add_spread(second, "one", 2000, 5000, 2);
	compare_both();
	ck_assert_str_eq(comparison->works[0].unsupported, "p99.9, p99.99");
	ck_assert_str_eq(
		comparison->works[0].metrics[comparison->works[0].metric_count - 1].name,
		"p99");
}

TEST(each_kind_of_operation_has_its_own_metrics)
{
	begin();
	for (int i = 0; i < 5; i++) {
		rig_add_job(first, "one", 1000 + i, 5000 + i * 10, 9000 + i * 10);
		rig_add_job(second, "one", 1000 + i, 5000 + i * 10, 18000 + i * 10);
	}
	compare_both();
	const struct compare_metric *read = rig_metric(comparison, "read.p50");
	const struct compare_metric *update = rig_metric(comparison, "update.p50");
	ck_assert_double_eq_tol(read->pairs[1].ratio.ratio, 1, 1e-9);
	ck_assert_double_eq_tol(update->pairs[1].ratio.ratio, 2, 0.01);
	ck_assert_uint_eq(update->pairs[1].verdict, COMPARE_WORSE);
}

/** Background reads of a second each, many more than the foreground operations. */
static void
add_background(struct nb_result *job)
{
	job->groups = realloc(job->groups, 2 * sizeof(*job->groups));
	ck_assert_ptr_nonnull(job->groups);
	struct job_kind reads = {.ops = 10000};
	ck_assert_int_eq(nb_histogram_new(&reads.service), NB_OK);
	for (uint64_t i = 0; i < reads.ops; i++)
		nb_histogram_add(reads.service, 1000000000);
	job->groups[job->group_count++] = (struct job_result_group){.name = "behind",
		.threads = 1,
		.is_background = true,
		.measured = {.ops = reads.ops, .kinds = {[NB_OP_READ] = reads}}};
}

TEST(groups_in_the_background_are_not_compared)
{
	begin();
	for (int i = 0; i < 5; i++) {
		rig_add_job(first, "one", 1000 + i, 5000 + i * 10, 9000);
		add_background(rig_add_job(second, "one", 1000 + i, 5000 + i * 10, 9000)->run);
	}
	compare_both();
	ck_assert_double_eq_tol(
		rig_metric(comparison, "read.p50")->pairs[1].ratio.ratio, 1, 1e-9);
}

TEST(interval_alone_does_not_make_a_difference_significant)
{
	static const double rates[] = {
		1058, 1060, 1068, 1088, 1094, 1073, 1076, 1065, 1066, 1139, 1158, 1157};
	begin();
	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		rig_add(first, "one", 1000 + 10 * (double)i, 5000);
		rig_add(second, "one", rates[i], 5000);
	}
	compare_both();
	const struct compare_pair *pair = &rig_metric(comparison, "throughput")->pairs[1];
	ck_assert_double_gt(pair->ratio.low, 1); /* while the test is not significant */
	ck_assert_double_gt(pair->test.p, 0.06);
	ck_assert_uint_eq(pair->verdict, COMPARE_UNCERTAIN);
}

TEST(three_runs_each_are_never_significant)
{
	begin();
	rig_add_spread(first, "one", 1000, 5000, 3);
	rig_add_spread(second, "one", 9000, 5000, 3);
	compare_both();
	ck_assert_uint_eq(
		rig_metric(comparison, "throughput")->pairs[1].verdict, COMPARE_TOO_FEW);
}

TEST(different_work_is_refused_with_each_reason)
{
	static const struct {
		size_t offset, size;
		const char *why;
	} cases[] = {
		{offsetof(struct nb_result, digest), 8, "stream of operations (its digest)"},
		{offsetof(struct nb_result, durability), 4,
			"differing durability: process (a.json), commit (b.json)"},
		{offsetof(struct nb_result, threads), 4,
			"differing threads: 1 (a.json), 3 (b.json)"},
		{offsetof(struct nb_result, measured.depth), 4,
			"differing depth: 1 (a.json), 3 (b.json)"},
		{offsetof(struct nb_result, measured.batch_bytes), 8,
			"differing depth: 1 (a.json), 1 in batches of 3 bytes (b.json)"},
		{offsetof(struct nb_result, workload.key_size), 8, "differing key size: 16 (a"},
		{offsetof(struct nb_result, workload.value_size), 8, "differing value size"},
		{offsetof(struct nb_result, workload.count), 8, "number of records"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		begin();
		rig_add(first, "one", 1000, 5000);
		struct record *other = rig_add(second, "one", 1000, 5000);
		uint64_t three = NB_DUR_COMMIT;
		ck_assert_uint_eq(three, 3);
		memcpy((char *)other->run + cases[i].offset, &three, cases[i].size);
		assert_refused(second, cases[i].why);
	}
	begin();
	rig_add_job(first, "one", 1000, 5000, 5000);
	rig_add_job(second, "one", 1000, 5000, 5000)->run->procs = 2;
	assert_refused(second, "differing processes: 1 (a.json), 2 (b.json)");
	second->records[0].run->threads = 8;
	assert_refused(second, "differing threads: 1 (a.json), 8 (b.json); differing proc");
	begin();
	rig_add(first, "one", 1000, 5000);
	struct nb_result *other = rig_add(second, "one", 1000, 5000)->run;
	snprintf(other->measured.stamping.latency, JOB_LATENCY_SIZE, "sampled:64");
	assert_refused(second, "differing latency stamps: each (a.json), sampled:64 (b.json)");
	begin();
	rig_add_job(first, "one", 1000, 5000, 5000);
	other = rig_add_job(second, "one", 1000, 5000, 5000)->run;
	snprintf(other->groups[0].measured.stamping.latency, JOB_LATENCY_SIZE, "block");
	assert_refused(second, "differing latency stamps: each (a.json), block (b.json)");
}

TEST(failed_or_partial_runs_are_refused)
{
	begin();
	rig_add(first, "one", 1000, 5000);
	struct record *other = rig_add(second, "one", 1000, 5000);
	other->run->measured.is_partial = true;
	other->block = 3;
	assert_refused(second, "get of b.json, run 3 is partial");
	snprintf(other->end, sizeof(other->end), "the disk is full");
	assert_refused(second, "get of b.json, run 3 did not end well: the disk is full");
	other->end[0] = '\0';
	other->run->measured.is_partial = false;
	other->is_merged = 4;
	assert_refused(second, "is a merge of 4 runs");
	other->is_merged = 0;
	ck_assert_int_eq(nb_results_add_failure(second, "one", "killed"), NB_OK);
	assert_refused(second, "one has no result: killed");
}

TEST(different_environments_cause_a_warning_only)
{
	begin();
	rig_add(first, "one", 1000, 5000);
	struct record *other = rig_add(second, "one", 1000, 5000);
	compare_both();
	ck_assert_uint_eq(comparison->warnings.count, 0);
	snprintf(other->run->environment.cpu, sizeof(other->run->environment.cpu), "another");
	snprintf(other->run->environment.build, sizeof(other->run->environment.build), "debug");
	other->run->engine_version = "2.0";
	compare_both(); /* an unknown build does not differ from any */
	ck_assert_uint_eq(comparison->warnings.count, 2);
	ck_assert_str_eq(comparison->warnings.items[0],
		"differing engine's version: 1.0 (a.json), 2.0 (b.json)");
	ck_assert_str_eq(comparison->warnings.items[1],
		"differing CPU: a CPU (a.json), another (b.json)");
}

TEST(claim_without_syncs_causes_a_warning)
{
	begin();
	struct nb_result *runs[] = {rig_add(first, "one", 1000, 5000)->run,
		rig_add(second, "one", 1000, 5000)->run};
	for (size_t i = 0; i < 2; i++) {
		runs[i]->durability = NB_DUR_COMMIT;
		runs[i]->measured.commits = 1000;
		runs[i]->measured.used.known = SYSTEM_SYNCS;
		runs[i]->measured.used.fdatasync_calls = 1000;
	}
	compare_both();
	ck_assert_uint_eq(comparison->warnings.count, 0);
	runs[1]->measured.used.fdatasync_calls = 0;
	compare_both();
	ck_assert_uint_eq(comparison->warnings.count, 1);
	ck_assert_str_eq(comparison->warnings.items[0],
		"differing syncs: as many as commit takes (a.json), fewer than commit takes "
		"(b.json)");
	runs[1]->measured.durable_by = 1; /* or durable in another way */
	compare_both();
	ck_assert_uint_eq(comparison->warnings.count, 0);
}

TEST(versions_of_different_engines_are_not_a_difference)
{
	begin();
	rig_add(first, "one", 1000, 5000);
	rig_add(first, "two", 1000, 5000)->run->engine_version = "7";
	comparison = rig_compared(first, NULL);
	ck_assert_uint_eq(comparison->warnings.count, 0);
}

TEST(comparison_without_pairs_is_refused)
{
	begin();
	assert_refused(NULL, "there is nothing to compare: no run has a result");
	rig_add_spread(first, "one", 1000, 5000, 3);
	assert_refused(NULL, "there is nothing to compare: all runs are of one, get");
	rig_add_job(second, "one", 1000, 5000, 5000);
	assert_refused(second, "get one (a.json) and run one (b.json) are different things");
}

TEST(invalid_confidence_is_refused)
{
	static const double wrong[] = {0.5, 1, 95, NAN, -1};
	begin();
	add_versus(first);
	for (size_t i = 0; i < 5; i++)
		ck_assert_double_eq(compared_at(wrong[i]), 0);
}

TEST(interval_within_the_requested_share_is_tight)
{
	begin();
	rig_add_spread(first, "one", 1000, 5000, 5);
	rig_add_spread(second, "one", 2000, 5000, 5);
	compare_both();
	/*
	 * with 5 values each, 2 of the 25 ordered ratios are dropped at either end: 1.04 / 1
	 * and 1.03 / 1, so the interval ends at 1.04 / 1.01 times the ratio
	 */
	ck_assert(nb_comparison_is_tight(comparison, 0.02971));
	ck_assert(!nb_comparison_is_tight(comparison, 0.02969));
	char text[200];
	nb_comparison_brief(comparison, text, sizeof(text));
	ck_assert_str_eq(text, "get one: b.json is 2.0 times faster than a.json (1.9 to 2.1)");
}

TEST(single_runs_are_never_tight)
{
	begin();
	rig_add(first, "one", 1000, 5000);
	rig_add(second, "one", 1000, 5000);
	compare_both();
	ck_assert(!nb_comparison_is_tight(comparison, 1000));
}
