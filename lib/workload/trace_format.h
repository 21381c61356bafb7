/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_TRACE_FORMAT_H
#define WORKLOAD_TRACE_FORMAT_H
/**
 * What a format of traces is, and what readers and writers are made of. A new format is a file
 * that defines trace_format_ID, a row of NB_TRACE_LIST() in <mininb/trace.h>, and a test.
 */
#include <stdio.h>

#include "base/atomic_file.h"
#include "workload/op_kind.h"
#include "workload/trace.h"

/* ---- the bytes of a trace: a file that is mapped, or a stream with a window on it ---- */

/** data[pos..size) is there and not yet taken. It may move with each call but _take. */
struct trace_input {
	char *path;  /* for messages */
	int fd;      /* -1: the file is mapped */
	bool is_own; /* the descriptor is to be closed */
	bool is_end; /* nothing follows data[size] */
	uint8_t *data;
	size_t pos, size, room;
	size_t forgotten; /* mapped: bytes whose pages were given back */
	uint64_t before;  /* stream: bytes that were taken and are gone from `data` */
};

/** Map it if it is a regular file that can be; else open it; "-" is stdin. */
NB_MUST_CHECK int
trace_input_open(struct trace_input *in, const char *path);

/** Read on, at least a byte unless that was the end. NB_ERR_INTERRUPTED while it waits. */
NB_MUST_CHECK int
trace_input_more(struct trace_input *in);

/** See that `size` bytes are there from pos on, or all there are. */
NB_MUST_CHECK int
trace_input_want(struct trace_input *in, size_t size);

/** Give back the pages of what was taken from a mapped file. */
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

/* ---- what readers, writers and formats are ---- */

/** The rest of a line, or a word of it. No NUL follows. Lent until the next line. */
struct trace_text {
	const char *at, *end;
};

/** What a line was found to be. */
enum trace_verdict {
	TRACE_LINE_OP,
	TRACE_LINE_IGNORED, /* not an operation, as expected */
	TRACE_LINE_OTHER,   /* an operation of a kind that mininb does not have */
	TRACE_LINE_BAD      /* reader->reason says why */
};

/** The columns of a CSV; -1: it has no such column. */
struct trace_columns {
	int key, op, key_size, value_size, time, count;
	bool is_known;
	bool is_twitter; /* its keys may contain commas */
};

/** The block of mininb's own format that is being read. */
struct trace_block {
	uint64_t number; /* of the next block */
	uint64_t due_ns; /* of the previous operation */
	uint64_t key_size, value_size;
	uint64_t total; /* operations of all blocks so far */
	uint32_t ops;   /* operations left */
	size_t left;    /* bytes left, from the input's pos on */
	bool is_over, is_gapped;
};

struct trace_reader {
	const struct trace_format *format;
	struct trace_input in;
	struct nb_trace_counts counts;
	uint32_t id, flags;
	uint64_t key_size, value_size;
	uint64_t number;  /* of the last line */
	char reason[160]; /* why this line is bad; "": it is not */
	uint8_t number_key[8];
	uint8_t *key; /* of key_room bytes, for keys that are decoded */
	size_t key_room;
	bool has_time;
	uint64_t first_time, last_due_ns;
	struct trace_columns columns;
	uint64_t repeats; /* how often `repeated` will be returned again */
	struct trace_op repeated;
	struct trace_block block;
};

struct trace_writer {
	const struct trace_format *format;
	char *path;
	struct atomic_file atomic; /* path NULL: the file is written in place */
	FILE *stream;              /* its error flag is checked after each operation */
	char *buffer;              /* of the stream */
	uint32_t id, flags, bare_kind;
	uint64_t key_size;
	uint64_t ops; /* including the one that is being added */
	uint8_t *block;
	size_t block_used;
	uint32_t block_ops;
	uint64_t block_number, block_begin_ns, due_ns, last_key_size, last_value_size;
};

