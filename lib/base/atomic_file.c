/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file is either the old one or the new one, never a mixture: the new one is made without a
 * name (O_TMPFILE) in the same directory, synced, linked under a temporary name and renamed over
 * the old one. If a file system has no O_TMPFILE, the file has a temporary name from the start.
 * Mode and owner of the old file are kept.
 *
 * A temporary name remains after a kill, until the same file is written again. The owner of the
 * name holds a lock (flock) of the file, so a file that can be locked is nobody's any more.
 *
 * A link at the path is followed, except in directories like /tmp, where another user may have
 * made it: mininb rejects files and symlinks of other users in a directory that everybody may
 * write, as Linux does with fs.protected_symlinks and fs.protected_regular, which not every
 * machine has set. A temporary name never replaces a file.
 */
#include "base/atomic_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/error.h"
#include "base/symlink_guard.h"
#include "base/stdout.h"

enum {
	SUFFIX_MAX = 32, /* ".new-", a process id and a number */
	NAMES_TRIED = 100,
	SIGNATURE_SIZE = 64
};

static const char signature[] = "user.mininb";

/**
 * The file to which `path` leads, because rename() would replace a link. It may not exist yet,
 * which realpath() does not support. check_target() has excluded loops.
 */
static char *
resolve(const char *path)
{
	char *real = realpath(path, NULL);
	if (real != NULL)
		return real;
	char *at = strdup(path), *next;
	while (at != NULL && (next = symlink_read(at)) != NULL) {
		free(at);
		at = next;
	}
	return at;
}

