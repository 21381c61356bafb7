/* SPDX-License-Identifier: BSD-2-Clause */
/* Only the form; test_hdr_writers.py compares the numbers with another implementation. */
#include <stdlib.h>
#include <string.h>

#include "record_rig.h"
#include "unit.h"

TEST(table_of_three_values_matches_a_manual_calculation)
{
	struct nb_results *results = record_rig_new();
	struct nb_result *run = record_rig_add_put(results, "lmdb", 1)->run;
	nb_histogram_reset(run->measured.service);
	nb_histogram_reset(run->measured.hiccups);
	nb_histogram_add(run->measured.service, 1000);
	nb_histogram_add(run->measured.service, 2000);
	nb_histogram_add(run->measured.service, 2000);
	char *text = record_rig_written(results, "hgrm", 0);
	ck_assert_str_eq(text,
		"# lmdb, put, put, put: service time in microseconds\n"
		"       Value     Percentile TotalCount 1/(1-Percentile)\n"
		"\n"
		"       1.000 0.000000000000          1           1.00\n"
		"       1.000 0.100000000000          1           1.11\n"
		"       1.000 0.200000000000          1           1.25\n"
		"       1.000 0.300000000000          1           1.43\n"
		"       2.000 0.400000000000          3           1.67\n"
		"       2.000 1.000000000000          3\n"
		"#[Mean    =        1.667, StdDeviation   =        0.471]\n"
		"#[Max     =        2.000, Total count    =            3]\n"
		"#[Buckets =           32, SubBuckets     =         2048]\n"
		"\n\n");
	free(text);
	nb_results_delete(results);
}

TEST(results_without_times_are_an_empty_file)
{
	struct nb_results *results = record_rig_new();
	ck_assert_int_eq(nb_results_add_failure(results, "lmdb", "killed"), NB_OK);
	char *text = record_rig_written(results, "hgrm", 0);
	ck_assert_str_eq(text, "");
	free(text);
	nb_results_delete(results);
}
