/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stream over a libfabric channel. Each stream has its own domain and queues, so that its
 * thread waits only for its own events.
 */
#include "stream_fabric.h"
#include "address.h"
#include "fabric.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOOK_MS = 10 /* while connecting */ };

struct fabric_stream {
	struct fabric_net net;
	struct fabric fabric;
	struct channel *channel;
};

static void
discard(struct fabric_stream *own)
{
	if (own->channel != NULL)
		channel_close(own->channel);
	fabric_close(&own->fabric);
	fabric_net_close(&own->net);
	free(own);
}

/** Process events. The stream has only one channel, so it ignores which channel has news. */
static void
look(struct fabric_stream *own)
{
	fabric_progress(&own->fabric);
	(void)fabric_next(&own->fabric);
}

static ssize_t
fabric_write(struct stream *stream, const void *bytes, size_t size)
{
	struct fabric_stream *own = stream->of_io;
	ssize_t sent = channel_write(own->channel, bytes, size);
	if (sent >= 0 || errno != EAGAIN)
		return sent;
	look(own);
	return channel_write(own->channel, bytes, size);
}

static ssize_t
fabric_read(struct stream *stream, void *to, size_t size)
{
	struct fabric_stream *own = stream->of_io;
	look(own);
	return channel_read(own->channel, to, size);
}

static bool
fabric_has_more(const struct stream *stream)
{
	struct fabric_stream *own = stream->of_io;
	look(own);
	return channel_can_read(own->channel) ||
		(stream_unsent(stream) > 0 && channel_can_write(own->channel)) ||
		!fabric_may_sleep(&own->fabric);
}

static void
fabric_end(struct stream *stream)
{
	discard(stream->of_io);
}

static const struct stream_io fabric_io = {.write = fabric_write,
	.read = fabric_read,
	.has_more = fabric_has_more,
	.close = fabric_end};

/* ---- connect ---- */

static int
fail(const struct nb_host *host, const char *address, const char *why)
{
	return host->fail(NB_FAIL,
		"%s: cannot connect by libfabric: %s; does a mininb serve --transport=ofi run there?",
		address, why);
}

static int
await(struct fabric_stream *own, const struct nb_host *host, const char *address,
	uint64_t timeout_ns)
{
	struct pollfd wait = {.fd = own->fabric.wait, .events = POLLIN};
	uint64_t begin_ns = stream_now_ns();
	const struct channel *channel = own->channel;
	for (look(own); !channel->is_connected && !channel->is_closed; look(own)) {
		if (stream_now_ns() - begin_ns > timeout_ns)
			return fail(host, address, "it does not answer");
		if (fabric_may_sleep(&own->fabric))
			poll(&wait, 1, LOOK_MS);
	}
	if (channel->is_connected)
		return NB_OK;
	return fail(host, address,
		channel->error != 0 ? channel_failure(channel) : "it refused the connection");
}

static int
open_channel(struct fabric_stream *own, const struct nb_host *host, const char *address,
	const char *default_port)
{
	struct address parts;
	int rc = address_parse(&parts, host, address, default_port);
	if (rc != NB_OK)
		return rc;
	if (parts.is_unix)
		return host->fail(NB_UNSUPPORTED,
			"%s: libfabric has no Unix sockets; use HOST:PORT with transport=ofi",
			address);
	if (fabric_net_open(&own->net, parts.host, parts.port, false) != 0)
		return fail(host, address, own->net.text);
	if (fabric_open(&own->fabric, &own->net) != 0)
		return fail(host, address, own->fabric.text);
	own->channel = channel_connect(&own->fabric, NULL);
	return own->channel != NULL ? NB_OK : fail(host, address, own->fabric.text);
}

int
stream_fabric_connect(struct stream *stream, const struct nb_host *host, const char *address,
	const struct stream_options *options, uint64_t timeout_ns)
{
	struct fabric_stream *own = calloc(1, sizeof(*own));
	if (own == NULL)
		return host->fail(NB_FAIL, "%s: out of memory", address);
	int rc = open_channel(own, host, address, options->default_port);
	if (rc == NB_OK)
		rc = await(own, host, address, timeout_ns);
	int fd = rc == NB_OK ? dup(own->fabric.wait) : -1;
	if (rc == NB_OK && fd < 0)
		rc = fail(host, address, strerror(errno));
	if (rc == NB_OK)
		rc = stream_adopt(stream, host, address, fd, options);
	if (rc != NB_OK) {
		discard(own);
		return rc;
	}
	stream->io = &fabric_io;
	stream->of_io = own;
	return NB_OK;
}
