/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_WORKLOAD_H
#define FPTREE_WORKLOAD_H
/**
 * Operations on a tree, a model of their results, and the checks of the tree against it.
 *
 * A shape is a layout of the tree and the sizes of keys and values. It has few keys and tiny
 * leaves, so splits, merges and updates are frequent. Operation i depends only on the seed
 * and i. The model is a plain array with the stored value of each key.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool.h"
#include "tree.h"

enum { WORKLOAD_KEYS = 96, WORKLOAD_KEY_MAX = 40, WORKLOAD_THREADS = 2 };

struct shape {
	const char *name;
	struct tree_args tree;
	uint32_t keys;
	uint32_t key_min, key_max; /* bytes */
	uint32_t value_min, value_max;
	uint32_t huge_bytes; /* size of one value in 64; 0: none */
	uint32_t pool_mib;   /* maximum size of the pool */
};

/** Ends with a NULL name. */
extern const struct shape shapes[];

unsigned
shapes_count(void);

enum verb { VERB_PUT, VERB_INSERT, VERB_DEL };

/** The version and size of a value determine its bytes. */
struct stored {
	uint64_t version; /* 0: nothing is stored */
	uint32_t size;
};

struct op {
	enum verb verb;
	uint32_t key;
	struct stored value; /* all zeros for a delete */
};

struct workload {
	const struct shape *shape;
	uint64_t seed;
	struct {
		uint8_t bytes[WORKLOAD_KEY_MAX];
		uint32_t size;
	} keys[WORKLOAD_KEYS]; /* in order, all different */
};

struct model {
	struct stored records[WORKLOAD_KEYS];
	struct {
		bool is_there; /* called, not returned: it may have happened or not */
		struct op op;
	} in_flight[WORKLOAD_THREADS];
};

/** An open tree. */
struct subject {
	const struct workload *workload;
	struct pool *pool;
	struct nb_db *tree;
	struct nb_session *session;
};

void
workload_create(struct workload *workload, const struct shape *shape, uint64_t seed);

struct op
workload_op(const struct workload *workload, uint64_t i);

/**
 * Operation i of one of the threads. Each thread has its own keys, which alternate with those
 * of the other.
 */
struct op
workload_op_of(const struct workload *workload, unsigned thread, uint64_t i);

/** Copy the records of that thread's keys from `from` to `to`. */
void
model_join(struct model *to, const struct model *from, unsigned thread);

/** Format the operation as text. */
const char *
workload_op_text(const struct workload *workload, const struct op *op, char text[256]);

/** Apply an operation that has returned. */
void
model_apply(struct model *model, const struct op *op);

uint32_t
model_count(const struct model *model);

/*
 * The following functions return false if a check fails; subject_fault() then describes the
 * fault. The caller only has to call subject_close().
 */

/** Open the pool in the directory and its tree. With is_new, make them. */
bool
subject_open(struct subject *subject, const struct workload *workload, const char *path,
	bool is_new);

/** The two halves of subject_open(). */
bool
subject_open_pool(struct subject *subject, const struct workload *workload, const char *path,
	bool is_new);
bool
subject_open_tree(struct subject *subject);

/** Close the subject, even if it was opened only in part. */
bool
subject_close(struct subject *subject);

/**
 * Open another session, with number 1, for another thread; `first` must stay open longer.
 * Close it with subject_leave(), not with subject_close().
 */
bool
subject_join(struct subject *subject, const struct subject *first);
bool
subject_leave(struct subject *subject);

/**
 * Update the model: read whether each operation in flight has happened. Both states are
 * right, all others are faults.
 */
bool
subject_decide(struct subject *subject, struct model *model);

/** Execute the operation, compare its answer with the model, and apply it to the model. */
bool
subject_do(struct subject *subject, struct model *model, const struct op *op);

/**
 * Check that the tree contains exactly the records of the model. Calls subject_decide(), then
 * uses scans in both directions, gets and tree_check().
 */
bool
subject_check(struct subject *subject, struct model *model);

/** Check scans from each key in both directions, and one multi_get of all keys. */
bool
subject_check_seeks(struct subject *subject, const struct model *model);

/** Delete all records, close and open: only the space of an empty tree may be in use. */
bool
subject_check_space(struct subject *subject, struct model *model, const char *path);

/** The last fault of this thread. */
const char *
subject_fault(void);

#endif /* FPTREE_WORKLOAD_H */
