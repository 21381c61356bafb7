/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole jobs: any number of threads executes each operation once, a correct engine gets no
 * findings, and a job that ends in any way has a result and closes everything.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "toy.h"
#include "unit.h"

static struct toy_rig rig;

static void
run_well(void)
{
	int rc = toy_run(&rig);
	ck_assert_msg(rc == NB_OK, "%d: %s", rc, nb_error_text());
}

/* ---- the stream ---- */

static int
compare_calls(const void *one, const void *other)
{
	const struct toy_call *a = one, *b = other;
	if (a->verb != b->verb)
		return a->verb < b->verb ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	if (a->version != b->version)
		return a->version < b->version ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

/** The calls that the engine received, sorted. *count: their number. Free them. */
static struct toy_call *
calls_of(const char *text, uint32_t threads, uint64_t *count, uint64_t *digest)
{
	toy_create(&rig, text);
	rig.job->groups[0].threads = threads;
	rig.options.verify_rate = 0; /* no reading back */
	toy.is_logging = true;
	run_well();
	struct toy_call *calls = malloc(toy.logged * sizeof(*calls));
	*count = 0;
	for (uint64_t i = 0; i < toy.logged; i++) {
		if (toy.log[i].verb > TOY_COMMIT || toy.log[i].verb == TOY_SCAN_NEXT)
			continue;
		calls[*count] = toy.log[i];
		calls[(*count)++].session = 0;
	}
	qsort(calls, *count, sizeof(*calls), compare_calls);
	ck_assert_uint_eq(toy_measured(&rig, 0)->ops, rig.job->groups[0].count);
	ck_assert_uint_eq(toy_measured(&rig, 0)->done, rig.job->groups[0].count);
	ck_assert(!toy_measured(&rig, 0)->is_partial);
	*digest = rig.run->digest;
	return calls;
}

TEST(any_number_of_threads_does_each_operation_once)
{
	static const char *const texts[] = {
		"records = 1000\nread = 2\nupdate = 1\ninsert = 1\ndistribution = latest\n"
		"lag = 64\ncount = 3001",
		"records = 100\nread-modify-write = 1\nscan = 1\nupsert = 1\ndelete = 1\n"
		"batch = 1\nmulti-get = 1\ntxn-read = 1\ntxn-write = 1\nitems = 3\n"
		"distribution = zipfian\ncount = 1000",
		"records = 100\nread = 1\nupdate = 1\ncount = 65"}; /* 2 strata for 7 threads */
	static const uint32_t threads[] = {2, 3, 7};
	for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++) {
		uint64_t count, other, digest, other_digest;
		struct toy_call *expected = calls_of(texts[k], 1, &count, &digest);
		ck_assert_uint_gt(count, 0);
		for (size_t t = 0; t < sizeof(threads) / sizeof(*threads); t++) {
			struct toy_call *found = calls_of(
				texts[k], threads[t], &other, &other_digest);
			ck_assert_uint_eq(other, count);
			ck_assert_uint_eq(other_digest, digest);
			ck_assert_int_eq(memcmp(found, expected, count * sizeof(*found)), 0);
			free(found);
		}
		free(expected);
	}
}

TEST(correct_engine_causes_no_findings)
{
	static const char *const distributions[] = {"uniform", "zipfian", "zipfian-ycsb",
		"latest", "hotspot", "exponential", "sequential", "pareto"};
	static const char *const mixes[] = {
		"read = 3\nupdate = 1\ninsert = 1\nscan = 1\nlag = 128",
		"read = 1\nupsert = 1\ndelete = 1\nscan = 1\nspace = 400",
		"read-modify-write = 1\nbatch = 1\nmulti-get = 1\ntxn-read = 1\ntxn-write = 1"};
	enum { MIXES = UNIT_COUNT(mixes) };
	/* With a sanitizer, one mix for each distribution, and each mix at least twice. */
	for (size_t d = 0; d < UNIT_COUNT(distributions); d++)
		for (size_t m = UNIT_STEP > 1 ? d % MIXES : 0; m < MIXES; m += UNIT_STEP) {
			char text[256];
			snprintf(text, sizeof(text),
				"records = 300\ncount = 2000\nthreads = 4\ndistribution = "
				"%s\n%s",
				distributions[d], mixes[m]);
			toy_create(&rig, text);
			run_well();
			const struct job_measurement *measured = toy_measured(&rig, 0);
			ck_assert_uint_eq(toy_wrong(&measured->findings), 0);
			ck_assert_uint_eq(measured->findings.foreign, 0);
			ck_assert_uint_gt(measured->findings.verified, 0);
			ck_assert_uint_eq(measured->ops, 2000);
			ck_assert_uint_eq(rig.run->loading.measured.findings.verified, 300);
		}
}

