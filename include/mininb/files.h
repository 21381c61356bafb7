/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_FILES_H
#define MININB_FILES_H
/** Safe removal and replacement of files at paths that a user chose. */
#include <mininb/mininb.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Create a directory and its parents, unless they exist. */
NB_MUST_CHECK int
nb_tree_make(const char *path);

/**
 * Remove a directory with all its content; NB_OK if it does not exist. Symbolic links are
 * removed, not followed; `path` itself must not be one. A mount point inside is a failure.
 */
NB_MUST_CHECK int
nb_tree_remove(const char *path);

/**
 * Check that writing to `path` would replace only a file that the library wrote. NB_FAIL: the
 * text describes the existing file. mininb recognises its files by their first bytes, or by an
 * extended attribute (user.mininb) if the file system supports it. For keys of less than 16
 * bytes it also uses `seed`. An empty file, a pipe, a device and a missing path are allowed; a
 * notebook is not replaced. Changes nothing.
 */
NB_MUST_CHECK int
nb_file_may_replace(const char *path, uint64_t seed);

/**
 * Write `size` bytes: directly to a pipe or character device, else to a temporary file that
 * then replaces the old one.
 */
NB_MUST_CHECK int
nb_file_write(const char *path, const void *data, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* MININB_FILES_H */
