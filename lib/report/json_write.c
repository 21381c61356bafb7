/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A result file: the document and its layout.
 *
 * A classic action has one group with one kind of operation, so that every file has
 * results[].groups[].operations[].service. That group is derived from `measured` and is not
 * read back. The same holds for throughput and percentiles everywhere.
 *
 * The layout is for people: each member has its own line, but plain array elements, like
 * the 16384 pulses of a long run, are on one line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/json_tables.h"
#include "report/metric.h"

/* ---- the document ---- */

/** A classic action in the form of a job's group; it owns nothing. */
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
	struct job_kind *kind = &view.measured.kinds[0];
	*kind = (struct job_kind){.ops = from->ops,
		.records = from->ops,
		.bytes = from->value_bytes,
		.service = from->service};
	memcpy(kind->answers, from->answers, sizeof(kind->answers));
	view.measured.findings.verdicts[JOB_MISSING] = from->findings.missing;
	for (int i = 0; i < VALUE_VERDICTS; i++)
		view.measured.findings.verdicts[job_verdict_of(i)] = from->findings.verdicts[i];
	snprintf(view.name, sizeof(view.name), "%s", nb_verb_name(run->workload.verb));
	return view;
}

/** Add the metrics, which are derived from the members after them. */
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

static json_t *
write_record(struct json_writer *writer, const struct record *record)
{
	json_t *object = json_object();
	const struct nb_result *run = record->run;
	bool is_classic = run != NULL && !run->is_job;
	writer->verb = is_classic ? record_action(record) : NULL;
	writer->kinds = NULL;
	json_put(writer, object, "action",
		json_from_text(run != NULL ? record_action(record) : NULL));
	json_write_fields(writer, object, json_record_fields, record);
	if (run == NULL)
		return object;
	put_metrics(writer, object, record);
	struct nb_result view = *run;
	struct job_result_group group;
	if (is_classic) {
		group = view_classic(run);
		view.service = run->measured.service;
		view.groups = &group;
		view.group_count = 1;
	}
	json_write_fields(writer, object, json_result_fields, &view);
	return object;
}

static json_t *
write_document(struct json_writer *writer, const struct nb_results *results)
{
	json_t *document = json_object(), *array = json_array();
	json_put(writer, document, "format", json_string("mininb-result"));
	json_put(writer, document, "version", json_from_u64(NB_RESULTS_VERSION));
	json_put(writer, document, "mininb", json_string(nb_version()));
	json_write_fields(writer, document, json_head_fields, results);
	for (size_t i = 0; i < results->count; i++)
		json_add(writer, array, write_record(writer, &results->records[i]));
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

/** Whether its elements are plain values, or pairs and the like. */
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
	/* jansson has no other way to iterate over a const object */
	json_object_foreach((json_t *)(uintptr_t)json, name, member)
	{
		if (!is_plain(member))
			return false;
	}
	return true;
}

/**
 * The precision of a real: the fewest digits that read back equal, 0.41 and not
 * 0.40999999999999998.
 */
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
		fprintf(out, "\"%s\": ", name); /* names need no escapes */
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
		fputs("null", out); /* the caller checks the stream's error at the end */
}

int
write_json(const struct nb_results *results, FILE *out, uint32_t flags)
{
	struct json_writer writer = {.verb = NULL};
	json_t *document = write_document(&writer, results);
	(void)flags;
	if (document == NULL || writer.has_failed) {
		json_decref(document);
		return error_memory();
	}
	dump(document, out, 0, false);
	fputc('\n', out);
	json_decref(document);
	return ferror(out) ? error_system("the result cannot be written") : NB_OK;
}
