/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time is handed in, so most of this is exact: when samples are taken and what they hold.
 * Of real runs only what does not depend on how fast they are: sums.
 */
#include "run/sampler.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/histogram.h"
#include "base/rng.h"
#include "toy.h"
#include "unit.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

static struct toy_rig rig;
static struct nb_histogram *times;
static uint64_t wrong;

/* ---- a sampler without workers ---- */

static void
peek(void *arg, uint32_t kind, bool is_response, struct nb_histogram *into)
{
	if (kind == NB_OP_READ && !is_response)
		histogram_peek(into, times);
}

static uint64_t
behind(void *arg, uint64_t since_ns)
{
	return since_ns / SECOND;
}

static uint64_t
errors(void *arg)
{
	return wrong;
}

static struct pulse_track track;

static void
pulses_of_track(void *arg, struct pulse_track *into)
{
	memcpy(into, &track, sizeof(*into));
}

static struct sampler *
begin(uint64_t sample_ns)
{
	toy_create(&rig, "records = 10\nread = 1\n");
	rig.options.sample_ns = sample_ns;
	toy_new(&rig);
	ck_assert_int_eq(sampler_new(rig.run, false), NB_OK);
	pulse_begin(&track, &rig.run->clock, 0);
	nb_histogram_delete(times);
	ck_assert_int_eq(nb_histogram_new(&times), NB_OK);
	return rig.run->sampler;
}

static void
begin_phase(uint32_t phase, uint64_t warm_ns, uint64_t warm_ops)
{
	const struct sampler_phase it = {.phase = phase,
		.kinds = 1u << NB_OP_READ,
		.warm_ns = warm_ns,
		.warm_ops = warm_ops,
		.peek = peek,
		.pulses = pulses_of_track,
		.behind = behind,
		.errors = errors};
	sampler_begin(rig.run->sampler, &it);
}

static struct series *
series(void)
{
	return &rig.run->measured.series;
}

static uint64_t
sum_of_pulses(const struct pulses *pulses)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < pulses->count; i++)
		sum += pulses->ops[i];
	return sum;
}

static uint64_t
sum_of_samples(void)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < series()->count; i++)
		sum += series()->samples[i].ops;
	return sum;
}

/** The workers and the main thread were stopped: the workers' stamps show it. */
TEST(pulses_come_from_the_workers_at_any_sampling_interval)
{
	struct sampler *sampler = begin(0);
	const struct clock *clock = &rig.run->clock;
	pulse_begin(&track, clock, 1000000);
	for (uint64_t ms = 1; ms < 2100; ms += ms == 50 ? 2000 : 1)
		pulse_add(&track, clock_after(clock, 1000000, ms * MS));
	begin_phase(3, 0, 0);
	sampler_tick(sampler, 20 * MS, 20);
	sampler_tick(sampler, 2060 * MS, 60);
	sampler_end(sampler, 2110 * MS, 100);
	ck_assert_uint_eq(series()->pulses_count, 1);
	const struct pulses *pulses = &series()->pulses[0];
	ck_assert_uint_eq(pulses->phase, 3);
	ck_assert_uint_eq(pulses->begin_ns, 0);
	ck_assert_uint_eq(pulses->count, 106);
	ck_assert_uint_eq(pulses->ops[0], 19);
	ck_assert_uint_eq(pulses->ops[2], 11);
	for (size_t i = 3; i < 102; i++)
		ck_assert_uint_eq(pulses->ops[i], 0);
	ck_assert_uint_eq(pulses->gap_count, 1);
	ck_assert_uint_le(pulses->gaps[0].begin_ns, 50 * MS + 10);
	ck_assert_uint_ge(pulses->gaps[0].duration_ns, 2000 * MS - 10);
	ck_assert_uint_eq(sum_of_pulses(pulses), 100);
}

