/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REDIS_RESP_H
#define REDIS_RESP_H
/**
 * RESP2, the protocol of Redis. Commands are written into a buffer, and replies are read in
 * place. Everything is static inline: hiredis, which allocates an object for each reply,
 * needs 1.3 to 3.4 times the CPU time at 64 requests in flight.
 *
 * A reply may be split anywhere. resp_read() reads one header, resp_skip() finds the end of
 * a complete reply. Both return 0 until enough bytes have arrived.
 */
#include <mininb/engine.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	RESP_DIGITS = 20,            /* of a 64-bit number */
	RESP_ROOM = RESP_DIGITS + 5, /* overhead of a bulk string */
	RESP_LINE_MAX = 64 << 10,    /* bytes of a status or an error */
	RESP_DEPTH = 8,              /* maximum nesting of arrays */
	RESP_BULK_MAX = 512 << 20,   /* Redis has proto-max-bulk-len = 512 MiB */
};

/** Result of resp_read() and resp_skip(): the bytes are not RESP2. */
#define RESP_BROKEN ((ptrdiff_t)-1)

/* --- commands --- */

static inline char *
resp_bytes(char *to, const void *data, size_t size)
{
	if (size != 0) /* data may be NULL if size is 0 */
		memcpy(to, data, size);
	return to + size;
}

static inline char *
resp_number(char *to, uint64_t number)
{
	char digits[RESP_DIGITS];
	size_t at = RESP_DIGITS;
	do
		digits[--at] = (char)('0' + number % 10);
	while ((number /= 10) != 0);
	return resp_bytes(to, digits + at, RESP_DIGITS - at);
}

static inline char *
resp_header(char *to, char type, uint64_t number)
{
	*to++ = type;
	to = resp_number(to, number);
	*to++ = '\r';
	*to++ = '\n';
	return to;
}

/** Begin a command with this number of arguments, including its name. */
static inline char *
resp_command(char *to, uint64_t arguments)
{
	return resp_header(to, '*', arguments);
}

/** Append an argument. It needs RESP_ROOM bytes in addition to its own. */
static inline char *
resp_bulk(char *to, const void *data, size_t size)
{
	to = resp_bytes(resp_header(to, '$', size), data, size);
	*to++ = '\r';
	*to++ = '\n';
	return to;
}

static inline char *
resp_slice(char *to, struct nb_slice slice)
{
	return resp_bulk(to, slice.data, slice.size);
}

/** Append bytes known at compile time: the fixed part of a command. */
#define RESP_TEXT(to, text) resp_bytes(to, text, sizeof(text) - 1)

/* --- replies --- */

enum { RESP_STATUS, RESP_ERROR, RESP_INTEGER, RESP_BULK, RESP_NIL, RESP_ARRAY };

/** A reply. For an array this is only the header; its elements follow. */
struct resp_reply {
	const char *text; /* status, error, bulk: points to the received bytes */
	size_t size;
	int64_t number; /* an integer, or the number of elements of an array */
	uint32_t type;  /* RESP_* */
};

/* Read a number up to "\r\n". Returns the size, 0 or RESP_BROKEN. */
static inline ptrdiff_t
resp_read_number(const char *data, size_t size, int64_t *number)
{
	size_t at = 0;
	uint64_t sum = 0;
	bool is_negative = size != 0 && data[0] == '-';
	at += is_negative;
	size_t first = at;
	for (; at < size && (unsigned)(data[at] - '0') < 10; at++) {
		if (at - first == RESP_DIGITS - 1)
			return RESP_BROKEN;
		sum = sum * 10 + (unsigned)(data[at] - '0');
	}
	if (at + 2 > size && (at == size || data[at] == '\r'))
		return 0;
	if (at == first || data[at] != '\r' || data[at + 1] != '\n' || sum > INT64_MAX)
		return RESP_BROKEN;
	*number = is_negative ? -(int64_t)sum : (int64_t)sum;
	return (ptrdiff_t)at + 2;
}

static inline ptrdiff_t
resp_read_line(const char *data, size_t size, struct resp_reply *reply)
{
	const char *end = memchr(data, '\r', size);
	if (end == NULL)
		return size > RESP_LINE_MAX ? RESP_BROKEN : 0;
	if (end + 1 == data + size)
		return 0;
	if (end[1] != '\n')
		return RESP_BROKEN;
	reply->text = data;
	reply->size = (size_t)(end - data);
	return end + 2 - data;
}

static inline ptrdiff_t
resp_read_bulk(const char *data, size_t size, struct resp_reply *reply)
{
	ptrdiff_t used = resp_read_number(data, size, &reply->number);
	if (used <= 0)
		return used;
	if (reply->number < 0) {
		reply->type = RESP_NIL;
		return reply->number == -1 ? used : RESP_BROKEN;
	}
	if (reply->number > RESP_BULK_MAX)
		return RESP_BROKEN;
	reply->text = data + used;
	reply->size = (size_t)reply->number;
	if (size - (size_t)used < reply->size + 2)
		return 0;
	if (reply->text[reply->size] != '\r' || reply->text[reply->size + 1] != '\n')
		return RESP_BROKEN;
	return used + (ptrdiff_t)reply->size + 2;
}

/**
 * Read a reply, or the header of an array. Returns the size, 0 if bytes are missing, or
 * RESP_BROKEN.
 */
static inline ptrdiff_t
resp_read(const char *data, size_t size, struct resp_reply *reply)
{
	static const struct {
		char sign;
		uint32_t type;
	} types[] = {{'$', RESP_BULK}, {'+', RESP_STATUS}, {':', RESP_INTEGER},
		{'-', RESP_ERROR}, {'*', RESP_ARRAY}};
	size_t i = 0;
	if (size == 0)
		return 0;
	while (data[0] != types[i].sign)
		if (++i == sizeof(types) / sizeof(types[0]))
			return RESP_BROKEN;
	ptrdiff_t used;
	*reply = (struct resp_reply){.type = types[i].type};
	data++;
	size--;
	switch (reply->type) {
	case RESP_BULK:
		used = resp_read_bulk(data, size, reply);
		break;
	case RESP_STATUS:
	case RESP_ERROR:
		used = resp_read_line(data, size, reply);
		break;
	default:
		used = resp_read_number(data, size, &reply->number);
	}
	if (used > 0 && reply->type == RESP_ARRAY && reply->number < 0) {
		reply->type = RESP_NIL;
		used = reply->number == -1 ? used : RESP_BROKEN;
	}
	return used > 0 ? used + 1 : used;
}

/** Size of a complete reply with all array elements; 0 if bytes are missing, or RESP_BROKEN. */
static inline ptrdiff_t
resp_skip(const char *data, size_t size)
{
	struct resp_reply reply;
	int64_t left[RESP_DEPTH] = {1};
	size_t depth = 0;
	size_t at = 0;
	for (;;) {
		ptrdiff_t used = resp_read(data + at, size - at, &reply);
		if (used <= 0)
			return used;
		at += (size_t)used;
		left[depth]--;
		if (reply.type == RESP_ARRAY && reply.number > 0) {
			if (++depth == RESP_DEPTH)
				return RESP_BROKEN;
			left[depth] = reply.number;
		}
		while (left[depth] == 0)
			if (depth-- == 0)
				return (ptrdiff_t)at;
	}
}

/** Whether a status or an error begins with `text`. */
static inline bool
resp_begins(const struct resp_reply *reply, const char *text)
{
	size_t size = strlen(text);
	return reply->size >= size && memcmp(reply->text, text, size) == 0;
}

#endif /* REDIS_RESP_H */
