/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Uses one transaction for each put and renews one reader for each get, as single
 * operations need.
 */
#include <lmdb.h>
#include <stdlib.h>

#include "versus.h"

struct db {
	MDB_env *env;
	MDB_dbi records;
};

static void *
open_db(const char *path, int is_put)
{
	struct db *db = calloc(1, sizeof(*db));
	MDB_txn *txn;
	unsigned flags = is_put ? 0 : MDB_RDONLY;
	must(mdb_env_create(&db->env) == 0, "mdb_env_create");
	must(mdb_env_set_mapsize(db->env, (size_t)1 << 40) == 0, "mdb_env_set_mapsize");
	must(mdb_env_open(db->env, path, MDB_NOTLS | MDB_NOSYNC | flags, 0644) == 0,
		"mdb_env_open");
	must(mdb_txn_begin(db->env, NULL, flags, &txn) == 0, "mdb_txn_begin");
	must(mdb_dbi_open(txn, NULL, is_put ? MDB_CREATE : 0, &db->records) == 0,
		"mdb_dbi_open");
	must(mdb_txn_commit(txn) == 0, "mdb_txn_commit");
	return db;
}

static void
put(void *handle, const uint8_t *keys, const uint8_t *values, uint64_t count)
{
	struct db *db = handle;
	int error = 0;
	for (uint64_t i = 0; i < count && error == 0; i++) {
		MDB_val key = {KEY, (void *)(uintptr_t)(keys + i * KEY)};
		MDB_val value = {VALUE, (void *)(uintptr_t)(values + i % RING * STRIDE)};
		MDB_txn *txn;
		error = mdb_txn_begin(db->env, NULL, 0, &txn);
		if (error == 0)
			error = mdb_put(txn, db->records, &key, &value, 0);
		if (error == 0)
			error = mdb_txn_commit(txn);
	}
	must(error == 0, "mdb_put");
}

static uint64_t
get(void *handle, const uint8_t *keys, uint64_t count)
{
	struct db *db = handle;
	uint64_t found = 0;
	MDB_txn *txn;
	must(mdb_txn_begin(db->env, NULL, MDB_RDONLY, &txn) == 0, "mdb_txn_begin");
	for (uint64_t i = 0; i < count; i++) {
		MDB_val key = {KEY, (void *)(uintptr_t)(keys + i * KEY)}, value;
		mdb_txn_reset(txn);
		if (mdb_txn_renew(txn) == 0 && mdb_get(txn, db->records, &key, &value) == 0)
			found += consume(value.mv_data, value.mv_size);
	}
	mdb_txn_abort(txn);
	return found;
}

static void
close_db(void *handle)
{
	struct db *db = handle;
	mdb_env_close(db->env);
	free(db);
}

const struct hand hand = {"lmdb", open_db, put, get, close_db};
