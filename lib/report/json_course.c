/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a table alone cannot say. A sample's numbers of the engine's counters are parallel to
 * the list of their names, and so may not be more; its latencies are merged later from their
 * text, which therefore has to be one. In samples what is 0 is left out: most is.
 */
#include "report/json_course.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/json_histogram.h"
#include "report/json_tables.h"

#define END \
	{ \
		.name = NULL \
	}

static const char *const known_names[] = {"process", "io", "device", "machine", "pressure",
	"cgroup", "cycles", "cache", "branches", "syncs"};
static const struct json_names known = {
	known_names, sizeof(known_names) / sizeof(*known_names)};

static const char *const counter_kind_names[] = {"counter", "gauge"};
static const struct json_names counter_kinds = {counter_kind_names, 2};

const struct json_field json_system_fields[] = {
	FIELD_BITS(system_counts, "known", known, known),
	FIELD_NUMBER(system_counts, "user_ns", user_ns),
	FIELD_NUMBER(system_counts, "system_ns", system_ns),
	FIELD_NUMBER(system_counts, "minor_faults", minor_faults),
	FIELD_NUMBER(system_counts, "major_faults", major_faults),
	FIELD_NUMBER(system_counts, "voluntary_switches", voluntary_switches),
	FIELD_NUMBER(system_counts, "involuntary_switches", involuntary_switches),
	FIELD_NUMBER(system_counts, "call_read_bytes", call_read_bytes),
	FIELD_NUMBER(system_counts, "call_write_bytes", call_write_bytes),
	FIELD_NUMBER(system_counts, "read_calls", read_calls),
	FIELD_NUMBER(system_counts, "write_calls", write_calls),
	FIELD_NUMBER(system_counts, "storage_read_bytes", storage_read_bytes),
	FIELD_NUMBER(system_counts, "storage_write_bytes", storage_write_bytes),
	FIELD_NUMBER(system_counts, "cancelled_write_bytes", cancelled_write_bytes),
	FIELD_NUMBER(system_counts, "device_read_bytes", device_read_bytes),
	FIELD_NUMBER(system_counts, "device_write_bytes", device_write_bytes),
	FIELD_NUMBER(system_counts, "device_reads", device_reads),
	FIELD_NUMBER(system_counts, "device_writes", device_writes),
	FIELD_NUMBER(system_counts, "device_flushes", device_flushes),
	FIELD_NUMBER(system_counts, "device_busy_ns", device_busy_ns),
	FIELD_NUMBER(system_counts, "steal_ns", steal_ns),
	FIELD_NUMBER(system_counts, "busy_ns", busy_ns),
	FIELD_NUMBER(system_counts, "swap_in_bytes", swap_in_bytes),
	FIELD_NUMBER(system_counts, "swap_out_bytes", swap_out_bytes),
	FIELD_NUMBER(system_counts, "pressure_cpu_ns", pressure_cpu_ns),
	FIELD_NUMBER(system_counts, "pressure_memory_ns", pressure_memory_ns),
	FIELD_NUMBER(system_counts, "pressure_io_ns", pressure_io_ns),
	FIELD_NUMBER(system_counts, "throttled_ns", throttled_ns),
	FIELD_NUMBER(system_counts, "fsync_calls", fsync_calls),
	FIELD_NUMBER(system_counts, "fdatasync_calls", fdatasync_calls),
	FIELD_NUMBER(system_counts, "msync_calls", msync_calls),
	FIELD_NUMBER(system_counts, "sync_calls", sync_calls),
	FIELD_NUMBER(system_counts, "cycles", cycles),
	FIELD_NUMBER(system_counts, "instructions", instructions),
	FIELD_NUMBER(system_counts, "cache_references", cache_references),
	FIELD_NUMBER(system_counts, "cache_misses", cache_misses),
	FIELD_NUMBER(system_counts, "branches", branches),
	FIELD_NUMBER(system_counts, "branch_misses", branch_misses),
	END,
};

const struct json_field json_level_fields[] = {
	FIELD_NUMBER(system_levels, "anonymous_bytes", anonymous_bytes),
	FIELD_NUMBER(system_levels, "file_bytes", file_bytes),
	FIELD_NUMBER(system_levels, "shared_bytes", shared_bytes),
	FIELD_NUMBER(system_levels, "data_bytes", data_bytes),
	FIELD_NUMBER(system_levels, "dirty_bytes", dirty_bytes),
	FIELD_NUMBER(system_levels, "threads", threads),
	END,
};

