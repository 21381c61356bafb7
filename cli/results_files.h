/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_RESULTS_FILES_H
#define CLI_RESULTS_FILES_H
/** Result files that are named as operands. */
#include <stddef.h>

struct nb_results;

/** Read them all, one behind the other. An exit status; what is wrong has been said. */
int
results_files_read(struct nb_results **out, const char *const *paths, size_t count);

#endif /* CLI_RESULTS_FILES_H */
