/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traces of caches: one request per line, columns separated by commas.
 *
 * Twitter's (github.com/twitter/cache-trace, README.md) have no header and seven columns:
 *
 *     timestamp in s, key, key size, value size, client id, operation, TTL
 *
 * The keys may contain commas, so five columns are counted from the right. Meta's (CacheLib's
 * cachebench, KVReplayGenerator.h and ReplayGeneratorBase.h at 278ffc7) have a header with
 * column names in any order: op_time, key, key_size, op, op_count, size, cache_hits, ttl, ...;
 * key and op are required. Without a header the columns are key, op, size, op_count, key_size.
 * In concatenated files, a header may occur again.
 *
 * Keys are anonymised and may be shorter than the original ones. They are padded with '0' to
 * their key size, as in CacheLib (without its limit of 256 bytes). A line with an op_count of n
 * is n operations. The value size of a read is ignored. Times are whole seconds, so a replay at
 * their pace has one burst per second.
 *
 * Operations of memcached: set is an upsert, add an insert, replace and cas are updates;
 * append, prepend, incr and decr are read-modify-writes. Traces are written in Twitter's form,
 * with 'incr' for a read-modify-write, without clients and TTLs.
 */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include <mininb/workload.h>

#include "workload/trace_format.h"

enum { COLUMNS_MAX = 64, TWITTER_COLUMNS = 7, SECOND_NS = 1000000000 };

/* The first name of a kind is used for writing. */
static const struct request {
	const char *name;
	uint32_t kind;
} requests[] = {
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
enum { REQUESTS = sizeof(requests) / sizeof(requests[0]) };

/** The cells of a line. */
struct cells {
	struct trace_text cells[COLUMNS_MAX];
	int count;
};

static const struct request *
find_request(struct trace_text name)
{
	for (size_t i = 0; i < REQUESTS; i++) {
		if (strlen(requests[i].name) == trace_text_size(name) &&
			strncasecmp(requests[i].name, name.at, trace_text_size(name)) == 0)
			return &requests[i];
	}
	return NULL;
}

/** Columns beyond COLUMNS_MAX are ignored. */
static void
split(struct cells *cells, struct trace_text line)
{
	cells->count = 0;
	while (cells->count < COLUMNS_MAX) {
		const char *comma = memchr(line.at, ',', trace_text_size(line));
		const char *end = comma != NULL ? comma : line.end;
		cells->cells[cells->count++] = (struct trace_text){line.at, end};
		if (comma == NULL)
			return;
		line.at = comma + 1;
	}
}

/** Find the five columns after the key from the right; the time and the key are the rest. */
static bool
split_twitter(struct cells *cells, struct trace_text line)
{
	const char *comma = memchr(line.at, ',', trace_text_size(line));
	if (comma == NULL)
		return false;
	cells->cells[0] = (struct trace_text){line.at, comma};
	line.at = comma + 1;
	for (int i = TWITTER_COLUMNS - 1; i > 1; i--) {
		comma = memrchr(line.at, ',', trace_text_size(line));
		if (comma == NULL)
			return false;
		cells->cells[i] = (struct trace_text){comma + 1, line.end};
		line.end = comma;
	}
	cells->cells[1] = line;
	cells->count = TWITTER_COLUMNS;
	return true;
}

/* ---- columns ---- */

static const struct trace_columns none = {-1, -1, -1, -1, -1, -1, false, false};

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
		{"timestamp", &columns.time}, /* usual names for Twitter's columns */
		{"value_size", &columns.value_size},
	};
	for (int c = 0; c < cells->count; c++) {
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			if (trace_text_size(cells->cells[c]) == strlen(names[i].name) &&
				trace_text_begins(cells->cells[c], names[i].name))
				*names[i].column = c;
		}
	}
	columns.is_known = columns.key >= 0 && columns.op >= 0;
	return columns;
}

static bool
is_number(struct trace_text cell)
{
	uint64_t number;
	return trace_text_number(&cell, &number) && cell.at == cell.end;
}

/** Detect the columns from a line; *is_header: it is a header, not an operation. */
static struct trace_columns
find_columns(struct trace_text line, bool *is_header)
{
	struct cells cells;
	split(&cells, line);
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
	if (split_twitter(&cells, line) && is_number(cells.cells[0]) &&
		find_request(cells.cells[5]) != NULL)
		return (struct trace_columns){.time = 0,
			.key = 1,
			.key_size = 2,
			.value_size = 3,
			.op = 5,
			.count = -1,
			.is_known = true,
			.is_twitter = true};
	return none;
}

static bool
looks(struct trace_text line, bool is_whole)
{
	bool is_header;
	return is_whole && find_columns(line, &is_header).is_known;
}

/* ---- one line ---- */

