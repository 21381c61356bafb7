/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRASH_CRASH_H
#define CRASH_CRASH_H
/**
 * What the parts of a crash test share.
 *
 *     stream.c    the operations: operation i of a session is a function of (seed, i)
 *     board.c     shared memory: how far each session is, what a check has found
 *     child.c     the process that writes until it is ended
 *     state.c     what must be there: of each key, which operation wrote it last
 *     verify.c    opens what a crash has left and holds it against that
 *     kill.c      rounds of NB_CRASH_KILL
 *     step.c      ends a process at a moment that is counted
 *     keep.c      what repeats a failure, on disk
 *     recorder.c  preloaded: records the calls that change files (record.h)
 *     record.c    whether what it has left is a recording
 *     image.c     makes of a recording the files that a power loss may leave
 *     power.c     rounds of NB_CRASH_POWER
 *
 * A chain is one database and what was written to it from when it was new, over several
 * rounds. Operations of a session are counted through a chain, so that a number
 * tells one operation: what was begun in round k is never begun again in round k + 1.
 */
#include <stdbool.h>
#include <sys/types.h>

#include <mininb/crash.h>

enum {
	CRASH_SESSIONS_MAX = 16,
	CRASH_BATCH_MAX = 8,
	CRASH_TEXT_SIZE = 512,
	CRASH_KEYS = 500,       /* of a session, if nothing else is said */
	CRASH_KEY_MAX = 256,    /* bytes of the longest key that is written */
	CRASH_KEY_MIN = 4,      /* an engine that takes no longer ones can be tried */
	CRASH_VALUE_TELLS = 24, /* from so many bytes on a value tells which write it is */
	CRASH_VALUE_MAX = 20 << 10
};

/* ---- the operations: stream.c ---- */

/* To be raised when a plan gives other operations, keys or values than before: what was kept
 * then is of no use any more, and has to be refused. */
enum { CRASH_STREAM = 1 };

enum { CRASH_PUT, CRASH_DEL, CRASH_BATCH };

/** What is written; made once for a chain, by what the engine can do. Limits of 0: none. */
struct crash_plan {
	uint64_t seed; /* of this chain */
	uint32_t sessions;
	uint32_t keys; /* of each session; a key belongs to one session */
	uint64_t value_size_max;
	uint32_t key_size_max;
	bool has_batches, is_atomic;
};

struct crash_write {
	uint32_t key; /* below plan->keys */
	bool is_delete;
};

/** An operation of a session. A batch may write one key twice; the later one wins. */
struct crash_op {
	uint32_t kind;  /* CRASH_PUT, ... */
	uint32_t count; /* of writes; 1 but for a batch */
	struct crash_write writes[CRASH_BATCH_MAX];
};

/** The plan of a chain on that engine; `seed` is the chain's. */
void
crash_plan_create(struct crash_plan *plan, const struct nb_engine *engine, uint32_t sessions,
	uint64_t seed);

/** Operation `number` of a session: the same whenever it is asked for. */
void
crash_op_make(
	struct crash_op *op, const struct crash_plan *plan, uint32_t session, uint64_t number);

/** Bytes of a key. Returns how many, CRASH_KEY_MIN to CRASH_KEY_MAX. */
size_t
crash_key_make(unsigned char key[CRASH_KEY_MAX], const struct crash_plan *plan,
	uint32_t session, uint32_t index);

/** Which write of all that a session does: of one operation up to CRASH_BATCH_MAX. From 1. */
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

/** Bytes of the value of that write, without making it: up to CRASH_VALUE_MAX. */
size_t
crash_value_size(const struct crash_plan *plan, uint32_t session, uint64_t write);

/** Make it. Returns its size. */
size_t
crash_value_make(
	unsigned char *value, const struct crash_plan *plan, uint32_t session, uint64_t write);

/**
 * The write whose value these bytes are, all of them; 0: of none that tells itself. It need
 * not have been done, nor under the key that it was found at.
 */
uint64_t
crash_value_read(const struct crash_plan *plan, struct nb_slice value, uint32_t *session);

/* ---- how far the writers are: board.c ---- */

/** One session's counts, written by it alone; in a cache line of its own. */
struct crash_mark {
	_Alignas(64) uint64_t begun; /* atomic: operations 0 .. begun-1 were begun */
	uint64_t acked;              /* atomic: operations 0 .. acked-1 have returned */
};

/** How far each session was at a crash. */
struct crash_moment {
	uint64_t begun[CRASH_SESSIONS_MAX];
	uint64_t acked[CRASH_SESSIONS_MAX];
	uint32_t is_made; /* the chain's database was open once: it has to be there */
	uint32_t spare_u32;
};

/** When a process is ended: a place, and from there a time, or what it does. */
struct crash_end {
	uint32_t where; /* CRASH_NEVER, CRASH_IN_OPEN, ... */
	uint32_t is_counted;
	uint64_t ops;   /* of IN_MIDST: operations that are done before the place */
	uint64_t ns;    /* from there to SIGKILL; if it is counted and cannot be, as well */
	uint32_t stops; /* if it is counted: begins and ends of system calls, */
	uint32_t steps; /* and then instructions */
};

