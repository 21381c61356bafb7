/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The common data of a group's operations: the mix, the distributions of records and sizes, the
 * numbers of new records, the versions, and the digest of the stream.
 *
 * The mix is exact in strata: floor(n * W(k) / W) of the first n operations are of kinds up to
 * k, where W(k) is the sum of their weights. A stratum contains the difference between its ends,
 * shuffled by its own random numbers. So the number of inserts before a stratum is a division,
 * which each thread computes alone, and a run of N operations has the requested shares, exact
 * to one operation. Rejected: a draw for each operation, as in YCSB. The k-th insert would then
 * be unknown without making all earlier operations. The cost is that the mix varies less within
 * 64 operations than with draws.
 *
 * That rule fails for rare kinds. The two sums of a kind are rounded independently, so the
 * count of a kind with less than two operations per stratum can decrease, and two inserts would
 * get the same number. A mix of three or more kinds with a rare one therefore rounds nested
 * sums: the sum up to k is floor(S(k+1) * W(k) / W(k+1)), where S(k+1) is the rounded sum up to
 * k + 1. Then each count only grows. A count may be off by as many operations as there are
 * kinds, for any n. Other mixes keep the first rule, and so their streams.
 *
 * Cause of wrong numbers: a record that is chosen before it exists. The lag prevents it.
 */
#include <assert.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "workload/ops_choose.h"
#include "workload/tao_job.h"

enum {
	OPS_VERSION = 1 /* version of the algorithm of the stream; part of the digest */
};

uint64_t
ops_count_before(const struct ops_spec *spec, uint32_t kind, uint64_t n)
{
	return ops_below(spec, kind + 1, n) - ops_below(spec, kind, n);
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
		spec->kinds |= (uint32_t)(weight > 0) << kind;
		spec->has_items |= weight > 0 && kind < NB_OP_KINDS && ops_is_many(kind);
		spec->has_steps |= weight > 0 && kind_is_steps(kind);
		spec->has_draws |= weight > 0 && kind != NB_OP_INSERT;
	}
	spec->cumulated[NB_KINDS_MAX] = spec->weight_sum;
}

/** With two kinds, the second gets the rest of the first, which only grows. */
static bool
has_rare_kinds(const struct ops_spec *spec)
{
	uint32_t kinds = 0, rare = 0;
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
		uint64_t weight = spec->group->weights[kind];
		kinds += weight > 0;
		rare += weight > 0 && weight < spec->weight_sum / (OPS_STRATUM / 2);
	}
	return kinds > 2 && rare > 0;
}

static void
create_items(struct ops_spec *spec)
{
	const struct nb_group *group = spec->group;
	struct nb_sizes law = group->item_sizes;
	if (law.kind == NB_SIZE_FIXED)
		law.min = group->items;
	int rc = sizes_create(&spec->items, &law);
	assert(rc == NB_OK); /* the check of the job included it */
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
 * The number of ranks that YCSB's core workload scrambles, for `records`: the records, plus
 * twice the expected inserts, plus one (CoreWorkload.init() and ScrambledZipfianGenerator).
 * Without a count, the group is assumed to have as many operations as records.
 */
static uint64_t
ycsb_modulus(const struct ops_spec *spec, uint64_t records)
{
	uint64_t count = spec->group->count > 0 ? spec->group->count : spec->job->records;
	uint128 inserts = (uint128)count * spec->group->weights[NB_OP_INSERT];
	uint128 modulus = 2 * inserts / spec->weight_sum + records + 1;
	return modulus < UINT64_MAX ? (uint64_t)modulus : UINT64_MAX;
}

/**
 * Detect operations on consecutive records with one record each: they need no random numbers.
 */
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

static void
create_dists(struct ops_spec *spec, uint32_t ranges)
{
	spec->ranges = ranges;
	uint64_t records = ops_records(spec) / ranges, space = ops_space(spec) / ranges;
	dist_create(&spec->dist, spec->group, records);
	dist_create(&spec->space_dist, spec->group, space);
	spec->dist.modulus = ycsb_modulus(spec, records);
	spec->space_dist.modulus = ycsb_modulus(spec, space);
}

void
records_divide(struct ops_spec *spec, uint32_t threads)
{
	spec->has_waits = spec->group->weights[NB_OP_INSERT] > 0 && spec->has_draws;
	if (spec->group->key_range == NB_RANGE_SHARED || threads == 1)
		return;
	spec->plain_count = 0;
	spec->has_own_keys = true;
	create_dists(spec, threads);
}

void
ops_spec_create(struct ops_spec *spec, const struct nb_job *job, const struct nb_group *group,
	const struct keyspace *keys, const struct sizes *sizes, uint32_t stream,
	uint32_t streams)
{
	*spec = (struct ops_spec){.source = source_of(group->source),
		.job = job,
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
	spec->has_rare = has_rare_kinds(spec);
	create_items(spec);
	spec->seed = splitmix64_mix(job->seed + UINT64_C(0x9e3779b97f4a7c15) * (stream + 1));
	spec->is_aged = group->source == NB_SOURCE_TAO && job->graph_update == NB_UPDATE_RMW;
	spec->value_head = keys->format == NB_KEY_GRAPH ? TAO_AGE_BYTES : 0;
	value_spec_create(&spec->values, (size_t)sizes->max - spec->value_head,
		job->value_ratio, job->seed);
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
	spec->has_draws = spec->has_waits = false;
	spec->plain_first = 0;
	spec->plain_count = is_fixed && kind < NB_OP_KINDS && kind != NB_OP_SCAN
		? spec->job->records
		: 0;
}

uint64_t
records_needs(const struct ops_spec *spec, uint64_t stratum)
{
	return spec->has_waits && stratum > spec->lag_strata ? stratum - spec->lag_strata : 0;
}

static inline uint64_t
version_of(const struct ops_spec *spec, uint64_t i)
{
	if (spec->is_load)
		return 0;
	if (spec->keys->format == NB_KEY_GRAPH)
		return (tao_lane(spec->job, spec->stream) << TAO_INDEX_BITS) + i + 1;
	return (i * spec->streams + spec->stream) % VALUE_VERSIONS + 1;
}

uint64_t
ops_version(const struct ops_spec *spec, uint64_t i)
{
	return version_of(spec, i);
}

void
ops_versions(const struct ops_spec *spec, const uint64_t *indexes, uint32_t count,
	uint64_t *versions)
{
	for (uint32_t j = 0; j < count; j++)
		versions[j] = version_of(spec, indexes[j]);
}

bool
ops_version_index(const struct ops_spec *spec, uint64_t version, uint64_t versions,
	uint64_t near, uint64_t *i)
{
	if (version == 0 || spec->is_load)
		return false;
	if (spec->keys->format == NB_KEY_GRAPH) {
		*i = (version - 1) & ((UINT64_C(1) << TAO_INDEX_BITS) - 1);
		return (version - 1) >> TAO_INDEX_BITS == tao_lane(spec->job, spec->stream);
	}
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

/** The names of kinds are not included, because no operation depends on them. */
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
records_digest(const struct ops_spec *spec, uint64_t keys_hash)
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
	if (spec->has_rare) {
		const uint32_t law = 2;
		XXH3_64bits_update(&state, &law, sizeof(law));
	}
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
