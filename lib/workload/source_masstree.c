/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source `masstree`: sequences of operations with known results.
 *
 * They follow the tests of Masstree's mttest (kvtest.hh) that no mix of independent operations
 * can express: threads that use their own records, follow each other, or scan between writers.
 * A thread has the strata s with s mod `ranges` = r, its range. So operation n of a range is a
 * pure function of (seed, test, ranges, r, n), and the operations that put its records are
 * known. So each read and delete knows whether its record exists. The function `after` computes
 * the state of all records after any number of operations, which a later group verifies with
 * `again`.
 */
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "workload/job.h"
#include "workload/masstree_tests.h"

/* Version of the algorithm of the streams; part of the digest. */
enum { MASSTREE_VERSION = 1 };

static const struct masstree_test *
test_of(const struct nb_group *group)
{
	return &masstree_tests[group->masstree_test];
}

static int
check(const struct nb_job *job, const struct nb_group *group)
{
	const struct masstree_test *test = test_of(group);
	const char *name = masstree_test_name(group->masstree_test);
	uint32_t kinds = 0;
	(void)job;
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++)
		kinds |= (uint32_t)(group->weights[kind] > 0) << kind;
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
		/* clumps may have no reads */
		bool is_optional = group->masstree_test == NB_TEST_CLUMPS && kind == NB_OP_READ;
		if (!is_optional && ((kinds ^ test->kinds) >> kind & 1) != 0)
			return error_set(NB_ERR_USAGE, "masstree-test: %s needs %s %s = 0",
				name, nb_op_name(kind),
				(kinds >> kind & 1) != 0 ? "with the share"
							 : "with a share above");
	}
	if ((kinds & KINDS_OF_STEPS) != 0)
		return error_set(NB_ERR_USAGE,
			"masstree-test: %s has no operations of several steps", name);
	if (group->depth > 1)
		return error_set(NB_ERR_USAGE,
			"depth: must be 1 with source masstree, because its operations expect the effects of earlier operations");
	if (group->again[0] != '\0')
		return error_set(NB_ERR_USAGE,
			"again: needs source = records; masstree chooses the records itself");
	return NB_OK;
}

static int
check_ranges(const struct nb_job *job, const struct nb_group *group, uint32_t threads)
{
	(void)job;
	if (threads >= test_of(group)->ranges_min)
		return NB_OK;
	return error_set(NB_ERR_USAGE,
		"masstree-test: %s needs at least %u threads, of which some follow the others; got %u",
		masstree_test_name(group->masstree_test), test_of(group)->ranges_min, threads);
}

static uint64_t
numbers(const struct nb_job *job, const struct nb_group *group)
{
	return test_of(group)->numbers(job);
}

static void
divide(struct ops_spec *spec, uint32_t threads)
{
	spec->ranges = threads;
	spec->plain_count = 0;
	spec->has_draws = false;
	spec->one_kind = NB_OP_KINDS;
	spec->has_own_keys = test_of(spec->group)->has_own_keys ||
		spec->group->key_range == NB_RANGE_PRIVATE;
}

static uint64_t
needs(const struct ops_spec *spec, uint64_t stratum)
{
	bool follows = stratum % spec->ranges % 2 == 1;
	return test_of(spec->group)->has_waits && follows ? stratum : 0;
}

static void
draw_stratum(const struct ops_spec *spec, uint64_t stratum, struct masstree_draw *draw)
{
	draw->spec = spec;
	draw->range = (uint32_t)(stratum % spec->ranges);
	draw->local = stratum / spec->ranges;
	for (uint32_t j = 0; j < OPS_STRATUM; j++)
		draw->random[j] = ops_random(spec, stratum * OPS_STRATUM + j);
	test_of(spec->group)->draw(draw);
}

static void
begin(struct ops_maker *maker, uint64_t stratum)
{
	struct masstree_draw draw;
	draw_stratum(maker->spec, stratum, &draw);
	maker->first = stratum * OPS_STRATUM;
	maker->until = maker->first + ops_stratum_size(maker->spec, maker->first);
	maker->at = 0;
	memcpy(maker->random, draw.random, sizeof(draw.random));
	memcpy(maker->drawn, draw.numbers, sizeof(draw.numbers));
	memcpy(maker->kinds, draw.kinds, sizeof(draw.kinds));
	memcpy(maker->expects, draw.expects, sizeof(draw.expects));
}

static uint32_t
make(struct ops_maker *maker)
{
	uint32_t begin = maker->at, left = (uint32_t)(maker->until - maker->first) - begin;
	uint32_t count = left < maker->block ? left : maker->block;
	for (uint32_t j = 0; j < count; j++) {
		struct ops_op *op = &maker->ops[j];
		op->index = maker->first + begin + j;
		op->kind = maker->kinds[begin + j];
		op->expects = maker->expects[begin + j];
		maker->numbers[j] = maker->drawn[begin + j];
		op->length = op->kind == NB_OP_SCAN ? ops_scan_length(maker, begin + j) : 0;
	}
	ops_fill(maker, count, count);
	return count;
}

static bool
writes(const struct ops_spec *spec, uint64_t i, uint64_t number)
{
	struct masstree_draw draw;
	uint32_t j = (uint32_t)(i % OPS_STRATUM);
	draw_stratum(spec, i / OPS_STRATUM, &draw);
	return ops_is_write(draw.kinds[j]) && draw.numbers[j] == number;
}

static bool
puts_at_once(const struct ops_spec *spec, uint64_t i, uint64_t number)
{
	(void)spec, (void)i, (void)number;
	return false; /* it has no operations of several steps */
}

static uint64_t
digest(const struct ops_spec *spec, uint64_t keys_hash)
{
	uint64_t words[] = {NB_SOURCE_MASSTREE, MASSTREE_VERSION, spec->group->masstree_test,
		spec->group->key_range, records_digest(spec, keys_hash), spec->ranges};
	return XXH3_64bits(words, sizeof(words));
}

static void
visit(const struct ops_again *again, const uint64_t *indexes, uint32_t count, uint64_t *numbers,
	uint8_t *expects)
{
	const struct ops_spec *of = again->of;
	const struct masstree_test *test = test_of(of->group);
	struct masstree_draw draw;
	for (uint32_t j = 0; j < count; j++) {
		draw_stratum(of, indexes[j] / OPS_STRATUM, &draw);
		numbers[j] = draw.numbers[indexes[j] % OPS_STRATUM];
		expects[j] = test->after(of, again->done, numbers[j]);
	}
}

static bool
can_visit(const struct nb_group *group)
{
	return test_of(group)->after != NULL;
}

static bool
has_between(const struct ops_spec *spec, uint64_t from, uint64_t to)
{
	uint64_t fixed = masstree_set_size(spec->job);
	uint64_t next = (from + MASSTREE_FIXED_STEP - 1) / MASSTREE_FIXED_STEP;
	next = next > 0 ? next : 1;
	return next <= fixed && next * MASSTREE_FIXED_STEP < to;
}

const struct source source_masstree = {.check = check,
	.check_ranges = check_ranges,
	.numbers = numbers,
	.divide = divide,
	.needs = needs,
	.begin = begin,
	.make = make,
	.writes = writes,
	.puts_at_once = puts_at_once,
	.digest = digest,
	.can_visit = can_visit,
	.visit = visit,
	.has_between = has_between};

const char *
masstree_test_name(uint32_t test)
{
#define NAME(id, name) [NB_TEST_##id] = name,
	static const char *const names[NB_TESTS] = {MASSTREE_TESTS(NAME)};
#undef NAME
	return test < NB_TESTS ? names[test] : NULL;
}
