/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole runs of put, get and delete, on correct engines and on engines with one defect. Every
 * failure is reported, and the database is closed in any case.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "rig.h"
#include "toy.h"
#include "unit.h"

enum { COUNT = 1003 }; /* no tested number of threads divides it */

static struct rig rig;

/** Everything that was opened is closed. */
void
unit_teardown(void)
{
	ck_assert_int_eq(toy.open, 0);
	ck_assert_int_eq(toy.sessions, 0);
}

/** A correct toy, and a rig for it. */
static struct nb_engine
begin(uint32_t verb, uint32_t threads)
{
	unit_teardown();
	rig_create(&rig, verb, COUNT);
	rig.options.threads = threads;
	toy.is_logging = false;
	toy_reset();
	return toy_engine();
}

static const struct measurement *
measured(void)
{
	return &rig.run->measured;
}

/** Apply the defect to the first call for the nth key of the file. */
static void
break_key(uint32_t defect, uint32_t verb, uint64_t nth)
{
	toy_break(defect, verb, 1, 1);
	toy.number = __builtin_bswap64(nth) + 1;
}

/** Check whether the run has a result, and whether the result is partial. */
static void
assert_result(bool is_there, bool is_partial)
{
	struct nb_result *result = NULL;
	ck_assert_int_eq(nb_result_new(&result, rig.run), is_there ? NB_OK : NB_FAIL);
	ck_assert_int_eq(result != NULL, is_there);
	if (is_there)
		ck_assert_int_eq(nb_result_is_partial(result), is_partial);
	nb_result_delete(result);
}

/* --- successful runs --- */

TEST(every_operation_is_done_once_by_any_number_of_threads)
{
	static const uint32_t threads[] = {1, 2, 3, 7};
	static const uint32_t calls_of[] = {
		[NB_VERB_PUT] = TOY_PUT, [NB_VERB_GET] = TOY_GET, [NB_VERB_DELETE] = TOY_DEL};
	for (size_t t = 0; t < sizeof(threads) / sizeof(*threads); t++)
		for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
			struct nb_engine engine = begin(verb, threads[t]);
			uint64_t calls[COUNT] = {0};
			rig.options.verify_rate = 0; /* reading back would call get */
			toy.is_logging = true;
			ck_assert_msg(rig_run(&rig, &engine) == NB_OK, "%s", nb_error_text());
			for (uint64_t i = 0; i < toy.logged; i++) {
				uint64_t nth = __builtin_bswap64(toy.log[i].number);
				if (toy.log[i].verb != calls_of[verb])
					continue;
				ck_assert_uint_lt(nth, COUNT);
				calls[nth]++;
			}
			for (uint64_t i = 0; i < COUNT; i++)
				ck_assert_uint_eq(calls[i], 1);
			ck_assert_uint_eq(measured()->ops, COUNT);
			ck_assert_uint_eq(nb_histogram_count(measured()->service), COUNT);
			ck_assert_uint_eq(measured()->answers[NB_OK], COUNT);
			ck_assert(!measured()->is_partial);
			ck_assert_uint_eq(measured()->value_bytes,
				verb == NB_VERB_DELETE ? 0 : COUNT * 100);
			/* the toy keeps nothing, so the run loads it first */
			ck_assert_int_eq(measured()->is_loaded, verb != NB_VERB_PUT);
		}
}

TEST(as_many_threads_as_operations_execute_one_each)
{
	rig_create(&rig, NB_VERB_PUT, 9);
	rig.options.threads = 9;
	ck_assert_int_eq(rig_run(&rig, NULL), NB_OK);
	ck_assert_uint_eq(measured()->ops, 9);
	ck_assert_uint_eq(measured()->findings.verified, 9);
	ck_assert_uint_eq(measured()->thread_count, 9);
	for (int t = 0; t < 9; t++)
		ck_assert_uint_eq(measured()->threads[t].ops, 1);
}

TEST(a_run_is_executed_only_once)
{
	rig_create(&rig, NB_VERB_PUT, 9);
	ck_assert_int_eq(rig_run(&rig, NULL), NB_OK);
	ck_assert_int_eq(nb_run_execute(rig.run), NB_ERR_USAGE);
	rig_assert_told("only once");
	ck_assert_uint_eq(measured()->ops, 9);
}

enum { SLEEP_NS = 2 * 1000 * 1000, SLEEPY = 24 };

/** A put of few operations that take SLEEP_NS each. */
static struct nb_engine
begin_sleepy(uint32_t threads)
{
	struct nb_engine engine = begin(NB_VERB_PUT, threads);
	toy_break(TOY_SLOW, TOY_PUT, 1, 0);
	toy.sleep_ns = SLEEP_NS;
	rig.workload.count = SLEEPY;
	return engine;
}

