/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mininb's own format of traces. All numbers are little-endian.
 *
 *     header, 32 bytes
 *       0  8  magic: 89 'N' 'B' 'T' 0d 0a 1a 0a. As in PNG: reveals a transfer that strips
 *             the eighth bit or converts line ends
 *       8  4  version, 1
 *      12 12  0
 *      24  8  XXH3-64 of bytes 0..23
 *     blocks, one after another, 40 bytes and the operations
 *       0  4  "NBbk"
 *       4  4  bytes of operations, at least 1
 *       8  4  number of operations, at least 1
 *      12  4  0
 *      16  8  number of the block, from 0
 *      24  8  due time of the operation before the first, in ns
 *      32  8  XXH3-64 of the operations; its seed is XXH3-64 of bytes 0..31
 *     end mark, 40 bytes: like a block without operations, but with "NBen", the number of
 *       blocks as its number, and the number of all operations instead of the time
 *
 *     operation
 *       1 byte   bits 0-3: NB_OP_*, 15 for none; 4: the key is as long as the previous one;
 *                5: its value has a size; 6: as the last such size; 7: it has a due time
 *       varint   bytes of the key, unless bit 4
 *       varint   bytes of the value, if bit 5 and not bit 6
 *       varint   records, of a scan
 *       varint   ns since the previous due time, if bit 7
 *       the key
 *
 * Previous sizes do not extend across blocks, so a block can be read alone, and a trace can be
 * continued by overwriting its end mark. A varint has seven bits per byte, lowest first; the
 * top bit is set in all bytes except the last. So a read with a key of 8 bytes takes 9 bytes,
 * or 10 to 11 with its time.
 *
 * A checksum covers every byte. A lost or duplicate block is detected by the block numbers, a
 * lost end by the end mark. Rejected: a mode for keys of one size in the header, because the
 * writer of a stream would have to know it in advance, and an existing bit has the same effect;
 * compression, which zstd does outside.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <mininb/workload.h>

#include "base/error.h"
#include "workload/trace_format.h"

enum {
	VERSION = 1,
	HEADER_BYTES = 32,
	BLOCK_BYTES = 40,
	BLOCK_FULL = 64 << 10, /* size of a block's operations at which it is written */
	OP_BYTES = 64,         /* maximum size of an operation without its key */
	BLOCK_OPS_MAX = BLOCK_FULL + OP_BYTES + (int)NB_KEY_SIZE_MAX,

	KIND_MASK = 15,
	KIND_NONE = 15,
	SAME_KEY_SIZE = 1 << 4,
	HAS_VALUE_SIZE = 1 << 5,
	SAME_VALUE_SIZE = 1 << 6,
	HAS_DUE = 1 << 7
};

static const uint8_t magic[8] = {0x89, 'N', 'B', 'T', '\r', '\n', 0x1a, '\n'};
static const uint8_t block_mark[4] = "NBbk", end_mark[4] = "NBen";

static uint32_t
get_u32(const uint8_t *at)
{
	uint32_t number;
	memcpy(&number, at, sizeof(number));
	return le32toh(number);
}

static uint64_t
get_u64(const uint8_t *at)
{
	return get_u32(at) | (uint64_t)get_u32(at + 4) << 32;
}

static void
set_u32(uint8_t *at, uint32_t number)
{
	number = htole32(number);
	memcpy(at, &number, sizeof(number));
}

static void
set_u64(uint8_t *at, uint64_t number)
{
	set_u32(at, (uint32_t)number);
	set_u32(at + 4, (uint32_t)(number >> 32));
}

/** Hash of a block's header and operations. */
static uint64_t
block_hash(const uint8_t *header, const uint8_t *ops, size_t size)
{
	return XXH3_64bits_withSeed(ops, size, XXH3_64bits(header, BLOCK_BYTES - 8));
}

static uint8_t *
put_varint(uint8_t *at, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		*at++ = (uint8_t)(number | 0x80);
	*at++ = (uint8_t)number;
	return at;
}

/** NULL: the number is not terminated, or is above 2^64-1. */
static const uint8_t *
get_varint(const uint8_t *at, const uint8_t *end, uint64_t *out)
{
	uint64_t number = 0;
	for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
		uint64_t bits = *at & 0x7f;
		if (shift == 63 && bits > 1)
			return NULL;
		number |= bits << shift;
		if (*at++ < 0x80) {
			*out = number;
			return at;
		}
	}
	return NULL;
}

