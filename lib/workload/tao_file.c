/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a workload file of TAOBench.
 *
 * The original finds names by a regular expression, so a misspelled name causes an exception or
 * is ignored. Here every line is a separate JSON value. Names that the original reads but does
 * not use are listed separately from unknown names; the caller prints both once.
 *
 * A list of types may omit types or have another order; the outcomes of a distribution are
 * always those of tao_file.h. Lists of more than TAO_SHARDS_MAX shards are rejected. The
 * original folds them, and by mistake folds remote shards with the weights of primary ones.
 */
#include "workload/tao_file.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/lines.h"

static const char *const read_types[] = {
	"obj_read", "edge_point_read", "edge_range_read", "edge_count_read", "edge_time_read"};
static const char *const write_types[] = {
	"obj_add", "obj_update", "obj_delete", "edge_add", "edge_update", "edge_delete"};
static const char *const edge_types[] = {
	"unique", "bidirectional", "unique_and_bidirectional", "other"};

/**
 * Syntax of a distribution: its name; the names of outcomes, the maximum size, or only weights.
 */
struct form {
	const char *name;
	const char *const *names;
	uint32_t count; /* number of names, or minimum number of weights */
	uint32_t most;  /* maximum number of weights */
	uint32_t size_max;
};

#define NAMED(name, names) \
	{ \
		name, names, sizeof(names) / sizeof((names)[0]), 0, 0 \
	}
static const struct form forms[TAO_LAWS] = {
	[TAO_OPERATIONS] = {"operations", NULL, TAO_OPS, TAO_OPS, 0},
	[TAO_READS] = NAMED("read_operation_types", read_types),
	[TAO_WRITES] = NAMED("write_operation_types", write_types),
	[TAO_TXN_READS] = NAMED("read_txn_operation_types", read_types),
	[TAO_TXN_WRITES] = NAMED("write_txn_operation_types", write_types),
	[TAO_TXN_READ_SIZES] = {"read_txn_sizes", NULL, 0, 0, TAO_READS_MAX},
	[TAO_TXN_WRITE_SIZES] = {"write_txn_sizes", NULL, 0, 0, TAO_WRITES_MAX},
	[TAO_EDGE_TYPES] = NAMED("edge_types", edge_types),
	[TAO_PRIMARY_SHARDS] = {"primary_shards", NULL, 1, TAO_SHARDS_MAX, 0},
	[TAO_REMOTE_SHARDS] = {"remote_shards", NULL, 1, TAO_SHARDS_MAX, 0},
};

/* Names that the original reads but does not use. */
static const char *const unused[] = {"read_operation_latency", "write_operation_latency",
	"write_txn_latency", "errors", "txn_errors", "operation_predicates", "txn_predicates",
	"txn_predicate_counts", "read_tiers"};

static uint32_t
find(const char *const *names, uint32_t count, const char *name)
{
	uint32_t i = 0;
	while (i < count && strcmp(names[i], name) != 0)
		i++;
	return i;
}

/* ---- a line ---- */

static int
read_weight(double *weight, const json_t *value)
{
	*weight = json_number_value(value);
	return json_is_number(value) && isfinite(*weight) && *weight >= 0
		? NB_OK
		: error_set(NB_ERR_USAGE, "a weight is a number from 0 up");
}

/** The outcome of entry i of the line. */
static int
read_place(const struct form *form, const json_t *values, size_t i, uint32_t *place)
{
	const char *name = json_string_value(json_array_get(values, i));
	*place = (uint32_t)i;
	if (form->names == NULL)
		return NB_OK;
	if (name == NULL)
		return error_set(NB_ERR_USAGE, "\"values\" are names of types");
	*place = find(form->names, form->count, name);
	return *place < form->count
		? NB_OK
		: error_unknown(name, form->names, form->count, "unknown type '%.60s'", name);
}

static int
read_size(const struct form *form, const json_t *values, size_t i, uint32_t *size)
{
	json_int_t value = json_integer_value(json_array_get(values, i));
	*size = (uint32_t)value;
	return value >= 1 && value <= form->size_max
		? NB_OK
		: error_set(NB_ERR_USAGE, "\"values\" are sizes of 1 to %u", form->size_max);
}

/** Allocate the weights and, for sizes, the values. */
static int
create_law(struct tao_law *law, const struct form *form, size_t entries)
{
	law->count = form->names != NULL ? form->count : (uint32_t)entries;
	law->weights = calloc(law->count + 1, sizeof(*law->weights));
	if (form->size_max > 0)
		law->values = calloc(law->count + 1, sizeof(*law->values));
	return law->weights != NULL && (form->size_max == 0 || law->values != NULL)
		? NB_OK
		: error_memory();
}

static int
check_count(const struct form *form, const json_t *values, size_t entries)
{
	bool has_values = form->names != NULL || form->size_max > 0;
	if (has_values && json_array_size(values) != entries)
		return error_set(NB_ERR_USAGE,
			"\"values\" has %zu entries and \"weights\" has %zu; they go by pairs",
			json_array_size(values), entries);
	if (form->size_max > 0)
		return entries >= 1 && entries <= form->size_max
			? NB_OK
			: error_set(NB_ERR_USAGE, "%zu sizes; allowed: 1 to %u", entries,
				  form->size_max);
	if (form->names == NULL && (entries < form->count || entries > form->most))
		return error_set(NB_ERR_USAGE, "%zu weights; allowed: %u to %u", entries,
			form->count, form->most);
	return NB_OK;
}

