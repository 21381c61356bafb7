/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What notes there are. An identifier is for good, since scripts allow notes by it; a sentence
 * may change. A fact is how the run was set up, which its numbers have to be read with; the
 * others say that something was wrong with the run, or beside it.
 */
#include <string.h>

#include <mininb/results.h>

static const struct nb_note_kind kinds[] = {
	{"closed-loop", 1, "operations wait for each other: these are service times"},
	{"one-run", 1, "how much it varies from run to run is not known"},
	{"loaded", 1, "the engine keeps nothing: the data was put before"},
	{"synthetic", 1, "the engine makes its answers up"},
	{"memory-files", 1, "the database is on a file system that is memory"},
	{"virtual-machine", 1, "others may share the machine below"},
	{"container", 1, "a container's limits are not all seen"},
	{"engine", 1, "what the engine itself has warned of"},
	{"small-data", 0, "the data is smaller than memory"},
	{"small-cache", 0, "the data is smaller than the engine's own cache"},
	{"lukewarm", 0, "a run that was to be warm read from storage"},
	{"not-cold", 0, "a run that was to be cold was not"},
	{"short", 0, "too short for background work to show"},
	{"few-samples", 0, "too few operations for a percentile"},
	{"drift", 0, "the rate still changed in the run's last two thirds"},
	{"had-data", 0, "the database of a put was not new"},
	{"duplicates", 0, "keys repeat"},
	{"misses", 0, "most of what was read was not there"},
	{"unverified", 0, "nothing was verified"},
	{"short-values", 0, "values have no room for a checksum"},
	{"not-settled", 0, "work that was put off is not counted"},
	{"claims-without-syncs", 0, "writes were acknowledged before they were durable"},
	{"build", 0, "mininb or the plugin is no release build"},
	{"governor", 0, "the processor's clock follows the load"},
	{"steal", 0, "a hypervisor kept CPU time back"},
	{"other-processes", 0, "other processes used CPU time"},
	{"switches", 0, "the CPU was often taken away"},
	{"crowded", 0, "there are more threads than CPUs"},
	{"throttled", 0, "the cgroup's CPU quota was used up"},
	{"pressure-cpu", 0, "tasks waited for a CPU though there were enough"},
	{"pressure-memory", 0, "tasks waited for memory"},
	{"swap", 0, "memory was swapped, or had been"},
	{"clock-drift", 0, "the clocks did not agree, or the machine slept"},
	{"hiccup", 0, "a thread that only sleeps woke up late: others may have, too"},
	{"full", 0, "the file system is nearly full"},
	{"harness", 0, "the harness is a tenth of the median latency or more"},
	{"ran-backwards", 0, "counters of the engine ran backwards"},
	{"queue", 0, "more was asked for than could be done"},
	{"lateness", 0, "the harness began operations late"},
	{"waits", 0, "threads waited for inserts of others"},
	{"nothing-measured", 0, "all operations began in the warm-up"},
	{"idle-threads", 0, "some threads did nothing"},
	{"foreign-values", 0, "values are an earlier run's"},
	{"gaps", 1, "scans were not checked for records left out"},
	{"not-steady", 0, "the rate never became steady, as was asked"},
	{NULL, 0, NULL},
};

const struct nb_note_kind *
nb_note_kinds(void)
{
	return kinds;
}
