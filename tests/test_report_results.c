/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "record_rig.h"
#include "unit.h"

static size_t
times(const char *text, const char *part)
{
	size_t count = 0;
	for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
		count++;
	return count;
}

/** Add a repetition of a contestant, with all its notes. */
static void
add_repetition(struct nb_results *all, uint32_t contestant, uint32_t round)
{
	struct nb_results *one = record_rig_new();
	record_rig_add_put(one, "leveldb", 1);
	nb_results_set_contestant(one, contestant, contestant == 1 ? "a" : "b", round);
	ck_assert_int_eq(nb_results_append(all, one), NB_OK);
	nb_results_delete(one);
}

static bool
is_told_to_be_single(const struct nb_results *results, size_t run)
{
	const char *id;
	for (size_t i = 0; (id = nb_results_note_id(results, run, i)) != NULL; i++)
		if (strcmp(id, "one-run") == 0)
			return true;
	return false;
}

TEST(repetition_is_not_called_a_single_run)
{
	struct nb_results *all = record_rig_new();
	add_repetition(all, 1, 1);
	add_repetition(all, 2, 1);
	ck_assert(is_told_to_be_single(all, 0));
	ck_assert(is_told_to_be_single(all, 1));
	add_repetition(all, 1, 2);
	ck_assert(!is_told_to_be_single(all, 0));
	ck_assert(is_told_to_be_single(all, 1)); /* the other one still has one */
	ck_assert(!is_told_to_be_single(all, 2));
	nb_results_delete(all);
}

TEST(vs_with_one_remaining_contestant_prints_the_reports_of_its_runs)
{
	struct nb_results *results = record_rig_new();
	add_repetition(results, 1, 1);
	add_repetition(results, 1, 2);
	char *text = record_rig_written(results, "text", 0);
	ck_assert_uint_eq(times(text, "Stream digest"), 2);
	free(text);
	nb_results_delete(results);
}

TEST(run_of_vs_with_the_median_throughput_is_selected)
{
	struct nb_results *results = record_rig_new(), picked;
	record_rig_add_versus(results);
	ck_assert_int_eq(nb_results_add_failure(results, "lmdb", "killed"), NB_OK);
	results->records[16].contestant = 2;
	ck_assert_int_eq(results_pick(&picked, results), NB_OK);
	ck_assert_uint_eq(picked.count, 5);
	static const char *const drivers[] = {"leveldb", "lmdb", "leveldb", "lmdb", "lmdb"};
	static const char *const actions[] = {"put", "put", "run", "run", ""};
	for (size_t i = 0; i < 5; i++) {
		ck_assert_str_eq(picked.records[i].driver, drivers[i]);
		ck_assert_str_eq(record_action(&picked.records[i]), actions[i]);
		ck_assert_uint_eq(picked.records[i].block, i < 4 ? 2 : 0); /* of 4 rounds */
		ck_assert_uint_eq(picked.records[i].picked_of, i < 4 ? 4 : 0);
	}
	free(picked.records);
	nb_results_delete(results);
}

TEST(results_other_than_vs_are_selected_whole)
{
	struct nb_results *results = record_rig_new(), picked;
	record_rig_add_put(results, "lmdb", 1);
	record_rig_add_put(results, "leveldb", 1);
	ck_assert_int_eq(results_pick(&picked, results), NB_OK);
	ck_assert_uint_eq(picked.count, 2);
	ck_assert_str_eq(picked.records[0].driver, "lmdb");
	ck_assert_uint_eq(picked.records[0].picked_of, 0);
	free(picked.records);
	nb_results_delete(results);
}

TEST(contestants_of_two_files_stay_apart)
{
	struct nb_command command = {.size = sizeof(command), .action = "vs"};
	struct nb_results *all = record_rig_new(), *more = record_rig_new();
	add_repetition(all, 1, 1);
	add_repetition(all, 2, 1);
	add_repetition(more, 1, 1);
	ck_assert_int_eq(nb_results_set_command(more, &command), NB_OK);
	ck_assert_int_eq(nb_results_append(all, more), NB_OK);
	ck_assert_uint_eq(all->records[2].contestant, 3);
	nb_results_delete(more);
	nb_results_delete(all);
}

/** A capacity and its curve; `points` selects the points. */
static struct nb_results *
sweep_of(const char *driver, size_t points)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_job(results, driver, 1);
	for (size_t i = 0; i < points; i++) {
		struct record *record = record_rig_add_job(results, driver, 2);
		snprintf(record->label, sizeof(record->label), "at %zu ops/s", i + 1);
	}
	record_rig_add_curve(results);
	return results;
}

static size_t
place(const char *text, const char *part)
{
	const char *at = strstr(text, part);
	ck_assert_msg(at != NULL, "%s", part);
	return (size_t)(at - text);
}

