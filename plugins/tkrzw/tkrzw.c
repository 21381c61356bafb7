/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tkrzw through its C API: engine tables, sessions, records and scans.
 *
 * - `type` selects a class of Tkrzw; each has an engine table (nb_engine.variant).
 * - get copies the value inside tkrzw_dbm_process() into the session's buffer.
 *   tkrzw_dbm_get() would copy twice and call malloc().
 * - A skip list shows writes only after tkrzw_dbm_synchronize(), which rewrites the whole
 *   file. So the first read after a write synchronizes.
 * - 'commit' is a hard synchronization after each write; see database.c. 'process' is not
 *   offered. After a kill, Tkrzw reads the records in sequence. It drops all records after a
 *   partial one unless a complete record begins in the next 1000 alignments.
 */
#include "tkrzw.h"

/*
 * A hash table in a file accepts longer keys (MAX_KEY_SIZE in tkrzw_dbm_hash_impl.h), but
 * then cannot read the record. The sizes of a record and of a tree page are int32_t: two
 * records of maximum size in one page do not overflow it.
 */
#define KEY_SIZE_MAX ((8 << 20) - 1)
#define VALUE_SIZE_MAX (512 << 20)

/* One key of multi_get. */
struct lookup {
	struct nb_session *session;
	size_t offset, size; /* of the value, in the session's buffer */
	int32_t answer;
};

struct nb_session {
	struct nb_db *db;
	struct buffer value, key; /* the value and key that get and scans lend */
	int answer;               /* of the callback that fills them */
	TkrzwDBMIter *iterator;
	uint32_t scan_flags;
	bool is_fresh; /* scan_next has not returned the iterator's record yet */
	bool is_over;
	struct buffer pairs, lookups; /* arrays for batch and multi_get */
};

static const char *
version(void)
{
	return TKRZW_PACKAGE_VERSION;
}

static const struct nb_engine *
variant(const struct nb_option_value *values);

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	int rc = options_check(args);
	if (rc == NB_OK)
		rc = check_durability(args, variant(args->options));
	return rc == NB_OK ? database_open(out, args) : rc;
}

SESSION_OPEN()

static int
session_close(struct nb_session *session)
{
	free(session->value.data);
	free(session->key.data);
	free(session->pairs.data);
	free(session->lookups.data);
	free(session);
	return NB_OK;
}

/* --- records --- */

/* The callbacks below return TKRZW_REC_PROC_NOOP: the record is not changed. */
static const char *
lend(void *arg, const char *key, int32_t key_size, const char *value, int32_t value_size,
	int32_t *new_size)
{
	struct nb_session *session = arg;
	session->answer = NB_NOT_FOUND;
	if (value_size < 0)
		return TKRZW_REC_PROC_NOOP;
	session->answer = buffer_set(&session->value, value, (size_t)value_size) ? NB_OK
										 : NB_FAIL;
	return TKRZW_REC_PROC_NOOP;
}

/* Before a read: make previous writes visible. */
static int
show_writes(struct nb_db *db)
{
	return db->is_dirty ? database_synchronize(db, false) : NB_OK;
}

/* After a write: mark a skip list as changed; at 'commit', synchronize. */
static int
acknowledge(struct nb_db *db)
{
	if (db->type == SKIP)
		db->is_dirty = true;
	return db->is_commit ? database_synchronize(db, true) : NB_OK;
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	struct nb_db *db = session->db;
	int rc = show_writes(db);
	if (rc != NB_OK)
		return rc;
	if (!tkrzw_dbm_process(db->base, address(key), (int32_t)key.size, lend, session, false))
		return database_failure(db->host, "tkrzw_dbm_process");
	if (session->answer == NB_FAIL)
		return db->host->fail(NB_FAIL, "out of memory");
	*value = buffer_slice(&session->value);
	return session->answer;
}

