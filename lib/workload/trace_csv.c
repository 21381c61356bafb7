/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traces of caches, one request a line, columns with commas between them.
 *
 * Twitter's (github.com/twitter/cache-trace, README.md) has no header and seven columns:
 *
 *     timestamp in s, key, key size, value size, client id, operation, TTL
 *
 * The keys may hold commas, so five columns are counted from the right. Meta's (CacheLib's
 * cachebench, KVReplayGenerator.h and ReplayGeneratorBase.h at 278ffc7) name theirs in a
 * header, in any order: op_time, key, key_size, op, op_count, size, cache_hits, ttl, ...;
 * key and op have to be there. Without a header they are key, op, size, op_count,
 * key_size. Where a file was put behind another, its header may come again.
 *
 * Keys are anonymous and may be shorter than they were: they are filled up with '0' to
 * their key size, as CacheLib does it (its own limit of 256 bytes is not ours). A line
 * with an op_count of n is n operations. The size of a value that is read is not used.
 * Times are whole seconds, so a replay at their pace is bursts, one a second.
 *
 * What the operations of memcached become: set stores anyhow, add stores what should not
 * be there, replace and cas what should; append, prepend, incr and decr read what they
 * change. Writing has the form of Twitter, 'incr' for a read-modify-write, and neither
 * clients nor TTLs.
 */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include <mininb/workload.h>

#include "base/error.h"
#include "workload/trace_format.h"

enum { TWITTER_BEHIND_KEY = 5, SECOND_NS = 1000000000 };

struct request {
	const char *name;
	uint32_t kind;
};

/* The first of a kind is what that kind is written as. */
static const struct request requests[] = {
	{"get", NB_OP_READ},
	{"gets", NB_OP_READ},
	{"get_lease", NB_OP_READ},
	{"set", NB_OP_UPSERT},
	{"set_lease", NB_OP_UPSERT},
	{"add", NB_OP_INSERT},
	{"replace", NB_OP_UPDATE},
	{"cas", NB_OP_UPDATE},
	{"incr", NB_OP_RMW},
	{"decr", NB_OP_RMW},
	{"append", NB_OP_RMW},
	{"prepend", NB_OP_RMW},
	{"delete", NB_OP_DELETE},
};
enum { REQUEST_COUNT = sizeof(requests) / sizeof(requests[0]) };

/** A line taken apart. */
struct cells {
	struct trace_line cells[TRACE_COLUMNS];
	int count;
};

static const struct request *
find_request(struct trace_line name)
{
	for (size_t i = 0; i < REQUEST_COUNT; i++) {
		if (strlen(requests[i].name) == name.size &&
			strncasecmp(requests[i].name, name.text, name.size) == 0)
			return &requests[i];
	}
	return NULL;
}

static bool
is_text(struct trace_line cell, const char *text)
{
	return strlen(text) == cell.size && memcmp(cell.text, text, cell.size) == 0;
}

/** Columns behind the TRACE_COLUMNS-th are not looked at. */
static void
split(struct cells *cells, const char *at, const char *end)
{
	cells->count = 0;
	while (cells->count < TRACE_COLUMNS) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		const char *cell_end = comma != NULL ? comma : end;
		cells->cells[cells->count++] = (struct trace_line){
			.text = at, .size = (size_t)(cell_end - at)};
		if (comma == NULL)
			return;
		at = comma + 1;
	}
}

/** The five columns behind the key, from the right; then what is left is time and key. */
static bool
split_twitter(struct cells *cells, const char *at, const char *end)
{
	const char *comma = memchr(at, ',', (size_t)(end - at));
	if (comma == NULL)
		return false;
	cells->cells[0] = (struct trace_line){.text = at, .size = (size_t)(comma - at)};
	const char *key = comma + 1;
	for (int i = TWITTER_BEHIND_KEY; i > 0; i--) {
		comma = memrchr(key, ',', (size_t)(end - key));
		if (comma == NULL)
			return false;
		cells->cells[1 + i] = (struct trace_line){
			.text = comma + 1, .size = (size_t)(end - comma - 1)};
		end = comma;
	}
	cells->cells[1] = (struct trace_line){.text = key, .size = (size_t)(end - key)};
	cells->count = 2 + TWITTER_BEHIND_KEY;
	return true;
}

/* ---- which columns there are ---- */

static const struct trace_columns none = {-1, -1, -1, -1, -1, -1, false, false};

static struct trace_columns
columns_of_twitter(void)
{
	struct trace_columns columns = {.time = 0,
		.key = 1,
		.key_size = 2,
		.value_size = 3,
		.op = 5,
		.count = -1,
		.is_known = true,
		.is_twitter = true};
	return columns;
}

