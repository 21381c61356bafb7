/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MASSTREE_STORE_H
#define MASSTREE_STORE_H
/**
 * The storage of a persistent tree: a log for each session, checkpoints, and a state file that
 * names the files of the database.
 *
 * Each change takes the next number of one counter while its leaf is locked. So the numbers
 * have no gaps, and the numbers of one key are in the order of its changes. A change that
 * depends on another has a higher number. All changes up to a number are therefore a consistent
 * prefix.
 *
 *   state file   `masstree.state` in the database's directory: text, replaced atomically. It
 *                contains the database's identity, the directories of the logs and the parts of
 *                the checkpoint. For each generation (an open that may have written logs) it
 *                contains the last number that counts.
 *   log          a chain of segments for each session: mapped files of a fixed size, whose blocks
 *                are allocated before they are used. So a full disk is an error of the next put
 *                and not a SIGBUS. The contents of a mapping survive kill -9.
 *   checkpoint   parts, each with a range of the keys; see checkpoint.c.
 *
 * Threads: store_open() and store_close() run on the database thread. Only its session writes
 * to a log. Any thread may call the other functions.
 */
#include <mininb/engine.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/clock.h"
#include "../common/racy.h"
#include "tree.h"

enum {
	STORE_DIRS_MAX = 32,
	STORE_CLOSED_MAX = 64, /* generations whose logs are still needed */
	STORE_PATH_MAX = 4096,
	/* Tree sessions of the store's own threads, with ids after the host's sessions. */
	STORE_THREADS_MAX = 16,
	STORE_BOOT_SIZE = 40,
	LOG_IDLE = 0, /* log.active while its session is not in a write */
};

/** Directories, as absolute paths. */
struct dirs {
	char *path[STORE_DIRS_MAX];
	unsigned count;
};

/** An earlier generation: its log records with numbers above `last` do not count. */
struct closed {
	uint64_t generation, last;
};

/* These bits are the same for all databases of a directory, one after another. */
#define ID_DIRECTORY (~0ull << 24)

/** The contents of the state file. */
struct state {
	uint64_t id;
	uint64_t generation;
	uint32_t level; /* durability of the generation: NB_DUR_* */
	char boot[STORE_BOOT_SIZE];
	uint64_t base; /* the last number before the generation */
	struct dirs logs;
	struct closed closed[STORE_CLOSED_MAX];
	unsigned closed_count;
	uint64_t checkpoint; /* its number; 0: no checkpoint */
	uint64_t first;      /* changes up to this one are in the checkpoint */
	uint64_t records;    /* in the checkpoint */
	/* Only after a close: the number of changes that a recovery repeats from the logs. */
	bool has_changes;
	uint64_t changes;
	struct dirs parts; /* files of the checkpoint */
};

/** A segment of a log. */
struct segment {
	uint64_t number;
	uint64_t last; /* number of its last record */
	char *map;     /* NULL: no segment, or all of it is synced */
	size_t end, synced, size;
	size_t ready; /* pages below this offset are writable without a page fault */
};

/** The log of one session, on its own cache lines: others read `active` and `now.end`. */
struct log {
	struct store *store;
	/* The counter plus 1 when the write began; LOG_IDLE: no write is in progress. */
	uint64_t active;
	uint64_t last; /* number of the last record */
	uint64_t appended_bytes;
	uint32_t id;

	/*
	 * Held during a sync, so that no checkpoint removes segments: full segments keep their
	 * index and mapping. Acquired before `lock`.
	 */
	pthread_mutex_t trimming;
	/*
	 * Protects the members below: sessions add segments; syncs and checkpoints read or
	 * remove them.
	 */
	pthread_mutex_t lock;
	struct segment now; /* current; number 0: none yet */
	bool has_new_name;  /* the log's directory must be synced */
	struct segment *full;
	size_t full_count, full_room;
} __attribute__((aligned(128)));

struct store_args {
	const char *path;
	const char *log_dirs, *checkpoint_dirs; /* comma separated; NULL or empty: the path */
	uint32_t durability, sessions;
	uint64_t segment_bytes, sync_interval_ns;
	bool may_create, accepts_loss;
};

