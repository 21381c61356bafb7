/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The human-readable trace of RocksDB's trace_analyzer, the file P-human_readable_trace.txt
 * written by
 *
 *     trace_analyzer --trace_path=... --output_prefix=P --convert_to_human_readable_trace
 *
 * Sources: tools/trace_analyzer_tool.cc and .h of RocksDB 11.9.0 (1dfa729),
 * WriteTraceSequence() and TraceOperationType; tested with output of 7.8.3. A line is
 *
 *     0x<key in hex> <type> <column family> <bytes of the value> <time in microseconds>
 *
 * since 2018; types 8 (MultiGet, a line for each key) and 9 (PutEntity) were added in 2021 and
 * 2023. A range delete had one key and has both since April 2026 (#14573); mininb counts it as
 * an unsupported operation. A Seek does not record how far the iterator went: it becomes a scan
 * of one record, and so does a SeekForPrev. A Merge reads the record sooner or later, so it
 * becomes a read-modify-write.
 *
 * Column families share one key space: equal keys of two families are one record.
 */
#include <inttypes.h>
#include <string.h>

#include "workload/trace_format.h"

enum { RANGE_DELETE = 4, MICROSECOND_NS = 1000 };

/* Indexed by the types of TraceOperationType. */
static const uint32_t kinds[] = {
	NB_OP_READ,                                /* Get */
	NB_OP_UPSERT,                              /* Put */
	NB_OP_DELETE,                              /* Delete */
	NB_OP_DELETE,                              /* SingleDelete */
	[RANGE_DELETE] = TRACE_NO_KIND, NB_OP_RMW, /* Merge */
	NB_OP_SCAN,                                /* Seek */
	NB_OP_SCAN,                                /* SeekForPrev */
	NB_OP_READ,                                /* MultiGet */
	NB_OP_UPSERT,                              /* PutEntity */
};

/** The four numbers after the keys. */
struct numbers {
	uint64_t type, family, value_size, time;
};

static struct numbers
take_numbers(struct trace_reader *reader, struct trace_text *line)
{
	static const char *const names[] = {
		"its type", "its column family", "the size of its value", "its time"};
	uint64_t numbers[4];
	for (size_t i = 0; i < 4; i++) {
		trace_text_is_over(line);
		numbers[i] = trace_text_need(reader, line, names[i]);
	}
	return (struct numbers){numbers[0], numbers[1], numbers[2], numbers[3]};
}

/** Whether the rest is exactly four numbers. */
static bool
are_numbers(struct trace_text line)
{
	uint64_t number;
	int count = 0;
	while (!trace_text_is_over(&line) && trace_text_number(&line, &number))
		count++;
	return count == 4 && trace_text_is_over(&line);
}

/** A line with a key or, with --no_key, without one. */
static bool
looks(struct trace_text line, bool is_whole)
{
	struct trace_text rest = line;
	while (trace_text_begins(trace_text_word(&rest), "0x"))
		line = rest;
	return is_whole && are_numbers(line);
}

static int
digit_of(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = memchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c, 16);
	return at != NULL ? (int)(at - digits) : -1;
}

static void
take_key(struct trace_reader *reader, struct trace_text word, struct trace_op *op)
{
	const char *hex = word.at + 2;
	size_t size = (trace_text_size(word) - 2) / 2;
	if (trace_text_size(word) % 2 != 0)
		trace_text_bad(reader, "its key has an odd number of digits");
	else if (!trace_text_key_room(reader, size))
		return;
	for (size_t i = 0; i < size && reader->reason[0] == '\0'; i++) {
		int high = digit_of(hex[2 * i]), low = digit_of(hex[2 * i + 1]);
		if (high < 0 || low < 0)
			trace_text_bad(reader, "its key is not hexadecimal");
		else
			reader->key[i] = (uint8_t)(high << 4 | low);
	}
	op->key = (struct nb_slice){.data = reader->key, .size = size};
}

static enum trace_verdict
parse(struct trace_reader *reader, struct trace_text line, struct trace_op *op)
{
	if (trace_text_is_over(&line))
		return TRACE_LINE_IGNORED;
	bool is_keyless = are_numbers(line);
	struct trace_text key = trace_text_word(&line), rest = line;
	if (!trace_text_begins(key, "0x"))
		return trace_text_bad(reader,
			is_keyless ? "it has no key; was trace_analyzer run with --no_key?"
				   : "its key does not begin with 0x");
	bool has_end = trace_text_begins(trace_text_word(&rest), "0x");
	if (has_end)
		line = rest;
	struct numbers numbers = take_numbers(reader, &line);
	if (!trace_text_is_over(&line))
		return trace_text_bad(reader, "there is text after it");
	if (has_end && numbers.type != RANGE_DELETE)
		return trace_text_bad(reader, "it has two keys but is not a range delete");
	take_key(reader, key, op);
	if (numbers.type >= sizeof(kinds) / sizeof(kinds[0]))
		return trace_text_bad(reader, "unknown type %" PRIu64, numbers.type);
	op->kind = kinds[numbers.type];
	if (op->kind == TRACE_NO_KIND && reader->reason[0] == '\0')
		return TRACE_LINE_OTHER;
	op->scan_length = op->kind == NB_OP_SCAN;
	op->has_value_size = trace_is_write(op->kind);
	op->value_size = op->has_value_size ? numbers.value_size : 0;
	trace_text_check(reader, op);
	return trace_text_due(reader, op, numbers.time, MICROSECOND_NS);
}

const struct trace_format trace_format_ROCKSDB = {
	.looks = looks,
	.parse = parse,
};
