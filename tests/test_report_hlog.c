/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines and tags; test_hdr_writers.py reads them with another implementation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record_rig.h"
#include "unit.h"

/** The start time of the first line with this tag; -1: no such line. */
static double
begin_of(const char *text, const char *tag)
{
	char wanted[128];
	snprintf(wanted, sizeof(wanted), "\nTag=%s,", tag);
	const char *line = strstr(text, wanted);
	return line != NULL ? strtod(line + strlen(wanted), NULL) : -1;
}

TEST(tags_contain_no_terminating_characters)
{
	struct nb_results *results = record_rig_new();
	struct record *record = record_rig_add_put(results, "lmdb", 1);
	snprintf(record->label, sizeof(record->label), "sweep 40 %%, a=b\n");
	char *text = record_rig_written(results, "hlog", 0);
	ck_assert_double_eq(begin_of(text, "lmdb_sweep_40_%__a_b_/put/service"), 2);
	ck_assert_double_eq(begin_of(text, "lmdb_sweep_40_%__a_b_/hiccups/lateness"), 0);
	free(text);
	nb_results_delete(results);
}

TEST(a_later_run_begins_later)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_put(results, "lmdb", 1);
	struct nb_result *later = record_rig_add_put(results, "leveldb", 1)->run;
	snprintf(later->environment.begun, sizeof(later->environment.begun),
		"2026-01-02T04:05:05+01:00"); /* a minute later than the other */
	char *text = record_rig_written(results, "hlog", 0);
	ck_assert_double_eq(begin_of(text, "lmdb/put/service"), 2);
	ck_assert_double_eq(begin_of(text, "leveldb/put/service"), 62);
	free(text);
	nb_results_delete(results);
}

TEST(unknown_start_is_omitted)
{
	struct nb_results *results = record_rig_new();
	ck_assert_int_eq(nb_results_add_failure(results, "tdb", "killed"), NB_OK);
	record_rig_add_put(results, "lmdb", 1)->run->environment.begun[0] = '\0';
	char *text = record_rig_written(results, "hlog", 0);
	ck_assert_ptr_null(strstr(text, "StartTime:"));
	ck_assert_double_eq(begin_of(text, "lmdb/put/service"), 2);
	free(text);
	nb_results_delete(results);
}

TEST(run_without_series_has_a_line_of_the_whole)
{
	struct nb_results *results = record_rig_new();
	struct nb_result *run = record_rig_add_put(results, "lmdb", 1)->run;
	series_destroy(&run->measured.series);
	run->measured.series = (struct series){0};
	char *text = record_rig_written(results, "hlog", 0);
	const char *line = strstr(text, "Tag=lmdb/put/service,0.000000,4.000000,");
	ck_assert_ptr_nonnull(line);
	ck_assert_ptr_null(strstr(line + 1, "Tag=lmdb/put/"));
	free(text);
	nb_results_delete(results);
}
