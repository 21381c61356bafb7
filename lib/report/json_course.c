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

static const char *const known_names[] = {
#define NAME(group, name, ...) name,
	SYSTEM_GROUPS(NAME)
#undef NAME
};
static const struct json_names known = {known_names, SYSTEM_GROUP_COUNT};

static const char *const counter_kind_names[] = {"counter", "gauge"};
static const struct json_names counter_kinds = {counter_kind_names, 2};

/* clang-format off */

const struct json_field json_system_fields[] = {
	FIELD_BITS(system_counts, "known", known, known, KEEP, "what could be read; the numbers of the rest are 0"),
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
	FIELD_FILLED_TEXT(counter, "unit", unit, KEEP, "what one is: bytes, files; may be empty"),
	FIELD_NAME(counter, "kind", kind, counter_kinds, KEEP, "counter: it only grows, and the value is how much; gauge: the value is a level at the end"),
	FIELD_NUMBER(counter, "value", value, KEEP, "in the unit"),
	FIELD_FLAG(counter, "has_run_back", has_run_back, KEEP, "a counter that fell: its value tells nothing"),
	END,
};

/* ---- over time ---- */

const struct json_field json_latency_fields[] = {
	FIELD_NAME(sample_latency, "operation", kind, json_kinds, KEEP, "the kind"),
	FIELD_FLAG(sample_latency, "is_response", is_response, KEEP, "response times, else service times"),
	FIELD_NUMBER(sample_latency, "count", count, KEEP, "operations"),
	FIELD_NUMBER(sample_latency, "p50_ns", p50_ns, KEEP, "median, ns; 0: too few"),
	FIELD_NUMBER(sample_latency, "p99_ns", p99_ns, KEEP, "99th percentile, ns; 0: too few"),
	FIELD_NUMBER(sample_latency, "p999_ns", p999_ns, KEEP, "99.9th percentile, ns; 0: too few"),
	FIELD_NUMBER(sample_latency, "max_ns", max_ns, KEEP, "upper end of the highest bucket, ns"),
	{FIELD_ROW(sample_latency, "hdr", JSON_T_TEXT, hdr), .flags = FIELD_MUST | FIELD_FILLED,
		.merge = MERGE_KEEP, .what = "the histogram: HdrHistogram's V2 compressed encoding in base64, unit 1 ns"},
	END,
};

const struct json_field json_sample_fields[] = {
	FIELD_NUMBER(sample, "end_ns", end_ns, KEEP, "its end, ns from the first operation"),
	FIELD_NUMBER(sample, "duration_ns", duration_ns, KEEP, "how long it was, ns"),
	FIELD_NUMBER(sample, "phase", phase, KEEP, "that it was in"),
	FIELD_FLAG(sample, "is_warmup", is_warmup, KEEP, "it does not count"),
	FIELD_NUMBER(sample, "ops", ops, KEEP, "operations done within it, of all groups"),
	FIELD_NUMBER(sample, "behind_ops", behind_ops, KEEP, "with a rate: operations due at its end and not done"),
	FIELD_LIST(sample, "latencies", latencies, latency_count, json_latency_fields, 2 * NB_OP_KINDS, KEEP, "of each kind of operation"),
	FIELD_NUMBERS(sample, "counters", counters, counter_count, JSON_LIST_MAX, KEEP, "parallel to series.counters: how much each grew within it, or a gauge's level at its end; those beyond the last are 0"),
	{FIELD_ROW(sample, "used", JSON_T_OBJECT, used), .fields = json_system_fields, .flags = FIELD_SPARSE,
		.merge = MERGE_KEEP, .what = "what the system counted within it"},
	{FIELD_ROW(sample, "levels", JSON_T_OBJECT, levels), .fields = json_level_fields, .flags = FIELD_SPARSE,
		.merge = MERGE_KEEP, .what = "what was at its end"},
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
	{FIELD_ROW(pulses, "gaps", JSON_T_LIST, gaps),
		FIELD_COUNTED(pulses, gaps, gap_count, gap_fields, SERIES_GAPS_MAX), .flags = FIELD_WITHIN,
		.merge = MERGE_KEEP, .what = "the longest times above 60 ms in which no operation ended"},
	END,
};

const struct json_field json_series_fields[] = {
	FIELD_NUMBER(series, "interval_ns", interval_ns, KEEP, "of the samples, ns; the first ones may be shorter"),
	FIELD_LIST(series, "counters", counters.items, counters.count, json_counter_fields, JSON_LIST_MAX, KEEP, "names, units and kinds of the engine's counters"),
	FIELD_LIST(series, "samples", samples, count, json_sample_fields, JSON_SAMPLES_MAX, KEEP, "in order of time"),
	FIELD_LIST(series, "pulses", pulses, pulses_count, pulses_fields, NB_GROUPS_MAX, KEEP, "operations in short stretches, one list for each phase"),
	END,
};

/* clang-format on */

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
