/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chooses the clock and measures its tick.
 *
 * The time stamp counter (TSC) is used if the CPU reports it as invariant and the kernel uses
 * it as its clocksource. A kernel that uses another source has found a defect. The TSC is
 * calibrated against CLOCK_MONOTONIC over CALIBRATION_NS. At both ends mininb reads the TSC
 * between two reads of the kernel's clock, CALIBRATION_TRIES times, and uses the tightest pair.
 * So an interrupt spoils one try and not the result. The remaining error is about 10^-7. On a
 * loaded machine with 2 CPUs, in 60 measurements each, the errors against a calibration of one
 * second were:
 *
 *     20 ms, 64 tries:    9 of 10 below 2.4 parts in 10^7, the worst 3.9
 *      5 ms, 64 tries:    9 of 10 below 5.6, the worst 10.0
 *      5 ms, 1024 tries:  9 of 10 below 0.5, the worst 1.5
 *
 * So more tries help more than more time: 1024 tries take 0.1 ms, and every run waits for them.
 * The frequency from CPUID is not used, because virtual machines report 0.
 *
 * A stamp is lfence + rdtsc. The begin of an operation may have a stamp without lfence (worker.c).
 * rdtscp as the second stamp is often advised, but has no advantage: lfence waits for older loads,
 * too. Some hypervisors intercept rdtscp: it took 3 us
 * where rdtsc takes 10 ns. So mininb measures the cost of a stamp. NB_CLOCK_AUTO does not
 * choose a TSC that is slower than the kernel's clock.
 *
 * The counter may advance in larger steps: some CPUs add 26 ticks every 10 ns. So mininb also
 * measures the step, as the greatest common divisor of many differences. No latency is more
 * exact than the step.
 *
 * Causes of wrong times:
 * - A TSC that is not synchronous between CPUs. The kernel detects it and changes its
 *   clocksource.
 * - Migration of the virtual machine to a host of another frequency during the run.
 * - Suspension of the machine, which only one of the two clocks counts.
 *
 * So a run reads both clocks at its start and end, and the result has a note if they disagree.
 * CLOCK_REALTIME, which users may set, is never used for a duration.
 */
#include "base/clock.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/error.h"

enum {
	CALIBRATION_NS = 5 * 1000 * 1000,
	CALIBRATION_TRIES = 1024,
	TRIES = 64,
	COST_READS = 1000,
	COST_TRIES = 5,
	STEP_READS = 1000
};

static bool
tsc_is_invariant(void)
{
#if defined(__x86_64__)
	unsigned eax, ebx, ecx, edx;
	return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0 && (edx & 1u << 8) != 0;
#else
	return false;
#endif
}

