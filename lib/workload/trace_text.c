/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text traces: finds lines, numbers and words, and reports errors.
 *
 * A line ends at a newline, with or without a carriage return before it, or at the end of the
 * file. Digits are parsed by hand: strtoull() needs a NUL, depends on the locale, and accepts
 * signs, blanks and "0x". A message quotes the beginning of a bad line, with control characters
 * as \xNN.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <mininb/workload.h>

#include "base/error.h"
#include "workload/trace_format.h"

enum { SHOWN_BYTES = 80 };

/** NB_NOT_FOUND at the end. */
static int
take_line(struct trace_reader *reader, struct trace_text *line)
{
	struct trace_input *in = &reader->in;
	const uint8_t *newline = NULL;
	for (size_t seen = 0;;) {
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
	size -= size > 0 && begin[size - 1] == '\r';
	*line = (struct trace_text){(const char *)begin, (const char *)begin + size};
	reader->number++;
	return NB_OK;
}

static int
refuse_line(struct trace_reader *reader, struct trace_text line)
{
	char shown[4 * SHOWN_BYTES + 4];
	size_t used = 0, size = trace_text_size(line);
	for (size_t i = 0; i < size && i < SHOWN_BYTES; i++) {
		unsigned char c = (unsigned char)line.at[i];
		bool prints = c >= ' ' && c < 0x7f;
		used += (size_t)sprintf(shown + used, prints ? "%c" : "\\x%02x", c);
	}
	strcpy(shown + used, size > SHOWN_BYTES ? "..." : "");
	return trace_damage(reader, NULL, reader->number, "'%s' is not an operation: %s", shown,
		reader->reason);
}

int
trace_text_next(struct trace_reader *reader, struct trace_op *op)
{
	while (reader->repeats == 0) {
		struct trace_text line;
		int rc = take_line(reader, &line);
		if (rc != NB_OK)
			return rc;
		reader->reason[0] = '\0';
		enum trace_verdict verdict = reader->format->parse(reader, line, op);
		if (verdict == TRACE_LINE_OP) {
			if (reader->repeats > 0)
				reader->repeated = *op;
			return NB_OK;
		}
		reader->repeats = 0;
		*op = (struct trace_op){.kind = TRACE_NO_KIND};
		reader->counts.ignored += verdict == TRACE_LINE_IGNORED;
		reader->counts.others += verdict == TRACE_LINE_OTHER;
		if (verdict == TRACE_LINE_BAD && (rc = refuse_line(reader, line)) != NB_OK)
			return rc;
		if (stop_requested())
			return error_interrupted();
	}
	reader->repeats--;
	*op = reader->repeated;
	return NB_OK;
}

enum trace_verdict
trace_text_bad(struct trace_reader *reader, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	if (reader->reason[0] == '\0')
		vsnprintf(reader->reason, sizeof(reader->reason), fmt, args);
	va_end(args);
	return TRACE_LINE_BAD;
}

/* ---- parts of a line ---- */

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

bool
trace_text_number(struct trace_text *text, uint64_t *out)
{
	const char *at = text->at, *end = text->end;
	if (at == end || !is_digit(*at))
		return false;
	uint64_t number = 0;
	/* 19 digits are below 10^19, which is below 2^64 */
	const char *safe_end = end - at > 19 ? at + 19 : end;
	while (at < safe_end && is_digit(*at))
		number = number * 10 + (uint64_t)(*at++ - '0');
	for (; at < end && is_digit(*at); at++) {
		uint64_t digit = (uint64_t)(*at - '0');
		if (number > (UINT64_MAX - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	if (at < end && !is_blank(*at))
		return false;
	*out = number;
	text->at = at;
	return true;
}

uint64_t
trace_text_need(struct trace_reader *reader, struct trace_text *text, const char *what)
{
	uint64_t number;
	if (trace_text_number(text, &number))
		return number;
	const char *digit = text->at;
	while (digit < text->end && is_digit(*digit))
		digit++;
	bool is_large = digit > text->at && (digit == text->end || is_blank(*digit));
	trace_text_bad(reader, "%s %s", what,
		text->at == text->end ? "is missing"
			: is_large    ? "is larger than 2^64-1"
				      : "is not a number");
	return 0;
}

bool
trace_text_is_over(struct trace_text *text)
{
	while (text->at < text->end && is_blank(*text->at))
		text->at++;
	return text->at == text->end;
}

struct trace_text
trace_text_word(struct trace_text *text)
{
	trace_text_is_over(text);
	struct trace_text word = {text->at, text->at};
	while (word.end < text->end && !is_blank(*word.end))
		word.end++;
	text->at = word.end;
	return word;
}

bool
trace_text_begins(struct trace_text text, const char *prefix)
{
	size_t size = strlen(prefix);
	return trace_text_size(text) >= size && memcmp(text.at, prefix, size) == 0;
}

struct nb_slice
trace_text_key(struct trace_reader *reader, uint64_t number)
{
	uint64_t bytes = reader->flags & NB_TRACE_KEY_LITTLE ? htole64(number)
							     : htobe64(number);
	memcpy(reader->number_key, &bytes, sizeof(bytes));
	return (struct nb_slice){.data = reader->number_key, .size = sizeof(bytes)};
}

bool
trace_text_key_room(struct trace_reader *reader, size_t size)
{
	if (size <= reader->key_room)
		return true;
	uint8_t *key = size <= NB_KEY_SIZE_MAX ? realloc(reader->key, size) : NULL;
	if (key == NULL) {
		trace_text_bad(reader,
			size > NB_KEY_SIZE_MAX ? "its key of %zu bytes is larger than %u"
					       : "out of memory for its key of %zu bytes",
			size, NB_KEY_SIZE_MAX);
		return false;
	}
	reader->key = key;
	reader->key_room = size;
	return true;
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
	return reader->reason[0] != '\0' ? TRACE_LINE_BAD : TRACE_LINE_OP;
}

/* Several clocks may have recorded the times. A time that goes back counts as the last one. */
enum trace_verdict
trace_text_due(
	struct trace_reader *reader, struct trace_op *op, uint64_t time, uint64_t unit_ns)
{
	if (reader->reason[0] != '\0')
		return TRACE_LINE_BAD;
	if (!reader->has_time)
		reader->first_time = time;
	uint64_t passed = time > reader->first_time ? time - reader->first_time : 0;
	if (passed > UINT64_MAX / unit_ns)
		return trace_text_bad(reader,
			"its time is %" PRIu64
			" units after the first, more than a trace can hold",
			passed);
	reader->has_time = op->has_due = true;
	op->due_ns = passed * unit_ns;
	if (op->due_ns < reader->last_due_ns)
		op->due_ns = reader->last_due_ns;
	reader->last_due_ns = op->due_ns;
	return TRACE_LINE_OP;
}
