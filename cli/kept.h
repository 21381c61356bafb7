/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_KEPT_H
#define CLI_KEPT_H
/**
 * Small allocations of the command line. A process executes one action, so they are kept until
 * it ends. If memory is exhausted, the process ends with a message.
 */
#include <stddef.h>

#include <mininb/mininb.h>

/** A zeroed array with room for one more element than `count`. */
void *
kept_array(size_t count, size_t size);

char *
kept_text(const char *fmt, ...) NB_PRINTF(1, 2);

/** Frees all of them: for tests that parse many command lines. */
void
kept_free(void);

#endif /* CLI_KEPT_H */
