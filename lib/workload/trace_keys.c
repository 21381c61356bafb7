/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bare keys: nothing but keys, one behind the other. What is done to them, the user says.
 *
 * A u64 is what FASTER's benchmark reads: eight bytes, the lowest first. It is handed out
 * with the highest first, so that the order of bytes is that of the numbers, unless
 * little-endian keys are asked for. Keys of other sizes are bytes and stay as they are.
 */
#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "workload/trace_format.h"

static uint64_t
bare_size(const struct trace_reader *reader)
{
	return reader->id == NB_TRACE_U64 ? 8 : reader->key_size;
}

static int
left_over(struct trace_reader *reader, uint64_t bytes, uint64_t left)
{
	return trace_damage(reader, "key", bytes / bare_size(reader) + 1,
		"only %llu of its %llu bytes are there", (unsigned long long)left,
		(unsigned long long)bare_size(reader));
}

/* Of a file it is known from the start, and so told before anything is done. */
int
trace_keys_begin(struct trace_reader *reader)
{
	uint64_t done, total, size = bare_size(reader);
	trace_reader_position(reader, &done, &total);
	if (total % size == 0 || (reader->flags & NB_TRACE_SKIP_BAD))
		return NB_OK;
	return left_over(reader, total, total % size);
}

int
trace_keys_next(struct trace_reader *reader, struct trace_op *op)
{
	uint64_t size = bare_size(reader);
	int rc = trace_input_want(&reader->in, size);
	if (rc != NB_OK)
		return rc;
	uint64_t left = trace_input_left(&reader->in);
	if (left < size) {
		uint64_t done = reader->in.before + reader->in.pos;
		trace_input_take(&reader->in, left);
		rc = left > 0 ? left_over(reader, done, left) : NB_OK;
		return rc == NB_OK ? NB_NOT_FOUND : rc;
	}
	const uint8_t *key = reader->in.data + reader->in.pos;
	trace_input_take(&reader->in, size);
	op->key = (struct nb_slice){.data = key, .size = size};
	if (reader->id == NB_TRACE_U64) {
		uint64_t number;
		memcpy(&number, key, sizeof(number));
		op->key = trace_text_key(reader, le64toh(number));
	}
	return NB_OK;
}

int
trace_keys_add(struct trace_writer *writer, const struct trace_op *op)
{
	if (writer->format == &trace_formats[NB_TRACE_U64]) {
		uint64_t number;
		int rc = trace_write_key_number(writer, op, &number);
		number = htole64(number);
		return rc == NB_OK ? trace_write_bytes(writer, &number, sizeof(number)) : rc;
	}
	if (op->key.size != writer->key_size)
		return trace_write_refuse(writer,
			"its key has %zu bytes; all are to have %" PRIu64 ", see --klen",
			op->key.size, writer->key_size);
	return trace_write_bytes(writer, op->key.data, op->key.size);
}
