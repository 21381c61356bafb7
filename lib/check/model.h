/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODEL_H
#define MODEL_H
/** Random operations: what one means (ops.c), and sequences of them (model.c). */
#include "check/suite.h"

enum {
	KEYS = 40,
	KEY_SIZE = 1024, /* of the longest, if the engine takes it */
	GROUP = 8,       /* writes of a batch, keys of a multi_get, at most */
	SCAN_LIMIT = 60,
	WHY_SIZE = SUITE_TEXT_SIZE
};

enum {
	PUT,
	GET,
	DEL,
	INSERT,
	BATCH,
	MULTI_GET,
	SCAN,
	SCAN_BACK,
	TRANSACTION,
	SETTLE,
	REOPEN,
	KINDS
};

struct op {
	uint32_t kind;
	uint32_t value_cap; /* longest value; shrinking lowers it */
	uint64_t seed;      /* keys and values follow from it */
	uint32_t count;     /* of a group, records of a scan */
	uint32_t first;     /* of a group: it begins with this one of what follows from seed */
};

struct model {
	struct suite *s;
	struct place subject, oracle;
	struct nb_slice keys[KEYS];
	size_t key_count;
	unsigned char key_bytes[KEYS][KEY_SIZE];
	unsigned char *values; /* GROUP x SUITE_VALUE_SIZE */
	uint64_t key_size_max, value_size_max;
	uint32_t kinds; /* bit: this kind is done */
	bool refuses_backward;
	bool goes_on;       /* also after a difference */
	uint32_t replays;   /* of the sequence that is shrunk */
	uint64_t begin_ns;  /* of the promise */
	char why[WHY_SIZE]; /* how the answers differ */
};

/** How a kind of operation is done, to the engine and to the oracle. */
struct op_kind {
	const char *name;
	bool (*act)(struct model *m, const struct op *op); /* false: m->why says what differs */
	uint32_t weight; /* of all weights together: how often */
};

extern const struct op_kind op_kinds[KINDS];

/** Fill m->keys, by the engine's limits. */
void
model_make_keys(struct model *m, uint64_t seed);

/** Set is_used[] of the keys that the operation is about. */
void
op_mark_keys(const struct model *m, const struct op *op, bool is_used[KEYS]);

/** Bytes of the longest value that it writes; 0: it writes none. */
size_t
op_longest_value(const struct model *m, const struct op *op);

/** One line for the operation, cut to `room`. Returns its length, `room` if it was cut. */
size_t
op_write(const struct model *m, const struct op *op, char *to, size_t room);

#endif /* MODEL_H */
