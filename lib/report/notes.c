/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why a result may be wrong, said with the result.
 *
 * Each note is a function that looks at the result and writes one sentence, or
 * nothing where there is nothing to say; and what the engine has warned of is a
 * note, as it said it. The thresholds:
 *   - steal and other processes: 2 % of the machine's CPU time, since runs
 *     differ by that much anyway, and only from 20 ticks of 10 ms on, in which
 *     the kernel counts both;
 *   - the clock: a tenth of the median latency, where it begins to be seen;
 *   - short: under a second, in which no background work shows;
 *   - CPU taken away: more than 100 times a second and thread, and 10 times
 *     at all, since a run of a millisecond has no rate.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "report/result.h"

enum { NOTE_SIZE = 512, NAMES_SIZE = 256 };

typedef void (*note_fn)(const struct nb_result *result, char *note);

static void NB_PRINTF(2, 3) write_note(char *note, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(note, NOTE_SIZE, fmt, args);
	va_end(args);
}

static bool
is_put(const struct nb_result *result)
{
	return result->workload.verb == NB_VERB_PUT;
}

static bool
is_write(const struct nb_result *result)
{
	return result->workload.verb != NB_VERB_GET;
}

static bool
has_cap(const struct nb_result *result, uint32_t cap)
{
	return (result->engine.caps & cap) != 0;
}

static void
note_closed_loop(const struct nb_result *result, char *note)
{
	if (!result->is_paced)
		write_note(note,
			"closed loop: each operation waits for the one before, so these are "
			"service times; what users would wait under a given load is not told");
}

static void
note_one_run(const struct nb_result *result, char *note)
{
	(void)result;
	write_note(note, "one repetition: how much it varies from run to run is not known");
}

static void
note_short(const struct nb_result *result, char *note)
{
	if (result->measured.wall_ns < 1000000000u)
		write_note(note, "short: %.3f seconds show no background work; raise --%s",
			(double)result->measured.wall_ns / 1e9,
			result->is_bound_by_time ? "duration" : "count");
}

/** A delete is not told how large the values are; the database was as large as it was. */
static uint64_t
bytes_of_data(const struct nb_result *result)
{
	if (result->workload.verb == NB_VERB_DELETE)
		return result->measured.had_bytes;
	return result->workload.count *
		(result->workload.key_size + result->workload.value_size);
}

static void
note_memory_files(const struct nb_result *result, char *note)
{
	if (has_cap(result, NB_CAP_PERSISTENT) && result->sysinfo.is_memory_filesystem)
		write_note(note, "the database is on %s: no storage device was measured",
			result->sysinfo.filesystem);
}

static void
note_small_data(const struct nb_result *result, char *note)
{
	uint64_t bytes = bytes_of_data(result);
	char data[UNITS_SIZE], memory[UNITS_SIZE];
	units_format_bytes(data, sizeof(data), (double)bytes);
	units_format_bytes(memory, sizeof(memory), (double)result->sysinfo.memory_bytes);
	if (!has_cap(result, NB_CAP_PERSISTENT) || result->sysinfo.is_memory_filesystem ||
		bytes / 2 >= result->sysinfo.memory_bytes)
		return;
	if (is_write(result))
		write_note(note,
			"data of %s in memory of %s: the page cache takes the writes, the "
			"device "
			"may see them later",
			data, memory);
	else
		write_note(note,
			"data of %s in memory of %s: reads come from memory unless the page "
			"cache was dropped before",
			data, memory);
}

static void
note_had_data(const struct nb_result *result, char *note)
{
	if (is_put(result) && result->measured.had_data)
		write_note(note,
			"the database was not new: puts may have overwritten, and its "
			"shape is not that of a fresh one");
}

static void
note_loaded(const struct nb_result *result, char *note)
{
	if (result->measured.is_loaded)
		write_note(note,
			"%s keeps nothing between runs: the data was put before the first "
			"operation, in %.3f seconds that do not count",
			result->engine.name, (double)result->measured.load_ns / 1e9);
}

