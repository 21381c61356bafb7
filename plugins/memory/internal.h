/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MEMORY_INTERNAL_H
#define MEMORY_INTERNAL_H
/** The database and the session of `memory`, and the functions that its files share. */
#include "../common/async.h"
#include "versions.h"

struct nb_db {
	const struct nb_host *host;
	pthread_rwlock_t lock; /* protects `map` */
	struct versions map;
	uint64_t inflight_bytes; /* as the host announced */
	uint32_t inflight_ops;
};

/* Lent memory. A chunk never moves, so one call can lend many values. */
struct chunk {
	struct chunk *older;
	size_t room, used;
	char bytes[];
};

/** Keys that a transaction has read: [low, high], both inclusive. */
struct range {
	struct range *next;
	size_t low_size, high_size; /* 0: no lower or upper limit */
	char bytes[];
};

/** A transaction, or a list of steps in execute. */
struct txn {
	bool is_open;
	bool is_locked; /* the session holds the database's lock for the entire time */
	bool is_read_only;
	struct snapshot snapshot; /* registered unless is_locked */
	struct node *writes;      /* a list; allocated by the first transaction */
	struct range *reads;
};

struct scan {
	bool is_open, is_started;
	uint32_t flags;          /* NB_SCAN_* */
	struct buffer from;      /* empty: the first key, backward the last */
	struct snapshot own;     /* if not in a transaction */
	uint64_t stamp;          /* of the snapshot that it reads */
	struct node *stored;     /* position in the database: a visible version */
	struct node *written;    /* position in the transaction's writes */
	const struct node *told; /* the last returned record; NULL: none, or past the end */
};

struct nb_session {
	struct nb_db *db;
	uint64_t random; /* state of the generator for heights, never 0 */
	struct chunk *lent;
	struct txn txn;
	struct scan scan;
	struct async async; /* allocated by the first submit */
};

int
memory_out_of_memory(const struct nb_session *session, const char *what, size_t size);

/** Lend a copy of the node's value. Returns NB_NOT_FOUND if `node` is NULL. */
int
memory_lend(struct nb_session *session, const struct node *node, struct nb_slice *value);

/** End all loans. */
void
memory_lend_anew(struct nb_session *session);

/* --- transactions --- */

/** The verbs get, put, ... in a transaction. */
int
txn_get(struct nb_session *session, struct nb_slice key, struct nb_slice *value);
int
txn_put(struct nb_session *session, struct nb_slice key, struct nb_slice value);
int
txn_insert(struct nb_session *session, struct nb_slice key, struct nb_slice value);
int
txn_del(struct nb_session *session, struct nb_slice key);

/** Record that the transaction has read the keys from low to high. */
int
txn_read(struct nb_session *session, struct nb_slice low, struct nb_slice high);

int
memory_batch(struct nb_session *session, const struct nb_write *writes, size_t count,
	uint32_t flags);
int
memory_begin(struct nb_session *session, uint32_t flags);
int
memory_commit(struct nb_session *session);
void
memory_abort(struct nb_session *session);
int
memory_execute(struct nb_session *session, struct nb_step *steps, size_t count, uint32_t flags);
int
memory_merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand);

/* --- scans --- */

int
memory_scan_open(struct nb_session *session, const struct nb_scan_args *args);
int
memory_scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value);
int
memory_scan_close(struct nb_session *session);

#endif /* MEMORY_INTERNAL_H */
