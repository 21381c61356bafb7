/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * YCSB's operations, as short lines and as its own log.
 *
 * The log is the output of the binding 'basic' (source: YCSB 0.18.0-SNAPSHOT, d9faaac,
 * core/src/main/java/site/ycsb/BasicDB.java):
 *
 *     READ usertable user6284781860667377211 [ <all fields>]
 *     READ usertable user6284781860667377211 [ field0 field1 ]
 *     SCAN usertable user6284781860667377211 55 [ <all fields>]
 *     INSERT usertable user6284781860667377211 [ field1=... field0=... ]
 *     DELETE usertable user6284781860667377211
 *
 * YCSB prints a read-modify-write as a READ and an UPDATE, and mininb keeps both. Status lines
 * of the program are not operations. A line that begins with one of the verbs is an operation
 * or damaged.
 *
 * A value may contain every printable character, also ' ', '=' and ']'. So a value ends at
 * " <name>=" with the name of the first field and another number, or at the last ']' of the line.
 * YCSB's own values never contain that: RandomByteIterator.java generates lower-case letters
 * only in every third byte, so never " field" in a row. Rejected: splitting at blanks, which is
 * wrong for most values.
 *
 * Other programs convert the log to the short lines, for FASTER for example.
 */
#include <inttypes.h>
#include <string.h>

#include "workload/trace_format.h"

