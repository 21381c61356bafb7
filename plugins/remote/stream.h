/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REMOTE_STREAM_H
#define REMOTE_STREAM_H
/**
 * One connection to a server: a non-blocking socket with a buffer for each direction.
 *
 * Requests are encoded in place, in stream_room(), and leave with one write for all of them.
 * Replies are parsed in place, from stream_front(). A reply that was consumed may lend its
 * bytes after stream_lend(): they do not move until stream_release().
 *
 * Failures. Each message names the address. A failure ends the stream: later calls fail with
 * the same message. A stream belongs to one thread.
 */
#include "spin.h"

#include <mininb/engine.h>

#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

#define STREAM_SECOND_NS UINT64_C(1000000000)
#define STREAM_FOREVER UINT64_MAX

struct stream;

/** What replaces the socket's send(2) and recv(2). */
struct stream_io {
	/** Bytes that were taken; -1: errno, EAGAIN, or EPROTO after stream_fail(). Never wait. */
	ssize_t (*write)(struct stream *stream, const void *bytes, size_t size);
	/** Likewise; 0: the peer has closed. */
	ssize_t (*read)(struct stream *stream, void *to, size_t size);
	/** Whether read or, with unsent bytes, write would do something before the file can be read. */
	bool (*has_more)(const struct stream *stream);
	void (*close)(struct stream *stream);
};

/** Zeros are fine. */
struct stream_options {
	uint64_t connect_ns;      /* time to connect; 0: 10 seconds */
	uint64_t spin_ns;         /* read the socket without sleeping for so long, then sleep */
	bool has_adaptive_spin;   /* only while that pays: see spin.h */
	const char *default_port; /* of an address without a port; NULL: it must have one */
	/** Connects instead of a socket: see stream_fabric.h. */
	int (*connect)(struct stream *stream, const struct nb_host *host, const char *address,
		const struct stream_options *options, uint64_t timeout_ns);
	/** Called with a stream that is connected, to log in or to set its io: see tls.h. */
	int (*secure)(struct stream *stream, const struct stream_options *options,
		uint64_t timeout_ns);
	const struct tls *tls; /* what tls_secure() wants */
};

/** Bytes [begin, end) of `room`. */
struct stream_buffer {
	char *bytes;
	size_t begin, end, room;
};

struct stream {
	const struct nb_host *host;
	const char *address;        /* as the user gave it; must outlive the stream */
	int fd;                     /* can be read if something may have come */
	const struct stream_io *io; /* NULL: the socket itself */
	void *of_io;
	bool is_lent;      /* bytes before in.begin must not move */
	uint64_t spin_ns;  /* in any wait */
	struct spin spin;  /* of a stream that has_adaptive_spin */
	uint64_t sleep_ns; /* the socket's own receive time-out, as set */
	struct stream_buffer out, in;
	void *retired; /* lent buffers that were too small, one pointing to the next */
	char *failure; /* the message of a failed stream; NULL: it works */
};

/** Connect. Returns NB_OK or a failure, after which there is nothing to close. */
int
stream_open(struct stream *stream, const struct nb_host *host, const char *address,
	const struct stream_options *options);

/** A stream of a connected socket, which it then owns. `address` is for messages. */
int
stream_adopt(struct stream *stream, const struct nb_host *host, const char *address, int fd,
	const struct stream_options *options);

/** Zeros are fine. */
void
stream_close(struct stream *stream);

/** Make the stream fail: the text after "ADDRESS: ". Returns NB_FAIL. */
int
stream_fail(struct stream *stream, const char *fmt, ...) NB_PRINTF(2, 3);

/* ---- output ---- */

char *
stream_room_more(struct stream *stream, size_t size);

/** Where the next `size` bytes to send are written; NULL: out of memory, and told. */
static inline char *
stream_room(struct stream *stream, size_t size)
{
	if (__builtin_expect(stream->out.room - stream->out.end >= size, 1))
		return stream->out.bytes + stream->out.end;
	return stream_room_more(stream, size);
}

/** That many of them were written. */
static inline void
stream_wrote(struct stream *stream, size_t size)
{
	stream->out.end += size;
}

/** Bytes that wait to be sent. */
static inline size_t
stream_unsent(const struct stream *stream)
{
	return stream->out.end - stream->out.begin;
}

/** Send what the socket takes now, in one write. NB_OK or a failure. */
int
stream_push(struct stream *stream);

/* ---- input ---- */

/** The bytes that came and were not consumed: *size of them. They may be written to. */
static inline char *
stream_front(const struct stream *stream, size_t *size)
{
	*size = stream->in.end - stream->in.begin;
	return stream->in.bytes + stream->in.begin;
}

static inline void
stream_consume(struct stream *stream, size_t size)
{
	stream->in.begin += size;
}

/** What was consumed from now on stays where it is until stream_release(). */
static inline void
stream_lend(struct stream *stream)
{
	stream->is_lent = true;
}

void
stream_release_retired(struct stream *stream);

static inline void
stream_release(struct stream *stream)
{
	stream->is_lent = false;
	if (__builtin_expect(stream->retired != NULL, 0))
		stream_release_retired(stream);
}

/**
 * Read what is there, without waiting. `need`: bytes that the reply at the front has at least,
 * so that there is room for them; 0: not known. *came: bytes that were read.
 */
int
stream_pull(struct stream *stream, size_t need, size_t *came);

/**
 * The same, but wait until something came or timeout_ns is over: spin for spin_ns, then sleep.
 * While it waits it sends what is unsent.
 */
int
stream_wait(struct stream *stream, size_t need, uint64_t timeout_ns, size_t *came);

/** Wait until one of the streams can be read, or written to where it has unsent bytes. */
int
streams_wait(struct stream *const *streams, size_t count, uint64_t timeout_ns);

/** Send everything; a failure if that takes longer. What comes meanwhile is read. */
int
stream_flush(struct stream *stream, uint64_t timeout_ns);

/** Wait until at least `size` bytes are at the front; a failure if that takes longer. */
int
stream_receive(struct stream *stream, size_t size, uint64_t timeout_ns);

/**
 * For a protocol of lines: wait for a line that ends with "\r\n", or "\n". *line is lent until
 * the next call, with a NUL instead of its end.
 */
int
stream_receive_line(struct stream *stream, char **line, uint64_t timeout_ns);

/** CLOCK_MONOTONIC. */
uint64_t
stream_now_ns(void);

#endif /* REMOTE_STREAM_H */
