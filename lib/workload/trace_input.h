/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_TRACE_INPUT_H
#define WORKLOAD_TRACE_INPUT_H
/** The bytes of a trace: a file that is mapped, or a stream with a window on it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mininb/mininb.h>

/** data[pos..size) is there and not yet taken. It may move with each call but _take. */
struct trace_input {
	char *path;  /* for messages */
	int fd;      /* -1: the file is mapped */
	bool is_own; /* the descriptor is to be closed */
	bool is_end; /* nothing follows data[size] */
	uint8_t *data;
	size_t pos, size, room;
	size_t forgotten; /* mapped: bytes whose pages were given back */
	uint64_t before;  /* stream: bytes that were taken and are gone from `data` */
};

/** Map it if it is a regular file that can be; else open it; "-" is stdin. */
NB_MUST_CHECK int
trace_input_open(struct trace_input *in, const char *path);

/** Read on, at least a byte unless that was the end. NB_ERR_INTERRUPTED while it waits. */
NB_MUST_CHECK int
trace_input_more(struct trace_input *in);

/** See that `size` bytes are there from pos on, or all there are. */
NB_MUST_CHECK int
trace_input_want(struct trace_input *in, size_t size);

/** Give back the pages of what was taken from a mapped file. */
void
trace_input_forget(struct trace_input *in);

enum { TRACE_INPUT_FORGET = 16 << 20 };

static inline size_t
trace_input_left(const struct trace_input *in)
{
	return in->size - in->pos;
}

static inline void
trace_input_take(struct trace_input *in, size_t size)
{
	in->pos += size;
	if (in->fd < 0 && in->pos - in->forgotten >= TRACE_INPUT_FORGET)
		trace_input_forget(in);
}

/** NB_ERR_USAGE of a stream. */
NB_MUST_CHECK int
trace_input_rewind(struct trace_input *in);

void
trace_input_close(struct trace_input *in);

#endif /* WORKLOAD_TRACE_INPUT_H */
