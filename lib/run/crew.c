/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A crew of threads and the phases that they go through.
 *
 * The caller waits on a condition with a time limit, so it can show how far they are. The members
 * know nothing of it and, within a phase, of one another. Signals are blocked in them: the user
 * interrupts the caller's thread, and an engine's system calls are not cut short. Signals that a
 * thread brings on itself are not blocked, because the kernel kills a process at once that has
 * blocked one, before any handler sees it.
 */
#include "run/crew.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "run/fault.h"

enum { PHASE_END = -1, JOIN_LOOK_NS = 50 * 1000 };

static void *
member_main(void *arg)
{
	struct crew_member *member = arg;
	struct crew *crew = member->crew;
	struct fault_stack stack;
	fault_enter_thread(&stack);
	for (uint64_t seen = 0;; seen++) {
		pthread_mutex_lock(&crew->mutex);
		while (crew->calls == seen)
			pthread_cond_wait(&crew->called, &crew->mutex);
		int phase = crew->phase;
		pthread_mutex_unlock(&crew->mutex);
		if (phase == PHASE_END)
			break;
		crew->work(crew->arg, member->id, phase);
		pthread_mutex_lock(&crew->mutex);
		if (--crew->busy == 0)
			pthread_cond_signal(&crew->arrived);
		pthread_mutex_unlock(&crew->mutex);
	}
	fault_leave_thread(&stack);
	return NULL;
}

static void
call(struct crew *crew, int phase)
{
	pthread_mutex_lock(&crew->mutex);
	crew->phase = phase;
	crew->busy = crew->size;
	crew->calls++;
	pthread_cond_broadcast(&crew->called);
	pthread_mutex_unlock(&crew->mutex);
}

void
crew_outer_signals(sigset_t *set)
{
	static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
	sigfillset(set);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		sigdelset(set, own[i]);
}

/** Create as many as possible; the rest is the caller's to see. */
static int
start_members(struct crew *crew, uint32_t size)
{
	sigset_t others, before;
	crew_outer_signals(&others);
	pthread_sigmask(SIG_SETMASK, &others, &before);
	int rc = NB_OK;
	for (uint32_t id = 0; id < size && rc == NB_OK; id++) {
		struct crew_member *member = &crew->members[id];
		*member = (struct crew_member){.crew = crew, .id = id};
		errno = pthread_create(&member->thread, NULL, member_main, member);
		if (errno != 0)
			rc = error_thread("thread %u of %u", id + 1, size);
		else
			crew->size++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int
crew_create(struct crew *crew, uint32_t size, void (*work)(void *arg, uint32_t id, int phase),
	void *arg)
{
	*crew = (struct crew){.work = work, .arg = arg};
	crew->members = calloc(size, sizeof(*crew->members));
	if (crew->members == NULL)
		return error_set(NB_FAIL, "out of memory for %u threads", size);
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&crew->mutex, NULL);
	pthread_cond_init(&crew->called, &attr);
	pthread_cond_init(&crew->arrived, &attr);
	pthread_condattr_destroy(&attr);
	int rc = start_members(crew, size);
	if (rc != NB_OK)
		crew_destroy(crew);
	return rc;
}

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

void
crew_do(struct crew *crew, int phase, uint64_t tick_ns, void (*tick)(void *arg))
{
	if (crew->is_given_up)
		return;
	call(crew, phase);
	pthread_mutex_lock(&crew->mutex);
	while (crew->busy > 0 && !crew->is_given_up) {
		struct timespec until = time_in(tick_ns);
		int rc = 0;
		while (crew->busy > 0 && rc != ETIMEDOUT)
			rc = pthread_cond_timedwait(&crew->arrived, &crew->mutex, &until);
		if (crew->busy == 0)
			break;
		pthread_mutex_unlock(&crew->mutex);
		tick(crew->arg);
		pthread_mutex_lock(&crew->mutex);
	}
	pthread_mutex_unlock(&crew->mutex);
}

uint32_t
crew_busy(struct crew *crew)
{
	pthread_mutex_lock(&crew->mutex);
	uint32_t busy = crew->busy;
	pthread_mutex_unlock(&crew->mutex);
	return busy;
}

void
crew_give_up(struct crew *crew)
{
	crew->is_given_up = true;
}

/** False: some thread has crashed, maybe this one, in what runs at its end. */
static bool
join(pthread_t thread)
{
	const struct post *post;
	while (pthread_tryjoin_np(thread, NULL) == EBUSY) {
		if (fault_seen(&post) != FAULT_NONE)
			return false;
		struct timespec moment = {.tv_nsec = JOIN_LOOK_NS};
		nanosleep(&moment, NULL);
	}
	return true;
}

void
crew_destroy(struct crew *crew)
{
	if (crew->is_given_up)
		return;
	call(crew, PHASE_END);
	for (uint32_t id = 0; id < crew->size; id++) {
		if (!join(crew->members[id].thread)) {
			crew->is_given_up = true;
			return;
		}
	}
	pthread_cond_destroy(&crew->called);
	pthread_cond_destroy(&crew->arrived);
	pthread_mutex_destroy(&crew->mutex);
	free(crew->members);
}
