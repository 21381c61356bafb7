/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_BACKOFF_H
#define RUN_BACKOFF_H
/**
 * The delay before an operation is repeated after NB_CONFLICT, and the time limit. The delay is
 * random below a bound that doubles with each attempt. So workers in conflict drift apart
 * (binary exponential back-off with full jitter).
 */
#include <stdbool.h>
#include <stdint.h>

enum {
	BACKOFF_FIRST_NS = 1000,          /* bound of the first wait */
	BACKOFF_LONGEST_NS = 1024 * 1000, /* of the eleventh wait and of all later ones */
	BACKOFF_SPIN_NS = 5000 /* shorter waits are spun: a sleep would take at least as long */
};

/** The longest time of conflicts before an operation fails, whatever the limit of a call. */
#define BACKOFF_LIMIT_NS UINT64_C(30000000000)

/** The conflicts of one operation. All 0 before the first, except limit_ns. */
struct backoff {
	uint64_t limit_ns;
	uint64_t begin_ns; /* of the first conflict, monotonic clock */
	uint64_t random;
	uint32_t conflicts;
};

/**
 * BACKOFF_LIMIT_NS, or the limit of a call if that is shorter. op_timeout_ns of 0: no limit.
 */
static inline uint64_t
backoff_limit(uint64_t op_timeout_ns)
{
	bool is_shorter = op_timeout_ns > 0 && op_timeout_ns < BACKOFF_LIMIT_NS;
	return is_shorter ? op_timeout_ns : BACKOFF_LIMIT_NS;
}

/**
 * Wait after a conflict, on the caller's thread. Returns whether to try again. Returns false
 * without a wait if the time limit is reached, and soon if *halt is not 0.
 */
bool
backoff_wait(struct backoff *backoff, const int *halt);

/**
 * Set "answered with nothing but conflicts for 30 s" as this thread's error. Returns NB_FAIL.
 */
int
backoff_fail(const struct backoff *backoff);

#endif /* RUN_BACKOFF_H */
