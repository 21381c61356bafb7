/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chooses the records of operations.
 *
 * The random numbers of an operation are splitmix64's, from a state that hashes (seed, group,
 * i). They are drawn in this order: first record, number of records, other records, then the
 * length of a scan or the sizes of values.
 *
 * The first records of a stratum are drawn together, because independent draws overlap. The
 * records of an operation follow those of the previous one. So a block has as many operations
 * as fit, and the last one may exceed it.
 *
 * Cause of wrong numbers: a distribution of the initial size never chooses new records. So
 * dist_resize() is called for each stratum.
 */
#include "workload/ops_choose.h"

#include <string.h>

/* Counters grow by 1..STEP_DELTAS, unless the job has an operand. */
enum { STEP_DELTAS = 1000 };
#define DELTA_SALT UINT64_C(0x2545f4914f6cdd1d)

/** Number of records from which a stratum chooses. */
static uint64_t
records_at(const struct ops_spec *spec, uint64_t stratum)
{
	uint64_t needed = records_needs(spec, stratum);
	return ops_records(spec) + ops_count_before(spec, NB_OP_INSERT, needed * OPS_STRATUM);
}

/** The record of a draw: numbers above the loaded records are the group's own inserts. */
static inline uint64_t
number_of(const struct ops_maker *maker, uint64_t drawn)
{
	uint64_t records = maker->spec->job->records;
	return __builtin_expect(drawn < records || records == 0, 1)
		? maker->low + drawn
		: ops_inserted_number(maker->spec, drawn - records);
}

/** number_of() for `count` operations of the stratum from `begin` on. */
static inline void
numbers_of(struct ops_maker *maker, uint32_t begin, uint32_t count)
{
	if (maker->low == 0 && maker->dist.n <= maker->spec->job->records) {
		memcpy(maker->numbers, maker->drawn + begin, count * sizeof(*maker->numbers));
		return;
	}
	for (uint32_t j = 0; j < count; j++)
		maker->numbers[j] = number_of(maker, maker->drawn[begin + j]);
}

/** Draw a record of upsert and delete. */
static inline uint64_t
draw_of_space(struct ops_maker *maker, uint64_t *random, uint64_t i)
{
	return maker->space_low + dist_draw(&maker->space_dist, random, i - maker->skipped);
}

/** Find slice `range` of all. Slices with one more record come first. Returns its begin. */
static uint64_t
slice_of(struct dist *dist, const struct dist *shortest, uint64_t all, uint32_t ranges,
	uint32_t range)
{
	uint64_t each = all / ranges, rest = all % ranges;
	uint64_t size = each + (range < rest);
	if (dist->n != size) {
		*dist = *shortest;
		dist_resize(dist, size);
	}
	return each * range + (range < rest ? range : rest);
}

/** The index of the k-th operation to visit again. */
static uint64_t
again_index(const struct ops_again *again, uint64_t k)
{
	const struct ops_turns *did = &again->did;
	uint32_t low = 0, high = did->threads;
	if (high == 0)
		return again->first + k;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (again->before[middle] <= k)
			low = middle;
		else
			high = middle;
	}
	k -= again->before[low];
	uint64_t stratum = k / OPS_STRATUM * did->of_all + did->before + low;
	return stratum * OPS_STRATUM + k % OPS_STRATUM;
}

/** The record of operation i of a spec with one kind; draws the same as records_begin(). */
static uint64_t
record_of(const struct ops_spec *spec, uint64_t i)
{
	uint64_t random = ops_random(spec, i);
	if (spec->one_kind == NB_OP_INSERT)
		return ops_inserted_number(spec, i);
	uint64_t drawn = dist_draw(&spec->dist, &random, i);
	return spec->one_kind == NB_OP_UPSERT ? dist_draw(&spec->space_dist, &random, i)
					      : drawn;
}

