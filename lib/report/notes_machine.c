/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Notes on the machine, and on what else happened on it. Thresholds:
 *   - steal and other processes: 2 % of the machine's CPU time, since runs differ by that much
 *     anyway, and only from 20 ticks of 10 ms on, in which the kernel counts both;
 *   - CPU taken away: more than 100 times a second and thread, and 10 times at all, since a run
 *     of a millisecond has no rate;
 *   - pressure, which is the share of time in which some task waited: 5 % for a CPU, and only
 *     where there are as many as threads, which else explain it; 1 % for memory, for which
 *     nothing waits on a healthy machine; both from 100 ms on;
 *   - swap that was in use before: a hundredth of the memory, since a little is left there for
 *     days. What moves during the run, and any time that a quota takes, is told always.
 *   - hiccups: what would be a gap if operations had it (stalls.c);
 *   - the clock: 0.1 %, since what a kernel does to keep CLOCK_MONOTONIC right is at most half
 *     of that (500 ppm), and a sleep of a millisecond.
 *
 * Turbo has no note: it makes the first seconds faster than the rest, which the series shows.
 */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "report/note.h"

static void
note_build(const struct nb_result *result, char *note)
{
	bool is_own = strcmp(NB_ENGINE_BUILD, "release") != 0;
	bool is_plugin = strcmp(result->engine.build, "release") != 0;
	if (is_own || is_plugin)
		note_write(note,
			"not a release build: %s%s%s%s%s; build with --buildtype=release",
			is_own ? "mininb is " : "", is_own ? NB_ENGINE_BUILD : "",
			is_own && is_plugin ? ", " : "", is_plugin ? "the plugin is " : "",
			is_plugin ? result->engine.build : "");
}

static void
note_virtual(const struct nb_result *result, char *note)
{
	if (result->sysinfo.hypervisor[0] != '\0')
		note_write(note,
			"virtual machine (%s): others may share its CPU, cache and disk",
			result->sysinfo.hypervisor);
}

static void
note_container(const struct nb_result *result, char *note)
{
	if (result->environment.container[0] != '\0')
		note_write(note,
			"container (%s): its limits of CPU, memory and storage are not all seen from inside",
			result->environment.container);
}

static void
note_governor(const struct nb_result *result, char *note)
{
	const char *governor = result->environment.governor;
	if (governor[0] != '\0' && strcmp(governor, "performance") != 0)
		note_write(note,
			"the CPU's governor is %s: its clock follows the load; set it to performance (cpupower frequency-set -g performance)",
			governor);
}

enum { SHORTEST_NS = 20 * 10 * 1000 * 1000 }; /* ticks of 10 ms */

/**
 * Percent of the CPU time that there was while the operations ran, of all CPUs, as
 * /proc/stat counts it: in ticks. 0 where the run was too short to tell it by those.
 */
static double
percent_of_machine(const struct nb_result *result, double ns)
{
	double available = (double)result->measured.usage_ns * result->sysinfo.machine_cpus;
	if (result->measured.usage_ns < SHORTEST_NS || available == 0)
		return 0;
	return ns < available ? 100 * ns / available : 100;
}

static void
note_steal(const struct nb_result *result, char *note)
{
	double percent = percent_of_machine(result, (double)result->measured.usage.steal_ns);
	if (percent > 2)
		note_write(note,
			"noisy neighbours: the hypervisor kept back %.1f %% of the CPU time; take a machine of your own, or another hour",
			percent);
}

