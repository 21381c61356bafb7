/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/job.h"

#include <stdio.h>

#include "job_equal.h"

bool unit_in_scratch = true;

/* Those that are shipped; the test runs from the build tree and so finds them. */
static const char *const shipped[] = {"deleterandom", "fillrandom", "fillseq", "fptree-220w",
	"graph-read", "overwrite", "readrandom", "readrandomwriterandom", "readseq",
	"readwhilewriting", "seekrandom", "taobench-a", "taobench-o", "transfer", "ycsb-a",
	"ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f"};

TEST(shipped_presets_are_listed_by_name_with_a_summary)
{
	unsetenv("MININB_WORKLOAD_PATH");
	struct nb_preset *presets;
	ck_assert_int_eq(nb_presets_list(&presets), NB_OK);
	size_t found = 0;
	for (size_t i = 0; presets[i].name != NULL; i++) {
		if (i > 0)
			ck_assert_int_lt(strcmp(presets[i - 1].name, presets[i].name), 0);
		if (found < COUNT_OF(shipped) && strcmp(presets[i].name, shipped[found]) == 0) {
			found++;
			ck_assert_uint_ge(strlen(presets[i].summary), 10);
			ck_assert_uint_lt(strlen(presets[i].summary), 80);
			ck_assert_int_eq(presets[i].path[0], '/');
		}
	}
	ck_assert_uint_eq(found, COUNT_OF(shipped));
	nb_presets_delete(presets);
}

TEST(every_shipped_preset_is_good_and_can_be_written)
{
	unsetenv("MININB_WORKLOAD_PATH");
	for (size_t i = 0; i < COUNT_OF(shipped); i++) {
		struct nb_job *job;
		ck_assert_msg(nb_job_read(&job, shipped[i]) == NB_OK, "%s", nb_error_text());
		ck_assert_str_eq(job->name, shipped[i]);
		ck_assert_msg(
			nb_job_check(job) == NB_OK, "%s: %s", shipped[i], nb_error_text());
		assert_written_whole(job);
		nb_job_delete(job);
	}
}

/*
 * Proportions, distributions and counts of workloads/workloada to workloadf of YCSB at
 * commit d9faaac8, read there; what a file does not say is the default of CoreWorkload.java
 * there.
 */
static const struct ycsb {
	const char *name;
	double read, update, insert, scan, read_modify_write;
	uint32_t distribution;
} ycsb[] = {
	{"ycsb-a", 0.5, 0.5, 0, 0, 0, NB_DIST_ZIPFIAN},
	{"ycsb-b", 0.95, 0.05, 0, 0, 0, NB_DIST_ZIPFIAN},
	{"ycsb-c", 1, 0, 0, 0, 0, NB_DIST_ZIPFIAN},
	{"ycsb-d", 0.95, 0, 0.05, 0, 0, NB_DIST_LATEST},
	{"ycsb-e", 0, 0, 0.05, 0.95, 0, NB_DIST_ZIPFIAN},
	{"ycsb-f", 0.5, 0, 0, 0, 0.5, NB_DIST_ZIPFIAN},
};

static void
assert_is_ycsb(const struct nb_job *job, const struct ycsb *published)
{
	const struct nb_group *group = &job->groups[0];
	double sum = 0,
	       expected[NB_OP_KINDS] = {[NB_OP_READ] = published->read,
		       [NB_OP_UPDATE] = published->update,
		       [NB_OP_INSERT] = published->insert,
		       [NB_OP_SCAN] = published->scan,
		       [NB_OP_RMW] = published->read_modify_write};
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++)
		sum += group->weights[kind];
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++)
		ck_assert_double_eq_tol(group->weights[kind] / sum, expected[kind], 1e-15);
	ck_assert_uint_eq(group->distribution, published->distribution);
	ck_assert_double_eq(group->theta, 0.99);
	ck_assert_uint_eq(group->count, 1000);
	ck_assert_uint_eq(job->group_count, 1);
	ck_assert_uint_eq(job->records, 1000);
	ck_assert_uint_eq(job->values.kind, NB_SIZE_FIXED);
	ck_assert_uint_eq(job->values.min, 10 * 100);
	ck_assert_uint_eq(job->key_format, NB_KEY_TEXT);
	ck_assert_uint_eq(job->key_order, NB_ORDER_YCSB);
	ck_assert_str_eq(job->key_prefix, "user");
	ck_assert_uint_eq(job->key_digits, 1);
}

