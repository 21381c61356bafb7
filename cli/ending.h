/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_ENDING_H
#define CLI_ENDING_H
/** How the process ends: when it has done what it should, and in no other way. */

/** At its begin, and again in a child that was forked: from now on it is told if it ends. */
void
ending_begin(void);

/** End it with that status; or of the signal that an engine's thread has crashed with. */
_Noreturn void
ending_end(int status);

#endif /* CLI_ENDING_H */
