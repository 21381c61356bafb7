/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_TRACE_FORMAT_H
#define WORKLOAD_TRACE_FORMAT_H
/**
 * What a format is, and what readers and writers are made of. One more format is a
 * file of functions, a row of the table in trace.c, and a number in <mininb/trace.h>.
 */
#include "base/aside.h"
#include "workload/op_kind.h"
#include "workload/trace.h"
#include "workload/trace_input.h"

enum {
	TRACE_REASON_SIZE = 160,
	TRACE_COLUMNS = 64,           /* of a CSV that are looked at */
	TRACE_BLOCK_BYTES = 64 << 10, /* from which on a block is written */
	TRACE_OP_BYTES = 64           /* of an operation beside its key, at most */
};

/** A line without its end; no NUL behind it. Lent until the next one. */
struct trace_line {
	const char *text;
	size_t size;
};

/** What a line was found to be. */
enum trace_verdict {
	TRACE_LINE_OP,
	TRACE_LINE_IGNORED, /* no operation, and need not be one */
	TRACE_LINE_OTHER,   /* one that there is no operation of ours for */
	TRACE_LINE_BAD      /* reader->reason says why */
};

/** Where the columns of a CSV are; -1: there is no such column. */
struct trace_columns {
	int key, op, key_size, value_size, time, count;
	bool is_known;
	bool is_twitter; /* whose keys may hold commas */
};

/** The block of our own format that is being read. */
struct trace_block {
	uint64_t number; /* of the next one */
	uint64_t due_ns; /* of the operation before */
	uint64_t key_size, value_size;
	uint64_t total; /* operations in all blocks so far */
	uint32_t ops;   /* that are left */
	size_t left;    /* bytes that are left; they stand at the input's pos */
	bool is_over, is_gapped;
};

struct trace_reader {
	const struct trace_format *format;
	struct trace_input in;
	struct nb_trace_counts counts;
	uint32_t id, flags;
	uint64_t key_size, value_size;
	uint64_t number; /* of the line that was read last */
	char reason[TRACE_REASON_SIZE];
	uint8_t number_key[8];
	uint8_t *key; /* of key_room bytes, for keys that do not stand in the file so */
	size_t key_room;
	bool has_time;
	uint64_t first_time, last_due_ns;
	struct trace_columns columns;
	uint64_t repeats; /* how often `repeated` is still to be handed out */
	struct trace_op repeated;
	struct trace_block block;
};

struct trace_writer {
	const struct trace_format *format;
	char *path;
	struct aside aside; /* if is_aside; else the file is written as it is */
	bool is_aside, is_own;
	int fd;
	uint64_t offset; /* of the file: what is behind `data` */
	uint8_t *data;
	size_t used, room;
	uint32_t flags, bare_kind;
	uint64_t key_size;
	uint64_t ops; /* added so far, the one that is being added among them */
	uint8_t *block;
	size_t block_used;
	uint32_t block_ops;
	uint64_t block_number, block_begin_ns, due_ns, last_key_size, last_value_size;
};

struct trace_format {
	const char *help;
	bool is_text;
	/* Whether a line is of the format, `is_whole` if its end is there; NULL: not text. */
	bool (*looks)(const char *line, size_t size, bool is_whole);
	/* Reading: what stands in front of the operations, also after a rewind; may be NULL. */
	int (*begin)(struct trace_reader *reader);
	enum trace_verdict (*parse)(
		struct trace_reader *reader, struct trace_line line, struct trace_op *op);
	int (*next)(struct trace_reader *reader, struct trace_op *op);
	/* Writing; begin and end may be NULL, without `add` it cannot be written. */
	int (*write_begin)(struct trace_writer *writer);
	int (*add)(struct trace_writer *writer, const struct trace_op *op);
	int (*write_end)(struct trace_writer *writer);
};

extern const struct trace_format trace_formats[NB_TRACE_FORMATS];

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

/** As `next` of a format of lines. */
NB_MUST_CHECK int
trace_text_next(struct trace_reader *reader, struct trace_op *op);

/** Say why the line is bad; returns TRACE_LINE_BAD. */
enum trace_verdict
trace_text_bad(struct trace_reader *reader, const char *fmt, ...) NB_PRINTF(2, 3);

/**
 * The decimal number at `at`; returns what follows it, a blank or the end. NULL if there
 * is none or it is above 2^64-1.
 */
const char *
trace_text_number(const char *at, const char *end, uint64_t *out);

/** TRACE_LINE_BAD, and why there is no number at `at`: "the key: ...". */
enum trace_verdict
trace_text_bad_number(
	struct trace_reader *reader, const char *what, const char *at, const char *end);

