/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_FILE_H
#define FASTER_FILE_H
/**
 * The file of the log: the offset in it is the address. Without the page cache (O_DIRECT) where
 * the file system allows it and the durability asks for storage.
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

int
file_open(struct file *file, const struct nb_host *host, const char *path, bool is_direct);

/**
 * Make an empty log at `path` for the database in the directory `database`. Its first bytes name
 * that directory until the first page is written. A log that a crash has left behind before it
 * was written is replaced, if it is of the same directory. `is_synced`: its bytes are, before it
 * gets its name. NB_OK; NB_UNSUPPORTED: the log there is of another database; or a failure.
 */
int
file_make(const struct nb_host *host, const char *path, const char *database, bool is_synced);

void
file_close(struct file *file);

/** Aligned. 0, or errno. */
int
file_write(struct file *file, const void *data, size_t size, uint64_t offset);

/** Aligned. Sets *got, less than `size` only at the end of the file. 0, or errno. */
int
file_read(struct file *file, void *data, size_t size, uint64_t offset, size_t *got);

/** 0, or errno. */
int
file_sync(struct file *file);

/** Give what is before `offset` back to the file system, if it can. */
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
