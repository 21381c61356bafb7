/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs that are rejected before anything is touched. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rig.h"
#include "unit.h"

static struct rig rig;

/** nb_run_new() fails with this text and leaves nothing behind. */
static void
assert_refused(int rc, const char *told)
{
	struct nb_run *run = NULL;
	ck_assert_int_eq(nb_run_new(&run, &rig.options), rc);
	ck_assert_ptr_null(run);
	rig_assert_told(told);
	ck_assert(!rig_has(&rig, "nb"));
}

static const struct {
	const char *told;
	uint64_t count, key_size, value_size;
	double ratio, verify_rate;
	uint32_t threads, verb;
} refused[] = {
	{"count", 0, 16, 100, 0.5, 0.01, 1, NB_VERB_PUT},
	{"count", UINT64_MAX, 16, 100, 0.5, 0.01, 1, NB_VERB_PUT},
	{"count", (uint64_t)1 << 62, 16, 100, 0.5, 0.01, 1, NB_VERB_PUT},
	{"key size", 10, 0, 100, 0.5, 0.01, 1, NB_VERB_PUT},
	{"key size", 10, 1000000000, 100, 0.5, 0.01, 1, NB_VERB_PUT},
	{"key size", 10, UINT64_MAX, 100, 0.5, 0.01, 1, NB_VERB_PUT},
	{"value size", 10, 16, (uint64_t)2 << 30, 0.5, 0.01, 1, NB_VERB_PUT},
	{"value size", 10, 16, UINT64_MAX, 0.5, 0.01, 1, NB_VERB_PUT},
	{"value ratio", 10, 16, 100, NAN, 0.01, 1, NB_VERB_PUT},
	{"value ratio", 10, 16, 100, -1, 0.01, 1, NB_VERB_PUT},
	{"value ratio", 10, 16, 100, 2, 0.01, 1, NB_VERB_PUT},
	{"value ratio", 10, 16, 100, INFINITY, 0.01, 1, NB_VERB_PUT},
	{"verify rate", 10, 16, 100, 0.5, NAN, 1, NB_VERB_PUT},
	{"verify rate", 10, 16, 100, 0.5, -0.1, 1, NB_VERB_PUT},
	{"verify rate", 10, 16, 100, 0.5, 1.1, 1, NB_VERB_PUT},
	{"threads", 10, 16, 100, 0.5, 0.01, 0, NB_VERB_PUT},
	{"threads", 10, 16, 100, 0.5, 0.01, 11, NB_VERB_PUT},
	{"threads", 10000, 16, 100, 0.5, 0.01, 2000, NB_VERB_PUT},
	{"threads", 10, 16, 100, 0.5, 0.01, UINT32_MAX, NB_VERB_PUT},
	{"verb", 10, 16, 100, 0.5, 0.01, 1, 3},
};

TEST(number_out_of_range_is_refused_by_its_name)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		rig_create(&rig, refused[i].verb, 10);
		rig.workload.count = refused[i].count;
		rig.workload.key_size = refused[i].key_size;
		rig.workload.value_size = refused[i].value_size;
		rig.workload.value_ratio = refused[i].ratio;
		rig.options.verify_rate = refused[i].verify_rate;
		rig.options.threads = refused[i].threads;
		assert_refused(NB_ERR_USAGE, refused[i].told);
	}
}

TEST(bounds_themselves_are_allowed)
{
	static const double ends[] = {0, 1};
	for (int i = 0; i < 2; i++) {
		rig_create(&rig, NB_VERB_PUT, 1024);
		rig.workload.value_ratio = ends[i];
		rig.workload.value_size = i == 0 ? 0 : NB_VALUE_SIZE_MAX;
		rig.options.verify_rate = ends[i];
		rig.options.threads = i == 0 ? 1 : 1024;
		rig_new(&rig, NULL);
	}
}

TEST(contradictory_options_are_refused)
{
	static const char *const texts[] = {"nosuch=1"};
	rig_create(&rig, NB_VERB_PUT, 10);
	const struct nb_run_options good = rig.options;
	rig.options.clock = NB_CLOCK_MONOTONIC + 1;
	assert_refused(NB_ERR_USAGE, "clock");
	rig.options = good;
	rig.options.settle = NB_RUN_SETTLE_COMPACT + 1;
	assert_refused(NB_ERR_USAGE, "settle");
	rig.options = good;
	rig.options.workload = NULL;
	assert_refused(NB_ERR_USAGE, "a run needs a workload or a job");
	rig.options = good;
	rig.options.path = ""; /* does not mean the root directory */
	assert_refused(NB_ERR_USAGE, "path: must not be empty");
	rig.options.path = NULL;
	assert_refused(NB_ERR_USAGE, "path: must not be empty");
	rig.options = good;
	rig.options.driver = "memroy";
	assert_refused(NB_ERR_USAGE, "did you mean 'memory'");
	rig.options = good;
	rig.options.engine_options = texts;
	rig.options.engine_option_count = 1;
	assert_refused(NB_ERR_USAGE, "nosuch");
}