void
records_visit(const struct ops_again *again, const uint64_t *indexes, uint32_t count,
	uint64_t *numbers, uint8_t *expects)
{
	for (uint32_t j = 0; j < count; j++)
		numbers[j] = record_of(again->of, indexes[j]);
	memset(expects, OPS_BY_PLAN, count);
}

/**
 * Find the records that operations of the stratum visit again, by a bijection that is iterated
 * until its result is in range. Each round over all records uses another bijection.
 */
static void
visit_again(struct ops_maker *maker)
{
	const struct ops_again *again = maker->spec->again;
	const struct ops_turns *visit = &again->visit;
	bool is_permuted = maker->spec->group->distribution != NB_DIST_SEQUENTIAL;
	uint64_t stratum = maker->first / OPS_STRATUM, indexes[OPS_STRATUM];
	uint64_t own = stratum / visit->of_all * visit->threads + stratum % visit->of_all -
		visit->before;
	uint64_t lap = own * OPS_STRATUM / again->count, at = own * OPS_STRATUM % again->count;
	for (uint32_t j = 0; j < OPS_STRATUM; j++) {
		uint64_t k = at;
		do
			k = is_permuted
				? keyspace_permute(k, again->bits, maker->spec->seed + lap)
				: k;
		while (k >= again->count);
		indexes[j] = again_index(again, k);
		if (++at == again->count) {
			at = 0;
			lap++;
		}
	}
	again->of->source->visit(again, indexes, OPS_STRATUM, maker->drawn, maker->expects);
}

/** Move to the slices of the stratum, in which it is number stratum / ranges. */
static void
turn_to_slices(struct ops_maker *maker, uint64_t stratum)
{
	const struct ops_spec *spec = maker->spec;
	uint32_t ranges = spec->ranges, range = (uint32_t)(stratum % ranges);
	maker->low = slice_of(&maker->dist, &spec->dist, ops_records(spec), ranges, range);
	maker->space_low = slice_of(
		&maker->space_dist, &spec->space_dist, ops_space(spec), ranges, range);
	maker->skipped = (stratum - stratum / ranges) * OPS_STRATUM;
}

/** Adapt the distribution to the number of records at the stratum. */
static void
turn_to_records(struct ops_maker *maker, uint64_t stratum)
{
	uint64_t records = records_at(maker->spec, stratum);
	if (records == maker->dist.n)
		return;
	/* A worker's strata only rise; other callers that go back start from the beginning. */
	if (records < maker->dist.n)
		maker->dist = maker->spec->dist;
	dist_resize(&maker->dist, records);
}

void
records_begin(struct ops_maker *maker, uint64_t stratum)
{
	const struct ops_spec *spec = maker->spec;
	maker->first = stratum * OPS_STRATUM;
	maker->at = 0;
	maker->until = maker->first + ops_stratum_size(spec, maker->first);
	if (spec->plain_count > 0)
		return;
	ops_kinds(spec, stratum, maker->kinds);
	maker->inserted = ops_count_before(spec, NB_OP_INSERT, maker->first);
	splitmix64_fill(ops_random_state(spec, maker->first), maker->random, OPS_STRATUM);
	if (spec->again != NULL)
		visit_again(maker);
	if (spec->again != NULL || !spec->has_draws)
		return;
	if (spec->ranges > 1)
		turn_to_slices(maker, stratum);
	else
		turn_to_records(maker, stratum);
	dist_draw_block(&maker->dist, maker->random, maker->first - maker->skipped, OPS_STRATUM,
		maker->drawn);
}

/** Draw the number of records of an operation; after its first record, before the others. */
static inline uint32_t
draw_items(struct ops_maker *maker, uint32_t j)
{
	if (!ops_is_many(maker->kinds[j]))
		return 1;
	return (uint32_t)sizes_draw(&maker->spec->items, &maker->random[j]);
}

