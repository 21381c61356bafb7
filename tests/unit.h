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
 * Each promise is a test case of Check and runs in its own process, in the order of the file.
 * unit.c runs them and unit_main.c has main(). A program with its own main() calls unit_run().
 */
#include <stdbool.h>
#include <stddef.h>

#include <check.h>

/*
 * Check writes a message to a file at every assertion, to report the last one after a crash.
 * Loops of assertions spend most of their time on that. This macro writes the message only for
 * the first execution of each assertion. A crash is still reported as after an assertion of its
 * loop.
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

/** Run the test count times, with _i from 0. */
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
 * The step of loops over many cheap cases. With a sanitizer, a part of the cases is enough,
 * because it checks memory accesses, which are the same in all cases.
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

/** Optional hooks of a program, called before and after each test. */
void
unit_setup(void);
void
unit_teardown(void);

/**
 * Call undo(arg) at the end of the test; the last deferred call comes first. If the same call
 * is already deferred, it is executed now and deferred again.
 */
void
unit_defer(void (*undo)(void *arg), void *arg);
/** Cancel a deferred call. */
void
unit_forget(void (*undo)(void *arg), void *arg);

/** If a program defines this as true, its tests run in the directory of scratch.h. */
extern bool unit_in_scratch;

#endif /* UNIT_H */
