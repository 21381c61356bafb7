/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations of TAOBench, as its published generator makes them.
 *
 * A read uses an object or an edge. It draws a primary shard, then one of the shard's loaded
 * edges, uniformly. An object is the first one of that edge. An update or a delete chooses
 * likewise; an insert makes a new id. A transaction is a number of independent reads or writes.
 * The authors of TAOBench measured more, such as keys that often occur together in a
 * transaction, but their generator does not use it.
 *
 * The edge is a number, and all its data is computed (tao_graph.h). The original first reads
 * all keys of all edges into memory, with defects if its number of threads does not divide 50.
 *
 * Each insertion has its own number, which is known without earlier operations. The mix is
 * exact in strata (ops_spec.c), so an operation knows the number of earlier inserts and write
 * transactions. The numbers of different groups and epochs do not overlap.
 *
 * The timestamp of a write is the version of its operation; the original uses the wall clock.
 * So the stream does not depend on time. An update is rejected if another thread that is ahead
 * has already written the record.
 *
 * The checks of an edge (id1, id2, type) are those that the original documents in
 * GetIncompatibleKeys(). Its SQL for MySQL differs for bidirectional edges, by mistake.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "workload/ops_choose.h"
#include "workload/tao_graph.h"
#include "workload/tao_job.h"

enum {
	TAO_VERSION = 1,      /* version of the algorithm of the stream; part of the digest */
	TAO_NUMBERS_BITS = 45 /* bits of the insertion numbers of a lane */
};

/** The operation being made: its random state and its steps. */
struct making {
	const struct ops_spec *spec;
	const struct tao_graph *graph;
	uint64_t random;
	uint64_t *numbers;
	struct nb_step *steps;
	struct nb_slice *keys, *values; /* with allocated bytes */
	uint32_t used;                  /* used elements of these arrays */
};

static inline uint64_t
draw(struct making *making)
{
	return splitmix64_next(&making->random);
}

/** Draw a loaded edge. */
static inline uint64_t
pick(struct making *making)
{
	const struct tao_graph *graph = making->graph;
	uint32_t shard = tao_alias_draw(&graph->laws[TAO_PRIMARY_SHARDS], draw(making));
	return shard + graph->shards * tao_below(draw(making), tao_edges_of(graph, shard));
}

/** Draw the number of an existing object or edge. */
static inline uint64_t
pick_record(struct making *making, uint32_t bar)
{
	bool is_object = draw(making) < making->graph->bars[bar];
	return pick(making) * TAO_PARTS + (is_object ? TAO_OBJECT : TAO_EDGE);
}

static inline uint8_t *
key_bytes(const struct making *making)
{
	return (uint8_t *)(uintptr_t)making->keys[making->used].data;
}

static inline uint32_t
table_of(const struct nb_slice *key)
{
	return *(const uint8_t *)key->data == 'e' ? TAO_EDGES : TAO_OBJECTS;
}

/** Finish a step whose key has been written. */
static inline struct nb_step *
add_step(struct making *making, uint32_t verb, uint64_t number, size_t key_size)
{
	uint32_t at = making->used++;
	struct nb_step *step = &making->steps[at];
	making->keys[at].size = key_size;
	making->numbers[at] = number;
	*step = (struct nb_step){
		.verb = verb, .key = making->keys[at], .table = table_of(&making->keys[at])};
	return step;
}

static void
add_value(struct making *making, struct nb_step *step, uint64_t version)
{
	uint32_t at = (uint32_t)(step - making->steps);
	ops_write_value(making->spec, &making->values[at], making->keys[at], version);
	step->value = making->values[at];
}

/* ---- writes ---- */

/** A set of types, as the operand of NB_STEP_PREFIX_EMPTY. */
#define TYPE(type) (UINT64_C(1) << (type))

/**
 * Edges that must not exist: from the first id to the second or, with is_anywhere, to any id;
 * with is_back, in the other direction; of these types, 0: all.
 */
struct check {
	bool is_back, is_anywhere;
	uint64_t types;
};

enum { CHECKS = 3 };

