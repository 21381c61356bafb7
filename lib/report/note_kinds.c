/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What notes there are. An identifier is for good, since scripts allow notes by it; a sentence
 * may change. A fact is how the run was set up, which its numbers have to be read with; the
 * others say that something was wrong with the run, or beside it. A serious note changes what
 * its numbers mean; a usual one holds for most runs.
 */
#include "report/note.h"

#include <pthread.h>
#include <string.h>

/* clang-format off */
const struct note_row note_rows[] = {
	{{"closed-loop", 1, "operations wait for each other: these are service times"}, USUAL,
		"So the times are service times; while the engine stalls nobody comes who "
		"would have to wait. Take --rate for response times."},
	{{"one-run", 1, "how much it varies from run to run is not known"}, USUAL,
		"How much it varies from run to run is not known; repeat, or mininb vs."},
	{{"loaded", 1, "the engine keeps nothing: the data was put before"}, USUAL,
		"The data was put before the first operation, untimed."},
	{{"synthetic", 1, "the engine makes its answers up"}, USUAL,
		"It is there to measure the harness; nothing can be verified."},
	{{"memory-files", 1, "the database is on a file system that is memory"}, USUAL,
		"No storage device was measured."},
	{{"virtual-machine", 1, "others may share the machine below"}, USUAL,
		"Others may share CPU, cache and disk."},
	{{"container", 1, "a container's limits are not all seen"}, USUAL,
		"Its limits of CPU, memory and storage are not all seen from inside."},
	{{"engine", 1, "what the engine itself has warned of"}, USUAL, NULL},
	{{"small-data", 0, "the data is smaller than memory"}, USUAL,
		"Less than twice the memory: reads may come from the page cache, writes may "
		"reach the device after the run."},
	{{"small-cache", 0, "the data is smaller than the engine's own cache"}, USUAL,
		"What lies below that was hardly measured. Take a smaller --cache, or more "
		"data."},
	{{"lukewarm", 0, "a run that was to be warm read from storage"}, SERIOUS,
		"5 to 90 % of the database was in memory when the first operation began, or "
		"of a warm one many pages were fetched. Read it all once before, or take "
		"--cold."},
	{{"not-cold", 0, "a run that was to be cold was not"}, SERIOUS,
		"More than 5 % of the database was in memory when the first operation began: "
		"it could not be evicted, or opening reads it."},
	{{"short", 0, "too short for background work to show"}, USUAL,
		"No background work shows in that: no flush, no compaction."},
	{{"few-samples", 0, "too few operations for a percentile"}, USUAL,
		"Ten have to lie beyond it on either side: p99.9 takes 10000. Raise the count."},
	{{"drift", 0, "the rate still changed in the run's last two thirds"}, SERIOUS,
		"By more than a tenth from the middle third of the time to the last one, by "
		"the counts of each 20 ms. Run longer, or with a warm-up."},
	{{"had-data", 0, "the database of a put was not new"}, SERIOUS,
		"Puts may have overwritten, and its shape is not that of a new one."},
	{{"duplicates", 0, "keys repeat"}, USUAL,
		"See Duplicate keys."},
	{{"misses", 0, "most of what was read was not there"}, SERIOUS,
		"What was measured is how fast that is told. Read the keys that were put."},
	{{"unverified", 0, "nothing was verified"}, SERIOUS,
		"Then a rate says how fast the engine answers, and not that it is right."},
	{{"short-values", 0, "values have no room for a checksum"}, USUAL,
		"Below 16 bytes a wrong one is noticed by chance."},
	{{"not-settled", 0, "work that was put off is not counted"}, SERIOUS,
		"It was not asked for, or the engine cannot be asked to flush or compact."},
	{{"claims-without-syncs", 0, "writes were acknowledged before they were durable"}, SERIOUS,
		"A sync can be for one write of each thread. With fewer syncs than that "
		"takes, the rest of the writes were answered too early. See Syncs."},
	{{"build", 0, "mininb or the plugin is no release build"}, SERIOUS,
		"Its figures are slower than they need be."},
	{{"governor", 0, "the processor's clock follows the load"}, USUAL,
		"The kernel's governor is another than performance."},
	{{"steal", 0, "a hypervisor kept CPU time back"}, SERIOUS,
		"More than 2 % of the machine's, as /proc/stat counts it."},
	{{"other-processes", 0, "other processes used CPU time"}, USUAL,
		"More than 2 % of the machine's CPU time."},
	{{"switches", 0, "the CPU was often taken away"}, USUAL,
		"More than 100 times a second and thread: the highest latencies may be the "
		"scheduler's."},
	{{"crowded", 0, "there are more threads than CPUs"}, USUAL,
		"Latencies include waiting for a CPU."},
	{{"throttled", 0, "the cgroup's CPU quota was used up"}, SERIOUS,
		"Threads were held up until the next period: the highest latencies are its."},
	{{"pressure-cpu", 0, "tasks waited for a CPU though there were enough"}, USUAL,
		"More than 5 % of the time, by /proc/pressure: other processes, or the "
		"engine's own threads."},
	{{"pressure-memory", 0, "tasks waited for memory"}, SERIOUS,
		"More than 1 % of the time, by /proc/pressure."},
	{{"swap", 0, "memory was swapped, or had been"}, SERIOUS,
		"By /proc/vmstat while the operations ran, or more than 1 % of memory when "
		"they began."},
	{{"clock-drift", 0, "the clocks did not agree, or the machine slept"}, SERIOUS,
		"The time stamp counter is calibrated before the run; from its begin to its "
		"end it then ran fast or slow by more than 0.1 % against CLOCK_MONOTONIC."},
	{{"hiccup", 0, "a thread that only sleeps woke up late: others may have, too"}, USUAL,
		"By more than 60 ms: the process was stopped, or the machine had no CPU for "
		"it. Stalls of that length may not be the engine's."},
	{{"full", 0, "the file system is nearly full"}, SERIOUS,
		"Less than a tenth of it is free: writes may be slower than on one with room."},
	{{"harness", 0, "the harness is a tenth of the median latency or more"}, SERIOUS,
		"The clock's cost within it, or the loop's beside it. Nothing is subtracted. "
		"In tables: how late the harness itself was."},
	{{"ran-backwards", 0, "counters of the engine ran backwards"}, SERIOUS,
		"No counter may; they are left out."},
	{{"queue", 0, "more was asked for than could be done"}, SERIOUS,
		"See Queue. Take a lower rate, or --sweep."},
	{{"lateness", 0, "the harness began operations late"}, SERIOUS, NULL},
	{{"waits", 0, "threads waited for inserts of others"}, USUAL,
		"More than 1 % of the time, which at a rate is in the response times and is "
		"no engine's. Raise lag."},
	{{"nothing-measured", 0, "all operations began in the warm-up"}, SERIOUS,
		"Raise count, or take a shorter warmup."},
	{{"idle-threads", 0, "some threads did nothing"}, SERIOUS,
		"There were too few operations for all."},
	{{"foreign-values", 0, "values are an earlier run's"}, SERIOUS,
		"The database was not as the loading left it: an earlier run, or an earlier "
		"point of the sweep, wrote to it."},
	{{"gaps", 1, "scans were not checked for records left out"}, USUAL,
		"mininb finds gaps only if keys are in the order of the records "
		"(--key-order=ordered) and no record may be missing."},
	{{"not-steady", 0, "the rate never became steady, as was asked"}, SERIOUS,
		"See Steady. Run longer, or ask for less."},
	{{NULL, 0, NULL}, USUAL, NULL},
};
/* clang-format on */

static struct nb_note_kind kinds[sizeof(note_rows) / sizeof(*note_rows)];

static void
copy_kinds(void)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		kinds[i] = note_rows[i].kind;
}

const struct nb_note_kind *
nb_note_kinds(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, copy_kinds);
	return kinds;
}

const char *
note_weight(const char *id)
{
	for (const struct note_row *row = note_rows; row->kind.id != NULL; row++)
		if (strcmp(row->kind.id, id) == 0 && row->weight == SERIOUS)
			return "serious";
	return "usual";
}
