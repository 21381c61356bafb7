/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RACING_H
#define RACING_H
/**
 * For tests of engines of ours in which threads meet: threads that start together, values that
 * identify themselves, and a contest of many threads for few keys.
 *
 * All randomness comes from rig_seed(), which the environment variable RACING_SEED changes [0].
 */
#include <mininb/engine.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RACING_THREADS = 16 };

/** Threads are held up where they meet others, at random. In code that RACY_MEET has compiled. */
extern bool rig_lets_meet;

/** Called where threads could meet, and where one waits for another: for tests of one thread. */
extern void (*rig_at_meet)(void), (*rig_at_wait)(void);

/** Of this test; `salt` tells its parts apart. Never 0. */
uint64_t
rig_seed(uint64_t salt);

/** The next of a sequence of random numbers, below `bound` > 0. */
uint64_t
rig_random(uint64_t *state, uint64_t bound);

/** Run `body` with each of `count` <= RACING_THREADS ids at once, and wait for all. */
void
rig_run(unsigned count, void (*body)(void *to, unsigned id), void *to);

/** `size` bytes that follow from `mark`: the word over and over. */
void
rig_fill(uint8_t *bytes, size_t size, uint64_t mark);

/** The value is that of a mark, whole. `mark` takes as much of it as there is. */
bool
rig_is_whole(struct nb_slice value, uint64_t *mark);

static inline struct nb_slice
slice_of(const void *data, size_t size)
{
	return (struct nb_slice){data, size};
}

#endif /* RACING_H */
