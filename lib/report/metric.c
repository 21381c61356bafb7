/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of metrics, and the functions that take their values from a run.
 *
 * A value is as measured, in the unit that ends the metric's name. It is unknown if the
 * system did not count it, if it does not apply, or if a percentile has too few samples.
 * The first columns of the table identify the row. Those from "wall_ns" on describe the
 * operations of the row, and those from "settled_ops_s" on the whole run. Append a new
 * metric at the end, because programs may count columns.
 */
#include "report/metric.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/histogram.h"
#include "base/units.h"

static struct metric_value
count_of(uint64_t count)
{
	return (struct metric_value){
		.type = METRIC_COUNT, .count = count, .real = (double)count};
}

static struct metric_value
real_of(double real)
{
	return (struct metric_value){.type = METRIC_REAL, .real = real};
}

static struct metric_value
text_of(const char *text)
{
	return (struct metric_value){.type = METRIC_TEXT, .text = text};
}

static struct metric_value
unknown(void)
{
	return (struct metric_value){.type = METRIC_UNKNOWN};
}

/** A real value; 0 means unknown. */
static struct metric_value
known(double real)
{
	return real != 0 ? real_of(real) : unknown();
}

/* ---- the identity of a row ---- */

#define TAKE(name) \
	static struct metric_value take_##name(const struct metric *metric \
		__attribute__((unused)), \
		const struct metric_source *source)
#define TAKE_TEXT(name, text) \
	TAKE(name) \
	{ \
		return text_of(text); \
	}
#define TAKE_OF_GROUP(name, member) \
	TAKE(name) \
	{ \
		const struct record_group *group = source->row != NULL ? source->row->group \
								       : NULL; \
		return group != NULL ? count_of(group->member) : unknown(); \
	}

TAKE(result)
{
	return source->row != NULL ? count_of(source->row->index) : unknown();
}

TAKE_TEXT(title, source->row != NULL ? source->row->title : record_name(source->record))
TAKE_TEXT(driver, source->record->driver)
TAKE_TEXT(version, source->summary.version)
TAKE_TEXT(label, source->record->label)
TAKE_TEXT(action, record_action(source->record))
TAKE_TEXT(kind, source->row != NULL ? source->row->kind : "")
TAKE_TEXT(series, source->row != NULL ? source->row->series : "")
TAKE_TEXT(digest, source->digest)
TAKE_TEXT(begun, source->record->run != NULL ? source->record->run->environment.begun : "")

TAKE(block)
{
	return known(source->record->block);
}

TAKE(durability)
{
	return source->summary.is_measured
		? text_of(nb_durability_name(source->summary.durability))
		: unknown();
}

TAKE(group)
{
	const struct walk_row *row = source->row;
	return text_of(row != NULL && row->group != NULL ? row->group->name : "");
}

TAKE_OF_GROUP(phase, phase)
TAKE_OF_GROUP(threads, thread_count)
TAKE_OF_GROUP(background, is_background)

/* ---- operations ---- */

static bool
has_operations(const struct walk_row *row)
{
	return row != NULL && (row->what == WALK_KIND || row->what == WALK_ALL);
}

TAKE(wall)
{
	return has_operations(source->row) ? count_of(source->row->group->wall_ns) : unknown();
}

TAKE(ops)
{
	if (source->row == NULL)
		return count_of(source->summary.ops);
	return has_operations(source->row) ? count_of(source->row->ops) : unknown();
}

TAKE(rate)
{
	const struct walk_row *row = source->row;
	if (row == NULL)
		return real_of(source->summary.rate_ops_s);
	return has_operations(row) ? real_of(result_rate((double)row->ops, row->group->wall_ns))
				   : unknown();
}

/** Take a uint64_t member of the row. */
static struct metric_value
take_of_row(const struct metric *metric, const struct metric_source *source)
{
	uint64_t count;
	if (!has_operations(source->row))
		return unknown();
	memcpy(&count, (const char *)source->row + metric->at, sizeof(count));
	return count_of(count);
}

/* ---- times ---- */

TAKE(samples)
{
	return source->histogram != NULL ? count_of(nb_histogram_count(source->histogram))
					 : unknown();
}

