/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In a directory like /tmp every user can create a link or directory. If it has the name of a
 * file that another user is about to write, it redirects that file. This code is separate from
 * atomic_file.c because the recorder of syncs cannot use code that syncs.
 */
#include "base/symlink_guard.h"

#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

enum { LINKS_MAX = 40 }; /* limit of the kernel */

char *
symlink_read(const char *at)
{
	char target[PATH_MAX];
	ssize_t length = readlink(at, target, sizeof(target) - 1);
	if (length < 0)
		return NULL;
	target[length] = '\0';
	const char *slash = strrchr(at, '/');
	int prefix = target[0] == '/' || slash == NULL ? 0 : (int)(slash - at) + 1;
	char *next;
	return asprintf(&next, "%.*s%s", prefix, at, target) < 0 ? NULL : next;
}

/**
 * Whether `at` is in a directory writable by everyone, and its owner is not you, root or the
 * directory's owner.
 */
static bool
is_planted(const char *at, const struct stat *st)
{
	struct stat around;
	char *copy = strdup(at);
	bool is_bad = copy != NULL && st->st_uid != geteuid() && st->st_uid != 0 &&
		stat(dirname(copy), &around) == 0 && (around.st_mode & S_IWOTH) != 0 &&
		st->st_uid != around.st_uid;
	free(copy);
	return is_bad;
}

/** Remove slashes at the end, because lstat() follows a link before a slash. */
static const char *
trim(char *path)
{
	for (size_t end = strlen(path); end > 1 && path[end - 1] == '/';)
		path[--end] = '\0';
	return path;
}

int
symlink_check(const char *path)
{
	char *at = strdup(path);
	int rc = at == NULL ? error_set(NB_FAIL, "%s: out of memory", path) : NB_OK;
	struct stat st;
	for (unsigned n = 0; n < LINKS_MAX && rc == NB_OK && lstat(trim(at), &st) == 0; n++) {
		if (is_planted(at, &st))
			rc = error_set(NB_FAIL,
				"%s: is another user's %s, in a directory that everybody may write; name another one",
				at,
				S_ISLNK(st.st_mode)           ? "symbolic link"
					: S_ISDIR(st.st_mode) ? "directory"
							      : "file");
		char *next = rc == NB_OK && S_ISLNK(st.st_mode) ? symlink_read(at) : NULL;
		if (next == NULL)
			break;
		free(at);
		at = next;
	}
	free(at);
	return rc;
}
