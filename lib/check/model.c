/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sequences of random operations, done to the engine and to the oracle, answer
 * for answer.
 *
 * A sequence that shows a fault is shrunk by delta debugging (Zeller,
 * Hildebrandt: Simplifying and isolating failure-inducing input, TSE 2002): cut
 * after the fault, then leave out ever smaller parts as long as the rest, on
 * fresh databases, still shows one. It need not be the same one. A fault that
 * does not show again is reported as it was found.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/model.h"
#include "run/engine.h"

enum {
	REPLAYS = 600, /* to shrink one sequence */
	DEFAULT_SEEDS = 3,
	DEFAULT_OPS = 4000
};

/* --- sequences --- */

/*
 * Do the operations on fresh databases. Returns the place of the first one at
 * which the two differ (m->why says how), or `count` if none does.
 */
static size_t
replay(struct model *m, const struct op *ops, size_t count)
{
	struct suite *s = m->s;
	size_t at = 0;
	if (!place_make(s, &m->subject, s->engine, s->args->options))
		return count;
	if (!place_make(s, &m->oracle, engine_builtin("memory"), NULL)) /* it has no options */
		goto remove_subject;
	int rc = place_open(&m->oracle, NB_OPEN_CREATE);
	if (rc != NB_OK) {
		suite_wrong(s, "open of the oracle", rc, "NB_OK");
		goto remove_oracle;
	}
	rc = place_open(&m->subject, NB_OPEN_CREATE);
	if (rc != NB_OK)
		suite_wrong(s, "open of a new database", rc, "NB_OK");
	else
		for (; at < count; at++) {
			host_forget();
			if (!op_kinds[ops[at].kind].act(m, &ops[at]))
				break;
		}
remove_oracle:
	place_remove(&m->oracle);
remove_subject:
	place_remove(&m->subject);
	return s->outcome == NB_CHECK_KEPT ? at : count;
}

static void
make_ops(const struct model *m, struct op *ops, size_t count, uint64_t seed)
{
	uint32_t total = 0;
	for (uint32_t kind = 0; kind < KINDS; kind++)
		total += (m->kinds >> kind & 1) != 0 ? op_kinds[kind].weight : 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t roll = random_next(&seed) % total;
		uint32_t kind = 0;
		for (;; kind++) {
			if ((m->kinds >> kind & 1) == 0)
				continue;
			if (roll < op_kinds[kind].weight)
				break;
			roll -= op_kinds[kind].weight;
		}
		ops[i] = (struct op){.kind = kind,
			.value_cap = UINT32_MAX,
			.seed = random_next(&seed),
			.count = 1 + (uint32_t)(random_next(&seed) % GROUP)};
		if (kind == SCAN || kind == SCAN_BACK)
			ops[i].count = 1 + (uint32_t)(ops[i].seed >> 8) % SCAN_LIMIT;
	}
}

/* Replace ops by the `count` of `trial` if those show a fault as well. */
static bool
keep_if_faulty(struct model *m, struct op *ops, size_t *count, struct op *trial, size_t tried)
{
	size_t at = replay(m, trial, tried);
	if (at == tried)
		return false;
	*count = at + 1;
	memcpy(ops, trial, *count * sizeof(*ops));
	return true;
}

/* Leave out whatever is not needed, in parts of half the length at first. */
static size_t
shrink(struct model *m, struct op *ops, size_t count, struct op *trial)
{
	uint32_t replays = 0;
	for (size_t part = (count + 1) / 2; part > 0; part /= 2) {
		bool is_smaller = false;
		for (size_t at = 0; at + part <= count && replays < REPLAYS; replays++) {
			size_t rest = count - at - part;
			memcpy(trial, ops, at * sizeof(*ops));
			memcpy(trial + at, ops + at + part, rest * sizeof(*ops));
			if (keep_if_faulty(m, ops, &count, trial, at + rest))
				is_smaller = true;
			else
				at += part;
		}
		if (part == 1 && is_smaller && replays < REPLAYS)
			part = 2; /* leaving one out may have freed another */
	}
	return count;
}

