/* SPDX-License-Identifier: BSD-2-Clause */
/* Handmade series with known stalls, and one run that sleeps. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "report/record.h"
#include "toy.h"
#include "unit.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

enum { PULSE_MS = 20, PULSES_MAX = 4000 };

static uint32_t ops[PULSES_MAX];
static struct pulses pulses;
static struct nb_result run;
static struct record record;
static struct stalls found;

static struct series *
series(void)
{
	return &run.measured.series;
}

/** Fill pulses with this rate. */
static void
begin(size_t count, uint32_t rate)
{
	run = (struct nb_result){.workload = {.verb = NB_VERB_PUT}};
	record = (struct record){.run = &run};
	pulses = (struct pulses){.pulse_ns = PULSE_MS * MS, .ops = ops, .count = count};
	for (size_t i = 0; i < count; i++)
		ops[i] = rate;
	run.measured.wall_ns = count * PULSE_MS * MS;
	series()->pulses = &pulses;
	series()->pulses_count = 1;
}

static void
fill(size_t from, size_t to, uint32_t rate)
{
	for (size_t i = from; i < to; i++)
		ops[i] = rate;
}

static void
find(void)
{
	stalls_find(&record, &found);
}

TEST(even_run_has_no_stalls)
{
	begin(500, 200);
	for (size_t i = 0; i < 500; i++)
		ops[i] += (uint32_t)(i * 7919 % 80);
	find();
	ck_assert_uint_eq(found.count, 0);
	ck_assert_uint_eq(found.longest_gap_ns, 0);
	ck_assert_uint_eq(found.slow_ns, 0);
	ck_assert_uint_eq(found.looked_ns, 499 * PULSE_MS * MS);
	ck_assert_double_eq_tol(found.median_ops_s, 239.5 * 50, 200);
}

static void
assert_only_gap(uint64_t begin_ms, uint64_t duration_ms)
{
	ck_assert_uint_eq(found.count, 1);
	ck_assert_uint_eq(found.longest_gap_ns, duration_ms * MS);
	ck_assert_uint_eq(found.longest_gap_at_ns, begin_ms * MS);
	ck_assert_uint_eq(found.worst[0].begin_ns, begin_ms * MS);
	ck_assert_uint_eq(found.worst[0].duration_ns, duration_ms * MS);
	ck_assert_double_eq(found.worst[0].rate_ops_s, 0);
	ck_assert_uint_eq(found.slow_ns, duration_ms * MS);
}

TEST(gap_has_its_exact_place_and_length)
{
	begin(500, 200);
	fill(100, 115, 0);
	find();
	assert_only_gap(2000, 300);
	ck_assert_double_eq_tol(found.median_ops_s, 10000, 1e-6);
	ck_assert_str_eq(found.worst[0].cause, "");
}

static void
add_gap(uint64_t begin_ms, uint64_t duration_ms)
{
	pulses.gaps[pulses.gap_count++] = (struct gap){begin_ms * MS, duration_ms * MS};
}

TEST(a_stamped_gap_is_not_rounded_to_pulses)
{
	begin(500, 200);
	fill(101, 107, 0); /* a gap of 150 ms that begins and ends within a pulse */
	add_gap(2010, 150);
	find();
	assert_only_gap(2010, 150);
}

TEST(a_stamped_gap_is_a_stall_where_pulses_are_longer)
{
	begin(500, 3200);
	pulses.pulse_ns = 320 * MS;
	add_gap(2000, 2000); /* spans six pulses, all with operations */
	add_gap(9000, 60);   /* too short */
	find();
	ck_assert_uint_eq(found.count, 1);
	ck_assert_uint_eq(found.longest_gap_ns, 2000 * MS);
	ck_assert_uint_eq(found.worst[0].duration_ns, 2000 * MS);
	/* random gaps of few operations are not stalls either */
	fill(0, 500, 1);
	find();
	ck_assert_uint_eq(found.count, 0);
}

