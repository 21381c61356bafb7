/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_WORKER_POOL_H
#define RUN_WORKER_POOL_H
/**
 * Threads that go through the phases of a run together: each does its part of a
 * phase, then all wait, parked, until the next one is called.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include <mininb/mininb.h>

enum { POOL_IDLE_NS = 1000 * 1000 };

struct pool_member {
	struct worker_pool *pool;
	pthread_t thread;
	uint32_t id;
};

/**
 * Used by the thread that made it; members touch what they do themselves. `idle` is set between
 * worker_pool_create() and the first phase, if at all.
 */
struct worker_pool {
	/* All below is guarded by it; no other lock is taken while it is held. */
	pthread_mutex_t mutex;
	pthread_cond_t called;  /* a phase was called */
	pthread_cond_t arrived; /* the last member has finished its part */
	uint64_t calls;         /* phases called so far */
	uint32_t busy;          /* members still at their part */
	bool is_given_up;       /* the caller's own: it waits for them no more */
	int phase;
	/* What follows does not change. */
	void (*work)(void *arg, uint32_t id, int phase);
	void *arg;
	/* called every POOL_IDLE_NS of a member that has done its part while others have not */
	void (*idle)(void *arg, uint32_t id, int phase);
	uint32_t size;
	struct pool_member *members;
};

/** All signals but those that a thread brings upon itself, to be blocked in threads. */
void
worker_pool_outer_signals(sigset_t *set);

/**
 * Start `size` threads, parked. They take no signals but those of their own making.
 * work(arg, id, phase) does a part.
 */
NB_MUST_CHECK int
worker_pool_create(struct worker_pool *pool, uint32_t size,
	void (*work)(void *arg, uint32_t id, int phase), void *arg);

/** Begin a phase; worker_pool_await() must follow before another one. */
void
worker_pool_begin(struct worker_pool *pool, int phase);

/** Returns when all members are parked again. Meanwhile tick(arg) is called every tick_ns here. */
void
worker_pool_await(struct worker_pool *pool, uint64_t tick_ns, void (*tick)(void *arg));

/** Both. */
void
worker_pool_do(struct worker_pool *pool, int phase, uint64_t tick_ns, void (*tick)(void *arg));

/** Members that are still at their part. */
uint32_t
worker_pool_busy(struct worker_pool *pool);

/**
 * From within a tick: wait no more. worker_pool_do() returns at once, from now on without having done
 * anything. Members that are at their part may go on with it for ever, so the pool, and all
 * that they use, has to stay as long as the process.
 */
void
worker_pool_give_up(struct worker_pool *pool);

/**
 * End the threads; of a pool that was given up nothing is touched, and it is given up if a
 * thread crashes while it ends.
 */
void
worker_pool_destroy(struct worker_pool *pool);

#endif /* RUN_WORKER_POOL_H */