static void
read_clocksource(char *buf, size_t size)
{
	FILE *file = fopen(
		"/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
	buf[0] = '\0';
	if (file == NULL)
		return;
	if (fgets(buf, (int)size, file) != NULL)
		buf[strcspn(buf, "\n")] = '\0';
	fclose(file);
}

/** The reason why the TSC cannot be trusted; NULL if it can. */
static const char *
tsc_doubt(char *buf, size_t size)
{
	if (!tsc_is_invariant())
		return "this CPU has no invariant time stamp counter";
	char source[32];
	read_clocksource(source, sizeof(source));
	if (strcmp(source, "tsc") == 0)
		return NULL;
	snprintf(buf, size, "the kernel keeps time by '%s', not by the time stamp counter",
		source[0] != '\0' ? source : "an unknown source");
	return buf;
}

/** Both clocks at one moment: the tightest of `tries` pairs. */
static void
sample_pair(uint64_t *ticks, uint64_t *ns, int tries)
{
	uint64_t tightest = UINT64_MAX;
	*ticks = *ns = 0;
	for (int i = 0; i < tries; i++) {
		uint64_t before = clock_monotonic();
		uint64_t stamp = clock_stamp(NB_CLOCK_TSC);
		uint64_t after = clock_monotonic();
		if (after - before >= tightest)
			continue;
		tightest = after - before;
		*ticks = stamp;
		*ns = before + (after - before) / 2;
	}
}

static void
calibrate_tsc(struct clock *clock)
{
	uint64_t ticks0, ns0, ticks1, ns1;
	sample_pair(&ticks0, &ns0, CALIBRATION_TRIES);
	struct timespec left = {.tv_nsec = CALIBRATION_NS};
	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		; /* a signal handler must not reduce the precision of the whole run */
	sample_pair(&ticks1, &ns1, CALIBRATION_TRIES);
	double ns_per_tick = (double)(ns1 - ns0) / (double)(ticks1 - ticks0);
	clock->ns_per_tick_q32 = (uint64_t)(ns_per_tick * 4294967296.0 + 0.5);
	clock->tick_hz = 1e9 / ns_per_tick;
}

static double
measure_read(uint32_t kind)
{
	uint64_t best = UINT64_MAX;
	for (int t = 0; t < COST_TRIES; t++) {
		uint64_t begin = clock_monotonic();
		for (int i = 0; i < COST_READS; i++)
			(void)clock_stamp(kind);
		uint64_t elapsed = clock_monotonic() - begin;
		if (elapsed < best)
			best = elapsed;
	}
	return (double)best / COST_READS;
}

static uint64_t
greatest_common_divisor(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

static uint64_t
measure_step(uint32_t kind)
{
	uint64_t step = 0, last = clock_stamp(kind);
	for (int i = 0; i < STEP_READS; i++) {
		uint64_t now = clock_stamp(kind);
		step = greatest_common_divisor(step, now - last);
		last = now;
	}
	return step;
}

int
clock_create(struct clock *clock, uint32_t kind)
{
	double monotonic_ns = measure_read(NB_CLOCK_MONOTONIC);
	char buf[96];
	const char *doubt = kind == NB_CLOCK_MONOTONIC ? "not asked for"
						       : tsc_doubt(buf, sizeof(buf));
	if (kind == NB_CLOCK_TSC && doubt != NULL)
		return error_set(NB_UNSUPPORTED,
			"clock tsc: %s; use --clock=monotonic or --clock=auto", doubt);
	double tsc_ns = doubt == NULL ? measure_read(NB_CLOCK_TSC) : 0;
	if (doubt == NULL && (kind == NB_CLOCK_TSC || tsc_ns < monotonic_ns)) {
		*clock = (struct clock){.kind = NB_CLOCK_TSC, .read_ns = tsc_ns};
		calibrate_tsc(clock);
	} else {
		*clock = (struct clock){.kind = NB_CLOCK_MONOTONIC,
			.ns_per_tick_q32 = (uint64_t)1 << 32,
			.tick_hz = 1e9,
			.read_ns = monotonic_ns};
	}
	clock->step_ns = (double)measure_step(clock->kind) * 1e9 / clock->tick_hz;
	return NB_OK;
}

struct clock_pair
clock_pair(const struct clock *clock)
{
	struct clock_pair pair = {.ns = clock_monotonic()};
	struct timespec all;
	if (clock_gettime(CLOCK_BOOTTIME, &all) == 0) {
		uint64_t all_ns = (uint64_t)all.tv_sec * 1000000000u + (uint64_t)all.tv_nsec;
		pair.slept_ns = all_ns > pair.ns ? all_ns - pair.ns : 0;
	}
	if (clock->kind == NB_CLOCK_TSC)
		sample_pair(&pair.ticks, &pair.ns, TRIES);
	return pair;
}

double
clock_drift(const struct clock *clock, const struct clock_pair *from,
	const struct clock_pair *until)
{
	uint64_t ns = until->ns - from->ns;
	if (clock->kind != NB_CLOCK_TSC || ns < CLOCK_DRIFT_LEAST_NS)
		return 0;
	/* signed, because a suspension may reset the counter */
	double ticks = (double)(int64_t)(until->ticks - from->ticks);
	return ticks * 1e9 / clock->tick_hz / (double)ns - 1;
}

const char *
clock_name(const struct clock *clock)
{
	return clock->kind == NB_CLOCK_TSC ? "tsc" : "monotonic";
}
