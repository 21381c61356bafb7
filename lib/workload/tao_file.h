/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_TAO_FILE_H
#define WORKLOAD_TAO_FILE_H
/**
 * A workload file of TAOBench: a JSON object on each line, {"name": NAME, "values": [...],
 * "weights": [...]}. Weights are on any scale.
 */
#include <stddef.h>
#include <stdint.h>

#include <mininb/mininb.h>

enum {
	TAO_SHARDS = 50,     /* minimum number of shards of a graph */
	TAO_SHARDS_MAX = 64, /* an id has 6 bits for the shard, below its sign */
	TAO_READS_MAX = 1024,
	TAO_WRITES_MAX = 128 /* writes of a transaction: each may need 4 steps */
};

/* The distributions of the generator, and the meaning of their outcomes. */
enum {
	TAO_OPERATIONS, /* TAO_OP_* */
	TAO_READS,      /* TAO_READ_* */
	TAO_WRITES,     /* TAO_ADD_OBJECT ... TAO_DELETE_EDGE */
	TAO_TXN_READS,  /* as TAO_READS, inside transactions */
	TAO_TXN_WRITES, /* as TAO_WRITES */
	TAO_TXN_READ_SIZES,
	TAO_TXN_WRITE_SIZES,
	TAO_EDGE_TYPES, /* TAO_UNIQUE ... TAO_OTHER */
	TAO_PRIMARY_SHARDS,
	TAO_REMOTE_SHARDS,
	TAO_LAWS
};

enum { TAO_OP_READ, TAO_OP_WRITE, TAO_OP_TXN_READ, TAO_OP_TXN_WRITE, TAO_OPS };
enum { TAO_READ_OBJECT, TAO_READ_EDGE, TAO_READ_RANGE, TAO_READ_COUNT, TAO_READ_TIME };
enum {
	TAO_ADD_OBJECT,
	TAO_UPDATE_OBJECT,
	TAO_DELETE_OBJECT,
	TAO_ADD_EDGE,
	TAO_UPDATE_EDGE,
	TAO_DELETE_EDGE
};

/** A distribution over `count` outcomes, each with a weight. Sizes are in `values`. */
struct tao_law {
	uint32_t count;
	uint32_t *values; /* of TAO_*_SIZES; else NULL */
	double *weights;  /* finite, not negative, sum above 0 */
};

struct tao_file {
	struct tao_law laws[TAO_LAWS];
	/* Names that the original knows but does not use, "errors, read_tiers"; or NULL. */
	char *unused;
	char *unknown; /* other names; or NULL */
	uint64_t hash; /* of all data that the generator uses */
};

/** NB_ERR_USAGE: the text has the line and the error. NB_FAIL: the file cannot be read. */
NB_MUST_CHECK int
tao_file_read(struct tao_file **out, const char *path);

/** NULL is fine. */
void
tao_file_delete(struct tao_file *file);

/** The probability of an outcome. */
double
tao_file_share(const struct tao_file *file, uint32_t law, uint32_t place);

#endif /* WORKLOAD_TAO_FILE_H */
