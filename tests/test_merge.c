/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Merged results: counts are added, times are the longest, and percentiles are never averaged.
 */
#include <stdlib.h>
#include <string.h>

#include "record_rig.h"
#include "unit.h"

/** Add a job if `is_job`, else a put, with this scale. */
static void
add(struct nb_results *results, bool is_job, double scale)
{
	if (is_job)
		record_rig_add_job(results, "leveldb", scale);
	else
		record_rig_add_put(results, "leveldb", scale);
}

/** Merge the results. Takes ownership of them. */
static struct nb_results *
merged(struct nb_results *from)
{
	struct nb_results *out;
	ck_assert_msg(nb_results_merge(&out, from) == NB_OK, "%s", nb_error_text());
	nb_results_delete(from);
	return out;
}

static void
assert_refused(struct nb_results *from, const char *said)
{
	struct nb_results *out = NULL;
	ck_assert_int_eq(nb_results_merge(&out, from), NB_ERR_USAGE);
	ck_assert_str_eq(nb_error_text(), said);
	ck_assert_ptr_null(out);
	nb_results_delete(from);
}

static bool
has_note(const struct nb_results *results, const char *id)
{
	const char *it;
	bool has = false;
	for (size_t i = 0; (it = nb_results_note_id(results, 0, i)) != NULL; i++)
		has |= strcmp(it, id) == 0;
	return has;
}

TEST(merge_of_one_result_is_the_result)
{
	for (int is_job = 0; is_job < 2; is_job++) {
		struct nb_results *one = record_rig_new(), *out;
		add(one, is_job, 1);
		ck_assert_int_eq(nb_results_merge(&out, one), NB_OK);
		char *was = record_rig_written(one, "json", 0);
		char *is = record_rig_written(out, "json", 0);
		ck_assert_str_eq(was, is);
		free(was);
		free(is);
		nb_results_delete(out);
		nb_results_delete(one);
	}
}

TEST(merge_is_associative_and_commutative)
{
	for (int is_job = 0; is_job < 2; is_job++) {
		struct nb_results *left = record_rig_new(), *right = record_rig_new();
		struct nb_results *more = record_rig_new(), *all = record_rig_new();
		add(left, is_job, 1);
		add(left, is_job, 2);
		left = merged(left);
		add(left, is_job, 3);
		left = merged(left);
		add(more, is_job, 2);
		add(more, is_job, 3);
		more = merged(more);
		add(right, is_job, 1);
		ck_assert_int_eq(nb_results_append(right, more), NB_OK);
		right = merged(right);
		for (int scale = 1; scale <= 3; scale++)
			add(all, is_job, scale);
		all = merged(all);
		ck_assert_uint_eq(all->records[0].is_merged, 3);
		char *a = record_rig_written(left, "json", 0);
		char *b = record_rig_written(right, "json", 0);
		char *c = record_rig_written(all, "json", 0);
		ck_assert_str_eq(a, b);
		ck_assert_str_eq(a, c);
		free(a);
		free(b);
		free(c);
		nb_results_delete(left);
		nb_results_delete(right);
		nb_results_delete(more);
		nb_results_delete(all);
	}
}

TEST(counts_add_up_and_times_are_the_longest)
{
	struct nb_results *results = record_rig_new();
	struct nb_interval interval = {.size = sizeof(interval), .ops = 1};
	record_rig_add_put(results, "leveldb", 1);
	record_rig_add_put(results, "leveldb", 2)->run->measured.wall_ns = 5000000000;
	ck_assert_int_eq(nb_results_set_intervals(results, &interval, 1), NB_OK);
	results = merged(results);
	ck_assert_uint_eq(nb_results_count(results), 1);
	const struct measurement *measured = &results->records[0].run->measured;
	ck_assert_uint_eq(measured->ops, 200000);
	ck_assert_uint_eq(measured->wall_ns, 5000000000);
	ck_assert_uint_eq(measured->answers[NB_OK], 199994);
	ck_assert_uint_eq(measured->findings.verified, 2000);
	ck_assert_uint_eq(measured->usage.user_ns, 2 * 100000 * UINT64_C(3000));
	ck_assert_uint_eq(measured->used.read_calls, 2 * (100000 / 3));
	ck_assert_uint_eq(measured->used.known,
		SYSTEM_PROCESS | SYSTEM_IO | SYSTEM_DEVICE | SYSTEM_MACHINE | SYSTEM_PRESSURE);
	ck_assert_uint_eq(measured->thread_count, 4);
	ck_assert_uint_eq(measured->live_bytes, 2 * 116 * 100000);
	ck_assert_uint_eq(measured->counters.items[1].value, 2 * 12000000); /* "written" */
	ck_assert_uint_eq(measured->counters.items[2].value, 3);            /* a gauge */
	ck_assert_uint_eq(results->records[0].run->threads, 4);
	ck_assert_ptr_null(results->records[0].intervals);
	struct nb_summary summary;
	nb_results_summarize(results, 0, &summary);
	ck_assert(summary.rate_ops_s == 40000); /* 200000 in 5 s */
	nb_results_delete(results);
}

