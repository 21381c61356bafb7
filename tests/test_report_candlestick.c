/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "record_rig.h"
#include "unit.h"

TEST(each_group_is_a_candle_of_its_threads)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_put(results, "lmdb", 1);
	record_rig_add_job(results, "leveldb", 1);
	char *text = record_rig_written(results, "candlestick", 0);
	/* 50000 and 50010 in 4 s */
	ck_assert_ptr_nonnull(strstr(text,
		"$ops << EOD\n1 12500.000000 12500.625000 12501.250000 12501.875000 "
		"12502.500000 \"lmdb, put\"\n2 2000.000000 "));
	ck_assert_ptr_nonnull(strstr(text, "\"leveldb, writers\"\nEOD\n"));
	ck_assert_ptr_nonnull(strstr(text, "$gets << EOD\n1 2000.000000 "));
	ck_assert_ptr_null(strstr(text, "$scans"));
	free(text);
	nb_results_delete(results);
}

TEST(threads_that_are_not_known_are_left_out)
{
	struct nb_results *results = record_rig_new();
	struct nb_result *run = record_rig_add_put(results, "lmdb", 1)->run;
	free(run->measured.threads);
	run->measured.threads = NULL;
	char *text = record_rig_written(results, "candlestick", 0);
	ck_assert_ptr_null(strstr(text, "EOD"));
	free(text);
	nb_results_delete(results);
}
