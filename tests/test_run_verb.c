/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole runs of put, get and delete: what they measure, and how they report wrong data.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "unit.h"
#include "verb_rig.h"

/* --- successful runs --- */

TEST(every_operation_is_done_once_by_any_number_of_threads)
{
	static const uint32_t threads[] = {1, 2, 3, 7};
	static const uint32_t calls_of[] = {
		[NB_VERB_PUT] = TOY_PUT, [NB_VERB_GET] = TOY_GET, [NB_VERB_DELETE] = TOY_DEL};
	for (size_t t = 0; t < sizeof(threads) / sizeof(*threads); t++)
		for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
			struct nb_engine engine = rig_begin(verb, threads[t]);
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
			ck_assert_uint_eq(rig_measured()->ops, COUNT);
			ck_assert_uint_eq(nb_histogram_count(rig_measured()->service), COUNT);
			ck_assert_uint_eq(rig_measured()->answers[NB_OK], COUNT);
			ck_assert(!rig_measured()->is_partial);
			ck_assert_uint_eq(rig_measured()->value_bytes,
				verb == NB_VERB_DELETE ? 0 : COUNT * 100);
			/* the toy keeps nothing, so the run loads it first */
			ck_assert_int_eq(rig_measured()->is_loaded, verb != NB_VERB_PUT);
		}
}

TEST(as_many_threads_as_operations_execute_one_each)
{
	rig_create(&rig, NB_VERB_PUT, 9);
	rig.options.threads = 9;
	ck_assert_int_eq(rig_run(&rig, NULL), NB_OK);
	ck_assert_uint_eq(rig_measured()->ops, 9);
	ck_assert_uint_eq(rig_measured()->findings.verified, 9);
	ck_assert_uint_eq(rig_measured()->thread_count, 9);
	for (int t = 0; t < 9; t++)
		ck_assert_uint_eq(rig_measured()->threads[t].ops, 1);
}

TEST(a_run_is_executed_only_once)
{
	rig_create(&rig, NB_VERB_PUT, 9);
	ck_assert_int_eq(rig_run(&rig, NULL), NB_OK);
	ck_assert_int_eq(nb_run_execute(rig.run), NB_ERR_USAGE);
	rig_assert_told("only once");
	ck_assert_uint_eq(rig_measured()->ops, 9);
}

enum { SLEEP_NS = 2 * 1000 * 1000, SLEEPY = 24 };

/** A put of few operations that take SLEEP_NS each. */
static struct nb_engine
begin_sleepy(uint32_t threads)
{
	struct nb_engine engine = rig_begin(NB_VERB_PUT, threads);
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
	ck_assert_uint_ge(rig_measured()->wall_ns, SLEEPY / 4 * SLEEP_NS);
	ck_assert_uint_le(rig_measured()->wall_ns, around);
	/* latencies of all threads together exceed the elapsed time */
	ck_assert_uint_ge(
		nb_histogram_sum(rig_measured()->service), (uint64_t)SLEEPY * SLEEP_NS);
	struct nb_result *result;
	ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
	ck_assert_uint_eq(nb_result_wall_ns(result), rig_measured()->wall_ns);
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
			struct nb_engine engine = rig_begin(verb, 3);
			rig.options.verify_rate = cases[i].rate;
			ck_assert_int_eq(rig_run(&rig, &engine), NB_OK);
			ck_assert_uint_ge(rig_measured()->findings.verified, cases[i].least);
			ck_assert_uint_le(rig_measured()->findings.verified, cases[i].most);
			ck_assert(rig_measured()->has_read_back);
		}
}

TEST(null_is_neither_loaded_nor_verified)
{
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		rig_create(&rig, verb, COUNT);
		rig.options.driver = "null";
		rig.options.threads = 2;
		ck_assert_int_eq(rig_run(&rig, NULL), NB_OK);
		ck_assert(!rig_measured()->is_loaded);
		ck_assert_uint_eq(rig_measured()->findings.verified, 0);
		ck_assert_uint_eq(rig_measured()->ops, COUNT);
		ck_assert_uint_eq(
			rig_measured()->value_bytes, verb == NB_VERB_DELETE ? 0 : COUNT * 100);
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
	struct nb_engine engine = rig_begin(NB_VERB_PUT, 2);
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

TEST(phases_are_reported_in_order_on_this_thread)
{
	struct rig_told told = {.thread = pthread_self()};
	struct nb_engine engine = begin_sleepy(2);
	rig.options.report_interval = 1;
	rig.options.progress = rig_note_progress;
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
		struct nb_engine engine = rig_begin(cases[i].verb, 3);
		toy_break(cases[i].defect, cases[i].call, 1, 100);
		rig.options.verify_rate = cases[i].verify_rate;
		rig.options.flags = NB_RUN_ALLOW_MISSING; /* does not allow these defects */
		ck_assert_int_eq(rig_run(&rig, &engine), NB_ERR_DATA);
		ck_assert_str_eq(nb_error_text(), cases[i].text);
		ck_assert(!rig_measured()->is_partial);
	}
}