static int
set(struct nb_session *session, struct nb_slice key, struct nb_slice value, bool overwrite)
{
	struct nb_db *db = session->db;
	if (tkrzw_dbm_set(db->base, address(key), (int32_t)key.size, address(value),
		    (int32_t)value.size, overwrite))
		return acknowledge(db);
	if (!overwrite && tkrzw_get_last_status_code() == TKRZW_STATUS_DUPLICATION_ERROR)
		return NB_EXISTS;
	return database_failure(db->host, "tkrzw_dbm_set");
}

PUT_AND_INSERT(set, true, false)

static int
del(struct nb_session *session, struct nb_slice key)
{
	struct nb_db *db = session->db;
	if (tkrzw_dbm_remove(db->base, address(key), (int32_t)key.size))
		return acknowledge(db);
	if (tkrzw_get_last_status_code() == TKRZW_STATUS_NOT_FOUND_ERROR)
		return NB_NOT_FOUND;
	return database_failure(db->host, "tkrzw_dbm_remove");
}

/* Return the new state of the record. arg: a struct nb_write. */
static const char *
replace(void *arg, const char *key, int32_t key_size, const char *value, int32_t value_size,
	int32_t *new_size)
{
	const struct nb_write *write = arg;
	if (write->is_delete != 0)
		return TKRZW_REC_PROC_REMOVE;
	*new_size = (int32_t)write->value.size;
	return address(write->value);
}

/* tkrzw_dbm_remove() would not see unsynchronized records, and leave them. */
static int
skip_del(struct nb_session *session, struct nb_slice key)
{
	struct nb_db *db = session->db;
	struct nb_write write = {.is_delete = 1};
	if (!tkrzw_dbm_process(
		    db->base, address(key), (int32_t)key.size, replace, &write, true))
		return database_failure(db->host, "tkrzw_dbm_process");
	return acknowledge(db);
}

static TkrzwKeyProcPair *
reserve_pairs(struct nb_session *session, size_t count)
{
	if (count > INT_MAX ||
		!buffer_reserve(&session->pairs, count * sizeof(TkrzwKeyProcPair)))
		return NULL;
	return (void *)session->pairs.data;
}

/* Takes all locks before the first write, but a failure does not undo earlier writes. */
static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	struct nb_db *db = session->db;
	if ((flags & NB_BATCH_ATOMIC) != 0)
		return db->host->fail(NB_UNSUPPORTED, "a batch is not all or nothing");
	TkrzwKeyProcPair *pairs = reserve_pairs(session, count);
	if (pairs == NULL)
		return db->host->fail(NB_FAIL, "out of memory");
	for (size_t i = 0; i < count; i++) {
		const struct nb_write *w = &writes[i];
		pairs[i] = (TkrzwKeyProcPair){
			address(w->key), (int32_t)w->key.size, replace, (void *)(uintptr_t)w};
	}
	if (!tkrzw_dbm_process_multi(db->base, pairs, (int32_t)count, true))
		return database_failure(db->host, "tkrzw_dbm_process_multi");
	return acknowledge(db);
}

/* Like lend(), but appends to the values of the previous keys. */
static const char *
collect(void *arg, const char *key, int32_t key_size, const char *value, int32_t value_size,
	int32_t *new_size)
{
	struct lookup *lookup = arg;
	struct nb_session *session = lookup->session;
	lookup->answer = NB_NOT_FOUND;
	if (value_size < 0)
		return TKRZW_REC_PROC_NOOP;
	lookup->offset = session->value.size;
	lookup->size = (size_t)value_size;
	lookup->answer = buffer_add(&session->value, value, lookup->size) ? NB_OK : NB_FAIL;
	if (lookup->answer == NB_FAIL)
		session->answer = NB_FAIL;
	return TKRZW_REC_PROC_NOOP;
}

