/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_RESULTS_FILES_H
#define CLI_RESULTS_FILES_H
/** Result files named as operands. Functions return an exit status; a failure was reported. */
#include <stdbool.h>

#include "options.h"

struct nb_comparison;
struct nb_compare_options;
struct nb_results;

/** Reads all operands and appends them into one. */
int
results_files_read(struct nb_results **out, const struct options *options);

/** Whether the file begins like a notebook of experiments. */
bool
results_files_is_notebook(const char *path);

/** Options of all actions that compare. */
extern const struct option_row compare_options[];

/** The given options: --confidence, --force. */
struct nb_compare_options
compare_options_of(const struct options *options);

/** Compares the files. With STATUS_DONE *out is yours. */
int
compare_files(struct nb_comparison **out, const struct options *options);

#endif /* CLI_RESULTS_FILES_H */
