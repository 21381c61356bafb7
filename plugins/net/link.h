/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NET_LINK_H
#define NET_LINK_H
/**
 * A session's connection to one server: requests go there in batches, and answers come back in
 * the order of the requests (mininb/wire.h).
 */
#include "../common/plugin.h"
#include "../remote/stream.h"

#include <mininb/wire.h>

/** A request that is not answered. */
struct flying {
	uint64_t tag;
	struct nb_step *steps; /* of an execute */
	uint32_t step_count, verb;
	uint64_t size; /* of key and value */
};

/** A request whose answer comes late: in a list of those whose numbers end alike. */
struct late {
	struct flying flying;
	uint32_t number;
	struct late *next;
};

/** A batch that was sent and not answered as a whole. */
struct sent {
	size_t size;    /* of its bytes in `kept` */
	uint32_t count; /* requests, and of them not answered: */
	uint32_t left;
};

struct link {
	struct stream stream;
	const struct nb_host *host;
	struct nb_wire_hello hello;
	uint64_t view;
	struct flying *flying;      /* a ring */
	uint32_t mask, head, tail;  /* counts of requests answered and added */
	struct late *late;          /* room for as many, from the first late answer on, */
	struct late **lists, *free; /* their lists, and those that are free */
	uint32_t late_count;
	struct sent *sent; /* a ring of the same size */
	uint32_t sent_head, sent_tail;
	struct buffer kept; /* bytes of the batches in `sent`, from kept_begin on */
	size_t kept_begin;
	uint32_t refused; /* batches whose view was wrong, to be sent again */
	/* the batch that is being made: its bytes are at the end of the stream's output */
	bool is_making, is_sized; /* is_sized: for good, since sizes differ */
	bool has_value_size;      /* of a request, and not what the host expects */
	uint32_t making, key_size, value_size;
	size_t made; /* bytes of it */
	/* the batch of answers that is being read */
	uint32_t answers, answer_size;
	bool is_late; /* they were announced, and begin with their requests' numbers */
	size_t need;  /* bytes of the next answer, at least */
};

/** Connect and say hello. `room`: requests in flight, at most. NB_OK, or nothing is to close. */
int
link_open(struct link *link, const struct nb_host *host, const char *address,
	const struct stream_options *options, uint64_t room, uint64_t value_size);

void
link_close(struct link *link);

/** Whether a request may be added: there is room, and no batch waits to be sent again. */
static inline bool
link_has_room(const struct link *link)
{
	return link->tail - link->head <= link->mask && link->refused == 0;
}

/** Add a request to the batch that is being made. NB_OK or a failure of the connection. */
int
link_add(struct link *link, const struct nb_request *request);

/** Send the batch. */
int
link_send(struct link *link);

/** Answers that are there, at most `room`; *bytes of their requests. NB_OK or a failure. */
int
link_take(struct link *link, struct nb_completion *out, size_t room, size_t *count,
	uint64_t *bytes);

/** A frame for the whole database, and the text of its answer in `text`. Nothing is in flight. */
int
link_ask(struct link *link, uint32_t kind, uint32_t upto, struct buffer *text);

/**
 * A frame that is no batch, with `key` after its head, and its answer: *head and `text`. Nothing is
 * in flight. NB_OK, or a failure, which may be the engine's.
 */
int
link_exchange(
	struct link *link, struct nb_wire_head *head, struct nb_slice key, struct buffer *text);

#endif /* NET_LINK_H */
