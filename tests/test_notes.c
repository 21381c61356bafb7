/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each note appears if and only if its condition holds. An example starts with a result that
 * has only the two notes of every run, and changes the members that its note checks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mininb/results.h>

#include "report/note.h"
#include "report/result.h"
#include "unit.h"

static struct nb_result result;
static struct job_result_group group;

/** A good run of a minute on a quiet machine with four CPUs, read back and settled. */
static void
begin(uint32_t verb)
{
	result = (struct nb_result){.engine = {.name = "thing",
					    .build = "release",
					    .caps = NB_CAP_PERSISTENT | NB_CAP_CONCURRENT},
		.workload = {.verb = verb, .count = 1 << 30, .key_size = 16, .value_size = 100},
		.threads = 2,
		.settle = NB_RUN_SETTLE_COMPACT,
		.verify_rate = 0.01,
		.sysinfo = {.memory_bytes = (uint64_t)16 << 30,
			.cpus = 4,
			.machine_cpus = 4,
			.filesystem = "tmpfs"},
		.measured = {.has_begun = true,
			.settled = NB_RUN_SETTLE_COMPACT,
			.has_settled = true,
			.has_read_back = true,
			.had_bytes = (uint64_t)116 << 30,
			.ops = 1 << 30,
			.wall_ns = 60000000000,
			.usage_ns = 60000000000,
			.answers = {[NB_OK] = 1 << 30},
			.findings = {.verified = 10000000},
			.floor_call_ns = 20},
		.groups = &group,
		.group_count = 1};
	group = (struct job_result_group){.name = "readers",
		.threads = 2,
		.measured = {.ops = 1000,
			.done = 1000,
			.wall_ns = 1000000000,
			.span_ns = 1000000000}};
	ck_assert_int_eq(nb_histogram_new(&result.measured.service), NB_OK);
	ck_assert_int_eq(nb_histogram_new(&result.response), NB_OK);
	for (int i = 0; i < 100000; i++) /* as many as p99.99 needs */
		nb_histogram_add(result.measured.service, 5000);
}

static void
remove_notes(void)
{
	while (result.note_count > 0)
		result_remove_note(&result, result.notes[0].id);
}

static void
end(void)
{
	remove_notes();
	free(result.notes);
	nb_histogram_delete(result.measured.service);
	nb_histogram_delete(result.response);
}

static const struct nb_note_kind *
find_kind(const char *id)
{
	const struct nb_note_kind *kind = nb_note_kinds();
	while (kind->id != NULL && strcmp(kind->id, id) != 0)
		kind++;
	ck_assert_msg(kind->id != NULL, "%s", id);
	return kind;
}

/** Make the notes again. Returns the text of the note; NULL if it is absent. */
static const char *
note(const char *id)
{
	const char *found = NULL;
	remove_notes();
	result_add_notes(&result);
	find_kind(id);
	for (size_t i = 0; i < result.note_count; i++) {
		ck_assert_ptr_null(strchr(result.notes[i].text, '\n'));
		find_kind(result.notes[i].id);
		if (strcmp(result.notes[i].id, id) == 0)
			found = result.notes[i].text;
	}
	return found;
}

/** `wanted`: the beginning of the note; NULL: the note is absent. */
static void
check(const char *id, const char *wanted, size_t line)
{
	const char *found = note(id);
	if (wanted == NULL)
		ck_assert_msg(found == NULL, "example %zu, %s: %s", line, id, found);
	else
		ck_assert_msg(found != NULL && strncmp(found, wanted, strlen(wanted)) == 0,
			"example %zu, %s: %s", line, id, found != NULL ? found : "(none)");
}

/* ---- examples ---- */

/** A member of the result or of its group, and its new value. */
struct change {
	void *at;
	size_t size; /* 0: a text */
	bool is_real;
	double value;
	const char *text;
};

#define IN(object, member, to) \
	{ \
		&object.member, sizeof(object.member), \
			_Generic(object.member, double \
				 : true, default \
				 : false), \
			(to), NULL \
	}
#define IS(member, to) IN(result, member, to)
#define OF_GROUP(member, to) IN(group, member, to)
#define SAYS(member, to) \
	{ \
		&result.member, 0, false, 0, (to) \
	}

static void
apply(const struct change *change)
{
	uint64_t count = change->value < 0 ? 0 : (uint64_t)change->value;
	if (change->is_real)
		memcpy(change->at, &change->value, change->size);
	else if (change->size > 0) /* little-endian, as on all supported machines */
		memcpy(change->at, &count, change->size);
	else
		strcpy(change->at, change->text);
}

