/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REMOTE_ADDRESS_H
#define REMOTE_ADDRESS_H
/** Addresses of servers, and the mapping of keys to servers. */
#include <mininb/engine.h>

#include <stdbool.h>
#include <string.h>

enum {
	ADDRESS_HOST_MAX = 255,
	ADDRESS_PATH_MAX = 107 /* path of a Unix socket: sockaddr_un has 108 bytes */
};

/** The parts of an address. */
struct address {
	bool is_unix;
	char host[ADDRESS_HOST_MAX + 1]; /* for a Unix socket: its path */
	char port[6];                    /* decimal, 1 to 65535; for a Unix socket: "" */
};

/**
 * Parse `host:port`, `[IPv6]:port` or `unix:PATH`. `default_port`, such as "6379", is used
 * if the text has no port; NULL: the text must have one. Returns NB_OK, or NB_UNSUPPORTED
 * with a message.
 */
int
address_parse(struct address *out, const struct nb_host *host, const char *text,
	const char *default_port);

/**
 * Hash of a key. It multiplies and folds eight bytes at a time, then applies the finalizer
 * of MurmurHash3 (fmix64). So the upper bits, which split_server() uses, depend on all bits.
 * The hash is the same in each process and on all machines with the same byte order.
 */
static inline uint64_t
split_hash(struct nb_slice key)
{
	const unsigned char *at = (const unsigned char *)key.data;
	uint64_t hash = key.size * UINT64_C(0x9e3779b97f4a7c15), word;
	size_t left = key.size;
	for (; left >= sizeof(word); left -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
		hash ^= hash >> 32;
	}
	word = 0;
	if (left > 0)
		memcpy(&word, at, left);
	hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
	hash ^= hash >> 33;
	hash *= UINT64_C(0xc4ceb9fe1a85ec53);
	return hash ^ hash >> 33;
}

__extension__ typedef unsigned __int128 split_wide;

/**
 * The server that stores the key, of `count`: each owns an equal part of the 64-bit hash
 * space.
 */
static inline uint32_t
split_server(struct nb_slice key, uint32_t count)
{
	if (count < 2)
		return 0;
	return (uint32_t)(((split_wide)split_hash(key) * count) >> 64);
}

#endif /* REMOTE_ADDRESS_H */