const struct json_field json_counter_fields[] = {
	FIELD_FILLED_TEXT(counter, "name", name),
	FIELD_FILLED_TEXT(counter, "unit", unit),
	FIELD_NAME(counter, "kind", kind, counter_kinds),
	FIELD_NUMBER(counter, "value", value),
	FIELD_FLAG(counter, "has_run_back", has_run_back),
	END,
};

/* ---- over time ---- */

static const struct json_field latency_fields[] = {
	FIELD_NAME(sample_latency, "operation", kind, json_kinds),
	FIELD_FLAG(sample_latency, "is_response", is_response),
	FIELD_NUMBER(sample_latency, "count", count),
	FIELD_NUMBER(sample_latency, "p50_ns", p50_ns),
	FIELD_NUMBER(sample_latency, "p99_ns", p99_ns),
	FIELD_NUMBER(sample_latency, "p999_ns", p999_ns),
	FIELD_NUMBER(sample_latency, "max_ns", max_ns),
	{FIELD_ROW(sample_latency, "hdr", JSON_T_TEXT, hdr),
		.flags = FIELD_MUST | FIELD_FILLED},
	END,
};

static const struct json_field sample_fields[] = {
	FIELD_NUMBER(sample, "end_ns", end_ns),
	FIELD_NUMBER(sample, "duration_ns", duration_ns),
	FIELD_NUMBER(sample, "phase", phase),
	FIELD_FLAG(sample, "is_warmup", is_warmup),
	FIELD_NUMBER(sample, "ops", ops),
	FIELD_NUMBER(sample, "behind_ops", behind_ops),
	FIELD_LIST(
		sample, "latencies", latencies, latency_count, latency_fields, 2 * NB_OP_KINDS),
	FIELD_NUMBERS(sample, "counters", counters, counter_count, JSON_LIST_MAX),
	{FIELD_ROW(sample, "used", JSON_T_OBJECT, used), .fields = json_system_fields,
		.flags = FIELD_SPARSE},
	{FIELD_ROW(sample, "levels", JSON_T_OBJECT, levels), .fields = json_level_fields,
		.flags = FIELD_SPARSE},
	END,
};

static const struct json_field gap_fields[] = {
	FIELD_NUMBER(gap, "begin_ns", begin_ns),
	FIELD_NUMBER(gap, "duration_ns", duration_ns),
	END,
};

static const struct json_field pulses_fields[] = {
	FIELD_NUMBER(pulses, "phase", phase),
	FIELD_NUMBER(pulses, "begin_ns", begin_ns),
	FIELD_NUMBER(pulses, "pulse_ns", pulse_ns),
	FIELD_NUMBERS(pulses, "ops", ops, count, JSON_PULSES_MAX),
	{FIELD_ROW(pulses, "gaps", JSON_T_LIST, gaps),
		FIELD_COUNTED(pulses, gaps, gap_count, gap_fields, SERIES_GAPS_MAX),
		.flags = FIELD_WITHIN},
	END,
};

const struct json_field json_series_fields[] = {
	FIELD_NUMBER(series, "interval_ns", interval_ns),
	FIELD_LIST(series, "counters", counters.items, counters.count, json_counter_fields,
		JSON_LIST_MAX),
	FIELD_LIST(series, "samples", samples, count, sample_fields, JSON_SAMPLES_MAX),
	FIELD_LIST(series, "pulses", pulses, pulses_count, pulses_fields, NB_GROUPS_MAX),
	END,
};

json_t *
json_write_series(struct json_writer *writer, const void *from)
{
	const struct measurement *measured = from;
	json_t *object = json_object();
	json_write_fields(writer, object, json_series_fields, &measured->series);
	return object;
}

static int
check_latency(struct json_reader *reader, const struct sample_latency *latency)
{
	struct nb_histogram *histogram;
	int rc = nb_histogram_decode(&histogram, latency->hdr);
	if (rc == NB_ERR_DATA) {
		char text[256];
		snprintf(text, sizeof(text), "%s", nb_error_text());
		return json_bad(reader, "hdr is %s", text);
	}
	if (rc == NB_OK)
		nb_histogram_delete(histogram);
	return rc;
}