struct store {
	const struct nb_host *host;
	struct nb_db *tree;
	char path[STORE_PATH_MAX];
	int lock_fd;
	uint32_t durability, sessions;
	uint64_t segment_bytes, sync_interval_ns;
	bool accepts_loss;
	bool was_empty;                        /* the directory, when this open began */
	struct dirs log_dirs, checkpoint_dirs; /* of this open; state.logs has older ones too */
	uint64_t id, generation;               /* as in the state */
	struct log *logs;                      /* by session; NULL: NB_DUR_NONE */

	uint64_t counter __attribute__((aligned(128))); /* last number given to a change */

	pthread_mutex_t sync_lock __attribute__((aligned(128)));
	/* A round has ended, a log has a new segment, or the store closes. */
	pthread_cond_t synced;
	uint64_t durable; /* all changes up to this number are on storage */
	bool is_syncing, is_closing;
	bool has_new_segment; /* the sync thread must prepare its pages */
	int error;            /* errno of the first failed sync; never reset */
	uint64_t syncs;
	pthread_t syncer;
	bool has_syncer;

	/* Without logs: excludes lists of steps while a checkpoint scans. */
	pthread_rwlock_t list_lock;

	pthread_mutex_t checkpoint_lock; /* protects the members below */
	struct state state;
	uint64_t checkpoints;

	/*
	 * Results of the open: its duration, the records of the checkpoint, the changes
	 * repeated from the logs, and the changes dropped because an earlier change was lost.
	 */
	uint64_t recovery_ns, recovered, replayed, dropped;
};

/**
 * Open the database, or create it if args->may_create. On success the tree contains all
 * records.
 */
int
store_open(struct store **out, const struct nb_host *host, struct nb_db *tree,
	const struct store_args *args);

/** Call it when no session is open. Frees the store even on failure. */
int
store_close(struct store *store);

/* --- log.c --- */

/** Implements mt_log.record. */
int
log_record(void *log, enum mt_change change, struct nb_slice key, struct nb_slice value);

/** Implements mt_log.record_list: one record, which a recovery applies completely or not at all. */
int
log_record_list(void *log, const struct nb_write *writes, size_t count);

/** Call log_enter() before each call of the tree that may write, and log_leave() after it. */
static inline void
log_enter(struct log *log)
{
	uint64_t now = __atomic_load_n(&log->store->counter, __ATOMIC_RELAXED);

	__atomic_store_n(&log->active, now + 1, __ATOMIC_RELEASE);
}

static inline void
log_leave(struct log *log)
{
	__atomic_store_n(&log->active, LOG_IDLE, __ATOMIC_RELEASE);
}

/** The directory of a session's log. */
const char *
log_directory(const struct log *log);

void
segment_unmap(struct segment *segment);

/** Remove the pages of a synced, unmapped segment from the page cache. */
void
segment_uncache(const struct log *log, uint64_t number);

/** Make the pages of all logs writable without page faults. */
void
logs_prepare(struct store *store);

/* --- sync.c --- */

/** The body of the sync thread at NB_DUR_PERIODIC. */
void *
logs_sync_now_and_then(void *store);

/** NB_DUR_COMMIT: return when all changes of the session are on storage. */
int
log_commit(struct log *log);

/** Return when all changes made before the call are on storage. */
int
log_sync(struct store *store);

int
logs_open(struct store *store);
void
logs_close(struct store *store);

/** Remove full segments whose changes all have numbers up to `first`: a checkpoint has them. */
void
logs_trim(struct store *store, uint64_t first);

/**
 * Return a number up to which all changes are in the tree and in the logs, if there are logs.
 * Waits for sessions that are in an older write.
 */
uint64_t
logs_settled(struct store *store);

/* --- the files --- */

enum { LOG_HEADER = 64 };

#define RECORD_DELETE (1u << 31)

#define LOG_MAGIC 0x32676f6c74737362ull /* "bsstlog2" */
#define PART_MAGIC 0x31747261706b6363ull

/** The first bytes of a segment. */
struct log_header {
	uint64_t magic, id, generation, session, segment;
	/* Number of the last record before this segment; 0: the session has none. */
	uint64_t before;
	uint64_t checksum; /* of the members above */
};

/**
 * A change. The key, the value and zeros up to a multiple of 8 bytes follow. A list of changes
 * has no key; its value is a struct log_write, a key and a value for each change.
 */
struct log_record {
	uint32_t checksum;   /* of all other bytes; 0: the log ends here */
	uint32_t value_size; /* and RECORD_DELETE */
	uint64_t number_key; /* the number, and the size of the key in the upper 16 bits */
};

enum { NUMBER_BITS = 48 };

