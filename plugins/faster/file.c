/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file of the log. All writes use pwrite(2), so tests and `mininb crash --power` can intercept
 * them. Reads of single records go through reads.c.
 */
#include "file.h"
#include "moment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 4096 /* the largest that a device requires */, BLOCK_MIN = 512 };

/* The alignment that the file system requires. Linux reports it since 6.1. */
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

/* ---- a new log in a directory that databases may share ---- */

/*
 * The database that owns a log without records. Its directory keeps the inode if it is moved.
 */
struct owner {
	uint64_t magic, device, inode;
};

static int
own(struct owner *owner, const char *database)
{
	struct stat about;

	if (stat(database, &about) != 0)
		return errno;
	*owner = (struct owner){.magic = 0x6e776f676f6c6166, /* "falogown" */
		.device = about.st_dev,
		.inode = about.st_ino};
	return 0;
}

static bool
is_of(const char *path, const struct owner *owner)
{
	struct owner found;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is_it = fd >= 0 && pread(fd, &found, sizeof(found), 0) == sizeof(found) &&
		memcmp(&found, owner, sizeof(found)) == 0;

	if (fd >= 0)
		close(fd);
	return is_it;
}

/* Returns 0 or errno. */
static int
write_owner(const char *path, const struct owner *owner, bool is_synced)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	int error = 0;

	if (fd < 0)
		return errno;
	ssize_t done = pwrite(fd, owner, sizeof(*owner), 0);
	if (done != sizeof(*owner))
		error = done < 0 ? errno : ENOSPC;
	if (error == 0 && is_synced && fdatasync(fd) != 0)
		error = errno;
	if (close(fd) != 0 && error == 0)
		error = errno;
	return error;
}

/*
 * Write the owner to the file `made`, then link it to `path`. link(2) never replaces another log,
 * unlike rename(2). The name `made` contains the owner, so the database may remove the file.
 */
static int
make(const char *path, const char *made, const struct owner *owner, bool is_synced)
{
	if (is_of(path, owner) && unlink(path) != 0)
		return errno;
	if (unlink(made) != 0 && errno != ENOENT)
		return errno;
	int error = write_owner(made, owner, is_synced);
	moment_reached(MOMENT_LOG_MADE);
	if (error == 0 && link(made, path) != 0)
		error = errno;
	moment_reached(MOMENT_LOG_LINKED);
	(void)unlink(made); /* if it stays, the next new log of the database removes it */
	moment_reached(MOMENT_LOG_NAMED);
	return error;
}

int
file_make(const struct nb_host *host, const char *path, const char *database, bool is_synced)
{
	struct owner owner;
	char made[4096 + 64];
	int error = own(&owner, database);

	if (error != 0)
		return host->fail(NB_FAIL, "stat %s: %s", database, strerror(error));
	snprintf(made, sizeof(made), "%s.%llx-%llx", path, (unsigned long long)owner.device,
		(unsigned long long)owner.inode);
	error = make(path, made, &owner, is_synced);
	if (error == EEXIST)
		return host->fail(NB_UNSUPPORTED,
			"%s is the log of another database; remove it, or give another log_dir",
			path);
	return error == 0 ? NB_OK : host->fail(NB_FAIL, "make %s: %s", path, strerror(error));
}

void
file_close(struct file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

/* After a short call, the next one begins at a multiple of this: with O_DIRECT, a block. */
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

int
file_cut(struct file *file, uint64_t size, bool is_synced)
{
	struct stat about;

	if (fstat(file->fd, &about) != 0)
		return errno;
	if ((uint64_t)about.st_size > size && ftruncate(file->fd, (off_t)size) != 0)
		return errno;
	return is_synced && fsync(file->fd) != 0 ? errno : 0;
}

void
file_punch(struct file *file, uint64_t from, uint64_t to)
{
	from = block_ceiling(file, from);
	to = block_floor(file, to);
	if (from < to) /* if this fails, the log only takes more space */
		(void)fallocate(file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			(off_t)from, (off_t)(to - from));
}
