/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libfabric channels.
 *
 * Loading: the library is loaded at its first use, because it loads the libraries of all
 * providers. Programs that do not need it would otherwise pay for this at each start. The
 * first call initializes all providers. The provider shm installs handlers for SIGTERM and
 * other signals that end the process, so the previous handlers are restored.
 *
 * Flow control: each end posts FABRIC_PIECES receives. A message begins with the number of
 * receives that its sender has posted again since its previous message. The peer never sends
 * more messages than these credits allow. So every message finds a posted receive. Without
 * one, InfiniBand hardware would retry again and again, and a socket provider would keep the
 * thread awake. The last credit and the last send piece are reserved for a message that
 * contains only credits. It is sent when half of the receives are owed, so two ends that
 * only read do not answer each other forever.
 *
 * Closing: a provider may report an endpoint's messages until the endpoint is closed, so the
 * queue is read once more before the pieces are freed. Events name an endpoint by its
 * address, which is looked up among the open ones.
 */
#include "fabric.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <rdma/fi_errno.h>

#define LIBRARY "libfabric.so.1"
#define MAGIC UINT32_C(0x6d6e6231) /* "mnb1" */

enum {
	HEAD = sizeof(uint32_t), /* header of a message: credits */
	OWED_MOST = FABRIC_PIECES / 2,
	COMPLETIONS = 32, /* per call */
	SIGNALS = 32      /* the signals that have names */
};

struct fabric_piece {
	struct fi_context2 context; /* for the provider; must be the first member */
	struct channel *channel;
	struct fabric_piece *next;
	uint32_t begin, end; /* unread part of `bytes` */
	char bytes[HEAD + FABRIC_PIECE];
};

/** Record the failure of a libfabric call. Returns -1. */
static int
fail(char *text, const struct fabric_calls *calls, const char *call, ssize_t rc)
{
	snprintf(text, FABRIC_TEXT, "%s: %s", call, calls->strerror((int)(rc < 0 ? -rc : rc)));
	return -1;
}

/* ---- the network ---- */

static int
load(struct fabric_net *net)
{
	struct fabric_calls *calls = &net->calls;
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL); /* never unloaded */
	const struct {
		const char *name;
		void *into;
	} rows[] = {{"fi_getinfo", &calls->getinfo}, {"fi_freeinfo", &calls->freeinfo},
		{"fi_dupinfo", &calls->dupinfo}, {"fi_fabric", &calls->fabric},
		{"fi_strerror", &calls->strerror}};
	if (library == NULL) {
		snprintf(net->text, sizeof(net->text), "%s; install libfabric1", dlerror());
		return -1;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		void *address = dlsym(library, rows[i].name);
		if (address == NULL) {
			snprintf(net->text, sizeof(net->text), LIBRARY " has no %s",
				rows[i].name);
			return -1;
		}
		memcpy(rows[i].into, &address, sizeof(address));
	}
	return 0;
}

static int
look_up(struct fabric_net *net, const char *host, const char *port, bool is_own)
{
	const struct fabric_calls *calls = &net->calls;
	struct fi_info *hints = calls->dupinfo(NULL); /* an empty one */
	if (hints == NULL)
		return fail(net->text, calls, "fi_dupinfo", FI_ENOMEM);
	hints->ep_attr->type = FI_EP_MSG;
	hints->caps = FI_MSG;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
		FI_MR_PROV_KEY;
	int rc = calls->getinfo(
		FI_VERSION(1, 11), host, port, is_own ? FI_SOURCE : 0, hints, &net->info);
	calls->freeinfo(hints);
	return rc == 0 ? 0 : fail(net->text, calls, "fi_getinfo", rc);
}

