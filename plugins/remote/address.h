/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REMOTE_ADDRESS_H
#define REMOTE_ADDRESS_H
/**
 * Addresses of servers, and which of several servers has a key.
 */
#include <mininb/engine.h>

#include <stdbool.h>
#include <string.h>

enum {
	ADDRESS_HOST_MAX = 255,
	ADDRESS_PATH_MAX = 107 /* of a Unix socket: sockaddr_un has 108 bytes */
};

/** An address in its parts. */
struct address {
	bool is_unix;
	char host[ADDRESS_HOST_MAX + 1]; /* of a Unix socket: its path */
	char port[6];                    /* decimal, 1 to 65535; of a Unix socket: "" */
};

/**
 * Parse `host:port`, `[IPv6]:port` or `unix:PATH`. `default_port`, such as "6379", holds where
 * the text has none; NULL: it must have one. NB_OK, or NB_UNSUPPORTED with a message.
 */
int
address_parse(struct address *out, const struct nb_host *host, const char *text,
	const char *default_port);

/**
 * Hash of a key: eight bytes at a time, multiplied and folded; then the finalizer of
 * MurmurHash3 (fmix64), so that the upper bits, which split_server() uses, depend on all
 * bits. The same in each process and on each machine of one byte order.
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

/** Which of `count` servers has the key: each has an equal part of the 64-bit hash space. */
static inline uint32_t
split_server(struct nb_slice key, uint32_t count)
{
	if (count < 2)
		return 0;
	return (uint32_t)(((split_wide)split_hash(key) * count) >> 64);
}

#endif /* REMOTE_ADDRESS_H */
