/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_MININB_H
#define MININB_MININB_H
/**
 * libmininb: measure a key-value storage engine, and say why the number may be
 * wrong. This header brings all the others and holds the laws of every call.
 *
 * Errors. 0 is done, a negative code a failure. The text of a failure is set
 * once, where the cause is known, and nb_error_text() on the same thread gives
 * it until the next failure there. The library never prints and never exits.
 *
 * Ownership. A pointer that is returned is borrowed from the object that was
 * asked. One handed out through `**out` is yours, to be given to the matching
 * _delete. If a call fails it hands nothing out.
 *
 * Threads. Objects of the library are used by one thread at a time, unless the
 * type says otherwise. nb_stop() may be called from anywhere.
 *
 * Units. Time is uint64_t nanoseconds, sizes are bytes, counts plain numbers;
 * a name that ends in another unit says so.
 *
 * Growth. Structures of options carry their own size as their first field, set
 * by NB_..._INIT, and only grow at their end.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <mininb/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define NB_MUST_CHECK __attribute__((warn_unused_result))
#else
#define NB_MUST_CHECK
#endif

/* Failures beside those of engine.h, NB_FAIL (engine, file, system) and NB_UNSUPPORTED. */
enum {
	NB_ERR_USAGE = -3,      /* what was asked for makes no sense; nothing was done */
	NB_ERR_DATA = -4,       /* the data is not what was written: missing or corrupt */
	NB_ERR_INTERRUPTED = -5 /* nb_stop() was called */
};

/** "1.2.3", of the library that is loaded. */
const char *
nb_version(void);

/** Text of this thread's last failure, one line without a full stop; "" if none. */
const char *
nb_error_text(void);

/**
 * Ask every long call of the library, on every thread, to end as soon as it can
 * without loss; it then returns NB_ERR_INTERRUPTED. Stays in force until
 * nb_stop_clear(). Safe in a signal handler.
 */
void
nb_stop(void);

/**
 * nb_stop(), and a run stops waiting for its engine at once: it returns what it has measured,
 * and the engine is left where it is (nb_run_left()). After nb_stop() alone a run waits a few
 * seconds for an operation to return, and a minute for the engine to close. Safe in a signal
 * handler.
 */
void
nb_stop_waiting(void);

/** Neither is in force any more. */
void
nb_stop_clear(void);

/** Whether nb_stop() is in force: 0 or 1. Any thread, and a signal handler. */
int
nb_stop_requested(void);

/**
 * Where messages for the user go that are no failures (NB_LOG_*), those of
 * plugins among them. NULL, the default: nowhere. `log` may be called on any
 * thread. Set it before anything else runs.
 */
void
nb_set_log(void (*log)(void *arg, uint32_t level, const char *text), void *arg);

/**
 * Keep standard output for results: from here on nb_stdout() is another stream, and what
 * engines and their libraries print on standard output goes to standard error. For the whole
 * process, for good, and before the first engine is loaded or a thread is made.
 */
NB_MUST_CHECK int
nb_keep_stdout(void);

/** Where results go that are for standard output: what nb_keep_stdout() kept, else stdout. */
FILE *
nb_stdout(void);

/**
 * Catch the signals that a thread brings upon itself (SIGSEGV, SIGBUS, SIGABRT, ...), where
 * nobody else does: an engine that crashes then ends its run with a failure, and what it
 * measured can still be had; a file of keys or a trace that is cut short ends it as nb_stop()
 * does. After a crash see nb_run_left(). Where nothing can be saved, `say` is called with one
 * line, in the signal handler, and the process dies of the signal. For the whole process, and
 * for programs that call the library from one thread. Without it they are as they were.
 */
void
nb_catch_faults(void (*say)(const char *text));

/**
 * To be called where the process is about to exit() though the program did not ask for it: if
 * an engine did, on a thread of a run, it does not return, and the run ends as after a crash.
 */
void
nb_fault_exit(void);

/**
 * Whether a run of this process has left a thread within the engine: it did not return in time,
 * or crashed and is held there. No other run can follow, and a program is to end by _exit(), as
 * exit() would pull the engine's library away from under the thread; or of *signal_number, by
 * raise(), if that is not 0: then the core dump shows where.
 */
int
nb_run_left(int *signal_number);

/** How far a long call has come. Append only. */
struct nb_progress {
	size_t size;
	const char *what;     /* "put", "settle", "shuffle": what is being done */
	uint64_t done, total; /* total 0: not known */
	uint64_t elapsed_ns;  /* since this `what` began */
	/* While operations are measured; 0: not known. */
	double rate_ops_s;       /* of the last moment */
	uint64_t p50_ns, p99_ns; /* of the last sample of the series */
	uint64_t errors;         /* answers so far that were "not found", and conflicts */
	uint32_t is_warmup;
	uint32_t spare_u32;
	uint64_t left_ns; /* until it ends, where it is bound by time; 0: not known */
};

/** Called from time to time on the thread that made the long call. */
typedef void (*nb_progress_fn)(void *arg, const struct nb_progress *progress);

/**
 * Read a count: "100000", "10k", "2.5M", "1e6", "4Ki". Decimal suffixes k M G T
 * (also K), binary ones Ki Mi Gi Ti. The whole text must be used up and the
 * number must be a whole one. NB_ERR_USAGE says what is wrong with it, without
 * the option's name.
 */
NB_MUST_CHECK int
nb_parse_count(uint64_t *out, const char *text);

/** Read a number of threads: a count, or "all": the CPUs that this process may use. */
NB_MUST_CHECK int
nb_parse_threads(uint64_t *out, const char *text);

/** Read a size in bytes: as a count, with an optional B: "4KiB", "64MB", "100". */
NB_MUST_CHECK int
nb_parse_bytes(uint64_t *out, const char *text);

/** Read a span of time into ns: "250ms", "10s", "5m", "1.5h", "100us", "30ns". Needs its unit. */
NB_MUST_CHECK int
nb_parse_time(uint64_t *out, const char *text);

/**
 * Read a moment, in ns since the epoch: seconds with at most nine decimals, as date +%s prints
 * them, "1790000000.5", or UTC in the form of RFC 3339, "2026-09-21T14:13:20Z".
 */
NB_MUST_CHECK int
nb_parse_moment(uint64_t *out, const char *text);

/** Read a finite decimal number, nothing after it. */
NB_MUST_CHECK int
nb_parse_real(double *out, const char *text);

/**
 * The candidate that `word` was most likely meant to be, by edit distance
 * (Damerau-Levenshtein, adjacent transpositions count as one), or NULL if none
 * is near. Borrowed from candidates.
 */
const char *
nb_nearest(const char *word, const char *const *candidates, size_t count);

#ifdef __cplusplus
}
#endif

#include <mininb/histogram.h>
#include <mininb/workload.h>
#include <mininb/job.h>
#include <mininb/trace.h>
#include <mininb/run.h>
#include <mininb/result.h>
#include <mininb/results.h>
#include <mininb/check.h>
#include <mininb/crash.h>
#include <mininb/files.h>
#include <mininb/matrix.h>
#include <mininb/ranks.h>
#include <mininb/serve.h>

#endif /* MININB_MININB_H */
