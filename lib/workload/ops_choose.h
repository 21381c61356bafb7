/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_OPS_CHOOSE_H
#define WORKLOAD_OPS_CHOOSE_H
/** Internal interface of the files that make operations: ops_spec.c, ops_kinds.c,
 * ops_choose.c and ops.c. */
#include "base/uint128.h"
#include "workload/ops.h"

/** n * part / whole, rounded down; part <= whole. */
static inline uint64_t
ops_share(uint64_t n, uint64_t part, uint64_t whole)
{
	uint64_t product;
	if (!__builtin_mul_overflow(n, part, &product))
		return product / whole;
	return (uint64_t)((uint128)n * part / whole);
}

/** Number of operations of kinds below `kind` among the first n. */
static inline uint64_t
ops_below(const struct ops_spec *spec, uint32_t kind, uint64_t n)
{
	const uint64_t *sums = spec->cumulated;
	if (!spec->has_rare)
		return ops_share(n, sums[kind], spec->weight_sum);
	for (uint32_t k = NB_KINDS_MAX; k > kind; k--) {
		if (sums[k - 1] != sums[k])
			n = ops_share(n, sums[k - 1], sums[k]);
	}
	return n;
}

/** The same for all kinds: below[kind]. */
static inline void
ops_all_below(const struct ops_spec *spec, uint64_t n, uint64_t below[NB_KINDS_MAX + 1])
{
	const uint64_t *sums = spec->cumulated;
	below[NB_KINDS_MAX] = n;
	for (uint32_t k = NB_KINDS_MAX; k > 0; k--) {
		if (sums[k - 1] == sums[k])
			below[k - 1] = below[k];
		else
			below[k - 1] = spec->has_rare
				? ops_share(below[k], sums[k - 1], sums[k])
				: ops_share(n, sums[k - 1], spec->weight_sum);
	}
}

/** At least one record for each slice, so that no slice is empty. */
static inline uint64_t
ops_records(const struct ops_spec *spec)
{
	return spec->job->records > spec->ranges ? spec->job->records : spec->ranges;
}

static inline uint64_t
ops_space(const struct ops_spec *spec)
{
	if (spec->job->space == 0)
		return ops_records(spec);
	return spec->job->space > spec->ranges ? spec->job->space : spec->ranges;
}

/**
 * Number of operations of the stratum that begins at `first`; the last stratum may be shorter.
 */
static inline uint32_t
ops_stratum_size(const struct ops_spec *spec, uint64_t first)
{
	if (spec->end >= first + OPS_STRATUM)
		return OPS_STRATUM;
	return spec->end > first ? (uint32_t)(spec->end - first) : 0;
}

/** Whether each operation has one record, so operation j of a block uses record j. */
static inline bool
ops_is_of_ones(const struct ops_spec *spec)
{
	return !spec->has_items && !spec->has_steps;
}

/** The state from which splitmix64_next() gives ops_random() of i, i + 1, ... */
static inline uint64_t
ops_random_state(const struct ops_spec *spec, uint64_t i)
{
	return spec->seed + (i - 1) * RNG_GAMMA;
}

/** The initial random state of operation i. */
static inline uint64_t
ops_random(const struct ops_spec *spec, uint64_t i)
{
	uint64_t state = ops_random_state(spec, i);
	return splitmix64_next(&state);
}

/** Draw the length of operation j of the stratum, a scan. */
uint64_t
ops_scan_length(struct ops_maker *maker, uint32_t j);

/**
 * Make the keys and values of the next `count` operations. maker->ops has their kinds and
 * maker->numbers has all their `used` records.
 */
void
ops_fill(struct ops_maker *maker, uint32_t count, uint32_t used);

/**
 * Choose the next operations of the stratum from maker->at, as many as fit into a block, and
 * their records. Returns the number of operations; *records is the number of records.
 */
uint32_t
ops_choose(struct ops_maker *maker, uint32_t *records);

/* The functions of the source `records`: see source.h. */
void
records_divide(struct ops_spec *spec, uint32_t threads);
void
records_visit(const struct ops_again *again, const uint64_t *indexes, uint32_t count,
	uint64_t *numbers, uint8_t *expects);
uint64_t
records_needs(const struct ops_spec *spec, uint64_t stratum);
void
records_begin(struct ops_maker *maker, uint64_t stratum);
bool
records_writes(const struct ops_spec *spec, uint64_t i, uint64_t number);
bool
records_puts_at_once(const struct ops_spec *spec, uint64_t i, uint64_t number);
uint64_t
records_digest(const struct ops_spec *spec, uint64_t keys_hash);

#endif /* WORKLOAD_OPS_CHOOSE_H */
