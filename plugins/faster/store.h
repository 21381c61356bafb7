/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_STORE_H
#define FASTER_STORE_H
/**
 * A database, its sessions, and the execution of operations.
 *
 * A session tries an operation in memory, inside an epoch. Most operations end there. Others
 * have to wait: for a read of storage, the fuzzy region, a frame of the log, a larger index or
 * a compaction. The attempt then leaves the epoch and returns OP_*. A single call waits. A
 * submitted request stays in flight while the session executes others.
 */
#include "index.h"
#include "log.h"
#include "meta.h"
#include "reads.h"

#include "../common/plugin.h"

/* Results of an attempt, in addition to the answers of a verb. */
enum {
	OP_AGAIN = 1000, /* another session was faster: try again */
	OP_READ,         /* needs op->wanted bytes at address op->at from storage */
	OP_FUZZY,        /* the record at op->at is in the fuzzy region */
	OP_ROOM,         /* the log has no free frame for the tail */
	OP_INDEX,        /* the index has no free bucket */
	OP_FULL          /* the log has reached its limit on storage */
};

struct op {
	uint32_t verb; /* NB_REQ_* */
	int32_t answer;
	struct key key;
	struct nb_slice value;
	uint64_t operand;
	uint64_t entry; /* index entry whose chain led to storage */
	uint64_t at;    /* address of a record, for OP_READ and OP_FUZZY */
	size_t wanted;
	uint64_t flush_to; /* end of the written record; 0: none */
	struct buffer *to; /* a get appends the value, without changing `size` */
	uint64_t word;     /* or here, if the value has 8 bytes */
	struct nb_slice found;

	struct read read;
	size_t block_size;
	bool has_arrived;

	/* For a submitted request. */
	uint64_t tag;
	const char *error;
	bool is_waiting; /* unfinished: later requests of its key queue behind it */
	struct op *next; /* in its list */
	struct op *behind, **behind_last;
	struct op *same; /* next in the same place of waiting_at */
	struct buffer own;
};

struct op_list {
	struct op *first, **last;
	size_t count;
};

enum { WAITING_PLACES = 256, REQUESTS_GROUP = 32 };

/* Counters of a session. Only the session itself writes them. */
struct counts {
	uint64_t in_place, copied, appended, tombstones;
	uint64_t storage_reads, storage_hits, promoted, retries, fuzzy_waits;
	uint64_t entries; /* inserted by the session; in a sum: those of the index */
};
enum { COUNTS = sizeof(struct counts) / sizeof(uint64_t) };

/** The verbs that have a quick variant, as in the engine's table. */
struct verbs {
	int (*get)(struct nb_session *session, struct nb_slice key, struct nb_slice *value);
	int (*put)(struct nb_session *session, struct nb_slice key, struct nb_slice value);
	int (*merge)(struct nb_session *session, struct nb_slice key, uint32_t how,
		uint64_t operand);
};

/**
 * Calls for keys and values of 8 bytes that never wait. They return the answer, or QUICK_NOT
 * after changing nothing. A log that flushes each write must not use the writes.
 */
struct quick {
	int (*get)(struct nb_session *session, uint64_t key, uint64_t *value);
	int (*put)(struct nb_session *session, uint64_t key, uint64_t value);
	int (*add)(struct nb_session *session, uint64_t key, uint64_t operand);
	/** Prefetch the newest record of a hash. Call it inside an epoch. */
	void (*fetch)(const struct nb_session *session, uint64_t hash);
	/** For keys and values of any size. They call whole_verbs if no quick call is possible. */
	struct verbs verbs;
};
enum { QUICK_NOT = 2000 };

struct nb_session {
	struct epoch_slot *epoch;
	struct verbs verbs;
	const struct quick *quick;
	bool has_quick_writes; /* writes do not wait for a flush */
	bool is_single;        /* the database can have no other session */
	struct nb_db *db;
	struct index *index;
	struct log *log;
	struct counts counts;
	struct log_chunk chunk; /* for its small records */
	struct op op;           /* of the current single call */
	struct buffer buffer, many;
	struct reads *reads;

