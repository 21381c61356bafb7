/* SPDX-License-Identifier: BSD-2-Clause */
#include <rocksdb/c.h>
#include <stdlib.h>

#include "versus.h"

struct db {
	rocksdb_t *base;
	rocksdb_options_t *options;
	rocksdb_readoptions_t *read_options;
	rocksdb_writeoptions_t *write_options;
};

static void *
open_db(const char *path, int is_put)
{
	struct db *db = calloc(1, sizeof(*db));
	char *error = NULL;
	db->options = rocksdb_options_create();
	db->read_options = rocksdb_readoptions_create();
	db->write_options = rocksdb_writeoptions_create();
	rocksdb_options_set_create_if_missing(db->options, is_put != 0);
	db->base = rocksdb_open(db->options, path, &error);
	must(error == NULL, "rocksdb_open");
	return db;
}

static void
put(void *handle, const uint8_t *keys, const uint8_t *values, uint64_t count)
{
	struct db *db = handle;
	char *error = NULL;
	for (uint64_t i = 0; i < count; i++)
		rocksdb_put(db->base, db->write_options, (const char *)keys + i * KEY, KEY,
			(const char *)values + i % RING * STRIDE, VALUE, &error);
	must(error == NULL, "rocksdb_put");
}

static uint64_t
get(void *handle, const uint8_t *keys, uint64_t count)
{
	struct db *db = handle;
	char *error = NULL;
	uint64_t found = 0;
	for (uint64_t i = 0; i < count; i++) {
		size_t size;
		rocksdb_pinnableslice_t *value = rocksdb_get_pinned(
			db->base, db->read_options, (const char *)keys + i * KEY, KEY, &error);
		if (value == NULL)
			continue;
		const char *data = rocksdb_pinnableslice_value(value, &size);
		found += consume(data, size);
		rocksdb_pinnableslice_destroy(value);
	}
	must(error == NULL, "rocksdb_get_pinned");
	return found;
}

static void
close_db(void *handle)
{
	struct db *db = handle;
	rocksdb_close(db->base);
	rocksdb_writeoptions_destroy(db->write_options);
	rocksdb_readoptions_destroy(db->read_options);
	rocksdb_options_destroy(db->options);
	free(db);
}

const struct hand hand = {"rocksdb", open_db, put, get, close_db};
