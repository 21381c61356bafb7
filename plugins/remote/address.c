/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses of servers. An IPv6 address contains colons, so it needs brackets before a port.
 * More than one colon without brackets is ambiguous and rejected.
 */
#include "address.h"

#include <stdio.h>

static int
refuse(const struct nb_host *host, const char *text, const char *why)
{
	return host->fail(NB_UNSUPPORTED,
		"address '%s': %s; use host:port, [IPv6]:port or unix:PATH", text, why);
}

/** Whether `port` consists of digits and is from 1 to 65535. */
static bool
is_port(const char *port)
{
	unsigned number = 0;
	size_t length = strlen(port);
	for (size_t i = 0; i < length && i < 6; i++) {
		if (port[i] < '0' || port[i] > '9')
			return false;
		number = number * 10 + (unsigned)(port[i] - '0');
	}
	return length > 0 && length < 6 && number > 0 && number < 65536;
}

static int
parse_unix(struct address *out, const struct nb_host *host, const char *text, const char *path)
{
	size_t size = strlen(path);
	if (size == 0)
		return refuse(host, text, "the path of the socket is empty");
	if (size > ADDRESS_PATH_MAX)
		return host->fail(NB_UNSUPPORTED,
			"address '%s': the path of the socket has %zu bytes, at most %d are possible; use a shorter path",
			text, size, ADDRESS_PATH_MAX);
	out->is_unix = true;
	memcpy(out->host, path, size + 1);
	return NB_OK;
}

/** Find the host name: sets *begin and returns the end; NULL: invalid. */
static const char *
find_host(const char **begin, const char *text)
{
	*begin = text;
	if (*text == '[') {
		const char *end = strchr(text, ']');
		*begin = text + 1;
		return end != NULL && (end[1] == ':' || end[1] == '\0') ? end : NULL;
	}
	const char *colon = strchr(text, ':');
	if (colon == NULL)
		return text + strlen(text);
	return strchr(colon + 1, ':') == NULL ? colon : NULL;
}

int
address_parse(struct address *out, const struct nb_host *host, const char *text,
	const char *default_port)
{
	memset(out, 0, sizeof(*out));
	if (strncmp(text, "unix:", 5) == 0)
		return parse_unix(out, host, text, text + 5);
	const char *begin, *end = find_host(&begin, text);
	if (end == NULL)
		return refuse(host, text, "an IPv6 address needs brackets");
	if (end == begin || end - begin > ADDRESS_HOST_MAX)
		return refuse(host, text, "the host name is missing or too long");
	memcpy(out->host, begin, (size_t)(end - begin));
	end += *end == ']';
	const char *port = *end == ':' ? end + 1 : default_port;
	if (port == NULL)
		return refuse(host, text, "it has no port");
	if (!is_port(port))
		return refuse(host, text, "the port must be a number from 1 to 65535");
	memcpy(out->port, port, strlen(port) + 1);
	return NB_OK;
}
