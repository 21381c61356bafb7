/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UNIT_H
#define UNIT_H
/**
 * A unit test program is a file of promises:
 *
 *     TEST(percentile_never_under_reports)
 *     {
 *             ck_assert_uint_ge(...);
 *     }
 *
 * Each one is a case of Check and runs in a process of its own, in the order of the file.
 * unit.c has the main() that runs them. A program with a main() of its own calls unit_run().
 */
#include <stdbool.h>
#include <stddef.h>

#include <check.h>

/*
 * Check writes a message to a file at every assertion that holds, to tell after a crash
 * which was the last, and a loop of them spends its time on that. The first time an
 * assertion holds is told, and so a crash is still told to be after one in its loop.
 */
#define _mark_point(file, line) \
	__extension__({ \
		static bool is_told; \
		if (!__atomic_load_n(&is_told, __ATOMIC_RELAXED)) { \
			__atomic_store_n(&is_told, true, __ATOMIC_RELAXED); \
			(_mark_point)(file, line); \
		} \
	})

struct unit_test {
	struct unit_test *next;
	TTest check;
	size_t count;
};

#define TEST(name) TEST_EACH(name, 1)

/** Runs count times, with _i from 0. */
#define TEST_EACH(name, count) \
	static void name##_body(int); \
	__attribute__((constructor)) static void name##_add(void) \
	{ \
		static struct unit_test test = { \
			NULL, {#name, name##_body, __FILE__, __LINE__}, 1}; \
		unit_add(&test, count); \
	} \
	static void name##_body(__attribute__((unused)) int _i)

/*
 * The step of a loop over cases that are many for what they compute: a sanitizer looks at
 * memory, of which it sees in some what it would in all.
 */
#ifdef UNIT_CHECKED
enum { UNIT_STEP = 4 };
#else
enum { UNIT_STEP = 1 };
#endif

#define UNIT_COUNT(array) (sizeof(array) / sizeof(*(array)))

void
unit_add(struct unit_test *test, size_t count);
/** Run all tests. Returns the exit status of the program. */
int
unit_run(void);

/** A program that defines these calls them before and after each test. */
void
unit_setup(void);
void
unit_teardown(void);

/** Call undo(arg) when the test is over, the last one first; now, if it is still to be called. */
void
unit_defer(void (*undo)(void *arg), void *arg);
/** It need not be called any more. */
void
unit_forget(void (*undo)(void *arg), void *arg);

/** A program that defines this as true runs its tests in a directory of scratch.h. */
extern bool unit_in_scratch;

#endif /* UNIT_H */
