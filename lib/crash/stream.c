/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Computes the operations of a crash test from their numbers. So no record of the writes is
 * needed: the contents that a database should have after any crash can be computed again.
 *
 * Keys are few, so most are overwritten and deleted many times. Old data is always at risk,
 * and pages split because values differ in size. Key lengths differ, some keys share a
 * prefix, and some keys are prefixes of other keys. This tests their ordering.
 *
 * A value of CRASH_VALUE_TELLS bytes or more begins with a mark of its chain, the number of
 * its write, and a checksum (XXH3) of the rest, which is random. So no two values are
 * alike, and a mixture of two does not look like a third. Long values can be torn, because
 * a write of several blocks takes time. A shorter value is known only by its bytes; equal
 * ones of the same key cannot be distinguished (oracle.c).
 *
 * If the engine can add, every fifth key is a counter. Its operands are random, so the
 * value shows which additions it includes. Transactions, some of which are aborted, have
 * several writes.
 *
 * All random numbers come from splitmix64 (base/rng.h) of seed, session and number.
 */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "check/suite.h"
#include "crash/crash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* The purpose of a draw, so that draws are independent. */
enum { FOR_OP = 1, FOR_SIZE, FOR_BODY, FOR_KEY, FOR_CHAIN, FOR_OPERAND };

static uint64_t
draw(const struct crash_plan *plan, uint32_t what, uint32_t session, uint64_t number)
{
	uint64_t z = splitmix64_mix(plan->seed + what * UINT64_C(0x9e3779b97f4a7c15));
	z = splitmix64_mix(z ^ session);
	return splitmix64_mix(z ^ number);
}

void
crash_plan_create(struct crash_plan *plan, const struct nb_engine *engine, uint32_t sessions,
	uint64_t seed)
{
	uint64_t longest = engine->key_size_max;
	*plan = (struct crash_plan){.seed = seed,
		.sessions = sessions,
		.keys = CRASH_KEYS,
		.value_size_max = engine->value_size_max,
		.key_size_max = longest == 0 || longest > CRASH_KEY_MAX ? CRASH_KEY_MAX
									: (uint32_t)longest,
		.has_batches = engine->batch != NULL,
		.is_atomic = (engine->caps & NB_CAP_ATOMIC_BATCH) != 0,
		.has_txns = engine->begin != NULL && engine->commit != NULL &&
			engine->abort != NULL};
	plan->has_execute = engine->execute != NULL && (plan->has_txns || plan->is_atomic);
	plan->has_counters = engine->merge != NULL &&
		(engine->value_size_max == 0 || engine->value_size_max >= sizeof(uint64_t));
}

/**
 * The kind of an operation; `of_hundred` is random. The rest are puts, which may become
 * deletes.
 */
static uint32_t
op_kind(const struct crash_plan *plan, uint64_t of_hundred)
{
	enum { BATCHES = 20, COMMITS = 30, ABORTS = 33, EXECUTES = 43 };
	if (of_hundred < BATCHES)
		return plan->has_batches ? CRASH_BATCH : CRASH_PUT;
	if (of_hundred < ABORTS)
		return !plan->has_txns         ? CRASH_PUT
			: of_hundred < COMMITS ? CRASH_COMMIT
					       : CRASH_ABORT;
	return of_hundred < EXECUTES && plan->has_execute ? CRASH_EXECUTE : CRASH_PUT;
}

void
crash_op_make(
	struct crash_op *op, const struct crash_plan *plan, uint32_t session, uint64_t number)
{
	enum { DELETES = 20, COUNTER_PUTS = 10 }; /* percent of the writes */
	struct rng rng;
	rng_create(&rng, draw(plan, FOR_OP, session, number));
	*op = (struct crash_op){.kind = op_kind(plan, rng_below(&rng, 100)), .count = 1};
	if (op->kind >= CRASH_BATCH)
		op->count = 1 + (uint32_t)rng_below(&rng, CRASH_BATCH_MAX);
	for (uint32_t i = 0; i < op->count; i++) {
		struct crash_write *write = &op->writes[i];
		write->key = (uint32_t)rng_below(&rng, plan->keys);
		uint64_t of_hundred = rng_below(&rng, 100);
		/* Some write the same key twice. */
		if (i > 0 && rng_below(&rng, 8) == 0)
			write->key = op->writes[i - 1].key;
		write->is_delete = of_hundred < DELETES;
		write->is_add = of_hundred >= DELETES + COUNTER_PUTS &&
			op->kind != CRASH_BATCH && crash_is_counter(plan, write->key);
	}
	if (op->kind == CRASH_PUT && op->writes[0].is_delete)
		op->kind = CRASH_DEL;
	if (op->kind == CRASH_PUT && op->writes[0].is_add)
		op->kind = CRASH_ADD;
}

const char *
crash_op_name(uint32_t kind)
{
	static const char *const names[] = {"put", "del", "merge", "batch", "execute",
		"a transaction", "an aborted transaction"};
	return names[kind];
}

/* ---- counters ---- */

