/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Distributes a trace to several threads.
 *
 * Each shard has a ring of blocks. The reader fills a block with operations whose keys hash to
 * that shard and passes it on when it is full. The taker returns it when it takes the next one.
 * So they synchronise once per OPS_STRATUM operations, never inside the timed span, and memory
 * does not grow with the trace. A full ring stops the reader, and then also other takers when
 * their rings are empty. So threads diverge by at most RING blocks. Rejected: one queue for
 * all, which would need a lock for each operation and lose the order of a key's operations.
 *
 * The taker makes the values, ahead of the clock, as for other sources.
 *
 * Memory order: the reader writes a block before it increments `filled` (release), and the
 * taker reads the block after it reads `filled` (acquire). `emptied` is the same in the other
 * direction.
 */
#include "workload/feed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"

enum {
	RING = 32, /* blocks per shard */
	KEYS_ROOM = 4096,
	LINE = 128,
	NAP_NS = 20000, /* between two checks of a ring that is full or empty */
	IDLE_NS = 1000000,
};

/** An operation in a block. */
struct item {
	uint32_t kind, key_size;
	uint64_t key_at; /* offset in the block's bytes */
	uint64_t index, value_size, length, due_ns;
};

struct block {
	uint32_t count;
	struct item items[OPS_STRATUM];
	uint8_t *keys; /* owned */
	size_t used, room;
};

struct shard {
	_Alignas(LINE) uint64_t filled;  /* blocks passed on; atomic */
	_Alignas(LINE) uint64_t emptied; /* blocks returned; atomic */
	_Alignas(LINE) bool is_holding;  /* used by the taker: a block is borrowed */
	struct block blocks[RING];
};

struct feed {
	struct feed_options options;
	struct shard *shards;
	int is_over; /* atomic: no more blocks follow */
	uint64_t digest;
	uint8_t kinds[OPS_STRATUM]; /* of the mix, for bare keys */
	uint64_t kinds_stratum;
};

int
feed_new(struct feed **out, const struct feed_options *options)
{
	struct feed *feed = calloc(1, sizeof(*feed));
	if (feed == NULL)
		return error_memory();
	feed->options = *options;
	feed->kinds_stratum = UINT64_MAX;
	size_t bytes = options->shards * sizeof(*feed->shards);
	feed->shards = aligned_alloc(LINE, bytes);
	if (feed->shards == NULL) {
		free(feed);
		return error_memory();
	}
	memset(feed->shards, 0, bytes);
	*out = feed;
	return NB_OK;
}

void
feed_delete(struct feed *feed)
{
	if (feed == NULL)
		return;
	for (uint32_t s = 0; s < feed->options.shards; s++) {
		for (uint32_t b = 0; b < RING; b++)
			free(feed->shards[s].blocks[b].keys);
	}
	free(feed->shards);
	free(feed);
}

uint64_t
feed_digest(const struct feed *feed)
{
	return feed->digest;
}

static bool
is_halted(const int *halt)
{
	return __atomic_load_n(halt, __ATOMIC_RELAXED) != 0;
}

static void
nap(void)
{
	struct timespec moment = {.tv_nsec = NAP_NS};
	nanosleep(&moment, NULL);
}

/* ---- the reader ---- */

/** The block that is being filled; NULL if halted. Waits while the ring is full. */
static struct block *
open_block(struct shard *shard, const int *halt)
{
	while (shard->filled - __atomic_load_n(&shard->emptied, __ATOMIC_ACQUIRE) >= RING) {
		if (is_halted(halt))
			return NULL;
		nap();
	}
	return &shard->blocks[shard->filled % RING];
}

static void
hand_over(struct shard *shard)
{
	__atomic_store_n(&shard->filled, shard->filled + 1, __ATOMIC_RELEASE);
}

static int
keep_key(struct block *block, struct nb_slice key)
{
	if (block->used + key.size > block->room) {
		size_t room = block->room * 2 + KEYS_ROOM + key.size;
		void *grown = realloc(block->keys, room);
		if (grown == NULL)
			return error_memory();
		block->keys = grown;
		block->room = room;
	}
	memcpy(block->keys + block->used, key.data, key.size);
	block->used += key.size;
	return NB_OK;
}

