/* SPDX-License-Identifier: BSD-2-Clause */
/* A result outlives its run, and contains everything that determines its meaning. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"
#include "unit.h"

static struct rig rig;

/** The result of 100 puts with this engine; NULL: memory. Destroys the rig. */
static struct nb_result *
result_of(const struct nb_engine *engine)
{
	struct nb_result *result;
	rig_create(&rig, NB_VERB_PUT, 100);
	ck_assert_int_eq(rig_run(&rig, engine), NB_OK);
	ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
	return result;
}

TEST(result_outlives_its_run_and_the_callers_texts)
{
	struct nb_result *result;
	char keys[128], *text = NULL;
	size_t size;
	rig_create(&rig, NB_VERB_GET, 1000);
	snprintf(keys, sizeof(keys), "%s", rig.keys);
	rig.workload.keys_path = keys;
	rig.options.threads = 3;
	rig.options.verify_rate = 0.5;
	rig.options.cache_bytes = 4096;
	ck_assert_int_eq(rig_run(&rig, NULL), NB_OK);
	uint64_t digest = rig.run->digest, wall_ns = rig.run->measured.wall_ns;
	uint64_t sum = nb_histogram_sum(rig.run->measured.service);
	ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
	nb_run_delete(rig.run);
	rig.run = NULL;
	memset(keys, 'x', sizeof(keys) - 1);
	ck_assert_uint_eq(nb_result_ops(result), 1000);
	ck_assert_uint_eq(nb_result_wall_ns(result), wall_ns);
	ck_assert_uint_eq(nb_result_digest(result), digest);
	ck_assert_uint_eq(nb_histogram_count(nb_result_service(result)), 1000);
	ck_assert_uint_eq(nb_histogram_sum(nb_result_service(result)), sum);
	ck_assert(!nb_result_is_partial(result));
	ck_assert_str_eq(result->workload.keys_path, rig.keys);
	ck_assert_str_eq(result->engine.name, "memory");
	ck_assert_str_eq(result->engine_path, "built in");
	ck_assert_uint_eq(result->threads, 3);
	ck_assert(result->verify_rate == 0.5);
	ck_assert_uint_eq(result->cache_bytes, 4096);
	ck_assert(result->is_auto_durability);
	ck_assert_uint_gt(result->note_count, 2); /* a note reports the loading */
	FILE *out = open_memstream(&text, &size);
	ck_assert_int_eq(nb_result_write_text(result, out, 0), NB_OK);
	fclose(out);
	ck_assert_ptr_nonnull(strstr(text, "memory keeps no data between runs"));
	free(text);
	nb_result_delete(result);
	rig_destroy(&rig);
}

TEST(two_results_of_one_run_are_equal)
{
	struct nb_result *one = result_of(NULL), *two;
	ck_assert_int_eq(nb_result_new(&two, rig.run), NB_OK);
	ck_assert_uint_eq(nb_result_ops(one), nb_result_ops(two));
	ck_assert_uint_eq(nb_histogram_sum(nb_result_service(one)),
		nb_histogram_sum(nb_result_service(two)));
	nb_result_delete(one);
	ck_assert_uint_eq(nb_histogram_count(nb_result_service(two)), 100);
	nb_result_delete(two);
	rig_destroy(&rig);
}

TEST(digest_of_the_stream_does_not_depend_on_threads)
{
	uint64_t digests[4];
	static const struct {
		uint32_t threads;
		const char *driver;
		uint64_t seed;
	} cases[4] = {{1, "memory", 1}, {7, "memory", 1}, {2, "null", 1}, {1, "memory", 2}};
	for (int i = 0; i < 4; i++) {
		struct nb_result *result;
		rig_create(&rig, NB_VERB_PUT, 100);
		rig.options.threads = cases[i].threads;
		rig.options.driver = cases[i].driver;
		rig.workload.seed = cases[i].seed;
		ck_assert_int_eq(rig_run(&rig, NULL), NB_OK);
		ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
		digests[i] = nb_result_digest(result);
		nb_result_delete(result);
		rig_destroy(&rig);
	}
	ck_assert_uint_eq(digests[0], digests[1]);
	ck_assert_uint_eq(digests[0], digests[2]);
	ck_assert_uint_ne(digests[0], digests[3]);
}

TEST(run_without_a_first_operation_has_no_result)
{
	struct nb_result *result = NULL;
	rig_create(&rig, NB_VERB_PUT, 100);
	rig_new(&rig, NULL);
	ck_assert_int_eq(nb_result_new(&result, rig.run), NB_FAIL);
	ck_assert_ptr_null(result);
	rig_assert_told("no result");
	rig_destroy(&rig);
	nb_result_delete(NULL);
}

TEST(options_are_the_effective_ones)
{
	static const struct nb_option options[] = {
		{.name = "sync", .type = NB_OPT_BOOL, .def = "0"},
		{.name = "size", .type = NB_OPT_BYTES, .def = "4MiB"},
		{.name = "limit", .type = NB_OPT_U64}, {.name = NULL}};
	static const char *const typed[] = {"size=64KiB"};
	struct nb_engine engine = *engine_builtin("memory");
	struct nb_result *result;
	rig_create(&rig, NB_VERB_PUT, 100);
	engine.options = options;
	rig_new(&rig, &engine);
	nb_options_delete(rig.run->values, engine_builtin("memory"));
	ck_assert_int_eq(nb_options_parse(&rig.run->values, &engine, typed, 1), NB_OK);
	ck_assert_int_eq(nb_run_execute(rig.run), NB_OK);
	ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
	ck_assert_uint_eq(result->option_count, 3);
	ck_assert_str_eq(result->options[0].name, "sync");
	ck_assert_str_eq(result->options[0].value, "no");
	ck_assert_str_eq(result->options[1].value, "64KiB");
	ck_assert_str_eq(result->options[2].value, "engine's default");
	nb_result_delete(result);
	rig_destroy(&rig);
}

