/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FUZZ_H
#define FUZZ_H
/** What all targets need: a promise that ends the program, and files that are in memory. */
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

/** On descriptor 2, since a target may have put another stream in place of stderr. */
static inline void
require(int is_true, const char *what)
{
	if (is_true)
		return;
	dprintf(STDERR_FILENO, "not so: %s (%s)\n", what, nb_error_text());
	abort();
}

/** The bytes as a text, which ends at the first zero; to free(). */
static inline char *
text_of(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	require(text != NULL, "memory");
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/** A file in memory with these bytes; the descriptor, and in `path` a name to open it by. */
static inline int
file_of(const void *data, size_t size, char path[static FUZZ_PATH])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	require(fd >= 0, "a file in memory");
	require(size == 0 || write(fd, data, size) == (ssize_t)size, "written to it");
	snprintf(path, FUZZ_PATH, "/proc/self/fd/%d", fd);
	return fd;
}

/** A name for a file or directory of this process alone, in memory if that can be. */
static inline const char *
place_of(const char *what, char path[static FUZZ_PATH])
{
	snprintf(path, FUZZ_PATH, "%s/mininb-fuzz-%s-%ld",
		access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", what, (long)getpid());
	return path;
}

/** No other file is to be opened by what an input says: "@FILE", "histogram:FILE". */
static inline void
defuse(char *text)
{
	for (char *at = text; (at = strpbrk(at, "@h")) != NULL; at++) {
		if (*at == '@' || strncmp(at, "histogram", strlen("histogram")) == 0)
			*at = 'x';
	}
}

#endif /* FUZZ_H */