TEST(first_ten_seconds_are_sampled_five_times_as_often)
{
	struct sampler *sampler = begin(0);
	uint64_t done = 0, at = 0;
	begin_phase(0, 0, 0);
	for (at = 20 * MS; at < 10 * SECOND; at += 20 * MS) {
		for (int i = 0; i < 10; i++)
			nb_histogram_add(times, 1000 + at / MS);
		sampler_tick(sampler, at, done += 10);
	}
	ck_assert_uint_eq(series()->interval_ns, 200 * MS);
	ck_assert_uint_eq(series()->count, 49);
	for (size_t i = 0; i < series()->count; i++) {
		const struct sample *it = &series()->samples[i];
		ck_assert_uint_eq(it->end_ns, (i + 1) * 200 * MS);
		ck_assert_uint_eq(it->duration_ns, 200 * MS);
		ck_assert_uint_eq(it->ops, 100);
		ck_assert_uint_eq(it->behind_ops, it->end_ns / SECOND);
		ck_assert_uint_eq(it->latency_count, 1);
		ck_assert_uint_eq(it->latencies[0].count, 100);
		ck_assert_uint_eq(it->latencies[0].p999_ns, 0); /* too few for it */
		ck_assert(it->used.known != 0);
	}
	for (; at <= 13 * SECOND; at += 20 * MS)
		sampler_tick(sampler, at, done += 10);
	sampler_end(sampler, at + 480 * MS, done += 3);
	/* ten seconds, then three more and a shorter interval */
	ck_assert_uint_eq(series()->interval_ns, SECOND);
	ck_assert_uint_eq(series()->count, 14);
	for (size_t i = 0; i < 10; i++) {
		const struct sample *it = &series()->samples[i];
		ck_assert_uint_eq(it->end_ns, (i + 1) * SECOND);
		ck_assert_uint_eq(it->ops, 500);
		ck_assert_uint_eq(it->latencies[0].count, i < 9 ? 500 : 490);
	}
	ck_assert_uint_eq(series()->samples[13].duration_ns, 500 * MS);
	ck_assert_uint_eq(sum_of_samples(), done);
}

TEST(latencies_cover_only_their_interval)
{
	struct sampler *sampler = begin(20 * MS);
	begin_phase(0, 0, 0);
	for (uint64_t s = 1; s <= 3; s++) {
		for (uint64_t i = 0; i < 1000; i++)
			nb_histogram_add(times, s * 100);
		sampler_tick(sampler, s * 20 * MS, s * 1000);
	}
	sampler_end(sampler, 60 * MS, 3000);
	ck_assert_uint_eq(series()->count, 3);
	for (uint64_t s = 1; s <= 3; s++) {
		const struct sample_latency *it = &series()->samples[s - 1].latencies[0];
		struct nb_histogram *read;
		ck_assert_uint_eq(it->kind, NB_OP_READ);
		ck_assert_uint_eq(it->is_response, 0);
		ck_assert_uint_eq(it->p50_ns, s * 100);
		ck_assert_uint_eq(it->p99_ns, s * 100);
		ck_assert_uint_eq(it->max_ns, s * 100);
		ck_assert_int_eq(nb_histogram_decode(&read, it->hdr), NB_OK);
		ck_assert_uint_eq(nb_histogram_count(read), 1000);
		ck_assert_uint_eq(nb_histogram_min(read), s * 100);
		nb_histogram_delete(read);
	}
}

TEST(size_of_a_series_is_bounded)
{
	struct sampler *sampler = begin(1); /* taken as 20 ms */
	begin_phase(0, 0, 0);
	uint64_t count = SERIES_SAMPLES_MAX + 10;
	for (uint64_t i = 1; i <= count; i++)
		sampler_tick(sampler, i * 20 * MS, i);
	ck_assert_uint_eq(series()->interval_ns, 40 * MS);
	ck_assert_uint_eq(series()->count, SERIES_SAMPLES_MAX / 2 + 5);
	ck_assert_uint_eq(sum_of_samples(), count);
	ck_assert_uint_eq(series()->samples[0].duration_ns, 40 * MS);
}

/** As the allocator sees them. */
static size_t
allocated_by_samples(void)
{
	size_t bytes = series()->count * sizeof(*series()->samples);
	for (size_t i = 0; i < series()->count; i++) {
		const struct sample *it = &series()->samples[i];
		bytes += malloc_usable_size(it->latencies) + malloc_usable_size(it->counters);
		for (size_t l = 0; l < it->latency_count; l++)
			bytes += malloc_usable_size(it->latencies[l].hdr);
	}
	return bytes;
}

/** Of this process, not of files; 0 with a sanitizer, which keeps memory that was freed. */
static size_t
resident_bytes(void)
{
#ifdef UNIT_CHECKED
	return 0;
#else
	unsigned long size, resident = 0, shared = 0;
	FILE *statm = fopen("/proc/self/statm", "re");
	ck_assert_ptr_nonnull(statm);
	ck_assert_int_eq(fscanf(statm, "%lu %lu %lu", &size, &resident, &shared), 3);
	fclose(statm);
	return (resident - shared) * (size_t)sysconf(_SC_PAGESIZE);
#endif
}

