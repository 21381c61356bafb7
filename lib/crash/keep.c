/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps a finding: a directory with the database after the crash and crash.json. That file
 * has the options of open, the plan of the operations, the progress of each session, and
 * the contents before the round. All writes follow from these, so a check gives the same
 * finding again, on any machine that has the engine.
 *
 * 64-bit numbers are strings, because other JSON readers use doubles. Options and texts of
 * an engine may contain any bytes; they are encoded as in results (report/json_value.h). A
 * file may have been edited, so every member is validated. A file with another CRASH_STREAM
 * is rejected, because it would be compared with the wrong operations.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/symlink_guard.h"
#include "base/process.h"
#include "base/tree.h"
#include "crash/crash.h"
#include "crash/preload.h"
#include "report/json_value.h"
#include "run/engine.h"
#include "run/procfs.h"

/* Above the limits of any test, but low enough to recompute quickly. */
enum { NAMES_MAX = 1000, OPS_MAX = 100 * 1000 * 1000, KEYS_MAX = 4096 };

static const char *const how_names[] = {[NB_CRASH_KILL] = "kill", [NB_CRASH_POWER] = "power"};
static const char *const file_system_names[] = {
	[NB_CRASH_JOURNALLED] = "journalled", [NB_CRASH_POSIX] = "posix"};

/* ---- writing ---- */

static json_t *
number(uint64_t value)
{
	return json_sprintf("%" PRIu64, value);
}

static json_t *
session_to_json(const struct crash_evidence *evidence, uint32_t s)
{
	const struct crash_oracle *state = evidence->state;
	json_t *last = json_array();
	for (uint32_t key = 0; key < state->plan->keys; key++)
		json_array_append_new(last,
			json_integer(
				(json_int_t)state->last[(size_t)s * state->plan->keys + key]));
	return json_pack("{s:I, s:I, s:I, s:o}", "start", (json_int_t)state->start[s], "acked",
		(json_int_t)evidence->moment->acked[s], "begun",
		(json_int_t)evidence->moment->begun[s], "last", last);
}

static json_t *
plan_to_json(const struct crash_plan *plan)
{
	return json_pack("{s:o, s:i, s:i, s:o, s:i, s:b, s:b, s:b, s:b, s:b}", "seed",
		number(plan->seed), "sessions", (int)plan->sessions, "keys", (int)plan->keys,
		"value_size_max", number(plan->value_size_max), "key_size_max",
		(int)plan->key_size_max, "has_batches", plan->has_batches, "is_atomic",
		plan->is_atomic, "has_txns", plan->has_txns, "has_execute", plan->has_execute,
		"has_counters", plan->has_counters);
}

static json_t *
evidence_to_json(const struct crash_run *run, const struct crash_report *report,
	const struct crash_evidence *evidence)
{
	const struct nb_crash_args *args = run->args;
	json_t *sessions = json_array(), *options = json_array();
	char version[64];
	procfs_keep(version, sizeof(version), args->engine->version());
	for (uint32_t s = 0; s < evidence->state->plan->sessions; s++)
		json_array_append_new(sessions, session_to_json(evidence, s));
	for (size_t i = 0; i < args->engine_option_count; i++)
		json_array_append_new(options, json_from_text(args->engine_options[i]));
	return json_pack(
		"{s:{s:s, s:s, s:i}, s:o, s:s, s:s, s:o, s:s, s:s, s:s, s:o, s:i, s:o, s:s, s:o, s:b, s:b, s:I, s:o, s:o}",
		"mininb", "kind", "crash", "version", nb_version(), "stream", CRASH_STREAM,
		"driver",
		json_from_text(args->driver != NULL ? args->driver : args->engine->name),
		"engine", args->engine->name, "engine_version", version, "options", options,
		"durability", nb_durability_name(args->durability), "how", how_names[args->how],
		"file_system", file_system_names[args->file_system], "seed", number(args->seed),
		"round", (int)evidence->round, "when", json_from_text(evidence->when), "wrong",
		nb_crash_wrong_name(report->worst), "text", json_from_text(report->text),
		"is_made", evidence->moment->is_made != 0, "is_counted", evidence->is_counted,
		"boots", (json_int_t)evidence->boots, "plan",
		plan_to_json(evidence->state->plan), "sessions", sessions);
}

