/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REDIS_SLOTS_H
#define REDIS_SLOTS_H
/**
 * Finds the Redis Cluster node that stores a key. The checksum of a key selects one of 16384
 * slots, and the map contains the node of each slot: see "Redis Cluster Specification",
 * redis.io.
 *
 * The map comes from CLUSTER SLOTS, which servers since Redis 3.0 support; CLUSTER SHARDS,
 * since Redis 7.0, returns the same. Each session has its own copy, which redirections
 * update.
 */
#include "resp.h"

enum {
	SLOTS = 16384,
	SLOT_NODES =
		512, /* of a map; the specification recommends at most 1000 for a cluster */
	SLOT_ADDRESS = 96, /* "host:port", "[v6]:port" */
	SLOT_NONE = UINT16_MAX
};

struct slot_map {
	uint16_t owner[SLOTS];   /* index into nodes; SLOT_NONE: no node owns the slot */
	uint16_t replica[SLOTS]; /* the first replica, if replicas are wanted; else the owner */
	uint32_t count;
	char nodes[SLOT_NODES][SLOT_ADDRESS];
};

/** CRC16-XMODEM. */
uint16_t
slot_crc(const void *data, size_t size);

/** The slot of a key. For "a{tag}b" only the tag counts, unless it is empty. */
uint32_t
slot_of(struct nb_slice key);

/**
 * Index of a node, which is added if new. SLOT_NONE: too many nodes, or the address is too
 * long.
 */
uint32_t
slot_node(struct slot_map *map, const char *address);

/**
 * Make the map from a complete reply to CLUSTER SLOTS. A node that does not know its own
 * host gets the host of `asked`. Returns false if the reply is malformed or has too many
 * nodes.
 */
bool
slot_map_read(struct slot_map *map, const char *reply, size_t size, const char *asked,
	bool has_replicas);

/** Number of slots without a node. */
uint32_t
slot_map_missing(const struct slot_map *map);

/**
 * Parse the slot and the address of "MOVED 3999 127.0.0.1:6381" or "ASK ...". `asked` is
 * used as in slot_map_read(). Returns false for any other error.
 */
bool
slot_redirection(const struct resp_reply *error, const char *asked, uint32_t *slot,
	char address[SLOT_ADDRESS]);

#endif /* REDIS_SLOTS_H */