TEST(gap_counts_only_within_the_measured_span)
{
	struct sample warm = {.end_ns = 2 * SECOND, .duration_ns = 2 * SECOND, .is_warmup = 1};
	begin(500, 200);
	series()->samples = &warm;
	series()->count = 1;
	add_gap(100, 1000);
	add_gap(1900, 300);
	add_gap(9900, UINT64_MAX / MS - 9900); /* possible in a damaged file */
	find();
	ck_assert_uint_eq(found.count, 2);
	ck_assert_uint_eq(found.worst[0].begin_ns, 2000 * MS);
	ck_assert_uint_eq(found.worst[0].duration_ns, 200 * MS);
	ck_assert_uint_eq(found.worst[1].begin_ns, 9900 * MS);
	ck_assert_uint_eq(found.worst[1].duration_ns, 80 * MS); /* the last pulse is ignored */
}

TEST(three_empty_pulses_are_not_a_gap)
{
	begin(500, 200);
	fill(100, 103, 0);
	find();
	ck_assert_uint_eq(found.count, 0);
	fill(100, 104, 0);
	find();
	ck_assert_uint_eq(found.longest_gap_ns, 80 * MS);
	ck_assert_uint_eq(found.slow_ns, 80 * MS); /* too short to be slow, but a gap */
}

TEST(a_slow_stretch_is_below_half_for_a_tenth_of_a_second)
{
	begin(500, 200);
	fill(100, 150, 90);
	fill(200, 250, 110); /* more than half of the rate */
	fill(300, 304, 30);  /* 80 ms */
	find();
	ck_assert_uint_eq(found.count, 1);
	ck_assert_uint_eq(found.longest_gap_ns, 0);
	/* a window of 100 ms locates its edges to within a window */
	ck_assert_uint_ge(found.worst[0].begin_ns, 2000 * MS);
	ck_assert_uint_le(found.worst[0].begin_ns, 2100 * MS);
	ck_assert_uint_ge(found.worst[0].duration_ns, 900 * MS);
	ck_assert_uint_le(found.worst[0].duration_ns, 1000 * MS);
	ck_assert_double_eq_tol(found.worst[0].rate_ops_s, 4500, 1e-6);
}

TEST(an_engine_that_is_slow_throughout_does_not_stall)
{
	begin(3000, 0);
	for (size_t i = 0; i < 3000; i += 8) /* 6 operations a second, evenly spaced */
		ops[i] = 1;
	find();
	ck_assert_uint_eq(found.count, 0);
	ck_assert_double_eq_tol(found.median_ops_s, 6.25, 0.1);
	/* the same at random times */
	struct rng rng;
	for (uint64_t seed = 0; seed < 20; seed++) {
		rng_create(&rng, seed);
		for (size_t i = 0; i < 3000; i++)
			ops[i] = rng_next(&rng) % 8 == 0;
		find();
		ck_assert_uint_eq(found.count, 0);
	}
	/* with a stop of ten seconds, in which 60 operations are missing */
	fill(1000, 1500, 0);
	find();
	ck_assert_uint_eq(found.count, 1);
	ck_assert_uint_ge(found.longest_gap_ns, 10 * SECOND);
}

TEST(warm_up_and_end_are_left_out)
{
	struct sample warm = {.end_ns = 2 * SECOND, .duration_ns = 2 * SECOND, .is_warmup = 1};
	struct job_thread threads[2] = {
		{.ops = 10, .wall_ns = 8 * SECOND}, {.ops = 10, .wall_ns = 10 * SECOND}};
	begin(500, 200);
	fill(10, 90, 0);    /* during the warm-up */
	fill(400, 500, 50); /* one of two threads has ended at 8 s */
	series()->samples = &warm;
	series()->count = 1;
	run.measured.threads = threads;
	run.measured.thread_count = run.threads = 2;
	find();
	ck_assert_uint_eq(found.count, 0);
	ck_assert_uint_eq(found.looked_ns, 6 * SECOND);
	run.measured.threads = NULL;
	find();
	ck_assert_uint_eq(found.count, 1);
}