static const struct check checks[TAO_TYPES][CHECKS] = {
	[TAO_UNIQUE] = {{.is_anywhere = true}, {.is_back = true}},
	[TAO_BIDIRECTIONAL] = {{.is_anywhere = true,
				       .types = TYPE(TAO_UNIQUE) |
					       TYPE(TAO_UNIQUE_BIDIRECTIONAL)},
		{.types = TYPE(TAO_OTHER)},
		{.is_back = true, .types = TYPE(TAO_OTHER) | TYPE(TAO_UNIQUE)}},
	[TAO_UNIQUE_BIDIRECTIONAL] = {{.is_anywhere = true},
		{.is_back = true, .types = TYPE(TAO_OTHER) | TYPE(TAO_UNIQUE)}},
	[TAO_OTHER] = {{.is_anywhere = true,
			       .types = TYPE(TAO_UNIQUE) | TYPE(TAO_UNIQUE_BIDIRECTIONAL)},
		{.types = TYPE(TAO_BIDIRECTIONAL)}, {.is_back = true}},
};
static const uint32_t check_counts[TAO_TYPES] = {2, 3, 2, 3};

static void
add_checks(struct making *making, uint64_t number)
{
	const struct tao_graph *graph = making->graph;
	uint64_t e = number / TAO_PARTS;
	uint64_t first = tao_first_id(graph, e), second = tao_second_id(graph, e);
	uint32_t type = tao_type(graph, e);
	for (uint32_t c = 0; c < check_counts[type]; c++) {
		const struct check *check = &checks[type][c];
		tao_edge_key(key_bytes(making), check->is_back ? second : first,
			check->is_back ? first : second, 0);
		struct nb_step *step = add_step(making, NB_STEP_PREFIX_EMPTY, number,
			check->is_anywhere ? TAO_FIRST_ID : TAO_BOTH_IDS);
		step->operand = check->types;
		step->skips = check_counts[type] - c;
	}
}

/** The record of a write; `nth` is the number of an insertion of the group. */
static inline uint64_t
write_number(struct making *making, uint32_t type, uint64_t nth)
{
	const struct ops_spec *spec = making->spec;
	uint64_t part = type <= TAO_DELETE_OBJECT ? TAO_OBJECT : TAO_EDGE;
	if (type != TAO_ADD_OBJECT && type != TAO_ADD_EDGE)
		return pick(making) * TAO_PARTS + part;
	uint64_t lane = tao_lane(spec->job, spec->stream);
	return (making->graph->edges + nth + (lane << TAO_NUMBERS_BITS)) * TAO_PARTS + part;
}

static void
add_put(struct making *making, uint32_t verb, uint64_t number, uint64_t version)
{
	size_t size = tao_key(making->graph, number, key_bytes(making));
	add_value(making, add_step(making, verb, number, size), version);
}

/** Also the first step of a delete that depends on the age. */
static void
add_update(struct making *making, uint64_t number, uint64_t version)
{
	bool is_blind = making->spec->job->graph_update == NB_UPDATE_BLIND;
	add_put(making, is_blind ? NB_STEP_PUT : NB_STEP_PUT_IF_NEWER, number, version);
}

static void
add_delete(struct making *making, uint64_t number, uint64_t version)
{
	if (making->spec->job->graph_update == NB_UPDATE_RMW) {
		add_update(making, number, version);
		making->steps[making->used - 1].skips = 1;
	}
	size_t size = tao_key(making->graph, number, key_bytes(making));
	add_step(making, NB_STEP_DEL, number, size);
}

static void
add_write(struct making *making, uint32_t type, uint64_t nth, uint64_t version)
{
	uint64_t number = write_number(making, type, nth);
	switch (type) {
	case TAO_ADD_EDGE:
		if (making->spec->job->preconditions != 0)
			add_checks(making, number);
		add_put(making, NB_STEP_INSERT, number, version);
		break;
	case TAO_ADD_OBJECT:
		add_put(making, NB_STEP_INSERT, number, version);
		break;
	case TAO_UPDATE_OBJECT:
	case TAO_UPDATE_EDGE:
		add_update(making, number, version);
		break;
	default:
		add_delete(making, number, version);
	}
}

