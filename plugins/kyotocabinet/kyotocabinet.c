/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kyoto Cabinet through its C API. README.md contains measurements.
 *
 * - `type` selects one of nine databases with the same API. Each has an engine table,
 *   because they differ in their capabilities; with `transactions` each has a second one.
 * - Tree and hash only offer durability 'none': after a kill, the undo log of OAUTOTRAN and
 *   OAUTOSYNC can damage the file. Dir and forest write a file and rename it.
 * - A transaction belongs to the database, so it would include other sessions' writes.
 *   Therefore transactions exclude parallel sessions.
 * - Kyoto Cabinet lends a value only inside a callback. get copies it once, into a buffer of
 *   the session.
 * - The first msiz bytes of the file are mapped, where a full disk causes SIGBUS. open
 *   checks that they fit, but does not reserve them, so that filling the file is measured.
 */
#include "database.h"

#include "../common/execute.h"

struct nb_session {
	struct nb_db *db;
	struct buffer buffer;          /* the value that get and scans lend */
	struct buffer kept;            /* values that execute lends */
	struct buffer keys;            /* of a batch: an array of KCSTR */
	const struct nb_write *writes; /* the batch's next write */

	KCCUR *cursor; /* of a scan */
	size_t key_size, value_size;
	bool is_backward, is_keys_only;
	bool is_fresh;         /* scan_next has not returned the cursor's record yet */
	bool is_out_of_memory; /* set by a callback, which cannot fail */
};

static const struct nb_engine engines[2][TYPES]; /* [transactions][type] */

static const char *
version(void)
{
	return KCVERSION;
}

const struct nb_engine *
variant(const struct nb_option_value *value)
{
	return &engines[value[TXN].u64][value[TYPE].u64];
}

SESSION_OPEN_WITH(buffer)

static int
session_close(struct nb_session *session)
{
	free(session->keys.data);
	free(session->buffer.data);
	free(session->kept.data);
	free(session);
	return NB_OK;
}

static int
out_of_memory(struct nb_session *session)
{
	return session->db->host->fail(NB_FAIL, "out of memory");
}

/* --- records --- */

/* kcdbgetbuf() truncates a value that is too long for the buffer, and returns its size. */
static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	for (;;) {
		struct buffer *to = &session->buffer;
		int32_t size = kcdbgetbuf(
			session->db->base, key.data, key.size, to->data, to->room);
		if (size < 0)
			return outcome_or(
				session->db, "kcdbgetbuf", false, KCENOREC, NB_NOT_FOUND);
		*value = (struct nb_slice){to->data, (size_t)size};
		if ((size_t)size <= to->room)
			return NB_OK;
		if (!buffer_reserve(to, (size_t)size))
			return out_of_memory(session);
	}
}

static int
refuse_write(struct nb_db *db)
{
	return db->host->fail(NB_UNSUPPORTED, "a write in a read-only transaction");
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	KCDB *base = session->db->base;
	if (session->db->is_read_only)
		return refuse_write(session->db);
	return outcome(session->db, "kcdbset",
		kcdbset(base, key.data, key.size, address(value), value.size));
}

static int
insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	KCDB *base = session->db->base;
	if (session->db->is_read_only)
		return refuse_write(session->db);
	return outcome_or(session->db, "kcdbadd",
		kcdbadd(base, key.data, key.size, address(value), value.size), KCEDUPREC,
		NB_EXISTS);
}

static void
note_removal(struct nb_db *db)
{
	if (db->is_root_watched)
		db->is_root_old = true;
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	struct nb_db *db = session->db;
	if (db->is_read_only)
		return refuse_write(db);
	note_removal(db);
	return outcome_or(db, "kcdbremove", kcdbremove(db->base, key.data, key.size), KCENOREC,
		NB_NOT_FOUND);
}

/* --- transactions and batches --- */

/*
 * PlantDB writes the root, first and last page numbers only if the number of records or
 * pages differs from the last written one. A removal that empties a page, followed by a put,
 * restores that number. An abort would then read a deleted page. kcdbsync() makes PlantDB
 * write the page numbers.
 */
static int
save_root(struct nb_db *db)
{
	if (!db->is_root_old)
		return NB_OK;
	db->is_root_old = !kcdbsync(db->base, false, NULL, NULL);
	return outcome(db, "kcdbsync", !db->is_root_old);
}