TEST(ycsb_presets_are_what_was_published)
{
	unsetenv("MININB_WORKLOAD_PATH");
	for (size_t i = 0; i < COUNT_OF(ycsb); i++) {
		struct nb_job *job;
		ck_assert_int_eq(nb_job_read(&job, ycsb[i].name), NB_OK);
		assert_is_ycsb(job, &ycsb[i]);
		if (ycsb[i].scan > 0) {
			ck_assert_uint_eq(job->groups[0].scan_min, 1);
			ck_assert_uint_eq(job->groups[0].scan_max, 100);
			ck_assert_uint_eq(job->groups[0].scan_distribution, NB_DIST_UNIFORM);
		}
		nb_job_delete(job);
	}
}

/* benchmarks/db_bench.cc of LevelDB at commit 78a352f4: "%016d", 100 bytes, 0.5, 1000000. */
TEST(db_bench_presets_have_its_data)
{
	static const char *const names[] = {"deleterandom", "fillrandom", "fillseq",
		"overwrite", "readrandom", "readrandomwriterandom", "readseq",
		"readwhilewriting", "seekrandom"};
	unsetenv("MININB_WORKLOAD_PATH");
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct nb_job *job;
		ck_assert_int_eq(nb_job_read(&job, names[i]), NB_OK);
		ck_assert_uint_eq(job->key_format, NB_KEY_TEXT);
		ck_assert_str_eq(job->key_prefix, "");
		ck_assert_uint_eq(job->key_digits, 16);
		ck_assert_uint_eq(job->values.min, 100);
		ck_assert_double_eq(job->value_ratio, 0.5);
		bool is_filling = strncmp(names[i], "fill", 4) == 0;
		ck_assert_uint_eq(job->records, is_filling ? 0 : 1000000);
		if (is_filling)
			ck_assert_uint_eq(job->groups[0].count, 1000000);
		nb_job_delete(job);
	}
}

TEST(readers_and_writer_run_side_by_side)
{
	struct nb_job *job;
	unsetenv("MININB_WORKLOAD_PATH");
	ck_assert_int_eq(nb_job_read(&job, "readwhilewriting"), NB_OK);
	ck_assert_uint_eq(job->group_count, 2);
	ck_assert_uint_eq(job->groups[0].phase, job->groups[1].phase);
	ck_assert_uint_gt(job->groups[0].weights[NB_OP_READ], 0);
	ck_assert_uint_eq(job->groups[0].is_background, 0);
	ck_assert_uint_gt(job->groups[1].weights[NB_OP_UPSERT], 0);
	ck_assert_uint_eq(job->groups[1].is_background, 1);
	nb_job_delete(job);
}

/* 220w-rw-50-50-load.txt and -run.txt: 2200000 lines, then 175452 INSERT and 174548 READ. */
TEST(fptree_preset_has_the_counts_of_its_files)
{
	struct nb_job *job;
	unsetenv("MININB_WORKLOAD_PATH");
	ck_assert_int_eq(nb_job_read(&job, "fptree-220w"), NB_OK);
	ck_assert_uint_eq(job->records, 2200000);
	ck_assert_uint_eq(job->groups[0].weights[NB_OP_INSERT], 175452);
	ck_assert_uint_eq(job->groups[0].weights[NB_OP_READ], 174548);
	ck_assert_uint_eq(job->groups[0].count, 175452 + 174548);
	ck_assert_uint_eq(job->key_format, NB_KEY_BE64);
	ck_assert_uint_eq(job->key_order, NB_ORDER_YCSB);
	ck_assert_uint_eq(job->values.min, 8);
	nb_job_delete(job);
}

