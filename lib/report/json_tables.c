/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Members of records, by the names that they have in a result file: in words, with units.
 * The order is that of the file: what one looks for first stands first.
 */
#include "report/json_tables.h"

#include "report/json_course.h"

#define END \
	{ \
		.name = NULL \
	}
#define NAMES(...) \
	.names = (const char *const[]){__VA_ARGS__}, \
	.count = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)

/* ---- names of values ---- */

const struct json_names json_verbs = {NAMES("put", "get", "delete")};

const struct json_names json_kinds = {
	NAMES("read", "update", "insert", "upsert", "delete", "scan", "read-modify-write",
		"batch", "multi-get", "txn-read", "txn-write"),
	.are_kinds = true};

static const struct json_names durabilities = {NAMES("none", "process", "periodic", "commit")};
static const struct json_names settles = {NAMES("none", "flush", "compact")};
static const struct json_names clocks = {NAMES("auto", "tsc", "monotonic")};
static const struct json_names colds = {NAMES("no", "files", "caches")};
static const struct json_names ways_to_sync = {
	NAMES("dsync_file", "persistent_memory", "io_uring")};
static const struct json_names arrivals = {NAMES("closed", "fixed", "poisson")};
static const struct json_names answers = {
	NAMES("ok", "not_found", "conflict", "exists", "pending")};
static const struct json_names distributions = {NAMES("uniform", "zipfian", "zipfian-ycsb",
	"latest", "hotspot", "exponential", "sequential", "pareto")};
static const struct json_names caps = {NAMES("ordered", "persistent", "concurrent",
	"atomic_batch", "snapshot", "zero_copy", "multi_process", "synthetic")};
static const struct json_names run_flags = {
	NAMES("pin", "allow_missing", "fresh", "cold", "hardware", "force")};
static const struct json_names value_verdicts = {
	NAMES("good", "wrong_size", "other_key", "corrupt", "stale")};
static const struct json_names job_verdicts = {NAMES("good", "missing", "wrong_size",
	"other_key", "corrupt", "stale", "unordered", "gap", "phantom")};

/* ---- how it was asked for ---- */

static const struct json_field command_option_fields[] = {
	FIELD_FILLED_TEXT(record_option, "name", name),
	FIELD_FILLED_TEXT(record_option, "value", value),
	END,
};

const struct json_field json_command_fields[] = {
	FIELD_TEXT(record_command, "action", action),
	FIELD_TEXT(record_command, "directory", directory),
	FIELD_TEXTS(record_command, "words", words, word_count, JSON_LIST_MAX),
	FIELD_LIST(record_command, "options", options, option_count, command_option_fields,
		JSON_LIST_MAX),
	FIELD_TEXT(record_command, "job", job),
	END,
};

static const struct json_field point_fields[] = {
	FIELD_REAL(nb_curve_point, "share", share),
	FIELD_REAL(nb_curve_point, "offered_ops_s", offered_ops_s),
	FIELD_REAL(nb_curve_point, "achieved_ops_s", achieved_ops_s),
	FIELD_NUMBER(nb_curve_point, "service_p50_ns", service_p50_ns),
	FIELD_NUMBER(nb_curve_point, "service_p99_ns", service_p99_ns),
	FIELD_NUMBER(nb_curve_point, "service_p999_ns", service_p999_ns),
	FIELD_NUMBER(nb_curve_point, "response_p50_ns", response_p50_ns),
	FIELD_NUMBER(nb_curve_point, "response_p99_ns", response_p99_ns),
	FIELD_NUMBER(nb_curve_point, "response_p999_ns", response_p999_ns),
	FIELD_NUMBER(nb_curve_point, "response_max_ns", response_max_ns),
	FIELD_FLAG(nb_curve_point, "queue_grew", queue_grew),
	END,
};

const struct json_field json_sweep_fields[] = {
	FIELD_REAL(record_sweep, "capacity_ops_s", capacity_ops_s),
	FIELD_CHARS(record_sweep, "slo", slo),
	FIELD_REAL(record_sweep, "slo_ops_s", slo_ops_s),
	{FIELD_ROW(record_sweep, "points", JSON_T_LIST, curve),
		FIELD_COUNTED(record_sweep, curve, curve_count, point_fields, JSON_LIST_MAX),
		.flags = FIELD_MUST | FIELD_SIZED},
	END,
};

