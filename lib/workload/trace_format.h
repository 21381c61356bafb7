/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_TRACE_FORMAT_H
#define WORKLOAD_TRACE_FORMAT_H
/**
 * A format of traces, and the data of readers and writers. A new format needs a file that
 * defines trace_format_ID, a row of NB_TRACE_LIST() in <mininb/trace.h>, and a test.
 */
#include <stdio.h>

#include "base/atomic_file.h"
#include "workload/op_kind.h"
#include "workload/trace.h"

/* ---- the bytes of a trace: a mapped file, or a stream with a buffer ---- */

/** data[pos..size) is available and not consumed. Each call except _take may move it. */
struct trace_input {
	char *path;  /* for messages */
	int fd;      /* -1: the file is mapped */
	bool is_own; /* close the descriptor at the end */
	bool is_end; /* no data follows data[size] */
	uint8_t *data;
	size_t pos, size, room;
	size_t forgotten; /* mapped: bytes whose pages were released */
	uint64_t before;  /* stream: consumed bytes that are no longer in `data` */
};

/** Map the file if it is regular and can be mapped; else open it; "-" is stdin. */
NB_MUST_CHECK int
trace_input_open(struct trace_input *in, const char *path);

/** Read at least one more byte, except at the end. NB_ERR_INTERRUPTED while it waits. */
NB_MUST_CHECK int
trace_input_more(struct trace_input *in);

/** Make `size` bytes available from pos, or as many as exist. */
NB_MUST_CHECK int
trace_input_want(struct trace_input *in, size_t size);

/** Release the pages of consumed data of a mapped file. */
void
trace_input_forget(struct trace_input *in);

enum { TRACE_INPUT_FORGET = 16 << 20 };

static inline size_t
trace_input_left(const struct trace_input *in)
{
	return in->size - in->pos;
}

static inline void
trace_input_take(struct trace_input *in, size_t size)
{
	in->pos += size;
	if (in->fd < 0 && in->pos - in->forgotten >= TRACE_INPUT_FORGET)
		trace_input_forget(in);
}

void
trace_input_close(struct trace_input *in);

/* ---- readers, writers and formats ---- */

/** The rest of a line, or a word. Not NUL-terminated. Valid until the next line. */
struct trace_text {
	const char *at, *end;
};

/** Result of parsing a line. */
enum trace_verdict {
	TRACE_LINE_OP,
	TRACE_LINE_IGNORED, /* not an operation, as expected */
	TRACE_LINE_OTHER,   /* an operation of a kind that mininb does not support */
	TRACE_LINE_BAD      /* reader->reason has the reason */
};

/** Indexes of CSV columns; -1: missing. */
struct trace_columns {
	int key, op, key_size, value_size, time, count;
	bool is_known;
	bool is_twitter; /* keys may contain commas */
};

/** The current block of mininb's own format. */
struct trace_block {
	uint64_t number; /* of the next block */
	uint64_t due_ns; /* of the previous operation */
	uint64_t key_size, value_size;
	uint64_t total; /* operations of all blocks so far */
	uint32_t ops;   /* operations left */
	size_t left;    /* bytes left, from the input's pos */
	bool is_over, is_gapped;
};

struct trace_reader {
	const struct trace_format *format;
	struct trace_input in;
	struct nb_trace_counts counts;
	uint32_t id, flags;
	uint64_t key_size, value_size;
	uint64_t number;  /* of the last line */
	char reason[160]; /* why the line is bad; "": it is not */
	uint8_t number_key[8];
	uint8_t *key; /* key_room bytes, for decoded keys */
	size_t key_room;
	bool has_time;
	uint64_t first_time, last_due_ns;
	struct trace_columns columns;
	uint64_t repeats; /* remaining repetitions of `repeated` */
	struct trace_op repeated;
	struct trace_block block;
};

struct trace_writer {
	const struct trace_format *format;
	char *path;
	struct atomic_file atomic; /* path NULL: the file is written directly */
	FILE *stream;              /* its error flag is checked after each operation */
	char *buffer;              /* of the stream */
	uint32_t id, flags, bare_kind;
	uint64_t key_size;
	uint64_t ops; /* including the current one */
	uint8_t *block;
	size_t block_used;
	uint32_t block_ops;
	uint64_t block_number, block_begin_ns, due_ns, last_key_size, last_value_size;
};

/**
 * A format. Functions may be NULL, but parse or next must exist. Without `add` it is read-only.
 */