static void
put_preset(const char *path, const char *text)
{
	file_put(path, text, strlen(text));
}

TEST(first_directory_of_the_variable_wins)
{
	scratch_fresh("variable");
	mkdir("a", 0700);
	mkdir("b", 0700);
	put_preset("a/mine.ini", "[workload]\nsummary = of a\nread = 1\n");
	put_preset("b/mine.ini", "[workload]\nsummary = of b\nread = 1\n");
	put_preset("b/ycsb-a.ini", "[workload]\nsummary = another\nread = 1\n");
	put_preset("b/.hidden.ini", "[workload]\n");
	put_preset("b/other.txt", "[workload]\n");
	char variable[256];
	snprintf(variable, sizeof(variable), ":/nonexistent:%s/variable/a::%s/variable/b",
		scratch_path, scratch_path);
	setenv("MININB_WORKLOAD_PATH", variable, 1);
	struct nb_job *job;
	ck_assert_int_eq(nb_job_read(&job, "mine"), NB_OK);
	ck_assert_str_eq(job->summary, "of a");
	nb_job_delete(job);
	ck_assert_int_eq(nb_job_read(&job, "ycsb-a"), NB_OK);
	ck_assert_str_eq(job->summary, "another");
	nb_job_delete(job);
	ck_assert_int_eq(nb_job_read(&job, "ycsb-b"), NB_OK);
	nb_job_delete(job);
	ck_assert_int_eq(nb_job_read(&job, "hidden"), NB_ERR_USAGE);
	ck_assert_int_eq(nb_job_read(&job, "other"), NB_ERR_USAGE);
}

TEST(broken_preset_is_listed_with_its_reason)
{
	scratch_fresh("broken");
	put_preset("broken.ini", "[workload]\nrecrods = 1\n");
	char here[256];
	snprintf(here, sizeof(here), "%s/broken", scratch_path);
	setenv("MININB_WORKLOAD_PATH", here, 1);
	struct nb_preset *presets;
	ck_assert_int_eq(nb_presets_list(&presets), NB_OK);
	ck_assert_str_eq(presets[0].name, "broken");
	char why[512];
	snprintf(why, sizeof(why),
		"%s/broken.ini:2: there is no key 'recrods', did you mean 'records'?", here);
	ck_assert_str_eq(presets[0].summary, why);
	nb_presets_delete(presets);
}

TEST(working_directory_is_not_looked_at)
{
	scratch_fresh("working");
	put_preset("mine.ini", "[workload]\nread = 1\n");
	unsetenv("MININB_WORKLOAD_PATH");
	struct nb_job *job;
	ck_assert_int_eq(nb_job_read(&job, "mine"), NB_ERR_USAGE);
	ck_assert_int_eq(nb_job_read(&job, "mine.ini"), NB_OK);
	nb_job_delete(job);
	ck_assert_int_eq(nb_job_read(&job, "./mine.ini"), NB_OK);
	ck_assert_str_eq(job->name, "./mine.ini");
	nb_job_delete(job);
}

TEST(unknown_preset_names_the_nearest_and_all)
{
	unsetenv("MININB_WORKLOAD_PATH");
	struct nb_job *job;
	ck_assert_int_eq(nb_job_read(&job, "ycbs-a"), NB_ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(nb_error_text(),
		"there is no workload 'ycbs-a', did you mean 'ycsb-a'? Allowed: "));
	for (size_t i = 0; i < COUNT_OF(shipped); i++)
		ck_assert_ptr_nonnull(strstr(nb_error_text(), shipped[i]));
	ck_assert_int_eq(nb_job_read(&job, "nothing-like-it"), NB_ERR_USAGE);
	ck_assert_ptr_nonnull(
		strstr(nb_error_text(), "there is no workload 'nothing-like-it'; allowed: "));
	ck_assert_int_eq(nb_job_read(&job, ""), NB_ERR_USAGE);
}
