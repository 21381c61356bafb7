/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_ENDING_H
#define CLI_ENDING_H
/** The process ends only through ending_end(); any other end is reported. */

/**
 * Call it at the start of the process, and in a forked child. Its end is watched from then on.
 */
void
ending_begin(void);

/** Ends the process with that status, or with the signal that crashed an engine's thread. */
_Noreturn void
ending_end(int status);

#endif /* CLI_ENDING_H */
