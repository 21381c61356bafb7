/* SPDX-License-Identifier: BSD-2-Clause */
#include "run/backoff.h"

#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/rng.h"

static bool
is_halted(const int *halt)
{
	return __atomic_load_n(halt, __ATOMIC_RELAXED) != 0;
}

/** A uniform time below the bound of this attempt. */
static uint64_t
draw_wait(struct backoff *backoff)
{
	uint64_t bound = BACKOFF_FIRST_NS;
	for (uint32_t i = 1; i < backoff->conflicts && bound < BACKOFF_LONGEST_NS; i++)
		bound *= 2;
	/*
	 * the modulo bias is negligible: the modulus is some 2^40 times smaller than the random
	 * number
	 */
	return splitmix64_next(&backoff->random) % bound;
}

bool
backoff_wait(struct backoff *backoff, const int *halt)
{
	uint64_t now = clock_monotonic();
	if (backoff->conflicts++ == 0) {
		backoff->begin_ns = now;
		/* different for each thread: threads must not wait in step */
		backoff->random = now ^ (uintptr_t)backoff;
	}
	if (is_halted(halt) || now - backoff->begin_ns >= backoff->limit_ns)
		return false;
	uint64_t wait_ns = draw_wait(backoff);
	if (wait_ns >= BACKOFF_SPIN_NS) {
		struct timespec wait = {.tv_nsec = (long)wait_ns};
		nanosleep(&wait, NULL);
		return !is_halted(halt);
	}
	while (clock_monotonic() - now < wait_ns)
		continue;
	return !is_halted(halt);
}

int
backoff_fail(const struct backoff *backoff)
{
	return error_set(NB_FAIL, "answered with nothing but conflicts for %.3g s",
		(double)backoff->limit_ns / 1e9);
}
