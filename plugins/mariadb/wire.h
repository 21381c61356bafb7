/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MARIADB_WIRE_H
#define MARIADB_WIRE_H
/**
 * Packets of the MySQL protocol: a client's commands after login, and the server's results.
 *
 * A command is one packet: 3 bytes of size, a sequence number (0 here), and the command's
 * bytes. Its results are packets, too: an OK, an error, or a row set. A row set is a header,
 * the definition of each column, an EOF, the rows, and an EOF. The server omits the
 * definitions if it knows that the client has them. OK and EOF indicate whether another
 * result of the same command follows.
 */
#include "../common/sql.h"

enum {
	PACKET_HEAD = 4,
	PACKET_MAX = 0xffffff, /* exclusive: a longer packet would be split */
	PARAMETER_MAX = 2 + 9  /* overhead of a parameter: its type and its length prefix */
};

/* --- commands --- */

/** A COM_STMT_EXECUTE being written. It needs all parameters of the statement. */
struct command {
	char *begin;
	char *nulls; /* one bit for each parameter */
	char *type;  /* of the next parameter */
	char *at;    /* value of the next parameter */
	uint32_t next;
};

/** Size of a command with `count` parameters, without the bytes of their values. */
static inline size_t
command_bound(size_t count)
{
	return PACKET_HEAD + 11 + count / 8 + count * PARAMETER_MAX;
}

void
command_begin(struct command *command, char *to, uint32_t statement, uint32_t parameters);

/** Returns the end of the command. */
char *
command_end(const struct command *command);

void
command_bytes(struct command *command, struct nb_slice bytes);
void
command_number(struct command *command, uint64_t number);

/** Append `count` NULL parameters of a numeric type. */
void
command_nulls(struct command *command, uint32_t count);

/** Append the columns of a key or a value. Returns false if the bytes do not fit the columns. */
bool
command_columns(struct command *command, const struct nb_column *columns, uint32_t count,
	struct nb_slice bytes, bool is_key);

/** Write the header of a COM_QUERY with `size` bytes of text, which the caller appends. */
enum { QUERY_HEAD = PACKET_HEAD + 1 };
void
query_head(char *to, size_t size);

/** Write a COM_QUERY. Returns its end. */
char *
query_write(char *to, const char *text);

/* --- results --- */

enum event {
	EVENT_NONE, /* nothing relevant */
	EVENT_ROW,
	EVENT_DONE,  /* end of a result */
	EVENT_ERROR, /* ends the command: no other result follows */
	EVENT_GARBAGE
};

/** State of the reader of a server's results. Zeros: before a result. */
struct reading {
	uint32_t phase;
	uint32_t columns;  /* number of outstanding column definitions */
	bool has_more;     /* after EVENT_DONE: more results of the same command follow */
	uint64_t affected; /* after EVENT_DONE: number of changed rows, as counted by SQL */
	uint64_t matched;  /* number of rows that an UPDATE matched */
	uint32_t error;    /* after EVENT_ERROR: error number */
	const char *text;  /* likewise: "1062: Duplicate entry ...", in the packet's bytes */
};

/** Process one packet with `size` bytes of payload after its header. */
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

/** A row being decoded. Columns are joined in place: they need no more room than before. */
struct row {
	char *at, *end;
	bool is_text; /* strings, with numbers of 20 digits; else as in COM_STMT_EXECUTE */
};

/** Returns false if the row is malformed. */
bool
row_begin(struct row *row, char *payload, size_t size, uint32_t columns, bool is_text);

/** Decode the next columns as a value, in place. Returns false if the row ends too early. */
bool
row_value(struct row *row, const struct nb_column *columns, uint32_t count,
	struct nb_slice *value);

/**
 * Decode the next columns as a key with `prefix` before it. The key is copied to `room`,
 * which has room for the prefix and KEY_SIZE_MAX bytes, unless it can stay in place.
 */
bool
row_key(struct row *row, const struct nb_column *columns, uint32_t count,
	struct nb_slice prefix, char *room, struct nb_slice *key);

#endif /* MARIADB_WIRE_H */
