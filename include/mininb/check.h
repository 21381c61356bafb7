/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_CHECK_H
#define MININB_CHECK_H
/**
 * The contract suite: what engine.h promises, tried on one engine. A list of
 * promises, each kept, broken or not applicable, and for a broken one what
 * happened and, where random operations found it, the shortest sequence of
 * operations that shows it.
 *
 * Each promise is checked alone, by its index, on fresh databases. A bad engine
 * that answers wrongly is survived by nb_check_one(); one that crashes, hangs or
 * scribbles over memory needs nb_check_apart(), which gives each promise a
 * process of its own, says in which call it ended, and sees what the engine prints
 * on standard output. Both do sequences of random operations in child processes, so
 * that what an engine keeps in its process is the same each time.
 *
 * Promises stand in the order in which they depend on each other: the first that is
 * broken may be the cause of the others.
 *
 * Threads. One check at a time in a process: struct nb_host hands no context
 * to fail(), so what it is told is kept in one place. Some checks make threads,
 * all of which are gone when the check returns.
 */
#include <mininb/mininb.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	NB_CHECK_KEPT = 0,
	NB_CHECK_BROKEN = 1,
	NB_CHECK_NOT_APPLICABLE = 2 /* a capability or verb is missing: the text says which */
};

/** What to check, and with what. Borrowed while a check runs. Append only. */
struct nb_check_args {
	size_t size;
	const struct nb_engine *engine; /* the host's copy, see nb_engine_table() */
	/** Parallel to engine->options; NULL if it has none. */
	const struct nb_option_value *options;
	const char *scratch; /* an existing directory; what is made there is removed again */
	uint64_t seed;       /* of all that is random; equal seeds do equal things */
	uint32_t seeds;      /* random sequences per promise that has them; 0: 3 */
	uint32_t ops;        /* operations of each; 0: 4000 */
	/** nb_check_apart() ends a promise that takes longer, and calls it broken. */
	uint64_t timeout_ns;
};

#define NB_CHECK_ARGS_INIT \
	{ \
		.size = sizeof(struct nb_check_args), .seed = 1, \
		.timeout_ns = 240 * UINT64_C(1000000000) \
	}

/** What came of one promise. The texts live until the function that takes it returns. */
struct nb_check_finding {
	size_t size;
	size_t index;
	const char *promise; /* "overwrite_replaces_the_value" */
	uint32_t outcome;    /* NB_CHECK_* */
	uint32_t step_count; /* operations in `steps`; 0: the text says it all */
	const char *text;    /* what happened, or what is missing; "" if kept; one line */
	const char *steps;   /* one operation a line, first to last, on an empty database */
};

typedef void (*nb_check_report_fn)(void *to, const struct nb_check_finding *finding);

/** Number of promises; the same for every engine. */
size_t
nb_check_count(void);

/** Name of a promise, index < nb_check_count(): lower case words joined by '_'. */
const char *
nb_check_name(size_t index);

/** Check one promise in this process and report it, which may be NULL. Returns its outcome. */
int
nb_check_one(
	const struct nb_check_args *args, size_t index, nb_check_report_fn report, void *to);

/**
 * The same in a process of its own, whose end by a signal, a timeout or a status
 * of its own (a leak that a sanitizer tells) breaks the promise as well. Call it
 * from a process with one thread. Failures: NB_FAIL if no process or directory
 * can be made, NB_ERR_INTERRUPTED; then nothing is reported.
 */
NB_MUST_CHECK int
nb_check_apart(
	const struct nb_check_args *args, size_t index, nb_check_report_fn report, void *to);

#ifdef __cplusplus
}
#endif
#endif /* MININB_CHECK_H */
