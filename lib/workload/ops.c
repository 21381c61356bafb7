/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations of a mixed workload.
 *
 * The mix is exact in strata: of the first n operations, floor(n * W(k) / W) are of the
 * kinds up to k, where W(k) are the weights summed up; a stratum has the difference at its
 * ends, in an order shuffled by its own random numbers. So the number of inserts before
 * any stratum is a division, each thread knows it without asking the others, and a run of
 * N operations has the shares that were asked for to one operation. Rejected: a draw for
 * each operation, as YCSB makes it, after which nobody knows the k-th insert without having
 * made all operations before; the price is that within 64 operations the mix does not vary
 * as a draw's would.
 *
 * An operation's random numbers are splitmix64's from a state that hashes (seed, group, i).
 * They are drawn in this order: its first record, how many records it has, the other records,
 * then the length of a scan or the sizes of values.
 *
 * Keys and values are made for as many operations at a time as stay in a quarter of a
 * small L1 cache, and not one by one: the clock's fence waits for all that was begun, so
 * that a value made just before it would cost its whole latency, while those of a block are
 * made side by side. Records of an operation lie behind those of the one before, so that a block
 * is as many operations as fit, and the last one may be longer. Neither a page fault nor a cache
 * miss of the harness may fall into the engine's time, so keys of a file are copied ahead as well.
 *
 * What would make the numbers wrong: records that are chosen before they are there, hence
 * the lag; new records that are never chosen since the distribution is that of the
 * beginning, hence dist_resize() at each stratum.
 */
#include "workload/ops.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "workload/block.h"
#include "base/uint128.h"

enum {
	OPS_VERSION = 1 /* of all that makes the stream; part of the digest */
};

/* Counters get 1..STEP_DELTAS more, where the job does not say how much. */
enum { STEP_DELTAS = 1000 };
#define DELTA_SALT UINT64_C(0x2545f4914f6cdd1d)

/* Separate the random numbers of strata from those of operations. */
#define SHUFFLE_SALT UINT64_C(0x5d1f9bb3a6c8e24d)

/** Of the first n operations, those of kinds below `kind`. */
static uint64_t
below(const struct ops_spec *spec, uint32_t kind, uint64_t n)
{
	return (uint64_t)((uint128)n * spec->cumulated[kind] / spec->weight_sum);
}

uint64_t
ops_count_before(const struct ops_spec *spec, uint32_t kind, uint64_t n)
{
	return below(spec, kind + 1, n) - below(spec, kind, n);
}

static uint32_t
only_kind(const struct nb_group *group)
{
	uint32_t kinds = 0, only = NB_OP_KINDS;
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
		if (group->weights[kind] > 0) {
			only = kind;
			kinds++;
		}
	}
	return kinds == 1 && only < NB_OP_KINDS ? only : NB_OP_KINDS;
}

static void
sum_weights(struct ops_spec *spec)
{
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
		uint64_t weight = spec->group->weights[kind];
		spec->cumulated[kind] = spec->weight_sum;
		spec->weight_sum += weight;
		spec->has_items |= weight > 0 && kind < NB_OP_KINDS && ops_is_many(kind);
		spec->has_steps |= weight > 0 && kind_is_steps(kind);
		spec->has_draws |= weight > 0 && kind != NB_OP_INSERT;
	}
	spec->cumulated[NB_KINDS_MAX] = spec->weight_sum;
}

static void
create_items(struct ops_spec *spec)
{
	const struct nb_group *group = spec->group;
	struct nb_sizes law = group->item_sizes;
	if (law.kind == NB_SIZE_FIXED)
		law.min = group->items;
	int rc = sizes_create(&spec->items, &law);
	assert(rc == NB_OK); /* it was checked when the job was */
	(void)rc;
	spec->items_max = spec->has_items ? (uint32_t)spec->items.max : 1;
	for (uint32_t kind = KIND_ADD; kind < NB_KINDS_MAX; kind++) {
		const struct nb_kind *own = kind_row(spec->job, kind);
		uint32_t records = own != NULL && group->weights[kind] > 0
			? kind_records_max(own)
			: 0;
		if (records > spec->items_max)
			spec->items_max = records;
	}
}

/**
 * What YCSB's core workload scrambles its ranks over, here for `records`: those, twice the
 * inserts that it expects, and one (CoreWorkload.init() and ScrambledZipfianGenerator). A
 * group without a count is taken for one of as many operations as records.
 */
