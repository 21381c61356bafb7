/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_TESTS_H
#define REPORT_TESTS_H
/**
 * Results as the tests of Masstree's tools: a group, and the groups that visit its puts again, are
 * one test, of which thread t does its puts and then its gets.
 */
#include "report/boxplot.h"
#include "report/record.h"

enum { TEST_NAME = 384 };

/** What a thread did, by BOXPLOTS_*; the first is the sum of all. */
struct test_thread {
	uint64_t counts[BOXPLOTS_KINDS];
	double rates[BOXPLOTS_KINDS]; /* a second of the phases that had them; 0: not known */
};

/** A test of a record. Its first group, and those that go to its keys again. */
struct test_run {
	char name[TEST_NAME]; /* "rw1", "scan1@writers" */
	const struct record *record;
	size_t groups[NB_GROUPS_MAX]; /* indexes, in the order of phases */
	size_t group_count;
	uint32_t thread_count;
	uint32_t kinds;      /* bits 1 << BOXPLOTS_* of those that a thread did */
	uint32_t rated;      /* and of those with a rate */
	bool has_two_phases; /* of the same threads */
};

/**
 * The tests of a record, at most as many as groups; how many. Groups that only verify what a
 * sequence of the source masstree has left are none, and so are groups without threads.
 */
size_t
tests_of(const struct record *record, struct test_run *tests);

/** What its thread did. */
struct test_thread
tests_thread(const struct test_run *test, uint32_t thread);

/** `,"puts":1,"puts_per_sec":2.5,...`: the members of a JSON object, the sum last. */
void
tests_write_figures(const struct test_run *test, const struct test_thread *thread, FILE *out);

#endif /* REPORT_TESTS_H */
