/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_REPLACE_H
#define CLI_REPLACE_H
/** Protects files of the user before an action begins. */

struct options;

/**
 * Rejects existing files that the action would replace and that mininb did not make, unless
 * --force is given. STATUS_DONE, or the failure was reported.
 */
int
replace_check(const struct options *options);

#endif /* CLI_REPLACE_H */
