/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small map that is correct except for one defect, which meson.build selects with LIE_*.
 * Tests of verification use it: only the data shows the defect. With SYNC_EVERY, it offers
 * durability `commit`, and only its syncs show the defect: it syncs once every SYNC_EVERY puts,
 * or never if 0.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLAIN_SESSIONS
#include "plain.h"

enum { SLOTS = 1 << 14, KEY_SIZE_MAX = 32, VALUE_SIZE_MAX = 1 << 14, SOME = 16 };

struct slot {
	uint8_t key[KEY_SIZE_MAX];
	uint8_t *value; /* NULL: free */
	size_t key_size, value_size;
};

struct nb_db {
	const struct nb_host *host;
	uint64_t puts, gets;
	int log;                      /* the file that is synced */
	uint8_t copy[VALUE_SIZE_MAX]; /* lent instead of the stored value */
	struct slot slots[SLOTS];
};

/** The slot of the key, or a free slot for it; NULL: no room. FNV-1a with linear probing. */
static struct slot *
find(struct nb_db *db, struct nb_slice key)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < key.size; i++)
		hash = (hash ^ ((const uint8_t *)key.data)[i]) * UINT64_C(0x100000001b3);
	for (uint64_t i = 0; i < SLOTS; i++) {
		struct slot *slot = &db->slots[(hash + i) % SLOTS];
		if (slot->value == NULL ||
			(slot->key_size == key.size &&
				memcmp(slot->key, key.data, key.size) == 0))
			return slot;
	}
	return NULL;
}

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return args->host->fail(NB_FAIL, "out of memory");
	db->host = args->host;
#ifdef SYNC_EVERY
	char path[4096];
	snprintf(path, sizeof(path), "%s/log", args->path);
	db->log = open(path, O_CREAT | O_WRONLY | O_CLOEXEC | LOG_FLAGS, 0600);
	if (db->log < 0) {
		free(db);
		return args->host->fail(NB_FAIL, "%s cannot be made", path);
	}
#endif
	*out = db;
	return NB_OK;
}

static int
db_close(struct nb_db *db)
{
	for (size_t i = 0; i < SLOTS; i++)
		free(db->slots[i].value);
#ifdef SYNC_EVERY
	close(db->log);
#endif
	free(db);
	return NB_OK;
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	struct nb_db *db = (void *)session;
	const struct slot *slot = find(db, key);
	if (slot == NULL || slot->value == NULL)
		return NB_NOT_FOUND;
	*value = (struct nb_slice){slot->value, slot->value_size};
#ifdef LIE_CORRUPT
	if (++db->gets % SOME == 0 && slot->value_size > 0) {
		memcpy(db->copy, slot->value, slot->value_size);
		db->copy[slot->value_size / 2] ^= 1;
		value->data = db->copy;
	}
#endif
	return NB_OK;
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	struct nb_db *db = (void *)session;
	struct slot *slot = find(db, key);
	if (slot == NULL)
		return db->host->fail(NB_FAIL, "there is room for %d records", SLOTS);
#ifdef LIE_STALE
	if (slot->value != NULL)
		return NB_OK; /* the old value stays */
#endif
#ifdef LIE_LOSES
	if (++db->puts % SOME == 0)
		return NB_OK;
#endif
#ifdef SYNC_EVERY
	if (SYNC_EVERY > 0 && ++db->puts % SYNC_EVERY == 0 && fdatasync(db->log) != 0)
		return db->host->fail(NB_FAIL, "the log cannot be synced");
#endif
	uint8_t *copy = malloc(value.size + 1);
	if (copy == NULL)
		return db->host->fail(NB_FAIL, "out of memory");
	memcpy(copy, value.data, value.size);
	free(slot->value);
	*slot = (struct slot){.value = copy, .key_size = key.size, .value_size = value.size};
	memcpy(slot->key, key.data, key.size);
	return NB_OK;
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	return ((struct nb_db *)(void *)session)
		->host->fail(NB_FAIL, "nothing is deleted here");
}

static const struct nb_engine engine = {
	PLAIN_ENGINE,
	.name = LIAR_NAME,
	.summary = "test engine with wrong data",
#ifdef SYNC_EVERY
	.durabilities = NB_DUR_BIT(NB_DUR_NONE) | NB_DUR_BIT(NB_DUR_COMMIT),
	.caps = NB_CAP_PERSISTENT, /* gives the database a directory */
#else
	.durabilities = NB_DUR_BIT(NB_DUR_NONE),
#endif
	.auto_durability = NB_DUR_NONE,
	.key_size_max = KEY_SIZE_MAX,
	.value_size_max = VALUE_SIZE_MAX,
};

NB_ENGINE_PLUGIN(engine)