/**
 * Returns `instead` if the column is missing. A cell that is not a number makes the line bad.
 */
static uint64_t
take_number(struct trace_reader *reader, const struct cells *cells, int column,
	const char *what, uint64_t instead)
{
	if (column < 0)
		return instead;
	struct trace_text cell = cells->cells[column];
	uint64_t number = trace_text_need(reader, &cell, what);
	if (cell.at < cell.end)
		trace_text_bad(reader, "%s is not a number", what);
	return number;
}

/** Get the key, padded with '0' to its original size. */
static void
take_key(struct trace_reader *reader, struct trace_op *op, struct trace_text key, uint64_t size)
{
	size_t have = trace_text_size(key);
	op->key = (struct nb_slice){.data = key.at, .size = have};
	if (size <= have || have == 0 || !trace_text_key_room(reader, size))
		return;
	memcpy(reader->key, key.at, have);
	memset(reader->key + have, '0', size - have);
	op->key = (struct nb_slice){.data = reader->key, .size = size};
}

static enum trace_verdict
parse_cells(struct trace_reader *reader, const struct cells *cells, struct trace_op *op)
{
	const struct trace_columns *columns = &reader->columns;
	uint64_t key_size = take_number(reader, cells, columns->key_size, "its key size", 0);
	take_key(reader, op, cells->cells[columns->key], key_size);
	if (columns->value_size >= 0 && trace_is_write(op->kind)) {
		op->has_value_size = true;
		op->value_size = take_number(reader, cells, columns->value_size, "its size", 0);
	}
	uint64_t count = take_number(reader, cells, columns->count, "its op_count", 1);
	if (count == 0 || count > UINT32_MAX)
		return trace_text_bad(reader, "its op_count is not 1 to %u", UINT32_MAX);
	reader->repeats = count - 1;
	enum trace_verdict verdict = trace_text_check(reader, op);
	if (columns->time < 0)
		return verdict;
	uint64_t time = take_number(reader, cells, columns->time, "its time", 0);
	return trace_text_due(reader, op, time, SECOND_NS);
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

static enum trace_verdict
parse(struct trace_reader *reader, struct trace_text line, struct trace_op *op)
{
	struct trace_columns *columns = &reader->columns;
	struct trace_text rest = line;
	if (trace_text_is_over(&rest))
		return TRACE_LINE_IGNORED;
	if (!columns->is_known) {
		bool is_header;
		*columns = find_columns(line, &is_header);
		if (!columns->is_known)
			return trace_text_bad(reader,
				"expected Twitter's columns or a header with 'key' and 'op'");
		if (is_header)
			return TRACE_LINE_IGNORED;
	}
	struct cells cells;
	if (!columns->is_twitter)
		split(&cells, line);
	else if (!split_twitter(&cells, line))
		return trace_text_bad(reader, "it has too few columns");
	bool has_all = cells.count > last_column(columns);
	struct trace_text name = has_all ? cells.cells[columns->op] : rest;
	const struct request *request = has_all ? find_request(name) : NULL;
	if (request != NULL) {
		op->kind = request->kind;
		return parse_cells(reader, &cells, op);
	}
	/* a header of an appended file */
	struct trace_columns others = columns_of_header(&cells);
	if (others.is_known) {
		*columns = others;
		return TRACE_LINE_IGNORED;
	}
	if (!has_all)
		return trace_text_bad(reader, "it has too few columns");
	size_t size = trace_text_size(name);
	return trace_text_bad(
		reader, "unknown request '%.*s'", (int)(size < 40 ? size : 40), name.at);
}

/* ---- writing ---- */

static int
add(struct trace_writer *writer, const struct trace_op *op)
{
	uint32_t kind = trace_write_kind(writer, op);
	const char *key = op->key.data;
	const struct request *request = requests;
	while (request < requests + REQUESTS && request->kind != kind)
		request++;
	if (request == requests + REQUESTS)
		return trace_write_refuse(writer, "cache-csv cannot hold scans");
	for (size_t i = 0; i < op->key.size; i++) {
		if (key[i] == ',' || key[i] == '\n' || key[i] == '\r')
			return trace_write_refuse(writer,
				"its key contains byte 0x%02x, which cache-csv cannot hold",
				(unsigned)key[i]);
	}
	trace_write_number(writer, "", op->due_ns / SECOND_NS);
	trace_write(writer, ",", 1);
	trace_write(writer, key, op->key.size);
	trace_write_number(writer, ",", op->key.size);
	trace_write_number(writer, ",", op->value_size);
	trace_write(writer, ",0,", 3);
	trace_write(writer, request->name, strlen(request->name));
	trace_write(writer, ",0\n", 3);
	return NB_OK;
}

const struct trace_format trace_format_CACHE_CSV = {
	.looks = looks,
	.parse = parse,
	.add = add,
};
