/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_MAPPING_H
#define BASE_MAPPING_H
/**
 * Files that the library has mapped to read them: what happens if one is cut short meanwhile,
 * or its disk cannot read it. Reading then raises SIGBUS, which whoever handles that hands on
 * to mapping_mend().
 */
#include <stdbool.h>
#include <stddef.h>

/** Watch over [data, data + size) of the file `path`. Any thread; too many are not watched. */
void
mapping_add(const void *data, size_t size, const char *path);

/** Before it is unmapped; what was never added is fine. */
void
mapping_remove(const void *data);

/**
 * In a signal handler: if `address` is in one of them, put zeros there and behind it, ask all
 * long calls to stop, and return true: the thread can go on.
 */
bool
mapping_mend(void *address);

/** The file that has lost what was read, of all since the program began; NULL: none. */
const char *
mapping_lost(void);

#endif /* BASE_MAPPING_H */
