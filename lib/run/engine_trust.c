/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plugin is code that runs with all the rights of who started the program. For root that is a
 * way to the whole machine, so root loads none that everybody could have put there: neither the
 * file nor a directory on the way to it may be open to all. In a directory like /tmp, where all
 * may add but nobody may exchange what is another's, what comes next must be root's.
 *
 * It is less than sudo asks of its plugins, which must be root's own: who builds mininb in his
 * home and measures with sudo runs a program from there anyway. Others than root are not asked,
 * since what they could lose there is theirs.
 *
 * A program that has more rights than its user (setuid, file capabilities) takes nothing from
 * its environment and no file that is named, as ld.so does it for LD_PRELOAD.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "run/engine.h"

/** Whether others could exchange what is at `path`; `holds` is of what is next on the way. */
static bool
is_open(const struct stat *st, const struct stat *holds)
{
	if ((st->st_mode & S_IWOTH) == 0)
		return false;
	bool is_sticky = S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX) != 0;
	return !is_sticky || holds == NULL ||
		(holds->st_uid != 0 && holds->st_uid != geteuid());
}

/** `path` has no link in it, and is cut short from its end. */
static int
check_way(char *path, const char *plugin)
{
	struct stat st, next;
	bool has_next = false;
	for (;;) {
		if (lstat(path, &st) != 0)
			return error_system("%s", plugin);
		if (is_open(&st, has_next ? &next : NULL))
			return error_set(NB_FAIL,
				"%s: refused: everybody may write %s, and root would run what they put there; chmod o-w it, or take it from another place",
				plugin, path);
		char *slash = strrchr(path, '/');
		if (slash == NULL || path[1] == '\0')
			return NB_OK;
		slash[slash == path ? 1 : 0] = '\0';
		next = st;
		has_next = true;
	}
}

int
engine_check_trust(const char *path)
{
	if (getauxval(AT_SECURE) != 0 &&
		strncmp(path, NB_ENGINE_DIR "/", sizeof(NB_ENGINE_DIR)) != 0)
		return error_set(NB_FAIL,
			"%s: refused: with more rights than its user has mininb loads the installed engines only",
			path);
	if (geteuid() != 0)
		return NB_OK;
	struct stat st;
	char *real = realpath(path, NULL);
	/* what is no file will not be loaded either, which is told better there */
	bool is_file = real != NULL && stat(real, &st) == 0 && S_ISREG(st.st_mode);
	int rc = is_file ? check_way(real, path) : NB_OK;
	free(real);
	return rc;
}
