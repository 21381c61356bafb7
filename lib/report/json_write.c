/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A result file: the document, and how it is laid out.
 *
 * A classic action has a group too, of one kind of operation, so that who looks for
 * results[].groups[].operations[].service finds it in every file. For a classic action that
 * is a view of what stands under `measured`, and so are throughput and percentiles anywhere:
 * none of it is read back.
 *
 * The layout is for people: each member on a line of its own, but plain elements of arrays,
 * as the 16384 pulses of a long run, side by side.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/json_histogram.h"
#include "report/json_tables.h"
#include "report/note.h"
#include "report/metric.h"

/* ---- the document ---- */

static void
put_note(struct json_writer *writer, json_t *array, const char *scope, const char *id,
	const char *text)
{
	json_t *note = json_object();
	json_put(writer, note, "scope", json_string(scope));
	json_put(writer, note, "id", json_from_text(id));
	json_put(writer, note, "weight", json_string(note_weight(id)));
	json_put(writer, note, "text", json_from_text(text));
	writer->has_failed |= json_array_append_new(array, note) != 0;
}

static json_t *
write_notes(struct json_writer *writer, const struct record *record)
{
	json_t *array = json_array();
	for (size_t i = 0; i < record->run->note_count; i++) {
		const struct result_note *note = &record->run->notes[i];
		put_note(writer, array, note->is_of_job ? "job" : "run", note->id, note->text);
	}
	return array;
}

/** What a group of a job would be for a classic action; it owns nothing. */
static struct job_result_group
view_classic(const struct nb_result *run)
{
	const struct measurement *from = &run->measured;
	struct job_result_group view = {.threads = run->threads,
		.weights = {1},
		.distribution = NB_DIST_SEQUENTIAL,
		.measured = {.has_begun = from->has_begun,
			.is_partial = from->is_partial,
			.ops = from->ops,
			.done = from->ops,
			.wall_ns = from->wall_ns,
			.span_ns = from->wall_ns,
			.threads = from->threads,
			.thread_count = from->thread_count,
			.trace_counts = {.size = sizeof(view.measured.trace_counts)},
			.findings = {.verified = from->findings.verified}}};
	static const int verdicts[VALUE_VERDICTS] = {[VALUE_GOOD] = JOB_GOOD,
		[VALUE_WRONG_SIZE] = JOB_WRONG_SIZE,
		[VALUE_OF_OTHER_KEY] = JOB_OTHER_KEY,
		[VALUE_CORRUPT] = JOB_CORRUPT,
		[VALUE_STALE] = JOB_STALE};
	struct job_kind *kind = &view.measured.kinds[0];
	*kind = (struct job_kind){.ops = from->ops,
		.records = from->ops,
		.bytes = from->value_bytes,
		.service = from->service};
	memcpy(kind->answers, from->answers, sizeof(kind->answers));
	view.measured.findings.verdicts[JOB_MISSING] = from->findings.missing;
	for (int i = 0; i < VALUE_VERDICTS; i++)
		view.measured.findings.verdicts[verdicts[i]] = from->findings.verdicts[i];
	snprintf(view.name, sizeof(view.name), "%s", nb_verb_name(run->workload.verb));
	return view;
}

static void
put_group(struct json_writer *writer, json_t *array, const struct job_result_group *group)
{
	const struct job_measurement *measured = &group->measured;
	json_t *object = json_object();
	json_put(writer, object, "throughput_ops_s",
		json_from_real(result_rate((double)measured->ops, measured->wall_ns)));
	json_write_fields(writer, object, json_group_fields, group);
	writer->has_failed |= json_array_append_new(array, object) != 0;
}

static json_t *
write_groups(struct json_writer *writer, const struct record *record)
{
	json_t *array = json_array();
	if (record_job(record) == NULL) {
		struct job_result_group view = view_classic(record->run);
		put_group(writer, array, &view);
	}
	for (size_t g = 0; g < record->run->group_count; g++)
		put_group(writer, array, &record->run->groups[g]);
	return array;
}

static json_t *
write_job(struct json_writer *writer, const struct nb_result *job)
{
	if (job == NULL)
		return json_null();
	json_t *object = json_object();
	json_write_fields(writer, object, json_job_fields, job);
	return object;
}

/** Those that follow from the members below them. */
static void
put_metrics(struct json_writer *writer, json_t *object, const struct record *record)
{
	struct metric_source source;
	metric_source_create(&source, record);
	for (const struct metric *it = metric_table; it->name != NULL; it++)
		if (it->json != NULL)
			json_put(writer, object, it->json,
				json_from_real(metric_take(it, &source).real));
}

static void
put_result(struct json_writer *writer, json_t *object, const struct record *record)
{
	const struct nb_result *job = record_job(record);
	const struct nb_histogram *response = job != NULL ? job->response : NULL;
	put_metrics(writer, object, record);
	json_write_fields(writer, object, json_result_fields, record->run);
	json_put(writer, object, "job", write_job(writer, job));
	json_put(writer, object, "service", json_from_histogram(record_latency(record, false)));
	json_put(writer, object, "response", json_from_histogram(response));
	json_put(writer, object, "hiccups", json_from_histogram(record->run->measured.hiccups));
	json_put(writer, object, "groups", write_groups(writer, record));
	json_put(writer, object, "notes", write_notes(writer, record));
}

