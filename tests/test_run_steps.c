/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps of all kinds of runs on the main thread: pinning, and texts of failures.
 * test_run_verb.c and test_run_execute.c test whole runs.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "rig.h"
#include "unit.h"

static struct rig rig;

/** The CPU of this thread; -1 if it may use several. */
static int
cpu_of(void)
{
	cpu_set_t set;
	ck_assert_int_eq(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int cpu = 0; CPU_COUNT(&set) == 1 && cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			return cpu;
	return -1;
}

/** The nth CPU that the process may use; -1: it has fewer. */
static int
allowed_cpu(int nth)
{
	static cpu_set_t allowed;
	if (CPU_COUNT(&allowed) == 0)
		ck_assert_int_eq(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && nth-- == 0)
			return cpu;
	return -1;
}

TEST(threads_use_the_listed_cpus_in_turn)
{
	int one = allowed_cpu(0), two = allowed_cpu(1) >= 0 ? allowed_cpu(1) : one;
	char list[64];
	snprintf(list, sizeof(list), "%d,%d", two, one);
	for (uint32_t nth = 0; nth < 6; nth++) {
		ck_assert_msg(run_pin_to(list, nth) == NB_OK, "%s", nb_error_text());
		ck_assert_int_eq(cpu_of(), nth % 2 == 0 ? two : one);
	}
	snprintf(list, sizeof(list), "%d-%d", one, one);
	ck_assert_int_eq(run_pin_to(list, 5), NB_OK);
	ck_assert_int_eq(cpu_of(), one);
	if (two == one + 1) {
		snprintf(list, sizeof(list), "%d-%d,%d", one, two, one);
		for (uint32_t nth = 0; nth < 6; nth++) {
			ck_assert_int_eq(run_pin_to(list, nth), NB_OK);
			ck_assert_int_eq(cpu_of(), nth % 3 == 1 ? two : one);
		}
	}
}

TEST(invalid_list_is_refused)
{
	static const char *const lists[] = {"", "x", "-3", ",1", "3-1", "1;2"};
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		char text[96];
		snprintf(text, sizeof(text), "cpus: '%s' is not a list of CPUs such as 0-3,8",
			lists[i]);
		ck_assert_int_eq(run_pin_to(lists[i], 0), NB_ERR_USAGE);
		ck_assert_str_eq(nb_error_text(), text);
	}
}

TEST(missing_cpu_is_reported)
{
	ck_assert_int_eq(run_pin_to("1000", 7), NB_FAIL);
	ck_assert_str_eq(nb_error_text(), "pinning: thread 7 cannot run on CPU 1000");
	ck_assert_int_eq(run_pin_to("1000000", 0), NB_FAIL);
	ck_assert_str_eq(nb_error_text(), "pinning: thread 0 cannot run on CPU 1000000");
}

TEST(workers_use_the_cpus_of_the_process_in_turn)
{
	int count = 0;
	while (allowed_cpu(count) >= 0)
		count++;
	ck_assert_int_eq(run_pin((uint32_t)count), NB_OK); /* leaves only the first */
	ck_assert_int_eq(cpu_of(), allowed_cpu(0));
}

TEST(failure_is_reported_with_the_engine_and_the_verb)
{
	rig_create(&rig, NB_VERB_PUT, 10);
	rig_new(&rig, NULL);
	(void)error_set(NB_FAIL, "of earlier");
	run_forget_text();
	ck_assert_str_eq(nb_error_text(), "");
	ck_assert_int_eq(run_engine_failure(rig.run, NB_UNSUPPORTED, "open"), NB_UNSUPPORTED);
	ck_assert_str_eq(nb_error_text(), "memory: open: failed without saying why");
	run_forget_text();
	ck_assert_int_eq(run_engine_failure(rig.run, 7, "flush"), NB_FAIL);
	ck_assert_str_eq(nb_error_text(),
		"memory: flush: answered 7, but may answer only NB_OK (0) or a negative "
		"failure");
	(void)error_set(NB_FAIL, "out of luck");
	/* a positive answer becomes a failure here */
	ck_assert_int_eq(run_engine_failure(rig.run, NB_NOT_FOUND, "settling"), NB_FAIL);
	ck_assert_str_eq(nb_error_text(), "memory: settling: out of luck");
}