/** The kind of an operation; for a bare key the mix decides. */
static uint32_t
kind_of(struct feed *feed, const struct trace_op *op, uint64_t index)
{
	if (op->kind != TRACE_NO_KIND)
		return op->kind;
	uint64_t stratum = index / OPS_STRATUM;
	if (stratum != feed->kinds_stratum) {
		ops_kinds(feed->options.spec, stratum, feed->kinds);
		feed->kinds_stratum = stratum;
	}
	return feed->kinds[index % OPS_STRATUM];
}

/** Due time, computed for the whole trace: the part of a thread depends on the keys. */
static uint64_t
due_of(const struct feed *feed, const struct trace_op *op)
{
	const struct feed_options *options = &feed->options;
	if (options->next_due != NULL)
		return options->next_due(options->next_due_arg);
	return options->speed > 0 ? (uint64_t)((double)op->due_ns / options->speed) : 0;
}

static int
check_size(const char *what, uint64_t size, uint64_t most)
{
	if (most == 0 || size <= most)
		return NB_OK;
	return error_set(NB_UNSUPPORTED,
		"its %s has %" PRIu64 " bytes; the engine takes at most %" PRIu64, what, size,
		most);
}

/** Check that an operation can be passed on. NB_OK, or a failure with the reason. */
static int
check_op(const struct feed *feed, const struct trace_op *op, const struct item *item)
{
	if (item->value_size > FEED_VALUE_MAX)
		return error_set(NB_ERR_DATA,
			"its value has %" PRIu64 " bytes; allowed: up to %" PRIu64,
			item->value_size, FEED_VALUE_MAX);
	if (feed->options.speed > 0 && !op->has_due)
		return error_set(
			NB_ERR_USAGE, "it has no timestamp; --speed needs one (use --rate)");
	if (item->kind == NB_OP_SCAN && !feed->options.can_scan)
		return error_set(
			NB_UNSUPPORTED, "it is a scan, and the engine cannot do ordered scans");
	if (ops_is_many(item->kind))
		return error_set(NB_ERR_USAGE, "it has one key, and the mix makes it a %s",
			nb_op_name(item->kind));
	int rc = check_size("key", item->key_size, feed->options.key_size_max);
	if (rc == NB_OK && op_is(item->kind, OP_WRITES))
		rc = check_size("value", item->value_size, feed->options.value_size_max);
	return rc;
}

static int
hand_on(struct feed *feed, const struct trace_op *op, uint64_t index, const int *halt)
{
	bool are_keys = feed->options.are_values_keys;
	uint64_t key_hash = XXH3_64bits(op->key.data, op->key.size);
	struct item item = {.kind = kind_of(feed, op, index),
		.key_size = (uint32_t)op->key.size,
		.index = index,
		.value_size = are_keys ? op->key.size : op->value_size,
		.length = op->scan_length > 0 ? op->scan_length : 1};
	int rc = check_op(feed, op, &item);
	if (rc != NB_OK)
		return error_prefix(rc, "operation %" PRIu64 " of the trace", index);
	struct shard *shard = &feed->shards[key_hash % feed->options.shards];
	struct block *block = open_block(shard, halt);
	if (block == NULL)
		return NB_OK;
	if (block->count == OPS_STRATUM)
		block->count = 0;
	if (block->count == 0)
		block->used = 0;
	item.key_at = block->used;
	item.due_ns = due_of(feed, op);
	block->items[block->count] = item;
	uint64_t words[] = {feed->digest, item.kind, key_hash, item.value_size, item.length};
	feed->digest = XXH3_64bits(words, sizeof(words));
	rc = keep_key(block, op->key);
	if (rc == NB_OK && ++block->count == OPS_STRATUM)
		hand_over(shard);
	return rc;
}

static void
hand_over_rest(struct feed *feed, const int *halt)
{
	for (uint32_t s = 0; s < feed->options.shards; s++) {
		struct shard *shard = &feed->shards[s];
		struct block *block = open_block(shard, halt);
		if (block != NULL && block->count > 0 && block->count < OPS_STRATUM)
			hand_over(shard);
	}
}

