/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_FILES_H
#define MININB_FILES_H
/** What may be removed or replaced, for programs that write where a user says. */
#include <mininb/mininb.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Remove a directory with all that is in it; done, if there is none. Symbolic links are
 * removed and not followed, `path` itself must not be one. What is mounted in it is a failure.
 */
NB_MUST_CHECK int
nb_tree_remove(const char *path);

#ifdef __cplusplus
}
#endif

#endif /* MININB_FILES_H */
