/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_SERVE_H
#define MININB_SERVE_H
/**
 * Provides an engine on the network. One port accepts RESP2, the protocol of Redis, and the
 * compact protocol of wire.h.
 */
#include <mininb/mininb.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A server that accepts connections. Borrowed during the call. Append only. */
struct nb_serve_ready {
	size_t size;
	const struct nb_engine *engine;
	const char *address; /* "127.0.0.1:41827", "unix:PATH" */
	uint32_t threads;
	uint32_t durability; /* NB_DUR_* */
};

typedef void (*nb_serve_ready_fn)(void *arg, const struct nb_serve_ready *ready);

/** Transport of the connections. */
enum {
	NB_SERVE_SOCKETS = 0, /* TCP or a Unix socket */
	NB_SERVE_OFI = 1      /* libfabric: its provider tcp, verbs, ...; HOST:PORT only */
};

/** How to serve. Texts are borrowed during the call. Append only. */
struct nb_serve_options {
	size_t size;
	const char *driver; /* as for nb_engine_load() */
	const char *path;   /* the database is <path>/<driver's name> */
	const char *const *engine_options;
	size_t engine_option_count;
	const char *listen;   /* "HOST:PORT", "[IPv6]:PORT", "unix:PATH"; port 0: any */
	uint32_t threads;     /* >= 1; 1 unless NB_CAP_CONCURRENT */
	uint32_t durability;  /* NB_DUR_* or NB_DUR_AUTO */
	uint32_t flags;       /* NB_RUN_FRESH, NB_RUN_FORCE */
	uint32_t connections; /* maximum number of concurrent connections */
	uint64_t cache_bytes; /* 0: the engine's default */
	uint64_t value_max;   /* maximum bytes of a value; a larger one ends the connection */
	uint64_t buffer_max;  /* maximum bytes waiting in the buffers of all connections */
	uint64_t spin_ns;     /* polling time before a thread sleeps, if useful; 0: never */
	uint32_t is_pinned;   /* 1: pin each thread to its own CPU */
	uint32_t may_reset;   /* 1: clients may remove all records */
	nb_serve_ready_fn ready;
	void *ready_arg;
	uint32_t is_async;  /* 1: use submit; an answer does not wait for other connections */
	uint32_t transport; /* NB_SERVE_SOCKETS or NB_SERVE_OFI */
};

#define NB_SERVE_OPTIONS_INIT \
	{ \
		.size = sizeof(struct nb_serve_options), .driver = "leveldb", .path = "./nb", \
		.listen = "127.0.0.1:7379", .threads = 1, .durability = NB_DUR_AUTO, \
		.connections = 10000, .value_max = 16u << 20, .buffer_max = 1u << 30, \
		.spin_ns = 50000 \
	}

/** Counts of a server. Append only. */
struct nb_serve_report {
	size_t size;
	uint64_t verbs[8];    /* requests by NB_REQ_* */
	uint64_t batches;     /* groups of requests that were executed */
	uint64_t failures;    /* failures of the engine that were sent as answers */
	uint64_t connections; /* accepted */
	uint64_t refused;     /* because the limit of connections was reached */
	uint64_t dropped;     /* because of invalid data or a limit */
	uint64_t bytes_in, bytes_out;
	uint64_t wall_ns;
	uint64_t scans; /* answers that contained records of a scan */
};

/**
 * Open the database, serve it until nb_stop(), close it. NB_OK after nb_stop(): all requests
 * read until then were answered. *report is also set on failure.
 */
NB_MUST_CHECK int
nb_serve(const struct nb_serve_options *options, struct nb_serve_report *report);

/** Whether other machines can reach this address: 0 or 1. */
int
nb_serve_is_public(const char *listen);

#ifdef __cplusplus
}
#endif

#endif /* MININB_SERVE_H */