/** Draw the records of an operation after its first one. Long operations must be cheap. */
static void
draw_others(struct ops_maker *maker, uint32_t j, uint64_t *numbers, uint32_t items)
{
	uint64_t i = maker->first - maker->skipped + j;
	dist_draw_more(&maker->dist, &maker->random[j], i + 1, items - 1, numbers + 1);
	if (maker->low == 0 && maker->dist.n <= maker->spec->job->records)
		return; /* the draw is the record number */
	for (uint32_t k = 1; k < items; k++)
		numbers[k] = number_of(maker, numbers[k]);
}

/** The operand of an addition of operation i. */
static inline uint64_t
delta_of(const struct ops_spec *spec, const struct nb_kind_step *step, uint64_t i, uint32_t k)
{
	uint64_t mixed = splitmix64_mix((spec->seed ^ DELTA_SALT) + i * NB_ITEMS_MAX + k);
	return step->operand > 0 ? step->operand : mixed % STEP_DELTAS + 1;
}

/** Draw `count` records for steps of an operation; `at` is the number of the first of them. */
static void
draw_for_steps(struct ops_maker *maker, uint32_t j, bool is_of_space, uint64_t *numbers,
	uint32_t at, uint32_t count)
{
	uint64_t i = maker->first - maker->skipped + j, *random = &maker->random[j];
	uint32_t drawn = at == 0 && count > 0 && !is_of_space;
	if (drawn > 0)
		numbers[0] = maker->drawn[j];
	dist_draw_more(is_of_space ? &maker->space_dist : &maker->dist, random, i + at + drawn,
		count - drawn, numbers + at + drawn);
	for (uint32_t k = at; k < at + count; k++)
		numbers[k] = is_of_space ? maker->space_low + numbers[k]
					 : number_of(maker, numbers[k]);
}

/** Make the steps of an operation and choose their records. Returns the number of steps. */
static uint32_t
choose_steps(struct ops_maker *maker, uint32_t j, uint64_t *numbers, struct nb_step *steps)
{
	const struct ops_spec *spec = maker->spec;
	const struct nb_kind *kind = kind_row(spec->job, maker->kinds[j]);
	uint64_t i = maker->first + j;
	uint32_t begins[NB_KIND_STEPS_MAX + 1] = {0}, count = 0;
	for (uint32_t s = 0; s < kind->step_count; s++) {
		const struct nb_kind_step *step = &kind->steps[s];
		const uint32_t *like = &begins[step->same - (step->same > 0)];
		uint32_t times = step->same > 0 ? like[1] - like[0] : step->times_min;
		bool is_of_space = (KIND_SPACE >> step->verb & 1) != 0;
		if (step->times_max > step->times_min && step->same == 0)
			times += (uint32_t)dist_below(
				&maker->random[j], step->times_max - step->times_min + 1);
		if (step->same > 0)
			memcpy(numbers + count, numbers + *like, times * sizeof(*numbers));
		else
			draw_for_steps(maker, j, is_of_space, numbers, count, times);
		for (uint32_t k = 0; k < times; k++, count++)
			steps[count] = (struct nb_step){.verb = step->verb,
				.operand = step->verb == NB_STEP_MERGE
					? delta_of(spec, step, i, count)
					: step->verb == NB_STEP_PUT_IF_NEWER ? VALUES_AGE_AT
									     : 0};
		begins[s + 1] = count;
	}
	return count;
}

/** choose_steps() for KIND_ADD: one addition to the drawn record. */
static inline void
choose_addition(struct ops_maker *maker, uint32_t j, uint64_t *numbers, struct nb_step *steps)
{
	static const struct nb_kind_step step = {.verb = NB_STEP_MERGE};
	uint64_t delta = delta_of(maker->spec, &step, maker->first + j, 0);
	numbers[0] = number_of(maker, maker->drawn[j]);
	steps[0] = (struct nb_step){.verb = NB_STEP_MERGE, .operand = delta};
}