/* Make what is left plainer: short values, of a group only one. */
static size_t
simplify(struct model *m, struct op *ops, size_t count, struct op *trial)
{
	for (size_t i = 0; i < count && i < 32; i++) {
		memcpy(trial, ops, count * sizeof(*ops));
		trial[i].value_cap = 8;
		keep_if_faulty(m, ops, &count, trial, count);
		for (uint32_t first = 0; i < count && first < ops[i].count; first++) {
			memcpy(trial, ops, count * sizeof(*ops));
			trial[i].first = first;
			trial[i].count = 1;
			if (keep_if_faulty(m, ops, &count, trial, count))
				break;
		}
	}
	return count;
}

/* The promise is broken; the steps are listed as far as there is room. */
static void
tell(struct model *m, const struct op *ops, size_t count, uint64_t seed, bool shows_again)
{
	struct suite *s = m->s;
	suite_break(s, "%s (seed %llu%s)", m->why, (unsigned long long)seed,
		shows_again ? "" : "; it did not show again when the same was done anew");
	s->step_count = (uint32_t)count;
	size_t at = 0, spare = 64; /* for the last line */
	for (size_t i = 0; i < count; i++) {
		size_t line = op_write(
			m, &ops[i], s->steps + at, sizeof(s->steps) - spare - at);
		if (at + line >= sizeof(s->steps) - spare) {
			snprintf(s->steps + at, sizeof(s->steps) - at, "... and %zu more\n",
				count - i);
			return;
		}
		at += line;
	}
}

/* --- the promises --- */

static bool
run_seed(struct model *m, struct op *ops, struct op *trial, size_t count, uint64_t seed)
{
	model_make_keys(m, seed);
	make_ops(m, ops, count, seed);
	size_t at = replay(m, ops, count);
	if (at == count)
		return m->s->outcome == NB_CHECK_KEPT;
	count = at + 1;
	char first_why[WHY_SIZE];
	memcpy(first_why, m->why, sizeof(first_why));
	bool shows_again = replay(m, ops, count) < count;
	if (shows_again) {
		count = shrink(m, ops, count, trial);
		count = simplify(m, ops, count, trial);
		shows_again = replay(m, ops, count) < count; /* for m->why of just these */
	}
	if (!shows_again)
		memcpy(m->why, first_why, sizeof(first_why));
	tell(m, ops, count, seed, shows_again);
	return false;
}

static void
run_model(struct suite *s, uint32_t wanted_kinds)
{
	const struct nb_check_args *args = s->args;
	uint32_t seeds = args->seeds == 0 ? DEFAULT_SEEDS : args->seeds;
	size_t count = args->ops == 0 ? DEFAULT_OPS : args->ops;
	struct model *m = calloc(1, sizeof(*m));
	struct op *ops = calloc(2 * count, sizeof(*ops));
	unsigned char *values = malloc((size_t)GROUP * SUITE_VALUE_SIZE);
	if (m == NULL || ops == NULL || values == NULL)
		suite_break(s, "the suite is out of memory");
	else {
		m->s = s;
		m->kinds = wanted_kinds;
		m->values = values;
		m->key_size_max = s->engine->key_size_max;
		m->value_size_max = s->engine->value_size_max;
		for (uint32_t i = 0; i < seeds; i++)
			if (!run_seed(m, ops, ops + count, count, args->seed + i))
				break;
	}
	free(values);
	free(ops);
	free(m);
}

enum { POINTS = 1u << PUT | 1u << GET | 1u << DEL };

void
check_model_points(struct suite *s)
{
	run_model(s, POINTS);
}

void
check_model_all(struct suite *s)
{
	const struct nb_engine *e = s->engine;
	uint32_t wanted = POINTS;
	if (e->insert != NULL)
		wanted |= 1u << INSERT;
	if (e->batch != NULL)
		wanted |= 1u << BATCH;
	if (e->multi_get != NULL)
		wanted |= 1u << MULTI_GET;
	if (e->scan_open != NULL && (e->caps & NB_CAP_ORDERED) != 0)
		wanted |= 1u << SCAN | 1u << SCAN_BACK;
	if ((e->caps & NB_CAP_PERSISTENT) != 0)
		wanted |= 1u << REOPEN;
	if (wanted == POINTS)
		suite_skip(s, "no insert, batch, multi_get, ordered scan or reopening");
	else
		run_model(s, wanted);
}
