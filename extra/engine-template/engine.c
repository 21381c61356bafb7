/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mininb plugin for example. It works unchanged. Replace it by your engine
 * step by step.
 *
 * Part 1 replaces the library of an engine: an ordered map in memory, which part
 * 2 calls. Remove it and include your engine's header. Part 2 is the plugin, and
 * mostly calls the engine. The word YOURS marks each place with a decision.
 *
 * <mininb/engine.h> describes each verb, and `mininb check` tests the verbs.
 * Keep it passing while you replace one verb after another.
 */
#include <mininb/engine.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ======== Part 1: the stand-in. YOURS: #include your engine's header instead. ======== */

enum { LEVELS = 20 };

/* A skip list (W. Pugh, CACM 33(6), 1990): each level holds a share of the one below. */
struct example_node {
	char *bytes; /* key, then value */
	size_t key_size, value_size;
	struct example_node *next[]; /* one for each level of the node */
};

struct example_store {
	struct example_node *head; /* before every key, on all levels */
	uint64_t random;           /* state for random heights of nodes; never 0 */
	uint64_t fanout;
};

static bool
is_below(const struct example_node *node, const void *key, size_t size)
{
	int order = memcmp(node->bytes, key, node->key_size < size ? node->key_size : size);

	return order < 0 || (order == 0 && node->key_size < size);
}

/* Return the first node not below the key; before[]: the last node below it on each level. */
static struct example_node *
example_store_seek(const struct example_store *store, const void *key, size_t size,
	struct example_node **before)
{
	struct example_node *at = store->head;

	for (size_t level = LEVELS; level-- > 0;) {
		while (at->next[level] != NULL && is_below(at->next[level], key, size))
			at = at->next[level];
		if (before != NULL)
			before[level] = at;
	}
	return at->next[0];
}

static bool
example_node_has(const struct example_node *node, const void *key, size_t size)
{
	return node != NULL && node->key_size == size && memcmp(node->bytes, key, size) == 0;
}

static size_t
random_height(struct example_store *store)
{
	size_t height = 0;

	do {
		store->random ^= store->random << 13; /* G. Marsaglia, Xorshift RNGs, 2003 */
		store->random ^= store->random >> 7;
		store->random ^= store->random << 17;
		height++;
	} while (height < LEVELS && store->random % store->fanout == 0);
	return height;
}

static void
example_store_close(struct example_store *store)
{
	struct example_node *node = store->head;

	while (node != NULL) {
		struct example_node *next = node->next[0];
		free(node->bytes);
		free(node);
		node = next;
	}
	free(store);
}

/* Returns NULL if memory is exhausted. */
static struct example_store *
example_store_open(uint64_t fanout)
{
	struct example_store *store = calloc(1, sizeof(*store));

	if (store == NULL)
		return NULL;
	store->random = 1;
	store->fanout = fanout;
	store->head = calloc(1, sizeof(*store->head) + LEVELS * sizeof(store->head));
	if (store->head != NULL)
		return store;
	free(store);
	return NULL;
}

/* Returns false, without a change, if memory is exhausted. */
static bool
example_store_put(struct example_store *store, const void *key, size_t key_size,
	const void *value, size_t value_size)
{
	struct example_node *before[LEVELS];
	struct example_node *node = example_store_seek(store, key, key_size, before);
	char *bytes = malloc(key_size + value_size);

	if (bytes == NULL)
		return false;
	memcpy(bytes, key, key_size);
	if (value_size != 0) /* an empty value may have a NULL address */
		memcpy(bytes + key_size, value, value_size);
	if (!example_node_has(node, key, key_size)) {
		size_t height = random_height(store);
		node = calloc(1, sizeof(*node) + height * sizeof(node));
		if (node == NULL) {
			free(bytes);
			return false;
		}
		for (size_t level = 0; level < height; level++) {
			node->next[level] = before[level]->next[level];
			before[level]->next[level] = node;
		}
	}
	free(node->bytes);
	node->bytes = bytes;
	node->key_size = key_size;
	node->value_size = value_size;
	return true;
}

/* Returns false if the key does not exist. */
static bool
example_store_remove(struct example_store *store, const void *key, size_t size)
{
	struct example_node *before[LEVELS];
	struct example_node *node = example_store_seek(store, key, size, before);

	if (!example_node_has(node, key, size))
		return false;
	for (size_t level = 0; level < LEVELS && before[level]->next[level] == node; level++)
		before[level]->next[level] = node->next[level];
	free(node->bytes);
	free(node);
	return true;
}

/* ======== Part 2: the plugin. ======== */

/* YOURS: the state of an open database. */
struct nb_db {
	const struct nb_host *host;
	struct example_store *store;
};

/* YOURS: the state of each worker: cursors, transactions, buffers. */
struct nb_session {
	struct nb_db *db;
	const struct example_node *next; /* next node of a scan */
};

