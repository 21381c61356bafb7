/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_BACKOFF_H
#define RUN_BACKOFF_H
/**
 * When to try again what was answered with NB_CONFLICT: after a wait of random length, whose
 * bound doubles with each attempt, so that workers that lose to each other drift apart (binary
 * exponential back-off, with full jitter); and for how long.
 */
#include <stdbool.h>
#include <stdint.h>

enum {
	BACKOFF_FIRST_NS = 1000,          /* bound of the first wait */
	BACKOFF_LONGEST_NS = 1024 * 1000, /* of the eleventh and of all later ones */
	BACKOFF_SPIN_NS = 5000            /* shorter ones are spun: a sleep takes as long */
};

/** How long an operation may conflict before it fails, whatever a call may take. */
#define BACKOFF_LIMIT_NS UINT64_C(30000000000)

/** The conflicts of one operation. Zero, but for limit_ns, before the first. */
struct backoff {
	uint64_t limit_ns;
	uint64_t begin_ns; /* of the first conflict, on the monotonic clock */
	uint64_t random;
	uint32_t conflicts;
};

/** BACKOFF_LIMIT_NS, or less where a call may take less; op_timeout_ns of 0: any time. */
static inline uint64_t
backoff_limit(uint64_t op_timeout_ns)
{
	bool is_shorter = op_timeout_ns > 0 && op_timeout_ns < BACKOFF_LIMIT_NS;
	return is_shorter ? op_timeout_ns : BACKOFF_LIMIT_NS;
}

/**
 * After a conflict: wait, on the caller's thread, and return whether to try again. False without
 * a wait if the time is up, and soon if *halt is not 0.
 */
bool
backoff_wait(struct backoff *backoff, const int *halt);

/** "answered with nothing but conflicts for 30 s" as this thread's error; returns NB_FAIL. */
int
backoff_fail(const struct backoff *backoff);

#endif /* RUN_BACKOFF_H */
