/* SPDX-License-Identifier: BSD-2-Clause */
/** The common start of the workers, and the engine's tick while a worker waits. */
#include "run/worker.h"

#include <stdio.h>
#include <time.h>

#include "base/error.h"
#include "run/worker_pool.h"
#include "run/worker_taken.h"

enum {
	/* from the readiness of the last worker to the start */
	HEAD_START_NS = 2 * 1000 * 1000,
	PAIRS = 5, /* of a stamp and the wall clock */
	/* the time that the scheduler needs to move a thread: see await_begin() */
	START_SPIN_NS = 15000 * 1000,
};

void
job_worker_tick(struct job_worker *worker)
{
	const struct nb_engine *engine = worker->plan->engine;
	if (engine->tick == NULL || is_halted(worker))
		return;
	heartbeat_enter(&worker->heartbeat, "tick");
	int rc = engine->tick(worker->session);
	heartbeat_leave(&worker->heartbeat);
	if (rc >= 0 || worker->rc != NB_OK)
		return;
	worker->rc = rc;
	snprintf(worker->text, sizeof(worker->text), "%s: tick: %s", engine->name,
		nb_error_text());
}

void
worker_tick_in_wait(struct job_worker *worker, uint64_t *since)
{
	const struct clock *clock = worker->plan->clock;
	uint64_t now = clock_stamp(clock->kind);
	if (clock_ns(clock, now - *since) < POOL_IDLE_NS)
		return;
	job_worker_tick(worker);
	*since = now;
}

/**
 * Take a stamp and the wall clock at the same time. A thread that loses its CPU between the two
 * would begin milliseconds too early. So the closest of a few pairs is used.
 */
static uint64_t
stamp_and_real(const struct clock *clock, uint64_t *real_ns)
{
	uint64_t stamp = 0, least = UINT64_MAX;
	for (int i = 0; i < PAIRS; i++) {
		uint64_t before = clock_stamp(clock->kind), now_ns = clock_real_ns();
		uint64_t took = clock_stamp(clock->kind) - before;
		if (took >= least)
			continue;
		least = took;
		stamp = before + took / 2;
		*real_ns = now_ns;
	}
	return stamp;
}

void
job_gate_open(struct job_gate *gate, const struct clock *clock)
{
	uint64_t ahead_ns = gate->workers > 1 ? HEAD_START_NS : 0;
	uint64_t now_ns = 0, begin = stamp_and_real(clock, &now_ns);
	if (gate->start_at_ns > now_ns)
		ahead_ns = gate->start_at_ns - now_ns;
	begin += clock_ticks(clock, ahead_ns);
	__atomic_store_n(&gate->begin, begin, __ATOMIC_RELEASE);
}

/**
 * Wait for the start. If other processes begin at the same time and each thread has a CPU, spin
 * for the last part. Workers of two processes that wake at the same time may be on one CPU. The
 * scheduler moves one of them only after some milliseconds, by which it would be late. They
 * must not yield the CPU meanwhile, because the scheduler does not move a task that has just
 * run.
 */
static void
await_begin(struct job_worker *worker, uint64_t begin)
{
	const struct job_plan *plan = worker->plan;
	uint64_t spin = clock_ticks(plan->clock, START_SPIN_NS);
	bool spins = plan->gate->start_at_ns > 0 && plan->may_spin;
	pacer_wait(&worker->pacer, spins ? begin - spin : begin, plan->halt);
	while (spins && clock_stamp(plan->clock->kind) < begin && !is_halted(worker))
		continue;
}

bool
worker_pass_gate(struct job_worker *worker, struct moments *moments)
{
	const struct job_plan *plan = worker->plan;
	struct job_gate *gate = plan->gate;
	uint32_t waiting = __atomic_add_fetch(&gate->waiting, 1, __ATOMIC_ACQ_REL);
	if (gate->is_opened_inside && waiting == gate->workers)
		job_gate_open(gate, plan->clock);
	uint64_t begin, since = clock_stamp(plan->clock->kind);
	while ((begin = __atomic_load_n(&gate->begin, __ATOMIC_ACQUIRE)) == UINT64_MAX) {
		if (is_halted(worker))
			return false;
		worker_tick_in_wait(worker, &since);
		struct timespec moment = {.tv_nsec = 50000};
		nanosleep(&moment, NULL);
	}
	pulse_begin(&worker->pulses, plan->clock, begin);
	*moments = (struct moments){.begin = begin,
		.warm = begin + plan->warm_ticks,
		.end = plan->end_ticks < UINT64_MAX - begin ? begin + plan->end_ticks
							    : UINT64_MAX};
	pacer_enter_thread();
	await_begin(worker, begin);
	return !is_halted(worker);
}