static int
read_law(struct tao_law *law, const struct form *form, const json_t *line)
{
	const json_t *values = json_object_get(line, "values");
	const json_t *weights = json_object_get(line, "weights");
	size_t entries = json_array_size(weights);
	double sum = 0;
	int rc = check_count(form, values, entries);
	if (rc == NB_OK)
		rc = create_law(law, form, entries);
	for (size_t i = 0; i < entries && rc == NB_OK; i++) {
		uint32_t place;
		double weight = 0;
		rc = read_place(form, values, i, &place);
		if (rc == NB_OK && form->size_max > 0)
			rc = read_size(form, values, i, &law->values[i]);
		if (rc == NB_OK)
			rc = read_weight(&weight, json_array_get(weights, i));
		if (rc == NB_OK)
			law->weights[place] += weight;
		sum += weight;
	}
	if (rc == NB_OK && !(sum > 0 && isfinite(sum)))
		rc = error_set(NB_ERR_USAGE, "the weights sum up to nothing");
	return rc;
}

/** Append a name to a list such as "errors, read_tiers". */
static int
list_name(char **list, const char *name)
{
	char *longer;
	int size = *list == NULL ? asprintf(&longer, "%.60s", name)
				 : asprintf(&longer, "%s, %.60s", *list, name);
	if (size < 0)
		return error_memory();
	free(*list);
	*list = longer;
	return NB_OK;
}

static int
take_object(struct tao_file *file, const json_t *line)
{
	const char *name = json_string_value(json_object_get(line, "name"));
	uint32_t law = 0;
	if (name == NULL)
		return error_set(
			NB_ERR_USAGE, "a line is {\"name\": NAME, \"weights\": [...]}");
	while (law < TAO_LAWS && strcmp(forms[law].name, name) != 0)
		law++;
	if (law == TAO_LAWS) {
		uint32_t count = sizeof(unused) / sizeof(unused[0]);
		bool is_known = find(unused, count, name) < count;
		return list_name(is_known ? &file->unused : &file->unknown, name);
	}
	int rc = file->laws[law].weights != NULL
		? error_set(NB_ERR_USAGE, "comes twice")
		: read_law(&file->laws[law], &forms[law], line);
	return rc == NB_OK ? rc : error_prefix(rc, "%s", name);
}

static int
take_line(void *arg, size_t number, char *text)
{
	json_error_t error;
	if (text[0] == '\0')
		return NB_OK;
	json_t *line = json_loads(text, 0, &error);
	(void)number;
	if (line == NULL)
		return error_set(
			NB_ERR_USAGE, "each line is a JSON object: %.100s", error.text);
	int rc = take_object(arg, line);
	json_decref(line);
	return rc;
}

/* ---- the file ---- */

double
tao_file_share(const struct tao_file *file, uint32_t law, uint32_t place)
{
	const struct tao_law *of = &file->laws[law];
	double sum = 0;
	for (uint32_t i = 0; i < of->count; i++)
		sum += of->weights[i];
	return place < of->count && sum > 0 ? of->weights[place] / sum : 0;
}

/** Distributions of operations that cannot occur may be missing. */
static bool
is_needed(const struct tao_file *file, uint32_t law)
{
	double txn_writes = tao_file_share(file, TAO_OPERATIONS, TAO_OP_TXN_WRITE);
	double txn_reads = tao_file_share(file, TAO_OPERATIONS, TAO_OP_TXN_READ);
	switch (law) {
	case TAO_READS:
		return tao_file_share(file, TAO_OPERATIONS, TAO_OP_READ) > 0;
	case TAO_WRITES:
		return tao_file_share(file, TAO_OPERATIONS, TAO_OP_WRITE) > 0;
	case TAO_TXN_READS:
	case TAO_TXN_READ_SIZES:
		return txn_reads > 0;
	case TAO_TXN_WRITES:
	case TAO_TXN_WRITE_SIZES:
		return txn_writes > 0;
	default:
		return true;
	}
}

static int
finish(struct tao_file *file)
{
	XXH3_state_t state;
	XXH3_INITSTATE(&state);
	XXH3_64bits_reset(&state);
	for (uint32_t i = 0; i < TAO_LAWS; i++) {
		const struct tao_law *law = &file->laws[i];
		if (law->weights == NULL && is_needed(file, i))
			return error_set(NB_ERR_USAGE, "has no line \"%s\"", forms[i].name);
		XXH3_64bits_update(&state, &law->count, sizeof(law->count));
		XXH3_64bits_update(&state, law->weights, law->count * sizeof(*law->weights));
		if (law->values != NULL)
			XXH3_64bits_update(
				&state, law->values, law->count * sizeof(*law->values));
	}
	file->hash = XXH3_64bits_digest(&state);
	return NB_OK;
}

int
tao_file_read(struct tao_file **out, const char *path)
{
	struct tao_file *file = calloc(1, sizeof(*file));
	if (file == NULL)
		return error_memory();
	int rc = lines_read(path, take_line, file);
	if (rc == NB_OK && (rc = finish(file)) != NB_OK)
		rc = error_prefix(rc, "%s", path);
	if (rc == NB_OK)
		*out = file;
	else
		tao_file_delete(file);
	return rc;
}

void
tao_file_delete(struct tao_file *file)
{
	if (file == NULL)
		return;
	for (uint32_t i = 0; i < TAO_LAWS; i++) {
		free(file->laws[i].values);
		free(file->laws[i].weights);
	}
	free(file->unused);
	free(file->unknown);
	free(file);
}
