/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_RESULTS_FILES_H
#define CLI_RESULTS_FILES_H
/** Result files that are named as operands. */
#include <stdbool.h>
#include <stddef.h>

struct nb_results;

/** Read them all, one behind the other. An exit status; what is wrong has been said. */
int
results_files_read(struct nb_results **out, const char *const *paths, size_t count);

/** Whether the file begins as a notebook does, with its experiments. */
bool
results_files_is_notebook(const char *path);

#endif /* CLI_RESULTS_FILES_H */
