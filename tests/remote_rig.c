/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote_rig.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/rng.h"
#include "unit.h"

_Thread_local char rig_text[1024];

static int
keep_failure(int code, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(rig_text, sizeof(rig_text), fmt, args);
	va_end(args);
	return code;
}

static void
log_nothing(uint32_t level, const char *fmt, ...)
{
}

const struct nb_host rig_host = {.size = sizeof(rig_host),
	.abi = NB_ENGINE_ABI,
	.fail = keep_failure,
	.log = log_nothing};

/* ---- addresses ---- */

union any_address {
	struct sockaddr any;
	struct sockaddr_un un;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static socklen_t
make_address(enum peer_kind kind, union any_address *to)
{
	static int number; /* the scratch directory, in which the test runs */
	memset(to, 0, sizeof(*to));
	if (kind == PEER_UNIX) {
		to->un.sun_family = AF_UNIX;
		snprintf(to->un.sun_path, sizeof(to->un.sun_path), "s%d", number++);
		unlink(to->un.sun_path); /* left by another test */
		return sizeof(to->un);
	}
	if (kind == PEER_IPV4) {
		to->in.sin_family = AF_INET;
		to->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return sizeof(to->in);
	}
	to->in6.sin6_family = AF_INET6;
	to->in6.sin6_addr = in6addr_loopback;
	return sizeof(to->in6);
}

static void
name_address(struct peer *peer, enum peer_kind kind)
{
	union any_address bound;
	socklen_t size = sizeof(bound);
	ck_assert_int_eq(getsockname(peer->listener, &bound.any, &size), 0);
	if (kind == PEER_UNIX)
		snprintf(peer->address, sizeof(peer->address), "unix:%s", bound.un.sun_path);
	else if (kind == PEER_IPV4)
		snprintf(peer->address, sizeof(peer->address), "127.0.0.1:%d",
			ntohs(bound.in.sin_port));
	else
		snprintf(peer->address, sizeof(peer->address), "[::1]:%d",
			ntohs(bound.in6.sin6_port));
}

/* Serves one connection after another until peer_stop() makes accept() fail. */
static void *
serve(void *of)
{
	struct peer *peer = of;
	for (;;) {
		int fd = accept(peer->listener, NULL, NULL), on = 1;
		if (fd < 0)
			return NULL;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		peer->script(fd, peer->of);
		close(fd);
	}
}

bool
peer_start(struct peer *peer, enum peer_kind kind, peer_script script, void *of)
{
	union any_address to;
	*peer = (struct peer){.script = script, .of = of};
	socklen_t size = make_address(kind, &to);
	peer->listener = socket(to.any.sa_family, SOCK_STREAM, 0);
	if (peer->listener < 0 || bind(peer->listener, &to.any, size) != 0) {
		if (peer->listener >= 0)
			close(peer->listener);
		return false;
	}
	ck_assert_int_eq(listen(peer->listener, 64), 0);
	name_address(peer, kind);
	ck_assert_int_eq(pthread_create(&peer->thread, NULL, serve, peer), 0);
	return true;
}

void
peer_stop(struct peer *peer)
{
	shutdown(peer->listener, SHUT_RDWR); /* accept(2) then fails */
	pthread_join(peer->thread, NULL);
	close(peer->listener);
}

/* ---- bytes ---- */

bool
peer_read(int fd, void *to, size_t size)
{
	for (char *at = to; size > 0;) {
		ssize_t came = recv(fd, at, size, 0);
		if (came <= 0)
			return false;
		at += came;
		size -= (size_t)came;
	}
	return true;
}

bool
peer_write(int fd, const void *bytes, size_t size)
{
	for (const char *at = bytes; size > 0;) {
		ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);
		if (sent < 0)
			return false;
		at += sent;
		size -= (size_t)sent;
	}
	return true;
}

bool
peer_dribble(int fd, const void *bytes, size_t size, size_t piece, uint64_t *random)
{
	for (const char *at = bytes; size > 0;) {
		size_t some = 1 + splitmix64_next(random) % piece;
		some = some < size ? some : size;
		if (!peer_write(fd, at, some))
			return false;
		at += some;
		size -= some;
	}
	return true;
}