/** Choose the records of an operation; the first is drawn, or the next insert. */
static inline void
choose(struct ops_maker *maker, uint32_t j, uint64_t *numbers, uint32_t items)
{
	const struct ops_spec *spec = maker->spec;
	uint64_t i = maker->first + j;
	if (spec->is_array) {
		numbers[0] = i % spec->job->records;
		return;
	}
	if (spec->again != NULL) {
		numbers[0] = maker->drawn[j];
		return;
	}
	switch (maker->kinds[j]) {
	case NB_OP_INSERT:
		numbers[0] = ops_inserted_number(spec, maker->inserted++);
		return;
	case NB_OP_UPSERT:
	case NB_OP_DELETE:
		numbers[0] = draw_of_space(maker, &maker->random[j], i);
		return;
	default:
		numbers[0] = number_of(maker, maker->drawn[j]);
		if (items > 1)
			draw_others(maker, j, numbers, items);
	}
}

uint64_t
ops_scan_length(struct ops_maker *maker, uint32_t j)
{
	const struct nb_group *group = maker->spec->group;
	const struct dist *dist = &maker->spec->scan_dist;
	uint64_t drawn = dist_draw(dist, &maker->random[j], 0);
	/* 'latest' has its most frequent number at the end */
	if (dist->kind == NB_DIST_LATEST)
		drawn = dist->n - 1 - drawn;
	return group->scan_min + drawn;
}

/** Whether each stratum draws a record for every operation; some kinds need nothing more. */
static inline bool
draws_all(const struct ops_spec *spec)
{
	return spec->has_draws && !spec->is_array && spec->again == NULL;
}

/** Whether operations of that kind need only the record drawn for them. */
static inline bool
is_drawn(uint32_t kind)
{
	return (1u << kind & OP_DRAWN_MASK) != 0;
}

/**
 * Choose records of the next operations, up to `left` or a full block; returns their number.
 */
static uint32_t
choose_ones(struct ops_maker *maker, uint32_t begin, uint32_t left)
{
	const struct ops_spec *spec = maker->spec;
	uint32_t count = left < maker->block ? left : maker->block;
	uint64_t first = maker->first + begin;
	for (uint32_t j = 0; j < count; j++) {
		maker->ops[j].index = first + j;
		maker->ops[j].kind = maker->kinds[begin + j];
	}
	bool are_drawn = draws_all(spec);
	for (uint32_t j = 0; j < count && spec->again != NULL; j++)
		maker->ops[j].expects = maker->expects[begin + j];
	if (are_drawn)
		numbers_of(maker, begin, count);
	if (are_drawn && (spec->kinds & ~OP_DRAWN_MASK) == 0)
		return count;
	for (uint32_t j = 0; j < count; j++) {
		struct ops_op *op = &maker->ops[j];
		op->length = 0;
		if (are_drawn && is_drawn(op->kind))
			continue;
		choose(maker, begin + j, &maker->numbers[j], 1);
		op->length = op->kind == NB_OP_SCAN ? ops_scan_length(maker, begin + j) : 0;
	}
	return count;
}

/** The same if some operations have many records; *records is their total. */
static uint32_t
choose_many(struct ops_maker *maker, uint32_t begin, uint32_t left, uint32_t *records)
{
	uint32_t count = 0, used = 0, block = maker->block;
	bool are_drawn = draws_all(maker->spec);
	for (uint32_t j = 0; j < left && used < block; j++, count++) {
		uint32_t kind = maker->kinds[begin + j], items = 1;
		uint64_t *numbers = maker->numbers + used;
		struct ops_op op = {.kind = kind,
			.index = maker->first + begin + j,
			.numbers = numbers,
			.keys = maker->keys + used,
			.values = maker->values + used};
		if (are_drawn && is_drawn(kind)) {
			numbers[0] = number_of(maker, maker->drawn[begin + j]);
		} else if (kind == KIND_ADD) {
			op.steps = maker->steps + used;
			choose_addition(maker, begin + j, numbers, op.steps);
		} else if (kind_is_steps(kind)) {
			op.steps = maker->steps + used;
			items = choose_steps(maker, begin + j, numbers, op.steps);
		} else {
			items = draw_items(maker, begin + j);
			choose(maker, begin + j, numbers, items);
			op.length = kind == NB_OP_SCAN ? ops_scan_length(maker, begin + j) : 0;
		}
		op.items = items;
		maker->ops[j] = op;
		used += items;
	}
	*records = used;
	return count;
}