TEST(wall_time_is_one_window_over_all_threads)
{
	struct nb_engine engine = begin_sleepy(4);
	rig.options.verify_rate = 0;
	struct timespec before, after;
	clock_gettime(CLOCK_MONOTONIC, &before);
	ck_assert_int_eq(rig_run(&rig, &engine), NB_OK);
	clock_gettime(CLOCK_MONOTONIC, &after);
	uint64_t around = (uint64_t)(after.tv_sec - before.tv_sec) * 1000000000 +
		(uint64_t)after.tv_nsec - (uint64_t)before.tv_nsec;
	/* each thread executes six operations in a row */
	ck_assert_uint_ge(measured()->wall_ns, SLEEPY / 4 * SLEEP_NS);
	ck_assert_uint_le(measured()->wall_ns, around);
	/* latencies of all threads together exceed the elapsed time */
	ck_assert_uint_ge(nb_histogram_sum(measured()->service), (uint64_t)SLEEPY * SLEEP_NS);
	struct nb_result *result;
	ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
	ck_assert_uint_eq(nb_result_wall_ns(result), measured()->wall_ns);
	nb_result_delete(result);
}

TEST(both_clocks_measure)
{
	static const uint32_t clocks[] = {NB_CLOCK_TSC, NB_CLOCK_MONOTONIC, NB_CLOCK_AUTO};
	for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
		rig_create(&rig, NB_VERB_PUT, COUNT);
		rig.options.clock = clocks[i];
		struct nb_run *run;
		int rc = nb_run_new(&run, &rig.options);
		if (clocks[i] == NB_CLOCK_TSC && rc == NB_UNSUPPORTED) { /* no TSC */
			rig_assert_told("--clock=monotonic");
			continue;
		}
		ck_assert_int_eq(rc, NB_OK);
		ck_assert_int_eq(nb_run_execute(run), NB_OK);
		if (clocks[i] != NB_CLOCK_AUTO)
			ck_assert_uint_eq(run->clock.kind, clocks[i]);
		ck_assert_uint_ge(
			run->measured.wall_ns, nb_histogram_sum(run->measured.service));
		ck_assert_uint_gt(run->measured.wall_ns, 0);
		nb_run_delete(run);
	}
}

TEST(requested_number_of_records_is_verified)
{
	static const struct {
		double rate;
		uint64_t least, most;
	} cases[] = {{0, 0, 0}, {0.5, 495, 508}, {1, COUNT, COUNT}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
			struct nb_engine engine = begin(verb, 3);
			rig.options.verify_rate = cases[i].rate;
			ck_assert_int_eq(rig_run(&rig, &engine), NB_OK);
			ck_assert_uint_ge(measured()->findings.verified, cases[i].least);
			ck_assert_uint_le(measured()->findings.verified, cases[i].most);
			ck_assert(measured()->has_read_back);
		}
}

TEST(null_is_neither_loaded_nor_verified)
{
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		rig_create(&rig, verb, COUNT);
		rig.options.driver = "null";
		rig.options.threads = 2;
		ck_assert_int_eq(rig_run(&rig, NULL), NB_OK);
		ck_assert(!measured()->is_loaded);
		ck_assert_uint_eq(measured()->findings.verified, 0);
		ck_assert_uint_eq(measured()->ops, COUNT);
		ck_assert_uint_eq(
			measured()->value_bytes, verb == NB_VERB_DELETE ? 0 : COUNT * 100);
	}
}

static cpu_set_t ran_on[2];

static int
session_open_pinned(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	sched_getaffinity(0, sizeof(ran_on[id]), &ran_on[id]);
	return toy_engine().session_open(out, db, id);
}

TEST(pinned_workers_have_a_cpu_each)
{
	struct nb_engine engine = begin(NB_VERB_PUT, 2);
	cpu_set_t before, after;
	engine.session_open = session_open_pinned;
	rig.options.flags = NB_RUN_PIN;
	sched_getaffinity(0, sizeof(before), &before);
	ck_assert_msg(rig_run(&rig, &engine) == NB_OK, "%s", nb_error_text());
	sched_getaffinity(0, sizeof(after), &after);
	ck_assert(CPU_EQUAL(&before, &after)); /* the affinity of this thread is unchanged */
	for (int id = 0; id < 2; id++) {
		cpu_set_t allowed;
		CPU_AND(&allowed, &ran_on[id], &before);
		ck_assert_int_eq(CPU_COUNT(&ran_on[id]), 1);
		ck_assert(CPU_EQUAL(&allowed, &ran_on[id]));
	}
	if (CPU_COUNT(&before) > 1)
		ck_assert(!CPU_EQUAL(&ran_on[0], &ran_on[1]));
	rig.options.flags = 0;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_OK);
	ck_assert(CPU_EQUAL(&ran_on[0], &before));
}

struct told {
	char whats[256];
	pthread_t thread;
	uint64_t last;
	uint32_t wrong;
};

static void
note_progress(void *arg, const struct nb_progress *progress)
{
	struct told *told = arg;
	if (strstr(told->whats, progress->what) == NULL) {
		strcat(told->whats, progress->what);
		strcat(told->whats, "|");
		told->last = 0;
	}
	told->wrong += progress->size != sizeof(*progress);
	told->wrong += progress->total != 0 && progress->done > progress->total;
	told->wrong += progress->done < told->last;
	told->wrong += !pthread_equal(told->thread, pthread_self());
	told->last = progress->done;
}

