/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TARGET_ADDRESSES_H
#define TARGET_ADDRESSES_H
/** Addresses of servers: "host:port", "[v6]:port" or "unix:PATH". */
#include <stddef.h>

#include <mininb/mininb.h>

/** Limit for the path of a Unix socket in bytes: with its NUL it fits struct sockaddr_un. */
enum { ADDRESS_PATH_MAX = 107 };

/** A list of addresses. The list and the texts are owned. */
struct addresses {
	char **items;
	size_t count;
};

/**
 * Add the addresses of a list "a,b,c" to `out`. NB_ERR_USAGE "'ADDRESS' ..." if one is
 * invalid or occurs twice; then `out` has those before it.
 */
NB_MUST_CHECK int
addresses_parse(struct addresses *out, const char *list);

/** Add a copy of a valid address. */
NB_MUST_CHECK int
addresses_add(struct addresses *out, const char *address);

NB_MUST_CHECK int
addresses_copy(struct addresses *out, const struct addresses *from);

/** Free the list and make it empty. */
void
addresses_destroy(struct addresses *addresses);

#endif /* TARGET_ADDRESSES_H */
