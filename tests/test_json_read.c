/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A result that was written and read back gives the same reports, byte for byte. A wrong file
 * is rejected with the place and the reason. fuzz/fuzz_result.c reads mutated files; the golden
 * files pin the layout.
 */
#include <stdlib.h>
#include <string.h>

#include "record_rig.h"
#include "report/record.h"
#include "rig.h"
#include "run/steps.h"
#include "scratch.h"
#include "toy.h"
#include "unit.h"

#include <jansson.h>

static const uint32_t all_flags[] = {0, NB_TEXT_FOLD, NB_TEXT_BARS};

static struct nb_results *
parsed(const char *text)
{
	struct nb_results *results = NULL;
	ck_assert_msg(results_parse(&results, text, strlen(text), "a.json") == NB_OK, "%s",
		nb_error_text());
	return results;
}

/** Keep the document for the test of the schema, if that test has set MININB_DOCUMENTS. */
static void
keep_document(const char *text)
{
	const char *directory = getenv("MININB_DOCUMENTS");
	char path[256];
	if (directory == NULL)
		return;
	snprintf(path, sizeof(path), "%s/XXXXXX.json", directory);
	int fd = mkstemps(path, 5);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/**
 * Check that written and read results give the same reports. Takes ownership of the results.
 */
static void
assert_told_the_same(struct nb_results *results)
{
	char *document = record_rig_written(results, "json", 0);
	struct nb_results *read = parsed(document);
	keep_document(document);
	for (const struct nb_format *format = nb_formats(); format->name != NULL; format++) {
		for (size_t i = 0; i < sizeof(all_flags) / sizeof(*all_flags); i++) {
			char *was = record_rig_written(results, format->name, all_flags[i]);
			char *is = record_rig_written(read, format->name, all_flags[i]);
			ck_assert_msg(strcmp(was, is) == 0, "%s:\n%s\n-- read:\n%s",
				format->name, was, is);
			free(was);
			free(is);
		}
	}
	free(document);
	nb_results_delete(read);
	nb_results_delete(results);
}

/* ---- handmade results ---- */

TEST(full_record_is_read_back_unchanged)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_put(results, "leveldb", 1);
	assert_told_the_same(results);
	results = record_rig_new();
	record_rig_add_job(results, "leveldb", 1);
	assert_told_the_same(results);
}

TEST(sweep_with_its_limit_is_read_back_unchanged)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_put(results, "leveldb", 1);
	record_rig_add_put(results, "leveldb", 2);
	record_rig_add_curve(results);
	results->records[0].sweep.slo_ops_s = 40000;
	snprintf(results->records[0].sweep.slo, sizeof(results->records[0].sweep.slo),
		"p99<1ms");
	assert_told_the_same(results);
}

TEST(list_with_failures_and_repetitions_is_read_back_unchanged)
{
	struct nb_results *results = record_rig_new();
	struct nb_interval intervals[2] = {{.size = sizeof(*intervals),
						   .end_ns = 1000000000,
						   .ops = 5,
						   .rate_ops_s = 5.25},
		{.size = sizeof(*intervals),
			.end_ns = 2000000000,
			.is_warmup = 1,
			.behind_ops = 7,
			.phase = 1}};
	struct record *put = record_rig_add_put(results, "leveldb", 1);
	snprintf(put->label, sizeof(put->label), "sweep 40 %%");
	ck_assert_int_eq(nb_results_set_intervals(results, intervals, 2), NB_OK);
	nb_results_set_contestant(results, 2, "leveldb#2", 3);
	nb_results_set_end(results, "1 of 2 is wrong");
	ck_assert_int_eq(nb_results_add_failure(results, "lmdb", "killed by signal 9"), NB_OK);
	nb_results_set_list(results, 2);
	assert_told_the_same(results);
}

TEST(job_with_own_kinds_is_read_back_unchanged)
{
	struct nb_results *results = record_rig_new();
	struct nb_result *job = record_rig_add_job(results, "leveldb", 1)->run;
	struct job_result_group *group = &job->groups[1];
	snprintf(job->kinds[KIND_ADD], NB_KIND_NAME, "add");
	snprintf(job->kinds[KIND_OWN], NB_KIND_NAME, "transfer");
	group->measured.level = STEPS_SNAPSHOT;
	group->measured.kinds[KIND_OWN] = group->measured.kinds[NB_OP_UPDATE];
	group->measured.kinds[NB_OP_UPDATE] = (struct job_kind){0};
	group->weights[KIND_OWN] = group->weights[NB_OP_UPDATE];
	group->weights[NB_OP_UPDATE] = 0;
	char *text = record_rig_written(results, "text", 0);
	ck_assert_ptr_nonnull(strstr(text, "transfer 50 %"));
	ck_assert_ptr_nonnull(strstr(text, "snapshot"));
	free(text);
	assert_told_the_same(results);
}

