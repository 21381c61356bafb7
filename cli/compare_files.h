/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_COMPARE_FILES_H
#define CLI_COMPARE_FILES_H
/** Comparisons of result files named as operands. */
#include "options.h"

struct nb_comparison;
struct nb_compare_options;

/** Options of all actions that compare. */
extern const struct option_row compare_options[];

/** The options given: --confidence, --force. */
struct nb_compare_options
compare_options_of(const struct options *options);

/** Returns an exit status; a failure was reported. With STATUS_DONE *out is yours. */
int
compare_files(struct nb_comparison **out, const struct options *options);

#endif /* CLI_COMPARE_FILES_H */
