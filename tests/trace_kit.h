/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TRACE_KIT_H
#define TRACE_KIT_H
/**
 * Helpers for tests of traces: a file or a pipe with given bytes, and the operations of a trace
 * as one text with a line for each:
 *
 *     R 0000000000000005              a read; U update, I insert, P upsert, D delete
 *     I 0000000000000005 v8           with the size of its value, if the format has it
 *     S 61 s10                        a scan; M: a read-modify-write
 *     - 6162 @1000                    no kind; due after 1000 ns
 */
#include <stdbool.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/rng.h"
#include "scratch.h"
#include "unit.h"
#include "workload/trace.h"

/** A growable string. */
struct text {
	char *data;
	size_t size, room;
};

static inline void
text_room(struct text *text, size_t size)
{
	if (text->size + size < text->room)
		return;
	text->room = 2 * (text->size + size) + 64;
	text->data = realloc(text->data, text->room);
	ck_assert_ptr_nonnull(text->data);
}

static inline void
text_add(struct text *text, const void *data, size_t size)
{
	text_room(text, size + 1);
	memcpy(text->data + text->size, data, size);
	text->size += size;
	text->data[text->size] = '\0';
}

static inline void
text_put(struct text *text, const char *string)
{
	text_add(text, string, strlen(string));
}

static inline char
op_letter(uint32_t kind)
{
	static const char letters[] = "RUIPDSM";
	return kind == TRACE_NO_KIND ? '-' : kind < 7 ? letters[kind] : '?';
}

static inline void
text_op(struct text *text, const struct trace_op *op)
{
	char line[96];
	snprintf(line, sizeof(line), "%c ", op_letter(op->kind));
	text_put(text, line);
	const uint8_t *key = op->key.data;
	for (size_t i = 0; i < op->key.size; i++) {
		snprintf(line, sizeof(line), "%02x", key[i]);
		text_add(text, line, 2);
	}
	if (op->has_value_size) {
		snprintf(line, sizeof(line), " v%llu", (unsigned long long)op->value_size);
		text_put(text, line);
	}
	if (op->kind == NB_OP_SCAN) {
		snprintf(line, sizeof(line), " s%llu", (unsigned long long)op->scan_length);
		text_put(text, line);
	}
	if (op->has_due) {
		snprintf(line, sizeof(line), " @%llu", (unsigned long long)op->due_ns);
		text_put(text, line);
	}
	text_add(text, "\n", 1);
}

static inline struct nb_trace_options
trace_at(const char *path, uint32_t format, uint32_t flags)
{
	struct nb_trace_options options = NB_TRACE_OPTIONS_INIT;
	options.path = path;
	options.format = format;
	options.flags = flags;
	return options;
}

/** The result of reading a trace: the operations, the last return value, and the counts. */
struct outcome {
	struct text ops;
	int rc; /* NB_NOT_FOUND: read to the end */
	uint32_t format;
	struct nb_trace_counts counts;
	char error[1024];
};

/** Read a whole trace. The next call overwrites the operations. */
static inline struct outcome
read_all(const struct nb_trace_options *options)
{
	static struct text ops;
	struct outcome outcome = {.ops = ops};
	outcome.ops.size = 0;
	text_put(&outcome.ops, "");
	struct trace_reader *reader;
	struct trace_op op;
	outcome.rc = trace_reader_open(&reader, options);
	if (outcome.rc == NB_OK) {
		outcome.format = trace_reader_format(reader);
		while ((outcome.rc = trace_reader_next(reader, &op)) == NB_OK)
			text_op(&outcome.ops, &op);
		outcome.counts = *trace_reader_counts(reader);
		trace_reader_close(reader);
	}
	if (outcome.rc < 0)
		snprintf(outcome.error, sizeof(outcome.error), "%s", nb_error_text());
	ops = outcome.ops;
	return outcome;
}

/** Write the text to the file "trace" and read it. */
static inline struct outcome
read_text(const char *text, uint32_t format, uint32_t flags)
{
	file_put("trace", text, strlen(text));
	struct nb_trace_options options = trace_at("trace", format, flags);
	return read_all(&options);
}

/**
 * Start a child that writes the bytes into a pipe, `chunk` at a time. *path receives a name for
 * the read end.
 */
static inline pid_t
feed_pipe(const void *data, size_t size, size_t chunk, int *fd, char path[static 32])
{
	int ends[2];
	ck_assert_int_eq(pipe(ends), 0);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		signal(SIGPIPE, SIG_IGN);
		close(ends[0]);
		const char *bytes = data;
		for (size_t at = 0; at < size;) {
			size_t part = size - at < chunk ? size - at : chunk;
			ssize_t written = write(ends[1], bytes + at, part);
			if (written < 0)
				break;
			at += (size_t)written;
		}
		_exit(0);
	}
	close(ends[1]);
	*fd = ends[0];
	snprintf(path, 32, "/proc/self/fd/%d", ends[0]);
	return child;
}

/** Read the bytes as a trace through a pipe. */
static inline struct outcome
read_piped(const struct nb_trace_options *options, const void *data, size_t size, size_t chunk)
{
	char path[32];
	int fd;
	pid_t child = feed_pipe(data, size, chunk, &fd, path);
	struct nb_trace_options piped = *options;
	piped.path = path;
	struct outcome outcome = read_all(&piped);
	close(fd);
	waitpid(child, NULL, 0);
	return outcome;
}