static uint64_t
ycsb_modulus(const struct ops_spec *spec, uint64_t records)
{
	uint64_t count = spec->group->count > 0 ? spec->group->count : spec->job->records;
	uint128 inserts = (uint128)count * spec->group->weights[NB_OP_INSERT];
	uint128 modulus = 2 * inserts / spec->weight_sum + records + 1;
	return modulus < UINT64_MAX ? (uint64_t)modulus : UINT64_MAX;
}

/** Records in the order of their numbers, one for each operation, need no random numbers. */
static void
find_plain(struct ops_spec *spec)
{
	uint32_t kind = spec->one_kind;
	bool is_sequential = spec->dist.kind == NB_DIST_SEQUENTIAL;
	if (spec->sizes->min != spec->sizes->max)
		return;
	if (kind == NB_OP_INSERT && (spec->is_load || spec->streams == 1)) {
		spec->plain_first = spec->is_load ? 0 : spec->job->records;
		spec->plain_count = UINT64_MAX;
	} else if (is_sequential &&
		(kind == NB_OP_READ || kind == NB_OP_UPDATE || kind == NB_OP_RMW)) {
		spec->plain_count = spec->dist.n;
	} else if (is_sequential && (kind == NB_OP_UPSERT || kind == NB_OP_DELETE)) {
		spec->plain_count = spec->space_dist.n;
	}
}

/** At least one record for each slice, so that no slice is empty. */
static uint64_t
records_of(const struct ops_spec *spec)
{
	return spec->job->records > spec->ranges ? spec->job->records : spec->ranges;
}

static uint64_t
space_of(const struct ops_spec *spec)
{
	if (spec->job->space == 0)
		return records_of(spec);
	return spec->job->space > spec->ranges ? spec->job->space : spec->ranges;
}

static void
create_dists(struct ops_spec *spec, uint32_t ranges)
{
	spec->ranges = ranges;
	uint64_t records = records_of(spec) / ranges, space = space_of(spec) / ranges;
	dist_create(&spec->dist, spec->group, records);
	dist_create(&spec->space_dist, spec->group, space);
	spec->dist.modulus = ycsb_modulus(spec, records);
	spec->space_dist.modulus = ycsb_modulus(spec, space);
}

void
ops_spec_divide(struct ops_spec *spec, uint32_t threads)
{
	if (spec->group->key_range == NB_RANGE_SHARED || threads == 1)
		return;
	spec->plain_count = 0;
	create_dists(spec, threads);
}

void
ops_spec_create(struct ops_spec *spec, const struct nb_job *job, const struct nb_group *group,
	const struct keyspace *keys, const struct sizes *sizes, uint32_t stream,
	uint32_t streams)
{
	*spec = (struct ops_spec){.job = job,
		.group = group,
		.keys = keys,
		.sizes = sizes,
		.stream = stream,
		.streams = streams,
		.is_load = group == job->load,
		.end = group->count > 0 ? group->count : UINT64_MAX,
		.one_kind = only_kind(group),
		.lag_strata = (job->lag + OPS_STRATUM - 1) / OPS_STRATUM};
	sum_weights(spec);
	create_items(spec);
	spec->seed = splitmix64_mix(job->seed + UINT64_C(0x9e3779b97f4a7c15) * (stream + 1));
	value_spec_create(&spec->values, (size_t)sizes->max, job->value_ratio, job->seed);
	struct nb_group scan = *group;
	scan.distribution = group->scan_distribution == NB_DIST_ZIPFIAN ? NB_DIST_LATEST
									: NB_DIST_UNIFORM;
	dist_create(&spec->scan_dist, &scan, group->scan_max - group->scan_min + 1);
	create_dists(spec, 1);
	find_plain(spec);
	ops_spec_divide(spec, group->threads);
}

void
ops_spec_go_again(struct ops_spec *spec, const struct ops_again *again)
{
	spec->again = again;
	spec->plain_count = 0;
}

uint32_t
ops_again_bits(uint64_t count)
{
	uint32_t bits = count > 1 ? 64 - (uint32_t)__builtin_clzll(count - 1) : 0;
	return bits > 8 ? bits : 8;
}

void
ops_spec_be_array(struct ops_spec *spec)
{
	uint32_t kind = spec->one_kind;
	bool is_fixed = spec->sizes->min == spec->sizes->max;
	spec->is_array = true;
	spec->has_draws = false;
	spec->plain_first = 0;
	spec->plain_count = is_fixed && kind < NB_OP_KINDS && kind != NB_OP_SCAN
		? spec->job->records
		: 0;
}