TEST(with_a_limit_of_memory_the_series_is_bounded_in_bytes)
{
	static const char group; /* a sampler only asks whether there is one */
	enum { TICKS = 40 };     /* each of some 180 KiB */
	struct rng rng;
	rng_create(&rng, 1);
	begin(20 * MS);
	sampler_delete(rig.run->sampler);
	rig.run->options.memory = (const void *)&group;
	ck_assert_int_eq(sampler_new(rig.run, false), NB_OK);
	rig.run->options.memory = NULL;
	begin_phase(0, 0, 0);
	size_t most = 0, resident = resident_bytes();
	for (uint64_t i = 1; i <= TICKS; i++) {
		for (uint64_t at = 0; at < 30000; at++)
			times->counts[at] += rng_next(&rng) >> 32;
		sampler_tick(rig.run->sampler, i * 20 * MS, i);
		size_t bytes = allocated_by_samples();
		ck_assert_uint_le(bytes, SERIES_BYTES_MAX);
		ck_assert_uint_le(bytes, series()->bytes);
		ck_assert_uint_lt(series()->bytes, bytes + bytes / 10);
		most = bytes > most ? bytes : most;
		ck_assert_uint_le(resident_bytes(), resident + SERIES_BYTES_MAX / 4 * 3);
	}
	sampler_end(rig.run->sampler, TICKS * 20 * MS + 1, TICKS);
	ck_assert_uint_gt(most, SERIES_BYTES_MAX / 2);
	ck_assert_uint_lt(series()->count, TICKS);
	ck_assert_uint_eq(sum_of_samples(), TICKS);
	ck_assert_uint_gt(series()->interval_ns, 20 * MS);
}

TEST(a_warm_up_ends_a_sample)
{
	struct sampler *sampler = begin(SECOND);
	begin_phase(0, 300 * MS, 0);
	for (uint64_t i = 1; i <= 100; i++)
		sampler_tick(sampler, i * 20 * MS, i);
	sampler_end(sampler, 2000 * MS, 100);
	ck_assert_uint_eq(series()->count, 3);
	ck_assert_uint_eq(series()->samples[0].is_warmup, 1);
	ck_assert_uint_eq(series()->samples[0].end_ns, 320 * MS);
	ck_assert_uint_eq(series()->samples[1].is_warmup, 0);
	ck_assert_uint_eq(series()->samples[1].end_ns, 1320 * MS);

	sampler = begin(SECOND); /* the same by operations, and in one piece */
	begin_phase(0, 0, 50);
	sampler_tick(sampler, 20 * MS, 50);
	sampler_tick(sampler, 40 * MS, 51);
	sampler_end(sampler, 60 * MS, 60);
	ck_assert_uint_eq(series()->count, 2);
	ck_assert_uint_eq(series()->samples[0].is_warmup, 1);
	ck_assert_uint_eq(series()->samples[0].ops, 51);
	ck_assert_uint_eq(series()->samples[1].is_warmup, 0);
}

TEST(phases_do_not_overlap_in_time)
{
	struct sampler *sampler = begin(0);
	begin_phase(0, 0, 0);
	sampler_tick(sampler, 20 * MS, 5);
	for (uint64_t i = 0; i < 10; i++)
		pulse_add(&track, i);
	sampler_end(sampler, 30 * MS, 10);
	begin_phase(1, 0, 0);
	sampler_tick(sampler, 1 * MS, 1); /* the sample begins now, by the real clock */
	pulse_begin(&track, &rig.run->clock, 0);
	for (uint64_t i = 0; i < 4; i++)
		pulse_add(&track, i);
	sampler_end(sampler, 25 * MS, 4);
	ck_assert_uint_eq(series()->pulses_count, 2);
	ck_assert_uint_eq(series()->pulses[1].phase, 1);
	ck_assert_uint_eq(sum_of_pulses(&series()->pulses[0]), 10);
	ck_assert_uint_eq(sum_of_pulses(&series()->pulses[1]), 4);
	ck_assert_uint_eq(series()->count, 2);
	ck_assert_uint_eq(series()->samples[1].phase, 1);
	ck_assert_uint_eq(series()->samples[1].ops, 4);
}

TEST(phase_that_never_began_has_no_samples)
{
	struct sampler *sampler = begin(0);
	begin_phase(0, 0, 0);
	sampler_tick(sampler, 0, 0);
	sampler_end(sampler, 0, 0);
	sampler_finish(sampler);
	ck_assert_uint_eq(series()->count, 0);
	ck_assert_uint_eq(series()->pulses_count, 0);
	sampler_delete(NULL);
	sampler_tell(NULL, NULL);
}

