/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Members of a result file that do not correspond to one member of a structure. They are
 * derived, checked together with others, or written in a special form.
 */
#include "report/json_custom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/json_tables.h"
#include "report/note.h"

/** Latencies are merged later from this text. */
void
json_check_hdr(struct json_reader *reader, const void *into)
{
	const struct sample_latency *latency = into;
	struct nb_histogram *histogram;
	int rc = nb_histogram_decode(&histogram, latency->hdr);
	if (rc == NB_OK)
		nb_histogram_delete(histogram);
	else if (rc == NB_ERR_DATA)
		json_bad(reader, "%s", nb_error_text());
	else
		reader->rc = rc;
}

/** The counters of a sample are parallel to the list of their names. */
void
json_check_series(struct json_reader *reader, const void *into)
{
	const struct series *series = &((const struct measurement *)into)->series;
	JSON_ENTER(reader, samples, "samples");
	JSON_ENTER(reader, place, NULL);
	for (; place.index < series->count; place.index++)
		if (series->samples[place.index].counter_count > series->counters.count)
			json_bad(reader, "has more counters than there are names");
	JSON_LEAVE(reader, samples);
}

/** For derived members. */
void
json_read_nothing(struct json_reader *reader, const json_t *json, void *into)
{
	(void)reader, (void)json, (void)into;
}

json_t *
json_write_rate(struct json_writer *writer, const void *from)
{
	const struct job_measurement *measured =
		&((const struct job_result_group *)from)->measured;
	(void)writer;
	return json_from_real(result_rate((double)measured->ops, measured->wall_ns));
}

json_t *
json_write_weight(struct json_writer *writer, const void *from)
{
	(void)writer;
	return json_string(note_weight(((const struct result_note *)from)->id));
}

static bool
has_any(const struct job_kind *kind)
{
	bool has = kind->service != NULL || kind->response != NULL || kind->ops > 0 ||
		kind->records > 0 || kind->bytes > 0;
	for (int i = 0; i < WORKER_ANSWERS; i++)
		has |= kind->answers[i] > 0;
	return has;
}

/** Write the names of kinds from KIND_ADD on; later members of the document use them. */
json_t *
json_write_kinds(struct json_writer *writer, const void *from)
{
	const struct nb_result *result = from;
	json_t *array = json_array();
	for (uint32_t kind = KIND_ADD; kind < NB_KINDS_MAX && result->kinds[kind][0] != '\0';
		kind++)
		json_add(writer, array, json_string(result->kinds[kind]));
	writer->kinds = result->kinds;
	return array;
}

static void
read_kind(struct json_reader *reader, const json_t *json, void *into)
{
	struct nb_result *result = into;
	const char *name = json_string_value(json);
	if (name == NULL || name[0] == '\0' || strlen(name) >= NB_KIND_NAME)
		json_bad(reader, "must be a name of at most %d characters", NB_KIND_NAME - 1);
	else
		memcpy(result->kinds[KIND_ADD + reader->place->index], name, strlen(name) + 1);
}

void
json_read_kinds(struct json_reader *reader, const json_t *json, void *into)
{
	struct nb_result *result = into;
	json_each(reader, json, NB_KINDS_MAX - KIND_ADD, read_kind, into);
	reader->kinds = (json_kind_names)result->kinds;
}

/** Write an array of the operation kinds that occurred. */
json_t *
json_write_operations(struct json_writer *writer, const void *from)
{
	const struct job_measurement *measured =
		&((const struct job_result_group *)from)->measured;
	json_t *array = json_array();
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
		const struct job_kind *it = &measured->kinds[kind];
		if (!has_any(it))
			continue;
		json_t *object = json_object();
		json_put(writer, object, "operation",
			json_string(json_name(&json_kinds, writer->verb, writer->kinds, kind)));
		json_put(writer, object, "throughput_ops_s",
			json_from_real(result_rate((double)it->ops, measured->wall_ns)));
		json_write_fields(writer, object, json_kind_fields, it);
		json_add(writer, array, object);
	}
	return array;
}

static void
read_operation(struct json_reader *reader, const json_t *json, void *into)
{
	struct job_measurement *measured = into;
	const json_t *name = json_object_get(json, "operation");
	JSON_ENTER(reader, place, "operation");
	if (name == NULL)
		json_bad(reader, "is missing");
	struct job_kind *kind = &measured->kinds[json_to_name(reader, name, &json_kinds)];
	if (has_any(kind))
		json_bad(reader, "is there twice");
	JSON_LEAVE(reader, place);
	json_read_fields(reader, json, json_kind_fields, kind);
}

void
json_read_operations(struct json_reader *reader, const json_t *json, void *into)
{
	json_each(reader, json, SIZE_MAX, read_operation,
		&((struct job_result_group *)into)->measured);
}

/** Write the first bytes of a key in hexadecimal. */
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

void
json_read_case_key(struct json_reader *reader, const json_t *json, void *into)
{
	struct job_case *it = into;
	const char *text = json_is_null(json) ? "" : json_string_value(json);
	size_t length = text != NULL ? strlen(text) : 1;
	if (length % 2 != 0 || length > 2 * JOB_CASE_BYTES ||
		strspn(text, "0123456789abcdefABCDEF") != length) {
		json_bad(reader, "must be a text of at most %d hexadecimal bytes",
			JOB_CASE_BYTES);
		return;
	}
	for (size_t i = 0; i < length / 2; i++) {
		char byte[3] = {text[2 * i], text[2 * i + 1], '\0'};
		it->key[i] = (uint8_t)strtoul(byte, NULL, 16);
	}
}

/** Write null if the record has no sweep. */
json_t *
json_write_sweep(struct json_writer *writer, const void *from)
{
	const struct record *record = from;
	if (record->sweep.curve == NULL)
		return json_null();
	json_t *object = json_object();
	json_write_fields(writer, object, json_sweep_fields, &record->sweep);
	return object;
}

void
json_read_sweep(struct json_reader *reader, const json_t *json, void *into)
{
	struct record *record = into;
	if (!json_is_null(json))
		json_read_fields(reader, json, json_sweep_fields, &record->sweep);
}
