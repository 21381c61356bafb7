/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections by TCP and Unix sockets: one epoll for each thread, level-triggered. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "serve/server.h"

enum {
	BACKLOG = 1024,
	ACCEPTS = 64 /* limit for one call */
};

static int
socket_listen(struct server *server)
{
	return listen(server->listener, BACKLOG) == 0
		? NB_OK
		: error_system("listen: %s", server->address);
}

static void
take_connection(struct server *server, int fd)
{
	static const char refusal[] = "-ERR max number of clients reached\r\n";
	struct thread *thread = server_choose_thread(server);
	if (thread == NULL)
		(void)!send(fd, refusal, sizeof(refusal) - 1, MSG_NOSIGNAL);
	/* both calls fail for a Unix socket, which does not need them */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
	if (thread == NULL || !server_hand_over(thread, fd, NULL))
		close(fd);
}

static bool
socket_accept(struct server *server)
{
	for (int i = 0; i < ACCEPTS; i++) {
		int fd = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0)
			return errno != EMFILE && errno != ENFILE && errno != ENOMEM;
		take_connection(server, fd);
	}
	return true;
}

static bool
watch(struct conn *conn, bool is_throttled, int how)
{
	struct epoll_event event = {
		.events = is_throttled ? EPOLLOUT : EPOLLIN, .data = {.ptr = conn}};
	return epoll_ctl(conn->thread->epoll, how, conn->fd, &event) == 0;
}

static bool
socket_begin(struct conn *conn)
{
	return watch(conn, false, EPOLL_CTL_ADD);
}

static bool
socket_watch(struct conn *conn, bool is_throttled)
{
	return watch(conn, is_throttled, EPOLL_CTL_MOD);
}

static ssize_t
socket_receive(struct conn *conn, void *to, size_t size)
{
	return recv(conn->fd, to, size, 0);
}

static ssize_t
socket_send(struct conn *conn, const void *bytes, size_t size)
{
	return send(conn->fd, bytes, size, MSG_NOSIGNAL);
}

static void
socket_end(struct conn *conn)
{
	close(conn->fd);
}

const struct transport transport_socket = {
	.bind = address_bind,
	.listen = socket_listen,
	.accept = socket_accept,
	.close = address_close,
	.begin = socket_begin,
	.receive = socket_receive,
	.send = socket_send,
	.watch = socket_watch,
	.end = socket_end,
};