TEST(live_bytes_unknown_in_one_result_are_unknown)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_put(results, "leveldb", 1);
	record_rig_add_put(results, "leveldb", 1)->run->measured.live_bytes = 0;
	results = merged(results);
	ck_assert_uint_eq(results->records[0].run->measured.live_bytes, 0);
	nb_results_delete(results);
}

TEST(percentiles_are_computed_from_all_values)
{
	struct nb_results *results = record_rig_new();
	for (uint64_t ns = 1000; ns <= 2000; ns += 1000) {
		struct nb_result *run = record_rig_add_put(results, "leveldb", 1)->run;
		nb_histogram_reset(run->measured.service);
		for (uint64_t i = 0; i < 1000 * (ns / 1000); i++)
			nb_histogram_add(run->measured.service, ns);
	}
	results = merged(results);
	/* 1000 values of 1 us and 2000 of 2 us: the mean of both medians would be 1.5 us */
	const struct nb_histogram *service = results->records[0].run->measured.service;
	ck_assert_uint_eq(nb_histogram_count(service), 3000);
	ck_assert_uint_eq(nb_histogram_percentile(service, 30), 1000);
	ck_assert_uint_eq(nb_histogram_percentile(service, 50), 2000);
	ck_assert_uint_eq(nb_histogram_sum(service), 5000000);
	nb_results_delete(results);
}

TEST(groups_with_equal_names_are_merged)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_job(results, "leveldb", 1);
	record_rig_add_job(results, "leveldb", 2);
	struct record *last = &results->records[1];
	snprintf(last->run->groups[1].name, 48, "others");
	results = merged(results);
	const struct nb_result *job = results->records[0].run;
	ck_assert_uint_eq(job->group_count, 3);
	ck_assert_str_eq(job->groups[2].name, "others");
	ck_assert_uint_eq(job->groups[0].threads, 2);
	ck_assert_uint_eq(job->groups[0].measured.ops, 2 * 56000);
	ck_assert_uint_eq(job->groups[0].measured.kinds[NB_OP_SCAN].ops, 2 * 5600);
	ck_assert_uint_eq(
		nb_histogram_count(job->groups[0].measured.kinds[NB_OP_READ].response),
		2 * 50400);
	ck_assert_uint_eq(job->groups[0].measured.wall_ns, 28000000000);
	ck_assert(job->groups[0].rate_ops_s == 4000);
	ck_assert(job->groups[0].measured.offered_ops == 120000);
	ck_assert_uint_eq(job->groups[0].measured.thread_count, 2);
	ck_assert_uint_eq(nb_histogram_count(job->service), 2 * 280000);
	ck_assert_uint_eq(nb_histogram_count(job->measured.hiccups), 2 * 2800);
	free(record_rig_written(results, "text", 0));
	nb_results_delete(results);
}

TEST(note_states_the_number_of_merged_results)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_put(results, "leveldb", 1);
	record_rig_add_put(results, "leveldb", 1);
	results = merged(results);
	char *text = record_rig_written(results, "text", 0);
	ck_assert_ptr_nonnull(strstr(text, "merged of 2 results"));
	free(text);
	record_rig_add_put(results, "leveldb", 1);
	results = merged(results);
	text = record_rig_written(results, "text", 0);
	ck_assert_ptr_nonnull(strstr(text, "merged of 3 results"));
	ck_assert_ptr_null(strstr(text, "merged of 2 results"));
	ck_assert(!has_note(results, "merged-streams"));
	ck_assert(!has_note(results, "merged-series"));
	free(text);
	nb_results_delete(results);
}

TEST(notes_of_every_run_appear_once_and_notes_of_groups_all)
{
	struct nb_results *results = record_rig_new();
	for (int i = 0; i < 3; i++) {
		struct record *record = record_rig_add_job(results, "leveldb", 1);
		struct result_note *notes = record->run->notes;
		size_t last = record->run->note_count - 1;
		free(notes[0].text);
		notes[0].text = strdup(i > 0 ? "short: 0.2 s" : "short: 0.1 s");
		snprintf(notes[0].id, 24, "short");
		ck_assert(notes[last].is_of_job);
		free(notes[last].text);
		notes[last].text = strdup(i % 2 == 0 ? "group 0" : "group 1");
	}
	results = merged(results);
	char *text = record_rig_written(results, "text", 0);
	ck_assert_ptr_nonnull(strstr(text, "short: 0.1 s"));
	ck_assert_ptr_null(strstr(text, "short: 0.2 s"));
	const struct nb_result *run = results->records[0].run;
	size_t of_job = 0;
	for (size_t i = 0; i < run->note_count; i++)
		of_job += run->notes[i].is_of_job;
	ck_assert_uint_eq(of_job, 2);
	ck_assert_ptr_nonnull(strstr(text, "group 0"));
	ck_assert_ptr_nonnull(strstr(text, "group 1"));
	free(text);
	nb_results_delete(results);
}

