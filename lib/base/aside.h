/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_ASIDE_H
#define BASE_ASIDE_H
/**
 * Write a file aside and put it in place when it is whole. Until aside_commit() the old file is
 * untouched, and a killed process leaves no file if the file system supports O_TMPFILE.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mininb/mininb.h>

struct aside {
	int fd;
	char *path;  /* where it will be */
	char *named; /* where it is; NULL while it has no name */
};

/**
 * Begin a file that will be at `path` (a symbolic link is followed) and is at
 * least `size` bytes long: the space is reserved now, so that a full disk is
 * found before any work is done.
 */
NB_MUST_CHECK int
aside_open(struct aside *aside, const char *path, uint64_t size);

/** Sync it and put it in place. Ends the aside, whatever it returns. */
NB_MUST_CHECK int
aside_commit(struct aside *aside);

/** Forget it. */
void
aside_abort(struct aside *aside);

/**
 * After the last write, mark the file as written by mininb in an extended attribute, for files
 * whose content does not show it. Without effect if the file system has no attributes.
 */
void
aside_sign(const struct aside *aside);

/** Whether the file has that mark and was not written to since. */
bool
aside_is_signed(int fd);

/** pwrite() all of it. */
NB_MUST_CHECK int
aside_write(struct aside *aside, const void *data, size_t size, uint64_t offset);

#endif /* BASE_ASIDE_H */