/** Whether operations were timed one by one, if there were any. */
static bool
has_times(const struct metric_source *source)
{
	uint64_t ops = source->row != NULL ? source->row->ops : source->summary.ops;
	return source->histogram != NULL &&
		(nb_histogram_count(source->histogram) > 0 || ops == 0);
}

TAKE(mean)
{
	return has_times(source) ? real_of(nb_histogram_mean(source->histogram)) : unknown();
}

TAKE(min)
{
	return has_times(source) ? count_of(nb_histogram_min(source->histogram)) : unknown();
}

TAKE(max)
{
	return has_times(source) ? count_of(nb_histogram_max(source->histogram)) : unknown();
}

static struct metric_value
take_percentile(const struct metric *metric, const struct metric_source *source)
{
	const struct nb_histogram *histogram = source->histogram;
	return histogram != NULL && nb_histogram_supports(histogram, metric->number, NULL)
		? count_of(nb_histogram_percentile(histogram, metric->number))
		: unknown();
}

/* ---- the whole run ---- */

/** Take a double member of the source; 0 means unknown. */
static struct metric_value
take_real(const struct metric *metric, const struct metric_source *source)
{
	double real;
	memcpy(&real, (const char *)source + metric->at, sizeof(real));
	return known(real);
}

/** Take a uint64_t member of the source; 0 means unknown. */
static struct metric_value
take_count(const struct metric *metric, const struct metric_source *source)
{
	uint64_t count;
	memcpy(&count, (const char *)source + metric->at, sizeof(count));
	return known((double)count);
}

/**
 * A count of the whole machine per operation, whoever caused it. The operations include
 * those of a warm-up and of background groups.
 */
static struct metric_value
take_per_any_op(const struct metric *metric, const struct metric_source *source)
{
	uint64_t count;
	const struct nb_result *run = source->record->run;
	if (run == NULL || (run->measured.used.known & metric->known) == 0 ||
		run->measured.usage_ops == 0)
		return unknown();
	memcpy(&count, (const char *)&run->measured.used + metric->at, sizeof(count));
	return known((double)count * metric->number / (double)run->measured.usage_ops);
}

/** A count of the process per operation, if the process did nothing else. */
static struct metric_value
take_per_op(const struct metric *metric, const struct metric_source *source)
{
	return source->record->run == NULL || record_no_cpu(source->record) != NULL
		? unknown()
		: take_per_any_op(metric, source);
}

TAKE(batch)
{
	const struct nb_result *run = source->record->run;
	uint64_t p50_ns = run != NULL && run->measured.batch != NULL
		? histogram_supported(run->measured.batch, 50)
		: 0;
	return known((double)p50_ns);
}

TAKE(server_cpu)
{
	const struct nb_result *run = source->record->run;
	return run != NULL && run->measured.usage_ops > 0
		? known((double)run->measured.server.cpu_ns / (double)run->measured.usage_ops)
		: unknown();
}

/** A count of private servers. */
static struct metric_value
take_server(const struct metric *metric, const struct metric_source *source)
{
	uint64_t count;
	const struct nb_result *run = source->record->run;
	if (run == NULL)
		return unknown();
	memcpy(&count, (const char *)&run->measured.server + metric->at, sizeof(count));
	return known((double)count);
}

/** A figure of the control group; in a run with a limit, 0 is a known value. */
static struct metric_value
take_memory(const struct metric *metric, const struct metric_source *source)
{
	uint64_t count;
	const struct nb_result *run = source->record->run;
	if (run == NULL || run->measured.memory.limit_bytes == 0)
		return unknown();
	memcpy(&count, (const char *)&run->measured.memory + metric->at, sizeof(count));
	return count_of(count);
}

/** 0 is a known value, and the one to look for. */
TAKE(commits)
{
	const struct nb_result *run = source->record->run;
	return run != NULL && (run->measured.used.known & SYSTEM_SYNCS) != 0
		? count_of(run->measured.commits)
		: unknown();
}

TAKE(syncs)
{
	const struct nb_result *run = source->record->run;
	return run != NULL && (run->measured.used.known & SYSTEM_SYNCS) != 0
		? count_of(result_syncs(&run->measured.used))
		: unknown();
}

TAKE(resident)
{
	return source->summary.is_measured && source->figures.resident_share >= 0
		? real_of(source->figures.resident_share)
		: unknown();
}

