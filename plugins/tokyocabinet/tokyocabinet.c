/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tokyo Cabinet: its B+ tree (tcbdb.h) or its hash table (tchdb.h). Each has an engine
 * table.
 *
 * - The pages of the tree are records of a hash table, tree->hdb, so both have the same
 *   settings and error codes.
 * - It has no write-ahead log, and an open repairs nothing: the only level is 'none'.
 * - A transaction belongs to the database, not to a session, so the plugin offers none.
 * - The hash table's locks are enabled for several sessions. The tree's locks do not protect
 *   it. Readers, which share the lock, record their path, and a later split of a page
 *   follows it. So the tree has one session, which borrows values from its cache.
 * - The first xmsiz bytes of the file are mapped, where a full disk causes SIGBUS. The
 *   plugin checks at open that they fit, but does not reserve them. So filling the file is
 *   measured.
 * - Tokyo Cabinet treats a failed pwrite(2) as done. The file then has a hole, or is too
 *   short for its records; flush and close check this.
 */
#include "../common/plugin.h"

#include <tcbdb.h>
#include <tchdb.h>

/*
 * Sizes are int, and Tokyo Cabinet doubles and adds them without a check. With these limits
 * of mininb, pages and buffers of a few such records do not overflow.
 */
#define KEY_SIZE_MAX (64 << 20)
#define VALUE_SIZE_MAX (256 << 20)

#define XMSIZ_HASH (64ull << 20) /* HDBDEFXMSIZ in tchdb.c; the tree's is 0 */

enum { TREE, HASH, TYPES }; /* in the order of the option's choices */

static const char *const files[TYPES] = {[TREE] = "data.tcb", [HASH] = "data.tch"};

/* Defaults are Tokyo Cabinet's, except for the type. It raises values below min to min. */
#define OPTIONS(X) \
	X(TYPE, CHOICE, "type", "btree", "btree|hash", "B+ tree or hash table") \
	X(BNUM, U64, "bnum", NULL, "buckets", 1, 1ull << 32, \
		"of the hash table, in btree that of its pages; rounded up to a prime") \
	X(APOW, U64, "apow", NULL, "power of 2", 0, 16, "alignment of records in the file") \
	X(FPOW, U64, "fpow", NULL, "power of 2", 0, 20, "free blocks remembered") \
	X(LARGE, BOOL, "large", NULL, \
		"addresses of 64 bits; without, a file beyond 2^(32 + apow) bytes is damaged") \
	X(COMPRESS, CHOICE, "compress", NULL, "none|deflate|bzip|tcbs", "records, or pages") \
	X(XMSIZ, BYTES, "xmsiz", NULL, 0, 1ull << 40, \
		"bytes of the file mapped with mmap(2); else btree the buckets, hash 64MiB") \
	X(DFUNIT, U64, "dfunit", NULL, "fragments", 0, INT_MAX, \
		"defragment a little after so many; 0: never") \
	X(RCNUM, U64, "rcnum", NULL, "records", 256, INT_MAX / 4, \
		"hash: records in its cache, else none") \
	X(LMEMB, U64, "lmemb", NULL, "records", 4, 1 << 20, "btree: most in a leaf, else 128") \
	X(NMEMB, U64, "nmemb", NULL, "links", 4, 1 << 20, \
		"btree: most in an inner node, else 256") \
	X(LCNUM, U64, "lcnum", NULL, "leaves", 64, 1 << 28, \
		"btree: leaves in its cache, else 1024") \
	X(NCNUM, U64, "ncnum", NULL, "nodes", 64, 1 << 28, \
		"btree: inner nodes in its cache, else 512")

enum { OPTIONS(OPTION_ID) OPTION_COUNT };
static const struct nb_option options[] = {OPTIONS(OPTION_ROW) NB_OPTION_END};
static const uint32_t hash_only = 1u << RCNUM;
static const uint32_t tree_only = 1u << LMEMB | 1u << NMEMB | 1u << LCNUM | 1u << NCNUM;
static const uint8_t compressions[] = {0, HDBTDEFLATE, HDBTBZIP, HDBTTCBS}; /* as BDBT... */

