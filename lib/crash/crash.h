/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRASH_CRASH_H
#define CRASH_CRASH_H
/**
 * Declarations shared by the parts of a crash test.
 *
 *     stream.c       the operations: operation i of a session is a function of (seed, i)
 *     child.c        the writing process, and the memory shared with it
 *     oracle.c       the expected contents, and the comparison with the contents found
 *     oracle_cut.c   the number of operations that explains the contents found
 *     inspect.c      opens a database after a crash and reads it
 *     kill.c         rounds of NB_CRASH_KILL
 *     step.c         kills a process at a counted moment
 *     keep.c         writes and reads a finding that can be repeated
 *     recorder.c     preloaded: records the calls that change files (syscall_log.h)
 *     syscall_log.c  validates a recording
 *     image.c        computes from a recording the files that a power loss may leave
 *     power.c        rounds of NB_CRASH_POWER
 *     power_draw.c   chooses the states that they check
 *
 * A chain is one database and everything written to it since it was new, over several
 * rounds. The operations of a session are numbered through a chain, so a number identifies
 * one operation: an operation begun in round k is never begun again in round k + 1.
 */
#include <stdbool.h>
#include <sys/types.h>

#include <mininb/crash.h>

enum {
	CRASH_SESSIONS_MAX = 16,
	CRASH_BATCH_MAX = 8,
	CRASH_TEXT_SIZE = 512,
	CRASH_KEYS = 500,       /* of a session */
	CRASH_KEY_MAX = 256,    /* bytes of the longest key */
	CRASH_KEY_MIN = 4,      /* an engine must allow keys of this size */
	CRASH_VALUE_TELLS = 24, /* values of at least this size identify their write */
	CRASH_VALUE_MAX = 20 << 10
};

/* ---- the operations: stream.c ---- */

/* Increase it when a plan gives other operations, keys or values than before: findings kept by
 * an older version are then refused. */
enum { CRASH_STREAM = 2 };

enum {
	CRASH_PUT,
	CRASH_DEL,
	CRASH_ADD,
	CRASH_BATCH,
	CRASH_EXECUTE,
	CRASH_COMMIT, /* begin, the writes, commit */
	CRASH_ABORT   /* the same, but abort */
};

/** The operations of a chain, within the limits of the engine. Limits of 0: none. */
struct crash_plan {
	uint64_t seed; /* of this chain */
	uint32_t sessions;
	uint32_t keys; /* of each session; a key belongs to one session */
	uint64_t value_size_max;
	uint32_t key_size_max;
	bool has_batches, is_atomic; /* of batches; the others are atomic */
	bool has_txns, has_execute;
	bool has_counters; /* some keys: crash_is_counter() */
};

struct crash_write {
	uint32_t key; /* below plan->keys */
	bool is_delete, is_add;
};

/** An operation of a session. It may write a key twice; the later write counts. */
struct crash_op {
	uint32_t kind;  /* CRASH_PUT, ... */
	uint32_t count; /* of writes; 1 except from CRASH_BATCH on */
	struct crash_write writes[CRASH_BATCH_MAX];
};

/** The plan of a chain on that engine. */
void
crash_plan_create(struct crash_plan *plan, const struct nb_engine *engine, uint32_t sessions,
	uint64_t seed);

/** Operation `number` of a session; equal arguments give the same operation. */
void
crash_op_make(
	struct crash_op *op, const struct crash_plan *plan, uint32_t session, uint64_t number);

/** "put"; for messages. */
const char *
crash_op_name(uint32_t kind);

/** Whether the values of a key are counters of 8 bytes, to which operations add. */
bool
crash_is_counter(const struct crash_plan *plan, uint32_t key);

/** The number that the write adds to a counter, or stores there; not 0. */
uint64_t
crash_operand(const struct crash_plan *plan, uint32_t session, uint64_t write);

/** Make a key. Returns its size, CRASH_KEY_MIN to CRASH_KEY_MAX. */
size_t
crash_key_make(unsigned char key[CRASH_KEY_MAX], const struct crash_plan *plan,
	uint32_t session, uint32_t index);

/** The number of a write among all writes of a session, from 1. */
static inline uint64_t
crash_write_number(uint64_t op, uint32_t item)
{
	return op * CRASH_BATCH_MAX + item + 1;
}

