/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The answers to the batches of a link. They come in the order of the requests, except late ones:
 * the server announces these in their place, and sends them later with the number of the request.
 */
#include "link.h"

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
	return link_send_again(link);
}

/** Take the head of a batch of answers. Sets *is_whole if it has arrived. NB_OK or a failure. */
static int
take_head(struct link *link, bool *is_whole)
{
	struct nb_wire_head head;
	size_t size;
	char *bytes = stream_front(&link->stream, &size);
	link->need = LINK_HEAD;
	*is_whole = size >= LINK_HEAD;
	if (!*is_whole)
		return NB_OK;
	memcpy(&head, bytes, LINK_HEAD);
	if (head.magic != NB_WIRE_MAGIC || head.kind != NB_WIRE_BATCH)
		return garbage(link);
	if (head.flags == NB_WIRE_FAILED || head.flags == NB_WIRE_BROKEN) {
		int length = (int)(head.count < 512 ? head.count : 512);
		link->need = LINK_HEAD + (size_t)length;
		*is_whole = size >= link->need;
		return *is_whole ? stream_fail(&link->stream, "%.*s", length, bytes + LINK_HEAD)
				 : NB_OK;
	}
	stream_consume(&link->stream, LINK_HEAD);
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
