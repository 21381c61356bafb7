/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_OPS_H
#define WORKLOAD_OPS_H
/**
 * The operations of a group, made ahead of the clock.
 *
 * Operation i is a pure function of (seed, job, group, i). The mix is exact in each stratum of
 * OPS_STRATUM operations. So the number of inserts before operation i is known without the
 * earlier operations, and each thread makes its own strata independently.
 *
 * A new record may be chosen from `lag` operations after its insert. The runner ensures with
 * ops_needs() that another thread has inserted it by then. So a read of a new record never
 * misses, and the stream is the same for any number of threads.
 */
#include <stdbool.h>

#include <mininb/engine.h>
#include <mininb/job.h>

#include "workload/dist.h"
#include "workload/keyspace.h"
#include "workload/kinds.h"
#include "workload/op_kind.h"
#include "workload/sizes.h"
#include "workload/source.h"
#include "workload/values.h"

enum { OPS_STRATUM = 64 };

/** The state of its record that an operation expects, if the source knows it. */
enum {
	/* Present, unless some group deletes or the run allows missing records. */
	OPS_BY_PLAN = 0,
	OPS_PRESENT,
	OPS_ABSENT,
	OPS_ANY,
};

/** Threads of this shard among those of all shards, if they take strata in turn. */
struct ops_turns {
	uint32_t threads, before, of_all;
};

/** Operations of another group whose records are visited again. Made once, then read-only. */
struct ops_again {
	const struct ops_spec *of; /* the other group; one record for each operation */
	uint64_t count;            /* number of its operations, >= 1 */
	uint32_t bits;             /* width of a number below count */
	struct ops_turns visit;    /* threads that visit */
	struct ops_turns did; /* threads that executed them; 0 threads: they are consecutive */
	uint64_t first;       /* the first one, if did.threads is 0 */
	const uint64_t *before; /* else: operations of the threads before each thread */
	const uint64_t *done; /* operations of each thread; NULL: the source does not need it */
};

/** Data that all threads of a group share. Made once, then read-only. */
struct ops_spec {
	const struct source *source; /* of the group */
	const struct nb_job *job;
	const struct nb_group *group;
	const struct keyspace *keys;
	const struct sizes *sizes;
	struct value_spec values;
	uint32_t value_head;      /* size of the age at the start of a value: 0 or 8 bytes */
	uint32_t stream, streams; /* number of the group in the job, number of groups */
	bool is_load;             /* inserts records 0, 1, ... */
	bool has_items;           /* some operations have several records */
	bool has_draws;           /* some operations draw a record */
	bool is_array;            /* operation i goes to record i modulo job->records */
	bool has_waits;           /* some strata must wait for strata of other threads */
	bool has_own_keys;        /* no two threads write the same record */
	uint32_t items_max;
	struct sizes items; /* number of records of an operation with several */
	uint32_t kinds;     /* bits of the kinds in the mix */
	uint32_t one_kind;  /* NB_OP_* if all have that kind; else NB_OP_KINDS */
	bool has_steps;     /* some operations are lists of steps */
	bool is_aged;       /* an existing value is replaced only by one of a higher version */
	/* Operation i goes to record plain_first + i % plain_count; 0: records are drawn. */
	uint64_t plain_first, plain_count;
	/* Number of slices of the records and of the space; stratum s uses slice s % ranges. */
	uint32_t ranges;
	const struct ops_again *again; /* source of the records; NULL: they are drawn */
	uint64_t seed;
	uint64_t lag_strata;
	uint64_t end; /* operations are 0..end-1; UINT64_MAX: no end */
	uint64_t weight_sum;
	bool has_rare; /* some kind has less than two operations per stratum: see ops_spec.c */
	uint64_t cumulated[NB_KINDS_MAX + 1];    /* sum of the weights before each kind */
	struct dist dist, space_dist, scan_dist; /* sized for the shorter slices */
};

/** One operation. The maker owns the data it points to, until the next ops_make(). */
struct ops_op {
	uint32_t kind;           /* NB_OP_* */
	uint32_t items;          /* number of records; 1 unless ops_is_many() */
	uint64_t index;          /* i */
	uint64_t length;         /* of a scan, in records */
	uint32_t expects;        /* OPS_* */
	const uint64_t *numbers; /* numbers of its records */
	const struct nb_slice *keys;
	const struct nb_slice *values; /* of a write; parallel to keys */
	struct nb_step *steps;         /* if kind_is_steps(), parallel to keys; else NULL */
};