struct nb_db {
	const struct nb_host *host;
	TCBDB *tree;       /* NULL: hash */
	TCHDB *hash;       /* the tree's hash table, or the database itself */
	size_t value_size; /* of the workload, a hint */
};

struct nb_session {
	struct nb_db *db;
	struct buffer buffer; /* hash: the value that get lends */
	BDBCUR *cursor;       /* of a scan */
	bool is_backward;
	bool is_there; /* scan_next has not returned the cursor's record yet */
};

static const struct nb_engine engines[TYPES];

static const char *
version(void)
{
	return tcversion;
}

static const struct nb_engine *
variant(const struct nb_option_value *value)
{
	return &engines[value[TYPE].u64];
}

/* --- errors --- */

/* Tokyo Cabinet reports the failed system call; errno usually contains the reason. */
static int
fail(struct nb_db *db, const char *call)
{
	int reason = errno;
	int code = tchdbecode(db->hash);
	bool is_system = code >= TCEOPEN && code <= TCERMDIR && reason != 0;
	return db->host->fail(NB_FAIL, "%s: %s%s%s", call, tcerrmsg(code),
		is_system ? ": " : "", is_system ? strerror(reason) : "");
}

/* The error `code` is the answer `answer`, not a failure. */
static int
outcome_or(struct nb_db *db, const char *call, bool is_done, int code, int answer)
{
	if (is_done)
		return NB_OK;
	return tchdbecode(db->hash) == code ? answer : fail(db, call);
}

static int
outcome(struct nb_db *db, const char *call, bool is_done)
{
	return is_done ? NB_OK : fail(db, call);
}

/* --- open and close --- */

static int
check_options(const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	uint32_t refused = value[TYPE].u64 == HASH ? tree_only : hash_only;
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (value[i].is_set && (refused & 1u << i) != 0)
			return args->host->fail(NB_UNSUPPORTED, "type=%s has no option %s",
				value[TYPE].u64 == HASH ? "hash" : "btree", options[i].name);
	if (args->cache_bytes != 0)
		args->host->log(NB_LOG_WARNING,
			"tokyocabinet: its caches count records and pages, not bytes; cache is ignored, see lcnum, ncnum, rcnum");
	return NB_OK;
}

static int64_t
number_or(const struct nb_option_value *value, int64_t otherwise)
{
	return value->is_set ? (int64_t)value->u64 : otherwise;
}

static uint64_t
mapped_size(const struct nb_option_value *value)
{
	uint64_t buckets = (uint64_t)number_or(&value[BNUM], 0) *
		(number_or(&value[LARGE], 0) != 0 ? sizeof(uint64_t) : sizeof(uint32_t));
	uint64_t size = (uint64_t)number_or(
		&value[XMSIZ], value[TYPE].u64 == HASH ? XMSIZ_HASH : 0);
	return size > buckets ? size : buckets;
}

static uint8_t
flags_of(const struct nb_option_value *value)
{
	uint8_t flags = value[COMPRESS].is_set ? compressions[value[COMPRESS].u64] : 0;
	return value[LARGE].is_set && value[LARGE].u64 != 0 ? flags | HDBTLARGE : flags;
}

/* 0 or -1 select the default. */
static bool
tune(struct nb_db *db, const struct nb_option_value *value)
{
	int64_t bnum = number_or(&value[BNUM], 0);
	int8_t apow = (int8_t)number_or(&value[APOW], -1);
	int8_t fpow = (int8_t)number_or(&value[FPOW], -1);
	if (db->tree != NULL) {
		if (!tcbdbtune(db->tree, (int32_t)number_or(&value[LMEMB], 0),
			    (int32_t)number_or(&value[NMEMB], 0), bnum, apow, fpow,
			    flags_of(value)) ||
			!tcbdbsetcache(db->tree, (int32_t)number_or(&value[LCNUM], 0),
				(int32_t)number_or(&value[NCNUM], 0)))
			return false;
	} else if (!tchdbtune(db->hash, bnum, apow, fpow, flags_of(value)) ||
		!tchdbsetcache(db->hash, (int32_t)number_or(&value[RCNUM], 0)))
		return false;
	return (!value[XMSIZ].is_set || tchdbsetxmsiz(db->hash, (int64_t)value[XMSIZ].u64)) &&
		tchdbsetdfunit(db->hash, (int32_t)number_or(&value[DFUNIT], 0));
}

