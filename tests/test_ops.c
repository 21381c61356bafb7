/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#define XXH_NO_INLINE_HINTS 1 /* at -Og, GCC 14 cannot inline every function that demands it */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "ops_rig.h"

/** Copy all bytes of an operation that determine it. */
static void
append_op(const struct ops_op *op, void *arg)
{
	FILE *out = arg;
	fprintf(out, "%u %llu %llu", op->kind, (unsigned long long)op->index,
		(unsigned long long)op->length);
	for (uint32_t k = 0; k < op->items; k++) {
		fprintf(out, " %llu ", (unsigned long long)op->numbers[k]);
		fwrite(op->keys[k].data, 1, op->keys[k].size, out);
		if (ops_is_write(op->kind))
			fwrite(op->values[k].data, 1, op->values[k].size, out);
	}
}

static char *
text_of(struct ops_maker *maker, const uint64_t *strata, size_t count, size_t *size)
{
	char *text;
	FILE *out = open_memstream(&text, size);
	for (size_t i = 0; i < count; i++)
		each_op(maker, strata[i], append_op, out);
	fclose(out);
	return text;
}

TEST(operation_does_not_depend_on_earlier_ones)
{
	for (uint32_t dist = 0; dist < NB_DIST_KINDS; dist++) {
		struct fixture f;
		struct ops_maker one, other;
		size_t size, again_size;
		set_up(&f);
		set_all_kinds(&f);
		f.group.distribution = dist;
		f.job.values = (struct nb_sizes){.kind = NB_SIZE_UNIFORM, .min = 0, .max = 300};
		make_spec(&f, &f.group, 1, 2);
		ck_assert_int_eq(ops_maker_create(&one, &f.spec), NB_OK);
		ck_assert_int_eq(ops_maker_create(&other, &f.spec), NB_OK);
		for (uint64_t s = 0; s < 40; s++) {
			uint64_t before[] = {s > 0 ? s - 1 : 90, s};
			char *alone = text_of(&one, &s, 1, &size);
			char *behind = text_of(&other, before, 2, &again_size);
			ck_assert_uint_ge(again_size, size);
			ck_assert_int_eq(memcmp(alone, behind + again_size - size, size), 0);
			free(alone);
			free(behind);
		}
		ops_maker_destroy(&one);
		ops_maker_destroy(&other);
		tear_down(&f);
	}
}

/* All kinds are rare in this mix: see the second distribution rule of ops_spec.c. */
TEST(stream_of_every_kind_stays_the_same)
{
	static const uint64_t expected[] = {
		UINT64_C(7513540934078233151), UINT64_C(17464960152463021755)};
	static const uint64_t strata[] = {0, 1, 2, 3, 77, 4096};
	for (int sized = 0; sized < 2; sized++) {
		struct fixture f;
		size_t size;
		set_up(&f);
		set_all_kinds(&f);
		f.group.distribution = sized ? NB_DIST_ZIPFIAN : NB_DIST_UNIFORM;
		f.group.items = sized ? 7 : 100;
		f.job.values.kind = sized ? NB_SIZE_UNIFORM : NB_SIZE_FIXED;
		f.job.values.max = sized ? 300 : 100;
		make_spec(&f, &f.group, 0, 1);
		char *text = text_of(&f.maker, strata, UNIT_COUNT(strata), &size);
		ck_assert_uint_eq(XXH3_64bits(text, size), expected[sized]);
		free(text);
		tear_down(&f);
	}
}

static void
count_packed(const struct ops_op *op, void *arg)
{
	*(uint32_t *)arg += op->items;
}

TEST(long_operations_leave_a_block_to_short_ones)
{
	struct fixture f;
	set_up(&f);
	f.group.weights[NB_OP_READ] = 63;
	f.group.weights[NB_OP_TXN_READ] = 1;
	f.group.items = 500;
	make_spec(&f, &f.group, 0, 1);
	uint32_t blocks = 0, records = 0;
	for (uint64_t s = 0; s < 10; s++) {
		ops_begin(&f.maker, s);
		for (uint32_t made; (made = ops_make(&f.maker)) > 0; blocks++) {
			for (uint32_t j = 0; j < made; j++)
				count_packed(&f.maker.ops[j], &records);
		}
	}
	ck_assert_uint_eq(records, 10 * (63 + 500));
	ck_assert_uint_le(blocks, 20);
	tear_down(&f);
}

