/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the bytes of a trace.
 *
 * A regular file is mapped: no copy is needed, and a line of any length is contiguous. Its
 * pages are released during the reading, so a trace of 100 GB does not push the engine's data
 * out of memory. An input that cannot be mapped (a pipe, a terminal, a file of /proc, whose
 * size is 0) is read into a buffer, which grows to the longest line. Rejected: read() for all
 * inputs, which is as fast but needs another copy.
 *
 * A file that is truncated while it is mapped raises SIGBUS; see mapping.c.
 */
#include "workload/trace_format.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mapping.h"

enum {
	ROOM_MIN = 1 << 20,
	WAIT_MS = 200 /* maximum time before a request to stop is noticed */
};

/** The input stays a stream if the file cannot be mapped. */
static void
map_file(struct trace_input *in, size_t size, const char *path)
{
	void *data = mmap(NULL, size, PROT_READ, MAP_SHARED, in->fd, 0);
	if (data == MAP_FAILED)
		return;
	madvise(data, size, MADV_SEQUENTIAL);
	mapping_add(data, size, path);
	close(in->fd);
	in->fd = -1;
	in->data = data;
	in->size = size;
	in->is_end = true;
}

static int
open_path(struct trace_input *in, const char *path)
{
	in->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (in->fd < 0)
		return error_system("%s", path);
	in->is_own = true;
	struct stat st;
	int rc = NB_OK;
	if (fstat(in->fd, &st) != 0)
		rc = error_system("%s", path);
	else if (S_ISDIR(st.st_mode))
		rc = error_set(NB_FAIL, "%s: is a directory and no trace", path);
	else if (S_ISREG(st.st_mode) && st.st_size > 0)
		map_file(in, (size_t)st.st_size, path);
	if (rc != NB_OK)
		close(in->fd);
	return rc;
}

int
trace_input_open(struct trace_input *in, const char *path)
{
	bool is_stdin = strcmp(path, "-") == 0;
	*in = (struct trace_input){.fd = STDIN_FILENO};
	if (!is_stdin) {
		int rc = open_path(in, path);
		if (rc != NB_OK)
			return rc;
	}
	in->path = strdup(is_stdin ? "stdin" : path);
	if (in->path == NULL) {
		trace_input_close(in);
		return error_set(NB_FAIL, "%s: out of memory", path);
	}
	return NB_OK;
}

/** Remove consumed data from the buffer. If it is still full, double its size. */
static int
make_room(struct trace_input *in)
{
	size_t left = trace_input_left(in);
	if (in->pos > 0 && left > 0)
		memmove(in->data, in->data + in->pos, left);
	in->before += in->pos;
	in->pos = 0;
	in->size = left;
	if (in->size < in->room)
		return NB_OK;
	size_t room = in->room == 0 ? ROOM_MIN : in->room * 2;
	uint8_t *data = room > in->room ? realloc(in->data, room) : NULL;
	if (data == NULL)
		return error_set(NB_FAIL, "%s: out of memory for a line of more than %zu bytes",
			in->path, left);
	in->data = data;
	in->room = room;
	return NB_OK;
}

/** A signal does not end a waiting read(), which is restarted; it does end poll(). */
static int
wait_for_input(const struct trace_input *in)
{
	struct pollfd polled = {.fd = in->fd, .events = POLLIN};
	int ready;
	do {
		if (stop_requested())
			return error_interrupted();
		ready = poll(&polled, 1, WAIT_MS);
	} while (ready == 0 || (ready < 0 && errno == EINTR));
	return ready > 0 ? NB_OK : error_system("%s: poll", in->path);
}

int
trace_input_more(struct trace_input *in)
{
	if (in->is_end)
		return NB_OK;
	int rc = make_room(in);
	for (;;) {
		if (rc == NB_OK)
			rc = wait_for_input(in);
		if (rc != NB_OK)
			return rc;
		ssize_t got = read(in->fd, in->data + in->size, in->room - in->size);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got < 0)
			return error_system("%s: read", in->path);
		in->size += (size_t)got;
		in->is_end = got == 0;
		return NB_OK;
	}
}

int
trace_input_want(struct trace_input *in, size_t size)
{
	int rc = NB_OK;
	while (rc == NB_OK && !in->is_end && trace_input_left(in) < size)
		rc = trace_input_more(in);
	return rc;
}

void
trace_input_forget(struct trace_input *in)
{
	/* both ends are page-aligned: forgotten is a multiple of TRACE_INPUT_FORGET */
	size_t end = in->pos / TRACE_INPUT_FORGET * TRACE_INPUT_FORGET;
	madvise(in->data + in->forgotten, end - in->forgotten, MADV_DONTNEED);
	in->forgotten = end;
}

void
trace_input_close(struct trace_input *in)
{
	if (in->fd < 0) {
		mapping_remove(in->data);
		munmap(in->data, in->size);
	} else {
		free(in->data);
	}
	if (in->fd >= 0 && in->is_own)
		close(in->fd);
	free(in->path);
	*in = (struct trace_input){.fd = -1};
}