/** Null if there is none. */
static json_t *
write_sweep(struct json_writer *writer, const void *from)
{
	const struct record *record = from;
	if (record->sweep.curve == NULL)
		return json_null();
	json_t *object = json_object();
	json_write_fields(writer, object, json_sweep_fields, &record->sweep);
	return object;
}

static int
read_sweep(struct json_reader *reader, const json_t *json, void *into)
{
	struct record *record = into;
	return json_is_null(json)
		? NB_OK
		: json_read_fields(reader, json, json_sweep_fields, &record->sweep);
}

/* ---- of every record ---- */

static const struct json_field interval_fields[] = {
	FIELD_NUMBER(nb_interval, "end_ns", end_ns),
	FIELD_NUMBER(nb_interval, "duration_ns", duration_ns),
	FIELD_NUMBER(nb_interval, "phase", phase),
	FIELD_FLAG(nb_interval, "is_warmup", is_warmup),
	FIELD_NUMBER(nb_interval, "ops", ops),
	FIELD_REAL(nb_interval, "rate_ops_s", rate_ops_s),
	FIELD_NUMBER(nb_interval, "p50_ns", p50_ns),
	FIELD_NUMBER(nb_interval, "p99_ns", p99_ns),
	FIELD_NUMBER(nb_interval, "max_ns", max_ns),
	FIELD_NUMBER(nb_interval, "behind_ops", behind_ops),
	END,
};

const struct json_field json_record_fields[] = {
	FIELD_CHARS(record, "label", label),
	{FIELD_ROW(record, "driver", JSON_T_CHARS, driver), .flags = FIELD_MUST},
	FIELD_CHARS(record, "end", end),
	FIELD_NUMBER(record, "block", block),
	FIELD_NUMBER(record, "contestant", contestant),
	FIELD_CHARS(record, "name", name),
	FIELD_NUMBER(record, "is_merged", is_merged),
	{FIELD_ROW(record, "intervals", JSON_T_LIST, intervals),
		FIELD_COUNTED(
			record, intervals, interval_count, interval_fields, JSON_LIST_MAX),
		.flags = FIELD_SIZED},
	FIELD_CUSTOM(record, "sweep", sweep, write_sweep, read_sweep),
	END,
};

/* ---- the engine ---- */

static const struct json_field option_fields[] = {
	FIELD_FILLED_TEXT(result_option, "name", name),
	FIELD_FILLED_TEXT(result_option, "value", value),
	END,
};

static const struct json_field engine_fields[] = {
	{FIELD_ROW(nb_result, "name", JSON_T_BORROWED, engine.name), .flags = FIELD_MUST},
	FIELD_BORROWED(nb_result, "version", engine_version),
	FIELD_BORROWED(nb_result, "summary", engine.summary),
	FIELD_BORROWED(nb_result, "licence", engine.licence),
	FIELD_BORROWED(nb_result, "home", engine.home),
	FIELD_BORROWED(nb_result, "build", engine.build),
	FIELD_FILLED_TEXT(nb_result, "path", engine_path),
	FIELD_BITS(nb_result, "caps", engine.caps, caps),
	FIELD_BITS(nb_result, "durabilities", engine.durabilities, durabilities),
	FIELD_NAME(nb_result, "auto_durability", engine.auto_durability, durabilities),
	FIELD_NUMBER(nb_result, "key_bytes_max", engine.key_size_max),
	FIELD_NUMBER(nb_result, "value_bytes_max", engine.value_size_max),
	FIELD_FLAG(nb_result, "has_counters", has_counters),
	FIELD_LIST(nb_result, "options", options, option_count, option_fields, JSON_LIST_MAX),
	END,
};

/* ---- the machine ---- */

static const struct json_field sysinfo_fields[] = {
	FIELD_NUMBER(sysinfo, "memory_bytes", memory_bytes),
	FIELD_NUMBER(sysinfo, "cpus", cpus),
	FIELD_NUMBER(sysinfo, "machine_cpus", machine_cpus),
	FIELD_CHARS(sysinfo, "hypervisor", hypervisor),
	FIELD_CHARS(sysinfo, "filesystem", filesystem),
	FIELD_FLAG(sysinfo, "is_memory_filesystem", is_memory_filesystem),
	END,
};

