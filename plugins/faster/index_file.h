/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_INDEX_FILE_H
#define FASTER_INDEX_FILE_H
/**
 * The file `index`: a copy of the hash index, which an open loads instead of reading the log
 * before `start`.
 *
 * A head is followed by chunks of INDEX_CHUNK words; the last chunk may be shorter. A chunk begins
 * with the checksum of its words, whose seed is the checksum of the previous chunk. index_copy()
 * defines the words.
 *
 * The head names two seals of the log, and the checksum of the second one, which depends on the
 * whole log before it. So the file is valid only for a log that contains this seal:
 * - Entries point to records before `start`. The copy contains every chain whose newest record is
 *   before `start`.
 * - While the copy was made, some of the other chains had newer records, and are missing. All
 *   these records are before `end`. An open must therefore read the log from `start` up to
 *   `end`, at least.
 */
#include <mininb/engine.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INDEX_CHUNK = 32 << 10 /* words: 256 KiB */ };

struct index_head {
	uint64_t magic;
	uint64_t start, end; /* ends of two seals */
	uint64_t end_checksum;
	uint64_t words;           /* in all chunks */
	uint64_t chunks_checksum; /* of the last chunk */
	uint32_t level, tag_level;
	uint64_t checksum; /* of the other members */
};

struct index_file {
	int fd;
	uint64_t *chunk; /* a checksum and INDEX_CHUNK words */
	size_t count;    /* words in it */
	uint64_t at;     /* offset of the next chunk */
	uint64_t words;  /* in the chunks before it */
	uint64_t checksum;
};

/** Create or replace the file. Returns 0 or errno. After 0, call index_file_close(). */
int
index_file_create(struct index_file *file, const char *path);

/** Write the words in the chunk. Returns 0 or errno. */
int
index_file_flush(struct index_file *file);

/** Append a word. Sets *is_full if it wrote a chunk. Returns 0 or errno. */
static inline int
index_file_add(struct index_file *file, uint64_t word, bool *is_full)
{
	file->chunk[++file->count] = word;
	*is_full = file->count == INDEX_CHUNK;
	return *is_full ? index_file_flush(file) : 0;
}

/**
 * Write the head, and sync the file. Sets the members of *head that follow from the content.
 * Returns 0 or errno.
 */
int
index_file_finish(struct index_file *file, struct index_head *head);

/** Open the file and read its head. Returns 0, ENOENT, another errno, or EBADMSG: damaged. */
int
index_file_open(struct index_file *file, const char *path, struct index_head *head);

/**
 * Read the next chunk. Its words begin at file->chunk + 1; file->count is 0 after the last chunk.
 * Returns 0, errno, or EBADMSG: damaged.
 */
int
index_file_read(struct index_file *file, const struct index_head *head);

void
index_file_close(struct index_file *file);

#endif /* FASTER_INDEX_FILE_H */
