/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Batches of requests.
 *
 * The requests of one submit are one batch, with one head and one write. If all keys of a link have
 * the same size, and all values too, requests do not carry their sizes: 17 bytes for a key and a
 * value of 8 bytes. After the first different size, all requests of the link carry sizes.
 *
 * The link keeps a copy of each batch until it is answered. If the server refuses a batch because
 * its view has changed, it also refuses all later batches in flight. The link then sends no new
 * batch until the server has refused them all. It sends them again in order, with the new view.
 * So requests of a key keep their order.
 */
#include "link.h"

#define ADMIN_NS (UINT64_C(36000) * STREAM_SECOND_NS) /* a reset or a settle can take long */

enum { RECORD_HEAD = 13, STEP_HEAD = 21 };

/* ---- open and close ---- */

static int
receive_head(struct link *link, struct nb_wire_head *head, uint64_t timeout_ns)
{
	size_t size;
	int rc = stream_receive(&link->stream, LINK_HEAD, timeout_ns);
	if (rc != NB_OK)
		return rc;
	memcpy(head, stream_front(&link->stream, &size), LINK_HEAD);
	stream_consume(&link->stream, LINK_HEAD);
	return head->magic == NB_WIRE_MAGIC
		? NB_OK
		: stream_fail(&link->stream,
			  "this is not a mininb serve: it does not answer "
			  "in its compact protocol");
}

/** Receive the text of an answer, which has `size` bytes. Appends a NUL. */
static int
receive_text(struct link *link, size_t size, struct buffer *text, uint64_t timeout_ns)
{
	size_t have;
	int rc = stream_receive(&link->stream, size, timeout_ns);
	if (rc != NB_OK)
		return rc;
	if (!buffer_set(text, stream_front(&link->stream, &have), size) ||
		!buffer_add(text, "", 1))
		return stream_fail(&link->stream, "out of memory for %zu bytes", size);
	stream_consume(&link->stream, size);
	return NB_OK;
}

static int
send_head(struct link *link, const struct nb_wire_head *head, uint64_t timeout_ns)
{
	char *to = stream_room(&link->stream, LINK_HEAD);
	if (to == NULL)
		return NB_FAIL;
	memcpy(to, head, LINK_HEAD);
	stream_wrote(&link->stream, LINK_HEAD);
	return stream_flush(&link->stream, timeout_ns);
}

static int
greet(struct link *link)
{
	struct nb_wire_head head = {
		.magic = NB_WIRE_MAGIC, .kind = NB_WIRE_HELLO, .count = NB_WIRE_VERSION};
	struct buffer text = {NULL, 0, 0};
	int rc = send_head(link, &head, 10 * STREAM_SECOND_NS);
	if (rc == NB_OK)
		rc = receive_head(link, &head, 10 * STREAM_SECOND_NS);
	if (rc == NB_OK)
		rc = receive_text(link, head.count < 4096 ? head.count : 4096, &text,
			10 * STREAM_SECOND_NS);
	if (rc == NB_OK && head.flags != NB_WIRE_DONE)
		rc = stream_fail(&link->stream, "%s", text.data);
	else if (rc == NB_OK &&
		(head.kind != NB_WIRE_HELLO || text.size <= sizeof(link->hello)))
		rc = stream_fail(&link->stream, "the server's hello is too short");
	if (rc == NB_OK)
		memcpy(&link->hello, text.data, sizeof(link->hello));
	link->hello.engine[sizeof(link->hello.engine) - 1] = '\0';
	link->hello.version[sizeof(link->hello.version) - 1] = '\0';
	link->view = head.view;
	free(text.data);
	return rc;
}

int
link_open(struct link *link, const struct nb_host *host, const char *address,
	const struct stream_options *options, uint64_t room, uint64_t value_size)
{
	uint32_t size = 1;
	*link = (struct link){.host = host};
	int rc = stream_open(&link->stream, host, address, options);
	if (rc != NB_OK)
		return rc;
	while (size < room)
		size *= 2;
	link->mask = size - 1;
	link->value_size = value_size < UINT32_MAX ? (uint32_t)value_size : 0;
	link->flying = malloc(size * sizeof(*link->flying));
	link->sent = malloc(size * sizeof(*link->sent));
	rc = link->flying != NULL && link->sent != NULL
		? greet(link)
		: stream_fail(&link->stream, "out of memory for %u requests", size);
	if (rc != NB_OK)
		link_close(link);
	return rc;
}

void
link_close(struct link *link)
{
	stream_close(&link->stream);
	free(link->flying);
	free(link->sent);
	free(link->late);
	free(link->lists);
	free(link->kept.data);
	*link = (struct link){.host = NULL};
}

