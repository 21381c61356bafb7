/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stream over TCP or a Unix socket.
 *
 * - One write sends a whole batch from one buffer: copying 64 small requests into it costs
 *   less than writev(2) of their parts.
 * - TCP_NODELAY is set because a request that is split over two writes would otherwise wait
 *   40 ms for the peer's delayed acknowledgement.
 * - Sleeping in poll(2) and then reading costs two system calls. So recv(2) itself sleeps,
 *   limited by SO_RCVTIMEO, if the stream is the only one, has nothing to send and may sleep
 *   for long. Therefore the socket is in blocking mode, and all other calls use
 *   MSG_DONTWAIT.
 * - No call waits only for writability: a peer that sends answers into a full buffer accepts
 *   no more requests until the answers are read.
 * - A lent buffer never moves. If it becomes too small, the unconsumed bytes are copied to a
 *   larger one, and the old one is kept until the release.
 */
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	OUT_ROOM = 64 << 10,
	IN_ROOM = 128 << 10,
	FAILURE_MAX = 400,
	POLL_MAX = 64 /* streams that one poll(2) waits for without an allocation */
};

/*
 * SO_RCVTIMEO may expire late by a tick of the kernel's timer, 1 to 10 ms. So recv(2) sleeps
 * for half of a long timeout, and poll(2) for the rest.
 */
#define LONG_SLEEP_NS UINT64_C(10000000)

uint64_t
stream_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * STREAM_SECOND_NS + (uint64_t)now.tv_nsec;
}

/* ---- failures ---- */

/* Keeps the text of the first failure: later calls fail with it. */
int
stream_fail(struct stream *stream, const char *fmt, ...)
{
	char text[FAILURE_MAX];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (stream->failure == NULL)
		stream->failure = strdup(text);
	return stream->host->fail(NB_FAIL, "%s: %s", stream->address,
		stream->failure != NULL ? stream->failure : text);
}

static int
fail_call(struct stream *stream, const char *call, int error)
{
	if (error == ECONNRESET || error == EPIPE)
		return stream_fail(stream, "the server closed the connection (%s: %s)", call,
			strerror(error));
	return stream_fail(stream, "%s: %s", call, strerror(error));
}

static int
fail_memory(struct stream *stream, size_t size)
{
	return stream_fail(stream, "out of memory for a buffer of %zu bytes", size);
}

#define IF_FAILED(stream) \
	if (__builtin_expect((stream)->failure != NULL, 0)) \
	return stream_fail(stream, "failed")

/* ---- open and close ---- */

