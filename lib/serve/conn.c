/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A connection: the thread that owns it reads, executes and answers its requests.
 *
 * Memory. The thread has one buffer for reading and one for answers. A connection stores
 * only the beginning of an incomplete request, and answers that the socket did not accept.
 * So an idle connection has no buffers.
 *
 * A client that does not read its answers. While answers wait, nothing is read from the
 * connection and none of its requests is executed. The thread's other connections continue.
 *
 * The buffers of a thread's connections have a common limit; a connection that would exceed
 * it is closed.
 */
#include <errno.h>

#include "base/error.h"
#include "serve/server.h"

/** The bytes of a connection's buffers that count for the limit. */
static uint64_t
buffered(const struct conn *conn)
{
	uint64_t room = conn->in.room + conn->out.room;
	return room > BUFFER_FREE ? room - BUFFER_FREE : 0;
}

/**
 * Store bytes; false: the limit or the memory is exceeded, and the connection must be
 * closed.
 */
static bool
keep(struct conn *conn, struct bytes *to, const char *bytes, size_t size)
{
	struct thread *thread = conn->thread;
	const struct server *server = thread->server;
	uint64_t before = buffered(conn);
	if (thread->buffered + size > server->options.buffer_max / server->options.threads)
		return false;
	bytes_add(to, bytes, size);
	thread->buffered += buffered(conn) - before;
	return !to->is_failed;
}

static void
forget(struct conn *conn, struct bytes *of)
{
	uint64_t before = buffered(conn);
	bytes_free(of);
	conn->thread->buffered -= before - buffered(conn);
}

void
conn_close(struct conn *conn)
{
	struct thread *thread = conn->thread;
	*(conn->previous != NULL ? &conn->previous->next : &thread->conns) = conn->next;
	if (conn->next != NULL)
		conn->next->previous = conn->previous;
	if (thread->errand_of == conn)
		thread->errand_of = NULL; /* the errand is executed, but not answered */
	if (thread->window.async != NULL)
		async_forget(thread->window.async, conn);
	forget(conn, &conn->in);
	forget(conn, &conn->out);
	bytes_free(&conn->scan_key);
	thread->server->transport->end(conn);
	__atomic_fetch_sub(&thread->load, 1, __ATOMIC_RELAXED);
	free(conn);
}

static void
watch(struct conn *conn, bool is_throttled)
{
	const struct transport *transport = conn->thread->server->transport;
	conn->is_throttled = is_throttled;
	if (transport->watch != NULL && !transport->watch(conn, is_throttled))
		conn->is_broken = true;
}

void
conn_begin(struct thread *thread, struct conn *conn)
{
	conn->thread = thread;
	conn->previous = NULL;
	conn->next = thread->conns;
	if (conn->next != NULL)
		conn->next->previous = conn;
	thread->conns = conn;
	if (!thread->server->transport->begin(conn))
		conn_close(conn);
}

/* ---- output ---- */

/** Returns the number of bytes that the socket accepted. */
static size_t
send_some(struct conn *conn, const char *bytes, size_t size)
{
	const struct transport *transport = conn->thread->server->transport;
	size_t sent = 0;
	while (sent < size) {
		ssize_t some = transport->send(conn, bytes + sent, size - sent);
		if (some < 0 && errno == EINTR)
			continue;
		if (some < 0)
			conn->is_broken |= errno != EAGAIN && errno != EWOULDBLOCK;
		if (some <= 0)
			break;
		sent += (size_t)some;
	}
	conn->thread->bytes_out += sent;
	return sent;
}

/** Send the answers in the thread's buffer; store those that the socket does not accept. */
static void
send_answers(struct conn *conn)
{
	struct thread *thread = conn->thread;
	struct bytes *out = &thread->out;
	if (out->is_failed) {
		conn->is_broken = true; /* because answers are missing */
		thread->dropped++;
	}
	if (out->size > 0 && !conn->is_broken) {
		size_t sent = conn->out.size > 0 ? 0 : send_some(conn, out->data, out->size);
		if (sent < out->size && !conn->is_broken &&
			!keep(conn, &conn->out, out->data + sent, out->size - sent)) {
			conn->is_broken = true;
			thread->dropped++;
		}
	}
	out->size = 0;
	if (out->room > 4 * OUTPUT_PAUSE || out->is_failed)
		bytes_free(out);
}

/** Send stored answers; true: none is left. */
static bool
send_waiting(struct conn *conn)
{
	struct bytes *out = &conn->out;
	if (out->size == 0)
		return true;
	conn->sent += send_some(conn, out->data + conn->sent, out->size - conn->sent);
	if (conn->sent < out->size)
		return false;
	conn->sent = 0;
	forget(conn, out);
	return true;
}