/*
 * A session begins no segment after this number, so numbers do not overflow: at most 2^10
 * sessions complete their segments of at most 2^26 records.
 */
#define NUMBER_MAX ((1ull << NUMBER_BITS) - (1ull << 36))

static inline uint64_t
record_number(const struct log_record *record)
{
	return record->number_key & ((1ull << NUMBER_BITS) - 1);
}

static inline size_t
record_key_size(const struct log_record *record)
{
	return record->number_key >> NUMBER_BITS;
}

/** The size of a record whose key and value have `bytes` bytes. */
static inline size_t
log_record_size(size_t bytes)
{
	return (sizeof(struct log_record) + bytes + 7) / 8 * 8;
}

struct log_write {
	uint32_t key_size;
	uint32_t value_size; /* and RECORD_DELETE */
};

/** The value that log_record.checksum must have, in a record of `size` bytes. */
uint32_t
record_checksum(const struct log_record *record, size_t size, uint64_t generation);

/** The first bytes of a part. */
struct part_header {
	uint64_t magic, id, checkpoint, part;
};

/**
 * The header of a block. Each record of the block is {u32 key size, u32 value size, key,
 * value}.
 */
struct block_header {
	uint64_t size;  /* 0: the part ends here */
	uint64_t count; /* records of the block; at the end of the part: of the part */
	uint64_t checksum;
};

/* --- state.c --- */

/** Write all `size` bytes. Returns 0 or an errno. */
int
store_write(int fd, const char *data, size_t size);

/** Read the state file. NB_NOT_FOUND: the file does not exist. */
int
state_read(struct state *state, const struct store *store);

/** Replace the state file. The new one is on storage when the function returns. */
int
state_write(const struct state *state, const struct store *store);
void
state_clear(struct state *state);
bool
dirs_add(struct dirs *dirs, const char *path);
/**
 * Add the directories of a comma-separated list; each must exist. NULL or empty: add
 * `otherwise`.
 */
int
dirs_read(struct dirs *dirs, const struct nb_host *host, const char *list,
	const char *otherwise, const char *option);
void
dirs_clear(struct dirs *dirs);

/** The path of a segment: "DIR/masstree-ID-log.GENERATION.SESSION.SEGMENT". */
void
log_name(char *name, size_t room, const struct log *log, uint64_t segment);

/** Report "cannot WHAT PATH" with the text of errno. Returns NB_FAIL. */
int
store_failed(const struct store *store, const char *what, const char *path);

/* --- checkpoint.c --- */

/** Write a checkpoint while sessions write, then remove the files that it replaces. */
int
checkpoint_write(struct store *store);

/* --- load.c --- */

/** A file mapped for reading. */
struct view {
	char *data;
	size_t size;
};

/** Map a file. `is_synced`: its contents are on storage afterwards. False: see errno. */
bool
view_open(struct view *view, const char *path, bool is_synced);
void
view_close(struct view *view);

/**
 * Whether the recovered files must survive a power failure. They may not be on storage yet
 * after a kill or after a generation at `process`. The writes of this generation build on them.
 * So they are synced before the state file names this generation.
 */
bool
store_keeps(const struct store *store);

/** Put the records of the checkpoint into the tree. */
int
load_checkpoint(struct store *store, const struct state *state);

/* --- recover.c --- */

/**
 * Fill the tree from the checkpoint and the logs. *last: the number of the last change;
 * *has_logs: the state's generation has logs. Fails if the database was closed and the logs lack
 * changes.
 */
int
recover(struct store *store, const struct state *state, uint64_t *last, bool *has_logs);

/**
 * Remove files of the database that the store's current state does not name. Looks in the
 * store's directories and in the log directories of `state`. If the database is the first one in
 * an empty directory, also removes the files of those that were deleted from this directory.
 */
void
remove_strays(const struct store *store, const struct state *state);

/**
 * Store the kernel's boot id, which is new after each start of the machine; STORE_BOOT_SIZE
 * bytes.
 */
void
store_boot(char *boot);

/**
 * Number of threads of a recovery, and least number of parts of a checkpoint: the number of
 * CPUs, at most 16.
 */
unsigned
store_threads(void);

/** Call `body` with 0 to count - 1 in parallel, and wait for all. `count` <= STORE_THREADS_MAX. */
void
store_run(unsigned count, void (*body)(void *to, unsigned index), void *to);

#endif /* MASSTREE_STORE_H */
