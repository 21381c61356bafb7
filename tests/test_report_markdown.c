/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "record_rig.h"
#include "unit.h"

static char *text;

static void
assert_has(const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "'%s' is not in:\n%s", part, text);
}

START_TEST(runs_stand_side_by_side_whatever_they_are_called)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_put(results, "lm|db", 1);
	ck_assert_int_eq(nb_results_add_failure(results, "tdb", "killed by *signal* 9"), NB_OK);
	text = record_rig_written(results, "md", 0);
	assert_has("# mininb run\n\n| engine ");
	assert_has("\n| lm\\|db | 1.23    | put    | process    | 25000 |   23245 | ");
	assert_has(" killed by \\*signal\\* 9 |\n");
	assert_has("\n## lm\\|db\n");
	assert_has("\n## tdb\n\nkilled by \\*signal\\* 9\n");
	free(text);
	nb_results_delete(results);
}
END_TEST

START_TEST(each_run_tells_what_it_did_and_how)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_job(results, "leveldb", 1);
	record_rig_add_curve(results);
	text = record_rig_written(results, "md", 0);
	assert_has("\n| readers | read      | service  |  50400 |  1800 | ");
	assert_has("\n| readers | read      | response |        |       | ");
	assert_has("\n| writers | all       | service  | 224000 |  8000 | ");
	assert_has("\n- **Ops/s by thread** of writers: 4000 4000\n");
	assert_has("\n- **Verified**: 1120 records: 0 wrong or missing\n");
	assert_has("\n- **Durability**: process, by default\n");
	assert_has("\n- `one-run`: one repetition: ");
	assert_has("\n- `compression=a|b \"c\" <d>`\n"); /* no markup in code */
	assert_has("\n```\n[workload]\nrecords = 100000\n");
	assert_has("\n## Sweep\n\nCapacity: 100000 ops/s");
	assert_has("|  90% |     90000 |      89100 | ");
	free(text);
	results->records[0].job->groups[1].is_blind_to_gaps = true;
	text = record_rig_written(results, "md", 0);
	assert_has("\n- **Verified**: 1120 records: 0 wrong or missing; gaps of scans were not "
		   "looked for\n");
	free(text);
	struct nb_results *more = record_rig_new();
	record_rig_add_job(more, "lm|db", 1);
	record_rig_add_curve(more);
	ck_assert_int_eq(nb_results_append(results, more), NB_OK);
	nb_results_delete(more);
	text = record_rig_written(results, "md", 0);
	assert_has("\n## Sweep of leveldb\n\nCapacity: 100000 ops/s");
	assert_has("\n## Sweep of lm\\|db\n\nCapacity: 100000 ops/s");
	free(text);
	nb_results_delete(results);
}
END_TEST

START_TEST(all_that_is_folded_is_closed_again)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_job(results, "leveldb", 1);
	record_rig_add_put(results, "lmdb", 1);
	text = record_rig_written(results, "md", 0);
	int open = 0, times = 0;
	for (const char *at = text; (at = strstr(at, "details>")) != NULL; at++) {
		open += at[-1] == '/' ? -1 : 1;
		times++;
		ck_assert(open == 0 || open == 1);
	}
	ck_assert_int_eq(open, 0);
	ck_assert_int_eq(times, 6);
	free(text);
	nb_results_delete(results);
}
END_TEST

START_TEST(vs_has_its_verdicts_and_a_section_for_each_contestant_and_action)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_versus(results);
	text = record_rig_written(results, "md", 0);
	assert_has("\n- put: lmdb is 2.0 times faster than leveldb in throughput");
	assert_has("\n### run: lmdb (4 runs) against leveldb (4 runs)");
	size_t sections = 0;
	for (const char *at = text; (at = strstr(at, "\n## ")) != NULL; at++)
		sections++;
	ck_assert_uint_eq(sections, 4);
	assert_has("\n## leveldb put\n\nRun 2, which has the median throughput of 4.\n");
	ck_assert_ptr_null(strstr(text, "one-run"));
	free(text);
	nb_results_delete(results);
}
END_TEST

int
main(void)
{
	return UNIT_RUN("report_markdown", runs_stand_side_by_side_whatever_they_are_called,
		each_run_tells_what_it_did_and_how, all_that_is_folded_is_closed_again,
		vs_has_its_verdicts_and_a_section_for_each_contestant_and_action);
}