enum {
	PUT = NB_VERB_PUT,
	GET = NB_VERB_GET,
	DELETE = NB_VERB_DELETE,
	JOB = 16 /* added to a verb: a job */
};
#define GIB(count) ((double)(count) * (1 << 30))
#define DID(member, to) IS(measured.member, to)
#define USED(member, to) IS(measured.used.member, to)
#define USAGE(member, to) IS(measured.usage.member, to)
#define KNOWN(counts) USED(known, SYSTEM_##counts)
#define MEMORY(gib) IS(sysinfo.memory_bytes, GIB(gib))
#define GROUP_DID(member, to) OF_GROUP(measured.member, to)
#define VOLATILE IS(engine.caps, NB_CAP_CONCURRENT)
#define SYNTHETIC IS(engine.caps, NB_CAP_SYNTHETIC)
#define RESIDENT(when, bytes) \
	IS(measured.residency_##when.resident_bytes, bytes), \
		IS(measured.residency_##when.total_bytes, 1000), \
		IS(measured.residency_##when.is_known, 1)

static const struct example {
	uint32_t what; /* PUT, GET or DELETE, and JOB */
	const char *id;
	const char *text; /* beginning of the note; NULL: it is absent */
	struct change changes[10];
} examples[] = {
	{GET, "closed-loop", NULL, {IS(is_paced, 1)}},
	{GET, "in-flight", NULL, {IS(is_paced, 1)}},
	{GET, "in-flight", "up to 64 requests of each thread were in flight", {DID(depth, 64)}},
	{GET, "short", "short: 1.000 seconds show no background work; raise --count",
		{DID(wall_ns, 999999999)}},
	{GET, "short", "short: 1.000 seconds show no background work; raise --duration",
		{DID(wall_ns, 999999999), IS(is_bound_by_time, 1)}},
	{GET, "short", NULL, {DID(wall_ns, 1000000000)}},
	/* 116 GiB of data */
	{PUT, "small-data",
		"data of 116GiB in memory of 64GiB: the page cache takes the writes",
		{MEMORY(64)}},
	{PUT, "small-data", NULL, {MEMORY(58)}},
	{PUT, "small-data", NULL, {IS(sysinfo.memory_bytes, 0)}},
	{GET, "small-data", "data of 116GiB in memory of 64GiB: reads come from memory",
		{MEMORY(64)}},
	{GET, "small-data", "data of 116GiB in memory of 64GiB: the run began cold, but",
		{MEMORY(64), DID(cold, COLD_FILES)}},
	{GET, "small-data", NULL, {MEMORY(64), VOLATILE}},
	/* a delete does not know the value size */
	{DELETE, "small-data", "data of 116GiB in memory of 64GiB: the page cache takes",
		{MEMORY(64), IS(workload.value_size, 1)}},
	{DELETE, "small-data", NULL, {MEMORY(64), DID(had_bytes, GIB(129))}},
	{PUT, "memory-files", "the database is on tmpfs: no storage device was measured",
		{IS(sysinfo.is_memory_filesystem, 1), IS(workload.count, 10)}},
	{PUT, "small-data", NULL,
		{IS(sysinfo.is_memory_filesystem, 1), IS(workload.count, 10)}},
	{PUT, "memory-files", NULL, {IS(sysinfo.is_memory_filesystem, 1), VOLATILE}},
	{PUT, "had-data", "the database was not new", {DID(had_data, 1)}},
	{GET, "had-data", NULL, {DID(had_data, 1)}},
	{GET, "loaded",
		"thing keeps no data between runs: mininb put the data before the first operation, in 1.500 seconds",
		{DID(is_loaded, 1), DID(load_ns, 1.5e9)}},
	{GET, "loaded", NULL, {DID(load_ns, 1.5e9)}},
	{PUT, "duplicates", "7 of 1073741824 keys repeat", {IS(keys.duplicates, 7)}},
	{PUT, "duplicates", "about 7 of ", {IS(keys.duplicates, 7), IS(keys.is_estimate, 1)}},
	{PUT, "duplicates", NULL, {IS(keys.is_estimate, 1)}},
	{GET, "misses", NULL, {DID(answers[NB_OK], 500), DID(answers[NB_NOT_FOUND], 500)}},
	{GET, "misses", "75 % of the reads found nothing",
		{DID(answers[NB_OK], 500), DID(answers[NB_NOT_FOUND], 1500)}},
	{DELETE, "misses", NULL, {DID(answers[NB_OK], 0), DID(answers[NB_NOT_FOUND], 9)}},
	{GET, "misses", NULL,
		{DID(answers[NB_OK], 0), DID(answers[NB_NOT_FOUND], 9), SYNTHETIC}},
	{GET, "synthetic", "thing makes its answers up: nothing can be verified", {SYNTHETIC}},
	{GET, "unverified", NULL, {SYNTHETIC, IS(verify_rate, 0)}},
	{GET, "unverified", "nothing was verified: --verify-rate is 0",
		{IS(verify_rate, 0), DID(findings.verified, 0)}},
	{GET, "unverified",
		"nothing was verified: no operation was in the sample; raise --verify-rate",
		{DID(findings.verified, 0)}},
	{GET, "unverified", "nothing was verified: no operation found its key",
		{DID(findings.verified, 0), DID(answers[NB_OK], 0)}},
	{PUT, "unverified", "the run ended before any was read back",
		{DID(has_read_back, 0), DID(findings.verified, 0)}},
	{DELETE, "unverified", "the run ended before all of the sample was read back",
		{DID(has_read_back, 0)}},
	{GET, "unverified", NULL, {DID(has_read_back, 0)}}, /* gets verify during the run */
	{GET, "short-values", "values of 15 bytes are too short for a checksum",
		{IS(workload.value_size, 15)}},
	{DELETE, "short-values", NULL, {IS(workload.value_size, 15)}},
	{PUT, "short-values", NULL, {IS(workload.value_size, 16)}},
	{PUT, "short-values", NULL, {IS(workload.value_size, 15), IS(verify_rate, 0)}},
	{PUT, "short-values", NULL, {IS(workload.value_size, 15), SYNTHETIC}},
	{PUT, "short-values", NULL, {IS(workload.value_size, 15), DID(findings.verified, 0)}},
	{PUT, "not-settled", "thing cannot compact on request",
		{DID(settled, NB_RUN_SETTLE_FLUSH)}},
	{PUT, "not-settled", "thing cannot flush on request",
		{DID(settled, NB_RUN_SETTLE_NONE)}},
	{PUT, "not-settled", "not settled, as requested", {IS(settle, NB_RUN_SETTLE_NONE)}},
	{PUT, "not-settled", NULL, {IS(settle, NB_RUN_SETTLE_NONE), VOLATILE}},
	{GET, "not-settled", NULL, {DID(settled, NB_RUN_SETTLE_NONE)}},
	{PUT, "not-settled", NULL, /* the flush failed or was not reached */
		{DID(settled, NB_RUN_SETTLE_NONE), DID(has_settled, 0)}},
	{PUT, "virtual-machine", "virtual machine (KVM)", {SAYS(sysinfo.hypervisor, "KVM")}},
	{GET, "container", "container (docker): ", {SAYS(environment.container, "docker")}},
	{GET, "governor", NULL, {SAYS(environment.governor, "performance")}},
	{GET, "governor", "the CPU's governor is powersave",
		{SAYS(environment.governor, "powersave")}},
	{PUT, "clock-drift", NULL, {DID(clock_drift, 0.00099)}},
	{PUT, "clock-drift", "the clock drifted: the time stamp counter ran 0.99 % slow",
		{DID(clock_drift, -0.0099)}},
	{PUT, "clock-drift", "the clock drifted: the time stamp counter ran 1.23 % fast",
		{DID(clock_drift, 0.0123), DID(slept_ns, 999999)}},
	{PUT, "clock-drift", "the machine slept for 5s during the run",
		{DID(clock_drift, 0.0123), DID(slept_ns, 5e9)}},
	/* out of 240 s of CPU time */
	{PUT, "steal", NULL, {USAGE(steal_ns, 4.7e9)}},
	{PUT, "steal", "noisy neighbours: the hypervisor withheld 10.0 % of the CPU time",
		{USAGE(steal_ns, 24e9)}},
	{PUT, "other-processes", NULL,
		{USAGE(user_ns, 60e9), USAGE(system_ns, 60e9), USAGE(busy_ns, 124.7e9)}},
	/* the usage includes a warm-up of 59 s; the process may use only one CPU */
	{PUT, "other-processes", "other processes used 25.0 % of the machine's CPU time",
		{USAGE(user_ns, 60e9), USAGE(system_ns, 60e9), USAGE(busy_ns, 180e9),
			DID(wall_ns, 1e9), IS(sysinfo.cpus, 1)}},
	{PUT, "other-processes", NULL, {USAGE(busy_ns, 180e9), IS(sysinfo.machine_cpus, 0)}},
	{PUT, "other-processes", NULL, {USAGE(busy_ns, 180e9), IS(is_of_processes, 1)}},
	{PUT, "other-processes", NULL, {USAGE(user_ns, 60e9)}},
	/* with clock ticks of 10 ms, three are not significant, nor are many in 199 ms */
	{PUT, "other-processes", NULL, {DID(usage_ns, 2e8), USAGE(busy_ns, 30000000)}},
	{PUT, "other-processes", NULL, {DID(usage_ns, 199999999), USAGE(busy_ns, 9e8)}},
	{PUT, "steal", NULL, {DID(usage_ns, 199999999), USAGE(steal_ns, 9e8)}},
	{PUT, "other-processes", "other processes used 100.0 %",
		{DID(usage_ns, 2e8), USAGE(busy_ns, 9e8)}},
	{PUT, "steal", "noisy neighbours: the hypervisor withheld 100.0 %",
		{DID(usage_ns, 2e8), USAGE(steal_ns, 9e8)}},
	{PUT, "switches", NULL, {USAGE(involuntary_switches, 60 * 2 * 100)}},
	{PUT, "switches", "the kernel took the CPU away 202 times a second",
		{USAGE(involuntary_switches, 60 * 2 * 101)}},
	{PUT, "switches", NULL, {USAGE(involuntary_switches, 60 * 2 * 101), IS(threads, 3)}},
	{PUT, "switches", NULL, {USAGE(involuntary_switches, 10), DID(usage_ns, 1e6)}},
	{PUT, "crowded", NULL, {IS(threads, 4)}},
	{PUT, "crowded", "5 threads share 4 CPUs", {IS(threads, 5)}},
	{PUT, "crowded", "2 threads share 1 CPU:", {IS(sysinfo.cpus, 1)}},
	{PUT, "crowded", NULL, {IS(threads, 5), IS(sysinfo.cpus, 0)}},
	{PUT, "harness", NULL, {DID(floor_call_ns, 500), DID(floor_op_ns, 500)}},
	{PUT, "harness",
		"the harness takes 501 ns of the median latency of 5000 ns, and 600 ns of each operation's time; ",
		{DID(floor_call_ns, 501), DID(floor_op_ns, 600)}},
	{PUT, "harness", NULL, /* 4900 + 544 ns in the loop, below 4900 + 545 */
		{DID(floor_call_ns, 100), DID(floor_op_ns, 544)}},
	{PUT, "harness",
		"the harness takes 545 ns of the about 5445 ns of an operation in its loop; nothing is subtracted: compare with the null engine, and with --latency=sampled:64, because",
		{DID(floor_call_ns, 100), DID(floor_op_ns, 545)}},
	{PUT, "harness", NULL, /* the loop waits anyway */
		{DID(floor_call_ns, 100), DID(floor_op_ns, 545), IS(is_paced, 1)}},
	{PUT, "harness", NULL, {DID(floor_call_ns, 501), DID(floor_op_ns, 600), DID(ops, 0)}},
	{GET, "small-cache", "data of 116GiB fits into the engine's cache of 117GiB",
		{IS(cache_bytes, GIB(117))}},
	{GET, "small-cache", NULL, {IS(cache_bytes, GIB(116))}},
	{GET, "small-cache", NULL, {IS(cache_bytes, GIB(117)), VOLATILE}},
	{GET, "lukewarm",
		"neither warm nor cold: 43 % of the database was in memory before the first operation",
		{MEMORY(200), RESIDENT(begin, 430)}},
	{GET, "lukewarm", NULL, {MEMORY(200), RESIDENT(begin, 900)}},
	{GET, "lukewarm", NULL, {MEMORY(200), RESIDENT(begin, 50)}},
	{GET, "lukewarm", NULL, /* as requested */
		{MEMORY(200), RESIDENT(begin, 430), DID(cold, COLD_FILES)}},
	{GET, "lukewarm", NULL, /* it cannot be warm */
		{MEMORY(100), RESIDENT(begin, 430)}},
	{GET, "lukewarm", "not warm: 1001 pages were read from storage during the operations",
		{MEMORY(200), DID(usage_ops, 1e6), KNOWN(PROCESS), USED(major_faults, 1001)}},
	{GET, "lukewarm", NULL,
		{MEMORY(200), DID(usage_ops, 1e6), KNOWN(PROCESS), USED(major_faults, 1000)}},
	{GET, "lukewarm", NULL,
		{MEMORY(200), DID(usage_ops, 1000), KNOWN(PROCESS), USED(major_faults, 100)}},
	{GET, "lukewarm", NULL, {MEMORY(200), USED(major_faults, 1001)}},
	{PUT, "lukewarm", NULL,
		{MEMORY(200), DID(usage_ops, 1e6), KNOWN(PROCESS), USED(major_faults, 1001)}},
	{GET, "not-cold", NULL,
		{IS(flags, NB_RUN_COLD), DID(cold, COLD_CACHES), RESIDENT(before, 1),
			RESIDENT(begin, 50)}},
	{GET, "not-cold",
		"not cold, although --cold was given: opening the database read 41 % of it before the first operation",
		{IS(flags, NB_RUN_COLD), DID(cold, COLD_CACHES), RESIDENT(before, 50),
			RESIDENT(begin, 410)}},
	{GET, "not-cold",
		"not cold, although --cold was given: 40 % of the database stayed in memory",
		{IS(flags, NB_RUN_COLD), DID(cold, COLD_CACHES), RESIDENT(before, 400),
			RESIDENT(begin, 410)}},
	{GET, "not-cold", "whether the run was cold is unknown",
		{IS(flags, NB_RUN_COLD), DID(cold, COLD_CACHES)}},
	{GET, "not-cold", NULL, {IS(flags, NB_RUN_COLD), RESIDENT(begin, 410)}}, /* new */
	{GET, "not-cold", "not cold, although --cold was given: thing keeps its data in memory",
		{IS(flags, NB_RUN_COLD), VOLATILE}},
	{GET, "not-cold", NULL, {DID(cold, COLD_CACHES), RESIDENT(begin, 410)}},
	{PUT, "full", NULL,
		{IS(environment.filesystem_bytes, GIB(100)),
			IS(environment.free_bytes, GIB(10))}},
	{PUT, "full", "the file system is 96 % full (4GiB left)",
		{IS(environment.filesystem_bytes, GIB(100)),
			IS(environment.free_bytes, GIB(4))}},
	{PUT, "full", NULL, {IS(environment.filesystem_bytes, GIB(100)), VOLATILE}},
	{GET, "swap", NULL, {USED(swap_in_bytes, 1 << 20)}},
	{GET, "swap", "the machine swapped during the operations: 1MiB in, 0B out",
		{USED(swap_in_bytes, 1 << 20), KNOWN(MACHINE)}},
	{GET, "swap", NULL, {KNOWN(MACHINE)}},
	{GET, "swap", NULL,
		{IS(sysinfo.memory_bytes, 100 << 20),
			IS(environment.swap_used_bytes, 1 << 20)}},
	{GET, "swap", "2MiB were in swap when the run began",
		{IS(sysinfo.memory_bytes, 100 << 20),
			IS(environment.swap_used_bytes, 2 << 20)}},
	{GET, "throttled", NULL, {USED(throttled_ns, 1.2e9)}},
	{GET, "throttled", "the CPU quota of the cgroup stopped threads for 1.2s",
		{USED(throttled_ns, 1.2e9), KNOWN(CGROUP)}},
	{GET, "throttled", NULL, {KNOWN(CGROUP)}},
	/* 60 s, two threads, four CPUs */
	{GET, "pressure-cpu", NULL, {USED(pressure_cpu_ns, 6e9)}},
	{GET, "pressure-cpu",
		"tasks waited for a CPU 10.0 % of the time, although there are 4 for 2 threads",
		{USED(pressure_cpu_ns, 6e9), KNOWN(PRESSURE)}},
	{GET, "pressure-cpu", NULL, {USED(pressure_cpu_ns, 3e9), KNOWN(PRESSURE)}},
	{GET, "pressure-cpu", NULL,
		{USED(pressure_cpu_ns, 6e9), KNOWN(PRESSURE), IS(threads, 5)}},
	{GET, "pressure-memory", "tasks waited for memory 2.0 % of the time",
		{USED(pressure_memory_ns, 1.2e9), KNOWN(PRESSURE), IS(threads, 5)}},
	{GET, "pressure-memory", NULL, {USED(pressure_memory_ns, 6e8), KNOWN(PRESSURE)}},
	{GET, "pressure-memory", NULL, /* the run is too short */
		{USED(pressure_memory_ns, 1.2e9), KNOWN(PRESSURE), DID(usage_ns, 99999999)}},
	/* groups of jobs */
	{JOB | GET, "queue",
		"readers: the offered rate is above the possible one: the queue grew to 1000 operations, and the last one began 500ms late. ",
		{OF_GROUP(arrivals, NB_ARRIVAL_FIXED), OF_GROUP(is_paced, 1),
			GROUP_DID(offered_ops, 2000), GROUP_DID(lag_ns, 5e8)}},
	{JOB | GET, "queue",
		"readers: the trace was faster than the engine: the last operation began 500ms late. ",
		{OF_GROUP(speed, 1), OF_GROUP(is_paced, 1), GROUP_DID(lag_ns, 5e8)}},
	{JOB | GET, "queue", NULL, {OF_GROUP(is_paced, 1)}},
	{GET, "queue", NULL, {OF_GROUP(is_paced, 1), GROUP_DID(lag_ns, 5e8)}},
	{JOB | GET, "waits", NULL, {GROUP_DID(waited_ns, 2e7)}}, /* out of two seconds */
	{JOB | GET, "waits",
		"readers: threads waited 2.5 % of the time for other threads' inserts before they could read them; raise lag above 256",
		{GROUP_DID(waited_ns, 5e7)}},
	{JOB | GET, "waits",
		"readers: threads waited 2.5 % of the time for other threads' inserts before they could read them, which response times include",
		{GROUP_DID(waited_ns, 5e7), OF_GROUP(is_paced, 1)}},
	{JOB | GET, "waits", NULL, {GROUP_DID(waited_ns, 5e7), GROUP_DID(span_ns, 0)}},
	{JOB | GET, "nothing-measured",
		"readers: nothing was measured: all of its 1000 operations began in the warm-up",
		{GROUP_DID(ops, 0)}},
	{JOB | GET, "nothing-measured", NULL, {GROUP_DID(ops, 0), GROUP_DID(done, 0)}},
	/* reads of a job that also writes */
	{JOB | DELETE, "misses", NULL,
		{GROUP_DID(kinds[NB_OP_READ].ops, 1000),
			GROUP_DID(kinds[NB_OP_READ].answers[NB_NOT_FOUND], 500)}},
	{JOB | DELETE, "misses", "readers: 50 % of the read operations found nothing",
		{GROUP_DID(kinds[NB_OP_READ].ops, 1000),
			GROUP_DID(kinds[NB_OP_READ].answers[NB_NOT_FOUND], 501)}},
	{JOB | DELETE, "misses", NULL,
		{GROUP_DID(kinds[NB_OP_READ].ops, 1000),
			GROUP_DID(kinds[NB_OP_READ].answers[NB_NOT_FOUND], 501), SYNTHETIC}},
	{JOB | GET, "misses", NULL, /* covered by the note of the whole run */
		{GROUP_DID(kinds[NB_OP_READ].ops, 10),
			GROUP_DID(kinds[NB_OP_READ].answers[NB_NOT_FOUND], 10)}},
	{JOB | GET, "foreign-values",
		"readers: 7 of 100 verified values came from an earlier run: ",
		{GROUP_DID(findings.foreign, 7), GROUP_DID(findings.verified, 100)}},
	{JOB | GET, "foreign-values",
		"readers: 7 of 100 verified values came from an earlier point of this sweep",
		{GROUP_DID(findings.foreign, 7), GROUP_DID(findings.verified, 100),
			IS(is_point, 1)}},
	{JOB | GET, "foreign-values", NULL, {GROUP_DID(findings.verified, 100)}},
	{JOB | GET, "gaps",
		"readers: mininb checked the order and the values of scans, but not whether they skip records, because the keys are not in the order of the records; --key-order=ordered looks for gaps",
		{OF_GROUP(is_blind_to_gaps, 1)}},
	{JOB | GET, "gaps",
		"readers: mininb checked the order and the values of scans, but not whether they skip records, because it does not know all keys of a trace",
		{OF_GROUP(is_blind_to_gaps, 1), IS(is_replay, 1)}},
	{JOB | GET, "gaps", NULL, {IS(is_replay, 1)}},
	{JOB | GET, "not-steady",
		"never steady: over the last window the rate changed by 12.3 % and was up to 25.0 % off its mean",
		{IS(was_steady_asked, 1), IS(steady_slope, -0.123), IS(steady_band, 0.25)}},
	{JOB | GET, "not-steady", NULL, {IS(was_steady_asked, 1), IS(is_steady, 1)}},
	{JOB | GET, "not-steady", NULL, {IS(steady_slope, -0.123)}},
};

TEST(each_note_appears_exactly_if_its_reason_exists)
{
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		const struct example *it = &examples[i];
		begin(it->what & ~(uint32_t)JOB);
		result.is_job = (it->what & JOB) != 0;
		check(it->id, strcmp(it->id, "closed-loop") == 0 ? "closed loop: " : NULL, i);
		for (const struct change *change = it->changes; change->at != NULL; change++)
			apply(change);
		check(it->id, it->text, i);
		end();
	}
}

TEST(good_run_has_the_two_notes_of_every_run)
{
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		begin(verb);
		/* gcc or clang without optimisation gives a debug build, which mininb notes */
		size_t own = note("build") != NULL;
		ck_assert_str_eq(result.notes[0].id, "closed-loop");
		ck_assert_str_eq(result.notes[1].id, "one-run");
		ck_assert_uint_eq(result.note_count, 2 + own);
		end();
	}
}

TEST(kinds_have_an_identifier_a_weight_and_a_text)
{
	for (const struct nb_note_kind *kind = nb_note_kinds(); kind->id != NULL; kind++) {
		ck_assert_uint_lt(strlen(kind->id), sizeof(result.notes->id));
		ck_assert_uint_eq(
			strspn(kind->id, "abcdefghijklmnopqrstuvwxyz-"), strlen(kind->id));
		ck_assert_str_ne(kind->what, "");
		ck_assert_ptr_eq(find_kind(kind->id), kind);
	}
	ck_assert_str_eq(note_weight("queue"), "serious");
	ck_assert_str_eq(note_weight("virtual-machine"), "usual");
	ck_assert_str_eq(note_weight("of a later mininb"), "usual");
	ck_assert_str_eq(note_weight(""), "usual");
}

TEST(warnings_of_the_engine_are_notes)
{
	begin(NB_VERB_PUT);
	check("engine", NULL, 0);
	size_t others = result.note_count;
	result.warnings.count = 2;
	strcpy(result.warnings.texts[0], "thing: it is emulated");
	strcpy(result.warnings.texts[1], "thing: it is slow");
	check("engine", "thing: it is slow", 0);
	ck_assert_str_eq(result.notes[others].text, "thing: it is emulated");
	ck_assert_uint_eq(result.note_count, others + 2);
	end();
}

TEST(a_build_of_the_plugin_that_is_not_a_release_is_noted)
{
	begin(NB_VERB_PUT);
	result.engine.build = "debug";
	ck_assert_ptr_nonnull(strstr(note("build"), "the plugin is debug"));
	end();
}

TEST(a_hiccup_as_long_as_a_gap_is_noted_once)
{
	for (int is_job = 0; is_job < 2; is_job++) {
		begin(NB_VERB_PUT);
		result.is_job = is_job != 0;
		ck_assert_int_eq(nb_histogram_new(&result.measured.hiccups), NB_OK);
		nb_histogram_add(result.measured.hiccups, 60000000);
		check("hiccup", NULL, 0);
		size_t others = result.note_count;
		nb_histogram_add(result.measured.hiccups, 2000000000);
		check("hiccup", "a thread that only sleeps woke up 2s late", 0);
		ck_assert_uint_eq(result.note_count, others + 1);
		ck_assert(result.notes[others].is_of_job == result.is_job);
		nb_histogram_delete(result.measured.hiccups);
		end();
	}
}

TEST(sampled_latencies_are_noted_with_how_many_they_are)
{
	begin(NB_VERB_GET);
	check("sampled-latency", NULL, 0);
	check("no-latency", NULL, 0);
	result.measured.stamping = (struct stamping){.ops = (1 << 30) - 100000, .stretches = 1};
	check("sampled-latency",
		"latencies and percentiles are those of 100000 of 1073741824 operations; the others",
		0);
	check("no-latency", NULL, 0);
	nb_histogram_reset(result.measured.service);
	nb_histogram_add(result.measured.service, 5000);
	check("few-samples", "1 timed operations are too few for p50", 0);
	nb_histogram_reset(result.measured.service);
	result.measured.stamping.ops = 1 << 30;
	check("sampled-latency", NULL, 0);
	check("no-latency", "no latencies", 0);
	check("few-samples", NULL, 0);
	end();
}

TEST(percentile_with_too_few_samples_is_noted)
{
	static const struct {
		uint64_t count;
		const char *text;
	} cases[] = {
		{1, "1 operations are too few for p50, which needs 20, and for higher percentiles; raise --count"},
		{199, "199 operations are too few for p95, which needs 200"},
		{999, "999 operations are too few for p99, which needs 1000"},
		{9999, "9999 operations are too few for p99.9, which needs 10000"},
		{99999, "99999 operations are too few for p99.99, which needs 100000"},
		{0, NULL}, /* nothing happened, so no note */
	};
	begin(NB_VERB_GET);
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		nb_histogram_reset(result.measured.service);
		for (uint64_t i = 0; i < cases[c].count; i++)
			nb_histogram_add(result.measured.service, 5000);
		check("few-samples", cases[c].text, c);
	}
	nb_histogram_add(result.measured.service, 5000);
	result.is_bound_by_time = true;
	ck_assert_ptr_nonnull(strstr(note("few-samples"), "raise --duration"));
	end();
}