static void
note_duplicates(const struct nb_result *result, char *note)
{
	if (result->keys.duplicates > 0)
		write_note(note,
			"%s%llu of %llu keys repeat one before them: puts of those overwrite, "
			"deletes of those find nothing",
			result->keys.is_estimate ? "about " : "",
			(unsigned long long)result->keys.duplicates,
			(unsigned long long)result->workload.count);
}

static void
note_synthetic(const struct nb_result *result, char *note)
{
	if (has_cap(result, NB_CAP_SYNTHETIC))
		write_note(note, "%s makes its answers up: nothing can be verified",
			result->engine.name);
}

static void
note_unverified(const struct nb_result *result, char *note)
{
	if (has_cap(result, NB_CAP_SYNTHETIC))
		return;
	if (result->verify_rate == 0)
		write_note(note, "nothing was verified: --verify-rate is 0");
	else if (is_write(result) && !result->measured.has_read_back)
		write_note(note,
			"the run ended before %s was read back: whether the writes had their "
			"effect is not known",
			result->measured.findings.verified > 0 ? "all of the sample" : "any");
	else if (result->measured.findings.verified == 0)
		write_note(note, "nothing was verified: %s",
			!is_write(result) && result->measured.answers[NB_OK] == 0
				? "no operation found its key"
				: "no operation was in the sample; raise --verify-rate");
}

/** Where values are looked at, that is. */
static void
note_short_values(const struct nb_result *result, char *note)
{
	if (result->workload.value_size < 16 && result->workload.verb != NB_VERB_DELETE &&
		result->verify_rate > 0 && result->measured.findings.verified > 0 &&
		!has_cap(result, NB_CAP_SYNTHETIC))
		write_note(note,
			"values of %llu bytes are too short for a checksum: a wrong one is "
			"noticed by chance",
			(unsigned long long)result->workload.value_size);
}

static void
note_settle(const struct nb_result *result, char *note)
{
	if (!is_write(result) || !result->measured.has_settled ||
		!has_cap(result, NB_CAP_PERSISTENT))
		return;
	if (result->settle == NB_RUN_SETTLE_NONE)
		write_note(note,
			"not settled, as asked: work that the writes put off is not "
			"counted");
	else if (result->measured.settled < (int)result->settle)
		write_note(note,
			"%s cannot be asked to %s: work that the writes put off may not be "
			"counted",
			result->engine.name,
			result->measured.settled == 0 ? "flush" : "compact");
}

static void
note_build(const struct nb_result *result, char *note)
{
	bool is_own = strcmp(NB_ENGINE_BUILD, "release") != 0;
	bool is_plugin = strcmp(result->engine.build, "release") != 0;
	if (is_own || is_plugin)
		write_note(note, "not a release build: %s%s%s%s%s", is_own ? "mininb is " : "",
			is_own ? NB_ENGINE_BUILD : "", is_own && is_plugin ? ", " : "",
			is_plugin ? "the plugin is " : "",
			is_plugin ? result->engine.build : "");
}

static void
note_virtual(const struct nb_result *result, char *note)
{
	if (result->sysinfo.hypervisor[0] != '\0')
		write_note(note,
			"virtual machine (%s): others may share its CPU, cache and disk",
			result->sysinfo.hypervisor);
}

/**
 * Percent of the CPU time that there was while the operations ran, of all CPUs, as
 * /proc/stat counts it: in ticks. 0 where the run was too short to tell it by those.
 */
static double
percent_of_machine(const struct nb_result *result, double ns)
{
	enum { SHORTEST_NS = 20 * 10 * 1000 * 1000 };
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
		write_note(note,
			"noisy neighbours: the hypervisor kept back %.1f %% of the CPU time",
			percent);
}

