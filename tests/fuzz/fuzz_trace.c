/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For libFuzzer: any bytes as a trace. The first byte selects how to read them:
 *
 *     bits 0-2  the format, NB_TRACE_*
 *     bit 3     as a stream, else mapped
 *     bit 4     NB_TRACE_SKIP_BAD
 *     bits 5-6  form of keys: big, little, text
 *     bit 7     format mininb: correct the checksums first, to reach the data that they protect
 *
 * The target writes the operations in the format mininb and reads them back: they must be the
 * same. Then it converts the trace into another format, which the size of the input selects,
 * and reads that: the number of operations must be the same.
 *
 * Build with clang, -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false; then
 *
 *     tests/fuzz/fuzz_trace -max_len=4096 NEW_CORPUS .../tests/fuzz/corpus/trace
 */
#include <fcntl.h>

#define XXH_NO_INLINE_HINTS 1 /* at -Og, GCC 14 cannot inline every function that demands it */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "fuzz.h"
#include "workload/trace.h"

enum { OPS_MAX = 2000, STREAM_MAX = 60000 /* fits into a pipe */, HEADER = 32, BLOCK = 40 };

static void
set_hash(uint8_t *at, uint64_t hash)
{
	memcpy(at, &hash, sizeof(hash)); /* x86 and arm are little-endian */
}

/** Correct the checksums of the format mininb, as far as its blocks can be followed. */
static void
repair(uint8_t *bytes, size_t size)
{
	if (size < HEADER)
		return;
	set_hash(bytes + 24, XXH3_64bits(bytes, 24));
	for (size_t at = HEADER; size - at >= BLOCK;) {
		uint32_t ops;
		memcpy(&ops, bytes + at + 4, sizeof(ops));
		if (ops > size - at - BLOCK)
			return;
		uint64_t seed = XXH3_64bits(bytes + at, 32);
		set_hash(bytes + at + 32, XXH3_64bits_withSeed(bytes + at + BLOCK, ops, seed));
		at += BLOCK + ops;
	}
}

/** Offer the bytes through a descriptor, which `path` names. */
static int
offer(const uint8_t *bytes, size_t size, int is_stream, char path[static FUZZ_PATH])
{
	int ends[2];
	if (!is_stream)
		return file_of(bytes, size, path);
	require(pipe(ends) == 0, "a pipe can be made");
	size_t part = size < STREAM_MAX ? size : STREAM_MAX;
	require(write(ends[1], bytes, part) == (ssize_t)part, "the pipe can be written");
	close(ends[1]);
	snprintf(path, FUZZ_PATH, "/proc/self/fd/%d", ends[0]);
	return ends[0];
}

static int
is_same(const struct trace_op *a, const struct trace_op *b)
{
	return a->kind == b->kind && a->key.size == b->key.size &&
		memcmp(a->key.data, b->key.data, a->key.size) == 0 &&
		a->has_value_size == b->has_value_size && a->value_size == b->value_size &&
		a->scan_length == b->scan_length && a->has_due == b->has_due &&
		a->due_ns == b->due_ns;
}

/** Write the operations of `from` and compare them when read back. Returns their number. */
static int
compare(const struct nb_trace_options *from)
{
	char path[FUZZ_PATH];
	struct nb_trace_options ours = NB_TRACE_OPTIONS_INIT;
	ours.path = place_of("trace", path);
	struct trace_reader *reader, *again;
	struct trace_writer *writer;
	struct trace_op op, other;
	uint64_t done, total;
	if (trace_reader_open(&reader, from) != NB_OK)
		return 0;
	require(trace_writer_open(&writer, &ours) == NB_OK, "a trace can be created");
	int rc, ops = 0;
	while (ops < OPS_MAX && (rc = trace_reader_next(reader, &op)) == NB_OK) {
		require(trace_writer_add(writer, &op) == NB_OK,
			"an operation that was read can be written");
		ops++;
	}
	require(trace_writer_finish(writer) == NB_OK, "the trace can be finished");
	trace_reader_position(reader, &done, &total);
	trace_reader_close(reader);
	if (ops > 0 && total > 0) { /* not a stream */
		require(trace_reader_open(&reader, from) == NB_OK,
			"the input can be opened again");
		require(trace_reader_open(&again, &ours) == NB_OK,
			"the written trace can be opened");
		for (int i = 0; i < ops; i++) {
			/* a bad line is skipped again */
			require(trace_reader_next(reader, &op) == NB_OK,
				"the input can be read again");
			require(trace_reader_next(again, &other) == NB_OK,
				"the written trace is not shorter");
			require(is_same(&op, &other), "both operations are equal");
		}
		require(trace_reader_next(again, &other) == NB_NOT_FOUND,
			"the written trace is not longer");
		trace_reader_close(again);
		trace_reader_close(reader);
	}
	unlink(path);
	return ops;
}

static uint64_t
count_ops(const struct nb_trace_options *options)
{
	struct trace_reader *reader;
	struct trace_op op;
	uint64_t ops = 0;
	int rc = trace_reader_open(&reader, options);
	require(rc == NB_OK, "a converted trace can be opened");
	while ((rc = trace_reader_next(reader, &op)) == NB_OK)
		ops++;
	require(rc == NB_NOT_FOUND, "a converted trace can be read to its end");
	trace_reader_close(reader);
	return ops;
}

/** Convert to another format: the number of operations must be the same. */
static void
convert(const struct nb_trace_options *from, uint32_t format)
{
	char path[FUZZ_PATH];
	struct nb_trace_options to = *from;
	struct nb_trace_counts counts = {.size = sizeof(counts)};
	to.path = place_of("converted", path);
	to.format = format;
	to.flags &= ~NB_TRACE_SKIP_BAD;
	to.bare_kind = NB_OP_READ;
	if (nb_trace_convert(from, &to, &counts, NULL, NULL) != NB_OK) {
		require(nb_error_text()[0] != '\0', "the failure has a text");
		require(access(path, F_OK) != 0, "a failed conversion leaves no file");
		return;
	}
	/* YCSB's log represents a read-modify-write as two operations */
	uint64_t more = format == NB_TRACE_YCSB_LOG ? counts.rmws : 0;
	require(count_ops(&to) == counts.ops + more, "the number of operations is unchanged");
	unlink(path);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t key_flags[] = {0, NB_TRACE_KEY_LITTLE, NB_TRACE_KEY_TEXT, 0};
	if (size == 0)
		return 0;
	unsigned how = data[0];
	uint8_t *bytes = malloc(size);
	require(bytes != NULL, "memory is available");
	memcpy(bytes, data + 1, --size);
	if (how & 0x80)
		repair(bytes, size);
	char path[FUZZ_PATH];
	int fd = offer(bytes, size, how & 8, path);
	struct nb_trace_options options = NB_TRACE_OPTIONS_INIT;
	options.path = path;
	options.format = how & 7;
	options.flags = key_flags[how >> 5 & 3] | (how & 16 ? NB_TRACE_SKIP_BAD : 0);
	int ops = compare(&options);
	/*
	 * a line of a cache trace may stand for 2^32 operations, all of which would be written
	 */
	if ((how & 8) == 0 && ops < OPS_MAX)
		convert(&options, 1 + size % (NB_TRACE_FORMATS - 1));
	close(fd);
	free(bytes);
	return 0;
}
