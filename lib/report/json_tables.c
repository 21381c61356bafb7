/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Members of records by their names in a result file: in words, with units. The order is
 * that of the file; the most important members come first.
 */
#include "report/json_tables.h"

#include "report/json_custom.h"
#include "run/options.h"
#include "run/steps.h"
#include "workload/dist.h"

#define END \
	{ \
		.name = NULL \
	}
#define NAMES(...) \
	.names = (const char *const[]){__VA_ARGS__}, \
	.count = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)

#define NAMES_OF(function, number) .name_of = function, .count = number

/* ---- names of values ---- */

const struct json_names json_verbs = {NAMES_OF(nb_verb_name, NB_VERB_DELETE + 1)};
const struct json_names json_kinds = {NAMES_OF(nb_op_name, NB_KINDS_MAX), .are_kinds = true};
static const struct json_names durabilities = {NAMES_OF(nb_durability_name, NB_DUR_COMMIT + 1)};
static const struct json_names settles = {NAMES_OF(run_settle_name, NB_RUN_SETTLE_COMPACT + 1)};
static const struct json_names distributions = {NAMES_OF(dist_name, NB_DIST_KINDS)};
#define NAME(id, name) name,
static const char *const clock_names[] = {NB_CLOCK_LIST(NAME)};
#undef NAME
static const struct json_names clocks = {clock_names, NB_CLOCK_MONOTONIC + 1};
static const struct json_names colds = {NAMES("no", "files", "caches")};
static const struct json_names ways_to_sync = {
	NAMES("dsync_file", "persistent_memory", "io_uring")};
static const struct json_names arrivals = {NAMES("closed", "fixed", "poisson")};
#define TEST_NAME(id, name) , name
static const struct json_names masstree_tests = {NAMES("none" MASSTREE_TESTS(TEST_NAME))};
#undef TEST_NAME
static const struct json_names key_ranges = {NAMES("shared", "private")};
static const struct json_names insert_verbs = {NAMES("put", "insert")};
static const struct json_names answers = {
	NAMES("ok", "not_found", "conflict", "exists", "pending")};
static const struct json_names caps = {
	NAMES("ordered", "persistent", "concurrent", "atomic_batch", "snapshot", "zero_copy",
		"multi_process", "synthetic", "remote", "serializable", "copies")};
static const struct json_names run_flags = {
	NAMES("pin", "allow_missing", "fresh", "cold", "hardware", "force")};
static const struct json_names value_verdicts = {
	NAMES("good", "wrong_size", "other_key", "corrupt", "stale")};
static const struct json_names job_verdicts = {
	NAMES("good", "missing", "wrong_size", "other_key", "corrupt", "stale", "unordered",
		"gap", "phantom", "exists", "torn", "wrong_sum", "lost_update", "write_skew")};

static const char *const known_names[] = {
#define NAME(group, name, ...) name,
	SYSTEM_GROUPS(NAME)
#undef NAME
};
static const struct json_names known = {known_names, SYSTEM_GROUP_COUNT};

static const struct json_names levels = {NAMES_OF(steps_level_name, STEPS_LEVELS)};
static const struct json_names row_hows = {NAMES("unknown", "engine", "scan")};
static const struct json_names counter_kinds = {NAMES("counter", "gauge")};
static const struct json_names scopes = {NAMES("run", "job")};

/* clang-format off */

/* ---- the command ---- */

static const struct json_field command_option_fields[] = {
	FIELD_FILLED_TEXT(record_option, "name", name, KEEP, "of the option"),
	FIELD_FILLED_TEXT(record_option, "value", value, KEEP, "as it would be typed"),
	END,
};

const struct json_field json_command_fields[] = {
	FIELD_TEXT(record_command, "action", action, KEEP, "of the command; null: not known"),
	FIELD_TEXT(record_command, "directory", directory, KEEP, "that it was called in"),
	FIELD_TEXTS(record_command, "words", words, word_count, JSON_LIST_MAX, KEEP, "as typed, without the program"),
	FIELD_LIST(record_command, "options", options, option_count, command_option_fields, JSON_LIST_MAX, KEEP, "all effective options"),
	FIELD_TEXT(record_command, "job", job, KEEP, "the workload as a file; null: there was none"),
	END,
};

const struct json_field json_head_fields[] = {
	FIELD_OBJECT(nb_results, "command", command, json_command_fields, KEEP, "how the results were asked for"),
	FIELD_NUMBER(nb_results, "list_count", list_count, KEEP, "engines of a list that were run one after the other; 0: not a list"),
	END,
};

static const struct json_field point_fields[] = {
	FIELD_REAL(nb_curve_point, "share", share, KEEP, "of the capacity, 0 to 1 and above"),
	FIELD_REAL(nb_curve_point, "offered_ops_s", offered_ops_s, KEEP, "offered, ops/s"),
	FIELD_REAL(nb_curve_point, "achieved_ops_s", achieved_ops_s, KEEP, "done, ops/s"),
	FIELD_NUMBER(nb_curve_point, "service_p50_ns", service_p50_ns, KEEP, "median of service, ns; 0: too few"),
	FIELD_NUMBER(nb_curve_point, "service_p99_ns", service_p99_ns, KEEP, "99th percentile of service, ns; 0: too few"),
	FIELD_NUMBER(nb_curve_point, "service_p999_ns", service_p999_ns, KEEP, "99.9th percentile of service, ns; 0: too few"),
	FIELD_NUMBER(nb_curve_point, "response_p50_ns", response_p50_ns, KEEP, "median of response, ns; 0: too few"),
	FIELD_NUMBER(nb_curve_point, "response_p99_ns", response_p99_ns, KEEP, "99th percentile of response, ns; 0: too few"),
	FIELD_NUMBER(nb_curve_point, "response_p999_ns", response_p999_ns, KEEP, "99.9th percentile of response, ns; 0: too few"),
	FIELD_NUMBER(nb_curve_point, "response_max_ns", response_max_ns, KEEP, "greatest of response, ns"),
	FIELD_FLAG(nb_curve_point, "queue_grew", queue_grew, KEEP, "more and more operations were overdue"),
	END,
};

const struct json_field json_sweep_fields[] = {
	FIELD_REAL(record_sweep, "capacity_ops_s", capacity_ops_s, KEEP, "rate of a closed loop, ops/s"),
	FIELD_CHARS(record_sweep, "slo", slo, KEEP, "limit that was looked for; empty: none"),
	FIELD_REAL(record_sweep, "slo_ops_s", slo_ops_s, KEEP, "highest rate that held it, ops/s"),
	FIELD_LIST(record_sweep, "points", curve, curve_count, point_fields, JSON_LIST_MAX, KEEP, "in order of their rates", .flags = FIELD_MUST | FIELD_SIZED),
	END,
};

/* ---- members of every record ---- */