static uint32_t
write_type(struct making *making, uint32_t kind)
{
	bool is_object;
	switch (kind) {
	case TAO_KIND_INSERT:
		is_object = draw(making) < making->graph->bars[TAO_BAR_INSERT];
		return is_object ? TAO_ADD_OBJECT : TAO_ADD_EDGE;
	case TAO_KIND_UPDATE:
		is_object = draw(making) < making->graph->bars[TAO_BAR_UPDATE];
		return is_object ? TAO_UPDATE_OBJECT : TAO_UPDATE_EDGE;
	default:
		is_object = draw(making) < making->graph->bars[TAO_BAR_DELETE];
		return is_object ? TAO_DELETE_OBJECT : TAO_DELETE_EDGE;
	}
}

/* ---- operations ---- */

/** Scan all edges that begin at one object; returns their number, its degree. */
static uint64_t
add_range(struct making *making)
{
	uint64_t degree, owner = tao_owner(making->graph, pick(making), &degree);
	uint32_t at = making->used++;
	making->numbers[at] = owner * TAO_PARTS + TAO_EDGE;
	tao_edge_key((uint8_t *)(uintptr_t)making->keys[at].data,
		tao_first_id(making->graph, owner), 0, 0);
	making->keys[at].size = TAO_FIRST_ID;
	return degree;
}

static void
add_reads(struct making *making, uint32_t kind)
{
	uint32_t count = tao_alias_draw(
		&making->graph->classes[kind - TAO_KIND_TXN_READ], draw(making));
	for (uint32_t k = 0; k < count; k++) {
		uint64_t number = pick_record(making, TAO_BAR_TXN_READ);
		size_t size = tao_key(making->graph, number, key_bytes(making));
		add_step(making, NB_STEP_GET, number, size);
	}
}

static inline uint32_t
draw_law(struct making *making, uint32_t law)
{
	return tao_alias_draw(&making->graph->laws[law], draw(making));
}

/* Insertion numbers: single ones are even, those of transactions odd. */

static inline uint64_t
single_insertion(uint64_t nth)
{
	return 2 * nth;
}

static inline uint64_t
txn_insertion(uint64_t txn, uint32_t k)
{
	return 2 * (txn * TAO_WRITES_MAX + k) + 1;
}

static void
add_writes(struct making *making, uint64_t txn, uint64_t version)
{
	uint32_t count = draw_law(making, TAO_TXN_WRITE_SIZES);
	for (uint32_t k = 0; k < count; k++)
		add_write(making, draw_law(making, TAO_TXN_WRITES), txn_insertion(txn, k),
			version);
}

/** Make operation j of the stratum; the maker has the counts before it. */
static void
make_steps(struct ops_maker *maker, struct making *making, uint32_t j)
{
	uint32_t kind = maker->kinds[j];
	uint64_t version = ops_version(maker->spec, maker->first + j);
	if (kind >= TAO_KIND_TXN_READ)
		add_reads(making, kind);
	else if (kind == TAO_KIND_TXN_WRITE)
		add_writes(making, maker->txns++, version);
	else
		add_write(making, write_type(making, kind), single_insertion(maker->inserted),
			version);
	maker->inserted += kind == TAO_KIND_INSERT;
}

static void
tao_begin(struct ops_maker *maker, uint64_t stratum)
{
	const struct ops_spec *spec = maker->spec;
	maker->first = stratum * OPS_STRATUM;
	maker->at = 0;
	maker->until = maker->first + ops_stratum_size(spec, maker->first);
	ops_kinds(spec, stratum, maker->kinds);
	uint64_t below[NB_KINDS_MAX + 1];
	ops_all_below(spec, maker->first, below);
	maker->inserted = below[TAO_KIND_INSERT + 1] - below[TAO_KIND_INSERT];
	maker->txns = below[TAO_KIND_TXN_WRITE + 1] - below[TAO_KIND_TXN_WRITE];
}