TEST(phases_are_reported_in_order_on_this_thread)
{
	struct told told = {.thread = pthread_self()};
	struct nb_engine engine = begin_sleepy(2);
	rig.options.report_interval = 1;
	rig.options.progress = note_progress;
	rig.options.progress_arg = &told;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_OK);
	ck_assert_str_eq(told.whats, "looking at the keys|open|put|verify|settle|close|");
	ck_assert_uint_eq(told.wrong, 0);
}

/* --- wrong data --- */

TEST(wrong_data_is_an_error_with_counts)
{
	static const struct {
		uint32_t verb, defect, call; /* the verb that is defective in 100 calls */
		double verify_rate;
		const char *text;
	} cases[] = {
		{NB_VERB_PUT, TOY_FLIP, TOY_GET, 1,
			"100 of 1003 verified values differ from the put values (wrong size 0, of another key 0, corrupt 100, stale 0)"},
		{NB_VERB_GET, TOY_FLIP, TOY_GET, 1,
			"100 of 1003 verified values differ from the put values (wrong size 0, of another key 0, corrupt 100, stale 0)"},
		{NB_VERB_PUT, TOY_DROP, TOY_PUT, 1,
			"100 of 1003 keys that were looked up again are not there"},
		{NB_VERB_PUT, TOY_MISS, TOY_PUT, 0,
			"100 of 1003 puts returned 'not found', so they may not have been stored"},
		{NB_VERB_DELETE, TOY_DROP, TOY_DEL, 1,
			"100 of 1003 keys that were looked up again are still there"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct nb_engine engine = begin(cases[i].verb, 3);
		toy_break(cases[i].defect, cases[i].call, 1, 100);
		rig.options.verify_rate = cases[i].verify_rate;
		rig.options.flags = NB_RUN_ALLOW_MISSING; /* does not allow these defects */
		ck_assert_int_eq(rig_run(&rig, &engine), NB_ERR_DATA);
		ck_assert_str_eq(nb_error_text(), cases[i].text);
		ck_assert(!measured()->is_partial);
	}
}

TEST(missing_keys_are_an_error_unless_they_are_allowed)
{
	for (uint32_t verb = NB_VERB_GET; verb <= NB_VERB_DELETE; verb++) {
		struct nb_engine engine = begin(verb, 3);
		for (uint32_t flags = 0; flags <= NB_RUN_ALLOW_MISSING;
			flags += NB_RUN_ALLOW_MISSING) {
			toy_reset();
			toy_break(TOY_DROP, TOY_PUT, 1, 100); /* during the loading */
			rig.options.flags = flags;
			ck_assert_int_eq(
				rig_run(&rig, &engine), flags == 0 ? NB_ERR_DATA : NB_OK);
			if (flags == 0)
				rig_assert_told(
					"100 of 1003 keys were not found; use --allow-missing");
			ck_assert_uint_eq(measured()->answers[NB_NOT_FOUND], 100);
			ck_assert_uint_eq(measured()->answers[NB_OK], 903);
			ck_assert_uint_eq(measured()->ops, COUNT);
		}
	}
}

/** Overwrite keys 500 to 504 of the file with the first key. */
static void
repeat_first_key(void)
{
	FILE *file = fopen(rig.keys, "r+");
	ck_assert_ptr_nonnull(file);
	uint64_t words[2] = {0, ~(uint64_t)0};
	for (int i = 500; i < 505; i++) {
		fseek(file, i * 16L, SEEK_SET);
		ck_assert_uint_eq(fwrite(words, 16, 1, file), 1);
	}
	fclose(file);
}

TEST(repeated_key_may_be_missing_after_its_delete)
{
	(void)begin(NB_VERB_DELETE, 1);
	repeat_first_key();
	ck_assert_msg(rig_run(&rig, NULL) == NB_OK, "%s", nb_error_text());
	ck_assert_uint_eq(rig.run->keys_facts.duplicates, 5);
	ck_assert_uint_eq(measured()->answers[NB_NOT_FOUND], 5);
}

static int
put_nothing(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return NB_OK;
}

/** Finds the first key of the file only once, but always finds others. */
static int
del_first_once(struct nb_session *session, struct nb_slice key)
{
	static uint32_t dels;
	return rig_number(key) != 0 || dels++ == 0 ? NB_OK : NB_NOT_FOUND;
}

TEST(deletes_of_missing_keys_are_counted_exactly)
{
	enum { MANY = 1400000 }; /* more than one pass of the survey covers */
	struct nb_engine engine = *rig_right();
	engine.put = put_nothing;
	engine.del = del_first_once;
	rig_create(&rig, NB_VERB_DELETE, MANY);
	rig.options.verify_rate = 0;
	repeat_first_key();
	ck_assert_msg(rig_run(&rig, &engine) == NB_OK, "%s", nb_error_text());
	ck_assert_uint_eq(measured()->answers[NB_NOT_FOUND], 5);
	ck_assert(!rig.run->keys_facts.is_estimate);
	ck_assert_uint_eq(rig.run->keys_facts.duplicates, 5);
	ck_assert_uint_eq(rig.run->keys_facts.looked, MANY);
}

static uint64_t
phase_ns(const char *name)
{
	const struct measurement *it = measured();
	for (uint32_t i = 0; i < it->phase_count; i++) {
		if (strcmp(it->phases[i].name, name) == 0)
			return it->phases[i].ns;
	}
	ck_abort_msg("%s is not reported", name);
}

TEST(every_phase_has_its_time)
{
	static const char *const names[][11] = {
		[NB_VERB_PUT] = {"start", "keys", "harness", "prepare", "open", "put", "verify",
			"settle", "close", "inspect"},
		[NB_VERB_GET] = {"start", "keys", "harness", "prepare", "open", "load", "get",
			"close", "inspect"},
		[NB_VERB_DELETE] = {"start", "keys", "harness", "prepare", "open", "load",
			"delete", "verify", "settle", "close", "inspect"},
	};
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		(void)begin(verb, 1);
		uint64_t begin_ns = clock_monotonic(), sum_ns = 0;
		ck_assert_int_eq(rig_run(&rig, NULL), NB_OK);
		uint64_t took_ns = clock_monotonic() - begin_ns;
		const struct measurement *it = measured();
		ck_assert_uint_gt(it->phase_count, 5);
		for (uint32_t i = 0; i < it->phase_count; i++) {
			ck_assert_uint_lt(i, 11);
			ck_assert_ptr_nonnull(names[verb][i]);
			if (strcmp(it->phases[i].name, names[verb][i]) != 0)
				ck_assert_str_eq(it->phases[i].name, names[verb][i]);
			sum_ns += it->phases[i].ns;
		}
		ck_assert_uint_le(sum_ns, took_ns);
		ck_assert_uint_ge(phase_ns(nb_verb_name(verb)), it->wall_ns);
		ck_assert_uint_ge(phase_ns("close"), it->close_ns);
	}
}