/* For TCP only: a Unix socket rejects these options and does not need them. */
static void
set_tcp_options(int fd)
{
	static const int on = 1, idle_s = 30, interval_s = 10, count = 3;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	/* Detect a vanished machine after a minute. */
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

int
stream_adopt(struct stream *stream, const struct nb_host *host, const char *address, int fd,
	const struct stream_options *options)
{
	*stream = (struct stream){.host = host,
		.address = address,
		.fd = fd,
		.spin_ns = options->has_adaptive_spin ? 0 : options->spin_ns,
		.out = {.room = OUT_ROOM},
		.in = {.room = IN_ROOM}};
	spin_create(&stream->spin, options->has_adaptive_spin ? options->spin_ns : 0);
	set_tcp_options(fd);
	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	stream->out.bytes = malloc(OUT_ROOM);
	stream->in.bytes = malloc(IN_ROOM);
	if (stream->out.bytes != NULL && stream->in.bytes != NULL)
		return NB_OK;
	stream_close(stream);
	return host->fail(NB_FAIL, "%s: out of memory", address);
}

void
stream_close(struct stream *stream)
{
	if (stream->host == NULL)
		return;
	if (stream->io != NULL)
		stream->io->close(stream);
	close(stream->fd);
	stream_release(stream);
	free(stream->out.bytes);
	free(stream->in.bytes);
	free(stream->failure);
	memset(stream, 0, sizeof(*stream));
}

/* ---- buffers ---- */

/** Move the valid bytes to the beginning of the buffer. */
static void
compact(struct stream_buffer *buffer)
{
	if (buffer->begin == 0)
		return;
	buffer->end -= buffer->begin;
	memmove(buffer->bytes, buffer->bytes + buffer->begin, buffer->end);
	buffer->begin = 0;
}

/** Size of a larger buffer that holds `size` more bytes. */
static size_t
grown(const struct stream_buffer *buffer, size_t size)
{
	size_t room = 2 * buffer->room, least = buffer->end - buffer->begin + size;
	return room > least ? room : least;
}

char *
stream_room_more(struct stream *stream, size_t size)
{
	struct stream_buffer *out = &stream->out;
	compact(out);
	if (out->room - out->end < size) {
		size_t room = grown(out, size);
		char *bytes = realloc(out->bytes, room);
		if (bytes == NULL) {
			fail_memory(stream, room);
			return NULL;
		}
		out->bytes = bytes;
		out->room = room;
	}
	return out->bytes + out->end;
}

/* A list node is separate from its buffer, because the buffer's first bytes are lent. */
struct retired {
	struct retired *next;
	char *bytes;
};

void
stream_release_retired(struct stream *stream)
{
	for (struct retired *buffer = stream->retired; buffer != NULL;) {
		struct retired *next = buffer->next;
		free(buffer->bytes);
		free(buffer);
		buffer = next;
	}
	stream->retired = NULL;
}

/** Allocate a larger input buffer for `size` more bytes. Free the old one, or keep it if lent. */
static int
replace_input(struct stream *stream, size_t size)
{
	struct stream_buffer *in = &stream->in;
	size_t room = grown(in, size), left = in->end - in->begin;
	struct retired *retired = malloc(sizeof(*retired));
	char *bytes = malloc(room);
	if (bytes == NULL || retired == NULL) {
		free(bytes);
		free(retired);
		return fail_memory(stream, room);
	}
	memcpy(bytes, in->bytes + in->begin, left);
	*retired = (struct retired){stream->retired, in->bytes};
	stream->retired = retired;
	if (!stream->is_lent)
		stream_release_retired(stream);
	*in = (struct stream_buffer){.bytes = bytes, .end = left, .room = room};
	return NB_OK;
}

/**
 * Make room in the input buffer for a reply of `need` bytes, and at least for IN_ROOM / 4
 * bytes.
 */
static int
make_input_room(struct stream *stream, size_t need)
{
	struct stream_buffer *in = &stream->in;
	size_t have = in->end - in->begin;
	size_t more = need > have ? need - have : 0;
	if (have == 0 && !stream->is_lent)
		in->begin = in->end = 0;
	size_t piece = more > IN_ROOM / 4 ? more : IN_ROOM / 4;
	if (in->room - in->end >= piece)
		return NB_OK;
	if (!stream->is_lent) {
		compact(in);
		if (in->room - in->end >= piece)
			return NB_OK;
	}
	return replace_input(stream, piece);
}

/* ---- the socket ---- */

static inline ssize_t
write_some(struct stream *stream, const void *bytes, size_t size)
{
	if (stream->io != NULL)
		return stream->io->write(stream, bytes, size);
	return send(stream->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static inline ssize_t
read_some(struct stream *stream, void *to, size_t size, int flags)
{
	if (stream->io != NULL)
		return stream->io->read(stream, to, size);
	return recv(stream->fd, to, size, flags);
}

int
stream_push(struct stream *stream)
{
	struct stream_buffer *out = &stream->out;
	IF_FAILED(stream);
	while (out->begin < out->end) {
		ssize_t sent = write_some(
			stream, out->bytes + out->begin, out->end - out->begin);
		if (sent >= 0) {
			out->begin += (size_t)sent;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno == EAGAIN)
			return NB_OK;
		if (errno != EPIPE && errno != ECONNRESET)
			return fail_call(stream, "send", errno);
		break; /* do not fail yet: read the peer's last bytes, which may contain the reason */
	}
	out->begin = out->end = 0;
	return NB_OK;
}

/** Read once. `flags` are those of recv(2). */
static int
read_once(struct stream *stream, size_t need, int flags, size_t *came)
{
	struct stream_buffer *in = &stream->in;
	*came = 0;
	IF_FAILED(stream);
	int rc = make_input_room(stream, need);
	if (rc != NB_OK)
		return rc;
	ssize_t size = read_some(stream, in->bytes + in->end, in->room - in->end, flags);
	if (size > 0) {
		in->end += (size_t)size;
		*came = (size_t)size;
		return NB_OK;
	}
	if (size == 0)
		return stream_fail(stream, "the server closed the connection");
	if (errno == EAGAIN || errno == EINTR)
		return NB_OK;
	return fail_call(stream, "recv", errno);
}

int
stream_pull(struct stream *stream, size_t need, size_t *came)
{
	return read_once(stream, need, MSG_DONTWAIT, came);
}

/* ---- waiting ---- */

static struct timespec
timespec_of(uint64_t ns)
{
	uint64_t most = 1000 * STREAM_SECOND_NS;
	if (ns > most)
		ns = most;
	return (struct timespec){.tv_sec = (time_t)(ns / STREAM_SECOND_NS),
		.tv_nsec = (long)(ns % STREAM_SECOND_NS)};
}

static int
fail_wait(struct stream *stream)
{
	return errno == EINTR ? NB_OK : stream_fail(stream, "poll: %s", strerror(errno));
}

int
streams_wait(struct stream *const *streams, size_t count, uint64_t timeout_ns)
{
	struct pollfd few[POLL_MAX], *fds = few;
	struct timespec timeout = timespec_of(timeout_ns);
	for (size_t i = 0; i < count; i++)
		if (streams[i]->io != NULL && streams[i]->io->has_more(streams[i]))
			return NB_OK;
	if (count > POLL_MAX && (fds = malloc(count * sizeof(*fds))) == NULL)
		return fail_memory(streams[0], count * sizeof(*fds));
	for (size_t i = 0; i < count; i++) {
		bool is_sending = stream_unsent(streams[i]) > 0;
		fds[i] = (struct pollfd){.fd = streams[i]->fd,
			.events = (short)(POLLIN | (is_sending ? POLLOUT : 0))};
	}
	int rc = ppoll(fds, count, &timeout, NULL);
	if (fds != few)
		free(fds);
	return rc >= 0 ? NB_OK : fail_wait(streams[0]);
}

/** Sleep in recv(2) for at most sleep_ns and at most one second. */
static int
sleep_in_read(struct stream *stream, size_t need, uint64_t sleep_ns, size_t *came)
{
	if (sleep_ns > STREAM_SECOND_NS)
		sleep_ns = STREAM_SECOND_NS;
	if (stream->sleep_ns != sleep_ns) {
		struct timeval limit = {.tv_sec = (time_t)(sleep_ns / STREAM_SECOND_NS),
			.tv_usec = (suseconds_t)(sleep_ns % STREAM_SECOND_NS / 1000)};
		stream->sleep_ns = sleep_ns;
		setsockopt(stream->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	}
	return read_once(stream, need, 0, came);
}

static int
push_and_pull(struct stream *stream, size_t need, size_t *came)
{
	int rc = stream_unsent(stream) > 0 ? stream_push(stream) : NB_OK;
	return rc == NB_OK ? stream_pull(stream, need, came) : rc;
}

/** Read without sleeping, for spin_ns or until the deadline. */
static int
spin(struct stream *stream, size_t need, uint64_t deadline_ns, size_t *came)
{
	uint64_t now = stream_now_ns(), end = now + stream->spin_ns;
	int rc = NB_OK;
	if (end > deadline_ns)
		end = deadline_ns;
	for (*came = 0; rc == NB_OK && *came == 0 && now < end; now = stream_now_ns())
		rc = push_and_pull(stream, need, came);
	return rc;
}

/**
 * Adaptive spinning. Requires that spin_begin() allows it and that the timeout exceeds its
 * limit.
 */
static int
spin_while_useful(struct stream *stream, size_t need, size_t *came)
{
	int rc = NB_OK;
	do {
		rc = push_and_pull(stream, need, came);
	} while (rc == NB_OK && *came == 0 && spin_goes_on(&stream->spin, stream_now_ns()));
	if (*came > 0)
		spin_end(&stream->spin);
	return rc;
}

static int
sleep_once(struct stream *stream, size_t need, uint64_t left_ns, size_t *came)
{
	if (left_ns >= LONG_SLEEP_NS && stream_unsent(stream) == 0 && stream->io == NULL)
		return sleep_in_read(stream, need, left_ns / 2, came);
	int rc = streams_wait(&stream, 1, left_ns);
	return rc == NB_OK ? push_and_pull(stream, need, came) : rc;
}

int
stream_wait(struct stream *stream, size_t need, uint64_t timeout_ns, size_t *came)
{
	int rc = NB_OK;
	*came = 0;
	if (timeout_ns > stream->spin.limit_ns && spin_begin(&stream->spin, stream_now_ns()))
		rc = spin_while_useful(stream, need, came);
	else if (timeout_ns < LONG_SLEEP_NS || stream->spin_ns > 0 ||
		stream_unsent(stream) > 0 || stream->io != NULL)
		rc = push_and_pull(stream, need, came);
	if (rc != NB_OK || *came > 0 || timeout_ns == 0)
		return rc;
	uint64_t deadline_ns = stream_deadline(timeout_ns), left_ns = timeout_ns;
	if (stream->spin_ns > 0)
		rc = spin(stream, need, deadline_ns, came);
	while (rc == NB_OK && *came == 0 && left_ns > 0) {
		rc = sleep_once(stream, need, left_ns, came);
		left_ns = stream_left_until(deadline_ns);
	}
	return rc;
}

static int
fail_time(struct stream *stream, uint64_t timeout_ns)
{
	return stream_fail(stream, "the server has not answered within %llu ms",
		(unsigned long long)(timeout_ns / 1000000));
}

int
stream_flush(struct stream *stream, uint64_t timeout_ns)
{
	uint64_t deadline_ns = stream_deadline(timeout_ns), left_ns = 1;
	size_t came;
	int rc = stream_push(stream);
	for (; rc == NB_OK && stream_unsent(stream) > 0 && left_ns > 0;
		left_ns = stream_left_until(deadline_ns)) {
		rc = streams_wait(&stream, 1, left_ns);
		if (rc == NB_OK)
			rc = push_and_pull(stream, 0, &came);
	}
	return rc == NB_OK && stream_unsent(stream) > 0 ? fail_time(stream, timeout_ns) : rc;
}

int
stream_receive(struct stream *stream, size_t size, uint64_t timeout_ns)
{
	uint64_t deadline_ns = stream_deadline(timeout_ns);
	size_t came, have;
	stream_front(stream, &have);
	while (have < size) {
		uint64_t left_ns = stream_left_until(deadline_ns);
		int rc = stream_wait(stream, size, left_ns, &came);
		if (rc != NB_OK)
			return rc;
		stream_front(stream, &have);
		if (have < size && left_ns == 0)
			return fail_time(stream, timeout_ns);
	}
	return NB_OK;
}

int
stream_receive_line(struct stream *stream, char **line, uint64_t timeout_ns)
{
	for (size_t size = 0;;) {
		char *front = stream_front(stream, &size);
		char *end = size > 0 ? memchr(front, '\n', size) : NULL;
		if (end != NULL) {
			stream_consume(stream, (size_t)(end - front) + 1);
			end -= end > front && end[-1] == '\r';
			*end = '\0';
			*line = front;
			return NB_OK;
		}
		int rc = stream_receive(stream, size + 1, timeout_ns);
		if (rc != NB_OK)
			return rc;
	}
}