TAKE(end)
{
	return text_of(source->summary.end[0] != '\0' ? source->summary.end
			: source->summary.is_partial  ? "partial"
						      : "done");
}

/* ---- the table ---- */

#define AT(member) .at = offsetof(struct metric_source, member)
#define ROW(member) .take = take_of_row, .at = offsetof(struct walk_row, member)
#define REAL(member) .take = take_real, AT(member)
#define COUNT(member) .take = take_count, AT(member)
#define MEMORY(member) .take = take_memory, .at = offsetof(struct memory_use, member)
#define SERVER(member) .take = take_server, .at = offsetof(struct target_usage, member)
#define PER_OP(member, group, factor) .take = take_per_op, COUNTED(member, group, factor)
#define PER_ANY_OP(member, group, factor) \
	.take = take_per_any_op, COUNTED(member, group, factor)
#define COUNTED(member, group, factor) \
	.at = offsetof(struct system_counts, member), .known = SYSTEM_##group, .number = factor
#define LATENCY \
	"The upper end of a histogram's bucket: never too low, too high by less than 0.1 %. " \
	"Never averaged: of several threads or groups it is that of their merged histograms. " \
	"At least ten operations must lie beyond it; else it is blank. The service times of " \
	"a " \
	"closed loop leave out the waiting of operations that would have come meanwhile."
#define PERCENTILE(text, percent) \
	.name = "p" text "_ns", .title = "p" text, .unit = METRIC_NS, .take = take_percentile, \
	.number = percent, \
	.what = "the time within which " text " % of the operations were done", .how = LATENCY

