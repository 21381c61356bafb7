/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/job.h"

#include <stdio.h>
#include <sys/stat.h>

#include "job_equal.h"
#include "workload/keyspace.h"

bool unit_in_scratch = true;

/* The shipped presets. The test runs in the build tree and finds them there. */
static const char *const shipped[] = {"bdb", "deleterandom", "fillrandom", "fillseq",
	"fptree-220w", "graph-read", "overwrite", "r1", "rcol1", "readrandom",
	"readrandomwriterandom", "readseq", "readwhilewriting", "rscale", "rscan1", "rscan1q80",
	"rw1", "rw16", "rw1fixed", "rw1long", "rw1puts", "rw2", "rw2fixed", "rw2fixedg90",
	"rw2fixedg98", "rw2g90", "rw2g98", "rw3", "rw4", "rw4fixed", "rwsep24", "rwsmall24",
	"same", "scan1", "scan1q80", "seekrandom", "taobench-a", "taobench-o", "transfer", "u1",
	"url", "uscale", "w1", "wcol1", "wd1", "wd2", "wd3", "wscale", "ycsb-a", "ycsb-b",
	"ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f", "ycsbk"};

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
 * Proportions, distributions and counts of workloads/workloada to workloadf of YCSB at commit
 * d9faaac8. Missing values are the defaults of CoreWorkload.java there.
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

TEST(ycsb_presets_match_the_publication)
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
	size_t at = 0;
	while (presets[at].name != NULL && strcmp(presets[at].name, "broken") != 0)
		at++;
	ck_assert_ptr_nonnull(presets[at].name);
	char why[512];
	snprintf(why, sizeof(why),
		"%s/broken.ini:2: unknown key 'recrods', did you mean 'records'?", here);
	ck_assert_str_eq(presets[at].summary, why);
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

TEST(unknown_preset_names_the_nearest)
{
	unsetenv("MININB_WORKLOAD_PATH");
	struct nb_job *job;
	ck_assert_int_eq(nb_job_read(&job, "ycbs-a"), NB_ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(nb_error_text(),
		"unknown workload 'ycbs-a', did you mean 'ycsb-a'? 'mininb workloads' lists all."));
	ck_assert_int_eq(nb_job_read(&job, "nothing-like-it"), NB_ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(nb_error_text(),
		"unknown workload 'nothing-like-it'. 'mininb workloads' lists all."));
	ck_assert_int_eq(nb_job_read(&job, ""), NB_ERR_USAGE);
}

/* Ranges and formats of keys come from kvtest.hh of Masstree at commit 1119842. */
TEST(masstree_presets_put_its_keys_and_verify_each_get)
{
	static const struct {
		const char *name;
		uint64_t space, count;
		uint32_t format, digits;
		const char *last; /* last key of the space */
	} rows[] = {{"rw1", UINT64_C(1) << 31, 0, NB_KEY_TEXT, 1, "2147483647"},
		{"rw1fixed", 100000000, 0, NB_KEY_TEXT, 1, "99999999"},
		{"rw1long", UINT64_C(1) << 33, 0, NB_KEY_WORDS, 1, "fartparade2147483647"},
		{"rw16", UINT64_C(1) << 31, 0, NB_KEY_TEXT, 16, "0000002147483647"},
		{"rw3", 100000000, 0, NB_KEY_TEXT, 8, "99999999"},
		{"rw4", UINT64_C(1) << 31, 0, NB_KEY_TEXT, 10, "2147483647"},
		{"rw4fixed", 100000000, 0, NB_KEY_TEXT, 8, "99999999"},
		{"same", 10, 0, NB_KEY_TEXT, 1, "9"},
		{"w1", UINT64_C(1) << 31, 4000000, NB_KEY_TEXT, 10, "2147483647"},
		{"r1", UINT64_C(1) << 31, 4000000, NB_KEY_TEXT, 10, "2147483647"},
		{"u1", 10000000, 10000000, NB_KEY_TEXT, 10, "0009999999"},
		{"ycsbk", UINT64_C(1000000000000000000), 1000000, NB_KEY_TEXT, 18,
			"user999999999999999999"}};
	unsetenv("MININB_WORKLOAD_PATH");
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct nb_job *job;
		struct keyspace keys;
		uint8_t key[64];
		ck_assert_int_eq(nb_job_read(&job, rows[i].name), NB_OK);
		ck_assert_int_eq(nb_job_check(job), NB_OK);
		ck_assert_str_eq(job->name, rows[i].name);
		ck_assert_uint_eq(job->records, 0);
		ck_assert_uint_eq(job->space, rows[i].space);
		ck_assert_uint_eq(job->key_format, rows[i].format);
		ck_assert_uint_eq(job->groups[0].count, rows[i].count);
		ck_assert_uint_eq(job->groups[0].duration_ns,
			rows[i].count == 0 ? UINT64_C(10000000000) : 0);
		ck_assert_int_eq(keyspace_create(&keys, job, rows[i].space), NB_OK);
		size_t size = keyspace_key(&keys, rows[i].space - 1, key);
		ck_assert_uint_eq(size, strlen(rows[i].last));
		ck_assert_mem_eq(key, rows[i].last, size);
		for (size_t g = 0; g < job->group_count; g++)
			ck_assert_double_eq(job->groups[g].verify_rate, 1);
		nb_job_delete(job);
	}
}

