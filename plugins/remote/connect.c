/* SPDX-License-Identifier: BSD-2-Clause */
/* Connects a stream: to a Unix socket, or to the addresses of a host name in turn. */
#include "address.h"
#include "stream.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_NS (10 * STREAM_SECOND_NS)

/** Returns 0 or errno. */
static int
await_connection(int fd, uint64_t deadline_ns)
{
	struct pollfd writable = {.fd = fd, .events = POLLOUT};
	for (int rc = -1; rc < 0;) {
		uint64_t left_ms = stream_left_until(deadline_ns) / 1000000;
		rc = poll(&writable, 1, left_ms > 1000000 ? 1000000 : (int)left_ms);
		if (rc == 0)
			return ETIMEDOUT;
		if (rc < 0 && errno != EINTR)
			return errno;
	}
	int error = 0;
	socklen_t length = sizeof(error);
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

static int
connect_until(int fd, const struct sockaddr *to, socklen_t size, uint64_t deadline_ns)
{
	static const struct timespec while_busy = {.tv_nsec = 1000000};
	while (connect(fd, to, size) != 0 && errno != EISCONN) {
		if (errno == EINPROGRESS || errno == EINTR)
			return await_connection(fd, deadline_ns);
		/* EAGAIN: the backlog of a Unix socket is full. */
		if (errno != EAGAIN)
			return errno;
		if (stream_left_until(deadline_ns) == 0)
			return ETIMEDOUT;
		nanosleep(&while_busy, NULL);
	}
	return 0;
}

/** Returns a connected socket, or -1 with *error. */
static int
connect_to(int family, int protocol, const struct sockaddr *to, socklen_t size,
	uint64_t timeout_ns, int *error)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
	if (fd < 0) {
		*error = errno;
		return -1;
	}
	*error = connect_until(fd, to, size, stream_deadline(timeout_ns));
	if (*error == 0)
		return fd;
	close(fd);
	return -1;
}

static int
connect_unix(const struct address *address, uint64_t timeout_ns, int *error)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	memcpy(to.sun_path, address->host, strlen(address->host));
	return connect_to(
		AF_UNIX, 0, (const struct sockaddr *)&to, sizeof(to), timeout_ns, error);
}

/** Tries every address of the host name. *name_error: error of getaddrinfo(3). */
static int
connect_inet(const struct address *address, uint64_t timeout_ns, int *error, int *name_error)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;
	int fd = -1;
	*name_error = getaddrinfo(address->host, address->port, &hints, &list);
	if (*name_error != 0)
		return -1;
	for (const struct addrinfo *to = list; fd < 0 && to != NULL; to = to->ai_next)
		fd = connect_to(to->ai_family, to->ai_protocol, to->ai_addr, to->ai_addrlen,
			timeout_ns, error);
	freeaddrinfo(list);
	return fd;
}

static int
fail_connect(const struct nb_host *host, const char *address, int error, int name_error)
{
	if (name_error != 0)
		return host->fail(NB_FAIL, "%s: the host name cannot be resolved: %s", address,
			name_error == EAI_SYSTEM ? strerror(errno) : gai_strerror(name_error));
	return host->fail(NB_FAIL, "%s: cannot connect: %s%s", address, strerror(error),
		error == ECONNREFUSED || error == ENOENT ? "; is the server running?" : "");
}

int
stream_open(struct stream *stream, const struct nb_host *host, const char *address,
	const struct stream_options *options)
{
	struct address parts;
	int error = 0, name_error = 0;
	uint64_t timeout_ns = options->connect_ns != 0 ? options->connect_ns : CONNECT_NS;
	memset(stream, 0, sizeof(*stream));
	if (options->connect != NULL)
		return options->connect(stream, host, address, options, timeout_ns);
	int rc = address_parse(&parts, host, address, options->default_port);
	if (rc != NB_OK)
		return rc;
	int fd = parts.is_unix ? connect_unix(&parts, timeout_ns, &error)
			       : connect_inet(&parts, timeout_ns, &error, &name_error);
	if (fd < 0)
		return fail_connect(host, address, error, name_error);
	rc = stream_adopt(stream, host, address, fd, options);
	if (rc != NB_OK || options->secure == NULL)
		return rc;
	rc = options->secure(stream, options, timeout_ns);
	if (rc != NB_OK)
		stream_close(stream);
	return rc;
}