/** Makes the operations of one thread. Owns the bytes that they point to. */
struct ops_maker {
	const struct ops_spec *spec;
	uint32_t block;   /* number of records that ends a block: see ops.c */
	uint32_t at;      /* operations of the stratum made so far */
	uint64_t first;   /* first operation of the stratum */
	uint64_t until;   /* end of the operations to make, if records are not drawn */
	struct dist dist; /* for the number of records at the stratum */
	struct dist space_dist;
	uint64_t low, space_low; /* begin of the stratum's slices */
	uint64_t skipped;        /* operations before the stratum that used other slices */
	uint64_t inserted;       /* inserts before the stratum and those made of it */
	uint64_t txns;           /* source tao: write transactions, counted likewise */
	size_t key_stride, value_stride;
	uint8_t *bytes; /* keys, then values */
	uint8_t *value_bytes;
	uint64_t *numbers;
	struct nb_slice *keys, *values;
	bool writes;           /* some operations put values */
	struct nb_step *steps; /* NULL unless spec->has_steps */
	uint8_t kinds[OPS_STRATUM], expects[OPS_STRATUM];
	uint64_t random[OPS_STRATUM], drawn[OPS_STRATUM];
	struct ops_op ops[OPS_STRATUM];
};

/**
 * Make the spec of group `stream` of `streams`. `group` is the load or one of the job's groups.
 * All arguments outlive the spec.
 */
void
ops_spec_create(struct ops_spec *spec, const struct nb_job *job, const struct nb_group *group,
	const struct keyspace *keys, const struct sizes *sizes, uint32_t stream,
	uint32_t streams);

/** Let all operations, including inserts, use record i modulo job->records. */
void
ops_spec_be_array(struct ops_spec *spec);

/**
 * If the threads of the group have their own ranges, make ranges for `threads` threads that
 * take strata in turn. ops_spec_create() does it for the group's own number of threads.
 */
static inline void
ops_spec_divide(struct ops_spec *spec, uint32_t threads)
{
	if (spec->source->divide != NULL)
		spec->source->divide(spec, threads);
}

/**
 * Let operations visit the records of `again`, which outlives the spec. Each record is visited
 * once before any is repeated; in permuted order, or in the original order if the distribution
 * is sequential.
 */
void
ops_spec_go_again(struct ops_spec *spec, const struct ops_again *again);

/** Value of ops_again.bits for `count`. */
uint32_t
ops_again_bits(uint64_t count);

/** Number of operations of a kind among operations 0..n-1. */
uint64_t
ops_count_before(const struct ops_spec *spec, uint32_t kind, uint64_t n);

/** Number of the record of the group's k-th insert. */
static inline uint64_t
ops_inserted_number(const struct ops_spec *spec, uint64_t k)
{
	return spec->is_load ? k : spec->job->records + k * spec->streams + spec->stream;
}

/**
 * All strata below the returned number must be complete before `stratum` runs, because it may
 * use records that they insert. 0: none.
 */
static inline uint64_t
ops_needs(const struct ops_spec *spec, uint64_t stratum)
{
	return spec->source->needs(spec, stratum);
}

/**
 * Version of the value that operation i writes: 1..VALUE_VERSIONS; 0 for the load. The stored
 * version is value_version_in(version, size).
 */
uint64_t
ops_version(const struct ops_spec *spec, uint64_t i);

/** The versions of operations indexes[0..count-1]. */
void
ops_versions(const struct ops_spec *spec, const uint64_t *indexes, uint32_t count,
	uint64_t *versions);

/**
 * Find the operation of this group that wrote a version, the nearest one to `near`. Versions
 * repeat after `versions` operations of all groups; `versions` is value_versions() of the
 * value's size. False if another group or the load wrote it.
 */
bool
ops_version_index(const struct ops_spec *spec, uint64_t version, uint64_t versions,
	uint64_t near, uint64_t *i);