/* An existing database silently keeps the settings of its creation. */
static int
check_kept(struct nb_db *db, const struct nb_option_value *value)
{
	uint64_t flags = tchdbopts(db->hash);
	uint64_t buckets = tchdbbnum(db->hash);
	const struct {
		int option;
		uint64_t typed, kept;
	} checks[] = {
		{APOW, 1ull << (value[APOW].u64 & 31), tchdbalign(db->hash)},
		{FPOW, 1ull << (value[FPOW].u64 & 31), tchdbfbpmax(db->hash)},
		{BNUM, 1, buckets >= value[BNUM].u64 && buckets / 2 <= value[BNUM].u64},
		{LARGE, value[LARGE].u64, (flags & HDBTLARGE) != 0},
		{COMPRESS, flags_of(value) & ~HDBTLARGE, flags & ~(uint64_t)HDBTLARGE},
		{LMEMB, value[LMEMB].u64, db->tree == NULL ? 0 : tcbdblmemb(db->tree)},
		{NMEMB, value[NMEMB].u64, db->tree == NULL ? 0 : tcbdbnmemb(db->tree)},
	};

	for (size_t i = 0; i < COUNT_OF(checks); i++)
		if (value[checks[i].option].is_set && checks[i].typed != checks[i].kept)
			return db->host->fail(NB_UNSUPPORTED,
				"the database was made with another %s, and keeps it",
				options[checks[i].option].name);
	return NB_OK;
}

static int
mode_of(const struct nb_open_args *args)
{
	/* Equal to BDBO...; fail instead of waiting for another process's lock. */
	if ((args->flags & NB_OPEN_READ_ONLY) != 0)
		return HDBOREADER | HDBOLCKNB;
	return HDBOWRITER | HDBOLCKNB | ((args->flags & NB_OPEN_CREATE) != 0 ? HDBOCREAT : 0);
}

static void
discard(struct nb_db *db)
{
	if (db->tree != NULL)
		tcbdbdel(db->tree); /* frees its hash table as well, and closes an open tree */
	else
		tchdbdel(db->hash);
	free(db);
}

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	const struct nb_host *host = args->host;
	const struct nb_option_value *value = args->options;
	char file[PATH_MAX];
	if (snprintf(file, sizeof(file), "%s/%s", args->path, files[value[TYPE].u64]) >=
		(int)sizeof(file))
		return host->fail(NB_UNSUPPORTED, "the path is too long");
	int rc = check_durability(args, variant(value));
	if (rc == NB_OK)
		rc = check_options(args);
	if (rc == NB_OK && (args->flags & NB_OPEN_READ_ONLY) == 0)
		rc = check_map_room(args, file, mapped_size(value), "xmsiz or bnum");
	if (rc != NB_OK)
		return rc;

	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return host->fail(NB_FAIL, "out of memory");
	db->host = host;
	db->value_size = args->value_size <= VALUE_SIZE_MAX ? args->value_size : 0;
	db->tree = value[TYPE].u64 == TREE ? tcbdbnew() : NULL;
	db->hash = db->tree != NULL ? db->tree->hdb : tchdbnew();
	errno = 0;
	bool is_shared = db->tree == NULL && args->sessions > 1;
	if (!tune(db, value) || (is_shared && !tchdbsetmutex(db->hash)))
		rc = fail(db, "tune");
	else if (!(db->tree != NULL ? tcbdbopen(db->tree, file, mode_of(args))
				    : tchdbopen(db->hash, file, mode_of(args))))
		rc = fail(db,
			tchdbecode(db->hash) == TCELOCK ? "another process has it open: open"
							: "open");
	else
		rc = check_kept(db, value);
	if (rc != NB_OK) {
		discard(db);
		return rc;
	}
	*out = db;
	return NB_OK;
}

