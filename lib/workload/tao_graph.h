/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_TAO_GRAPH_H
#define WORKLOAD_TAO_GRAPH_H
/**
 * The social graph of TAOBench: its objects and edges, by number.
 *
 * Edge e joins two objects of its own. The load inserts edges 0..edges-1. A run adds edges, or
 * objects with the first id of an edge, with numbers from `edges` up. All data of edge e is a
 * pure function of (seed, e), so nothing is stored and no clock is read.
 *
 * The number of a record is 3 * e + part. Keys: 'o' and the id; 'e', both ids and the type. Ids
 * are big-endian, so the order of keys is that of the original's primary keys.
 */
#include <stdbool.h>
#include <string.h>

#include <mininb/engine.h>
#include <mininb/job.h>

#include "base/rng.h"
#include "workload/tao_file.h"

enum { TAO_OBJECT, TAO_REMOTE_OBJECT, TAO_EDGE, TAO_PARTS };

/* Types of edges, as stored in their keys. */
enum { TAO_UNIQUE, TAO_BIDIRECTIONAL, TAO_UNIQUE_BIDIRECTIONAL, TAO_OTHER, TAO_TYPES };

enum {
	TAO_SEQUENCE_BITS = 17,
	TAO_TIME_BITS = 40,
	TAO_STEP_NS = 1000, /* difference of time between consecutive ids */
	TAO_OBJECT_KEY = 9,
	TAO_EDGE_KEY = 18,
	TAO_FIRST_ID = 9,   /* end of the first id in an edge's key */
	TAO_BOTH_IDS = 17,  /* end of the second id */
	TAO_AGE_BYTES = 8,  /* size of the age at the start of a value */
	TAO_VALUE_MIN = 24, /* minimum size of the rest: hash of the key, version, checksum */
	TAO_TABLES = 2,
	TAO_DEGREE_MAX = 1 << 20
};

#define TAO_SEQUENCE_MASK ((UINT64_C(1) << TAO_SEQUENCE_BITS) - 1)
#define TAO_TIME_MASK ((UINT64_C(1) << TAO_TIME_BITS) - 1)
/* Increment of the time per round of sequence numbers. Odd, so it can be inverted. */
#define TAO_LAP_NS (((uint64_t)TAO_STEP_NS << TAO_SEQUENCE_BITS) | 1)

/** Walker's alias method: a draw needs one multiplication and one comparison. */
struct tao_slot {
	uint64_t bar; /* threshold of the fraction: below it `own`, else `other` */
	uint32_t own, other;
};

struct tao_alias {
	struct tao_slot *slots;
	uint32_t count; /* 0: nothing to draw */
};

/* Read transactions form kinds by maximum size: 4, 16, 64, 256 and 1024. */
enum { TAO_CLASSES = 5 };

/* Operations on an object or, above the threshold, on an edge. */
enum {
	TAO_BAR_READ,
	TAO_BAR_TXN_READ,
	TAO_BAR_INSERT,
	TAO_BAR_UPDATE,
	TAO_BAR_DELETE,
	TAO_BARS
};

struct tao_graph {
	uint64_t edges, seed;
	uint64_t start;  /* sequence number of the first id */
	uint64_t unlap;  /* inverse of TAO_LAP_NS mod 2^40 */
	uint32_t shards; /* of the loaded edges, which use them in turn */
	uint64_t hash;   /* of the distributions and the degrees */
	/*
	 * Begins of the groups of edges with the same first id, in each shard, repeated
	 * cyclically.
	 */
	uint32_t group_count;   /* 0: each edge has its own first id */
	uint32_t *group_begins; /* group_count + 1 */
	struct tao_alias laws[TAO_LAWS];
	struct tao_alias classes[TAO_CLASSES]; /* sizes of read transactions */
	uint64_t bars[TAO_BARS];               /* a random word below it selects an object */
};

/** The maximum size of a class of read transactions. */
static inline uint32_t
tao_class_max(uint32_t which)
{
	return 4u << 2 * which;
}

static inline uint32_t
tao_class_of(uint32_t size)
{
	uint32_t which = 0;
	while (size > tao_class_max(which))
		which++;
	return which;
}

/**
 * `edges` is at least the number of shards, so that no shard is empty. The file is not needed
 * afterwards.
 */
NB_MUST_CHECK int
tao_graph_create(struct tao_graph *graph, const struct tao_file *file, uint64_t edges,
	const struct nb_sizes *degree, uint64_t seed);

void
tao_graph_destroy(struct tao_graph *graph);

/** Number of edges in the primary shard `shard`: those with e % shards == shard. */
static inline uint64_t
tao_edges_of(const struct tao_graph *graph, uint32_t shard)
{
	return (graph->edges - shard + graph->shards - 1) / graph->shards;
}

