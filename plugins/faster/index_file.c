/* SPDX-License-Identifier: BSD-2-Clause */
/* The file `index`: its head and its chunks. All writes use pwrite(2), as in file.c. */
#include "index_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

enum { CHUNKS_AT = 4096 };
static const uint64_t magic = 0x3178646974736166; /* "fastidx1" */

static int
prepare(struct index_file *file, const char *path, int flags)
{
	*file = (struct index_file){.fd = -1, .at = CHUNKS_AT};
	file->chunk = malloc((1 + (size_t)INDEX_CHUNK) * sizeof(*file->chunk));
	if (file->chunk == NULL)
		return ENOMEM;
	file->fd = open(path, flags | O_CLOEXEC, 0666);
	if (file->fd >= 0)
		return 0;
	int error = errno;
	free(file->chunk);
	return error;
}

void
index_file_close(struct index_file *file)
{
	close(file->fd);
	free(file->chunk);
}

static uint64_t
head_checksum(const struct index_head *head)
{
	return XXH3_64bits(head, offsetof(struct index_head, checksum));
}

static uint64_t
chunk_checksum(const struct index_file *file)
{
	return XXH3_64bits_withSeed(
		file->chunk + 1, file->count * sizeof(*file->chunk), file->checksum);
}

/* ---- writing ---- */

static int
write_all(int fd, const void *data, size_t size, uint64_t at)
{
	for (size_t done = 0; done < size;) {
		ssize_t some = pwrite(
			fd, (const char *)data + done, size - done, (off_t)(at + done));
		if (some < 0 && errno == EINTR)
			continue;
		if (some <= 0)
			return some < 0 ? errno : ENOSPC;
		done += (size_t)some;
	}
	return 0;
}

int
index_file_create(struct index_file *file, const char *path)
{
	return prepare(file, path, O_WRONLY | O_CREAT | O_TRUNC);
}

int
index_file_flush(struct index_file *file)
{
	size_t size = (1 + file->count) * sizeof(*file->chunk);

	if (file->count == 0)
		return 0;
	file->checksum = file->chunk[0] = chunk_checksum(file);
	int error = write_all(file->fd, file->chunk, size, file->at);
	file->at += size;
	file->words += file->count;
	file->count = 0;
	return error;
}

int
index_file_finish(struct index_file *file, struct index_head *head)
{
	int error = index_file_flush(file);

	head->magic = magic;
	head->words = file->words;
	head->chunks_checksum = file->checksum;
	head->checksum = head_checksum(head);
	if (error == 0)
		error = write_all(file->fd, head, sizeof(*head), 0);
	if (error == 0 && fdatasync(file->fd) != 0)
		error = errno;
	return error;
}

/* ---- reading ---- */

/* Returns 0, errno, or EBADMSG if the file ends before. */
static int
read_all(int fd, void *data, size_t size, uint64_t at)
{
	for (size_t done = 0; done < size;) {
		ssize_t some = pread(fd, (char *)data + done, size - done, (off_t)(at + done));
		if (some < 0 && errno == EINTR)
			continue;
		if (some <= 0)
			return some < 0 ? errno : EBADMSG;
		done += (size_t)some;
	}
	return 0;
}

int
index_file_open(struct index_file *file, const char *path, struct index_head *head)
{
	int error = prepare(file, path, O_RDONLY);

	if (error != 0)
		return error;
	error = read_all(file->fd, head, sizeof(*head), 0);
	if (error == 0 && (head->magic != magic || head->checksum != head_checksum(head)))
		error = EBADMSG;
	if (error != 0)
		index_file_close(file);
	return error;
}

int
index_file_read(struct index_file *file, const struct index_head *head)
{
	uint64_t left = head->words - file->words;
	int error = 0;

	file->count = left < INDEX_CHUNK ? (size_t)left : INDEX_CHUNK;
	size_t size = (1 + file->count) * sizeof(*file->chunk);
	if (file->count != 0) {
		error = read_all(file->fd, file->chunk, size, file->at);
		if (error == 0 && file->chunk[0] != chunk_checksum(file))
			error = EBADMSG;
		file->checksum = file->chunk[0];
	}
	file->at += size;
	file->words += file->count;
	if (error == 0 && file->words == head->words && file->checksum != head->chunks_checksum)
		error = EBADMSG;
	return error;
}