static uint64_t stats_calls;

static void
stats_told(struct nb_db *db, nb_stat_emit emit, void *to)
{
	stats_calls++;
	emit(to, "grew", "times", NB_STAT_COUNTER, 7 * stats_calls);
	emit(to, "fell", "times", NB_STAT_COUNTER, 9 - stats_calls);
	emit(to, "level", "bytes", NB_STAT_GAUGE, stats_calls);
}

static void
list_counter(void *to, const char *name, const char *unit, uint32_t kind, uint64_t value)
{
	char *list = to;
	size_t used = strlen(list);
	snprintf(list + used, 256 - used, "%s %s %u %llu\n", name, unit, kind,
		(unsigned long long)value);
}

TEST(counters_that_decreased_are_omitted)
{
	struct nb_engine engine = *rig_right();
	struct nb_result *result;
	char list[256] = "";
	engine.stats = stats_told;
	stats_calls = 0;
	rig_create(&rig, NB_VERB_PUT, 100);
	rig.options.sample_ns = UINT64_MAX; /* so only two calls are made */
	rig.options.verify_rate = 0;        /* same reason: no calls for reading back */
	ck_assert_int_eq(rig_run(&rig, &engine), NB_OK);
	ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
	rig_destroy(&rig);
	nb_result_counters(result, list_counter, list);
	ck_assert_str_eq(list, "grew times 0 7\nlevel bytes 1 2\n");
	size_t i = 0;
	while (i < result->note_count && strcmp(result->notes[i].id, "ran-backwards") != 0)
		i++;
	ck_assert_uint_lt(i, result->note_count);
	ck_assert_str_eq(result->notes[i].text,
		"counters of the engine ran backwards and are left out: fell");
	nb_result_delete(result);
}

TEST(results_contain_notes_and_the_environment)
{
	struct nb_results *results;
	rig_create(&rig, NB_VERB_PUT, 100);
	ck_assert_int_eq(rig_run(&rig, NULL), NB_OK);
	ck_assert_str_ne(rig.run->environment.kernel, "");
	ck_assert_int_eq(nb_results_new(&results), NB_OK);
	ck_assert_int_eq(nb_results_add_run(results, rig.run, "x"), NB_OK);
	ck_assert_int_eq(nb_results_add_failure(results, "y", "failed"), NB_OK);
	rig_destroy(&rig);
	ck_assert_str_eq(nb_results_note_id(results, 0, 0), "closed-loop");
	ck_assert_int_eq(strncmp(nb_results_note(results, 0, 0), "closed loop: ", 13), 0);
	size_t count = 0;
	while (nb_results_note(results, 0, count) != NULL)
		ck_assert_ptr_nonnull(nb_results_note_id(results, 0, count++));
	ck_assert_ptr_null(nb_results_note_id(results, 0, count));
	ck_assert_ptr_null(nb_results_note_id(results, 1, 0)); /* this run has no result */
	ck_assert_ptr_null(nb_results_note_id(results, 2, 0));
	nb_results_delete(results);
}

TEST(bytes_and_rates_are_plain_quotients)
{
	struct nb_result result = {
		.workload = {.key_size = 16}, .measured = {.ops = 10, .value_bytes = 1000}};
	ck_assert_uint_eq(result_bytes(&result), 1160);
	ck_assert(result_rate(500, 250000000) == 2000);
	ck_assert(result_rate(500, 0) == 0);
	ck_assert(result_rate(0, 5) == 0);
}

static int
open_warning(struct nb_db **out, const struct nb_open_args *args)
{
	args->host->log(NB_LOG_INFO, "memory: is small");
	args->host->log(NB_LOG_WARNING, "memory: is %s", "old");
	args->host->log(NB_LOG_WARNING, "memory: is slow");
	args->host->log(NB_LOG_WARNING, "memory: is old");
	return rig_right()->open(out, args);
}

TEST(warnings_of_the_engine_are_in_the_result_once)
{
	struct nb_engine warning = *rig_right();
	warning.open = open_warning;
	struct nb_result *result = result_of(&warning);
	ck_assert_uint_eq(result->warnings.count, 2);
	ck_assert_str_eq(result->warnings.texts[0], "memory: is old");
	ck_assert_str_eq(result->warnings.texts[1], "memory: is slow");
	ck_assert_str_eq(result->notes[result->note_count - 1].text, "memory: is slow");
	nb_result_delete(result);
	rig_destroy(&rig);
	result = result_of(NULL); /* the next run starts without notes */
	ck_assert_uint_eq(result->warnings.count, 0);
	nb_result_delete(result);
	rig_destroy(&rig);
}

static int
open_warning_much(struct nb_db **out, const struct nb_open_args *args)
{
	for (int i = 0; i < 100; i++)
		args->host->log(NB_LOG_WARNING, "memory: %0*d", 2 * ENGINE_WARNING_SIZE, i);
	for (int i = 0; i < 100; i++)
		args->host->log(NB_LOG_WARNING, "memory: warning %d", i);
	return rig_right()->open(out, args);
}

TEST(many_and_long_warnings_are_cut)
{
	struct nb_engine warning = *rig_right();
	warning.open = open_warning_much;
	struct nb_result *result = result_of(&warning);
	ck_assert_uint_eq(result->warnings.count, ENGINE_WARNINGS_MAX);
	ck_assert_uint_eq(strlen(result->warnings.texts[0]), ENGINE_WARNING_SIZE - 1);
	ck_assert_str_eq(result->warnings.texts[1], "memory: warning 0");
	nb_result_delete(result);
	rig_destroy(&rig);
}
