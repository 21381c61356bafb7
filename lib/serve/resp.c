/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses requests of RESP2 in place.
 *
 * A request may arrive in any number of pieces. The parsed part of an incomplete request is
 * not parsed again until the request is complete. So a client that sends byte by byte costs
 * no more than its bytes. A complete request is then parsed once more from its beginning,
 * to find its words.
 */
#include "serve/resp.h"

#include <inttypes.h>
#include <stdio.h>

bool
bytes_grow(struct bytes *bytes, size_t more)
{
	size_t room = bytes->size + more;
	room += room / 2 + 1024;
	char *data = realloc(bytes->data, room);
	if (data == NULL) {
		bytes->is_failed = true;
		return false;
	}
	bytes->data = data;
	bytes->room = room;
	return true;
}

enum { NUMBER_PART = -1, NUMBER_BROKEN = -2, HEAD_MAX = 16 };

/**
 * Parse a count between a mark and "\r\n". Returns the offset after it, or NUMBER_*. Redis
 * accepts a sign; a negative count is an empty request.
 */
static inline ptrdiff_t
parse_count(const char *bytes, size_t size, int64_t *out)
{
	bool is_negative = size > 1 && bytes[1] == '-';
	size_t at = is_negative ? 2 : 1;
	int64_t number = 0;
	for (; at < size && (unsigned char)(bytes[at] - '0') < 10 && at < HEAD_MAX; at++)
		number = number * 10 + (bytes[at] - '0');
	if (at + 1 >= size && at < HEAD_MAX && (at == size || bytes[at] == '\r'))
		return NUMBER_PART;
	if (at >= HEAD_MAX || bytes[at] != '\r' || bytes[at + 1] != '\n' ||
		at == (is_negative ? 2 : 1))
		return NUMBER_BROKEN;
	*out = is_negative ? -number : number;
	return (ptrdiff_t)at + 2;
}

static bool
add_word(struct resp_args *args, const char *data, size_t size)
{
	if (args->count == args->room) {
		size_t room = args->room == 0 ? 64 : 2 * args->room;
		struct nb_slice *items = realloc(args->items, room * sizeof(*items));
		if (items == NULL)
			return false;
		args->items = items;
		args->room = room;
	}
	args->items[args->count++] = (struct nb_slice){data, size};
	return true;
}

static int
fail(const char **error, const char *text)
{
	*error = text;
	return RESP_BROKEN;
}

static int
parse_line(struct resp_args *args, struct resp_state *state, const char *bytes, size_t size,
	size_t *used, const char **error)
{
	const char *end = memchr(bytes + state->at, '\n', size - state->at);
	if (end == NULL && size > RESP_LINE_MAX)
		return fail(error, "Protocol error: too big inline request");
	if (end == NULL) {
		state->at = size;
		*used = size + 1;
		return RESP_PART;
	}
	*used = (size_t)(end - bytes) + 1;
	*state = (struct resp_state){.at = 0};
	if (end > bytes && end[-1] == '\r')
		end--;
	for (const char *word = bytes; word < end;) {
		const char *from = word;
		while (word < end && *word != ' ' && *word != '\t')
			word++;
		if (word > from && !add_word(args, from, (size_t)(word - from)))
			return fail(error, "out of memory");
		word++;
	}
	return RESP_WHOLE;
}

/** Parse the words from state->at on; store them if `is_kept`: if that is the first word. */
static int
parse_words(struct resp_args *args, struct resp_state *state, bool is_kept, const char *bytes,
	size_t size, size_t word_max, size_t *used, const char **error)
{
	while (state->left > 0) {
		int64_t length = 0;
		size_t at = state->at;
		if (at == size) {
			*used = size + 1;
			return RESP_PART;
		}
		if (bytes[at] != '$')
			return fail(error, "Protocol error: expected '$'");
		ptrdiff_t head = parse_count(bytes + at, size - at, &length);
		if (head == NUMBER_PART) {
			*used = size + 1;
			return RESP_PART;
		}
		if (head < 0 || length < 0 || (uint64_t)length > word_max)
			return fail(error, "Protocol error: invalid bulk length");
		at += (size_t)head;
		size_t end = at + (size_t)length;
		if (size < end + 2) {
			*used = end + 2;
			return RESP_PART;
		}
		if (bytes[end] != '\r' || bytes[end + 1] != '\n')
			return fail(error, "Protocol error: a bulk string has no end");
		if (is_kept && !add_word(args, bytes + at, (size_t)length))
			return fail(error, "out of memory");
		state->at = end + 2;
		state->left--;
	}
	*used = state->at;
	return RESP_WHOLE;
}

int
resp_parse(struct resp_args *args, struct resp_state *state, const char *bytes, size_t size,
	size_t word_max, size_t *used, const char **error)
{
	args->count = 0;
	*used = size + 1;
	if (size == 0)
		return RESP_PART;
	if (bytes[0] != '*')
		return parse_line(args, state, bytes, size, used, error);
	bool is_resumed = state->at > 0;
	struct resp_state begin = *state;
	if (!is_resumed) {
		int64_t count = 0;
		ptrdiff_t head = parse_count(bytes, size, &count);
		if (head == NUMBER_PART)
			return RESP_PART;
		if (head < 0 || count > RESP_ARGS_MAX)
			return fail(error, "Protocol error: invalid multibulk length");
		begin = (struct resp_state){
			.at = (size_t)head, .left = count > 0 ? (uint32_t)count : 0};
	}
	int rc = parse_words(args, &begin, !is_resumed, bytes, size, word_max, used, error);
	*state = rc == RESP_WHOLE ? (struct resp_state){.at = 0} : begin;
	return rc == RESP_WHOLE && is_resumed
		? resp_parse(args, state, bytes, size, word_max, used, error)
		: rc;
}

/* ---- answers ---- */

void
resp_add_number(struct bytes *out, char mark, int64_t number)
{
	char text[24];
	size_t at = sizeof(text);
	uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
	text[--at] = '\n';
	text[--at] = '\r';
	do {
		text[--at] = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	if (number < 0)
		text[--at] = '-';
	text[--at] = mark;
	bytes_add(out, text + at, sizeof(text) - at);
}

void
resp_add_bulk(struct bytes *out, struct nb_slice value)
{
	enum { HEAD_AND_END = 26 };
	if (!bytes_reserve(out, value.size + HEAD_AND_END))
		return;
	resp_add_number(out, '$', (int64_t)value.size);
	bytes_add(out, value.data, value.size);
	BYTES_ADD_TEXT(out, "\r\n");
}

void
resp_add_error(struct bytes *out, const char *code, const char *text)
{
	BYTES_ADD_TEXT(out, "-");
	bytes_add(out, code, strlen(code));
	BYTES_ADD_TEXT(out, " ");
	for (; *text != '\0'; text++) {
		char c = *text == '\r' || *text == '\n' ? ' ' : *text;
		bytes_add(out, &c, 1);
	}
	BYTES_ADD_TEXT(out, "\r\n");
}

bool
resp_number(int64_t *out, struct nb_slice text)
{
	const char *digits = text.data;
	size_t at = text.size > 0 && digits[0] == '-' ? 1 : 0, first = at;
	uint64_t number = 0, most = (uint64_t)INT64_MAX + first;
	if (at == text.size || text.size > 20)
		return false;
	/* Redis rejects "-0" and leading zeros */
	if (digits[at] == '0' && text.size > 1)
		return false;
	for (; at < text.size; at++) {
		uint64_t digit = (unsigned char)(digits[at] - '0');
		if (digit > 9 || number > (most - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*out = first == 1 ? (int64_t)-number : (int64_t)number;
	return true;
}