/* --- counters of the engine --- */

static uint64_t flushes; /* atomic */
static pthread_t stats_thread, close_thread;

static int
flush_told(struct nb_db *db, uint32_t upto)
{
	flushes++;
	return NB_OK;
}

static int
close_noted(struct nb_db *db)
{
	close_thread = pthread_self();
	return toy_engine().close(db);
}

static void
stats_told(struct nb_db *db, nb_stat_emit emit, void *to)
{
	static const uint32_t verbs[] = {TOY_GET, TOY_PUT, TOY_DEL};
	static const char *const names[] = {"gets", "puts", "dels"};
	uint64_t flushed = __atomic_load_n(&flushes, __ATOMIC_RELAXED);
	stats_thread = pthread_self();
	error_set(NB_FAIL, "said for no reason");
	for (int i = 0; i < 3; i++)
		emit(to, names[i], "calls", NB_STAT_COUNTER, toy_calls(verbs[i]));
	emit(to, "flushes", "calls", NB_STAT_COUNTER, flushed);
	emit(to, "level", "calls", NB_STAT_GAUGE, 10 + flushed);
	emit(to, "back", "calls", NB_STAT_COUNTER, 100 - flushed);
}

static struct nb_engine
begin_told(uint32_t verb, uint32_t threads)
{
	struct nb_engine engine = begin(verb, threads);
	flushes = 0;
	engine.flush = flush_told;
	engine.stats = stats_told;
	engine.close = close_noted;
	return engine;
}

static const struct counter *
grown(const char *name)
{
	const struct counter *it = counters_find(&measured()->counters, name);
	ck_assert_msg(it != NULL, "%s is missing", name);
	return it;
}

TEST(counters_are_of_the_operations_and_settling_alone)
{
	for (uint32_t threads = 1; threads <= 3; threads += 2)
		for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
			struct nb_engine engine = begin_told(verb, threads);
			ck_assert_msg(rig_run(&rig, &engine) == NB_OK, "%s", nb_error_text());
			/* the loading came before, and reading back after */
			ck_assert_uint_eq(
				grown("puts")->value, verb == NB_VERB_PUT ? COUNT : 0);
			ck_assert_uint_eq(
				grown("gets")->value, verb == NB_VERB_GET ? COUNT : 0);
			ck_assert_uint_eq(
				grown("dels")->value, verb == NB_VERB_DELETE ? COUNT : 0);
			ck_assert_uint_ge(toy_calls(TOY_GET), COUNT);
			uint64_t flushed = verb == NB_VERB_GET ? 0 : 1;
			ck_assert_uint_eq(grown("flushes")->value, flushed);
			ck_assert_uint_eq(grown("level")->value, 10 + flushed);
			ck_assert_int_eq(grown("back")->has_run_back, flushed);
			ck_assert(!grown("puts")->has_run_back);
			ck_assert(pthread_equal(stats_thread, close_thread));
		}
}