static const struct json_field interval_fields[] = {
	FIELD_NUMBER(nb_interval, "end_ns", end_ns, KEEP, "its end, ns from the first operation"),
	FIELD_NUMBER(nb_interval, "duration_ns", duration_ns, KEEP, "how long it was, ns"),
	FIELD_NUMBER(nb_interval, "phase", phase, KEEP, "that it was in"),
	FIELD_FLAG(nb_interval, "is_warmup", is_warmup, KEEP, "it does not count"),
	FIELD_NUMBER(nb_interval, "ops", ops, KEEP, "operations done within it"),
	FIELD_REAL(nb_interval, "rate_ops_s", rate_ops_s, KEEP, "operations per second"),
	FIELD_NUMBER(nb_interval, "p50_ns", p50_ns, KEEP, "median, of response times with a rate, else of service times, ns; 0: too few"),
	FIELD_NUMBER(nb_interval, "p99_ns", p99_ns, KEEP, "99th percentile, likewise, ns"),
	FIELD_NUMBER(nb_interval, "max_ns", max_ns, KEEP, "greatest, likewise, ns"),
	FIELD_NUMBER(nb_interval, "behind_ops", behind_ops, KEEP, "with a rate: operations due by then and not done"),
	END,
};

const struct json_field json_record_fields[] = {
	FIELD_CHARS(record, "label", label, KEEP, "which of several results it is"),
	FIELD_CHARS(record, "driver", driver, KEEP, "name of the engine", .flags = FIELD_MUST),
	FIELD_CHARS(record, "end", end, KEEP, "how it ended, if not well"),
	FIELD_NUMBER(record, "block", block, KEEP, "repetition of a comparison, from 1; 0: not a comparison"),
	FIELD_NUMBER(record, "contestant", contestant, KEEP, "of vs: place on the command line, from 1, which is the base; 0: not from vs"),
	FIELD_CHARS(record, "name", name, KEEP, "of vs: label of the contestant"),
	FIELD_NUMBER(record, "is_merged", is_merged, KEEP, "of how many results it was merged; 0: of its own"),
	FIELD_LIST(record, "intervals", intervals, interval_count, interval_fields, JSON_LIST_MAX, KEEP, "the lines of figures that were printed meanwhile", .flags = FIELD_SIZED),
	FIELD_CUSTOM(record, "sweep", sweep, json_write_sweep, json_read_sweep, KEEP, "curve of latency over throughput; null: it is not the capacity of a sweep"),
	END,
};

/* ---- the engine ---- */

const struct json_field json_option_fields[] = {
	FIELD_FILLED_TEXT(result_option, "name", name, KEEP, "of the option"),
	FIELD_FILLED_TEXT(result_option, "value", value, KEEP, "as it would be typed"),
	END,
};

const struct json_field json_engine_fields[] = {
	FIELD_BORROWED(nb_result, "name", engine.name, KEEP, "of the driver, as in --driver", .flags = FIELD_MUST),
	FIELD_BORROWED(nb_result, "version", engine_version, KEEP, "of the engine that was loaded"),
	FIELD_BORROWED(nb_result, "summary", engine.summary, KEEP, "one line"),
	FIELD_BORROWED(nb_result, "licence", engine.licence, KEEP, "SPDX identifier of the engine's licence"),
	FIELD_BORROWED(nb_result, "home", engine.home, KEEP, "where the engine comes from"),
	FIELD_BORROWED(nb_result, "build", engine.build, KEEP, "how the plugin was compiled: release, debug or sanitizer"),
	FIELD_FILLED_TEXT(nb_result, "path", engine_path, KEEP, "file of the plugin, or 'built in'"),
	FIELD_BITS(nb_result, "caps", engine.caps, caps, KEEP, "capabilities beside its verbs"),
	FIELD_BITS(nb_result, "durabilities", engine.durabilities, durabilities, KEEP, "levels that it offers"),
	FIELD_NAME(nb_result, "auto_durability", engine.auto_durability, durabilities, KEEP, "strongest level without a sync for each write"),
	FIELD_NUMBER(nb_result, "key_bytes_max", engine.key_size_max, KEEP, "longest key, bytes; 0: any"),
	FIELD_NUMBER(nb_result, "value_bytes_max", engine.value_size_max, KEEP, "longest value, bytes; 0: any"),
	FIELD_FLAG(nb_result, "has_counters", has_counters, ANY, "it counts something by itself"),
	FIELD_LIST(nb_result, "options", options, option_count, json_option_fields, JSON_LIST_MAX, KEEP, "its options as they were in force"),
	END,
};

/* ---- the machine ---- */

static const struct json_field sysinfo_fields[] = {
	FIELD_NUMBER(sysinfo, "memory_bytes", memory_bytes, KEEP, "memory that the process may use, bytes"),
	FIELD_NUMBER(sysinfo, "cpus", cpus, KEEP, "CPUs that it may run on"),
	FIELD_NUMBER(sysinfo, "machine_cpus", machine_cpus, KEEP, "CPUs that the machine has"),
	FIELD_CHARS(sysinfo, "hypervisor", hypervisor, KEEP, "empty: bare metal, or not known"),
	FIELD_CHARS(sysinfo, "filesystem", filesystem, KEEP, "type of the file system of the database"),
	FIELD_FLAG(sysinfo, "is_memory_filesystem", is_memory_filesystem, KEEP, "that is memory and no storage"),
	END,
};