/* ---- reading ---- */

static int
begin(struct trace_reader *reader)
{
	struct trace_input *in = &reader->in;
	int rc = trace_input_want(in, HEADER_BYTES);
	if (rc != NB_OK)
		return rc;
	const uint8_t *header = in->data + in->pos;
	if (trace_input_left(in) < HEADER_BYTES)
		return error_set(NB_ERR_DATA, "%s: ends inside its header", in->path);
	if (memcmp(header, magic, sizeof(magic)) != 0)
		return error_set(NB_ERR_DATA,
			"%s: is not a mininb trace, or its header is damaged", in->path);
	if (get_u32(header + 8) != VERSION)
		return error_set(NB_ERR_DATA,
			"%s: has version %u or is damaged; this mininb reads version %u",
			in->path, (unsigned)get_u32(header + 8), (unsigned)VERSION);
	if (get_u64(header + 24) != XXH3_64bits(header, 24))
		return error_set(NB_ERR_DATA, "%s: its header is damaged", in->path);
	trace_input_take(in, HEADER_BYTES);
	return NB_OK;
}

/** Why the header of a block is invalid; NULL: it is valid. */
static const char *
check_header(const uint8_t *header)
{
	bool is_end = memcmp(header, end_mark, 4) == 0;
	uint32_t bytes = get_u32(header + 4), ops = get_u32(header + 8);
	if (!is_end && memcmp(header, block_mark, 4) != 0)
		return "it has no block mark";
	if ((bytes == 0) != is_end || (ops == 0) != is_end || bytes > BLOCK_OPS_MAX ||
		ops > bytes || get_u32(header + 12) != 0)
		return "its size is damaged";
	return NULL;
}

/** The end mark must have the right number of operations. */
static int
check_end(struct trace_reader *reader, const uint8_t *header)
{
	struct trace_block *block = &reader->block;
	struct trace_input *in = &reader->in;
	uint64_t total = get_u64(header + 24);
	block->is_over = true;
	trace_input_take(in, BLOCK_BYTES);
	if (!block->is_gapped && total != block->total)
		return error_set(NB_ERR_DATA,
			"%s: has %" PRIu64 " operations but its end mark says %" PRIu64,
			in->path, block->total, total);
	int rc = trace_input_want(in, 1);
	if (rc == NB_OK && trace_input_left(in) > 0)
		return error_set(NB_ERR_DATA, "%s: has bytes after its end", in->path);
	return rc == NB_OK ? NB_NOT_FOUND : rc;
}

/** The file ends where a block should begin. */
static int
cut_short(struct trace_reader *reader)
{
	struct trace_block *block = &reader->block;
	block->is_over = true;
	trace_input_take(&reader->in, trace_input_left(&reader->in));
	int rc = trace_damage(reader, "block", block->number,
		"the file ends inside it or before its end mark");
	return rc == NB_OK ? NB_NOT_FOUND : rc;
}

/** Skip a damaged block, if another one or the end mark follows directly. */
static int
skip_block(struct trace_reader *reader, size_t bytes, const char *why)
{
	struct trace_input *in = &reader->in;
	struct trace_block *block = &reader->block;
	int rc = trace_damage(reader, "block", block->number, "is damaged: %s", why);
	if (rc != NB_OK) {
		block->is_over = true;
		return rc;
	}
	block->number++;
	block->is_gapped = true;
	rc = trace_input_want(in, bytes + BLOCK_BYTES);
	if (rc != NB_OK)
		return rc;
	const uint8_t *behind = in->data + in->pos + bytes;
	if (bytes > 0 && trace_input_left(in) >= bytes + BLOCK_BYTES &&
		(memcmp(behind, block_mark, 4) == 0 || memcmp(behind, end_mark, 4) == 0)) {
		trace_input_take(in, bytes);
		return NB_OK;
	}
	block->is_over = true;
	return error_set(NB_ERR_DATA,
		"%s: block %" PRIu64 " is damaged and the next cannot be found: %s", in->path,
		block->number - 1, why);
}