/** Whether operation i puts a value into that record. Slow: some microseconds. */
static inline bool
ops_writes(const struct ops_spec *spec, uint64_t i, uint64_t number)
{
	return spec->source->writes(spec, i, number);
}

/**
 * Whether operation i puts a value into that record unconditionally, as one of several atomic
 * writes. As slow.
 */
static inline bool
ops_puts_at_once(const struct ops_spec *spec, uint64_t i, uint64_t number)
{
	return spec->source->puts_at_once(spec, i, number);
}

/** The part of a value that value_check() and value_version() understand: without its age. */
static inline struct nb_slice
ops_value_body(const struct ops_spec *spec, struct nb_slice value)
{
	size_t head = value.size < spec->value_head ? value.size : spec->value_head;
	if (head > 0)
		value = (struct nb_slice){(const char *)value.data + head, value.size - head};
	return value;
}

/** Write the value of that key and version to the prepared bytes of `value`. */
void
ops_write_value(const struct ops_spec *spec, const struct nb_slice *value, struct nb_slice key,
	uint64_t version);

/** Whether an earlier step was answered NB_OK and changed the same record. */
bool
ops_has_written(const struct ops_op *op, uint32_t item);

/** Get the kinds of the operations of a stratum. */
void
ops_kinds(const struct ops_spec *spec, uint64_t stratum, uint8_t kinds[OPS_STRATUM]);

/**
 * Whether all operations have different records and each can be made without the earlier ones.
 */
bool
ops_is_once(const struct ops_spec *spec);

/** Digest of a group's stream: equal for equal operations, for any number of threads. */
static inline uint64_t
ops_digest(const struct ops_spec *spec, uint64_t keys_hash)
{
	return spec->source->digest(spec, keys_hash);
}

/** Allocate and touch all memory that the maker needs. */
NB_MUST_CHECK int
ops_maker_create(struct ops_maker *maker, const struct ops_spec *spec);

void
ops_maker_destroy(struct ops_maker *maker);

/** Move to a stratum. */
static inline void
ops_begin(struct ops_maker *maker, uint64_t stratum)
{
	maker->spec->source->begin(maker, stratum);
}

/**
 * Move to operations [first, until), at most OPS_STRATUM. Only for a spec with ops_is_once().
 */
void
ops_begin_at(struct ops_maker *maker, uint64_t first, uint64_t until);

/**
 * Make the next operations of the stratum in maker->ops[0..]. Returns their number, 0 at the
 * end.
 */
static inline uint32_t
ops_make(struct ops_maker *maker)
{
	return maker->spec->source->make(maker);
}

/** The threshold for is_sampled() that selects the fraction `rate` of all operations. */
uint64_t
sample_threshold(double rate);

/**
 * Whether operation i is verified: i times the golden ratio mod 1 (Weyl's sequence) is below
 * the fraction. It spreads samples as evenly as possible, is in step with no pattern, and costs
 * one multiplication.
 */
static inline bool
is_sampled(uint64_t i, uint64_t threshold)
{
	return i * 0x9e3779b97f4a7c15u < threshold;
}

/**
 * The same sequence shifted by 1/2, for operations that are stamped while others are not. So
 * with small fractions no operation is both verified and stamped.
 */
static inline bool
has_stamps(uint64_t i, uint64_t threshold)
{
	return i * 0x9e3779b97f4a7c15u - (UINT64_C(1) << 63) < threshold;
}

/** Values of ops_exec() for `add` (OPS_ADD) and all other kinds with steps (OPS_STEPS). */
enum { OPS_STEPS = NB_OP_KINDS, OPS_ADD };

/** The number of the code that executes a kind: NB_OP_*, OPS_STEPS or OPS_ADD. */
static inline uint32_t
ops_exec(uint32_t kind)
{
	_Static_assert((uint32_t)OPS_ADD == KIND_ADD, "add has its own number");
	return kind <= KIND_ADD ? kind : OPS_STEPS;
}

/** Whether the kind puts a value. */
static inline bool
ops_is_write(uint32_t kind)
{
	return (1u << kind & OP_WRITES_MASK) != 0;
}

/** Whether the kind uses group->items records. */
static inline bool
ops_is_many(uint32_t kind)
{
	return (1u << kind & OP_ITEMS_MASK) != 0;
}

#endif /* WORKLOAD_OPS_H */
