/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file of the log. All writes go through pwrite(2), so that they can be seen and made to fail
 * from outside; reads of single records go through reads.c.
 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 4096 /* the largest that a device asks for */, BLOCK_MIN = 512 };

/* The alignment that the file system asks for, where the kernel can tell (since 6.1). */
static size_t
block_of(int fd)
{
#ifdef STATX_DIOALIGN
	struct statx about;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &about) == 0 &&
		(about.stx_mask & STATX_DIOALIGN) != 0 &&
		about.stx_dio_offset_align >= BLOCK_MIN && about.stx_dio_offset_align < BLOCK &&
		about.stx_dio_mem_align <= about.stx_dio_offset_align)
		return about.stx_dio_offset_align;
#else
	(void)fd;
	(void)BLOCK_MIN;
#endif
	return BLOCK;
}

int
file_open(struct file *file, const struct nb_host *host, const char *path, bool is_direct)
{
	const int flags = O_RDWR | O_CREAT | O_CLOEXEC;

	*file = (struct file){.host = host, .fd = -1, .block = BLOCK};
	snprintf(file->path, sizeof(file->path), "%s", path);
	if (is_direct)
		file->fd = open(path, flags | O_DIRECT, 0666);
	file->is_direct = file->fd >= 0;
	if (file->fd < 0)
		file->fd = open(path, flags, 0666);
	if (file->fd < 0)
		return host->fail(NB_FAIL, "open %s: %s", path, strerror(errno));
	if (file->is_direct)
		file->block = block_of(file->fd);
	return NB_OK;
}

void
file_close(struct file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

/* After a short call the next one begins here: a direct one at a block. */
static size_t
unit_of(const struct file *file)
{
	return file->is_direct ? file->block : 1;
}

int
file_write(struct file *file, const void *data, size_t size, uint64_t offset)
{
	size_t written = 0;

	while (written < size) {
		size_t from = written - written % unit_of(file);
		ssize_t done = pwrite(file->fd, (const char *)data + from, size - from,
			(off_t)(offset + from));
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return errno;
		if (from + (size_t)done <= written)
			return ENOSPC;
		written = from + (size_t)done;
	}
	return 0;
}

int
file_read(struct file *file, void *data, size_t size, uint64_t offset, size_t *got)
{
	*got = 0;
	while (*got < size) {
		size_t from = *got - *got % unit_of(file);
		ssize_t done = pread(
			file->fd, (char *)data + from, size - from, (off_t)(offset + from));
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return errno;
		if (from + (size_t)done <= *got)
			return 0;
		*got = from + (size_t)done;
	}
	return 0;
}

int
file_sync(struct file *file)
{
	return fdatasync(file->fd) == 0 ? 0 : errno;
}

void
file_punch(struct file *file, uint64_t from, uint64_t to)
{
	from = block_ceiling(file, from);
	to = block_floor(file, to);
	if (from < to) /* where it cannot, the log only takes more space */
		(void)fallocate(file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			(off_t)from, (off_t)(to - from));
}