TEST(rare_members_are_read_back_unchanged)
{
	struct nb_results *results = record_rig_new();
	struct record *put = record_rig_add_put(results, "leveldb", 1);
	struct record *job = record_rig_add_job(results, "leveldb", 1);
	put = &results->records[0];
	put->run->engine.caps = UINT32_MAX; /* of a newer plugin */
	put->run->engine_path[1] = (char)0xff;
	put->run->measured.counters.items[0].has_run_back = true;
	put->run->measured.is_partial = true;
	put->run->warnings.count = 1;
	snprintf(put->run->warnings.texts[0], ENGINE_WARNING_SIZE, "beware");
	put->run->measured.wall_ns = UINT64_MAX;
	job->run->groups[0].measured.has_begun = false;
	job->run->groups[1].rate_text = strdup("10k..50k/60s");
	job->run->groups[1].is_paced = true;
	job->run->groups[1].phase = 1;
	job->run->groups[1].is_background = true;
	job->run->procs = 2;
	job->run->is_of_processes = true;
	job->run->is_steady = job->run->was_steady_asked = true;
	job->run->steady_slope = -0.012345678901234567;
	nb_histogram_delete(job->run->measured.hiccups);
	job->run->measured.hiccups = NULL;
	struct nb_trace_counts *counts = &job->run->groups[1].measured.trace_counts;
	counts->bad = counts->others = 3;
	snprintf(counts->first_bad, sizeof(counts->first_bad), "line 7: x");
	snprintf(job->run->groups[1].measured.trace, 640, "trace of my.csv");
	job->run->measured.stamping = job->run->groups[1].measured.stamping = (struct stamping){
		.latency = "sampled:64", .ops = 5, .stretches = 2, .ns = 300};
	ck_assert_int_eq(addresses_parse(&job->run->servers, "db:1,unix:/run/db"), NB_OK);
	job->run->measured.server = (struct target_usage){.servers = 2,
		.cpu_ns = 7000000,
		.storage_read_bytes = 4096,
		.storage_write_bytes = 8192,
		.resident_bytes = 1 << 20};
	ck_assert_int_eq(
		addresses_add(&job->run->server_settings, "Redis 7: appendonly no"), NB_OK);
	if (job->run->measured.series.count > 0)
		job->run->measured.series.samples[0].server = job->run->measured.server;
	job->run->measured.rows_before = (struct row_counts){.how = 1, .counts = {100, 200}};
	job->run->measured.rows_after = (struct row_counts){.how = 2, .counts = {101, 199}};
	job->run->measured.batch_read = (struct batch_read){
		.edges = 20000, .pages = 41, .ns = 9000000, .longest_ns = 400000};
	job->run->measured.memory = (struct memory_use){.limit_bytes = 64 << 20,
		.harness_bytes = 3 << 20,
		.peak_bytes = 66 << 20,
		.anonymous_bytes = 20 << 20,
		.file_bytes = 40 << 20,
		.pressure_ns = 5000,
		.kills = 1};
	job->run->measured.clock_offset_ns = -1500.5;
	job->run->measured.clock_error_ns = 250;
	job->run->generators = calloc(1, sizeof(*job->run->generators));
	job->run->generator_count = 1;
	job->run->generators[0] = (struct result_generator){.shard = "0/2",
		.host = "a",
		.end = "killed",
		.is_partial = true,
		.ops = 10,
		.wall_ns = 20,
		.begun_at_ns = 30,
		.p50_ns = 40,
		.p99_ns = 50,
		.rate_ops_s = 60.5,
		.clock_offset_ns = -70.5,
		.clock_error_ns = 80};
	assert_told_the_same(results);
}

/* ---- results of runs ---- */

static struct nb_results *
of_run(const struct nb_run *run, const char *label)
{
	struct nb_results *results;
	ck_assert_int_eq(nb_results_new(&results), NB_OK);
	ck_assert_msg(nb_results_add_run(results, run, label) == NB_OK, "%s", nb_error_text());
	return results;
}

