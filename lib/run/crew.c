/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A crew of threads and the phases they go through.
 *
 * The caller waits on a condition with a time limit, so that it can show how
 * far they are; the members know nothing of it and, within a phase, of one
 * another. Signals are blocked in them: the caller's thread is the one that the
 * user interrupts, and an engine's system calls are not cut short. Those that a
 * thread brings on itself are not, for no handler would see them: the kernel kills
 * at once a process that has blocked one.
 */
#include "run/crew.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"

enum { PHASE_END = -1 };

static void *
member_main(void *arg)
{
	struct crew_member *member = arg;
	struct crew *crew = member->crew;
	for (uint64_t seen = 0;; seen++) {
		pthread_mutex_lock(&crew->mutex);
		while (crew->calls == seen)
			pthread_cond_wait(&crew->called, &crew->mutex);
		int phase = crew->phase;
		pthread_mutex_unlock(&crew->mutex);
		if (phase == PHASE_END)
			return NULL;
		crew->work(crew->arg, member->id, phase);
		pthread_mutex_lock(&crew->mutex);
		if (--crew->busy == 0)
			pthread_cond_signal(&crew->arrived);
		pthread_mutex_unlock(&crew->mutex);
	}
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

/** Create as many as possible; the rest is the caller's to see. */
static int
start_members(struct crew *crew, uint32_t size)
{
	static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
	sigset_t others, before;
	sigfillset(&others);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		sigdelset(&others, own[i]);
	pthread_sigmask(SIG_SETMASK, &others, &before);
	int rc = NB_OK;
	for (uint32_t id = 0; id < size && rc == NB_OK; id++) {
		struct crew_member *member = &crew->members[id];
		*member = (struct crew_member){.crew = crew, .id = id};
		errno = pthread_create(&member->thread, NULL, member_main, member);
		if (errno != 0)
			rc = error_system("thread %u of %u cannot be started", id + 1, size);
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
	call(crew, phase);
	pthread_mutex_lock(&crew->mutex);
	while (crew->busy > 0) {
		struct timespec until = time_in(tick_ns);
		int rc = 0;
		while (crew->busy > 0 && rc != ETIMEDOUT)
			rc = tick == NULL
				? pthread_cond_wait(&crew->arrived, &crew->mutex)
				: pthread_cond_timedwait(&crew->arrived, &crew->mutex, &until);
		if (crew->busy == 0 || tick == NULL)
			continue;
		pthread_mutex_unlock(&crew->mutex);
		tick(crew->arg);
		pthread_mutex_lock(&crew->mutex);
	}
	pthread_mutex_unlock(&crew->mutex);
}

void
crew_destroy(struct crew *crew)
{
	call(crew, PHASE_END);
	for (uint32_t id = 0; id < crew->size; id++)
		pthread_join(crew->members[id].thread, NULL);
	pthread_cond_destroy(&crew->called);
	pthread_cond_destroy(&crew->arrived);
	pthread_mutex_destroy(&crew->mutex);
	free(crew->members);
}
