/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures the differences between the clocks of ranks.
 *
 * Rank 0 sends pings, and each answer contains the clock of the other rank. The ping with
 * the shortest round trip counts, because it waited least. If both directions take equal
 * time, the clock was read in the middle of the trip. The directions cannot differ by more
 * than the round trip, so half of it bounds the error.
 *
 * Both sides spin for these few ms: if a rank slept between two polls, each round trip
 * would be as long as its sleep. No rank measures at that time.
 */
#include <sched.h>

#include "base/clock.h"
#include "ranks/ranks.h"

enum { PINGS = 100 };
/* for each ping; the other rank may sleep at the first */
#define PING_NS UINT64_C(1000000000)
#define COMPARE_NS UINT64_C(100000000) /* for all pings of a rank, however slow they are */

/** Do one round trip; false: no answer. */
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
