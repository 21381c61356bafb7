/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scans: each page is a SELECT that begins after the last key of the previous one. All pages
 * of a scan come from one snapshot, unless one page suffices.
 */
#include "internal.h"

enum { PAGE_FIRST = 16, PAGE_MAX = 1024, PAGE_BYTES = 256 << 10 };

static const struct sql_table *
scanned_table(const struct nb_session *session)
{
	return &session->db->tables[session->db->by_prefix[session->scan.place]];
}

/** Append the parameters for add_bound() in schema.c. */
static void
add_bound(struct command *command, const struct nb_table *of, const struct nb_slice *parts)
{
	for (uint32_t last = 0; last < of->key_column_count; last++)
		for (uint32_t i = 0; i <= last; i++)
			if (of->key_columns[i].type == NB_COLUMN_BYTES)
				command_bytes(command, parts[i]);
			else
				command_number(command, sql_key_number(parts[i]));
}

/** Append the SELECT of the next page, from scan->from. */
static bool
add_page(struct nb_session *session)
{
	struct scan *scan = &session->scan;
	const struct sql_table *table = scanned_table(session);
	const struct nb_table *of = table->of;
	struct nb_slice parts[SQL_COLUMNS_MAX];
	char *room = session->key.data; /* holds a key */
	bool is_down = (scan->bits & SCAN_DOWN) != 0;
	int how = sql_pad_key(of, buffer_slice(&scan->from), 0, room, parts);
	/* A shorter key is below all keys that begin with it, a longer one above. */
	bool is_beyond = scan->is_beyond || (is_down ? how < 0 : how > 0);
	uint32_t kind = SCAN + (scan->bits | (is_beyond ? SCAN_BEYOND : 0));
	struct command command;
	char *to = message_room(session,
		command_bound(table->scan_parameters) +
			table->scan_parameters * (scan->from.size + 8));
	if (to == NULL)
		return false;
	command_begin(&command, to,
		session->connections[0]
			.statements[(table - session->db->tables) * STATEMENTS + kind],
		table->scan_parameters);
	add_bound(&command, of, parts);
	command_number(&command, scan->limit);
	message_wrote(session, command_end(&command));
	return true;
}

static bool
page_reserve(struct page *page, uint64_t rows)
{
	struct nb_slice *room = page->room >= rows
		? page->rows
		: realloc(page->rows, rows * sizeof(*page->rows));
	if (room == NULL)
		return false;
	page->rows = room;
	page->room = page->room >= rows ? page->room : rows;
	page->count = page->next = page->bytes = 0;
	return true;
}

/** Set scan->from to the lower end of the table, or for a backward scan to its upper end. */
static bool
from_end(struct scan *scan, const struct nb_table *of)
{
	size_t fixed = sql_fixed_size(of->key_columns, of->key_column_count);
	scan->from.size = 0;
	scan->is_beyond = scan->is_whole = false;
	if ((scan->bits & SCAN_DOWN) == 0)
		return true;
	scan->from.size = sql_is_open(of->key_columns, of->key_column_count) ? KEY_SIZE_MAX
									     : fixed;
	if (!buffer_reserve(&scan->from, scan->from.size))
		return false;
	memset(scan->from.data, 0xff, scan->from.size);
	return true;
}