struct trace_format {
	const char *magic; /* the first bytes of a file */
	/* Text: whether a line has this format. `is_whole`: the line is not truncated. */
	bool (*looks)(struct trace_text line, bool is_whole);
	/* Parse a line; reports errors with trace_text_bad() etc. */
	enum trace_verdict (*parse)(
		struct trace_reader *reader, struct trace_text line, struct trace_op *op);
	/* Binary: read the data before the operations. */
	int (*begin)(struct trace_reader *reader);
	int (*next)(struct trace_reader *reader, struct trace_op *op);
	int (*write_begin)(struct trace_writer *writer);
	int (*add)(struct trace_writer *writer, const struct trace_op *op);
	void (*write_end)(struct trace_writer *writer);
};

#define TRACE_FORMAT_DECLARE(id, name) extern const struct trace_format trace_format_##id;
NB_TRACE_LIST(TRACE_FORMAT_DECLARE, TRACE_FORMAT_DECLARE)

const struct trace_format *
trace_format_of(uint32_t id);

/** Copy the known part of the caller's options over the defaults, and check it. */
NB_MUST_CHECK int
trace_options_take(struct nb_trace_options *out, const struct nb_trace_options *in);

/* ---- reading: functions for the formats ---- */

/**
 * Report damage of `what` ("block") number `number`; NULL: a line. NB_ERR_DATA: "PATH: block 5:
 * WHY" or "PATH:5: WHY". NB_OK: it is skipped and counted.
 */
NB_MUST_CHECK int
trace_damage(struct trace_reader *reader, const char *what, uint64_t number, const char *fmt,
	...) NB_PRINTF(4, 5);

/** The `next` function of formats with `parse`. */
NB_MUST_CHECK int
trace_text_next(struct trace_reader *reader, struct trace_op *op);

/** Set the reason why the line is bad, unless it is set. Returns TRACE_LINE_BAD. */
enum trace_verdict
trace_text_bad(struct trace_reader *reader, const char *fmt, ...) NB_PRINTF(2, 3);

/** Consume a decimal number followed by a blank or the end. False: none, or above 2^64-1. */
bool
trace_text_number(struct trace_text *text, uint64_t *out);

/** The same. Without a number it returns 0, and the line is bad: "`what` is missing". */
uint64_t
trace_text_need(struct trace_reader *reader, struct trace_text *text, const char *what);

/** Consume blanks; returns whether the text is then empty. */
bool
trace_text_is_over(struct trace_text *text);

/** Consume blanks and the next word. */
struct trace_text
trace_text_word(struct trace_text *text);

static inline size_t
trace_text_size(struct trace_text text)
{
	return (size_t)(text.end - text.at);
}

/** Whether it begins with this. */
bool
trace_text_begins(struct trace_text text, const char *prefix);

/** Eight bytes of a number, in the byte order of the flags; valid until the next call. */
struct nb_slice
trace_text_key(struct trace_reader *reader, uint64_t number);

/** Make room for `size` bytes in reader->key. The line is bad if a key may not be as long. */
bool
trace_text_key_room(struct trace_reader *reader, size_t size);

/** Check the limits of sizes. Returns TRACE_LINE_OP or TRACE_LINE_BAD. */
enum trace_verdict
trace_text_check(struct trace_reader *reader, const struct trace_op *op);

/** Set due_ns from the recorded time in units of `unit_ns`, unless the line is bad. */
enum trace_verdict
trace_text_due(
	struct trace_reader *reader, struct trace_op *op, uint64_t time, uint64_t unit_ns);

/** Whether a kind that traces can contain stores a value. */
static inline bool
trace_is_write(uint32_t kind)
{
	return op_is(kind, OP_WRITES) && op_is_traced(kind);
}

/* ---- writing: functions for the formats; the stream's error flag has failures ---- */

void
trace_write(struct trace_writer *writer, const void *data, size_t size);

/** Write a text, then a decimal number. */
void
trace_write_number(struct trace_writer *writer, const char *text, uint64_t number);

/** NB_ERR_USAGE: "PATH: operation N cannot be written: WHY". */
NB_MUST_CHECK int
trace_write_refuse(const struct trace_writer *writer, const char *fmt, ...) NB_PRINTF(2, 3);

/** The number in an 8-byte key, in the byte order of the flags. NB_ERR_USAGE: not 8 bytes. */
NB_MUST_CHECK int
trace_write_key_number(
	const struct trace_writer *writer, const struct trace_op *op, uint64_t *out);

/** The kind of an operation, or its replacement if it has none. */
static inline uint32_t
trace_write_kind(const struct trace_writer *writer, const struct trace_op *op)
{
	return op->kind == TRACE_NO_KIND ? writer->bare_kind : op->kind;
}

#endif /* WORKLOAD_TRACE_FORMAT_H */
