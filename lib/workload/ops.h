/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_OPS_H
#define WORKLOAD_OPS_H
/**
 * The operations of a group, made ahead of the clock.
 *
 * Operation i is a pure function of (seed, job, group, i). The mix is exact in each
 * stratum of OPS_STRATUM operations, so that how many inserts came before operation i is
 * known without a look at those before, and each thread makes its own strata alone.
 *
 * A new record is chosen from `lag` operations after its insert on: time enough for
 * another thread to have done it, which whoever runs the operations sees to
 * (ops_needs()). So a read of a new record never misses, and the stream is the same for
 * any number of threads.
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

/** What an operation expects of its record, where its source knows that. */
enum {
	OPS_BY_PLAN =
		0, /* there, unless some group deletes or the run allows it to be missing */
	OPS_PRESENT,
	OPS_ABSENT,
	OPS_ANY,
};

/** The threads of this shard among those of all shards, where they take strata in turn. */
struct ops_turns {
	uint32_t threads, before, of_all;
};

/** Operations of another group that are visited again. Made once, then only read. */
struct ops_again {
	const struct ops_spec *of; /* one record each */
	uint64_t count;            /* of them, 1 or more */
	uint32_t bits;             /* of a number below count */
	struct ops_turns visit;    /* threads that visit them */
	struct ops_turns did;   /* threads that did them; 0 threads: they follow each other */
	uint64_t first;         /* then: the first of them */
	const uint64_t *before; /* else: how many the threads before each of those did */
	const uint64_t *done; /* how many each thread did; NULL: of a source that has no need */
};

/** What all threads of a group share. Made once, then only read. */
struct ops_spec {
	const struct source *source; /* of the group */
	const struct nb_job *job;
	const struct nb_group *group;
	const struct keyspace *keys;
	const struct sizes *sizes;
	struct value_spec values;
	uint32_t value_head;      /* bytes of a value before that: its age, 0 or 8 */
	uint32_t stream, streams; /* number of the group in the job, and how many there are */
	bool is_load;             /* inserts records 0, 1, ... */
	bool has_items;           /* some operations go to more than one record */
	bool has_draws;           /* some operations choose their record */
	bool is_array;            /* operation i goes to record i modulo job->records */
	bool has_waits;           /* some strata need others that other threads do */
	bool has_own_keys;        /* no two threads write to one record */
	uint32_t items_max;
	struct sizes items; /* of an operation that goes to more than one record */
	uint32_t one_kind;  /* NB_OP_*: all are; NB_OP_KINDS: they are mixed, or of steps */
	bool has_steps;     /* some operations are lists of steps */
	bool is_aged; /* an existing value is only ever replaced by one of a higher version */
	/* Operation i goes to record plain_first + i % plain_count; 0: records are drawn. */
	uint64_t plain_first, plain_count;
	/* Slices of the records and of the space; stratum s has that of number s % ranges. */
	uint32_t ranges;
	const struct ops_again *again; /* records are those; NULL: they are drawn */
	uint64_t seed;
	uint64_t lag_strata;
	uint64_t end; /* there are operations 0..end-1; UINT64_MAX: no end */
	uint64_t weight_sum;
	bool has_rare; /* some kind has less than two operations in a stratum: see ops_spec.c */
	uint64_t cumulated[NB_KINDS_MAX + 1];    /* of weights before each kind */
	struct dist dist, space_dist, scan_dist; /* of the shorter slices */
};

/** One operation. What it points to is the maker's until its next ops_make(). */
struct ops_op {
	uint32_t kind;           /* NB_OP_* */
	uint32_t items;          /* records it goes to; 1 unless ops_is_many() */
	uint64_t index;          /* i */
	uint64_t length;         /* of a scan, in records */
	uint32_t expects;        /* OPS_* */
	const uint64_t *numbers; /* of its records */
	const struct nb_slice *keys;
	const struct nb_slice *values; /* of a write; parallel to keys */
	struct nb_step *steps;         /* of kind_is_steps(); parallel to keys; else NULL */
};