/** A word: what stands before the next blank. Blanks before it are skipped. */
struct trace_line
trace_text_word(const char **at, const char *end);

/** Behind blanks. */
const char *
trace_text_skip(const char *at, const char *end);

/** Eight bytes from a number, in the order that the flags ask for; lent until the next. */
struct nb_slice
trace_text_key(struct trace_reader *reader, uint64_t number);

/** See that sizes are within limits, else TRACE_LINE_BAD. */
enum trace_verdict
trace_text_check(struct trace_reader *reader, const struct trace_op *op);

/** Set due_ns from the time at which the operation was recorded, in units of `unit_ns`. */
enum trace_verdict
trace_text_due(
	struct trace_reader *reader, struct trace_op *op, uint64_t time, uint64_t unit_ns);

/** See that reader->key has `size` bytes. */
NB_MUST_CHECK bool
trace_text_key_room(struct trace_reader *reader, size_t size);

/** READ, UPDATE, INSERT, UPSERT, RMW, ...: whether it stores a value. */
static inline bool
trace_is_write(uint32_t kind)
{
	return op_is(kind, OP_WRITES) && op_is_traced(kind);
}

/* ---- writing, for the formats ---- */

/** Room for `size` bytes at the end of what is written; they count once taken. */
NB_MUST_CHECK int
trace_write_room(struct trace_writer *writer, size_t size, uint8_t **out);

/** A whole text or any bytes. */
NB_MUST_CHECK int
trace_write_bytes(struct trace_writer *writer, const void *data, size_t size);

/** The same byte, as often. */
NB_MUST_CHECK int
trace_write_fill(struct trace_writer *writer, char byte, uint64_t count);

/** A number in decimal at `out`, which has 20 bytes; returns what follows. */
uint8_t *
trace_write_number(uint8_t *out, uint64_t number);

/** NB_ERR_USAGE: "PATH: operation N: WHY". */
NB_MUST_CHECK int
trace_write_refuse(const struct trace_writer *writer, const char *fmt, ...) NB_PRINTF(2, 3);

/** The number that 8 bytes are, in the order that the flags ask for. NB_ERR_USAGE if not 8. */
NB_MUST_CHECK int
trace_write_key_number(
	const struct trace_writer *writer, const struct trace_op *op, uint64_t *out);

/** The kind, or what stands in for it if there is none. */
static inline uint32_t
trace_write_kind(const struct trace_writer *writer, const struct trace_op *op)
{
	return op->kind == TRACE_NO_KIND ? writer->bare_kind : op->kind;
}

/* ---- the formats, by file ---- */

bool
trace_ycsb_looks_text(const char *line, size_t size, bool is_whole);
enum trace_verdict
trace_ycsb_parse_text(struct trace_reader *reader, struct trace_line line, struct trace_op *op);
int
trace_ycsb_add_text(struct trace_writer *writer, const struct trace_op *op);
bool
trace_ycsb_looks_log(const char *line, size_t size, bool is_whole);
enum trace_verdict
trace_ycsb_parse_log(struct trace_reader *reader, struct trace_line line, struct trace_op *op);
int
trace_ycsb_add_log(struct trace_writer *writer, const struct trace_op *op);

bool
trace_rocksdb_looks(const char *line, size_t size, bool is_whole);
enum trace_verdict
trace_rocksdb_parse(struct trace_reader *reader, struct trace_line line, struct trace_op *op);

bool
trace_csv_looks(const char *line, size_t size, bool is_whole);
int
trace_csv_next(struct trace_reader *reader, struct trace_op *op);
enum trace_verdict
trace_csv_parse(struct trace_reader *reader, struct trace_line line, struct trace_op *op);
int
trace_csv_add(struct trace_writer *writer, const struct trace_op *op);

int
trace_keys_begin(struct trace_reader *reader);
int
trace_keys_next(struct trace_reader *reader, struct trace_op *op);
int
trace_keys_add(struct trace_writer *writer, const struct trace_op *op);

/** Whether these are the first bytes of our own format, or were meant to be. */
bool
trace_binary_is_ours(const uint8_t *data, size_t size);
int
trace_binary_begin(struct trace_reader *reader);
int
trace_binary_next(struct trace_reader *reader, struct trace_op *op);
int
trace_binary_write_begin(struct trace_writer *writer);
int
trace_binary_add(struct trace_writer *writer, const struct trace_op *op);
int
trace_binary_write_end(struct trace_writer *writer);

#endif /* WORKLOAD_TRACE_FORMAT_H */
