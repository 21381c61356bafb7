/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets of the MySQL protocol.
 *
 * Each execution includes the parameter types, 2 bytes each, so a request does not depend on
 * earlier ones. Numbers on the wire are little-endian on all machines.
 */
#include "wire.h"

enum { COM_QUERY = 0x03, COM_STMT_EXECUTE = 0x17 };
enum { TYPE_TINY = 0x01, TYPE_LONGLONG = 0x08, TYPE_BLOB = 0xfc, TYPE_UNSIGNED = 0x80 };
enum { HAS_MORE_RESULTS = 0x08 }; /* a status flag of OK and EOF */

/* --- commands --- */

static void
write_number(char *to, uint64_t number, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = (char)(number >> 8 * i);
}

static void
write_packet_head(char *to, size_t size)
{
	write_number(to, size, 3);
	to[3] = 0;
}

void
command_begin(struct command *command, char *to, uint32_t statement, uint32_t parameters)
{
	char *at = to + PACKET_HEAD;
	size_t nulls = (parameters + 7) / 8;
	*at++ = COM_STMT_EXECUTE;
	write_number(at, statement, 4);
	at[4] = 0; /* no cursor */
	write_number(at + 5, 1, 4);
	at += 9;
	command->begin = to;
	command->nulls = at;
	command->next = 0;
	if (parameters > 0) {
		memset(at, 0, nulls);
		at += nulls;
		*at++ = 1; /* types follow */
	}
	command->type = at;
	command->at = at + 2 * parameters;
}

char *
command_end(const struct command *command)
{
	write_packet_head(command->begin, (size_t)(command->at - command->begin) - PACKET_HEAD);
	return command->at;
}

static void
write_type(struct command *command, int type, int flags)
{
	*command->type++ = (char)type;
	*command->type++ = (char)flags;
	command->next++;
}

void
command_bytes(struct command *command, struct nb_slice bytes)
{
	write_type(command, TYPE_BLOB, 0);
	size_t size = bytes.size, width = size < 251 ? 0 : size < 65536 ? 2 : 3;
	if (width > 0)
		*command->at++ = (char)(width == 2 ? 0xfc : 0xfd);
	write_number(command->at, size, width > 0 ? width : 1);
	command->at += width > 0 ? width : 1;
	if (size > 0)
		memcpy(command->at, bytes.data, size);
	command->at += size;
}

void
command_number(struct command *command, uint64_t number)
{
	write_type(command, TYPE_LONGLONG, TYPE_UNSIGNED);
	write_number(command->at, number, 8);
	command->at += 8;
}

void
command_nulls(struct command *command, uint32_t count)
{
	for (; count > 0; count--) {
		command->nulls[command->next / 8] |= (char)(1 << command->next % 8);
		write_type(command, TYPE_LONGLONG, TYPE_UNSIGNED);
	}
}

static void
command_column(struct command *command, const struct nb_column *column, struct nb_slice part,
	bool is_key)
{
	if (column->type == NB_COLUMN_U64) {
		command_number(command, is_key ? sql_key_number(part) : sql_value_number(part));
	} else if (column->type == NB_COLUMN_U8) {
		write_type(command, TYPE_TINY, TYPE_UNSIGNED);
		*command->at++ = *(const char *)part.data;
	} else
		command_bytes(command, part);
}

bool
command_columns(struct command *command, const struct nb_column *columns, uint32_t count,
	struct nb_slice bytes, bool is_key)
{
	struct nb_slice parts[SQL_COLUMNS_MAX];
	if (!sql_split(columns, count, bytes, parts))
		return false;
	for (uint32_t i = 0; i < count; i++)
		command_column(command, &columns[i], parts[i], is_key);
	return true;
}

void
query_head(char *to, size_t size)
{
	write_packet_head(to, size + 1);
	to[PACKET_HEAD] = COM_QUERY;
}

char *
query_write(char *to, const char *text)
{
	size_t size = strlen(text);
	query_head(to, size);
	memcpy(to + QUERY_HEAD, text, size);
	return to + QUERY_HEAD + size;
}

