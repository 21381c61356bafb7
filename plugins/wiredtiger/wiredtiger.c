/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * WiredTiger: tables, sessions, records, scans and transactions. database.c opens the
 * database.
 *
 * - A session has two cursors on the records: one that overwrites, and a strict one whose
 *   insert detects duplicates and whose remove detects missing keys.
 * - get lends the page or the update itself. The cursor stays on it, which keeps it in the
 *   cache until release resets the cursor.
 */
#include "database.h"

#include "../common/execute.h"

/*
 * An item may have nearly 4 GiB. But with type=lsm, WiredTiger waits forever if an item does
 * not fit into the cache several times. The LSM limits fit into the smallest allowed cache.
 * A B-tree does not have this problem.
 */
#define KEY_SIZE_MAX (64ull << 20)
#define VALUE_SIZE_MAX (1ull << 30)
#define LSM_KEY_SIZE_MAX (1ull << 20)
#define LSM_VALUE_SIZE_MAX (4ull << 20)

struct nb_session {
	struct nb_db *db;
	WT_SESSION *session;
	WT_CURSOR *cursor; /* overwrite=true; on the lent record, or at a scan's position */
	WT_CURSOR *strict; /* overwrite=false */
	int (*step)(WT_CURSOR *cursor); /* of the scan: next or prev */
	int scanned;                    /* result of the scan's last move */
	bool is_fresh;                  /* scan_next has not returned that result yet */
	bool is_scan_txn;               /* the scan has its own transaction */
	bool is_in_txn;
	struct buffer kept; /* values that execute lends */
};

/* The answer of a call on a session, in a transaction or not. A conflict ends the transaction. */
static int
answer(struct nb_session *session, const char *call, int error)
{
	if (error == 0)
		return NB_OK;
	if (error == WT_NOTFOUND)
		return NB_NOT_FOUND;
	if (error != WT_ROLLBACK)
		return database_failure(session->db, call, error);
	database_message_drop();
	if (session->is_in_txn) {
		session->is_in_txn = false;
		session->session->rollback_transaction(session->session, NULL);
	}
	return NB_CONFLICT;
}

static void
item_set(WT_ITEM *item, struct nb_slice slice)
{
	*item = (WT_ITEM){.data = address(slice), .size = slice.size};
}

/* --- sessions --- */

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	int rc = SESSION_NEW(out, db);
	if (rc != NB_OK)
		return rc;
	struct nb_session *session = *out;
	rc = database_outcome(db, "WT_CONNECTION.open_session",
		db->connection->open_session(db->connection, NULL, NULL, &session->session));
	if (rc != NB_OK)
		goto free_session;
	WT_SESSION *s = session->session;
	rc = database_outcome(db, "WT_SESSION.open_cursor",
		s->open_cursor(s, db->uri, NULL, NULL, &session->cursor));
	if (rc == NB_OK)
		rc = database_outcome(db, "WT_SESSION.open_cursor",
			s->open_cursor(s, db->uri, NULL, "overwrite=false", &session->strict));
	if (rc == NB_OK)
		return NB_OK;
	s->close(s, NULL);
free_session:
	free(session);
	return rc;
}

static int
session_close(struct nb_session *session)
{
	int rc = database_outcome(session->db, "WT_SESSION.close",
		session->session->close(session->session, NULL));
	free(session->kept.data);
	free(session);
	return rc;
}

/* --- records --- */

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	WT_CURSOR *cursor = session->cursor;
	WT_ITEM item;
	item_set(&item, key);
	cursor->set_key(cursor, &item);
	int error = cursor->search(cursor);
	if (error == 0)
		error = cursor->get_value(cursor, &item);
	if (error != 0)
		return answer(session, "WT_CURSOR.search", error);
	*value = (struct nb_slice){item.data, item.size};
	return NB_OK;
}

/* Release the page. If WiredTiger has failed as a whole, the next call reports it. */
static void
release(struct nb_session *session)
{
	(void)session->cursor->reset(session->cursor);
}

static int
store(struct nb_session *session, struct nb_slice key, struct nb_slice value, WT_CURSOR *cursor)
{
	WT_ITEM key_item, value_item;
	item_set(&key_item, key);
	item_set(&value_item, value);
	cursor->set_key(cursor, &key_item);
	cursor->set_value(cursor, &value_item);
	int error = cursor->insert(cursor);
	if (error != WT_DUPLICATE_KEY)
		return answer(session, "WT_CURSOR.insert", error);
	cursor->reset(cursor); /* drops the reference to the caller's key */
	return NB_EXISTS;
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return store(session, key, value, session->cursor);
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	WT_CURSOR *cursor = session->strict;
	WT_ITEM item;
	item_set(&item, key);
	cursor->set_key(cursor, &item);
	return answer(session, "WT_CURSOR.remove", cursor->remove(cursor));
}

/* --- transactions --- */

static int
begin_at(struct nb_session *session, const char *isolation)
{
	WT_SESSION *s = session->session;
	int rc = database_outcome(session->db, "WT_SESSION.begin_transaction",
		s->begin_transaction(s, isolation));
	session->is_in_txn = rc == NB_OK;
	return rc;
}

static int
begin(struct nb_session *session, uint32_t flags)
{
	return begin_at(session, "isolation=snapshot");
}

/* The transaction is over for any result of commit_transaction(). */
static int
commit(struct nb_session *session)
{
	WT_SESSION *s = session->session;
	session->is_in_txn = false;
	return answer(session, "WT_SESSION.commit_transaction", s->commit_transaction(s, NULL));
}