uint32_t
ops_choose(struct ops_maker *maker, uint32_t *records)
{
	uint32_t begin = maker->at, size = ops_stratum_size(maker->spec, maker->first);
	uint32_t left = size > begin ? size - begin : 0;
	if (!ops_is_of_ones(maker->spec))
		return choose_many(maker, begin, left, records);
	*records = choose_ones(maker, begin, left);
	return *records;
}

/** Whether a step with one of these verbs uses the record. */
static bool
steps_write(struct ops_maker *maker, uint32_t j, uint64_t number, uint32_t verbs)
{
	uint64_t numbers[NB_ITEMS_MAX];
	struct nb_step steps[NB_ITEMS_MAX];
	uint32_t count = choose_steps(maker, j, numbers, steps);
	for (uint32_t k = 0; k < count; k++) {
		if (numbers[k] == number && (verbs >> steps[k].verb & 1) != 0)
			return true;
	}
	return false;
}

/** Move to the stratum of operation i, which is then the j-th; for a spec that draws. */
static uint32_t
turn_to(struct ops_maker *maker, uint64_t i)
{
	uint32_t j = (uint32_t)(i % OPS_STRATUM);
	records_begin(maker, i / OPS_STRATUM);
	for (uint32_t before = 0; before < j; before++)
		maker->inserted += maker->kinds[before] == NB_OP_INSERT;
	return j;
}

static bool
goes_to(struct ops_maker *maker, uint32_t j, uint64_t number)
{
	uint64_t numbers[NB_ITEMS_MAX];
	uint32_t items = draw_items(maker, j);
	choose(maker, j, numbers, items);
	for (uint32_t k = 0; k < items; k++) {
		if (numbers[k] == number)
			return true;
	}
	return false;
}

/** A maker that only examines operations and makes no keys or values. */
static struct ops_maker
maker_of(const struct ops_spec *spec)
{
	return (struct ops_maker){
		.spec = spec, .dist = spec->dist, .space_dist = spec->space_dist};
}

bool
records_writes(const struct ops_spec *spec, uint64_t i, uint64_t number)
{
	struct ops_maker maker = maker_of(spec);
	if (spec->plain_count > 0)
		return ops_is_write(spec->one_kind) &&
			number == spec->plain_first + i % spec->plain_count;
	uint32_t j = turn_to(&maker, i);
	if (kind_is_steps(maker.kinds[j]))
		return steps_write(&maker, j, number, KIND_PUTS);
	return ops_is_write(maker.kinds[j]) && goes_to(&maker, j, number);
}

bool
records_puts_at_once(const struct ops_spec *spec, uint64_t i, uint64_t number)
{
	struct ops_maker maker = maker_of(spec);
	if (spec->plain_count > 0)
		return false;
	uint32_t j = turn_to(&maker, i);
	const struct nb_kind *kind = kind_row(spec->job, maker.kinds[j]);
	if (kind != NULL)
		return kind->atomic != NB_ATOMIC_NO &&
			steps_write(&maker, j, number, 1 << NB_STEP_PUT);
	return maker.kinds[j] == NB_OP_TXN_WRITE && goes_to(&maker, j, number);
}

bool
ops_has_written(const struct ops_op *op, uint32_t item)
{
	for (uint32_t k = 0; k < item; k++) {
		if (op->numbers[k] == op->numbers[item] && op->steps[k].answer == NB_OK &&
			(KIND_CHANGES >> op->steps[k].verb & 1) != 0)
			return true;
	}
	return false;
}
