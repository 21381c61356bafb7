/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The meaning of a random operation; act.c executes it.
 *
 * An operation consists of a few numbers from which its keys and values are made. So each
 * part of a sequence has the same meaning without the rest, which makes shrinking possible.
 * There are few keys, so that operations affect each other: overwrites, deletes of existing
 * keys, scans between neighbours. The keys contain zeros and 0xff, are prefixes of one
 * another, and are one byte long or as long as the engine allows.
 */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "check/model.h"

/**
 * A size up to `longest`, each power of two with equal probability. One in four is a power
 * of two or its neighbour, where fields, pages and buffers end.
 */
static size_t
random_size(uint64_t roll, size_t longest)
{
	uint32_t powers = 0;
	while (powers < 31 && (size_t)2 << powers <= longest)
		powers++;
	size_t size = (size_t)1 << roll % (powers + 1);
	roll /= powers + 1;
	if (roll % 4 == 0)
		size += roll / 4 % 3 - 1; /* -1, 0, 1 */
	else
		size += roll / 4 % size;
	return size < 1 ? 1 : size > longest ? longest : size;
}

/* --- keys --- */

static void
add_key(struct model *m, struct nb_slice key)
{
	struct nb_slice *to = &m->keys[m->key_count];
	if (m->key_count == KEYS || key.size > KEY_SIZE)
		return;
	if (m->key_size_max != 0 && key.size > m->key_size_max)
		return;
	memcpy(m->key_bytes[m->key_count], key.data, key.size);
	*to = (struct nb_slice){m->key_bytes[m->key_count], key.size};
	for (size_t i = 0; i < m->key_count; i++)
		if (slice_equal(m->keys[i], *to))
			return;
	m->key_count++;
}

void
model_make_keys(struct model *m, uint64_t seed)
{
	static const struct nb_slice fixed[] = {{"\0", 1}, {"\0\0", 2}, {"\0\0\0\0", 4},
		{"\xff", 1}, {"\xff\xff", 2}, {"\xff\0", 2}, {"\0\xff", 2}, {"a", 1},
		{"a\0", 2}, {"a\0b", 3}, {"a\0c", 3}, {"ab", 2}, {"abc", 3}, {"abcd", 4},
		{"b", 1}, {"\x7f", 1}, {"\x80", 1}, {"0123456789abcdef", 16},
		{"0123456789abcdeg", 16}};
	unsigned char bytes[KEY_SIZE];
	m->key_count = 0;
	for (size_t i = 0; i < COUNT_OF(fixed); i++)
		add_key(m, fixed[i]);
	size_t longest = limited(KEY_SIZE, m->key_size_max);
	bytes_fill(bytes, longest, seed);
	add_key(m, (struct nb_slice){bytes, longest});
	bytes[longest - 1] ^= 1; /* differs only in its last bit */
	add_key(m, (struct nb_slice){bytes, longest});
	add_key(m, (struct nb_slice){bytes, longest - (longest > 1)});
	for (uint64_t i = 0; m->key_count < KEYS && i < 1000; i++) {
		uint64_t state = seed + i;
		size_t size = i % 2 == 0 ? 1 + i / 2 % 24
					 : random_size(splitmix64_next(&state), longest);
		bytes_fill(bytes, size, seed + i + 1);
		add_key(m, (struct nb_slice){bytes, size});
	}
}

/* --- the meaning of an operation --- */

uint64_t
op_hash(uint64_t seed, uint64_t i)
{
	uint64_t state = seed + i * 0xd1342543de82ef95u;
	return splitmix64_next(&state);
}

struct nb_slice
op_key(const struct model *m, const struct op *op, uint32_t i)
{
	return m->keys[op_hash(op->seed, op->first + i) % m->key_count];
}

/** The size of a value. Half of them are small, which is fast; the others have any size. */
static size_t
op_value_size(const struct model *m, const struct op *op, uint32_t i)
{
	static const uint32_t sizes[] = {
		0, 1, 7, 8, 16, 20, 33, 60, 100, 100, 100, 100, 255, 256, 1000, 1024};
	uint64_t roll = op_hash(op->seed, 1000 + op->first + i);
	uint64_t size = roll % 2 == 0 ? sizes[roll / 2 % COUNT_OF(sizes)]
				      : random_size(roll / 2, SUITE_VALUE_SIZE);
	size = limited(size, m->value_size_max);
	return size < op->value_cap ? size : op->value_cap;
}

struct nb_slice
op_value(struct model *m, const struct op *op, uint32_t i)
{
	unsigned char *at = m->values + (size_t)i * SUITE_VALUE_SIZE;
	size_t size = op_value_size(m, op, i);
	bytes_fill(at, size, op_hash(op->seed, 2000 + op->first + i));
	if (size > 2 && op_hash(op->seed, op->first + i) >> 62 == 0)
		memset(at + 1, 0, size / 2); /* runs of zeros, as in real records */
	return (struct nb_slice){at, size};
}