TEST(counters_of_a_failed_run_cover_its_operations)
{
	struct nb_engine engine = begin_told(NB_VERB_PUT, 1);
	toy_break(TOY_FAIL, TOY_PUT, 701, 1);
	ck_assert_int_eq(rig_run(&rig, &engine), NB_FAIL);
	ck_assert_str_eq(nb_error_text(), "toy: put, operation 700: the toy is broken");
	ck_assert_uint_eq(measured()->ops, 700);
	ck_assert_uint_eq(grown("puts")->value, 701); /* includes the failed put */
	ck_assert_uint_eq(grown("flushes")->value, 0);
}

TEST(threads_and_series_are_all_that_the_run_has_done)
{
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		struct nb_engine engine = begin_told(verb, 3);
		rig.options.sample_ns = 20000000;
		ck_assert_int_eq(rig_run(&rig, &engine), NB_OK);
		const struct measurement *it = measured();
		uint64_t sum = 0;
		ck_assert_uint_eq(it->thread_count, 3);
		for (uint32_t t = 0; t < 3; t++) {
			sum += it->threads[t].ops;
			ck_assert_uint_le(it->threads[t].wall_ns, it->wall_ns);
			/* all counts are in the first element */
			ck_assert_uint_eq(it->threads[t].kinds[0], it->threads[t].ops);
			for (uint32_t kind = 1; kind < NB_OP_KINDS; kind++)
				ck_assert_uint_eq(it->threads[t].kinds[kind], 0);
		}
		ck_assert_uint_eq(sum, it->ops);
		const struct series *series = &it->series;
		uint64_t ops = 0, latencies = 0, pulses = 0;
		for (size_t i = 0; i < series->count; i++) {
			ops += series->samples[i].ops;
			ck_assert_uint_le(series->samples[i].latency_count, 1);
			if (series->samples[i].latency_count == 0)
				continue; /* no operation ended in this interval */
			latencies += series->samples[i].latencies[0].count;
			ck_assert_uint_eq(series->samples[i].latencies[0].kind, 0);
		}
		ck_assert_uint_eq(series->pulses_count, 1); /* only of the operations */
		for (size_t i = 0; i < series->pulses[0].count; i++)
			pulses += series->pulses[0].ops[i];
		ck_assert_uint_eq(ops, it->ops);
		ck_assert_uint_eq(latencies, it->ops);
		ck_assert_uint_eq(pulses, it->ops);
		ck_assert_uint_ne(it->used.known & SYSTEM_PROCESS, 0);
		ck_assert_uint_ne(it->used_after.known & SYSTEM_PROCESS, 0);
	}
}

TEST(live_bytes_after_a_put_are_known_for_a_new_database)
{
	struct nb_engine engine = begin(NB_VERB_PUT, 1);
	ck_assert_int_eq(rig_run(&rig, &engine), NB_OK);
	ck_assert_uint_eq(measured()->live_bytes,
		COUNT * (rig.workload.key_size + rig.workload.value_size));
	engine = begin(NB_VERB_PUT, 1);
	repeat_first_key();
	ck_assert_int_eq(rig_run(&rig, &engine), NB_OK);
	ck_assert_uint_eq(measured()->live_bytes,
		(COUNT - 5) * (rig.workload.key_size + rig.workload.value_size));
	engine = begin(NB_VERB_GET, 1);
	ck_assert_int_eq(rig_run(&rig, &engine), NB_OK);
	ck_assert_uint_eq(measured()->live_bytes, 0);
}

TEST(engine_without_stats_has_no_counters)
{
	struct nb_engine engine = begin(NB_VERB_PUT, 1);
	engine.stats = NULL;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_OK);
	ck_assert_uint_eq(measured()->counters.count, 0);
}

/* --- failures --- */