TEST(reported_values_are_the_latest)
{
	struct sampler *sampler = begin(200 * MS);
	struct nb_progress progress = {.size = sizeof(progress)};
	uint64_t done = 0;
	begin_phase(0, 1 * SECOND, 0);
	sampler_tell(sampler, &progress);
	ck_assert_double_eq(progress.rate_ops_s, 0);
	for (uint64_t i = 1; i <= 100; i++) {
		bool is_fast = i <= 50;
		for (int j = 0; j < (is_fast ? 100 : 20); j++, done++)
			nb_histogram_add(times, is_fast ? 1000 : 2000);
		sampler_tick(sampler, i * 20 * MS, done);
		sampler_tell(sampler, &progress);
		if (i == 40) {
			ck_assert_double_eq_tol(progress.rate_ops_s, 5000, 1e-6);
			ck_assert_uint_eq(progress.p50_ns, 1000);
			ck_assert_uint_eq(progress.is_warmup, 1);
		}
	}
	wrong = 5;
	sampler_tell(sampler, &progress);
	ck_assert_double_eq_tol(progress.rate_ops_s, 1000, 1e-6);
	ck_assert_uint_eq(progress.p50_ns, 2000);
	ck_assert_uint_eq(progress.p99_ns, 0); /* 200 operations are too few */
	ck_assert_uint_eq(progress.is_warmup, 0);
	ck_assert_uint_eq(progress.errors, 5);
}

/* ---- runs ---- */

static const struct measurement *
run_job(const char *text, uint64_t sample_ns)
{
	toy_create(&rig, text);
	rig.options.sample_ns = sample_ns;
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	return &rig.run->measured;
}

static uint64_t
sum_of_latencies(uint32_t phase, uint32_t kind, bool is_response)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < series()->count; i++) {
		const struct sample *it = &series()->samples[i];
		for (size_t l = 0; l < it->latency_count && it->phase == phase; l++) {
			if (it->latencies[l].kind == kind &&
				it->latencies[l].is_response == is_response)
				sum += it->latencies[l].count;
		}
	}
	return sum;
}

static uint64_t
sum_of_counter(const char *name)
{
	uint64_t sum = 0;
	for (size_t c = 0; c < series()->counters.count; c++) {
		if (strcmp(series()->counters.items[c].name, name) != 0)
			continue;
		for (size_t i = 0; i < series()->count; i++) {
			const struct sample *it = &series()->samples[i];
			sum += c < it->counter_count ? it->counters[c] : 0;
		}
		ck_assert_uint_eq(sum, series()->counters.items[c].value);
	}
	return sum;
}

TEST(samples_of_a_job_cover_all_its_operations)
{
	const struct measurement *measured = run_job(
		"records = 100\n[first]\nread = 3\nupdate = 1\ncount = 20000\nthreads = 2\n"
		"[second]\nread = 1\ncount = 2000\nrate = 40k\nwarmup = 500\nstart = after\n",
		20 * MS);
	const struct job_measurement *first = toy_measured(&rig, 0),
				     *second = toy_measured(&rig, 1);
	ck_assert_uint_eq(sum_of_samples(), 22000);
	ck_assert_uint_eq(series()->pulses_count, 2);
	ck_assert_uint_eq(sum_of_pulses(&series()->pulses[0]), 20000);
	ck_assert_uint_eq(sum_of_pulses(&series()->pulses[1]), 2000);
	ck_assert_uint_gt(series()->pulses[1].begin_ns, 0);
	ck_assert_uint_eq(sum_of_latencies(0, NB_OP_READ, false), first->kinds[NB_OP_READ].ops);
	ck_assert_uint_eq(
		sum_of_latencies(0, NB_OP_UPDATE, false), first->kinds[NB_OP_UPDATE].ops);
	ck_assert_uint_eq(sum_of_latencies(0, NB_OP_READ, true), 0);
	ck_assert_uint_eq(sum_of_latencies(1, NB_OP_READ, false), 1500); /* no warm-up */
	ck_assert_uint_eq(sum_of_latencies(1, NB_OP_READ, true), 1500);
	ck_assert_uint_eq(second->ops, 1500);
	/* the toy counts its calls; the sum excludes reading back */
	ck_assert_uint_eq(sum_of_counter("gets"), 22000 - first->kinds[NB_OP_UPDATE].ops);
	ck_assert_uint_eq(sum_of_counter("puts"), first->kinds[NB_OP_UPDATE].ops);
	ck_assert(measured->used.known & SYSTEM_PROCESS);
	ck_assert_uint_gt(measured->used.user_ns + measured->used.system_ns, 0);
	ck_assert_uint_gt(measured->before.anonymous_bytes, 0);
	ck_assert_uint_gt(measured->after.threads, 0);
	ck_assert_uint_eq(
		measured->live_bytes, 100 * (8 + (uint64_t)sizes_mean(&rig.run->sizes)));
}