	/* submit and reap */
	struct op *ops; /* array of `room` */
	size_t room;
	struct op *free;
	struct op_list done, arrived, stalled, unflushed;
	size_t waiting; /* number of requests in waiting_at */
	struct op *waiting_at[WAITING_PLACES];
	uint64_t taken_bytes;
	struct op *wide; /* operations of multi_get */
	struct op *lent; /* returned by the last reap */
	uint32_t id;
};

struct nb_db {
	const struct nb_host *host;
	struct epochs *epochs;
	struct file file;
	struct log log;
	struct index index;
	struct readers *readers;
	struct meta meta;
	char path[4096];
	int lock_fd;
	uint32_t durability, sessions, inflight_ops;
	uint64_t inflight_bytes, record_guess;
	int how_to_read;
	int index_files;   /* INDEX_*, constant */
	bool promotes;     /* a get appends the record that it reads from storage */
	bool accepts_loss; /* an open drops the log after damage */

	/* Copies of the index (checkpoint.c), by the database thread. */
	pthread_mutex_t shaping;    /* held while the index grows, or is copied */
	uint64_t index_start;       /* of the copy that the next open would load; 0: none */
	uint64_t index_checkpoints; /* atomic: number of copies */
	uint64_t loaded_entries, replayed_bytes; /* by the open: from the copy; of the log */

	/* The keeper thread (keeper.c): growth of the index, syncs and compaction. */
	struct epoch_slot *keeper_epoch, *stats_epoch;
	pthread_t keeper;
	pthread_mutex_t lock; /* protects the following, unless noted */
	pthread_cond_t wake;
	bool is_stopping, is_asked;
	bool can_grow; /* atomic; if false, keeper_error contains the reason */
	char keeper_error[256];
	struct nb_session **open;        /* by id */
	struct counts closed;            /* of closed sessions */
	uint64_t growths;                /* atomic */
	uint64_t removed_entries;        /* atomic: by compactions */
	bool is_full;                    /* sessions wait for a compaction */
	bool is_futile;                  /* the last compaction made no room for a page */
	uint64_t compactions, compacted; /* number of compactions; bytes freed */
	pthread_cond_t compaction_ended;
	uint64_t periodic_ns; /* between two syncs; 0: none. Constant */
};

/* Values of the option index_checkpoint. */
enum { INDEX_AUTO, INDEX_YES, INDEX_NO };

/* --- open.c --- */

extern const struct nb_option store_options[];

int
store_open(struct nb_db **out, const struct nb_open_args *args);

int
store_close(struct nb_db *db);

/* --- verbs.c --- */

/** Try the operation in memory. Returns its answer, or OP_*. */
int
op_try(struct nb_session *session, struct op *op);

/** Continue with the record that op->read has read. Returns the answer, or OP_*. */
int
op_resume(struct nb_session *session, struct op *op);

/** Start the read that OP_READ requires. Returns NB_OK or a failure. */
int
op_start_read(struct nb_session *session, struct op *op);

/** Execute the operation, and wait as long as necessary. Returns its answer. */
int
op_run(struct nb_session *session, struct op *op);

/** Wait until the log up to `flush_to` has the required durability. 0: do not wait. */
static inline int
session_settle(struct nb_session *session, uint64_t flush_to)
{
	return session->log->is_durable && flush_to != 0
		? log_wait_for_flush(session->log, flush_to)
		: NB_OK;
}

