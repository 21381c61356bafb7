/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REMOTE_SPIN_H
#define REMOTE_SPIN_H
/**
 * Decides whether a thread that waits for its peer polls before it sleeps. Both ends of a
 * connection use it: clients (stream.c) and the server's threads (lib/serve/poller.c).
 *
 * Falling asleep and waking up cost more than a small batch of requests. Polling saves this
 * cost on two conditions. The peer's next bytes must arrive within the polling time. The
 * thread must have its own CPU, because on a shared CPU it uses the time that the peer
 * needs. Neither is known in advance, so a thread tries and observes:
 *
 *     bytes arrived while it polled             it also polls at the next wait
 *     SPIN_MISSES waits in a row without bytes  it does not poll at the next 16 waits; after
 *                                               the next misses at 32, ... 1024
 *     polling was interrupted for SPIN_LOST_NS  another task had the CPU: it does not poll for
 *                                               20 ms; after the next time 40 ms, ... 1.28 s
 *
 * So unsuccessful polling costs at most three times the limit in 16 to 1024 waits.
 * SPIN_LOST_NS is longer than the usual interruptions by a hypervisor, and shorter than
 * Linux's time slice (3 ms).
 */
#include <stdbool.h>
#include <stdint.h>

#define SPIN_LOST_NS UINT64_C(500000)
enum {
	SPIN_MISSES = 3,
	SPIN_PAUSE = 16, /* waits */
	SPIN_PAUSE_MOST = 1024,
	SPIN_REST_NS = 20000000,
	SPIN_REST_MOST_NS = 1280000000,
	SPIN_GOOD = 1024 /* after so many polled waits in a row, rest_ns is reset */
};

struct spin {
	uint64_t limit_ns; /* maximum polling time in one wait; 0: never poll */
	uint64_t begin_ns, last_ns, rest_until_ns, rest_ns;
	uint32_t misses, hits, left, pause;
	uint64_t polled, slept; /* waits that ended during polling, and all others */
};

static inline void
spin_create(struct spin *spin, uint64_t limit_ns)
{
	*spin = (struct spin){
		.limit_ns = limit_ns, .rest_ns = SPIN_REST_NS, .pause = SPIN_PAUSE};
}

/** Begin a wait. Returns whether to poll; if not, the caller sleeps. */
static inline bool
spin_begin(struct spin *spin, uint64_t now_ns)
{
	if (spin->limit_ns == 0)
		return false;
	if (spin->left > 0 || now_ns < spin->rest_until_ns) {
		spin->left -= spin->left > 0;
		spin->slept++;
		return false;
	}
	spin->begin_ns = spin->last_ns = now_ns;
	return true;
}

/** Bytes arrived during polling. */
static inline void
spin_end(struct spin *spin)
{
	spin->polled++;
	spin->misses = 0;
	spin->pause = SPIN_PAUSE;
	if (++spin->hits >= SPIN_GOOD)
		spin->rest_ns = SPIN_REST_NS;
}

/** Nothing arrived yet. Returns whether to continue; if not, the caller sleeps. */
static inline bool
spin_goes_on(struct spin *spin, uint64_t now_ns)
{
	bool is_lost = now_ns - spin->last_ns > SPIN_LOST_NS;
	spin->last_ns = now_ns;
	if (!is_lost && now_ns - spin->begin_ns < spin->limit_ns)
		return true;
	spin->slept++;
	spin->hits = 0;
	if (is_lost) {
		spin->rest_until_ns = now_ns + spin->rest_ns;
		spin->rest_ns *= spin->rest_ns < SPIN_REST_MOST_NS ? 2 : 1;
	} else if (++spin->misses >= SPIN_MISSES) {
		spin->misses = 0;
		spin->left = spin->pause;
		spin->pause *= spin->pause < SPIN_PAUSE_MOST ? 2 : 1;
	}
	return false;
}

#endif /* REMOTE_SPIN_H */