int
fabric_net_open(struct fabric_net *net, const char *host, const char *port, bool is_own)
{
	struct sigaction handlers[SIGNALS];
	for (int i = 1; i < SIGNALS; i++)
		sigaction(i, NULL, &handlers[i]);
	int rc = load(net);
	if (rc == 0)
		rc = look_up(net, host, port, is_own);
	for (int i = 1; i < SIGNALS; i++)
		sigaction(i, &handlers[i], NULL);
	if (rc != 0)
		return -1;
	rc = net->calls.fabric(net->info->fabric_attr, &net->fabric, NULL);
	return rc == 0 ? 0 : fail(net->text, &net->calls, "fi_fabric", rc);
}

void
fabric_net_close(struct fabric_net *net)
{
	if (net->fabric != NULL)
		fi_close(&net->fabric->fid);
	if (net->info != NULL)
		net->calls.freeinfo(net->info);
	net->fabric = NULL;
	net->info = NULL;
}

struct fabric_greeting
fabric_greet(void)
{
	return (struct fabric_greeting){MAGIC, FABRIC_PIECE, FABRIC_PIECES};
}

bool
fabric_is_greeting(const void *data, size_t size)
{
	struct fabric_greeting own = fabric_greet();
	return size >= sizeof(own) && memcmp(data, &own, sizeof(own)) == 0;
}

/* ---- the part of one thread ---- */

static int
watch(struct fabric *fabric, struct fid *fid)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = -1, rc = fi_control(fid, FI_GETWAIT, &fd);
	if (rc != 0)
		return fail(fabric->text, &fabric->net->calls, "FI_GETWAIT", rc);
	if (epoll_ctl(fabric->wait, EPOLL_CTL_ADD, fd, &event) != 0) {
		snprintf(fabric->text, sizeof(fabric->text), "epoll_ctl: %s", strerror(errno));
		return -1;
	}
	return 0;
}

int
fabric_open(struct fabric *fabric, const struct fabric_net *net)
{
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD};
	struct fi_eq_attr eq = {.wait_obj = FI_WAIT_FD};
	const struct fabric_calls *calls = &net->calls;
	*fabric = (struct fabric){.net = net, .wait = epoll_create1(EPOLL_CLOEXEC)};
	fabric->newsful_end = &fabric->newsful;
	if (fabric->wait < 0) {
		snprintf(fabric->text, sizeof(fabric->text), "epoll: %s", strerror(errno));
		return -1;
	}
	int rc = fi_domain(net->fabric, net->info, &fabric->domain, NULL);
	if (rc != 0)
		return fail(fabric->text, calls, "fi_domain", rc);
	rc = fi_cq_open(fabric->domain, &cq, &fabric->cq, NULL);
	if (rc != 0)
		return fail(fabric->text, calls, "fi_cq_open", rc);
	rc = fi_eq_open(net->fabric, &eq, &fabric->eq, NULL);
	if (rc != 0)
		return fail(fabric->text, calls, "fi_eq_open", rc);
	return watch(fabric, &fabric->cq->fid) != 0 ? -1 : watch(fabric, &fabric->eq->fid);
}

void
fabric_close(struct fabric *fabric)
{
	if (fabric->net == NULL)
		return;
	if (fabric->cq != NULL)
		fi_close(&fabric->cq->fid);
	if (fabric->eq != NULL)
		fi_close(&fabric->eq->fid);
	if (fabric->domain != NULL)
		fi_close(&fabric->domain->fid);
	if (fabric->wait >= 0)
		close(fabric->wait);
	fabric->net = NULL;
}

/* ---- news ---- */

void
channel_note(struct channel *channel)
{
	struct fabric *fabric = channel->fabric;
	if (channel->has_news)
		return;
	channel->has_news = true;
	channel->next_newsful = NULL;
	*fabric->newsful_end = channel;
	fabric->newsful_end = &channel->next_newsful;
}

struct channel *
fabric_next(struct fabric *fabric)
{
	struct channel *channel = fabric->newsful;
	if (channel == NULL)
		return NULL;
	fabric->newsful = channel->next_newsful;
	if (fabric->newsful == NULL)
		fabric->newsful_end = &fabric->newsful;
	channel->has_news = false;
	return channel;
}

