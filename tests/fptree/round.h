/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_ROUND_H
#define FPTREE_ROUND_H
/**
 * One shape with one seed: segments of operations, and images of crashes in each.
 */
#include <stdbool.h>
#include <stdint.h>

#include "workload.h"

/** Names an image: where in the recording, which of those there; within it, the same
 * again for a crash in its recovery. */
struct place {
	uint32_t segment;
	uint64_t event, k;
	bool is_inner;
	uint64_t inner_event, inner_k;
};

/** What has been done. In memory that processes share. */
struct tally {
	uint64_t images, inner_images, points, mended, ops, growths, pairs;
	bool is_failed, is_told;
	char shape[32], path[64];
	uint64_t seed;
	struct place at;
};

struct settings {
	uint64_t images, seed, round_images;
	unsigned threads;
	const char *shape; /* NULL: all */
	bool has_place;
	struct place place;
	bool is_expected_to_fail, is_unmended;
	bool is_quiet;
	int mutant;
};

/** False: an image has failed, or the live run; told to stderr, unless settings say not to. */
bool
run_round(const struct settings *settings, struct tally *tally, const struct shape *shape,
	uint64_t seed, uint64_t images);

/** Print to stderr the command that makes the current image again. */
void
tell_repeat(const struct tally *tally, const struct settings *settings);

/** Remove the directory that a round has left. */
void
round_clear(const struct tally *tally);

#endif /* FPTREE_ROUND_H */
