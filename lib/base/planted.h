/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_PLANTED_H
#define BASE_PLANTED_H
/** Whether a path leads where the user thinks. */
#include <mininb/mininb.h>

/**
 * See that in a directory that everybody may write neither `path` nor a symbolic link that it
 * leads through is another user's, but the directory's owner's. What is not there is fine.
 */
NB_MUST_CHECK int
planted_check(const char *path);

/** Where the link `at` leads, one step; NULL: it is none. Yours to free(). */
char *
planted_read_link(const char *at);

#endif /* BASE_PLANTED_H */