/** Read the next block's header and all its operations; NB_NOT_FOUND at the end. */
static int
take_block(struct trace_reader *reader)
{
	struct trace_input *in = &reader->in;
	struct trace_block *block = &reader->block;
	int rc = trace_input_want(in, BLOCK_BYTES);
	if (rc != NB_OK)
		return rc;
	if (trace_input_left(in) < BLOCK_BYTES)
		return cut_short(reader);
	const char *wrong = check_header(in->data + in->pos);
	if (wrong != NULL)
		return skip_block(reader, 0, wrong);
	size_t bytes = get_u32(in->data + in->pos + 4);
	rc = trace_input_want(in, BLOCK_BYTES + bytes);
	if (rc != NB_OK)
		return rc;
	if (trace_input_left(in) < BLOCK_BYTES + bytes)
		return cut_short(reader);
	const uint8_t *header = in->data + in->pos;
	if (get_u64(header + 32) != block_hash(header, header + BLOCK_BYTES, bytes))
		return skip_block(reader, BLOCK_BYTES + bytes, "its checksum does not match");
	if (get_u64(header + 16) < block->number ||
		(get_u64(header + 16) != block->number && !block->is_gapped))
		return skip_block(reader, BLOCK_BYTES + bytes, "its number is out of sequence");
	if (bytes == 0)
		return check_end(reader, header);
	if (get_u64(header + 24) < block->due_ns)
		return skip_block(reader, BLOCK_BYTES + bytes, "its time goes back");
	block->number = get_u64(header + 16) + 1;
	block->ops = get_u32(header + 8);
	block->due_ns = get_u64(header + 24);
	block->left = bytes;
	block->key_size = block->value_size = 0;
	trace_input_take(in, BLOCK_BYTES);
	return NB_OK;
}

/** Why the numbers of an operation are invalid; NULL: they are valid. */
static const char *
check_op(const struct trace_block *block, const struct trace_op *op, uint64_t passed)
{
	if (!op_is_traced(op->kind) && op->kind != TRACE_NO_KIND)
		return "unknown kind";
	if (block->key_size == 0 || block->key_size > NB_KEY_SIZE_MAX)
		return "its key size is not allowed";
	if (op->value_size > NB_VALUE_SIZE_MAX)
		return "its value size is not allowed";
	if (op->kind == NB_OP_SCAN && op->scan_length == 0)
		return "it scans 0 records";
	return passed > UINT64_MAX - block->due_ns ? "its time is too large" : NULL;
}

/** Decode the operation at `at`; returns the rest, or NULL and sets *wrong. */
static const uint8_t *
decode(struct trace_block *block, const uint8_t *at, const uint8_t *end, struct trace_op *op,
	const char **wrong)
{
	unsigned bits = *at++;
	uint64_t passed = 0;
	op->kind = (bits & KIND_MASK) == KIND_NONE ? TRACE_NO_KIND : bits & KIND_MASK;
	op->has_value_size = (bits & HAS_VALUE_SIZE) != 0;
	op->has_due = (bits & HAS_DUE) != 0;
	if (!(bits & SAME_KEY_SIZE))
		at = get_varint(at, end, &block->key_size);
	if (at != NULL && op->has_value_size && !(bits & SAME_VALUE_SIZE))
		at = get_varint(at, end, &block->value_size);
	if (at != NULL && op->kind == NB_OP_SCAN)
		at = get_varint(at, end, &op->scan_length);
	if (at != NULL && op->has_due)
		at = get_varint(at, end, &passed);
	*wrong = "it ends inside a number";
	if (at == NULL)
		return NULL;
	op->value_size = op->has_value_size ? block->value_size : 0;
	*wrong = check_op(block, op, passed);
	if (*wrong == NULL && (uint64_t)(end - at) < block->key_size)
		*wrong = "its key does not end inside the block";
	if (*wrong != NULL)
		return NULL;
	block->due_ns += passed;
	op->due_ns = op->has_due ? block->due_ns : 0;
	op->key = (struct nb_slice){.data = at, .size = block->key_size};
	return at + block->key_size;
}

/** A mistake of the writer, which a checksum does not detect. Skips the rest of the block. */
static int
spoilt(struct trace_reader *reader, const char *wrong)
{
	struct trace_block *block = &reader->block;
	trace_input_take(&reader->in, block->left);
	block->left = 0;
	block->ops = 0;
	block->is_gapped = true;
	return trace_damage(
		reader, "block", block->number - 1, "an operation is damaged: %s", wrong);
}

