/* SPDX-License-Identifier: BSD-2-Clause */
/* Uses the transactional product with commits that do not sync, like the plugin's default. */
#include <db.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "versus.h"

struct db {
	DB_ENV *env;
	DB *base;
};

static void *
open_db(const char *path, int is_put)
{
	struct db *db = calloc(1, sizeof(*db));
	char log[512];
	strcpy(log, path);
	strcat(log, "/log");
	mkdir(log, 0777);
	must(db_env_create(&db->env, 0) == 0, "db_env_create");
	db->env->set_flags(db->env, DB_NOMMAP | DB_TXN_WRITE_NOSYNC, 1);
	db->env->set_lg_dir(db->env, "log");
	must(db->env->open(db->env, path,
		     DB_CREATE | DB_PRIVATE | DB_INIT_MPOOL | DB_THREAD | DB_INIT_TXN |
			     DB_INIT_LOCK | DB_INIT_LOG | DB_RECOVER,
		     0) == 0,
		"DB_ENV->open");
	db->env->log_set_config(db->env, DB_LOG_AUTO_REMOVE, 1);
	db->env->set_lk_detect(db->env, DB_LOCK_RANDOM);
	must(db_create(&db->base, db->env, 0) == 0, "db_create");
	must(db->base->open(db->base, NULL, "records.db", NULL, DB_BTREE,
		     DB_AUTO_COMMIT | DB_THREAD | (is_put ? DB_CREATE : 0), 0644) == 0,
		"DB->open");
	return db;
}

static void
put(void *handle, const uint8_t *keys, const uint8_t *values, uint64_t count)
{
	struct db *db = handle;
	DBT key = {0}, value = {0};
	int error = 0;
	key.size = KEY;
	value.size = VALUE;
	for (uint64_t i = 0; i < count && error == 0; i++) {
		key.data = (void *)(uintptr_t)(keys + i * KEY);
		value.data = (void *)(uintptr_t)(values + i % RING * STRIDE);
		error = db->base->put(db->base, NULL, &key, &value, 0);
		/*
		 * As often as the plugin: called after each MiB written, effective after 64
		 * MiB of log.
		 */
		if (i % ((1 << 20) / (KEY + VALUE)) == 0)
			db->env->txn_checkpoint(db->env, 64 << 10, 0, 0);
	}
	must(error == 0, "DB->put");
}

static uint64_t
get(void *handle, const uint8_t *keys, uint64_t count)
{
	struct db *db = handle;
	char room[VALUE];
	DBT key = {0}, value = {0};
	uint64_t found = 0;
	key.size = KEY;
	value.data = room;
	value.ulen = sizeof(room);
	key.flags = value.flags = DB_DBT_USERMEM;
	for (uint64_t i = 0; i < count; i++) {
		key.data = (void *)(uintptr_t)(keys + i * KEY);
		if (db->base->get(db->base, NULL, &key, &value, 0) == 0)
			found += consume(room, value.size);
	}
	return found;
}

static void
close_db(void *handle)
{
	struct db *db = handle;
	must(db->base->close(db->base, 0) == 0, "DB->close");
	must(db->env->close(db->env, 0) == 0, "DB_ENV->close");
	free(db);
}

const struct hand hand = {"berkeleydb", open_db, put, get, close_db};