/** Like op_try(), for a key of 8 bytes. QUICK_NOT: it has changed nothing. */
static inline int
op_try_quickly(struct nb_session *session, struct op *op)
{
	uint64_t word;

	if (op->verb == NB_REQ_GET) {
		op->found = (struct nb_slice){&op->word, sizeof(op->word)};
		return session->quick->get(session, op->key.word, &op->word);
	}
	if (!session->has_quick_writes)
		return QUICK_NOT;
	if (op->verb == NB_REQ_MERGE)
		return session->quick->add(session, op->key.word, op->operand);
	if (op->verb != NB_REQ_PUT || op->value.size != sizeof(word))
		return QUICK_NOT;
	memcpy(&word, op->value.data, sizeof(word));
	return session->quick->put(session, op->key.word, word);
}

void
op_free_block(struct op *op);

/* --- faster.c --- */

/** The verbs for keys and values of any size. They wait if necessary. */
extern const struct verbs whole_verbs;

/* --- quick.c --- */

extern const struct quick quick_plain, quick_avx2;

/* --- keeper.c --- */

int
keeper_start(struct nb_db *db);

void
keeper_stop(struct nb_db *db);

/** Wake the keeper to check the sizes of index and log. Any thread, outside any epoch. */
void
keeper_ask(struct nb_db *db);

/**
 * The index has no room: wake the keeper and wait a moment. NB_OK: try again. A failure: the
 * index cannot grow.
 */
int
keeper_wait_for_index(struct nb_db *db);

/**
 * The log has reached its limit: wait for the end of a compaction. Returns a failure if it failed,
 * or if the limit still leaves no room for another page.
 */
int
keeper_wait_for_compaction(struct nb_db *db);

/** Add up the counters of all sessions, open and closed. Any thread. */
void
keeper_sum(struct nb_db *db, struct counts *sum);

/* --- compact.c --- */

/**
 * Copy the newest records before `until` to the tail, and discard the log before `until`. Sets
 * *freed to the bytes discarded minus those of the copies, at least 0. Only the keeper
 * calls it.
 */
int
compact(struct nb_db *db, uint64_t until, uint64_t *freed);

/* --- checkpoint.c --- */

/**
 * Write the log up to a cut; with `is_synced`, sync it. Then copy the index to a file, if the
 * option index_checkpoint allows it. `is_paced`: the copy pauses, because sessions work. Returns
 * NB_OK, or a failure of the log. Only the database thread calls it.
 */
int
checkpoint_write(struct nb_db *db, bool is_synced, bool is_paced);

/* --- recover.c --- */

/** Open the index and the log with the content of the database. Returns NB_OK or a failure. */
int
recover(struct nb_db *db);

/* --- tail.c --- */

/** The log after its last valid cut. */
struct tail {
	struct cut cut;
	uint64_t valid;      /* end of the last valid seal */
	const char *why;     /* reason why nothing after it is valid */
	uint64_t end;        /* of the cut, or of the last byte that was synced or is not 0 */
	uint64_t synced;     /* the log was synced up to this address */
	const char *witness; /* what states that */
};

static inline void
tail_was_synced(struct tail *tail, uint64_t address, const char *witness)
{
	if (address <= tail->synced)
		return;
	tail->synced = address;
	tail->witness = witness;
}

/**
 * Read the tail, after its first members are set. `buffer` has room for a page and 8192 bytes.
 * Returns NB_OK, or a failure: a read failed, or the log is damaged before `synced`.
 */
int
tail_read(struct tail *tail, struct nb_db *db, unsigned char *buffer);

/**
 * Remove the tail from the file, with a warning if it is not only zeros. At the levels periodic
 * and commit, also sync the log. Returns NB_OK or a failure.
 */
int
tail_drop(const struct tail *tail, struct nb_db *db);

/* --- requests.c --- */

int
requests_open(struct nb_session *session);

void
requests_close(struct nb_session *session);

/** Wait until the read of a single call has arrived. Returns NB_OK or a failure. */
int
requests_wait_for(struct nb_session *session, struct op *op);

int
requests_submit(struct nb_session *session, const struct nb_request *requests, size_t count,
	size_t *taken);

int
requests_reap(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns);

int
requests_multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers);

#endif /* FASTER_STORE_H */