/**
 * Deletes, inserts and reads by two threads. A thread's knowledge of its own writes must not
 * blame the engine for writes of the other thread.
 */
static const char deletes_and_inserts[] =
	"records = 300\ncount = 6000\nthreads = 2\nread = 3\nupdate = 2\ninsert = 1\n"
	"delete = 1\ndistribution = ";

TEST(deletes_and_inserts_of_two_threads_cause_no_false_findings)
{
	static const char *const distributions[] = {"uniform", "zipfian", "latest"};
	for (size_t d = 0; d < sizeof(distributions) / sizeof(*distributions); d++) {
		char text[256];
		snprintf(text, sizeof(text), "%s%s", deletes_and_inserts, distributions[d]);
		toy_create(&rig, text);
		run_well();
		const struct job_findings *findings = &toy_measured(&rig, 0)->findings;
		ck_assert_uint_eq(toy_wrong(findings), 0);
		ck_assert_uint_eq(findings->foreign, 0);
		ck_assert_uint_gt(findings->verified, 1000);
		ck_assert_uint_gt(findings->read_back, 0);
	}
}

TEST(old_values_are_found_beside_deletes_and_inserts_of_two_threads)
{
	char text[256];
	snprintf(text, sizeof(text), "%suniform", deletes_and_inserts);
	toy_create(&rig, text);
	toy_break_run(&rig, TOY_OLD, TOY_GET, 1, 0);
	ck_assert_int_eq(toy_run(&rig), NB_ERR_DATA);
	ck_assert_uint_gt(toy_measured(&rig, 0)->findings.verdicts[JOB_STALE], 0);
}

/** Opens `memory` with NB_OPEN_CREATE, because it keeps nothing. */
static int
open_made(struct nb_db **out, const struct nb_open_args *args)
{
	struct nb_open_args made = *args;
	made.flags = NB_OPEN_CREATE;
	return toy_engine().open(out, &made);
}

TEST(writes_of_all_phases_are_read_back_after_reopening)
{
	char path[192];
	toy_create(&rig,
		"records = 300\ncount = 320\n"
		"[one]\nthreads = 2\ninsert = 1\n"
		"[two]\nstart = after\nthreads = 3\ninsert = 1\n");
	/* the toy loses everything in close, but claims here to keep its data */
	rig.options.flags = NB_RUN_FORCE;
	toy_new(&rig);
	rig.run->engine->table.caps |= NB_CAP_PERSISTENT;
	rig.run->engine->table.open = open_made;
	ck_assert_int_eq(mkdir(rig.path, 0777), 0);
	snprintf(path, sizeof(path), "%s/toy", rig.path);
	ck_assert_int_eq(mkdir(path, 0777), 0);
	strcat(path, "/data");
	fclose(fopen(path, "w"));
	ck_assert_int_eq(nb_run_execute(rig.run), NB_ERR_DATA);
	ck_assert(rig.run->measured.is_reopened && rig.run->measured.has_read_back);
	ck_assert_uint_eq(rig.run->measured.findings.verified, 640); /* notes use this sum */
	for (size_t g = 0; g < 2; g++) {
		const struct job_findings *findings = &toy_measured(&rig, g)->findings;
		ck_assert_uint_eq(findings->verdicts[JOB_MISSING], 320);
		ck_assert_uint_eq(findings->read_back, 320);
	}
	ck_assert_int_eq(toy.sessions, 0);
	ck_assert_int_eq(toy.open, 0);
}

TEST(values_of_any_size_are_verified)
{
	toy_create(&rig,
		"records = 300\ncount = 2000\nthreads = 3\nvalue-size = "
		"uniform:0..200\nread = 1\nupdate = 1\n");
	run_well();
	ck_assert_uint_eq(toy_wrong(&toy_measured(&rig, 0)->findings), 0);
}

TEST(wrong_data_fails_an_otherwise_complete_run)
{
	toy_create(&rig, "records = 100\ncount = 1000\nthreads = 2\nread = 1\n");
	toy_break_run(&rig, TOY_FLIP, TOY_GET, 500, 3);
	ck_assert_int_eq(toy_run(&rig), NB_ERR_DATA);
	ck_assert_str_eq(nb_error_text(),
		"run: 3 of 1000 verified records are wrong: "
		"corrupt 3; "
		"the first are listed in the report");
}

