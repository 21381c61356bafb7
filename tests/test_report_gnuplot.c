/* SPDX-License-Identifier: BSD-2-Clause */
/* The content of the scripts; test-plots.sh draws them. */
#include <stdlib.h>
#include <string.h>

#include "record_rig.h"
#include "unit.h"

TEST(sweeps_share_one_picture)
{
	struct nb_results *results = record_rig_new(), *more = record_rig_new();
	record_rig_add_job(results, "leveldb", 1);
	record_rig_add_curve(results);
	record_rig_add_job(more, "lmdb", 1);
	record_rig_add_curve(more);
	ck_assert_int_eq(nb_results_append(results, more), NB_OK);
	char *text = record_rig_written(results, "gnuplot", 0);
	ck_assert_ptr_nonnull(strstr(text, "$sweep0 << EOD\n9900.000 "));
	ck_assert_ptr_nonnull(strstr(text, "$sweep1 << EOD\n9900.000 "));
	ck_assert_ptr_nonnull(strstr(text, "plot $sweep0 using 1:2 "));
	ck_assert_ptr_nonnull(strstr(text, "$sweep1 using 1:3 with linespoints title \"lmdb"));
	const char *picture = strstr(text, "-sweep.");
	ck_assert_ptr_nonnull(picture);
	ck_assert_ptr_null(strstr(picture + 1, "-sweep."));
	free(text);
	nb_results_delete(results);
	nb_results_delete(more);
}

TEST(missing_data_makes_no_picture)
{
	struct nb_results *results = record_rig_new();
	struct nb_result *run = record_rig_add_put(results, "lmdb", 1)->run;
	series_destroy(&run->measured.series);
	run->measured.series = (struct series){0};
	char *text = record_rig_written(results, "gnuplot", 0);
	ck_assert_ptr_null(strstr(text, "-throughput."));
	ck_assert_ptr_null(strstr(text, "-over-time-"));
	ck_assert_ptr_null(strstr(text, "-sweep."));
	ck_assert_ptr_null(strstr(text, "response"));
	ck_assert_ptr_nonnull(strstr(text, "-percentiles."));
	free(text);
	nb_results_delete(results);
}
