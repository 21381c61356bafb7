/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library for LD_PRELOAD: only one in 64 calls of sched_yield(2) yields. Threads still take
 * turns, and a test does not wait for other processes after each operation.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

int
sched_yield(void)
{
	static _Thread_local unsigned calls;

	return ++calls % 64 == 0 ? (int)syscall(SYS_sched_yield) : 0;
}
