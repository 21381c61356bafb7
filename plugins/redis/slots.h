/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REDIS_SLOTS_H
#define REDIS_SLOTS_H
/**
 * Which node of a Redis Cluster has a key. A key belongs to one of 16384 slots by its checksum,
 * and the map says which node has a slot: see "Redis Cluster Specification", redis.io.
 *
 * The map is read by CLUSTER SLOTS, which servers since Redis 3.0 answer; CLUSTER SHARDS, of
 * Redis 7.0, says the same. Each session has a copy of its own, which redirections patch.
 */
#include "resp.h"

enum {
	SLOTS = 16384,
	SLOT_NODES = 512,  /* of a map; a cluster is recommended to have 1000 at most */
	SLOT_ADDRESS = 96, /* "host:port", "[v6]:port" */
	SLOT_NONE = UINT16_MAX
};

struct slot_map {
	uint16_t owner[SLOTS];   /* index into nodes; SLOT_NONE: no node has it */
	uint16_t replica[SLOTS]; /* the first replica, if they are wanted; else the owner */
	uint32_t count;
	char nodes[SLOT_NODES][SLOT_ADDRESS];
};

/** CRC16-XMODEM. */
uint16_t
slot_crc(const void *data, size_t size);

/** Of "a{tag}b" by the tag alone, unless that is empty. */
uint32_t
slot_of(struct nb_slice key);

/** Index of a node, added if it is new; SLOT_NONE: there are too many, or it is too long. */
uint32_t
slot_node(struct slot_map *map, const char *address);

/**
 * Make the map of a whole reply to CLUSTER SLOTS. A node that does not know its own host has
 * that of `asked`. False: it is not such a reply, or it has too many nodes.
 */
bool
slot_map_read(struct slot_map *map, const char *reply, size_t size, const char *asked,
	bool has_replicas);

/** Slots that no node has. */
uint32_t
slot_map_missing(const struct slot_map *map);

/**
 * The slot and the address of "MOVED 3999 127.0.0.1:6381" or "ASK ...". `asked` as above.
 * False: it is neither.
 */
bool
slot_redirection(const struct resp_reply *error, const char *asked, uint32_t *slot,
	char address[SLOT_ADDRESS]);

#endif /* REDIS_SLOTS_H */
