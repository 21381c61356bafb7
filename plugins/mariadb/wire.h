/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MARIADB_WIRE_H
#define MARIADB_WIRE_H
/**
 * Packets of the MySQL protocol: what a client sends once it is logged in, and how the server's
 * results come.
 *
 * A command is one packet: 3 bytes of size, a number, 0 here, and the command's bytes. Its
 * results are packets as well: OK, or an error, or a row set: a head, the definition of each
 * column (a server that knows that the client has them leaves them out), an EOF, the rows, an
 * EOF. OK and EOF say whether another result of the same command follows.
 */
#include "../common/sql.h"

enum {
	PACKET_HEAD = 4,
	PACKET_MAX = 0xffffff, /* exclusive: a longer one would be split */
	PARAMETER_MAX = 2 + 9  /* of a parameter: its type, and the head of its value */
};

/* --- commands --- */

/** A COM_STMT_EXECUTE that is written. Parameters are as many as the statement has. */
struct command {
	char *begin;
	char *nulls; /* a bit for each parameter */
	char *type;  /* of the next parameter */
	char *at;    /* its value */
	uint32_t next;
};

/** Bytes of a command with `count` parameters, without their own bytes. */
static inline size_t
command_bound(size_t count)
{
	return PACKET_HEAD + 11 + count / 8 + count * PARAMETER_MAX;
}

void
command_begin(struct command *command, char *to, uint32_t statement, uint32_t parameters);

/** Returns the end. */
char *
command_end(const struct command *command);

void
command_bytes(struct command *command, struct nb_slice bytes);
void
command_number(struct command *command, uint64_t number);

/** So many parameters that are NULL, of the type of numbers. */
void
command_nulls(struct command *command, uint32_t count);

/** The parameters of columns of a key or a value. False: the bytes do not fit the columns. */
bool
command_columns(struct command *command, const struct nb_column *columns, uint32_t count,
	struct nb_slice bytes, bool is_key);

/** The head of a COM_QUERY of so many bytes; the text follows. */
enum { QUERY_HEAD = PACKET_HEAD + 1 };
void
query_head(char *to, size_t size);

/** A COM_QUERY. Returns the end. */
char *
query_write(char *to, const char *text);

/* --- results --- */

enum event {
	EVENT_NONE, /* nothing that matters */
	EVENT_ROW,
	EVENT_DONE,  /* a result has ended */
	EVENT_ERROR, /* with this, and no other of the same command follows */
	EVENT_GARBAGE
};

/** Where the reader of a server's results is. Zeros: before a result. */
struct reading {
	uint32_t phase;
	uint32_t columns;  /* whose definitions are still to come */
	bool has_more;     /* after EVENT_DONE: results of the same command */
	bool was_rows;     /* after EVENT_DONE: it was a row set */
	uint64_t affected; /* after EVENT_DONE: rows that were changed, counted as SQL does */
	uint64_t matched;  /* of an UPDATE */
	uint32_t error;    /* after EVENT_ERROR: its number */
	const char *text;  /* likewise: "1062: Duplicate entry ...", in the packet's bytes */
};

/** Look at one packet, of which `payload` has `size` bytes after the head of the packet. */
enum event
reading_take(struct reading *reading, char *payload, size_t size);

/** The size of a packet's payload. */
static inline size_t
packet_size(const char *packet)
{
	const unsigned char *bytes = (const unsigned char *)packet;
	return (size_t)bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16;
}

/* --- rows --- */

/** A row that is taken apart. Columns are joined in place: they take no more room than before. */
struct row {
	char *at, *end;
	bool is_text; /* as strings, numbers of 20 digits; else as COM_STMT_EXECUTE has them */
};

/** False: it is none. */
bool
row_begin(struct row *row, char *payload, size_t size, uint32_t columns, bool is_text);

/** The next columns as the bytes of a value, in place. False: the row ends before. */
bool
row_value(struct row *row, const struct nb_column *columns, uint32_t count,
	struct nb_slice *value);

/**
 * The next columns as the bytes of a key, with `prefix` before them. They are copied to `room`,
 * which has KEY_ROOM bytes more than the prefix, unless they can stay where they are.
 */
bool
row_key(struct row *row, const struct nb_column *columns, uint32_t count,
	struct nb_slice prefix, char *room, struct nb_slice *key);

#endif /* MARIADB_WIRE_H */