static struct trace_columns
columns_of_header(const struct cells *cells)
{
	struct trace_columns columns = none;
	const struct {
		const char *name;
		int *column;
	} names[] = {
		{"op_time", &columns.time},
		{"key", &columns.key},
		{"key_size", &columns.key_size},
		{"op", &columns.op},
		{"op_count", &columns.count},
		{"size", &columns.value_size},
		{"timestamp", &columns.time}, /* names that people give to Twitter's */
		{"value_size", &columns.value_size},
	};
	for (int c = 0; c < cells->count; c++) {
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			if (is_text(cells->cells[c], names[i].name))
				*names[i].column = c;
		}
	}
	columns.is_known = columns.key >= 0 && columns.op >= 0;
	return columns;
}

static bool
is_number(struct trace_line cell)
{
	uint64_t number;
	const char *end = cell.text + cell.size;
	return trace_text_number(cell.text, end, &number) == end;
}

/** From a line that is a header, or an operation; *is_header says which. */
static struct trace_columns
find_columns(const char *line, size_t size, bool *is_header)
{
	struct cells cells;
	split(&cells, line, line + size);
	struct trace_columns columns = columns_of_header(&cells);
	*is_header = columns.is_known;
	if (columns.is_known)
		return columns;
	if (cells.count >= 4 && find_request(cells.cells[1]) != NULL &&
		is_number(cells.cells[2]))
		return (struct trace_columns){.key = 0,
			.op = 1,
			.value_size = 2,
			.count = 3,
			.key_size = cells.count > 4 ? 4 : -1,
			.time = -1,
			.is_known = true};
	columns = columns_of_twitter();
	if (split_twitter(&cells, line, line + size) && is_number(cells.cells[0]) &&
		find_request(cells.cells[columns.op]) != NULL)
		return columns;
	return none;
}

bool
trace_csv_looks(const char *line, size_t size, bool is_whole)
{
	bool is_header;
	return is_whole && find_columns(line, size, &is_header).is_known;
}

/* ---- one line ---- */

/** Bad if there is no such column, if it is empty or no number. */
static enum trace_verdict
need_number(
	struct trace_reader *reader, const char *what, struct trace_line cell, uint64_t *out)
{
	const char *end = cell.text + cell.size;
	if (trace_text_number(cell.text, end, out) == end)
		return TRACE_LINE_OP;
	return trace_text_bad_number(reader, what, cell.text, end);
}

/** The key with zeros behind it, if it is shorter than it was. */
static enum trace_verdict
set_key(struct trace_reader *reader, struct trace_op *op, struct trace_line key, uint64_t size)
{
	op->key = (struct nb_slice){.data = key.text, .size = key.size};
	if (size <= key.size || key.size == 0)
		return TRACE_LINE_OP;
	if (size > NB_KEY_SIZE_MAX)
		return trace_text_bad(reader, "its key size of %" PRIu64 " is larger than %u",
			size, NB_KEY_SIZE_MAX);
	if (!trace_text_key_room(reader, size))
		return trace_text_bad(reader, "there is no memory for its key");
	memcpy(reader->key, key.text, key.size);
	memset(reader->key + key.size, '0', size - key.size);
	op->key = (struct nb_slice){.data = reader->key, .size = size};
	return TRACE_LINE_OP;
}

static enum trace_verdict
parse_cells(struct trace_reader *reader, const struct cells *cells, struct trace_op *op)
{
	const struct trace_columns *columns = &reader->columns;
	const struct trace_line *cell = cells->cells;
	enum trace_verdict verdict = TRACE_LINE_OP;
	uint64_t key_size = 0, time = 0;
	if (columns->key_size >= 0)
		verdict = need_number(
			reader, "its key size", cell[columns->key_size], &key_size);
	if (verdict == TRACE_LINE_OP)
		verdict = set_key(reader, op, cell[columns->key], key_size);
	if (verdict == TRACE_LINE_OP && columns->value_size >= 0 && trace_is_write(op->kind)) {
		op->has_value_size = true;
		verdict = need_number(
			reader, "its size", cell[columns->value_size], &op->value_size);
	}
	reader->repeats = 1;
	if (verdict == TRACE_LINE_OP && columns->count >= 0)
		verdict = need_number(
			reader, "its op_count", cell[columns->count], &reader->repeats);
	if (verdict == TRACE_LINE_OP && (reader->repeats == 0 || reader->repeats > UINT32_MAX))
		verdict = trace_text_bad(reader, "its op_count is not 1 to %u", UINT32_MAX);
	if (verdict == TRACE_LINE_OP)
		verdict = trace_text_check(reader, op);
	if (verdict == TRACE_LINE_OP && columns->time >= 0) {
		verdict = need_number(reader, "its time", cell[columns->time], &time);
		if (verdict == TRACE_LINE_OP)
			verdict = trace_text_due(reader, op, time, SECOND_NS);
	}
	return verdict;
}

