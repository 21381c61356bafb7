/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PRELOAD_H
#define PRELOAD_H
/** The recorder of system calls, which 'crash --power' needs in its process. */

struct options;

/**
 * Starts this command again with the same words and the recorder loaded. Returns an exit
 * status, and only after a failure, which was reported.
 */
int
preload_recorder(const struct options *options);

#endif /* PRELOAD_H */
