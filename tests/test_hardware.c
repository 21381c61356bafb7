/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the CPU provides no counters, as in many virtual machines, the result says so. */
#include "run/hardware.h"

#include <pthread.h>
#include <string.h>

#include "unit.h"

enum { TURNS = 1000000 };

static struct hardware hardware;
static uint64_t bytes, reads;

static uint32_t
look(uint64_t counts[HARDWARE_EVENTS])
{
	return hardware_read(&hardware, counts, &bytes, &reads);
}

static void *
work(void *arg)
{
	for (volatile int i = 0; i < TURNS; i++)
		;
	return arg;
}

TEST(uncounted_events_are_reported)
{
	uint64_t counts[HARDWARE_EVENTS];
	hardware_open(&hardware);
	uint32_t known = look(counts);
	if (hardware.fds[HARDWARE_CYCLES] < 0) {
		ck_assert_uint_eq(known & 1u << HARDWARE_CYCLES, 0);
		ck_assert_ptr_eq(
			strstr(hardware.missing, "hardware counters: "), hardware.missing);
	} else {
		ck_assert_uint_ne(known & 1u << HARDWARE_CYCLES, 0);
	}
	for (int i = 0; i < HARDWARE_EVENTS; i++) {
		if (hardware.fds[i] < 0)
			ck_assert_uint_eq(counts[i], 0);
	}
	hardware_close(&hardware);
	ck_assert_uint_eq(look(counts), 0);
	ck_assert_uint_eq(counts[HARDWARE_CYCLES], 0);
}

/** An iteration of the loop has at least an increment, a comparison and a branch. */
static void
assert_counts(uint64_t before[HARDWARE_EVENTS], uint32_t known)
{
	uint64_t after[HARDWARE_EVENTS];
	known &= look(after);
	if ((known & 1u << HARDWARE_INSTRUCTIONS) != 0)
		ck_assert_uint_ge(after[HARDWARE_INSTRUCTIONS] - before[HARDWARE_INSTRUCTIONS],
			3 * TURNS);
	if ((known & 1u << HARDWARE_CYCLES) != 0)
		ck_assert_uint_gt(after[HARDWARE_CYCLES], before[HARDWARE_CYCLES]);
}

TEST(work_of_this_thread_is_counted)
{
	uint64_t before[HARDWARE_EVENTS];
	hardware_open(&hardware);
	uint32_t known = look(before);
	work(NULL);
	assert_counts(before, known);
	hardware_close(&hardware);
}

TEST(work_of_threads_made_later_is_counted)
{
	uint64_t before[HARDWARE_EVENTS];
	pthread_t thread;
	hardware_open(&hardware);
	uint32_t known = look(before);
	ck_assert_int_eq(pthread_create(&thread, NULL, work, NULL), 0);
	pthread_join(thread, NULL);
	assert_counts(before, known);
	hardware_close(&hardware);
}

TEST(own_reads_are_counted)
{
	uint64_t counts[HARDWARE_EVENTS];
	uint32_t open = 0;
	hardware_open(&hardware);
	for (int i = 0; i < HARDWARE_EVENTS; i++)
		open += hardware.fds[i] >= 0;
	bytes = reads = 0;
	look(counts);
	ck_assert_uint_eq(reads, open);
	ck_assert_uint_eq(bytes, 24 * open); /* value, time enabled, time running */
	hardware_close(&hardware);
}
