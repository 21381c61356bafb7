/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Villa, QDBM's B+ tree.
 *
 * - Its pages are records of a Depot, so the limit of 2 GiB in depot.c applies. Each put
 *   checks that the file has room, including pages that are only in memory.
 * - Villa remembers its path to the last leaf, even if an abort discards pages of the path.
 *   vlcurjump() searches it again.
 */
#include "qdbm.h"

#include <villa.h>

/* Limits of the plugin: with any options, the size of a leaf of such records fits an int. */
#define KEY_SIZE_MAX (64u << 10)
#define VALUE_SIZE_MAX (1u << 20)

enum {
	LEAF_SIZE = 48 << 10, /* VL_MAXLEAFSIZ: a leaf of four or more records is split at it */
	LEAF_RECORDS = 49,    /* VL_DEFLRECMAX and so on */
	NODE_INDEXES = 192,
	LEAVES = 1024,
	NODES = 512,
	PAGES_MIN = 16,      /* minimum of vlsettuning() */
	RECORD_MEMORY = 240, /* overhead of a cached record: measured */
	INDEX_MEMORY = 100,  /* likewise */
	BLOCK = 4096,        /* DP_FSBLKSIZ */
	ROOM_MIN = 8 << 20   /* less is reported as full, to avoid permanent flushes */
};

/* In the order of the choices. flag: Villa's mark in the file (VL_FLISZLIB and so on). */
static const struct {
	int mode, flag;
} compressions[] = {{0, 0}, {VL_OZCOMP, 1 << 1}, {VL_OYCOMP, 1 << 2}, {VL_OXCOMP, 1 << 3}};

struct nb_db {
	const struct nb_host *host;
	VILLA *villa;
	uint64_t leaves;  /* maximum number in the cache */
	uint64_t page;    /* maximum size of a leaf in the file, in bytes */
	uint64_t nodes;   /* maximum number in the cache */
	uint64_t largest; /* longest value put */
	uint64_t pending; /* bytes put since the pages were last written */
	uint64_t puts;    /* number of these puts */
	bool is_in_transaction;
	bool is_read_only; /* the transaction is read-only */
};

struct nb_session {
	struct nb_db *db;
	bool is_backward; /* of a scan */
	bool is_fresh;    /* scan_next has not returned the cursor's record yet */
	bool is_at_end;
};

/* --- open and close --- */

/* Set the number of cached leaves and nodes, and estimate their size in the file. */
static int
set_cache(struct nb_db *db, const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	uint64_t records = value[LRECMAX].is_set ? value[LRECMAX].u64 : LEAF_RECORDS;
	uint64_t indexes = value[NIDXMAX].is_set ? value[NIDXMAX].u64 : NODE_INDEXES;
	uint64_t key = args->key_size != 0 ? args->key_size : 16;
	uint64_t data = key + (args->value_size != 0 ? args->value_size : 100);
	uint64_t leaves = LEAVES;
	uint64_t nodes = NODES;
	if (args->cache_bytes != 0) {
		/*
		 * Pages are filled to seven tenths; one node serves more than a hundred leaves.
		 */
		uint64_t full = data * records < LEAF_SIZE ? records : LEAF_SIZE / data + 1;
		leaves = args->cache_bytes / 16 * 15 /
			(full * 7 / 10 * (data + RECORD_MEMORY) + 1);
		nodes = args->cache_bytes / 16 / (indexes * 7 / 10 * (key + INDEX_MEMORY) + 1);
		nodes = nodes < PAGES_MIN ? PAGES_MIN : nodes;
	}
	if (leaves < PAGES_MIN)
		return db->host->fail(NB_UNSUPPORTED,
			"a cache of %llu bytes holds %llu leaves; Villa keeps %d at least",
			(unsigned long long)args->cache_bytes, (unsigned long long)leaves,
			PAGES_MIN);
	leaves = leaves < INT_MAX ? leaves : INT_MAX;
	nodes = nodes < INT_MAX ? nodes : INT_MAX;
	vlsettuning(db->villa, (int)records, (int)indexes, (int)leaves, (int)nodes);
	bool is_known = args->key_size != 0 && args->value_size != 0;
	uint64_t page = (records + 1) * (data + 10);
	db->page = is_known && page < LEAF_SIZE ? page : LEAF_SIZE;
	db->leaves = leaves;
	db->nodes = nodes;
	return NB_OK;
}

static int
set_options(struct nb_db *db, const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	uint64_t wanted = value[COMPRESSION].is_set ? value[COMPRESSION].u64 : 0;
	/* A library without the compressor silently makes uncompressed pages. */
	for (size_t i = 1; i < COUNT_OF(compressions); i++)
		if (value[COMPRESSION].is_set &&
			(i == wanted) != ((vlgetflags(db->villa) & compressions[i].flag) != 0))
			return db->host->fail(NB_UNSUPPORTED,
				"this compression is not available: the database has another one, or the library was built without it");
	int rc = set_cache(db, args);
	if (rc != NB_OK || (args->flags & NB_OPEN_READ_ONLY) != 0)
		return rc;
	if (value[FBPSIZ].is_set && !vlsetfbpsiz(db->villa, (int)value[FBPSIZ].u64))
		return qdbm_failure(db->host, "vlsetfbpsiz", 0);
	return NB_OK;
}