TEST(a_failing_put_ends_the_run_with_its_text)
{
	static const struct {
		uint32_t verb;
		bool is_at_once, is_partial; /* not partial: no result */
		const char *text;
	} cases[] = {
		{NB_VERB_PUT, false, true, "toy: put, operation 700: the toy is broken"},
		{NB_VERB_PUT, true, true, "toy: put, operation "},
		{NB_VERB_GET, false, false, "toy: loading, operation 700: the toy is broken"},
		{NB_VERB_DELETE, false, false,
			"toy: loading, operation 700: the toy is broken"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct nb_engine engine = begin(cases[i].verb, 3);
		if (cases[i].is_at_once)
			toy_break(TOY_FAIL, TOY_PUT, 1, 0);
		else
			break_key(TOY_FAIL, TOY_PUT, 700);
		ck_assert_int_eq(rig_run(&rig, &engine), NB_FAIL);
		rig_assert_told(cases[i].text);
		ck_assert_uint_lt(measured()->ops, COUNT);
		ck_assert_uint_eq(nb_histogram_count(measured()->service), measured()->ops);
		ck_assert(!measured()->has_settled && !measured()->has_read_back);
		assert_result(cases[i].is_partial, true);
	}
}

static int
session_open_null(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	*out = NULL;
	return NB_OK;
}

TEST(failing_session_ends_the_run_before_its_first_operation)
{
	static const struct {
		uint32_t defect;
		const char *text;
	} cases[] = {{TOY_FAIL, "toy: session_open: the toy is broken"},
		{TOY_MUTE, "toy: session_open: failed without saying why"},
		{TOY_RIGHT, "toy: session_open: gave no session"}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct nb_engine engine = begin(NB_VERB_PUT, 3);
		if (cases[i].defect == TOY_RIGHT)
			engine.session_open = session_open_null;
		toy_break(cases[i].defect, TOY_SESSION_OPEN, 2, 1);
		ck_assert_int_eq(rig_run(&rig, &engine), NB_FAIL);
		ck_assert_str_eq(nb_error_text(), cases[i].text);
		ck_assert_uint_eq(toy_calls(TOY_PUT), 0);
		assert_result(false, false);
	}
}

static int
open_failing(struct nb_db **out, const struct nb_open_args *args)
{
	return (args->host->fail)(
		NB_FAIL, "damaged at block 7"); /* fail is a macro of check.h */
}

static int
open_silent(struct nb_db **out, const struct nb_open_args *args)
{
	return 5;
}

static int
open_null(struct nb_db **out, const struct nb_open_args *args)
{
	*out = NULL;
	return NB_OK;
}

TEST(failing_open_names_the_database)
{
	static const struct {
		int (*open)(struct nb_db **out, const struct nb_open_args *args);
		const char *text;
		bool has_path;
	} cases[] = {{open_failing, "damaged at block 7", true},
		/* an earlier failure is not reported again */
		{open_silent,
			"toy: open: answered 5, but may answer only NB_OK (0) or a negative failure"},
		{open_null, "gave no database", true}};
	struct nb_engine engine = begin(NB_VERB_PUT, 2);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char path[192] = "";
		engine.open = cases[i].open;
		ck_assert_int_eq(rig_run(&rig, &engine), NB_FAIL);
		if (cases[i].has_path)
			snprintf(path, sizeof(path), "toy: %s/memory: ", rig.path);
		rig_assert_told(path);
		ck_assert_str_eq(nb_error_text() + strlen(path), cases[i].text);
		assert_result(false, false);
	}
}

static int
close_failing(struct nb_db *db)
{
	int rc = toy_engine().close(db);
	return rc != NB_OK ? rc : error_set(NB_FAIL, "last block not written");
}

static char logged[256];

static void
keep_log(void *arg, uint32_t level, const char *text)
{
	snprintf(logged, sizeof(logged), "%s", text);
}

TEST(failing_close_is_the_failure_or_is_reported_beside_the_first_one)
{
	struct nb_engine engine = begin(NB_VERB_PUT, 2);
	engine.close = close_failing;
	nb_set_log(keep_log, NULL);
	ck_assert_int_eq(rig_run(&rig, &engine), NB_FAIL);
	ck_assert_str_eq(nb_error_text(), "toy: closing: last block not written");
	ck_assert(!measured()->has_settled);
	ck_assert_str_eq(logged, "");
	break_key(TOY_FAIL, TOY_PUT, 700);
	ck_assert_int_eq(rig_run(&rig, &engine), NB_FAIL);
	ck_assert_str_eq(nb_error_text(), "toy: put, operation 700: the toy is broken");
	ck_assert_str_eq(logged, "toy: closing: last block not written");
	nb_set_log(NULL, NULL);
}

/* --- settling --- */

static int flush_answers[2], flush_calls[2]; /* by NB_SETTLE_* */

static int
flush_as_told(struct nb_db *db, uint32_t upto)
{
	flush_calls[upto]++;
	return flush_answers[upto];
}