static int
check_sample(
	struct json_reader *reader, const struct series *series, const struct sample *sample)
{
	int rc = NB_OK;
	if (sample->counter_count > series->counters.count)
		return json_bad(reader, "has more counters than there are names");
	JSON_ENTER(reader, latencies, "latencies");
	JSON_ENTER(reader, place, NULL);
	for (; place.index < sample->latency_count && rc == NB_OK; place.index++)
		rc = check_latency(reader, &sample->latencies[place.index]);
	JSON_LEAVE(reader, latencies);
	return rc;
}

int
json_read_series(struct json_reader *reader, const json_t *json, void *into)
{
	struct series *series = &((struct measurement *)into)->series;
	int rc = json_read_fields(reader, json, json_series_fields, series);
	if (rc != NB_OK)
		return rc;
	JSON_ENTER(reader, samples, "samples");
	JSON_ENTER(reader, place, NULL);
	for (; place.index < series->count && rc == NB_OK; place.index++)
		rc = check_sample(reader, series, &series->samples[place.index]);
	JSON_LEAVE(reader, samples);
	return rc;
}

/* ---- operations of a group ---- */

static bool
has_any(const struct job_kind *kind)
{
	bool has = kind->service != NULL || kind->response != NULL || kind->ops > 0 ||
		kind->records > 0 || kind->bytes > 0;
	for (int i = 0; i < WORKER_ANSWERS; i++)
		has |= kind->answers[i] > 0;
	return has;
}

json_t *
json_write_operations(struct json_writer *writer, const void *from)
{
	const struct job_measurement *measured =
		&((const struct job_result_group *)from)->measured;
	json_t *array = json_array();
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
		const struct job_kind *it = &measured->kinds[kind];
		if (!has_any(it))
			continue;
		json_t *object = json_object();
		json_put(writer, object, "operation",
			json_string(json_name(&json_kinds, writer->verb, kind)));
		json_put(writer, object, "throughput_ops_s",
			json_from_real(result_rate((double)it->ops, measured->wall_ns)));
		json_write_fields(writer, object, json_kind_fields, it);
		writer->has_failed |= json_array_append_new(array, object) != 0;
	}
	return array;
}

static int
read_operation(struct json_reader *reader, const json_t *json, struct job_measurement *into)
{
	uint32_t kind = 0;
	const json_t *name = json_object_get(json, "operation");
	JSON_ENTER(reader, place, "operation");
	int rc = name != NULL ? json_to_name(reader, name, &json_kinds, &kind)
			      : json_bad(reader, "is missing");
	if (rc == NB_OK && has_any(&into->kinds[kind]))
		rc = json_bad(reader, "is there twice");
	JSON_LEAVE(reader, place);
	return rc == NB_OK
		? json_read_fields(reader, json, json_kind_fields, &into->kinds[kind])
		: rc;
}

int
json_read_operations(struct json_reader *reader, const json_t *json, void *into)
{
	struct job_result_group *group = into;
	int rc = NB_OK;
	if (!json_is_array(json) && !json_is_null(json))
		return json_bad(reader, "must be an array");
	JSON_ENTER(reader, place, NULL);
	for (; place.index < json_array_size(json) && rc == NB_OK; place.index++)
		rc = read_operation(
			reader, json_array_get(json, place.index), &group->measured);
	JSON_LEAVE(reader, place);
	return rc;
}

/* ---- what verification found ---- */

json_t *
json_write_case_key(struct json_writer *writer, const void *from)
{
	const struct job_case *it = from;
	uint32_t kept = it->key_size < JOB_CASE_BYTES ? it->key_size : JOB_CASE_BYTES;
	char text[2 * JOB_CASE_BYTES + 1] = "";
	(void)writer;
	for (uint32_t i = 0; i < kept; i++)
		snprintf(text + (size_t)2 * i, 3, "%02x", it->key[i]);
	return json_string(text);
}

int
json_read_case_key(struct json_reader *reader, const json_t *json, void *into)
{
	struct job_case *it = into;
	const char *text = json_is_null(json) ? "" : json_string_value(json);
	size_t length = text != NULL ? strlen(text) : 1;
	if (length % 2 != 0 || length > 2 * JOB_CASE_BYTES ||
		strspn(text, "0123456789abcdefABCDEF") != length)
		return json_bad(reader, "must be a text of at most %d hexadecimal bytes",
			JOB_CASE_BYTES);
	for (size_t i = 0; i < length / 2; i++) {
		char byte[3] = {text[2 * i], text[2 * i + 1], '\0'};
		it->key[i] = (uint8_t)strtoul(byte, NULL, 16);
	}
	return NB_OK;
}
