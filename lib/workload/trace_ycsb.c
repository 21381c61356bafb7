/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * YCSB's operations, as short lines and as its own log.
 *
 * The log is what the binding 'basic' prints (read: YCSB 0.18.0-SNAPSHOT, d9faaac,
 * core/src/main/java/site/ycsb/BasicDB.java):
 *
 *     READ usertable user6284781860667377211 [ <all fields>]
 *     READ usertable user6284781860667377211 [ field0 field1 ]
 *     SCAN usertable user6284781860667377211 55 [ <all fields>]
 *     INSERT usertable user6284781860667377211 [ field1=... field0=... ]
 *     DELETE usertable user6284781860667377211
 *
 * A read-modify-write is printed as a READ and an UPDATE, and stays these two. Between
 * them stand the program's status lines, which are no operations. A line that begins
 * with one of the verbs is one, or it is damaged.
 *
 * Values hold whatever prints, ' ', '=' and ']' too, so what ends one is " <name>=" with
 * the name of the first field and another number, or the last ']' of the line. That
 * cannot stand in a value that YCSB makes up: RandomByteIterator.java has letters in
 * lower case in every third byte only, so never " field" in a row. Rejected: splitting
 * at blanks, which is wrong for most values.
 *
 * The short lines are those that are made of such a log for FASTER and others.
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "workload/trace_format.h"

struct verb {
	const char *text;
	size_t size;
	uint32_t kind;
};

static const struct verb verbs[] = {
	{"READ", 4, NB_OP_READ},
	{"UPDATE", 6, NB_OP_UPDATE},
	{"INSERT", 6, NB_OP_INSERT},
	{"SCAN", 4, NB_OP_SCAN},
	{"DELETE", 6, NB_OP_DELETE},
	{"READMODIFYWRITE", 15, NB_OP_RMW},
};
enum { VERB_COUNT = sizeof(verbs) / sizeof(verbs[0]) };