/** In shared memory, made before any fork. */
struct crash_board {
	struct crash_mark marks[CRASH_SESSIONS_MAX];
	struct crash_end end; /* set before the fork */
	uint32_t meeting;     /* atomic: CRASH_MEETS and so on, of an end that is counted */
	uint64_t open_ns;     /* that the writer's open took; */
	uint64_t close_ns;    /* and flush, checkpoint and close; 0: they did not end */
	uint32_t is_opening;  /* atomic: the writer is about to open */
	uint32_t is_open;     /* atomic: the writer's database is open */
	uint32_t is_closing;  /* atomic: the writer has done all, and flushes and closes */
	uint32_t is_done;     /* atomic: the writer has closed, and ends by itself */
	int32_t failed;       /* of the writer: NB_OK or what a verb returned */
	char text[CRASH_TEXT_SIZE]; /* and why */
};

/* Where the writer lets its own end begin to run out. */
enum { CRASH_NEVER, CRASH_IN_OPEN, CRASH_IN_MIDST, CRASH_IN_CLOSE };

/* board->meeting: the child is at the place and waits; its parent follows it from there, or
 * may not. */
enum { CRASH_MEETS = 1, CRASH_FOLLOWED, CRASH_ALONE };

/** In memory that processes share; all 0. */
NB_MUST_CHECK int
crash_board_new(struct crash_board **out);

void
crash_board_delete(struct crash_board *board);

/** Begin a round: where `state` is, nothing in flight. */
struct crash_state;
void
crash_board_begin(struct crash_board *board, const struct crash_state *state);

/** How a writer ended, if not well and by itself: "the process was ..."; else "". `how` and
 * `status` are of process_await(). */
void
crash_board_describe_end(char text[CRASH_TEXT_SIZE], const struct crash_board *board, int how,
	int status, uint64_t timeout_ns);

/**
 * Of a writer that has ended, which could write anything there: whether each session has
 * begun and done operations that there are, from `state` on `ops` at most. Else NB_ERR_DATA.
 */
NB_MUST_CHECK int
crash_board_check(
	const struct crash_board *board, const struct crash_state *state, uint64_t ops);

/**
 * How far the writer is. What has returned is read first: of a writer that goes on, more may
 * have been begun by then, and never less.
 */
static inline void
crash_moment_read(struct crash_moment *out, const struct crash_board *board, uint32_t sessions)
{
	for (uint32_t i = 0; i < sessions; i++) {
		out->acked[i] = __atomic_load_n(&board->marks[i].acked, __ATOMIC_ACQUIRE);
		out->begun[i] = __atomic_load_n(&board->marks[i].begun, __ATOMIC_ACQUIRE);
	}
	out->is_made = __atomic_load_n(&board->is_open, __ATOMIC_ACQUIRE);
}

/* ---- what must be there: state.c ---- */

/** Of each key the write whose value it has, as was seen; 0: it is not there. Of session s
 * key k stands at s * plan->keys + k. */
struct crash_state {
	const struct crash_plan *plan;      /* borrowed */
	uint64_t *last;                     /* crash_write_number() */
	uint64_t start[CRASH_SESSIONS_MAX]; /* operations before it are in `last` already */
};

/** Of a new database. */
NB_MUST_CHECK int
crash_state_create(struct crash_state *state, const struct crash_plan *plan);

void
crash_state_destroy(struct crash_state *state);

/** `to`, which was created with the same plan, becomes as `from`. */
void
crash_state_copy(struct crash_state *to, const struct crash_state *from);

static inline size_t
crash_state_keys(const struct crash_state *state)
{
	return (size_t)state->plan->sessions * state->plan->keys;
}

/** What was found in one crash. Plain data: it comes out of a child through shared memory. */
struct crash_report {
	uint64_t acknowledged, in_flight, in_flight_kept, survived, lost, holes;
	uint32_t wrongs; /* bit NB_CRASH_*: it was found */
	uint32_t is_broken;
	uint32_t worst;              /* NB_CRASH_*, of `wrongs`; the text is of it */
	uint64_t open_ns, reopen_ns; /* 0: it did not open */
	char text[CRASH_TEXT_SIZE];
};

/** What a level promises when it is ended so, see <mininb/crash.h>. */
enum {
	CRASH_PROMISE_NOTHING, /* what is found is counted */
	CRASH_PROMISE_ORDER,   /* the latest writes may be gone, but no data is wrong */
	CRASH_PROMISE_ALL
};

uint32_t
crash_promise(uint32_t how, uint32_t durability);

/** What was seen of a key. */
struct crash_sight {
	bool is_there;
	uint32_t session; /* that wrote it, if `write` is not 0 */
	uint64_t write;   /* crash_value_read() */
	uint64_t size, hash;
	unsigned char head[CRASH_VALUE_TELLS]; /* all of a value that is shorter */
};