int
feed_run(struct feed *feed, const int *halt)
{
	struct trace_op op;
	uint64_t index = 0, count = feed->options.count;
	int rc = NB_OK;
	while (rc == NB_OK && (count == 0 || index < count) && !is_halted(halt)) {
		rc = trace_reader_next(feed->options.reader, &op);
		if (rc == NB_OK)
			rc = hand_on(feed, &op, index++, halt);
	}
	hand_over_rest(feed, halt);
	__atomic_store_n(&feed->is_over, 1, __ATOMIC_RELEASE);
	return rc == NB_NOT_FOUND ? NB_OK : rc;
}

/* ---- a taker ---- */

static struct block *
await_block(
	struct feed *feed, struct shard *shard, const struct feed_taken *taken, const int *halt)
{
	uint32_t naps = 0;
	uint64_t next = __atomic_load_n(&shard->emptied, __ATOMIC_RELAXED);
	for (;;) {
		/* Read before `filled`, so blocks passed on before the end are seen. */
		bool is_over = __atomic_load_n(&feed->is_over, __ATOMIC_ACQUIRE) != 0;
		if (__atomic_load_n(&shard->filled, __ATOMIC_ACQUIRE) > next)
			return &shard->blocks[next % RING];
		if (is_over || is_halted(halt))
			return NULL;
		nap();
		if (++naps % (IDLE_NS / NAP_NS) == 0 && taken->idle != NULL)
			taken->idle(taken->idle_arg);
	}
}

static int
make_room(struct feed_taken *taken, size_t bytes)
{
	if (bytes <= taken->room)
		return NB_OK;
	void *grown = realloc(taken->bytes, bytes * 2);
	if (grown == NULL)
		return error_memory();
	taken->bytes = grown;
	taken->room = bytes * 2;
	return NB_OK;
}

static void
make_value(const struct feed *feed, const struct item *item, struct nb_slice key, void *out)
{
	const struct ops_spec *spec = feed->options.spec;
	if (feed->options.are_values_keys)
		memcpy(out, key.data, key.size);
	else
		values_write_sized(&spec->values, out, key, item->value_size,
			ops_version(spec, item->index));
}

static int
make_ops(const struct feed *feed, const struct block *block, struct feed_taken *taken)
{
	size_t bytes = 0;
	for (uint32_t j = 0; j < block->count; j++)
		bytes += ops_is_write(block->items[j].kind) ? block->items[j].value_size : 0;
	int rc = make_room(taken, bytes);
	if (rc != NB_OK)
		return rc;
	uint8_t *value = taken->bytes;
	for (uint32_t j = 0; j < block->count; j++) {
		const struct item *item = &block->items[j];
		bool is_write = ops_is_write(item->kind);
		taken->keys[j] = (struct nb_slice){block->keys + item->key_at, item->key_size};
		taken->numbers[j] = XXH3_64bits(taken->keys[j].data, item->key_size);
		taken->values[j] = (struct nb_slice){value, is_write ? item->value_size : 0};
		if (taken->values[j].size > 0) {
			make_value(feed, item, taken->keys[j], value);
			value += item->value_size;
		}
		taken->due_ns[j] = item->due_ns;
		taken->ops[j] = (struct ops_op){.kind = item->kind,
			.items = 1,
			.index = item->index,
			.length = item->length,
			.numbers = &taken->numbers[j],
			.keys = &taken->keys[j],
			.values = &taken->values[j]};
	}
	return (int)block->count;
}

int
feed_take(struct feed *feed, uint32_t shard_id, struct feed_taken *taken, const int *halt)
{
	struct shard *shard = &feed->shards[shard_id];
	if (shard->is_holding)
		__atomic_store_n(&shard->emptied, shard->emptied + 1, __ATOMIC_RELEASE);
	shard->is_holding = false;
	struct block *block = await_block(feed, shard, taken, halt);
	if (block == NULL)
		return 0;
	shard->is_holding = true;
	return make_ops(feed, block, taken);
}

void
feed_taken_destroy(struct feed_taken *taken)
{
	free(taken->bytes);
	taken->bytes = NULL;
}