/* ---- requests ---- */

static inline char *
put_u32(char *to, size_t number)
{
	uint32_t word = (uint32_t)number;
	memcpy(to, &word, sizeof(word));
	return to + sizeof(word);
}

static inline char *
put_u64(char *to, uint64_t number)
{
	memcpy(to, &number, sizeof(number));
	return to + sizeof(number);
}

static inline char *
put_bytes(char *to, struct nb_slice bytes)
{
	if (bytes.size == 8) /* a constant size is faster; this one is the most frequent */
		memcpy(to, bytes.data, 8);
	else if (bytes.size > 0)
		memcpy(to, bytes.data, bytes.size);
	return to + bytes.size;
}

static inline bool
has_value(uint32_t verb)
{
	return verb == NB_REQ_PUT || verb == NB_REQ_INSERT;
}

/**
 * Whether the request needs no sizes. The first request sets the size of keys, and the first
 * request with a value that of values.
 */
static inline bool
is_fixed(struct link *link, const struct nb_request *request)
{
	if (request->verb == NB_REQ_EXECUTE)
		return true; /* an execute always carries sizes */
	if (link->key_size == 0)
		link->key_size = (uint32_t)request->key.size;
	if (has_value(request->verb) && !link->has_value_size) {
		link->value_size = (uint32_t)request->value.size;
		link->has_value_size = true;
	}
	return request->key.size == link->key_size &&
		(!has_value(request->verb) || request->value.size == link->value_size);
}

static size_t
bound_of(const struct nb_request *request)
{
	size_t bound = RECORD_HEAD + request->key.size + request->value.size;
	for (uint64_t i = 0; request->verb == NB_REQ_EXECUTE && i < request->step_count; i++)
		bound += STEP_HEAD + request->steps[i].key.size + request->steps[i].value.size;
	return bound;
}

static bool
step_has_value(uint32_t verb)
{
	return verb == NB_STEP_PUT || verb == NB_STEP_INSERT || verb == NB_STEP_PUT_IF_NEWER;
}

static char *
encode_steps(char *to, const struct nb_request *request)
{
	to = put_u32(to, request->flags);
	to = put_u32(to, (size_t)request->step_count);
	for (uint64_t i = 0; i < request->step_count; i++) {
		const struct nb_step *step = &request->steps[i];
		struct nb_slice value = step_has_value(step->verb) ? step->value
								   : (struct nb_slice){NULL, 0};
		*to++ = (char)step->verb;
		to = put_u32(to, step->skips);
		to = put_u64(to, step->operand);
		to = put_u32(to, step->key.size);
		to = put_u32(to, value.size);
		to = put_bytes(put_bytes(to, step->key), value);
	}
	return to;
}

static inline char *
encode(const struct link *link, char *to, const struct nb_request *request)
{
	uint32_t verb = request->verb;
	*to++ = (char)verb;
	if (verb == NB_REQ_EXECUTE)
		return encode_steps(to, request);
	if (!link->is_sized) {
		to = put_bytes(to, request->key);
		return verb == NB_REQ_MERGE ? put_u64(to, request->operand)
			: has_value(verb)   ? put_bytes(to, request->value)
					    : to;
	}
	to = put_u32(to, request->key.size);
	if (has_value(verb))
		to = put_u32(to, request->value.size);
	else if (verb == NB_REQ_MERGE)
		to = put_u64(to, request->operand);
	to = put_bytes(to, request->key);
	return has_value(verb) ? put_bytes(to, request->value) : to;
}

static int
begin_batch(struct link *link)
{
	if (stream_room(&link->stream, LINK_HEAD) == NULL)
		return NB_FAIL;
	stream_wrote(&link->stream, LINK_HEAD);
	link->is_making = true;
	link->made = LINK_HEAD;
	link->making = 0;
	return NB_OK;
}

/** Set the head of the current batch, and keep a copy of the batch. */
static int
end_batch(struct link *link)
{
	struct stream_buffer *out = &link->stream.out;
	struct nb_wire_head head = {.magic = NB_WIRE_MAGIC,
		.kind = NB_WIRE_BATCH,
		.flags = NB_WIRE_MAY_BE_LATE | (link->is_sized ? 0 : NB_WIRE_FIXED),
		.count = link->making,
		.view = link->view,
		.key_size = link->key_size,
		.value_size = link->value_size};
	char *begin = out->bytes + out->end - link->made;
	if (head.key_size == 0)
		head.flags = NB_WIRE_MAY_BE_LATE; /* executes only: no size is known */
	memcpy(begin, &head, LINK_HEAD);
	link->is_making = false;
	if (link->sent_head == link->sent_tail)
		link->kept.size = link->kept_begin = 0;
	if (!buffer_add(&link->kept, begin, link->made))
		return stream_fail(&link->stream, "out of memory");
	link->sent[link->sent_tail++ & link->mask] = (struct sent){
		link->made, link->making, link->making};
	return NB_OK;
}