static void
put_family(const char *text)
{
	mkdir("own", 0700); /* may exist from an earlier process */
	file_put("own/mine.presets", text, strlen(text));
	setenv("MININB_WORKLOAD_PATH", "own", 1);
}

TEST(a_file_can_have_several_presets_with_common_defaults)
{
	struct nb_job *job;
	put_family("[workload]\nrecords = 7\nthreads = 3\nread = 1\n"
		   "[preset mine-a]\nsummary = first one\n[preset mine-b]\nsummary = second\n"
		   "records = 8\n[one]\nthreads = 2\n[two]\n[preset mine-c]\nbad = key\n");
	ck_assert_int_eq(nb_job_read(&job, "mine-a"), NB_OK);
	ck_assert_str_eq(job->summary, "first one");
	ck_assert_uint_eq(job->records, 7);
	ck_assert_uint_eq(job->group_count, 1);
	ck_assert_uint_eq(job->groups[0].threads, 3);
	nb_job_delete(job);
	ck_assert_int_eq(nb_job_read(&job, "mine-b"), NB_OK);
	ck_assert_uint_eq(job->records, 8);
	ck_assert_uint_eq(job->group_count, 2);
	ck_assert_uint_eq(job->groups[0].threads, 2);
	ck_assert_uint_eq(job->groups[1].threads, 3);
	nb_job_delete(job);
	ck_assert_int_eq(nb_job_read(&job, "mine-c"), NB_ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "mine.presets:14: "));
	ck_assert_int_eq(nb_job_read(&job, "mine-d"), NB_ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "did you mean 'mine-"));
	struct nb_preset *presets;
	size_t found = 0;
	ck_assert_int_eq(nb_presets_list(&presets), NB_OK);
	for (size_t i = 0; presets[i].name != NULL; i++)
		found += strncmp(presets[i].name, "mine-", 5) == 0 &&
			strstr(presets[i].path, "own/mine.presets") != NULL;
	ck_assert_uint_eq(found, 3);
	nb_presets_delete(presets);
}

TEST(preset_names_are_unique_and_belong_in_files_of_presets)
{
	struct nb_job *job;
	put_family("[preset mine-a]\nread = 1\n[preset mine-a]\nread = 2\n");
	ck_assert_int_eq(nb_job_read(&job, "mine-a"), NB_ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "[preset mine-a] comes twice"));
	ck_assert_int_eq(
		job_try_text(&job, "[workload]\nread = 1\n[preset x]\n"), NB_ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "is for files of several presets"));
}
