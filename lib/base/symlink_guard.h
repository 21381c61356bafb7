/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_SYMLINK_GUARD_H
#define BASE_SYMLINK_GUARD_H
/** Protection against symbolic links and files that another user created at a path. */
#include <mininb/mininb.h>

/**
 * Reject `path`, and symbolic links on the way, if they are in a directory that everybody may
 * write and belong to anyone except you, root or the directory's owner. It need not exist.
 */
NB_MUST_CHECK int
symlink_check(const char *path);

/** The target of the link `at`, one step; NULL: not a link. Yours to free(). */
char *
symlink_read(const char *at);

#endif /* BASE_SYMLINK_GUARD_H */
