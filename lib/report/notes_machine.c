/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Notes on the machine, and on other activity on it. Thresholds:
 * - steal and other processes: 2 % of the machine's CPU time, because runs differ by that
 *   much anyway, and only from 20 ticks of 10 ms on, in which the kernel counts both;
 * - preemption: more than 100 times per second and thread, and 10 times in total, because a
 *   run of a millisecond has no meaningful rate;
 * - pressure, the share of time in which some task waited. 5 % for a CPU, and only if there
 *   are as many CPUs as threads, because fewer CPUs explain it. 1 % for memory, for which
 *   nothing waits on a healthy machine. Both from 100 ms on;
 * - swap in use before the run: a hundredth of the memory, because a little stays there for
 *   days. Swapping during the run, and any time that a quota takes, is always reported;
 * - hiccups: those that would be a gap if operations had them (stalls.c);
 * - the clock: 0.1 %, because the kernel corrects CLOCK_MONOTONIC by at most half of that
 *   (500 ppm), and a suspension of a millisecond.
 *
 * Turbo has no note: it makes the first seconds faster than the rest, which the series
 * shows.
 */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "report/note.h"

static void
note_setup(struct nb_result *result)
{
	bool is_own = strcmp(NB_ENGINE_BUILD, "release") != 0;
	bool is_plugin = strcmp(result->engine.build, "release") != 0;
	const char *governor = result->environment.governor;
	if (is_own || is_plugin)
		note_add(result, false, "build",
			"not a release build: %s%s%s%s%s; build with --buildtype=release",
			is_own ? "mininb is " : "", is_own ? NB_ENGINE_BUILD : "",
			is_own && is_plugin ? ", " : "", is_plugin ? "the plugin is " : "",
			is_plugin ? result->engine.build : "");
	if (result->sysinfo.hypervisor[0] != '\0')
		note_add(result, false, "virtual-machine",
			"virtual machine (%s): others may share its CPU, cache and disk",
			result->sysinfo.hypervisor);
	if (result->environment.container[0] != '\0')
		note_add(result, false, "container",
			"container (%s): some of its limits of CPU, memory and storage are not visible from inside",
			result->environment.container);
	if (governor[0] != '\0' && strcmp(governor, "performance") != 0)
		note_add(result, false, "governor",
			"the CPU's governor is %s: the clock rate follows the load; set it to performance (cpupower frequency-set -g performance)",
			governor);
}

enum { SHORTEST_NS = 20 * 10 * 1000 * 1000 }; /* ticks of 10 ms */

/**
 * The percentage of the CPU time of all CPUs during the operations. /proc/stat counts in
 * ticks: 0 if the run was too short for them.
 */
static double
percent_of_machine(const struct nb_result *result, double ns)
{
	double available = (double)result->measured.usage_ns * result->sysinfo.machine_cpus;
	if (result->measured.usage_ns < SHORTEST_NS || available == 0)
		return 0;
	return ns < available ? 100 * ns / available : 100;
}

static double
others_ns(const struct nb_result *result)
{
	const struct system_counts *usage = &result->measured.usage;
	return (double)usage->busy_ns - (double)usage->user_ns - (double)usage->system_ns -
		(double)result->measured.server.cpu_ns;
}

double
result_taken_percent(const struct nb_result *result)
{
	double steal_ns = (double)result->measured.usage.steal_ns, others = others_ns(result);
	if (result->measured.usage_ns < SHORTEST_NS || result->sysinfo.machine_cpus == 0 ||
		result->is_of_processes || result->measured.usage.busy_ns == 0)
		return -1;
	return percent_of_machine(result, steal_ns + (others > 0 ? others : 0));
}

static void
note_cpu(struct nb_result *result)
{
	const struct system_counts *usage = &result->measured.usage;
	const struct system_counts *used = &result->measured.used;
	double steal = percent_of_machine(result, (double)usage->steal_ns);
	double others = percent_of_machine(result, others_ns(result));
	double switches_s = result_rate(
		(double)usage->involuntary_switches, result->measured.usage_ns);
	if (steal > 2)
		note_add(result, false, "steal",
			"noisy neighbours: the hypervisor withheld %.1f %% of the CPU time; use a machine of your own, or run at another time",
			steal);
	if (!result->is_of_processes && others > 2 &&
		others_ns(result) > 30e6) /* three ticks prove nothing */
		note_add(result, false, "other-processes",
			"other processes used %.1f %% of the machine's CPU time during the run; stop them",
			others);
	if (switches_s > 100.0 * result->threads && usage->involuntary_switches > 10)
		note_add(result, false, "switches",
			"the kernel took the CPU away %.0f times a second: the scheduler may have caused the highest latencies; use fewer threads, or stop other programs",
			switches_s);
	if (result->threads > result->sysinfo.cpus && result->sysinfo.cpus > 0)
		note_add(result, false, "crowded",
			"%u threads share %u CPU%s: latencies include waiting for a CPU; use fewer threads",
			result->threads, result->sysinfo.cpus,
			result->sysinfo.cpus == 1 ? "" : "s");
	if ((used->known & SYSTEM_CGROUP) != 0 && used->throttled_ns > 0)
		note_add(result, false, "throttled",
			"the CPU quota of the cgroup stopped threads for %s, which caused the highest latencies; raise cpu.max, or use fewer threads",
			UNITS_NS(used->throttled_ns));
}

