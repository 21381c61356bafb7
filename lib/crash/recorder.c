/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replaces the calls of the C library that write or change a size.
 *
 * Every kind of write is executed by pwritev2(2), so one function handles all; offset -1
 * means the file's own position. The offset of the written bytes is determined afterwards,
 * because the kernel chooses it for O_APPEND. A write that is durable when it returns is
 * recorded as a write and a sync of its range.
 */
#include "crash/recorder.h"

#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { POINTS_BETWEEN = 64, FD_LOOK = 256 };

any_fn
recorder_next(uintptr_t *known, const char *name)
{
	uintptr_t function = __atomic_load_n(known, __ATOMIC_RELAXED);
	if (function == 0) {
		function = (uintptr_t)dlsym(RTLD_NEXT, name);
		__atomic_store_n(known, function, __ATOMIC_RELAXED);
	}
	return (any_fn)function;
}

/* ---- writing ---- */

static ssize_t
pass_write(int fd, const struct iovec *pieces, int count, off_t offset, int flags)
{
	return syscall(SYS_pwritev2, fd, pieces, count, offset, 0, flags);
}

/** The offset at which `done` bytes were just written. */
static uint64_t
place_of_write(int fd, int modes, off_t offset, int flags, ssize_t done)
{
	struct stat st;
	if (offset == -1)
		return (uint64_t)(syscall(SYS_lseek, fd, (off_t)0, SEEK_CUR) - done);
	if (((modes & O_APPEND) != 0 || (flags & RWF_APPEND) != 0) && fstat(fd, &st) == 0)
		return (uint64_t)(st.st_size - done);
	return (uint64_t)offset;
}

static void
after_write(uint64_t file, int fd, const struct iovec *pieces, int count, off_t offset,
	int flags, ssize_t done)
{
	int modes = (int)syscall(SYS_fcntl, fd, F_GETFL);
	struct record_entry sync = {.kind = RECORD_SYNC,
		.file = file,
		.offset = place_of_write(fd, modes, offset, flags, done),
		.length = (uint64_t)done};
	recorder_put_write(file, sync.offset, sync.length, pieces, count);
	sync.covers = recorder_count();
	if ((modes & O_DSYNC) != 0 || (flags & (RWF_DSYNC | RWF_SYNC)) != 0)
		recorder_put(&sync, NULL, NULL, NULL, 0);
}

static ssize_t
write_pieces(int fd, const struct iovec *pieces, int count, off_t offset, int flags)
{
	struct stat st;
	if (!recorder_enter())
		return pass_write(fd, pieces, count, offset, flags);
	uint64_t file = recorder_file(fd, &st);
	if (file == 0) { /* without the lock, because a write to a pipe may block */
		recorder_leave(errno);
		return pass_write(fd, pieces, count, offset, flags);
	}
	recorder_look(false);
	ssize_t done = pass_write(fd, pieces, count, offset, flags);
	int error = errno;
	if (done > 0)
		after_write(file, fd, pieces, count, offset, flags, done);
	recorder_leave(error);
	return done;
}

NB_EXPORT ssize_t
write(int fd, const void *data, size_t size)
{
	if (recorder_sleeps())
		return syscall(SYS_write, fd, data, size);
	const struct iovec piece = {(void *)(uintptr_t)data, size};
	return write_pieces(fd, &piece, 1, -1, 0);
}

NB_EXPORT ssize_t
pwrite(int fd, const void *data, size_t size, off_t offset)
{
	if (recorder_sleeps() || offset < 0)
		return syscall(SYS_pwrite64, fd, data, size, offset);
	const struct iovec piece = {(void *)(uintptr_t)data, size};
	return write_pieces(fd, &piece, 1, offset, 0);
}
ALSO(pwrite64, pwrite);

NB_EXPORT ssize_t
writev(int fd, const struct iovec *pieces, int count)
{
	if (recorder_sleeps())
		return syscall(SYS_writev, fd, pieces, count);
	return write_pieces(fd, pieces, count, -1, 0);
}

NB_EXPORT ssize_t
pwritev(int fd, const struct iovec *pieces, int count, off_t offset)
{
	if (recorder_sleeps() || offset < 0)
		return syscall(SYS_pwritev, fd, pieces, count, offset, 0);
	return write_pieces(fd, pieces, count, offset, 0);
}
ALSO(pwritev64, pwritev);

NB_EXPORT ssize_t
pwritev2(int fd, const struct iovec *pieces, int count, off_t offset, int flags)
{
	if (recorder_sleeps() || offset < -1)
		return pass_write(fd, pieces, count, offset, flags);
	return write_pieces(fd, pieces, count, offset, flags);
}
ALSO(pwritev64v2, pwritev2);