static void
forget_news(struct channel *channel)
{
	struct channel **at = &channel->fabric->newsful;
	if (!channel->has_news)
		return;
	while (*at != channel)
		at = &(*at)->next_newsful;
	*at = channel->next_newsful;
	if (*at == NULL)
		channel->fabric->newsful_end = at;
	channel->has_news = false;
}

static void
end(struct channel *channel, int error)
{
	if (!channel->is_closed)
		channel->error = error;
	channel->is_closed = true;
	channel_note(channel);
}

bool
fabric_may_sleep(struct fabric *fabric)
{
	struct fid *fids[] = {&fabric->cq->fid, &fabric->eq->fid};
	return fabric->newsful == NULL &&
		fi_trywait(fabric->net->fabric, fids, 2) == FI_SUCCESS;
}

/* ---- messages ---- */

static int
post_receive(struct channel *channel, struct fabric_piece *piece)
{
	ssize_t rc = fi_recv(channel->endpoint, piece->bytes, sizeof(piece->bytes),
		fi_mr_desc(channel->region), 0, piece);
	if (rc != 0)
		end(channel, (int)-rc);
	return rc == 0 ? 0 : -1;
}

/**
 * Send a message of `size` bytes from the first free piece. Returns false if it cannot be
 * sent now.
 */
static bool
send_piece(struct channel *channel, size_t size)
{
	struct fabric_piece *piece = channel->free;
	memcpy(piece->bytes, &channel->owed, HEAD);
	ssize_t rc = fi_send(channel->endpoint, piece->bytes, HEAD + size,
		fi_mr_desc(channel->region), 0, piece);
	if (rc != 0 && rc != -FI_EAGAIN)
		end(channel, (int)-rc);
	if (rc != 0)
		return false;
	channel->free = piece->next;
	channel->owed = 0;
	channel->credits--;
	channel->sending++;
	return true;
}

/** Send the peer its credits, if they are worth a message. */
static void
return_credits(struct channel *channel)
{
	if (channel->owed >= OWED_MOST && channel->credits > 0 && channel->free != NULL &&
		!channel->is_closed)
		(void)send_piece(channel, 0);
}

/** Post a receive again for a piece that was read. */
static void
renew(struct channel *channel, struct fabric_piece *piece)
{
	if (channel->is_closed || post_receive(channel, piece) != 0)
		return; /* the piece is freed with the channel */
	channel->owed++;
	return_credits(channel);
}

static void
take_received(struct channel *channel, struct fabric_piece *piece, size_t size)
{
	uint32_t credits;
	if (size < HEAD) {
		end(channel, FI_EOTHER);
		return;
	}
	memcpy(&credits, piece->bytes, HEAD);
	channel->credits += credits;
	if (channel->credits > FABRIC_PIECES) {
		end(channel, FI_EOTHER);
		return;
	}
	piece->begin = HEAD;
	piece->end = (uint32_t)size;
	if (size == HEAD) {
		renew(channel, piece);
		return;
	}
	piece->next = NULL;
	*channel->came_end = piece;
	channel->came_end = &piece->next;
}

static void
take_completion(const struct fi_cq_msg_entry *entry)
{
	struct fabric_piece *piece = entry->op_context;
	struct channel *channel = piece->channel;
	if ((entry->flags & FI_RECV) != 0) {
		take_received(channel, piece, entry->len);
	} else {
		piece->next = channel->free;
		channel->free = piece;
		channel->sending--;
	}
	return_credits(channel);
	channel_note(channel);
}

/**
 * Process all completions. fi_cq_read() returns those before an error separately, even if
 * there was room for more.
 */
static void
read_messages(struct fabric *fabric)
{
	struct fi_cq_msg_entry entries[COMPLETIONS];
	for (;;) {
		ssize_t count = fi_cq_read(fabric->cq, entries, COMPLETIONS);
		for (ssize_t i = 0; i < count; i++)
			take_completion(&entries[i]);
		if (count == -FI_EAVAIL) {
			struct fi_cq_err_entry error = {.err = 0};
			if (fi_cq_readerr(fabric->cq, &error, 0) != 1)
				return;
			struct fabric_piece *piece = error.op_context;
			end(piece->channel, error.err);
		} else if (count <= 0) {
			return;
		}
	}
}

