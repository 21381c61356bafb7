/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chooses a record: draws a rank, 0 the most frequent, and maps it to a record.
 *
 * zipfian-ycsb hashes as YCSB does, with a modulus that stays constant while n grows. Otherwise
 * each insert would move the hot records. It draws again if the record does not exist yet.
 *
 * Cause of a wrong distribution: two draws that share random words.
 */
#include "workload/dist_parts.h"

#include <assert.h>

#include "base/real.h"
#include "workload/keyspace.h"

/* YCSB 0.17: ScrambledZipfianGenerator and the ZipfianGenerator(0, ITEM_COUNT) in it. */
#define YCSB_THETA 0.99
#define YCSB_ITEMS 10000000001.0
#define YCSB_ZETA 26.46902820178302

enum { YCSB_AGAIN = 256 }; /* limit for further draws of one operation */

/* ---- zipfian-ycsb: a is zeta(n), b the limit of rank 1, c eta, d alpha ---- */

static void
ycsb_create(struct dist *dist)
{
	double zeta_2 = 1 + real_pow(0.5, YCSB_THETA);
	dist->a = YCSB_ZETA;
	dist->b = zeta_2;
	dist->c = (1 - real_pow(2 / YCSB_ITEMS, 1 - YCSB_THETA)) / (1 - zeta_2 / YCSB_ZETA);
	dist->d = 1 / (1 - YCSB_THETA);
}

static inline uint64_t
ycsb_rank(const struct dist *dist, uint64_t *random)
{
	double u = dist_unit(random);
	double uz = u * dist->a;
	uint64_t rank = (uint64_t)(YCSB_ITEMS * real_pow(dist->c * u - dist->c + 1, dist->d));
	return uz < 1 ? 0 : uz < dist->b ? 1 : rank;
}

/* ---- hotspot: a is the share of hot draws ---- */

static void
hotspot_resize(struct dist *dist, double share)
{
	dist->hot = (uint64_t)((double)dist->n * share);
	if (dist->hot == 0)
		dist->hot = 1;
	if (dist->hot > dist->n)
		dist->hot = dist->n;
}

static inline uint64_t
hotspot_rank(const struct dist *dist, uint64_t *random)
{
	bool is_hot = dist_unit(random) < dist->a || dist->hot == dist->n;
	uint64_t begin = is_hot ? 0 : dist->hot, end = is_hot ? dist->hot : dist->n;
	return begin + dist_below(random, end - begin);
}

/* ---- exponential and pareto: fractions of n, for any n ---- */

static inline uint64_t
rank_at(const struct dist *dist, double share)
{
	double at = share * (double)dist->n;
	uint64_t rank = at < 0x1p63 ? (uint64_t)at : 0;
	return rank < dist->n ? rank : dist->n - 1;
}

/** a is the rate over all n, b the share of the distribution below n. */
static void
exponential_create(struct dist *dist, double percent, double share)
{
	double rate = -real_log1p(-percent / 100) / share;
	/* no skew, or 0/0: a rate too small to have an effect */
	dist->a = rate > 1e-15 ? rate : 1e-15;
	dist->b = -real_expm1(-dist->a);
}

static inline uint64_t
exponential_rank(const struct dist *dist, uint64_t *random)
{
	return rank_at(dist, -real_log1p(-dist->b * dist_unit(random)) / dist->a);
}

/** a is the exponent. */
static void
pareto_create(struct dist *dist, double h)
{
	dist->a = real_log(h) / real_log1p(-h);
}

static inline uint64_t
pareto_rank(const struct dist *dist, uint64_t *random)
{
	return rank_at(dist, real_pow(dist_dense_unit(random), dist->a));
}

/* ---- all distributions ---- */

enum { AHEAD = 16 };

/** A constant path removes the switch. */
static inline __attribute__((always_inline)) uint64_t
rank_of(const struct dist *dist, uint32_t path, uint64_t *random, uint64_t i)
{
	switch (path) {
	case NB_DIST_ZIPFIAN:
	case NB_DIST_LATEST:
		return zipf_rank(dist, random);
	case NB_DIST_ZIPFIAN_YCSB:
		return ycsb_rank(dist, random);
	case NB_DIST_HOTSPOT:
		return hotspot_rank(dist, random);
	case NB_DIST_EXPONENTIAL:
		return exponential_rank(dist, random);
	case NB_DIST_SEQUENTIAL:
	case NB_DIST_DESCENDING:
		return i % dist->n;
	case NB_DIST_PARETO:
		return pareto_rank(dist, random);
	default:
		return dist_below(random, dist->n);
	}
}

static inline __attribute__((always_inline)) uint64_t
record_of(const struct dist *dist, uint32_t path, uint64_t rank)
{
	switch (path) {
	case NB_DIST_LATEST:
	case NB_DIST_DESCENDING:
		return dist->n - 1 - rank;
	case NB_DIST_ZIPFIAN_YCSB:
		return keyspace_ycsb_hash(rank) % dist->modulus;
	case NB_DIST_ZIPFIAN:
	case NB_DIST_HOTSPOT:
	case NB_DIST_EXPONENTIAL:
	case NB_DIST_PARETO:
		return scramble(dist, rank);
	default:
		return rank;
	}
}

/**
 * For zipfian-ycsb: draw again while the record does not exist. YCSB has no limit. mininb has
 * one, because a job with few records and a count of many inserts has a large modulus, and then
 * nearly no draw is an existing record. If a tenth of the records exist, one operation in 10^11
 * reaches the limit.
 */
static inline __attribute__((always_inline)) uint64_t
until_there(const struct dist *dist, uint32_t path, uint64_t *random, uint64_t record)
{
	if (path != NB_DIST_ZIPFIAN_YCSB)
		return record;
	for (int again = 0; __builtin_expect(record >= dist->n, 0); again++)
		record = again < YCSB_AGAIN ? record_of(dist, path, ycsb_rank(dist, random))
					    : record % dist->n;
	return record;
}

