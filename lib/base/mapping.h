/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_MAPPING_H
#define BASE_MAPPING_H
/**
 * Mapped files: what happens if one is cut short while it is read, or its disk fails. Reading
 * then raises SIGBUS, and the handler of that signal has to call mapping_mend().
 */
#include <stdbool.h>
#include <stddef.h>

/** Watch [data, data + size) of the file `path`. Any thread; beyond a limit without effect. */
void
mapping_add(const void *data, size_t size, const char *path);

/** Call it before munmap(), also for data that was not added. */
void
mapping_remove(const void *data);

/**
 * In a signal handler: if `address` is in one of them, put zeros there and after it, ask all long
 * calls to stop, and return true: the thread can go on.
 */
bool
mapping_mend(void *address);

/** The file that was cut short since the program began; NULL: none. */
const char *
mapping_lost(void);

#endif /* BASE_MAPPING_H */