/** Functions that may be NULL: all but parse or next. Without `add` it is read only. */
struct trace_format {
	const char *help;
	const char *magic; /* the first bytes of a file */
	/* Of text: whether a line is of the format, `is_whole` if it is not cut off. */
	bool (*looks)(struct trace_text line, bool is_whole);
	/* A line; trace_text_bad() and the like say what is wrong with it. */
	enum trace_verdict (*parse)(
		struct trace_reader *reader, struct trace_text line, struct trace_op *op);
	/* Not of text: read what precedes the operations. */
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

/** Copy what the caller knows of the options over the defaults, and check it. */
NB_MUST_CHECK int
trace_options_take(struct nb_trace_options *out, const struct nb_trace_options *in);

/* ---- reading, for the formats ---- */

/**
 * Damage of the number-th `what` ("block"), NULL: line. NB_ERR_DATA, "PATH: block 5: WHY"
 * or "PATH:5: WHY"; NB_OK if it is to be skipped, which then is counted.
 */
NB_MUST_CHECK int
trace_damage(struct trace_reader *reader, const char *what, uint64_t number, const char *fmt,
	...) NB_PRINTF(4, 5);

/** As `next` of a format that has `parse`. */
NB_MUST_CHECK int
trace_text_next(struct trace_reader *reader, struct trace_op *op);

/** Say why the line is bad, unless that is known already. Returns TRACE_LINE_BAD. */
enum trace_verdict
trace_text_bad(struct trace_reader *reader, const char *fmt, ...) NB_PRINTF(2, 3);

/** Take the decimal number that a blank or the end follows. False: none, or above 2^64-1. */
bool
trace_text_number(struct trace_text *text, uint64_t *out);

/** The same; 0 and a bad line if there is none: "`what` is missing". */
uint64_t
trace_text_need(struct trace_reader *reader, struct trace_text *text, const char *what);

/** Take blanks; whether that was all. */
bool
trace_text_is_over(struct trace_text *text);

/** Take blanks and what precedes the next blank. */
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

/** Eight bytes of a number, in the order that the flags ask for; lent until the next. */
struct nb_slice
trace_text_key(struct trace_reader *reader, uint64_t number);

/** See that reader->key has `size` bytes, no more than a key may have; else the line is bad. */
bool
trace_text_key_room(struct trace_reader *reader, size_t size);

/** See that sizes are within limits. Returns TRACE_LINE_OP, or BAD if the line is. */
enum trace_verdict
trace_text_check(struct trace_reader *reader, const struct trace_op *op);

/** Set due_ns from the recorded time, in units of `unit_ns`; nothing if the line is bad. */
enum trace_verdict
trace_text_due(
	struct trace_reader *reader, struct trace_op *op, uint64_t time, uint64_t unit_ns);

/** Whether an operation that a trace can hold stores a value. */
static inline bool
trace_is_write(uint32_t kind)
{
	return op_is(kind, OP_WRITES) && op_is_traced(kind);
}

/* ---- writing, for the formats; failures of the stream show in its error flag ---- */

void
trace_write(struct trace_writer *writer, const void *data, size_t size);

/** A text, then a number in decimal. */
void
trace_write_number(struct trace_writer *writer, const char *text, uint64_t number);

/** NB_ERR_USAGE: "PATH: operation N cannot be written: WHY". */
NB_MUST_CHECK int
trace_write_refuse(const struct trace_writer *writer, const char *fmt, ...) NB_PRINTF(2, 3);

/** The number that 8 bytes are, in the order that the flags ask for. NB_ERR_USAGE if not 8. */
NB_MUST_CHECK int
trace_write_key_number(
	const struct trace_writer *writer, const struct trace_op *op, uint64_t *out);

/** The kind, or what replaces it if there is none. */
static inline uint32_t
trace_write_kind(const struct trace_writer *writer, const struct trace_op *op)
{
	return op->kind == TRACE_NO_KIND ? writer->bare_kind : op->kind;
}

#endif /* WORKLOAD_TRACE_FORMAT_H */