TEST(a_put_that_a_loading_lost_is_found)
{
	toy_create(&rig, "records = 300\nread = 1\n[load]\nthreads = 3\n");
	rig.options.what = NB_JOB_LOAD;
	toy_break_run(&rig, TOY_DROP, TOY_PUT, 77, 1);
	ck_assert_int_eq(toy_run(&rig), NB_ERR_DATA);
	toy_assert_told("load: 1 of 300 verified records");
	toy_assert_told("missing 1");
	ck_assert_uint_eq(rig.run->loading.measured.ops, 300);
}

TEST(a_loading_is_whole_for_any_number_of_threads)
{
	static const uint32_t threads[] = {1, 3, 8};
	for (size_t t = 0; t < sizeof(threads) / sizeof(*threads); t++) {
		toy_create(&rig, "records = 300\nread = 1\n");
		rig.options.what = NB_JOB_LOAD;
		rig.job->load->threads = threads[t];
		toy.is_logging = true;
		run_well();
		uint8_t seen[300] = {0};
		for (uint64_t i = 0; i < toy.logged; i++)
			if (toy.log[i].verb == TOY_PUT)
				seen[toy.log[i].number]++;
		for (int i = 0; i < 300; i++)
			ck_assert_uint_eq(seen[i], 1);
		ck_assert_uint_eq(rig.run->loading.measured.findings.verified, 300);
		ck_assert_uint_eq(rig.run->measured.value_bytes, 300 * 100);
	}
}

TEST(keys_beyond_the_end_of_a_file_are_not_used)
{
	toy_create(&rig, "records = 64\ncount = 64\nread = 1\n");
	char keys[128], set[160];
	snprintf(keys, sizeof(keys), "%s/keys", rig.dir);
	FILE *file = fopen(keys, "w");
	for (uint64_t i = 0; i < 64; i++)
		ck_assert_uint_eq(fwrite(&(uint64_t){i << 56}, 8, 1, file), 1);
	fclose(file);
	snprintf(set, sizeof(set), "keys=%s", keys);
	ck_assert_int_eq(nb_job_set(rig.job, "key-format=file"), NB_OK);
	ck_assert_int_eq(nb_job_set(rig.job, "key-size=8"), NB_OK);
	ck_assert_int_eq(nb_job_set(rig.job, set), NB_OK);
	rig.options.what = NB_JOB_LOAD; /* the floor is also measured with its operations */
	run_well();
	ck_assert_uint_eq(rig.run->loading.measured.ops, 64);
}

/* ---- ends ---- */

#define ENDLESS "records = 100\nthreads = 3\nread = 1\nduration = 100s\n"

TEST(a_worker_that_fails_ends_all_others)
{
	toy_create(&rig, ENDLESS);
	toy_break_run(&rig, TOY_FAIL, TOY_GET, 5000, 1);
	ck_assert_int_eq(toy_run(&rig), NB_FAIL);
	toy_assert_told("toy: read, operation ");
	toy_assert_told("the toy is broken");
	const struct job_measurement *measured = toy_measured(&rig, 0);
	ck_assert(measured->is_partial);
	ck_assert(rig.run->measured.is_partial);
	ck_assert_uint_ge(measured->done, 4999);
	ck_assert_uint_lt(measured->wall_ns, UINT64_C(100000000000));
}

TEST(failed_close_of_a_session_is_reported)
{
	toy_create(&rig, "records = 100\nthreads = 3\nread = 1\ncount = 1000\n");
	toy_break_run(&rig, TOY_MUTE, TOY_SESSION_CLOSE, 2, 1);
	ck_assert_int_eq(toy_run(&rig), NB_FAIL);
	toy_assert_told("toy: session_close: failed without saying why");
	ck_assert(!toy_measured(&rig, 0)->is_partial); /* the operations were already done */
	ck_assert_uint_eq(toy_measured(&rig, 0)->ops, 1000);
}

TEST(a_stop_ends_with_a_partial_result)
{
	toy_create(&rig, ENDLESS);
	toy_break_run(&rig, TOY_STOP, TOY_GET, 5000, 1);
	ck_assert_int_eq(toy_run(&rig), NB_ERR_INTERRUPTED);
	ck_assert(toy_measured(&rig, 0)->is_partial);
	struct nb_result *result;
	ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
	struct nb_job_summary summary;
	nb_result_summarize_job(result, &summary);
	ck_assert_uint_eq(summary.is_partial, 1);
	ck_assert_uint_ge(summary.ops, 5000);
	nb_result_delete(result);
}

