/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Depot, QDBM's hash file. Offsets are unchecked ints: beyond 2 GiB Depot loses the data
 * that it writes. So each put checks that the file has room.
 */
#include "qdbm.h"

/* Limits of the plugin: one such record fits into a file. */
#define KEY_SIZE_MAX (1u << 20)
#define VALUE_SIZE_MAX (1u << 30)

enum { RECORD_HEADER = 28 }; /* DP_RHNUM ints */

struct nb_db {
	const struct nb_host *host;
	DEPOT *depot;
	uint64_t align;
	uint64_t value_size; /* expected; 0: unknown */
};

struct nb_session {
	struct nb_db *db;
	struct buffer buf; /* the value that get and scans lend */
	char *key;         /* of a scan, from QDBM's malloc() */
	bool is_at_end;
};

/* --- open and close --- */

static int
set_options(struct nb_db *db, const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	int bnum = dpbnum(db->depot);
	if (value[BNUM].is_set && bnum != dpprimenum((int)value[BNUM].u64))
		return db->host->fail(NB_UNSUPPORTED,
			"this database was made with %d buckets, which bnum=%llu cannot change",
			bnum, (unsigned long long)value[BNUM].u64);
	if (args->cache_bytes != 0)
		db->host->log(NB_LOG_WARNING, "qdbm: cache is ignored: type=hash has no cache");
	if ((args->flags & NB_OPEN_READ_ONLY) != 0)
		return NB_OK;
	db->align = value[ALIGN].is_set ? value[ALIGN].u64 : 0;
	if (!dpsetalign(db->depot, (int)db->align))
		return qdbm_failure(db->host, "dpsetalign", 0);
	if (value[FBPSIZ].is_set && !dpsetfbpsiz(db->depot, (int)value[FBPSIZ].u64))
		return qdbm_failure(db->host, "dpsetfbpsiz", 0);
	return NB_OK;
}

static int
open_file(struct nb_db *db, const struct nb_open_args *args, const struct file *file)
{
	const struct nb_option_value *value = args->options;
	uint64_t bnum = value[BNUM].is_set ? value[BNUM].u64 : args->records * 2;
	if (bnum > options_table[BNUM].max)
		bnum = options_table[BNUM].max;
	errno = 0;
	db->depot = dpopen(file->path, file_mode(args), bnum == 0 ? -1 : (int)bnum);
	if (db->depot == NULL)
		return file_failure(file, db->host, "dpopen", errno);
	int rc = set_options(db, args);
	if (rc != NB_OK)
		dpclose(db->depot);
	return rc;
}

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	struct file file;
	int rc = file_find(&file, args, HASH);
	if (rc != NB_OK)
		return rc;
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return args->host->fail(NB_FAIL, "out of memory");
	db->host = args->host;
	db->value_size = args->value_size;
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
	int rc = dpclose(db->depot) ? NB_OK : qdbm_failure(db->host, "dpclose", errno);

	free(db);
	return rc;
}

SESSION_OPEN_WITH(buf)

static int
session_close(struct nb_session *session)
{
	free(session->key);
	free(session->buf.data);
	free(session);
	return NB_OK;
}

/* --- records --- */

/* If the value fills the buffer, it may be longer. */
static int
read_value(struct nb_session *session, const char *key, int key_size, struct nb_slice *value)
{
	const struct nb_host *host = session->db->host;
	DEPOT *depot = session->db->depot;
	struct buffer *buf = &session->buf;
	for (;;) {
		int most = buf->room < INT_MAX ? (int)buf->room : INT_MAX;
		int size = dpgetwb(depot, key, key_size, 0, most, buf->data);
		if (size < 0)
			return dpecode == DP_ENOITEM ? NB_NOT_FOUND
						     : qdbm_failure(host, "dpgetwb", 0);
		*value = (struct nb_slice){buf->data, (size_t)size};
		if (size < most)
			return NB_OK;
		size = dpvsiz(depot, key, key_size);
		if (size < 0)
			return qdbm_failure(host, "dpvsiz", 0);
		if (!buffer_reserve(buf, (size_t)size))
			return host->fail(NB_FAIL, "out of memory");
	}
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	return read_value(session, key.data, (int)key.size, value);
}

static int
write_record(struct nb_session *session, struct nb_slice key, struct nb_slice value, int mode)
{
	struct nb_db *db = session->db;
	uint64_t need = RECORD_HEADER + key.size + value.size + db->align;
	if (need + (uint64_t)dpfsiz(db->depot) > INT_MAX && !dpfatalerror(db->depot))
		return db->host->fail(
			NB_FAIL, "dpput: the file would pass 2 GiB, which QDBM cannot handle");
	errno = 0;
	if (dpput(db->depot, key.data, (int)key.size, address(value), (int)value.size, mode))
		return NB_OK;
	if (dpecode == DP_EKEEP)
		return NB_EXISTS;
	return qdbm_failure(db->host, "dpput", errno);
}

PUT_AND_INSERT(write_record, DP_DOVER, DP_DKEEP)

static int
del(struct nb_session *session, struct nb_slice key)
{
	struct nb_db *db = session->db;
	errno = 0;
	if (dpout(db->depot, key.data, (int)key.size))
		return NB_OK;
	return dpecode == DP_ENOITEM ? NB_NOT_FOUND : qdbm_failure(db->host, "dpout", errno);
}

/* --- scans --- */

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	struct nb_db *db = session->db;
	int rc = check_unordered_scan(db->host, args);
	if (rc != NB_OK)
		return rc;
	if (!dpiterinit(db->depot))
		return qdbm_failure(db->host, "dpiterinit", 0);
	session->is_at_end = false;
	return NB_OK;
}

static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	struct nb_db *db = session->db;
	int size;
	free(session->key);
	session->key = NULL;
	if (session->is_at_end)
		return NB_NOT_FOUND;
	session->key = dpiternext(db->depot, &size);
	if (session->key == NULL && dpecode != DP_ENOITEM)
		return qdbm_failure(db->host, "dpiternext", 0);
	session->is_at_end = session->key == NULL;
	if (session->is_at_end)
		return NB_NOT_FOUND;
	*key = (struct nb_slice){session->key, (size_t)size};
	return read_value(session, session->key, size, value);
}

static int
scan_close(struct nb_session *session)
{
	free(session->key);
	session->key = NULL;
	return NB_OK;
}

/* --- operations on the whole database --- */

/* The only deferred work is to rebuild the file without holes. */
static int
flush(struct nb_db *db, uint32_t upto)
{
	bool is_compact = upto == NB_SETTLE_COMPACT;
	errno = 0;
	if ((is_compact && !dpoptimize(db->depot, dpbnum(db->depot))) || !dpsync(db->depot))
		return qdbm_failure(db->host, is_compact ? "optimize" : "sync", errno);
	return NB_OK;
}

/* A sync writes the file's size into its header, as close does. */
CHECKPOINT_BY_FLUSH(flush)

static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	emit(to, "records", "records", NB_STAT_GAUGE, (uint64_t)dprnum(db->depot));
	emit(to, "buckets", "buckets", NB_STAT_GAUGE, (uint64_t)dpbnum(db->depot));
	emit(to, "file_size", "bytes", NB_STAT_GAUGE, (uint64_t)dpfsiz(db->depot));
}

const struct nb_engine depot_engine = {QDBM_TABLE,
	.summary = "hash file of Mikio Hirabayashi, forerunner of Tokyo Cabinet",
	.caps = NB_CAP_PERSISTENT, .key_size_max = KEY_SIZE_MAX,
	.value_size_max = VALUE_SIZE_MAX, .variant = qdbm_variant};
