/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replaces the calls of the C library that open a file or change a name. They look before
 * and after an open() whether it created the file: no other process creates files in a
 * database.
 */
#include "crash/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the boot id ---- */

/*
 * An engine may ask the kernel for its boot id, to know whether unsynced writes can be
 * lost. A simulated power failure does not boot the machine, so recorder_boots selects the
 * id.
 */
uint32_t recorder_boots;

static bool
is_boot_id(const char *path)
{
	return __builtin_expect(recorder_boots != 0, 0) && path != NULL &&
		strcmp(path, "/proc/sys/kernel/random/boot_id") == 0;
}

/** Open a file in memory with a different id for each number of boots. */
static int
open_boot_id(void)
{
	char id[64];
	int size = snprintf(
		id, sizeof(id), "%08x-0000-4000-8000-000000000000\n", (unsigned)recorder_boots);
	int fd = (int)syscall(SYS_memfd_create, "boot_id", MFD_CLOEXEC);
	if (fd >= 0 && syscall(SYS_pwrite64, fd, id, (size_t)size, (off_t)0) != size) {
		syscall(SYS_close, fd);
		errno = EIO;
		return -1;
	}
	return fd;
}

/* ---- opening ---- */

struct opening {
	bool is_inside, was_there;
	uint64_t file; /* the existing file; 0: none */
	uint64_t size;
	char inside[PATH_MAX];
};

/** The caller holds the lock. */
static void
before_open(struct opening *opening, int dir, const char *path)
{
	struct stat st;
	opening->was_there = false;
	opening->is_inside = recorder_inside(opening->inside, dir, path);
	if (!opening->is_inside)
		return;
	recorder_look(false);
	opening->was_there = fstatat(dir, path, &st, 0) == 0;
	opening->size = opening->was_there ? (uint64_t)st.st_size : 0;
	opening->file = opening->was_there && S_ISREG(st.st_mode)
		? recorder_file_at(opening->inside, dir, path)
		: 0;
}