/** Create <keep>/<engine>-<level>-<round from 1>, with a suffix -2 ... if that exists. */
static int
make_directory(char **out, const struct crash_run *run, const struct crash_evidence *evidence)
{
	const struct nb_crash_args *args = run->args;
	if (mkdir(args->keep, 0777) != 0 && errno != EEXIST)
		return error_system("cannot create %s", args->keep);
	int rc = symlink_check(args->keep); /* again: it may have changed since check_keep() */
	if (rc != NB_OK)
		return rc;
	for (int i = 1; i <= NAMES_MAX; i++) {
		char again[16] = "";
		if (i > 1)
			snprintf(again, sizeof(again), "-%d", i);
		if (asprintf(out, "%s/%s-%s-%" PRIu32 "%s", args->keep, args->engine->name,
			    nb_durability_name(args->durability), evidence->round + 1,
			    again) < 0)
			return error_set(NB_FAIL, "out of memory");
		if (mkdir(*out, 0777) == 0)
			return NB_OK;
		if (errno != EEXIST)
			break;
		free(*out);
		*out = NULL;
	}
	rc = error_system("%s: cannot create a directory in it", args->keep);
	free(*out);
	return rc;
}

/** Rename the tree if possible, else copy it. */
static int
move_tree(const char *to, const char *from)
{
	return rename(from, to) == 0 ? NB_OK : process_copy_tree(to, from);
}

static int
write_in(const char *directory, const struct crash_run *run, const struct crash_report *report,
	const struct crash_evidence *evidence)
{
	char path[4096];
	json_t *json = evidence_to_json(run, report, evidence);
	if (json == NULL)
		return error_set(NB_FAIL, "out of memory");
	snprintf(path, sizeof(path), "%s/crash.json", directory);
	int rc = json_dump_file(json, path, JSON_INDENT(1) | JSON_COMPACT) == 0
		? NB_OK
		: error_set(NB_FAIL, "cannot write %s", path);
	json_decref(json);
	snprintf(path, sizeof(path), "%s/database", directory);
	return rc == NB_OK ? move_tree(path, evidence->files) : rc;
}

int
crash_keep_write(char **out, const struct crash_run *run, const struct crash_report *report,
	const struct crash_evidence *evidence)
{
	char *directory = NULL;
	int rc = make_directory(&directory, run, evidence);
	if (rc != NB_OK)
		return rc;
	rc = write_in(directory, run, report, evidence);
	if (rc == NB_OK) {
		*out = directory;
		return NB_OK;
	}
	tree_drop(directory);
	free(directory);
	return rc;
}

/* ---- reading ---- */

/** crash.json, possibly edited. */
struct reader {
	const char *path;
	json_t *json;
	bool is_bad; /* a member is invalid */
};

static uint64_t
read_number(struct reader *reader, const json_t *object, const char *name)
{
	const json_t *member = json_object_get(object, name);
	const char *text = json_string_value(member);
	char *end = NULL;
	errno = 0;
	uint64_t value = text != NULL ? strtoull(text, &end, 10) : 0;
	reader->is_bad |= text == NULL || text[0] < '0' || text[0] > '9' || *end != '\0' ||
		errno != 0;
	return value;
}

static uint64_t
read_count(struct reader *reader, const json_t *object, const char *name, uint64_t most)
{
	const json_t *member = json_object_get(object, name);
	json_int_t value = json_integer_value(member);
	if (json_is_integer(member) && value >= 0 && (uint64_t)value <= most)
		return (uint64_t)value;
	reader->is_bad = true;
	return 0;
}

static bool
read_bool(struct reader *reader, const json_t *object, const char *name)
{
	const json_t *member = json_object_get(object, name);
	reader->is_bad |= !json_is_boolean(member);
	return json_is_true(member);
}

static const char *
read_text(struct reader *reader, const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));
	reader->is_bad |= text == NULL;
	return text != NULL ? text : "";
}

/** Decode a text, yours to free(); NULL: invalid. */
static char *
read_bytes(struct reader *reader, const json_t *member)
{
	struct json_reader values = {.file = reader->path};
	char *bytes = json_to_text(&values, member);
	reader->is_bad |= bytes == NULL;
	return bytes;
}

static uint32_t
read_name(struct reader *reader, const char *name, const char *const *names, size_t count)
{
	const char *text = read_text(reader, reader->json, name);
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(names[i], text) == 0)
			return i;
	reader->is_bad = true;
	return 0;
}

static int
reader_open(struct reader *reader, const char *kept)
{
	char path[4096];
	json_error_t error;
	*reader = (struct reader){.path = kept};
	snprintf(path, sizeof(path), "%s/crash.json", kept);
	if (access(path, R_OK) != 0)
		return error_set(NB_ERR_USAGE,
			"%s is not the directory of a kept crash: %s/crash.json: %s", kept,
			kept, strerror(errno));
	reader->json = json_load_file(path, 0, &error);
	if (reader->json == NULL)
		return error_set(NB_ERR_USAGE, "%s: line %d: %s", path, error.line, error.text);
	return NB_OK;
}

