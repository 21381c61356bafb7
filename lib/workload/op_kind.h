/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_OP_KIND_H
#define WORKLOAD_OP_KIND_H
/**
 * The kinds of operations, one row each: name, flags, the kind that Masstree's notebooks count,
 * the member of struct nb_trace_counts if a trace can contain the kind, and the help.
 */
#include <stdbool.h>

#include <mininb/job.h>
#include <mininb/trace.h>

enum {
	OP_READS = 1 << 0,   /* returns values */
	OP_WRITES = 1 << 1,  /* puts values */
	OP_REMOVES = 1 << 2, /* deletes */
	OP_NEW = 1 << 3,     /* inserts the next record */
	OP_SPACE = 1 << 4,   /* uses any record of the space, existing or not */
	OP_RANGE = 1 << 5,   /* uses the records that follow the first */
	OP_ITEMS = 1 << 6,   /* uses group->items records */
};

/** Columns of Masstree's notebooks, after the total. */
enum { OP_PUTS = 1, OP_GETS, OP_SCANS, OP_REMOVALS };

/* clang-format off */
#define OP_KINDS(X) \
	X(READ, "read", OP_READS, OP_GETS, reads, \
		"share of reads, in percent or on any other scale") \
	X(UPDATE, "update", OP_WRITES, OP_PUTS, updates, \
		"share of new values for existing records") \
	X(INSERT, "insert", OP_WRITES | OP_NEW, OP_PUTS, inserts, \
		"share of new records") \
	X(UPSERT, "upsert", OP_WRITES | OP_SPACE, OP_PUTS, upserts, \
		"share of puts to any record of the space, existing or not") \
	X(DELETE, "delete", OP_REMOVES | OP_SPACE, OP_REMOVALS, deletes, \
		"share of deletes of any record of the space, existing or not") \
	X(SCAN, "scan", OP_READS | OP_RANGE, OP_SCANS, scans, \
		"share of scans; each begins at an existing record") \
	X(RMW, "read-modify-write", OP_READS | OP_WRITES, OP_PUTS, rmws, \
		"share of reads followed by a new value for the same record") \
	X(BATCH, "batch", OP_WRITES | OP_ITEMS, OP_PUTS, size, \
		"share of batches of updates") \
	X(MULTIGET, "multi-get", OP_READS | OP_ITEMS, OP_GETS, size, \
		"share of reads of several records at once") \
	X(TXN_READ, "txn-read", OP_READS | OP_ITEMS, OP_GETS, size, \
		"share of transactions that read") \
	X(TXN_WRITE, "txn-write", OP_WRITES | OP_ITEMS, OP_PUTS, size, \
		"share of transactions that update")
/* clang-format on */

struct op_kind {
	const char *name;     /* "read-modify-write" */
	uint32_t flags;       /* OP_READS and so on */
	uint32_t counted;     /* OP_PUTS and so on */
	size_t traced_offset; /* offset of a member of struct nb_trace_counts; 0: not traced */
};

extern const struct op_kind op_kind_table[NB_OP_KINDS];

/**
 * Sets of kinds with any of these flags, as constants for loops that must not load from memory.
 */
#define OP_BIT_IF(id, name, flags, ...) | (((flags)&OP_MASK_FLAGS) != 0 ? 1u << NB_OP_##id : 0)
enum {
#define OP_MASK_FLAGS OP_WRITES
	OP_WRITES_MASK = 0 OP_KINDS(OP_BIT_IF),
#undef OP_MASK_FLAGS
#define OP_MASK_FLAGS OP_ITEMS
	OP_ITEMS_MASK = 0 OP_KINDS(OP_BIT_IF),
#undef OP_MASK_FLAGS
#define OP_MASK_FLAGS (OP_NEW | OP_SPACE | OP_RANGE | OP_ITEMS)
	OP_DRAWN_MASK = ((1u << NB_OP_KINDS) - 1) ^ (0 OP_KINDS(OP_BIT_IF)), /* none of these */
#undef OP_MASK_FLAGS
};

/** Whether the kind has any of the flags. */
static inline bool
op_is(uint32_t kind, uint32_t flags)
{
	return kind < NB_OP_KINDS && (op_kind_table[kind].flags & flags) != 0;
}

/** Whether a trace can contain the kind. */
static inline bool
op_is_traced(uint32_t kind)
{
	return kind < NB_OP_KINDS && op_kind_table[kind].traced_offset != 0;
}

/** Count one operation. Without a kind it is counted only in counts->ops. */
void
op_count_traced(struct nb_trace_counts *counts, uint32_t kind);

#endif /* WORKLOAD_OP_KIND_H */