TEST(different_streams_and_versions_are_reported)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_put(results, "leveldb", 1)->run->digest = 5;
	struct nb_result *run = record_rig_add_put(results, "leveldb", 1)->run;
	run->digest = 7;
	run->engine_version = "1.24";
	results = merged(results);
	ck_assert_uint_eq(results->records[0].run->digest, 12);
	ck_assert(has_note(results, "merged-streams"));
	ck_assert(has_note(results, "merged-versions"));
	nb_results_delete(results);
}

TEST(end_and_warnings_are_kept)
{
	struct nb_results *results = record_rig_new();
	for (int i = 0; i < 3; i++) {
		struct engine_warnings *warnings =
			&record_rig_add_put(results, "leveldb", 1)->run->warnings;
		snprintf(warnings->texts[warnings->count++], ENGINE_WARNING_SIZE,
			"beware of %d", i / 2);
	}
	nb_results_set_end(results, "1 of 2 is wrong");
	results->records[1].run->measured.is_partial = true;
	results = merged(results);
	ck_assert_str_eq(results->records[0].end, "1 of 2 is wrong");
	ck_assert_uint_eq(results->records[0].run->warnings.count, 2);
	ck_assert(results->records[0].run->measured.is_partial);
	nb_results_delete(results);
}

/** Two puts; a test changes the second. */
static struct nb_results *
two(struct nb_result **second)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_put(results, "leveldb", 1);
	*second = record_rig_add_put(results, "leveldb", 1)->run;
	return results;
}

TEST(different_runs_are_not_merged)
{
	struct nb_result *second;
	struct nb_results *results = two(&second);
	second->engine.name = "lmdb";
	assert_refused(results,
		"result 2 cannot be merged with the first: its engine is lmdb, not leveldb");
	results = two(&second);
	second->workload.verb = NB_VERB_GET;
	assert_refused(results,
		"result 2 cannot be merged with the first: its action is get, not put");
	results = two(&second);
	second->durability = NB_DUR_COMMIT;
	assert_refused(results,
		"result 2 cannot be merged with the first: its durability is commit, not "
		"process");
	results = two(&second);
	snprintf(second->measured.stamping.latency, JOB_LATENCY_SIZE, "sampled:64");
	assert_refused(results,
		"result 2 cannot be merged with the first: its way of timing (--latency) is "
		"sampled:64, not each");
	results = two(&second);
	second->workload.value_size = 99;
	assert_refused(results,
		"result 2 cannot be merged with the first: its size of keys and values is 16 "
		"and "
		"99 bytes, not 16 and 100 bytes");
	results = two(&second);
	ck_assert_int_eq(nb_results_add_failure(results, "lmdb", "killed"), NB_OK);
	assert_refused(
		results, "result 3 cannot be merged: lmdb ended before its first operation");
	results = two(&second);
	record_rig_add_curve(results);
	assert_refused(
		results, "the points of a sweep cannot be merged: each has a rate of its own");
	assert_refused(record_rig_new(), "no results to merge");
}

TEST(times_without_stamps_are_added)
{
	struct nb_results *merged, *results = record_rig_new();
	for (uint64_t i = 0; i < 2; i++) {
		struct nb_result *run = record_rig_add_job(results, "leveldb", 1)->run;
		run->groups[0].measured.stamping = (struct stamping){
			.latency = "block", .ops = 10 + i, .stretches = 2, .ns = 70};
		run->measured.stamping = run->groups[0].measured.stamping;
	}
	ck_assert_msg(nb_results_merge(&merged, results) == NB_OK, "%s", nb_error_text());
	const struct nb_result *run = merged->records[0].run;
	const struct stamping *of[] = {
		&run->measured.stamping, &run->groups[0].measured.stamping};
	for (int i = 0; i < 2; i++) {
		ck_assert_str_eq(of[i]->latency, "block");
		ck_assert_uint_eq(of[i]->ops, 21);
		ck_assert_uint_eq(of[i]->stretches, 4);
		ck_assert_uint_eq(of[i]->ns, 140);
	}
	nb_results_delete(merged);
	nb_results_delete(results);
}

TEST(groups_with_another_mix_are_not_merged)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_job(results, "leveldb", 1);
	struct nb_result *job = record_rig_add_job(results, "leveldb", 1)->run;
	job->groups[1].weights[NB_OP_INSERT] = 7;
	static const char said[] =
		"results cannot be merged: their groups 'writers' differ in mix, distribution, key range, arrivals, latency or level";
	assert_refused(results, said);
	results = record_rig_new();
	record_rig_add_job(results, "leveldb", 1);
	job = record_rig_add_job(results, "leveldb", 1)->run;
	snprintf(job->groups[1].measured.stamping.latency, JOB_LATENCY_SIZE, "block");
	assert_refused(results, said);
}