TEST(classic_run_of_each_verb_is_read_back_unchanged)
{
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		struct rig rig;
		rig_create(&rig, verb, 5000);
		rig.options.threads = 2;
		rig.options.settle = verb;
		rig.options.flags = verb;
		ck_assert_msg(rig_run(&rig, NULL) == NB_OK, "%s", nb_error_text());
		assert_told_the_same(of_run(rig.run, "x"));
		rig_destroy(&rig);
	}
}

TEST(run_with_sampled_stamps_is_read_back_unchanged)
{
	static const char *const ways[] = {"sampled:10", "block"};
	for (int w = 0; w < 2; w++) {
		struct rig rig;
		rig_create(&rig, NB_VERB_PUT, 5000);
		rig.options.latency = ways[w];
		ck_assert_msg(rig_run(&rig, NULL) == NB_OK, "%s", nb_error_text());
		const struct stamping *stamping = &rig.run->measured.stamping;
		ck_assert_str_eq(stamping->latency, ways[w]);
		ck_assert_uint_eq(
			stamping->ops + nb_histogram_count(rig.run->measured.service), 5000);
		assert_told_the_same(of_run(rig.run, "x"));
		rig_destroy(&rig);
	}
}

static int
put_nothing(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return rig_number(key) % 100 == 0 ? NB_OK : rig_right()->put(session, key, value);
}

TEST(run_with_wrong_data_is_read_back_unchanged)
{
	struct rig rig;
	struct nb_engine engine = *rig_right();
	engine.put = put_nothing;
	rig_create(&rig, NB_VERB_PUT, 1000);
	ck_assert_int_eq(rig_run(&rig, &engine), NB_ERR_DATA);
	ck_assert_uint_eq(rig.run->measured.findings.missing, 10);
	assert_told_the_same(of_run(rig.run, ""));
	rig_destroy(&rig);
}

static const char groups_text[] =
	"records=500\n"
	"[readers]\nread=8\nscan=1\nscan-length=1..5\nthreads=2\ncount=800\n"
	"rate=100k\narrivals=poisson\nwarmup=100\n"
	"distribution=latest\n"
	"[writers]\nupdate=1\ninsert=1\nbatch=1\nitems=4\ncount=900\n"
	"rate=50k/1s,90k/1s\ninsert-verb=insert\n"
	"[after]\nstart=after\nkey-range=private\nread=1\nread-modify-write=1\ncount=300\n";

TEST(job_with_groups_is_read_back_unchanged)
{
	struct toy_rig rig;
	toy_create(&rig, groups_text);
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	assert_told_the_same(of_run(rig.run, ""));
	rig.options.what = NB_JOB_LOAD;
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	assert_told_the_same(of_run(rig.run, ""));
	toy_destroy(&rig);
}

TEST(masstree_sequence_is_read_back_unchanged)
{
	struct toy_rig rig;
	toy_create(&rig,
		"records=0\nspace=9\nsource=masstree\nmasstree-test=wd3\ninsert=1\nread=2\n"
		"delete=1\ncount=100\n");
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	struct nb_results *results = of_run(rig.run, "");
	ck_assert_uint_eq(results->records[0].run->groups[0].masstree_test, NB_TEST_WD3 + 1);
	assert_told_the_same(results);
	toy_destroy(&rig);
}

TEST(shard_with_again_is_read_back_unchanged)
{
	struct toy_rig rig;
	toy_create(&rig,
		"records=100\nshard=1/2\ncount=300\n[puts]\nupdate=1\n"
		"[gets]\nstart=after\nagain=puts\nread=1\n");
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	struct nb_results *results = of_run(rig.run, "");
	const struct nb_result *run = results->records[0].run;
	ck_assert_str_eq(run->shard, "1/2");
	ck_assert_str_eq(run->groups[1].again, "puts");
	ck_assert_uint_eq(run->groups[1].again_keys, 64 + 64);
	ck_assert_uint_eq(run->groups[1].measured.done, 64 + 64);
	assert_told_the_same(results);
	toy_destroy(&rig);
}