static int
multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	struct nb_db *db = session->db;
	TkrzwKeyProcPair *pairs = reserve_pairs(session, count);
	int rc = show_writes(db);
	if (rc != NB_OK)
		return rc;
	if (pairs == NULL || !buffer_reserve(&session->lookups, count * sizeof(struct lookup)))
		return db->host->fail(NB_FAIL, "out of memory");
	struct lookup *lookups = (void *)session->lookups.data;
	session->value.size = 0;
	session->answer = NB_OK;
	for (size_t i = 0; i < count; i++) {
		lookups[i] = (struct lookup){.session = session};
		pairs[i] = (TkrzwKeyProcPair){
			address(keys[i]), (int32_t)keys[i].size, collect, &lookups[i]};
	}
	if (!tkrzw_dbm_process_multi(db->base, pairs, (int32_t)count, false))
		return database_failure(db->host, "tkrzw_dbm_process_multi");
	if (session->answer != NB_OK)
		return db->host->fail(NB_FAIL, "out of memory");
	for (size_t i = 0; i < count; i++) {
		answers[i] = lookups[i].answer;
		if (answers[i] == NB_OK)
			values[i] = (struct nb_slice){
				session->value.data + lookups[i].offset, lookups[i].size};
	}
	return NB_OK;
}

/* --- scans --- */

static const char *
tell(void *arg, const char *key, int32_t key_size, const char *value, int32_t value_size,
	int32_t *new_size)
{
	struct nb_session *session = arg;
	if ((session->scan_flags & NB_SCAN_KEYS_ONLY) != 0)
		value_size = 0;
	session->answer = buffer_set(&session->key, key, (size_t)key_size) &&
			buffer_set(&session->value, value, (size_t)value_size)
		? NB_OK
		: NB_FAIL;
	return TKRZW_REC_PROC_NOOP;
}

static bool
scan_begin(struct nb_session *session, struct nb_slice from)
{
	TkrzwDBMIter *iterator = session->iterator;
	bool is_backward = (session->scan_flags & NB_SCAN_BACKWARD) != 0;
	if (from.size == 0)
		return is_backward ? tkrzw_dbm_iter_last(iterator)
				   : tkrzw_dbm_iter_first(iterator);
	return is_backward
		? tkrzw_dbm_iter_jump_lower(iterator, address(from), (int32_t)from.size, true)
		: tkrzw_dbm_iter_jump(iterator, address(from), (int32_t)from.size);
}

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	struct nb_db *db = session->db;
	if (db->type == TREE && (args->flags & NB_SCAN_BACKWARD) != 0)
		return db->host->fail(NB_UNSUPPORTED,
			"type=tree cannot scan backward: Tkrzw takes the first page for the last one in a database that was opened again");
	int rc = database_types[db->type].is_ordered ? NB_OK
						     : check_unordered_scan(db->host, args);
	if (rc == NB_OK)
		rc = show_writes(db);
	if (rc != NB_OK)
		return rc;
	session->scan_flags = args->flags;
	session->is_fresh = true;
	session->is_over = false;
	session->iterator = tkrzw_dbm_make_iterator(db->base);
	if (session->iterator == NULL)
		return database_failure(db->host, "tkrzw_dbm_make_iterator");
	if (scan_begin(session, args->from))
		return NB_OK;
	session->is_over = tkrzw_get_last_status_code() == TKRZW_STATUS_NOT_FOUND_ERROR;
	if (session->is_over)
		return NB_OK;
	rc = database_failure(db->host, "tkrzw_dbm_iter_jump");
	tkrzw_dbm_iter_free(session->iterator);
	return rc;
}

/* The iterator's last call has failed: at the end, or with an error. */
static int
scan_end(struct nb_session *session, const char *call)
{
	if (tkrzw_get_last_status_code() != TKRZW_STATUS_NOT_FOUND_ERROR)
		return database_failure(session->db->host, call);
	session->is_over = true;
	return NB_NOT_FOUND;
}

static bool
scan_move(struct nb_session *session)
{
	return (session->scan_flags & NB_SCAN_BACKWARD) != 0
		? tkrzw_dbm_iter_previous(session->iterator)
		: tkrzw_dbm_iter_next(session->iterator);
}

