/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The address of a server. It is bound before the database is opened, so a wrong one costs
 * nothing.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"
#include "serve/server.h"

#define UNIX_MARK "unix:"

/** Split "HOST:PORT" or "[HOST]:PORT"; false: the text is neither. */
static bool
split(const char *text, char *host, size_t size, const char **port)
{
	const char *colon = strrchr(text, ':');
	if (colon == NULL || colon == text || colon[1] == '\0')
		return false;
	bool is_bracketed = text[0] == '[' && colon[-1] == ']';
	size_t length = (size_t)(colon - text) - (is_bracketed ? 2 : 0);
	if (length == 0 || length >= size || (!is_bracketed && memchr(text, ':', length)))
		return false;
	memcpy(host, text + is_bracketed, length);
	host[length] = '\0';
	*port = colon + 1;
	/* getaddrinfo() accepts larger numbers and truncates them to 16 bits */
	return strspn(*port, "0123456789") == strlen(*port) && strlen(*port) <= 5 &&
		strtoul(*port, NULL, 10) <= UINT16_MAX;
}

static int
refuse(const char *text)
{
	return error_set(NB_ERR_USAGE,
		"listen: '%s' is not an address such as 127.0.0.1:7379, [::1]:7379 or unix:PATH",
		text);
}

int
address_split(const char *text, char host[ADDRESS_HOST], const char **port)
{
	return split(text, host, ADDRESS_HOST, port) ? NB_OK : refuse(text);
}

static int
look_up(struct addrinfo **out, const char *text)
{
	char host[ADDRESS_HOST];
	const char *port;
	struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM};
	int rc = address_split(text, host, &port);
	if (rc != NB_OK)
		return rc;
	rc = getaddrinfo(host, port, &hints, out);
	return rc == 0 ? NB_OK : error_set(NB_FAIL, "listen: %s: %s", text, gai_strerror(rc));
}

static bool
is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 ==
			IN_LOOPBACKNET;
	return address->sa_family == AF_INET6 &&
		IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

int
nb_serve_is_public(const char *listen)
{
	struct addrinfo *found = NULL;
	if (strncmp(listen, UNIX_MARK, strlen(UNIX_MARK)) == 0 ||
		look_up(&found, listen) != NB_OK)
		return 0;
	int is_public = !is_loopback(found->ai_addr);
	freeaddrinfo(found);
	return is_public;
}

/** Remove a socket file on which no process listens any more. */
static void
remove_stale(const struct sockaddr_un *address)
{
	struct stat st;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool is_dead = fd >= 0 &&
		connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
		errno == ECONNREFUSED;
	if (is_dead && lstat(address->sun_path, &st) == 0 && S_ISSOCK(st.st_mode))
		unlink(address->sun_path);
	if (fd >= 0)
		close(fd);
}

static int
bind_unix(struct server *server, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (path[0] == '\0' || strlen(path) >= sizeof(address.sun_path))
		return error_set(NB_ERR_USAGE,
			"listen: the path of a Unix socket must have 1 to %zu bytes, got %zu",
			sizeof(address.sun_path) - 1, strlen(path));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	server->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (server->listener < 0)
		return error_system("listen: %s", path);
	remove_stale(&address);
	if (bind(server->listener, (struct sockaddr *)&address, sizeof(address)) != 0)
		return error_system("listen: %s", path);
	snprintf(server->unix_path, sizeof(server->unix_path), "%s", path);
	snprintf(server->address, sizeof(server->address), UNIX_MARK "%s", path);
	return NB_OK;
}

/**
 * Set server->address to the numeric form "127.0.0.1:41827", because the system may choose
 * the port.
 */
void
address_name(struct server *server, const struct sockaddr *address, socklen_t size)
{
	char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
	getnameinfo(address, size, host, sizeof(host), port, sizeof(port),
		NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(server->address, sizeof(server->address),
		address->sa_family == AF_INET6 ? "[%.100s]:%s" : "%.100s:%s", host, port);
}

static void
name_bound(struct server *server)
{
	struct sockaddr_storage bound = {.ss_family = AF_UNSPEC};
	socklen_t size = sizeof(bound);
	getsockname(server->listener, (struct sockaddr *)&bound, &size);
	address_name(server, (struct sockaddr *)&bound, size);
}

int
address_bind(struct server *server, const char *text)
{
	struct addrinfo *found = NULL;
	if (strncmp(text, UNIX_MARK, strlen(UNIX_MARK)) == 0)
		return bind_unix(server, text + strlen(UNIX_MARK));
	int rc = look_up(&found, text);
	if (rc != NB_OK)
		return rc;
	server->listener = socket(
		found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (server->listener < 0 ||
		setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &(int){1},
			sizeof(int)) != 0 ||
		bind(server->listener, found->ai_addr, found->ai_addrlen) != 0)
		rc = error_system("listen: %s", text);
	freeaddrinfo(found);
	if (rc == NB_OK)
		name_bound(server);
	return rc;
}

void
address_close(struct server *server)
{
	if (server->listener >= 0)
		close(server->listener);
	server->listener = -1;
	process_return_to_directory(); /* unix_path may be relative */
	if (server->unix_path[0] != '\0')
		unlink(server->unix_path);
}