uint64_t
ops_inserted_number(const struct ops_spec *spec, uint64_t k)
{
	return spec->is_load ? k : spec->job->records + k * spec->streams + spec->stream;
}

uint64_t
ops_inserter_stratum(const struct ops_spec *spec, uint64_t number)
{
	uint64_t weight = spec->group->weights[NB_OP_INSERT], k = number;
	if (!spec->is_load) {
		if (weight == 0 || number < spec->job->records ||
			(number - spec->job->records) % spec->streams != spec->stream)
			return UINT64_MAX;
		k = (number - spec->job->records) / spec->streams;
	}
	/* The k-th, from 0 on, is the last insert of the first n operations; n is near this. */
	uint64_t stratum = (uint64_t)((uint128)k * spec->weight_sum / weight) / OPS_STRATUM;
	while (stratum > 0 && ops_count_before(spec, NB_OP_INSERT, stratum * OPS_STRATUM) > k)
		stratum--;
	while (ops_count_before(spec, NB_OP_INSERT, (stratum + 1) * OPS_STRATUM) <= k)
		stratum++;
	return stratum;
}

uint64_t
ops_needs(const struct ops_spec *spec, uint64_t stratum)
{
	bool has_inserts = spec->group->weights[NB_OP_INSERT] > 0;
	return has_inserts && spec->has_draws && stratum > spec->lag_strata
		? stratum - spec->lag_strata
		: 0;
}

uint64_t
ops_version(const struct ops_spec *spec, uint64_t i)
{
	if (spec->is_load)
		return 0;
	return (i * spec->streams + spec->stream) % VALUE_VERSIONS + 1;
}

bool
ops_version_index(const struct ops_spec *spec, uint64_t version, uint64_t versions,
	uint64_t near, uint64_t *i)
{
	if (version == 0 || spec->is_load)
		return false;
	uint64_t middle = near * spec->streams, place = version - 1;
	uint64_t lap = middle / versions * versions;
	uint64_t number = lap + place;
	if (number > middle + versions / 2 && number >= versions)
		number -= versions;
	else if (number + versions / 2 < middle)
		number += versions;
	*i = number / spec->streams;
	return number % spec->streams == spec->stream;
}

/** Names of kinds are left out, since no operation depends on them. */
static void
digest_kinds(const struct ops_spec *spec, XXH3_state_t *state)
{
	for (uint32_t kind = KIND_ADD; kind < NB_KINDS_MAX; kind++) {
		const struct nb_kind *own = kind_row(spec->job, kind);
		if (own == NULL || spec->group->weights[kind] == 0)
			continue;
		uint32_t words[] = {kind, spec->group->weights[kind], own->step_count};
		XXH3_64bits_update(state, words, sizeof(words));
		XXH3_64bits_update(state, own->steps, own->step_count * sizeof(own->steps[0]));
	}
}

uint64_t
ops_digest(const struct ops_spec *spec, uint64_t keys_hash)
{
	const struct nb_job *job = spec->job;
	const struct nb_group *group = spec->group;
	const struct nb_sizes *values = &job->values;
	uint64_t words[] = {OPS_VERSION, keys_hash, job->seed, job->records, job->space,
		spec->lag_strata, spec->stream, spec->streams, spec->is_load,
		group->distribution, group->scan_distribution, group->scan_min, group->scan_max,
		group->items, group->count, values->kind, values->count, values->min,
		values->max};
	double reals[] = {group->theta, group->hot_share, group->hot_ops, group->exp_percent,
		group->exp_share, group->pareto_h, values->a, values->b, job->value_ratio};
	XXH3_state_t state;
	XXH3_64bits_reset(&state);
	XXH3_64bits_update(&state, words, sizeof(words));
	XXH3_64bits_update(&state, reals, sizeof(reals));
	XXH3_64bits_update(&state, group->weights, NB_OP_KINDS * sizeof(group->weights[0]));
	if (spec->has_steps)
		digest_kinds(spec, &state);
	uint32_t flags[] = {
		group->is_scan_backward, group->is_scan_keys_only, group->is_batch_atomic};
	if ((flags[0] | flags[1] | flags[2]) != 0)
		XXH3_64bits_update(&state, flags, sizeof(flags));
	if (spec->again != NULL)
		XXH3_64bits_update(
			&state, &spec->again->of->stream, sizeof(spec->again->of->stream));
	if (spec->ranges > 1)
		XXH3_64bits_update(&state, &spec->ranges, sizeof(spec->ranges));
	if (group->distribution == NB_DIST_ZIPFIAN_YCSB)
		XXH3_64bits_update(&state, &spec->dist.modulus, sizeof(spec->dist.modulus));
	if (group->item_sizes.kind != NB_SIZE_FIXED) {
		const struct nb_sizes *items = &group->item_sizes;
		uint64_t law[] = {items->kind, items->min};
		XXH3_64bits_update(&state, law, sizeof(law));
		XXH3_64bits_update(&state, &items->a, sizeof(items->a));
		XXH3_64bits_update(&state, &items->b, sizeof(items->b));
	}
	size_t bytes = values->count * sizeof(uint64_t);
	if (values->kind == NB_SIZE_HISTOGRAM) {
		XXH3_64bits_update(&state, values->sizes, bytes);
		XXH3_64bits_update(&state, values->weights, bytes);
	}
	return XXH3_64bits_digest(&state);
}

