/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MEMCACHED_H
#define MEMCACHED_H
/** Declarations that this plugin's files share: the database, its sessions, and the continuum. */
#include "../common/database.h"
#include "../remote/pipeline.h"

#define MARKER_KEY "mininb:marker"
#define DEFAULT_PORT "11211"
#define SPIN_MAX UINT64_C(1000000000)

#define OPTIONS(X) \
	X(KETAMA, BOOL, "ketama", "no", \
		"place keys on several servers as libmemcached does: weighted ketama") \
	X(SERVER_THREADS, U64, "threads", "4", "threads", 1, 1024, \
		"worker threads of a private server") \
	X(SPIN, TIME, "spin", "0us", 0, SPIN_MAX, "poll for replies so long before sleeping")
enum { OPTIONS(OPTION_ID) };

enum {
	KEY_TEXT_MAX = 250, /* KEY_MAX_LENGTH of memcached */
	KEY_MAX = 186,      /* the base64 of such a key has at most KEY_TEXT_MAX bytes */
	/*
	 * Overhead of an item: header, CAS number, flags, a key of KEY_MAX and "\r\n"; rounded up.
	 */
	ITEM_OVERHEAD = 512,
	ITEM_SIZE_MAX = 1 << 20 /* memcached's default of -I */
};

enum { KETAMA_POINTS = 160 }; /* of each server, MEMCACHED_POINTS_PER_SERVER_KETAMA */

/** A point on the circle of hashes; its server owns the hashes up to it. */
struct ketama_point {
	uint32_t hash, server;
};

/** Returns a sorted array that the caller frees; NULL: out of memory. */
struct ketama_point *
ketama_new(const char *const *names, uint32_t count);

uint32_t
ketama_server(const struct ketama_point *points, uint32_t count, struct nb_slice key);

struct nb_db {
	const struct nb_host *host;
	const char *const *targets;
	uint32_t target_count, inflight_ops;
	uint64_t inflight_bytes;
	uint64_t value_max;
	struct stream_options stream;
	struct stream *control;      /* the database thread's connection to each server */
	struct ketama_point *points; /* NULL: an equal split */
	uint64_t evictions;          /* of all servers, when the database was opened */
};

struct nb_session {
	struct nb_db *db;
	struct pipeline pipeline;
	uint64_t merges; /* number in flight */
};

extern const struct codec memcached_codec;

#endif /* MEMCACHED_H */
