/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executes sequences of random operations on the engine and on the oracle, and compares the
 * answers.
 *
 * A sequence that shows a fault is shrunk by delta debugging (Zeller, Hildebrandt:
 * Simplifying and isolating failure-inducing input, TSE 2002). It is cut after the fault.
 * Then smaller and smaller parts are left out while the rest, on new databases, still shows
 * a fault, which need not be the same one. A fault that does not show again is reported
 * with the original sequence.
 *
 * Each sequence runs in its own process. Its parent has never opened the engine. So state that
 * an engine keeps in its process, such as a counter, is the same each time. A sequence that
 * crashes can be shrunk like any other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/rng.h"
#include "check/board.h"
#include "check/model.h"
#include "run/engine.h"

enum {
	REPLAYS = 1000, /* limit for shrinking one sequence */
	PLAINER = 32,   /* limit for operations that are simplified */
	SHORT_VALUE = 8,
	PRINTING_OPS = 1000,
	DEFAULT_SEEDS = 3,
	DEFAULT_OPS = 4000
};

/* --- sequences --- */

struct sequence {
	struct model *m;
	const struct op *ops;
	size_t count;
};

static void
do_sequence(const struct sequence *sequence)
{
	struct model *m = sequence->m;
	for (size_t at = 0; at <= sequence->count; at++) {
		__atomic_store_n(&board->replayed.at, at, __ATOMIC_RELAXED);
		host_forget();
		m->why[0] = '\0';
		if (at < sequence->count &&
			!op_kinds[sequence->ops[at].kind].act(m, &sequence->ops[at]) &&
			!m->goes_on)
			break;
	}
}

/** Replay a sequence, in the child. */
static void
replay_here(void *arg)
{
	const struct sequence *sequence = arg;
	struct model *m = sequence->m;
	struct suite *s = m->s;
	if (suite_ok(s, "open of the oracle", database_open(&m->oracle, NB_OPEN_CREATE)) &&
		suite_ok(s, "open of a new database",
			database_open(&m->subject, NB_OPEN_CREATE)))
		do_sequence(sequence);
	database_close(&m->oracle);
	database_close(&m->subject);
	if (s->outcome == NB_CHECK_KEPT && host_misuse() != NULL)
		suite_break(s, "%s", host_misuse());
	board->replayed.outcome = s->outcome;
	snprintf(board->replayed.why, sizeof(board->replayed.why), "%s",
		s->outcome == NB_CHECK_KEPT ? m->why : s->text);
	__atomic_store_n(&board->replayed.is_told, 1, __ATOMIC_RELEASE);
}

/** Evaluate a replay after the child has ended. */
static size_t
judge_replay(struct model *m, size_t count, int status)
{
	const struct replayed *seen = &board->replayed;
	size_t at = (size_t)seen->at;
	bool is_well = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
	if (__atomic_load_n(&seen->is_told, __ATOMIC_ACQUIRE) == 0 ||
		(at == count && !is_well)) {
		calls_describe_end(m->why, sizeof(m->why), PROCESS_ENDED, status, 0);
		return at < count ? at : count - (count > 0);
	}
	if (seen->outcome != NB_CHECK_KEPT) {
		suite_break(m->s, "%s", seen->why);
		return count;
	}
	snprintf(m->why, sizeof(m->why), "%s", seen->why);
	return at;
}

/**
 * Execute the operations on new databases. Returns the index of the first one at which the
 * two differ (m->why has the difference), or `count`.
 */
static size_t
replay(struct model *m, const struct op *ops, size_t count)
{
	struct suite *s = m->s;
	struct sequence sequence = {m, ops, count};
	int status = 0;
	m->replays++;
	memset(&board->replayed, 0, sizeof(board->replayed));
	calls_forget();
	if (!database_make(s, &m->subject, s->engine, s->args->options))
		return count;
	if (database_make(
		    s, &m->oracle, engine_builtin("memory"), NULL)) { /* it needs no options */
		int how = apart_do(replay_here, &sequence, UINT64_MAX, &status);
		if (how != PROCESS_ENDED)
			suite_break(s, "the suite: %s", nb_error_text());
		database_remove(&m->oracle);
	}
	database_remove(&m->subject);
	return s->outcome == NB_CHECK_KEPT ? judge_replay(m, count, status) : count;
}

