/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks of a job before anything is touched. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "toy.h"
#include "unit.h"

static struct toy_rig rig;

/** nb_run_new() rejects the job with this text and leaves nothing behind. */
static void
is_refused(int rc, const char *text)
{
	struct nb_run *run = NULL;
	int found = nb_run_new(&run, &rig.options);
	ck_assert_msg(found == rc, "%d, not %d: %s", found, rc, nb_error_text());
	ck_assert_ptr_null(run);
	ck_assert_str_eq(nb_error_text(), text);
	ck_assert_int_ne(access(rig.path, F_OK), 0);
}

#define READS "records = 100\nread = 1\n"

/* test_run.c tests those of put, get and delete. */
TEST(contradictory_job_is_refused)
{
	char text[160];
	toy_create(&rig, READS);
	rig.options.what = NB_JOB_RUN + 1;
	is_refused(NB_ERR_USAGE, "clock, settle or what: unknown value");
	toy_create(&rig, "records = 0\ninsert = 1\ncount = 10\n");
	rig.options.what = NB_JOB_LOAD;
	snprintf(text, sizeof(text), "%s: no records to load; set records", rig.job->name);
	is_refused(NB_ERR_USAGE, text);
	struct nb_run *run;
	toy_create(&rig, READS);
	rig.job->groups[0].threads = 0;
	ck_assert_int_eq(nb_run_new(&run, &rig.options), NB_ERR_USAGE);
}

/** Otherwise the waits of a thread for others would be part of response times. */
TEST(a_lag_that_is_short_for_so_many_threads_is_refused_with_a_rate)
{
	static const char job[] = "records = 100\nread = 95\ninsert = 5\nrate = 1k\n";
	char text[256];
	for (int threads = 3; threads >= 1; threads -= 2) {
		snprintf(text, sizeof(text), "%slag = 383\nthreads = %d\n", job, threads);
		toy_create(&rig, text);
		if (threads == 1) {
			toy_new(&rig);
		} else {
			is_refused(NB_ERR_USAGE,
				"run: lag: with a rate, inserts and 3 threads it has to be at "
				"least 384, or operations would wait for inserts of other "
				"threads (--lag=384)");
		}
	}
}

TEST(verbs_that_the_engine_lacks_are_refused)
{
	static const struct {
		const char *mix, *what;
	} cases[] = {{"scan", "ordered scans"}, {"batch", "batches"},
		{"multi-get", "multi-gets"}, {"txn-read", "transactions"},
		{"txn-write", "transactions"}};
	const struct nb_engine *null = engine_builtin("null");
	const bool can[] = {null->scan_open != NULL, null->batch != NULL,
		null->multi_get != NULL, null->begin != NULL, null->begin != NULL};
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		char job[96], text[96];
		snprintf(job, sizeof(job), "records = 100\n%s = 1\n", cases[c].mix);
		snprintf(text, sizeof(text), "run: null cannot do %s", cases[c].what);
		toy_create(&rig, job);
		rig.options.driver = "null";
		if (!can[c])
			is_refused(NB_UNSUPPORTED, text);
	}
	/* a loading needs none of these verbs */
	toy_create(&rig, "records = 100\ntxn-read = 1\n");
	rig.options.driver = "null";
	rig.options.what = NB_JOB_LOAD;
	ck_assert_int_eq(nb_run_new(&rig.run, &rig.options), NB_OK);
}

static uint64_t
numbers_of(const char *text)
{
	uint64_t numbers;
	toy_create(&rig, text);
	ck_assert_int_eq(job_count_numbers(rig.job, &numbers), NB_OK);
	return numbers;
}

TEST(number_of_records_is_the_largest_possible)
{
	ck_assert_uint_eq(numbers_of(READS), 100);
	ck_assert_uint_eq(numbers_of("records = 100\nspace = 300\nupsert = 1\n"), 300);
	/* groups take turns with the numbers of their inserts */
	ck_assert_uint_eq(numbers_of("records = 100\n[one]\ninsert = 1\ncount = 50\n"
				     "[two]\nread = 1\ncount = 10\n"),
		100 + 2 * 50);
	ck_assert_uint_eq(
		numbers_of("records = 100\ninsert = 1\nduration = 1s\n"), UINT64_C(1) << 48);
}

TEST(digest_depends_only_on_the_operations)
{
	static const struct {
		const char *text;
		bool is_same;
	} cases[] = {{"records = 100\nread = 1\nupdate = 1\n", true},
		{"records = 100\nread = 1\nupdate = 1\nthreads = 4\n", true},
		{"records = 100\nread = 1\nupdate = 1\nrate = 10k\n", true},
		{"records = 101\nread = 1\nupdate = 1\n", false},
		{"records = 100\nread = 2\nupdate = 1\n", false},
		{"records = 100\nread = 1\nupdate = 1\nseed = 2\n", false},
		{"records = 100\nread = 1\nupdate = 1\ndistribution = zipfian\n", false},
		{"records = 100\nread = 1\nupdate = 1\nvalue-size = 99\n", false}};
	uint64_t digest = 0;
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		toy_create(&rig, cases[c].text);
		toy_new(&rig);
		if (c == 0)
			digest = rig.run->digest;
		ck_assert_msg(
			(rig.run->digest == digest) == cases[c].is_same, "%s", cases[c].text);
	}
}