static inline uint64_t
crash_write_op(uint64_t write)
{
	return (write - 1) / CRASH_BATCH_MAX;
}

/** The size of the value of that write, up to CRASH_VALUE_MAX. */
size_t
crash_value_size(const struct crash_plan *plan, uint32_t session, uint64_t write);

/** Make the value. Returns its size. */
size_t
crash_value_make(
	unsigned char *value, const struct crash_plan *plan, uint32_t session, uint64_t write);

/**
 * Find the write that made a complete value; 0: the bytes do not identify a write. The
 * write may belong to another key, or may never have been executed.
 */
uint64_t
crash_value_read(const struct crash_plan *plan, struct nb_slice value, uint32_t *session);

/* ---- the progress of the writers: child.c ---- */

/** The counts of one session, which alone writes them. */
struct crash_mark {
	_Alignas(64) uint64_t begun; /* atomic: operations 0 .. begun-1 were begun */
	uint64_t acked;              /* atomic: operations 0 .. acked-1 returned */
};

/** The progress of each session at a crash. */
struct crash_moment {
	uint64_t begun[CRASH_SESSIONS_MAX];
	uint64_t acked[CRASH_SESSIONS_MAX];
	/* the chain's database was opened successfully once, so it must exist */
	uint32_t is_made;
	uint32_t spare_u32;
};

/** The place, and the time or count after it, at which a process is ended. */
struct crash_end {
	uint32_t where; /* CRASH_NEVER, CRASH_IN_OPEN, ... */
	uint32_t is_counted;
	uint64_t ops;   /* CRASH_IN_MIDST: operations before that place */
	uint64_t ns;    /* from the place to SIGKILL; also used if stops cannot be counted */
	uint32_t stops; /* counted: entries and exits of system calls, */
	uint32_t steps; /* then instructions */
};

/** In shared memory: crash_share(). */
struct crash_progress {
	struct crash_mark marks[CRASH_SESSIONS_MAX];
	struct crash_end end; /* set before the fork */
	uint32_t meeting;     /* atomic: CRASH_MEETS ..., of a counted end */
	uint64_t open_ns;     /* duration of open, */
	uint64_t close_ns;    /* of flush, checkpoint and close; 0: not ended or not timed */
	uint32_t is_opening;  /* atomic: the writer is about to open */
	uint32_t is_open;     /* atomic: the writer's database is open */
	uint32_t is_closing;  /* atomic: all operations are done; it flushes and closes */
	uint32_t is_done;     /* atomic: the writer has closed its database */
	int32_t failed;       /* NB_OK or the failure of a verb */
	char text[CRASH_TEXT_SIZE]; /* the reason */
};

/* The place from which the end is timed or counted. */
enum { CRASH_NEVER, CRASH_IN_OPEN, CRASH_IN_MIDST, CRASH_IN_CLOSE };

/* board->meeting: the child waits at the place; the parent traces it, or is not permitted to */
enum { CRASH_MEETS = 1, CRASH_FOLLOWED, CRASH_ALONE };

/** Memory shared with later child processes, all 0; munmap() it. NULL: the error is set. */
NB_MUST_CHECK void *
crash_share(size_t size);

/** Begin a round: set the counts of all sessions to those of `state`. */
struct crash_oracle;
void
crash_progress_begin(struct crash_progress *board, const struct crash_oracle *state);

/**
 * Describe the end of a process, "the process was ..."; "" if it ended well. `how` and
 * `status` are those of process_await(). `is_done`: the process reached its own end. `why`:
 * its own reason, or "".
 */
void
crash_describe_end(char text[CRASH_TEXT_SIZE], bool is_done, const char *why, int how,
	int status, uint64_t timeout_ns);

/**
 * Validate the board of a writer that has ended, because the writer may have overwritten
 * it. The counts must be possible, with at most `ops` operations since `state`. Else
 * NB_ERR_DATA.
 */
NB_MUST_CHECK int
crash_progress_check(
	const struct crash_progress *board, const struct crash_oracle *state, uint64_t ops);

/**
 * Read the progress of the writer. `acked` is read first: if the writer continues, `begun`
 * may be later, but never earlier.
 */