/**
 * Check the version before other errors are reported: the members of another version may
 * differ.
 */
static int
check_origin(struct reader *reader)
{
	const json_t *origin = json_object_get(reader->json, "mininb");
	const json_t *stream = json_object_get(origin, "stream");
	const char *version = read_text(reader, origin, "version");
	if (!json_is_integer(stream) || strcmp(read_text(reader, origin, "kind"), "crash") != 0)
		reader->is_bad = true;
	else if (json_integer_value(stream) != CRASH_STREAM)
		return error_set(NB_ERR_USAGE,
			"%s was kept by mininb %.40s, but mininb %s writes other operations: use version %.40s",
			reader->path, version, nb_version(), version);
	return NB_OK;
}

static int
reader_close(struct reader *reader)
{
	int rc = check_origin(reader);
	json_decref(reader->json);
	if (rc != NB_OK || !reader->is_bad)
		return rc;
	return error_set(NB_ERR_USAGE,
		"%s/crash.json is not the file of a kept crash, or was changed", reader->path);
}

static void
read_options(struct reader *reader, struct nb_crash_kept *out)
{
	const json_t *options = json_object_get(reader->json, "options");
	size_t count = json_array_size(options);
	out->engine_options = calloc(count + 1, sizeof(*out->engine_options));
	reader->is_bad |= out->engine_options == NULL || !json_is_array(options);
	for (size_t i = 0; i < count && !reader->is_bad; i++) {
		out->engine_options[i] = read_bytes(reader, json_array_get(options, i));
		out->engine_option_count += out->engine_options[i] != NULL;
	}
}

static uint32_t
read_durability(struct reader *reader)
{
	const char *names[NB_DUR_COMMIT + 1];
	for (uint32_t i = 0; i <= NB_DUR_COMMIT; i++)
		names[i] = nb_durability_name(i);
	return read_name(reader, "durability", names, NB_DUR_COMMIT + 1);
}

int
nb_crash_kept_read(struct nb_crash_kept *out, const char *kept)
{
	struct reader reader;
	*out = (struct nb_crash_kept){.size = sizeof(*out)};
	int rc = reader_open(&reader, kept);
	if (rc != NB_OK)
		return rc;
	out->driver = read_bytes(&reader, json_object_get(reader.json, "driver"));
	out->durability = read_durability(&reader);
	out->how = read_name(&reader, "how", how_names, 2);
	out->file_system = read_name(&reader, "file_system", file_system_names, 2);
	out->round = (uint32_t)read_count(&reader, reader.json, "round", UINT32_MAX);
	out->boots = (uint32_t)read_count(&reader, reader.json, "boots", UINT32_MAX);
	out->seed = read_number(&reader, reader.json, "seed");
	read_options(&reader, out);
	rc = reader_close(&reader);
	if (rc != NB_OK)
		nb_crash_kept_clear(out);
	return rc;
}

void
nb_crash_kept_clear(struct nb_crash_kept *kept)
{
	free(kept->driver);
	for (size_t i = 0; i < kept->engine_option_count; i++)
		free(kept->engine_options[i]);
	free(kept->engine_options);
	*kept = (struct nb_crash_kept){.size = sizeof(*kept)};
}

static void
read_plan(struct reader *reader, struct crash_plan *plan)
{
	const json_t *json = json_object_get(reader->json, "plan");
	*plan = (struct crash_plan){.seed = read_number(reader, json, "seed"),
		.sessions = (uint32_t)read_count(reader, json, "sessions", CRASH_SESSIONS_MAX),
		.keys = (uint32_t)read_count(reader, json, "keys", KEYS_MAX),
		.value_size_max = read_number(reader, json, "value_size_max"),
		.key_size_max = (uint32_t)read_count(
			reader, json, "key_size_max", CRASH_KEY_MAX),
		.has_batches = read_bool(reader, json, "has_batches"),
		.is_atomic = read_bool(reader, json, "is_atomic"),
		.has_txns = read_bool(reader, json, "has_txns"),
		.has_execute = read_bool(reader, json, "has_execute"),
		.has_counters = read_bool(reader, json, "has_counters")};
	reader->is_bad |= plan->sessions == 0 || plan->keys == 0 ||
		plan->key_size_max < CRASH_KEY_MIN;
}