TEST(job_with_requests_in_flight_is_read_back_unchanged)
{
	struct toy_rig rig;
	toy_create(&rig,
		"records=100\n[g]\nread=1\nupdate=1\ncount=900\ndepth=8\nbatch-bytes=200\n");
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	struct nb_results *results = of_run(rig.run, "");
	const struct nb_result *run = results->records[0].run;
	ck_assert_uint_eq(run->measured.depth, 8);
	ck_assert_uint_eq(run->groups[0].batch_bytes, 200);
	ck_assert_uint_gt(nb_histogram_count(run->measured.batch), 0);
	/* as if the engine had written two checkpoints meanwhile */
	struct nb_histogram *checkpoints;
	ck_assert_int_eq(nb_histogram_new(&checkpoints), NB_OK);
	nb_histogram_add(checkpoints, 1000);
	nb_histogram_add(checkpoints, 5000);
	results->records[0].run->measured.checkpoints = checkpoints;
	assert_told_the_same(results);
	nb_histogram_delete(checkpoints);
	toy_destroy(&rig);
}

TEST(job_with_findings_is_read_back_unchanged)
{
	static const uint32_t defects[] = {TOY_OLD, TOY_FLIP, TOY_MISS, TOY_CUT};
	for (size_t i = 0; i < sizeof(defects) / sizeof(*defects); i++) {
		struct toy_rig rig;
		toy_create(&rig, "records=100\n[g]\nread=1\nupdate=1\ncount=2000\nthreads=1\n");
		toy_break_run(&rig, defects[i], TOY_GET, 10, 30);
		ck_assert_int_eq(toy_run(&rig), NB_ERR_DATA);
		ck_assert_uint_gt(toy_measured(&rig, 0)->findings.case_count, 1);
		assert_told_the_same(of_run(rig.run, ""));
		toy_destroy(&rig);
	}
}

/* ---- wrong files ---- */

/** A small document with all kinds of members. */
static json_t *
small_document(void)
{
	struct toy_rig rig;
	toy_create(&rig, "records=50\n[g]\nread=1\nupdate=1\ncount=60\nthreads=2\nrate=1M\n");
	toy_break_run(&rig, TOY_FLIP, TOY_GET, 10, 3);
	ck_assert_int_eq(toy_run(&rig), NB_ERR_DATA);
	struct nb_results *results = of_run(rig.run, "");
	toy_destroy(&rig);
	struct nb_interval interval = {.size = sizeof(interval), .ops = 5};
	ck_assert_int_eq(nb_results_set_intervals(results, &interval, 1), NB_OK);
	record_rig_add_curve(results);
	results->records[0].sweep.curve_count = 2;
	char *text = record_rig_written(results, "json", 0);
	json_t *document = json_loads(text, 0, NULL);
	ck_assert_ptr_nonnull(document);
	free(text);
	nb_results_delete(results);
	return document;
}

/** The value at a place in a document, as "results[0].groups[0].threads"; NULL if missing. */
static json_t *
find(json_t *json, const char *path, char *last, json_t **holder)
{
	*holder = NULL;
	while (*path != '\0' && json != NULL) {
		size_t length = strcspn(path + 1, ".[") + 1;
		snprintf(last, 64, "%.*s", (int)length, path);
		*holder = json;
		if (*path == '[')
			json = json_array_get(json, (size_t)atoi(path + 1));
		else
			json = json_object_get(json, *path == '.' ? last + 1 : last);
		path += length;
	}
	return json;
}

/** The error text of the document with another value at that place; "" if it is accepted. */
static const char *
said_of(const json_t *document, const char *path, const char *value)
{
	char last[64];
	json_t *copy = json_deep_copy(document), *holder;
	ck_assert_ptr_nonnull(find(copy, path, last, &holder));
	json_t *other = value != NULL ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
	const char *name = last[0] == '.' ? last + 1 : last;
	if (last[0] == '[')
		json_array_set_new(holder, (size_t)atoi(last + 1), other);
	else if (other != NULL)
		json_object_set_new(holder, name, other);
	else
		json_object_del(holder, name);
	char *text = json_dumps(copy, 0);
	struct nb_results *results = NULL;
	int rc = results_parse(&results, text, strlen(text), "a.json");
	ck_assert(rc == NB_OK || rc == NB_ERR_DATA);
	nb_results_delete(results);
	json_decref(copy);
	free(text);
	return rc == NB_OK ? "" : nb_error_text();
}

