/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An engine or one of its libraries may print. A line of it in the middle of a result on
 * standard output would make the result unreadable. So results use their own descriptor, which
 * exec() closes, and descriptor 1 then refers to standard error.
 *
 * Rejected: to restore the descriptors while mininb itself prints, because threads of an engine
 * could print meanwhile.
 */
#include "base/stdout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "base/error.h"

static FILE *kept;
static char kept_path[32];

/** For a read-only descriptor, returns a stream whose first write fails. */
static FILE *
open_stream(int fd)
{
	FILE *file = fdopen(fd, "w");
	return file == NULL && errno == EINVAL ? fdopen(fd, "r") : file;
}

int
nb_keep_stdout(void)
{
	if (kept != NULL)
		return NB_OK;
	fflush(stdout);
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	FILE *file = fd >= 0 ? open_stream(fd) : NULL;
	if (file == NULL || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
		int rc = error_system("standard output cannot be kept from engines");
		if (file != NULL)
			fclose(file);
		else if (fd >= 0)
			close(fd);
		return rc;
	}
	setvbuf(stdout, NULL, _IOLBF, 0); /* as is usual for standard error */
	snprintf(kept_path, sizeof(kept_path), "/proc/self/fd/%d", fd);
	kept = file;
	return NB_OK;
}

FILE *
nb_stdout(void)
{
	return kept != NULL ? kept : stdout;
}

const char *
stdout_path(const char *path)
{
	static const char *const names[] = {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
	for (size_t i = 0; kept != NULL && i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(path, names[i]) == 0)
			return kept_path;
	return path;
}