/* clang-format off */
const struct metric metric_table[] = {
	{"result", .take = take_result, .what = "number of the run, from 0",
		.how = "The same number in all files of one call.", .where = "csv"},
	{"title", .take = take_title, .what = "the name of the run beside others",
		.how = "The driver, the difference between several of one driver, and a number if "
			"they still have the same name.", .where = "csv"},
	{"driver", .line = "Driver", .take = take_driver,
		.what = "the engine, by the name that --driver takes",
		.how = "The line Engine has its version.", .where = "text, csv, md, html"},
	{"version", .take = take_version, .what = "the engine's version",
		.how = "Of the library that was loaded.", .where = "text, csv, md, html"},
	{"label", .take = take_label, .what = "the difference between several runs of one engine",
		.how = "For example \"sweep 40 %\".", .where = "csv"},
	{"block", .take = take_block, .what = "the repetition of a comparison, from 1",
		.how = "Empty if the run is not part of a comparison.", .where = "csv"},
	{"action", .line = "Action", .take = take_action,
		.what = "action: put, get, delete, load, run or replay",
		.how = "As requested.", .where = "text, csv, md, html"},
	{"durability", .line = "Durability", .take = take_durability,
		.what = "crashes that acknowledged writes survive",
		.how = "none: kill -9 may lose them; process: they survive it, as after write(2); "
			"periodic: power loss takes the last interval; commit: they survive power "
			"loss, as after fsync(2). Rates at different levels are of different work.",
		.where = "text, csv, md, html"},
	{"group", .take = take_group, .what = "the group of threads of a job",
		.how = "By the name in the job file.", .where = "text, csv, md, html"},
	{"phase", .take = take_phase, .what = "the phase of the group, from 0",
		.how = "Groups of one phase run side by side, phases one after the other.",
		.where = "csv"},
	{"threads", .line = "Threads", .take = take_threads,
		.what = "threads that did operations",
		.how = "Threads of the engine itself are not counted.", .where = "text, csv, md"},
	{"is_background", .take = take_background,
		.what = "1: the group runs beside others and is not counted with them",
		.how = "As the job file says.", .where = "csv"},
	{"kind", .take = take_kind,
		.what = "the kind of operation, or all of a group; harness and hiccups are lateness",
		.how = "Of counters: counter, which grows, or gauge, which is a level.",
		.where = "csv"},
	{"series", .take = take_series,
		.what = "which time it is: service, response or lateness",
		.how = "Each of the three has an explanation.", .where = "csv"},
	{"wall_ns", .line = "Wall time", .unit = METRIC_NS, .take = take_wall,
		.what = "from the first operation's begin to the last one's end",
		.how = "By the clock of the line Clock, over all threads of the group; without "
			"opening, loading, settling and closing.", .where = "text, csv"},
	{"ops", .title = "ops", .take = take_ops, .what = "operations that count",
		.how = "Those of a warm-up do not count.", .where = "text, csv, md, html"},
	{"rate_ops_s", .title = "ops/s", .json = "throughput_ops_s", .unit = METRIC_OPS_S,
		.take = take_rate, .figure = {"throughput", "in throughput", true, true},
		.what = "operations a second",
		.how = "Operations over the time from the first to the last of the group; for all "
			"groups of a run that are side by side, the sum of their rates. It is not "
			"made from the mean latency.", .where = "text, csv, md, html, compare"},
	{"records", .line = "Records", ROW(records),
		.what = "records: in the head those that are loaded, of a group those read or written",
		.how = "A scan or a batch is one operation of many records.",
		.where = "text of jobs, csv"},
	{"value_bytes", .line = "Value bytes", .unit = METRIC_BYTES, ROW(bytes),
		.what = "bytes of values that were read or written",
		.how = "Without keys.", .where = "text of jobs, csv"},
	{"not_found", .line = "Not found", ROW(answers[NB_NOT_FOUND]),
		.what = "operations whose key was not there",
		.how = "An answer and not a failure. A get that finds nothing is usually faster than "
			"one that finds something, so a rate with many of them says little.",
		.where = "text, csv, md, html"},
	{"conflicts", .line = "Conflicts", ROW(answers[NB_CONFLICT]),
		.what = "times that the engine asked to try an operation again",
		.how = "Each was tried again, within the same latency.", .where = "text, csv"},
	{"samples", .take = take_samples, .what = "number of samples of the row's times",
		.how = "Few of them support few percentiles.", .where = "csv"},
	{"mean_ns", .title = "mean", .line = "Avg latency", .unit = METRIC_NS, .take = take_mean,
		.what = "the arithmetic mean of the times",
		.how = "From the exact sum. A few very slow operations move it far; see the "
			"percentiles.", .where = "text of put, get, delete, csv, md"},
	{"min_ns", .line = "Min latency", .unit = METRIC_NS, .take = take_min,
		.what = "the shortest time",
		.how = "Exact. It includes the cost of the two clock stamps.",
		.where = "text of put, get, delete, csv"},
	{PERCENTILE("50", 50), .figure = {"p50", "at p50", false, true},
		.where = "text, csv, md, html, compare"},
	{PERCENTILE("75", 75), .where = "csv, md"},
	{PERCENTILE("90", 90), .figure = {"p90", "at p90", false, false},
		.where = "csv, md, html, compare"},
	{PERCENTILE("95", 95), .where = "csv, md"},
	{PERCENTILE("99", 99), .figure = {"p99", "at p99", false, true},
		.where = "text, csv, md, html, compare"},
	{PERCENTILE("99.9", 99.9), .figure = {"p99.9", "at p99.9", false, true},
		.where = "text, csv, md, html, compare"},
	{PERCENTILE("99.99", 99.99), .figure = {"p99.99", "at p99.99", false, false},
		.where = "text, csv, md, html, compare"},
	{PERCENTILE("99.999", 99.999), .where = "csv"},
	{"max_ns", .title = "max", .line = "Max latency", .unit = METRIC_NS, .take = take_max,
		.what = "the longest time",
		.how = "Exact; of a stretch of time the upper end of its bucket. It is a single "
			"operation, grows with the length of the run, and differs in the next run.",
		.where = "text, csv, md, html"},
	{"settled_ops_s", .title = "settled", .line = "Settled throughput",
		.json = "settled_throughput_ops_s", .unit = METRIC_OPS_S,
		REAL(summary.settled_ops_s), .figure = {"settled", "in settled throughput", true, true},
		.what = "writes a second, with the work that they put off",
		.how = "Operations over wall time and the time to flush, to compact and to close. An "
			"engine that cannot be asked to flush or compact may still owe some work, "
			"which a note says. Blank if there was nothing to settle.",
		.where = "text, csv, md, html, compare"},
	{"cpu_ns_op", .title = "CPU/op", .line = "CPU time", .json = "cpu_ns_op",
		.unit = METRIC_NS, REAL(summary.cpu_ns_op),
		.what = "CPU time of an operation, in user code and in the kernel",
		.how = "getrusage(2), of all threads of the process while the operations ran. It "
			"includes the engine's background threads, the harness and a warm-up, and is "
			"divided by all operations that were done meanwhile. It is not known if "
			"something else used part of it: the harness's sleeping at a rate, or groups "
			"in the background. Of several processes it is not known.",
		.where = "text, csv, md"},
	{"database_bytes", .title = "database", .line = "Database", .unit = METRIC_BYTES,
		COUNT(summary.data_bytes), .what = "space that the database takes after closing",
		.how = "Allocated blocks of all its files, holes not counted. After settling, so "
			"without the data that compaction removed. In a series: at the end of the "
			"stretch, looked at seldom.", .where = "text, csv, md, html"},
	{"max_resident_bytes", .title = "memory", .line = "Memory", .unit = METRIC_BYTES,
		COUNT(summary.max_resident_bytes),
		.what = "the most memory that the process had resident",
		.how = "getrusage(2), of the whole process since it began. It includes the harness, "
			"the keys, and pages of mapped files. Its parts are those at the end of the "
			"operations.", .where = "text, csv, md, html"},
	{"cycles_op", .line = "Processor", PER_OP(cycles, CYCLES, 1),
		.what = "cycles of the processor for an operation; the line also has the next two",
		.how = "perf_event_open(2), all threads of the process, the harness's too. Most "
			"virtual machines have no such counters.", .where = "text, csv, md, html"},
	{"instructions_op", PER_OP(instructions, CYCLES, 1),
		.what = "instructions for an operation", .how = "As cycles_op.", .where = "csv"},
	{"cache_misses_op", PER_OP(cache_misses, CACHE, 1),
		.what = "misses of the last cache for an operation", .how = "As cycles_op.",
		.where = "csv"},
	{"live_bytes", .unit = METRIC_BYTES, COUNT(figures.live_bytes),
		.what = "keys and values that should be in the database in the end",
		.how = "Computed from the operations that were done.", .where = "csv"},
	{"logical_read_bytes", .unit = METRIC_BYTES, COUNT(figures.logical_read_bytes),
		.what = "keys and values that were returned",
		.how = "Bytes read at each layer are divided by it.", .where = "csv"},
	{"logical_write_bytes", .unit = METRIC_BYTES, COUNT(figures.logical_write_bytes),
		.what = "keys and values that were put, and keys that were deleted",
		.how = "Bytes written at each layer are divided by it.", .where = "csv"},
	{"write_amplification_calls", REAL(figures.write_calls),
		.what = "bytes written by write(2) and similar calls, for one byte that was requested",
		.how = "See Bytes written.", .where = "csv"},
	{"write_amplification_storage", REAL(figures.write_storage),
		.what = "bytes that the process dirtied for storage, for one byte that was requested",
		.how = "See Bytes written.", .where = "csv"},
	{"write_amplification_device", REAL(figures.write_device),
		.what = "bytes that the block device wrote, for one byte that was requested",
		.how = "See Bytes written.", .where = "csv"},
	{"read_amplification_calls", REAL(figures.read_calls),
		.what = "bytes read by read(2) and similar calls, for one byte that was requested",
		.how = "See Bytes read.", .where = "csv"},
	{"read_amplification_storage", REAL(figures.read_storage),
		.what = "bytes that the process fetched from storage, for one byte that was requested",
		.how = "See Bytes read.", .where = "csv"},
	{"read_amplification_device", REAL(figures.read_device),
		.what = "bytes that the block device read, for one byte that was requested",
		.how = "See Bytes read.", .where = "csv"},
	{"commits", .take = take_commits, .what = "writes that were acknowledged",
		.how = "With those of the warm-up. A batch or a transaction is one.", .where = "csv"},
	{"syncs", .line = "Syncs", .take = take_syncs,
		.what = "calls that made data durable while the operations ran",
		.how = "fsync, fdatasync, msync with MS_SYNC, sync and syncfs that succeeded, of the "
			"process and those that it forked, of any file; the report also has them per "
			"acknowledged write, and those until the database was closed. A batch or a "
			"transaction is one write. Not seen: io_uring, files open with O_DSYNC, "
			"persistent memory, system calls not by the C library.",
		.where = "text, csv, md, html"},
	{"space_amplification", .line = "Space amplification", REAL(figures.space),
		.what = "bytes of allocated blocks for one byte of live keys and values",
		.how = "See Space.", .where = "csv, md"},
	{"longest_gap_ns", .unit = METRIC_NS, COUNT(figures.stalls.longest_gap_ns),
		.what = "the longest time without an operation", .how = "See Stalls.",
		.where = "csv"},
	{"slow_ns", .unit = METRIC_NS, COUNT(figures.stalls.slow_ns),
		.what = "time below half of the median rate, gaps included", .how = "See Stalls.",
		.where = "csv"},
	{"resident_share_at_begin", .line = "In the page cache at the begin",
		.take = take_resident,
		.what = "share of the database's pages that were resident before the first operation",
		.how = "mincore(2), which reads nothing. 0 to 1.", .where = "csv, md"},
	{"stream_digest", .line = "Stream digest", .take = take_digest,
		.what = "a name for the stream of operations that was requested",
		.how = "A hash of keys, workload and seed. Runs with different digests did different "
			"operations; do not compare their rates.", .where = "text, csv, md, html"},
	{"begun", .take = take_begun, .what = "when the run began, by the clock of the day",
		.how = "With the offset of its time zone.", .where = "csv, md"},
	{"end", .take = take_end, .what = "how the run ended: done, partial, or what went wrong",
		.how = "If the engine failed, its text.", .where = "text, csv, md, html"},
	{"energy_j_op", .line = "Energy", .json = "energy_j_op", .unit = METRIC_J,
		PER_ANY_OP(package_energy_uj, ENERGY, 1e-6), .missing = "energy: ",
		.what = "energy that the processor packages used for an operation, in joules",
		.how = "Counters of RAPL below /sys/class/powercap, from the first operation's begin to the "
			"last one's end, over all operations that were done meanwhile. They are of whole "
			"packages: what other programs and the idle machine used is part of it; memory, "
			"disks and fans are not. Usually only root may read them.",
		.where = "text, csv, md, json"},
	{"batch_p50_ns", .line = "Batch, p50", .unit = METRIC_NS, .take = take_batch,
		.missing = "batch: ", .is_optional = true,
		.what = "the time within which half of the batches were done",
		.how = "A batch is the requests that a thread hands over together. Its time is from that "
			"to the moment at which the thread has reaped the last of them. Only with --depth.",
		.where = "text, csv, md"},
	{"memory_limit_bytes", .line = "Memory limit", .unit = METRIC_BYTES,
		MEMORY(limit_bytes), .is_optional = true,
		.what = "memory that the engine and its page cache may use",
		.how = "The limit of --memory. The control group of the run has this limit and what "
			"mininb needs itself, which it measured on the null engine; no swap.",
		.where = "text, csv, md"},
	{"memory_harness_bytes", .unit = METRIC_BYTES, MEMORY(harness_bytes),
		.is_optional = true, .what = "memory that was added to the limit for mininb itself",
		.how = "The most that the same job on the null engine used, for at most 0.3 s.",
		.where = "csv"},
	{"memory_peak_bytes", .line = "Memory peak", .unit = METRIC_BYTES, MEMORY(peak_bytes),
		.is_optional = true,
		.what = "the most memory that the run used, page cache included",
		.how = "Of the control group, mininb's own part included. An engine that reads more "
			"data than the limit reaches the limit, because the page cache fills it.",
		.where = "text, csv, md"},
	{"memory_file_bytes", .unit = METRIC_BYTES, MEMORY(file_bytes), .is_optional = true,
		.what = "page cache that was charged to the run after settling",
		.how = "Pages that another process cached before do not count, so mininb evicts the "
			"files of the database first.", .where = "csv"},
	{"memory_pressure_ns", .unit = METRIC_NS, MEMORY(pressure_ns), .is_optional = true,
		.what = "time in which at least one task waited for memory",
		.how = "Pressure stall information of the control group; 0 with version 1, which has "
			"none.", .where = "csv"},
	{"memory_kills", MEMORY(kills), .is_optional = true,
		.what = "processes that the kernel killed because of the limit",
		.how = "oom_kill of the control group.", .where = "csv"},
	{"server_cpu_ns_op", .line = "Server CPU/op", .unit = METRIC_NS, .take = take_server_cpu,
		.missing = "server: ", .is_optional = true,
		.what = "CPU time of private servers for an operation",
		.how = "By the CPU clocks of the servers and their children while the operations ran, "
			"over all operations that were done meanwhile; a warm-up is included. Of "
			"children that ended, in ticks of 10 ms. CPU time is the client's.",
		.where = "text, csv, md"},
	{"server_resident_bytes", .line = "Server memory", .unit = METRIC_BYTES,
		SERVER(resident_bytes), .missing = "server: ", .is_optional = true,
		.what = "memory of private servers after the last operation",
		.how = "The proportional set of the servers and their children: a page that several "
			"share is counted once. Memory is the client's.", .where = "text, csv, md"},
	{"server_storage_read_bytes", .line = "Server reads", .unit = METRIC_BYTES,
		SERVER(storage_read_bytes), .missing = "reads of the server: ", .is_optional = true,
		.what = "bytes that private servers fetched from storage",
		.how = "/proc/PID/io, while the operations ran.", .where = "text, csv, md"},
	{"server_storage_write_bytes", .line = "Server writes", .unit = METRIC_BYTES,
		SERVER(storage_write_bytes), .missing = "writes of the server: ", .is_optional = true,
		.what = "bytes of pages that private servers made dirty, to be written later",
		.how = "/proc/PID/io, while the operations ran; without those removed before.",
		.where = "text, csv, md"},
	{NULL, .take = NULL},
};
/* clang-format on */

