/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_MARKER_H
#define RUN_MARKER_H
/**
 * Whether mininb made the directory of a database, which stands in a file beside it:
 * <path>/.mininb-<name> for <path>/<name>.
 */
#include <stdbool.h>

#include <mininb/mininb.h>

/**
 * See that <path>/<name>, if it is there, may be written: that it is empty or was made by
 * mininb, and is of nobody else's in a directory that everybody may write. With `is_forced` it
 * is what it is.
 */
NB_MUST_CHECK int
marker_allow(const char *path, const char *name, bool is_forced);

/** The same, and remove all that is in it. Never through a symbolic link. */
NB_MUST_CHECK int
marker_clear(const char *path, const char *name, bool is_forced);

/** <path>/<name>, which is there, is mininb's from now on. */
NB_MUST_CHECK int
marker_put(const char *path, const char *name);

#endif /* RUN_MARKER_H */
