/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REMOTE_STREAM_H
#define REMOTE_STREAM_H
/**
 * One connection to a server: a socket with a buffer for each direction.
 *
 * Callers encode requests in place, in stream_room(); one write sends them all. Callers
 * parse replies in place, from stream_front(). A consumed reply may lend its bytes after
 * stream_lend(): they do not move until stream_release().
 *
 * Failures: each message names the address. A failure ends the stream: later calls fail with
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

/** Replacement for the socket's send(2) and recv(2). */
struct stream_io {
	/**
	 * Returns the number of accepted bytes, or -1 with errno: EAGAIN, or EPROTO after
	 * stream_fail(). Never waits.
	 */
	ssize_t (*write)(struct stream *stream, const void *bytes, size_t size);
	/** Like write; 0: the peer has closed the connection. */
	ssize_t (*read)(struct stream *stream, void *to, size_t size);
	/**
	 * Whether read could make progress before `fd` is readable; or write, if bytes are unsent.
	 */
	bool (*has_more)(const struct stream *stream);
	void (*close)(struct stream *stream);
};

/** Zeros select the defaults. */
struct stream_options {
	uint64_t connect_ns;    /* connection timeout; 0: 10 seconds */
	uint64_t spin_ns;       /* poll the socket for this time before sleeping */
	bool has_adaptive_spin; /* poll only while it pays off: see spin.h */
	const char
		*default_port; /* for an address without a port; NULL: the port is mandatory */
	/** Connects instead of a socket: see stream_fabric.h. */
	int (*connect)(struct stream *stream, const struct nb_host *host, const char *address,
		const struct stream_options *options, uint64_t timeout_ns);
	/** Called after connecting, to log in or to set the stream's io: see tls.h. */
	int (*secure)(struct stream *stream, const struct stream_options *options,
		uint64_t timeout_ns);
	const struct tls *tls; /* for tls_secure() */
};

/** The valid bytes are [begin, end) of `room`. */
struct stream_buffer {
	char *bytes;
	size_t begin, end, room;
};

struct stream {
	const struct nb_host *host;
	const char *address;        /* as the user gave it; must outlive the stream */
	int fd;                     /* readable if data may have arrived */
	const struct stream_io *io; /* NULL: the socket itself */
	void *of_io;
	bool is_lent;      /* bytes before in.begin must not move */
	uint64_t spin_ns;  /* for each wait */
	struct spin spin;  /* for has_adaptive_spin */
	uint64_t sleep_ns; /* the current SO_RCVTIMEO of the socket */
	struct stream_buffer out, in;
	void *retired; /* list of lent buffers that were too small */
	char *failure; /* message of a failed stream; NULL: no failure */
};

/** Connect. Returns NB_OK or a failure; a failed stream needs no close. */
int
stream_open(struct stream *stream, const struct nb_host *host, const char *address,
	const struct stream_options *options);

/** Make a stream from a connected socket and take ownership of it. `address` is for messages. */
int
stream_adopt(struct stream *stream, const struct nb_host *host, const char *address, int fd,
	const struct stream_options *options);

/** A zeroed stream is allowed. */
void
stream_close(struct stream *stream);

/** Mark the stream as failed. The text follows "ADDRESS: ". Returns NB_FAIL. */
int
stream_fail(struct stream *stream, const char *fmt, ...) NB_PRINTF(2, 3);

/* ---- output ---- */

char *
stream_room_more(struct stream *stream, size_t size);

/**
 * Memory for the next `size` bytes to send. Returns NULL if out of memory, after reporting
 * it.
 */
static inline char *
stream_room(struct stream *stream, size_t size)
{
	if (__builtin_expect(stream->out.room - stream->out.end >= size, 1))
		return stream->out.bytes + stream->out.end;
	return stream_room_more(stream, size);
}

/** Record that `size` of these bytes were written. */
static inline void
stream_wrote(struct stream *stream, size_t size)
{
	stream->out.end += size;
}

/** Number of bytes that wait to be sent. */
static inline size_t
stream_unsent(const struct stream *stream)
{
	return stream->out.end - stream->out.begin;
}

/** Send what the socket accepts now, in one write. Returns NB_OK or a failure. */
int
stream_push(struct stream *stream);

/* ---- input ---- */

/** The *size received bytes that were not consumed. The caller may modify them. */
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

/** From now on, consumed bytes do not move until stream_release(). */
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
 * Read the available bytes without waiting. `need`: minimum size of the reply at the front,
 * to make room for it; 0: unknown. *came: number of bytes read.
 */
int
stream_pull(struct stream *stream, size_t need, size_t *came);

/**
 * Like stream_pull(), but wait for bytes until timeout_ns has passed: spin for spin_ns, then
 * sleep. Sends unsent bytes during the wait.
 */
int
stream_wait(struct stream *stream, size_t need, uint64_t timeout_ns, size_t *came);

/** Wait until a stream is readable, or writable if it has unsent bytes. */
int
streams_wait(struct stream *const *streams, size_t count, uint64_t timeout_ns);

/** Send all unsent bytes; fails after timeout_ns. Also reads incoming bytes during the wait. */
int
stream_flush(struct stream *stream, uint64_t timeout_ns);

/** Wait until at least `size` bytes are at the front; fails after timeout_ns. */
int
stream_receive(struct stream *stream, size_t size, uint64_t timeout_ns);

/**
 * For line-based protocols: wait for a line that ends with "\r\n" or "\n". *line is lent
 * until the next call; a NUL replaces the end of line.
 */
int
stream_receive_line(struct stream *stream, char **line, uint64_t timeout_ns);

/** The time of CLOCK_MONOTONIC. */
uint64_t
stream_now_ns(void);

/** The end of a timeout that begins now. */
static inline uint64_t
stream_deadline(uint64_t timeout_ns)
{
	uint64_t now = stream_now_ns();
	return timeout_ns < UINT64_MAX - now ? now + timeout_ns : UINT64_MAX;
}

static inline uint64_t
stream_left_until(uint64_t deadline_ns)
{
	uint64_t now = stream_now_ns();
	return deadline_ns > now ? deadline_ns - now : 0;
}

#endif /* REMOTE_STREAM_H */