const struct json_field json_environment_fields[] = {
	FIELD_CHARS(environment, "begun", begun, KEEP, "when the run began, ISO 8601; empty: not known"),
	FIELD_CHARS(environment, "host", host, KEEP, "name of the machine; empty: not known"),
	FIELD_CHARS(environment, "system", system, KEEP, "operating system; empty: not known"),
	FIELD_CHARS(environment, "kernel", kernel, KEEP, "kernel and architecture; empty: not known"),
	FIELD_CHARS(environment, "cpu", cpu, KEEP, "model of the CPU; empty: not known"),
	FIELD_REAL(environment, "cpu_mhz_max", cpu_mhz_max, KEEP, "highest frequency of the CPU, MHz; 0: not known"),
	FIELD_NUMBER(environment, "sockets", sockets, KEEP, "sockets; 0: not known"),
	FIELD_NUMBER(environment, "numa_nodes", numa_nodes, KEEP, "NUMA nodes; 0: not known"),
	FIELD_NUMBER(environment, "threads_per_core", threads_per_core, KEEP, "hardware threads of a core; 0: not known"),
	FIELD_NUMBER(environment, "last_level_cache_bytes", last_level_cache_bytes, KEEP, "last level cache, bytes; 0: not known"),
	FIELD_CHARS(environment, "governor", governor, KEEP, "frequency governor of the first CPU; empty: not known"),
	FIELD_CHARS(environment, "turbo", turbo, KEEP, "on or off; empty: not known"),
	FIELD_CHARS(environment, "clock_source", clock_source, KEEP, "the kernel's; empty: not known"),
	FIELD_REAL(environment, "load_1m", load_1m, KEEP, "load average over a minute before the run"),
	FIELD_CHARS(environment, "container", container, KEEP, "docker, lxc, ...; empty: none is seen"),
	FIELD_NUMBER(environment, "available_bytes", available_bytes, KEEP, "memory that was free or could be freed, bytes"),
	FIELD_NUMBER(environment, "page_bytes", page_bytes, KEEP, "size of a page, bytes"),
	FIELD_CHARS(environment, "huge_pages", huge_pages, KEEP, "transparent huge pages: always, madvise, never; empty: not known"),
	FIELD_NUMBER(environment, "swap_bytes", swap_bytes, KEEP, "swap space, bytes"),
	FIELD_NUMBER(environment, "swap_used_bytes", swap_used_bytes, KEEP, "of that, used, bytes"),
	FIELD_CHARS(environment, "allocator", allocator, KEEP, "memory allocator; empty: not known"),
	FIELD_CHARS(environment, "preload", preload, KEEP, "LD_PRELOAD"),
	FIELD_CHARS(environment, "compiler", compiler, KEEP, "of mininb; empty: not known"),
	FIELD_CHARS(environment, "build", build, KEEP, "of mininb: release, debug or sanitizer; empty: not known"),
	FIELD_CHARS(environment, "revision", revision, KEEP, "git revision of mininb; empty: not known"),
	FIELD_CHARS(environment, "libraries", libraries, KEEP, "of mininb, with versions; empty: not known"),
	FIELD_CHARS(environment, "directory", directory, KEEP, "of the database, absolute; empty: not known"),
	FIELD_CHARS(environment, "mount", mount, KEEP, "where that file system is mounted; empty: not known"),
	FIELD_CHARS(environment, "mount_source", mount_source, KEEP, "mounted device; empty: not known"),
	FIELD_CHARS(environment, "mount_options", mount_options, KEEP, "with which options; empty: not known"),
	FIELD_NUMBER(environment, "filesystem_bytes", filesystem_bytes, KEEP, "size of the file system, bytes"),
	FIELD_NUMBER(environment, "free_bytes", free_bytes, KEEP, "of that, free, bytes"),
	FIELD_CHARS(environment, "device", device, KEEP, "block device below it; empty: there is none"),
	FIELD_CHARS(environment, "device_model", device_model, KEEP, "of the device; empty: not known"),
	FIELD_NUMBER(environment, "device_major", device_major, KEEP, "major number of the file system's device"),
	FIELD_NUMBER(environment, "device_minor", device_minor, KEEP, "minor number of the file system's device"),
	FIELD_FLAG(environment, "is_rotational", is_rotational, KEEP, "a disk that turns"),
	FIELD_CHARS(environment, "scheduler", scheduler, KEEP, "of the device; empty: not known"),
	END,
};

static const struct json_field clock_fields[] = {
	FIELD_NAME(clock, "kind", kind, clocks, KEEP, "which"),
	FIELD_REAL(clock, "tick_hz", tick_hz, KEEP, "ticks a second, Hz"),
	FIELD_NUMBER(clock, "ns_per_tick_q32", ns_per_tick_q32, KEEP, "ns of a tick, times 2^32"),
	FIELD_REAL(clock, "read_ns", read_ns, KEEP, "cost of a stamp, ns"),
	FIELD_REAL(clock, "step_ns", step_ns, KEEP, "resolution: all differences of stamps are multiples of it, ns"),
	END,
};

/* ---- counts and the run over time ---- */

const struct json_field json_system_fields[] = {
	FIELD_BITS(system_counts, "known", known, known, KEEP, "counts that the system gives; the others are 0"),
#define FIELD(member, column, group, what) FIELD_NUMBER(system_counts, #member, member, KEEP, what),
	SYSTEM_COUNTS_LIST(FIELD)
#undef FIELD
	END,
};

const struct json_field json_level_fields[] = {
#define FIELD(member, column, what, ...) FIELD_NUMBER(system_levels, #member, member, SUM, what),
	SYSTEM_LEVELS_LIST(FIELD)
#undef FIELD
	END,
};

const struct json_field json_counter_fields[] = {
	FIELD_FILLED_TEXT(counter, "name", name, KEEP, "as the engine calls it"),
	FIELD_FILLED_TEXT(counter, "unit", unit, KEEP, "unit: bytes, files; may be empty"),
	FIELD_NAME(counter, "kind", kind, counter_kinds, KEEP, "counter: it only grows, and the value is how much; gauge: the value is a level at the end"),
	FIELD_NUMBER(counter, "value", value, KEEP, "in the unit"),
	FIELD_FLAG(counter, "has_run_back", has_run_back, KEEP, "a counter that fell: its value has no meaning"),
	END,
};

/* ---- over time ---- */

static const struct json_field server_fields[] = {
	FIELD_NUMBER(target_usage, "servers", servers, SUM, "how many"),
	FIELD_NUMBER(target_usage, "cpu_ns", cpu_ns, SUM, "CPU time, ns"),
	FIELD_NUMBER(target_usage, "storage_read_bytes", storage_read_bytes, SUM, "bytes fetched from storage"),
	FIELD_NUMBER(target_usage, "storage_write_bytes", storage_write_bytes, SUM, "bytes of pages made dirty, to be written later"),
	FIELD_NUMBER(target_usage, "resident_bytes", resident_bytes, SUM, "memory at the end, bytes; a page that several share is counted once"),
	END,
};

const struct json_field json_latency_fields[] = {
	FIELD_NAME(sample_latency, "operation", kind, json_kinds, KEEP, "the kind"),
	FIELD_FLAG(sample_latency, "is_response", is_response, KEEP, "response times, else service times"),
	FIELD_NUMBER(sample_latency, "count", count, KEEP, "operations"),
	FIELD_NUMBER(sample_latency, "p50_ns", p50_ns, KEEP, "median, ns; 0: too few"),
	FIELD_NUMBER(sample_latency, "p99_ns", p99_ns, KEEP, "99th percentile, ns; 0: too few"),
	FIELD_NUMBER(sample_latency, "p999_ns", p999_ns, KEEP, "99.9th percentile, ns; 0: too few"),
	FIELD_NUMBER(sample_latency, "max_ns", max_ns, KEEP, "upper end of the highest bucket, ns"),
	FIELD_TEXT(sample_latency, "hdr", hdr, KEEP, "the histogram: HdrHistogram's V2 compressed encoding in base64, unit 1 ns", .flags = FIELD_MUST | FIELD_FILLED, .check = json_check_hdr),
	END,
};

const struct json_field json_sample_fields[] = {
	FIELD_NUMBER(sample, "end_ns", end_ns, KEEP, "its end, ns from the first operation"),
	FIELD_NUMBER(sample, "duration_ns", duration_ns, KEEP, "how long it was, ns"),
	FIELD_NUMBER(sample, "phase", phase, KEEP, "that it was in"),
	FIELD_FLAG(sample, "is_warmup", is_warmup, KEEP, "it does not count"),
	FIELD_NUMBER(sample, "ops", ops, KEEP, "operations done within it, of all groups"),
	FIELD_NUMBER(sample, "behind_ops", behind_ops, KEEP, "with a rate: operations due at its end and not done"),
	FIELD_LIST(sample, "latencies", latencies, latency_count, json_latency_fields, 2 * NB_KINDS_MAX, KEEP, "of each kind of operation"),
	FIELD_NUMBERS(sample, "counters", counters, counter_count, JSON_LIST_MAX, KEEP, "parallel to series.counters: how much each grew within it, or a gauge's level at its end; those beyond the last are 0"),
	FIELD_OBJECT(sample, "used", used, json_system_fields, KEEP, "the system's counts within it", .flags = FIELD_SPARSE),
	FIELD_OBJECT(sample, "levels", levels, json_level_fields, KEEP, "levels at its end", .flags = FIELD_SPARSE),
	FIELD_OBJECT(sample, "server", server, server_fields, KEEP, "use by private servers and their children within it; absent: no private server", .flags = FIELD_IF_USED),
	END,
};