static void
read_session(struct reader *reader, uint32_t s, struct crash_oracle *state,
	struct crash_moment *moment)
{
	const json_t *json = json_array_get(json_object_get(reader->json, "sessions"), s);
	const json_t *last = json_object_get(json, "last");
	uint32_t keys = state->plan->keys;
	state->start[s] = read_count(reader, json, "start", OPS_MAX);
	moment->acked[s] = read_count(reader, json, "acked", OPS_MAX);
	moment->begun[s] = read_count(reader, json, "begun", OPS_MAX);
	reader->is_bad |= moment->acked[s] < state->start[s] ||
		moment->begun[s] < moment->acked[s] || json_array_size(last) != keys;
	for (uint32_t key = 0; key < keys && !reader->is_bad; key++) {
		const json_t *member = json_array_get(last, key);
		json_int_t write = json_integer_value(member);
		reader->is_bad |= !json_is_integer(member) || write < 0 ||
			(write > 0 && !crash_is_counter(state->plan, key) &&
				crash_write_op((uint64_t)write) >= state->start[s]);
		state->last[(size_t)s * keys + key] = (uint64_t)write;
	}
}

static int
read_evidence(struct reader *reader, struct crash_plan *plan, struct crash_oracle *state,
	struct crash_moment *moment)
{
	read_plan(reader, plan);
	reader->is_bad |= json_array_size(json_object_get(reader->json, "sessions")) !=
		plan->sessions;
	if (reader->is_bad)
		return NB_OK; /* reader_close() reports it */
	int rc = crash_oracle_create(state, plan);
	moment->is_made = read_bool(reader, reader->json, "is_made");
	for (uint32_t s = 0; s < plan->sessions && rc == NB_OK; s++)
		read_session(reader, s, state, moment);
	return rc;
}

/* ---- the check ---- */

static int
check_again(struct crash_run *run, struct crash_oracle *state,
	const struct crash_moment *moment, uint32_t round, bool is_counted, const char *when)
{
	struct crash_report report;
	char from[4096], to[4096];
	snprintf(from, sizeof(from), "%s/database", run->again);
	snprintf(to, sizeof(to), "%s/database", run->scratch);
	int rc = process_copy_tree(to, from);
	if (rc == NB_OK)
		rc = crash_inspect(&report, &run->subject, state, moment, to);
	if (rc != NB_OK)
		return rc;
	run->tally->rounds = 1;
	run->tally->counted = is_counted;
	return crash_run_take(run, &report,
		&(struct crash_evidence){.round = round,
			.is_counted = is_counted,
			.when = when,
			.state = state,
			.moment = moment});
}

/** Simulate the boot number under which the database was opened when it was kept. */
static int
set_boots(const struct crash_run *run, uint32_t boots)
{
	struct preload recorder;
	if (preload_find(&recorder))
		recorder.boot(boots);
	else if (boots != 0)
		return error_set(NB_UNSUPPORTED,
			"%s was kept after a simulated start of the machine, so its check needs the recorder in LD_PRELOAD, which is not loaded",
			run->again);
	return NB_OK;
}

/** Check that the engine is the same and offers the level. */
static int
check_engine(const struct crash_run *run, const char *name)
{
	const struct nb_engine *engine = run->args->engine;
	if (strcmp(name, engine->name) != 0)
		return error_set(NB_ERR_USAGE, "%s was kept for the engine %.64s, not for %s",
			run->again, name, engine->name);
	return engine_check_durability(engine, run->subject.durability);
}

int
crash_run_again(struct crash_run *run)
{
	struct reader reader;
	struct crash_plan plan;
	struct crash_oracle state = {.last = NULL};
	struct crash_moment moment = {.is_made = 0};
	int rc = reader_open(&reader, run->again);
	if (rc != NB_OK)
		return rc;
	char *engine = read_bytes(&reader, json_object_get(reader.json, "engine"));
	char *when = read_bytes(&reader, json_object_get(reader.json, "when"));
	uint32_t round = (uint32_t)read_count(&reader, reader.json, "round", UINT32_MAX);
	uint32_t boots = (uint32_t)read_count(&reader, reader.json, "boots", UINT32_MAX);
	bool is_counted = json_is_true(json_object_get(reader.json, "is_counted"));
	run->subject.durability = read_durability(&reader);
	run->subject.how = read_name(&reader, "how", how_names, 2);
	rc = read_evidence(&reader, &plan, &state, &moment);
	int closed = reader_close(&reader);
	rc = rc == NB_OK ? closed : rc;
	if (rc == NB_OK)
		rc = check_engine(run, engine);
	if (rc == NB_OK)
		rc = set_boots(run, boots);
	if (rc == NB_OK) {
		char clean[CRASH_TEXT_SIZE]; /* the file may have been edited */
		procfs_keep(clean, sizeof(clean), when);
		rc = check_again(run, &state, &moment, round, is_counted, clean);
		int unset = set_boots(run, 0);
		rc = rc == NB_OK ? unset : rc;
	}
	crash_oracle_destroy(&state);
	free(engine);
	free(when);
	return rc;
}
