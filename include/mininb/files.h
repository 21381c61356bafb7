/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_FILES_H
#define MININB_FILES_H
/** What may be removed or replaced, for programs that write where a user says. */
#include <mininb/mininb.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Make a directory, if it is not there, with all the directories above it. */
NB_MUST_CHECK int
nb_tree_make(const char *path);

/**
 * Remove a directory with all that is in it; done, if there is none. Symbolic links are
 * removed and not followed, `path` itself must not be one. What is mounted in it is a failure.
 */
NB_MUST_CHECK int
nb_tree_remove(const char *path);

/**
 * See that what is to be written at `path` would replace nothing but what the library has
 * written: NB_FAIL says what is there instead. A file is known by its first bytes, or, where
 * these do not tell, by an extended attribute (user.mininb) if the file system keeps them; keys
 * of less than 16 bytes by `seed` as well. What is empty, not there, a pipe or a device may be
 * written; a notebook is not replaced. Nothing is changed.
 */
NB_MUST_CHECK int
nb_file_may_replace(const char *path, uint64_t seed);

/**
 * Write `size` bytes: to a pipe or a character device as they are, else into a file that takes
 * the old one's place when it is whole.
 */
NB_MUST_CHECK int
nb_file_write(const char *path, const void *data, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* MININB_FILES_H */
