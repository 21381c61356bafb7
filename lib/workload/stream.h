/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_STREAM_H
#define WORKLOAD_STREAM_H
/**
 * The operations of a workload, made a block at a time, ahead of the clock.
 *
 * Operation i is the same whoever makes it and whatever was made before.
 */
#include <stdbool.h>

#include <mininb/mininb.h>

#include "workload/keys.h"
#include "workload/values.h"

enum { STREAM_BLOCK_MAX = 32 };

/** One operation. Key and value are the stream's until its next stream_fill(). */
struct op {
	struct nb_slice key;
	struct nb_slice value; /* of a put */
};

/** The block of one worker: its operations and the bytes they point to. */
struct stream {
	const struct keys *keys;
	uint32_t verb;
	uint32_t block; /* most operations at a time, 1..STREAM_BLOCK_MAX */
	struct value_spec values;
	size_t key_stride, value_stride;
	uint8_t *key_bytes, *value_bytes;
	struct op ops[STREAM_BLOCK_MAX];
};

/** Allocate and touch all that the stream will need. Both arguments outlive it. */
NB_MUST_CHECK int
stream_create(
	struct stream *stream, const struct nb_workload *workload, const struct keys *keys);

void
stream_destroy(struct stream *stream);

/** Make operations [first, first + count), count <= stream->block, in stream->ops. */
void
stream_fill(struct stream *stream, uint64_t first, uint32_t count);

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
 * The name of the stream: equal for two runs of the same operations on the same
 * keys and values in the same order, for any number of threads.
 */
uint64_t
stream_digest(const struct nb_workload *workload, uint64_t keys_hash);

#endif /* WORKLOAD_STREAM_H */
