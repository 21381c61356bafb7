/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODEL_H
#define MODEL_H
/**
 * Random operations: their meaning (random_ops.c), their execution (act.c), and sequences
 * (model.c).
 */
#include "check/suite.h"

enum {
	KEYS = 40,
	KEY_SIZE = 1024, /* of the longest key, if the engine allows it */
	GROUP = 8,       /* limit for the writes of a batch and the keys of a multi_get */
	SCAN_LIMIT = 60,
	WHY_SIZE = SUITE_TEXT_SIZE
};

enum {
	PUT,
	GET,
	DEL,
	INSERT,
	MERGE,
	BATCH,
	MULTI_GET,
	SCAN,
	SCAN_BACK,
	EXECUTE,
	TRANSACTION,
	SETTLE,
	REOPEN,
	KINDS
};

struct op {
	uint32_t kind;
	uint32_t value_cap; /* longest value; shrinking lowers it */
	uint64_t seed;      /* of its keys and values */
	uint32_t count;     /* size of a group, records of a scan */
	uint32_t first;     /* number of the first key of a group */
};

struct model {
	struct suite *s;
	struct database subject, oracle;
	struct nb_slice keys[KEYS];
	size_t key_count;
	unsigned char key_bytes[KEYS][KEY_SIZE];
	unsigned char *values; /* GROUP x SUITE_VALUE_SIZE */
	uint64_t key_size_max, value_size_max;
	uint32_t kinds; /* a bit for each kind that is used */
	bool refuses_backward;
	bool goes_on;       /* continues even after a difference */
	uint32_t replays;   /* of the sequence being shrunk */
	uint64_t begin_ns;  /* of the promise */
	char why[WHY_SIZE]; /* how the answers differ */
};

/** Executes a kind of operation on the engine and the oracle. */
struct op_kind {
	const char *name;
	bool (*act)(struct model *m, const struct op *op); /* false: m->why has the reason */
	uint32_t weight;                                   /* relative frequency */
};

extern const struct op_kind op_kinds[KINDS];
extern const char *const step_names[]; /* by NB_STEP_* */

/* --- the meaning of an operation; `i` counts the records of a group --- */

/** A random number of the operation, the same for equal `i`. */
uint64_t
op_hash(uint64_t seed, uint64_t i);

struct nb_slice
op_key(const struct model *m, const struct op *op, uint32_t i);

struct nb_slice
op_value(struct model *m, const struct op *op, uint32_t i);

/** The verb of a step, NB_STEP_*, of an execute or a transaction. */
uint32_t
op_verb(const struct model *m, const struct op *op, uint32_t i);

bool
op_writes_value(const struct model *m, const struct op *op, uint32_t i);

/** Whether write `i` of a batch is a delete. */
bool
op_is_delete(const struct op *op, uint32_t i);

bool
op_commits(const struct op *op);

enum { SETTLE_FLUSH, SETTLE_COMPACT, SETTLE_CHECKPOINT };

int
op_settles(const struct model *m, const struct op *op);

/** The first key of a scan. */
struct nb_slice
op_from(const struct model *m, const struct op *op);

/** Fill in m->keys within the engine's limits. */
void
model_make_keys(struct model *m, uint64_t seed);

/** Set is_used[] for the keys of the operation. */
void
op_mark_keys(const struct model *m, const struct op *op, bool is_used[KEYS]);

/** The length of its longest value in bytes; 0: none. */
size_t
op_longest_value(const struct model *m, const struct op *op);

/**
 * Write one line that describes the operation, cut to `room`. Returns its length; `room`:
 * it was cut.
 */
size_t
op_write(const struct model *m, const struct op *op, char *to, size_t room);

#endif /* MODEL_H */
