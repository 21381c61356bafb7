/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PIPELINE_RIG_H
#define PIPELINE_RIG_H
/**
 * A client and servers of a small protocol, for the tests of plugins/remote/pipeline.h. The
 * servers keep the records in one store.
 *
 * A request is a head {verb, key, seed, size} and `size` bytes. An answer is a byte; a value or
 * an error adds its size and its bytes. A value is made from a seed, so a model stores only the
 * seeds.
 */
#include "../plugins/remote/pipeline.h"

#include "remote_rig.h"

enum { KEYS = 7, SERVERS = 3, DEPTH = 24, LARGE = 300000 };

size_t
rig_value_size(uint64_t seed);

void
rig_value_make(char *to, uint64_t seed);

bool
rig_value_is(struct nb_slice value, uint64_t seed);

struct request_head {
	uint32_t verb, key;
	uint64_t seed, size;
};

/** The state that all servers share, and the server of each key. */
struct store {
	pthread_mutex_t lock;
	bool is_there[KEYS];
	uint64_t seeds[KEYS];
	uint32_t owner[KEYS];
	bool is_cluster;
	uint64_t requests, moves;
};

/** One server. */
struct side {
	struct store *store;
	struct peer peer;
	uint32_t number;
	size_t piece; /* maximum number of bytes that it sends in one write */
	uint64_t random;
};

struct client {
	struct pipeline pipeline;
	struct codec codec;
	struct store store;
	struct side sides[SERVERS];
	const char *targets[SERVERS];
	uint32_t map[KEYS]; /* the server that the client believes to have a key */
	uint64_t refused;
};

/** The script of a server that answers in pieces. `of`: its struct side. */
void
rig_serve_store(int fd, void *of);

/**
 * Start the servers and a client of the first `servers` of them. `piece`: maximum number of bytes
 * that a server sends in one write. In a cluster, keys move between the servers. They stop when
 * the test ends.
 */
struct client *
rig_client_start(uint32_t servers, peer_script script, size_t piece, bool is_cluster);

#endif /* PIPELINE_RIG_H */
