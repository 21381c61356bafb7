/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/job.h"

#include <stdio.h>

#include "job_text.h"

bool unit_in_scratch = true;

static const char two_groups[] = "[workload]\nrecords = 1k\n[readers]\nread = 100\n"
				 "[writer]\nupdate = 90\ninsert = 10\n";

TEST(operations_have_the_names_of_their_keys)
{
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
		const struct job_key *key = job_keys_find(nb_op_name(kind));
		ck_assert_ptr_nonnull(key);
		ck_assert_int_eq(key->type, JOB_SHARE);
		ck_assert_uint_eq(key->offset,
			offsetof(struct nb_group, weights) + kind * sizeof(uint32_t));
	}
	ck_assert_ptr_null(nb_op_name(NB_OP_KINDS));
}

TEST(handmade_job_has_all_defaults_and_one_group)
{
	struct nb_job *job;
	ck_assert_int_eq(nb_job_read(&job, NULL), NB_OK);
	ck_assert_uint_eq(job->records, 100000);
	ck_assert_uint_eq(job->space, 0);
	ck_assert_uint_eq(job->seed, 1);
	ck_assert_uint_eq(job->key_format, NB_KEY_RAW);
	ck_assert_uint_eq(job->key_order, NB_ORDER_HASHED);
	ck_assert_uint_eq(job->key_size, 16);
	ck_assert_uint_eq(job->values.kind, NB_SIZE_FIXED);
	ck_assert_uint_eq(job->values.min, 100);
	ck_assert_double_eq(job->value_ratio, 0.5);
	ck_assert_uint_eq(job->lag, 8192);
	ck_assert_uint_eq(job->group_count, 1);
	const struct nb_group *group = &job->groups[0];
	ck_assert_str_eq(group->name, "run");
	ck_assert_uint_eq(group->threads, 1);
	ck_assert_uint_eq(group->distribution, NB_DIST_UNIFORM);
	ck_assert_double_eq(group->theta, 0.99);
	ck_assert_double_eq(group->hot_share, 0.2);
	ck_assert_double_eq(group->hot_ops, 0.8);
	ck_assert_double_eq(group->exp_percent, 95);
	ck_assert_double_eq(group->exp_share, 0.8571428571);
	ck_assert_double_eq(group->pareto_h, 0.2);
	ck_assert_uint_eq(group->scan_min, 1);
	ck_assert_uint_eq(group->scan_max, 100);
	ck_assert_uint_eq(group->scan_distribution, NB_DIST_UNIFORM);
	ck_assert_uint_eq(group->items, 10);
	ck_assert_uint_eq(group->count, 0);
	ck_assert_uint_eq(group->duration_ns, 0);
	ck_assert_uint_eq(group->arrivals, NB_ARRIVAL_CLOSED);
	ck_assert_uint_eq(group->is_background, 0);
	ck_assert_ptr_null(group->cpus);
	ck_assert_str_eq(job->load->name, "load");
	ck_assert_uint_eq(job->load->weights[NB_OP_INSERT], 1);
	nb_job_delete(job);
}

TEST(key_is_set_for_one_group_or_all_or_the_load)
{
	struct nb_job *job = job_of_text(two_groups);
	job_set(job, "threads=4");
	ck_assert_uint_eq(job->groups[0].threads, 4);
	ck_assert_uint_eq(job->groups[1].threads, 4);
	ck_assert_uint_eq(job->load->threads, 1);
	job_set(job, "writer.threads=2");
	ck_assert_uint_eq(job->groups[0].threads, 4);
	ck_assert_uint_eq(job->groups[1].threads, 2);
	job_set(job, "load.threads=8");
	ck_assert_uint_eq(job->load->threads, 8);
	ck_assert_uint_eq(job->groups[1].threads, 2);
	job_set(job, "workload.threads=3");
	ck_assert_uint_eq(job->groups[1].threads, 3);
	job_set(job, " records = 5M ");
	ck_assert_uint_eq(job->records, 5000000);
	job_set(job, "workload.records=7");
	ck_assert_uint_eq(job->records, 7);
	job_set(job, "key-prefix=");
	ck_assert_str_eq(job->key_prefix, "");
	job_set(job, "summary=a=b.c");
	ck_assert_str_eq(job->summary, "a=b.c");
	nb_job_delete(job);
}

TEST(setting_a_share_keeps_the_others)
{
	struct nb_job *job = job_of_text(two_groups);
	struct nb_group *writer = &job->groups[1];
	job_set(job, "writer.update=60");
	ck_assert_uint_eq(writer->weights[NB_OP_UPDATE], 60);
	ck_assert_uint_eq(writer->weights[NB_OP_INSERT], 10);
	ck_assert_uint_eq(writer->weights[NB_OP_READ], 0);
	ck_assert_uint_eq(job->groups[0].weights[NB_OP_READ], 100);
	job_set(job, "read=5");
	ck_assert_uint_eq(writer->weights[NB_OP_READ], 5);
	ck_assert_uint_eq(job->groups[0].weights[NB_OP_READ], 5);
	job_set(job, "writer.read=0.25"); /* all weights use the finer scale */
	ck_assert_uint_eq(writer->weights[NB_OP_READ], 25);
	ck_assert_uint_eq(writer->weights[NB_OP_UPDATE], 6000);
	ck_assert_uint_eq(writer->weights[NB_OP_INSERT], 1000);
	job_set(job, "writer.read=30"); /* and back */
	ck_assert_uint_eq(writer->weights[NB_OP_READ], 30);
	ck_assert_uint_eq(writer->weights[NB_OP_UPDATE], 60);
	ck_assert_uint_eq(writer->weights[NB_OP_INSERT], 10);
	nb_job_delete(job);
}