TEST(result_states_how_the_engine_settled)
{
	static const struct {
		uint32_t asked;
		int flush, compact, settled, rc;
		bool called_flush, called_compact;
		const char *text;
	} cases[] = {
		{NB_RUN_SETTLE_COMPACT, NB_OK, NB_OK, NB_RUN_SETTLE_COMPACT, NB_OK, 0, 1},
		{NB_RUN_SETTLE_COMPACT, NB_OK, NB_UNSUPPORTED, NB_RUN_SETTLE_FLUSH, NB_OK, 1,
			1},
		{NB_RUN_SETTLE_COMPACT, NB_UNSUPPORTED, NB_UNSUPPORTED, NB_RUN_SETTLE_NONE,
			NB_OK, 1, 1},
		{NB_RUN_SETTLE_FLUSH, NB_OK, NB_OK, NB_RUN_SETTLE_FLUSH, NB_OK, 1, 0},
		{NB_RUN_SETTLE_FLUSH, NB_UNSUPPORTED, NB_OK, NB_RUN_SETTLE_NONE, NB_OK, 1, 0},
		{NB_RUN_SETTLE_NONE, NB_OK, NB_OK, NB_RUN_SETTLE_NONE, NB_OK, 0, 0},
		{NB_RUN_SETTLE_COMPACT, NB_OK, NB_FAIL, NB_RUN_SETTLE_NONE, NB_FAIL, 0, 1,
			"toy: settling: failed without saying why"},
		{NB_RUN_SETTLE_COMPACT, 1, NB_UNSUPPORTED, NB_RUN_SETTLE_NONE, NB_FAIL, 1, 1,
			"toy: flush: answered 1, but may answer only NB_OK (0) or a "
			"negative failure"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct nb_engine engine = begin(NB_VERB_PUT, 2);
		engine.flush = flush_as_told;
		rig.options.settle = cases[i].asked;
		flush_answers[NB_SETTLE_FLUSH] = cases[i].flush;
		flush_answers[NB_SETTLE_COMPACT] = cases[i].compact;
		flush_calls[0] = flush_calls[1] = 0;
		ck_assert_int_eq(rig_run(&rig, &engine), cases[i].rc);
		ck_assert_int_eq(measured()->settled, cases[i].settled);
		ck_assert_int_eq(measured()->has_settled, cases[i].rc == NB_OK);
		ck_assert_int_eq(flush_calls[NB_SETTLE_FLUSH], cases[i].called_flush);
		ck_assert_int_eq(flush_calls[NB_SETTLE_COMPACT], cases[i].called_compact);
		ck_assert_uint_eq(measured()->ops, COUNT);
		if (cases[i].rc != NB_OK)
			ck_assert_str_eq(nb_error_text(), cases[i].text);
	}
}

TEST(engine_without_flush_and_reads_do_not_settle)
{
	struct nb_engine engine = begin(NB_VERB_PUT, 1);
	engine.flush = NULL;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_OK);
	ck_assert_int_eq(measured()->settled, NB_RUN_SETTLE_NONE);
	engine = begin(NB_VERB_GET, 1);
	engine.flush = flush_as_told;
	flush_answers[0] = flush_answers[1] = NB_FAIL;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_OK);
}

/* --- nb_stop() --- */

static int calls_of_all;                       /* atomic */
static int stop_put_at = -1, stop_get_at = -1; /* number of the call that requests the stop */

/** Wait until the run halts; otherwise the test times out. */
static void
wait_for_halt(void)
{
	const int *halt = rig.run->active[0]->plan.halt;
	while (__atomic_load_n(halt, __ATOMIC_RELAXED) == 0)
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

/** Later calls wait, so that some operations remain when the run notices the stop. */
static void
stop_at(int at)
{
	int call = __atomic_fetch_add(&calls_of_all, 1, __ATOMIC_RELAXED);
	if (at >= 0 && call == at)
		nb_stop();
	if (at >= 0 && call >= at)
		wait_for_halt();
}

static int
put_stopping(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	stop_at(stop_put_at);
	return toy_engine().put(session, key, value);
}

static int
get_stopping(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	stop_at(stop_get_at);
	return toy_engine().get(session, key, value);
}

TEST(stop_ends_the_operations_with_a_partial_result)
{
	struct nb_engine engine = begin(NB_VERB_PUT, 2);
	engine.put = put_stopping;
	stop_put_at = 50;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_ERR_INTERRUPTED);
	ck_assert(measured()->is_partial);
	ck_assert_uint_ge(measured()->ops, 50);
	ck_assert_uint_lt(measured()->ops, COUNT);
	ck_assert_uint_eq(nb_histogram_count(measured()->service), measured()->ops);
	ck_assert_uint_eq(measured()->findings.verified, 0);
	ck_assert(!measured()->has_read_back);
	assert_result(true, true);
	nb_stop_clear();
}

static int
get_stopping_in_vain(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	stop_at(stop_get_at);
	return NB_NOT_FOUND;
}

TEST(stop_does_not_hide_missing_records)
{
	struct nb_engine engine = begin(NB_VERB_GET, 1);
	engine.get = get_stopping_in_vain;
	stop_get_at = 50;
	logged[0] = '\0';
	nb_set_log(keep_log, NULL);
	ck_assert_int_eq(rig_run(&rig, &engine), NB_ERR_INTERRUPTED);
	nb_set_log(NULL, NULL);
	ck_assert_str_eq(nb_error_text(), "interrupted");
	ck_assert_ptr_nonnull(strstr(logged, "51 of 51 keys were not found"));
	nb_stop_clear();
}

TEST(stop_ends_the_verification)
{
	struct nb_engine engine = begin(NB_VERB_PUT, 2);
	engine.get = get_stopping;
	stop_get_at = 50;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_ERR_INTERRUPTED);
	ck_assert(!measured()->is_partial);  /* no operation is missing */
	ck_assert(!measured()->has_settled); /* comes after reading back */
	ck_assert(!measured()->has_read_back);
	ck_assert_uint_ge(measured()->findings.verified, 50);
	ck_assert_uint_lt(measured()->findings.verified, COUNT);
	nb_stop_clear();
}