/**
 * Read the bytes as a file and through a pipe: both give these operations without a failure.
 */
static inline void
reads_as(const void *data, size_t size, uint32_t format, uint32_t flags, const char *ops)
{
	file_put("trace", data, size);
	struct nb_trace_options options = trace_at("trace", format, flags);
	for (int i = 0; i < 2; i++) {
		struct outcome found = i == 0 ? read_all(&options)
					      : read_piped(&options, data, size, 7);
		ck_assert_msg(found.rc == NB_NOT_FOUND, "%d: %s", found.rc, found.error);
		ck_assert_str_eq(found.ops.data, ops);
		ck_assert_uint_eq(found.counts.bytes, size);
	}
}

/** Reading the text as a trace fails with NB_ERR_DATA and this error text. */
static inline void
is_refused(const char *text, uint32_t format, uint32_t flags, const char *error)
{
	struct outcome found = read_text(text, format, flags);
	ck_assert_int_eq(found.rc, NB_ERR_DATA);
	ck_assert_str_eq(found.error, error);
}

/** A damaged line, and the reason in the error text. */
struct damaged {
	const char *line, *why;
};

/** Each line is rejected as the second line of a trace, after a good one. */
static inline void
are_damaged(const char *good, const struct damaged *lines, size_t count, uint32_t format)
{
	for (size_t i = 0; i < count; i++) {
		char text[200], error[300];
		snprintf(text, sizeof(text), "%s\n%s\n", good, lines[i].line);
		snprintf(error, sizeof(error), "trace:2: '%s' is not an operation: %s",
			lines[i].line, lines[i].why);
		is_refused(text, format, 0, error);
	}
}

/** reads_as() for a string. */
static inline void
text_reads_as(const char *text, uint32_t format, uint32_t flags, const char *ops)
{
	reads_as(text, strlen(text), format, flags, ops);
}

static inline struct nb_slice
slice(const char *text)
{
	return (struct nb_slice){.data = text, .size = strlen(text)};
}

/** Write the operations. Returns the last result of the writer. */
static inline int
write_ops(const struct nb_trace_options *options, const struct trace_op *ops, size_t count)
{
	struct trace_writer *writer;
	int rc = trace_writer_open(&writer, options);
	if (rc != NB_OK)
		return rc;
	for (size_t i = 0; i < count && rc == NB_OK; i++)
		rc = trace_writer_add(writer, &ops[i]);
	if (rc == NB_OK)
		return trace_writer_finish(writer);
	trace_writer_abandon(writer);
	return rc;
}

/** Write the operations to the file "written", which must then contain this text. */
static inline void
writes_as(const struct trace_op *ops, size_t count, uint32_t format, uint32_t flags,
	const char *text)
{
	struct nb_trace_options options = trace_at("written", format, flags);
	int rc = write_ops(&options, ops, count);
	ck_assert_msg(rc == NB_OK, "%s", nb_error_text());
	file_is("written", text, strlen(text));
}

/** The writer rejects the operation with this error text and leaves no file. */
static inline void
is_not_written(const struct trace_op *op, uint32_t format, uint32_t flags, const char *error)
{
	unlink("written");
	struct nb_trace_options options = trace_at("written", format, flags);
	ck_assert_int_eq(write_ops(&options, op, 1), NB_ERR_USAGE);
	ck_assert_str_eq(nb_error_text(), error);
	ck_assert_int_ne(access("written", F_OK), 0);
}

/* ---- random operations ---- */

/** The operations that a format can represent. */
struct holds {
	uint32_t kinds;  /* 1 << NB_OP_*; 1 << 31: operations without a kind */
	size_t key_size; /* 0: any */
	bool is_printable, has_sizes, has_due;
	uint64_t value_size; /* 0: any */
	uint64_t due_unit_ns;
};

enum { MADE_KEY_MAX = 40 };

/** Make a random operation. Its key is in `key`. */
static inline struct trace_op
make_op(struct rng *rng, const struct holds *holds, uint8_t key[static MADE_KEY_MAX],
	uint64_t *due_ns)
{
	struct trace_op op = {0};
	uint32_t bit;
	do
		bit = (uint32_t)rng_below(rng, 32);
	while (!(holds->kinds >> bit & 1));
	op.kind = bit == 31 ? TRACE_NO_KIND : bit;
	size_t size = holds->key_size > 0 ? holds->key_size : 1 + rng_below(rng, MADE_KEY_MAX);
	for (size_t i = 0; i < size; i++)
		key[i] = (uint8_t)(holds->is_printable ? '0' + rng_below(rng, 64)
						       : rng_below(rng, 256));
	op.key = (struct nb_slice){.data = key, .size = size};
	bool is_write = op.kind == NB_OP_UPDATE || op.kind == NB_OP_INSERT ||
		op.kind == NB_OP_UPSERT || op.kind == NB_OP_RMW;
	if (is_write && holds->has_sizes) {
		op.has_value_size = true;
		op.value_size = rng_below(rng, 4) == 0 ? 100 : rng_below(rng, 3000);
		if (holds->value_size > 0)
			op.value_size = holds->value_size;
	}
	if (op.kind == NB_OP_SCAN)
		op.scan_length = 1 + rng_below(rng, 1000);
	if (holds->has_due) {
		*due_ns += rng_below(rng, 5) * holds->due_unit_ns;
		op.has_due = true;
		op.due_ns = *due_ns;
	}
	return op;
}

#endif /* TRACE_KIT_H */
