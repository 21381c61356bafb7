/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RACING_H
#define RACING_H
/**
 * Helpers for tests of concurrent engine code: threads that start together, values that
 * identify themselves, and random delays at points where threads may race.
 *
 * All randomness comes from rig_seed(). The environment variable RACING_SEED changes the seed;
 * its default is 0.
 */
#include <mininb/engine.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RACING_THREADS = 16 };

/** Delay threads at random at possible races. Only affects code compiled with RACY_MEET. */
extern bool rig_lets_meet;

/**
 * Called at each possible race, and when one thread waits for another. For single-threaded
 * tests.
 */
extern void (*rig_at_meet)(void), (*rig_at_wait)(void);

/** A seed for this test; different `salt` values give different seeds. Never 0. */
uint64_t
rig_seed(uint64_t salt);

/** The next random number of a sequence, below `bound` > 0. */
uint64_t
rig_random(uint64_t *state, uint64_t bound);

/**
 * Run `body` in `count` <= RACING_THREADS threads with ids from 0, starting together. Waits for
 * all.
 */
void
rig_run(unsigned count, void (*body)(void *to, unsigned id), void *to);

/** Fill `size` bytes with repetitions of the word `mark`. */
void
rig_fill(uint8_t *bytes, size_t size, uint64_t mark);

/**
 * Whether the value consists of repetitions of one mark. Stores the mark, or as many of its
 * bytes as the value has, in *mark.
 */
bool
rig_is_whole(struct nb_slice value, uint64_t *mark);

static inline struct nb_slice
slice_of(const void *data, size_t size)
{
	return (struct nb_slice){data, size};
}

#endif /* RACING_H */