TEST(visible_lateness_of_the_harness_is_noted)
{
	begin(NB_VERB_GET);
	result.is_job = true;
	ck_assert_int_eq(nb_histogram_new(&group.measured.lateness), NB_OK);
	check("lateness", NULL, 0);
	nb_histogram_add(group.measured.lateness, 1000);
	nb_histogram_add(result.response, 10000);
	check("lateness", NULL, 1);
	nb_histogram_reset(result.response);
	nb_histogram_add(result.response, 9000);
	check("lateness", "readers: the harness itself began half of its operations 1us late",
		2);
	nb_histogram_delete(group.measured.lateness);
	end();
}

TEST(idle_threads_are_noted_unless_all_are_idle)
{
	struct job_thread threads[3] = {{.done = 0}, {.done = 0}, {.done = 0}};
	begin(NB_VERB_GET);
	result.is_job = true;
	group.measured.threads = threads;
	group.measured.thread_count = 3;
	check("idle-threads", NULL, 0);
	threads[1].done = 1000;
	check("idle-threads", "readers: 2 of 3 threads did nothing", 1);
	threads[0].done = threads[2].done = 1;
	check("idle-threads", NULL, 2);
	end();
}

TEST(ordered_keys_with_gaps_have_their_own_reason)
{
	begin(NB_VERB_GET);
	result.is_job = group.is_blind_to_gaps = true;
	result.key_order = "ordered";
	ck_assert_ptr_nonnull(strstr(
		note("gaps"), "because records may be missing or keys differ in length"));
	end();
}