/* Pages of a scan that may need several use one snapshot. */
static int
fetch_page(struct nb_session *session)
{
	struct scan *scan = &session->scan;
	bool begins_txn = !scan->is_one_page && !session->is_in_txn && !scan->has_txn;
	message_begin(session, 0);
	if (scan->is_whole && !from_end(scan, scanned_table(session)->of))
		return session->db->host->fail(NB_FAIL, "out of memory");
	if (!page_reserve(&session->page, scan->limit))
		return session->db->host->fail(NB_FAIL, "out of memory");
	if (begins_txn &&
		(!message_query(session, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ") ||
			!message_query(session,
				"START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")))
		return NB_FAIL;
	scan->has_txn |= begins_txn;
	if (!add_page(session))
		return NB_FAIL;
	int rc = message_send(session);
	struct page *page = &session->page;
	page->is_short = page->count < scan->limit;
	if (page->bytes < PAGE_BYTES && scan->limit < PAGE_MAX)
		scan->limit *= 4;
	scan->is_one_page = false;
	return rc;
}

/** Find the first table of the scan and the first key, without its prefix. */
static bool
scan_seek(struct nb_session *session, struct nb_slice from)
{
	const struct nb_db *db = session->db;
	struct scan *scan = &session->scan;
	bool is_down = (scan->bits & SCAN_DOWN) != 0;
	uint32_t i, place = db->table_count;
	scan->is_whole = true;
	for (i = 0; i < db->table_count; i++) {
		uint32_t at = is_down ? db->table_count - 1 - i : i;
		struct nb_slice prefix = db->of[db->by_prefix[at]].prefix;
		size_t size = prefix.size < from.size ? prefix.size : from.size;
		int order = memcmp(address(prefix), address(from), size);
		bool is_in = order == 0 && size == prefix.size;
		if (from.size == 0 || is_in ||
			(is_down ? order < 0 : order > 0 || (order == 0))) {
			place = at;
			scan->is_whole = from.size == 0 || !is_in;
			from = sql_strip(&db->of[db->by_prefix[at]], from);
			break;
		}
	}
	scan->place = place;
	scan->is_beyond = false;
	return scan->is_whole || buffer_set(&scan->from, from.data, from.size);
}

int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	struct scan *scan = &session->scan;
	if (session->db->target_count > 1)
		return session->db->host->fail(NB_UNSUPPORTED,
			"a scan cannot go over several servers; name one server");
	scan->bits = ((args->flags & NB_SCAN_KEYS_ONLY) != 0 ? SCAN_KEYS : 0) |
		((args->flags & NB_SCAN_BACKWARD) != 0 ? SCAN_DOWN : 0);
	scan->has_txn = false;
	bool has_limit = args->limit != 0 && args->limit < PAGE_MAX;
	/* One more row shows whether the page is the last, without another SELECT. */
	scan->limit = has_limit ? args->limit + 1 : PAGE_FIRST;
	scan->is_one_page = has_limit && session->db->table_count == 1;
	session->page.count = session->page.next = 0;
	session->page.is_short = false;
	return scan_seek(session, args->from)
		? NB_OK
		: session->db->host->fail(NB_FAIL, "out of memory");
}

/** Continue after the last row, or with the next table. */
static int
scan_turn(struct nb_session *session)
{
	struct scan *scan = &session->scan;
	const struct nb_db *db = session->db;
	bool is_down = (scan->bits & SCAN_DOWN) != 0;
	if (session->page.is_short) {
		scan->place = !is_down    ? scan->place + 1
			: scan->place > 0 ? scan->place - 1
					  : db->table_count;
		scan->is_whole = true;
		session->page.is_short = false;
	}
	if (scan->place >= db->table_count)
		return NB_NOT_FOUND;
	pipeline_release(&session->pipeline);
	return fetch_page(session);
}

static int
scan_row(struct nb_session *session, struct nb_slice packet, struct nb_slice *key,
	struct nb_slice *value)
{
	const struct nb_table *of = scanned_table(session)->of;
	struct scan *scan = &session->scan;
	struct page *page = &session->page;
	bool is_keys = (scan->bits & SCAN_KEYS) != 0;
	struct row row;
	uint32_t columns = of->key_column_count + (is_keys ? 0 : of->value_column_count);
	char *payload = (char *)packet.data;
	*value = (struct nb_slice){0};
	if (!row_begin(&row, payload, packet.size, columns, false) ||
		!row_key(&row, of->key_columns, of->key_column_count, of->prefix,
			session->key.data, key) ||
		(!is_keys &&
			!row_value(&row, of->value_columns, of->value_column_count, value)))
		return session->db->host->fail(
			NB_FAIL, "%s: a row is not as its table", session->db->targets[0]);
	scan->is_beyond = true;
	struct nb_slice stripped = sql_strip(of, *key);
	if (page->next == page->count && !buffer_set(&scan->from, stripped.data, stripped.size))
		return session->db->host->fail(NB_FAIL, "out of memory");
	return NB_OK;
}

int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	struct page *page = &session->page;
	int rc = NB_OK;
	while (rc == NB_OK && page->next == page->count)
		rc = scan_turn(session);
	return rc == NB_OK ? scan_row(session, page->rows[page->next++], key, value) : rc;
}

int
scan_close(struct nb_session *session)
{
	bool has_txn = session->scan.has_txn;
	session->page.count = session->page.next = 0;
	session->scan.has_txn = false;
	pipeline_release(&session->pipeline);
	return has_txn ? message_do(session, 0, "COMMIT", NULL) : NB_OK;
}