bool
ops_is_once(const struct ops_spec *spec)
{
	return spec->plain_count > 0 && spec->end <= spec->plain_count;
}

uint64_t
sample_threshold(double rate)
{
	if (rate >= 1)
		return UINT64_MAX;
	return rate > 0 ? (uint64_t)(rate * 18446744073709551616.0) : 0;
}

/* ---- making ---- */

static bool
has_writes(const struct ops_spec *spec)
{
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
		if (ops_is_write(kind) && spec->group->weights[kind] > 0)
			return true;
	}
	return (kinds_verbs(spec->job, spec->group) & KIND_PUTS) != 0;
}

/** Whether operation j of a block goes to record j of it alone. */
static inline bool
is_of_ones(const struct ops_spec *spec)
{
	return !spec->has_items && !spec->has_steps;
}

int
ops_maker_create(struct ops_maker *maker, const struct ops_spec *spec)
{
	bool writes = has_writes(spec);
	size_t value_size = writes ? spec->values.size : 0;
	*maker = (struct ops_maker){.spec = spec,
		.writes = writes,
		.key_stride = block_stride(spec->keys->key_size_max),
		.value_stride = block_stride(value_size),
		.dist = spec->dist,
		.space_dist = spec->space_dist};
	size_t block = BLOCK_BYTES / (maker->key_stride + maker->value_stride);
	size_t most = (size_t)OPS_STRATUM * spec->items_max;
	maker->block = block > most ? (uint32_t)most : block > 0 ? (uint32_t)block : 1;
	size_t records = maker->block - 1 + spec->items_max;
	size_t key_bytes = block_whole_lines(maker->key_stride * records);
	size_t value_bytes = block_whole_lines(maker->value_stride * records);
	maker->bytes = aligned_alloc(BLOCK_LINE, key_bytes + value_bytes);
	maker->numbers = calloc(records, sizeof(*maker->numbers));
	maker->keys = calloc(records, sizeof(*maker->keys));
	maker->values = calloc(records, sizeof(*maker->values));
	if (spec->has_steps)
		maker->steps = calloc(records, sizeof(*maker->steps));
	if (maker->bytes == NULL || (spec->has_steps && maker->steps == NULL) ||
		maker->numbers == NULL || maker->keys == NULL || maker->values == NULL) {
		ops_maker_destroy(maker);
		return error_set(NB_FAIL, "out of memory for values of %zu bytes", value_size);
	}
	memset(maker->bytes, 0, key_bytes + value_bytes);
	maker->value_bytes = maker->bytes + key_bytes;
	for (size_t j = 0; j < records; j++) {
		uint8_t *value = maker->value_bytes + j * maker->value_stride;
		if (value_size > 0)
			value_prepare(&spec->values, value);
		maker->keys[j] = (struct nb_slice){
			maker->bytes + j * maker->key_stride, spec->keys->key_size};
		maker->values[j] = (struct nb_slice){value, value_size};
	}
	for (uint32_t j = 0; j < maker->block && is_of_ones(spec); j++) {
		maker->ops[j] = (struct ops_op){.kind = spec->one_kind,
			.items = 1,
			.numbers = maker->numbers + j,
			.keys = maker->keys + j,
			.values = maker->values + j};
	}
	return NB_OK;
}