enum { PULSES = 151 };

/**
 * Three seconds of pulses of 20 ms, with a given number of operations per pulse in each third.
 */
static struct pulses
pulses_of(uint32_t *ops, uint32_t first, uint32_t middle, uint32_t last)
{
	for (int i = 0; i < PULSES; i++)
		ops[i] = i < 50 ? first : i < 100 ? middle : last;
	ops[PULSES - 1] = 0; /* the run ended in this pulse */
	return (struct pulses){.pulse_ns = 20000000, .ops = ops, .count = PULSES};
}

TEST(rate_that_still_changes_is_noted)
{
	static const struct {
		uint32_t first, middle, last;
		const char *text;
	} cases[] = {
		{1, 1000, 1101,
			"not steady: the rate rose by 10 % from the middle third of the time to the last third; raise --count"},
		{1, 1000, 1099, NULL}, {1000, 1000, 901, NULL},
		{1000, 1000, 250, "not steady: the rate fell by 75 %"},
		{39, 39, 20, NULL}}; /* too few to be significant */
	uint32_t ops[PULSES], steady[PULSES];
	struct pulses pulses[] = {pulses_of(ops, 1, 1, 1), pulses_of(steady, 500, 500, 500)};
	begin(NB_VERB_PUT);
	result.measured.series = (struct series){.pulses = pulses, .pulses_count = 2};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		pulses_of(ops, cases[i].first, cases[i].middle, cases[i].last);
		check("drift", cases[i].text, i);
	}
	pulses_of(ops, 1000, 1000, 250);
	result.is_paced = true; /* the rate is the requested one */
	check("drift", NULL, 100);
	result.is_paced = false;
	pulses[0].pulse_ns = 6666666; /* less than a second in all */
	check("drift", NULL, 101);
	end();
}