/* ---- input ---- */

static size_t
serve_bytes(struct conn *conn, const char *bytes, size_t size)
{
	if (conn->protocol == PROTOCOL_UNKNOWN && size > 0)
		conn->protocol = (uint8_t)bytes[0] == NB_WIRE_MAGIC ? PROTOCOL_WIRE
								    : PROTOCOL_RESP;
	struct async *async = conn->thread->window.async;
	if (async != NULL)
		async->conn = conn;
	size_t used = conn->protocol == PROTOCOL_WIRE ? wire_serve(conn, bytes, size)
						      : resp_serve(conn, bytes, size);
	if (async != NULL)
		async->conn = NULL;
	conn->is_behind = conn->async.first != NULL;
	send_answers(conn);
	return used;
}

/** Whether requests may be executed now. */
static bool
may_go_on(const struct conn *conn)
{
	return !conn->is_broken && !conn->is_ending && !conn->is_waiting && !conn->is_behind &&
		conn->out.size == 0;
}

/** Execute the requests in [bytes, +size). Returns the number of bytes used. */
static size_t
serve_all(struct conn *conn, const char *bytes, size_t size)
{
	size_t used = 0, some;
	do {
		some = serve_bytes(conn, bytes + used, size - used);
		used += some;
	} while (some > 0 && used < size && may_go_on(conn));
	return used;
}

static void
drop_front(struct bytes *bytes, size_t size)
{
	bytes->size -= size;
	memmove(bytes->data, bytes->data + size, bytes->size);
}

/** Execute the stored requests. */
static void
serve_kept(struct conn *conn)
{
	size_t used = serve_all(conn, conn->in.data, conn->in.size);
	if (used == conn->in.size)
		forget(conn, &conn->in);
	else
		drop_front(&conn->in, used);
}

static void
drop(struct conn *conn)
{
	conn->is_broken = true;
	conn->thread->dropped++;
}

/** Process bytes just read: append them to stored ones, or execute them directly. */
static void
take(struct conn *conn, char *bytes, size_t size)
{
	const struct server *server = conn->thread->server;
	conn->thread->bytes_in += size;
	if (conn->in.size == 0) {
		size_t used = serve_all(conn, bytes, size);
		if (used < size && !conn->is_broken && !conn->is_ending &&
			!keep(conn, &conn->in, bytes + used, size - used))
			drop(conn);
		return;
	}
	if (conn->in.size + size > server_frame_max(server) + READ_SIZE ||
		!keep(conn, &conn->in, bytes, size))
		drop(conn);
	else if (conn->in.size >= conn->need)
		serve_kept(conn);
}

static void
read_some(struct conn *conn)
{
	struct thread *thread = conn->thread;
	ssize_t size = thread->server->transport->receive(conn, thread->read, READ_SIZE);
	if (size > 0)
		take(conn, thread->read, (size_t)size);
	else if (size == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
		conn->is_broken = true;
}

/* ---- both ---- */

/** Close the connection, or wait for the right event. */
static void
settle(struct conn *conn)
{
	const struct transport *transport = conn->thread->server->transport;
	bool is_sending = conn->out.size > 0 ||
		(transport->is_sending != NULL && transport->is_sending(conn));
	if (conn->is_broken || (conn->is_ending && !is_sending)) {
		conn_close(conn);
		return;
	}
	bool is_throttled = conn->out.size > 0;
	if (is_throttled != conn->is_throttled)
		watch(conn, is_throttled);
	if (conn->is_broken)
		conn_close(conn);
}

void
conn_wake(struct conn *conn)
{
	if (conn->is_waiting)
		return;
	if (!send_waiting(conn)) {
		settle(conn);
		return;
	}
	if (conn->is_throttled && may_go_on(conn) && conn->in.size > 0)
		serve_kept(conn);
	else if (may_go_on(conn))
		read_some(conn);
	settle(conn);
}

static void
send_flown(struct conn *conn)
{
	async_flush(conn);
	send_answers(conn);
	conn->is_behind = conn->async.first != NULL;
}

void
conn_answer(struct conn *conn)
{
	send_flown(conn);
	if (may_go_on(conn) && conn->in.size > 0)
		serve_kept(conn);
	settle(conn);
}

void
conn_resume(struct conn *conn)
{
	conn->is_waiting = false;
	conn_answer(conn); /* late answers precede the answer to a rejected view */
}

void
conn_finish(struct conn *conn)
{
	do {
		async_drain(conn->thread->window.async);
		send_flown(conn);
		if (send_waiting(conn) && conn->in.size > 0 && may_go_on(conn))
			serve_kept(conn);
	} while (conn->async.flying > 0);
	conn->is_ending = true;
	settle(conn);
}
