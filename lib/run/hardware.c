/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hardware counters, one file descriptor per event. Threads that are created later inherit it
 * (`inherit`), and the kernel does not read groups of inherited events. A read returns the sum
 * of all threads, including ended ones.
 *
 * Both user code and the kernel's work for it are counted, because system calls are a cost of
 * an engine. If that is not allowed (perf_event_paranoid), only user code is counted, and the
 * result reports it. Such numbers cannot be compared with the others.
 *
 * A processor counts few events at a time, and the kernel lets them take turns. Counts are
 * scaled by time_enabled / time_running, as in perf-stat. So the error is larger over a short
 * time, and small over a whole run.
 */
#include "run/hardware.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/uint128.h"

static const uint64_t events[HARDWARE_EVENTS] = {
	[HARDWARE_CYCLES] = PERF_COUNT_HW_CPU_CYCLES,
	[HARDWARE_INSTRUCTIONS] = PERF_COUNT_HW_INSTRUCTIONS,
	[HARDWARE_CACHE_REFERENCES] = PERF_COUNT_HW_CACHE_REFERENCES,
	[HARDWARE_CACHE_MISSES] = PERF_COUNT_HW_CACHE_MISSES,
	[HARDWARE_BRANCHES] = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
	[HARDWARE_BRANCH_MISSES] = PERF_COUNT_HW_BRANCH_MISSES,
};

static int
open_event(uint64_t config, bool with_kernel)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.inherit = 1,
		.exclude_kernel = !with_kernel,
		.exclude_hv = !with_kernel};
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool
is_refusal(int error)
{
	return error == EACCES || error == EPERM;
}

/** Whether the counter moves. In some virtual machines it can be opened but never does. */
static bool
is_counting(int fd)
{
	uint64_t values[3];
	return read(fd, values, sizeof(values)) == sizeof(values) && values[0] > 0;
}

static void
explain(struct hardware *hardware, int error)
{
	static const struct {
		int error;
		const char *why;
	} known[] = {{ENOENT, "this machine has none (ENOENT)"},
		{EOPNOTSUPP, "this machine has none (EOPNOTSUPP)"},
		{ENODEV, "this machine has none (ENODEV)"},
		{ENOSYS, "this kernel has none (ENOSYS)"},
		{EACCES, "kernel.perf_event_paranoid forbids them (EACCES)"},
		{EPERM, "they are not permitted (EPERM)"}};
	char other[64];
	const char *why = other;
	snprintf(other, sizeof(other), "not available (error %d)", error);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		why = known[i].error == error ? known[i].why : why;
	snprintf(hardware->missing, sizeof(hardware->missing), "hardware counters: %s", why);
}

void
hardware_open(struct hardware *hardware)
{
	bool with_kernel = true;
	hardware->missing[0] = '\0';
	for (int i = 0; i < HARDWARE_EVENTS; i++) {
		int fd = open_event(events[i], with_kernel);
		if (fd < 0 && with_kernel && is_refusal(errno)) {
			with_kernel = false;
			fd = open_event(events[i], with_kernel);
		}
		if (fd < 0 && i == HARDWARE_CYCLES)
			explain(hardware, errno);
		hardware->fds[i] = fd;
	}
	int cycles = hardware->fds[HARDWARE_CYCLES];
	if (cycles >= 0 && !is_counting(cycles)) {
		hardware_close(hardware);
		snprintf(hardware->missing, sizeof(hardware->missing),
			"hardware counters: this machine's counters never change");
	} else if (cycles >= 0 && !with_kernel) {
		snprintf(hardware->missing, sizeof(hardware->missing),
			"hardware counters: user code only, as counting the kernel is not permitted");
	}
}

void
hardware_leave_out(struct hardware *hardware, const char *why)
{
	for (int i = 0; i < HARDWARE_EVENTS; i++)
		hardware->fds[i] = -1;
	snprintf(hardware->missing, sizeof(hardware->missing), "hardware counters: %s", why);
}

void
hardware_close(struct hardware *hardware)
{
	for (int i = 0; i < HARDWARE_EVENTS; i++) {
		if (hardware->fds[i] >= 0)
			close(hardware->fds[i]);
		hardware->fds[i] = -1;
	}
}

uint32_t
hardware_read(const struct hardware *hardware, uint64_t counts[HARDWARE_EVENTS],
	uint64_t *read_bytes, uint64_t *reads)
{
	uint32_t known = 0;
	for (int i = 0; i < HARDWARE_EVENTS; i++) {
		uint64_t values[3]; /* count, time enabled, time running */
		counts[i] = 0;
		if (hardware->fds[i] < 0)
			continue;
		++*reads;
		if (read(hardware->fds[i], values, sizeof(values)) != sizeof(values))
			continue;
		*read_bytes += sizeof(values);
		if (values[2] == 0)
			continue;
		counts[i] = (uint64_t)((uint128)values[0] * values[1] / values[2]);
		known |= 1u << i;
	}
	return known;
}
