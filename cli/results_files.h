/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_RESULTS_FILES_H
#define CLI_RESULTS_FILES_H
/** Result files named as operands. */
#include <stdbool.h>
#include <stddef.h>

struct nb_results;

/** Reads all into one. Returns an exit status; a failure was reported. */
int
results_files_read(struct nb_results **out, const char *const *paths, size_t count);

/** Whether the file begins like a notebook of experiments. */
bool
results_files_is_notebook(const char *path);

#endif /* CLI_RESULTS_FILES_H */
