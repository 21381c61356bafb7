/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_CHECK_H
#define MININB_CHECK_H
/**
 * The contract suite: tests the promises of engine.h on one engine. Each promise is kept,
 * broken or not applicable. The result of a broken promise has a description and, if random
 * operations found it, the shortest sequence of operations that reproduces it.
 *
 * Each promise is checked alone, by its index, on new databases. nb_check_one() suffices for an
 * engine that gives wrong answers. An engine that crashes, hangs or overwrites memory needs
 * nb_check_apart(): it checks the promise in its own process, reports the call in which that
 * process ended, and catches text that the engine prints on standard output. Both execute
 * random operations in child processes, so the engine's state in its process is the same each
 * time.
 *
 * The promises are sorted by their dependence: the first broken one may cause the others.
 *
 * Threads. One check at a time in a process, because struct nb_host passes no context to
 * fail(): the text is kept in one place. Some checks create threads, which end before the check
 * returns.
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

/** Arguments of a check, borrowed while it runs. Append only. */
struct nb_check_args {
	size_t size;
	const struct nb_engine *engine; /* the host's copy, see nb_engine_table() */
	/** Parallel to engine->options; NULL if it has none. */
	const struct nb_option_value *options;
	const char *scratch; /* an existing directory for temporary files */
	uint64_t seed;       /* of everything random; equal seeds give equal operations */
	uint32_t seeds;      /* random sequences for each promise that has them; 0: 3 */
	uint32_t ops;        /* operations of each; 0: 4000 */
	/** nb_check_apart() ends a promise that takes longer, and calls it broken. */
	uint64_t timeout_ns;
	/** Text that the plugin printed while it was loaded, quoted: see nb_check_load(). */
	char printed[256];
	const char *servers; /* as in struct nb_run_options */
	/*
	 * `servers` are private ones that nb_check_serve() has started, for promises that need
	 * no server of their own
	 */
	uint32_t are_private;
	uint32_t spare_u32;
	/*
	 * Where promises that need their own server restart it, without new preparation; or
	 * NULL.
	 */
	const char *restarts;
};

#define NB_CHECK_ARGS_INIT \
	{ \
		.size = sizeof(struct nb_check_args), .seed = 1, \
		.timeout_ns = 240 * UINT64_C(1000000000) \
	}

/** The result of one promise. The texts are valid until the report function returns. */
struct nb_check_finding {
	size_t size;
	size_t index;
	const char *promise; /* "overwrite_replaces_the_value" */
	uint32_t outcome;    /* NB_CHECK_* */
	uint32_t step_count; /* operations in `steps`; 0: none */
	const char *text;    /* what happened or what is missing; "" if kept; one line */
	const char *steps;   /* one operation per line, on an empty database */
};

struct nb_engine_ref;

typedef void (*nb_check_report_fn)(void *to, const struct nb_check_finding *finding);

/**
 * nb_engine_load() for a check. It sets args->engine, and records in args->printed what the
 * plugin prints on standard output meanwhile, which breaks a promise.
 */
NB_MUST_CHECK int
nb_check_load(struct nb_engine_ref **out, struct nb_check_args *args, const char *driver);

struct nb_check_servers;

/**
 * Start private servers for an engine that is a client, if args->servers is NULL, and set that.
 * *out is NULL if there is nothing to start. NB_ERR_USAGE: the engine needs a server, or none.
 */
NB_MUST_CHECK int
nb_check_serve(struct nb_check_servers **out, struct nb_check_args *args);

/** Stop the servers. NULL is fine. */
void
nb_check_serve_end(struct nb_check_servers *servers);

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
 * Same, in its own process. The promise is also broken if a signal or the timeout ends that
 * process. The same applies if the process exits with another status, for example because a
 * sanitizer found a leak. The calling process must have one thread. NB_FAIL (no process or
 * directory could be created) and NB_ERR_INTERRUPTED: nothing is reported.
 */
NB_MUST_CHECK int
nb_check_apart(
	const struct nb_check_args *args, size_t index, nb_check_report_fn report, void *to);

#ifdef __cplusplus
}
#endif
#endif /* MININB_CHECK_H */
