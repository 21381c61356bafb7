/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MASSTREE_TREE_H
#define MASSTREE_TREE_H
/**
 * The tree: what masstree.c makes verbs of, and what a log, a checkpoint and a recovery use.
 *
 * Threads: as in mininb/engine.h; a session is its thread's.
 */
#include <mininb/engine.h>

#include <stdbool.h>

#include "../common/async.h"

struct mt_tree;
struct mt_session;

enum mt_change { MT_PUT, MT_DEL };

/**
 * Where changes are recorded. `record` is called in the middle of each write that changes
 * something, by the thread of the session, with the leaf of the key locked and before any reader
 * can see it: the calls for one key come one after the other, in the order in which the changes
 * take effect. A merge is a put of its sum. It must not call the tree and must be short. Not
 * NB_OK: the change does not happen, and the verb returns it. `log` is the session's,
 * see mt_session_log().
 */
struct mt_log {
	int (*record)(
		void *log, enum mt_change change, struct nb_slice key, struct nb_slice value);
	/** The same of several changes, which a crash takes all or none of. All leaves are locked. */
	int (*record_list)(void *log, const struct nb_write *writes, size_t count);
};

struct mt_args {
	const struct nb_host *host;
	uint32_t sessions, inflight_ops;
	uint64_t inflight_bytes;
	bool has_small_pages, has_malloc; /* instead of huge pages and the pool */
	bool has_no_prefetch, has_no_permutation, has_byte_compare;
	struct mt_log log; /* NULL: none */
};

int
mt_open(struct mt_tree **out, const struct mt_args *args);

void
mt_close(struct mt_tree *tree);

int
mt_session_open(struct mt_session **out, struct mt_tree *tree, uint32_t id);

void
mt_session_close(struct mt_session *session);

/** What the log's `record` is given from now on; NULL: nothing is recorded. */
void
mt_session_log(struct mt_session *session, void *log);

const struct nb_host *
mt_host(const struct mt_session *session);

struct async *
mt_async(struct mt_session *session);

/* As the verbs of mininb/engine.h. */

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

/** Add to a number of 8 bytes, or begin with the operand. */
int
mt_add(struct mt_session *session, struct nb_slice key, uint64_t operand);

int
mt_del(struct mt_session *session, struct nb_slice key);

/**
 * The steps as one operation, whatever the flags: all others come before it or after it. Only gets
 * without NB_EXEC_SNAPSHOT are each alone.
 */
int
mt_execute(struct mt_session *session, struct nb_step *steps, size_t count, uint32_t flags);

/** All of the writes, or none. */
int
mt_batch(struct mt_session *session, const struct nb_write *writes, size_t count);

/**
 * A scan is not a snapshot: each leaf is read at a moment of its own. A record that is there
 * from its begin to its end is returned once, and the keys are in order.
 */
int
mt_scan_open(struct mt_session *session, const struct nb_scan_args *args);

int
mt_scan_next(struct mt_session *session, struct nb_slice *key, struct nb_slice *value);

int
mt_scan_close(struct mt_session *session);

/**
 * Up to `room` slices of 8 bytes that part the keys into ranges of about the same size, for
 * scans in parallel, in order. Returns how many: 0 for a small tree.
 */
size_t
mt_pivots(struct mt_session *session, uint64_t *pivots, size_t room);

/** Gauges and counters since the open. Any thread. */
struct mt_stats {
	uint64_t records, leaves, inner_nodes, layers;
	uint64_t inserts, updates, deletes;
	uint64_t leaf_splits, leaf_grows, inner_splits, layers_made, layers_removed;
	uint64_t leaves_removed, restarts;
	uint64_t memory_bytes;
};

void
mt_stats(struct mt_tree *tree, struct mt_stats *stats);

/**
 * Walk the whole tree and check its rules. No session is within a call. The number of records;
 * -1: `what` says what is wrong. For tests.
 */
int64_t
mt_check(struct mt_tree *tree, char *what, size_t room);

#endif /* MASSTREE_TREE_H */