/* ---- copies within the kernel: the result is read back ---- */

struct copying {
	uint64_t file;
	bool is_on;
};

static void
before_copy(struct copying *copying, int to)
{
	struct stat st;
	copying->file = 0;
	copying->is_on = recorder_begins();
	if (!copying->is_on)
		return;
	copying->file = recorder_file(to, &st);
	if (copying->file != 0)
		recorder_look(false);
}

static ssize_t
after_copy(const struct copying *copying, int to, const off_t *offset_after, ssize_t done)
{
	int error = errno;
	if (copying->file != 0 && done > 0) {
		off_t end = offset_after != NULL
			? *offset_after
			: (off_t)syscall(SYS_lseek, to, (off_t)0, SEEK_CUR);
		recorder_read_back(copying->file, to, (uint64_t)(end - done), (uint64_t)done);
	}
	if (copying->is_on)
		recorder_leave(error);
	return done;
}

NB_EXPORT ssize_t
copy_file_range(
	int from, off64_t *from_offset, int to, off64_t *to_offset, size_t size, unsigned flags)
{
	struct copying copying;
	before_copy(&copying, to);
	ssize_t done = syscall(
		SYS_copy_file_range, from, from_offset, to, to_offset, size, flags);
	return after_copy(&copying, to, to_offset, done);
}

NB_EXPORT ssize_t
sendfile(int to, int from, off_t *offset, size_t size)
{
	struct copying copying;
	before_copy(&copying, to);
	ssize_t done = syscall(SYS_sendfile, to, from, offset, size);
	return after_copy(&copying, to, NULL, done);
}
ALSO(sendfile64, sendfile);

NB_EXPORT ssize_t
splice(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t size, unsigned flags)
{
	struct copying copying;
	before_copy(&copying, to);
	ssize_t done = syscall(SYS_splice, from, from_offset, to, to_offset, size, flags);
	return after_copy(&copying, to, to_offset, done);
}

/* ---- sizes ---- */

static void
note_size(uint64_t file, uint64_t old, uint64_t size)
{
	if (size != old)
		recorder_put(
			&(struct record_entry){
				.kind = RECORD_TRUNCATE, .file = file, .offset = size},
			NULL, NULL, NULL, 0);
	recorder_watch_size(file, size);
}

NB_EXPORT int
ftruncate(int fd, off_t size)
{
	struct stat st;
	if (!recorder_begins())
		return (int)syscall(SYS_ftruncate, fd, size);
	uint64_t file = recorder_file(fd, &st);
	recorder_look(false);
	int rc = (int)syscall(SYS_ftruncate, fd, size);
	int error = errno;
	if (rc == 0 && file != 0)
		note_size(file, (uint64_t)st.st_size, (uint64_t)size);
	recorder_leave(error);
	return rc;
}
ALSO(ftruncate64, ftruncate);

NB_EXPORT int
truncate(const char *path, off_t size)
{
	struct stat st;
	char inside[PATH_MAX];
	if (!recorder_begins())
		return (int)syscall(SYS_truncate, path, size);
	bool is_there = recorder_inside(inside, AT_FDCWD, path) && stat(path, &st) == 0;
	uint64_t file = is_there ? recorder_file_at(inside, AT_FDCWD, path) : 0;
	recorder_look(false);
	int rc = (int)syscall(SYS_truncate, path, size);
	int error = errno;
	if (rc == 0 && file != 0)
		note_size(file, (uint64_t)st.st_size, (uint64_t)size);
	recorder_leave(error);
	return rc;
}
ALSO(truncate64, truncate);

/** Record the changes of a successful fallocate(2). */
static void
note_fallocate(uint64_t file, int fd, int mode, uint64_t offset, uint64_t length, uint64_t old)
{
	struct stat st;
	if ((mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE)) != 0) {
		recorder_blind("fallocate() moved a file's contents", "");
		return;
	}
	if (fstat(fd, &st) != 0)
		return;
	if ((uint64_t)st.st_size != old)
		note_size(file, old, (uint64_t)st.st_size);
	uint64_t end = offset + length < old ? offset + length : old;
	if ((mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0 && offset < end)
		recorder_read_back(file, fd, offset, end - offset);
}

/**
 * Change the size without reserving blocks. The simulated states reserve none. Searching an
 * allocated gigabyte for data would take 10 ms at each sync, but a sparse file takes no
 * time.
 */
