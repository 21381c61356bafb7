/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOY_H
#define TOY_H
/**
 * The fixture for tests of jobs: a toy engine, and a job that is read from a text and run on
 * it. The toy is `memory` with transactions, a log of all calls, counters of gets and puts, and
 * one defect that a test can switch on.
 */
#include <stdbool.h>

#include <mininb/mininb.h>

#include "run/run.h"

/** Verbs of the toy. Calls are counted by verb, and a defect affects one verb. */
enum {
	TOY_GET,
	TOY_PUT,
	TOY_DEL,
	TOY_SCAN_OPEN,
	TOY_SCAN_NEXT,
	TOY_SCAN_CLOSE,
	TOY_BATCH,
	TOY_MULTI_GET,
	TOY_BEGIN,
	TOY_COMMIT,
	TOY_ABORT,
	TOY_RELEASE,
	TOY_SESSION_OPEN,
	TOY_SESSION_CLOSE,
	TOY_SUBMIT,
	TOY_REAP, /* counted once per completed request */
	TOY_VERBS
};

/** Defects of a verb. */
enum {
	TOY_RIGHT,
	TOY_DROP,     /* return success without acting; reap: lose a request */
	TOY_OLD,      /* the value before the last put */
	TOY_OTHER,    /* another key's value */
	TOY_FLIP,     /* a value with a flipped bit */
	TOY_CUT,      /* half of the value */
	TOY_HUGE,     /* a value with an impossible size */
	TOY_HUGE_KEY, /* scan: a key with an impossible size */
	TOY_MISS,     /* return NB_NOT_FOUND */
	TOY_SKIP,     /* scan: skip a record */
	TOY_REPEAT,   /* scan: return the last key again; reap: return a request twice */
	TOY_BACK,     /* scan: return a key below the last one */
	TOY_INVENT,   /* scan: return a key that no record has */
	TOY_CONFLICT, /* return NB_CONFLICT */
	TOY_FAIL,     /* fail with an error text */
	TOY_MUTE,     /* fail without an error text */
	TOY_ODD,      /* return an unknown answer; reap: an unknown tag */
	TOY_SLOW,     /* sleep toy.sleep_ns, then act correctly */
	TOY_STOP      /* act correctly, but call nb_stop() first */
};

/** A logged call. */
struct toy_call {
	uint32_t verb, session;
	uint64_t number;  /* the key's 8 bytes, a big-endian number */
	uint64_t version; /* of the value of a put */
	uint64_t size;    /* put: bytes; batch, multi-get: count; scan: limit */
};

enum { TOY_REQUESTS = 256 /* maximum number of requests in flight in a session */ };
enum { TOY_LOG_MAX = 1 << 18, TOY_KEYS = 1 << 14 };

/** The state of the toy. All zero: no defect. */
struct toy {
	/* set by a test */
	uint32_t defect, verb;
	uint64_t nth, times; /* defective calls: first one, from 1; maximum number, 0: any */
	uint64_t number;     /* if not 0, only calls for record `number - 1` count */
	uint64_t sleep_ns;
	bool is_logging;
	bool copies;                /* NB_CAP_COPIES */
	bool is_remote;             /* NB_CAP_REMOTE */
	uint64_t room, reaped_most; /* maximum requests in flight, and per reap; 0: any */
	/* set by the toy */
	uint64_t in_flight_sum, in_flight_most, reaps; /* sampled by each reap */
	uint64_t submitted_most;                       /* in one call of submit */
	uint64_t calls[TOY_VERBS];                     /* atomic */
	uint64_t calls_of_number;                      /* atomic */
	uint64_t hits;                                 /* calls with the defect; atomic */
	uint64_t logged;                               /* atomic */
	struct toy_call log[TOY_LOG_MAX];
	int sessions, open; /* atomic */
};

extern struct toy toy;

/** The toy's table, for jobs with keys of format be64. Works correctly until toy_break(). */
struct nb_engine
toy_engine(void);

/** Remove the defect, and set all counters and the log to zero. */
void
toy_reset(void);

/**
 * From now on, apply `defect` to calls of `verb`, from the nth on, at most `times` times (0: no
 * limit).
 */
void
toy_break(uint32_t defect, uint32_t verb, uint64_t nth, uint64_t times);

/** The number of calls of a verb. */
uint64_t
toy_calls(uint32_t verb);

struct toy_worker;

/** A job and its run, in a temporary directory. */
struct toy_rig {
	char dir[64], path[96];
	struct nb_job *job;
	struct nb_run_options options; /* the toy, monotonic clock, all values verified */
	struct nb_run *run;
	struct toy_worker *with; /* the worker fixture with open sessions, or NULL */
	bool is_open;            /* toy_open() has opened the database */
};

/**
 * Create a job from the text of a job file without its [workload] line; its keys are be64, in
 * order. Another toy_create() or the end of the test destroys it.
 */
void
toy_create(struct toy_rig *rig, const char *text);

/** Call nb_run_new(), which must succeed, and let the run use the toy. */
void
toy_new(struct toy_rig *rig);

/**
 * Call toy_new() and nb_run_execute(); returns the value of the latter. The toy is reset when
 * the run begins, after loading.
 */
int
toy_run(struct toy_rig *rig);

/** Apply toy_break() when the run begins. Call it before toy_run(). */
void
toy_break_run(
	struct toy_rig *rig, uint32_t defect, uint32_t verb, uint64_t nth, uint64_t times);

/** Same, but only for the nth call of the verb for record `number`, which counts from 0. */
void
toy_break_run_for(
	struct toy_rig *rig, uint64_t number, uint32_t defect, uint32_t verb, uint64_t nth);

void
toy_destroy(struct toy_rig *rig);

/** Fail the test if the error text does not contain `part` or has more than one line. */
void
toy_assert_told(const char *part);

/** The measurements of a group of the run. */
const struct job_measurement *
toy_measured(const struct toy_rig *rig, size_t group);

/** The number of findings with a verdict other than JOB_GOOD. */
uint64_t
toy_wrong(const struct job_findings *findings);

/* ---- a single worker, on this thread ---- */

/** A part of toy_new()'s run, and one worker with an open session for each of its threads. */
struct toy_worker {
	struct toy_rig *rig;
	struct job_part *part;
	struct job_gate gate;
	int halt;
	struct job_worker *workers[16];
};

/**
 * Create the workers of a part and open their sessions. A test may change the plan before
 * toy_go().
 */
void
toy_enter(struct toy_rig *rig, struct toy_worker *with, struct job_part *part);

/** Run worker 0. The result is in with->workers[0]. */
void
toy_go(struct toy_worker *with);

void
toy_leave(struct toy_worker *with);

void
toy_open(struct toy_rig *rig);

/** Open the database and load its records; resets the toy. */
void
toy_load(struct toy_rig *rig);

void
toy_unload(struct toy_rig *rig);

/** Create and load a job of one group with one thread. Returns its worker, ready to run. */
struct job_worker *
toy_one(struct toy_rig *rig, struct toy_worker *with, const char *text);

/** A short job, whose records are also few. */
#define TOY_SHORT "records = 500\ncount = 400\nscan-length = 8\nitems = 4\n"

/** toy_one() with a short job and further lines. */
struct job_worker *
toy_short(struct toy_rig *rig, struct toy_worker *with, const char *text);

/** Exactly one finding, with this verdict, at this operation. */
void
toy_found(const struct toy_worker *with, int verdict, uint32_t kind, uint64_t op);

#endif /* TOY_H */