static const struct json_field environment_fields[] = {
	FIELD_CHARS(environment, "begun", begun),
	FIELD_CHARS(environment, "host", host),
	FIELD_CHARS(environment, "system", system),
	FIELD_CHARS(environment, "kernel", kernel),
	FIELD_CHARS(environment, "cpu", cpu),
	FIELD_REAL(environment, "cpu_mhz_max", cpu_mhz_max),
	FIELD_NUMBER(environment, "sockets", sockets),
	FIELD_NUMBER(environment, "numa_nodes", numa_nodes),
	FIELD_NUMBER(environment, "threads_per_core", threads_per_core),
	FIELD_NUMBER(environment, "last_level_cache_bytes", last_level_cache_bytes),
	FIELD_CHARS(environment, "governor", governor),
	FIELD_CHARS(environment, "turbo", turbo),
	FIELD_CHARS(environment, "clock_source", clock_source),
	FIELD_REAL(environment, "load_1m", load_1m),
	FIELD_CHARS(environment, "container", container),
	FIELD_NUMBER(environment, "available_bytes", available_bytes),
	FIELD_NUMBER(environment, "page_bytes", page_bytes),
	FIELD_CHARS(environment, "huge_pages", huge_pages),
	FIELD_NUMBER(environment, "swap_bytes", swap_bytes),
	FIELD_NUMBER(environment, "swap_used_bytes", swap_used_bytes),
	FIELD_CHARS(environment, "allocator", allocator),
	FIELD_CHARS(environment, "preload", preload),
	FIELD_CHARS(environment, "compiler", compiler),
	FIELD_CHARS(environment, "build", build),
	FIELD_CHARS(environment, "revision", revision),
	FIELD_CHARS(environment, "libraries", libraries),
	FIELD_CHARS(environment, "directory", directory),
	FIELD_CHARS(environment, "mount", mount),
	FIELD_CHARS(environment, "mount_source", mount_source),
	FIELD_CHARS(environment, "mount_options", mount_options),
	FIELD_NUMBER(environment, "filesystem_bytes", filesystem_bytes),
	FIELD_NUMBER(environment, "free_bytes", free_bytes),
	FIELD_CHARS(environment, "device", device),
	FIELD_CHARS(environment, "device_model", device_model),
	FIELD_NUMBER(environment, "device_major", device_major),
	FIELD_NUMBER(environment, "device_minor", device_minor),
	FIELD_FLAG(environment, "is_rotational", is_rotational),
	FIELD_CHARS(environment, "scheduler", scheduler),
	END,
};

static const struct json_field clock_fields[] = {
	FIELD_NAME(clock, "kind", kind, clocks),
	FIELD_REAL(clock, "tick_hz", tick_hz),
	FIELD_NUMBER(clock, "ns_per_tick_q32", ns_per_tick_q32),
	FIELD_REAL(clock, "read_ns", read_ns),
	FIELD_REAL(clock, "step_ns", step_ns),
	END,
};

/* ---- what was measured ---- */

static const struct json_field findings_fields[] = {
	FIELD_NUMBER(worker_findings, "verified", verified),
	FIELD_NUMBER(worker_findings, "missing", missing),
	FIELD_COUNTS(worker_findings, "verdicts", verdicts, value_verdicts),
	END,
};

static const struct json_field usage_fields[] = {
	FIELD_NUMBER(sysinfo_usage, "user_ns", user_ns),
	FIELD_NUMBER(sysinfo_usage, "system_ns", system_ns),
	FIELD_NUMBER(sysinfo_usage, "involuntary_switches", involuntary_switches),
	FIELD_NUMBER(sysinfo_usage, "steal_ns", steal_ns),
	FIELD_NUMBER(sysinfo_usage, "busy_ns", busy_ns),
	END,
};

static const struct json_field residency_fields[] = {
	FIELD_FLAG(residency, "is_known", is_known),
	FIELD_NUMBER(residency, "resident_bytes", resident_bytes),
	FIELD_NUMBER(residency, "total_bytes", total_bytes),
	FIELD_NUMBER(residency, "files", files),
	FIELD_NUMBER(residency, "unread", unread),
	END,
};

/** Of a classic action; a job's have those of its groups. */
static const struct json_field thread_fields[] = {
	FIELD_NUMBER(job_thread, "ops", ops),
	FIELD_NUMBER(job_thread, "wall_ns", wall_ns),
	FIELD_NUMBER(job_thread, "done", done),
	FIELD_COUNTS(job_thread, "operations", kinds, json_kinds),
	END,
};

static const struct json_field phase_fields[] = {
	FIELD_CHARS(phase_time, "name", name),
	FIELD_NUMBER(phase_time, "ns", ns),
	END,
};

