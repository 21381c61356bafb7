/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kinds of notes. An identifier never changes, because scripts allow notes by it; a
 * sentence may change. A serious note changes the meaning of the numbers; a usual one holds
 * for most runs.
 */
#include <string.h>

#include "report/note.h"

enum { USUAL, SERIOUS };

/* clang-format off */
static const struct nb_note_kind kinds[] = {
	{"closed-loop", USUAL, "operations wait for each other: the latencies are service times",
		"While the engine stalls, no further operation arrives that would have to wait. Use --rate for response times."},
	{"in-flight", USUAL, "service times include waiting in the queue of requests",
		"With --depth a request waits for those that its thread handed over before it: at N in flight, the mean service time is N over the throughput. See Batch."},
	{"one-run", USUAL, "the variation from run to run is unknown",
		"Repeat the run, or use mininb vs."},
	{"shards", USUAL, "the shards of one run, merged",
		"Their begins and ends are by the clocks of their machines."},
	{"shards-apart", SERIOUS, "the shards did not all run at the same time",
		"Start them together with --start-at. The merged throughput is too high, because it adds up operations of different times."},
	{"sampled-latency", USUAL, "percentiles rest on one operation in N",
		"The run had --latency=sampled:N. The others ran without time stamps between them; the throughput counts all."},
	{"no-latency", USUAL, "only blocks of operations were timed",
		"The run had --latency=block."},
	{"loaded", USUAL, "the engine keeps no data between runs, so mininb put it first",
		"The data was put before the first operation, untimed."},
	{"synthetic", USUAL, "the engine makes its answers up",
		"It serves to measure the harness; nothing can be verified."},
	{"memory-files", USUAL, "the database is on a file system in memory",
		"No storage device was measured."},
	{"virtual-machine", USUAL, "others may share the physical machine",
		"They may use its CPU, cache and disk."},
	{"container", USUAL, "some of a container's limits are not visible",
		"Limits of CPU, memory and storage may apply that mininb cannot see from inside."},
	{"engine", USUAL, "a warning of the engine itself",
		NULL},
	{"small-data", USUAL, "the data is smaller than memory",
		"Less than twice the memory: reads may come from the page cache, and writes may reach the device after the run."},
	{"small-cache", USUAL, "the data is smaller than the engine's own cache",
		"The layers below the cache were hardly measured. Use a smaller --cache, or more data."},
	{"lukewarm", SERIOUS, "a warm run read from storage",
		"5 to 90 % of the database was in memory before the first operation, or a warm run read many pages from storage. Read all of it first, or use --cold."},
	{"not-cold", SERIOUS, "a run with --cold was not cold",
		"More than 5 % of the database was in memory before the first operation: it could not be evicted, or opening the database reads it."},
	{"short", USUAL, "the run is too short to show background work",
		"Flushes and compactions happen later than that."},
	{"few-samples", USUAL, "too few operations for a percentile",
		"Ten operations must lie beyond it on either side: p99.9 needs 10000. Raise the count."},
	{"drift", SERIOUS, "the rate still changed in the run's last two thirds",
		"It changed by more than a tenth from the middle third of the time to the last third, by the counts of each 20 ms. Run longer, or with a warm-up."},
	{"had-data", SERIOUS, "the database of a put was not new",
		"Puts may have overwritten records, and the database's structure may differ from that of a new one."},
	{"duplicates", USUAL, "keys repeat",
		"See Duplicate keys."},
	{"misses", SERIOUS, "most reads found nothing",
		"The run measured how fast the engine reports a missing key. Read keys that were put."},
	{"unverified", SERIOUS, "nothing was verified",
		"The rate then shows how fast the engine answers, not that the answers are right."},
	{"short-values", USUAL, "values have no room for a checksum",
		"Below 16 bytes mininb finds a wrong value only by chance."},
	{"not-settled", SERIOUS, "deferred work is not counted",
		"Settling was not requested, or the engine cannot flush or compact on request."},
	{"claims-without-syncs", SERIOUS, "writes were acknowledged before they were durable",
		"One sync can cover one write of each thread. If there are fewer syncs than that needs, the engine acknowledged the other writes too early. See Syncs."},
	{"build", SERIOUS, "mininb or the plugin is not a release build",
		"It is slower than a release build."},
	{"governor", USUAL, "the CPU's clock rate follows the load",
		"The kernel's CPU governor is not performance."},
	{"steal", SERIOUS, "a hypervisor withheld CPU time",
		"More than 2 % of the machine's CPU time, by /proc/stat."},
	{"other-processes", USUAL, "other processes used CPU time",
		"More than 2 % of the machine's CPU time."},
	{"switches", USUAL, "the kernel often took the CPU away",
		"More than 100 times a second and thread: the scheduler may have caused the highest latencies."},
	{"crowded", USUAL, "there are more threads than CPUs",
		"Latencies include waiting for a CPU."},
	{"throttled", SERIOUS, "the cgroup's CPU quota was used up",
		"The kernel stopped threads until the next period, which caused the highest latencies."},
	{"pressure-cpu", USUAL, "tasks waited for a CPU although there were enough",
		"More than 5 % of the time, by /proc/pressure: other processes, or the engine's own threads."},
	{"pressure-memory", SERIOUS, "tasks waited for memory",
		"More than 1 % of the time, by /proc/pressure."},
	{"swap", SERIOUS, "memory was swapped, or had been",
		"The machine swapped during the operations (/proc/vmstat), or more than 1 % of its memory was in swap when they began."},
	{"clock-drift", SERIOUS, "the clocks did not agree, or the machine slept",
		"The time stamp counter is calibrated before the run. During the run it was fast or slow by more than 0.1 % against CLOCK_MONOTONIC."},
	{"hiccup", USUAL, "a thread that only sleeps woke up late",
		"More than 60 ms late: the process was stopped, or the machine had no free CPU. Other threads may have waited, too: the engine may not have caused stalls of that length."},
	{"full", SERIOUS, "the file system is nearly full",
		"Less than a tenth is free: writes may be slower than with more free space."},
	{"harness", SERIOUS, "the harness takes a tenth of the median latency or more",
		"The clock inside the latency, or the loop around the operation. Nothing is subtracted. In tables: how late the harness itself was."},
	{"ran-backwards", SERIOUS, "counters of the engine ran backwards",
		"A counter may only grow; these are left out."},
	{"queue", SERIOUS, "the offered rate was above the possible one",
		"See Queue. Use a lower rate, or --sweep."},
	{"lateness", SERIOUS, "the harness began operations late",
		NULL},
	{"waits", USUAL, "threads waited for other threads' inserts",
		"More than 1 % of the time. With a rate, response times include it and the engine did not cause it. Raise lag."},
	{"nothing-measured", SERIOUS, "all operations began in the warm-up",
		"Raise count, or use a shorter warmup."},
	{"idle-threads", SERIOUS, "some threads did nothing",
		"There were too few operations for all threads."},
	{"foreign-values", SERIOUS, "values came from an earlier run",
		"The database was not as the loading left it: an earlier run, or an earlier point of the sweep, wrote to it."},
	{"gaps", USUAL, "mininb did not check whether scans skip records",
		"mininb finds gaps only if keys are in the order of the records (--key-order=ordered) and no record may be missing."},
	{"not-steady", SERIOUS, "the rate did not become steady, although --steady was given",
		"See Steady. Run longer, or allow more."},
	{NULL, 0, NULL, NULL},
};
/* clang-format on */

const struct nb_note_kind *
nb_note_kinds(void)
{
	return kinds;
}

const char *
note_weight(const char *id)
{
	for (const struct nb_note_kind *kind = kinds; kind->id != NULL; kind++)
		if (strcmp(kind->id, id) == 0 && kind->is_serious)
			return "serious";
	return "usual";
}