static bool
is_named(const char *own, const char *name)
{
	return own != NULL && strcmp(own, name) == 0;
}

const struct metric *
metric_find(const char *name)
{
	for (const struct metric *it = metric_table; it->name != NULL; it++) {
		if (is_named(it->name, name) || is_named(it->title, name) ||
			is_named(it->line, name))
			return it;
	}
	return NULL;
}

void
metric_source_create(struct metric_source *source, const struct record *record)
{
	*source = (struct metric_source){.record = record, .figures.resident_share = -1};
	if (record->run == NULL) {
		snprintf(source->summary.end, sizeof(source->summary.end), "%s", record->end);
		return;
	}
	record_summary(record, &source->summary);
	record_figures(record, &source->figures);
	source->histogram = record_latency(record, false);
	snprintf(source->digest, sizeof(source->digest), "%016" PRIx64, source->summary.digest);
}

struct metric_value
metric_take(const struct metric *metric, const struct metric_source *source)
{
	return metric->take(metric, source);
}

const char *
metric_unit_name(enum metric_unit unit)
{
	static const char *const names[] = {[METRIC_NONE] = "",
		[METRIC_NS] = "ns",
		[METRIC_BYTES] = "bytes",
		[METRIC_OPS_S] = "ops/s",
		[METRIC_J] = "J"};
	return names[unit];
}