static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	if (session->is_over)
		return NB_NOT_FOUND;
	if (!session->is_fresh && !scan_move(session))
		return scan_end(session, "tkrzw_dbm_iter_next");
	session->is_fresh = false;
	while (!tkrzw_dbm_iter_process(session->iterator, tell, session, false)) {
		/* At the end. Or, if unordered, on a record that another session has deleted. */
		int rc = scan_end(session, "tkrzw_dbm_iter_process");
		if (rc != NB_NOT_FOUND || database_types[session->db->type].is_ordered)
			return rc;
		if (!scan_move(session))
			return scan_end(session, "tkrzw_dbm_iter_next");
		session->is_over = false;
	}
	if (session->answer != NB_OK)
		return session->db->host->fail(NB_FAIL, "out of memory");
	*key = buffer_slice(&session->key);
	*value = buffer_slice(&session->value);
	return NB_OK;
}

static int
scan_close(struct nb_session *session)
{
	tkrzw_dbm_iter_free(session->iterator);
	session->iterator = NULL;
	return NB_OK;
}

/* --- the engine's tables --- */

#define TABLE(what, its_caps, levels, ...) \
	{ \
		ENGINE_BASE("tkrzw"), \
			.summary = what ", of Tkrzw", .licence = "Apache-2.0", \
			.home = "https://dbmx.net/tkrzw", .caps = (its_caps), \
			.durabilities = (levels), .auto_durability = NB_DUR_NONE, \
			.key_size_max = KEY_SIZE_MAX, .value_size_max = VALUE_SIZE_MAX, \
			.options = options_table, .open = db_open, .close = database_close, \
			.get = get, .put = put, ENGINE_SCAN, .batch = batch, \
			.multi_get = multi_get, .stats = database_stats, .variant = variant, \
			__VA_ARGS__ \
	}
#define NONE NB_DUR_BIT(NB_DUR_NONE)
#define COMMIT NB_DUR_BIT(NB_DUR_COMMIT)

#define HASH_TABLE(levels) \
	TABLE("hash table in a file", NB_CAP_PERSISTENT | NB_CAP_CONCURRENT, levels, \
		.del = del, .insert = insert, .flush = database_flush)
static const struct nb_engine hash = HASH_TABLE(NONE | COMMIT);
static const struct nb_engine hash_weak = HASH_TABLE(NONE);

#define TREE_TABLE(levels) \
	TABLE("B+ tree in a file", NB_CAP_ORDERED | NB_CAP_PERSISTENT | NB_CAP_CONCURRENT, \
		levels, .del = del, .insert = insert, .flush = database_flush)
static const struct nb_engine tree = TREE_TABLE(NONE | COMMIT);
static const struct nb_engine tree_weak = TREE_TABLE(NONE);

/* A read may replace the whole file, which ends the scans of other sessions. */
static const struct nb_engine skip = TABLE("skip list in a file",
	NB_CAP_ORDERED | NB_CAP_PERSISTENT, NONE, .del = skip_del, .flush = database_flush);

#define MEMORY_TABLE(what, its_caps) TABLE(what, its_caps, NONE, .del = del, .insert = insert)
static const struct nb_engine memory[TYPES] = {
	[TINY] = MEMORY_TABLE("hash table in memory", NB_CAP_CONCURRENT),
	[BABY] = MEMORY_TABLE("B+ tree in memory", NB_CAP_CONCURRENT | NB_CAP_ORDERED),
	[CACHE] = MEMORY_TABLE("cache in memory", NB_CAP_CONCURRENT),
	[STDHASH] = MEMORY_TABLE("std::unordered_map", NB_CAP_CONCURRENT),
	[STDTREE] = MEMORY_TABLE("std::map", NB_CAP_CONCURRENT | NB_CAP_ORDERED),
};

static const struct nb_engine *
variant(const struct nb_option_value *values)
{
	enum type type = options_type(values);
	bool is_strong = options_are_strong(values);
	switch (type) {
	case HASH:
		return is_strong ? &hash : &hash_weak;
	case TREE:
		return is_strong ? &tree : &tree_weak;
	case SKIP:
		return &skip;
	default:
		return &memory[type];
	}
}

NB_ENGINE_PLUGIN(hash)