void
ops_maker_destroy(struct ops_maker *maker)
{
	free(maker->bytes);
	free(maker->numbers);
	free(maker->keys);
	free(maker->values);
	free(maker->steps);
	maker->steps = NULL;
	maker->bytes = NULL;
	maker->numbers = NULL;
	maker->keys = maker->values = NULL;
}

static inline uint64_t
random_of(const struct ops_spec *spec, uint64_t i)
{
	return splitmix64_mix(spec->seed + i * UINT64_C(0x9e3779b97f4a7c15));
}

/** Operations of the stratum that begins with `first`: the last one may be cut short. */
static inline uint32_t
size_of_stratum(const struct ops_spec *spec, uint64_t first)
{
	if (spec->end >= first + OPS_STRATUM)
		return OPS_STRATUM;
	return spec->end > first ? (uint32_t)(spec->end - first) : 0;
}

/* Each as often as its share is, in random order. */
void
ops_kinds(const struct ops_spec *spec, uint64_t stratum, uint8_t kinds[OPS_STRATUM])
{
	if (spec->one_kind < NB_OP_KINDS) {
		memset(kinds, (int)spec->one_kind, OPS_STRATUM);
		return;
	}
	uint64_t first = stratum * OPS_STRATUM;
	uint32_t at = 0, size = size_of_stratum(spec, first);
	memset(kinds, NB_OP_READ, OPS_STRATUM); /* beyond the end, of which nothing is made */
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
		if (spec->group->weights[kind] == 0)
			continue;
		uint64_t begin = below(spec, kind + 1, first);
		uint64_t end = below(spec, kind + 1, first + size);
		while (at < end - begin)
			kinds[at++] = (uint8_t)kind;
	}
	if (size == 0 || kinds[0] == kinds[size - 1])
		return; /* all are alike, in any order */
	uint64_t random = splitmix64_mix(spec->seed ^ SHUFFLE_SALT) + stratum;
	for (uint32_t left = size; left > 1; left--) {
		/* 32 random bits for a number below 64: the bias is 2^-26 */
		uint32_t other = (uint32_t)((splitmix64_next(&random) >> 32) * left >> 32);
		uint8_t kind = kinds[other];
		kinds[other] = kinds[left - 1];
		kinds[left - 1] = kind;
	}
}

/** How many records a stratum chooses from. */
static uint64_t
records_at(const struct ops_spec *spec, uint64_t stratum)
{
	uint64_t needed = ops_needs(spec, stratum);
	return records_of(spec) + ops_count_before(spec, NB_OP_INSERT, needed * OPS_STRATUM);
}

/** Of what was drawn: records beyond the loaded ones are the group's own new ones. */
static inline uint64_t
number_of(const struct ops_maker *maker, uint64_t drawn)
{
	uint64_t records = maker->spec->job->records;
	return __builtin_expect(drawn < records || records == 0, 1)
		? maker->low + drawn
		: ops_inserted_number(maker->spec, drawn - records);
}

/** One of all records of upsert and delete. */
static inline uint64_t
draw_of_space(struct ops_maker *maker, uint64_t *random, uint64_t i)
{
	return maker->space_low + dist_draw(&maker->space_dist, random, i - maker->skipped);
}

/** Slice number `range` of all; those with one more come first. Returns its begin. */
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

/** The operation that is number k of those that are visited again. */
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

/** The record that operation i of a spec of one kind goes to; its draws are those of a stratum. */
static uint64_t
record_of(const struct ops_spec *spec, uint64_t i)
{
	uint64_t random = random_of(spec, i);
	if (spec->one_kind == NB_OP_INSERT)
		return ops_inserted_number(spec, i);
	uint64_t drawn = dist_draw(&spec->dist, &random, i);
	return spec->one_kind == NB_OP_UPSERT ? dist_draw(&spec->space_dist, &random, i)
					      : drawn;
}

/** Records that operations of the stratum visit again: a bijection, walked until it is within. */
static void
visit_again(struct ops_maker *maker)
{
	const struct ops_again *again = maker->spec->again;
	const struct ops_turns *visit = &again->visit;
	uint64_t stratum = maker->first / OPS_STRATUM;
	uint64_t own = stratum / visit->of_all * visit->threads + stratum % visit->of_all -
		visit->before;
	for (uint32_t j = 0; j < OPS_STRATUM && own * OPS_STRATUM + j < again->count; j++) {
		uint64_t k = own * OPS_STRATUM + j;
		do
			k = keyspace_permute(k, again->bits, maker->spec->seed);
		while (k >= again->count);
		maker->drawn[j] = record_of(again->of, again_index(again, k));
	}
}

