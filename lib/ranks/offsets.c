/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How far the clocks of ranks are apart.
 *
 * Rank 0 sends a ping, and the answer has the other rank's clock. Of many, the one with the
 * shortest round trip counts: it waited least. If way and way back take the same time, the clock
 * was read in the middle; they cannot differ by more than the round trip, so half of it bounds the
 * error. Both sides spin for these few ms, because a rank that sleeps between two looks would
 * make each round trip as long as its sleep. Nobody measures then.
 */
#include <sched.h>

#include "base/clock.h"
#include "ranks/ranks.h"

enum { PINGS = 100 };
#define PING_NS UINT64_C(1000000000)   /* the first may find the other one asleep */
#define COMPARE_NS UINT64_C(100000000) /* enough pings, however slow they are */

/** One round trip; false: there was no answer. */
static bool
ping(struct nb_ranks *ranks, uint32_t rank, struct clock_offset *best)
{
	ranks->pong_ns = 0;
	uint64_t begin = clock_monotonic(), sent_ns = clock_real_ns();
	ranks_send(ranks, rank, MESSAGE_PING, 0, NULL, 0);
	while (ranks->pong_ns == 0 && !ranks->is_broken) {
		if (!ranks_receive(ranks)) {
			if (clock_monotonic() - begin > PING_NS)
				return false;
			sched_yield();
		}
	}
	double trip_ns = (double)(clock_monotonic() - begin);
	double middle_ns = (double)(ranks->pong_ns - sent_ns) - trip_ns / 2;
	if (best->error_ns == 0 || trip_ns / 2 < best->error_ns)
		*best = (struct clock_offset){middle_ns, trip_ns / 2};
	return !ranks->is_broken;
}

void
ranks_compare_clocks(struct nb_ranks *ranks, bool is_after)
{
	for (uint32_t k = 1; k < ranks->count; k++) {
		struct rank *rank = &ranks->of[k];
		struct clock_offset best = {0, 0};
		uint64_t begin = clock_monotonic();
		bool goes_on = !rank->is_lost;
		for (int i = 0; i < PINGS && goes_on; i++)
			goes_on = ping(ranks, k, &best) &&
				clock_monotonic() - begin < COMPARE_NS;
		*(is_after ? &rank->after : &rank->before) = best;
	}
}