TEST(a_list_of_sweeps_has_the_curve_of_each)
{
	struct nb_results *results = sweep_of("leveldb", 2), *more = sweep_of("lmdb", 2);
	more->records[0].sweep.capacity_ops_s = 777;
	ck_assert_int_eq(nb_results_append(results, more), NB_OK);
	nb_results_delete(more);
	nb_results_set_list(results, 2);
	nb_results_set_end(results, "interrupted");
	ck_assert_str_eq(results->records[3].end, "interrupted");
	char *text = record_rig_written(results, "text", 0);
	ck_assert_uint_eq(times(text, "Stream digest"), 2);
	ck_assert_uint_eq(times(text, "\nCapacity: "), 2);
	ck_assert_uint_eq(times(text, "== "), 3);
	size_t second = place(text, "\n== lmdb, 2 of 2\n"), all = place(text, "\n== all\n");
	ck_assert_int_eq(strncmp(text, "== leveldb, 1 of 2\n", 19), 0);
	ck_assert_uint_lt(place(text, "\nCapacity: 100000 ops/s"), second);
	ck_assert_uint_lt(second, place(text, "\nCapacity: 777 ops/s"));
	ck_assert_uint_lt(place(text, "\nCapacity: 777 ops/s"), all);
	nb_results_delete(results);
	/* the table shows only the capacities */
	results = record_rig_new();
	record_rig_add_job(results, "leveldb", 1);
	record_rig_add_job(results, "lmdb", 1);
	nb_results_set_list(results, 2);
	nb_results_set_end(results, "interrupted");
	char *plain = record_rig_written(results, "text", 0);
	ck_assert_str_eq(text + all, strstr(plain, "\n== all\n"));
	ck_assert_ptr_nonnull(strstr(text + all, "interrupted"));
	free(plain);
	free(text);
	nb_results_delete(results);
}

TEST(points_are_of_the_same_engine_and_as_many_as_the_curve_has)
{
	struct nb_results *results = sweep_of("leveldb", 11);
	ck_assert(!results->records[0].is_point);
	ck_assert(results->records[1].is_point);
	ck_assert(results->records[10].is_point);
	ck_assert(!results->records[11].is_point);
	nb_results_delete(results);
	results = sweep_of("leveldb", 2);
	snprintf(results->records[1].driver, sizeof(results->records[1].driver), "lmdb");
	results_find_points(results);
	ck_assert(!results->records[1].is_point);
	ck_assert(!results->records[2].is_point);
	char *text = record_rig_written(results, "text", 0);
	ck_assert_uint_eq(times(text, "Stream digest"), 3);
	free(text);
	nb_results_delete(results);
}

TEST(a_curve_is_of_the_last_run_without_a_label)
{
	struct nb_curve_point point = {.size = sizeof(point), .offered_ops_s = 5};
	struct nb_results *results = record_rig_new();
	ck_assert_int_eq(nb_results_set_curve(results, 9, &point, 1, NULL, 0), NB_ERR_USAGE);
	record_rig_add_job(results, "leveldb", 1);
	record_rig_add_job(results, "leveldb", 1);
	struct record *record = record_rig_add_job(results, "leveldb", 2);
	snprintf(record->label, sizeof(record->label), "at 5 ops/s");
	ck_assert_int_eq(nb_results_set_curve(results, 9, &point, 1, NULL, 0), NB_OK);
	ck_assert_int_eq(nb_results_set_curve(results, 8, &point, 1, "p99<1ms", 7), NB_OK);
	ck_assert_ptr_null(results->records[0].sweep.curve);
	ck_assert_uint_eq(results->records[1].sweep.curve_count, 1);
	ck_assert_double_eq(results->records[1].sweep.capacity_ops_s, 8);
	ck_assert_str_eq(results->records[1].sweep.slo, "p99<1ms");
	ck_assert(results->records[2].is_point);
	nb_results_delete(results);
}

TEST(runs_of_other_files_are_neither_points_nor_engines_of_a_list)
{
	struct nb_results *results = record_rig_new(), *more = record_rig_new();
	record_rig_add_job(results, "leveldb", 1);
	record_rig_add_curve(results);
	record_rig_add_job(more, "lmdb", 2);
	ck_assert_int_eq(nb_results_append(results, more), NB_OK);
	char *text = record_rig_written(results, "text", 0);
	ck_assert_uint_eq(times(text, "Stream digest"), 2);
	free(text);
	nb_results_delete(results);
	results = record_rig_new();
	record_rig_add_job(results, "leveldb", 1);
	ck_assert_int_eq(nb_results_add_failure(results, "kyoto", "killed by signal 9"), NB_OK);
	nb_results_set_list(results, 2);
	record_rig_add_job(more, "lmdb", 2);
	ck_assert_int_eq(nb_results_append(results, more), NB_OK);
	text = record_rig_written(results, "text", 0);
	ck_assert_uint_eq(times(text, "Stream digest"), 2);
	ck_assert_uint_eq(times(text, "\nkyoto: killed by signal 9\n"), 1);
	ck_assert_uint_eq(times(text, "== "), 0);
	free(text);
	nb_results_delete(results);
	nb_results_delete(more);
}

TEST(titles_have_the_action_if_actions_differ)
{
	struct nb_results *results = record_rig_new(), *more = record_rig_new();
	char title[64];
	record_rig_add_put(results, "leveldb", 1);
	results_find_actions(results);
	record_title(&results->records[0], title, sizeof(title));
	ck_assert_str_eq(title, "leveldb");
	record_rig_add_job(more, "leveldb", 1);
	ck_assert_int_eq(nb_results_append(results, more), NB_OK);
	record_title(&results->records[0], title, sizeof(title));
	ck_assert_str_eq(title, "leveldb put");
	record_title(&results->records[1], title, sizeof(title));
	ck_assert_str_eq(title, "leveldb run");
	nb_results_delete(more);
	nb_results_delete(results);
}

TEST(an_unknown_format_is_refused)
{
	struct nb_results *results = record_rig_new();
	ck_assert_int_eq(nb_results_write(results, "docx", stdout, 0), NB_ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "docx"));
	nb_results_delete(results);
}
