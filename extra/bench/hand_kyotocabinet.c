/* SPDX-License-Identifier: BSD-2-Clause */
#include <kclangc.h>
#include <stdio.h>

#include "versus.h"

static void *
open_db(const char *path, int is_put)
{
	char name[512];
	KCDB *db = kcdbnew();
	snprintf(name, sizeof(name), "%s/data.kct", path);
	must(kcdbopen(db, name, is_put ? KCOWRITER | KCOCREATE : KCOREADER), "kcdbopen");
	return db;
}

static void
put(void *db, const uint8_t *keys, const uint8_t *values, uint64_t count)
{
	int is_good = 1;
	for (uint64_t i = 0; i < count; i++)
		is_good &= kcdbset(db, (const char *)keys + i * KEY, KEY,
			(const char *)values + i % RING * STRIDE, VALUE);
	must(is_good, "kcdbset");
}

static uint64_t
get(void *db, const uint8_t *keys, uint64_t count)
{
	char value[VALUE];
	uint64_t found = 0;
	for (uint64_t i = 0; i < count; i++) {
		int32_t size = kcdbgetbuf(
			db, (const char *)keys + i * KEY, KEY, value, sizeof(value));
		found += size == VALUE && consume(value, (size_t)size);
	}
	return found;
}

static void
close_db(void *db)
{
	must(kcdbclose(db), "kcdbclose");
	kcdbdel(db);
}

const struct hand hand = {"kyotocabinet", open_db, put, get, close_db};