static uint32_t
tao_make(struct ops_maker *maker)
{
	const struct ops_spec *spec = maker->spec;
	const struct tao_graph *graph = spec->keys->graph;
	uint32_t size = (uint32_t)(maker->until - maker->first), count = 0;
	struct making making = {.spec = spec,
		.graph = graph,
		.numbers = maker->numbers,
		.steps = maker->steps,
		.keys = maker->keys,
		.values = maker->values};
	for (; maker->at < size && making.used < maker->block; maker->at++, count++) {
		uint32_t j = maker->at, first = making.used;
		struct ops_op *op = &maker->ops[count];
		*op = (struct ops_op){.kind = maker->kinds[j],
			.items = 1,
			.index = maker->first + j,
			.numbers = maker->numbers + first,
			.keys = maker->keys + first,
			.values = maker->values + first};
		making.random = ops_random(spec, op->index);
		if (op->kind == NB_OP_READ) {
			uint64_t number = pick_record(&making, TAO_BAR_READ);
			maker->keys[first].size = tao_key(graph, number, key_bytes(&making));
			maker->numbers[first] = number;
			making.used++;
			continue;
		}
		if (op->kind == NB_OP_SCAN) {
			op->length = add_range(&making);
			continue;
		}
		op->steps = maker->steps + first;
		make_steps(maker, &making, j);
		op->items = making.used - first;
	}
	return count;
}

/* ---- for verification ---- */

/** No operation uses inserted records. */
static uint64_t
tao_needs(const struct ops_spec *spec, uint64_t stratum)
{
	(void)spec;
	(void)stratum;
	return 0;
}

/** Move to the stratum of operation i, which is then the j-th. */
static uint32_t
turn_to(struct ops_maker *maker, uint64_t i)
{
	uint32_t j = (uint32_t)(i % OPS_STRATUM);
	tao_begin(maker, i / OPS_STRATUM);
	for (uint32_t before = 0; before < j; before++) {
		maker->inserted += maker->kinds[before] == TAO_KIND_INSERT;
		maker->txns += maker->kinds[before] == TAO_KIND_TXN_WRITE;
	}
	return j;
}

/** Whether a write transaction uses the record; draws the same as add_writes(). */
static bool
txn_writes(struct making *making, uint64_t txn, uint64_t number)
{
	uint32_t count = draw_law(making, TAO_TXN_WRITE_SIZES);
	for (uint32_t k = 0; k < count; k++) {
		uint32_t type = draw_law(making, TAO_TXN_WRITES);
		if (write_number(making, type, txn_insertion(txn, k)) == number)
			return true;
	}
	return false;
}

static bool
tao_writes(const struct ops_spec *spec, uint64_t i, uint64_t number)
{
	struct ops_maker maker = {.spec = spec};
	uint32_t kind = maker.kinds[turn_to(&maker, i)];
	struct making making = {
		.spec = spec, .graph = spec->keys->graph, .random = ops_random(spec, i)};
	if (kind == TAO_KIND_TXN_WRITE)
		return txn_writes(&making, maker.txns, number);
	if (kind < TAO_KIND_INSERT || kind > TAO_KIND_DELETE)
		return false;
	uint32_t type = write_type(&making, kind);
	return write_number(&making, type, single_insertion(maker.inserted)) == number;
}

static bool
tao_puts_at_once(const struct ops_spec *spec, uint64_t i, uint64_t number)
{
	struct ops_maker maker = {.spec = spec};
	uint32_t kind = maker.kinds[turn_to(&maker, i)];
	return kind == TAO_KIND_TXN_WRITE &&
		kind_row(spec->job, kind)->atomic != NB_ATOMIC_NO &&
		tao_writes(spec, i, number);
}

static uint64_t
tao_digest(const struct ops_spec *spec, uint64_t keys_hash)
{
	const struct nb_job *job = spec->job;
	uint64_t words[] = {TAO_VERSION, keys_hash, job->graph->hash, job->seed, job->edges,
		spec->stream, job->epoch, job->graph_update, job->edge_range,
		job->preconditions, spec->group->count, job->values.min};
	return XXH3_64bits(words, sizeof(words)) ^
		XXH3_64bits(&job->value_ratio, sizeof(job->value_ratio));
}

const struct source source_tao = {.needs = tao_needs,
	.begin = tao_begin,
	.make = tao_make,
	.writes = tao_writes,
	.puts_at_once = tao_puts_at_once,
	.digest = tao_digest};