/* ---- events ---- */

static struct channel *
find(const struct fabric *fabric, const struct fid *endpoint)
{
	struct channel *channel = fabric->all;
	while (channel != NULL &&
		(channel->endpoint == NULL || &channel->endpoint->fid != endpoint))
		channel = channel->next;
	return channel;
}

static void
take_event(struct channel *channel, uint32_t event)
{
	if (channel == NULL)
		return;
	if (event == FI_CONNECTED)
		channel->is_connected = true;
	if (event == FI_SHUTDOWN)
		end(channel, 0);
	channel_note(channel);
}

static void
read_events(struct fabric *fabric)
{
	union {
		struct fi_eq_cm_entry cm;
		char room[sizeof(struct fi_eq_cm_entry) + 256];
	} entry;
	for (;;) {
		uint32_t event = 0;
		ssize_t size = fi_eq_read(fabric->eq, &event, &entry, sizeof(entry), 0);
		if (size >= (ssize_t)sizeof(entry.cm)) {
			take_event(find(fabric, entry.cm.fid), event);
			continue;
		}
		if (size != -FI_EAVAIL)
			return;
		struct fi_eq_err_entry error = {.err = 0};
		if (fi_eq_readerr(fabric->eq, &error, 0) < 0)
			return;
		struct channel *channel = find(fabric, error.fid);
		if (channel != NULL)
			end(channel, error.err);
	}
}

/** Read messages first: those that precede the end of a connection must be read before it. */
void
fabric_progress(struct fabric *fabric)
{
	read_messages(fabric);
	read_events(fabric);
}

/* ---- a channel ---- */

static int
make_pieces(struct channel *channel)
{
	struct fabric *fabric = channel->fabric;
	size_t size = 2 * FABRIC_PIECES * sizeof(*channel->pieces);
	channel->pieces = calloc(1, size);
	if (channel->pieces == NULL)
		return fail(fabric->text, &fabric->net->calls, "a channel", FI_ENOMEM);
	int rc = fi_mr_reg(fabric->domain, channel->pieces, size, FI_SEND | FI_RECV, 0,
		fabric->key++, 0, &channel->region, NULL);
	return rc == 0 ? 0 : fail(fabric->text, &fabric->net->calls, "fi_mr_reg", rc);
}

static int
open_endpoint(struct channel *channel, struct fi_info *info)
{
	struct fabric *fabric = channel->fabric;
	const struct fabric_calls *calls = &fabric->net->calls;
	int rc = fi_endpoint(fabric->domain, info, &channel->endpoint, NULL);
	if (rc != 0)
		return fail(fabric->text, calls, "fi_endpoint", rc);
	rc = fi_ep_bind(channel->endpoint, &fabric->eq->fid, 0);
	if (rc == 0)
		rc = fi_ep_bind(channel->endpoint, &fabric->cq->fid, FI_SEND | FI_RECV);
	if (rc == 0)
		rc = fi_enable(channel->endpoint);
	return rc == 0 ? 0 : fail(fabric->text, calls, "fi_enable", rc);
}

static int
post_all(struct channel *channel)
{
	for (size_t i = 0; i < 2 * FABRIC_PIECES; i++) {
		struct fabric_piece *piece = &channel->pieces[i];
		piece->channel = channel;
		if (i < FABRIC_PIECES) {
			piece->next = channel->free;
			channel->free = piece;
		} else if (post_receive(channel, piece) != 0) {
			return fail(channel->fabric->text, &channel->fabric->net->calls,
				"fi_recv", channel->error);
		}
	}
	return 0;
}

