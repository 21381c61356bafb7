/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The only place where a tree of files is removed. It uses descriptors and not paths: between a
 * check of "a/b" and the removal of "a/b/c", b could be replaced by a link to a home directory.
 * Each directory is opened in its parent with O_NOFOLLOW, and entries are unlinked in a directory
 * that is held open.
 *
 * Mount points are not entered. The number of the mount detects them, also a bind mount of the
 * same file system; before Linux 5.8 only the device is known, which misses bind mounts.
 *
 * A directory is read until it is empty, because some file systems skip entries while others are
 * unlinked.
 */
#include "base/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

enum { DEPTH_MAX = 128 }; /* each level holds a descriptor; engines use about three */

enum { DIRECTORY_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

/** Identifies the mount of a directory. */
struct mount {
	uint64_t number;
	uint32_t major, minor;
};

static bool
find_mount(int fd, struct mount *mount)
{
	struct statx st;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) != 0)
		return false;
	*mount = (struct mount){.major = st.stx_dev_major, .minor = st.stx_dev_minor};
	if ((st.stx_mask & STATX_MNT_ID) != 0)
		mount->number = st.stx_mnt_id;
	return true;
}

static bool
is_same_mount(int fd, int other)
{
	struct mount a, b;
	return find_mount(fd, &a) && find_mount(other, &b) && a.number == b.number &&
		a.major == b.major && a.minor == b.minor;
}

/** Returns 0 or an errno. Closes `fd`. */
static int
empty(int fd, unsigned depth);

/** Returns 0 or an errno. A missing entry is not an error. */
static int
remove_entry(int dir, const char *name, unsigned depth)
{
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM) /* EISDIR on Linux, EPERM by POSIX */
		return errno;
	int cause = errno;
	int fd = openat(dir, name, DIRECTORY_FLAGS);
	if (fd < 0)
		return errno == ENOTDIR || errno == ELOOP ? cause : errno;
	if (!is_same_mount(dir, fd) || depth == DEPTH_MAX) {
		close(fd);
		return depth == DEPTH_MAX ? ENAMETOOLONG : EBUSY;
	}
	int error = empty(fd, depth + 1);
	if (error == 0 && unlinkat(dir, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
		error = errno;
	return error;
}

static bool
is_itself(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int
empty(int fd, unsigned depth)
{
	DIR *dir = fdopendir(fd);
	if (dir == NULL) {
		int cause = errno;
		close(fd);
		return cause;
	}
	int error = 0;
	for (bool is_empty = false; !is_empty && error == 0;) {
		is_empty = true;
		rewinddir(dir);
		for (struct dirent *entry; error == 0 && (entry = readdir(dir)) != NULL;) {
			if (is_itself(entry->d_name))
				continue;
			is_empty = false;
			error = remove_entry(dirfd(dir), entry->d_name, depth);
		}
	}
	closedir(dir);
	return error;
}

int
tree_empty(int fd, const char *path)
{
	int own = openat(fd, ".", DIRECTORY_FLAGS); /* a descriptor with its own offset */
	int error = own < 0 ? errno : empty(own, 0);
	if (error == 0)
		return NB_OK;
	errno = error;
	return error_system("%s: cannot be removed", path);
}

static int
make_one(const char *path)
{
	struct stat st;
	if (mkdir(path, 0777) == 0)
		return NB_OK;
	if (errno != EEXIST)
		return error_system("%s: directory cannot be made", path);
	if (stat(path, &st) != 0)
		return error_system("%s", path);
	if (!S_ISDIR(st.st_mode))
		return error_set(NB_FAIL, "%s: is not a directory", path);
	return NB_OK;
}

int
nb_tree_make(const char *path)
{
	char *copy = strdup(path);
	if (copy == NULL)
		return error_set(NB_FAIL, "%s: out of memory", path);
	int rc = NB_OK;
	for (char *slash = copy + 1; rc == NB_OK && (slash = strchr(slash, '/')) != NULL;
		slash++) {
		*slash = '\0';
		rc = make_one(copy);
		*slash = '/';
	}
	if (rc == NB_OK)
		rc = make_one(copy);
	free(copy);
	return rc;
}

int
nb_tree_remove(const char *path)
{
	int fd = open(path, DIRECTORY_FLAGS);
	if (fd < 0)
		return errno == ENOENT ? NB_OK : error_system("%s", path);
	int rc = tree_empty(fd, path);
	close(fd);
	if (rc == NB_OK && rmdir(path) != 0)
		rc = error_system("%s", path);
	return rc;
}

void
tree_drop(const char *path)
{
	int rc = nb_tree_remove(path);
	(void)rc;
}