static inline void
crash_moment_read(
	struct crash_moment *out, const struct crash_progress *board, uint32_t sessions)
{
	for (uint32_t i = 0; i < sessions; i++) {
		out->acked[i] = __atomic_load_n(&board->marks[i].acked, __ATOMIC_ACQUIRE);
		out->begun[i] = __atomic_load_n(&board->marks[i].begun, __ATOMIC_ACQUIRE);
	}
	out->is_made = __atomic_load_n(&board->is_open, __ATOMIC_ACQUIRE);
}

/* ---- the expected contents: oracle.c ---- */

/**
 * For each key, the number of the write whose value it has, or the value of a counter; 0:
 * missing. Key k of session s has the index s * plan->keys + k.
 */
struct crash_oracle {
	const struct crash_plan *plan;      /* borrowed */
	uint64_t *last;                     /* crash_write_number(), or a counter */
	uint64_t start[CRASH_SESSIONS_MAX]; /* `last` includes the operations before it */
};

/** The state of a new database. */
NB_MUST_CHECK int
crash_oracle_create(struct crash_oracle *state, const struct crash_plan *plan);

void
crash_oracle_destroy(struct crash_oracle *state);

/** Back to the state of a new database. */
void
crash_oracle_reset(struct crash_oracle *state);

/** Copy `from` to `to`, which has the same plan. */
void
crash_oracle_copy(struct crash_oracle *to, const struct crash_oracle *from);

static inline size_t
crash_oracle_keys(const struct crash_oracle *state)
{
	return (size_t)state->plan->sessions * state->plan->keys;
}

/** The findings after one crash. Plain data, because a child returns it in shared memory. */
struct crash_report {
	uint64_t acknowledged, in_flight, in_flight_kept, survived, lost, holes;
	uint32_t wrongs; /* bits NB_CRASH_* of all findings */
	uint32_t is_broken;
	/* NB_CRASH_*, the worst of `wrongs`; `text` describes it */
	uint32_t worst;
	uint64_t open_ns, reopen_ns; /* 0: open failed */
	char text[CRASH_TEXT_SIZE];
};

/** The promise of a durability level for a kind of crash, see <mininb/crash.h>. */
enum {
	CRASH_PROMISE_NOTHING, /* findings are only counted */
	CRASH_PROMISE_ORDER,   /* the latest writes may be lost, but no data is wrong */
	CRASH_PROMISE_ALL
};

uint32_t
crash_promise(uint32_t how, uint32_t durability);

/** The result of reading a key. */
struct crash_sight {
	bool is_there;
	uint32_t session; /* of the write, if that is not 0 */
	uint64_t write;   /* crash_value_read() */
	uint64_t size, hash;
	/* the first bytes; all bytes of a shorter value */
	unsigned char head[CRASH_VALUE_TELLS];
};

/** `value` NULL: the key is missing. */
void
crash_sight_take(
	struct crash_sight *sight, const struct crash_plan *plan, const struct nb_slice *value);

/** Add a finding to the report; the text of the worst finding is kept. */
void
crash_report_wrong(struct crash_report *report, uint32_t wrong, const char *fmt, ...)
	NB_PRINTF(3, 4);

/**
 * Compare the value read for each key with the writes. `state` is the state before the
 * round, `moment` the progress at the crash. Adds to *out; stores the present contents in
 * `last`.
 */
NB_MUST_CHECK int
crash_judge(struct crash_report *out, const struct crash_oracle *state,
	const struct crash_moment *moment, const struct crash_sight *sights, uint32_t promise,
	uint64_t *last);

/** The same for a database that cannot be read: all acknowledged writes are lost. */
void
crash_judge_unseen(struct crash_report *out, const struct crash_oracle *state,
	const struct crash_moment *moment);

/** An engine and how its databases are opened. */
struct crash_subject {
	const struct nb_engine *engine;
	const struct nb_option_value *options;
	uint32_t durability;
	uint32_t how;
	uint64_t timeout_ns;
};

/* ---- the processes ---- */

/** fork(), for a child that ends with this process, does not share its process group, and has
 * the default signal handlers. < 0: the error is set. */
pid_t
crash_fork(void);

/** process_await(), and SIGKILL if it has not ended. */
int
crash_await(pid_t pid, int *status, uint64_t timeout_ns);