static int
open_file(struct nb_db *db, const struct nb_open_args *args, const struct file *file)
{
	const struct nb_option_value *compression = &args->options[COMPRESSION];
	int mode = file_mode(args);
	if (compression->is_set && (mode & DP_OWRITER) != 0)
		mode |= compressions[compression->u64].mode;
	errno = 0;
	db->villa = vlopen(file->path, mode, VL_CMPLEX);
	if (db->villa == NULL)
		return file_failure(file, db->host, "vlopen", errno);
	int rc = set_options(db, args);
	if (rc != NB_OK)
		vlclose(db->villa);
	return rc;
}

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	struct file file;
	int rc = file_find(&file, args, TREE);
	if (rc != NB_OK)
		return rc;
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return args->host->fail(NB_FAIL, "out of memory");
	db->host = args->host;
	rc = open_file(db, args, &file);
	if (rc == NB_OK) {
		*out = db;
		return NB_OK;
	}
	file_drop_new(&file);
	free(db);
	return rc;
}

static int
db_close(struct nb_db *db)
{
	errno = 0;
	int rc = vlclose(db->villa) ? NB_OK : qdbm_failure(db->host, "vlclose", errno);

	free(db);
	return rc;
}

SESSION_OPEN()

static int
session_close(struct nb_session *session)
{
	free(session);
	return NB_OK;
}

/* --- records --- */

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	struct nb_db *db = session->db;
	int size;
	const char *data = vlgetcache(db->villa, key.data, (int)key.size, &size);
	if (data == NULL)
		return dpecode == DP_ENOITEM ? NB_NOT_FOUND
					     : qdbm_failure(db->host, "vlgetcache", 0);
	*value = (struct nb_slice){data, (size_t)size};
	return NB_OK;
}

/*
 * Upper bound of the file size after all pages in memory are written. Each page may need a
 * new place, and is padded by a quarter and to a whole block. A leaf of long values is split
 * only when it gets its eighth value. A put changes two pages, or few more.
 */
static uint64_t
size_bound(struct nb_db *db)
{
	uint64_t size = (uint64_t)vlfsiz(db->villa);
	uint64_t page = db->page + (db->largest > LEAF_SIZE / 8 ? 8 * db->largest : 0);
	uint64_t cached = db->leaves * page + db->nodes * LEAF_SIZE;
	uint64_t pages = db->leaves + db->nodes;
	if (db->is_in_transaction || cached > size)
		cached = size; /* the content of the file, once more */
	if (db->is_in_transaction || pages > db->puts * 4)
		pages = db->puts * 4;
	return size + (cached + db->pending) / 4 * 5 + pages * BLOCK;
}

static int
make_room(struct nb_db *db)
{
	if (!db->is_in_transaction) {
		errno = 0;
		if (!vlmemflush(db->villa))
			return qdbm_failure(db->host, "vlmemflush", errno);
		db->pending = db->puts = 0;
	}
	if (size_bound(db) > INT_MAX - ROOM_MIN)
		return db->host->fail(
			NB_FAIL, "vlput: the file could pass 2 GiB, which QDBM cannot handle");
	return NB_OK;
}

static int
refuse_write(struct nb_db *db)
{
	return db->host->fail(NB_UNSUPPORTED, "a write in a read-only transaction");
}

static int
write_record(struct nb_session *session, struct nb_slice key, struct nb_slice value, int mode)
{
	struct nb_db *db = session->db;
	if (db->is_read_only)
		return refuse_write(db);
	db->largest = value.size > db->largest ? value.size : db->largest;
	db->pending += key.size + value.size + 10;
	db->puts++;
	if (size_bound(db) > INT_MAX && !vlfatalerror(db->villa)) {
		int rc = make_room(db);
		if (rc != NB_OK)
			return rc;
	}
	errno = 0;
	if (vlput(db->villa, key.data, (int)key.size, address(value), (int)value.size, mode))
		return NB_OK;
	if (dpecode == DP_EKEEP)
		return NB_EXISTS;
	return qdbm_failure(db->host, "vlput", errno);
}

PUT_AND_INSERT(write_record, VL_DOVER, VL_DKEEP)

static int
del(struct nb_session *session, struct nb_slice key)
{
	struct nb_db *db = session->db;
	if (db->is_read_only)
		return refuse_write(db);
	errno = 0;
	if (vlout(db->villa, key.data, (int)key.size))
		return NB_OK;
	return dpecode == DP_ENOITEM ? NB_NOT_FOUND : qdbm_failure(db->host, "vlout", errno);
}

/* --- transactions and batches --- */