TEST(stop_during_the_load_leaves_no_result)
{
	struct nb_engine engine = begin(NB_VERB_GET, 2);
	engine.put = put_stopping;
	stop_put_at = 50;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_ERR_INTERRUPTED);
	ck_assert_int_lt(calls_of_all, COUNT);
	assert_result(false, false);
	nb_stop_clear();
}

TEST(stop_before_the_run_leaves_no_files)
{
	struct nb_engine engine = begin(NB_VERB_PUT, 2);
	rig_new(&rig, &engine);
	nb_stop();
	ck_assert_int_eq(nb_run_execute(rig.run), NB_ERR_INTERRUPTED);
	ck_assert(!rig_has(&rig, "nb"));
	nb_stop_clear();
}

/* --- an engine that keeps its data --- */

static struct nb_open_args opened_with; /* arguments of the first open */
static uint32_t opened_last;            /* flags of the last open */
static int opens;

static int
open_noting(struct nb_db **out, const struct nb_open_args *args)
{
	struct nb_open_args right = *args;
	if (opens++ == 0)
		opened_with = *args;
	opened_last = args->flags;
	right.flags = NB_OPEN_CREATE;
	return toy_engine().open(out, &right);
}

TEST(database_is_made_by_put_only_and_read_only_for_get)
{
	static const uint32_t flags[] = {[NB_VERB_PUT] = NB_OPEN_CREATE,
		[NB_VERB_GET] = NB_OPEN_READ_ONLY,
		[NB_VERB_DELETE] = 0};
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		struct nb_engine engine = begin(verb, 2);
		char path[128];
		opens = 0;
		engine.open = open_noting;
		engine.caps |= NB_CAP_PERSISTENT;
		rig.options.flags = NB_RUN_ALLOW_MISSING |
			NB_RUN_FORCE; /* memory keeps nothing */
		rig.options.cache_bytes = 4711;
		snprintf(path, sizeof(path), "%s/memory", rig.path);
		ck_assert_int_eq(mkdir(rig.path, 0777), 0);
		ck_assert_int_eq(mkdir(path, 0777), 0);
		strcat(path, "/data");
		fclose(fopen(path, "w"));
		(void)!rig_run(&rig, &engine);
		ck_assert_uint_eq(opened_with.flags, flags[verb]);
		ck_assert_uint_eq(opened_last, NB_OPEN_READ_ONLY);
		ck_assert_int_eq(opens, verb == NB_VERB_GET ? 1 : 2);
		ck_assert_uint_eq(opened_with.size, sizeof(opened_with));
		ck_assert_uint_eq(opened_with.records, COUNT);
		ck_assert_uint_eq(opened_with.key_size, 16);
		ck_assert_uint_eq(opened_with.value_size, 100);
		ck_assert_uint_eq(opened_with.sessions, 2);
		ck_assert_uint_eq(opened_with.cache_bytes, 4711);
		ck_assert_uint_eq(opened_with.durability, NB_DUR_NONE);
		ck_assert(!measured()->is_loaded);
		ck_assert(measured()->had_data);
	}
}

/** `memory`, which loses everything in close, but claims to keep its data. */
static struct nb_engine
begin_forgetful(uint32_t verb)
{
	struct nb_engine engine = begin(verb, 2);
	opens = 0;
	engine.open = open_noting;
	engine.caps |= NB_CAP_PERSISTENT;
	rig.options.flags = NB_RUN_ALLOW_MISSING | NB_RUN_FORCE;
	return engine;
}

TEST(writes_that_stay_in_a_cache_are_reported_as_missing)
{
	struct nb_engine engine = begin_forgetful(NB_VERB_PUT);
	struct told told = {.thread = pthread_self()};
	rig.options.progress = note_progress;
	rig.options.progress_arg = &told;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_ERR_DATA);
	ck_assert_uint_eq(measured()->findings.missing, COUNT);
	ck_assert_uint_eq(measured()->findings.verified, COUNT);
	ck_assert(measured()->is_reopened && measured()->has_read_back);
	ck_assert(measured()->has_settled);
	ck_assert_str_eq(
		told.whats, "looking at the keys|open|put|settle|close|reopen|verify|");
	ck_assert_uint_eq(told.wrong, 0);
}

TEST(database_is_not_reopened_without_verification)
{
	struct nb_engine engine = begin_forgetful(NB_VERB_PUT);
	rig.options.verify_rate = 0;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_OK);
	ck_assert_int_eq(opens, 1);
	ck_assert(!measured()->is_reopened);
}

static int
open_once(struct nb_db **out, const struct nb_open_args *args)
{
	if (opens > 0)
		return (args->host->fail)(NB_FAIL, "the file is damaged");
	return open_noting(out, args);
}

TEST(a_database_that_cannot_be_opened_again_ends_the_run)
{
	struct nb_engine engine = begin_forgetful(NB_VERB_PUT);
	engine.open = open_once;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_FAIL);
	rig_assert_told("the database cannot be opened again to read back: ");
	rig_assert_told("the file is damaged");
	ck_assert(!measured()->has_read_back && measured()->has_settled);
	ck_assert_uint_eq(measured()->ops, COUNT);
}
