/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MASSTREE_STORE_H
#define MASSTREE_STORE_H
/**
 * What keeps a tree on storage: a log for each session, checkpoints, and the file that names what
 * belongs to the database.
 *
 * Every change gets a number from one counter while its leaf is locked, so numbers of one
 * key are in the order of its changes, and none is left out. A change that depends on another has
 * a higher number. All changes up to a number are therefore a consistent prefix.
 *
 *   state file   `masstree.state` in the database's directory: text, replaced atomically. It has
 *                the database's identity, the directories of the logs, the parts of the
 *                checkpoint, and for each generation (an open that may have written logs) the
 *                last number that counts.
 *   log          a chain of segments for each session: files of a fixed size, mapped, whose
 *                blocks are allocated before they are used. A full disk is an error of the next
 *                put then, and no SIGBUS. What is in a mapping survives kill -9.
 *   checkpoint   parts, each with a range of the keys; see checkpoint.c.
 *
 * Threads: store_open() and store_close() belong to the thread of the database. A log is its
 * session's. The rest: any thread.
 */
#include <mininb/engine.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tree.h"

enum {
	STORE_DIRS_MAX = 32,
	STORE_CLOSED_MAX = 64, /* generations whose logs are still needed */
	STORE_PATH_MAX = 4096,
	STORE_THREADS_MAX =
		16, /* sessions of the tree, after the users', for its own threads */
	STORE_BOOT_SIZE = 40,
	LOG_IDLE = 0, /* of log.active: its session is in no write */
};

/** Directories, as absolute paths. */
struct dirs {
	char *path[STORE_DIRS_MAX];
	unsigned count;
};

/** Of earlier opens: their records after `last` do not count. */
struct closed {
	uint64_t generation, last;
};

/** What the state file says. */
struct state {
	uint64_t id;
	uint64_t generation;
	uint32_t level; /* of the generation: NB_DUR_* */
	char boot[STORE_BOOT_SIZE];
	uint64_t base; /* the last number before the generation */
	struct dirs logs;
	struct closed closed[STORE_CLOSED_MAX];
	unsigned closed_count;
	uint64_t checkpoint; /* its number; 0: there is none */
	uint64_t first;      /* changes up to this one are in the checkpoint */
	uint64_t records;    /* of the checkpoint */
	struct dirs parts;   /* files of the checkpoint */
};

/** A segment that is full. */
struct segment {
	uint64_t number;
	uint64_t last; /* number of its last record */
	char *map;     /* NULL: nothing of it is left to be synced */
	size_t end, synced, size;
	size_t ready; /* pages before it are writable without a fault */
};

/** Of one session. On lines of its own: others read `active` and `end`. */
struct log {
	struct store *store;
	uint64_t
		active; /* the counter, plus 1, as the write began; LOG_IDLE: none is under way */
	uint64_t last; /* number of the last record */
	uint64_t appended_bytes;
	uint32_t id;

	/* A sync against a checkpoint: full segments stay where they are, and mapped. Before `lock`. */
	pthread_mutex_t trimming;
	/* Of what follows: a new segment against a sync or a checkpoint. */
	pthread_mutex_t lock;
	struct segment now; /* number 0: none yet */
	bool has_new_name;  /* its directory is to be synced */
	struct segment *full;
	size_t full_count, full_room;
} __attribute__((aligned(128)));

struct store_args {
	const char *path;
	const char *log_dirs, *checkpoint_dirs; /* comma separated; NULL or empty: the path */
	uint32_t durability, sessions;
	uint64_t segment_bytes, sync_interval_ns;
	bool may_create;
};

struct store {
	const struct nb_host *host;
	struct mt_tree *tree;
	char path[STORE_PATH_MAX];
	int lock_fd;
	uint32_t durability, sessions;
	uint64_t segment_bytes, sync_interval_ns;
	struct dirs log_dirs, checkpoint_dirs; /* of this open; state.logs has older ones too */
	uint64_t id, generation;               /* as in the state */
	struct log *logs;                      /* by session; NULL: NB_DUR_NONE */

	uint64_t counter __attribute__((aligned(128))); /* the last number that was given */

	pthread_mutex_t sync_lock __attribute__((aligned(128)));
	pthread_cond_t synced; /* a round is over, or the store closes */
	uint64_t durable;      /* all changes up to this one are on storage */
	bool is_syncing, is_closing;
	bool has_new_segment; /* whose pages the syncer is to prepare */
	int error;            /* errno of the first sync that failed; stays */
	uint64_t syncs;
	pthread_t syncer;
	bool has_syncer;

	pthread_rwlock_t list_lock; /* without logs: no list while a checkpoint scans */

	pthread_mutex_t checkpoint_lock; /* of what follows */
	struct state state;
	uint64_t checkpoints;

	/* Of the open: its time, records of the checkpoint, changes of the logs, and those that
	 * came after one that was lost. */
	uint64_t recovery_ns, recovered, replayed, dropped;
};

/** Open what is there, or make it: the tree has all records then. */
int
store_open(struct store **out, const struct nb_host *host, struct mt_tree *tree,
	const struct store_args *args);

/** With no session open. Frees it in any case. */
int
store_close(struct store *store);