/** A line that is no operation may be the header of another file that was put behind. */
static bool
take_header(struct trace_reader *reader, const struct cells *cells)
{
	struct trace_columns columns = columns_of_header(cells);
	if (columns.is_known)
		reader->columns = columns;
	return columns.is_known;
}

static int
last_column(const struct trace_columns *columns)
{
	const int used[] = {columns->key, columns->op, columns->key_size, columns->value_size,
		columns->time, columns->count};
	int last = 0;
	for (size_t i = 0; i < sizeof(used) / sizeof(used[0]); i++)
		last = used[i] > last ? used[i] : last;
	return last;
}

enum trace_verdict
trace_csv_parse(struct trace_reader *reader, struct trace_line line, struct trace_op *op)
{
	const char *end = line.text + line.size;
	if (trace_text_skip(line.text, end) == end)
		return TRACE_LINE_IGNORED;
	if (!reader->columns.is_known) {
		bool is_header;
		reader->columns = find_columns(line.text, line.size, &is_header);
		if (!reader->columns.is_known)
			return trace_text_bad(reader,
				"neither columns of Twitter's nor a header with 'key' and 'op'");
		if (is_header)
			return TRACE_LINE_IGNORED;
	}
	struct cells cells;
	if (!reader->columns.is_twitter)
		split(&cells, line.text, end);
	else if (!split_twitter(&cells, line.text, end))
		return trace_text_bad(reader, "it has too few columns");
	const struct request *request = NULL;
	struct trace_line name = {0};
	if (cells.count > last_column(&reader->columns)) {
		name = cells.cells[reader->columns.op];
		request = find_request(name);
	}
	if (request == NULL) {
		if (take_header(reader, &cells))
			return TRACE_LINE_IGNORED;
		if (name.text == NULL)
			return trace_text_bad(reader, "it has too few columns");
		return trace_text_bad(reader, "there is no request '%.*s'",
			(int)(name.size < 40 ? name.size : 40), name.text);
	}
	op->kind = request->kind;
	return parse_cells(reader, &cells, op);
}

int
trace_csv_next(struct trace_reader *reader, struct trace_op *op)
{
	if (reader->repeats > 0) {
		reader->repeats--;
		*op = reader->repeated;
		return NB_OK;
	}
	int rc = trace_text_next(reader, op);
	if (rc == NB_OK) {
		reader->repeats--;
		reader->repeated = *op;
	} else {
		reader->repeats = 0;
	}
	return rc;
}

/* ---- writing ---- */

static int
check_key(const struct trace_writer *writer, const struct trace_op *op)
{
	const char *key = op->key.data;
	for (size_t i = 0; i < op->key.size; i++) {
		if (key[i] == ',' || key[i] == '\n' || key[i] == '\r')
			return trace_write_refuse(writer,
				"byte 0x%02x of its key cannot stand in a column of cache-csv",
				(unsigned)key[i]);
	}
	return NB_OK;
}

/** ",17,213,0,get,0" */
static int
add_rest(struct trace_writer *writer, const struct trace_op *op, const char *name)
{
	uint8_t *begin, *at;
	int rc = trace_write_room(writer, 2 * TRACE_OP_BYTES, &begin);
	if (rc != NB_OK)
		return rc;
	at = begin;
	*at++ = ',';
	at = trace_write_number(at, op->key.size);
	*at++ = ',';
	at = trace_write_number(at, op->value_size);
	memcpy(at, ",0,", 3);
	at += 3;
	memcpy(at, name, strlen(name));
	at += strlen(name);
	memcpy(at, ",0\n", 3);
	writer->used += (size_t)(at + 3 - begin);
	return NB_OK;
}

int
trace_csv_add(struct trace_writer *writer, const struct trace_op *op)
{
	uint32_t kind = trace_write_kind(writer, op);
	const struct request *request = requests;
	while (request < requests + REQUEST_COUNT && request->kind != kind)
		request++;
	if (request == requests + REQUEST_COUNT)
		return trace_write_refuse(writer, "cache-csv has no scans");
	int rc = check_key(writer, op);
	uint8_t time[24];
	size_t size = (size_t)(trace_write_number(time, op->due_ns / SECOND_NS) - time);
	time[size++] = ',';
	if (rc == NB_OK)
		rc = trace_write_bytes(writer, time, size);
	if (rc == NB_OK)
		rc = trace_write_bytes(writer, op->key.data, op->key.size);
	return rc == NB_OK ? add_rest(writer, op, request->name) : rc;
}