static void
make_ops(const struct model *m, struct op *ops, size_t count, uint64_t seed)
{
	uint32_t total = 0;
	for (uint32_t kind = 0; kind < KINDS; kind++)
		total += (m->kinds >> kind & 1) != 0 ? op_kinds[kind].weight : 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t roll = splitmix64_next(&seed) % total;
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
			.seed = splitmix64_next(&seed),
			.count = 1 + (uint32_t)(splitmix64_next(&seed) % GROUP)};
		if (kind == SCAN || kind == SCAN_BACK)
			ops[i].count = 1 + (uint32_t)(ops[i].seed >> 8) % SCAN_LIMIT;
	}
}

/** Whether shrinking may continue: a longer sequence in time is better than none. */
static bool
may_go_on(const struct model *m)
{
	return m->replays < REPLAYS &&
		clock_monotonic() - m->begin_ns < m->s->args->timeout_ns / 2;
}

/** Replace ops by the first `tried` of `trial` if these show a fault as well. */
static bool
keep_if_faulty(struct model *m, struct op *ops, size_t *count, struct op *trial, size_t tried)
{
	size_t at = may_go_on(m) ? replay(m, trial, tried) : tried;
	if (at == tried)
		return false;
	*count = at + 1;
	memcpy(ops, trial, *count * sizeof(*ops));
	return true;
}

/** Leave out unneeded operations, starting with parts of half the length. */
static size_t
shrink(struct model *m, struct op *ops, size_t count, struct op *trial)
{
	for (size_t part = (count + 1) / 2; part > 0; part /= 2) {
		bool is_smaller = false;
		for (size_t at = 0; at + part <= count && may_go_on(m);) {
			size_t rest = count - at - part;
			memcpy(trial, ops, at * sizeof(*ops));
			memcpy(trial + at, ops + at + part, rest * sizeof(*ops));
			if (keep_if_faulty(m, ops, &count, trial, at + rest))
				is_smaller = true;
			else
				at += part;
		}
		if (part == 1 && is_smaller && may_go_on(m))
			part = 2; /* try single ones again: another may be unneeded now */
	}
	return count;
}

static bool
keep_if_faulty_with_cap(
	struct model *m, struct op *ops, size_t *count, struct op *trial, size_t i, size_t cap)
{
	memcpy(trial, ops, *count * sizeof(*ops));
	trial[i].value_cap = (uint32_t)cap;
	return keep_if_faulty(m, ops, count, trial, *count);
}

/** Try a short value, then search for the fewest bytes that show the fault. */
static void
shorten_value(struct model *m, struct op *ops, size_t *count, struct op *trial, size_t i)
{
	size_t low = SHORT_VALUE + 1, high = op_longest_value(m, &ops[i]);
	if (high == 0 || keep_if_faulty_with_cap(m, ops, count, trial, i, SHORT_VALUE))
		return;
	while (low < high && i < *count) {
		size_t middle = low + (high - low) / 2;
		if (keep_if_faulty_with_cap(m, ops, count, trial, i, middle))
			high = middle;
		else
			low = middle + 1;
	}
}

/** Simplify the remaining operations: short values, groups of one. */
static size_t
simplify(struct model *m, struct op *ops, size_t count, struct op *trial)
{
	for (size_t i = 0; i < count && i < PLAINER; i++) {
		for (uint32_t first = 0; i < count && first < ops[i].count; first++) {
			memcpy(trial, ops, count * sizeof(*ops));
			trial[i].first = first;
			trial[i].count = 1;
			if (keep_if_faulty(m, ops, &count, trial, count))
				break;
		}
		if (i < count)
			shorten_value(m, ops, &count, trial, i);
	}
	return count;
}

