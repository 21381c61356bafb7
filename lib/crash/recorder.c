/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls that are recorded, in the place of the C library's.
 *
 * A write is made by pwritev2(2) whatever it was called by, so that there is one way for
 * all of them; a file's own position is -1 there. Where it went is asked of the file
 * afterwards, as O_APPEND decides it within the kernel. A write that is durable when it
 * returns is a write and a sync of what it wrote.
 *
 * What an msync(2) concerns is read from /proc/self/maps: it is called seldom, and is slow
 * itself, and so mappings that grow, move and end need not be followed.
 */
#include "crash/recorder.h"

#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A second name of a call, which others were compiled to use. */
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wmissing-attributes" /* of what the headers say beside */
#define ALSO(other, name) \
	__typeof__(name) other __attribute__((alias(#name), visibility("default")))

enum { RANGES = 16, MAPS_LINE = PATH_MAX + 128, POINTS_BETWEEN = 64, FD_LOOK = 256 };

static struct record_entry
entry_of(uint32_t kind, uint64_t file)
{
	return (struct record_entry){.kind = kind, .file = file};
}

static void
put(const struct record_entry *head, const struct crash_moment *moment, const char *path,
	const char *path2)
{
	recorder_put(head, moment, path, path2, NULL, 0);
}

/* ---- opening ---- */

struct opening {
	struct crash_moment moment;
	bool is_inside, was_there;
	uint64_t file; /* that was there */
	uint64_t size;
	char inside[PATH_MAX];
};

/** Within the lock. */
static void
before_open(struct opening *opening, int dir, const char *path)
{
	struct stat st;
	opening->was_there = false;
	opening->is_inside = recorder_inside(opening->inside, dir, path);
	if (!opening->is_inside)
		return;
	recorder_look(false, &opening->moment);
	opening->was_there = fstatat(dir, path, &st, 0) == 0;
	opening->size = opening->was_there ? (uint64_t)st.st_size : 0;
	opening->file = opening->was_there && S_ISREG(st.st_mode)
		? recorder_file_at(opening->inside, dir, path, &opening->moment)
		: 0;
}

static void
after_open(const struct opening *opening, int fd, bool is_nameless)
{
	struct stat st;
	if (!opening->is_inside || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return;
	if (is_nameless) {
		recorder_create(&st, NULL, &opening->moment);
	} else if (!opening->was_there) {
		recorder_create(&st, opening->inside, &opening->moment);
	} else if (st.st_size == 0 && opening->size > 0 && opening->file != 0) {
		struct record_entry head = entry_of(RECORD_TRUNCATE, opening->file);
		put(&head, &opening->moment, NULL, NULL);
		recorder_watch_size(opening->file, 0);
	}
}

static int
open_at(int dir, const char *path, int flags, unsigned mode)
{
	struct opening opening;
	bool is_nameless = (flags & O_TMPFILE) == O_TMPFILE;
	bool is_plain = (flags & (O_CREAT | O_TRUNC)) == 0 && !is_nameless;
	if (is_plain || recorder_sleeps() || !recorder_enter(&opening.moment))
		return (int)syscall(SYS_openat, dir, path, flags, mode);
	before_open(&opening, dir, path);
	int fd = (int)syscall(SYS_openat, dir, path, flags, mode);
	int error = errno;
	if (fd >= 0)
		after_open(&opening, fd, is_nameless);
	recorder_leave();
	errno = error;
	return fd;
}

#define MODE_OF(flags) \
	unsigned mode = 0; \
	if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) { \
		va_list more; \
		va_start(more, flags); \
		mode = va_arg(more, unsigned); \
		va_end(more); \
	}

NB_EXPORT int
open(const char *path, int flags, ...)
{
	MODE_OF(flags)
	return open_at(AT_FDCWD, path, flags, mode);
}
ALSO(open64, open);

NB_EXPORT int
openat(int dir, const char *path, int flags, ...)
{
	MODE_OF(flags)
	return open_at(dir, path, flags, mode);
}
ALSO(openat64, openat);

NB_EXPORT int
creat(const char *path, mode_t mode)
{
	return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
ALSO(creat64, creat);

/* As the headers call them under _FORTIFY_SOURCE. */
int
__open_2(const char *path, int flags);
int
__openat_2(int dir, const char *path, int flags);

NB_EXPORT int
__open_2(const char *path, int flags)
{
	return open_at(AT_FDCWD, path, flags, 0);
}
ALSO(__open64_2, __open_2);

NB_EXPORT int
__openat_2(int dir, const char *path, int flags)
{
	return open_at(dir, path, flags, 0);
}
ALSO(__openat64_2, __openat_2);

/* ---- streams: the C library writes them unseen ---- */

typedef void (*any_fn)(void);

/** The next function of that name; found once. */
static any_fn
next_of(uintptr_t *known, const char *name)
{
	uintptr_t function = __atomic_load_n(known, __ATOMIC_RELAXED);
	if (function == 0) {
		function = (uintptr_t)dlsym(RTLD_NEXT, name);
		__atomic_store_n(known, function, __ATOMIC_RELAXED);
	}
	return (any_fn)function;
}

/** Within the lock. */
static void
watch_stream(FILE *stream, const struct crash_moment *moment)
{
	struct stat st;
	int fd = fileno(stream);
	int flags = fd >= 0 ? (int)syscall(SYS_fcntl, fd, F_GETFL) : 0;
	if (fd < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return;
	uint64_t file = recorder_file(fd, &st, moment);
	if (file != 0)
		recorder_watch(file, fd, &st);
}

NB_EXPORT FILE *
fopen(const char *path, const char *how)
{
	static uintptr_t next;
	struct opening opening;
	FILE *(*real)(const char *, const char *) = (FILE * (*)(const char *, const char *))
		next_of(&next, "fopen");
	if (recorder_sleeps() || !recorder_enter(&opening.moment))
		return real(path, how);
	before_open(&opening, AT_FDCWD, path);
	FILE *stream = real(path, how);
	int error = errno;
	if (stream != NULL) {
		after_open(&opening, fileno(stream), false);
		watch_stream(stream, &opening.moment);
	}
	recorder_leave();
	errno = error;
	return stream;
}
ALSO(fopen64, fopen);

NB_EXPORT FILE *
fdopen(int fd, const char *how)
{
	static uintptr_t next;
	struct crash_moment moment;
	FILE *(*real)(int, const char *) = (FILE * (*)(int, const char *))
		next_of(&next, "fdopen");
	FILE *stream = real(fd, how);
	int error = errno;
	if (stream != NULL && !recorder_sleeps() && recorder_enter(&moment)) {
		watch_stream(stream, &moment);
		recorder_leave();
	}
	errno = error;
	return stream;
}

/* ---- writing ---- */

static ssize_t
pass_write(int fd, const struct iovec *pieces, int count, off_t offset, int flags)
{
	return syscall(SYS_pwritev2, fd, pieces, count, offset, 0, flags);
}

/** Where `done` bytes have just been written. */
static uint64_t
place_of_write(int fd, int modes, off_t offset, int flags, ssize_t done)
{
	struct stat st;
	if (offset == -1)
		return (uint64_t)(syscall(SYS_lseek, fd, 0, SEEK_CUR) - done);
	if (((modes & O_APPEND) != 0 || (flags & RWF_APPEND) != 0) && fstat(fd, &st) == 0)
		return (uint64_t)(st.st_size - done);
	return (uint64_t)offset;
}

static void
after_write(uint64_t file, int fd, const struct iovec *pieces, int count, off_t offset,
	int flags, ssize_t done, const struct crash_moment *moment)
{
	int modes = (int)syscall(SYS_fcntl, fd, F_GETFL);
	struct record_entry head = entry_of(RECORD_SYNC, file);
	head.offset = place_of_write(fd, modes, offset, flags, done);
	head.length = (uint64_t)done;
	recorder_put_write(file, head.offset, head.length, moment, pieces, count);
	head.covers = recorder_count();
	if ((modes & O_DSYNC) != 0 || (flags & (RWF_DSYNC | RWF_SYNC)) != 0)
		put(&head, moment, NULL, NULL);
}

static ssize_t
write_pieces(int fd, const struct iovec *pieces, int count, off_t offset, int flags)
{
	struct crash_moment moment;
	struct stat st;
	if (!recorder_enter(&moment))
		return pass_write(fd, pieces, count, offset, flags);
	uint64_t file = recorder_file(fd, &st, &moment);
	if (file == 0) { /* a pipe may make us wait */
		recorder_leave();
		return pass_write(fd, pieces, count, offset, flags);
	}
	recorder_look(false, &moment);
	ssize_t done = pass_write(fd, pieces, count, offset, flags);
	int error = errno;
	if (done > 0)
		after_write(file, fd, pieces, count, offset, flags, done, &moment);
	recorder_leave();
	errno = error;
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

/* ---- copying within the kernel: what came of it is read ---- */

struct copying {
	struct crash_moment moment;
	uint64_t file;
	bool is_on;
};

static void
before_copy(struct copying *copying, int to)
{
	struct stat st;
	copying->file = 0;
	copying->is_on = !recorder_sleeps() && recorder_enter(&copying->moment);
	if (!copying->is_on)
		return;
	copying->file = recorder_file(to, &st, &copying->moment);
	if (copying->file != 0)
		recorder_look(false, &copying->moment);
}

static ssize_t
after_copy(const struct copying *copying, int to, const off_t *offset_after, ssize_t done)
{
	int error = errno;
	if (copying->file != 0 && done > 0) {
		off_t end = offset_after != NULL ? *offset_after
						 : (off_t)syscall(SYS_lseek, to, 0, SEEK_CUR);
		recorder_read_back(copying->file, to, (uint64_t)(end - done), (uint64_t)done,
			&copying->moment);
	}
	if (copying->is_on)
		recorder_leave();
	errno = error;
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
note_size(uint64_t file, uint64_t old, uint64_t size, const struct crash_moment *moment)
{
	struct record_entry head = entry_of(RECORD_TRUNCATE, file);
	head.offset = size;
	if (size != old)
		put(&head, moment, NULL, NULL);
	recorder_watch_size(file, size);
}

NB_EXPORT int
ftruncate(int fd, off_t size)
{
	struct crash_moment moment;
	struct stat st;
	if (recorder_sleeps() || !recorder_enter(&moment))
		return (int)syscall(SYS_ftruncate, fd, size);
	uint64_t file = recorder_file(fd, &st, &moment);
	recorder_look(false, &moment);
	int rc = (int)syscall(SYS_ftruncate, fd, size);
	int error = errno;
	if (rc == 0 && file != 0)
		note_size(file, (uint64_t)st.st_size, (uint64_t)size, &moment);
	recorder_leave();
	errno = error;
	return rc;
}
ALSO(ftruncate64, ftruncate);

NB_EXPORT int
truncate(const char *path, off_t size)
{
	struct crash_moment moment;
	struct stat st;
	char inside[PATH_MAX];
	if (recorder_sleeps() || !recorder_enter(&moment))
		return (int)syscall(SYS_truncate, path, size);
	bool is_there = recorder_inside(inside, AT_FDCWD, path) && stat(path, &st) == 0;
	uint64_t file = is_there ? recorder_file_at(inside, AT_FDCWD, path, &moment) : 0;
	recorder_look(false, &moment);
	int rc = (int)syscall(SYS_truncate, path, size);
	int error = errno;
	if (rc == 0 && file != 0)
		note_size(file, (uint64_t)st.st_size, (uint64_t)size, &moment);
	recorder_leave();
	errno = error;
	return rc;
}
ALSO(truncate64, truncate);

/** What an fallocate(2) that was done has changed. */
static void
note_fallocate(uint64_t file, int fd, int mode, uint64_t offset, uint64_t length, uint64_t old,
	const struct crash_moment *moment)
{
	struct stat st;
	if ((mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE)) != 0) {
		recorder_blind("fallocate() has moved a file's contents", "");
		return;
	}
	if (fstat(fd, &st) != 0)
		return;
	if ((uint64_t)st.st_size != old)
		note_size(file, old, (uint64_t)st.st_size, moment);
	uint64_t end = offset + length < old ? offset + length : old;
	if ((mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0 && offset < end)
		recorder_read_back(file, fd, offset, end - offset, moment);
}

NB_EXPORT int
fallocate(int fd, int mode, off_t offset, off_t length)
{
	struct crash_moment moment;
	struct stat st;
	if (recorder_sleeps() || !recorder_enter(&moment))
		return (int)syscall(SYS_fallocate, fd, mode, offset, length);
	uint64_t file = recorder_file(fd, &st, &moment);
	recorder_look(false, &moment);
	int rc = (int)syscall(SYS_fallocate, fd, mode, offset, length);
	int error = errno;
	if (rc == 0 && file != 0)
		note_fallocate(file, fd, mode, (uint64_t)offset, (uint64_t)length,
			(uint64_t)st.st_size, &moment);
	recorder_leave();
	errno = error;
	return rc;
}
ALSO(fallocate64, fallocate);

/* Where the file system has no fallocate(2) the C library writes zeros, within itself. */
static int
fill_by_hand(int fd, off_t offset, off_t length)
{
	static uintptr_t next;
	int (*real)(int, off_t, off_t) = (int (*)(int, off_t, off_t))next_of(
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
	struct crash_moment moment;
	if (rc == 0 && !recorder_sleeps() && recorder_enter(&moment)) {
		uint64_t file = recorder_file(fd, &st, &moment);
		if (file != 0)
			note_size(file, 0, (uint64_t)st.st_size, &moment);
		recorder_leave();
	}
	return rc;
}
ALSO(posix_fallocate64, posix_fallocate);

/* ---- syncs ---- */

static int
sync_by(long call, int fd)
{
	struct crash_moment moment;
	struct stat st;
	char inside[PATH_MAX] = "";
	if (recorder_sleeps() || !recorder_enter(&moment))
		return (int)syscall(call, fd);
	struct record_entry head = entry_of(RECORD_SYNC_ALL, 0);
	bool is_ours = call == SYS_syncfs;
	if (!is_ours && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		head.kind = RECORD_SYNC_DIR;
		is_ours = recorder_inside_fd(inside, fd);
	} else if (!is_ours) {
		head = entry_of(RECORD_SYNC, recorder_file(fd, &st, &moment));
		is_ours = head.file != 0;
	}
	if (is_ours)
		recorder_look(true, &moment);
	head.covers = recorder_count();
	recorder_unlock();
	int rc = (int)syscall(call, fd);
	int error = errno;
	recorder_lock();
	if (rc == 0 && is_ours)
		put(&head, &moment, head.kind == RECORD_SYNC_DIR ? inside : NULL, NULL);
	recorder_leave();
	errno = error;
	return rc;
}

NB_EXPORT int
fsync(int fd)
{
	return sync_by(SYS_fsync, fd);
}

NB_EXPORT int
fdatasync(int fd)
{
	return sync_by(SYS_fdatasync, fd);
}

NB_EXPORT int
syncfs(int fd)
{
	return sync_by(SYS_syncfs, fd);
}

NB_EXPORT void
sync(void)
{
	struct crash_moment moment;
	if (recorder_sleeps() || !recorder_enter(&moment)) {
		syscall(SYS_sync);
		return;
	}
	struct record_entry head = entry_of(RECORD_SYNC_ALL, 0);
	recorder_look(true, &moment);
	head.covers = recorder_count();
	recorder_unlock();
	syscall(SYS_sync);
	recorder_lock();
	put(&head, &moment, NULL, NULL);
	recorder_leave();
}

/* ---- mappings ---- */

/** The sync entry of the part of one mapping, a line of /proc/self/maps, that msync() is
 * called on; false: none of it, or no file of the database. */
static bool
range_of_line(struct record_entry *head, const char *line, uintptr_t begin, uintptr_t end,
	const struct crash_moment *moment)
{
	unsigned long from, to, offset;
	int at = 0;
	char inside[PATH_MAX];
	struct stat st;
	if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %n", &from, &to, &offset, &at) != 3 ||
		at == 0 || line[at] != '/' || to <= begin || from >= end)
		return false;
	if (stat(line + at, &st) != 0 || !recorder_inside(inside, AT_FDCWD, line + at))
		return false;
	*head = entry_of(RECORD_SYNC, recorder_file_at(inside, AT_FDCWD, line + at, moment));
	uintptr_t first = from > begin ? from : begin, last = to < end ? to : end;
	head->offset = offset + (first - from);
	head->length = last - first;
	if (head->offset == 0 && head->length >= (uint64_t)st.st_size)
		head->length = 0;
	return head->file != 0;
}

static size_t
find_ranges(struct record_entry heads[RANGES], uintptr_t begin, uintptr_t end,
	const struct crash_moment *moment)
{
	static char text[2 * MAPS_LINE]; /* under the lock */
	size_t count = 0, filled = 0;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	for (ssize_t got; fd >= 0;) {
		got = syscall(SYS_read, fd, text + filled, sizeof(text) - 1 - filled);
		filled += got > 0 ? (size_t)got : 0;
		text[filled] = '\0';
		char *line = text;
		for (char *stop; (stop = strchr(line, '\n')) != NULL; line = stop + 1) {
			*stop = '\0';
			if (count < RANGES &&
				range_of_line(&heads[count], line, begin, end, moment))
				count++;
		}
		filled -= (size_t)(line - text);
		memmove(text, line, filled);
		if (got <= 0)
			break;
	}
	if (fd < 0 || count == RANGES)
		recorder_blind("what msync() concerns cannot be told", "");
	if (fd >= 0)
		syscall(SYS_close, fd);
	return count;
}

NB_EXPORT int
msync(void *address, size_t size, int flags)
{
	struct crash_moment moment;
	struct record_entry heads[RANGES];
	/* MS_ASYNC does nothing in Linux since 2.6.19 */
	if ((flags & MS_SYNC) == 0 || recorder_sleeps() || !recorder_enter(&moment))
		return (int)syscall(SYS_msync, address, size, flags);
	uintptr_t begin = (uintptr_t)address;
	size_t count = find_ranges(heads, begin, begin + size, &moment);
	if (count > 0)
		recorder_look(true, &moment);
	uint64_t covers = recorder_count();
	recorder_unlock();
	int rc = (int)syscall(SYS_msync, address, size, flags);
	int error = errno;
	recorder_lock();
	for (size_t i = 0; i < count && rc == 0; i++) {
		heads[i].covers = covers;
		put(&heads[i], &moment, NULL, NULL);
	}
	recorder_leave();
	errno = error;
	return rc;
}

static void
note_mapping(int protection, int flags, int fd)
{
	struct crash_moment moment;
	struct stat st;
	int type = flags & MAP_TYPE, error = errno;
	if ((type != MAP_SHARED && type != MAP_SHARED_VALIDATE) ||
		(protection & PROT_WRITE) == 0 || !recorder_enter(&moment))
		return;
	uint64_t file = recorder_file(fd, &st, &moment);
	if (file != 0 && type == MAP_SHARED_VALIDATE && (flags & MAP_SYNC) != 0)
		recorder_blind("persistent memory is mapped, which needs no sync", "");
	if (file != 0) {
		recorder_look(false, &moment);
		recorder_watch(file, fd, &st);
	}
	recorder_leave();
	errno = error;
}

NB_EXPORT void *
mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	void *at = (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
	if (fd >= 0 && at != MAP_FAILED && !recorder_sleeps())
		note_mapping(protection, flags, fd);
	return at;
}
ALSO(mmap64, mmap);

/* free() calls it too, also within a call that is being recorded. */
NB_EXPORT int
munmap(void *address, size_t size)
{
	struct crash_moment moment;
	if (!recorder_sleeps() && recorder_is_watching() && !recorder_is_inside() &&
		recorder_enter(&moment)) {
		recorder_look(false, &moment);
		recorder_leave();
	}
	return (int)syscall(SYS_munmap, address, size);
}

/* ---- names ---- */

static int
unlink_at(int dir, const char *path, int flags)
{
	struct crash_moment moment;
	char inside[PATH_MAX];
	if (recorder_sleeps() || !recorder_enter(&moment))
		return (int)syscall(SYS_unlinkat, dir, path, flags);
	bool is_inside = recorder_inside(inside, dir, path);
	if (is_inside)
		recorder_look(false, &moment);
	int rc = (int)syscall(SYS_unlinkat, dir, path, flags);
	int error = errno;
	struct record_entry head = entry_of(
		(flags & AT_REMOVEDIR) != 0 ? RECORD_RMDIR : RECORD_UNLINK, 0);
	if (rc == 0 && is_inside)
		put(&head, &moment, inside, NULL);
	recorder_leave();
	errno = error;
	return rc;
}

NB_EXPORT int
unlink(const char *path)
{
	return unlink_at(AT_FDCWD, path, 0);
}

NB_EXPORT int
unlinkat(int dir, const char *path, int flags)
{
	return unlink_at(dir, path, flags);
}

NB_EXPORT int
rmdir(const char *path)
{
	return unlink_at(AT_FDCWD, path, AT_REMOVEDIR);
}

NB_EXPORT int
remove(const char *path)
{
	int rc = unlink_at(AT_FDCWD, path, 0);
	return rc != 0 && errno == EISDIR ? unlink_at(AT_FDCWD, path, AT_REMOVEDIR) : rc;
}

static int
mkdir_at(int dir, const char *path, mode_t mode)
{
	struct crash_moment moment;
	char inside[PATH_MAX];
	if (recorder_sleeps() || !recorder_enter(&moment))
		return (int)syscall(SYS_mkdirat, dir, path, mode);
	bool is_inside = recorder_inside(inside, dir, path);
	int rc = (int)syscall(SYS_mkdirat, dir, path, mode);
	int error = errno;
	struct record_entry head = entry_of(RECORD_MKDIR, 0);
	if (rc == 0 && is_inside)
		put(&head, &moment, inside, NULL);
	recorder_leave();
	errno = error;
	return rc;
}

NB_EXPORT int
mkdir(const char *path, mode_t mode)
{
	return mkdir_at(AT_FDCWD, path, mode);
}

NB_EXPORT int
mkdirat(int dir, const char *path, mode_t mode)
{
	return mkdir_at(dir, path, mode);
}

/** A name that was moved, from and to where it may be ours or not. */
static void
note_rename(const char *from, const char *to, uint64_t file, unsigned flags, int dir,
	const char *path, const struct crash_moment *moment)
{
	struct record_entry head = entry_of(RECORD_RENAME, file);
	if ((flags & (RENAME_EXCHANGE | RENAME_WHITEOUT)) != 0) {
		recorder_blind("names were exchanged", to != NULL ? to : from);
	} else if (from != NULL && to != NULL) {
		put(&head, moment, from, to);
	} else if (from != NULL) {
		head.kind = RECORD_UNLINK;
		put(&head, moment, from, NULL);
	} else if (recorder_file_at(to, dir, path, moment) == 0) { /* it is met there */
		recorder_blind("a directory was moved here", to);
	}
}

static int
rename_at(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	struct crash_moment moment;
	char from_inside[PATH_MAX], to_inside[PATH_MAX];
	if (recorder_sleeps() || !recorder_enter(&moment))
		return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
	bool is_from = recorder_inside(from_inside, from_dir, from);
	bool is_to = recorder_inside(to_inside, to_dir, to);
	uint64_t file = is_from ? recorder_file_at(from_inside, from_dir, from, &moment) : 0;
	if (is_from || is_to)
		recorder_look(false, &moment);
	int rc = (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
	int error = errno;
	if (rc == 0 && (is_from || is_to))
		note_rename(is_from ? from_inside : NULL, is_to ? to_inside : NULL, file, flags,
			to_dir, to, &moment);
	recorder_leave();
	errno = error;
	return rc;
}

NB_EXPORT int
rename(const char *from, const char *to)
{
	return rename_at(AT_FDCWD, from, AT_FDCWD, to, 0);
}

NB_EXPORT int
renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	return rename_at(from_dir, from, to_dir, to, 0);
}

NB_EXPORT int
renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	return rename_at(from_dir, from, to_dir, to, flags);
}

static int
link_at(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	struct crash_moment moment;
	char inside[PATH_MAX];
	if (recorder_sleeps() || !recorder_enter(&moment))
		return (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
	bool is_inside = recorder_inside(inside, to_dir, to);
	if (is_inside)
		recorder_look(false, &moment);
	int rc = (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
	int error = errno;
	uint64_t count = recorder_count();
	struct record_entry head = entry_of(RECORD_LINK, 0);
	if (rc == 0 && is_inside) {
		head.file = recorder_file_at(inside, to_dir, to, &moment);
		if (recorder_count() == count) /* else it is new to us, and made there */
			put(&head, &moment, NULL, inside);
	}
	recorder_leave();
	errno = error;
	return rc;
}

NB_EXPORT int
link(const char *from, const char *to)
{
	return link_at(AT_FDCWD, from, AT_FDCWD, to, 0);
}

NB_EXPORT int
linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	return link_at(from_dir, from, to_dir, to, flags);
}

/* ---- what is only noticed ---- */

static void
note_aio(int fd)
{
	struct crash_moment moment;
	struct stat st;
	if (recorder_sleeps() || !recorder_enter(&moment))
		return;
	if (recorder_file(fd, &st, &moment) != 0)
		recorder_blind("the C library's asynchronous writes (aio) are used", "");
	recorder_leave();
}

#define NOTED_AIO(name, block_type) \
	NB_EXPORT int name(struct block_type *block) \
	{ \
		static uintptr_t next; \
		note_aio(block->aio_fildes); \
		return ((int (*)(struct block_type *))next_of(&next, #name))(block); \
	}
NOTED_AIO(aio_write, aiocb)
NOTED_AIO(aio_write64, aiocb64)

#define NOTED_AIO_SYNC(name, block_type) \
	NB_EXPORT int name(int how, struct block_type *block) \
	{ \
		static uintptr_t next; \
		note_aio(block->aio_fildes); \
		return ((int (*)(int, struct block_type *))next_of(&next, #name))(how, block); \
	}
NOTED_AIO_SYNC(aio_fsync, aiocb)
NOTED_AIO_SYNC(aio_fsync64, aiocb64)

/* liburing enters the kernel by itself; but its ring is a descriptor like any other. */
static void
look_for_rings(void)
{
	char link[64], what[64];
	for (int fd = 0; fd < FD_LOOK; fd++) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		ssize_t length = readlink(link, what, sizeof(what) - 1);
		what[length > 0 ? length : 0] = '\0';
		if (strstr(what, "[io_uring]") != NULL)
			recorder_blind("io_uring is used, maybe to write", "");
	}
}

/* ---- ours ---- */

NB_EXPORT int
nb_recorder_begin(const char *dir, struct record_log *log, const struct crash_board *board,
	uint32_t sessions);
NB_EXPORT void
nb_recorder_point(void);

int
nb_recorder_begin(const char *dir, struct record_log *log, const struct crash_board *board,
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
	struct crash_moment moment;
	if (recorder_sleeps() || !recorder_enter(&moment))
		return;
	if (points++ % POINTS_BETWEEN == 0)
		look_for_rings();
	recorder_look(true, &moment);
	struct record_entry head = entry_of(RECORD_POINT, 0);
	put(&head, &moment, NULL, NULL);
	recorder_leave();
}