static bool
is_letter(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/** The verb that the line begins with; NULL if it is another word, "READY" say. */
static const struct verb *
find_verb(const char *line, size_t size)
{
	for (size_t i = 0; i < VERB_COUNT; i++) {
		const struct verb *verb = &verbs[i];
		if (size >= verb->size && memcmp(line, verb->text, verb->size) == 0 &&
			(size == verb->size || !is_letter(line[verb->size])))
			return verb;
	}
	return NULL;
}

/** Behind the verb; NULL if no blank follows it. */
static const char *
behind_verb(const struct verb *verb, const char *line, const char *end)
{
	const char *at = line + verb->size;
	const char *next = trace_text_skip(at, end);
	return next == at && at < end ? NULL : next;
}

/* ---- short lines ---- */

bool
trace_ycsb_looks_text(const char *line, size_t size, bool is_whole)
{
	const struct verb *verb = find_verb(line, size);
	const char *end = line + size;
	const char *at = verb != NULL ? behind_verb(verb, line, end) : NULL;
	uint64_t number;
	if (at != NULL)
		at = trace_text_number(at, end, &number);
	if (at != NULL && verb->kind == NB_OP_SCAN)
		at = trace_text_number(trace_text_skip(at, end), end, &number);
	return at != NULL && trace_text_skip(at, end) == end && is_whole;
}

static enum trace_verdict
bad_verb(struct trace_reader *reader)
{
	return trace_text_bad(reader,
		"READ, UPDATE, INSERT, DELETE, SCAN or READMODIFYWRITE is expected, in capitals");
}

enum trace_verdict
trace_ycsb_parse_text(struct trace_reader *reader, struct trace_line line, struct trace_op *op)
{
	const char *end = line.text + line.size;
	if (trace_text_skip(line.text, end) == end)
		return TRACE_LINE_IGNORED;
	const struct verb *verb = find_verb(line.text, line.size);
	const char *at = verb != NULL ? behind_verb(verb, line.text, end) : NULL;
	if (at == NULL)
		return bad_verb(reader);
	uint64_t number;
	const char *next = trace_text_number(at, end, &number);
	if (next == NULL)
		return trace_text_bad_number(reader, "its key", at, end);
	op->kind = verb->kind;
	op->key = trace_text_key(reader, number);
	if (verb->kind == NB_OP_SCAN) {
		at = trace_text_skip(next, end);
		next = trace_text_number(at, end, &op->scan_length);
		if (next == NULL)
			return trace_text_bad_number(reader, "its number of records", at, end);
	}
	if (next < end && trace_text_skip(next, end) < end)
		return trace_text_bad(reader, "something stands behind it");
	if (trace_is_write(op->kind)) {
		op->has_value_size = true;
		op->value_size = 8; /* the number is the value, too */
	}
	return trace_text_check(reader, op);
}

/* ---- the log ---- */

/** "INSERT usertable user12 [": the rest need not be there, it may be long. */
bool
trace_ycsb_looks_log(const char *line, size_t size, bool is_whole)
{
	const char *end = line + size;
	const struct verb *verb = find_verb(line, size);
	const char *at = verb != NULL ? behind_verb(verb, line, end) : NULL;
	if (at == NULL || trace_text_word(&at, end).size == 0 ||
		trace_text_word(&at, end).size == 0)
		return false;
	struct trace_line word = trace_text_word(&at, end);
	if (verb->kind == NB_OP_DELETE)
		return word.size == 0 && is_whole;
	uint64_t number;
	if (verb->kind == NB_OP_SCAN) {
		const char *word_end = word.text + word.size;
		if (trace_text_number(word.text, word_end, &number) != word_end)
			return false;
		word = trace_text_word(&at, end);
	}
	return word.size == 1 && word.text[0] == '[';
}

static size_t
count_digits(const char *at, const char *end)
{
	const char *begin = at;
	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return (size_t)(at - begin);
}

/** "user123", as bytes of the number or as it is. */
static enum trace_verdict
parse_key(struct trace_reader *reader, struct trace_line word, struct trace_op *op)
{
	if (word.size == 0)
		return trace_text_bad(reader, "its key is missing");
	if (reader->flags & NB_TRACE_KEY_TEXT) {
		op->key = (struct nb_slice){.data = word.text, .size = word.size};
		return TRACE_LINE_OP;
	}
	const char *end = word.text + word.size;
	uint64_t number = 0;
	const char *digits = word.size > 4 && memcmp(word.text, "user", 4) == 0 ? word.text + 4
										: NULL;
	const char *next = digits != NULL ? trace_text_number(digits, end, &number) : NULL;
	if (next == end && next != NULL) {
		op->key = trace_text_key(reader, number);
		return TRACE_LINE_OP;
	}
	if (digits != NULL && count_digits(digits, end) == word.size - 4)
		return trace_text_bad_number(reader, "the number of its key", digits, end);
	return trace_text_bad(reader,
		"its key '%.*s' is not user<number>; --key-bytes=text keeps such keys",
		(int)(word.size < 40 ? word.size : 40), word.text);
}

/** What stands between '[' at `at` and the ']' that ends the line; false: damaged. */
static bool
find_fields(const char *at, const char *end, struct trace_line *fields)
{
	while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	if (end - at < 2 || *at != '[' || end[-1] != ']')
		return false;
	at++;
	end--;
	if (at < end && *at == ' ')
		at++;
	if (at < end && end[-1] == ' ')
		end--;
	*fields = (struct trace_line){.text = at, .size = (size_t)(end - at)};
	return true;
}

/** Bytes of "<prefix><digits>=" at `at`, 0 if that is not there. */
static size_t
name_size(const char *at, const char *end, const char *prefix, size_t prefix_size)
{
	if ((size_t)(end - at) <= prefix_size || memcmp(at, prefix, prefix_size) != 0)
		return 0;
	const char *digits = at + prefix_size, *next = digits + count_digits(digits, end);
	return next > digits && next < end && *next == '=' ? (size_t)(next + 1 - at) : 0;
}

/** "field1=abc field0=def": all bytes but those of names, '=' and what is between. */
static bool
sum_values(struct trace_line fields, uint64_t *sum)
{
	*sum = 0;
	if (fields.size == 0)
		return true;
	const char *at = fields.text, *end = at + fields.size;
	const char *equals = memchr(at, '=', fields.size);
	if (equals == NULL || equals == at)
		return false;
	uint64_t names = (uint64_t)(equals + 1 - at);
	const char *prefix = at, *prefix_end = equals;
	while (prefix_end > prefix && prefix_end[-1] >= '0' && prefix_end[-1] <= '9')
		prefix_end--;
	bool is_numbered = prefix_end < equals; /* else it is the only one */
	size_t prefix_size = (size_t)(prefix_end - prefix);
	at = equals + 1;
	while (is_numbered && (at = memchr(at, ' ', (size_t)(end - at))) != NULL) {
		at++;
		size_t size = name_size(at, end, prefix, prefix_size);
		names += size > 0 ? size + 1 : 0; /* with the blank before it */
		at += size;
	}
	*sum = fields.size - names;
	return true;
}

static enum trace_verdict
parse_fields(struct trace_reader *reader, const char *at, const char *end, struct trace_op *op)
{
	struct trace_line fields;
	at = trace_text_skip(at, end);
	if (op->kind == NB_OP_DELETE)
		return at == end ? TRACE_LINE_OP
				 : trace_text_bad(reader, "something stands behind it");
	if (!find_fields(at, end, &fields))
		return trace_text_bad(reader, "its fields, from '[' to ']', are not all there");
	if (trace_is_write(op->kind)) {
		op->has_value_size = true;
		if (!sum_values(fields, &op->value_size))
			return trace_text_bad(reader, "its fields are not NAME=VALUE");
	}
	return TRACE_LINE_OP;
}

enum trace_verdict
trace_ycsb_parse_log(struct trace_reader *reader, struct trace_line line, struct trace_op *op)
{
	const struct verb *verb = find_verb(line.text, line.size);
	if (verb == NULL)
		return TRACE_LINE_IGNORED;
	const char *end = line.text + line.size, *at = behind_verb(verb, line.text, end);
	if (at == NULL)
		return trace_text_bad(reader, "a blank and its table are expected");
	if (trace_text_word(&at, end).size == 0)
		return trace_text_bad(reader, "its table is missing");
	op->kind = verb->kind;
	enum trace_verdict verdict = parse_key(reader, trace_text_word(&at, end), op);
	if (verdict == TRACE_LINE_OP && verb->kind == NB_OP_SCAN) {
		struct trace_line word = trace_text_word(&at, end);
		const char *word_end = word.text + word.size;
		if (trace_text_number(word.text, word_end, &op->scan_length) != word_end)
			return trace_text_bad_number(
				reader, "its number of records", word.text, word_end);
	}
	if (verdict == TRACE_LINE_OP)
		verdict = parse_fields(reader, at, end, op);
	return verdict == TRACE_LINE_OP ? trace_text_check(reader, op) : verdict;
}

/* ---- writing ---- */

/** YCSB's name of a kind: to it, a put that finds a record or none is an update. */
static const struct verb *
verb_of(uint32_t kind)
{
	if (kind == NB_OP_UPSERT)
		kind = NB_OP_UPDATE;
	for (size_t i = 0; i < VERB_COUNT; i++) {
		if (verbs[i].kind == kind)
			return &verbs[i];
	}
	return NULL;
}

int
trace_ycsb_add_text(struct trace_writer *writer, const struct trace_op *op)
{
	const struct verb *verb = verb_of(trace_write_kind(writer, op));
	uint64_t number;
	int rc = trace_write_key_number(writer, op, &number);
	if (rc != NB_OK)
		return rc;
	uint8_t *begin, *at;
	rc = trace_write_room(writer, TRACE_OP_BYTES, &begin);
	if (rc != NB_OK)
		return rc;
	memcpy(begin, verb->text, verb->size);
	at = begin + verb->size;
	*at++ = ' ';
	at = trace_write_number(at, number);
	if (op->kind == NB_OP_SCAN) {
		*at++ = ' ';
		at = trace_write_number(at, op->scan_length);
	}
	*at++ = '\n';
	writer->used += (size_t)(at - begin);
	return NB_OK;
}

/** A key as one word of a line: nothing that does not print, and no blank. */
static int
check_word(const struct trace_writer *writer, const struct trace_op *op)
{
	const uint8_t *key = op->key.data;
	for (uint64_t i = 0; i < op->key.size; i++) {
		if (key[i] <= ' ')
			return trace_write_refuse(writer,
				"byte 0x%02x of its key cannot stand in a line of ycsb-log",
				key[i]);
	}
	return NB_OK;
}

/** "READ usertable user123". */
static int
add_head(struct trace_writer *writer, const struct trace_op *op, uint32_t kind)
{
	const struct verb *verb = verb_of(kind);
	int rc = trace_write_bytes(writer, verb->text, verb->size);
	if (rc == NB_OK)
		rc = trace_write_bytes(writer, " usertable ", 11);
	if (rc == NB_OK && (writer->flags & NB_TRACE_KEY_TEXT))
		return trace_write_bytes(writer, op->key.data, op->key.size);
	uint64_t number = 0;
	if (rc == NB_OK)
		rc = trace_write_key_number(writer, op, &number);
	uint8_t text[24] = "user";
	size_t size = (size_t)(trace_write_number(text + 4, number) - text);
	return rc == NB_OK ? trace_write_bytes(writer, text, size) : rc;
}

static int
add_fields(struct trace_writer *writer, const struct trace_op *op, uint32_t kind)
{
	if (kind == NB_OP_DELETE)
		return trace_write_bytes(writer, "\n", 1);
	if (!trace_is_write(kind))
		return trace_write_bytes(writer, " [ <all fields>]\n", 17);
	int rc = trace_write_bytes(writer, " [ field0=", 10);
	if (rc == NB_OK)
		rc = trace_write_fill(writer, 'x', op->value_size);
	return rc == NB_OK ? trace_write_bytes(writer, " ]\n", 3) : rc;
}

static int
add_line(struct trace_writer *writer, const struct trace_op *op, uint32_t kind)
{
	int rc = add_head(writer, op, kind);
	if (rc == NB_OK && kind == NB_OP_SCAN) {
		uint8_t text[24] = " ";
		size_t size = (size_t)(trace_write_number(text + 1, op->scan_length) - text);
		rc = trace_write_bytes(writer, text, size);
	}
	return rc == NB_OK ? add_fields(writer, op, kind) : rc;
}

int
trace_ycsb_add_log(struct trace_writer *writer, const struct trace_op *op)
{
	uint32_t kind = trace_write_kind(writer, op);
	int rc = writer->flags & NB_TRACE_KEY_TEXT ? check_word(writer, op) : NB_OK;
	if (rc != NB_OK || kind != NB_OP_RMW)
		return rc == NB_OK ? add_line(writer, op, kind) : rc;
	rc = add_line(writer, op, NB_OP_READ);
	return rc == NB_OK ? add_line(writer, op, NB_OP_UPDATE) : rc;
}