static const struct json_field gap_fields[] = {
	FIELD_NUMBER(gap, "begin_ns", begin_ns, KEEP, "end of the operation before it, ns from the first operation"),
	FIELD_NUMBER(gap, "duration_ns", duration_ns, KEEP, "until the next operation's end, ns"),
	END,
};

static const struct json_field pulses_fields[] = {
	FIELD_NUMBER(pulses, "phase", phase, KEEP, "which"),
	FIELD_NUMBER(pulses, "begin_ns", begin_ns, KEEP, "its begin, ns from the first operation"),
	FIELD_NUMBER(pulses, "pulse_ns", pulse_ns, KEEP, "length of a stretch, ns"),
	FIELD_NUMBERS(pulses, "ops", ops, count, JSON_PULSES_MAX, KEEP, "operations that ended in each, warm-up included"),
	FIELD_LIST(pulses, "gaps", gaps, gap_count, gap_fields, SERIES_GAPS_MAX, KEEP, "the longest times above 60 ms in which no operation ended", .flags = FIELD_WITHIN),
	END,
};

const struct json_field json_series_fields[] = {
	FIELD_NUMBER(series, "interval_ns", interval_ns, KEEP, "of the samples, ns; the first ones may be shorter"),
	FIELD_LIST(series, "counters", counters.items, counters.count, json_counter_fields, JSON_LIST_MAX, KEEP, "names, units and kinds of the engine's counters"),
	FIELD_LIST(series, "samples", samples, count, json_sample_fields, JSON_SAMPLES_MAX, KEEP, "in order of time"),
	FIELD_LIST(series, "pulses", pulses, pulses_count, pulses_fields, NB_GROUPS_MAX, KEEP, "operations in short stretches, one list for each phase"),
	END,
};

/* ---- measurements ---- */

static const struct json_field findings_fields[] = {
	FIELD_NUMBER(worker_findings, "verified", verified, SUM, "records that were looked at"),
	FIELD_NUMBER(worker_findings, "missing", missing, SUM, "of them, not there though put, or there though deleted"),
	FIELD_COUNTS(worker_findings, "verdicts", verdicts, value_verdicts, SUM, "how values were, without those that are 0"),
	END,
};

static const struct json_field usage_fields[] = {
	FIELD_NUMBER(system_counts, "user_ns", user_ns, SUM, "CPU time in user mode, all threads, ns"),
	FIELD_NUMBER(system_counts, "system_ns", system_ns, SUM, "CPU time in the kernel, all threads, ns"),
	FIELD_NUMBER(system_counts, "involuntary_switches", involuntary_switches, SUM, "context switches since a thread was taken off its CPU"),
	FIELD_NUMBER(system_counts, "steal_ns", steal_ns, SUM, "CPU time that a hypervisor kept back, whole machine, ns"),
	FIELD_NUMBER(system_counts, "busy_ns", busy_ns, SUM, "CPU time used by all processes, whole machine, ns"),
	END,
};

const struct json_field json_residency_fields[] = {
	FIELD_FLAG(residency, "is_known", is_known, KEEP, "somebody looked"),
	FIELD_NUMBER(residency, "resident_bytes", resident_bytes, SUM, "bytes that are in memory"),
	FIELD_NUMBER(residency, "total_bytes", total_bytes, SUM, "bytes of all pages, holes not counted"),
	FIELD_NUMBER(residency, "files", files, SUM, "files that were looked at"),
	FIELD_NUMBER(residency, "unread", unread, SUM, "files that could not be looked at"),
	END,
};

/** Threads of a classic action; a job has threads in each group. */
const struct json_field json_thread_fields[] = {
	FIELD_NUMBER(job_thread, "ops", ops, KEEP, "operations that count"),
	FIELD_NUMBER(job_thread, "wall_ns", wall_ns, KEEP, "from its first to the end of its last one, ns"),
	FIELD_NUMBER(job_thread, "done", done, KEEP, "operations, warm-up included"),
	FIELD_COUNTS(job_thread, "operations", kinds, json_kinds, KEEP, "of ops, by kind"),
	END,
};

static const struct json_field phase_fields[] = {
	FIELD_CHARS(phase_time, "name", name, KEEP, "start, keys, harness, prepare, open, load, what was measured, settle, verify, close, inspect, record"),
	FIELD_NUMBER(phase_time, "ns", ns, KEEP, "until the next one began; of several of one name together"),
	END,
};

/** Present only if not every operation was timed. */
#define STAMPING(s, at) \
	FIELD_CHARS(s, "latency", at.latency, KEEP, "which operations were timed one by one: sampled:N, one in N; block, none; not there: each", .flags = FIELD_IF_USED), \
	FIELD_NUMBER(s, "unstamped_ops", at.ops, SUM, "operations that were not timed one by one", .flags = FIELD_IF_USED), \
	FIELD_NUMBER(s, "unstamped_stretches", at.stretches, SUM, "stretches of these between two time stamps", .flags = FIELD_IF_USED), \
	FIELD_NUMBER(s, "unstamped_ns", at.ns, SUM, "that the stretches took, all threads, ns", .flags = FIELD_IF_USED)

static const struct json_field rows_fields[] = {
	FIELD_NAME(row_counts, "how", how, row_hows, KEEP, "counted by the engine, or by a scan of all keys"),
	FIELD_NUMBER(row_counts, "objects", counts[TAO_OBJECTS], KEEP, "objects"),
	FIELD_NUMBER(row_counts, "edges", counts[TAO_EDGES], KEEP, "edges"),
	END,
};

static const struct json_field batch_read_fields[] = {
	FIELD_NUMBER(batch_read, "edges", edges, SUM, "edges whose keys were read"),
	FIELD_NUMBER(batch_read, "pages", pages, SUM, "scans"),
	FIELD_NUMBER(batch_read, "ns", ns, MOST, "their duration, ns"),
	FIELD_NUMBER(batch_read, "longest_ns", longest_ns, MOST, "the longest of them, ns"),
	END,
};

static const struct json_field memory_fields[] = {
	FIELD_NUMBER(memory_use, "limit_bytes", limit_bytes, SUM, "that was asked for: of the engine with its page cache"),
	FIELD_NUMBER(memory_use, "harness_bytes", harness_bytes, SUM, "added to that, because mininb needs it itself"),
	FIELD_NUMBER(memory_use, "peak_bytes", peak_bytes, SUM, "the most that was charged to the control group, page cache included"),
	FIELD_NUMBER(memory_use, "anonymous_bytes", anonymous_bytes, SUM, "of that memory of processes, after settling"),
	FIELD_NUMBER(memory_use, "file_bytes", file_bytes, SUM, "of that page cache, after settling"),
	FIELD_NUMBER(memory_use, "pressure_ns", pressure_ns, MOST, "in which at least one task waited for memory; 0 also if it is not known"),
	FIELD_NUMBER(memory_use, "kills", kills, SUM, "processes that the kernel killed because of the limit"),
	END,
};

