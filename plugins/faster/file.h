/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_FILE_H
#define FASTER_FILE_H
/**
 * The file of the log: a file offset is a log address.
 */
#include <mininb/engine.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file {
	const struct nb_host *host;
	int fd;
	size_t block; /* offsets, sizes and addresses in memory are multiples of it */
	bool is_direct;
	char path[4096];
};

/**
 * Open or create the file. `is_direct`: with O_DIRECT if the file system supports it. Returns
 * NB_OK or a failure.
 */
int
file_open(struct file *file, const struct nb_host *host, const char *path, bool is_direct);

/**
 * Create an empty log at `path` for the database in the directory `database`. The first bytes
 * of the log identify that directory until the first page overwrites them. If `path` is such a
 * log, left by a crash, file_make() replaces it if it belongs to the same directory.
 * `is_synced`: sync the content before the file gets its name. Returns NB_OK, NB_UNSUPPORTED if
 * `path` is the log of another database, or a failure.
 */
int
file_make(const struct nb_host *host, const char *path, const char *database, bool is_synced);

void
file_close(struct file *file);

/** Write all bytes. All arguments are aligned to `block`. Returns 0 or errno. */
int
file_write(struct file *file, const void *data, size_t size, uint64_t offset);

/**
 * Read `size` bytes. All arguments are aligned to `block`. *got is less than `size` only at the
 * end of the file. Returns 0 or errno.
 */
int
file_read(struct file *file, void *data, size_t size, uint64_t offset, size_t *got);

/** Sync the data of the file. Returns 0 or errno. */
int
file_sync(struct file *file);

/**
 * Cut the file to `size` bytes, if it is longer. `is_synced`: sync it then, with its size. Returns
 * 0 or errno.
 */
int
file_cut(struct file *file, uint64_t size, bool is_synced);

/** Give the blocks inside [from, to) back to the file system, if it supports that. */
void
file_punch(struct file *file, uint64_t from, uint64_t to);

static inline uint64_t
block_floor(const struct file *file, uint64_t offset)
{
	return offset & ~(uint64_t)(file->block - 1);
}

static inline uint64_t
block_ceiling(const struct file *file, uint64_t offset)
{
	return block_floor(file, offset + file->block - 1);
}

#endif /* FASTER_FILE_H */
