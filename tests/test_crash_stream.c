/* SPDX-License-Identifier: BSD-2-Clause */
/* The operations of crash tests: repeatable, and each identified by its bytes. */
#include <string.h>

#include "check/suite.h"
#include "crash/crash.h"
#include "unit.h"

static const struct nb_engine engine = {.key_size_max = 0,
	.caps = NB_CAP_ATOMIC_BATCH,
	.batch = (int (*)(struct nb_session *, const struct nb_write *, size_t, uint32_t))1};

static struct crash_plan
plan_of(uint64_t seed, uint32_t key_size_max, uint64_t value_size_max, bool has_batches)
{
	struct crash_plan plan;
	struct nb_engine own = engine;
	own.key_size_max = key_size_max;
	own.value_size_max = value_size_max;
	if (!has_batches)
		own.batch = NULL;
	crash_plan_create(&plan, &own, 3, seed);
	return plan;
}

TEST(operation_follows_from_its_number)
{
	struct crash_plan plan = plan_of(7, 0, 0, true), other = plan_of(8, 0, 0, true);
	uint32_t kinds[CRASH_ABORT + 1] = {0}, same_keys = 0, differing = 0;
	for (uint64_t i = 0; i < 2000; i++) {
		struct crash_op a, b, c;
		crash_op_make(&a, &plan, 1, i);
		crash_op_make(&b, &plan, 1, 1999 - i); /* in any order */
		crash_op_make(&b, &plan, 1, i);
		ck_assert_mem_eq(&a, &b, sizeof(a));
		crash_op_make(&b, &plan, 2, i);
		crash_op_make(&c, &other, 1, i);
		differing += memcmp(&a, &b, sizeof(a)) != 0 && memcmp(&a, &c, sizeof(a)) != 0;
		kinds[a.kind]++;
		ck_assert_uint_ge(a.count, 1);
		ck_assert_uint_le(a.count, a.kind == CRASH_BATCH ? CRASH_BATCH_MAX : 1);
		for (uint32_t k = 0; k < a.count; k++) {
			ck_assert_uint_lt(a.writes[k].key, plan.keys);
			same_keys += k > 0 && a.writes[k].key == a.writes[k - 1].key;
		}
		ck_assert_int_eq(
			a.kind == CRASH_DEL, a.kind != CRASH_BATCH && a.writes[0].is_delete);
	}
	ck_assert_uint_gt(differing, 1900);
	ck_assert_uint_gt(kinds[CRASH_PUT], 1000);
	ck_assert_uint_gt(kinds[CRASH_DEL], 200);
	ck_assert_uint_gt(kinds[CRASH_BATCH], 300);
	ck_assert_uint_gt(same_keys, 50);
}

TEST(batches_appear_only_if_the_engine_has_them)
{
	struct crash_plan plan = plan_of(7, 0, 0, false);
	struct crash_op op;
	for (uint64_t i = 0; i < 500; i++) {
		crash_op_make(&op, &plan, 0, i);
		ck_assert_uint_ne(op.kind, CRASH_BATCH);
		ck_assert_uint_eq(op.count, 1);
	}
}

TEST(transactions_and_counters_appear_only_if_the_engine_has_them)
{
	struct crash_plan plan = plan_of(7, 0, 0, true);
	uint32_t kinds[CRASH_ABORT + 1] = {0}, adds = 0;
	struct crash_op op;
	plan.has_txns = plan.has_execute = plan.has_counters = true;
	for (uint64_t i = 0; i < 2000; i++) {
		crash_op_make(&op, &plan, 0, i);
		kinds[op.kind]++;
		ck_assert(op.count == 1 || op.kind >= CRASH_BATCH);
		for (uint32_t k = 0; k < op.count; k++) {
			adds += op.writes[k].is_add;
			ck_assert(!op.writes[k].is_add ||
				(crash_is_counter(&plan, op.writes[k].key) &&
					op.kind != CRASH_BATCH && !op.writes[k].is_delete));
		}
	}
	for (uint32_t kind = 0; kind <= CRASH_ABORT; kind++)
		ck_assert_uint_gt(kinds[kind], 20);
	ck_assert_uint_gt(adds, 300);
}

TEST(keys_differ_and_fit)
{
	static unsigned char keys[3 * CRASH_KEYS][CRASH_KEY_MAX];
	static size_t sizes[3 * CRASH_KEYS];
	static const uint32_t limits[] = {4, 5, 16, 200, 0};
	for (size_t l = 0; l < sizeof(limits) / sizeof(*limits); l++) {
		struct crash_plan plan = plan_of(7, limits[l], 0, true);
		size_t count = 0, longest = 0;
		plan.keys = CRASH_KEYS / 5; /* every key is compared with every other */
		for (uint32_t s = 0; s < plan.sessions; s++)
			for (uint32_t k = 0; k < plan.keys; k++, count++) {
				sizes[count] = crash_key_make(keys[count], &plan, s, k);
				longest = sizes[count] > longest ? sizes[count] : longest;
				ck_assert_uint_ge(sizes[count], CRASH_KEY_MIN);
			}
		ck_assert_uint_le(longest, limits[l] != 0 ? limits[l] : CRASH_KEY_MAX);
		ck_assert_uint_ge(longest, limits[l] > 16 ? 100 : CRASH_KEY_MIN);
		for (size_t i = 0; i < count; i++)
			for (size_t k = 0; k < i; k++)
				ck_assert(sizes[i] != sizes[k] ||
					memcmp(keys[i], keys[k], sizes[i]) != 0);
	}
}