bool
crash_is_counter(const struct crash_plan *plan, uint32_t key)
{
	enum { ONE_OF = 5 }; /* prime to the families of keys */
	return plan->has_counters && key % ONE_OF == 0;
}

uint64_t
crash_operand(const struct crash_plan *plan, uint32_t session, uint64_t write)
{
	return (draw(plan, FOR_OPERAND, session, write) >> 32) + 1;
}

/* ---- keys ---- */

/**
 * Write an id of four characters. No other key begins with it, except the next one if that
 * is longer.
 */
static size_t
write_id(unsigned char *to, uint32_t session, uint32_t index)
{
	static const char digits[] = "0123456789abcdef";
	to[0] = (unsigned char)digits[session % 16];
	for (int i = 0; i < 3; i++)
		to[1 + i] = (unsigned char)digits[index >> (4 * (2 - i)) & 15];
	return CRASH_KEY_MIN;
}

/** Write an id and any bytes after it, seldom many. */
static size_t
write_filled(unsigned char *to, const struct crash_plan *plan, uint32_t session, uint32_t index)
{
	uint64_t random = draw(plan, FOR_KEY, session, index);
	size_t room = plan->key_size_max - CRASH_KEY_MIN;
	size_t usual = room < 24 ? room : 24;
	size_t size = (size_t)(random >> 8) % ((random % 8 == 0 ? room : usual) + 1);
	size_t at = write_id(to, session, index);
	for (size_t i = 0; i < size; i++)
		to[at++] = (unsigned char)splitmix64_next(&random);
	return at;
}

size_t
crash_key_make(unsigned char key[CRASH_KEY_MAX], const struct crash_plan *plan,
	uint32_t session, uint32_t index)
{
	static const char prefix[] = "many/keys/begin/";
	enum { BARE, PREFIXED, FILLED, LONGER, FAMILIES };
	size_t prefix_size = sizeof(prefix) - 1, size;
	switch (index % FAMILIES) {
	case PREFIXED: /* ids never begin with 'm' */
		if (prefix_size + CRASH_KEY_MIN > plan->key_size_max)
			break;
		memcpy(key, prefix, prefix_size);
		return prefix_size + write_id(key + prefix_size, session, index);
	case FILLED:
		return write_filled(key, plan, session, index);
	case LONGER: /* the previous key, which is FILLED, is its prefix */
		size = write_filled(key, plan, session, index - 1);
		if (size + CRASH_KEY_MIN > plan->key_size_max)
			break;
		return size + write_id(key + size, session, index);
	default:
		break;
	}
	return write_id(key, session, index);
}

/* ---- values ---- */

/** The head of a value that has room for it. */
struct head {
	uint64_t chain, write, sum;
};
_Static_assert(sizeof(struct head) == CRASH_VALUE_TELLS, "the head of a value");

size_t
crash_value_size(const struct crash_plan *plan, uint32_t session, uint64_t write)
{
	enum { SHORTEST = 1 << 10 }; /* of the long values */
	uint64_t random = draw(plan, FOR_SIZE, session, write);
	uint64_t of_hundred = random % 100, size = random >> 8;
	if (of_hundred < 10)
		size %= CRASH_VALUE_TELLS;
	else if (of_hundred < 18)
		size = SHORTEST + size % (CRASH_VALUE_MAX - SHORTEST + 1);
	else
		size = 60 + size % 81;
	if (plan->value_size_max != 0 && size > plan->value_size_max)
		size = random % (plan->value_size_max + 1);
	return (size_t)size;
}

size_t
crash_value_make(
	unsigned char *value, const struct crash_plan *plan, uint32_t session, uint64_t write)
{
	size_t size = crash_value_size(plan, session, write);
	uint64_t seed = draw(plan, FOR_BODY, session, write);
	if (size < CRASH_VALUE_TELLS) {
		bytes_fill(value, size, seed);
		return size;
	}
	bytes_fill(value + sizeof(struct head), size - sizeof(struct head), seed);
	struct head head = {.chain = draw(plan, FOR_CHAIN, 0, 0),
		.write = write << 8 | session,
		.sum = XXH3_64bits(value + sizeof(head), size - sizeof(head))};
	memcpy(value, &head, sizeof(head));
	return size;
}

uint64_t
crash_value_read(const struct crash_plan *plan, struct nb_slice value, uint32_t *session)
{
	struct head head;
	if (value.size < sizeof(head) || value.size > CRASH_VALUE_MAX)
		return 0;
	memcpy(&head, value.data, sizeof(head));
	uint64_t write = head.write >> 8;
	*session = (uint32_t)(head.write & 255);
	if (head.chain != draw(plan, FOR_CHAIN, 0, 0) || write == 0 ||
		crash_value_size(plan, *session, write) != value.size ||
		head.sum !=
			XXH3_64bits((const char *)value.data + sizeof(head),
				value.size - sizeof(head)))
		return 0;
	unsigned char whole[CRASH_VALUE_MAX];
	crash_value_make(whole, plan, *session, write);
	return memcmp(whole, value.data, value.size) == 0 ? write : 0;
}