TEST(operations_of_threads_add_up_to_those_of_the_group)
{
	run_job("records = 100\nread = 3\nupdate = 1\nscan = 1\ncount = 3000\nthreads = 3\n"
		"warmup = 300\n",
		0);
	const struct job_measurement *group = toy_measured(&rig, 0);
	ck_assert_uint_eq(group->thread_count, 3);
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
		uint64_t sum = 0;
		for (uint32_t t = 0; t < 3; t++)
			sum += group->threads[t].kinds[kind];
		ck_assert_uint_eq(sum, group->kinds[kind].ops);
	}
	for (uint32_t t = 0; t < 3; t++) {
		uint64_t sum = 0;
		for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++)
			sum += group->threads[t].kinds[kind];
		ck_assert_uint_eq(sum, group->threads[t].ops);
	}
}

TEST(without_samples_the_whole_is_known)
{
	const struct measurement *measured = run_job(
		"records = 100\nread = 1\ncount = 5000\n", SAMPLER_OFF);
	ck_assert_uint_eq(series()->count, 0);
	ck_assert_uint_eq(series()->pulses_count, 0);
	ck_assert_uint_eq(series()->counters.count, 0);
	ck_assert(measured->used.known & SYSTEM_PROCESS);
	ck_assert(measured->used_after.known & SYSTEM_PROCESS);
}

TEST(in_a_virtual_machine_hardware_is_counted_only_on_request)
{
	static const uint64_t hardware = SYSTEM_CYCLES | SYSTEM_CACHE | SYSTEM_BRANCHES;
	for (int is_asked = 0; is_asked <= 1; is_asked++) {
		toy_create(&rig, "records = 10\nread = 1\n");
		rig.options.flags = is_asked ? NB_RUN_HARDWARE : 0;
		toy_new(&rig);
		struct nb_run *run = rig.run;
		strcpy(run->sysinfo.hypervisor, "KVM");
		ck_assert_int_eq(sampler_new(run, false), NB_OK);
		bool is_said = strstr(run->measured.used_missing, "virtual machine") != NULL;
		ck_assert(is_said == !is_asked);
		begin_phase(0, 0, 0);
		sampler_end(run->sampler, 0, 0);
		if (!is_asked)
			ck_assert_uint_eq(run->measured.used.known & hardware, 0);
	}
}

TEST(operations_of_several_processes_are_known)
{
	toy_create(&rig, "records = 100\nread = 1\ncount = 2000\nthreads = 2\n");
	struct nb_engine_ref *null; /* its processes share no data */
	ck_assert_int_eq(nb_engine_load(&null, "null"), NB_OK);
	rig.options.procs = 2;
	rig.options.verify_rate = 0;
	rig.options.sample_ns = 20 * MS;
	toy_new(&rig);
	nb_options_delete(rig.run->values, &rig.run->engine->table);
	rig.run->values = NULL;
	rig.run->engine->table = null->table;
	ck_assert_msg(nb_run_execute(rig.run) == NB_OK, "%s", nb_error_text());
	const struct measurement *measured = &rig.run->measured;
	ck_assert_uint_eq(sum_of_samples(), 2000);
	ck_assert_uint_eq(sum_of_latencies(0, NB_OP_READ, false), 2000);
	ck_assert_uint_eq(
		measured->used.known & (SYSTEM_PROCESS | SYSTEM_IO | SYSTEM_CYCLES), 0);
	ck_assert_uint_eq(measured->used.user_ns, 0);
	ck_assert_uint_eq(measured->used.call_read_bytes, 0);
	ck_assert_uint_eq(measured->used.cycles, 0);
	ck_assert_uint_ne(measured->used.known & SYSTEM_MACHINE, 0);
	ck_assert_uint_eq(measured->after.anonymous_bytes, 0);
	ck_assert_ptr_nonnull(strstr(measured->used_missing, "several processes"));
	nb_engine_unload(null);
}

TEST(stats_are_not_called_without_concurrent_sessions)
{
	toy_create(&rig, "records = 100\nread = 1\ncount = 5000\n");
	toy_new(&rig);
	rig.run->engine->table.caps &= ~NB_CAP_CONCURRENT;
	ck_assert_msg(nb_run_execute(rig.run) == NB_OK, "%s", nb_error_text());
	ck_assert_uint_gt(series()->count, 0);
	ck_assert_uint_eq(series()->counters.count, 0);
	ck_assert_uint_gt(rig.run->measured.counters.count, 0); /* as usual */
}