static inline uint32_t
tao_alias_draw(const struct tao_alias *alias, uint64_t random)
{
	uint128 product = (uint128)random * alias->count;
	const struct tao_slot *slot = &alias->slots[(uint64_t)(product >> 64)];
	return (uint64_t)product < slot->bar ? slot->own : slot->other;
}

/** A number 0..n-1; the bias is n / 2^64. */
static inline uint64_t
tao_below(uint64_t random, uint64_t n)
{
	return (uint64_t)((uint128)random * n >> 64);
}

/* ---- ids ---- */

static inline uint64_t
tao_id(const struct tao_graph *graph, uint64_t nth, uint64_t shard)
{
	uint64_t low = nth & TAO_SEQUENCE_MASK, lap = nth >> TAO_SEQUENCE_BITS;
	uint64_t time = (lap * TAO_LAP_NS + low * TAO_STEP_NS) & TAO_TIME_MASK;
	uint64_t sequence = (low + graph->start) & TAO_SEQUENCE_MASK;
	return shard << (TAO_SEQUENCE_BITS + TAO_TIME_BITS) | sequence << TAO_TIME_BITS | time;
}

/** The first random word of edge e; more words are of its sequence. */
static inline uint64_t
tao_random(const struct tao_graph *graph, uint64_t e)
{
	return splitmix64_mix(graph->seed + e * UINT64_C(0x9e3779b97f4a7c15));
}

/**
 * The edge whose first id edge e shares; only for loaded edges. *degree: number of edges with
 * it.
 */
uint64_t
tao_owner(const struct tao_graph *graph, uint64_t e, uint64_t *degree);

/** The id of the first object of e. */
static inline uint64_t
tao_object_id(const struct tao_graph *graph, uint64_t e)
{
	uint64_t shard = e % graph->shards;
	if (e >= graph->edges)
		shard = tao_alias_draw(&graph->laws[TAO_PRIMARY_SHARDS],
			splitmix64_mix(~tao_random(graph, e)));
	return tao_id(graph, 2 * e, shard);
}

/** The id at which edge e begins. */
static inline uint64_t
tao_first_id(const struct tao_graph *graph, uint64_t e)
{
	uint64_t degree;
	if (__builtin_expect(graph->group_count > 0, 0) && e < graph->edges)
		e = tao_owner(graph, e, &degree);
	return tao_object_id(graph, e);
}

static inline uint64_t
tao_second_id(const struct tao_graph *graph, uint64_t e)
{
	uint64_t random = tao_random(graph, e);
	return tao_id(
		graph, 2 * e + 1, tao_alias_draw(&graph->laws[TAO_REMOTE_SHARDS], random));
}

static inline uint32_t
tao_type(const struct tao_graph *graph, uint64_t e)
{
	uint64_t random = splitmix64_mix(tao_random(graph, e));
	return tao_alias_draw(&graph->laws[TAO_EDGE_TYPES], random);
}

/* ---- keys ---- */

static inline void
tao_put_id(uint8_t *out, uint64_t id)
{
	uint64_t bytes = __builtin_bswap64(id);
	memcpy(out, &bytes, sizeof(bytes));
}

static inline size_t
tao_object_key(uint8_t *out, uint64_t id)
{
	out[0] = 'o';
	tao_put_id(out + 1, id);
	return TAO_OBJECT_KEY;
}

static inline size_t
tao_edge_key(uint8_t *out, uint64_t first, uint64_t second, uint32_t type)
{
	out[0] = 'e';
	tao_put_id(out + 1, first);
	tao_put_id(out + 9, second);
	out[17] = (uint8_t)type;
	return TAO_EDGE_KEY;
}

/** Write the key of a record to out, which has TAO_EDGE_KEY bytes; returns its size. */
static inline size_t
tao_key(const struct tao_graph *graph, uint64_t number, uint8_t *out)
{
	uint64_t e = number / TAO_PARTS, part = number % TAO_PARTS;
	if (part == TAO_OBJECT)
		return tao_object_key(out, tao_object_id(graph, e));
	if (part == TAO_REMOTE_OBJECT)
		return tao_object_key(out, tao_second_id(graph, e));
	return tao_edge_key(
		out, tao_first_id(graph, e), tao_second_id(graph, e), tao_type(graph, e));
}

/** The record of a key; false: not of this graph. */
bool
tao_key_number(const struct tao_graph *graph, struct nb_slice key, uint64_t *number);

/* Numbers of the tables. */
enum { TAO_OBJECTS, TAO_EDGES };

/** The tables of such a graph and their columns. It has internal pointers: do not move it. */
struct tao_schema {
	struct nb_table tables[TAO_TABLES];
	struct nb_column row[2];
};

/** `value_size` includes the timestamp. */
void
tao_schema_create(struct tao_schema *schema, uint64_t edges, uint64_t value_size);

#endif /* WORKLOAD_TAO_GRAPH_H */
