/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists and series of two runs, merged by name and by time, without duplicates. */
#include <stdlib.h>
#include <string.h>

#include "record_rig.h"
#include "base/histogram.h"
#include "report/merge_parts.h"
#include "unit.h"

static int rc;

static void
append(struct counters *counters, const char *name, uint32_t kind, uint64_t value)
{
	counters->items = realloc(
		counters->items, (counters->count + 1) * sizeof(*counters->items));
	counters->items[counters->count++] = (struct counter){
		.name = strdup(name), .unit = strdup(""), .kind = kind, .value = value};
}

TEST(counters_are_found_by_name)
{
	struct counters a = {0}, b = {0};
	append(&a, "flushes", NB_STAT_COUNTER, 5);
	append(&a, "height", NB_STAT_GAUGE, 4);
	append(&b, "height", NB_STAT_GAUGE, 3);
	append(&b, "splits", NB_STAT_COUNTER, 2);
	append(&b, "flushes", NB_STAT_COUNTER, UINT64_MAX);
	b.items[1].has_run_back = true;
	merge_counters(&a, &b, &rc);
	ck_assert_int_eq(rc, NB_OK);
	ck_assert_uint_eq(a.count, 3);
	ck_assert_uint_eq(counters_find(&a, "flushes")->value, UINT64_MAX);
	ck_assert_uint_eq(counters_find(&a, "height")->value, 4);
	ck_assert_uint_eq(counters_find(&a, "splits")->value, 2);
	ck_assert(counters_find(&a, "splits")->has_run_back);
	counters_destroy(&a);
	counters_destroy(&b);
}

TEST(threads_are_appended_or_omitted)
{
	struct job_thread *into = calloc(2, sizeof(*into));
	struct job_thread from[3] = {{.ops = 1}, {.ops = 2}, {.ops = 3}};
	uint32_t count = 2;
	merge_threads(&into, &count, from, 3, &rc);
	ck_assert_int_eq(rc, NB_OK);
	ck_assert_uint_eq(count, 5);
	ck_assert_uint_eq(into[4].ops, 3);
	merge_threads(&into, &count, NULL, 0, &rc);
	ck_assert_int_eq(rc, NB_OK);
	ck_assert_ptr_null(into);
	ck_assert_uint_eq(count, 0);
}

TEST(histogram_may_be_missing_in_the_first_result)
{
	struct nb_histogram *into = NULL, *from;
	merge_histogram(&into, NULL, &rc);
	ck_assert_int_eq(rc, NB_OK);
	ck_assert_ptr_null(into);
	ck_assert_int_eq(nb_histogram_new(&from), NB_OK);
	nb_histogram_add(from, 7);
	merge_histogram(&into, from, &rc);
	ck_assert_int_eq(rc, NB_OK);
	merge_histogram(&into, from, &rc);
	ck_assert_int_eq(rc, NB_OK);
	ck_assert_uint_eq(nb_histogram_count(into), 2);
	nb_histogram_add(into, 9);
	nb_histogram_add(from, 9);
	into->counts[9] = from->counts[9] = UINT64_C(1) << 62; /* too large for a file */
	merge_histogram(&into, from, &rc);
	ck_assert_int_eq(rc, NB_ERR_USAGE);
	ck_assert_uint_eq(nb_histogram_count(into), 2 + (UINT64_C(1) << 62));
	nb_histogram_delete(into);
	nb_histogram_delete(from);
}

/** The series of a handmade put: 4 samples of a second, 200 pulses. */
static struct series
series_of_put(void)
{
	struct nb_results *results = record_rig_new();
	struct series series;
	struct measurement *measured =
		&record_rig_add_put(results, "leveldb", 1)->run->measured;
	series = measured->series;
	measured->series = (struct series){0};
	nb_results_delete(results);
	return series;
}

TEST(samples_of_the_same_time_are_merged)
{
	struct series a = series_of_put(), b = series_of_put();
	uint64_t ops = a.samples[3].ops, latencies = a.samples[3].latencies[0].count;
	uint64_t p50_ns = a.samples[3].latencies[0].p50_ns;
	uint32_t pulse = a.pulses[0].ops[5];
	for (size_t i = 0; i < b.count; i++) /* b began a little later */
		b.samples[i].end_ns += 30000000;
	ck_assert(merge_series(&a, &b, &rc));
	ck_assert_int_eq(rc, NB_OK);
	ck_assert_uint_eq(a.count, 4);
	ck_assert_uint_eq(a.samples[3].duration_ns, 1000000000);
	ck_assert_uint_eq(a.samples[3].ops, 2 * ops);
	ck_assert_uint_eq(a.samples[3].latency_count, 1);
	ck_assert_uint_eq(a.samples[3].latencies[0].count, 2 * latencies);
	ck_assert_uint_eq(a.samples[3].latencies[0].p50_ns, p50_ns); /* both are the same */
	ck_assert_uint_eq(a.samples[3].counters[1], 2 * ops * 300);
	ck_assert_uint_eq(a.samples[3].counters[2], 2); /* a gauge */
	ck_assert_uint_eq(a.pulses[0].ops[5], 2 * pulse);
	series_destroy(&a);
	series_destroy(&b);
}