/** Turn to the slices of the stratum, in which it is number stratum / ranges. */
static void
turn_to_slices(struct ops_maker *maker, uint64_t stratum)
{
	const struct ops_spec *spec = maker->spec;
	uint32_t ranges = spec->ranges, range = (uint32_t)(stratum % ranges);
	maker->low = slice_of(&maker->dist, &spec->dist, records_of(spec), ranges, range);
	maker->space_low = slice_of(
		&maker->space_dist, &spec->space_dist, space_of(spec), ranges, range);
	maker->skipped = (stratum - stratum / ranges) * OPS_STRATUM;
}

/** Take the distribution of as many records as there are at the stratum. */
static void
turn_to_records(struct ops_maker *maker, uint64_t stratum)
{
	uint64_t records = records_at(maker->spec, stratum);
	if (records == maker->dist.n)
		return;
	/* A worker's strata only rise; whoever goes back begins anew. */
	if (records < maker->dist.n)
		maker->dist = maker->spec->dist;
	dist_resize(&maker->dist, records);
}

void
ops_begin(struct ops_maker *maker, uint64_t stratum)
{
	const struct ops_spec *spec = maker->spec;
	maker->first = stratum * OPS_STRATUM;
	maker->at = 0;
	maker->until = maker->first + size_of_stratum(spec, maker->first);
	if (spec->plain_count > 0)
		return;
	ops_kinds(spec, stratum, maker->kinds);
	maker->inserted = ops_count_before(spec, NB_OP_INSERT, maker->first);
	for (uint32_t j = 0; j < OPS_STRATUM; j++)
		maker->random[j] = random_of(spec, maker->first + j);
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

/** How many records the operation goes to; after its first one is drawn, before the others. */
static inline uint32_t
draw_items(struct ops_maker *maker, uint32_t j)
{
	if (!ops_is_many(maker->kinds[j]))
		return 1;
	return (uint32_t)sizes_draw(&maker->spec->items, &maker->random[j]);
}

/** The records of an operation after its first one. A long one costs as little as can be. */
static void
draw_others(struct ops_maker *maker, uint32_t j, uint64_t *numbers, uint32_t items)
{
	uint64_t i = maker->first - maker->skipped + j;
	dist_draw_more(&maker->dist, &maker->random[j], i + 1, items - 1, numbers + 1);
	if (maker->low == 0 && maker->dist.n <= maker->spec->job->records)
		return; /* what is drawn is the number */
	for (uint32_t k = 1; k < items; k++)
		numbers[k] = number_of(maker, numbers[k]);
}

/** What a step of operation i adds to a counter. */
static uint64_t
delta_of(const struct ops_spec *spec, const struct nb_kind_step *step, uint64_t i, uint32_t k)
{
	uint64_t mixed = splitmix64_mix((spec->seed ^ DELTA_SALT) + i * NB_ITEMS_MAX + k);
	return step->operand > 0 ? step->operand : mixed % STEP_DELTAS + 1;
}

/** Make the steps of an operation and choose their records. Returns the number of steps. */
static uint32_t
choose_steps(struct ops_maker *maker, uint32_t j, uint64_t *numbers, struct nb_step *steps)
{
	const struct ops_spec *spec = maker->spec;
	const struct nb_kind *kind = kind_row(spec->job, maker->kinds[j]);
	uint64_t *random = &maker->random[j], i = maker->first + j;
	uint32_t begins[NB_KIND_STEPS_MAX + 1] = {0}, count = 0;
	for (uint32_t s = 0; s < kind->step_count; s++) {
		const struct nb_kind_step *step = &kind->steps[s];
		const uint32_t *like = &begins[step->same - (step->same > 0)];
		uint32_t times = step->same > 0 ? like[1] - like[0] : step->times_min;
		bool is_of_space = (KIND_SPACE >> step->verb & 1) != 0;
		if (step->times_max > step->times_min && step->same == 0)
			times += (uint32_t)dist_below(
				random, step->times_max - step->times_min + 1);
		for (uint32_t k = 0; k < times; k++, count++) {
			if (step->same > 0)
				numbers[count] = numbers[*like + k];
			else if (is_of_space)
				numbers[count] = draw_of_space(maker, random, i + count);
			else
				numbers[count] = number_of(maker,
					count == 0 ? maker->drawn[j]
						   : dist_draw(&maker->dist, random,
							     i - maker->skipped + count));
			steps[count] = (struct nb_step){.verb = step->verb,
				.operand = step->verb == NB_STEP_MERGE
					? delta_of(spec, step, i, count)
					: VALUES_AGE_AT};
		}
		begins[s + 1] = count;
	}
	return count;
}

/** The records of an operation; the first is drawn, or the next one to insert. */
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

static void
make_sized_values(struct ops_maker *maker, uint32_t j, struct nb_slice *values,
	const struct nb_slice *keys, uint32_t items)
{
	const struct ops_spec *spec = maker->spec;
	uint64_t version = ops_version(spec, maker->first + j);
	for (uint32_t k = 0; k < items; k++) {
		size_t size = (size_t)sizes_draw(spec->sizes, &maker->random[j]);
		values_write_sized(&spec->values, (void *)(uintptr_t)values[k].data, keys[k],
			size, version);
		values[k].size = size;
	}
}

/** Keys of the steps, and values of those that put one. */
static void
make_step_values(struct ops_maker *maker, uint32_t j, struct ops_op *op)
{
	struct nb_slice *values = maker->values + (op->keys - maker->keys);
	for (uint32_t k = 0; k < op->items; k++) {
		struct nb_step *step = &op->steps[k];
		step->key = op->keys[k];
		if ((KIND_PUTS >> step->verb & 1) == 0)
			continue;
		make_sized_values(maker, j, &values[k], &op->keys[k], 1);
		step->value = values[k];
	}
}

/** Values of an operation that puts them. */
static inline void
make_op_values(struct ops_maker *maker, uint32_t j, const struct ops_op *op)
{
	const struct ops_spec *spec = maker->spec;
	struct nb_slice *values = maker->values + (op->keys - maker->keys);
	if (spec->sizes->min != spec->sizes->max) {
		make_sized_values(maker, j, values, op->keys, op->items);
		return;
	}
	uint64_t version = ops_version(spec, op->index);
	for (uint32_t k = 0; k < op->items; k++)
		values_write(&spec->values, (void *)(uintptr_t)values[k].data,
			maker->value_stride, op->keys[k].data, op->keys[k].size, 1, version);
}

/** Of operations [begin, begin + count) of the stratum, which stand in maker->ops. */
static void
make_values(struct ops_maker *maker, uint32_t begin, uint32_t count)
{
	uint8_t writes[OPS_STRATUM];
	uint32_t found = 0; /* listed first: nobody can guess which ones they are */
	for (uint32_t j = 0; j < count; j++) {
		writes[found] = (uint8_t)j;
		found += ops_is_write(maker->ops[j].kind) || maker->ops[j].steps != NULL;
	}
	for (uint32_t k = 0; k < found; k++) {
		struct ops_op *op = &maker->ops[writes[k]];
		if (op->steps != NULL)
			make_step_values(maker, begin + writes[k], op);
		else
			make_op_values(maker, begin + writes[k], op);
	}
}

static inline uint64_t
scan_length(struct ops_maker *maker, uint32_t j)
{
	const struct nb_group *group = maker->spec->group;
	const struct dist *dist = &maker->spec->scan_dist;
	uint64_t drawn = dist_draw(dist, &maker->random[j], 0);
	/* 'latest' has its most frequent number at the end */
	if (dist->kind == NB_DIST_LATEST)
		drawn = dist->n - 1 - drawn;
	return group->scan_min + drawn;
}

void
ops_begin_at(struct ops_maker *maker, uint64_t first, uint64_t until)
{
	maker->first = first;
	maker->until = until;
	maker->at = 0;
}

/** As ops_make(), of a spec whose records are not drawn. */
static uint32_t
make_plain(struct ops_maker *maker)
{
	const struct ops_spec *spec = maker->spec;
	uint64_t versions[OPS_STRATUM];
	uint64_t i = maker->first + maker->at;
	uint64_t at = i < spec->plain_count ? i : i % spec->plain_count;
	uint32_t count = (uint32_t)(maker->until - i);
	count = count < maker->block ? count : maker->block;
	count = count < spec->plain_count - at ? count : (uint32_t)(spec->plain_count - at);
	for (uint32_t j = 0; j < count; j++)
		maker->numbers[j] = spec->plain_first + at + j;
	for (uint32_t j = 0; j < count; j++)
		maker->ops[j].index = i + j;
	if (spec->keys->format == NB_KEY_FILE)
		keyspace_copy(spec->keys, spec->plain_first + at, count, maker->bytes,
			maker->key_stride);
	else
		keyspace_keys(spec->keys, maker->numbers, count, maker->bytes,
			maker->key_stride, maker->keys);
	maker->at += count;
	if (!ops_is_write(spec->one_kind))
		return count;
	if (spec->is_load && spec->keys->key_size == maker->key_stride) {
		values_write(&spec->values, maker->value_bytes, maker->value_stride,
			maker->bytes, maker->key_stride, count, 0);
		return count;
	}
	for (uint32_t j = 0; j < count; j++)
		versions[j] = ops_version(spec, i + j);
	values_write_each(&spec->values, maker->value_bytes, maker->value_stride, maker->keys,
		versions, count);
	return count;
}

/** Whether each stratum draws a record for each operation: all that those of some kinds take. */
static inline bool
draws_all(const struct ops_spec *spec)
{
	return spec->has_draws && !spec->is_array && spec->again == NULL;
}

/** Whether an operation of that kind takes no more than the record that was drawn for it. */
static inline bool
is_drawn(uint32_t kind)
{
	return (1u << kind & OP_DRAWN_MASK) != 0;
}

/** Choose the records of the next `left` operations, or as many as fit: how many. */
static uint32_t
choose_ones(struct ops_maker *maker, uint32_t begin, uint32_t left)
{
	const struct ops_spec *spec = maker->spec;
	uint32_t count = left < maker->block ? left : maker->block;
	uint64_t first = maker->first + begin;
	for (uint32_t j = 0; j < count; j++)
		maker->ops[j].index = first + j;
	for (uint32_t j = 0; j < count && spec->one_kind >= NB_OP_KINDS; j++)
		maker->ops[j].kind = maker->kinds[begin + j];
	bool are_drawn = draws_all(spec);
	for (uint32_t j = 0; j < count && are_drawn; j++)
		maker->numbers[j] = number_of(maker, maker->drawn[begin + j]);
	if (are_drawn && spec->one_kind < NB_OP_KINDS && is_drawn(spec->one_kind))
		return count;
	for (uint32_t j = 0; j < count; j++) {
		struct ops_op *op = &maker->ops[j];
		if (are_drawn && is_drawn(op->kind))
			continue;
		choose(maker, begin + j, &maker->numbers[j], 1);
		op->length = op->kind == NB_OP_SCAN ? scan_length(maker, begin + j) : 0;
	}
	return count;
}

/** The same of operations of which some go to many records, `*records` together. */
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
		} else if (kind_is_steps(kind)) {
			op.steps = maker->steps + used;
			items = choose_steps(maker, begin + j, numbers, op.steps);
		} else {
			items = draw_items(maker, begin + j);
			choose(maker, begin + j, numbers, items);
			op.length = kind == NB_OP_SCAN ? scan_length(maker, begin + j) : 0;
		}
		op.items = items;
		maker->ops[j] = op;
		used += items;
	}
	*records = used;
	return count;
}