const struct json_field json_measurement_fields[] = {
	FIELD_NUMBER(measurement, "ops", ops, SUM, "operations that count, of all groups", .flags = FIELD_MUST),
	FIELD_NUMBER(measurement, "wall_ns", wall_ns, MOST, "first operation's begin to last one's end, of phases the sum, ns", .flags = FIELD_MUST),
	FIELD_FLAG(measurement, "has_begun", has_begun, ANY, "a first operation was begun"),
	FIELD_FLAG(measurement, "is_partial", is_partial, ANY, "the last operation was not reached"),
	FIELD_FLAG(measurement, "is_loaded", is_loaded, ANY, "the data was put before, untimed, since the engine keeps none"),
	FIELD_FLAG(measurement, "had_data", had_data, ANY, "the database was there before"),
	FIELD_NUMBER(measurement, "had_bytes", had_bytes, SUM, "bytes that it took on the file system then"),
	FIELD_FLAG(measurement, "has_settled", has_settled, ALL, "settled and closed as far as was asked and the engine can"),
	FIELD_NAME(measurement, "settled", settled, settles, LEAST, "how far it was settled"),
	FIELD_FLAG(measurement, "has_read_back", has_read_back, ALL, "all writes chosen for reading back were read back"),
	FIELD_FLAG(measurement, "is_reopened", is_reopened, ALL, "writes were read back after the database was closed and opened again"),
	FIELD_NUMBER(measurement, "begun_at_ns", begun_at_ns, LEAST, "the first operation's begin, ns since the epoch by the machine's clock; not there: not known", .flags = FIELD_IF_USED),
	FIELD_REAL(measurement, "clock_offset_ns", clock_offset_ns, KEEP, "how far that clock was ahead of rank 0's, which is subtracted from begun_at_ns, ns; not there: not at all", .flags = FIELD_IF_USED),
	FIELD_REAL(measurement, "clock_error_ns", clock_error_ns, MOST, "error bound of that, ns; absent: the clocks were not compared", .flags = FIELD_IF_USED),
	FIELD_NUMBER(measurement, "open_ns", open_ns, MOST, "opening the database, ns"),
	FIELD_NUMBER(measurement, "load_ns", load_ns, MOST, "loading it, untimed otherwise, ns"),
	FIELD_NUMBER(measurement, "settle_ns", settle_ns, MOST, "settling it, ns"),
	FIELD_NUMBER(measurement, "close_ns", close_ns, MOST, "closing it, ns"),
	FIELD_LIST(measurement, "phases", phases, phase_count, phase_fields, RUN_PHASES_MAX, KEEP, "how long each phase took, in the order in which they began", .flags = FIELD_WITHIN),
	FIELD_COUNTS(measurement, "answers", answers, answers, SUM, "how the engine answered; conflict counts attempts, the others operations; without those that are 0"),
	FIELD_NUMBER(measurement, "value_bytes", value_bytes, SUM, "bytes of values read or written"),
	FIELD_OBJECT(measurement, "findings", findings, findings_fields, KEEP, "What looking at data found."),
	FIELD_OBJECT(measurement, "usage", usage, usage_fields, KEEP, "What the process took while the operations ran."),
	FIELD_NUMBER(measurement, "usage_ops", usage_ops, SUM, "operations done meanwhile, warm-up included"),
	FIELD_NUMBER(measurement, "usage_ns", usage_ns, MOST, "how long that took, ns"),
	FIELD_NUMBER(measurement, "data_bytes", data_bytes, SUM, "allocated size of the closed database, bytes"),
	FIELD_NUMBER(measurement, "live_bytes", live_bytes, KNOWN, "keys and values that should be in the database in the end, bytes; 0: not known"),
	FIELD_NUMBER(measurement, "max_resident_bytes", max_resident_bytes, SUM, "largest resident set of the process, bytes"),
	FIELD_OBJECT(measurement, "memory", memory, memory_fields, KEEP, "of the run's control group; not there: memory had no limit", .flags = FIELD_IF_USED),
	FIELD_REAL(measurement, "clock_drift", clock_drift, KEEP, "how much faster the time stamp counter went than CLOCK_MONOTONIC, from before the database was opened until it was closed, as a share; 0 where it did not take the times"),
	FIELD_NUMBER(measurement, "slept_ns", slept_ns, KEEP, "for how long the machine was suspended meanwhile, ns"),
	FIELD_REAL(measurement, "floor_op_ns", floor_op_ns, MOST, "time of the harness for an operation on the null engine, ns"),
	FIELD_NUMBER(measurement, "floor_call_ns", floor_call_ns, MOST, "median latency that it then reports, ns"),
	STAMPING(measurement, stamping),
	FIELD_OBJECT(measurement, "used", used, json_system_fields, KEEP, "while the operations ran"),
	FIELD_OBJECT(measurement, "used_after", used_after, json_system_fields, KEEP, "from then until the database was closed"),
	FIELD_CHARS(measurement, "used_missing", used_missing, FILL, "counts that could not be read, and why; empty: none"),
	FIELD_NUMBER(measurement, "commits", commits, SUM, "writes acknowledged meanwhile, warm-up included; a batch or a transaction is one"),
	FIELD_CHARS(measurement, "syncs_missing", syncs_missing, FILL, "why calls that make data durable could not be counted; empty: they were"),
	FIELD_BITS(measurement, "durable_by", durable_by, ways_to_sync, ANY, "other ways to make data durable, which are not counted; set at commit only"),
	FIELD_OBJECT(measurement, "server", server, server_fields, KEEP, "use by private servers and their children while the operations ran; absent: no private server", .flags = FIELD_IF_USED),
	FIELD_OBJECT(measurement, "levels_before", before, json_level_fields, KEEP, "before the first operation"),
	FIELD_OBJECT(measurement, "levels_after", after, json_level_fields, KEEP, "after the last one"),
	FIELD_NAME(measurement, "cold", cold, colds, LEAST, "how the database was made cold before it was opened: not at all, its files evicted, all caches dropped"),
	FIELD_OBJECT(measurement, "residency_before", residency_before, json_residency_fields, KEEP, "before the database was opened"),
	FIELD_OBJECT(measurement, "residency_begin", residency_begin, json_residency_fields, KEEP, "before the first operation"),
	FIELD_OBJECT(measurement, "residency_after", residency_after, json_residency_fields, KEEP, "after it was closed"),
	FIELD_OBJECT(measurement, "rows_before", rows_before, rows_fields, KEEP, "of a social graph, before the operations; not there: not counted", .flags = FIELD_IF_USED),
	FIELD_OBJECT(measurement, "batch_read", batch_read, batch_read_fields, KEEP, "of a social graph: reading all edges before the operations; not there: not asked for", .flags = FIELD_IF_USED),
	FIELD_OBJECT(measurement, "rows_after", rows_after, rows_fields, KEEP, "and after them", .flags = FIELD_IF_USED),
	FIELD_LIST(measurement, "counters", counters.items, counters.count, json_counter_fields, JSON_LIST_MAX, KEEP, "of the engine, from the first operation's begin until settled"),
	FIELD_HISTOGRAM(measurement, "checkpoints", checkpoints, SUM, "how long each checkpoint took that was made during the operations, ns; absent: none were asked for", .flags = FIELD_IF_USED),
	FIELD_HISTOGRAM(measurement, "service", service, SUM, "service times of all operations, of all groups"),
	FIELD_NUMBER(measurement, "depth", depth, MOST, "requests that a thread had in flight at most; not there: it made one call after the other", .flags = FIELD_IF_USED),
	FIELD_NUMBER(measurement, "batch_bytes", batch_bytes, MOST, "keys and values that a thread gathered before it handed them over; not there: it handed over as there was room", .flags = FIELD_IF_USED),
	FIELD_HISTOGRAM(measurement, "batch", batch, SUM, "times of batches: from handing operations over together until the last of them was reaped, ns; not there without a depth", .flags = FIELD_IF_USED),
	FIELD_LIST(measurement, "by_thread", threads, thread_count, json_thread_fields, JSON_LIST_MAX, KEEP, "of a classic action, each thread; null: not known"),
	FIELD_OBJECT(measurement, "series", series, json_series_fields, KEEP, "the run over time", .check = json_check_series),
	END,
};

