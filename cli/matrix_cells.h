/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_MATRIX_CELLS_H
#define CLI_MATRIX_CELLS_H
/** The cells of a matrix: their options, their names, and whether they are done. */
#include <stdint.h>

#include <mininb/mininb.h>

#include "options.h"

enum cell_state { CELL_TO_DO, CELL_DONE, CELL_FAILED };

/** A combination of values. Texts are kept. */
struct cell {
	struct options options; /* with one driver and its options */
	const char *settings;   /* everything that determines the run, except the repetition */
	const char *engine;     /* label of the contestant: "leveldb block_size=16KiB" */
	const char *group;      /* label of the work: "ycsb-a threads=2" */
	uint32_t contestant;    /* from 1, different for each cell */
};

/** One repetition of a cell: one result file. */
struct run {
	const struct cell *cell;
	uint32_t repetition; /* from 1 */
	char name[NB_SETTINGS_NAME];
	enum cell_state state;
	double seconds;   /* duration; 0: not known */
	char reason[256]; /* why it failed */
};

struct cells {
	struct cell *cells; /* combinations with equal settings are one cell */
	size_t cell_count;
	struct run *runs; /* in the order of execution */
	size_t run_count;
	const char *results; /* the directory */
};

/**
 * Makes the cells of a matrix: `options` are those of the command line, which every cell has.
 * Checks all options, engines and workloads. STATUS_DONE, or the failure was reported.
 */
int
cells_create(
	struct cells *cells, const struct nb_matrix *matrix, const struct options *options);

/** The path of a run's result file. Kept. */
const char *
run_path(const struct cells *cells, const struct run *run);

/**
 * Examines the file, sets state, seconds and reason. A file with other settings is not done.
 */
void
run_look(const struct cells *cells, struct run *run);

/** Reads the result of a run that is not CELL_TO_DO. Returns a code of the library. */
int
run_read(struct nb_results **out, const struct cells *cells, const struct run *run);

/**
 * Writes the result file of a run that took `seconds`, completely or not at all. Returns a code
 * of the library.
 */
int
run_write(const struct cells *cells, const struct run *run, struct nb_results *results,
	double seconds);

#endif /* CLI_MATRIX_CELLS_H */