uint32_t
ops_make(struct ops_maker *maker)
{
	const struct ops_spec *spec = maker->spec;
	if (spec->plain_count > 0)
		return make_plain(maker);
	uint32_t begin = maker->at, size = size_of_stratum(spec, maker->first);
	uint32_t left = size > begin ? size - begin : 0, used, count;
	if (is_of_ones(spec))
		count = used = choose_ones(maker, begin, left);
	else
		count = choose_many(maker, begin, left, &used);
	keyspace_keys(
		spec->keys, maker->numbers, used, maker->bytes, maker->key_stride, maker->keys);
	if (maker->writes || spec->has_steps)
		make_values(maker, begin, count);
	maker->at += count;
	return count;
}

/** Whether a step with one of these verbs goes to the record. */
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

/** Turn to the stratum of operation i, which is then the j-th; of a spec that draws. */
static uint32_t
turn_to(struct ops_maker *maker, uint64_t i)
{
	uint32_t j = (uint32_t)(i % OPS_STRATUM);
	ops_begin(maker, i / OPS_STRATUM);
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

/** One that looks at operations and makes no bytes. */
static struct ops_maker
maker_of(const struct ops_spec *spec)
{
	return (struct ops_maker){
		.spec = spec, .dist = spec->dist, .space_dist = spec->space_dist};
}

bool
ops_writes(const struct ops_spec *spec, uint64_t i, uint64_t number)
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
ops_puts_at_once(const struct ops_spec *spec, uint64_t i, uint64_t number)
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