static uint64_t burnt_ns; /* CPU time */

static int
get_busy(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	struct timespec begin, now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	uint64_t ns = 0;
	while (ns < 1000000) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		ns = (uint64_t)(now.tv_sec - begin.tv_sec) * 1000000000 +
			(uint64_t)now.tv_nsec - (uint64_t)begin.tv_nsec;
	}
	burnt_ns += ns;
	return toy_engine().get(session, key, value);
}

TEST(cpu_time_of_the_verification_is_excluded)
{
	toy_create(&rig, "records = 300\ncount = 300\nupdate = 1\ndistribution = sequential");
	toy_new(&rig);
	rig.run->engine->table.get = get_busy;
	burnt_ns = 0;
	ck_assert_msg(nb_run_execute(rig.run) == NB_OK, "%s", nb_error_text());
	const struct system_counts *used = &rig.run->measured.usage;
	ck_assert_uint_eq(toy_measured(&rig, 0)->findings.verified, 300);
	/* half of it was used to read back the loading, which does not count */
	ck_assert_uint_lt(used->user_ns + used->system_ns, burnt_ns / 3);
}

/** Takes about a millisecond in user mode; claims that the pacer used 0.1 ms of it. */
static int
get_spinning(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	for (volatile int i = 0; i < 1000000; i++)
		continue;
	rig.run->parts[0].workers[0]->pacer.spin_ticks += 100000;
	return toy_engine().get(session, key, value);
}

TEST(the_cpu_time_of_waiting_for_due_moments_is_not_of_operations)
{
	toy_create(&rig, "records = 100\ncount = 40\nread = 1\n");
	rig.options.verify_rate = 0;
	toy_new(&rig);
	rig.run->engine->table.get = get_spinning;
	ck_assert_msg(nb_run_execute(rig.run) == NB_OK, "%s", nb_error_text());
	uint64_t user_ns = rig.run->used.user_ns, spun_ns = toy_measured(&rig, 0)->spin_ns;
	ck_assert_uint_ge(spun_ns, 40 * 100000);
	spun_ns = spun_ns < user_ns ? spun_ns : user_ns;
	ck_assert_uint_eq(rig.run->measured.usage.user_ns, user_ns - spun_ns);
}

/* ---- counters of the engine ---- */

static uint64_t
grown(const char *name)
{
	const struct counter *it = counters_find(&rig.run->measured.counters, name);
	ck_assert_msg(it != NULL, "%s is missing", name);
	return it->value;
}

TEST(counters_cover_all_phases_except_load_and_verification)
{
	toy_create(&rig,
		"records = 100\n[first]\nupdate = 1\ncount = 640\nthreads = 3\n"
		"[second]\nread = 1\nupdate = 1\ncount = 320\nthreads = 2\nstart = after\n"
		"warmup = 64\n");
	run_well();
	ck_assert_uint_eq(grown("puts"), 640 + 160);
	ck_assert_uint_eq(grown("gets"), 160);
	ck_assert_uint_gt(toy_calls(TOY_GET), 160); /* includes reading back */
	ck_assert_uint_eq(grown("records"), 100);
	ck_assert_uint_eq(rig.run->measured.usage_ops, 960); /* includes the warm-up */
}

TEST(load_has_its_own_counters)
{
	toy_create(&rig, "records = 100\nread = 1\ncount = 100\n");
	rig.options.what = NB_JOB_LOAD;
	run_well();
	ck_assert_uint_eq(grown("puts"), 100);
	ck_assert_uint_eq(grown("gets"), 0);
	ck_assert_uint_eq(toy_calls(TOY_GET), 100);
}

/* ---- groups ---- */

TEST(groups_in_the_background_end_with_the_others)
{
	toy_create(&rig,
		"records = 100\n[main]\nread = 1\ncount = 20000\nthreads = 2\n"
		"[behind]\nupdate = 1\nbackground = yes\nthreads = 2\n");
	run_well();
	ck_assert_uint_eq(toy_measured(&rig, 0)->ops, 20000);
	ck_assert(!toy_measured(&rig, 1)->is_partial);
	ck_assert_uint_eq(
		toy_measured(&rig, 1)->kinds[NB_OP_UPDATE].ops, toy_measured(&rig, 1)->ops);
	ck_assert_uint_eq(toy_wrong(&toy_measured(&rig, 0)->findings), 0);
}

static struct {
	uint64_t total, left_ns;
} told;