/* kcdbbegintran() would wait forever for an open transaction. */
static int
begin(struct nb_session *session, uint32_t flags)
{
	struct nb_db *db = session->db;
	if (db->is_in_transaction || db->is_read_only)
		return db->host->fail(
			NB_FAIL, "a transaction is open, another session's or a failed one");
	db->is_read_only = (flags & NB_TXN_READ_ONLY) != 0;
	if (db->is_read_only)
		return NB_OK; /* no other session writes */
	int rc = save_root(db);
	if (rc != NB_OK)
		return rc;
	db->is_in_transaction = kcdbbegintran(db->base, false);
	return outcome(db, "kcdbbegintran", db->is_in_transaction);
}

/* If a tree cannot write its pages, the transaction remains open, and close undoes it. */
static int
commit(struct nb_session *session)
{
	struct nb_db *db = session->db;
	db->is_read_only = false;
	if (!db->is_in_transaction)
		return NB_OK; /* it was read-only */
	db->is_in_transaction = !kcdbendtran(db->base, true);
	return outcome(db, "kcdbendtran", !db->is_in_transaction);
}

static void
abort_txn(struct nb_session *session)
{
	struct nb_db *db = session->db;
	if (db->is_in_transaction && !kcdbendtran(db->base, false))
		db->host->log(NB_LOG_WARNING, "a transaction could not be undone whole: %s",
			kcdbemsg(db->base));
	db->is_in_transaction = db->is_read_only = false;
}

/* Called for each write of a batch in order. Removing a missing key has no effect. */
static const char *
write_full(const char *key, size_t key_size, const char *value, size_t value_size, size_t *size,
	void *of)
{
	struct nb_session *session = of;
	const struct nb_write *write = session->writes++;
	if (write->is_delete) {
		note_removal(session->db);
		return KCVISREMOVE;
	}
	*size = write->value.size;
	return address(write->value);
}

static const char *
write_empty(const char *key, size_t key_size, size_t *size, void *of)
{
	return write_full(key, key_size, NULL, 0, size, of);
}

/* Execute all writes under one lock. */
static int
write_all(struct nb_session *session, const struct nb_write *writes, size_t count)
{
	KCDB *base = session->db->base;
	session->writes = writes;
	return outcome(session->db, "kcdbacceptbulk",
		kcdbacceptbulk(base, (KCSTR *)(void *)session->keys.data, count, write_full,
			write_empty, session, true));
}

/* Set the keys. The type of KCSTR is not const, but Kyoto Cabinet only reads them. */
static int
take_keys(struct nb_session *session, const struct nb_write *writes, size_t count)
{
	if (!buffer_reserve(&session->keys, count * sizeof(KCSTR)))
		return out_of_memory(session);
	KCSTR *keys = (KCSTR *)(void *)session->keys.data;
	for (size_t i = 0; i < count; i++)
		keys[i] = (KCSTR){(char *)(uintptr_t)writes[i].key.data, writes[i].key.size};
	return NB_OK;
}

static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	struct nb_db *db = session->db;
	bool is_atomic = (flags & NB_BATCH_ATOMIC) != 0;
	if (db->is_read_only)
		return refuse_write(db);
	if (is_atomic && !db->is_transactional)
		return db->host->fail(
			NB_UNSUPPORTED, "an atomic batch needs -o transactions=yes");
	if (is_atomic && db->is_in_transaction)
		return db->host->fail(NB_UNSUPPORTED,
			"no atomic batch within a transaction: they do not nest");
	int rc = take_keys(session, writes, count);
	if (rc == NB_OK && is_atomic)
		rc = begin(session, 0);
	if (rc != NB_OK)
		return rc;
	rc = write_all(session, writes, count);
	if (!is_atomic)
		return rc;
	if (rc == NB_OK)
		return commit(session);
	abort_txn(session);
	return rc;
}

/* --- scans --- */

static int32_t
jump(KCCUR *cursor, const struct nb_scan_args *args)
{
	const char *key = args->from.data;
	size_t size = args->from.size;
	if ((args->flags & NB_SCAN_BACKWARD) != 0)
		return size == 0 ? kccurjumpback(cursor) : kccurjumpbackkey(cursor, key, size);
	return size == 0 ? kccurjump(cursor) : kccurjumpkey(cursor, key, size);
}

/* If a cursor finds no record it is at its end, which scan_next returns. */
static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	KCCUR *cursor = kcdbcursor(session->db->base);
	int rc = outcome_or(session->db, "kccurjump", jump(cursor, args), KCENOREC, NB_OK);
	if (rc != NB_OK) {
		kccurdel(cursor);
		return rc;
	}
	session->cursor = cursor;
	session->is_backward = (args->flags & NB_SCAN_BACKWARD) != 0;
	session->is_keys_only = (args->flags & NB_SCAN_KEYS_ONLY) != 0;
	session->is_fresh = true;
	return NB_OK;
}

