/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MASSTREE_TREE_H
#define MASSTREE_TREE_H
/**
 * The interface of the tree. masstree.c and persistent.c make verbs from it; logs, checkpoints
 * and recovery use it, too.
 *
 * Threads: as in mininb/engine.h. A session belongs to one thread.
 */
#include <mininb/engine.h>

#include <stdbool.h>

enum mt_change { MT_PUT, MT_DEL };

/**
 * The functions that record changes. Each write that changes a record calls `record`, on the
 * session's thread. The key's leaf is then locked, and no reader can see the change yet. So
 * the calls for one key come one after the other, in the order in which its changes take
 * effect. A merge is recorded as a put of its sum.
 *
 * `record` must be short and must not call the tree. If it does not return NB_OK, the change
 * does not happen and the verb returns that value. `log` is the session's member of that name.
 */
struct mt_log {
	int (*record)(
		void *log, enum mt_change change, struct nb_slice key, struct nb_slice value);
	/**
	 * Record several changes, of which a crash keeps all or none. All their leaves are
	 * locked.
	 */
	int (*record_list)(void *log, const struct nb_write *writes, size_t count);
};

/** A session and the database are those of the engine. */
struct mt_args {
	const struct nb_host *host;
	uint32_t sessions, inflight_ops;
	uint64_t inflight_bytes;
	bool has_small_pages, has_malloc; /* instead of huge pages and the pool */
	bool has_no_prefetch, has_no_permutation, has_byte_compare;
	struct mt_log log; /* members NULL: changes are not recorded */
};

int
mt_open(struct nb_db **out, const struct mt_args *args);

int
mt_close(struct nb_db *tree);

int
mt_session_open(struct nb_session **out, struct nb_db *tree, uint32_t id);

/* The functions below are verbs as in mininb/engine.h, up to mt_scan_close(). */

int
mt_session_close(struct nb_session *session);

int
mt_get(struct nb_session *session, struct nb_slice key, struct nb_slice *value);

int
mt_multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers);

void
mt_release(struct nb_session *session);

int
mt_put(struct nb_session *session, struct nb_slice key, struct nb_slice value);

int
mt_insert(struct nb_session *session, struct nb_slice key, struct nb_slice value);

int
mt_merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand);

int
mt_del(struct nb_session *session, struct nb_slice key);

/**
 * Execute the steps as one operation, whatever the flags: all others come before or after it.
 * Exception: without NB_EXEC_SNAPSHOT, a list of only gets reads each key separately.
 */
int
mt_execute(struct nb_session *session, struct nb_step *steps, size_t count, uint32_t flags);

/** Perform all of the writes, or none. */
int
mt_batch(struct nb_session *session, const struct nb_write *writes, size_t count);

/**
 * A scan is not a snapshot: it reads each leaf at a different moment. It returns each record
 * that exists during the whole scan exactly once, and the keys in order.
 */
int
mt_scan_open(struct nb_session *session, const struct nb_scan_args *args);

int
mt_scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value);

int
mt_scan_close(struct nb_session *session);

/**
 * Store up to `room` slices of 8 bytes, in order, that divide the keys into ranges of similar
 * size for parallel scans. Returns their number: 0 for a small tree or without memory.
 */
size_t
mt_pivots(struct nb_session *session, uint64_t *pivots, size_t room);

/** Gauges and counters since the open. Any thread. */
struct mt_stats {
	uint64_t records, leaves, inner_nodes, layers;
	uint64_t inserts, updates, deletes;
	uint64_t leaf_splits, leaf_grows, inner_splits, layers_made, layers_removed;
	uint64_t leaves_removed, restarts, hint_hits, hint_misses;
	uint64_t memory_bytes;
};

void
mt_stats(struct nb_db *tree, struct mt_stats *stats);

/**
 * Walk the whole tree and check its invariants. No session may be inside a call. Returns the
 * number of records; -1: `what` describes the violation. For tests.
 */
int64_t
mt_check(struct nb_db *tree, char *what, size_t room);

#endif /* MASSTREE_TREE_H */
