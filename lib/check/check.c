/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs one promise. The promises (PROMISES in suite.h) are in the order in which an author
 * should fix them: each uses only what earlier ones have tested. So the first broken
 * promise is usually the cause of the later ones. The order is: the engine's table, single
 * records, opening, optional verbs, scans, reopening, threads, and random use of all verbs
 * compared with the oracle.
 *
 * A promise that needs a capability or a verb which the engine lacks is not applicable; its
 * finding names what is missing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/board.h"
#include "check/suite.h"
#include "run/engine.h"

/* The requirements of a promise. */
enum {
	DATA = 1u << 0, /* not a synthetic engine */
	SYNTHETIC = 1u << 1,
	PERSISTENT = 1u << 2,
	CONCURRENT = 1u << 3,
	ORDERED = 1u << 4,
	SNAPSHOT = 1u << 5,
	SCAN = 1u << 6,
	INSERT = 1u << 7,
	MULTI_GET = 1u << 8,
	BATCH = 1u << 9,
	ATOMIC = 1u << 10,
	TRANSACTION = 1u << 11,
	SUBMIT = 1u << 12,
	FLUSH = 1u << 13,
	CHECKPOINT = 1u << 14,
	STATS = 1u << 15,
	OPEN = 1u << 16,      /* only that a database can be opened */
	MANDATORY = 1u << 17, /* every engine has it */
	COPIES = 1u << 18,
	EXECUTE = 1u << 19,
	MERGE = 1u << 20,
	RESET = 1u << 21,
	TICK = 1u << 22,
	RESTART = 1u << 23 /* for a client: servers that stop at close and start at open */
};

static const struct {
	const char *name;
	bool (*check)(struct suite *s);
	uint32_t needs;
} promises[] = {
#define PROMISE_ROW(name, needs) {#name, check_##name, needs},
	PROMISES(PROMISE_ROW)
#undef PROMISE_ROW
};

static const struct {
	uint32_t need, cap;
	const char *missing;
} cap_needs[] = {
	{SYNTHETIC, NB_CAP_SYNTHETIC, "not synthetic"},
	{PERSISTENT, NB_CAP_PERSISTENT, "not persistent"},
	{CONCURRENT, NB_CAP_CONCURRENT, "no concurrent sessions"},
	{ORDERED, NB_CAP_ORDERED, "not ordered"},
	{SNAPSHOT, NB_CAP_SNAPSHOT, "no snapshots"},
	{ATOMIC, NB_CAP_ATOMIC_BATCH, "no atomic batch"},
	{COPIES, NB_CAP_COPIES, "submit does not copy"},
};

#define VERB(name) offsetof(struct nb_engine, name), #name

static const struct {
	uint32_t need;
	size_t offset;
	const char *verb;
} verb_needs[] = {
	{MANDATORY, VERB(open)},
	{MANDATORY, VERB(close)},
	{MANDATORY, VERB(session_open)},
	{MANDATORY, VERB(session_close)},
	{MANDATORY, VERB(get)},
	{MANDATORY, VERB(put)},
	{MANDATORY, VERB(del)},
	{SCAN, VERB(scan_open)},
	{SCAN, VERB(scan_next)},
	{SCAN, VERB(scan_close)},
	{INSERT, VERB(insert)},
	{MULTI_GET, VERB(multi_get)},
	{BATCH, VERB(batch)},
	{TRANSACTION, VERB(begin)},
	{TRANSACTION, VERB(commit)},
	{TRANSACTION, VERB(abort)},
	{SUBMIT, VERB(submit)},
	{SUBMIT, VERB(reap)},
	{FLUSH, VERB(flush)},
	{CHECKPOINT, VERB(checkpoint)},
	{STATS, VERB(stats)},
	{EXECUTE, VERB(execute)},
	{MERGE, VERB(merge)},
	{RESET, VERB(reset)},
	{TICK, VERB(tick)},
};

/** The first required verb that the engine lacks; NULL: none. */
static const char *
missing_verb(const struct nb_engine *engine, uint32_t needs)
{
	for (size_t i = 0; i < COUNT_OF(verb_needs); i++) {
		void (*verb)(void);
		memcpy(&verb, (const char *)engine + verb_needs[i].offset, sizeof(verb));
		if ((needs & verb_needs[i].need) != 0 && verb == NULL)
			return verb_needs[i].verb;
	}
	return NULL;
}

/** Whether the promise applies; if not, record the reason. */
static bool
applies(struct suite *s, uint32_t needs)
{
	const char *missing = needs != 0 ? missing_verb(s->engine, MANDATORY) : NULL;
	if (missing != NULL)
		return suite_break(s, "the mandatory verb %s is missing", missing);
	if ((needs & DATA) != 0 && (s->engine->caps & NB_CAP_SYNTHETIC) != 0)
		return suite_skip(s, "synthetic: it keeps nothing");
	for (size_t i = 0; i < COUNT_OF(cap_needs); i++)
		if ((needs & cap_needs[i].need) != 0 &&
			(s->engine->caps & cap_needs[i].cap) == 0)
			return suite_skip(s, "%s", cap_needs[i].missing);
	missing = missing_verb(s->engine, needs);
	return missing == NULL || suite_skip(s, "no verb %s", missing);
}

/** Use the named servers, shared private ones, or private ones for each database. */
static int
take_servers(struct suite *s, uint32_t needs)
{
	const struct nb_check_args *args = s->args;
	s->has_own_servers = args->are_private != 0 && (needs & (PERSISTENT | RESTART)) != 0;
	int rc = engine_servers(&s->servers, &s->spec, args->engine,
		s->has_own_servers ? NULL : args->servers, NULL);
	if (rc == NB_OK && s->has_own_servers)
		rc = engine_placeholders(&s->placeholders, args->engine, args->options);
	return rc;
}

static void
run_promise(struct suite *s, size_t index)
{
	s->values = malloc((size_t)SUITE_VALUES * SUITE_VALUE_SIZE);
	if (s->values == NULL) {
		suite_break(s, "the suite is out of memory");
		return;
	}
	host_reset(nb_engine_host());
	if (applies(s, promises[index].needs))
		promises[index].check(s);
	database_remove(&s->main);
	if (s->outcome != NB_CHECK_BROKEN && host_misuse() != NULL)
		suite_break(s, "%s", host_misuse());
	host_reset(NULL);
	free(s->values);
}

size_t
nb_check_count(void)
{
	return COUNT_OF(promises);
}

const char *
nb_check_name(size_t index)
{
	return promises[index].name;
}

int
nb_check_one(
	const struct nb_check_args *args, size_t index, nb_check_report_fn report, void *to)
{
	static struct suite s; /* too large for the stack; one check at a time, see check.h */
	s = (struct suite){.args = args,
		.engine = args->engine,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.outcome = NB_CHECK_KEPT};
	int rc = take_servers(&s, promises[index].needs);
	if (rc == NB_OK && (rc = board_make()) == NB_OK) {
		s.engine = calls_watch(args->engine);
		run_promise(&s, index);
	} else
		suite_break(&s, "%s", nb_error_text());
	struct nb_check_finding finding = {
		.size = sizeof(finding),
		.index = index,
		.promise = promises[index].name,
		.outcome = s.outcome,
		.step_count = s.step_count,
		.text = s.text,
		.steps = s.steps,
	};
	if (report != NULL)
		report(to, &finding);
	addresses_destroy(&s.servers);
	target_spec_destroy(&s.spec);
	engine_forget_placeholders(s.placeholders);
	return (int)s.outcome;
}
