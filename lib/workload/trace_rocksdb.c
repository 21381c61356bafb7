/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The human-readable trace of RocksDB's trace_analyzer: what
 *
 *     trace_analyzer --trace_path=... --output_prefix=P --convert_to_human_readable_trace
 *
 * writes to P-human_readable_trace.txt. Read: tools/trace_analyzer_tool.cc and .h of
 * RocksDB 11.9.0 (1dfa729), WriteTraceSequence() and TraceOperationType; tried: what 7.8.3
 * writes. A line is
 *
 *     0x<key in hex> <type> <column family> <bytes of the value> <time in microseconds>
 *
 * and has been since 2018; types 8 (MultiGet, a line for each key) came in 2021 and 9
 * (PutEntity) in 2023. A range delete had one key, and since April 2026 (#14573) has
 * both; it is no operation of ours and counted with the others. A Seek does not tell how
 * far the iterator went: it is a scan of one record, and so is a SeekForPrev. A Merge reads what is there, sooner or later, and is a read-modify-write.
 *
 * Column families are one space of keys here: two with the same key become one record.
 */
#include <inttypes.h>
#include <string.h>

#include <mininb/workload.h>

#include "base/error.h"
#include "workload/trace_format.h"

enum {
	GET = 0,
	PUT = 1,
	DELETE = 2,
	SINGLE_DELETE = 3,
	RANGE_DELETE = 4,
	MERGE = 5,
	SEEK = 6,
	SEEK_FOR_PREV = 7,
	MULTI_GET = 8,
	PUT_ENTITY = 9,
	TYPE_COUNT = 10,

	MICROSECOND_NS = 1000
};

static const uint32_t kinds[TYPE_COUNT] = {
	[GET] = NB_OP_READ,
	[PUT] = NB_OP_UPSERT,
	[DELETE] = NB_OP_DELETE,
	[SINGLE_DELETE] = NB_OP_DELETE,
	[RANGE_DELETE] = TRACE_NO_KIND,
	[MERGE] = NB_OP_RMW,
	[SEEK] = NB_OP_SCAN,
	[SEEK_FOR_PREV] = NB_OP_SCAN,
	[MULTI_GET] = NB_OP_READ,
	[PUT_ENTITY] = NB_OP_UPSERT,
};

/** The four numbers behind the keys. */
struct numbers {
	uint64_t type, family, value_size, time;
};

static bool
is_hex_word(struct trace_line word)
{
	return word.size >= 2 && word.text[0] == '0' && word.text[1] == 'x';
}

/** NULL: all are there, and nothing behind them; else the name of the first that is not. */
static const char *
take_numbers(const char **at, const char *end, struct numbers *numbers)
{
	static const char *const names[] = {
		"its type", "its column family", "the size of its value", "its time"};
	uint64_t *const fields[] = {
		&numbers->type, &numbers->family, &numbers->value_size, &numbers->time};
	for (size_t i = 0; i < 4; i++) {
		*at = trace_text_skip(*at, end);
		const char *next = trace_text_number(*at, end, fields[i]);
		if (next == NULL)
			return names[i];
		*at = next;
	}
	return NULL;
}

/** With a key or, as --no_key has it, without. */
bool
trace_rocksdb_looks(const char *line, size_t size, bool is_whole)
{
	const char *at = line, *end = line + size;
	struct numbers numbers;
	const char *begin = at;
	while (is_hex_word(trace_text_word(&at, end)))
		begin = at;
	at = begin;
	return is_whole && take_numbers(&at, end, &numbers) == NULL &&
		trace_text_skip(at, end) == end;
}

static int
digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static enum trace_verdict
parse_key(struct trace_reader *reader, struct trace_line word, struct trace_op *op)
{
	const char *hex = word.text + 2;
	size_t size = (word.size - 2) / 2;
	if (word.size % 2 != 0)
		return trace_text_bad(reader, "its key has an odd number of digits");
	if (size > NB_KEY_SIZE_MAX)
		return trace_text_bad(reader, "its key of %zu bytes is larger than %u", size,
			NB_KEY_SIZE_MAX);
	if (!trace_text_key_room(reader, size))
		return trace_text_bad(reader, "there is no memory for its key");
	for (size_t i = 0; i < size; i++) {
		int high = digit_of(hex[2 * i]), low = digit_of(hex[2 * i + 1]);
		if (high < 0 || low < 0)
			return trace_text_bad(reader, "its key is not hexadecimal");
		reader->key[i] = (uint8_t)(high << 4 | low);
	}
	op->key = (struct nb_slice){.data = reader->key, .size = size};
	return TRACE_LINE_OP;
}

static enum trace_verdict
set_kind(struct trace_reader *reader, struct trace_op *op, const struct numbers *numbers)
{
	if (numbers->type >= TYPE_COUNT)
		return trace_text_bad(reader, "there is no type %" PRIu64, numbers->type);
	op->kind = kinds[numbers->type];
	if (op->kind == TRACE_NO_KIND)
		return TRACE_LINE_OTHER;
	if (op->kind == NB_OP_SCAN)
		op->scan_length = 1;
	if (trace_is_write(op->kind)) {
		op->has_value_size = true;
		op->value_size = numbers->value_size;
	}
	enum trace_verdict verdict = trace_text_check(reader, op);
	return verdict == TRACE_LINE_OP
		? trace_text_due(reader, op, numbers->time, MICROSECOND_NS)
		: verdict;
}

enum trace_verdict
trace_rocksdb_parse(struct trace_reader *reader, struct trace_line line, struct trace_op *op)
{
	const char *at = line.text, *end = line.text + line.size;
	if (trace_text_skip(at, end) == end)
		return TRACE_LINE_IGNORED;
	struct numbers numbers;
	struct trace_line key = trace_text_word(&at, end);
	if (!is_hex_word(key)) {
		at = line.text;
		bool is_all = take_numbers(&at, end, &numbers) == NULL &&
			trace_text_skip(at, end) == end;
		return trace_text_bad(reader,
			is_all ? "it has no key; was trace_analyzer run with --no_key?"
			       : "its key does not begin with 0x");
	}
	const char *behind_key = at;
	bool has_end = is_hex_word(trace_text_word(&at, end));
	if (!has_end)
		at = behind_key;
	const char *wrong = take_numbers(&at, end, &numbers);
	if (wrong != NULL)
		return trace_text_bad_number(reader, wrong, at, end);
	if (trace_text_skip(at, end) != end)
		return trace_text_bad(reader, "something stands behind it");
	if (has_end && numbers.type != RANGE_DELETE)
		return trace_text_bad(reader, "it has two keys and is no range delete");
	enum trace_verdict verdict = parse_key(reader, key, op);
	return verdict == TRACE_LINE_OP ? set_kind(reader, op, &numbers) : verdict;
}
