/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_STORE_H
#define FASTER_STORE_H
/**
 * A database and its sessions, and how an operation is done.
 *
 * An operation is tried in memory, within an epoch. Most end there. Others have to wait: for a
 * read of storage, for the fuzzy region, for a frame of the log, or for a larger index. They
 * leave the epoch and say so; single calls then wait, and submitted requests let others go on.
 */
#include "index.h"
#include "log.h"
#include "meta.h"
#include "reads.h"

#include "../common/plugin.h"

/* What an attempt returns besides the answers of a verb. */
enum {
	OP_AGAIN = 1000, /* another session was first */
	OP_READ,         /* op->wanted bytes at op->at, on storage, are needed to go on */
	OP_FUZZY,        /* op->at is in the fuzzy region */
	OP_ROOM,         /* no frame for the tail */
	OP_INDEX,        /* no bucket in the index */
	OP_FULL          /* the limit of the log on storage is reached */
};

struct op {
	uint32_t verb; /* NB_REQ_* */
	int32_t answer;
	struct key key;
	struct nb_slice value;
	uint64_t operand;
	uint64_t entry; /* of the index, when the chain was followed to storage */
	uint64_t at;    /* an address */
	size_t wanted;
	uint64_t flush_to; /* the end of the record that was written; 0: none */
	struct buffer *to; /* where the value that a get finds goes, but for 8 bytes */
	uint64_t word;     /* those */
	struct nb_slice found;

	struct read read;
	size_t block_size;
	bool has_arrived;

	/* Of a submitted request. */
	uint64_t tag;
	const char *error;
	bool is_waiting; /* not finished: requests of its key come behind it */
	struct op *next; /* in the list that it is in */
	struct op *behind, **behind_last;
	struct op *same; /* next that waits in the same place of the table of keys */
	struct buffer own;
};

struct op_list {
	struct op *first, **last;
	size_t count;
};

enum { WAITING_PLACES = 256, REQUESTS_GROUP = 32 };

/* Sums of what sessions have done. Written by their own session. */
struct counts {
	uint64_t in_place, copied, appended, tombstones;
	uint64_t storage_reads, storage_hits, promoted, retries, fuzzy_waits;
	uint64_t inserted_entries;
};
enum { COUNTS = sizeof(struct counts) / sizeof(uint64_t) };

/** The verbs that a session may do quickly, as in the engine's table. */
struct verbs {
	int (*get)(struct nb_session *session, struct nb_slice key, struct nb_slice *value);
	int (*put)(struct nb_session *session, struct nb_slice key, struct nb_slice value);
	int (*merge)(struct nb_session *session, struct nb_slice key, uint32_t how,
		uint64_t operand);
};

/**
 * Calls with keys and values of 8 bytes that end at once: an answer, or QUICK_NOT if they would
 * not. Writes are not for a log that flushes each of them.
 */
struct quick {
	int (*get)(struct nb_session *session, uint64_t key, uint64_t *value);
	int (*put)(struct nb_session *session, uint64_t key, uint64_t value);
	int (*add)(struct nb_session *session, uint64_t key, uint64_t operand);
	/** Ask for the newest record of a hash. Within an epoch. */
	void (*fetch)(const struct nb_session *session, uint64_t hash);
	/** The same for any keys and values: what is not quick is done by whole_verbs. */
	struct verbs verbs;
};
enum { QUICK_NOT = 2000 };

struct nb_session {
	struct epoch_slot *epoch;
	struct verbs verbs;
	const struct quick *quick;
	bool has_quick_writes; /* no write waits for a flush */
	struct nb_db *db;
	struct index *index;
	struct log *log;
	struct counts counts;
	struct op op; /* of single calls */
	struct buffer buffer, many;
	struct reads *reads;

	/* submit and reap */
	struct op *ops; /* `room` of them */
	size_t room;
	struct op *free;
	struct op_list done, arrived, stalled, unflushed;
	size_t waiting; /* in the table of keys */
	struct op *waiting_at[WAITING_PLACES];
	uint64_t taken_bytes;
	struct op *wide; /* of multi_get */
	struct op *lent; /* given out by the last reap */
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
	bool promotes; /* gets append what they have read from storage */

	/* The keeper: growth of the index and compaction. keeper.c */
	struct epoch_slot *keeper_epoch, *stats_epoch;
	pthread_t keeper;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t wake;
	bool is_stopping, is_asked;
	bool can_grow;
	char keeper_error[256];
	struct nb_session **open; /* by id */
	struct counts closed;     /* of closed sessions */
	uint64_t growths;
	bool is_full;                    /* sessions wait for a compaction */
	bool is_futile;                  /* the last one has made no room for a page */
	uint64_t compactions, compacted; /* their number; bytes that they have freed */
	pthread_cond_t compaction_ended;
	uint64_t periodic_ns;
};

/* --- open.c --- */

extern const struct nb_option store_options[];

int
store_open(struct nb_db **out, const struct nb_open_args *args);

int
store_close(struct nb_db *db);

/* --- verbs.c --- */

/** Try it in memory: an answer, or OP_*. */
int
op_try(struct nb_session *session, struct op *op);

/** Go on with the record that op->read has brought: an answer, or OP_*. */
int
op_resume(struct nb_session *session, struct op *op);

/** Start the read that OP_READ asks for. NB_OK or a failure. */
int
op_start_read(struct nb_session *session, struct op *op);

/** Do it, waiting for whatever it takes. */
int
op_run(struct nb_session *session, struct op *op);

/** Wait until what the session has written is as durable as it has to be. */
static inline int
session_settle(struct nb_session *session, uint64_t flush_to)
{
	return session->log->is_durable && flush_to != 0
		? log_wait_for_flush(session->log, flush_to)
		: NB_OK;
}

/** As op_try(), of a key of 8 bytes; or QUICK_NOT: nothing was done. */
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

/** Of any keys and values, and however long they take. */
extern const struct verbs whole_verbs;

/* --- quick.c --- */

extern const struct quick quick_plain, quick_avx2;

/* --- keeper.c --- */

int
keeper_start(struct nb_db *db);

void
keeper_stop(struct nb_db *db);

/** The index may have to grow, or the log to be compacted. Any thread, out of any epoch. */
void
keeper_ask(struct nb_db *db);

/** The index has no room: wait for its growth. NB_OK, or a failure. */
int
keeper_wait_for_index(struct nb_db *db);

/** The log has reached its limit: wait for a compaction. A failure if it has made no room. */
int
keeper_wait_for_compaction(struct nb_db *db);

void
keeper_sum(struct nb_db *db, struct counts *sum);

/* --- compact.c --- */

/** Keep what is needed of the log up to `until`, and let it begin there. By the keeper. */
int
compact(struct nb_db *db, uint64_t until, uint64_t *freed);

/* --- recover.c --- */

int
recover(struct nb_db *db);

/* --- requests.c --- */

int
requests_open(struct nb_session *session);

void
requests_close(struct nb_session *session);

/** Until the read of a single call has arrived. NB_OK, or a failure. */
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
