/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pool of threads that execute phases.
 *
 * The caller waits on a condition with a time limit, so it can report progress. The members do
 * not know about that, nor, within a phase, of one another. Signals are blocked in them. So the
 * user interrupts the caller's thread, and signals do not interrupt an engine's system calls.
 * Signals that a thread causes itself are not blocked. The kernel kills a process at once if
 * they are, before any handler runs.
 */
#include "run/worker_pool.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "run/fault.h"

enum { PHASE_END = -1, PHASE_NONE = -2, JOIN_LOOK_NS = 50 * 1000 };

static struct timespec
time_in(uint64_t ns)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	uint64_t sum = (uint64_t)at.tv_nsec + ns;
	at.tv_sec += (time_t)(sum / 1000000000u);
	at.tv_nsec = (long)(sum % 1000000000u);
	return at;
}

/** Note that a member has finished; the mutex is held. */
static void
end_part(struct worker_pool *pool)
{
	if (--pool->busy == 0)
		pthread_cond_signal(&pool->arrived);
}

/**
 * Wait until a phase is called that the member has not seen; call idle meanwhile. The mutex is
 * held.
 */
static void
await_call(struct pool_member *member, uint64_t seen, int phase)
{
	struct worker_pool *pool = member->pool;
	while (pool->calls == seen) {
		struct timespec until = time_in(POOL_IDLE_NS);
		if (pool->busy == 0 || pool->idle == NULL) {
			pthread_cond_wait(&pool->called, &pool->mutex);
		} else if (pthread_cond_timedwait(&pool->called, &pool->mutex, &until) ==
				ETIMEDOUT &&
			pool->busy > 0 && pool->calls == seen) {
			pool->busy++; /* so that the phase does not end meanwhile */
			pthread_mutex_unlock(&pool->mutex);
			pool->idle(pool->arg, member->id, phase);
			pthread_mutex_lock(&pool->mutex);
			end_part(pool);
		}
	}
}

static void *
member_main(void *arg)
{
	struct pool_member *member = arg;
	struct worker_pool *pool = member->pool;
	struct fault_stack stack;
	fault_enter_thread(&stack);
	int phase = PHASE_NONE;
	for (uint64_t seen = 0;; seen++) {
		pthread_mutex_lock(&pool->mutex);
		await_call(member, seen, phase);
		phase = pool->phase;
		pthread_mutex_unlock(&pool->mutex);
		if (phase == PHASE_END)
			break;
		pool->work(pool->arg, member->id, phase);
		pthread_mutex_lock(&pool->mutex);
		end_part(pool);
		pthread_mutex_unlock(&pool->mutex);
	}
	fault_leave_thread(&stack);
	return NULL;
}

static void
call(struct worker_pool *pool, int phase)
{
	pthread_mutex_lock(&pool->mutex);
	pool->phase = phase;
	pool->busy = pool->size;
	pool->calls++;
	pthread_cond_broadcast(&pool->called);
	pthread_mutex_unlock(&pool->mutex);
}

void
worker_pool_outer_signals(sigset_t *set)
{
	static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
	sigfillset(set);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		sigdelset(set, own[i]);
}

/** Create as many threads as possible. The caller compares their number with `size`. */
static int
start_members(struct worker_pool *pool, uint32_t size)
{
	sigset_t others, before;
	worker_pool_outer_signals(&others);
	pthread_sigmask(SIG_SETMASK, &others, &before);
	int rc = NB_OK;
	for (uint32_t id = 0; id < size && rc == NB_OK; id++) {
		struct pool_member *member = &pool->members[id];
		*member = (struct pool_member){.pool = pool, .id = id};
		errno = pthread_create(&member->thread, NULL, member_main, member);
		if (errno != 0)
			rc = error_thread("thread %u of %u", id + 1, size);
		else
			pool->size++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int
worker_pool_create(struct worker_pool *pool, uint32_t size,
	void (*work)(void *arg, uint32_t id, int phase), void *arg)
{
	*pool = (struct worker_pool){.work = work, .arg = arg};
	pool->members = calloc(size, sizeof(*pool->members));
	if (pool->members == NULL)
		return error_set(NB_FAIL, "out of memory for %u threads", size);
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&pool->mutex, NULL);
	pthread_cond_init(&pool->called, &attr);
	pthread_cond_init(&pool->arrived, &attr);
	pthread_condattr_destroy(&attr);
	int rc = start_members(pool, size);
	if (rc != NB_OK)
		worker_pool_destroy(pool);
	return rc;
}

void
worker_pool_begin(struct worker_pool *pool, int phase)
{
	if (!pool->is_given_up)
		call(pool, phase);
}

void
worker_pool_do(struct worker_pool *pool, int phase, uint64_t tick_ns, void (*tick)(void *arg))
{
	worker_pool_begin(pool, phase);
	worker_pool_await(pool, tick_ns, tick);
}

void
worker_pool_await(struct worker_pool *pool, uint64_t tick_ns, void (*tick)(void *arg))
{
	if (pool->is_given_up)
		return;
	pthread_mutex_lock(&pool->mutex);
	while (pool->busy > 0 && !pool->is_given_up) {
		struct timespec until = time_in(tick_ns);
		int rc = 0;
		while (pool->busy > 0 && rc != ETIMEDOUT)
			rc = pthread_cond_timedwait(&pool->arrived, &pool->mutex, &until);
		if (pool->busy == 0)
			break;
		pthread_mutex_unlock(&pool->mutex);
		tick(pool->arg);
		pthread_mutex_lock(&pool->mutex);
	}
	pthread_mutex_unlock(&pool->mutex);
}

uint32_t
worker_pool_busy(struct worker_pool *pool)
{
	pthread_mutex_lock(&pool->mutex);
	uint32_t busy = pool->busy;
	pthread_mutex_unlock(&pool->mutex);
	return busy;
}

void
worker_pool_give_up(struct worker_pool *pool)
{
	pool->is_given_up = true;
}

/** False: some thread has crashed, perhaps this one, in code that runs at its end. */
static bool
join(pthread_t thread)
{
	const struct heartbeat *heartbeat;
	while (pthread_tryjoin_np(thread, NULL) == EBUSY) {
		if (fault_seen(&heartbeat) != FAULT_NONE)
			return false;
		struct timespec moment = {.tv_nsec = JOIN_LOOK_NS};
		nanosleep(&moment, NULL);
	}
	return true;
}

void
worker_pool_destroy(struct worker_pool *pool)
{
	if (pool->is_given_up)
		return;
	call(pool, PHASE_END);
	for (uint32_t id = 0; id < pool->size; id++) {
		if (!join(pool->members[id].thread)) {
			pool->is_given_up = true;
			return;
		}
	}
	pthread_cond_destroy(&pool->called);
	pthread_cond_destroy(&pool->arrived);
	pthread_mutex_destroy(&pool->mutex);
	free(pool->members);
}
