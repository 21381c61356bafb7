/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into the program: a sched_yield(2) of which one in 64 calls yields. Threads
 * still take turns, and a test does not wait for the rest of the machine after each operation.
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