TEST(warm_up_need_not_be_steady)
{
	uint32_t ops[PULSES];
	struct pulses pulses = pulses_of(ops, 100, 100, 1000);
	struct sample samples[] = {{.end_ns = 2001000000, .phase = 0, .is_warmup = 1},
		{.end_ns = 3000000000, .phase = 0},
		{.end_ns = 3000000000, .phase = 1, .is_warmup = 1}};
	begin(NB_VERB_PUT);
	for (int i = 0; i < 50; i++)
		ops[100 + i] = 2000 + (uint32_t)i;
	pulses.pulse_ns = 21000000; /* 50 pulses take more than a second */
	samples[0].end_ns = 99 * pulses.pulse_ns + 1;
	result.measured.series = (struct series){.pulses = &pulses, .pulses_count = 1};
	result.is_bound_by_time = true;
	ck_assert_ptr_nonnull(strstr(note("drift"), "raise --duration, or add a --warmup"));
	result.measured.series.samples = samples;
	result.measured.series.count = 3;
	check("drift", NULL, 0);
	pulses_of(ops, 100, 100, 1000);
	samples[0].end_ns = 1;
	ck_assert_ptr_nonnull(strstr(note("drift"), "raise --duration, or --warmup"));
	pulses.count = 0;
	check("drift", NULL, 1);
	end();
}