static const struct json_field measurement_fields[] = {
	{FIELD_ROW(measurement, "ops", JSON_T_NUMBER, ops), .flags = FIELD_MUST},
	{FIELD_ROW(measurement, "wall_ns", JSON_T_NUMBER, wall_ns), .flags = FIELD_MUST},
	FIELD_FLAG(measurement, "has_begun", has_begun),
	FIELD_FLAG(measurement, "is_partial", is_partial),
	FIELD_FLAG(measurement, "is_loaded", is_loaded),
	FIELD_FLAG(measurement, "had_data", had_data),
	FIELD_NUMBER(measurement, "had_bytes", had_bytes),
	FIELD_FLAG(measurement, "has_settled", has_settled),
	FIELD_NAME(measurement, "settled", settled, settles),
	FIELD_FLAG(measurement, "has_read_back", has_read_back),
	FIELD_FLAG(measurement, "is_reopened", is_reopened),
	FIELD_NUMBER(measurement, "open_ns", open_ns),
	FIELD_NUMBER(measurement, "load_ns", load_ns),
	FIELD_NUMBER(measurement, "settle_ns", settle_ns),
	FIELD_NUMBER(measurement, "close_ns", close_ns),
	{FIELD_ROW(measurement, "phases", JSON_T_LIST, phases),
		FIELD_COUNTED(measurement, phases, phase_count, phase_fields, RUN_PHASES_MAX),
		.flags = FIELD_WITHIN},
	FIELD_COUNTS(measurement, "answers", answers, answers),
	FIELD_NUMBER(measurement, "value_bytes", value_bytes),
	FIELD_OBJECT(measurement, "findings", findings, findings_fields),
	FIELD_OBJECT(measurement, "usage", usage, usage_fields),
	FIELD_NUMBER(measurement, "usage_ops", usage_ops),
	FIELD_NUMBER(measurement, "usage_ns", usage_ns),
	FIELD_NUMBER(measurement, "data_bytes", data_bytes),
	FIELD_NUMBER(measurement, "live_bytes", live_bytes),
	FIELD_NUMBER(measurement, "max_resident_bytes", max_resident_bytes),
	FIELD_REAL(measurement, "clock_drift", clock_drift),
	FIELD_NUMBER(measurement, "slept_ns", slept_ns),
	FIELD_REAL(measurement, "floor_op_ns", floor_op_ns),
	FIELD_NUMBER(measurement, "floor_call_ns", floor_call_ns),
	FIELD_OBJECT(measurement, "used", used, json_system_fields),
	FIELD_OBJECT(measurement, "used_after", used_after, json_system_fields),
	FIELD_CHARS(measurement, "used_missing", used_missing),
	FIELD_NUMBER(measurement, "commits", commits),
	FIELD_CHARS(measurement, "syncs_missing", syncs_missing),
	FIELD_BITS(measurement, "durable_by", durable_by, ways_to_sync),
	FIELD_OBJECT(measurement, "levels_before", before, json_level_fields),
	FIELD_OBJECT(measurement, "levels_after", after, json_level_fields),
	FIELD_NAME(measurement, "cold", cold, colds),
	FIELD_OBJECT(measurement, "residency_before", residency_before, residency_fields),
	FIELD_OBJECT(measurement, "residency_begin", residency_begin, residency_fields),
	FIELD_OBJECT(measurement, "residency_after", residency_after, residency_fields),
	FIELD_LIST(measurement, "counters", counters.items, counters.count, json_counter_fields,
		JSON_LIST_MAX),
	FIELD_HISTOGRAM(measurement, "service", service),
	FIELD_LIST(
		measurement, "by_thread", threads, thread_count, thread_fields, JSON_LIST_MAX),
	FIELD_CUSTOM(measurement, "series", series, json_write_series, json_read_series),
	END,
};

static const struct json_field workload_fields[] = {
	FIELD_NAME(nb_workload, "verb", verb, json_verbs),
	FIELD_FILLED_TEXT(nb_workload, "keys_path", keys_path),
	FIELD_NUMBER(nb_workload, "count", count),
	FIELD_NUMBER(nb_workload, "key_bytes", key_size),
	FIELD_NUMBER(nb_workload, "value_bytes", value_size),
	FIELD_REAL(nb_workload, "value_ratio", value_ratio),
	FIELD_NUMBER(nb_workload, "seed", seed),
	END,
};

static const struct json_field keys_fields[] = {
	{FIELD_ROW(keys_facts, "hash", JSON_T_HASH, hash)},
	FIELD_NUMBER(keys_facts, "duplicates", duplicates),
	FIELD_FLAG(keys_facts, "is_estimate", is_estimate),
	FIELD_NUMBER(keys_facts, "looked", looked),
	END,
};