/** A file may contain an end of the warm-up or a pulse length that no run has. */
TEST(run_that_never_leaves_its_warm_up_has_no_stalls)
{
	static const uint64_t lengths[] = {1, 2, 3, UINT64_MAX / 2, UINT64_MAX};
	struct sample warm = {.end_ns = UINT64_MAX, .is_warmup = 1};
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		begin(500, 200);
		fill(100, 115, 0);
		pulses.pulse_ns = lengths[i];
		series()->samples = &warm;
		series()->count = 1;
		find();
		ck_assert_uint_eq(found.count, 0);
		ck_assert_uint_eq(found.looked_ns, 0);
	}
}

TEST(eight_longest_stalls_are_reported_in_order_of_time)
{
	begin(2000, 200);
	for (size_t i = 0; i < 12; i++)
		fill(100 + i * 100, 100 + i * 100 + 5 + (i * 5) % 12, 0);
	find();
	ck_assert_uint_eq(found.count, STALLS_MAX);
	for (size_t i = 0; i < found.count; i++) {
		ck_assert_uint_ge(found.worst[i].duration_ns, 9 * PULSE_MS * MS);
		if (i > 0)
			ck_assert_uint_gt(found.worst[i].begin_ns, found.worst[i - 1].begin_ns);
	}
	ck_assert_uint_eq(found.longest_gap_ns, 16 * PULSE_MS * MS);
	/* 12 gaps of 5 to 16 pulses, each length once: all of them are slow */
	ck_assert_uint_eq(found.slow_ns, (5 + 16) * 6 * PULSE_MS * MS);
}

TEST(too_few_pulses_give_no_verdict)
{
	for (size_t count = 0; count < 11; count++) {
		begin(count, 100);
		fill(0, count / 2, 0);
		find();
		ck_assert_uint_eq(found.looked_ns, 0);
		ck_assert_uint_eq(found.count, 0);
	}
	begin(100, 0);
	find();
	ck_assert_uint_eq(found.count, 0);
	pulses.pulse_ns = 0;
	find();
	ck_assert_uint_eq(found.looked_ns, 0);
	series()->pulses_count = 0;
	find();
	ck_assert_uint_eq(found.looked_ns, 0);
}

/* ---- jobs ---- */

static struct job_result_group groups[2];

static void
begin_job(size_t count, uint32_t rate)
{
	begin(count, rate);
	run.is_job = true;
	run.groups = groups;
	run.group_count = 1;
	memset(groups, 0, sizeof(groups));
}

TEST(only_gaps_are_reported_for_a_requested_rate)
{
	begin_job(500, 200);
	groups[0].is_paced = true;
	fill(100, 200, 50);
	fill(300, 310, 0);
	find();
	ck_assert_uint_eq(found.count, 1);
	ck_assert_uint_eq(found.worst[0].begin_ns, 6 * SECOND);
	/* a varying rate may have been 0 */
	groups[0].rate_text = (char *)(uintptr_t) "0:10s,1k:10s";
	find();
	ck_assert_uint_eq(found.count, 0);
	groups[0].rate_text = NULL;
	groups[0].speed = 1;
	find();
	ck_assert_uint_eq(found.count, 0);
	/* next to a closed loop, a gap counts for the closed loop, too */
	run.group_count = 2;
	find();
	ck_assert_uint_eq(found.count, 1);
}

/* ---- causes ---- */

enum { SAMPLES = 10, COUNTERS = 6 };

static struct sample samples[SAMPLES];
static uint64_t values[SAMPLES][COUNTERS];

/** 10 s with a gap in the fourth second, and nothing unusual. */
static void
begin_causes(void)
{
	static struct counter counters[COUNTERS] = {
		{(char *)(uintptr_t) "gets", (char *)(uintptr_t) "calls", NB_STAT_COUNTER, 0,
			0},
		{(char *)(uintptr_t) "compactions", (char *)(uintptr_t) "times",
			NB_STAT_COUNTER, 0, 0},
		{(char *)(uintptr_t) "written", (char *)(uintptr_t) "bytes", NB_STAT_COUNTER, 0,
			0},
		{(char *)(uintptr_t) "stalled", (char *)(uintptr_t) "us", NB_STAT_COUNTER, 0,
			0},
		{(char *)(uintptr_t) "files", (char *)(uintptr_t) "files", NB_STAT_GAUGE, 0, 0},
		{(char *)(uintptr_t) "odd", (char *)(uintptr_t) "times", NB_STAT_COUNTER, true,
			0},
	};
	begin(500, 200);
	fill(160, 175, 0);
	memset(samples, 0, sizeof(samples));
	for (size_t i = 0; i < SAMPLES; i++) {
		samples[i] = (struct sample){.end_ns = (i + 1) * SECOND,
			.duration_ns = SECOND,
			.counters = values[i],
			.counter_count = COUNTERS};
		for (size_t c = 0; c < COUNTERS; c++)
			values[i][c] = 100;
	}
	series()->samples = samples;
	series()->count = SAMPLES;
	series()->counters = (struct counters){.items = counters, .count = COUNTERS};
}