/* A callback cannot fail; scan_next checks is_out_of_memory. */
static const char *
read_record(const char *key, size_t key_size, const char *value, size_t value_size,
	size_t *size, void *to)
{
	struct nb_session *session = to;
	session->key_size = key_size;
	session->value_size = session->is_keys_only ? 0 : value_size;
	session->is_out_of_memory = !buffer_set(&session->buffer, key, key_size) ||
		!buffer_add(&session->buffer, value, session->value_size);
	return KCVISNOP;
}

/* kccuraccept() steps forward itself. */
static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	KCCUR *cursor = session->cursor;
	int32_t is_there = true;
	if (session->is_backward && !session->is_fresh)
		is_there = kccurstepback(cursor);
	session->is_fresh = false;
	is_there = is_there &&
		kccuraccept(cursor, read_record, session, false, !session->is_backward);
	if (!is_there)
		return outcome_or(session->db, "kccuraccept", false, KCENOREC, NB_NOT_FOUND);
	if (session->is_out_of_memory)
		return out_of_memory(session);
	*key = (struct nb_slice){session->buffer.data, session->key_size};
	*value = (struct nb_slice){
		session->buffer.data + session->key_size, session->value_size};
	return NB_OK;
}

static int
scan_close(struct nb_session *session)
{
	kccurdel(session->cursor);
	session->cursor = NULL;
	return NB_OK;
}

EXECUTE_AND_MERGE(
	*session->db->engine, session->db->is_in_transaction || session->db->is_read_only)

/* --- the engine's tables: for each type without and with transactions --- */

#define FOR(types, type, what, otherwise) ((BIT(type) & (types)) != 0 ? (what) : (otherwise))
#define CAPS(type) \
	(FOR(SORTED, type, NB_CAP_ORDERED, 0) | FOR(IN_MEMORY, type, 0, NB_CAP_PERSISTENT))
#define COMMON(type, about) \
	ENGINE_BASE("kyotocabinet"), \
		.summary = "Kyoto Cabinet: " about, .licence = "GPL-3.0-or-later", \
		.home = "https://dbmx.net/kyotocabinet/", \
		.durabilities = NB_DUR_BIT(NB_DUR_NONE) | \
		FOR(SAFE, type, NB_DUR_BIT(NB_DUR_PROCESS), 0), \
		.auto_durability = FOR(SAFE, type, NB_DUR_PROCESS, NB_DUR_NONE), \
		.key_size_max = FOR(BIT(CACHE), type, CACHE_KEY_MAX, RECORD_MAX), \
		.value_size_max = RECORD_MAX, .options = database_options, ENGINE_OPEN, \
		ENGINE_RECORDS, .insert = insert, .batch = batch, .stats = database_stats, \
		.variant = variant, .scan_open = FOR(SORTED, type, scan_open, NULL), \
		.scan_next = FOR(SORTED, type, scan_next, NULL), \
		.scan_close = FOR(SORTED, type, scan_close, NULL), \
		.flush = FOR(IN_MEMORY, type, NULL, database_flush)
#define PLAIN(type, about) \
	[type] = {COMMON(type, about), .caps = CAPS(type) | NB_CAP_CONCURRENT}
#define TRANSACTIONAL(type, about) \
	[type] = {COMMON(type, about), ENGINE_TXN, ENGINE_EXECUTE, \
		.caps = CAPS(type) | NB_CAP_ATOMIC_BATCH | NB_CAP_SERIALIZABLE}
#define EACH_TYPE(TABLE) \
	TABLE(TREE, "B+ tree in a file (TreeDB)"), \
		TABLE(HASH, "hash table in a file (HashDB)"), \
		TABLE(DIR, "a file for each record (DirDB)"), \
		TABLE(FOREST, "B+ tree, a file for each page (ForestDB)"), \
		TABLE(GRASS, "B+ tree in memory (GrassDB)"), \
		TABLE(CACHE, "hash table in memory (CacheDB)"), \
		TABLE(STASH, "compact hash table in memory (StashDB)"), \
		TABLE(PTREE, "std::map in memory (ProtoTreeDB)"), \
		TABLE(PHASH, "std::unordered_map in memory (ProtoHashDB)")

static const struct nb_engine engines[2][TYPES] = {
	{EACH_TYPE(PLAIN)}, {EACH_TYPE(TRANSACTIONAL)}};
NB_ENGINE_PLUGIN(engines[false][TREE])