static double
others_ns(const struct nb_result *result)
{
	const struct sysinfo_usage *usage = &result->measured.usage;
	return (double)usage->busy_ns - (double)usage->user_ns - (double)usage->system_ns;
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
note_other_processes(const struct nb_result *result, char *note)
{
	double others = others_ns(result);
	double percent = percent_of_machine(result, others);
	if (!result->is_of_processes && percent > 2 &&
		others > 30e6) /* three ticks are no finding */
		note_write(note,
			"other processes used %.1f %% of the machine's CPU time meanwhile; stop them",
			percent);
}

static void
note_switches(const struct nb_result *result, char *note)
{
	double per_s = result_rate(
		(double)result->measured.usage.involuntary_switches, result->measured.usage_ns);
	if (per_s > 100.0 * result->threads && result->measured.usage.involuntary_switches > 10)
		note_write(note,
			"the CPU was taken away %.0f times a second: the highest latencies may be the scheduler's; take fewer threads, or stop what else runs",
			per_s);
}

static void
note_crowded(const struct nb_result *result, char *note)
{
	if (result->threads > result->sysinfo.cpus && result->sysinfo.cpus > 0)
		note_write(note,
			"%u threads share %u CPU%s: latencies include waiting for a CPU; take fewer threads",
			result->threads, result->sysinfo.cpus,
			result->sysinfo.cpus == 1 ? "" : "s");
}

static void
note_throttled(const struct nb_result *result, char *note)
{
	const struct system_counts *used = &result->measured.used;
	if ((used->known & SYSTEM_CGROUP) == 0 || used->throttled_ns == 0)
		return;
	note_write(note,
		"the CPU quota of the cgroup held threads up for %s: the highest latencies are its; raise cpu.max, or take fewer threads",
		UNITS_NS(used->throttled_ns));
}

/** Percent of the time in which some task was held up; 0: not known, or too short to tell. */
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
note_pressure_cpu(const struct nb_result *result, char *note)
{
	double percent = pressure_percent(result, result->measured.used.pressure_cpu_ns);
	if (percent > 5 && result->threads <= result->sysinfo.cpus)
		note_write(note,
			"tasks waited for a CPU %.1f %% of the time, though there are %u for %u threads: stop what else runs, or leave CPUs to the engine's own threads",
			percent, result->sysinfo.cpus, result->threads);
}

static void
note_pressure_memory(const struct nb_result *result, char *note)
{
	double percent = pressure_percent(result, result->measured.used.pressure_memory_ns);
	if (percent > 1)
		note_write(note,
			"tasks waited for memory %.1f %% of the time: latencies include the kernel's search for it; take a smaller --cache, or more memory",
			percent);
}

static void
note_swap(const struct nb_result *result, char *note)
{
	const struct system_counts *used = &result->measured.used;
	const struct environment *environment = &result->environment;
	uint64_t moved = used->swap_in_bytes + used->swap_out_bytes;
	if ((used->known & SYSTEM_MACHINE) != 0 && moved > 0)
		note_write(note,
			"the machine swapped while the operations ran: %s came in, %s went out; take less memory, or none for swap (swapoff -a)",
			UNITS_BYTES(used->swap_in_bytes), UNITS_BYTES(used->swap_out_bytes));
	else if (environment->swap_used_bytes > result->sysinfo.memory_bytes / 100)
		note_write(note,
			"%s were in swap when the run began: memory was short before; free some, and empty it (swapoff -a)",
			UNITS_BYTES(environment->swap_used_bytes));
}

void
note_hiccups(const struct nb_histogram *hiccups, char *note)
{
	note[0] = '\0';
	if (hiccups == NULL || nb_histogram_max(hiccups) <= SERIES_GAP_NS)
		return;
	note_write(note,
		"a thread that only sleeps woke up %s late: the process was stopped, or the machine had no CPU for it, so stalls of that length may not be the engine's",
		UNITS_NS(nb_histogram_max(hiccups)));
}

/** Of the classic actions; job_notes.c has those of jobs. */
static void
note_hiccup(const struct nb_result *result, char *note)
{
	if (!result->is_job) /* of which it is a note of the job */
		note_hiccups(result->measured.hiccups, note);
}

static void
note_clock(const struct nb_result *result, char *note)
{
	enum { SLEPT_SHORTEST_NS = 1000 * 1000 };
	double drift = result->measured.clock_drift;
	if (result->measured.slept_ns > SLEPT_SHORTEST_NS)
		note_write(note,
			"the machine slept for %s in the middle of the run: times may have that in them, or not; run it again",
			UNITS_NS(result->measured.slept_ns));
	else if (fabs(drift) > 0.001)
		note_write(note,
			"the clock drifted: the time stamp counter ran %.2f %% %s against the kernel's clock, and so are latencies; was the virtual machine moved? Run it again, or with --clock=monotonic",
			100 * fabs(drift), drift > 0 ? "fast" : "slow");
}

const struct note_rule notes_of_machine[] = {
	{"build", note_build},
	{"virtual-machine", note_virtual},
	{"container", note_container},
	{"governor", note_governor},
	{"steal", note_steal},
	{"other-processes", note_other_processes},
	{"switches", note_switches},
	{"crowded", note_crowded},
	{"throttled", note_throttled},
	{"pressure-cpu", note_pressure_cpu},
	{"pressure-memory", note_pressure_memory},
	{"swap", note_swap},
	{"clock-drift", note_clock},
	{"hiccup", note_hiccup},
	{NULL, NULL},
};
