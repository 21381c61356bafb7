/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SERVE_GATE_H
#define SERVE_GATE_H
/**
 * Lets threads work concurrently, or one of them exclusively.
 *
 * Redis requires that INCR is atomic, but mininb executes it as a get and a put of the
 * engine. A lock for each key would slow each put down, and a batch of puts would need many
 * locks. With the gate, a thread that works pays one store to a cache line of its own. A
 * thread that needs exclusive access closes the gate and waits until the other threads are
 * outside.
 *
 * Memory order. A thread stores `is_inside` and then loads `is_closed`. A thread that
 * closes the gate stores `is_closed` and then loads each `is_inside`. All four are
 * sequentially consistent, so at least one of the two threads sees the other's store.
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

struct gate_seat {
	_Alignas(64) int is_inside;
};

struct gate {
	pthread_mutex_t mutex; /* held by the thread with exclusive access */
	struct gate_seat *seats;
	uint32_t count;
	_Alignas(64) int is_closed;
};

static inline void
gate_enter(struct gate *gate, uint32_t id)
{
	if (gate->count == 1)
		return;
	struct gate_seat *seat = &gate->seats[id];
	__atomic_store_n(&seat->is_inside, 1, __ATOMIC_SEQ_CST);
	while (__builtin_expect(__atomic_load_n(&gate->is_closed, __ATOMIC_SEQ_CST) != 0, 0)) {
		__atomic_store_n(&seat->is_inside, 0, __ATOMIC_RELEASE);
		pthread_mutex_lock(&gate->mutex); /* wait until it is open */
		pthread_mutex_unlock(&gate->mutex);
		__atomic_store_n(&seat->is_inside, 1, __ATOMIC_SEQ_CST);
	}
}

static inline void
gate_leave(struct gate *gate, uint32_t id)
{
	if (gate->count > 1)
		__atomic_store_n(&gate->seats[id].is_inside, 0, __ATOMIC_RELEASE);
}

/** Get exclusive access. Call it from outside the gate. */
static inline void
gate_close(struct gate *gate)
{
	if (gate->count == 1)
		return;
	pthread_mutex_lock(&gate->mutex);
	__atomic_store_n(&gate->is_closed, 1, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < gate->count; i++) {
		while (__atomic_load_n(&gate->seats[i].is_inside, __ATOMIC_SEQ_CST) != 0)
			sched_yield(); /* that thread may be waiting for a disk */
	}
}

static inline void
gate_open(struct gate *gate)
{
	if (gate->count == 1)
		return;
	__atomic_store_n(&gate->is_closed, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&gate->mutex);
}

#endif /* SERVE_GATE_H */
