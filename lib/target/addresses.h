/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TARGET_ADDRESSES_H
#define TARGET_ADDRESSES_H
/** Addresses of servers: "host:port", "[v6]:port" or "unix:PATH". */
#include <stddef.h>

#include <mininb/mininb.h>

/** Most bytes of the path of a Unix socket: with its NUL it fits struct sockaddr_un. */
enum { ADDRESS_PATH_MAX = 107 };

/** A list of them. Owned, as the texts are. */
struct addresses {
	char **items;
	size_t count;
};

/**
 * Add those of a list "a,b,c" to `out`. NB_ERR_USAGE "'ADDRESS' ..." if one is no address, or is
 * there twice; then `out` has some of them.
 */
NB_MUST_CHECK int
addresses_parse(struct addresses *out, const char *list);

/** Add a copy of one that is valid. */
NB_MUST_CHECK int
addresses_add(struct addresses *out, const char *address);

NB_MUST_CHECK int
addresses_copy(struct addresses *out, const struct addresses *from);

/** What is left is empty. */
void
addresses_destroy(struct addresses *addresses);

#endif /* TARGET_ADDRESSES_H */