TEST(counters_that_decreased_are_named_and_truncated)
{
	struct counter items[100];
	for (size_t i = 0; i < 100; i++)
		items[i] = (struct counter){.name = (char *)(uintptr_t) "a_rather_long_name"};
	begin(NB_VERB_PUT);
	result.measured.counters = (struct counters){.items = items, .count = 100};
	check("ran-backwards", NULL, 0);
	items[0] = (struct counter){.name = (char *)(uintptr_t) "reads", .has_run_back = true};
	items[2] = (struct counter){.name = (char *)(uintptr_t) "splits", .has_run_back = true};
	ck_assert_str_eq(note("ran-backwards"),
		"counters of the engine ran backwards and are left out: reads, splits");
	for (size_t i = 0; i < 100; i++)
		items[i].has_run_back = true;
	ck_assert_uint_lt(strlen(note("ran-backwards")), 512);
	end();
}

TEST(empty_run_has_sensible_notes)
{
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		begin(verb);
		nb_histogram_reset(result.measured.service);
		result.measured = (struct measurement){.has_begun = true,
			.is_partial = true,
			.service = result.measured.service};
		result.measured.usage = (struct system_counts){.busy_ns = 90000000};
		(void)note("short");
		for (size_t i = 0; i < result.note_count; i++) {
			ck_assert_ptr_null(strstr(result.notes[i].text, "nan"));
			ck_assert_ptr_null(strstr(result.notes[i].text, "inf"));
		}
		end();
	}
}
