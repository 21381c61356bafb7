/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NET_LINK_H
#define NET_LINK_H
/**
 * A connection of a session to one server. It sends requests in batches. Answers arrive in the
 * order of the requests, except late answers (mininb/wire.h).
 */
#include "../common/plugin.h"
#include "../remote/stream.h"

#include <mininb/wire.h>

enum { LINK_HEAD = sizeof(struct nb_wire_head) };

/** A request without an answer. */
struct flying {
	uint64_t tag;
	struct nb_step *steps; /* of an execute */
	uint32_t step_count, verb;
	uint64_t size; /* of key and value */
};

/** A request that is answered late. It is in the list of its number modulo the ring size. */
struct late {
	struct flying flying;
	uint32_t number;
	struct late *next;
};

/** A batch that was sent and is not completely answered. */
struct sent {
	size_t size;    /* bytes in `kept` */
	uint32_t count; /* number of requests */
	uint32_t left;  /* unanswered requests */
};

struct link {
	struct stream stream;
	const struct nb_host *host;
	struct nb_wire_hello hello;
	uint64_t view;
	struct flying *flying;      /* a ring */
	uint32_t mask, head, tail;  /* head, tail: counts of answered and added requests */
	struct late *late;          /* as many elements; NULL before the first late answer */
	struct late **lists, *free; /* lists by number, and the unused elements */
	uint32_t late_count;
	struct sent *sent; /* a ring of the same size */
	uint32_t sent_head, sent_tail;
	struct buffer kept; /* from kept_begin on: bytes of the batches in `sent` */
	size_t kept_begin;
	uint32_t refused; /* number of batches refused for their view: to be sent again */
	/* The current batch: its bytes are at the end of the stream's output. */
	bool is_making, is_sized; /* is_sized, final: sizes differ, requests carry them */
	bool has_value_size;      /* value_size is from a request, not from the host */
	uint32_t making, key_size, value_size;
	size_t made; /* bytes of the batch */
	/* The current batch of answers. */
	uint32_t answers, answer_size;
	bool is_late; /* late answers, which begin with the request's number */
	size_t need;  /* minimum bytes of the next answer */
};

/**
 * Connect and exchange hellos. `room`: maximum number of requests in flight. `value_size`: as the
 * host expects; 0: unknown. Returns NB_OK or a failure; a failed link needs no close.
 */
int
link_open(struct link *link, const struct nb_host *host, const char *address,
	const struct stream_options *options, uint64_t room, uint64_t value_size);

void
link_close(struct link *link);

/** Whether link_add() may be called: the ring has room, and no batch must be sent again. */
static inline bool
link_has_room(const struct link *link)
{
	return link->tail - link->head <= link->mask && link->refused == 0;
}

/**
 * Add a request to the current batch. Returns NB_OK, NB_UNSUPPORTED if the key or value is too
 * long, or a failure of the connection.
 */
int
link_add(struct link *link, const struct nb_request *request);

/** End the current batch. Send if at least `least` bytes are unsent. Returns NB_OK or a failure. */
int
link_send(struct link *link, size_t least);

/** All batches in flight were refused: send them again with the new view. */
int
link_send_again(struct link *link);

/**
 * Take the received answers, at most `room`. Adds the sizes of their requests to *bytes. Returns
 * NB_OK or a failure.
 */
int
link_take(struct link *link, struct nb_completion *out, size_t room, size_t *count,
	uint64_t *bytes);

/**
 * Send a frame for the whole database, and receive the text of its answer. No request may be in
 * flight. Returns as link_exchange().
 */
int
link_ask(struct link *link, uint32_t kind, uint32_t upto, struct buffer *text);

/**
 * Send a frame other than a batch, with `key` after its head. Receive its answer into *head and
 * `text`. No request may be in flight. Returns NB_OK, or a failure of the connection or the engine.
 */
int
link_exchange(
	struct link *link, struct nb_wire_head *head, struct nb_slice key, struct buffer *text);

#endif /* NET_LINK_H */
