/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bare keys, one after another. The user chooses the operation.
 *
 * A u64 file is the input of FASTER's benchmark: eight bytes per key, little-endian. The reader
 * returns big-endian keys, so the order of bytes is the order of the numbers, unless the user
 * requests little-endian keys. Keys of other sizes are bytes and stay unchanged.
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
left_over(struct trace_reader *reader, uint64_t bytes)
{
	uint64_t size = bare_size(reader);
	return trace_damage(reader, "key", bytes / size + 1,
		"only %" PRIu64 " of its %" PRIu64 " bytes are there", bytes % size, size);
}

/* The size of a file is known, so a partial key is reported before any operation. */
static int
begin(struct trace_reader *reader)
{
	uint64_t done, total;
	trace_reader_position(reader, &done, &total);
	if (total % bare_size(reader) == 0 || (reader->flags & NB_TRACE_SKIP_BAD))
		return NB_OK;
	return left_over(reader, total);
}

static int
next(struct trace_reader *reader, struct trace_op *op)
{
	struct trace_input *in = &reader->in;
	uint64_t size = bare_size(reader), number;
	int rc = trace_input_want(in, size);
	if (rc != NB_OK)
		return rc;
	uint64_t left = trace_input_left(in), all = in->before + in->pos + left;
	const uint8_t *key = in->data + in->pos;
	trace_input_take(in, left < size ? left : size);
	if (left < size) {
		rc = left > 0 ? left_over(reader, all) : NB_OK;
		return rc == NB_OK ? NB_NOT_FOUND : rc;
	}
	op->key = (struct nb_slice){.data = key, .size = size};
	if (reader->id == NB_TRACE_U64) {
		memcpy(&number, key, sizeof(number));
		op->key = trace_text_key(reader, le64toh(number));
	}
	return NB_OK;
}

static int
add_number(struct trace_writer *writer, const struct trace_op *op)
{
	uint64_t number;
	int rc = trace_write_key_number(writer, op, &number);
	if (rc != NB_OK)
		return rc;
	number = htole64(number);
	trace_write(writer, &number, sizeof(number));
	return NB_OK;
}

static int
add_key(struct trace_writer *writer, const struct trace_op *op)
{
	if (op->key.size != writer->key_size)
		return trace_write_refuse(writer,
			"its key has %zu bytes, not %" PRIu64 " (--klen)", op->key.size,
			writer->key_size);
	trace_write(writer, op->key.data, op->key.size);
	return NB_OK;
}

const struct trace_format trace_format_U64 = {
	.begin = begin,
	.next = next,
	.add = add_number,
};

const struct trace_format trace_format_KEYS = {
	.begin = begin,
	.next = next,
	.add = add_key,
};