TEST(errors_of_assignments_name_the_allowed_ones)
{
	static const struct {
		const char *text, *why;
	} wrong[] = {
		{"recrods=1", "unknown key 'recrods', did you mean 'records'?"},
		{"xyz=1", "unknown key 'xyz'"},
		{"=1", "unknown key ''"},
		{"records", "'records' is not [SECTION.]KEY=VALUE"},
		{"reader.threads=1",
			"unknown group 'reader', did you mean 'readers'? Allowed: load, readers, writer"},
		{"x.threads=1", "unknown group 'x'; allowed: load, readers, writer"},
		{"a.b.threads=1", "unknown group 'a.b'; allowed: load, readers, writer"},
		{"readers.records=1", "records: is a key of [workload], not of a group"},
		{"load.records=1", "records: is a key of [workload], not of a group"},
		{"load.count=1",
			"count: is not a key of [load], which has threads, depth, batch-bytes, rate, arrivals, cpus, latency, insert-verb"},
		{"load.read=1",
			"read: is not a key of [load], which has threads, depth, batch-bytes, rate, arrivals, cpus, latency, insert-verb"},
		{"threads=0", "threads: 0 is too small; allowed: 1 to 1024"},
		{"summary=a\nb",
			"summary: the value contains a control character, or a blank at its edge"},
	};
	struct nb_job *job = job_of_text(two_groups);
	for (size_t i = 0; i < COUNT_OF(wrong); i++)
		assert_usage(nb_job_set(job, wrong[i].text), wrong[i].why);
	ck_assert_uint_eq(job->records, 1000);
	ck_assert_uint_eq(job->groups[0].threads, 1);
	nb_job_delete(job);
}

static void
assert_phases(const struct nb_job *job, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	uint32_t expected[] = {a, b, c, d};
	ck_assert_uint_eq(job->group_count, 4);
	for (size_t i = 0; i < 4; i++)
		ck_assert_uint_eq(job->groups[i].phase, expected[i]);
}

TEST(start_is_relative_to_the_group_before)
{
	struct nb_job *job = job_of_text("[a]\nread=1\n[b]\nread=1\n[c]\nread=1\nstart=after\n"
					 "[d]\nread=1\n");
	assert_phases(job, 0, 0, 1, 1);
	job_set(job, "b.start=after");
	assert_phases(job, 0, 1, 2, 2);
	job_set(job, "b.start=after");
	assert_phases(job, 0, 1, 2, 2);
	job_set(job, "c.start=together");
	assert_phases(job, 0, 1, 1, 1);
	job_set(job, "a.start=after"); /* no group precedes it */
	assert_phases(job, 0, 1, 1, 1);
	job_set(job, "start=after");
	assert_phases(job, 0, 1, 2, 3);
	job_set(job, "start=together");
	assert_phases(job, 0, 0, 0, 0);
	assert_usage(nb_job_set(job, "start=aftr"),
		"start: 'aftr' is not known, did you mean 'after'? Allowed: together, after");
	nb_job_delete(job);
}

TEST(arrivals_are_closed_without_a_rate_in_any_order)
{
	struct nb_job *job = job_of_text(two_groups);
	struct nb_group *group = &job->groups[0];
	job_set(job, "arrivals=poisson");
	ck_assert_uint_eq(group->arrivals, NB_ARRIVAL_CLOSED);
	job_set(job, "rate=1k");
	ck_assert_uint_eq(group->arrivals, NB_ARRIVAL_POISSON);
	ck_assert_uint_ge(group->rate_count, 1);
	ck_assert_double_eq(group->rate[0].from_ops_s, 1000);
	job_set(job, "rate=none");
	ck_assert_uint_eq(group->arrivals, NB_ARRIVAL_CLOSED);
	ck_assert_uint_eq(group->rate_count, 0);
	ck_assert_ptr_null(group->rate);
	job_set(job, "arrivals=fixed");
	job_set(job, "rate=2k");
	ck_assert_uint_eq(group->arrivals, NB_ARRIVAL_FIXED);
	job_set(job, "arrivals=poisson");
	ck_assert_uint_eq(group->arrivals, NB_ARRIVAL_POISSON);
	ck_assert_uint_eq(job->load->arrivals, NB_ARRIVAL_CLOSED);
	nb_job_delete(job);
}

TEST(delete_of_null_is_allowed)
{
	nb_job_delete(NULL);
	nb_presets_delete(NULL);
}

TEST(help_of_keys_is_complete_and_fits_a_line)
{
	const struct nb_job_key *keys = nb_job_keys();
	size_t count = 0;
	for (; keys[count].name != NULL; count++) {
		const struct nb_job_key *key = &keys[count];
		ck_assert_ptr_nonnull(key->arg);
		ck_assert_ptr_nonnull(key->help);
		ck_assert_uint_lt(strlen(key->help), 200);
		ck_assert_str_eq(key->name, job_keys[count].said.name);
		ck_assert_uint_le(key->is_global, 1);
	}
	ck_assert_uint_ge(count, 40);
	ck_assert_ptr_null(job_keys[count].said.name);
	ck_assert_ptr_eq(nb_job_keys(), keys);
}

TEST(keys_are_unique_and_found_by_their_whole_name)
{
	for (const struct job_key *key = job_keys; key->said.name != NULL; key++)
		ck_assert_ptr_eq(job_keys_find(key->said.name), key);
	ck_assert_ptr_null(job_keys_find("record"));
	ck_assert_ptr_null(job_keys_find(""));
	ck_assert_ptr_null(job_keys_find("Records"));
}
