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
	TAO_SHARDS = 50,     /* that a graph has at least */
	TAO_SHARDS_MAX = 64, /* an id has 6 bits for them below its sign */
	TAO_READS_MAX = 1024,
	TAO_WRITES_MAX = 128 /* of a write transaction: each may take 4 steps */
};

/* The laws that the generator draws from, and what their places mean. */
enum {
	TAO_OPERATIONS, /* TAO_OP_* */
	TAO_READS,      /* TAO_READ_* */
	TAO_WRITES,     /* TAO_ADD_OBJECT ... TAO_DELETE_EDGE */
	TAO_TXN_READS,  /* as TAO_READS, within transactions */
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

/** One of `count` places, each with its weight. Sizes are in `values`. */
struct tao_law {
	uint32_t count;
	uint32_t *values; /* of TAO_*_SIZES; else NULL */
	double *weights;  /* finite, not negative, together more than 0 */
};

struct tao_file {
	struct tao_law laws[TAO_LAWS];
	char *unused; /* names that the original knows and does not use: "errors, read_tiers"; or NULL */
	char *unknown; /* other names; or NULL */
	uint64_t hash; /* of all that the generator draws from */
};

/** NB_ERR_USAGE says what is wrong with which line; NB_FAIL that the file cannot be read. */
NB_MUST_CHECK int
tao_file_read(struct tao_file **out, const char *path);

/** NULL is fine. */
void
tao_file_delete(struct tao_file *file);

/** The weight of a place over that of all. */
double
tao_file_share(const struct tao_file *file, uint32_t law, uint32_t place);

#endif /* WORKLOAD_TAO_FILE_H */
