/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_TREE_H
#define BASE_TREE_H
/** Removes the content of a directory and nothing outside. */
#include <mininb/mininb.h>

/**
 * Remove all content of the directory `fd`. A symbolic link is removed, not followed. A mount
 * point is a failure. `path` is for the message.
 */
NB_MUST_CHECK int
tree_empty(int fd, const char *path);

/** nb_tree_remove() for a scratch directory: a failure is ignored. */
void
tree_drop(const char *path);

#endif /* BASE_TREE_H */
