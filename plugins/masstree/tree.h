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

#include "../common/async.h"

struct mt_tree;
struct mt_session;

enum mt_change { MT_PUT, MT_DEL };

/**
 * The functions that record changes. Each write that changes a record calls `record`, on the
 * session's thread. The key's leaf is then locked, and no reader can see the change yet. So
 * the calls for one key come one after the other, in the order in which its changes take
 * effect. A merge is recorded as a put of its sum.
 *
 * `record` must be short and must not call the tree. If it does not return NB_OK, the change
 * does not happen and the verb returns that value. `log` is the session's log, see
 * mt_session_log().
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

struct mt_args {
	const struct nb_host *host;
	uint32_t sessions, inflight_ops;
	uint64_t inflight_bytes;
	bool has_small_pages, has_malloc; /* instead of huge pages and the pool */
	bool has_no_prefetch, has_no_permutation, has_byte_compare;
	struct mt_log log; /* members NULL: changes are not recorded */
};

int
mt_open(struct mt_tree **out, const struct mt_args *args);

void
mt_close(struct mt_tree *tree);

int
mt_session_open(struct mt_session **out, struct mt_tree *tree, uint32_t id);

void
mt_session_close(struct mt_session *session);

/** Set the session's log, the first argument of `record`; NULL: do not record changes. */
void
mt_session_log(struct mt_session *session, void *log);

const struct nb_host *
mt_host(const struct mt_session *session);

struct async *
mt_async(struct mt_session *session);

/* Same as the verbs in mininb/engine.h. */

int
mt_get(struct mt_session *session, struct nb_slice key, struct nb_slice *value);

int
mt_multi_get(struct mt_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers);

void
mt_release(struct mt_session *session);

int
mt_put(struct mt_session *session, struct nb_slice key, struct nb_slice value);

int
mt_insert(struct mt_session *session, struct nb_slice key, struct nb_slice value);

/** Add to a number of 8 bytes. A missing key gets the operand as its value. */
int
mt_add(struct mt_session *session, struct nb_slice key, uint64_t operand);

int
mt_del(struct mt_session *session, struct nb_slice key);

/**
 * Execute the steps as one operation, whatever the flags: all others come before or after it.
 * Exception: without NB_EXEC_SNAPSHOT, a list of only gets reads each key separately.
 */
int
mt_execute(struct mt_session *session, struct nb_step *steps, size_t count, uint32_t flags);

/** Perform all of the writes, or none. */
int
mt_batch(struct mt_session *session, const struct nb_write *writes, size_t count);

/**
 * A scan is not a snapshot: it reads each leaf at a different moment. It returns each record
 * that exists during the whole scan exactly once, and the keys in order.
 */
int
mt_scan_open(struct mt_session *session, const struct nb_scan_args *args);

int
mt_scan_next(struct mt_session *session, struct nb_slice *key, struct nb_slice *value);

int
mt_scan_close(struct mt_session *session);

/**
 * Store up to `room` slices of 8 bytes, in order, that divide the keys into ranges of similar
 * size for parallel scans. Returns their number: 0 for a small tree or without memory.
 */
size_t
mt_pivots(struct mt_session *session, uint64_t *pivots, size_t room);

/** Gauges and counters since the open. Any thread. */
struct mt_stats {
	uint64_t records, leaves, inner_nodes, layers;
	uint64_t inserts, updates, deletes;
	uint64_t leaf_splits, leaf_grows, inner_splits, layers_made, layers_removed;
	uint64_t leaves_removed, restarts, hint_hits, hint_misses;
	uint64_t memory_bytes;
};

void
mt_stats(struct mt_tree *tree, struct mt_stats *stats);

/**
 * Walk the whole tree and check its invariants. No session may be inside a call. Returns the
 * number of records; -1: `what` describes the violation. For tests.
 */
int64_t
mt_check(struct mt_tree *tree, char *what, size_t room);

#endif /* MASSTREE_TREE_H */
