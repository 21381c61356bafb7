/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_WORKER_POOL_H
#define RUN_WORKER_POOL_H
/**
 * Threads that execute the phases of a run together. Each does its part of a phase. Then all of
 * them wait until the next phase is called.
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
 * Used by the thread that created it. Its members access it only in worker_pool.c. `idle` is
 * set between worker_pool_create() and the first phase, if at all.
 */
struct worker_pool {
	/* Guards the members below, except is_given_up. While held, no other lock is taken. */
	pthread_mutex_t mutex;
	pthread_cond_t called;  /* a phase was called */
	pthread_cond_t arrived; /* the last member has finished */
	uint64_t calls;         /* phases called so far */
	uint32_t busy;          /* members that have not finished yet */
	bool is_given_up;       /* only the caller's thread uses it: it no longer waits */
	int phase;
	/* The members below do not change. */
	void (*work)(void *arg, uint32_t id, int phase);
	void *arg;
	/* called every POOL_IDLE_NS for a member that has finished while others have not */
	void (*idle)(void *arg, uint32_t id, int phase);
	uint32_t size;
	struct pool_member *members;
};

/** All signals except those that a thread causes itself; to be blocked in threads. */
void
worker_pool_outer_signals(sigset_t *set);

/**
 * Start `size` waiting threads. They receive only signals that they cause themselves. work(arg,
 * id, phase) executes a part.
 */
NB_MUST_CHECK int
worker_pool_create(struct worker_pool *pool, uint32_t size,
	void (*work)(void *arg, uint32_t id, int phase), void *arg);

/** Begin a phase. worker_pool_await() must follow before the next one. */
void
worker_pool_begin(struct worker_pool *pool, int phase);

/**
 * Wait until all members have finished. Meanwhile tick(arg) is called every tick_ns on this
 * thread.
 */
void
worker_pool_await(struct worker_pool *pool, uint64_t tick_ns, void (*tick)(void *arg));

/** worker_pool_begin() and worker_pool_await(). */
void
worker_pool_do(struct worker_pool *pool, int phase, uint64_t tick_ns, void (*tick)(void *arg));

/** Members that have not finished yet. */
uint32_t
worker_pool_busy(struct worker_pool *pool);

/**
 * Within a tick: stop waiting. worker_pool_do() returns at once, and from now on does nothing.
 * Members that have not finished may continue for ever. So the pool and all data that they use
 * must stay until the end of the process.
 */
void
worker_pool_give_up(struct worker_pool *pool);

/**
 * End the threads. Does nothing with a pool that was given up. Gives the pool up if a thread
 * crashes while it ends.
 */
void
worker_pool_destroy(struct worker_pool *pool);

#endif /* RUN_WORKER_POOL_H */