TEST(errors_are_reported_with_their_place)
{
	static const struct {
		const char *path, *value, *said;
	} bad[] = {
		{"format", "\"other\"", "a.json: is not a result of mininb"},
		{"version", "2",
			"a.json: was written by a newer mininb: its version is 2, and this mininb reads versions up to 1"},
		{"version", NULL, "a.json: version: is missing"},
		{"results", "{}", "a.json: results: must be an array"},
		{"results[0]", "7", "a.json: results[0]: must be an object"},
		{"results[0].action", "\"dance\"",
			"a.json: results[0].action: must be one of put, get, delete, load, run, replay"},
		{"results[0].action", NULL, "a.json: results[0].action: is missing"},
		{"results[0].driver", NULL, "a.json: results[0].driver: is missing"},
		{"results[0].engine", "[]", "a.json: results[0].engine: must be an object"},
		{"results[0].engine.name", NULL, "a.json: results[0].engine.name: is missing"},
		{"results[0].measured.wall_ns", "\"long\"",
			"a.json: results[0].measured.wall_ns: must be a number"},
		{"results[0].measured.service.hdr", "\"\"",
			"a.json: results[0].measured.service: not a histogram: it is not "
			"base64"},
		{"results[0].groups", NULL, "a.json: results[0].groups: is missing"},
		{"results[0].groups[0].operations[1].operation", "\"read\"",
			"a.json: results[0].groups[0].operations[1].operation: is there twice"},
		{"results[0].groups[0].operations[0].operation", NULL,
			"a.json: results[0].groups[0].operations[0].operation: is missing"},
		{"results[0].notes[0].scope", "\"all\"",
			"a.json: results[0].notes[0].scope: must be one of run, job"},
		{"results[0].notes", "true", "a.json: results[0].notes: must be an array"},
		{"results[0].intervals[0].rate_ops_s", "1e300",
			"a.json: results[0].intervals[0].rate_ops_s: is beyond 1e+18"},
		{"results[0].sweep", "7", "a.json: results[0].sweep: must be an object"},
		{"results[0].sweep.points", NULL,
			"a.json: results[0].sweep.points: is missing"},
	};
	json_t *document = small_document();
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ck_assert_str_eq(said_of(document, bad[i].path, bad[i].value), bad[i].said);
	json_decref(document);
}

TEST(missing_members_are_empty)
{
	static const char text[] =
		"{\"format\": \"mininb-result\", \"version\": 1, \"later\": {\"a\": []},"
		" \"results\": [{\"action\": \"put\", \"driver\": \"x\", \"digest\": null,"
		" \"engine\": {\"name\": \"x\"}, \"measured\": {\"ops\": 0, \"wall_ns\": 0}},"
		" {\"action\": \"run\", \"driver\": \"x\", \"digest\": null, \"groups\": [{}],"
		" \"engine\": {\"name\": \"x\"}, \"measured\": {\"ops\": 0, \"wall_ns\": 0}},"
		" {\"action\": null, \"driver\": \"y\"}]}";
	assert_told_the_same(parsed(text));
}

TEST(histogram_with_more_values_than_operations_is_refused)
{
	struct nb_results *read, *results = record_rig_new();
	record_rig_add_put(results, "leveldb", 1)->run->measured.ops = 7;
	char *text = record_rig_written(results, "json", 0);
	ck_assert_int_eq(results_parse(&read, text, strlen(text), "a.json"), NB_ERR_DATA);
	ck_assert_str_eq(nb_error_text(),
		"a.json: results[0]: measured.service has more values than measured.ops");
	free(text);
	nb_results_delete(results);
}

TEST(list_with_another_number_of_threads_is_ignored)
{
	static const char form[] =
		"{\"format\": \"mininb-result\", \"version\": 1, \"results\": [{\"action\": "
		"\"put\", "
		"\"driver\": \"x\", \"engine\": {\"name\": \"x\"}, \"threads\": %u, "
		"\"digest\": \"0123456789abcdef\", \"measured\": {\"ops\": 9, \"wall_ns\": 9, "
		"\"by_thread\": [{\"ops\": 9}]}}]}";
	static const uint32_t threads[] = {1, 2, 4096, UINT32_MAX};
	for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++) {
		char text[512];
		struct record_group groups[NB_GROUPS_MAX];
		snprintf(text, sizeof(text), form, threads[i]);
		struct nb_results *results = parsed(text);
		ck_assert_uint_eq(record_groups(&results->records[0], groups), 1);
		ck_assert_uint_eq(groups[0].thread_count, threads[i]);
		ck_assert_int_eq(groups[0].threads != NULL, threads[i] == 1);
		nb_results_delete(results);
	}
}

