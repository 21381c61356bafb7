/* SPDX-License-Identifier: BSD-2-Clause */
#include "record_rig.h"
#include "report/threads.h"
#include "unit.h"

TEST(each_operation_of_a_job_counts_as_its_kind)
{
	uint64_t counts[BOXPLOTS_KINDS], sum = 0;
	struct nb_result job = {.is_job = true};
	struct record record = {.run = &job};
	struct job_thread thread = {.ops = 0};
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
		thread.kinds[kind] = UINT64_C(1) << kind;
		thread.ops += thread.kinds[kind];
	}
	threads_count(&record, &thread, counts);
	ck_assert_uint_eq(counts[BOXPLOTS_PUTS],
		1 << NB_OP_UPDATE | 1 << NB_OP_INSERT | 1 << NB_OP_UPSERT | 1 << NB_OP_RMW |
			1 << NB_OP_BATCH | 1 << NB_OP_TXN_WRITE);
	ck_assert_uint_eq(counts[BOXPLOTS_GETS],
		1 << NB_OP_READ | 1 << NB_OP_MULTIGET | 1 << NB_OP_TXN_READ);
	ck_assert_uint_eq(counts[BOXPLOTS_SCANS], 1 << NB_OP_SCAN);
	ck_assert_uint_eq(counts[BOXPLOTS_REMOVES], 1 << NB_OP_DELETE);
	for (uint32_t kind = 1; kind < BOXPLOTS_KINDS; kind++)
		sum += counts[kind];
	ck_assert_uint_eq(counts[BOXPLOTS_OPS], sum);
}

TEST(classic_actions_keep_their_names)
{
	static const uint32_t kinds[] = {[NB_VERB_PUT] = BOXPLOTS_PUTS,
		[NB_VERB_GET] = BOXPLOTS_GETS,
		[NB_VERB_DELETE] = BOXPLOTS_REMOVES};
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		uint64_t counts[BOXPLOTS_KINDS];
		struct nb_result run = {.threads = 1};
		struct record record = {.run = &run};
		struct job_thread thread = {.ops = 10, .kinds = {10}};
		run.workload.verb = verb;
		threads_count(&record, &thread, counts);
		ck_assert_uint_eq(counts[kinds[verb]], 10);
		ck_assert_uint_eq(counts[BOXPLOTS_OPS], 10);
	}
}

TEST(unknown_threads_have_no_kinds)
{
	struct nb_results *results = record_rig_new();
	struct record_group groups[NB_GROUPS_MAX];
	struct record *record = record_rig_add_put(results, "lmdb", 1);
	ck_assert_uint_eq(record_groups(record, groups), 1);
	ck_assert_uint_eq(
		threads_kinds(record, &groups[0]), 1u << BOXPLOTS_OPS | 1u << BOXPLOTS_PUTS);
	groups[0].threads = NULL;
	ck_assert_uint_eq(threads_kinds(record, &groups[0]), 0);
	nb_results_delete(results);
}
