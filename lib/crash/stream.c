/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations of a crash test, from their numbers: nothing of what was written has to be
 * kept, and what a database must hold after any crash can be made again.
 *
 * Keys are few, so that most are overwritten and deleted many times, old data is always at
 * stake, and pages split by the sizes of values instead of by many keys. Their lengths
 * differ, some begin alike, and some are the beginning of another one: what orders them is
 * tried as well. A value of CRASH_VALUE_TELLS bytes or more begins with a mark of its chain, which
 * write it is, and a checksum (XXH3) of the rest, which is random: no two are alike, and
 * neither a part of one nor two put together look like a third. Long ones are there to be
 * torn: a write of several blocks is not done at once. Of a shorter one only its bytes are
 * known, and equal ones of the same key cannot be told apart (state.c).
 *
 * All that is random comes from splitmix64 (base/rng.h) of seed, session and number.
 */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "crash/crash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* What a number is drawn for, so that none depends on another. */
enum { FOR_OP = 1, FOR_SIZE, FOR_BODY, FOR_KEY, FOR_CHAIN };

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
		.is_atomic = (engine->caps & NB_CAP_ATOMIC_BATCH) != 0};
}

void
crash_op_make(
	struct crash_op *op, const struct crash_plan *plan, uint32_t session, uint64_t number)
{
	enum { BATCHES = 20, DELETES = 20 }; /* of a hundred */
	struct rng rng;
	rng_create(&rng, draw(plan, FOR_OP, session, number));
	uint64_t kind = rng_below(&rng, 100);
	*op = (struct crash_op){.kind = CRASH_PUT, .count = 1};
	if (plan->has_batches && kind < BATCHES) {
		op->kind = CRASH_BATCH;
		op->count = 1 + (uint32_t)rng_below(&rng, CRASH_BATCH_MAX);
	}
	for (uint32_t i = 0; i < op->count; i++) {
		op->writes[i].key = (uint32_t)rng_below(&rng, plan->keys);
		op->writes[i].is_delete = rng_below(&rng, 100) < DELETES;
		/* Some batches write the same key twice. */
		if (i > 0 && rng_below(&rng, 8) == 0)
			op->writes[i].key = op->writes[i - 1].key;
	}
	if (op->kind == CRASH_PUT && op->writes[0].is_delete)
		op->kind = CRASH_DEL;
}

/* ---- keys ---- */

/** Four characters that no other key begins with, but the next one where it is longer. */
static size_t
write_id(unsigned char *to, uint32_t session, uint32_t index)
{
	static const char digits[] = "0123456789abcdef";
	to[0] = (unsigned char)digits[session % 16];
	for (int i = 0; i < 3; i++)
		to[1 + i] = (unsigned char)digits[index >> (4 * (2 - i)) & 15];
	return CRASH_KEY_MIN;
}

/** Bytes of any kind behind the id, seldom many. */
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
	case PREFIXED: /* no id begins with an 'm' */
		if (prefix_size + CRASH_KEY_MIN > plan->key_size_max)
			break;
		memcpy(key, prefix, prefix_size);
		return prefix_size + write_id(key + prefix_size, session, index);
	case FILLED:
		return write_filled(key, plan, session, index);
	case LONGER: /* the key before this one, which is FILLED, is its beginning */
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

/** What a value begins with, if it has room for it. */
struct head {
	uint64_t chain, write, sum;
};
_Static_assert(sizeof(struct head) == CRASH_VALUE_TELLS, "the head of a value");

size_t
crash_value_size(const struct crash_plan *plan, uint32_t session, uint64_t write)
{
	enum { SHORTEST = 1 << 10 }; /* of the long ones */
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

static void
fill(unsigned char *to, size_t size, uint64_t seed)
{
	for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
		uint64_t word = splitmix64_next(&seed);
		memcpy(to + i, &word, size - i < sizeof(word) ? size - i : sizeof(word));
	}
}

size_t
crash_value_make(
	unsigned char *value, const struct crash_plan *plan, uint32_t session, uint64_t write)
{
	size_t size = crash_value_size(plan, session, write);
	uint64_t seed = draw(plan, FOR_BODY, session, write);
	if (size < CRASH_VALUE_TELLS) {
		fill(value, size, seed);
		return size;
	}
	fill(value + sizeof(struct head), size - sizeof(struct head), seed);
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