const char *
dist_name(uint32_t kind)
{
#define NAME(name) name,
	static const char *const names[NB_DIST_KINDS] = {DIST_NAMES(NAME)};
#undef NAME
	return kind < NB_DIST_KINDS ? names[kind] : NULL;
}

void
dist_create(struct dist *dist, const struct nb_group *group, uint64_t n)
{
	assert(n > 0 && group->distribution < NB_DIST_KINDS);
	*dist = (struct dist){.kind = group->distribution, .n = n, .base = n, .modulus = n};
	scramble_create(dist);
	switch (dist->kind) {
	case NB_DIST_ZIPFIAN:
	case NB_DIST_LATEST:
		zipf_create(dist, group->theta);
		break;
	case NB_DIST_ZIPFIAN_YCSB:
		ycsb_create(dist);
		break;
	case NB_DIST_HOTSPOT:
		dist->a = group->hot_ops;
		dist->b = group->hot_share;
		break;
	case NB_DIST_EXPONENTIAL:
		exponential_create(dist, group->exp_percent, group->exp_share);
		break;
	case NB_DIST_PARETO:
		pareto_create(dist, group->pareto_h);
		break;
	}
	dist_resize(dist, n);
}

void
dist_resize(struct dist *dist, uint64_t n)
{
	assert(n >= dist->n);
	dist->n = n;
	if (dist->kind == NB_DIST_ZIPFIAN || dist->kind == NB_DIST_LATEST)
		zipf_resize(dist);
	else if (dist->kind == NB_DIST_HOTSPOT)
		hotspot_resize(dist, dist->b);
}

uint64_t
dist_draw_rank(const struct dist *dist, uint64_t *random, uint64_t i)
{
	return rank_of(dist, dist->kind, random, i);
}

uint64_t
dist_draw(const struct dist *dist, uint64_t *random, uint64_t i)
{
	uint32_t path = dist->kind;
	return until_there(
		dist, path, random, record_of(dist, path, rank_of(dist, path, random, i)));
}

static inline __attribute__((always_inline)) void
draw_chunk(const struct dist *dist, uint32_t path, uint64_t *random, uint64_t i, uint32_t count,
	uint64_t *out)
{
	if (path == NB_DIST_ZIPFIAN || path == NB_DIST_LATEST)
		zipf_ranks(dist, random, count, out);
	else
		for (uint32_t j = 0; j < count; j++)
			out[j] = rank_of(dist, path, &random[j], i + j);
	if (path == NB_DIST_ZIPFIAN) {
		scramble_all(dist, count, out);
		return;
	}
	for (uint32_t j = 0; j < count; j++)
		out[j] = until_there(dist, path, &random[j], record_of(dist, path, out[j]));
}

static inline __attribute__((always_inline)) void
draw_block(const struct dist *dist, uint32_t path, uint64_t *random, uint64_t i, uint32_t count,
	uint64_t *out)
{
	for (uint32_t j = 0; j < count; j += DIST_CHUNK) {
		uint32_t rest = count - j;
		draw_chunk(dist, path, random + j, i + j, rest < DIST_CHUNK ? rest : DIST_CHUNK,
			out + j);
	}
}

/** Each path has its own loop, in which independent draws overlap. */
void
dist_draw_block(
	const struct dist *dist, uint64_t *random, uint64_t i, uint32_t count, uint64_t *out)
{
#define LOOP(path) \
	case path: \
		draw_block(dist, path, random, i, count, out); \
		break
	switch (dist->kind) {
		LOOP(NB_DIST_UNIFORM);
		LOOP(NB_DIST_ZIPFIAN);
		LOOP(NB_DIST_ZIPFIAN_YCSB);
		LOOP(NB_DIST_LATEST);
		LOOP(NB_DIST_HOTSPOT);
		LOOP(NB_DIST_EXPONENTIAL);
		LOOP(NB_DIST_SEQUENTIAL);
		LOOP(NB_DIST_PARETO);
		LOOP(NB_DIST_DESCENDING);
	}
#undef LOOP
}

/** Number of random words that a draw usually takes; some draws repeat. */
static uint32_t
words_of(const struct dist *dist)
{
	bool is_counted = dist->kind == NB_DIST_SEQUENTIAL || dist->kind == NB_DIST_DESCENDING;
	return is_counted ? 0 : dist->kind == NB_DIST_HOTSPOT ? 2 : 1;
}

/**
 * Draws that are not uniform overlap as in a block: each starts from the state that it has if
 * earlier ones take the usual number of words. The draws after one that took more are repeated.
 */
void
dist_draw_more(
	const struct dist *dist, uint64_t *random, uint64_t i, uint32_t count, uint64_t *out)
{
	/* Copies, because for the compiler a write to `out` may change *random and *dist. */
	uint64_t state = *random, n = dist->n;
	uint64_t states[AHEAD], step = words_of(dist) * UINT64_C(0x9e3779b97f4a7c15);
	bool is_uniform = dist->kind == NB_DIST_UNIFORM;
	for (uint32_t j = 0; j < count && is_uniform; j++)
		out[j] = dist_below(&state, n);
	for (uint32_t at = 0, ahead, good; at < count && !is_uniform; at += good) {
		ahead = count - at < AHEAD ? count - at : AHEAD;
		for (uint32_t j = 0; j < ahead; j++)
			states[j] = state + j * step;
		dist_draw_block(dist, states, i + at, ahead, out + at);
		for (good = 1; good < ahead && states[good - 1] == state + good * step;)
			good++;
		state = states[good - 1];
	}
	*random = state;
}