/* Check that the file contains all written records beyond the mapped part. */
static int
check_written(struct nb_db *db, const char *call)
{
	TCHDB *hash = db->hash;
	uint64_t end = tchdbfsiz(hash);
	uint64_t from = hash->frec > hash->xmsiz ? hash->frec : hash->xmsiz;
	if (from >= end)
		return NB_OK;
	off_t hole = lseek(hash->fd, (off_t)from, SEEK_HOLE); /* or the end of the file */
	if (hole < 0 ? errno != ENXIO : (uint64_t)hole >= end)
		return NB_OK; /* also if the file system cannot report holes */
	return db->host->fail(NB_FAIL,
		"%s: a part of the file was not written; is the disk full, or its quota reached?",
		call);
}

static int
db_close(struct nb_db *db)
{
	bool is_writer = (db->hash->omode & HDBOWRITER) != 0;
	int rc = NB_OK;
	if (db->tree != NULL && is_writer)
		rc = outcome(db, "tcbdbmemsync", tcbdbmemsync(db->tree, false));
	if (rc == NB_OK && is_writer)
		rc = check_written(db, "close");
	bool is_closed = db->tree != NULL ? tcbdbclose(db->tree) : tchdbclose(db->hash);
	if (rc == NB_OK)
		rc = outcome(db, "close", is_closed);
	discard(db);
	return rc;
}

SESSION_OPEN_WITH(buffer)

static int
session_close(struct nb_session *session)
{
	free(session->buffer.data);
	free(session);
	return NB_OK;
}

/* --- records --- */

/* put, insert and del for both types, whose calls differ only in their names. */
#define WRITES(type, base, call) \
	static int type##_put( \
		struct nb_session *session, struct nb_slice key, struct nb_slice value) \
	{ \
		struct nb_db *db = session->db; \
		return outcome(db, #call "put", \
			call##put(db->base, key.data, (int)key.size, address(value), \
				(int)value.size)); \
	} \
\
	static int type##_insert( \
		struct nb_session *session, struct nb_slice key, struct nb_slice value) \
	{ \
		struct nb_db *db = session->db; \
		return outcome_or(db, #call "putkeep", \
			call##putkeep(db->base, key.data, (int)key.size, address(value), \
				(int)value.size), \
			TCEKEEP, NB_EXISTS); \
	} \
\
	static int type##_del(struct nb_session *session, struct nb_slice key) \
	{ \
		struct nb_db *db = session->db; \
		return outcome_or(db, #call "out", \
			call##out(db->base, key.data, (int)key.size), TCENOREC, NB_NOT_FOUND); \
	}

WRITES(tree, tree, tcbdb)
WRITES(hash, hash, tchdb)

static int
tree_get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	struct nb_db *db = session->db;
	int size = 0;
	value->data = tcbdbget3(db->tree, key.data, (int)key.size, &size);
	value->size = (size_t)size;
	return outcome_or(db, "tcbdbget3", value->data != NULL, TCENOREC, NB_NOT_FOUND);
}

/*
 * tchdbget3() silently truncates a too long value, so a full buffer requires a check of the
 * size.
 */
static int
hash_get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	struct nb_db *db = session->db;
	struct buffer *to = &session->buffer;
	for (;;) {
		int size = tchdbget3(
			db->hash, key.data, (int)key.size, to->data, (int)to->room);
		if (size < 0)
			return outcome_or(db, "tchdbget3", false, TCENOREC, NB_NOT_FOUND);
		*value = (struct nb_slice){to->data, (size_t)size};
		if ((size_t)size < to->room)
			return NB_OK;
		int whole = tchdbvsiz(db->hash, key.data, (int)key.size);
		if (whole < 0)
			return outcome_or(db, "tchdbvsiz", false, TCENOREC, NB_NOT_FOUND);
		if (!buffer_reserve(to, whole > size ? (size_t)whole : (size_t)size))
			return db->host->fail(NB_FAIL, "out of memory");
	}
}

/* --- scans of the tree --- */