static const struct json_field workload_fields[] = {
	FIELD_NAME(nb_workload, "verb", verb, json_verbs, KEEP, "the operation; of a job put if it makes the database, delete if it writes else, else get"),
	FIELD_FILLED_TEXT(nb_workload, "keys_path", keys_path, KEEP, "file of keys"),
	FIELD_NUMBER(nb_workload, "count", count, SUM, "operations"),
	FIELD_NUMBER(nb_workload, "key_bytes", key_size, KEEP, "size of keys, bytes"),
	FIELD_NUMBER(nb_workload, "value_bytes", value_size, KEEP, "size of values, bytes"),
	FIELD_REAL(nb_workload, "value_ratio", value_ratio, KEEP, "size after ideal compression : size, 0 to 1"),
	FIELD_NUMBER(nb_workload, "seed", seed, KEEP, "that all randomness comes from"),
	END,
};

static const struct json_field keys_fields[] = {
	FIELD_HASH(keys_facts, "hash", hash, KEEP, "XXH3-64 of all keys"),
	FIELD_NUMBER(keys_facts, "duplicates", duplicates, SUM, "keys that are equal to one before them"),
	FIELD_FLAG(keys_facts, "is_estimate", is_estimate, ANY, "that was counted in a part of them"),
	FIELD_NUMBER(keys_facts, "looked", looked, SUM, "keys in which they were counted"),
	END,
};

/* ---- jobs ---- */

const struct json_field json_job_fields[] = {
	FIELD_FILLED_TEXT(nb_result, "name", name, KEEP, "of the workload"),
	FIELD_FLAG(nb_result, "is_load", is_load, KEEP, "the loading"),
	FIELD_FLAG(nb_result, "is_replay", is_replay, KEEP, "operations of traces"),
	FIELD_CHARS(nb_result, "shard", shard, KEEP, "which part of the operations it did, of how many: 0/4 to 3/4; several: merged of some; not there: all", .flags = FIELD_IF_USED),
	FIELD_NUMBER(nb_result, "processes", procs, MOST, "that had the database open at once"),
	FIELD_NUMBER(nb_result, "records", records, MOST, "that the loading inserts"),
	FIELD_BORROWED(nb_result, "key_format", key_format, KEEP, "raw, text, be64, file, words or letters"),
	FIELD_BORROWED(nb_result, "key_order", key_order, KEEP, "hashed, ordered or ycsb"),
	FIELD_NUMBER(nb_result, "key_bytes", key_size, KEEP, "size of the longest key, bytes"),
	FIELD_NUMBER(nb_result, "value_bytes_min", value_min, KEEP, "smallest value, bytes"),
	FIELD_NUMBER(nb_result, "value_bytes_max", value_max, KEEP, "largest value, bytes"),
	FIELD_REAL(nb_result, "value_bytes_mean", value_mean, KEEP, "mean size of values, bytes"),
	FIELD_REAL(nb_result, "value_ratio", value_ratio, KEEP, "size after ideal compression : size, as asked for, 0 to 1"),
	FIELD_REAL(nb_result, "value_ratio_measured", measured_ratio, KEEP, "size by zlib : size; 0: not measured"),
	FIELD_FLAG(nb_result, "was_steady_asked", was_steady_asked, ANY, "the run was to end when the rate was steady"),
	FIELD_FLAG(nb_result, "is_steady", is_steady, ALL, "it was"),
	FIELD_REAL(nb_result, "steady_slope", steady_slope, KEEP, "change of the rate over the last window, as a share of the mean"),
	FIELD_REAL(nb_result, "steady_band", steady_band, MOST, "largest distance from the mean there, as a share of it"),
	END,
};

static const struct json_field case_fields[] = {
	FIELD_NUMBER(job_case, "op", op, KEEP, "number of the operation in its group"),
	FIELD_NAME(job_case, "operation", kind, json_kinds, KEEP, "its kind"),
	FIELD_NAME(job_case, "verdict", verdict, job_verdicts, KEEP, "the error found"),
	FIELD_NUMBER(job_case, "version", version, KEEP, "of the value that was found"),
	FIELD_NUMBER(job_case, "expected_version", expected, KEEP, "of the value that should have been"),
	FIELD_NUMBER(job_case, "key_bytes", key_size, KEEP, "size of the key, bytes"),
	FIELD_CUSTOM(job_case, "key", key, json_write_case_key, json_read_case_key, KEEP, "the first bytes of the key, hexadecimal"),
	END,
};

static const struct json_field job_findings_fields[] = {
	FIELD_NUMBER(job_findings, "verified", verified, SUM, "records that were looked at"),
	FIELD_NUMBER(job_findings, "read_back", read_back, SUM, "of them, writes that were looked up again after the operations"),
	FIELD_NUMBER(job_findings, "foreign", foreign, SUM, "of them, good but written by another run"),
	FIELD_COUNTS(job_findings, "verdicts", verdicts, job_verdicts, SUM, "how records were, without those that are 0"),
	FIELD_LIST(job_findings, "cases", cases, case_count, case_fields, JOB_CASES, KEEP, "the first findings", .flags = FIELD_WITHIN),
	END,
};

static const struct json_field trace_fields[] = {
	FIELD_NUMBER(nb_trace_counts, "ops", ops, SUM, "operations handed out"),
	FIELD_NUMBER(nb_trace_counts, "inserts", inserts, SUM, "of them, inserts"),
	FIELD_NUMBER(nb_trace_counts, "reads", reads, SUM, "of them, reads"),
	FIELD_NUMBER(nb_trace_counts, "updates", updates, SUM, "of them, updates"),
	FIELD_NUMBER(nb_trace_counts, "upserts", upserts, SUM, "of them, upserts"),
	FIELD_NUMBER(nb_trace_counts, "rmws", rmws, SUM, "of them, read-modify-writes"),
	FIELD_NUMBER(nb_trace_counts, "deletes", deletes, SUM, "of them, deletes"),
	FIELD_NUMBER(nb_trace_counts, "scans", scans, SUM, "of them, scans"),
	FIELD_NUMBER(nb_trace_counts, "others", others, SUM, "operations of kinds that mininb does not do"),
	FIELD_NUMBER(nb_trace_counts, "ignored", ignored, SUM, "lines that are not operations"),
	FIELD_NUMBER(nb_trace_counts, "bad", bad, SUM, "damaged lines that were skipped"),
	FIELD_NUMBER(nb_trace_counts, "bytes", bytes, SUM, "bytes that were read"),
	FIELD_CHARS(nb_trace_counts, "first_bad", first_bad, FILL, "number and text of the first damaged line"),
	END,
};

