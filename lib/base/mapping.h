/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_MAPPING_H
#define BASE_MAPPING_H
/**
 * Handles mapped files that are truncated while they are read, or whose disk fails. A read then
 * raises SIGBUS, and the handler of that signal must call mapping_mend().
 */
#include <stdbool.h>
#include <stddef.h>

/**
 * Register [data, data + size) of the file `path`. Any thread; no effect if the table is full.
 */
void
mapping_add(const void *data, size_t size, const char *path);

/** Call it before munmap(), also for data that was not registered. */
void
mapping_remove(const void *data);

/**
 * For a signal handler: if `address` is in a registered file, replace the rest of the file by
 * zeros from there, request a stop, and return true: the thread can continue.
 */
bool
mapping_mend(void *address);

/** The file that was truncated since the program began; NULL: none. */
const char *
mapping_lost(void);

#endif /* BASE_MAPPING_H */
