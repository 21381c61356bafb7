/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_TREE_H
#define BASE_TREE_H
/** Remove what is in a directory, and nothing that is not. */
#include <mininb/mininb.h>

/**
 * All that is in the directory that `fd` is of. A symbolic link is removed as such; where
 * something is mounted is a failure. `path` is for the text.
 */
NB_MUST_CHECK int
tree_empty(int fd, const char *path);

/** nb_tree_remove() whose failure does not matter: what stays is in a scratch directory. */
void
tree_drop(const char *path);

#endif /* BASE_TREE_H */