const struct json_field json_kind_fields[] = {
	FIELD_NUMBER(job_kind, "ops", ops, SUM, "operations that count"),
	FIELD_NUMBER(job_kind, "records", records, SUM, "records read or written"),
	FIELD_NUMBER(job_kind, "value_bytes", bytes, SUM, "bytes of values read or written"),
	FIELD_COUNTS(job_kind, "answers", answers, answers, SUM, "how the engine answered; conflict counts attempts, the others operations; without those that are 0"),
	FIELD_HISTOGRAM(job_kind, "service", service, SUM, "service times: from an operation's begin to its end, ns"),
	FIELD_HISTOGRAM(job_kind, "response", response, SUM, "response times: from the moment at which an operation was due to its end, ns; null without a rate"),
	END,
};

const struct json_field json_group_fields[] = {
	FIELD_CUSTOM(job_result_group, "throughput_ops_s", measured.ops, json_write_rate, json_read_nothing, KEEP, "operations per second of wall time; derived. null: not a finite number."),
	FIELD_CHARS(job_result_group, "name", name, KEEP, "of the group; of a classic action its verb"),
	FIELD_NUMBER(job_result_group, "phase", phase, KEEP, "groups of equal phase ran side by side, phases one after the other"),
	FIELD_FLAG(job_result_group, "is_background", is_background, KEEP, "it ran until the other groups of its phase were done"),
	FIELD_FLAG(job_result_group, "is_blind_to_gaps", is_blind_to_gaps, KEEP, "scans were verified, but not whether they leave records out"),
	FIELD_NUMBER(job_result_group, "threads", threads, SUM, "how many threads"),
	FIELD_COUNTS(job_result_group, "mix", weights, json_kinds, KEEP, "weights of the kinds of operations"),
	FIELD_NAME(job_result_group, "level", measured.level, levels, KEEP, "how much of an operation of several steps is one; only with such operations", .flags = FIELD_IF_USED),
	FIELD_NAME(job_result_group, "distribution", distribution, distributions, KEEP, "how keys were chosen"),
	FIELD_NAME(job_result_group, "key_range", key_range, key_ranges, KEEP, "which records a thread chose from: all, or its own slice; not there: shared", .flags = FIELD_IF_USED),
	FIELD_NAME(job_result_group, "masstree_test", masstree_test, masstree_tests, KEEP, "sequence of operations of source masstree; not there: it drew records", .flags = FIELD_IF_USED),
	FIELD_CHARS(job_result_group, "again", again, KEEP, "group whose puts it visited again", .flags = FIELD_IF_USED),
	FIELD_NUMBER(job_result_group, "again_keys", again_keys, SUM, "how many puts those were", .flags = FIELD_IF_USED),
	FIELD_NAME(job_result_group, "insert_verb", insert_verb, insert_verbs, KEEP, "verb of an insert; absent: put", .flags = FIELD_IF_USED),
	FIELD_NAME(job_result_group, "arrivals", arrivals, arrivals, KEEP, "when operations were due: closed: each when the one before was done; fixed: evenly spaced; poisson: at random"),
	FIELD_FLAG(job_result_group, "is_paced", is_paced, KEEP, "operations had times at which they were due"),
	FIELD_REAL(job_result_group, "rate_ops_s", rate_ops_s, KNOWN, "offered rate where it was the same all the time, ops/s; else 0"),
	FIELD_TEXT(job_result_group, "rate", rate_text, KEEP, "the rate as it was asked for where it was not; else null"),
	FIELD_NUMBER(job_result_group, "depth", depth, MOST, "requests that a thread had in flight at most; not there: it made one call after the other", .flags = FIELD_IF_USED),
	FIELD_NUMBER(job_result_group, "batch_bytes", batch_bytes, MOST, "keys and values that a thread gathered before it handed them over; not there: it handed over as there was room", .flags = FIELD_IF_USED),
	FIELD_REAL(job_result_group, "speed", speed, KEEP, "factor of a trace's own times; 0: these were not used"),
	FIELD_NUMBER(job_result_group, "duration_ns", duration_ns, MOST, "bound by time, ns; 0: none"),
	FIELD_NUMBER(job_result_group, "warmup_ns", warmup_ns, MOST, "of that, not measured, ns"),
	FIELD_NUMBER(job_result_group, "warmup_ops", warmup_count, SUM, "operations at the begin that are not measured"),
	STAMPING(job_result_group, measured.stamping),
	FIELD_FLAG(job_result_group, "has_begun", measured.has_begun, ANY, "it did something"),
	FIELD_FLAG(job_result_group, "is_partial", measured.is_partial, ANY, "it did not come to its end"),
	FIELD_NUMBER(job_result_group, "ops", measured.ops, SUM, "operations that count"),
	FIELD_NUMBER(job_result_group, "done", measured.done, SUM, "operations, warm-up included"),
	FIELD_NUMBER(job_result_group, "commits", measured.commits, SUM, "writes acknowledged, warm-up included; a batch or a transaction is one"),
	FIELD_NUMBER(job_result_group, "wall_ns", measured.wall_ns, MOST, "first begin to last end of the operations that count, ns"),
	FIELD_NUMBER(job_result_group, "span_ns", measured.span_ns, MOST, "begin of the phase to the last operation's end, ns"),
	FIELD_REAL(job_result_group, "offered_ops", measured.offered_ops, SUM, "with a rate: operations that were due in that time"),
	FIELD_NUMBER(job_result_group, "lag_ns", measured.lag_ns, MOST, "with a rate: how late the last operation began, ns"),
	FIELD_NUMBER(job_result_group, "lag_max_ns", measured.lag_max_ns, MOST, "with a rate: how late the latest one began, ns"),
	FIELD_NUMBER(job_result_group, "waited_ns", measured.waited_ns, SUM, "time spent waiting for inserts of other threads, all threads, ns"),
	FIELD_NUMBER(job_result_group, "spin_ns", measured.spin_ns, SUM, "CPU time of waiting for due moments, all threads, ns"),
	FIELD_HISTOGRAM(job_result_group, "lateness", measured.lateness, SUM, "how late the harness itself woke up for due moments, ns; null without a rate"),
	FIELD_CHARS(job_result_group, "trace", measured.trace, FILL, "part of the trace that was read; empty: no trace"),
	FIELD_OBJECT(job_result_group, "trace_counts", measured.trace_counts, trace_fields, KEEP, "What came of reading the trace.", .flags = FIELD_SIZED),
	FIELD_OBJECT(job_result_group, "findings", measured.findings, job_findings_fields, KEEP, "What verification found."),
	FIELD_CUSTOM(job_result_group, "operations", measured.kinds, json_write_operations, json_read_operations, KEEP, "the kinds of operations that there were"),
	FIELD_LIST(job_result_group, "by_thread", measured.threads, measured.thread_count, json_thread_fields, JSON_LIST_MAX, KEEP, "each thread; null: not known"),
	END,
};