/** The keys used by some operations, in byte order. */
struct used {
	size_t keys[KEYS], count;
};

static void
find_used(struct used *used, const struct model *m, const struct op *ops, size_t count)
{
	bool is_used[KEYS] = {false};
	used->count = 0;
	for (size_t i = 0; i < count; i++)
		op_mark_keys(m, &ops[i], is_used);
	for (size_t key = 0; key < m->key_count; key++) {
		size_t at = used->count;
		if (!is_used[key])
			continue;
		for (; at > 0 && slice_compare(m->keys[used->keys[at - 1]], m->keys[key]) > 0;
			at--)
			used->keys[at] = used->keys[at - 1];
		used->keys[at] = key;
		used->count++;
	}
}

static bool
are_different(const struct model *m, const struct used *used)
{
	for (size_t i = 0; i < used->count; i++)
		for (size_t j = 0; j < i; j++)
			if (slice_equal(m->keys[used->keys[i]], m->keys[used->keys[j]]))
				return false;
	return true;
}

/** Whether the fault shows with these keys; if not, restore those of `before`. */
static bool
keep_keys_if_faulty(struct model *m, const struct op *ops, size_t count,
	const struct used *used, const struct nb_slice before[KEYS])
{
	if (may_go_on(m) && are_different(m, used) && replay(m, ops, count) == count - 1)
		return true;
	memcpy(m->keys, before, sizeof(m->keys));
	return false;
}

/** Cut the key to the fewest bytes that show the fault. */
static void
shorten_key(struct model *m, const struct op *ops, size_t count, const struct used *used,
	size_t key)
{
	struct nb_slice before[KEYS];
	size_t low = 1;
	while (low < m->keys[key].size) {
		size_t middle = low + (m->keys[key].size - low) / 2;
		memcpy(before, m->keys, sizeof(before));
		m->keys[key].size = middle;
		if (!keep_keys_if_faulty(m, ops, count, used, before))
			low = middle + 1;
	}
}

/**
 * Make the keys as simple and short as the fault allows. First try one letter for each, in
 * their order. Otherwise make each a repeated letter if that shows the fault, and then cut
 * it.
 */
static void
simplify_keys(struct model *m, const struct op *ops, size_t count)
{
	enum { LETTERS = 26 };
	static unsigned char letters[LETTERS][KEY_SIZE];
	struct nb_slice before[KEYS];
	struct used used;
	find_used(&used, m, ops, count);
	for (int i = 0; i < LETTERS; i++)
		memset(letters[i], 'a' + i, KEY_SIZE);
	if (used.count > LETTERS)
		return;
	memcpy(before, m->keys, sizeof(before));
	for (size_t i = 0; i < used.count; i++)
		m->keys[used.keys[i]] = (struct nb_slice){letters[i], 1};
	if (keep_keys_if_faulty(m, ops, count, &used, before))
		return;
	for (size_t i = 0; i < used.count; i++) {
		memcpy(before, m->keys, sizeof(before));
		m->keys[used.keys[i]].data = letters[i];
		keep_keys_if_faulty(m, ops, count, &used, before);
		shorten_key(m, ops, count, &used, used.keys[i]);
	}
}

/** Report the broken promise, with as many steps as fit. */
static void
report(struct model *m, const struct op *ops, size_t count, uint64_t seed, bool shows_again)
{
	struct suite *s = m->s;
	suite_break(s, "%s (seed %llu%s)", m->why, (unsigned long long)seed,
		shows_again ? ""
			    : "; it did not show again when mininb repeated the operations");
	s->step_count = (uint32_t)count;
	size_t at = 0, spare = 64; /* room for the last line */
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
	m->replays = 0;
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
		simplify_keys(m, ops, count);
		/* sets m->why for the final sequence */
		shows_again = replay(m, ops, count) < count;
	}
	if (!shows_again)
		memcpy(m->why, first_why, sizeof(first_why));
	report(m, ops, count, seed, shows_again);
	return false;
}