/* --- results --- */

enum { PHASE_HEAD, PHASE_COLUMNS, PHASE_COLUMNS_END, PHASE_ROWS };

static uint64_t
read_number(const char *from, size_t size)
{
	uint64_t number = 0;
	for (size_t i = 0; i < size; i++)
		number |= (uint64_t)(unsigned char)from[i] << 8 * i;
	return number;
}

/**
 * Read a length-encoded number of 1 to 9 bytes and advance *at. Returns false if it is
 * invalid or truncated.
 */
static bool
read_size(char **at, const char *end, uint64_t *number)
{
	if (*at >= end)
		return false;
	unsigned char first = (unsigned char)*(*at)++;
	size_t width = first < 0xfb ? 0
		: first == 0xfc     ? 2
		: first == 0xfd     ? 3
		: first == 0xfe     ? 8
				    : SIZE_MAX;
	*number = first;
	if (width == 0)
		return true;
	if (width > (size_t)(end - *at))
		return false;
	*number = read_number(*at, width);
	*at += width;
	return true;
}

/** The number after `word` in the human-readable text of an OK. */
static uint64_t
read_word(const char *at, const char *end, const char *word)
{
	uint64_t number = 0;
	const char *found = at < end ? memmem(at, (size_t)(end - at), word, strlen(word))
				     : NULL;
	if (found == NULL)
		return 0;
	for (found += strlen(word); found < end && *found >= '0' && *found <= '9'; found++)
		number = number * 10 + (uint64_t)(*found - '0');
	return number;
}

static enum event
take_ok(struct reading *reading, char *at, const char *end)
{
	uint64_t last_id;
	at++;
	if (!read_size(&at, end, &reading->affected) || !read_size(&at, end, &last_id) ||
		end - at < 4)
		return EVENT_GARBAGE;
	reading->has_more = (read_number(at, 2) & HAS_MORE_RESULTS) != 0;
	reading->matched = end - at > 4 ? read_word(at + 4, end, "matched: ") : 0;
	return EVENT_DONE;
}

/*
 * Before the text are the packet header, 0xff, the error number, and '#' with 5 characters.
 * So "NUMBER: " fits there.
 */
static enum event
take_error(struct reading *reading, char *payload, size_t size)
{
	char number[16];
	char *text = payload + 3, *end = payload + size;
	if (size < 3)
		return EVENT_GARBAGE;
	reading->error = (uint32_t)read_number(payload + 1, 2);
	if (size >= 9 && payload[3] == '#')
		text += 6;
	size_t used = (size_t)snprintf(number, sizeof(number), "%u: ", reading->error);
	char *to = payload - PACKET_HEAD;
	size_t left = (size_t)(end - text);
	if (used > (size_t)(text - to) - 1)
		used = 0;
	memcpy(to, number, used);
	memmove(to + used, text, left);
	to[used + left] = '\0';
	reading->text = to;
	reading->has_more = false;
	reading->phase = PHASE_HEAD;
	return EVENT_ERROR;
}

static enum event
take_head(struct reading *reading, char *at, size_t size)
{
	uint64_t columns;
	const char *end = at + size;
	if (*at == 0)
		return take_ok(reading, at, end);
	if (!read_size(&at, end, &columns) || columns == 0 || columns > UINT32_MAX)
		return EVENT_GARBAGE;
	/* If negotiated, an additional byte indicates whether definitions follow. */
	bool are_left_out = at < end && *at == 0;
	reading->columns = (uint32_t)columns;
	reading->phase = are_left_out ? PHASE_COLUMNS_END : PHASE_COLUMNS;
	return EVENT_NONE;
}

static bool
is_eof(const char *payload, size_t size)
{
	return (unsigned char)*payload == 0xfe && size < 9;
}

static enum event
take_row(struct reading *reading, const char *payload, size_t size)
{
	if (!is_eof(payload, size))
		return EVENT_ROW;
	reading->has_more = size >= 5 && (read_number(payload + 3, 2) & HAS_MORE_RESULTS) != 0;
	reading->phase = PHASE_HEAD;
	return EVENT_DONE;
}