static void
after_open(const struct opening *opening, int fd, bool is_nameless)
{
	struct stat st;
	if (!opening->is_inside || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return;
	if (is_nameless) {
		recorder_create(&st, NULL);
	} else if (!opening->was_there) {
		recorder_create(&st, opening->inside);
	} else if (st.st_size == 0 && opening->size > 0 && opening->file != 0) {
		put(RECORD_TRUNCATE, opening->file, NULL, NULL);
		recorder_watch_size(opening->file, 0);
	}
}

static int
open_at(int dir, const char *path, int flags, unsigned mode)
{
	struct opening opening;
	bool is_nameless = (flags & O_TMPFILE) == O_TMPFILE;
	bool is_plain = (flags & (O_CREAT | O_TRUNC)) == 0 && !is_nameless;
	if (is_plain && is_boot_id(path))
		return open_boot_id();
	if (is_plain || !recorder_begins())
		return (int)syscall(SYS_openat, dir, path, flags, mode);
	before_open(&opening, dir, path);
	int fd = (int)syscall(SYS_openat, dir, path, flags, mode);
	int error = errno;
	if (fd >= 0)
		after_open(&opening, fd, is_nameless);
	recorder_leave(error);
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

/* The headers use these names with _FORTIFY_SOURCE. */
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

/* ---- streams: the C library writes to them by internal calls ---- */

/** The caller holds the lock. */
static void
watch_stream(FILE *stream)
{
	struct stat st;
	int fd = fileno(stream);
	int flags = fd >= 0 ? (int)syscall(SYS_fcntl, fd, F_GETFL) : 0;
	if (fd < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return;
	uint64_t file = recorder_file(fd, &st);
	if (file != 0)
		recorder_watch(file, fd, &st);
}

NB_EXPORT FILE *
fopen(const char *path, const char *how)
{
	static uintptr_t next;
	struct opening opening;
	FILE *(*real)(const char *, const char *) = (FILE * (*)(const char *, const char *))
		recorder_next(&next, "fopen");
	if (is_boot_id(path)) {
		int fd = open_boot_id();
		return fd >= 0 ? fdopen(fd, how) : NULL;
	}
	if (!recorder_begins())
		return real(path, how);
	before_open(&opening, AT_FDCWD, path);
	FILE *stream = real(path, how);
	int error = errno;
	if (stream != NULL) {
		after_open(&opening, fileno(stream), false);
		watch_stream(stream);
	}
	recorder_leave(error);
	return stream;
}
ALSO(fopen64, fopen);

NB_EXPORT FILE *
fdopen(int fd, const char *how)
{
	static uintptr_t next;
	FILE *(*real)(int, const char *) = (FILE * (*)(int, const char *))
		recorder_next(&next, "fdopen");
	FILE *stream = real(fd, how);
	int error = errno;
	if (stream != NULL && recorder_begins()) {
		watch_stream(stream);
		recorder_leave(errno);
	}
	errno = error;
	return stream;
}

/* ---- names ---- */

/** Call unlinkat() or mkdirat() by its number; both take a directory, a path and an int. */
static int
change_name(long call, uint32_t kind, int dir, const char *path, unsigned argument)
{
	char inside[PATH_MAX];
	if (!recorder_begins())
		return (int)syscall(call, dir, path, argument);
	bool is_inside = recorder_inside(inside, dir, path);
	if (is_inside)
		recorder_look(false);
	int rc = (int)syscall(call, dir, path, argument);
	int error = errno;
	if (rc == 0 && is_inside)
		put(kind, 0, inside, NULL);
	recorder_leave(error);
	return rc;
}

NB_EXPORT int
unlink(const char *path)
{
	return change_name(SYS_unlinkat, RECORD_UNLINK, AT_FDCWD, path, 0);
}

NB_EXPORT int
unlinkat(int dir, const char *path, int flags)
{
	return change_name(SYS_unlinkat,
		(flags & AT_REMOVEDIR) != 0 ? RECORD_RMDIR : RECORD_UNLINK, dir, path,
		(unsigned)flags);
}

NB_EXPORT int
rmdir(const char *path)
{
	return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

NB_EXPORT int
remove(const char *path)
{
	int rc = unlink(path);
	return rc != 0 && errno == EISDIR ? rmdir(path) : rc;
}

NB_EXPORT int
mkdir(const char *path, mode_t mode)
{
	return change_name(SYS_mkdirat, RECORD_MKDIR, AT_FDCWD, path, mode);
}

NB_EXPORT int
mkdirat(int dir, const char *path, mode_t mode)
{
	return change_name(SYS_mkdirat, RECORD_MKDIR, dir, path, mode);
}

/** Record a rename; `from` or `to` is NULL if it is outside the database. */
static void
note_rename(const char *from, const char *to, uint64_t file, unsigned flags, int dir,
	const char *path)
{
	if ((flags & (RENAME_EXCHANGE | RENAME_WHITEOUT)) != 0) {
		recorder_blind("the engine exchanged two names", to != NULL ? to : from);
	} else if (from != NULL && to != NULL) {
		put(RECORD_RENAME, file, from, to);
	} else if (from != NULL) {
		put(RECORD_UNLINK, file, from, NULL);
	} else if (recorder_file_at(to, dir, path) == 0) { /* records the file as created */
		recorder_blind("the engine moved a directory into the database", to);
	}
}

static int
rename_at(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	char from_inside[PATH_MAX], to_inside[PATH_MAX];
	if (!recorder_begins())
		return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
	bool is_from = recorder_inside(from_inside, from_dir, from);
	bool is_to = recorder_inside(to_inside, to_dir, to);
	uint64_t file = is_from ? recorder_file_at(from_inside, from_dir, from) : 0;
	if (is_from || is_to)
		recorder_look(false);
	int rc = (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
	int error = errno;
	if (rc == 0 && (is_from || is_to))
		note_rename(is_from ? from_inside : NULL, is_to ? to_inside : NULL, file, flags,
			to_dir, to);
	recorder_leave(error);
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
	char inside[PATH_MAX];
	if (!recorder_begins())
		return (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
	bool is_inside = recorder_inside(inside, to_dir, to);
	if (is_inside)
		recorder_look(false);
	int rc = (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
	int error = errno;
	uint64_t count = recorder_count();
	if (rc == 0 && is_inside) {
		uint64_t file = recorder_file_at(inside, to_dir, to);
		/*
		 * else it was unknown and was recorded as created, or it is not a regular
		 * file
		 */
		if (recorder_count() == count && file != 0)
			put(RECORD_LINK, file, NULL, inside);
	}
	recorder_leave(error);
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