TEST(key_file_that_is_too_short_is_refused_before_anything_is_made)
{
	rig_create(&rig, NB_VERB_PUT, 10);
	rig.workload.count = 11;
	assert_refused(NB_FAIL, "holds 10 keys of 16 bytes, 11 are needed");
	rig_assert_told("--action=keys");
	rig.workload.keys_path = "/nonexistent/keys";
	assert_refused(NB_FAIL, "/nonexistent/keys");
	rig_assert_told("--action=keys");
}

/* --- runs that the engine does not support --- */

/** The path of a plugin of tests/refused. The next call overwrites it. */
static const char *
plugin(const char *name)
{
	static char path[1024];
	const char *dir = getenv("MININB_TEST_PLUGINS");
	ck_assert_msg(dir != NULL, "MININB_TEST_PLUGINS is not set");
	snprintf(path, sizeof(path), "%s/%s.so", dir, name);
	return path;
}

TEST(unavailable_durability_is_refused_with_the_available_ones)
{
	rig_create(&rig, NB_VERB_PUT, 10);
	rig.options.durability = NB_DUR_COMMIT;
	assert_refused(NB_UNSUPPORTED, "durability commit: memory cannot give it");
	rig_assert_told("it gives: none");
	rig.options.driver = plugin("limited");
	rig.workload.key_size = 8;
	rig.workload.value_size = 32;
	rig.options.durability = NB_DUR_PERIODIC;
	assert_refused(NB_UNSUPPORTED, "durability periodic: limited cannot give it");
	rig_assert_told("it gives: process, commit");
	rig.options.durability = 17;
	assert_refused(NB_UNSUPPORTED, "it gives: process, commit");
}

TEST(auto_is_the_engines_choice_for_the_path_and_other_levels_are_kept)
{
	static const struct {
		const char *plugin, *path;
		uint32_t asked, given;
	} cases[] = {{"limited", "disk", NB_DUR_AUTO, NB_DUR_PROCESS},
		{"limited", "disk", NB_DUR_COMMIT, NB_DUR_COMMIT},
		{"by_place", "disk", NB_DUR_AUTO, NB_DUR_PROCESS},
		{"by_place", "memory", NB_DUR_AUTO, NB_DUR_COMMIT},
		/* an invalid level: the table's level */
		{"by_place", "none-such", NB_DUR_AUTO, NB_DUR_COMMIT},
		{"by_place", "memory", NB_DUR_PROCESS, NB_DUR_PROCESS}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		rig_create(&rig, NB_VERB_PUT, 10);
		rig.options.driver = plugin(cases[i].plugin);
		rig.options.path = cases[i].path;
		rig.options.durability = cases[i].asked;
		rig.workload.key_size = 8;
		rig.workload.value_size = 32;
		rig_new(&rig, NULL);
		ck_assert_uint_eq(rig.run->durability, cases[i].given);
	}
}

TEST(threads_without_concurrent_sessions_are_refused)
{
	rig_create(&rig, NB_VERB_PUT, 10);
	rig.options.driver = plugin("right");
	rig.options.threads = 2;
	assert_refused(NB_UNSUPPORTED, "threads: right supports one thread only");
	rig.options.threads = 1;
	rig_new(&rig, NULL);
}

TEST(sizes_beyond_the_engines_are_refused)
{
	rig_create(&rig, NB_VERB_PUT, 10);
	rig.options.driver = plugin("limited");
	rig.workload.key_size = 9;
	rig.workload.value_size = 32;
	assert_refused(NB_UNSUPPORTED, "key size: limited takes at most 8 bytes");
	rig.workload.key_size = 8;
	rig.workload.value_size = 33;
	assert_refused(NB_UNSUPPORTED, "value size: limited takes at most 32 bytes");
	rig.workload.value_size = 32;
	rig_new(&rig, NULL);
}

TEST(database_is_below_the_path_by_the_drivers_name)
{
	char path[128];
	rig_create(&rig, NB_VERB_PUT, 10);
	rig_new(&rig, NULL);
	snprintf(path, sizeof(path), "%s/memory", rig.path);
	ck_assert_str_eq(rig.run->path, path);
	rig.options.driver = plugin("right"); /* a path, whose name is not "right" */
	rig_new(&rig, NULL);
	snprintf(path, sizeof(path), "%s/right", rig.path);
	ck_assert_str_eq(rig.run->path, path);
	ck_assert(!rig_has(&rig, "nb"));
}

TEST(callers_structures_may_be_shorter_and_change_afterwards)
{
	rig_create(&rig, NB_VERB_PUT, 10);
	rig.options.size = offsetof(struct nb_run_options, cache_bytes);
	rig.options.cache_bytes = 4711; /* beyond the end of the options: ignored */
	rig.options.verify_rate = 17;
	rig_new(&rig, NULL);
	struct nb_run_options defaults = NB_RUN_OPTIONS_INIT;
	ck_assert_uint_eq(rig.run->options.cache_bytes, 0);
	ck_assert(rig.run->options.verify_rate == defaults.verify_rate);
	rig.workload.count = 3;
	ck_assert_uint_eq(rig.run->options.workload->count, 10);
}

TEST(delete_of_null_is_allowed)
{
	nb_run_delete(NULL);
}