/**
 * The percentage of the time in which some task waited; 0: unknown, or the run was too
 * short.
 */
static double
pressure_percent(const struct nb_result *result, uint64_t held_ns)
{
	enum { PRESSURE_SHORTEST_NS = 100 * 1000 * 1000 };
	const struct measurement *measured = &result->measured;
	if ((measured->used.known & SYSTEM_PRESSURE) == 0 ||
		measured->usage_ns < PRESSURE_SHORTEST_NS)
		return 0;
	double percent = 100 * (double)held_ns / (double)measured->usage_ns;
	return percent < 100 ? percent : 100;
}

static void
note_pressure(struct nb_result *result)
{
	double cpu = pressure_percent(result, result->measured.used.pressure_cpu_ns);
	double memory = pressure_percent(result, result->measured.used.pressure_memory_ns);
	if (cpu > 5 && result->threads <= result->sysinfo.cpus)
		note_add(result, false, "pressure-cpu",
			"tasks waited for a CPU %.1f %% of the time, although there are %u for %u threads: stop other programs, or leave CPUs to the engine's own threads",
			cpu, result->sysinfo.cpus, result->threads);
	if (memory > 1)
		note_add(result, false, "pressure-memory",
			"tasks waited for memory %.1f %% of the time: latencies include the kernel's search for it; use a smaller --cache, or more memory",
			memory);
}

static void
note_swap(struct nb_result *result)
{
	const struct system_counts *used = &result->measured.used;
	uint64_t swapped = result->environment.swap_used_bytes;
	if ((used->known & SYSTEM_MACHINE) != 0 &&
		used->swap_in_bytes + used->swap_out_bytes > 0)
		note_add(result, false, "swap",
			"the machine swapped during the operations: %s in, %s out; use less memory, or turn swap off (swapoff -a)",
			UNITS_BYTES(used->swap_in_bytes), UNITS_BYTES(used->swap_out_bytes));
	else if (swapped > result->sysinfo.memory_bytes / 100)
		note_add(result, false, "swap",
			"%s were in swap when the run began: memory was short before; free some, and empty the swap (swapoff -a)",
			UNITS_BYTES(swapped));
}

void
note_hiccups(struct nb_result *result)
{
	const struct nb_histogram *hiccups = result->measured.hiccups;
	if (hiccups != NULL && nb_histogram_max(hiccups) > SERIES_GAP_NS)
		note_add(result, result->is_job, "hiccup",
			"a thread that only sleeps woke up %s late: the process was stopped, or the machine had no free CPU; the engine may not have caused stalls of that length",
			UNITS_NS(nb_histogram_max(hiccups)));
}

static void
note_clock(struct nb_result *result)
{
	enum { SLEPT_SHORTEST_NS = 1000 * 1000 };
	double drift = result->measured.clock_drift;
	if (result->measured.slept_ns > SLEPT_SHORTEST_NS)
		note_add(result, false, "clock-drift",
			"the machine slept for %s during the run: times may include that; run it again",
			UNITS_NS(result->measured.slept_ns));
	else if (fabs(drift) > 0.001)
		note_add(result, false, "clock-drift",
			"the clock drifted: the time stamp counter ran %.2f %% %s against the kernel's clock, and latencies are wrong by that much; the virtual machine may have been moved. Run it again, or with --clock=monotonic",
			100 * fabs(drift), drift > 0 ? "fast" : "slow");
}

void
notes_of_machine(struct nb_result *result)
{
	note_setup(result);
	note_cpu(result);
	note_pressure(result);
	note_swap(result);
	note_clock(result);
	if (!result->is_job) /* for a job, it is one of the job's notes */
		note_hiccups(result);
}
