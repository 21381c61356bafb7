/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "record_rig.h"
#include "report/walk.h"
#include "unit.h"

static char seen[4096];

static int
note_row(void *to, const struct walk_row *row)
{
	size_t used = strlen(seen);
	ck_assert_ptr_null(to);
	ck_assert_uint_gt(nb_histogram_count(row->histogram), 0);
	snprintf(seen + used, sizeof(seen) - used, "%s %s %s %s %llu\n", row->title,
		row->group != NULL ? row->group->name : "-", row->kind, row->series,
		(unsigned long long)row->ops);
	return NB_OK;
}

TEST(each_histogram_is_visited_once_in_order)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_job(results, "leveldb", 1);
	record_rig_add_put(results, "lmdb", 1);
	seen[0] = '\0';
	ck_assert_int_eq(walk_results(results, note_row, NULL), NB_OK);
	ck_assert_str_eq(seen,
		"leveldb readers read service 50400\n"
		"leveldb readers read response 50400\n"
		"leveldb readers scan service 5600\n"
		"leveldb readers scan response 5600\n"
		"leveldb readers all service 56000\n"
		"leveldb readers all response 56000\n"
		"leveldb readers harness lateness 0\n"
		"leveldb writers update service 110000\n"
		"leveldb writers insert service 114000\n"
		"leveldb writers all service 224000\n"
		"leveldb - hiccups lateness 0\n"
		"lmdb put put service 100000\n"
		"lmdb - hiccups lateness 0\n");
	nb_results_delete(results);
}

static int
count_all(void *to, const struct walk_row *row)
{
	uint64_t *count = to;
	if (row->what == WALK_ALL)
		*count += nb_histogram_count(row->histogram);
	return NB_OK;
}

TEST(all_is_the_sum_of_the_kinds)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_job(results, "leveldb", 1);
	uint64_t count = 0;
	ck_assert_int_eq(walk_results(results, count_all, &count), NB_OK);
	ck_assert_uint_eq(count, 56000 + 56000 + 224000);
	nb_results_delete(results);
}

TEST(equal_titles_are_distinguished)
{
	char title[WALK_TITLE];
	struct nb_results *results = record_rig_new();
	record_rig_add_put(results, "lmdb", 1);
	record_rig_add_put(results, "leveldb", 1);
	record_rig_add_put(results, "lmdb", 1);
	walk_title(results, 0, title);
	ck_assert_str_eq(title, "lmdb #1");
	walk_title(results, 1, title);
	ck_assert_str_eq(title, "leveldb");
	walk_title(results, 2, title);
	ck_assert_str_eq(title, "lmdb #2");
	nb_results_delete(results);
}

static int
refuse(void *to, const struct walk_row *row)
{
	++*(int *)to;
	return NB_FAIL;
}

TEST(a_failure_ends_the_walk)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_job(results, "leveldb", 1);
	ck_assert_int_eq(nb_results_add_failure(results, "lmdb", "killed"), NB_OK);
	int calls = 0;
	ck_assert_int_eq(walk_results(results, refuse, &calls), NB_FAIL);
	ck_assert_int_eq(calls, 1);
	ck_assert_int_eq(walk_record(results, 1, refuse, &calls), NB_OK);
	ck_assert_int_eq(calls, 1);
	nb_results_delete(results);
}
