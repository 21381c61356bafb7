/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_COMPARE_FILES_H
#define CLI_COMPARE_FILES_H
/** Comparisons of the result files that are named as operands. */
struct nb_comparison;
struct nb_compare_options;
struct options;

/** As it was typed: --confidence, --force, --seed. */
struct nb_compare_options
compare_options_of(const struct options *options);

/** An exit status; what is wrong has been said. With STATUS_DONE *out is yours. */
int
compare_files(struct nb_comparison **out, const struct options *options);

#endif /* CLI_COMPARE_FILES_H */