/**
 * In a forked process: open or create the database in directory `path`, execute `ops`
 * operations of each session from state->start on, flush and close. Never returns. The exit
 * status is 0 if everything was done; else board->failed and board->text give the reason.
 * Calls the recorder, if it is loaded, after each operation.
 */
_Noreturn void
crash_child(const struct crash_subject *subject, const struct crash_oracle *state,
	struct crash_progress *board, const char *path, uint64_t ops);

/** In a forked process: open the database and sleep until the process is killed. */
_Noreturn void
crash_child_recover(
	const struct crash_subject *subject, struct crash_progress *board, const char *path);

/**
 * crash_step_meet(): the child waits at the place for the parent. False: the parent does
 * not trace it. A traced child calls crash_step_out() where the parent should stop counting
 * system calls.
 */
bool
crash_step_meet(struct crash_progress *board);

void
crash_step_out(const struct crash_progress *board);

/**
 * The parent waits for the child at its place, counts, and kills it with SIGKILL. Returns
 * the result of process_await(), and leaves a late or stopped child running. *is_counted:
 * the count killed the child, or the child exited before. Otherwise a signal, such as that
 * of its own timer, killed it, or it was not traced.
 */
int
crash_step_await(pid_t pid, int *status, struct crash_progress *board, uint64_t timeout_ns,
	bool *is_counted);

/** The arguments of open; `flags` are NB_OPEN_*. */
struct nb_open_args
crash_open_args(const struct crash_subject *subject, const char *path, uint32_t sessions,
	uint32_t flags);

/**
 * Open the database that a crash at `moment` left in `path`, in a separate process. Compare
 * it with `state`, the state before the round. If it opened, *state becomes the contents
 * found, and state->start the number of operations begun. NB_FAIL, NB_ERR_INTERRUPTED: not
 * the engine's fault.
 */
NB_MUST_CHECK int
crash_inspect(struct crash_report *out, const struct crash_subject *subject,
	struct crash_oracle *state, const struct crash_moment *moment, const char *path);

/* ---- a call of nb_crash() ---- */

struct crash_run {
	const struct nb_crash_args *args;
	struct nb_crash_tally *tally;
	struct crash_subject subject;
	char *scratch;     /* a directory of this call, removed at its end */
	uint32_t kept;     /* directories made in args->keep */
	uint32_t examples; /* bits NB_CRASH_* of kept findings that break no promise */
	const char *again; /* directory of nb_crash_again(); else NULL */
	uint64_t begin_ns; /* start time, for the progress */
};

/** The data needed to repeat a finding. Borrowed. */
struct crash_evidence {
	uint32_t round;
	uint32_t boots;   /* simulated boots of the machine during which it was opened */
	const char *when; /* the moment as text */
	/* this crash and all before it in its block were ended by a count */
	bool is_counted;
	const char *files; /* a copy of the database after the crash, to be moved; NULL: none */
	const struct crash_oracle *state; /* before the round */
	const struct crash_moment *moment;
};

/** Execute all rounds; each calls crash_run_take(). */
NB_MUST_CHECK int
crash_run_kills(struct crash_run *run);
NB_MUST_CHECK int
crash_run_power(struct crash_run *run);

/** Check again the crash that is stored in run->again. */
NB_MUST_CHECK int
crash_run_again(struct crash_run *run);

/** Count the findings after one crash. If there are any, keep and report them. */
NB_MUST_CHECK int
crash_run_take(struct crash_run *run, const struct crash_report *report,
	const struct crash_evidence *evidence);

/** Start a new database directory `path`, with a new plan and state. */
NB_MUST_CHECK int
crash_run_begin_chain(struct crash_run *run, const char *path, struct crash_plan *plan,
	struct crash_oracle *state, uint64_t seed);

/** Report the progress. NB_ERR_INTERRUPTED: nb_stop() was called. */
NB_MUST_CHECK int
crash_run_progress(struct crash_run *run, uint64_t done, uint64_t total);

/** Create <args->keep>/<engine>-<level>-<round> (keep.c); *out is its path, yours to free(). */
NB_MUST_CHECK int
crash_keep_write(char **out, const struct crash_run *run, const struct crash_report *report,
	const struct crash_evidence *evidence);

#endif /* CRASH_CRASH_H */
