/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_ATOMIC_FILE_H
#define BASE_ATOMIC_FILE_H
/**
 * Writes a new file and puts it in place when it is complete. Until atomic_file_commit() the
 * old file stays unchanged. What a killed process left beside it is removed when the file is
 * written again.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mininb/mininb.h>

struct atomic_file {
	int fd;
	char *path;  /* final path */
	char *named; /* current path; NULL: it has no name yet */
};

/** Whether `path` is a pipe or a device, which a rename must not replace. */
bool
atomic_file_is_special(const char *path);

/**
 * Begin a file for `path` (a symbolic link is followed) of at least `size` bytes. The space is
 * reserved now, so a full disk is detected before the work begins.
 */
NB_MUST_CHECK int
atomic_file_open(struct atomic_file *atomic, const char *path, uint64_t size);

/** Sync the file and put it in place. Ends the file, even on failure. */
NB_MUST_CHECK int
atomic_file_commit(struct atomic_file *atomic);

/** Discard the file. */
void
atomic_file_abort(struct atomic_file *atomic);

/**
 * After the last write, mark the file as written by mininb in an extended attribute, for files
 * whose content does not show it. Without effect if the file system has no attributes.
 */
void
atomic_file_sign(const struct atomic_file *atomic);

/** Whether the file has that mark and was not modified since. */
bool
atomic_file_is_signed(int fd);

/** pwrite() all bytes. */
NB_MUST_CHECK int
atomic_file_write(struct atomic_file *atomic, const void *data, size_t size, uint64_t offset);

#endif /* BASE_ATOMIC_FILE_H */
