/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FUZZ_H
#define FUZZ_H
/** Functions that all fuzz targets share: an assertion that aborts, and files in memory. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mininb/mininb.h>

enum { FUZZ_PATH = 64 };

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/**
 * Abort with a message unless is_true. Writes to descriptor 2, because a target may replace the
 * stream stderr.
 */
static inline void
require(int is_true, const char *what)
{
	if (is_true)
		return;
	dprintf(STDERR_FILENO, "violated: %s (%s)\n", what, nb_error_text());
	abort();
}

/** A copy of the bytes as a string, which ends at the first zero byte. Free it. */
static inline char *
text_of(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	require(text != NULL, "memory is available");
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/**
 * Create a file in memory with these bytes. Returns its descriptor; `path` receives a name to
 * open it by.
 */
static inline int
file_of(const void *data, size_t size, char path[static FUZZ_PATH])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	require(fd >= 0, "a memory file can be created");
	require(size == 0 || write(fd, data, size) == (ssize_t)size, "the file can be written");
	snprintf(path, FUZZ_PATH, "/proc/self/fd/%d", fd);
	return fd;
}

/** Create or overwrite the file with these bytes. */
static inline void
put_file(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	require(fd >= 0 && (size == 0 || write(fd, data, size) == (ssize_t)size),
		"the file can be written");
	close(fd);
}

/** A name for a file or directory of this process, in memory if possible. */
static inline const char *
place_of(const char *what, char path[static FUZZ_PATH])
{
	snprintf(path, FUZZ_PATH, "%s/mininb-fuzz-%s-%ld",
		access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", what, (long)getpid());
	return path;
}

/** Disable "@FILE" and "histogram:FILE" in an input, so that it cannot open other files. */
static inline void
defuse(char *text)
{
	for (char *at = text; (at = strpbrk(at, "@h")) != NULL; at++) {
		if (*at == '@' || strncmp(at, "histogram", strlen("histogram")) == 0)
			*at = 'x';
	}
}

#endif /* FUZZ_H */
