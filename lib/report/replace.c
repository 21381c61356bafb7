/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mininb replaces only files that mininb wrote. If a script exchanges two options, or
 * misses a slash in a path, it fails with a message and no file is lost.
 *
 * mininb's files begin in a way that no other program's file does. Text traces, bare
 * numbers and keys have an extended attribute instead; keys are recognised by their bytes
 * as well (keys.c). Rejected: asking on a terminal, because benchmarks run unattended.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/symlink_guard.h"
#include "base/stdout.h"
#include "workload/keys.h"

enum { BEGIN_SIZE = 4096 };

/** The beginnings of mininb's files; no other program's files begin like this. */
static const struct {
	const char *first;
	size_t size;
	const char *then; /* must follow, unless NULL */
	bool is_in_line;  /* `then` begins in the first line; else it may be anywhere */
} beginnings[] = {
#define BEGINS(text, ...) \
	{ \
		text, sizeof(text) - 1, __VA_ARGS__ \
	}
	BEGINS("\x89NBT\r\n\x1a\n", NULL, false),                    /* trace_binary.c */
	BEGINS("#[Logged with mininb ", NULL, false),                /* report_hlog.c */
	BEGINS("# Results, by mininb.", NULL, false),                /* report_gnuplot.c */
	BEGINS("# Throughput of threads, by mininb.", NULL, false),  /* plot.c */
	BEGINS("result,title,driver,version,", NULL, false),         /* report_csv.c */
	BEGINS("result,title,phase,end_s,duration_s,", NULL, false), /* report_csv_files.c */
	BEGINS("result,title,group,kind,series,", NULL, false),      /* the same */
	BEGINS("Action            : ", NULL, false),                 /* report_text.c */
	BEGINS("<!DOCTYPE html>\n", " - mininb</title>", false),     /* page.c */
	BEGINS("# mininb", "\n\n| engine ", true),                   /* report_markdown.c */
	BEGINS("# ", " time in microseconds\n", true),               /* report_hgrm.c */
#undef BEGINS
};

static bool
has_beginning(const char *begin, size_t size, size_t i)
{
	const char *then = beginnings[i].then;
	if (size < beginnings[i].size ||
		memcmp(begin, beginnings[i].first, beginnings[i].size) != 0)
		return false;
	const char *found = then != NULL ? memmem(begin, size, then, strlen(then)) : begin;
	return found != NULL &&
		(!beginnings[i].is_in_line ||
			memchr(begin, '\n', (size_t)(found - begin)) == NULL);
}

/** Whether `begin` starts with `wanted`, ignoring white space. */
static bool
begins_with(const char *begin, size_t size, const char *wanted)
{
	for (size_t i = 0; i < size && *wanted != '\0'; i++) {
		if (strchr(" \t\r\n", begin[i]) != NULL)
			continue;
		if (begin[i] != *wanted)
			return false;
		wanted++;
	}
	return *wanted == '\0';
}

static bool
is_ours(const char *begin, size_t size)
{
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
		if (has_beginning(begin, size, i))
			return true;
	return begins_with(begin, size, "{\"format\":\"mininb-result\"") ||
		begins_with(begin, size, "{\"format\":\"mininb-crash\"");
}

static ssize_t
read_begin(int fd, char *begin)
{
	ssize_t size;
	do
		size = pread(fd, begin, BEGIN_SIZE, 0);
	while (size < 0 && errno == EINTR);
	return size;
}

static int
refuse(const char *path)
{
	return error_set(NB_FAIL,
		"%s: exists and was not written by mininb; use another file, or --force to replace it",
		path);
}

int
nb_file_may_replace(const char *path, uint64_t seed)
{
	char begin[BEGIN_SIZE];
	struct stat st;
	path = stdout_path(path);
	int rc = symlink_check(path);
	if (rc != NB_OK)
		return rc;
	/* the writer rejects anything but a regular file */
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return NB_OK;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES ? refuse(path) : error_system("%s", path);
	ssize_t size = read_begin(fd, begin);
	if (size < 0)
		rc = error_system("%s", path);
	else if (!is_ours(begin, (size_t)size) && !atomic_file_is_signed(fd) &&
		!keys_are_made(begin, (size_t)size, (uint64_t)st.st_size, seed))
		rc = refuse(path);
	close(fd);
	return rc;
}

/** Open without waiting, because another process may never open the pipe. */
static int
open_special(const char *path)
{
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENXIO
			? error_set(NB_FAIL, "%s: no process reads this pipe", path)
			: error_system("%s", path);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

static int
write_special(const char *path, const char *data, size_t size)
{
	int fd = open_special(path);
	if (fd < 0)
		return fd;
	int rc = NB_OK;
	while (size > 0 && rc == NB_OK) {
		ssize_t written = write(fd, data, size);
		if (written > 0) {
			data += written;
			size -= (size_t)written;
		} else if (written == 0 || errno != EINTR) {
			rc = error_system("%s: write", path);
		}
	}
	if (close(fd) != 0 && rc == NB_OK)
		rc = error_system("%s", path);
	return rc;
}

int
nb_file_write(const char *path, const void *data, size_t size)
{
	struct atomic_file atomic;
	path = stdout_path(path);
	if (atomic_file_is_special(path)) {
		int rc = symlink_check(path);
		return rc == NB_OK ? write_special(path, data, size) : rc;
	}
	int rc = atomic_file_open(&atomic, path, size);
	if (rc != NB_OK)
		return rc;
	rc = atomic_file_write(&atomic, data, size, 0);
	if (rc == NB_OK) {
		atomic_file_sign(&atomic);
		return atomic_file_commit(&atomic);
	}
	atomic_file_abort(&atomic);
	return rc;
}
