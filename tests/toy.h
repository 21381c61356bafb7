/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOY_H
#define TOY_H
/**
 * What the tests of jobs stand on: a toy engine, which is `memory` with transactions, with
 * a log of all calls, counters of gets and puts, and with one defect that can be switched on; and a job that is read
 * from a text and run on it.
 */
#include <stdbool.h>

#include <mininb/mininb.h>

#include "run/run.h"

/** Verbs of the toy, as they are counted, and as a defect is one of theirs. */
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
	TOY_REAP, /* counted once for each request that comes out */
	TOY_VERBS
};

/** What a verb does wrong. */
enum {
	TOY_RIGHT,
	TOY_DROP,     /* says that it did, and did not; of reap: the request never comes out */
	TOY_OLD,      /* a value that the key had before the last put */
	TOY_OTHER,    /* another key's value */
	TOY_FLIP,     /* a bit of the value is wrong */
	TOY_CUT,      /* half of the value */
	TOY_HUGE,     /* so many bytes as no object has */
	TOY_HUGE_KEY, /* of a scan: the same of its key */
	TOY_MISS,     /* not found */
	TOY_SKIP,     /* of a scan: leaves a record out */
	TOY_REPEAT,   /* of a scan: gives the last record again; of reap: a request twice */
	TOY_BACK,     /* of a scan: gives a key below the last one */
	TOY_INVENT,   /* of a scan: gives a key that no record has */
	TOY_CONFLICT, /* answers so */
	TOY_FAIL,     /* fails, and says why */
	TOY_MUTE,     /* fails without a word */
	TOY_ODD,      /* answers what means nothing */
	TOY_SLOW,     /* sleeps toy.sleep_ns first, then does it */
	TOY_STOP      /* does it, and calls nb_stop() */
};

/** A call, as it is logged. */
struct toy_call {
	uint32_t verb, session;
	uint64_t number;  /* of the key: its 8 bytes, big-endian, are what it tells */
	uint64_t version; /* of a value that is put */
	uint64_t size;    /* of that; count of a batch or a multi-get; limit of a scan */
};

enum { TOY_REQUESTS = 256 /* in flight in a session */ };
enum { TOY_LOG_MAX = 1 << 18, TOY_KEYS = 1 << 14 };

/** All of a toy. Zero, but for what a test sets: all is right. */
struct toy {
	/* set by a test before */
	uint32_t defect, verb;
	uint64_t nth, times; /* calls of that verb from the nth on, from 1; times 0: all */
	uint64_t number;     /* only calls for this record, + 1, count; 0: any */
	uint64_t sleep_ns;
	bool is_logging;
	bool copies;                /* what requests point to: NB_CAP_COPIES */
	bool is_remote;             /* NB_CAP_REMOTE */
	uint64_t room, reaped_most; /* requests in a session, and out of one reap; 0: any */
	/* what came of it */
	uint64_t in_flight_sum, in_flight_most, reaps; /* looked at when reap is called */
	uint64_t submitted_most;                       /* in one call of submit */
	uint64_t calls[TOY_VERBS];                     /* atomic */
	uint64_t calls_of_number;                      /* atomic */
	uint64_t hits;   /* how often the defect was there; atomic */
	uint64_t logged; /* atomic */
	struct toy_call log[TOY_LOG_MAX];
	int sessions, open; /* atomic */
};

extern struct toy toy;

/** Of jobs whose keys are of the format be64; right until toy says something else. */
struct nb_engine
toy_engine(void);

/** Nothing is wrong, counted or logged any more. */
void
toy_reset(void);

/** From now on: `defect` in calls of `verb` from the nth on, so many times (0: for ever). */
void
toy_break(uint32_t defect, uint32_t verb, uint64_t nth, uint64_t times);

/** Calls of a verb. */
uint64_t
toy_calls(uint32_t verb);

struct toy_worker;

/** A job and its run, in a directory of their own. */
struct toy_rig {
	char dir[64], path[96];
	struct nb_job *job;
	struct nb_run_options options; /* the toy, monotonic clock, everything verified */
	struct nb_run *run;
	struct toy_worker *with; /* whose sessions are open */
	bool is_open;            /* the database, by toy_open() */
};

/** It is destroyed when it is created again, and when the test is over. Of the text of a job file without its [workload] line; be64 keys in order. */
void
toy_create(struct toy_rig *rig, const char *text);

/** nb_run_new(), which must go well, on the toy. */
void
toy_new(struct toy_rig *rig);

/** toy_new() and nb_run_execute(); what that answers. The toy is reset after the loading. */
int
toy_run(struct toy_rig *rig);

/** Break the toy as of toy_break() when the run begins; before toy_run(). */
void
toy_break_run(
	struct toy_rig *rig, uint32_t defect, uint32_t verb, uint64_t nth, uint64_t times);

/** The same for the nth call of that verb for one record, from 0. */
void
toy_break_run_for(
	struct toy_rig *rig, uint64_t number, uint32_t defect, uint32_t verb, uint64_t nth);

void
toy_destroy(struct toy_rig *rig);

/** Fails the test if the error's text does not hold that part, or is more than a line. */
void
toy_assert_told(const char *part);

/** What a group of the run measured. */
const struct job_measurement *
toy_measured(const struct toy_rig *rig, size_t group);

/** All verdicts but JOB_GOOD. */
uint64_t
toy_wrong(const struct job_findings *findings);

/* ---- a single worker, on this thread ---- */

/** A part of toy_new()'s run, and one worker for each of its threads, with open sessions. */
struct toy_worker {
	struct toy_rig *rig;
	struct job_part *part;
	struct job_gate gate;
	int halt;
	struct job_worker *workers[16];
};

/** Worker 0 of `threads`, which is the part's; the plan can be changed before toy_go(). */
void
toy_enter(struct toy_rig *rig, struct toy_worker *with, struct job_part *part);

/** Run worker 0 now; its answer is in with->workers[0]. */
void
toy_go(struct toy_worker *with);

void
toy_leave(struct toy_worker *with);

void
toy_open(struct toy_rig *rig);

/** Open the database, and load it; the toy is reset. */
void
toy_load(struct toy_rig *rig);

void
toy_unload(struct toy_rig *rig);

/** All of that for a job of one group with one thread: its worker, about to run. */
struct job_worker *
toy_one(struct toy_rig *rig, struct toy_worker *with, const char *text);

#endif /* TOY_H */
