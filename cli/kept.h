/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_KEPT_H
#define CLI_KEPT_H
/**
 * Small memory of the command line. A process does one action, so it is kept until the process
 * ends. If memory is exhausted, the process ends with a message.
 */
#include <stddef.h>

#include <mininb/mininb.h>

/** Zeros; room for one more than `count`. */
void *
kept_array(size_t count, size_t size);

char *
kept_text(const char *fmt, ...) NB_PRINTF(1, 2);

/** Frees all of it: for tests that parse many command lines. */
void
kept_free(void);

#endif /* CLI_KEPT_H */