TEST(samples_of_a_longer_run_follow_at_the_end)
{
	struct series a = series_of_put(), b = series_of_put();
	while (a.count > 2)
		sample_destroy(&a.samples[--a.count]);
	a.pulses[0].count = 100;
	uint64_t ops = b.samples[3].ops;
	ck_assert(merge_series(&a, &b, &rc));
	ck_assert_int_eq(rc, NB_OK);
	ck_assert_uint_eq(a.count, 4);
	ck_assert_uint_eq(a.samples[3].end_ns, 4000000000);
	ck_assert_uint_eq(a.samples[3].ops, ops);
	ck_assert_uint_eq(a.pulses[0].count, 200);
	ck_assert_uint_eq(a.pulses[0].ops[199], 200 + 199 % 7);
	series_destroy(&a);
	series_destroy(&b);
}

TEST(counters_of_other_names_keep_their_numbers)
{
	struct series a = series_of_put(), b = series_of_put();
	free(b.counters.items[1].name);
	b.counters.items[1].name = strdup("read");
	uint64_t written = a.samples[2].counters[1], read = b.samples[2].counters[1];
	ck_assert(merge_series(&a, &b, &rc));
	ck_assert_uint_eq(a.counters.count, 4);
	ck_assert_str_eq(a.counters.items[3].name, "read");
	ck_assert_uint_eq(a.samples[2].counter_count, 4);
	ck_assert_uint_eq(a.samples[2].counters[1], written);
	ck_assert_uint_eq(a.samples[2].counters[3], read);
	series_destroy(&a);
	series_destroy(&b);
}

TEST(a_finer_series_is_made_coarser)
{
	struct series a = series_of_put(), b = series_of_put();
	uint64_t ops = 0;
	for (size_t i = 0; i < a.count; i++) {
		ops += a.samples[i].ops + b.samples[i].ops;
		a.samples[i].is_warmup = b.samples[i].is_warmup = 0;
	}
	struct nb_histogram *work;
	ck_assert_int_eq(nb_histogram_new(&work), NB_OK);
	ck_assert_int_eq(series_merge(&b, 2, work), NB_OK);
	nb_histogram_delete(work);
	ck_assert(merge_series(&a, &b, &rc));
	ck_assert_int_eq(rc, NB_OK);
	ck_assert_uint_eq(a.interval_ns, 2000000000);
	ck_assert_uint_eq(a.count, 2);
	ck_assert_uint_eq(a.samples[0].ops + a.samples[1].ops, ops);
	series_destroy(&a);
	series_destroy(&b);
}

TEST(mismatched_parts_are_omitted_and_reported)
{
	struct series a = series_of_put(), b = series_of_put(), none = {0};
	b.pulses[0].pulse_ns = 7;
	ck_assert(!merge_series(&a, &b, &rc));
	ck_assert_int_eq(rc, NB_OK);
	ck_assert_uint_eq(a.count, 4);
	ck_assert_uint_eq(a.pulses_count, 0);
	b.interval_ns = 300000000;
	ck_assert(!merge_series(&a, &b, &rc));
	ck_assert_int_eq(rc, NB_OK);
	ck_assert_uint_eq(a.count, 0);
	ck_assert(!merge_series(&b, &none, &rc));
	ck_assert_int_eq(rc, NB_OK);
	ck_assert_uint_eq(b.count, 0);
	ck_assert(merge_series(&a, &none, &rc));
	ck_assert_int_eq(rc, NB_OK); /* neither run has one */
	series_destroy(&a);
	series_destroy(&b);
}

TEST(first_findings_are_kept)
{
	struct job_result_group a = {
		.measured.findings = {
			.verified = 10, .verdicts = {[JOB_STALE] = 6}, .case_count = 6}};
	struct job_result_group b = a;
	b.measured.findings.cases[0].op = 77;
	b.measured.trace_counts.bad = 1;
	snprintf(b.measured.trace_counts.first_bad, 256, "line 7");
	merge_group(&a, &b, &rc);
	ck_assert_int_eq(rc, NB_OK);
	ck_assert_uint_eq(a.measured.findings.verified, 20);
	ck_assert_uint_eq(a.measured.findings.verdicts[JOB_STALE], 12);
	ck_assert_uint_eq(a.measured.findings.case_count, JOB_CASES);
	ck_assert_uint_eq(a.measured.findings.cases[6].op, 77);
	ck_assert_str_eq(a.measured.trace_counts.first_bad, "line 7");
	ck_assert_uint_eq(a.measured.trace_counts.bad, 1);
}