static void
abort_txn(struct nb_session *session)
{
	if (session->is_in_txn)
		session->session->rollback_transaction(session->session, NULL);
	session->is_in_txn = false;
}

/*
 * Without a transaction WiredTiger writes at read-committed, where two concurrent inserts of
 * one key can both succeed.
 */
static int
insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	if (session->is_in_txn)
		return store(session, key, value, session->strict);
	int rc = begin(session, 0);
	if (rc == NB_OK)
		rc = store(session, key, value, session->strict);
	if (rc == NB_OK)
		return commit(session);
	abort_txn(session);
	return rc;
}

/*
 * Execute the batch in the open transaction, or in a new one with the default isolation,
 * like single writes.
 */
static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	if (session->is_in_txn)
		return write_each(session, writes, count, put, del);
	int rc = begin_at(session, NULL);
	if (rc != NB_OK)
		return rc;
	rc = write_each(session, writes, count, put, del);
	if (rc == NB_OK)
		return commit(session);
	abort_txn(session);
	return rc;
}

/* --- scans --- */

/* search_near() stops at either neighbour; a step moves to the correct one. */
static int
scan_seek(struct nb_session *session, struct nb_slice from)
{
	WT_CURSOR *cursor = session->cursor;
	bool is_backward = session->step == cursor->prev;
	WT_ITEM item;
	int exact;
	/* With type=lsm, a step begins at the key of an unsuccessful search. */
	int error = cursor->reset(cursor);
	if (error != 0 || from.size == 0)
		return error != 0 ? error : session->step(cursor);
	item_set(&item, from);
	cursor->set_key(cursor, &item);
	error = cursor->search_near(cursor, &exact);
	if (error == 0 && (is_backward ? exact > 0 : exact < 0))
		error = session->step(cursor);
	return error;
}

/* Begin a transaction, so that the scan sees one version of the data from now on. */
static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	WT_CURSOR *cursor = session->cursor;
	session->is_scan_txn = !session->is_in_txn;
	if (session->is_scan_txn) {
		int rc = begin_at(session, "isolation=snapshot");
		if (rc != NB_OK)
			return rc;
	}
	session->step = (args->flags & NB_SCAN_BACKWARD) != 0 ? cursor->prev : cursor->next;
	session->is_fresh = true;
	session->scanned = scan_seek(session, args->from);
	return NB_OK;
}

/* A step after the end would restart the cursor. */
static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	WT_CURSOR *cursor = session->cursor;
	WT_ITEM item;
	if (!session->is_fresh && session->scanned == 0)
		session->scanned = session->step(cursor);
	session->is_fresh = false;
	if (session->scanned != 0)
		return answer(session, "WT_CURSOR.next", session->scanned);
	int error = cursor->get_key(cursor, &item);
	if (error != 0)
		return database_failure(session->db, "WT_CURSOR.get_key", error);
	*key = (struct nb_slice){item.data, item.size};
	error = cursor->get_value(cursor, &item);
	if (error != 0)
		return database_failure(session->db, "WT_CURSOR.get_value", error);
	*value = (struct nb_slice){item.data, item.size};
	return NB_OK;
}

static int
scan_close(struct nb_session *session)
{
	int rc = database_outcome(
		session->db, "WT_CURSOR.reset", session->cursor->reset(session->cursor));
	if (session->is_scan_txn)
		abort_txn(session);
	return rc;
}

/* --- several steps --- */

static const struct nb_engine engine;
EXECUTE_AND_MERGE(engine, session->is_in_txn)

/* --- the tables --- */

static const struct nb_engine *
variant(const struct nb_option_value *values);

#define COMMON \
	ENGINE_BASE("wiredtiger"), \
		.summary = \
			"B-tree or log-structured merge tree of MongoDB, with transactions", \
		.licence = "GPL-2.0-only OR GPL-3.0-only", \
		.home = "https://github.com/wiredtiger/wiredtiger", \
		.caps = NB_CAP_ORDERED | NB_CAP_PERSISTENT | NB_CAP_CONCURRENT | \
		NB_CAP_ATOMIC_BATCH | NB_CAP_SNAPSHOT | NB_CAP_ZERO_COPY, \
		.durabilities = NB_DUR_BIT(NB_DUR_NONE) | NB_DUR_BIT(NB_DUR_PROCESS) | \
		NB_DUR_BIT(NB_DUR_PERIODIC) | NB_DUR_BIT(NB_DUR_COMMIT), \
		.auto_durability = NB_DUR_PERIODIC, .options = database_options, \
		.open = database_open, .close = database_close, ENGINE_RECORDS, \
		.release = release, .insert = insert, ENGINE_SCAN, .batch = batch, ENGINE_TXN, \
		ENGINE_EXECUTE, .flush = database_flush, .checkpoint = database_checkpoint, \
		.stats = database_stats, .variant = variant

static const struct nb_engine engine = {
	COMMON, .key_size_max = KEY_SIZE_MAX, .value_size_max = VALUE_SIZE_MAX};
static const struct nb_engine lsm = {
	COMMON, .key_size_max = LSM_KEY_SIZE_MAX, .value_size_max = LSM_VALUE_SIZE_MAX};

static const struct nb_engine *
variant(const struct nb_option_value *values)
{
	return values[TYPE].is_set != 0 && values[TYPE].u64 == LSM ? &lsm : NULL;
}
NB_ENGINE_PLUGIN(engine)
