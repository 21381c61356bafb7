/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many sessions execute lists of steps at once, on few keys.
 *
 * Each list that writes a key also reads it, and each value is unique. So the versions of a key
 * form a chain, and every operation on the key belongs between two versions. The operations of
 * all keys and sessions must have an order in which they could have run one after the other. In
 * other words, the graph of "came before" has no cycle (A. Adya, "Weak Consistency", MIT 1999).
 * The graph includes single gets between the lists and the order within a session. So the test
 * is strict: a session cannot read an older version after a newer one.
 */
#include "masstree_rig.h"

#include <stdlib.h>

#ifdef RACY_TSAN
enum { LESS = 4 };
#else
enum { LESS = 1 };
#endif

enum {
	FORMATS = 7 + (LEAF_SLOTS_MAX >= 10),
	THREADS = 6,
	READERS = 2, /* only get */
	OPS = 400 / LESS,
	KEYS = 6, /* keys of all threads, every ROW-th key; the others belong to one thread each */
	ROW = 8,
	IN_A_LIST = 4,
	ALL_OPS = THREADS * OPS + 1 /* operation 0 stores all keys */
};

struct op {
	bool reads[KEYS], writes;
	uint64_t seen[KEYS]; /* the operations that wrote the values it has read */
};

static struct {
	const struct rig_format *format;
	struct nb_db *tree;
	struct op ops[ALL_OPS];
} history;

/* --- operations --- */

struct actor {
	struct nb_session *session;
	unsigned id;
	uint64_t random;
	bool has_own; /* its own record exists; lists add and delete it */
	uint8_t keys[IN_A_LIST + 1][RIG_KEY_MAX], values[IN_A_LIST + 1][RIG_VALUE_MAX];
};

static uint64_t
mark_of(struct nb_slice value)
{
	uint64_t mark;

	ck_assert(rig_is_whole(value, &mark));
	return mark;
}

static struct nb_slice
contested(struct actor *actor, unsigned place, unsigned key)
{
	return history.format->key(actor->keys[place], (uint64_t)key * ROW);
}

static void
read_one(struct actor *actor, struct op *op)
{
	unsigned key = (unsigned)rig_random(&actor->random, KEYS);
	struct nb_slice value;

	ck_assert_int_eq(mt_get(actor->session, contested(actor, 0, key), &value), NB_OK);
	op->reads[key] = true;
	op->seen[key] = mark_of(value);
	mt_release(actor->session);
}

/*
 * A step on the actor's own record, or on one that all actors add and delete, so that leaves
 * split.
 */
static struct nb_step
other_step(struct actor *actor, bool is_own)
{
	uint64_t number = is_own ? actor->id + 1 : THREADS + 1;
	bool deletes = is_own ? actor->has_own : rig_random(&actor->random, 2) == 0;

	return (struct nb_step){.key = history.format->key(actor->keys[IN_A_LIST], number),
		.value = rig_value(actor->values[IN_A_LIST], history.format, &actor->random, 1),
		.verb = deletes ? NB_STEP_DEL : NB_STEP_INSERT};
}

/* Execute a list that reads distinct keys and, if `mark` is not 0, writes each of them. */
static void
execute_list(struct actor *actor, struct op *op, uint64_t mark)
{
	struct nb_step steps[2 * IN_A_LIST + 1];
	unsigned count = 1 + (unsigned)rig_random(&actor->random, IN_A_LIST), of[IN_A_LIST];
	unsigned first = (unsigned)rig_random(&actor->random, KEYS),
		 turn = mark % 2 == 0 ? 1 : 5;
	uint32_t flags = mark != 0 ? NB_EXEC_ATOMIC : NB_EXEC_SNAPSHOT | NB_EXEC_READ_ONLY;
	size_t size = mark != 0 ? 2 * (size_t)count : count;
	bool is_own = mark % 3 != 0;

	for (unsigned i = 0; i < count; i++) {
		of[i] = (first + i * turn) % KEYS;
		steps[i] = (struct nb_step){
			.key = contested(actor, i, of[i]), .verb = NB_STEP_GET};
		steps[count + i] = (struct nb_step){.key = steps[i].key,
			.value = rig_value(
				actor->values[i], history.format, &actor->random, mark),
			.verb = NB_STEP_PUT};
	}
	if (mark != 0)
		steps[size++] = other_step(actor, is_own);
	ck_assert_int_eq(mt_execute(actor->session, steps, size, flags), NB_OK);
	for (unsigned i = 0; i < count; i++) {
		ck_assert_int_eq(steps[i].answer, NB_OK);
		op->reads[of[i]] = true;
		op->seen[of[i]] = mark_of(steps[i].value);
	}
	if (is_own) { /* no other actor changes it */
		ck_assert_int_eq(steps[size - 1].answer, NB_OK);
		actor->has_own = !actor->has_own;
	}
	op->writes = mark != 0;
	mt_release(actor->session);
}

