/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_WORKLOAD_H
#define FPTREE_WORKLOAD_H
/**
 * Operations on a tree, what must come of them, and whether it has.
 *
 * A shape is a layout of the tree and sizes of what is stored in it; few keys and tiny
 * leaves, so that splits, merges and updates abound. Operation i is a function of
 * the seed and i alone. The model is a plain array: for each key what is stored.
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
	uint32_t huge_bytes; /* of one value in 64; 0: none */
	uint32_t pool_mib;   /* most that the pool may grow to */
};

/** Ends with a NULL name. */
extern const struct shape shapes[];

unsigned
shapes_count(void);

enum verb { VERB_PUT, VERB_INSERT, VERB_DEL };

/** A value is told by its version and size. */
struct stored {
	uint64_t version; /* 0: nothing is stored */
	uint32_t size;
};

struct op {
	enum verb verb;
	uint32_t key;
	struct stored value; /* of a delete: nothing */
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
		bool is_there; /* it has not returned: before or after it */
		struct op op;
	} in_flight[WORKLOAD_THREADS];
};

/** A tree that is open. */
struct subject {
	const struct workload *workload;
	struct pool *pool;
	struct tree *tree;
	struct tree_session *session;
};

void
workload_create(struct workload *workload, const struct shape *shape, uint64_t seed);

struct op
workload_op(const struct workload *workload, uint64_t i);

/** Operation i of one of the threads: their keys are different, and lie between each other. */
struct op
workload_op_of(const struct workload *workload, unsigned thread, uint64_t i);

/** Keys of that thread, of `from` into `to`. */
void
model_join(struct model *to, const struct model *from, unsigned thread);

/** The operation as text, for a human. */
const char *
workload_op_text(const struct workload *workload, const struct op *op, char text[256]);

/** The operation has returned. */
void
model_apply(struct model *model, const struct op *op);

uint32_t
model_count(const struct model *model);

/*
 * Those that follow return false where something was not as it must be, and
 * subject_fault() then says what. They need no clean-up but subject_close().
 */

/** Open the pool in the directory, and the tree in it; or with is_new make them. */
bool
subject_open(struct subject *subject, const struct workload *workload, const char *path,
	bool is_new);

/** The two halves of it. */
bool
subject_open_pool(struct subject *subject, const struct workload *workload, const char *path,
	bool is_new);
bool
subject_open_tree(struct subject *subject);

/** Also of one that was opened in part. */
bool
subject_close(struct subject *subject);

/**
 * Another session, of number 1, for another thread; `first` stays open for longer.
 * subject_close() does not take it: subject_leave() does.
 */
bool
subject_join(struct subject *subject, const struct subject *first);
bool
subject_leave(struct subject *subject);

/** What was in flight is decided by what is there, one of both it must be. */
bool
subject_decide(struct subject *subject, struct model *model);

/** Make the operation. Its answer must be what the model says; that has it applied. */
bool
subject_do(struct subject *subject, struct model *model, const struct op *op);

/**
 * All is there that the model says, and nothing else, by scans of both directions, by
 * gets and by tree_check(), after subject_decide().
 */
bool
subject_check(struct subject *subject, struct model *model);

/** Scans from each key, in both directions, and one multi_get of all keys. */
bool
subject_check_seeks(struct subject *subject, const struct model *model);

/** Delete all, close, open: no space may be in use but that of an empty tree. */
bool
subject_check_space(struct subject *subject, struct model *model, const char *path);

/** Of this thread. */
const char *
subject_fault(void);

#endif /* FPTREE_WORKLOAD_H */