static int
open_unnamed(const char *path)
{
	char *copy = strdup(path);
	if (copy == NULL)
		return -1;
	int fd = open(dirname(copy), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
	free(copy);
	if (fd >= 0)
		flock(fd, LOCK_EX | LOCK_NB); /* without locks, nobody removes leftovers */
	return fd;
}

static const char suffix[] = ".new-";

/** Length of the directory in a path, with its slash. */
static size_t
directory_length(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

/** Length of the start of a path that temporary names have, so that they are valid names. */
static size_t
kept_length(const char *path)
{
	size_t length = directory_length(path);
	return length + strnlen(path + length, NAME_MAX - SUFFIX_MAX);
}

static char *
passing_name(const char *path, unsigned n)
{
	char *name;
	int length = asprintf(
		&name, "%.*s%s%ld-%u", (int)kept_length(path), path, suffix, (long)getpid(), n);
	return length < 0 ? NULL : name;
}

/** Whether `name`, without directory, is a temporary name for the file. */
static bool
is_passing_name(const char *path, const char *name)
{
	size_t begin = directory_length(path), length = kept_length(path) - begin;
	if (strncmp(name, path + begin, length) != 0 ||
		strncmp(name + length, suffix, strlen(suffix)) != 0)
		return false;
	const char *pid = name + length + strlen(suffix);
	size_t digits = strspn(pid, "0123456789");
	const char *number = pid + digits + 1;
	return digits > 0 && pid[digits] == '-' && isdigit((unsigned char)*number) &&
		number[strspn(number, "0123456789")] == '\0';
}

/** Remove the name if the file is ours, nobody has locked it, and it still has that name. */
static void
remove_abandoned(int directory, const char *name)
{
	struct stat now, st;
	int fd = openat(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		st.st_uid == geteuid() &&
		fstatat(directory, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
		now.st_dev == st.st_dev && now.st_ino == st.st_ino)
		unlinkat(directory, name, 0);
	close(fd);
}

/** Remove temporary files that killed processes have left. */
static void
remove_leftovers(const char *path)
{
	char *copy = strdup(path);
	DIR *directory = copy != NULL ? opendir(dirname(copy)) : NULL;
	free(copy);
	if (directory == NULL)
		return;
	for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
		if (is_passing_name(path, entry->d_name))
			remove_abandoned(dirfd(directory), entry->d_name);
	closedir(directory);
}

/**
 * Lock a file whose name others can see. If another process took it for an abandoned one
 * before, it has the lock or the file has no name any more: returns false.
 */
static bool
lock_named(int fd)
{
	struct stat st;
	return (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
		fstat(fd, &st) == 0 && st.st_nlink > 0;
}

static int
open_named(struct atomic_file *atomic)
{
	for (unsigned n = 0; n < NAMES_TRIED; n++) {
		atomic->named = passing_name(atomic->path, n);
		if (atomic->named == NULL)
			return -1;
		int fd = open(atomic->named, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
		if (fd >= 0 && lock_named(fd))
			return fd;
		int cause = fd >= 0 ? EEXIST : errno;
		if (fd >= 0)
			close(fd);
		free(atomic->named);
		atomic->named = NULL;
		errno = cause;
		if (cause != EEXIST)
			return -1;
	}
	return -1;
}

/** Check that the file may be replaced, and read its status. */
static int
check_target(const char *path, bool *is_old, struct stat *old)
{
	int rc = symlink_check(path);
	if (rc != NB_OK)
		return rc;
	*is_old = stat(path, old) == 0;
	if (!*is_old)
		return errno == ENOENT ? NB_OK : error_system("%s", path);
	if (!S_ISREG(old->st_mode))
		return error_set(NB_FAIL, "%s: is not a regular file", path);
	return NB_OK;
}

/** A path with a final slash would make rename() fail after all the work. */
static bool
is_file_name(const char *path)
{
	size_t length = strlen(path);
	return length > 0 && path[length - 1] != '/';
}

/** On some file systems every signal interrupts posix_fallocate(). */
static int
reserve(const struct atomic_file *atomic, const char *path, uint64_t size)
{
	int error;
	do
		error = size > 0 ? posix_fallocate(atomic->fd, 0, (off_t)size) : 0;
	while (error == EINTR && !stop_requested());
	if (error == 0)
		return NB_OK;
	if (error == EINTR)
		return error_interrupted();
	errno = error;
	return error_system(
		"%s: %llu bytes cannot be reserved", path, (unsigned long long)size);
}

bool
atomic_file_is_special(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode));
}

int
atomic_file_open(struct atomic_file *atomic, const char *path, uint64_t size)
{
	struct stat old;
	bool is_old;
	path = stdout_path(path);
	int rc = check_target(path, &is_old, &old);
	if (rc != NB_OK)
		return rc;
	*atomic = (struct atomic_file){.fd = -1, .path = resolve(path)};
	if (atomic->path == NULL)
		return error_set(NB_FAIL, "%s: out of memory", path);
	bool is_name = is_file_name(atomic->path);
	if (is_name) {
		remove_leftovers(atomic->path);
		atomic->fd = open_unnamed(atomic->path);
	}
	if (is_name && atomic->fd < 0 &&
		(errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
		atomic->fd = open_named(atomic);
	/* only root can give a user's file back to the user */
	if (!is_name)
		rc = error_set(NB_FAIL, "'%s': is not the name of a file", atomic->path);
	else if (atomic->fd < 0)
		rc = error_system("%s: cannot be written", path);
	else if (is_old && fchown(atomic->fd, old.st_uid, old.st_gid) != 0 && geteuid() == 0)
		rc = error_system("%s: fchown", path);
	else if (is_old && fchmod(atomic->fd, old.st_mode & 07777) != 0)
		rc = error_system("%s: fchmod", path);
	else
		rc = reserve(atomic, path, size);
	if (rc != NB_OK)
		atomic_file_abort(atomic);
	return rc;
}

static int
give_name(struct atomic_file *atomic)
{
	char from[64];
	snprintf(from, sizeof(from), "/proc/self/fd/%d", atomic->fd);
	for (unsigned n = 0;; n++) {
		char *name = passing_name(atomic->path, n);
		if (name == NULL)
			return error_set(NB_FAIL, "%s: out of memory", atomic->path);
		if (linkat(AT_FDCWD, from, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0) {
			atomic->named = name;
			return NB_OK;
		}
		if (errno != EEXIST || n == NAMES_TRIED) {
			int rc = error_system("%s", name);
			free(name);
			return rc;
		}
		free(name);
	}
}

/**
 * A text that changes if another program writes to the file, even as many bytes as before, but
 * not if the file gets another name or attribute. Returns its length, or -1.
 */
static int
make_signature(int fd, char text[SIGNATURE_SIZE])
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return -1;
	return snprintf(text, SIGNATURE_SIZE, "%jd bytes, %jd.%09ld", (intmax_t)st.st_size,
		(intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

void
atomic_file_sign(const struct atomic_file *atomic)
{
	char text[SIGNATURE_SIZE];
	int length = make_signature(atomic->fd, text);
	int rc = length < 0 ? -1 : fsetxattr(atomic->fd, signature, text, (size_t)length, 0);
	(void)rc;
}

bool
atomic_file_is_signed(int fd)
{
	char text[SIGNATURE_SIZE], noted[SIGNATURE_SIZE];
	int length = make_signature(fd, text);
	return length > 0 && fgetxattr(fd, signature, noted, sizeof(noted)) == length &&
		memcmp(text, noted, (size_t)length) == 0;
}

int
atomic_file_commit(struct atomic_file *atomic)
{
	int rc = NB_OK;
	if (fsync(atomic->fd) != 0)
		rc = error_system("%s: fsync", atomic->path);
	if (rc == NB_OK && atomic->named == NULL)
		rc = give_name(atomic);
	if (rc == NB_OK && rename(atomic->named, atomic->path) != 0)
		rc = error_system("%s: rename", atomic->path);
	if (rc == NB_OK) {
		free(atomic->named);
		atomic->named = NULL; /* in place: do not unlink it */
	}
	atomic_file_abort(atomic);
	return rc;
}

void
atomic_file_abort(struct atomic_file *atomic)
{
	if (atomic->fd >= 0)
		close(atomic->fd);
	if (atomic->named != NULL)
		unlink(atomic->named);
	free(atomic->named);
	free(atomic->path);
	*atomic = (struct atomic_file){.fd = -1};
}

int
atomic_file_write(struct atomic_file *atomic, const void *data, size_t size, uint64_t offset)
{
	const char *bytes = data;
	while (size > 0) {
		ssize_t written = pwrite(atomic->fd, bytes, size, (off_t)offset);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return error_system("%s: write", atomic->path);
		bytes += written;
		size -= (size_t)written;
		offset += (uint64_t)written;
	}
	return NB_OK;
}
