/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A result file read back: any bytes are safe, and what is refused is told with its place.
 *
 * Members that are not known are left out: a later mininb of the same version may have
 * added them. Those that are not there are 0 and empty, but for a few without which there is
 * no result. What others rely on is made so, or refused: that there are histograms, that
 * texts are not NULL, that a histogram has no more values than there were operations.
 */
#include "report/json_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/json_histogram.h"
#include "report/json_tables.h"

#define FILE_MAX ((size_t)1 << 30)

static int
out_of_memory(void)
{
	return error_set(NB_FAIL, "out of memory");
}

/* ---- a result ---- */

static int
read_member(struct json_reader *reader, const json_t *object, const char *name,
	struct nb_histogram **out)
{
	const json_t *json = json_object_get(object, name);
	JSON_ENTER(reader, place, name);
	int rc = json != NULL ? json_to_histogram(reader, json, out) : NB_OK;
	JSON_LEAVE(reader, place);
	return rc;
}

/** One that has to be there, if only empty. */
static int
fill_histogram(struct nb_histogram **histogram)
{
	return *histogram != NULL ? NB_OK : nb_histogram_new(histogram);
}

struct read_note {
	char id[24];
	char *text; /* owned */
	uint32_t scope;
};

static const struct json_names scopes = {(const char *const[]){"run", "job"}, 2, false};

static const struct json_field note_fields[] = {
	FIELD_CHARS(read_note, "id", id, KEEP,
		"identifier, which stays the same whatever the text says"),
	FIELD_FILLED_TEXT(read_note, "text", text, KEEP, "the sentence"),
	FIELD_NAME(read_note, "scope", scope, scopes, KEEP,
		"whether it is of every run or of jobs alone"),
	{.name = NULL},
};

static int
take_note(struct record *record, const struct read_note *note)
{
	struct nb_result *run = record->run;
	return result_add_note(run, note->scope != 0 && run->is_job, note->id, note->text);
}

static int
read_notes(struct json_reader *reader, const json_t *object, struct record *record)
{
	const json_t *notes = json_object_get(object, "notes");
	size_t count = json_array_size(notes);
	int rc = NB_OK;
	JSON_ENTER(reader, list, "notes");
	if (notes != NULL && !json_is_null(notes) && !json_is_array(notes))
		rc = json_bad(reader, "must be an array");
	else if (count > JSON_LIST_MAX)
		rc = json_bad(reader, "has more than %d elements", JSON_LIST_MAX);
	JSON_ENTER(reader, place, NULL);
	for (; place.index < count && rc == NB_OK; place.index++) {
		struct read_note note = {.text = NULL};
		rc = json_read_fields(
			reader, json_array_get(notes, place.index), note_fields, &note);
		if (rc == NB_OK)
			rc = take_note(record, &note);
		free(note.text);
	}
	JSON_LEAVE(reader, list);
	return rc;
}

static int
read_classic(struct json_reader *reader, const json_t *object, struct nb_result *run)
{
	struct measurement *measured = &run->measured;
	uint64_t answers = run->threads; /* one of each may have failed */
	for (int i = 0; i < WORKER_ANSWERS; i++)
		answers += measured->answers[i];
	int rc = read_member(reader, object, "hiccups", &measured->hiccups);
	if (rc == NB_OK && answers > run->threads && measured->ops > answers)
		rc = json_bad(reader, "measured.ops is more than measured.answers together");
	if (rc == NB_OK && nb_histogram_count(measured->service) > measured->ops)
		rc = json_bad(reader, "measured.service has more values than measured.ops");
	return rc;
}

static int
read_groups(struct json_reader *reader, const json_t *object, struct nb_result *job)
{
	static const struct json_field fields[] = {
		{FIELD_ROW(nb_result, "groups", JSON_T_LIST, groups),
			FIELD_COUNTED(nb_result, groups, group_count, json_group_fields,
				NB_GROUPS_MAX),
			.flags = FIELD_MUST},
		{.name = NULL},
	};
	return json_read_fields(reader, object, fields, job);
}

