/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_TESTS_H
#define REPORT_TESTS_H
/**
 * Presents results as the tests of Masstree's tools. A group and the groups that visit its
 * puts again are one test. Thread t of the test does its puts first and then its gets.
 */
#include "report/boxplot.h"
#include "report/record.h"

enum { TEST_NAME = 384 };

/** The operations of a thread, by BOXPLOTS_*; the first is the sum of all. */
struct test_thread {
	uint64_t counts[BOXPLOTS_KINDS];
	double rates[BOXPLOTS_KINDS]; /* per second of the phases that had them; 0: unknown */
};

/** A test of a record: its first group, and the groups that visit the same keys again. */
struct test_run {
	char name[TEST_NAME]; /* "rw1", "scan1@writers" */
	const struct record *record;
	size_t groups[NB_GROUPS_MAX]; /* indexes, in the order of phases */
	size_t group_count;
	uint32_t thread_count;
	uint32_t kinds;      /* bits 1 << BOXPLOTS_* of the kinds that a thread executed */
	uint32_t rated;      /* those of them that have a rate */
	bool has_two_phases; /* both by the same threads */
};

/**
 * Find the tests of a record; returns their number, which is at most the number of groups.
 * Excludes groups without threads, and groups that only verify the keys left by the source
 * masstree.
 */
size_t
tests_of(const struct record *record, struct test_run *tests);

/** The operations of one thread of the test. */
struct test_thread
tests_thread(const struct test_run *test, uint32_t thread);

/** Write `,"puts":1,"puts_per_sec":2.5,...`: members of a JSON object, the sum last. */
void
tests_write_figures(const struct test_run *test, const struct test_thread *thread, FILE *out);

#endif /* REPORT_TESTS_H */
