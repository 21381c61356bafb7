/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_MININB_H
#define MININB_MININB_H
/**
 * libmininb: measures a key-value storage engine and lists the reasons why the result may be
 * wrong. This header includes all others. Its rules apply to every call:
 *
 * Errors. 0 is success, a negative code is a failure. The text of a failure is set once, where
 * the cause is known. nb_error_text() on the same thread returns it until the next failure
 * there. The library never prints and never exits.
 *
 * Ownership. A returned pointer is borrowed from the object that returned it. A pointer
 * returned through `**out` is yours; pass it to the matching _delete. A failed call returns no
 * pointer.
 *
 * Threads. Only one thread at a time may use an object, unless its type states otherwise. Any
 * thread may call nb_stop().
 *
 * Units. Time is uint64_t nanoseconds, sizes are bytes, counts are plain numbers. A name with
 * another unit ends in that unit.
 *
 * Growth. Structures of options begin with their own size, set by NB_..._INIT. They grow only
 * at their end.
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

/* Failures in addition to those of engine.h: NB_FAIL (engine, file, system), NB_UNSUPPORTED. */
enum {
	NB_ERR_USAGE = -3,      /* invalid request; nothing was done */
	NB_ERR_DATA = -4,       /* the data is not as written: missing or corrupt */
	NB_ERR_INTERRUPTED = -5 /* nb_stop() was called */
};

/** "1.2.3", the version of the loaded library. */
const char *
nb_version(void);

/** Text of this thread's last failure, one line without a full stop; "" if none. */
const char *
nb_error_text(void);

/**
 * Request that every long call of the library, on every thread, ends as soon as possible
 * without loss of data. Such a call then returns NB_ERR_INTERRUPTED. In force until
 * nb_stop_clear(). Safe in a signal handler.
 */
void
nb_stop(void);

/**
 * Same as nb_stop(), but a run also stops waiting for its engine. It returns its measurements
 * so far and leaves its thread inside the engine (nb_run_left()). After nb_stop() alone a run
 * waits a few seconds for an operation to return, and one minute for the engine to close. Safe
 * in a signal handler.
 */
void
nb_stop_waiting(void);

/** Cancel nb_stop() and nb_stop_waiting(). */
void
nb_stop_clear(void);

/** Whether nb_stop() is in force: 0 or 1. Any thread; safe in a signal handler. */
int
nb_stop_requested(void);

/**
 * Set the function that receives messages for the user that are not failures (NB_LOG_*),
 * including those of plugins. NULL, the default: messages are discarded. Any thread may call
 * `log`. Set it before any other call.
 */
void
nb_set_log(void (*log)(void *arg, uint32_t level, const char *text), void *arg);

/**
 * Reserve standard output for results. After this call nb_stdout() is another stream, and text
 * that engines and their libraries write to standard output goes to standard error. It applies
 * to the whole process and cannot be undone. Call it before the first engine is loaded and
 * before a thread is created.
 */
NB_MUST_CHECK int
nb_keep_stdout(void);

/** The stream for results: the stream reserved by nb_keep_stdout(), or stdout without it. */
FILE *
nb_stdout(void);

/**
 * Catch signals that a thread causes itself (SIGSEGV, SIGBUS, SIGABRT, ...), unless another
 * handler is set. Without this call, signals are not changed.
 * - If an engine crashes, its run ends with a failure and keeps its measurements; see
 *   nb_run_left().
 * - If a key file or trace is truncated during its use, the run ends as after nb_stop().
 * - If nothing can be saved, the handler calls `say` with one line and the signal kills the
 *   process.
 *
 * It applies to the whole process, and is for programs that call the library from one thread.
 */
void
nb_catch_faults(void (*say)(const char *text));

/**
 * Call it when the process is about to exit() without a request of the program. If an engine
 * called exit() on a thread of a run, this function does not return, and the run ends as after
 * a crash.
 */
void
nb_fault_exit(void);

/**
 * Whether a run of this process left a thread inside the engine: the thread did not return in
 * time, or crashed and is held there. No other run is then possible. The program must end by
 * _exit(), because exit() would unload the engine's library while the thread uses it. If
 * *signal_number is not 0, end by raise(*signal_number) instead: the core dump then shows the
 * place of the crash.
 */
int
nb_run_left(int *signal_number);

/** Progress of a long call. Append only. */
struct nb_progress {
	size_t size;
	const char *what;     /* current activity: "put", "settle", "shuffle" */
	uint64_t done, total; /* total 0: not known */
	uint64_t elapsed_ns;  /* since the start of this activity */
	/* While operations are measured; 0: not known. */
	double rate_ops_s;       /* current rate */
	uint64_t p50_ns, p99_ns; /* of the last sample of the series */
	uint64_t errors;         /* "not found" answers and conflicts so far */
	uint32_t is_warmup;
	uint32_t spare_u32;
	uint64_t left_ns; /* time to the end if the duration is limited; 0: not known */
};

/** Called periodically on the thread that made the long call. */
typedef void (*nb_progress_fn)(void *arg, const struct nb_progress *progress);

/**
 * Parse a count: "100000", "10k", "2.5M", "1e6", "4Ki". Decimal suffixes are k M G T and K,
 * binary ones Ki Mi Gi Ti. The whole text must be a number, and its value an integer. The text
 * of NB_ERR_USAGE describes the error without the name of the option.
 */
NB_MUST_CHECK int
nb_parse_count(uint64_t *out, const char *text);

/** Parse a number of threads: a count, or "all", the number of CPUs this process may use. */
NB_MUST_CHECK int
nb_parse_threads(uint64_t *out, const char *text);

/** Parse a size in bytes: a count with an optional B: "4KiB", "64MB", "100". */
NB_MUST_CHECK int
nb_parse_bytes(uint64_t *out, const char *text);

/**
 * Parse a duration into ns: "250ms", "10s", "5m", "1.5h", "100us", "30ns". The unit is
 * mandatory.
 */
NB_MUST_CHECK int
nb_parse_time(uint64_t *out, const char *text);

/**
 * Parse a point in time into ns since the epoch: seconds with at most nine decimals, as printed
 * by date +%s, "1790000000.5"; or UTC in the form of RFC 3339, "2026-09-21T14:13:20Z".
 */
NB_MUST_CHECK int
nb_parse_moment(uint64_t *out, const char *text);

/** Parse a finite decimal number, without trailing text. */
NB_MUST_CHECK int
nb_parse_real(double *out, const char *text);

/**
 * The candidate nearest to `word` by edit distance (Damerau-Levenshtein, where a transposition
 * of adjacent characters counts as one), or NULL if none is near. Borrowed from candidates.
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