/* Put or delete another record of the actor's own, to change the structure between lists. */
static void
write_alone(struct actor *actor)
{
	uint64_t number = ROW + rig_random(&actor->random, KEYS) * ROW + 1 + actor->id;
	struct nb_slice key = history.format->key(actor->keys[0], number);
	struct nb_slice value = rig_value(actor->values[0], history.format, &actor->random, 1);
	int rc = rig_random(&actor->random, 2) == 0 ? mt_put(actor->session, key, value)
						    : mt_del(actor->session, key);

	ck_assert_int_ge(rc, NB_OK);
}

static void
act(void *to, unsigned id)
{
	struct actor *actor = malloc(sizeof(*actor));

	ck_assert_ptr_nonnull(actor);
	*actor = (struct actor){rig_session(history.tree, id), id, rig_seed(id)};
	for (unsigned i = 0; i < OPS; i++) {
		uint64_t number = 1 + (uint64_t)id * OPS + i;
		uint64_t roll = rig_random(&actor->random, 8);

		if (id >= READERS)
			write_alone(actor);
		if (id < READERS || roll < 3)
			read_one(actor, &history.ops[number]);
		else
			execute_list(actor, &history.ops[number], roll < 4 ? 0 : number);
	}
	mt_session_close(actor->session);
	free(actor);
}

/* --- the graph --- */

static uint32_t next_of[KEYS][ALL_OPS]; /* the operation that wrote the next version; 0: none */

static void
find_chains(void)
{
	memset(next_of, 0, sizeof(next_of));
	for (uint32_t i = 1; i < ALL_OPS; i++)
		for (unsigned key = 0; key < KEYS; key++) {
			const struct op *op = &history.ops[i];
			if (!op->reads[key])
				continue;
			ck_assert_uint_lt(op->seen[key], ALL_OPS);
			uint32_t *next = &next_of[key][op->seen[key]];
			ck_assert_msg(!op->writes || *next == 0,
				"%s: %u and %u both replace a value of %u",
				history.format->name, *next, i, (unsigned)op->seen[key]);
			*next = op->writes ? i : *next;
		}
}

/* List the operations that must come after operation i. Returns their number. */
static unsigned
followers_of(uint32_t i, uint32_t *followers)
{
	unsigned count = 0;

	if (i % OPS != 0) /* the next operation of its session */
		followers[count++] = i + 1;
	for (unsigned key = 0; key < KEYS; key++) {
		const struct op *op = &history.ops[i];
		uint32_t next = op->reads[key] ? next_of[key][op->seen[key]] : 0;
		if (next != 0 && next != i)
			followers[count++] = next;
	}
	return count;
}

/*
 * Check that the graph has no cycle. An operation waits for its predecessors: by chains and by
 * reads.
 */
static void
has_no_cycle(void)
{
	static uint32_t waits[ALL_OPS], ready[ALL_OPS];
	uint32_t followers[KEYS + 1], ready_count = 0, done = 0;
	static uint32_t first_reader[ALL_OPS], next_reader[KEYS][ALL_OPS];

	memset(waits, 0, sizeof(waits));
	memset(first_reader, 0, sizeof(first_reader));
	for (uint32_t i = 1; i < ALL_OPS; i++) {
		unsigned count = followers_of(i, followers);
		while (count > 0)
			waits[followers[--count]]++;
		for (unsigned key = 0; key < KEYS; key++) {
			uint64_t writer = history.ops[i].seen[key];
			if (!history.ops[i].reads[key] || writer == 0)
				continue;
			next_reader[key][i] = first_reader[writer];
			first_reader[writer] = i * KEYS + key;
			waits[i]++;
		}
	}
	for (uint32_t i = 1; i < ALL_OPS; i++)
		if (waits[i] == 0)
			ready[ready_count++] = i;
	while (done < ready_count) {
		uint32_t i = ready[done++];
		unsigned count = followers_of(i, followers);

		while (count > 0)
			if (--waits[followers[--count]] == 0)
				ready[ready_count++] = followers[count];
		for (uint32_t at = first_reader[i]; at != 0;) {
			uint32_t reader = at / KEYS, key = at % KEYS;
			if (--waits[reader] == 0)
				ready[ready_count++] = reader;
			at = next_reader[key][reader];
		}
	}
	ck_assert_msg(done == ALL_OPS - 1, "%s: %u of %u operations have no order",
		history.format->name, ALL_OPS - 1 - done, ALL_OPS - 1);
}

TEST_EACH(lists_of_many_sessions_are_serializable, FORMATS)
{
	uint8_t room[RIG_KEY_MAX], value[RIG_VALUE_MAX];
	uint64_t random = rig_seed((uint64_t)_i);

	history.format = rig_format(_i);
	for (unsigned round = 0; round < 3; round++) {
		history.tree = rig_open(history.format);
		rig_lets_meet = true;
		memset(history.ops, 0, sizeof(history.ops));
		struct nb_session *session = rig_session(history.tree, 0);
		for (uint64_t key = 0; key < KEYS; key++)
			ck_assert_int_eq(mt_put(session, history.format->key(room, key * ROW),
						 rig_value(value, history.format, &random, 0)),
				NB_OK);
		mt_session_close(session);
		rig_run(THREADS, act, NULL);
		rig_check(history.tree, -1);
		find_chains();
		has_no_cycle();
		mt_close(history.tree);
	}
}

