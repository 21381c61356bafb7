/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PRELOAD_H
#define PRELOAD_H
/** The recorder of calls, which 'crash --power' needs in its process. */

/** Start this command again, with the same words and the recorder loaded. Returns only
 * if that fails: the exit status, after it has been said. */
int
preload_recorder(void);

#endif /* PRELOAD_H */
