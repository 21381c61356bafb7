/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_ATOMIC_FILE_H
#define BASE_ATOMIC_FILE_H
/**
 * Write a file aside and put it in place when it is whole. Until atomic_file_commit() the old file is
 * untouched, and a killed process leaves no file if the file system supports O_TMPFILE.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mininb/mininb.h>

struct atomic_file {
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
atomic_file_open(struct atomic_file *atomic, const char *path, uint64_t size);

/** Sync it and put it in place. Ends the file, whatever it returns. */
NB_MUST_CHECK int
atomic_file_commit(struct atomic_file *atomic);

/** Forget it. */
void
atomic_file_abort(struct atomic_file *atomic);

/**
 * After the last write, mark the file as written by mininb in an extended attribute, for files
 * whose content does not show it. Without effect if the file system has no attributes.
 */
void
atomic_file_sign(const struct atomic_file *atomic);

/** Whether the file has that mark and was not written to since. */
bool
atomic_file_is_signed(int fd);

/** pwrite() all of it. */
NB_MUST_CHECK int
atomic_file_write(struct atomic_file *atomic, const void *data, size_t size, uint64_t offset);

#endif /* BASE_ATOMIC_FILE_H */