TEST(missing_keys_are_an_error_unless_they_are_allowed)
{
	for (uint32_t verb = NB_VERB_GET; verb <= NB_VERB_DELETE; verb++) {
		struct nb_engine engine = rig_begin(verb, 3);
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
			ck_assert_uint_eq(rig_measured()->answers[NB_NOT_FOUND], 100);
			ck_assert_uint_eq(rig_measured()->answers[NB_OK], 903);
			ck_assert_uint_eq(rig_measured()->ops, COUNT);
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
	(void)rig_begin(NB_VERB_DELETE, 1);
	repeat_first_key();
	ck_assert_msg(rig_run(&rig, NULL) == NB_OK, "%s", nb_error_text());
	ck_assert_uint_eq(rig.run->keys_facts.duplicates, 5);
	ck_assert_uint_eq(rig_measured()->answers[NB_NOT_FOUND], 5);
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
	ck_assert_uint_eq(rig_measured()->answers[NB_NOT_FOUND], 5);
	ck_assert(!rig.run->keys_facts.is_estimate);
	ck_assert_uint_eq(rig.run->keys_facts.duplicates, 5);
	ck_assert_uint_eq(rig.run->keys_facts.looked, MANY);
}

static uint64_t
phase_ns(const char *name)
{
	const struct measurement *it = rig_measured();
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
		(void)rig_begin(verb, 1);
		uint64_t begin_ns = clock_monotonic(), sum_ns = 0;
		ck_assert_int_eq(rig_run(&rig, NULL), NB_OK);
		uint64_t took_ns = clock_monotonic() - begin_ns;
		const struct measurement *it = rig_measured();
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
	struct nb_engine engine = rig_begin(verb, threads);
	flushes = 0;
	engine.flush = flush_told;
	engine.stats = stats_told;
	engine.close = close_noted;
	return engine;
}

static const struct counter *
grown(const char *name)
{
	const struct counter *it = counters_find(&rig_measured()->counters, name);
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
	ck_assert_uint_eq(rig_measured()->ops, 700);
	ck_assert_uint_eq(grown("puts")->value, 701); /* includes the failed put */
	ck_assert_uint_eq(grown("flushes")->value, 0);
}

TEST(threads_and_series_are_all_that_the_run_has_done)
{
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		struct nb_engine engine = begin_told(verb, 3);
		rig.options.sample_ns = 20000000;
		ck_assert_int_eq(rig_run(&rig, &engine), NB_OK);
		const struct measurement *it = rig_measured();
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
	struct nb_engine engine = rig_begin(NB_VERB_PUT, 1);
	ck_assert_int_eq(rig_run(&rig, &engine), NB_OK);
	ck_assert_uint_eq(rig_measured()->live_bytes,
		COUNT * (rig.workload.key_size + rig.workload.value_size));
	engine = rig_begin(NB_VERB_PUT, 1);
	repeat_first_key();
	ck_assert_int_eq(rig_run(&rig, &engine), NB_OK);
	ck_assert_uint_eq(rig_measured()->live_bytes,
		(COUNT - 5) * (rig.workload.key_size + rig.workload.value_size));
	engine = rig_begin(NB_VERB_GET, 1);
	ck_assert_int_eq(rig_run(&rig, &engine), NB_OK);
	ck_assert_uint_eq(rig_measured()->live_bytes, 0);
}

TEST(engine_without_stats_has_no_counters)
{
	struct nb_engine engine = rig_begin(NB_VERB_PUT, 1);
	engine.stats = NULL;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_OK);
	ck_assert_uint_eq(rig_measured()->counters.count, 0);
}