/** Create a model. If memory runs out, break the promise and return NULL. */
static struct model *
make_model(struct suite *s, uint32_t kinds)
{
	struct model *m = calloc(1, sizeof(*m));
	unsigned char *values = malloc((size_t)GROUP * SUITE_VALUE_SIZE);
	if (m == NULL || values == NULL) {
		free(values);
		free(m);
		suite_break(s, "the suite is out of memory");
		return NULL;
	}
	*m = (struct model){.s = s,
		.kinds = kinds,
		.values = values,
		.key_size_max = s->engine->key_size_max,
		.value_size_max = s->engine->value_size_max,
		.begin_ns = clock_monotonic()};
	return m;
}

static void
free_model(struct model *m)
{
	free(m != NULL ? m->values : NULL);
	free(m);
}

static bool
run_model(struct suite *s, uint32_t kinds)
{
	const struct nb_check_args *args = s->args;
	uint32_t seeds = args->seeds == 0 ? DEFAULT_SEEDS : args->seeds;
	size_t count = args->ops == 0 ? DEFAULT_OPS : args->ops;
	struct op *ops = calloc(2 * count, sizeof(*ops));
	struct model *m = make_model(s, kinds);
	bool is_right = m != NULL &&
		(ops != NULL || suite_break(s, "the suite is out of memory"));
	for (uint32_t i = 0; is_right && i < seeds; i++)
		is_right = run_seed(m, ops, ops + count, count, args->seed + i);
	free_model(m);
	free(ops);
	return is_right;
}

enum { POINTS = 1u << PUT | 1u << GET | 1u << DEL };

PROMISE(random_puts_gets_deletes_answer_as_the_oracle)
{
	return run_model(s, POINTS);
}

/** The kinds of operations for which the engine has the verbs. */
static uint32_t
kinds_of(const struct nb_engine *e)
{
	bool is_ordered = engine_has_scan(e);
	return POINTS | (uint32_t)(e->insert != NULL) << INSERT |
		(uint32_t)(e->batch != NULL) << BATCH |
		(uint32_t)(e->multi_get != NULL) << MULTI_GET | (uint32_t)is_ordered << SCAN |
		(uint32_t)is_ordered << SCAN_BACK | (uint32_t)(e->merge != NULL) << MERGE |
		(uint32_t)(e->execute != NULL) << EXECUTE |
		(uint32_t)(e->begin != NULL) << TRANSACTION |
		(uint32_t)(e->flush != NULL || e->checkpoint != NULL) << SETTLE |
		(uint32_t)((e->caps & NB_CAP_PERSISTENT) != 0) << REOPEN;
}

PROMISE(random_use_of_every_verb_answers_as_the_oracle)
{
	uint32_t kinds = kinds_of(s->engine);
	if (kinds == POINTS)
		return suite_skip(s,
			"no insert, merge, batch, multi_get, ordered scan, execute, transaction, flush or reopening");
	return run_model(s, kinds);
}

PROMISE(prints_nothing_on_standard_output)
{
	static struct op ops[PRINTING_OPS];
	char text[BOARD_PRINTED_SIZE];
	struct prints prints;
	if (s->args->printed[0] != '\0')
		return suite_break(s,
			"it printed on standard output while mininb loaded it: %s",
			s->args->printed);
	struct model *m = make_model(s, kinds_of(s->engine));
	if (m == NULL)
		return false;
	m->goes_on = true; /* other promises check the answers */
	model_make_keys(m, s->args->seed);
	make_ops(m, ops, PRINTING_OPS, s->args->seed);
	prints_begin(&prints);
	replay(m, ops, PRINTING_OPS);
	prints_end(&prints, text, sizeof(text));
	free_model(m);
	return text[0] == '\0' || suite_break(s, "it printed on standard output: %s", text);
}
