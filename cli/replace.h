/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_REPLACE_H
#define CLI_REPLACE_H
/** Files that would be lost are found before anything is done. */

struct options;

/**
 * See that no file which the action is to write is there and was made by another program,
 * unless --force was given. STATUS_DONE, or what is wrong has been said.
 */
int
replace_check(const struct options *options);

#endif /* CLI_REPLACE_H */
