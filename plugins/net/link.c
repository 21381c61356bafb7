/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Batches of requests and their answers.
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

enum { HEAD = sizeof(struct nb_wire_head), RECORD_HEAD = 13, STEP_HEAD = 21 };

/* ---- open and close ---- */

static int
receive_head(struct link *link, struct nb_wire_head *head, uint64_t timeout_ns)
{
	size_t size;
	int rc = stream_receive(&link->stream, HEAD, timeout_ns);
	if (rc != NB_OK)
		return rc;
	memcpy(head, stream_front(&link->stream, &size), HEAD);
	stream_consume(&link->stream, HEAD);
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
	char *to = stream_room(&link->stream, HEAD);
	if (to == NULL)
		return NB_FAIL;
	memcpy(to, head, HEAD);
	stream_wrote(&link->stream, HEAD);
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
	if (stream_room(&link->stream, HEAD) == NULL)
		return NB_FAIL;
	stream_wrote(&link->stream, HEAD);
	link->is_making = true;
	link->made = HEAD;
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
	memcpy(begin, &head, HEAD);
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
link_send(struct link *link)
{
	int rc = link->is_making ? end_batch(link) : NB_OK;
	return rc == NB_OK ? stream_push(&link->stream) : rc;
}

/** All batches in flight were refused: send them again with the new view. */
static int
send_again(struct link *link)
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

/* ---- answers ---- */

static int
garbage(struct link *link)
{
	return stream_fail(&link->stream, "the server's answer does not follow the protocol");
}

/** The server has refused the next batch in flight, without an answer to any of its requests. */
static int
note_refusal(struct link *link, const struct nb_wire_head *head)
{
	uint32_t number = link->sent_head + link->refused;
	const struct sent *sent = &link->sent[number & link->mask];
	if (number == link->sent_tail || sent->left != sent->count ||
		head->count != sent->count || head->view == link->view)
		return garbage(link);
	link->refused++;
	if (number + 1 != link->sent_tail)
		return NB_OK;
	link->view = head->view;
	return send_again(link);
}

/** Take the head of a batch of answers. Sets *is_whole if it has arrived. NB_OK or a failure. */
static int
take_head(struct link *link, bool *is_whole)
{
	struct nb_wire_head head;
	size_t size;
	char *bytes = stream_front(&link->stream, &size);
	link->need = HEAD;
	*is_whole = size >= HEAD;
	if (!*is_whole)
		return NB_OK;
	memcpy(&head, bytes, HEAD);
	if (head.magic != NB_WIRE_MAGIC || head.kind != NB_WIRE_BATCH)
		return garbage(link);
	if (head.flags == NB_WIRE_FAILED || head.flags == NB_WIRE_BROKEN) {
		int length = (int)(head.count < 512 ? head.count : 512);
		link->need = HEAD + (size_t)length;
		*is_whole = size >= link->need;
		return *is_whole ? stream_fail(&link->stream, "%.*s", length, bytes + HEAD)
				 : NB_OK;
	}
	stream_consume(&link->stream, HEAD);
	if (head.flags == NB_WIRE_VIEW)
		return note_refusal(link, &head);
	link->is_late = head.flags == NB_WIRE_FOLLOWS;
	if ((head.flags != NB_WIRE_DONE && !link->is_late) || link->refused > 0 ||
		head.count > (link->is_late ? link->late_count : link->tail - link->head))
		return garbage(link);
	link->answers = head.count;
	link->answer_size = head.value_size;
	return NB_OK;
}

/**
 * Decode a u32 length at offset `at` and the value that follows. Returns the offset of its end, or
 * 0 if `size` bytes do not contain all of it. Sets *need to the bytes required so far.
 */
static size_t
sized(const char *bytes, size_t at, size_t size, struct nb_slice *value, size_t *need)
{
	uint32_t length = 0;
	*need = at + sizeof(length);
	if (size < *need)
		return 0;
	memcpy(&length, bytes + at, sizeof(length));
	*value = (struct nb_slice){bytes + *need, length};
	*need += length;
	return size < *need ? 0 : *need;
}

/** Decode a failure. Moves its text one byte to the front to make room for a NUL. */
static size_t
parse_error(char *bytes, size_t size, struct nb_completion *out, size_t *need)
{
	uint16_t length;
	*need = 1 + sizeof(length);
	if (size < *need)
		return 0;
	memcpy(&length, bytes + 1, sizeof(length));
	*need += length;
	if (size < *need)
		return 0;
	memmove(bytes + 2, bytes + 3, length);
	bytes[2 + length] = '\0';
	out->error = bytes + 2;
	return *need;
}

/** Decode the answers of the steps. They are complete only if the result is not 0. */
static size_t
parse_steps(const struct flying *flying, const char *bytes, size_t size, size_t *need)
{
	size_t at = 1;
	for (uint32_t i = 0; i < flying->step_count; i++) {
		struct nb_step *step = &flying->steps[i];
		*need = at + 1;
		if (size < *need)
			return 0;
		step->answer = (signed char)bytes[at++];
		if (step->answer < 0) {
			uint16_t length;
			*need = at + sizeof(length);
			if (size < *need)
				return 0;
			memcpy(&length, bytes + at, sizeof(length));
			at += sizeof(length) + length;
		} else if (step->verb == NB_STEP_GET && step->answer == NB_OK) {
			at = sized(bytes, at, size, &step->value, need);
			if (at == 0)
				return 0;
		}
	}
	*need = at;
	return size < at ? 0 : at;
}

/** Decode an answer. Returns its size; 0: incomplete; SIZE_MAX: violates the protocol. */
static inline size_t
parse_answer(struct link *link, const struct flying *flying, char *bytes, size_t size,
	struct nb_completion *out)
{
	link->need = 1;
	if (size == 0)
		return 0;
	int answer = (signed char)bytes[0];
	*out = (struct nb_completion){.tag = flying->tag, .answer = answer};
	if (answer < 0)
		return parse_error(bytes, size, out, &link->need);
	if (flying->verb == NB_REQ_GET && answer == NB_OK) {
		link->need = 1 + (size_t)link->answer_size;
		out->value = (struct nb_slice){bytes + 1, link->answer_size};
		return size < link->need ? 0 : link->need;
	}
	if (flying->verb == NB_REQ_GET && answer == NB_WIRE_SIZED) {
		out->answer = NB_OK;
		return sized(bytes, 1, size, &out->value, &link->need);
	}
	if (flying->verb == NB_REQ_EXECUTE && answer == NB_OK)
		return parse_steps(flying, bytes, size, &link->need);
	return answer > NB_EXISTS && answer != NB_WIRE_LATE ? SIZE_MAX : 1;
}

static inline void
note_answer(struct link *link, uint32_t count)
{
	link->head += count;
	while (count > 0) {
		struct sent *sent = &link->sent[link->sent_head & link->mask];
		uint32_t some = count < sent->left ? count : sent->left;
		sent->left -= some;
		count -= some;
		if (sent->left > 0)
			break;
		link->kept_begin += sent->size;
		link->sent_head++;
	}
	/* More than half of the buffer is unused: move the rest to the front. */
	if (link->kept_begin > link->kept.size / 2) {
		link->kept.size -= link->kept_begin;
		memmove(link->kept.data, link->kept.data + link->kept_begin, link->kept.size);
		link->kept_begin = 0;
	}
}

/* ---- late answers ---- */

static bool
make_late(struct link *link)
{
	size_t room = (size_t)link->mask + 1;
	link->late = malloc(room * sizeof(*link->late));
	link->lists = calloc(room, sizeof(struct late *));
	for (size_t i = 0; link->late != NULL && i < room; i++) {
		link->late[i].next = link->free;
		link->free = &link->late[i];
	}
	return link->late != NULL && link->lists != NULL;
}

/** Remember that the request with this number will be answered late. */
static int
note_late(struct link *link, uint32_t number)
{
	if (link->late == NULL && !make_late(link))
		return stream_fail(&link->stream, "out of memory");
	struct late *late = link->free, **list = &link->lists[number & link->mask];
	if (late == NULL)
		return garbage(link);
	link->free = late->next;
	*late = (struct late){link->flying[number & link->mask], number, *list};
	*list = late;
	link->late_count++;
	return NB_OK;
}

/** Take a late answer. Returns as parse_answer(). */
static size_t
take_late(struct link *link, char *bytes, size_t size, struct nb_completion *out,
	uint64_t *request_bytes)
{
	uint32_t number;
	link->need = sizeof(number);
	if (size < sizeof(number))
		return 0;
	memcpy(&number, bytes, sizeof(number));
	struct late **at = link->lists != NULL ? &link->lists[number & link->mask] : NULL;
	while (at != NULL && *at != NULL && (*at)->number != number)
		at = &(*at)->next;
	if (at == NULL || *at == NULL)
		return SIZE_MAX;
	struct late *late = *at;
	size_t length = parse_answer(
		link, &late->flying, bytes + sizeof(number), size - sizeof(number), out);
	link->need += sizeof(number);
	if (length == 0 || length == SIZE_MAX || out->answer == NB_WIRE_LATE)
		return length == 0 ? 0 : SIZE_MAX;
	*request_bytes += late->flying.size;
	*at = late->next;
	late->next = link->free;
	link->free = late;
	link->late_count--;
	return sizeof(number) + length;
}

static int
take_late_answers(struct link *link, struct nb_completion *out, size_t room, size_t *count,
	uint64_t *bytes)
{
	size_t size, used = 0, i = 0, length = 1;
	char *front = stream_front(&link->stream, &size);
	while (i < room && link->answers > 0) {
		length = take_late(link, front + used, size - used, &out[i], bytes);
		if (length == 0 || length == SIZE_MAX)
			break;
		used += length;
		link->answers--;
		i++;
	}
	stream_consume(&link->stream, used);
	*count += i;
	return length == SIZE_MAX ? garbage(link) : NB_OK;
}

/** Take answers from the current batch, in the order of requests. Some announce a late answer. */
static int
take_answers(struct link *link, struct nb_completion *out, size_t room, size_t *count,
	uint64_t *bytes)
{
	size_t size, used = 0, done = 0;
	uint32_t most = room < link->answers ? (uint32_t)room : link->answers, i = 0;
	char *front = stream_front(&link->stream, &size);
	for (; i < most; i++) {
		const struct flying *flying = &link->flying[(link->head + i) & link->mask];
		size_t length = parse_answer(
			link, flying, front + used, size - used, &out[done]);
		if (length == 0)
			break;
		if (length == SIZE_MAX)
			return garbage(link);
		used += length;
		if (__builtin_expect(out[done].answer == NB_WIRE_LATE, 0)) {
			int rc = note_late(link, link->head + i);
			if (rc != NB_OK)
				return rc;
			continue;
		}
		*bytes += flying->size;
		done++;
	}
	stream_consume(&link->stream, used);
	link->answers -= i;
	note_answer(link, i);
	*count += done;
	return NB_OK;
}

int
link_take(struct link *link, struct nb_completion *out, size_t room, size_t *count,
	uint64_t *bytes)
{
	bool is_whole = true;
	int rc = NB_OK;
	*count = 0;
	while (rc == NB_OK && is_whole && *count < room &&
		(link->head != link->tail || link->late_count > 0)) {
		uint32_t before = link->answers;
		if (link->answers == 0) {
			rc = take_head(link, &is_whole);
			continue;
		}
		rc = (link->is_late ? take_late_answers : take_answers)(
			link, out + *count, room - *count, count, bytes);
		is_whole = link->answers < before;
	}
	if (*count > 0)
		stream_lend(&link->stream);
	return rc;
}

/* ---- frames for the whole database ---- */

int
link_exchange(
	struct link *link, struct nb_wire_head *head, struct nb_slice key, struct buffer *text)
{
	char *to = stream_room(&link->stream, HEAD + key.size);
	if (to == NULL)
		return NB_FAIL;
	memcpy(to, head, HEAD);
	put_bytes(to + HEAD, key);
	stream_wrote(&link->stream, HEAD + key.size);
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
