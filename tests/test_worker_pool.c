/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pool: each member executes each phase once, in order; the caller's thread ticks meanwhile.
 */
#include "run/worker_pool.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "unit.h"

enum { SIZE = 7, PHASES = 50, TICK_NS = 1000 * 1000 };

struct log {
	int phases[SIZE][PHASES]; /* phases that each member executed, in order */
	int count[SIZE];
	pthread_t thread[SIZE];
	int arrived; /* members that have finished their part of this phase; atomic */
	int ticks;   /* atomic */
	pthread_t ticker;
};

static void
note_phase(void *arg, uint32_t id, int phase)
{
	struct log *log = arg;
	ck_assert_uint_lt(id, SIZE);
	ck_assert_int_lt(log->count[id], PHASES);
	log->thread[id] = pthread_self();
	log->phases[id][log->count[id]++] = phase;
	__atomic_add_fetch(&log->arrived, 1, __ATOMIC_RELAXED);
}

static void
no_tick(void *arg)
{
}

TEST(every_member_does_every_phase_in_order)
{
	static struct log log;
	struct worker_pool pool;
	ck_assert_int_eq(worker_pool_create(&pool, SIZE, note_phase, &log), NB_OK);
	for (int phase = 0; phase < PHASES; phase++) {
		__atomic_store_n(&log.arrived, 0, __ATOMIC_RELAXED);
		worker_pool_do(&pool, phase * 3, TICK_NS, no_tick);
		/* no member still works when the call returns */
		ck_assert_int_eq(__atomic_load_n(&log.arrived, __ATOMIC_RELAXED), SIZE);
	}
	worker_pool_destroy(&pool);
	for (int id = 0; id < SIZE; id++) {
		ck_assert_int_eq(log.count[id], PHASES);
		for (int phase = 0; phase < PHASES; phase++)
			ck_assert_int_eq(log.phases[id][phase], phase * 3);
	}
}

static void
note_thread(void *arg, uint32_t id, int phase)
{
	struct log *log = arg;
	if (phase > 0)
		ck_assert(pthread_equal(log->thread[id], pthread_self()));
	log->thread[id] = pthread_self();
}

TEST(member_stays_on_its_own_thread)
{
	static struct log log;
	struct worker_pool pool;
	ck_assert_int_eq(worker_pool_create(&pool, SIZE, note_thread, &log), NB_OK);
	for (int phase = 0; phase < PHASES; phase++)
		worker_pool_do(&pool, phase, TICK_NS, no_tick);
	worker_pool_destroy(&pool);
	for (int a = 0; a < SIZE; a++) {
		ck_assert(!pthread_equal(log.thread[a], pthread_self()));
		for (int b = 0; b < a; b++)
			ck_assert(!pthread_equal(log.thread[a], log.thread[b]));
	}
}

static int idles[SIZE]; /* atomic */

static void
note_idle(void *arg, uint32_t id, int phase)
{
	ck_assert_int_eq(phase, 7);
	__atomic_add_fetch(&idles[id], 1, __ATOMIC_RELAXED);
}

/** The first member waits until the last one has idled three times. */
static void
wait_for_idle(void *arg, uint32_t id, int phase)
{
	while (id == 0 && __atomic_load_n(&idles[SIZE - 1], __ATOMIC_RELAXED) < 3)
		sched_yield();
	ck_assert_int_eq(__atomic_load_n(&idles[id], __ATOMIC_RELAXED), 0);
}

TEST(a_member_that_waits_for_others_idles_and_no_other_does)
{
	struct worker_pool pool;
	ck_assert_int_eq(worker_pool_create(&pool, SIZE, wait_for_idle, NULL), NB_OK);
	pool.idle = note_idle;
	worker_pool_do(&pool, 7, TICK_NS, no_tick);
	int sum = 0;
	for (int id = 0; id < SIZE; id++)
		sum += __atomic_load_n(&idles[id], __ATOMIC_RELAXED);
	usleep(5000); /* the phase is over: no session may be inside a call now */
	for (int id = 0; id < SIZE; id++)
		sum -= __atomic_load_n(&idles[id], __ATOMIC_RELAXED);
	ck_assert_int_eq(sum, 0);
	worker_pool_destroy(&pool);
}

/** A part that waits until the caller has ticked three times. */
static void
wait_for_ticks(void *arg, uint32_t id, int phase)
{
	struct log *log = arg;
	while (__atomic_load_n(&log->ticks, __ATOMIC_RELAXED) < 3)
		sched_yield();
}

static void
count_tick(void *arg)
{
	struct log *log = arg;
	log->ticker = pthread_self();
	__atomic_add_fetch(&log->ticks, 1, __ATOMIC_RELAXED);
}

TEST(tick_repeats_on_the_callers_thread)
{
	static struct log log;
	struct worker_pool pool;
	ck_assert_int_eq(worker_pool_create(&pool, 2, wait_for_ticks, &log), NB_OK);
	worker_pool_do(&pool, 0, TICK_NS, count_tick);
	ck_assert_int_ge(log.ticks, 3);
	ck_assert(pthread_equal(log.ticker, pthread_self()));
	worker_pool_destroy(&pool);
}

static void
look_at_mask(void *arg, uint32_t id, int phase)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGHUP};
	int *blocked = arg;
	sigset_t mask;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		__atomic_add_fetch(blocked, sigismember(&mask, signals[i]), __ATOMIC_RELAXED);
	/* faults of the thread itself would end the process, whatever handler is set */
	static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL};
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		__atomic_sub_fetch(blocked, sigismember(&mask, own[i]), __ATOMIC_RELAXED);
}

TEST(members_take_no_signals_and_the_caller_does_as_before)
{
	int blocked = 0;
	sigset_t before, after;
	struct worker_pool pool;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	ck_assert_int_eq(worker_pool_create(&pool, 3, look_at_mask, &blocked), NB_OK);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	worker_pool_do(&pool, 0, TICK_NS, no_tick);
	worker_pool_destroy(&pool);
	ck_assert_int_eq(blocked, 3 * 5);
	for (int sig = 1; sig < 32; sig++)
		ck_assert_int_eq(sigismember(&before, sig), sigismember(&after, sig));
}

static int signals_taken; /* atomic */
static pthread_t taker;

static void
take_signal(int sig)
{
	taker = pthread_self();
	__atomic_add_fetch(&signals_taken, 1, __ATOMIC_RELEASE);
}

static void
signal_process(void *arg, uint32_t id, int phase)
{
	kill(getpid(), SIGUSR1);
	while (__atomic_load_n(&signals_taken, __ATOMIC_ACQUIRE) == 0)
		sched_yield();
}

TEST(signal_to_the_process_is_taken_by_the_caller)
{
	struct worker_pool pool;
	struct sigaction action = {.sa_handler = take_signal};
	ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
	ck_assert_int_eq(worker_pool_create(&pool, 1, signal_process, NULL), NB_OK);
	worker_pool_do(&pool, 0, TICK_NS, no_tick);
	worker_pool_destroy(&pool);
	ck_assert_int_eq(signals_taken, 1);
	ck_assert(pthread_equal(taker, pthread_self()));
}

TEST(idle_worker_pool_ends)
{
	static struct log log;
	for (uint32_t size = 1; size <= SIZE; size++) {
		struct worker_pool pool;
		ck_assert_int_eq(worker_pool_create(&pool, size, note_phase, &log), NB_OK);
		worker_pool_destroy(&pool);
	}
	ck_assert_int_eq(log.arrived, 0);
}
