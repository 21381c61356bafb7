/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections by libfabric (plugins/remote/fabric.h).
 *
 * The main thread has the listening endpoint and its event queue. It hands a connection
 * request to a thread like any connection. The thread accepts it on its own domain, so its
 * channels and their queues are used by no other thread. Events become known only when the
 * thread polls its queues; a readable file wakes it up.
 *
 * The news of a channel is reported once. So a connection that can and may read more is
 * noted again, which gives the level-triggered behaviour of epoll with sockets.
 */
#ifdef NB_HAVE_OFI

#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "../../plugins/remote/fabric.h"

#include "base/error.h"
#include "serve/server.h"

enum {
	NEWS = 64, /* limit for one call */
	REQUESTS = 64
};

struct ofi_server {
	struct fabric_net net;
	struct fid_pep *endpoint;
	struct fid_eq *requests;
};

struct ofi_thread {
	struct fabric fabric;
	struct conn *at_hand; /* the current connection; NULL: it was closed */
};

/* ---- the main thread ---- */

static int
fail(const struct ofi_server *own, const char *address, const char *call, int rc)
{
	return error_set(
		NB_FAIL, "listen: %s: %s: %s", address, call, own->net.calls.strerror(-rc));
}

static int
start(struct server *server, struct ofi_server *own, const char *address)
{
	struct fi_eq_attr attr = {.wait_obj = FI_WAIT_FD};
	struct sockaddr_storage bound = {.ss_family = AF_UNSPEC};
	size_t size = sizeof(bound);
	int rc = fi_eq_open(own->net.fabric, &attr, &own->requests, NULL);
	if (rc == 0)
		rc = fi_passive_ep(own->net.fabric, own->net.info, &own->endpoint, NULL);
	if (rc == 0)
		rc = fi_pep_bind(own->endpoint, &own->requests->fid, 0);
	if (rc == 0)
		rc = fi_control(&own->requests->fid, FI_GETWAIT, &server->listener);
	if (rc != 0)
		return fail(own, address, "fi_passive_ep", rc);
	rc = fi_listen(own->endpoint);
	if (rc == 0)
		rc = fi_getname(&own->endpoint->fid, &bound, &size);
	if (rc != 0)
		return fail(own, address, "fi_listen", rc);
	address_name(server, (struct sockaddr *)&bound, (socklen_t)size);
	return NB_OK;
}

static int
ofi_bind(struct server *server, const char *address)
{
	char host[ADDRESS_HOST];
	const char *port;
	int rc = address_split(address, host, &port);
	if (rc != NB_OK)
		return error_prefix(rc, "transport=ofi has no Unix sockets");
	struct ofi_server *own = calloc(1, sizeof(*own));
	if (own == NULL)
		return error_memory();
	server->of_transport = own;
	if (fabric_net_open(&own->net, host, port, true) != 0)
		return error_set(NB_FAIL, "listen: %s: %s", address, own->net.text);
	return start(server, own, address);
}

static int
ofi_listen(struct server *server)
{
	const struct ofi_server *own = server->of_transport;
	log_message(NB_LOG_INFO, "%s: libfabric's provider %s", server->address,
		own->net.info->fabric_attr->prov_name);
	return NB_OK; /* it listens since it was bound, because the port is unknown before */
}

static void
take_request(struct server *server, struct fi_info *info, bool is_ours)
{
	struct ofi_server *own = server->of_transport;
	struct thread *thread = is_ours ? server_choose_thread(server) : NULL;
	if (thread != NULL && server_hand_over(thread, -1, info))
		return;
	(void)fi_reject(own->endpoint, info->handle, NULL, 0);
	own->net.calls.freeinfo(info);
}

static bool
ofi_accept(struct server *server)
{
	struct ofi_server *own = server->of_transport;
	union {
		struct fi_eq_cm_entry cm;
		char room[sizeof(struct fi_eq_cm_entry) + 256];
	} entry;
	for (int i = 0; i < REQUESTS; i++) {
		uint32_t event = 0;
		ssize_t size = fi_eq_read(own->requests, &event, &entry, sizeof(entry), 0);
		if (size == -FI_EAVAIL) {
			struct fi_eq_err_entry error = {.err = 0};
			(void)fi_eq_readerr(own->requests, &error, 0);
			continue;
		}
		if (size < (ssize_t)sizeof(entry.cm))
			break;
		if (event == FI_CONNREQ)
			take_request(server, entry.cm.info,
				fabric_is_greeting(
					entry.cm.data, (size_t)size - sizeof(entry.cm)));
	}
	struct fid *fids[] = {&own->requests->fid};
	(void)fi_trywait(own->net.fabric, fids, 1);
	return true;
}