static int
next(struct trace_reader *reader, struct trace_op *op)
{
	struct trace_input *in = &reader->in;
	struct trace_block *block = &reader->block;
	for (;;) {
		if (block->is_over)
			return NB_NOT_FOUND;
		if (block->ops == 0) {
			int rc = take_block(reader);
			if (rc != NB_OK)
				return rc;
			continue;
		}
		/* block->left is not 0: `rest` is the end only after the last operation */
		const uint8_t *at = in->data + in->pos, *end = at + block->left;
		const char *wrong;
		const uint8_t *rest = decode(block, at, end, op, &wrong);
		if (rest != NULL && (rest == end) != (block->ops == 1)) {
			rest = NULL;
			wrong = "the block has another number of operations";
		}
		if (rest != NULL) {
			block->left -= (size_t)(rest - at);
			block->ops--;
			block->total++;
			trace_input_take(in, (size_t)(rest - at));
			return NB_OK;
		}
		int rc = spoilt(reader, wrong);
		if (rc != NB_OK)
			return rc;
		*op = (struct trace_op){.kind = TRACE_NO_KIND};
	}
}

/* ---- writing ---- */

static int
write_begin(struct trace_writer *writer)
{
	uint8_t header[HEADER_BYTES] = {0};
	memcpy(header, magic, sizeof(magic));
	set_u32(header + 8, VERSION);
	set_u64(header + 24, XXH3_64bits(header, 24));
	trace_write(writer, header, sizeof(header));
	writer->block = malloc(BLOCK_BYTES + BLOCK_OPS_MAX);
	return writer->block != NULL ? NB_OK
				     : error_set(NB_FAIL, "%s: out of memory", writer->path);
}

/** Complete the header in front of the operations, and write both. */
static void
write_block(struct trace_writer *writer, const uint8_t *mark, uint64_t due_or_total)
{
	uint8_t *header = writer->block;
	memcpy(header, mark, 4);
	set_u32(header + 4, (uint32_t)writer->block_used);
	set_u32(header + 8, writer->block_ops);
	set_u32(header + 12, 0);
	set_u64(header + 16, writer->block_number++);
	set_u64(header + 24, due_or_total);
	set_u64(header + 32, block_hash(header, header + BLOCK_BYTES, writer->block_used));
	trace_write(writer, header, BLOCK_BYTES + writer->block_used);
	writer->block_used = 0;
	writer->block_ops = 0;
	writer->block_begin_ns = writer->due_ns;
	writer->last_key_size = writer->last_value_size = 0;
}

static uint8_t *
encode(struct trace_writer *writer, const struct trace_op *op, uint8_t *at)
{
	uint8_t *first = at++;
	unsigned bits = op->kind == TRACE_NO_KIND ? KIND_NONE : op->kind;
	if (op->key.size == writer->last_key_size)
		bits |= SAME_KEY_SIZE;
	else
		at = put_varint(at, op->key.size);
	writer->last_key_size = op->key.size;
	if (op->has_value_size) {
		bits |= HAS_VALUE_SIZE;
		if (op->value_size == writer->last_value_size)
			bits |= SAME_VALUE_SIZE;
		else
			at = put_varint(at, op->value_size);
		writer->last_value_size = op->value_size;
	}
	if (op->kind == NB_OP_SCAN)
		at = put_varint(at, op->scan_length);
	if (op->has_due) {
		bits |= HAS_DUE;
		at = put_varint(at, op->due_ns - writer->due_ns);
		writer->due_ns = op->due_ns;
	}
	*first = (uint8_t)bits;
	memcpy(at, op->key.data, op->key.size);
	return at + op->key.size;
}

static int
add(struct trace_writer *writer, const struct trace_op *op)
{
	if (op->has_due && op->due_ns < writer->due_ns)
		return trace_write_refuse(writer, "it is due before the previous one");
	uint8_t *at = writer->block + BLOCK_BYTES + writer->block_used;
	writer->block_used += (size_t)(encode(writer, op, at) - at);
	writer->block_ops++;
	if (writer->block_used >= BLOCK_FULL)
		write_block(writer, block_mark, writer->block_begin_ns);
	return NB_OK;
}

static void
write_end(struct trace_writer *writer)
{
	if (writer->block_ops > 0)
		write_block(writer, block_mark, writer->block_begin_ns);
	write_block(writer, end_mark, writer->ops);
}

const struct trace_format trace_format_MININB = {
	/* half of the magic, so a damaged trace of mininb is an error, not another format */
	.magic = "\x89NBT",
	.begin = begin,
	.next = next,
	.write_begin = write_begin,
	.add = add,
	.write_end = write_end,
};
