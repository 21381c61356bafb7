/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_ROUND_H
#define FPTREE_ROUND_H
/**
 * A round: one shape with one seed, several segments of operations, and images of crashes in
 * each.
 */
#include <stdbool.h>
#include <stdint.h>

#include "workload.h"

/**
 * The position of an image: the moment in the recording, and its number there. For a crash in
 * the image's recovery, the inner fields give the same for the second recording.
 */
struct place {
	uint32_t segment;
	uint64_t event, k;
	bool is_inner;
	uint64_t inner_event, inner_k;
};

/** Counters of a run, in memory that processes share. */
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

/**
 * Run a round. False: an image or the live run has failed. It prints the failure to stderr,
 * unless is_quiet.
 */
bool
run_round(const struct settings *settings, struct tally *tally, const struct shape *shape,
	uint64_t seed, uint64_t images);

/** Print the command that makes the current image again to stderr. */
void
tell_repeat(const struct tally *tally, const struct settings *settings);

/** Remove the directory of a round. */
void
round_clear(const struct tally *tally);

#endif /* FPTREE_ROUND_H */
