/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines: finding their ends, numbers and words in them, saying what is wrong.
 *
 * A line ends at a newline, with or without a carriage return before it, or where the
 * file ends. memchr() finds that end and the digits are read by hand: strtoull() asks
 * for a NUL, looks at the locale, and takes signs, blanks and "0x" for granted. A line
 * that is bad is shown as it stands in the file, cut, with what a terminal would act
 * on written as \xNN.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mininb/workload.h>

#include "base/error.h"
#include "workload/trace_format.h"

enum { SHOWN_BYTES = 80 };

/** NB_NOT_FOUND: there is none any more. */
static int
take_line(struct trace_reader *reader, struct trace_line *line)
{
	struct trace_input *in = &reader->in;
	const uint8_t *newline = NULL;
	size_t seen = 0;
	for (;;) {
		size_t left = trace_input_left(in);
		if (left > seen)
			newline = memchr(in->data + in->pos + seen, '\n', left - seen);
		if (newline != NULL || in->is_end)
			break;
		seen = left;
		int rc = trace_input_more(in);
		if (rc != NB_OK)
			return rc;
	}
	if (trace_input_left(in) == 0)
		return NB_NOT_FOUND;
	const uint8_t *begin = in->data + in->pos;
	size_t size = newline != NULL ? (size_t)(newline - begin) : trace_input_left(in);
	trace_input_take(in, size + (newline != NULL));
	*line = (struct trace_line){.text = (const char *)begin, .size = size};
	if (size > 0 && begin[size - 1] == '\r')
		line->size--;
	reader->number++;
	return NB_OK;
}

/** As much of the line as is shown; `out` has room for each byte as \xNN. */
static void
show_line(char out[static 4 * SHOWN_BYTES + 4], struct trace_line line)
{
	size_t used = 0;
	for (size_t i = 0; i < line.size && i < SHOWN_BYTES; i++) {
		unsigned char c = (unsigned char)line.text[i];
		if (c >= ' ' && c < 0x7f)
			out[used++] = (char)c;
		else
			used += (size_t)sprintf(out + used, "\\x%02x", c);
	}
	strcpy(out + used, line.size > SHOWN_BYTES ? "..." : "");
}

static int
refuse_line(struct trace_reader *reader, struct trace_line line)
{
	char shown[4 * SHOWN_BYTES + 4];
	show_line(shown, line);
	return trace_damage(reader, NULL, reader->number, "'%s' is no operation: %s", shown,
		reader->reason);
}

int
trace_text_next(struct trace_reader *reader, struct trace_op *op)
{
	for (;;) {
		struct trace_line line;
		int rc = take_line(reader, &line);
		if (rc != NB_OK)
			return rc;
		switch (reader->format->parse(reader, line, op)) {
		case TRACE_LINE_OP:
			return NB_OK;
		case TRACE_LINE_IGNORED:
			reader->counts.ignored++;
			break;
		case TRACE_LINE_OTHER:
			reader->counts.others++;
			break;
		case TRACE_LINE_BAD:
			rc = refuse_line(reader, line);
			if (rc != NB_OK)
				return rc;
			break;
		}
		if (stop_requested())
			return error_interrupted();
		*op = (struct trace_op){.kind = TRACE_NO_KIND};
	}
}

enum trace_verdict
trace_text_bad(struct trace_reader *reader, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(reader->reason, sizeof(reader->reason), fmt, args);
	va_end(args);
	return TRACE_LINE_BAD;
}

/* ---- what a line is made of ---- */

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

const char *
trace_text_number(const char *at, const char *end, uint64_t *out)
{
	if (at == end || !is_digit(*at))
		return NULL;
	uint64_t number = 0;
	/* 19 digits are below 10^19, which is below 2^64 */
	const char *safe_end = end - at > 19 ? at + 19 : end;
	while (at < safe_end && is_digit(*at))
		number = number * 10 + (uint64_t)(*at++ - '0');
	for (; at < end && is_digit(*at); at++) {
		uint64_t digit = (uint64_t)(*at - '0');
		if (number > (UINT64_MAX - digit) / 10)
			return NULL;
		number = number * 10 + digit;
	}
	if (at < end && *at != ' ' && *at != '\t')
		return NULL;
	*out = number;
	return at;
}

enum trace_verdict
trace_text_bad_number(
	struct trace_reader *reader, const char *what, const char *at, const char *end)
{
	const char *digit = at;
	while (digit < end && is_digit(*digit))
		digit++;
	if (digit > at && (digit == end || *digit == ' ' || *digit == '\t'))
		return trace_text_bad(reader, "%s is larger than 2^64-1", what);
	return trace_text_bad(reader, at == end ? "%s is missing" : "%s is not a number", what);
}

const char *
trace_text_skip(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	return at;
}

struct trace_line
trace_text_word(const char **at, const char *end)
{
	const char *begin = trace_text_skip(*at, end);
	const char *word_end = begin;
	while (word_end < end && *word_end != ' ' && *word_end != '\t')
		word_end++;
	*at = word_end;
	return (struct trace_line){.text = begin, .size = (size_t)(word_end - begin)};
}

struct nb_slice
trace_text_key(struct trace_reader *reader, uint64_t number)
{
	bool is_little = reader->flags & NB_TRACE_KEY_LITTLE;
	uint64_t bytes = is_little ? htole64(number) : htobe64(number);
	memcpy(reader->number_key, &bytes, sizeof(bytes));
	return (struct nb_slice){.data = reader->number_key, .size = sizeof(bytes)};
}

enum trace_verdict
trace_text_check(struct trace_reader *reader, const struct trace_op *op)
{
	if (op->key.size == 0)
		return trace_text_bad(reader, "its key is empty");
	if (op->key.size > NB_KEY_SIZE_MAX)
		return trace_text_bad(reader, "its key of %zu bytes is larger than %u",
			(size_t)op->key.size, NB_KEY_SIZE_MAX);
	if (op->value_size > NB_VALUE_SIZE_MAX)
		return trace_text_bad(reader,
			"its value of %" PRIu64 " bytes is larger than %u", op->value_size,
			NB_VALUE_SIZE_MAX);
	if (op->kind == NB_OP_SCAN && op->scan_length == 0)
		return trace_text_bad(reader, "it scans 0 records");
	return TRACE_LINE_OP;
}

/* Those who record may be several, and their clocks at odds: time then stands still. */
enum trace_verdict
trace_text_due(
	struct trace_reader *reader, struct trace_op *op, uint64_t time, uint64_t unit_ns)
{
	if (!reader->has_time)
		reader->first_time = time;
	uint64_t passed = time > reader->first_time ? time - reader->first_time : 0;
	if (passed > UINT64_MAX / unit_ns)
		return trace_text_bad(reader,
			"it is %" PRIu64
			" units of time behind the first, more than can be counted",
			passed);
	reader->has_time = true;
	op->has_due = true;
	op->due_ns = passed * unit_ns;
	if (op->due_ns < reader->last_due_ns)
		op->due_ns = reader->last_due_ns;
	reader->last_due_ns = op->due_ns;
	return TRACE_LINE_OP;
}

bool
trace_text_key_room(struct trace_reader *reader, size_t size)
{
	if (size <= reader->key_room)
		return true;
	uint8_t *key = realloc(reader->key, size);
	if (key == NULL)
		return false;
	reader->key = key;
	reader->key_room = size;
	return true;
}