TEST(value_identifies_its_write)
{
	static unsigned char value[CRASH_VALUE_MAX];
	struct crash_plan plan = plan_of(7, 0, 0, true), other = plan_of(8, 0, 0, true);
	uint32_t session, shorts = 0, longs = 0;
	for (uint64_t write = 1; write < 3000; write++) {
		size_t size = crash_value_make(value, &plan, 2, write);
		struct nb_slice slice = {.data = value, .size = size};
		ck_assert_uint_eq(size, crash_value_size(&plan, 2, write));
		ck_assert_uint_le(size, CRASH_VALUE_MAX);
		shorts += size < CRASH_VALUE_TELLS;
		longs += size >= 1024;
		session = 99;
		uint64_t read = crash_value_read(&plan, slice, &session);
		ck_assert_uint_eq(read, size < CRASH_VALUE_TELLS ? 0 : write);
		ck_assert(read == 0 || session == 2);
		ck_assert_uint_eq(crash_value_read(&other, slice, &session), 0);
		slice.size -= size > 0;
		ck_assert_uint_eq(crash_value_read(&plan, slice, &session), 0);
	}
	ck_assert_uint_gt(shorts, 200);
	ck_assert_uint_gt(longs, 150);
}

TEST(any_changed_byte_is_detected)
{
	static unsigned char value[CRASH_VALUE_MAX], next[CRASH_VALUE_MAX];
	struct crash_plan plan = plan_of(7, 0, 0, true);
	uint32_t session;
	uint64_t write = 1;
	while (crash_value_size(&plan, 0, write) < 2048)
		write++;
	size_t size = crash_value_make(value, &plan, 0, write);
	struct nb_slice slice = {.data = value, .size = size};
	for (size_t i = 0; i < size; i += 1 + i / 8) {
		value[i] ^= 1;
		ck_assert_uint_eq(crash_value_read(&plan, slice, &session), 0);
		value[i] ^= 1;
	}
	ck_assert_uint_eq(crash_value_read(&plan, slice, &session), write);
	/*
	 * The beginning of one value and the end of another, as after a partial write of
	 * several blocks.
	 */
	uint64_t other = write + 1;
	while (crash_value_size(&plan, 0, other) < size)
		other++;
	crash_value_make(next, &plan, 0, other);
	memcpy(value + 1024, next + 1024, size - 1024);
	ck_assert_uint_eq(crash_value_read(&plan, slice, &session), 0);
}

TEST(values_keep_to_the_limit)
{
	for (uint64_t limit = 1; limit < 3000; limit += 1 + limit / 2) {
		struct crash_plan plan = plan_of(7, 0, limit, true);
		for (uint64_t write = 1; write < 300; write++)
			ck_assert_uint_le(crash_value_size(&plan, 0, write), limit);
	}
}

static uint64_t
fold(uint64_t hash, uint64_t number)
{
	return (hash ^ number) * UINT64_C(0x100000001b3);
}

static uint64_t
fold_bytes(uint64_t hash, const unsigned char *bytes, size_t size)
{
	hash = fold(hash, size);
	for (size_t i = 0; i < size; i++)
		hash = fold(hash, bytes[i]);
	return hash;
}

/*
 * A kept crash contains only the plan, and may be years old. So the stream must not change: the
 * hash must be the one of this CRASH_STREAM. If the stream changes, both numbers must.
 */
TEST(stream_depends_only_on_its_number)
{
	static unsigned char bytes[CRASH_VALUE_MAX];
	struct crash_plan plan = plan_of(7, 64, 0, true);
	uint64_t hash = CRASH_STREAM;
	for (uint64_t i = 0; i < 400; i++) {
		struct crash_op op;
		plan.has_txns = plan.has_execute = plan.has_counters = i >= 200;
		crash_op_make(&op, &plan, 1, i);
		hash = fold(fold(hash, op.kind), op.count);
		for (uint32_t k = 0; k < op.count; k++)
			hash = fold(fold(hash, op.writes[k].key),
				op.writes[k].is_delete + 2 * op.writes[k].is_add);
		hash = fold(hash, crash_operand(&plan, 1, i));
	}
	for (uint32_t k = 0; k < 40; k++)
		hash = fold_bytes(hash, bytes, crash_key_make(bytes, &plan, 1, k));
	for (uint64_t write = 1; write < 60; write++)
		hash = fold_bytes(hash, bytes, crash_value_make(bytes, &plan, 1, write));
	if (*(const unsigned char *)&(uint32_t){1} == 1) /* values are in native byte order */
		ck_assert_uint_eq(hash, UINT64_C(14065789661275133611));
}