static void
check_value(const struct ops_op *op, void *arg)
{
	const struct ops_spec *spec = arg;
	for (uint32_t k = 0; k < op->items && ops_is_write(op->kind); k++) {
		ck_assert_int_eq(value_check_any(op->values[k], op->keys[k]), VALUE_GOOD);
		ck_assert_uint_ge(op->values[k].size, spec->sizes->min);
		ck_assert_uint_le(op->values[k].size, spec->sizes->max);
		if (op->values[k].size >= 16)
			ck_assert_uint_eq(
				value_version(op->values[k]), ops_version(spec, op->index));
	}
	if (op->kind == NB_OP_SCAN) {
		ck_assert_uint_ge(op->length, 1);
		ck_assert_uint_le(op->length, 100);
	}
}

TEST(values_belong_to_their_keys_and_versions)
{
	for (int is_fixed = 0; is_fixed < 2; is_fixed++) {
		struct fixture f;
		set_up(&f);
		set_all_kinds(&f);
		if (!is_fixed)
			f.job.values = (struct nb_sizes){
				.kind = NB_SIZE_UNIFORM, .min = 1, .max = 3000};
		make_spec(&f, &f.group, 0, 1);
		for (uint64_t s = 0; s < 50; s++)
			each_op(&f.maker, s, check_value, &f.spec);
		tear_down(&f);
	}
}

/**
 * A maker that goes by strata and one that starts and ends anywhere make the same operations.
 */
static void
compare_makers(const struct ops_spec *spec, uint64_t from, uint64_t until)
{
	struct ops_maker strata, share;
	uint64_t next = from;
	uint32_t made;
	ck_assert_int_eq(ops_maker_create(&strata, spec), NB_OK);
	ck_assert_int_eq(ops_maker_create(&share, spec), NB_OK);
	ops_begin_at(&share, from, until);
	while ((made = ops_make(&share)) > 0) {
		for (uint32_t j = 0; j < made; j++, next++) {
			const struct ops_op *is = &share.ops[j], *op = NULL;
			ops_begin(&strata, next / OPS_STRATUM);
			for (uint32_t n; op == NULL && (n = ops_make(&strata)) > 0;)
				for (uint32_t k = 0; k < n; k++)
					op = strata.ops[k].index == next ? &strata.ops[k] : op;
			ck_assert_ptr_nonnull(op);
			ck_assert_uint_eq(is->index, next);
			ck_assert_uint_eq(is->kind, op->kind);
			ck_assert_uint_eq(is->numbers[0], op->numbers[0]);
			ck_assert_mem_eq(is->keys[0].data, op->keys[0].data, 16);
			if (ops_is_write(op->kind))
				ck_assert_mem_eq(is->values[0].data, op->values[0].data, 100);
		}
	}
	ck_assert_uint_eq(next, until);
	ops_maker_destroy(&strata);
	ops_maker_destroy(&share);
}

TEST(ordered_operations_are_the_same_from_any_start)
{
	static const uint32_t kinds[] = {NB_OP_READ, NB_OP_UPDATE, NB_OP_DELETE, NB_OP_INSERT};
	for (size_t c = 0; c < sizeof(kinds) / sizeof(*kinds); c++) {
		struct fixture f;
		set_up(&f);
		f.group.weights[kinds[c]] = 1;
		f.group.distribution = NB_DIST_SEQUENTIAL;
		f.group.count = 777;
		bool is_load = kinds[c] == NB_OP_INSERT;
		make_spec(&f, is_load ? &f.loading : &f.group, 0, 1);
		f.spec.end = 777;
		ck_assert(ops_is_once(&f.spec));
		compare_makers(&f.spec, 0, 1);
		compare_makers(&f.spec, 1, 65);
		compare_makers(&f.spec, 127, 128);
		compare_makers(&f.spec, 713, 777);
		tear_down(&f);
	}
}

TEST(operations_that_return_to_a_record_are_not_once)
{
	struct fixture f;
	set_up(&f);
	f.group.weights[NB_OP_READ] = 1;
	f.group.distribution = NB_DIST_SEQUENTIAL;
	f.group.count = RECORDS + 1;
	make_spec(&f, &f.group, 0, 1);
	ck_assert(!ops_is_once(&f.spec));
	f.spec.end = RECORDS;
	ck_assert(ops_is_once(&f.spec));
	f.group.distribution = NB_DIST_UNIFORM;
	ops_spec_create(&f.spec, &f.job, &f.group, &f.keys, &f.sizes, 0, 1);
	f.spec.end = RECORDS;
	ck_assert(!ops_is_once(&f.spec));
	tear_down(&f);
}