/* --- prefixes --- */

/*
 * Members of only one side may be inside at a time. A member enters with a list that adds its
 * record if the other side has no record.
 */
enum { SIDES = 2, MEMBERS = 6, VISITS = 500 / LESS };

static struct {
	struct nb_db *tree;
	unsigned inside[SIDES]; /* atomic */
	size_t prefix_size;
} party;

static struct nb_slice
side_prefix(uint8_t *room, unsigned side)
{
	memset(room, 'p', party.prefix_size);
	room[party.prefix_size - 1] = (uint8_t)('a' + 2 * side);
	return slice_of(room, party.prefix_size);
}

static struct nb_slice
member_key(uint8_t *room, unsigned side, unsigned id)
{
	struct nb_slice prefix = side_prefix(room, side);

	room[prefix.size] = (uint8_t)id;
	return slice_of(room, prefix.size + 1);
}

static void
visit(void *to, unsigned id)
{
	struct nb_session *session = rig_session(party.tree, id);
	unsigned side = id % SIDES;
	uint8_t other[RIG_KEY_MAX], own[RIG_KEY_MAX], between[RIG_KEY_MAX];
	struct nb_slice key = member_key(own, side, id);
	struct nb_step steps[] = {
		{.key = side_prefix(other, 1 - side), .verb = NB_STEP_PREFIX_EMPTY, .skips = 1},
		{.key = key, .value = slice_of("in", 2), .verb = NB_STEP_PUT}};

	for (unsigned i = 0; i < VISITS; i++) {
		/* Other records between the sides change the leaves. */
		struct nb_slice noise = member_key(between, 0, 100 + (i + id) % 20);
		between[party.prefix_size - 1] = 'b';
		if (i % 3 == 0)
			mt_del(session, noise);
		else
			mt_put(session, noise, key);
		ck_assert_int_eq(mt_execute(session, steps, 2, NB_EXEC_ATOMIC), NB_OK);
		ck_assert_int_eq(steps[1].answer, steps[0].answer);
		if (steps[0].answer != NB_OK)
			continue;
		__atomic_add_fetch(&party.inside[side], 1, __ATOMIC_SEQ_CST);
		ck_assert_uint_eq(
			__atomic_load_n(&party.inside[1 - side], __ATOMIC_SEQ_CST), 0);
		racy_meet();
		__atomic_sub_fetch(&party.inside[side], 1, __ATOMIC_SEQ_CST);
		ck_assert_int_eq(mt_del(session, key), NB_OK);
	}
	mt_session_close(session);
}

/* The prefix ends in the first layer, at its end, or in a lower layer. */
TEST_EACH(prefix_is_empty_when_the_list_takes_effect, 4)
{
	static const size_t sizes[] = {3, 8, 13, 26};

	party.prefix_size = sizes[_i];
	party.tree = rig_open(NULL);
	rig_lets_meet = true;
	rig_run(MEMBERS, visit, NULL);
	rig_check(party.tree, -1);
	mt_close(party.tree);
}

/* --- one session --- */

/* A list adds more records to one leaf than it has room for, and another removes all of them. */
TEST_EACH(long_lists_are_atomic_and_release_everything, FORMATS)
{
	enum { LONG = 300 };
	const struct rig_format *format = rig_format(_i);
	struct nb_db *tree = rig_open(format);
	struct nb_session *session = rig_session(tree, 0);
	static struct nb_step steps[LONG + 1];
	static uint8_t keys[LONG][RIG_KEY_MAX];
	uint64_t word = 7;

	for (size_t i = 0; i < LONG; i++)
		steps[i] = (struct nb_step){.key = format->key(keys[i], i),
			.value = slice_of(&word, sizeof(word)),
			.verb = NB_STEP_INSERT};
	/* The last step fails, because the value of the first key does not have 8 bytes. */
	ck_assert_int_eq(mt_put(session, steps[0].key, slice_of("odd", 3)), NB_OK);
	steps[LONG] = (struct nb_step){
		.key = steps[0].key, .operand = 1, .verb = NB_STEP_MERGE};
	ck_assert_int_lt(mt_execute(session, steps, LONG + 1, NB_EXEC_ATOMIC), 0);
	rig_check(tree, 1);
	ck_assert_int_eq(mt_execute(session, steps, LONG, NB_EXEC_ATOMIC), NB_OK);
	rig_check(tree, LONG);
	for (size_t i = 0; i < LONG; i++) {
		ck_assert_int_eq(steps[i].answer, i == 0 ? NB_EXISTS : NB_OK);
		steps[i].verb = NB_STEP_DEL;
	}
	ck_assert_int_eq(mt_execute(session, steps, LONG, NB_EXEC_ATOMIC), NB_OK);
	rig_check(tree, 0);
	mt_session_close(session);
	mt_close(tree);
}