static void
note_other_processes(const struct nb_result *result, char *note)
{
	const struct sysinfo_usage *usage = &result->measured.usage;
	double others = (double)usage->busy_ns - (double)usage->user_ns -
		(double)usage->system_ns;
	double percent = percent_of_machine(result, others);
	if (!result->is_of_processes && percent > 2 &&
		others > 30e6) /* three ticks are no finding */
		write_note(note,
			"other processes used %.1f %% of the machine's CPU time meanwhile",
			percent);
}

static void
note_switches(const struct nb_result *result, char *note)
{
	double per_s = result_rate(
		(double)result->measured.usage.involuntary_switches, result->measured.usage_ns);
	if (per_s > 100.0 * result->threads && result->measured.usage.involuntary_switches > 10)
		write_note(note,
			"the CPU was taken away %.0f times a second: the highest latencies may "
			"be the scheduler's",
			per_s);
}

static void
note_crowded(const struct nb_result *result, char *note)
{
	if (result->threads > result->sysinfo.cpus && result->sysinfo.cpus > 0)
		write_note(note,
			"%u threads share %u CPUs: latencies include waiting for a CPU",
			result->threads, result->sysinfo.cpus);
}

static void
note_clock(const struct nb_result *result, char *note)
{
	uint64_t median = nb_histogram_percentile(result->measured.service, 50);
	uint64_t own = result->measured.floor_call_ns;
	if (result->measured.ops > 0 && own * 10 > median)
		write_note(note,
			"of a median latency of %llu ns, some %llu ns are the clock's own; "
			"nothing "
			"is subtracted",
			(unsigned long long)median, (unsigned long long)own);
}

/** No counter may, so what such ones say is not told at all. */
static void
note_run_back(const struct nb_result *result, char *note)
{
	const struct counters *counters = &result->measured.counters;
	char names[NAMES_SIZE] = "";
	size_t used = 0;
	for (size_t i = 0; i < counters->count; i++) {
		if (counters->items[i].has_run_back && used < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
				used > 0 ? ", " : "", counters->items[i].name);
	}
	if (used > 0)
		write_note(note, "counters of the engine ran backwards and are left out: %s",
			names);
}

/** An identifier is for good: scripts allow notes by it. */
static const struct {
	const char *id;
	note_fn write;
} notes[] = {
	{"closed-loop", note_closed_loop},
	{"one-run", note_one_run},
	{"short", note_short},
	{"memory-files", note_memory_files},
	{"small-data", note_small_data},
	{"had-data", note_had_data},
	{"loaded", note_loaded},
	{"duplicates", note_duplicates},
	{"synthetic", note_synthetic},
	{"unverified", note_unverified},
	{"short-values", note_short_values},
	{"not-settled", note_settle},
	{"build", note_build},
	{"virtual-machine", note_virtual},
	{"steal", note_steal},
	{"other-processes", note_other_processes},
	{"switches", note_switches},
	{"crowded", note_crowded},
	{"harness", note_clock},
	{"ran-backwards", note_run_back},
};

static int
add_note(struct nb_result *result, const char *id, const char *text)
{
	struct result_note *note = &result->notes[result->note_count];
	snprintf(note->id, sizeof(note->id), "%s", id);
	note->text = strdup(text);
	if (note->text == NULL)
		return error_set(NB_FAIL, "out of memory");
	result->note_count++;
	return NB_OK;
}

int
result_add_notes(struct nb_result *result)
{
	enum { COUNT = sizeof(notes) / sizeof(*notes) };
	int rc = NB_OK;
	result->notes = calloc(COUNT + ENGINE_WARNINGS_MAX, sizeof(*result->notes));
	if (result->notes == NULL)
		return error_set(NB_FAIL, "out of memory");
	for (size_t i = 0; i < COUNT && rc == NB_OK; i++) {
		char text[NOTE_SIZE] = "";
		notes[i].write(result, text);
		if (text[0] != '\0')
			rc = add_note(result, notes[i].id, text);
	}
	for (size_t i = 0; i < result->warnings.count && rc == NB_OK; i++)
		rc = add_note(result, "engine", result->warnings.texts[i]);
	return rc;
}