static int
read_job(struct json_reader *reader, const json_t *object, struct nb_result *job)
{
	JSON_ENTER(reader, place, "job");
	int rc = json_read_fields(reader, json_object_get(object, "job"), json_job_fields, job);
	JSON_LEAVE(reader, place);
	if (rc == NB_OK)
		rc = read_groups(reader, object, job);
	if (rc == NB_OK)
		rc = read_member(reader, object, "service", &job->service);
	if (rc == NB_OK)
		rc = read_member(reader, object, "response", &job->response);
	if (rc == NB_OK)
		rc = read_member(reader, object, "hiccups", &job->measured.hiccups);
	if (rc == NB_OK)
		rc = fill_histogram(&job->service);
	return rc == NB_OK ? fill_histogram(&job->response) : rc;
}

/** Which kind of result it is, with nothing in it yet: a verb, or an action of jobs. */
static int
begin_result(struct json_reader *reader, const json_t *action, struct record *record)
{
	static const char *const of_jobs[] = {"load", "run", "replay"};
	const char *text = json_string_value(action);
	bool is_job = false;
	reader->verb = NULL;
	for (uint32_t i = 0; i < json_verbs.count && text != NULL; i++) {
		const char *verb = nb_verb_name(i);
		if (strcmp(verb, text) == 0)
			reader->verb = verb;
	}
	for (size_t i = 0; i < sizeof(of_jobs) / sizeof(*of_jobs) && text != NULL; i++)
		is_job |= strcmp(of_jobs[i], text) == 0;
	if (reader->verb == NULL && !is_job)
		return json_bad(
			reader, "must be one of put, get, delete, load, run, replay, or null");
	record->run = calloc(1, sizeof(*record->run));
	if (record->run == NULL)
		return out_of_memory();
	record->run->engine.abi = NB_ENGINE_ABI;
	record->run->engine.size = sizeof(record->run->engine);
	reader->texts = &record->run->texts;
	reader->text_count = &record->run->text_count;
	record->run->is_job = is_job;
	return NB_OK;
}

static int
read_result(struct json_reader *reader, const json_t *object, struct record *record)
{
	const json_t *action = json_object_get(object, "action");
	JSON_ENTER(reader, place, "action");
	int rc = action == NULL ? json_bad(reader, "is missing") : NB_OK;
	if (rc == NB_OK && !json_is_null(action))
		rc = begin_result(reader, action, record);
	JSON_LEAVE(reader, place);
	if (rc != NB_OK || record->run == NULL)
		return rc;
	rc = json_read_fields(reader, object, json_result_fields, record->run);
	if (rc == NB_OK)
		rc = fill_histogram(&record->run->measured.service);
	if (rc == NB_OK)
		rc = record->run->is_job ? read_job(reader, object, record->run)
					 : read_classic(reader, object, record->run);
	return rc == NB_OK ? read_notes(reader, object, record) : rc;
}

/* ---- the document ---- */

static int
read_records(struct json_reader *reader, const json_t *document, struct nb_results *results)
{
	const json_t *array = json_object_get(document, "results");
	JSON_ENTER(reader, list, "results");
	int rc = !json_is_array(array) ? json_bad(reader, "must be an array")
		: json_array_size(array) > JSON_RESULTS_MAX
		? json_bad(reader, "has more than %d elements", JSON_RESULTS_MAX)
		: NB_OK;
	JSON_ENTER(reader, place, NULL);
	for (; place.index < json_array_size(array) && rc == NB_OK; place.index++) {
		const json_t *object = json_array_get(array, place.index);
		struct record *record = results_append(results);
		rc = record != NULL
			? json_read_fields(reader, object, json_record_fields, record)
			: NB_FAIL;
		if (rc == NB_OK)
			rc = read_result(reader, object, record);
	}
	JSON_LEAVE(reader, list);
	return rc;
}

