/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONTRACT_H
#define CONTRACT_H
/**
 * The contract suite: what engine.h promises, tried on one engine. A list of
 * promises, each kept, broken or not applicable, and for a broken one what
 * happened and, where random operations found it, the shortest sequence of
 * operations that shows it.
 *
 * It never prints, never exits, and needs nothing but libmininb's public
 * headers: the tests and the command `check` call the same code.
 *
 * A bad engine. The engine runs in this process. One that answers wrongly is
 * survived; one that crashes, hangs or scribbles over memory is not. Each
 * promise is checked on a fresh database of its own and can be run alone, by
 * its index, so that a caller can fork() for each and set an alarm.
 *
 * Threads. One check at a time in a process: struct nb_host hands no context
 * to fail(), so what it is told is kept in one place. Some checks make threads,
 * all of which are gone when the check returns.
 */
#include <stddef.h>
#include <stdint.h>

#include <mininb/engine.h>

enum {
	CONTRACT_KEPT = 0,
	CONTRACT_BROKEN = 1,
	CONTRACT_NOT_APPLICABLE = 2 /* a capability or verb is missing: the text says which */
};

/** What to check, and with what. Borrowed while a check runs. */
struct contract_args {
	/** The host's copy of the table: late fields that the plugin lacks are NULL. */
	const struct nb_engine *engine;
	/** Parallel to engine->options; NULL if it has none. */
	const struct nb_option_value *options;
	/** An engine that is known to be right: ordered, with get, put, del and scan. */
	const struct nb_engine *oracle;
	const struct nb_option_value *oracle_options;
	/**
	 * The caller's host, may be NULL: what the engine logs is passed on to
	 * it. The engine itself is lent a host of the suite's, which keeps what
	 * fail() is told.
	 */
	const struct nb_host *host;
	/** An existing directory for databases; what is made there is removed again. */
	const char *scratch;
	uint64_t seed;  /* of all that is random; equal seeds do equal things */
	uint32_t seeds; /* random sequences per promise that has them; 0: 3 */
	uint32_t ops;   /* operations of each; 0: 4000 */
};

/** What came of one promise. The texts live until the callback returns. */
struct contract_finding {
	size_t index;
	const char *promise; /* "overwrite_replaces_the_value" */
	uint32_t outcome;    /* CONTRACT_* */
	uint32_t step_count; /* operations in `steps`; 0: the text says it all */
	const char *text;    /* what happened, or what is missing; "" if kept; one line */
	const char *steps;   /* one operation a line, first to last, on an empty database */
};

typedef void (*contract_report)(void *to, const struct contract_finding *finding);

/** Number of promises; the same for every engine. */
size_t
contract_count(void);

/** Name of a promise, index < contract_count(). */
const char *
contract_name(size_t index);

/** Check one promise and report it. Returns its outcome. `report` may be NULL. */
int
contract_check(
	const struct contract_args *args, size_t index, contract_report report, void *to);

/** Check all in their order. Returns how many are broken. */
size_t
contract_check_all(const struct contract_args *args, contract_report report, void *to);

#endif /* CONTRACT_H */
