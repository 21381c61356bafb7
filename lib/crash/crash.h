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
 *     keep.c      what repeats a failure, on disk
 *     recorder.c  preloaded: records the calls that change files (record.h)
 *     image.c     makes of a recording the files that a power loss may leave
 *     power.c     rounds of NB_CRASH_POWER
 *
 * A chain is one database and what was written to it from when it was new, over several
 * rounds. Operations of a session are counted through a chain, so that a number
 * tells one operation: what was begun in round k is never begun again in round k + 1.
 */
#include <stdbool.h>

#include <mininb/crash.h>

enum {
	CRASH_SESSIONS_MAX = 16,
	CRASH_BATCH_MAX = 8,
	CRASH_TEXT_SIZE = 512,
	CRASH_KEY_MAX = 256 /* bytes of the longest key that is written */
};

/* ---- the operations: stream.c ---- */

enum { CRASH_PUT, CRASH_DEL, CRASH_BATCH };

/** What is written; made once for a chain, by what the engine can do. */
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
};

/** In shared memory, made before any fork. */
struct crash_board {
	struct crash_mark marks[CRASH_SESSIONS_MAX];
	uint32_t is_open;    /* atomic: the writer's database is open */
	uint32_t is_closing; /* atomic: the writer has done all, and flushes and closes */
	int32_t failed;      /* of the writer: NB_OK or what a verb returned */
	char text[CRASH_TEXT_SIZE]; /* and why */
};

/* ---- what must be there: state.c ---- */

/** Of each key the operation that wrote it last, as was seen, counted from 1; 0: it was not
 * there. plan->sessions * plan->keys of them. */
struct crash_state {
	const struct crash_plan *plan;
	uint64_t *last;                     /* op number + 1; of a delete 0 */
	uint64_t start[CRASH_SESSIONS_MAX]; /* operations before it are in `last` already */
};

/** What was found in one crash. Plain data: it comes out of a child through shared memory. */
struct crash_report {
	uint64_t acknowledged, in_flight, in_flight_kept, survived, lost, holes;
	uint32_t wrongs; /* bit NB_CRASH_*: it was found */
	uint32_t is_broken;
	uint32_t worst;              /* NB_CRASH_*, of `wrongs`; the text is of it */
	uint64_t open_ns, reopen_ns; /* 0: it did not open */
	char text[CRASH_TEXT_SIZE];
};

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
 * done or the process is ended, flush, close. Never returns. The recorder, if it is
 * loaded and was begun, is told after each operation (crash_child_point).
 */
_Noreturn void
crash_child(const struct crash_subject *subject, const struct crash_state *state,
	struct crash_board *board, const char *path, uint64_t ops);

/**
 * In a process of its own: open the database that a crash at `moment` has left in `path`
 * and hold it against `state` (as of before the round). *state becomes what was found, if
 * it opened. NB_FAIL, NB_ERR_INTERRUPTED: of this process, not of the engine.
 */
NB_MUST_CHECK int
crash_verify(struct crash_report *out, const struct crash_subject *subject,
	struct crash_state *state, const struct crash_moment *moment, const char *path);

#endif /* CRASH_CRASH_H */
