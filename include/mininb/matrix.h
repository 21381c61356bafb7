/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_MATRIX_H
#define MININB_MATRIX_H
/**
 * A plan of many runs: lists of engines, workloads and settings. Each combination is a cell.
 * The library reads the file and names the cells; the command runs them.
 */
#include <mininb/mininb.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A list of the section [matrix]: "threads = 1, 2, 4". */
struct nb_matrix_axis {
	char *name;
	char **values; /* at least one, all different */
	size_t count;
};

/** A line of the section [options], the same for every cell. */
struct nb_matrix_setting {
	char *name, *value;
};

#define NB_MATRIX_CELLS_MAX 100000u /* including repetitions */

/** A plan. All of it is owned. Append only. */
struct nb_matrix {
	size_t size;
	struct nb_matrix_axis *axes;
	size_t axis_count;
	struct nb_matrix_setting *settings;
	size_t setting_count;
	uint32_t repetitions; /* of each cell, >= 1 */
	uint32_t spare_u32;
};

/**
 * Read a plan, an INI file. [matrix] has `repetitions`, and options of the command with a list
 * of values each, separated by commas. [options] has options with one value, in which commas
 * have no meaning. The caller checks whether the options exist. NB_ERR_USAGE: the text has file
 * and line. Free *out with nb_matrix_delete().
 */
NB_MUST_CHECK int
nb_matrix_read(struct nb_matrix **out, const char *path);

/** NULL is fine. */
void
nb_matrix_delete(struct nb_matrix *matrix);

/** The number of combinations, without repetitions. */
size_t
nb_matrix_cells(const struct nb_matrix *matrix);

/** The value of an axis in a cell. The last axis changes fastest. */
const char *
nb_matrix_value(const struct nb_matrix *matrix, size_t cell, size_t axis);

#define NB_SETTINGS_NAME 33 /* bytes of a name, including the NUL */

/** The name of a text of settings: its XXH3-128 hash in 32 hexadecimal digits. */
void
nb_settings_name(char name[NB_SETTINGS_NAME], const char *text);

/**
 * The settings that determine a run of an engine, apart from its data: lines with its name,
 * version and effective options, including defaults. Loads the engine. *out is yours to free().
 * Failures as for nb_engine_load() and nb_engine_configure().
 */
NB_MUST_CHECK int
nb_engine_settings(char **out, const char *driver, const char *const *options, size_t count);

#ifdef __cplusplus
}
#endif
#endif /* MININB_MATRIX_H */
