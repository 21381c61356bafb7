/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is replaced by a file of ours: only another file of ours. A script in which two options
 * were exchanged, or a path has a slash too few, then ends with a message and not with the loss
 * of what stood there.
 *
 * What we write begins in a way that no other program's file does; for text traces, bare
 * numbers and keys the file's extended attribute tells, and of keys their bytes as well
 * (keys.c). Rejected: to ask a terminal. Nobody sits before one at night.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aside.h"
#include "base/error.h"
#include "base/planted.h"
#include "base/stdout.h"
#include "workload/keys.h"

enum { BEGIN_SIZE = 4096 };

/** How files begin, each written by the one that is named. */
static const struct {
	const char *text;
	size_t size;
} beginnings[] = {
#define BEGINS(text) \
	{ \
		text, sizeof(text) - 1 \
	}
	BEGINS("\x89NBT\r\n\x1a\n"),                    /* trace_binary.c */
	BEGINS("#[Logged with mininb "),                /* report_hlog.c */
	BEGINS("# Results, by mininb."),                /* report_gnuplot.c */
	BEGINS("# Throughput of threads, by mininb."),  /* plot.c */
	BEGINS("result,title,driver,version,"),         /* report_csv.c */
	BEGINS("result,title,phase,end_s,duration_s,"), /* report_csv_files.c */
	BEGINS("result,title,group,kind,series,"),      /* the same */
	BEGINS("Action            : "),                 /* report_text.c */
};

static bool
begins_but_for_spaces(const char *begin, size_t size, const char *wanted)
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

/** {"format": "mininb-result" or "mininb-crash", with white space or without. */
static bool
is_json(const char *begin, size_t size)
{
	static const char *const wanted[] = {
		"{\"format\":\"mininb-result\"", "{\"format\":\"mininb-crash\""};
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		if (begins_but_for_spaces(begin, size, wanted[i]))
			return true;
	return false;
}

static bool
is_page(const char *begin, size_t size)
{
	static const char first[] = "<!DOCTYPE html>\n", title[] = " - mininb</title>";
	return size > sizeof(first) && memcmp(begin, first, sizeof(first) - 1) == 0 &&
		memmem(begin, size, title, sizeof(title) - 1) != NULL;
}

/** "# mininb put" above a table, of report_markdown.c; others have such titles, too. */
static bool
is_markdown(const char *begin, size_t size)
{
	static const char title[] = "# mininb", table[] = "\n\n| engine ";
	const char *line = memchr(begin, '\n', size);
	size_t left = line == NULL ? 0 : size - (size_t)(line - begin);
	return left >= sizeof(table) - 1 && memcmp(line, table, sizeof(table) - 1) == 0 &&
		(size_t)(line - begin) >= sizeof(title) - 1 &&
		memcmp(begin, title, sizeof(title) - 1) == 0;
}

/** "# TITLE: service time in microseconds", of report_hgrm.c. */
static bool
is_distribution(const char *begin, size_t size)
{
	static const char end[] = " time in microseconds";
	const char *line = memchr(begin, '\n', size);
	return size > 2 && memcmp(begin, "# ", 2) == 0 && line != NULL &&
		(size_t)(line - begin) > sizeof(end) &&
		memcmp(line - (sizeof(end) - 1), end, sizeof(end) - 1) == 0;
}

static bool
is_ours(const char *begin, size_t size)
{
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++) {
		if (size >= beginnings[i].size &&
			memcmp(begin, beginnings[i].text, beginnings[i].size) == 0)
			return true;
	}
	return is_json(begin, size) || is_page(begin, size) || is_markdown(begin, size) ||
		is_distribution(begin, size);
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
	int rc = planted_check(path);
	if (rc != NB_OK)
		return rc;
	/* what is no file at all is for the writer to refuse */
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return NB_OK;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES ? refuse(path) : error_system("%s", path);
	ssize_t size = read_begin(fd, begin);
	if (size < 0)
		rc = error_system("%s", path);
	else if (!is_ours(begin, (size_t)size) && !aside_is_signed(fd) &&
		!keys_are_made(begin, (size_t)size, (uint64_t)st.st_size, seed))
		rc = refuse(path);
	close(fd);
	return rc;
}

/** A rename must not replace it. */
static bool
is_special(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode));
}

/** The wait for someone to open the other end of a pipe would have no end at night. */
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
	struct aside aside;
	path = stdout_path(path);
	if (is_special(path)) {
		int rc = planted_check(path);
		return rc == NB_OK ? write_special(path, data, size) : rc;
	}
	int rc = aside_open(&aside, path, size);
	if (rc != NB_OK)
		return rc;
	rc = aside_write(&aside, data, size, 0);
	if (rc == NB_OK) {
		aside_sign(&aside);
		return aside_commit(&aside);
	}
	aside_abort(&aside);
	return rc;
}