static struct channel *
channel_new(struct fabric *fabric, struct fi_info *info, void *owner)
{
	struct channel *channel = calloc(1, sizeof(*channel));
	if (channel == NULL) {
		fail(fabric->text, &fabric->net->calls, "a channel", FI_ENOMEM);
		return NULL;
	}
	channel->fabric = fabric;
	channel->owner = owner;
	channel->came_end = &channel->came;
	channel->credits = FABRIC_PIECES;
	channel->next = fabric->all;
	fabric->all = channel;
	if (make_pieces(channel) == 0 && open_endpoint(channel, info) == 0 &&
		post_all(channel) == 0)
		return channel;
	channel_close(channel);
	return NULL;
}

struct channel *
channel_connect(struct fabric *fabric, void *owner)
{
	struct fabric_greeting greeting = fabric_greet();
	struct channel *channel = channel_new(fabric, fabric->net->info, owner);
	if (channel == NULL)
		return NULL;
	int rc = fi_connect(
		channel->endpoint, fabric->net->info->dest_addr, &greeting, sizeof(greeting));
	if (rc == 0)
		return channel;
	fail(fabric->text, &fabric->net->calls, "fi_connect", rc);
	channel_close(channel);
	return NULL;
}

struct channel *
channel_accept(struct fabric *fabric, struct fi_info *info, void *owner)
{
	struct fabric_greeting greeting = fabric_greet();
	struct channel *channel = channel_new(fabric, info, owner);
	if (channel == NULL)
		return NULL;
	int rc = fi_accept(channel->endpoint, &greeting, sizeof(greeting));
	if (rc == 0)
		return channel;
	fail(fabric->text, &fabric->net->calls, "fi_accept", rc);
	channel_close(channel);
	return NULL;
}

void
channel_close(struct channel *channel)
{
	struct fabric *fabric = channel->fabric;
	struct channel **at = &fabric->all;
	channel->is_closed = true; /* prevents further posts */
	read_events(fabric);
	if (channel->endpoint != NULL)
		fi_close(&channel->endpoint->fid);
	if (fabric->cq != NULL)
		read_messages(fabric);
	forget_news(channel);
	while (*at != channel)
		at = &(*at)->next;
	*at = channel->next;
	if (channel->region != NULL)
		fi_close(&channel->region->fid);
	free(channel->pieces);
	free(channel);
}

const char *
channel_failure(const struct channel *channel)
{
	return channel->fabric->net->calls.strerror(channel->error);
}

/* ---- bytes ---- */

bool
channel_can_write(const struct channel *channel)
{
	return channel->is_connected && !channel->is_closed && channel->credits > 1 &&
		channel->free != NULL && channel->free->next != NULL;
}

ssize_t
channel_write(struct channel *channel, const void *bytes, size_t size)
{
	size_t sent = 0;
	while (sent < size && channel_can_write(channel)) {
		size_t some = size - sent < FABRIC_PIECE ? size - sent : FABRIC_PIECE;
		memcpy(channel->free->bytes + HEAD, (const char *)bytes + sent, some);
		if (!send_piece(channel, some))
			break;
		sent += some;
	}
	if (sent > 0 || size == 0)
		return (ssize_t)sent;
	errno = channel->is_closed ? EPIPE : EAGAIN;
	return -1;
}

ssize_t
channel_read(struct channel *channel, void *to, size_t size)
{
	size_t read = 0;
	while (read < size && channel->came != NULL) {
		struct fabric_piece *piece = channel->came;
		size_t left = piece->end - piece->begin;
		size_t some = left < size - read ? left : size - read;
		memcpy((char *)to + read, piece->bytes + piece->begin, some);
		read += some;
		piece->begin += (uint32_t)some;
		if (piece->begin < piece->end)
			break;
		channel->came = piece->next;
		if (channel->came == NULL)
			channel->came_end = &channel->came;
		renew(channel, piece);
	}
	if (read > 0)
		return (ssize_t)read;
	errno = channel->error != 0 ? ECONNRESET : EAGAIN;
	return channel->is_closed && channel->error == 0 ? 0 : -1;
}