static const struct verb {
	const char *name;
	size_t size;
	uint32_t kind;
} verbs[] = {
	{"READ", 4, NB_OP_READ},
	{"UPDATE", 6, NB_OP_UPDATE},
	{"INSERT", 6, NB_OP_INSERT},
	{"SCAN", 4, NB_OP_SCAN},
	{"DELETE", 6, NB_OP_DELETE},
	{"READMODIFYWRITE", 15, NB_OP_RMW},
};
enum { VERBS = sizeof(verbs) / sizeof(verbs[0]) };

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_letter(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/** Consume the verb; NULL if the line begins with another word, "READY" for example. */
static const struct verb *
take_verb(struct trace_text *line)
{
	size_t left = trace_text_size(*line);
	for (const struct verb *verb = verbs; verb < verbs + VERBS; verb++) {
		if (left >= verb->size && memcmp(line->at, verb->name, verb->size) == 0 &&
			(left == verb->size || !is_letter(line->at[verb->size]))) {
			line->at += verb->size;
			return verb;
		}
	}
	return NULL;
}

/** Consume the blanks after a verb; false if something else follows. */
static bool
take_blanks(struct trace_text *line)
{
	const char *begin = line->at;
	return trace_text_is_over(line) || line->at > begin;
}

/* ---- short lines ---- */

static bool
text_looks(struct trace_text line, bool is_whole)
{
	const struct verb *verb = take_verb(&line);
	uint64_t number;
	if (verb == NULL || !take_blanks(&line) || !trace_text_number(&line, &number))
		return false;
	bool is_over = trace_text_is_over(&line);
	if (verb->kind == NB_OP_SCAN)
		is_over = trace_text_number(&line, &number) && trace_text_is_over(&line);
	return is_over && is_whole;
}

static enum trace_verdict
text_parse(struct trace_reader *reader, struct trace_text line, struct trace_op *op)
{
	struct trace_text rest = line;
	if (trace_text_is_over(&rest))
		return TRACE_LINE_IGNORED;
	const struct verb *verb = take_verb(&line);
	if (verb == NULL || !take_blanks(&line))
		return trace_text_bad(reader,
			"expected READ, UPDATE, INSERT, DELETE, SCAN or READMODIFYWRITE in capitals");
	op->kind = verb->kind;
	op->key = trace_text_key(reader, trace_text_need(reader, &line, "its key"));
	bool is_over = trace_text_is_over(&line);
	if (verb->kind == NB_OP_SCAN) {
		op->scan_length = trace_text_need(reader, &line, "its number of records");
		is_over = trace_text_is_over(&line);
	}
	if (!is_over)
		return trace_text_bad(reader, "there is text after it");
	op->has_value_size = trace_is_write(op->kind);
	op->value_size = op->has_value_size ? 8 : 0; /* the number is also the value */
	return trace_text_check(reader, op);
}

/* ---- the log ---- */

/** "INSERT usertable user12 [": the rest may be long and is not examined. */
static bool
log_looks(struct trace_text line, bool is_whole)
{
	const struct verb *verb = take_verb(&line);
	if (verb == NULL || !take_blanks(&line) ||
		trace_text_size(trace_text_word(&line)) == 0 ||
		trace_text_size(trace_text_word(&line)) == 0)
		return false;
	uint64_t number;
	bool is_over = trace_text_is_over(&line);
	if (verb->kind == NB_OP_DELETE)
		return is_over && is_whole;
	if (verb->kind == NB_OP_SCAN && !trace_text_number(&line, &number))
		return false;
	struct trace_text word = trace_text_word(&line);
	return trace_text_size(word) == 1 && word.at[0] == '[';
}

static size_t
count_digits(struct trace_text text)
{
	const char *at = text.at;
	while (at < text.end && is_digit(*at))
		at++;
	return (size_t)(at - text.at);
}

/** Parse "user123" as the bytes of the number, or keep it as text. */
static void
take_key(struct trace_reader *reader, struct trace_text word, struct trace_op *op)
{
	size_t size = trace_text_size(word);
	op->key = (struct nb_slice){.data = word.at, .size = size};
	if (size == 0)
		trace_text_bad(reader, "its key is missing");
	if (reader->flags & NB_TRACE_KEY_TEXT)
		return;
	struct trace_text digits = {word.at + (size > 4 ? 4 : size), word.end};
	if (size > 4 && trace_text_begins(word, "user") && count_digits(digits) == size - 4)
		op->key = trace_text_key(
			reader, trace_text_need(reader, &digits, "the number of its key"));
	else
		trace_text_bad(reader,
			"its key '%.*s' is not user<number>; --key-bytes=text keeps such keys",
			(int)(size < 40 ? size : 40), word.at);
}

/** Find the text between '[' and the ']' that ends the line; false: damaged. */
static bool
take_fields(struct trace_text *line)
{
	trace_text_is_over(line);
	while (line->end > line->at && (line->end[-1] == ' ' || line->end[-1] == '\t'))
		line->end--;
	if (trace_text_size(*line) < 2 || *line->at != '[' || line->end[-1] != ']')
		return false;
	line->at++;
	line->end--;
	line->at += line->at < line->end && *line->at == ' ';
	line->end -= line->at < line->end && line->end[-1] == ' ';
	return true;
}

/** Size of "<prefix><digits>=" at the beginning of the text; 0 if it does not begin so. */
static size_t
name_size(struct trace_text text, struct trace_text prefix)
{
	size_t size = trace_text_size(prefix);
	if (trace_text_size(text) <= size || memcmp(text.at, prefix.at, size) != 0)
		return 0;
	text.at += size;
	size_t digits = count_digits(text);
	bool is_name = digits > 0 && digits < trace_text_size(text) && text.at[digits] == '=';
	return is_name ? size + digits + 1 : 0;
}

/**
 * Size of the values in "field1=abc field0=def": all except names, '=' and separating blanks.
 */
static bool
sum_values(struct trace_text fields, uint64_t *sum)
{
	size_t all = trace_text_size(fields);
	*sum = 0;
	if (all == 0)
		return true;
	const char *equals = memchr(fields.at, '=', all);
	if (equals == NULL || equals == fields.at)
		return false;
	size_t names = (size_t)(equals + 1 - fields.at);
	struct trace_text prefix = {fields.at, equals};
	while (prefix.end > prefix.at && is_digit(prefix.end[-1]))
		prefix.end--;
	bool is_numbered = prefix.end < equals; /* otherwise it is the only field */
	fields.at = equals + 1;
	while (is_numbered &&
		(fields.at = memchr(fields.at, ' ', trace_text_size(fields))) != NULL) {
		fields.at++;
		size_t size = name_size(fields, prefix);
		names += size > 0 ? size + 1 : 0; /* including the blank before it */
		fields.at += size;
	}
	*sum = all - names;
	return true;
}

static enum trace_verdict
log_parse(struct trace_reader *reader, struct trace_text line, struct trace_op *op)
{
	const struct verb *verb = take_verb(&line);
	if (verb == NULL)
		return TRACE_LINE_IGNORED;
	if (!take_blanks(&line))
		return trace_text_bad(reader, "expected a blank and a table");
	if (trace_text_size(trace_text_word(&line)) == 0)
		return trace_text_bad(reader, "its table is missing");
	op->kind = verb->kind;
	take_key(reader, trace_text_word(&line), op);
	bool is_over = trace_text_is_over(&line);
	if (verb->kind == NB_OP_SCAN)
		op->scan_length = trace_text_need(reader, &line, "its number of records");
	if (verb->kind == NB_OP_DELETE && !is_over)
		return trace_text_bad(reader, "there is text after it");
	if (verb->kind != NB_OP_DELETE && !take_fields(&line))
		return trace_text_bad(reader, "its fields from '[' to ']' are incomplete");
	op->has_value_size = trace_is_write(op->kind);
	if (op->has_value_size && !sum_values(line, &op->value_size))
		return trace_text_bad(reader, "its fields are not NAME=VALUE");
	return trace_text_check(reader, op);
}

/* ---- writing ---- */

/** A put of an existing or new record is an update in YCSB. */
static const char *
verb_of(uint32_t kind)
{
	const struct verb *verb = verbs;
	while (verb->kind != (kind == NB_OP_UPSERT ? NB_OP_UPDATE : kind))
		verb++;
	return verb->name;
}

static int
text_add(struct trace_writer *writer, const struct trace_op *op)
{
	uint64_t number;
	int rc = trace_write_key_number(writer, op, &number);
	if (rc != NB_OK)
		return rc;
	fputs_unlocked(verb_of(trace_write_kind(writer, op)), writer->stream);
	trace_write_number(writer, " ", number);
	if (op->kind == NB_OP_SCAN)
		trace_write_number(writer, " ", op->scan_length);
	trace_write(writer, "\n", 1);
	return NB_OK;
}

/** `number` is that of the key, unless it is written as text. */
static void
add_line(struct trace_writer *writer, const struct trace_op *op, uint32_t kind, uint64_t number)
{
	FILE *to = writer->stream;
	fputs_unlocked(verb_of(kind), to);
	fputs_unlocked(" usertable ", to);
	if (writer->flags & NB_TRACE_KEY_TEXT)
		trace_write(writer, op->key.data, op->key.size);
	else
		trace_write_number(writer, "user", number);
	if (kind == NB_OP_SCAN)
		trace_write_number(writer, " ", op->scan_length);
	if (!trace_is_write(kind)) {
		fputs_unlocked(kind == NB_OP_DELETE ? "\n" : " [ <all fields>]\n", to);
		return;
	}
	fputs_unlocked(" [ field0=", to);
	for (uint64_t i = 0; i < op->value_size && !ferror_unlocked(to); i++)
		putc_unlocked('x', to);
	fputs_unlocked(" ]\n", to);
}

static int
log_add(struct trace_writer *writer, const struct trace_op *op)
{
	uint32_t kind = trace_write_kind(writer, op);
	const uint8_t *key = op->key.data;
	uint64_t number = 0;
	if (!(writer->flags & NB_TRACE_KEY_TEXT)) {
		int rc = trace_write_key_number(writer, op, &number);
		if (rc != NB_OK)
			return rc;
	}
	for (size_t i = 0; (writer->flags & NB_TRACE_KEY_TEXT) && i < op->key.size; i++) {
		if (key[i] <= ' ')
			return trace_write_refuse(writer,
				"its key contains byte 0x%02x, which ycsb-log cannot hold",
				key[i]);
	}
	if (kind == NB_OP_RMW)
		add_line(writer, op, NB_OP_READ, number);
	add_line(writer, op, kind == NB_OP_RMW ? NB_OP_UPDATE : kind, number);
	return NB_OK;
}

const struct trace_format trace_format_YCSB_TEXT = {
	.looks = text_looks,
	.parse = text_parse,
	.add = text_add,
};

const struct trace_format trace_format_YCSB_LOG = {
	.looks = log_looks,
	.parse = log_parse,
	.add = log_add,
};