static int
check_kind(struct json_reader *reader, const json_t *document)
{
	const char *format = json_string_value(json_object_get(document, "format"));
	const json_t *version = json_object_get(document, "version");
	uint64_t number;
	if (format != NULL && strcmp(format, "mininb-crash") == 0)
		return json_bad(reader, "what a crash test found, and no result of a run");
	if (format == NULL || strcmp(format, "mininb-result") != 0)
		return json_bad(reader, "is no result of mininb");
	JSON_ENTER(reader, place, "version");
	int rc = version != NULL ? json_to_u64(reader, version, UINT64_MAX, &number)
				 : json_bad(reader, "is missing");
	JSON_LEAVE(reader, place);
	if (rc == NB_OK && number > NB_RESULTS_VERSION)
		rc = json_bad(reader,
			"made by a newer mininb: its version is %llu, and this one reads up to %u",
			(unsigned long long)number, NB_RESULTS_VERSION);
	return rc;
}

static int
read_head(struct json_reader *reader, const json_t *document, struct nb_results *results)
{
	static const struct json_field fields[] = {
		FIELD_OBJECT(nb_results, "command", command, json_command_fields, KEEP,
			"how the results were asked for"),
		FIELD_NUMBER(nb_results, "list_count", list_count, KEEP,
			"engines of a list that were run one after the other; 0: it was no list"),
		{.name = NULL},
	};
	return json_read_fields(reader, document, fields, results);
}

static int
read_document(struct nb_results *results, const json_t *document, const char *file)
{
	struct json_reader reader = {.file = file};
	int rc = check_kind(&reader, document);
	if (rc == NB_OK)
		rc = read_head(&reader, document, results);
	if (rc == NB_OK)
		rc = read_records(&reader, document, results);
	if (rc == NB_OK)
		results_find_points(results);
	return rc;
}

/** What jansson says may quote the file: a message is one line. */
static int
bad_syntax(const char *file, const json_error_t *error)
{
	char text[JSON_ERROR_TEXT_LENGTH];
	snprintf(text, sizeof(text), "%s", error->text);
	for (char *at = text; *at != '\0'; at++) {
		if ((unsigned char)*at < ' ')
			*at = ' ';
	}
	return error_set(NB_ERR_DATA, "%s: line %d, column %d: not JSON: %s", file, error->line,
		error->column, text);
}

int
results_parse(struct nb_results **out, const char *text, size_t size, const char *file)
{
	json_error_t error;
	struct nb_results *results;
	json_t *document = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
	if (document == NULL && json_error_code(&error) == json_error_out_of_memory)
		return out_of_memory();
	if (document == NULL)
		return bad_syntax(file, &error);
	int rc = nb_results_new(&results);
	if (rc == NB_OK) {
		rc = read_document(results, document, file);
		if (rc == NB_OK)
			*out = results;
		else
			nb_results_delete(results);
	}
	json_decref(document);
	return rc;
}

/* ---- the file ---- */

/** All of a stream; *text is yours also on a failure. */
static int
read_stream(FILE *in, const char *file, char **text, size_t *size)
{
	size_t room = 0;
	*text = NULL;
	*size = 0;
	for (;;) {
		if (*size == room) {
			room = room > 0 ? 2 * room : 1 << 16;
			char *grown = room <= FILE_MAX ? realloc(*text, room) : NULL;
			if (grown == NULL && room > FILE_MAX)
				return error_set(
					NB_ERR_DATA, "%s: is larger than any result", file);
			if (grown == NULL)
				return out_of_memory();
			*text = grown;
		}
		size_t got = fread(*text + *size, 1, room - *size, in);
		*size += got;
		if (got == 0)
			return ferror(in) ? error_system("%s", file) : NB_OK;
	}
}

int
nb_results_read(struct nb_results **out, const char *path)
{
	bool is_stdin = strcmp(path, "-") == 0;
	const char *file = is_stdin ? "stdin" : path;
	FILE *in = is_stdin ? stdin : fopen(path, "rbe");
	char *text;
	size_t size;
	if (in == NULL)
		return error_system("%s", path);
	int rc = read_stream(in, file, &text, &size);
	if (rc == NB_OK && size == 0)
		rc = error_set(NB_ERR_DATA, "%s: is empty", file);
	if (rc == NB_OK)
		rc = results_parse(out, text, size, file);
	if (rc == NB_OK)
		results_find_actions(*out);
	free(text);
	if (!is_stdin)
		fclose(in);
	return rc;
}
