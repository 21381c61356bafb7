/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_ENDING_H
#define CLI_ENDING_H
/** The process ends only through ending_end(); any other end is reported. */

/** Call it when the process begins, and in a forked child: from then on its end is watched. */
void
ending_begin(void);

/** Ends the process with that status, or with the signal that crashed an engine's thread. */
_Noreturn void
ending_end(int status);

#endif /* CLI_ENDING_H */