/** `value` NULL: the key is not there. */
void
crash_sight_take(
	struct crash_sight *sight, const struct crash_plan *plan, const struct nb_slice *value);

/** Note something that is wrong; the text of the worst is kept. */
void
crash_report_wrong(struct crash_report *report, uint32_t wrong, const char *fmt, ...)
	NB_PRINTF(3, 4);

/**
 * Hold what was seen of each key against what was written: `state` as of before the round, how
 * far the sessions were. Adds to *out; `last` becomes what is there now.
 */
NB_MUST_CHECK int
crash_judge(struct crash_report *out, const struct crash_state *state,
	const struct crash_moment *moment, const struct crash_sight *sights, uint32_t promise,
	uint64_t *last);

/** The same of what nobody can look at: all that had returned is lost. */
void
crash_judge_unseen(struct crash_report *out, const struct crash_state *state,
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

/**
 * In a process that was just forked: open (made if it is not there) the database in
 * directory `path`, let each session do its operations from state->start on until `ops` are
 * done or the process is ended, flush, close. Never returns; the exit status is 0 if
 * all was done, else board->failed and its text say why not. The recorder, if it is loaded
 * and was begun, is told after each operation.
 */
_Noreturn void
crash_child(const struct crash_subject *subject, const struct crash_state *state,
	struct crash_board *board, const char *path, uint64_t ops);

/** In a process that was just forked: open the database and sleep until the process is ended. */
_Noreturn void
crash_child_recover(
	const struct crash_subject *subject, struct crash_board *board, const char *path);

/**
 * Of the child, at the place: wait for the parent. False: it goes on alone. Then, if it is
 * followed, crash_step_out() where no more stops at system calls are waited for.
 */
bool
crash_step_meet(struct crash_board *board);

void
crash_step_out(const struct crash_board *board);

/**
 * Of the parent: wait for the child at its place, count, and end it with SIGKILL. How the wait
 * ended is told as by process_await(), which ends none that is late or stopped. *is_counted: it has ended by the count, or well and
 * before it; else its own timer has, or it went alone.
 */
int
crash_step_await(pid_t pid, int *status, struct crash_board *board, uint64_t timeout_ns,
	bool *is_counted);

/** Ends with this process, signals do what they always do: of a child, right after fork(). */
void
crash_child_begin(pid_t parent);

/** How the database is opened, NB_OPEN_*. */
struct nb_open_args
crash_open_args(const struct crash_subject *subject, const char *path, uint32_t sessions,
	uint32_t flags);

/**
 * In a process of its own: open the database that a crash at `moment` has left in `path`
 * and hold it against `state` (as of before the round). *state becomes what was found, if
 * it opened and state->start the operations that were begun. NB_FAIL, NB_ERR_INTERRUPTED: of
 * this process, not of the engine.
 */
NB_MUST_CHECK int
crash_verify(struct crash_report *out, const struct crash_subject *subject,
	struct crash_state *state, const struct crash_moment *moment, const char *path);

/* ---- a call of nb_crash() ---- */

struct crash_run {
	const struct nb_crash_args *args;
	struct nb_crash_tally *tally;
	struct crash_subject subject;
	char *scratch;     /* a directory of this call alone, removed at its end */
	uint32_t kept;     /* directories that were made in args->keep, */
	uint32_t examples; /* bit NB_CRASH_*: one of what is not promised is among them */
	const char *again; /* directory of nb_crash_again(); else NULL */
	uint64_t begin_ns; /* for the progress */
};

/** All that repeats a finding. Borrowed. */
struct crash_evidence {
	uint32_t round;
	const char *when; /* the moment, in words */
	bool is_counted;  /* it was, and all before it in its block */
	const char *
		files; /* copy of the database as the crash has left it; is moved. NULL: none */
	const struct crash_state *state; /* as of before the round */
	const struct crash_moment *moment;
};

/** What kill.c and power.c do: all rounds, each counted by crash_run_take(). */
NB_MUST_CHECK int
crash_run_kills(struct crash_run *run);
NB_MUST_CHECK int
crash_run_power(struct crash_run *run);

/** The one crash that is kept in run->again. */
NB_MUST_CHECK int
crash_run_again(struct crash_run *run);

/** Count what was found after one crash and, if something was wrong, keep and report it. */
NB_MUST_CHECK int
crash_run_take(struct crash_run *run, const struct crash_report *report,
	const struct crash_evidence *evidence);

/** `done` of all crashes that there will be. NB_ERR_INTERRUPTED: nb_stop() was called. */
NB_MUST_CHECK int
crash_run_progress(struct crash_run *run, uint64_t done, uint64_t total);

/** Make <args->keep>/<engine>-<level>-<round>; *out is its path, yours to free(): keep.c. */
NB_MUST_CHECK int
crash_keep_write(char **out, const struct crash_run *run, const struct crash_report *report,
	const struct crash_evidence *evidence);

#endif /* CRASH_CRASH_H */