const struct json_field json_result_fields[] = {
	FIELD_BORROWED(nb_result, "mininb", version),
	FIELD_PART("engine", engine_fields),
	FIELD_NUMBER(nb_result, "threads", threads),
	FIELD_NAME(nb_result, "durability", durability, durabilities),
	FIELD_FLAG(nb_result, "is_auto_durability", is_auto_durability),
	FIELD_NUMBER(nb_result, "cache_bytes", cache_bytes),
	FIELD_NAME(nb_result, "settle", settle, settles),
	FIELD_BITS(nb_result, "flags", flags, run_flags),
	FIELD_REAL(nb_result, "verify_rate", verify_rate),
	FIELD_FLAG(nb_result, "is_paced", is_paced),
	FIELD_FLAG(nb_result, "is_bound_by_time", is_bound_by_time),
	FIELD_FLAG(nb_result, "is_of_processes", is_of_processes),
	{FIELD_ROW(nb_result, "digest", JSON_T_HASH, digest), .flags = FIELD_MUST},
	{FIELD_ROW(nb_result, "workload", JSON_T_OBJECT, workload), .fields = workload_fields,
		.flags = FIELD_SIZED},
	FIELD_OBJECT(nb_result, "keys", keys, keys_fields),
	FIELD_OBJECT(nb_result, "clock", clock, clock_fields),
	FIELD_OBJECT(nb_result, "sysinfo", sysinfo, sysinfo_fields),
	FIELD_OBJECT(nb_result, "environment", environment, environment_fields),
	{FIELD_ROW(nb_result, "measured", JSON_T_OBJECT, measured),
		.fields = measurement_fields, .flags = FIELD_MUST},
	{FIELD_ROW(nb_result, "warnings", JSON_T_LIST, warnings.texts),
		FIELD_COUNTED(
			nb_result, warnings.texts, warnings.count, NULL, ENGINE_WARNINGS_MAX),
		.flags = FIELD_WITHIN},
	END,
};

/* ---- jobs ---- */

const struct json_field json_job_fields[] = {
	FIELD_FILLED_TEXT(nb_job_result, "name", name),
	FIELD_FLAG(nb_job_result, "is_load", is_load),
	FIELD_FLAG(nb_job_result, "is_replay", is_replay),
	FIELD_NUMBER(nb_job_result, "processes", procs),
	FIELD_NUMBER(nb_job_result, "records", records),
	FIELD_BORROWED(nb_job_result, "key_format", key_format),
	FIELD_BORROWED(nb_job_result, "key_order", key_order),
	FIELD_NUMBER(nb_job_result, "key_bytes", key_size),
	FIELD_NUMBER(nb_job_result, "value_bytes_min", value_min),
	FIELD_NUMBER(nb_job_result, "value_bytes_max", value_max),
	FIELD_REAL(nb_job_result, "value_bytes_mean", value_mean),
	FIELD_REAL(nb_job_result, "value_ratio", value_ratio),
	FIELD_REAL(nb_job_result, "value_ratio_measured", measured_ratio),
	FIELD_FLAG(nb_job_result, "was_steady_asked", was_steady_asked),
	FIELD_FLAG(nb_job_result, "is_steady", is_steady),
	FIELD_REAL(nb_job_result, "steady_slope", steady_slope),
	FIELD_REAL(nb_job_result, "steady_band", steady_band),
	END,
};

static const struct json_field case_fields[] = {
	FIELD_NUMBER(job_case, "op", op),
	FIELD_NAME(job_case, "operation", kind, json_kinds),
	FIELD_NAME(job_case, "verdict", verdict, job_verdicts),
	FIELD_NUMBER(job_case, "version", version),
	FIELD_NUMBER(job_case, "expected_version", expected),
	FIELD_NUMBER(job_case, "key_bytes", key_size),
	FIELD_CUSTOM(job_case, "key", key, json_write_case_key, json_read_case_key),
	END,
};

static const struct json_field job_findings_fields[] = {
	FIELD_NUMBER(job_findings, "verified", verified),
	FIELD_NUMBER(job_findings, "read_back", read_back),
	FIELD_NUMBER(job_findings, "foreign", foreign),
	FIELD_COUNTS(job_findings, "verdicts", verdicts, job_verdicts),
	{FIELD_ROW(job_findings, "cases", JSON_T_LIST, cases),
		FIELD_COUNTED(job_findings, cases, case_count, case_fields, JOB_CASES),
		.flags = FIELD_WITHIN},
	END,
};

