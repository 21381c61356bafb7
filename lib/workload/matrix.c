/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads plans of many runs.
 *
 * Lists and single values have separate sections, because a value may contain commas: a list of
 * CPUs, a rate with steps. Rejected: quotes, which no other INI file of mininb has.
 */
#include <mininb/matrix.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/array.h"
#include "base/error.h"
#include "base/ini.h"
#include "base/lines.h"

struct reader {
	struct nb_matrix *matrix;
	bool has_repetitions;
};

static int
add_value(struct nb_matrix_axis *axis, const char *value)
{
	if (value[0] == '\0')
		return error_set(NB_ERR_USAGE, "'%s' contains an empty value", axis->name);
	for (size_t i = 0; i < axis->count; i++)
		if (strcmp(axis->values[i], value) == 0)
			return error_set(NB_ERR_USAGE, "'%s' contains the value '%s' twice",
				axis->name, value);
	char *copy = strdup(value);
	char **added = copy == NULL
		? NULL
		: array_append(&axis->values, &axis->count, sizeof(*axis->values));
	if (added == NULL) {
		free(copy);
		return error_memory();
	}
	*added = copy;
	return NB_OK;
}

static int
add_values(struct nb_matrix_axis *axis, const char *list)
{
	char *copy = strdup(list), *rest = copy;
	int rc = copy != NULL ? NB_OK : error_memory();
	while (rc == NB_OK && rest != NULL) {
		char *value = strsep(&rest, ",");
		rc = add_value(axis, lines_trim(value, value + strlen(value)));
	}
	free(copy);
	return rc;
}

/** Rejects a name that is already in one of the sections. */
static int
check_new(const struct nb_matrix *matrix, const char *name)
{
	bool is_repeatable = strcmp(name, "option") == 0 || strcmp(name, "set") == 0;
	for (size_t i = 0; i < matrix->axis_count; i++)
		if (strcmp(matrix->axes[i].name, name) == 0)
			return error_set(
				NB_ERR_USAGE, "'%s' is already a list of [matrix]", name);
	for (size_t i = 0; i < matrix->setting_count && !is_repeatable; i++)
		if (strcmp(matrix->settings[i].name, name) == 0)
			return error_set(NB_ERR_USAGE, "'%s' is already in [options]", name);
	return NB_OK;
}

static int
add_axis(struct nb_matrix *matrix, const char *name, const char *list)
{
	struct nb_matrix_axis *axis = array_append(
		&matrix->axes, &matrix->axis_count, sizeof(*axis));
	if (axis == NULL)
		return NB_FAIL;
	axis->name = strdup(name);
	return axis->name != NULL ? add_values(axis, list) : error_memory();
}

static int
add_setting(struct nb_matrix *matrix, const char *name, const char *value)
{
	struct nb_matrix_setting *setting = array_append(
		&matrix->settings, &matrix->setting_count, sizeof(*setting));
	if (setting == NULL)
		return NB_FAIL;
	setting->name = strdup(name);
	setting->value = strdup(value);
	return setting->name != NULL && setting->value != NULL ? NB_OK : error_memory();
}

static int
set_repetitions(struct reader *reader, const char *text)
{
	uint64_t count;
	if (reader->has_repetitions)
		return error_set(NB_ERR_USAGE, "'repetitions' is given twice");
	int rc = nb_parse_count(&count, text);
	if (rc == NB_OK && (count == 0 || count > NB_MATRIX_CELLS_MAX))
		rc = error_set(NB_ERR_USAGE, "repetitions: %s; allowed: 1 to %u", text,
			NB_MATRIX_CELLS_MAX);
	if (rc != NB_OK)
		return rc;
	reader->has_repetitions = true;
	reader->matrix->repetitions = (uint32_t)count;
	return NB_OK;
}

static int
take_line(void *arg, const struct ini_line *line)
{
	struct reader *reader = arg;
	bool is_matrix = line->section != NULL && strcmp(line->section, "matrix") == 0;
	if (line->section == NULL)
		return error_set(NB_ERR_USAGE,
			"'%s' is before the first section; begin with [matrix]", line->key);
	if (!is_matrix && strcmp(line->section, "options") != 0)
		return error_set(NB_ERR_USAGE,
			"unknown section [%s]; allowed: [matrix] for lists, [options] for single values",
			line->section);
	if (line->key == NULL)
		return NB_OK;
	if (is_matrix && strcmp(line->key, "repetitions") == 0)
		return set_repetitions(reader, line->value);
	int rc = check_new(reader->matrix, line->key);
	if (rc != NB_OK)
		return rc;
	return is_matrix ? add_axis(reader->matrix, line->key, line->value)
			 : add_setting(reader->matrix, line->key, line->value);
}

/** Stops before the product can overflow. */
static int
check_size(const struct nb_matrix *matrix, const char *path)
{
	uint64_t cells = matrix->repetitions;
	for (size_t i = 0; i < matrix->axis_count && cells <= NB_MATRIX_CELLS_MAX; i++)
		cells *= matrix->axes[i].count;
	if (matrix->axis_count == 0)
		return error_set(NB_ERR_USAGE,
			"%s: [matrix] has no list; it needs one, for example driver = leveldb, lmdb",
			path);
	return cells <= NB_MATRIX_CELLS_MAX
		? NB_OK
		: error_set(NB_ERR_USAGE, "%s: more than %u cells", path, NB_MATRIX_CELLS_MAX);
}

int
nb_matrix_read(struct nb_matrix **out, const char *path)
{
	struct reader reader = {.matrix = calloc(1, sizeof(*reader.matrix))};
	if (reader.matrix == NULL)
		return error_memory();
	reader.matrix->size = sizeof(*reader.matrix);
	reader.matrix->repetitions = 1;
	int rc = ini_read(path, take_line, &reader);
	if (rc == NB_OK)
		rc = check_size(reader.matrix, path);
	if (rc == NB_OK)
		*out = reader.matrix;
	else
		nb_matrix_delete(reader.matrix);
	return rc;
}

void
nb_matrix_delete(struct nb_matrix *matrix)
{
	if (matrix == NULL)
		return;
	for (size_t i = 0; i < matrix->axis_count; i++) {
		for (size_t v = 0; v < matrix->axes[i].count; v++)
			free(matrix->axes[i].values[v]);
		free(matrix->axes[i].values);
		free(matrix->axes[i].name);
	}
	for (size_t i = 0; i < matrix->setting_count; i++) {
		free(matrix->settings[i].name);
		free(matrix->settings[i].value);
	}
	free(matrix->axes);
	free(matrix->settings);
	free(matrix);
}

size_t
nb_matrix_cells(const struct nb_matrix *matrix)
{
	size_t cells = 1;
	for (size_t i = 0; i < matrix->axis_count; i++)
		cells *= matrix->axes[i].count;
	return cells;
}

const char *
nb_matrix_value(const struct nb_matrix *matrix, size_t cell, size_t axis)
{
	for (size_t i = matrix->axis_count - 1; i > axis; i--)
		cell /= matrix->axes[i].count;
	return matrix->axes[axis].values[cell % matrix->axes[axis].count];
}

void
nb_settings_name(char name[NB_SETTINGS_NAME], const char *text)
{
	XXH128_hash_t hash = XXH3_128bits(text, strlen(text));
	snprintf(name, NB_SETTINGS_NAME, "%016llx%016llx", (unsigned long long)hash.high64,
		(unsigned long long)hash.low64);
}