enum event
reading_take(struct reading *reading, char *payload, size_t size)
{
	if (size == 0)
		return EVENT_GARBAGE;
	if ((unsigned char)*payload == 0xff)
		return take_error(reading, payload, size);
	switch (reading->phase) {
	case PHASE_HEAD:
		return take_head(reading, payload, size);
	case PHASE_COLUMNS:
		if (--reading->columns == 0)
			reading->phase = PHASE_COLUMNS_END;
		return EVENT_NONE;
	case PHASE_COLUMNS_END:
		reading->phase = PHASE_ROWS;
		return is_eof(payload, size) ? EVENT_NONE : EVENT_GARBAGE;
	default:
		return take_row(reading, payload, size);
	}
}

/* --- rows --- */

bool
row_begin(struct row *row, char *payload, size_t size, uint32_t columns, bool is_text)
{
	size_t head = is_text ? 0 : 1 + (columns + 9) / 8; /* 0 and the NULL bitmap */
	*row = (struct row){payload + head, payload + size, is_text};
	return size >= head;
}

static bool
row_bytes(struct row *row, struct nb_slice *bytes)
{
	uint64_t size;
	if (!read_size(&row->at, row->end, &size) || size > (size_t)(row->end - row->at))
		return false;
	*bytes = (struct nb_slice){row->at, (size_t)size};
	row->at += size;
	return true;
}

static bool
row_number(struct row *row, size_t size, uint64_t *number)
{
	struct nb_slice digits;
	*number = 0;
	if (row->is_text) {
		if (!row_bytes(row, &digits))
			return false;
		for (size_t i = 0; i < digits.size; i++)
			*number = *number * 10 +
				(uint64_t)(((const char *)digits.data)[i] - '0');
		return true;
	}
	if (size > (size_t)(row->end - row->at))
		return false;
	*number = read_number(row->at, size);
	row->at += size;
	return true;
}

/** Write a number in the format of a key or a value. */
static void
put_number(char *to, uint64_t number, size_t size, bool is_key)
{
	if (size == 1)
		*to = (char)number;
	else if (!is_key)
		memcpy(to, &number, size);
	else
		for (size_t i = 0; i < size; i++)
			to[i] = (char)(number >> 8 * (size - 1 - i));
}

static bool
row_column(struct row *row, const struct nb_column *column, bool is_key, char **to)
{
	struct nb_slice bytes;
	uint64_t number;
	if (column->type != NB_COLUMN_BYTES) {
		size_t size = sql_column_size(column);
		if (!row_number(row, size, &number))
			return false;
		put_number(*to, number, size, is_key);
		*to += size;
		return true;
	}
	if (!row_bytes(row, &bytes))
		return false;
	memmove(*to, bytes.data, bytes.size);
	*to += bytes.size;
	return true;
}

bool
row_value(struct row *row, const struct nb_column *columns, uint32_t count,
	struct nb_slice *value)
{
	char *to = row->at, *begin = to;
	if (count == 1 && columns->type == NB_COLUMN_BYTES)
		return row_bytes(row, value);
	for (uint32_t i = 0; i < count; i++)
		if (!row_column(row, &columns[i], false, &to))
			return false;
	*value = (struct nb_slice){begin, (size_t)(to - begin)};
	return true;
}

bool
row_key(struct row *row, const struct nb_column *columns, uint32_t count,
	struct nb_slice prefix, char *room, struct nb_slice *key)
{
	char *to = room;
	if (count == 1 && columns->type == NB_COLUMN_BYTES && prefix.size == 0)
		return row_bytes(row, key);
	if (prefix.size > 0)
		memcpy(to, prefix.data, prefix.size);
	to += prefix.size;
	for (uint32_t i = 0; i < count; i++)
		if (!row_column(row, &columns[i], true, &to))
			return false;
	*key = (struct nb_slice){room, (size_t)(to - room)};
	return true;
}