/* ---- reading files ---- */

TEST(a_file_is_read)
{
	struct nb_results *results = record_rig_new(), *read;
	record_rig_add_put(results, "leveldb", 1);
	scratch_enter();
	ck_assert_int_eq(nb_results_write_file(results, "json", "a.json", 0), NB_OK);
	ck_assert_msg(nb_results_read(&read, "a.json") == NB_OK, "%s", nb_error_text());
	char *was = record_rig_written(results, "text", 0);
	char *is = record_rig_written(read, "text", 0);
	ck_assert_str_eq(was, is);
	free(was);
	free(is);
	nb_results_delete(read);
	nb_results_delete(results);
	scratch_leave();
}

static void
assert_refused(const char *path, int rc, const char *said)
{
	struct nb_results *read = NULL;
	ck_assert_int_eq(nb_results_read(&read, path), rc);
	ck_assert_ptr_null(read);
	ck_assert_msg(strncmp(nb_error_text(), said, strlen(said)) == 0, "%s", nb_error_text());
	ck_assert_ptr_null(strchr(nb_error_text(), '\n'));
}

TEST(stdin_is_read_like_a_file)
{
	struct nb_results *results = record_rig_new(), *read;
	scratch_enter();
	ck_assert_int_eq(nb_results_write_file(results, "json", "a.json", 0), NB_OK);
	ck_assert_ptr_nonnull(freopen("a.json", "r", stdin));
	ck_assert_msg(nb_results_read(&read, "-") == NB_OK, "%s", nb_error_text());
	ck_assert_uint_eq(read->command.word_count, 5);
	nb_results_delete(read);
	ck_assert_int_eq(nb_results_read(&read, "-"), NB_ERR_DATA);
	ck_assert_str_eq(nb_error_text(), "stdin: is empty");
	nb_results_delete(results);
	scratch_leave();
}

TEST(foreign_file_is_reported_as_such)
{
	scratch_enter();
	file_put("empty.json", "", 0);
	file_put("text.json", "Action: put\n", 12);
	file_put("cut.json", "{\"format\":\n [1, 2", 17);
	file_put("twice.json", "{\"format\": 1, \"format\": 1}", 26);
	file_put("list.json", "[]", 2);
	char deep[5000];
	memset(deep, '[', sizeof(deep));
	file_put("deep.json", deep, sizeof(deep));
	assert_refused("none.json", NB_FAIL, "none.json: No such file");
	assert_refused(".", NB_FAIL, ".: Is a directory");
	assert_refused("empty.json", NB_ERR_DATA, "empty.json: is empty");
	assert_refused("text.json", NB_ERR_DATA, "text.json: line 1, column 6: not JSON: ");
	assert_refused("cut.json", NB_ERR_DATA, "cut.json: line 2, column 6: not JSON: ");
	assert_refused("twice.json", NB_ERR_DATA,
		"twice.json: line 1, column 22: not JSON: duplicate");
	assert_refused("list.json", NB_ERR_DATA, "list.json: is not a result of mininb");
	assert_refused("deep.json", NB_ERR_DATA, "deep.json: line 1, column 2049: not JSON: ");
	scratch_leave();
}

/* ---- format of the file ---- */

TEST(real_number_has_the_fewest_sufficient_digits)
{
	struct nb_results *results = record_rig_new();
	struct nb_result *run = record_rig_add_put(results, "leveldb", 1)->run;
	run->clock.step_ns = 0.41;
	run->clock.read_ns = 1.0 / 3;
	run->verify_rate = 0.1 + 0.2; /* 0.30000000000000004 */
	char *text = record_rig_written(results, "json", 0);
	ck_assert_ptr_nonnull(strstr(text, "\"step_ns\": 0.41\n"));
	ck_assert_ptr_nonnull(strstr(text, "\"read_ns\": 0.3333333333333333,"));
	ck_assert_ptr_nonnull(strstr(text, "\"verify_rate\": 0.30000000000000004,"));
	free(text);
	nb_results_delete(results);
}

TEST(full_disk_is_reported)
{
	struct nb_results *results = record_rig_new();
	FILE *full = fopen("/dev/full", "w");
	ck_assert_ptr_nonnull(full);
	record_rig_add_put(results, "leveldb", 1);
	ck_assert_int_eq(nb_results_write(results, "json", full, 0), NB_FAIL);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "the result cannot be written"));
	fclose(full);
	nb_results_delete(results);
}