static int
begin(struct nb_session *session, uint32_t flags)
{
	struct nb_db *db = session->db;
	db->is_read_only = (flags & NB_TXN_READ_ONLY) != 0;
	if (db->is_read_only)
		return NB_OK; /* only one session exists, so nothing can change */
	errno = 0;
	if (!vltranbegin(db->villa))
		return qdbm_failure(db->host, "vltranbegin", errno);
	db->pending = db->puts = 0;
	db->is_in_transaction = true;
	return NB_OK;
}

static int
commit(struct nb_session *session)
{
	struct nb_db *db = session->db;
	db->is_read_only = false;
	if (!db->is_in_transaction)
		return NB_OK;
	db->is_in_transaction = false;
	errno = 0;
	if (!vltrancommit(db->villa))
		return qdbm_failure(db->host, "vltrancommit", errno);
	db->pending = db->puts = 0;
	return NB_OK;
}

static void
abort_txn(struct nb_session *session)
{
	struct nb_db *db = session->db;
	db->is_read_only = false;
	if (!db->is_in_transaction)
		return;
	db->is_in_transaction = false;
	vltranabort(db->villa);
	vlcurjump(db->villa, "", 0, VL_JFORWARD);
}

static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	struct nb_db *db = session->db;
	if ((flags & NB_BATCH_ATOMIC) == 0)
		return write_each(session, writes, count, put, del);
	if (db->is_in_transaction || db->is_read_only)
		return db->host->fail(NB_UNSUPPORTED, "no atomic batch within a transaction");
	int rc = begin(session, 0);
	if (rc != NB_OK)
		return rc;
	rc = write_each(session, writes, count, put, del);
	if (rc == NB_OK)
		return commit(session);
	abort_txn(session);
	return rc;
}

/* --- scans: the database has one cursor --- */

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	VILLA *villa = session->db->villa;
	bool is_backward = (args->flags & NB_SCAN_BACKWARD) != 0;
	int is_found;
	if (args->from.size > INT_MAX)
		return session->db->host->fail(NB_UNSUPPORTED, "a key of over 2 GiB");
	if (args->from.size != 0)
		is_found = vlcurjump(villa, args->from.data, (int)args->from.size,
			is_backward ? VL_JBACKWARD : VL_JFORWARD);
	else
		is_found = is_backward ? vlcurlast(villa) : vlcurfirst(villa);
	if (!is_found && dpecode != DP_ENOITEM)
		return qdbm_failure(session->db->host, "vlcurjump", 0);
	session->is_at_end = !is_found;
	session->is_backward = is_backward;
	session->is_fresh = true;
	return NB_OK;
}

static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	VILLA *villa = session->db->villa;
	int key_size;
	int value_size;
	if (session->is_at_end)
		return NB_NOT_FOUND;
	if (!session->is_fresh &&
		!(session->is_backward ? vlcurprev(villa) : vlcurnext(villa))) {
		session->is_at_end = true;
		return dpecode == DP_ENOITEM ? NB_NOT_FOUND
					     : qdbm_failure(session->db->host, "vlcurnext", 0);
	}
	session->is_fresh = false;
	const char *key_data = vlcurkeycache(villa, &key_size);
	const char *value_data = vlcurvalcache(villa, &value_size);
	if (key_data == NULL || value_data == NULL)
		return qdbm_failure(session->db->host, "vlcurvalcache", 0);
	*key = (struct nb_slice){key_data, (size_t)key_size};
	*value = (struct nb_slice){value_data, (size_t)value_size};
	return NB_OK;
}

static int
scan_close(struct nb_session *session)
{
	return NB_OK;
}

/* --- operations on the whole database --- */

/* The only deferred work is to rebuild the file without holes. */
static int
flush(struct nb_db *db, uint32_t upto)
{
	bool is_compact = upto == NB_SETTLE_COMPACT;
	errno = 0;
	if ((is_compact && !vloptimize(db->villa)) || !vlsync(db->villa))
		return qdbm_failure(db->host, is_compact ? "optimize" : "sync", errno);
	db->pending = db->puts = 0;
	return NB_OK;
}

/* A sync writes the file's size into its header, as close does. */
CHECKPOINT_BY_FLUSH(flush)

static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	emit(to, "records", "records", NB_STAT_GAUGE, (uint64_t)vlrnum(db->villa));
	emit(to, "leaves", "pages", NB_STAT_GAUGE, (uint64_t)vllnum(db->villa));
	emit(to, "nodes", "pages", NB_STAT_GAUGE, (uint64_t)vlnnum(db->villa));
	emit(to, "file_size", "bytes", NB_STAT_GAUGE, (uint64_t)vlfsiz(db->villa));
}

const struct nb_engine villa_engine = {QDBM_TABLE,
	.summary = "B+ tree of Mikio Hirabayashi, forerunner of Tokyo Cabinet",
	.caps = NB_CAP_ORDERED | NB_CAP_PERSISTENT | NB_CAP_ATOMIC_BATCH | NB_CAP_ZERO_COPY,
	.key_size_max = KEY_SIZE_MAX, .value_size_max = VALUE_SIZE_MAX, .batch = batch,
	ENGINE_TXN};