/* --- log.c --- */

/** mt_log.record. */
int
log_record(void *log, enum mt_change change, struct nb_slice key, struct nb_slice value);

/** mt_log.record_list: one record, which a recovery finds whole or not at all. */
int
log_record_list(void *log, const struct nb_write *writes, size_t count);

/** Before and after each call of the tree that may write. */
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

/** Make the pages of all logs writable without a fault. */
void
logs_prepare(struct store *store);

/* --- sync.c --- */

/** The thread of NB_DUR_PERIODIC. */
void *
logs_sync_now_and_then(void *store);

/** All that the session has written is on storage: NB_DUR_COMMIT. */
int
log_commit(struct log *log);

/** All that was written before the call is on storage. */
int
log_sync(struct store *store);

int
logs_open(struct store *store);
void
logs_close(struct store *store);

/** Remove the segments whose changes are in the checkpoint. */
void
logs_trim(struct store *store, uint64_t first);

/** All changes up to the result are in the tree, and in the logs, as far as they are logged. */
uint64_t
logs_settled(struct store *store);

/* --- the files --- */

enum { LOG_HEADER = 64 };

#define RECORD_DELETE (1u << 31)

#define LOG_MAGIC 0x31676f6c74737362ull /* "bsstlog1" */
#define PART_MAGIC 0x31747261706b6363ull

/** The first bytes of a segment. */
struct log_header {
	uint64_t magic, id, generation, session, segment;
	uint64_t
		before; /* number of the last record of the segment before; 0: it is the first */
	uint64_t checksum; /* of those before */
};

/**
 * A change: key and value follow, then zeros up to a multiple of 8. A list of changes has no key, and
 * its value is a struct log_write, a key and a value for each.
 */
struct log_record {
	uint32_t checksum; /* of all that follows it; never 0 */
	uint32_t size;     /* all in all; 0: the log ends here */
	uint64_t number;
	uint32_t key_size;
	uint32_t value_size; /* and RECORD_DELETE */
};

struct log_write {
	uint32_t key_size;
	uint32_t value_size; /* and RECORD_DELETE */
};

/** Of log_record.checksum: what it should be. */
uint32_t
record_checksum(const struct log_record *record, uint64_t generation);

/** At the begin of a part. */
struct part_header {
	uint64_t magic, id, checkpoint, part;
};

/** Before the records of a block: {u32 key size, u32 value size, key, value} each. */
struct block_header {
	uint64_t size;  /* 0: this is the end of the part */
	uint64_t count; /* records; at the end, of all */
	uint64_t checksum;
};

/* --- state.c --- */

/** Write all of it. Returns 0 or an errno. */
int
store_write(int fd, const char *data, size_t size);

/** NB_NOT_FOUND: there is none. */
int
state_read(struct state *state, const struct store *store);

/** Replace it: on storage when it returns. */
int
state_write(const struct state *state, const struct store *store);
void
state_clear(struct state *state);
bool
dirs_add(struct dirs *dirs, const char *path);
/** Of a comma-separated list, which must be there. NULL or empty: `otherwise`. */
int
dirs_read(struct dirs *dirs, const struct nb_host *host, const char *list,
	const char *otherwise, const char *option);
void
dirs_clear(struct dirs *dirs);

/** "DIR/masstree-ID-log.GENERATION.SESSION.SEGMENT". */
void
log_name(char *name, size_t room, const struct log *log, uint64_t segment);

/** A failure of the system, with errno, for a path. NB_FAIL. */
int
store_failed(const struct store *store, const char *what, const char *path);

/* --- checkpoint.c --- */

/** Write one, while sessions write; then remove what it makes useless. */
int
checkpoint_write(struct store *store);

/* --- load.c --- */

/** A file, mapped to be read. */
struct view {
	char *data;
	size_t size;
};

/** `is_synced`: its contents are on storage when it returns. False: errno. */
bool
view_open(struct view *view, const char *path, bool is_synced);
void
view_close(struct view *view);

/**
 * Must a power failure leave what is recovered? A kill, or a generation at `process`, leaves files
 * that may not be on storage. The writes of this generation follow them and are to be found with
 * them, so they are synced before the state names the generation.
 */
bool
store_keeps(const struct store *store);

/** Put the records of the parts into the tree. */
int
load_checkpoint(struct store *store, const struct state *state);

/* --- recover.c --- */

/** Fill the tree. *last: the number of the last change; *has_logs: the generation has logs. */
int
recover(struct store *store, const struct state *state, uint64_t *last, bool *has_logs);

/** Remove the files of the database in these directories that the state does not name. */
void
remove_strays(const struct store *store, const struct state *state);

/** Identifies the time since the machine was started; STORE_BOOT_SIZE bytes. */
void
store_boot(char *boot);

/** Monotonic. */
uint64_t
store_now_ns(void);

/** Threads for a recovery, and so parts of a checkpoint, at least: the CPUs, 16 at most. */
unsigned
store_threads(void);

/** Call `body` with 0 to count - 1 at once, and wait for all. `count` <= STORE_THREADS_MAX. */
void
store_run(unsigned count, void (*body)(void *to, unsigned index), void *to);

#endif /* MASSTREE_STORE_H */