/* YOURS: the version of the loaded library, not of the header. */
static const char *
version(void)
{
	return "0.1";
}

/*
 * YOURS: options for tuning, with the engine's own defaults and valid ranges.
 * Durability, cache, sizes and sessions are common to all engines, so they are
 * not options.
 */
enum { FANOUT };
static const struct nb_option options[] = {
	[FANOUT] = NB_OPTION_U64("fanout", "4", "nodes", 2, 64,
		"nodes of one level for each one on the level above"),
	NB_OPTION_END,
};

/* YOURS: open or create the database in the directory args->path, unused here. */
static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	const struct nb_host *host = args->host;

	/* Refuse a level that the engine does not offer; never approximate it. */
	if (args->durability != NB_DUR_NONE)
		return host->fail(NB_UNSUPPORTED, "all is in memory: its durability is none");
	if ((args->flags & NB_OPEN_CREATE) == 0)
		return host->fail(NB_FAIL, "no database: it ends with its process");
	if (args->cache_bytes != 0)
		host->log(NB_LOG_WARNING, "example: all is in memory, so --cache does nothing");
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return host->fail(NB_FAIL, "out of memory");
	db->host = host;
	db->store = example_store_open(args->options[FANOUT].u64);
	if (db->store == NULL)
		goto free_db;
	*out = db;
	return NB_OK;

free_db: /* mininb does not call close after a failed open */
	free(db);
	return host->fail(NB_FAIL, "example_store_open: out of memory");
}

static int
db_close(struct nb_db *db)
{
	example_store_close(db->store);
	free(db);
	return NB_OK;
}

/* The worker's own thread calls this. */
static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	struct nb_session *session = calloc(1, sizeof(*session));

	(void)id;
	if (session == NULL)
		return db->host->fail(NB_FAIL, "out of memory");
	session->db = db;
	*out = session;
	return NB_OK;
}

static int
session_close(struct nb_session *session)
{
	free(session);
	return NB_OK;
}

/*
 * YOURS: lend the engine's own memory if possible, otherwise a copy in a buffer
 * of the session. If a loan must be ended, add the verb `release`.
 */
static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	const struct example_node *node = example_store_seek(
		session->db->store, key.data, key.size, NULL);

	if (!example_node_has(node, key.data, key.size))
		return NB_NOT_FOUND;
	*value = (struct nb_slice){node->bytes + node->key_size, node->value_size};
	return NB_OK;
}

/* YOURS: a failure text contains the failed call and the engine's own text. */
static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	struct nb_db *db = session->db;

	if (!example_store_put(db->store, key.data, key.size, value.data, value.size))
		return db->host->fail(NB_FAIL, "example_store_put: out of memory");
	return NB_OK;
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	return example_store_remove(session->db->store, key.data, key.size) ? NB_OK
									    : NB_NOT_FOUND;
}

/*
 * YOURS: scans and all verbs from `insert` on in the table are optional. A verb
 * that the engine itself cannot execute stays NULL.
 */
static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	struct nb_db *db = session->db;

	if ((args->flags & NB_SCAN_BACKWARD) != 0)
		return db->host->fail(NB_UNSUPPORTED, "scans go forward only");
	session->next = args->from.size == 0
		? db->store->head->next[0]
		: example_store_seek(db->store, args->from.data, args->from.size, NULL);
	return NB_OK;
}

static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	const struct example_node *node = session->next;

	if (node == NULL)
		return NB_NOT_FOUND;
	*key = (struct nb_slice){node->bytes, node->key_size};
	*value = (struct nb_slice){node->bytes + node->key_size, node->value_size};
	session->next = node->next[0];
	return NB_OK;
}

static int
scan_close(struct nb_session *session)
{
	session->next = NULL;
	return NB_OK;
}

/*
 * YOURS: the exact properties of the engine. caps: NB_CAP_PERSISTENT,
 * NB_CAP_CONCURRENT and others, only if they hold. durabilities: the levels that
 * the engine guarantees. Sizes: the longest key and value; 0: no limit.
 */
static const struct nb_engine engine = {
	.abi = NB_ENGINE_ABI,
	.size = sizeof(engine),
	.name = "example",
	.summary = "skip list in memory, of the template",
	.licence = "BSD-2-Clause",
	.home = "none yet",
	.build = NB_ENGINE_BUILD,
	.caps = NB_CAP_ORDERED | NB_CAP_ZERO_COPY,
	.durabilities = NB_DUR_BIT(NB_DUR_NONE),
	.auto_durability = NB_DUR_NONE,
	.key_size_max = 0,
	.value_size_max = 0,
	.options = options,
	.version = version,
	.open = db_open,
	.close = db_close,
	.session_open = session_open,
	.session_close = session_close,
	.get = get,
	.put = put,
	.del = del,
	.scan_open = scan_open,
	.scan_next = scan_next,
	.scan_close = scan_close,
};
NB_ENGINE_PLUGIN(engine)
