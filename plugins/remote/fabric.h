/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REMOTE_FABRIC_H
#define REMOTE_FABRIC_H
/**
 * Streams of bytes over libfabric, for both ends of a connection: the server's threads
 * (lib/serve/transport_fabric.c) and a client's stream (stream_fabric.c).
 *
 * A connection is an endpoint of the type FI_EP_MSG, whose messages are pieces of the stream. The
 * provider (tcp, verbs, ...) is the first one that libfabric offers; $FI_PROVIDER selects another.
 *
 * A failure is -1, and the text of the struct says why. No call waits.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

enum {
	FABRIC_PIECE = 8192, /* bytes of a message, without its head */
	FABRIC_PIECES = 8,   /* messages that an end has room for */
	FABRIC_TEXT = 256
};

/** What an end sends with its request to connect, and with its answer. */
struct fabric_greeting {
	uint32_t magic, piece, pieces;
};

/** Addresses of the functions that the headers of libfabric do not define. */
struct fabric_calls {
	int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags,
		const struct fi_info *hints, struct fi_info **info);
	void (*freeinfo)(struct fi_info *info);
	struct fi_info *(*dupinfo)(const struct fi_info *info);
	int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
	const char *(*strerror)(int error);
};

/** A network, and an address in it: of a server its own, of a client the server's. */
struct fabric_net {
	struct fabric_calls calls;
	struct fi_info *info;
	struct fid_fabric *fabric;
	char text[FABRIC_TEXT];
};

/** What one thread has of it; no other thread uses it at the same time. */
struct fabric {
	const struct fabric_net *net;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_eq *eq;
	uint64_t key;        /* of the next channel's memory, where the provider wants one */
	int wait;            /* an epoll that can be read if there may be news */
	struct channel *all; /* by `next` */
	struct channel *newsful; /* channels that have news, by `next_newsful`, and the last */
	struct channel **newsful_end;
	char text[FABRIC_TEXT];
};

struct fabric_piece;

/** A connection. */
struct channel {
	struct fabric *fabric;
	void *owner; /* the caller's */
	struct fid_ep *endpoint;
	struct fid_mr *region; /* of `pieces` */
	struct fabric_piece *pieces;
	struct fabric_piece *free;             /* to be sent */
	struct fabric_piece *came, **came_end; /* received and not read */
	uint32_t credits;                      /* messages that the peer has room for */
	uint32_t owed;                         /* credits that the peer does not know of */
	uint32_t sending;                      /* messages that are not on their way */
	bool is_connected, is_closed;          /* is_closed: by the peer, or it failed */
	bool has_news;
	int error; /* why it failed, a number of libfabric; 0: the peer has closed it */
	struct channel *next, *next_newsful;
};

/**
 * Zeros before. Load libfabric and look `host` and `port` up: to connect to, or to listen at.
 * Whatever it returns, close it.
 */
int
fabric_net_open(struct fabric_net *net, const char *host, const char *port, bool is_own);

void
fabric_net_close(struct fabric_net *net);

/** Whatever it returns, close it. All channels must be closed before. */
int
fabric_open(struct fabric *fabric, const struct fabric_net *net);

void
fabric_close(struct fabric *fabric);

/** Connect to the address of the network. NULL: a failure. */
struct channel *
channel_connect(struct fabric *fabric, void *owner);

/** Accept a connection: `info` came with its request and stays the caller's. NULL: a failure. */
struct channel *
channel_accept(struct fabric *fabric, struct fi_info *info, void *owner);

void
channel_close(struct channel *channel);

/** Whether an end speaks as this one does. */
bool
fabric_is_greeting(const void *data, size_t size);

struct fabric_greeting
fabric_greet(void);

/** Look for news of all channels. */
void
fabric_progress(struct fabric *fabric);

/** The next channel that has news; it has none afterwards. NULL: no channel has. */
struct channel *
fabric_next(struct fabric *fabric);

/** It has news that its owner has not looked at. */
void
channel_note(struct channel *channel);

/** Whether a thread may wait for `wait`, after all news were looked at. */
bool
fabric_may_sleep(struct fabric *fabric);

/** As send(2) without waiting: bytes that were taken, or -1 with EAGAIN or EPIPE. */
ssize_t
channel_write(struct channel *channel, const void *bytes, size_t size);

/** As recv(2) without waiting: bytes, 0 at the end, or -1 with EAGAIN or ECONNRESET. */
ssize_t
channel_read(struct channel *channel, void *to, size_t size);

static inline bool
channel_can_read(const struct channel *channel)
{
	return channel->came != NULL || channel->is_closed;
}

/** Whether bytes could be sent: not in one piece that is left for credits. */
bool
channel_can_write(const struct channel *channel);

/** Why the channel failed. */
const char *
channel_failure(const struct channel *channel);

#endif /* REMOTE_FABRIC_H */