/** Format for people: "3.07 us", "12.3 MiB"; "" if unknown. */
static void
format(const struct metric *metric, struct metric_value value, char *text, size_t size)
{
	text[0] = '\0';
	if (value.type == METRIC_TEXT)
		snprintf(text, size, "%s", value.text);
	else if (value.type != METRIC_UNKNOWN && metric->unit == METRIC_NS)
		units_format_ns(text, size, value.real);
	else if (value.type != METRIC_UNKNOWN && metric->unit == METRIC_BYTES)
		units_format_bytes(text, size, value.real);
	else if (value.type == METRIC_REAL && metric->unit == METRIC_J)
		snprintf(text, size, "%.3g uJ", value.real * 1e6);
	else if (value.type == METRIC_COUNT)
		snprintf(text, size, "%" PRIu64, value.count);
	else if (value.type == METRIC_REAL)
		snprintf(
			text, size, metric->unit == METRIC_OPS_S ? "%.0f" : "%.3g", value.real);
}

void
metric_line(const struct metric *metric, const struct metric_source *source, char *text,
	size_t size)
{
	const struct nb_result *run = source->record->run;
	format(metric, metric_take(metric, source), text, size);
	const char *why = text[0] == '\0' && run != NULL
		? strstr(run->measured.used_missing, metric->missing)
		: NULL;
	if (why == NULL)
		return;
	why += strlen(metric->missing);
	snprintf(text, size, "not available: %.*s", (int)strcspn(why, ";"), why);
}