static bool
jump(BDBCUR *cursor, const struct nb_scan_args *args)
{
	const void *key = args->from.data;
	int size = (int)args->from.size;
	if ((args->flags & NB_SCAN_BACKWARD) != 0)
		return size == 0 ? tcbdbcurlast(cursor) : tcbdbcurjumpback(cursor, key, size);
	return size == 0 ? tcbdbcurfirst(cursor) : tcbdbcurjump(cursor, key, size);
}

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	BDBCUR *cursor = tcbdbcurnew(session->db->tree);
	session->is_there = jump(cursor, args);
	int rc = outcome_or(session->db, "tcbdbcurjump", session->is_there, TCENOREC, NB_OK);
	if (rc != NB_OK) {
		tcbdbcurdel(cursor);
		return rc;
	}
	session->cursor = cursor;
	session->is_backward = (args->flags & NB_SCAN_BACKWARD) != 0;
	return NB_OK;
}

/* Move the cursor only when the next record is requested, so that the lent one remains. */
static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	struct nb_db *db = session->db;
	BDBCUR *cursor = session->cursor;
	if (!session->is_there)
		session->is_there = session->is_backward ? tcbdbcurprev(cursor)
							 : tcbdbcurnext(cursor);
	int key_size = 0;
	int value_size = 0;
	const void *from = session->is_there ? tcbdbcurkey3(cursor, &key_size) : NULL;
	const void *to = from != NULL ? tcbdbcurval3(cursor, &value_size) : NULL;
	if (to == NULL)
		return outcome_or(db, "tcbdbcur", false, TCENOREC, NB_NOT_FOUND);
	session->is_there = false;
	*key = (struct nb_slice){from, (size_t)key_size};
	*value = (struct nb_slice){to, (size_t)value_size};
	return NB_OK;
}

static int
scan_close(struct nb_session *session)
{
	tcbdbcurdel(session->cursor);
	session->cursor = NULL;
	return NB_OK;
}

/* --- operations on the whole database --- */

static int
flush(struct nb_db *db, uint32_t upto)
{
	if (upto == NB_SETTLE_COMPACT &&
		!(db->tree != NULL ? tcbdbdefrag(db->tree, INT64_MAX)
				   : tchdbdefrag(db->hash, INT64_MAX)))
		return fail(db, "defrag");
	bool is_done = db->tree != NULL ? tcbdbsync(db->tree) : tchdbsync(db->hash);
	return is_done ? check_written(db, "sync") : fail(db, "sync");
}

/* An open reads only the file, and needs no recovery. */
CHECKPOINT_BY_FLUSH(flush)

/* Reads single words, which is safe even if a single session of the hash table uses no locks. */
static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	TCBDB *tree = db->tree;
	emit(to, "records", "records", NB_STAT_GAUGE,
		tree != NULL ? tcbdbrnum(tree) : tchdbrnum(db->hash));
	emit(to, "size", "bytes", NB_STAT_GAUGE,
		tree != NULL ? tcbdbfsiz(tree) : tchdbfsiz(db->hash));
	if (tree == NULL)
		return;
	emit(to, "leaf_nodes", "nodes", NB_STAT_GAUGE, tcbdblnum(tree));
	emit(to, "inner_nodes", "nodes", NB_STAT_GAUGE, tcbdbnnum(tree));
}

#define COMMON \
	ENGINE_BASE("tokyocabinet"), \
		.licence = "LGPL-2.1-or-later", .home = "https://dbmx.net/tokyocabinet/", \
		.durabilities = NB_DUR_BIT(NB_DUR_NONE), .auto_durability = NB_DUR_NONE, \
		.key_size_max = KEY_SIZE_MAX, .value_size_max = VALUE_SIZE_MAX, \
		.options = options, .open = db_open, .close = db_close, .flush = flush, \
		.checkpoint = checkpoint, .stats = stats, .variant = variant

static const struct nb_engine engines[TYPES] = {
	[TREE] = {COMMON, .summary = "Tokyo Cabinet: B+ tree",
		.caps = NB_CAP_PERSISTENT | NB_CAP_ORDERED | NB_CAP_ZERO_COPY, .get = tree_get,
		.put = tree_put, .del = tree_del, .insert = tree_insert, ENGINE_SCAN},
	[HASH] = {COMMON, .summary = "Tokyo Cabinet: hash table",
		.caps = NB_CAP_PERSISTENT | NB_CAP_CONCURRENT, .get = hash_get, .put = hash_put,
		.del = hash_del, .insert = hash_insert},
};
NB_ENGINE_PLUGIN(engines[TREE])