TEST(cause_is_the_counter_that_grew_out_of_proportion)
{
	begin_causes();
	find();
	ck_assert_uint_eq(found.count, 1);
	ck_assert_str_eq(found.worst[0].cause, "");
	values[3][1] = 900;      /* of 1800: 5 times the mean */
	values[3][2] = 3 << 20;  /* nearly everything */
	values[3][4] = 100000;   /* a gauge, which is not an increase */
	values[3][5] = 10000000; /* a counter that decreased tells nothing */
	find();
	ck_assert_str_eq(found.worst[0].cause, "written 3MiB, compactions 900");
	values[3][3] = 700; /* 4.4 times the mean */
	find();
	ck_assert_str_eq(found.worst[0].cause, "written 3MiB, compactions 900, stalled 700us");
	values[3][0] = 10000; /* displaces the third one */
	find();
	ck_assert_str_eq(found.worst[0].cause, "written 3MiB, gets 10000, compactions 900");
}

TEST(rarely_read_counters_cover_the_whole_time_between)
{
	begin_causes();
	for (size_t i = 0; i < SAMPLES; i++)
		samples[i].counter_count = i % 5 == 4 ? COUNTERS : 0;
	values[4][1] = 250; /* over five seconds, and 100 over the other five */
	find();
	ck_assert_str_eq(found.worst[0].cause, "");
	values[1][1] = 0;
	samples[1].counter_count = COUNTERS; /* covers three seconds, and 100 cover seven */
	find();
	ck_assert_str_eq(found.worst[0].cause, "compactions 250");
}

TEST(without_counters_the_system_is_asked)
{
	begin_causes();
	series()->counters.count = 0;
	for (size_t i = 0; i < SAMPLES; i++)
		samples[i].used = (struct system_counts){
			.known = SYSTEM_PRESSURE | SYSTEM_DEVICE | SYSTEM_MACHINE,
			.pressure_io_ns = 10 * MS,
			.device_busy_ns = 50 * MS,
			.steal_ns = 1 * MS};
	find();
	ck_assert_str_eq(found.worst[0].cause, "");
	samples[3].used.pressure_io_ns = 400 * MS;
	samples[3].used.device_busy_ns = 900 * MS;
	samples[3].used.steal_ns = 20 * MS; /* unusual, but far too little */
	samples[3].used.device_flushes = 7; /* nine other samples without any */
	find();
	ck_assert_str_eq(found.worst[0].cause,
		"device flushes 7, waiting for storage 40 % of the time, device busy 90 % of "
		"the time");
	series()->counters.count = COUNTERS; /* the engine's counters come first */
	values[3][1] = 900;
	find();
	ck_assert_str_eq(found.worst[0].cause, "compactions 900");
}

TEST(run_with_a_sleeping_engine_has_a_stall)
{
	struct toy_rig rig;
	struct nb_result *result;
	toy_create(&rig, "records = 100\nread = 1\ncount = 60000\nrate = 60k\n");
	rig.options.verify_rate = 0;
	toy_break_run(&rig, TOY_SLOW, TOY_GET, 30000, 1);
	toy.sleep_ns = 300 * MS;
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
	record = (struct record){.run = result};
	find();
	/* a busy machine may have added stalls */
	ck_assert_uint_ge(found.count, 1);
	ck_assert_uint_ge(found.longest_gap_ns, 300 * MS); /* by the worker's stamps */
	ck_assert_uint_gt(found.longest_gap_at_ns, 0);
	nb_result_delete(result);
	toy_destroy(&rig);
}