static void
hear_progress(void *arg, const struct nb_progress *progress)
{
	if (strcmp(progress->what, "run") != 0)
		return;
	told.total = progress->total;
	told.left_ns = progress->left_ns > told.left_ns ? progress->left_ns : told.left_ns;
}

TEST(progress_covers_foreground_groups_until_the_last_ends)
{
	static const struct {
		const char *text;
		uint64_t total, more_ns, most_ns; /* remaining time: lower and upper bound */
	} cases[] = {{"[one]\nread = 1\ncount = 200\n[two]\nread = 1\ncount = 300\n"
		      "[behind]\nupdate = 1\nbackground = yes\n",
			     500, 0, 0},
		{"[short]\nread = 1\nduration = 1ms\n[long]\nread = 1\nduration = 100ms\n", 0,
			1000000, 100000000}};
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		char text[256];
		snprintf(text, sizeof(text), "records = 100\n%s", cases[c].text);
		toy_create(&rig, text);
		rig.options.progress = hear_progress;
		told.total = told.left_ns = 0;
		run_well();
		ck_assert_uint_eq(told.total, cases[c].total);
		ck_assert_uint_ge(told.left_ns, cases[c].more_ns);
		ck_assert_uint_le(told.left_ns, cases[c].most_ns);
		toy_destroy(&rig);
	}
}

TEST(phases_run_one_after_another)
{
	toy_create(&rig,
		"records = 100\n[first]\nupdate = 1\ncount = 640\nthreads = 3\n"
		"[second]\nread = 1\ncount = 320\nthreads = 2\nstart = after\n"
		"[third]\ndelete = 1\ncount = 64\nthreads = 1\nstart = after\n");
	rig.options.verify_rate = 0;
	toy.is_logging = true;
	run_well();
	static const uint32_t verbs[] = {TOY_PUT, TOY_GET, TOY_DEL};
	uint64_t counts[3] = {0};
	uint32_t phase = 0;
	for (uint64_t i = 0; i < toy.logged; i++)
		for (uint32_t v = 0; v < 3; v++) {
			if (toy.log[i].verb != verbs[v])
				continue;
			counts[v]++;
			ck_assert_uint_ge(v, phase); /* no call belongs to an earlier phase */
			phase = v;
		}
	ck_assert_uint_eq(counts[0], 640);
	ck_assert_uint_eq(counts[1], 320);
	ck_assert_uint_eq(counts[2], 64);
}

TEST(failed_phase_prevents_the_next_ones)
{
	toy_create(&rig,
		"records = 100\n[first]\nread = 1\ncount = 640\n"
		"[second]\nupdate = 1\ncount = 640\nstart = after\n");
	toy_break_run(&rig, TOY_STOP, TOY_GET, 640, 1);
	ck_assert_int_eq(toy_run(&rig), NB_ERR_INTERRUPTED);
	ck_assert(!toy_measured(&rig, 0)->is_partial);
	ck_assert(!toy_measured(&rig, 1)->has_begun);
	ck_assert(rig.run->measured.is_partial);
}

TEST(threads_are_summed_up_exactly)
{
	toy_create(&rig,
		"records = 100\nread = 1\nupdate = 1\ncount = 2000\nthreads = 4\n"
		"warmup = 500\nrate = 1M\n");
	run_well();
	const struct job_measurement *measured = toy_measured(&rig, 0);
	uint64_t ops = 0, done = 0;
	ck_assert_uint_eq(measured->thread_count, 4);
	for (uint32_t t = 0; t < 4; t++) {
		ops += measured->threads[t].ops;
		done += measured->threads[t].done;
	}
	ck_assert_uint_eq(ops, 1500);
	ck_assert_uint_eq(done, 2000);
	ck_assert_uint_eq(measured->ops, 1500);
	ck_assert_uint_eq(measured->done, 2000);
	const struct job_kind *read = &measured->kinds[NB_OP_READ],
			      *update = &measured->kinds[NB_OP_UPDATE];
	ck_assert_uint_eq(read->ops + update->ops, 1500);
	ck_assert_uint_eq(read->bytes + update->bytes, 1500 * 100);
	ck_assert_uint_eq(nb_histogram_count(read->service), read->ops);
	ck_assert_uint_eq(nb_histogram_count(read->response), read->ops);
	ck_assert_uint_ge(nb_histogram_sum(read->response), nb_histogram_sum(read->service));
	ck_assert_uint_gt(
		measured->span_ns, measured->wall_ns); /* wall_ns excludes the warm-up */
	ck_assert_double_le(measured->offered_ops, 2000);
	ck_assert_ptr_null(measured->kinds[NB_OP_INSERT].service);
}