static inline int
check_sizes(const struct link *link, const struct nb_request *request)
{
	const struct nb_wire_hello *hello = &link->hello;
	if (__builtin_expect(request->key.size <= hello->key_size_max &&
			    request->value.size <= hello->value_size_max,
		    1))
		return NB_OK;
	return link->host->fail(NB_UNSUPPORTED,
		"%s: %s takes keys of at most %llu bytes and values of at most %llu, not of %zu and %zu",
		link->stream.address, hello->engine, (unsigned long long)hello->key_size_max,
		(unsigned long long)hello->value_size_max, request->key.size,
		request->value.size);
}

int
link_add(struct link *link, const struct nb_request *request)
{
	size_t bound = bound_of(request);
	int rc = check_sizes(link, request);
	if (__builtin_expect(rc != NB_OK, 0))
		return rc;
	if (__builtin_expect(!link->is_sized && !is_fixed(link, request), 0)) {
		rc = link->is_making ? end_batch(link) : NB_OK;
		link->is_sized = true;
	}
	if (rc == NB_OK && !link->is_making)
		rc = begin_batch(link);
	char *to = rc == NB_OK ? stream_room(&link->stream, bound) : NULL;
	if (to == NULL)
		return rc != NB_OK ? rc : NB_FAIL;
	size_t size = (size_t)(encode(link, to, request) - to);
	stream_wrote(&link->stream, size);
	link->made += size;
	link->making++;
	link->flying[link->tail++ & link->mask] = (struct flying){.tag = request->tag,
		.steps = request->steps,
		.step_count = (uint32_t)request->step_count,
		.verb = request->verb,
		.size = request->key.size + request->value.size};
	return NB_OK;
}

int
link_send(struct link *link, size_t least)
{
	int rc = link->is_making ? end_batch(link) : NB_OK;
	return rc == NB_OK && stream_unsent(&link->stream) >= least ? stream_push(&link->stream)
								    : rc;
}

int
link_send_again(struct link *link)
{
	char *from = link->kept.data + link->kept_begin;
	size_t size = link->kept.size - link->kept_begin;
	for (uint32_t i = link->sent_head; i != link->sent_tail; i++) {
		memcpy(from + offsetof(struct nb_wire_head, view), &link->view,
			sizeof(link->view));
		from += link->sent[i & link->mask].size;
	}
	char *to = stream_room(&link->stream, size);
	if (to == NULL)
		return NB_FAIL;
	memcpy(to, link->kept.data + link->kept_begin, size);
	stream_wrote(&link->stream, size);
	link->refused = 0;
	return stream_push(&link->stream);
}

/* ---- frames for the whole database ---- */

int
link_exchange(
	struct link *link, struct nb_wire_head *head, struct nb_slice key, struct buffer *text)
{
	char *to = stream_room(&link->stream, LINK_HEAD + key.size);
	if (to == NULL)
		return NB_FAIL;
	memcpy(to, head, LINK_HEAD);
	put_bytes(to + LINK_HEAD, key);
	stream_wrote(&link->stream, LINK_HEAD + key.size);
	int rc = stream_flush(&link->stream, ADMIN_NS);
	if (rc == NB_OK)
		rc = receive_head(link, head, ADMIN_NS);
	if (rc == NB_OK)
		rc = receive_text(link, head->count, text, ADMIN_NS);
	if (rc != NB_OK || head->flags == NB_WIRE_DONE)
		return rc;
	if (head->flags == NB_WIRE_FAILED)
		return link->host->fail(
			head->key_size == (uint32_t)-NB_UNSUPPORTED ? NB_UNSUPPORTED : NB_FAIL,
			"%s: %s", link->stream.address, text->data);
	return stream_fail(&link->stream, "%s", text->data);
}

int
link_ask(struct link *link, uint32_t kind, uint32_t upto, struct buffer *text)
{
	struct nb_wire_head head = {.magic = NB_WIRE_MAGIC,
		.kind = (uint8_t)kind,
		.count = upto,
		.view = link->view};
	return link_exchange(link, &head, (struct nb_slice){NULL, 0}, text);
}