static void
ofi_close(struct server *server)
{
	struct ofi_server *own = server->of_transport;
	server->listener = -1;
	if (own == NULL)
		return;
	if (own->endpoint != NULL)
		fi_close(&own->endpoint->fid);
	if (own->requests != NULL)
		fi_close(&own->requests->fid);
	own->endpoint = NULL;
	own->requests = NULL;
}

static void
ofi_destroy(struct server *server)
{
	struct ofi_server *own = server->of_transport;
	if (own != NULL)
		fabric_net_close(&own->net);
	free(own);
}

/* ---- a thread ---- */

static int
ofi_create_thread(struct thread *thread)
{
	struct ofi_server *server = thread->server->of_transport;
	struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = thread}};
	struct ofi_thread *own = calloc(1, sizeof(*own));
	if (own == NULL)
		return error_memory();
	thread->of_transport = own;
	if (fabric_open(&own->fabric, &server->net) != 0)
		return error_set(NB_FAIL, "transport: %s", own->fabric.text);
	return epoll_ctl(thread->epoll, EPOLL_CTL_ADD, own->fabric.wait, &event) == 0
		? NB_OK
		: error_system("a thread's epoll");
}

static void
ofi_destroy_thread(struct thread *thread)
{
	struct ofi_thread *own = thread->of_transport;
	if (own != NULL)
		fabric_close(&own->fabric);
	free(own);
}

static bool
ofi_has_news(struct thread *thread)
{
	struct ofi_thread *own = thread->of_transport;
	fabric_progress(&own->fabric);
	return own->fabric.newsful != NULL;
}

static bool
ofi_may_sleep(struct thread *thread)
{
	struct ofi_thread *own = thread->of_transport;
	return fabric_may_sleep(&own->fabric);
}

/**
 * Whether the connection must be noted again: it waits for an errand, or has read only a
 * part.
 */
static bool
may_do_more(const struct conn *conn, const struct channel *channel)
{
	return conn->is_waiting ||
		(!conn->is_throttled && !conn->is_ending && channel_can_read(channel));
}

static void
ofi_serve_news(struct thread *thread, bool is_ending)
{
	struct ofi_thread *own = thread->of_transport;
	struct channel *channel;
	fabric_progress(&own->fabric);
	for (int i = 0; i < NEWS && (is_ending || !thread_must_return(thread)) &&
		(channel = fabric_next(&own->fabric)) != NULL;
		i++) {
		own->at_hand = channel->owner;
		conn_wake(channel->owner);
		if (own->at_hand != NULL && may_do_more(own->at_hand, channel))
			channel_note(channel);
	}
	own->at_hand = NULL;
}

/* ---- a connection ---- */

static bool
ofi_begin(struct conn *conn)
{
	struct thread *thread = conn->thread;
	struct ofi_server *server = thread->server->of_transport;
	struct ofi_thread *own = thread->of_transport;
	struct fi_info *info = conn->of_transport;
	conn->of_transport = channel_accept(&own->fabric, info, conn);
	if (conn->of_transport == NULL)
		log_message(NB_LOG_WARNING, "a connection: %s", own->fabric.text);
	server->net.calls.freeinfo(info);
	return conn->of_transport != NULL;
}

static ssize_t
ofi_receive(struct conn *conn, void *to, size_t size)
{
	return channel_read(conn->of_transport, to, size);
}

static ssize_t
ofi_send(struct conn *conn, const void *bytes, size_t size)
{
	return channel_write(conn->of_transport, bytes, size);
}

static bool
ofi_is_sending(const struct conn *conn)
{
	const struct channel *channel = conn->of_transport;
	return channel->sending > 0 && !channel->is_closed;
}

static void
ofi_end(struct conn *conn)
{
	struct ofi_thread *own = conn->thread->of_transport;
	if (own->at_hand == conn)
		own->at_hand = NULL;
	if (conn->of_transport != NULL)
		channel_close(conn->of_transport);
}

static const struct transport ofi = {
	.bind = ofi_bind,
	.listen = ofi_listen,
	.accept = ofi_accept,
	.close = ofi_close,
	.destroy = ofi_destroy,
	.create_thread = ofi_create_thread,
	.destroy_thread = ofi_destroy_thread,
	.has_news = ofi_has_news,
	.may_sleep = ofi_may_sleep,
	.serve_news = ofi_serve_news,
	.begin = ofi_begin,
	.receive = ofi_receive,
	.send = ofi_send,
	.is_sending = ofi_is_sending,
	.end = ofi_end,
};

const struct transport *const transport_ofi = &ofi;

#else /* built without libfabric */

#include "serve/server.h"

const struct transport *const transport_ofi = NULL;

#endif
