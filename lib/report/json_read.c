/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a result file. Any input is safe, and an error names the place.
 *
 * Unknown members are skipped, because a later mininb of the same version may have added
 * them. A missing member is 0 or empty, except the few that a result needs. The rest of the
 * library relies on three facts: histograms exist, texts are not NULL, and histograms have
 * no more values than operations. Reading ensures them or rejects the file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/json_tables.h"

#define FILE_MAX ((size_t)1 << 30)

/* ---- a result ---- */

/** Create an empty histogram if the file has none. */
static void
fill_histogram(struct json_reader *reader, struct nb_histogram **histogram)
{
	if (reader->rc == NB_OK && *histogram == NULL)
		reader->rc = nb_histogram_new(histogram);
}

static void
check_classic(struct json_reader *reader, const struct nb_result *run)
{
	const struct measurement *measured = &run->measured;
	uint64_t answers = run->threads; /* each thread may have one failure */
	for (int i = 0; i < WORKER_ANSWERS; i++)
		answers += measured->answers[i];
	if (answers > run->threads && measured->ops > answers)
		json_bad(reader, "measured.ops is more than measured.answers together");
	if (reader->rc == NB_OK && nb_histogram_count(measured->service) > measured->ops)
		json_bad(reader, "measured.service has more values than measured.ops");
}

static const char *const action_names[] = {"put", "get", "delete", "load", "run", "replay"};
static const struct json_names actions = {.names = action_names, .count = 6};

/** Create an empty result of the right kind: for a verb, or for an action of jobs. */
static void
begin_result(struct json_reader *reader, const json_t *action, struct record *record)
{
	uint32_t index = json_to_name(reader, action, &actions);
	if (reader->rc != NB_OK)
		return;
	struct nb_result *run = calloc(1, sizeof(*run));
	if (run == NULL) {
		reader->rc = error_memory();
		return;
	}
	reader->verb = index < json_verbs.count ? json_name(&json_verbs, NULL, NULL, index)
						: NULL;
	run->engine.abi = NB_ENGINE_ABI;
	run->engine.size = sizeof(run->engine);
	run->is_job = reader->verb == NULL;
	reader->texts = &run->texts;
	reader->text_count = &run->text_count;
	record->run = run;
}

static void
read_record(struct json_reader *reader, const json_t *object, void *into)
{
	const json_t *action = json_object_get(object, "action");
	struct record *record = results_append(into);
	if (record == NULL) {
		reader->rc = NB_FAIL;
		return;
	}
	json_read_fields(reader, object, json_record_fields, record);
	JSON_ENTER(reader, place, "action");
	if (action == NULL)
		json_bad(reader, "is missing");
	else if (!json_is_null(action))
		begin_result(reader, action, record);
	JSON_LEAVE(reader, place);
	struct nb_result *run = record->run;
	if (run == NULL)
		return;
	json_read_fields(reader, object, json_result_fields, run);
	reader->verb = NULL;
	reader->kinds = NULL;
	fill_histogram(reader, &run->measured.service);
	if (run->is_job) {
		fill_histogram(reader, &run->service);
		fill_histogram(reader, &run->response);
	} else {
		check_classic(reader, run);
	}
}

/* ---- the document ---- */

static void
check_kind(struct json_reader *reader, const json_t *document)
{
	const char *format = json_string_value(json_object_get(document, "format"));
	const json_t *version = json_object_get(document, "version");
	if (format != NULL && strcmp(format, "mininb-crash") == 0)
		json_bad(reader, "is the result of a crash test, not of a run");
	else if (format == NULL || strcmp(format, "mininb-result") != 0)
		json_bad(reader, "is not a result of mininb");
	JSON_ENTER(reader, place, "version");
	if (version == NULL)
		json_bad(reader, "is missing");
	uint64_t number = json_to_u64(reader, version, UINT64_MAX);
	JSON_LEAVE(reader, place);
	if (number > NB_RESULTS_VERSION)
		json_bad(reader,
			"was written by a newer mininb: its version is %llu, and this mininb reads versions up to %u",
			(unsigned long long)number, NB_RESULTS_VERSION);
}

static int
read_document(struct nb_results *results, const json_t *document, const char *file)
{
	struct json_reader reader = {.file = file};
	const json_t *array = json_object_get(document, "results");
	check_kind(&reader, document);
	json_read_fields(&reader, document, json_head_fields, results);
	JSON_ENTER(&reader, list, "results");
	if (!json_is_array(array))
		json_bad(&reader, "must be an array");
	json_each(&reader, array, JSON_RESULTS_MAX, read_record, results);
	JSON_LEAVE(&reader, list);
	results_find_points(results);
	return reader.rc;
}

/** Report a syntax error on one line; jansson's text may quote the file. */
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
		return error_memory();
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

int
results_read_stream(FILE *in, const char *file, char **text, size_t *size)
{
	size_t room = 0;
	*text = NULL;
	*size = 0;
	for (;;) {
		if (*size == room) {
			room = room > 0 ? 2 * room : 1 << 16;
			if (room > FILE_MAX)
				return error_set(
					NB_ERR_DATA, "%s: is larger than any result", file);
			char *grown = realloc(*text, room + 1);
			if (grown == NULL)
				return error_memory();
			*text = grown;
		}
		size_t got = fread(*text + *size, 1, room - *size, in);
		*size += got;
		(*text)[*size] = '\0';
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
	int rc = results_read_stream(in, file, &text, &size);
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