/** One thread's maker of operations, with the bytes that they point to. */
struct ops_maker {
	const struct ops_spec *spec;
	uint32_t block;   /* records after which no other operation is made: see ops.c */
	uint32_t at;      /* of the stratum, made so far */
	uint64_t first;   /* operation of the stratum's begin */
	uint64_t until;   /* where it ends, if records are not drawn */
	struct dist dist; /* of as many records as there are at the stratum */
	struct dist space_dist;
	uint64_t low, space_low; /* where the slices of the stratum begin */
	uint64_t skipped;        /* operations before the stratum that went to other slices */
	uint64_t inserted;       /* inserts before the stratum, and those made of it */
	uint64_t txns;           /* of the source tao: write transactions, likewise */
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
 * Of group `stream` of `streams`; all that is pointed to outlives it. `group` is the job's
 * loading, or one of its groups.
 */
void
ops_spec_create(struct ops_spec *spec, const struct nb_job *job, const struct nb_group *group,
	const struct keyspace *keys, const struct sizes *sizes, uint32_t stream,
	uint32_t streams);

/** Make all operations, inserts too, go to record i modulo job->records, whatever the mix. */
void
ops_spec_be_array(struct ops_spec *spec);

/**
 * Of a group whose threads have ranges of their own: make them for so many threads that take
 * strata in turn; else nothing. ops_spec_create() makes them for the group's own threads.
 */
static inline void
ops_spec_divide(struct ops_spec *spec, uint32_t threads)
{
	if (spec->source->divide != NULL)
		spec->source->divide(spec, threads);
}

/**
 * Make operations go to the records of those of `again`, which outlives it: to each once before
 * any is visited again, in permuted order, or with a sequential distribution in their own.
 */
void
ops_spec_go_again(struct ops_spec *spec, const struct ops_again *again);

/** The bits of a number below `count`, for ops_again. */
uint32_t
ops_again_bits(uint64_t count);

/** How many of operations 0..n-1 are of that kind. */
uint64_t
ops_count_before(const struct ops_spec *spec, uint32_t kind, uint64_t n);

/** Number of the record that the group's k-th insert makes. */
static inline uint64_t
ops_inserted_number(const struct ops_spec *spec, uint64_t k)
{
	return spec->is_load ? k : spec->job->records + k * spec->streams + spec->stream;
}

/**
 * All strata below this one must be done before that stratum may be run, since it may go
 * to records that they insert. 0: none.
 */
static inline uint64_t
ops_needs(const struct ops_spec *spec, uint64_t stratum)
{
	return spec->source->needs(spec, stratum);
}

/**
 * Version of the value that operation i writes: 1..VALUE_VERSIONS; 0 if it is a loading's. A
 * value of a given size has value_version_in() of it.
 */
uint64_t
ops_version(const struct ops_spec *spec, uint64_t i);

/**
 * The operation of this group that wrote that version, the nearest one to `near`: versions
 * are used again after `versions` of all groups' operations, value_versions() of the value's
 * size. False if it is another group's, or the loading's.
 */
bool
ops_version_index(const struct ops_spec *spec, uint64_t version, uint64_t versions,
	uint64_t near, uint64_t *i);

/** Whether operation i writes to that record. Slow: some microseconds. */
static inline bool
ops_writes(const struct ops_spec *spec, uint64_t i, uint64_t number)
{
	return spec->source->writes(spec, i, number);
}

/**
 * Whether operation i puts a value into that record as one of the writes that happen all or not
 * at all, and without a condition. As slow.
 */
static inline bool
ops_puts_at_once(const struct ops_spec *spec, uint64_t i, uint64_t number)
{
	return spec->source->puts_at_once(spec, i, number);
}

/** What value_check() and value_version() know of a value that was read: all but its age. */
static inline struct nb_slice
ops_value_body(const struct ops_spec *spec, struct nb_slice value)
{
	size_t head = value.size < spec->value_head ? value.size : spec->value_head;
	if (head > 0)
		value = (struct nb_slice){(const char *)value.data + head, value.size - head};
	return value;
}

/** Make the bytes that `value` points to, prepared ones, the value of that key and version. */
void
ops_write_value(const struct ops_spec *spec, const struct nb_slice *value, struct nb_slice key,
	uint64_t version);

/** Whether a step before that one was answered NB_OK and has written to the same record. */
bool
ops_has_written(const struct ops_op *op, uint32_t item);

/** Kinds of the operations of a stratum. */
void
ops_kinds(const struct ops_spec *spec, uint64_t stratum, uint8_t kinds[OPS_STRATUM]);

/** Whether no two operations go to one record, and operation i is made without those before. */
bool
ops_is_once(const struct ops_spec *spec);

/** Names the stream of a group: equal for the same operations, whatever the threads. */
static inline uint64_t
ops_digest(const struct ops_spec *spec, uint64_t keys_hash)
{
	return spec->source->digest(spec, keys_hash);
}

/** Allocate and touch all that it will need. */
NB_MUST_CHECK int
ops_maker_create(struct ops_maker *maker, const struct ops_spec *spec);

void
ops_maker_destroy(struct ops_maker *maker);

/** Turn to a stratum. */
static inline void
ops_begin(struct ops_maker *maker, uint64_t stratum)
{
	maker->spec->source->begin(maker, stratum);
}

/**
 * The same for operations [first, until), at most OPS_STRATUM of them, of a spec for which
 * ops_is_once().
 */
void
ops_begin_at(struct ops_maker *maker, uint64_t first, uint64_t until);

/** Make the next operations of the stratum, in maker->ops[0..]; how many, 0 at its end. */
static inline uint32_t
ops_make(struct ops_maker *maker)
{
	return maker->spec->source->make(maker);
}

/** Share `rate` of all operations, as a threshold for is_sampled(). */
uint64_t
sample_threshold(double rate);

/**
 * Whether operation i is one of those that are verified: i times the golden
 * ratio mod 1 (Weyl's sequence) is below the share. Spread as evenly as can be,
 * in step with nothing, and one multiplication.
 */
static inline bool
is_sampled(uint64_t i, uint64_t threshold)
{
	return i * 0x9e3779b97f4a7c15u < threshold;
}

/**
 * The same sequence half a turn on, for operations that are stamped where the others are not: so
 * no operation is both of a small share that is verified and of a small share that is stamped.
 */
static inline bool
has_stamps(uint64_t i, uint64_t threshold)
{
	return i * 0x9e3779b97f4a7c15u - (UINT64_C(1) << 63) < threshold;
}

/** What does all kinds of steps but `add`, and what does that: ops_exec(). */
enum { OPS_STEPS = NB_OP_KINDS, OPS_ADD };

/** The number of the code that does a kind: NB_OP_*, OPS_STEPS or OPS_ADD. */
static inline uint32_t
ops_exec(uint32_t kind)
{
	_Static_assert((uint32_t)OPS_ADD == KIND_ADD, "add has its own number");
	return kind <= KIND_ADD ? kind : OPS_STEPS;
}

/** Whether it puts a value into the database. */
static inline bool
ops_is_write(uint32_t kind)
{
	return (1u << kind & OP_WRITES_MASK) != 0;
}

/** Whether it goes to group->items records. */
static inline bool
ops_is_many(uint32_t kind)
{
	return (1u << kind & OP_ITEMS_MASK) != 0;
}

#endif /* WORKLOAD_OPS_H */
