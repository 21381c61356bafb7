/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libfabric channels.
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

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <rdma/fi_errno.h>

enum {
	HEAD = sizeof(uint32_t), /* header of a message: credits */
	OWED_MOST = FABRIC_PIECES / 2,
	COMPLETIONS = 32 /* per call */
};

struct fabric_piece {
	struct fi_context2 context; /* for the provider; must be the first member */
	struct channel *channel;
	struct fabric_piece *next;
	uint32_t begin, end; /* unread part of `bytes` */
	char bytes[HEAD + FABRIC_PIECE];
};

/* ---- the part of one thread ---- */

static int
watch(struct fabric *fabric, struct fid *fid)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = -1, rc = fi_control(fid, FI_GETWAIT, &fd);
	if (rc != 0)
		return fabric_fail(fabric->text, &fabric->net->calls, "FI_GETWAIT", rc);
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
		return fabric_fail(fabric->text, calls, "fi_domain", rc);
	rc = fi_cq_open(fabric->domain, &cq, &fabric->cq, NULL);
	if (rc != 0)
		return fabric_fail(fabric->text, calls, "fi_cq_open", rc);
	rc = fi_eq_open(net->fabric, &eq, &fabric->eq, NULL);
	if (rc != 0)
		return fabric_fail(fabric->text, calls, "fi_eq_open", rc);
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
		return fabric_fail(fabric->text, &fabric->net->calls, "a channel", FI_ENOMEM);
	int rc = fi_mr_reg(fabric->domain, channel->pieces, size, FI_SEND | FI_RECV, 0,
		fabric->key++, 0, &channel->region, NULL);
	return rc == 0 ? 0 : fabric_fail(fabric->text, &fabric->net->calls, "fi_mr_reg", rc);
}

static int
open_endpoint(struct channel *channel, struct fi_info *info)
{
	struct fabric *fabric = channel->fabric;
	const struct fabric_calls *calls = &fabric->net->calls;
	int rc = fi_endpoint(fabric->domain, info, &channel->endpoint, NULL);
	if (rc != 0)
		return fabric_fail(fabric->text, calls, "fi_endpoint", rc);
	rc = fi_ep_bind(channel->endpoint, &fabric->eq->fid, 0);
	if (rc == 0)
		rc = fi_ep_bind(channel->endpoint, &fabric->cq->fid, FI_SEND | FI_RECV);
	if (rc == 0)
		rc = fi_enable(channel->endpoint);
	return rc == 0 ? 0 : fabric_fail(fabric->text, calls, "fi_enable", rc);
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
			return fabric_fail(channel->fabric->text, &channel->fabric->net->calls,
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
		fabric_fail(fabric->text, &fabric->net->calls, "a channel", FI_ENOMEM);
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
	fabric_fail(fabric->text, &fabric->net->calls, "fi_connect", rc);
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
	fabric_fail(fabric->text, &fabric->net->calls, "fi_accept", rc);
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
