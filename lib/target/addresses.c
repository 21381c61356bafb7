/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rejects addresses that no plugin could connect to, before anything is written. Host names
 * are not resolved here: the plugin connects and reports failures.
 */
#include "target/addresses.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

static int
refuse(const char *address, const char *why)
{
	return error_set(NB_ERR_USAGE, "'%.200s' %s", address, why);
}

static bool
is_port(const char *text)
{
	size_t digits = strspn(text, "0123456789");
	long port = digits >= 1 && digits <= 5 && text[digits] == '\0' ? atol(text) : 0;
	return port >= 1 && port <= 65535;
}

static bool
is_host(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && strchr("-._", text[i]) == NULL)
			return false;
	return length > 0;
}

static bool
is_v6(const char *text, size_t length)
{
	char copy[INET6_ADDRSTRLEN];
	struct in6_addr v6;
	if (length >= sizeof(copy))
		return false;
	memcpy(copy, text, length);
	copy[length] = '\0';
	return inet_pton(AF_INET6, copy, &v6) == 1;
}

static int
check(const char *address)
{
	if (address[0] == '\0')
		return error_set(NB_ERR_USAGE, "the list contains an empty address");
	if (strncmp(address, "unix:", 5) == 0) {
		size_t length = strlen(address + 5);
		if (length > ADDRESS_PATH_MAX)
			return error_set(NB_ERR_USAGE,
				"'%.200s': the path of a socket has at most %d bytes, this one has %zu",
				address, ADDRESS_PATH_MAX, length);
		return length > 0 ? NB_OK : refuse(address, "lacks the path of the socket");
	}
	const char *port = strrchr(address, ':');
	if (port == NULL || strchr(port, ']') != NULL)
		return refuse(address, "lacks its port; use host:port, [v6]:port or unix:PATH");
	size_t length = (size_t)(port - address);
	if (!is_port(port + 1))
		return refuse(address, "does not end with a port from 1 to 65535");
	if (address[0] == '[')
		return length > 2 && port[-1] == ']' && is_v6(address + 1, length - 2)
			? NB_OK
			: refuse(address, "has no IPv6 address between its brackets");
	if (memchr(address, ':', length) != NULL)
		return refuse(address, "needs brackets around the IPv6 address: [v6]:port");
	return is_host(address, length)
		? NB_OK
		: refuse(address, "has no valid host name before its port");
}

int
addresses_add(struct addresses *out, const char *address)
{
	for (size_t i = 0; i < out->count; i++)
		if (strcmp(out->items[i], address) == 0)
			return refuse(address, "is named twice");
	char *copy = strdup(address);
	char **place = copy != NULL ? array_append(&out->items, &out->count, sizeof(*place))
				    : NULL;
	if (place == NULL) {
		free(copy);
		return error_memory();
	}
	*place = copy;
	return NB_OK;
}

int
addresses_parse(struct addresses *out, const char *list)
{
	char *copy = strdup(list), *rest = copy;
	int rc = copy != NULL ? NB_OK : error_memory();
	for (char *address; rc == NB_OK && (address = strsep(&rest, ",")) != NULL;) {
		rc = check(address);
		if (rc == NB_OK)
			rc = addresses_add(out, address);
	}
	free(copy);
	return rc;
}

int
addresses_copy(struct addresses *out, const struct addresses *from)
{
	int rc = NB_OK;
	for (size_t i = 0; i < from->count && rc == NB_OK; i++)
		rc = addresses_add(out, from->items[i]);
	return rc;
}

void
addresses_destroy(struct addresses *addresses)
{
	for (size_t i = 0; i < addresses->count; i++)
		free(addresses->items[i]);
	free(addresses->items);
	*addresses = (struct addresses){0};
}