/* ---- a whole run ---- */

static const struct json_field note_fields[] = {
	FIELD_NAME(result_note, "scope", is_of_job, scopes, KEEP, "whether it is of every run or of jobs alone"),
	FIELD_CHARS(result_note, "id", id, KEEP, "identifier, which stays the same whatever the text says"),
	FIELD_CUSTOM(result_note, "weight", id, json_write_weight, json_read_nothing, KEEP, "severity: does a reader who misses it draw a wrong conclusion"),
	FIELD_FILLED_TEXT(result_note, "text", text, KEEP, "the sentence"),
	END,
};

static const struct json_field generator_fields[] = {
	FIELD_CHARS(result_generator, "shard", shard, KEEP, "which part of the operations"),
	FIELD_CHARS(result_generator, "host", host, KEEP, "name of its machine; empty: not known"),
	FIELD_CHARS(result_generator, "end", end, KEEP, "how it ended, if not well"),
	FIELD_FLAG(result_generator, "is_partial", is_partial, KEEP, "it did not come to its end"),
	FIELD_NUMBER(result_generator, "ops", ops, KEEP, "operations that count"),
	FIELD_NUMBER(result_generator, "wall_ns", wall_ns, KEEP, "first operation's begin to last one's end, ns"),
	FIELD_NUMBER(result_generator, "begun_at_ns", begun_at_ns, KEEP, "the first operation's begin, ns since the epoch; by one clock for all if clock_error_ns is there; 0: not known"),
	FIELD_REAL(result_generator, "rate_ops_s", rate_ops_s, KEEP, "operations per second"),
	FIELD_NUMBER(result_generator, "p50_ns", p50_ns, KEEP, "median of service, ns; 0: too few"),
	FIELD_NUMBER(result_generator, "p99_ns", p99_ns, KEEP, "99th percentile of service, ns; 0: too few"),
	FIELD_REAL(result_generator, "clock_offset_ns", clock_offset_ns, KEEP, "how far its clock was ahead of the first one's, ns", .flags = FIELD_IF_USED),
	FIELD_REAL(result_generator, "clock_error_ns", clock_error_ns, KEEP, "error bound of that, ns; absent: the clocks were not compared", .flags = FIELD_IF_USED),
	END,
};

const struct json_field json_result_fields[] = {
	FIELD_CUSTOM(nb_result, "kinds", kinds, json_write_kinds, json_read_kinds, KEEP, "names of the job's own kinds of operations; only with such operations", .flags = FIELD_IF_USED),
	FIELD_BORROWED(nb_result, "mininb", version, KEEP, "version of mininb that ran it"),
	FIELD_PART("engine", json_engine_fields, KEEP, "the engine"),
	FIELD_TEXTS(nb_result, "servers", servers.items, servers.count, JSON_LIST_MAX, KEEP, "addresses of the servers that the engine was a client of; not there: it was none", .flags = FIELD_IF_USED),
	FIELD_TEXTS(nb_result, "server_settings", server_settings.items, server_settings.count, JSON_LIST_MAX, KEEP, "versions and settings of these, as the engine reported them, each text once; not there: it reported none", .flags = FIELD_IF_USED),
	FIELD_NUMBER(nb_result, "threads", threads, SUM, "of all groups and processes"),
	FIELD_NAME(nb_result, "durability", durability, durabilities, KEEP, "crashes that acknowledged writes survive"),
	FIELD_FLAG(nb_result, "is_auto_durability", is_auto_durability, ALL, "it was not asked for"),
	FIELD_NUMBER(nb_result, "cache_bytes", cache_bytes, KEEP, "cache size of the engine, bytes; 0: its default"),
	FIELD_NAME(nb_result, "settle", settle, settles, LEAST, "how far it was to be settled"),
	FIELD_BITS(nb_result, "flags", flags, run_flags, ALL, "how it was run"),
	FIELD_REAL(nb_result, "verify_rate", verify_rate, MOST, "share of operations whose data was verified, 0 to 1"),
	FIELD_FLAG(nb_result, "is_paced", is_paced, ANY, "some operations were due at times of their own"),
	FIELD_FLAG(nb_result, "is_bound_by_time", is_bound_by_time, ANY, "the end was a time"),
	FIELD_FLAG(nb_result, "is_of_processes", is_of_processes, ANY, "several processes; their use of CPU and memory is not known"),
	FIELD_HASH(nb_result, "digest", digest, KEEP, "names the stream of operations: equal for the same operations", .flags = FIELD_MUST),
	FIELD_OBJECT(nb_result, "workload", workload, workload_fields, KEEP, "What a classic action was to do; of a job only some of it means something.", .flags = FIELD_SIZED),
	FIELD_OBJECT(nb_result, "keys", keys, keys_fields, KEEP, "The file of keys."),
	FIELD_OBJECT(nb_result, "clock", clock, clock_fields, KEEP, "The clock that took the time stamps."),
	FIELD_OBJECT(nb_result, "sysinfo", sysinfo, sysinfo_fields, KEEP, "What decides whether a number can be believed."),
	FIELD_OBJECT(nb_result, "environment", environment, json_environment_fields, KEEP, "where it took place"),
	FIELD_OBJECT(nb_result, "measured", measured, json_measurement_fields, KEEP, "the measurement", .flags = FIELD_MUST),
	FIELD_LIST(nb_result, "warnings", warnings.texts, warnings.count, NULL, ENGINE_WARNINGS_MAX, KEEP, "warnings of the engine", .flags = FIELD_WITHIN),
	FIELD_PART("job", json_job_fields, KEEP, "the job; null for a classic action", .flags = FIELD_OF_JOB),
	FIELD_HISTOGRAM(nb_result, "service", service, SUM, "service times of all foreground operations, ns", .flags = FIELD_OF_JOB),
	FIELD_HISTOGRAM(nb_result, "response", response, SUM, "response times of all foreground operations, ns; null of a classic action, empty without a rate", .flags = FIELD_OF_JOB),
	FIELD_HISTOGRAM(nb_result, "hiccups", measured.hiccups, SUM, "how late a thread that only sleeps woke up, ns; null: not measured"),
	FIELD_LIST(nb_result, "groups", groups, group_count, json_group_fields, NB_GROUPS_MAX, KEEP, "groups of threads", .flags = FIELD_MUST | FIELD_OF_JOB),
	FIELD_LIST(nb_result, "generators", generators, generator_count, generator_fields, JSON_LIST_MAX, KEEP, "processes that did the run together, one for each shard; not there: it was one", .flags = FIELD_IF_USED),
	FIELD_LIST(nb_result, "notes", notes, note_count, note_fields, JSON_LIST_MAX, KEEP, "why the numbers may be wrong", .flags = FIELD_FILLED),
	END,
};

/* clang-format on */