static int
allocate(int fd, int mode, off_t offset, off_t length, const struct stat *st)
{
	bool is_reserved = (mode & ~FALLOC_FL_KEEP_SIZE) == 0 && offset >= 0 && length > 0 &&
		offset <= INT64_MAX - length;
	if (!is_reserved)
		return (int)syscall(SYS_fallocate, fd, mode, offset, length);
	if (mode != 0 || offset + length <= st->st_size)
		return 0;
	return (int)syscall(SYS_ftruncate, fd, offset + length);
}

NB_EXPORT int
fallocate(int fd, int mode, off_t offset, off_t length)
{
	struct stat st;
	if (!recorder_begins())
		return (int)syscall(SYS_fallocate, fd, mode, offset, length);
	uint64_t file = recorder_file(fd, &st);
	recorder_look(false);
	int rc = file != 0 ? allocate(fd, mode, offset, length, &st)
			   : (int)syscall(SYS_fallocate, fd, mode, offset, length);
	int error = errno;
	if (rc == 0 && file != 0)
		note_fallocate(file, fd, mode, (uint64_t)offset, (uint64_t)length,
			(uint64_t)st.st_size);
	recorder_leave(error);
	return rc;
}
ALSO(fallocate64, fallocate);

/** If the file system lacks fallocate(2), the C library writes zeros by internal calls. */
static int
fill_by_hand(int fd, off_t offset, off_t length)
{
	static uintptr_t next;
	int (*real)(int, off_t, off_t) = (int (*)(int, off_t, off_t))recorder_next(
		&next, "posix_fallocate");
	return real(fd, offset, length);
}

NB_EXPORT int
posix_fallocate(int fd, off_t offset, off_t length)
{
	struct stat st;
	int error = errno;
	int rc = fallocate(fd, 0, offset, length) == 0 ? 0 : errno;
	errno = error;
	if (rc != EOPNOTSUPP)
		return rc;
	rc = fill_by_hand(fd, offset, length);
	if (rc == 0 && recorder_begins()) {
		uint64_t file = recorder_file(fd, &st);
		if (file != 0)
			note_size(file, 0, (uint64_t)st.st_size);
		recorder_leave(errno);
	}
	return rc;
}
ALSO(posix_fallocate64, posix_fallocate);

/* ---- calls that make the recording blind ---- */

static void
note_aio(int fd)
{
	struct stat st;
	if (!recorder_begins())
		return;
	if (recorder_file(fd, &st) != 0)
		recorder_blind(
			"the engine uses asynchronous writes of the C library (aio)", "");
	recorder_leave(errno);
}

#define NOTED_AIO(name, types, parameters, arguments) \
	NB_EXPORT int name parameters \
	{ \
		static uintptr_t next; \
		note_aio(block->aio_fildes); \
		return ((int(*) types)recorder_next(&next, #name))arguments; \
	}
NOTED_AIO(aio_write, (struct aiocb *), (struct aiocb * block), (block))
NOTED_AIO(aio_write64, (struct aiocb64 *), (struct aiocb64 * block), (block))
NOTED_AIO(aio_fsync, (int, struct aiocb *), (int how, struct aiocb *block), (how, block))
NOTED_AIO(aio_fsync64, (int, struct aiocb64 *), (int how, struct aiocb64 *block), (how, block))

/** Detect io_uring: liburing does not call the C library, but its ring is a descriptor. */
static void
look_for_rings(void)
{
	char link[64], what[64];
	for (int fd = 0; fd < FD_LOOK; fd++) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		ssize_t length = readlink(link, what, sizeof(what) - 1);
		what[length > 0 ? length : 0] = '\0';
		if (strstr(what, "[io_uring]") != NULL)
			recorder_blind("the engine uses io_uring, perhaps to write", "");
	}
}

/* ---- the interface of syscall_log.h ---- */

NB_EXPORT int
nb_recorder_begin(const char *dir, struct record_log *log, const struct crash_progress *board,
	uint32_t sessions);
NB_EXPORT void
nb_recorder_point(void);
NB_EXPORT void
nb_recorder_boot(uint32_t boots);

int
nb_recorder_begin(const char *dir, struct record_log *log, const struct crash_progress *board,
	uint32_t sessions)
{
	int error = recorder_log_begin(dir, log, board, sessions);
	if (error == 0)
		__atomic_store_n(&recorder_is_on, 1, __ATOMIC_RELEASE);
	return error;
}

void
nb_recorder_point(void)
{
	static unsigned points;
	if (!recorder_begins())
		return;
	if (points++ % POINTS_BETWEEN == 0)
		look_for_rings();
	recorder_look(true);
	put(RECORD_POINT, 0, NULL, NULL);
	recorder_leave(errno);
}

void
nb_recorder_boot(uint32_t boots)
{
	recorder_boots = boots;
}
