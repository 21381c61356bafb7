/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REMOTE_FABRIC_H
#define REMOTE_FABRIC_H
/**
 * Byte streams over libfabric, for both ends of a connection: the server's threads
 * (lib/serve/transport_ofi.c) and a client's stream (stream_fabric.c).
 *
 * A connection is an endpoint of type FI_EP_MSG, and its messages are pieces of the stream.
 * The provider (tcp, verbs, ...) is the first one that libfabric offers; $FI_PROVIDER
 * selects another.
 *
 * A failure is -1, and the `text` member of the struct contains the reason. No call waits.
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
	FABRIC_PIECE = 8192, /* bytes of a message, without its header */
	FABRIC_PIECES = 8,   /* receive buffers of each end, in messages */
	FABRIC_TEXT = 256
};

/** Each end sends this with its connection request or its answer to one. */
struct fabric_greeting {
	uint32_t magic, piece, pieces;
};

/** Addresses of functions that libfabric's headers declare but do not define inline. */
struct fabric_calls {
	int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags,
		const struct fi_info *hints, struct fi_info **info);
	void (*freeinfo)(struct fi_info *info);
	struct fi_info *(*dupinfo)(const struct fi_info *info);
	int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
	const char *(*strerror)(int error);
};

/** A network with one address: the server's own, or for a client the server to connect to. */
struct fabric_net {
	struct fabric_calls calls;
	struct fi_info *info;
	struct fid_fabric *fabric;
	char text[FABRIC_TEXT];
};

/** The part of a network that one thread uses. Not for use by several threads at once. */
struct fabric {
	const struct fabric_net *net;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_eq *eq;
	uint64_t key;        /* for the next channel's memory, if the provider requires a key */
	int wait;            /* an epoll descriptor, readable if there may be news */
	struct channel *all; /* linked by `next` */
	struct channel *newsful; /* channels with news, by `next_newsful`, and the end */
	struct channel **newsful_end;
	char text[FABRIC_TEXT];
};

struct fabric_piece;

/** A connection. */
struct channel {
	struct fabric *fabric;
	void *owner; /* for the caller */
	struct fid_ep *endpoint;
	struct fid_mr *region; /* of `pieces` */
	struct fabric_piece *pieces;
	struct fabric_piece *free;             /* for sending */
	struct fabric_piece *came, **came_end; /* received and unread */
	uint32_t credits;                      /* messages that the peer can receive */
	uint32_t owed;                         /* credits that the peer does not know yet */
	uint32_t sending;                      /* messages with an incomplete send */
	bool is_connected, is_closed;          /* is_closed: by the peer, or it failed */
	bool has_news;
	int error; /* reason of the failure, an error number of libfabric; 0: the peer closed it */
	struct channel *next, *next_newsful;
};

/**
 * Load libfabric and resolve `host` and `port`. is_own: the address to listen at, else the
 * one to connect to. `net` must be zeroed. Call fabric_net_close() even after a failure.
 */
int
fabric_net_open(struct fabric_net *net, const char *host, const char *port, bool is_own);

void
fabric_net_close(struct fabric_net *net);

/** Record the failure of a libfabric call in a `text`. Returns -1. */
int
fabric_fail(char *text, const struct fabric_calls *calls, const char *call, ssize_t rc);

/**
 * Call fabric_close() even after a failure. All channels must be closed before
 * fabric_close().
 */
int
fabric_open(struct fabric *fabric, const struct fabric_net *net);

void
fabric_close(struct fabric *fabric);

/** Connect to the address of the network. Returns NULL on failure. */
struct channel *
channel_connect(struct fabric *fabric, void *owner);

/**
 * Accept a connection. `info` came with the connection request and remains the caller's.
 * Returns NULL on failure.
 */
struct channel *
channel_accept(struct fabric *fabric, struct fi_info *info, void *owner);

void
channel_close(struct channel *channel);

/** Whether the data is a greeting with the same parameters as this end's. */
bool
fabric_is_greeting(const void *data, size_t size);

struct fabric_greeting
fabric_greet(void);

/** Process the completions and events of all channels. */
void
fabric_progress(struct fabric *fabric);

/** Remove and return the next channel that has news; NULL: none has. */
struct channel *
fabric_next(struct fabric *fabric);

/** Note that the channel has news that its owner has not processed. */
void
channel_note(struct channel *channel);

/** Whether the thread may block on `wait`. All news must have been processed. */
bool
fabric_may_sleep(struct fabric *fabric);

/**
 * Like a non-blocking send(2): returns the number of accepted bytes, or -1 with EAGAIN or
 * EPIPE.
 */
ssize_t
channel_write(struct channel *channel, const void *bytes, size_t size);

/**
 * Like a non-blocking recv(2): returns the number of bytes, 0 at the end, or -1 with EAGAIN
 * or ECONNRESET.
 */
ssize_t
channel_read(struct channel *channel, void *to, size_t size);

static inline bool
channel_can_read(const struct channel *channel)
{
	return channel->came != NULL || channel->is_closed;
}

/** Whether data can be sent now. The last credit and the last piece are reserved for credits. */
bool
channel_can_write(const struct channel *channel);

/** The reason of the channel's failure, as text. */
const char *
channel_failure(const struct channel *channel);

#endif /* REMOTE_FABRIC_H */