static const struct json_field trace_fields[] = {
	FIELD_NUMBER(nb_trace_counts, "ops", ops),
	FIELD_NUMBER(nb_trace_counts, "inserts", inserts),
	FIELD_NUMBER(nb_trace_counts, "reads", reads),
	FIELD_NUMBER(nb_trace_counts, "updates", updates),
	FIELD_NUMBER(nb_trace_counts, "upserts", upserts),
	FIELD_NUMBER(nb_trace_counts, "rmws", rmws),
	FIELD_NUMBER(nb_trace_counts, "deletes", deletes),
	FIELD_NUMBER(nb_trace_counts, "scans", scans),
	FIELD_NUMBER(nb_trace_counts, "others", others),
	FIELD_NUMBER(nb_trace_counts, "ignored", ignored),
	FIELD_NUMBER(nb_trace_counts, "bad", bad),
	FIELD_NUMBER(nb_trace_counts, "bytes", bytes),
	FIELD_CHARS(nb_trace_counts, "first_bad", first_bad),
	END,
};

const struct json_field json_kind_fields[] = {
	FIELD_NUMBER(job_kind, "ops", ops),
	FIELD_NUMBER(job_kind, "records", records),
	FIELD_NUMBER(job_kind, "value_bytes", bytes),
	FIELD_COUNTS(job_kind, "answers", answers, answers),
	FIELD_HISTOGRAM(job_kind, "service", service),
	FIELD_HISTOGRAM(job_kind, "response", response),
	END,
};

const struct json_field json_group_fields[] = {
	FIELD_CHARS(job_result_group, "name", name),
	FIELD_NUMBER(job_result_group, "phase", phase),
	FIELD_FLAG(job_result_group, "is_background", is_background),
	FIELD_FLAG(job_result_group, "is_blind_to_gaps", is_blind_to_gaps),
	FIELD_NUMBER(job_result_group, "threads", threads),
	FIELD_COUNTS(job_result_group, "mix", weights, json_kinds),
	FIELD_NAME(job_result_group, "distribution", distribution, distributions),
	FIELD_NAME(job_result_group, "arrivals", arrivals, arrivals),
	FIELD_FLAG(job_result_group, "is_paced", is_paced),
	FIELD_REAL(job_result_group, "rate_ops_s", rate_ops_s),
	FIELD_TEXT(job_result_group, "rate", rate_text),
	FIELD_REAL(job_result_group, "speed", speed),
	FIELD_NUMBER(job_result_group, "duration_ns", duration_ns),
	FIELD_NUMBER(job_result_group, "warmup_ns", warmup_ns),
	FIELD_NUMBER(job_result_group, "warmup_ops", warmup_count),
	FIELD_FLAG(job_result_group, "has_begun", measured.has_begun),
	FIELD_FLAG(job_result_group, "is_partial", measured.is_partial),
	FIELD_NUMBER(job_result_group, "ops", measured.ops),
	FIELD_NUMBER(job_result_group, "done", measured.done),
	FIELD_NUMBER(job_result_group, "commits", measured.commits),
	FIELD_NUMBER(job_result_group, "wall_ns", measured.wall_ns),
	FIELD_NUMBER(job_result_group, "span_ns", measured.span_ns),
	FIELD_REAL(job_result_group, "offered_ops", measured.offered_ops),
	FIELD_NUMBER(job_result_group, "lag_ns", measured.lag_ns),
	FIELD_NUMBER(job_result_group, "lag_max_ns", measured.lag_max_ns),
	FIELD_NUMBER(job_result_group, "waited_ns", measured.waited_ns),
	FIELD_NUMBER(job_result_group, "spin_ns", measured.spin_ns),
	FIELD_HISTOGRAM(job_result_group, "lateness", measured.lateness),
	FIELD_CHARS(job_result_group, "trace", measured.trace),
	{FIELD_ROW(job_result_group, "trace_counts", JSON_T_OBJECT, measured.trace_counts),
		.fields = trace_fields, .flags = FIELD_SIZED},
	FIELD_OBJECT(job_result_group, "findings", measured.findings, job_findings_fields),
	FIELD_CUSTOM(job_result_group, "operations", measured.kinds, json_write_operations,
		json_read_operations),
	FIELD_LIST(job_result_group, "by_thread", measured.threads, measured.thread_count,
		thread_fields, JSON_LIST_MAX),
	END,
};
