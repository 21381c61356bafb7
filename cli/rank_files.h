/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_RANK_FILES_H
#define CLI_RANK_FILES_H
/**
 * The result files of a run under mpirun. If the name of a file contains %r, each rank writes
 * its own result, with its number in place of %r. The merged result has "all" there.
 */
#include <stdbool.h>
#include <stdint.h>

struct options;

/** The options with the names for the merged result. */
struct options
rank_files_of_all(const struct options *options);

/** Set *one to the options with the files of that rank only. Returns whether it has files. */
bool
rank_files_of_one(struct options *one, const struct options *options, uint32_t rank);

#endif /* CLI_RANK_FILES_H */
