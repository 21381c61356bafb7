/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_FILES_H
#define MININB_FILES_H
/** Safe removal and replacement, for programs that write where a user says. */
#include <mininb/mininb.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Make a directory and its parents, as far as they do not exist. */
NB_MUST_CHECK int
nb_tree_make(const char *path);

/**
 * Remove a directory with all its content; NB_OK if it does not exist. Symbolic links are removed
 * and not followed, `path` itself must not be one. A mount point inside is a failure.
 */
NB_MUST_CHECK int
nb_tree_remove(const char *path);

/**
 * Check that a file written at `path` would replace only a file that the library has written;
 * NB_FAIL says what is there instead. A file is recognised by its first bytes, or by an extended
 * attribute (user.mininb) if the file system keeps them; keys of less than 16 bytes by `seed` as
 * well. An empty file, a pipe, a device and a path that does not exist may be written; a
 * notebook is not replaced. Nothing is changed.
 */
NB_MUST_CHECK int
nb_file_may_replace(const char *path, uint64_t seed);

/**
 * Write `size` bytes: to a pipe or a character device directly, otherwise to a file that replaces
 * the old one when it is whole.
 */
NB_MUST_CHECK int
nb_file_write(const char *path, const void *data, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* MININB_FILES_H */