static uint32_t
op_keys(const struct op *op)
{
	bool is_group = op->kind == BATCH || op->kind == MULTI_GET || op->kind == EXECUTE ||
		op->kind == TRANSACTION;
	return op->kind == SETTLE || op->kind == REOPEN ? 0 : is_group ? op->count : 1;
}

static bool
op_is_write(const struct op *op)
{
	return op->kind == PUT || op->kind == INSERT || op->kind == BATCH ||
		op->kind == EXECUTE || op->kind == TRANSACTION;
}

void
op_mark_keys(const struct model *m, const struct op *op, bool is_used[KEYS])
{
	for (uint32_t i = 0; i < op_keys(op); i++)
		is_used[op_hash(op->seed, op->first + i) % m->key_count] = true;
}

size_t
op_longest_value(const struct model *m, const struct op *op)
{
	size_t longest = 0;
	for (uint32_t i = 0; op_is_write(op) && i < op_keys(op); i++) {
		size_t size = op_value_size(m, op, i);
		longest = size > longest ? size : longest;
	}
	return longest;
}

bool
op_is_delete(const struct op *op, uint32_t i)
{
	return op_hash(op->seed, 3000 + op->first + i) % 3 == 0;
}

const char *const step_names[] = {
	"get", "put", "del", "insert", "merge", "put-if-newer", "prefix-empty"};

/** The verb of a step, NB_STEP_*, of an execute or a transaction. */
uint32_t
op_verb(const struct model *m, const struct op *op, uint32_t i)
{
	static const uint8_t verbs[] = {NB_STEP_GET, NB_STEP_GET, NB_STEP_PUT, NB_STEP_PUT,
		NB_STEP_PUT, NB_STEP_DEL, NB_STEP_DEL, NB_STEP_INSERT, NB_STEP_MERGE,
		NB_STEP_MERGE, NB_STEP_PUT_IF_NEWER, NB_STEP_PREFIX_EMPTY};
	const struct nb_engine *engine = m->subject.engine;
	uint32_t verb = verbs[op_hash(op->seed, 4000 + op->first + i) % COUNT_OF(verbs)];
	bool is_there = op->kind == EXECUTE
		? verb != NB_STEP_PREFIX_EMPTY || (engine->caps & NB_CAP_ORDERED) != 0
		: verb == NB_STEP_INSERT ? engine->insert != NULL
		: verb == NB_STEP_MERGE  ? engine->merge != NULL
					 : verb < NB_STEP_INSERT;
	return is_there ? verb : NB_STEP_PUT;
}

bool
op_writes_value(const struct model *m, const struct op *op, uint32_t i)
{
	uint32_t verb = op_verb(m, op, i);
	return op->kind == PUT || op->kind == INSERT || verb == NB_STEP_PUT ||
		verb == NB_STEP_INSERT || verb == NB_STEP_PUT_IF_NEWER;
}

bool
op_commits(const struct op *op)
{
	return op->seed % 3 != 0;
}

int
op_settles(const struct model *m, const struct op *op)
{
	const struct nb_engine *engine = m->subject.engine;
	if (engine->flush == NULL)
		return SETTLE_CHECKPOINT;
	return (int)(op->seed % (engine->checkpoint != NULL ? 3 : 2));
}

struct nb_slice
op_from(const struct model *m, const struct op *op)
{
	return op->seed % 4 == 0 ? (struct nb_slice){0} : op_key(m, op, 0);
}

/* --- printing --- */

size_t
op_write(const struct model *m, const struct op *op, char *to, size_t room)
{
	char quoted[QUOTE_SIZE];
	size_t at = 0;
	static const char *const settles[] = {"flush", "flush (compact)", "checkpoint"};
	uint32_t group = op_keys(op);
#define ADD(...) at += (size_t)snprintf(to + at, at < room ? room - at : 0, __VA_ARGS__)
	ADD("%s", op->kind == SETTLE ? settles[op_settles(m, op)] : op_kinds[op->kind].name);
	if (op->kind == SCAN || op->kind == SCAN_BACK) {
		struct nb_slice from = op_from(m, op);
		ADD(", %u records from %s", (unsigned)op->count,
			from.size == 0 ? "the end" : slice_quote(quoted, from));
	} else
		for (uint32_t i = 0; i < group && at < room; i++) {
			bool has_steps = op->kind == EXECUTE || op->kind == TRANSACTION;
			bool is_delete = op->kind == BATCH && op_is_delete(op, i);
			ADD("%s%s%s %s", i == 0 ? "" : ",", has_steps || is_delete ? " " : "",
				has_steps           ? step_names[op_verb(m, op, i)]
					: is_delete ? "del"
						    : "",
				slice_quote(quoted, op_key(m, op, i)));
			if (is_delete || !op_is_write(op) ||
				(has_steps && !op_writes_value(m, op, i)))
				continue;
			size_t size = op_value_size(m, op, i);
			ADD(" = %zu byte%s", size, size == 1 ? "" : "s");
		}
	if (op->kind == TRANSACTION)
		ADD(", %s", op_commits(op) ? "commit" : "abort");
	ADD("\n");
#undef ADD
	return at < room ? at : room;
}