static json_t *
write_record(struct json_writer *writer, const struct record *record)
{
	json_t *object = json_object();
	bool is_classic = record->run != NULL && record_job(record) == NULL;
	writer->verb = is_classic ? record_action(record) : NULL;
	json_put(writer, object, "action",
		json_from_text(record->run != NULL ? record_action(record) : NULL));
	json_write_fields(writer, object, json_record_fields, record);
	if (record->run != NULL)
		put_result(writer, object, record);
	return object;
}

static json_t *
write_document(struct json_writer *writer, const struct nb_results *results)
{
	json_t *document = json_object(), *command = json_object(), *array = json_array();
	json_put(writer, document, "format", json_string("mininb-result"));
	json_put(writer, document, "version", json_from_u64(NB_RESULTS_VERSION));
	json_put(writer, document, "mininb", json_string(nb_version()));
	json_write_fields(writer, command, json_command_fields, &results->command);
	json_put(writer, document, "command", command);
	json_put(writer, document, "list_count", json_from_u64(results->list_count));
	for (size_t i = 0; i < results->count; i++)
		writer->has_failed |= json_array_append_new(array,
					      write_record(writer, &results->records[i])) != 0;
	json_put(writer, document, "results", array);
	return document;
}

/* ---- its layout ---- */

static void
put_line(FILE *out, int depth)
{
	fprintf(out, "\n%*s", depth, "");
}

static bool
is_plain(const json_t *json)
{
	return !json_is_object(json) && !json_is_array(json);
}

/** Whether nothing within holds something in turn, but for pairs and the like. */
static bool
is_flat(const json_t *json, int depth)
{
	const char *name;
	json_t *member;
	for (size_t i = 0; i < json_array_size(json); i++) {
		const json_t *element = json_array_get(json, i);
		if (!is_plain(element) &&
			(depth == 0 || json_is_object(element) || !is_flat(element, 0)))
			return false;
	}
	/* the API has no other way to go through an object that is const */
	json_object_foreach((json_t *)(uintptr_t)json, name, member)
	{
		if (!is_plain(member))
			return false;
	}
	return true;
}

/** Of a real number: as few digits as it takes to read the same again, 0.41 and not 0.40999999999999998. */
static size_t
precision(const json_t *json)
{
	enum { SURE = 17 };
	double value = json_real_value(json);
	size_t digits = SURE - 2;
	char text[64];
	for (; json_is_real(json) && digits < SURE; digits++) {
		snprintf(text, sizeof(text), "%.*g", (int)digits, value);
		double again = strtod(text, NULL);
		if (memcmp(&again, &value, sizeof(value)) == 0)
			break;
	}
	return JSON_REAL_PRECISION(digits);
}

static void
dump(const json_t *json, FILE *out, int depth, bool is_element);

static void
dump_object(const json_t *json, FILE *out, int depth, bool is_line)
{
	const char *name, *comma = "";
	json_t *member;
	fputc('{', out);
	json_object_foreach((json_t *)(uintptr_t)json, name, member)
	{
		fputs(comma, out);
		comma = is_line ? ", " : ",";
		if (!is_line)
			put_line(out, depth + 1);
		fprintf(out, "\"%s\": ", name); /* all names are ours */
		dump(member, out, depth + 1, false);
	}
	if (!is_line && json_object_size(json) > 0)
		put_line(out, depth);
	fputc('}', out);
}

static void
dump_array(const json_t *json, FILE *out, int depth, bool is_line)
{
	fputc('[', out);
	for (size_t i = 0; i < json_array_size(json); i++) {
		fputs(i == 0 ? "" : is_line ? ", " : ",", out);
		if (!is_line)
			put_line(out, depth + 1);
		dump(json_array_get(json, i), out, depth + 1, true);
	}
	if (!is_line && json_array_size(json) > 0)
		put_line(out, depth);
	fputc(']', out);
}

static void
dump(const json_t *json, FILE *out, int depth, bool is_element)
{
	if (json_is_object(json))
		dump_object(json, out, depth, is_element && is_flat(json, 0));
	else if (json_is_array(json))
		dump_array(json, out, depth, is_flat(json, 1));
	else if (json_dumpf(json, out, JSON_ENCODE_ANY | precision(json)) != 0)
		fputs("null", out); /* the stream's error stays, and is looked at in the end */
}

int
write_json(const struct nb_results *results, FILE *out, uint32_t flags)
{
	struct json_writer writer = {.verb = NULL};
	json_t *document = write_document(&writer, results);
	(void)flags;
	if (document == NULL || writer.has_failed) {
		json_decref(document);
		return error_set(NB_FAIL, "out of memory");
	}
	dump(document, out, 0, false);
	fputc('\n', out);
	json_decref(document);
	return ferror(out) ? error_system("the result cannot be written") : NB_OK;
}
