/* SPDX-License-Identifier: BSD-2-Clause */
#include <leveldb/c.h>
#include <stdlib.h>

#include "versus.h"

struct db {
	leveldb_t *base;
	leveldb_options_t *options;
	leveldb_readoptions_t *read_options;
	leveldb_writeoptions_t *write_options;
};

static void *
open_db(const char *path, int is_put)
{
	struct db *db = calloc(1, sizeof(*db));
	char *error = NULL;
	db->options = leveldb_options_create();
	db->read_options = leveldb_readoptions_create();
	db->write_options = leveldb_writeoptions_create();
	leveldb_options_set_create_if_missing(db->options, is_put != 0);
	leveldb_options_set_compression(db->options, leveldb_snappy_compression);
	db->base = leveldb_open(db->options, path, &error);
	must(error == NULL, "leveldb_open");
	return db;
}

static void
put(void *handle, const uint8_t *keys, const uint8_t *values, uint64_t count)
{
	struct db *db = handle;
	char *error = NULL;
	for (uint64_t i = 0; i < count; i++)
		leveldb_put(db->base, db->write_options, (const char *)keys + i * KEY, KEY,
			(const char *)values + i % RING * STRIDE, VALUE, &error);
	must(error == NULL, "leveldb_put");
}

static uint64_t
get(void *handle, const uint8_t *keys, uint64_t count)
{
	struct db *db = handle;
	char *error = NULL;
	uint64_t found = 0;
	for (uint64_t i = 0; i < count; i++) {
		size_t size;
		char *value = leveldb_get(db->base, db->read_options,
			(const char *)keys + i * KEY, KEY, &size, &error);
		found += value != NULL && consume(value, size);
		leveldb_free(value);
	}
	must(error == NULL, "leveldb_get");
	return found;
}

static void
close_db(void *handle)
{
	struct db *db = handle;
	leveldb_close(db->base);
	leveldb_writeoptions_destroy(db->write_options);
	leveldb_readoptions_destroy(db->read_options);
	leveldb_options_destroy(db->options);
	free(db);
}

const struct hand hand = {"leveldb", open_db, put, get, close_db};
