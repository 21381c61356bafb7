/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UNIT_H
#define UNIT_H
/**
 * What every unit test program needs: one Check case for each promise, named by it.
 *
 *     int
 *     main(void)
 *     {
 *             return UNIT_RUN("histogram", percentile_never_under_reports, ...);
 *     }
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

enum { UNIT_TIMEOUT_S = 120 }; /* sanitizers and valgrind are slow */

static inline int
unit_run(const char *name, const TTest *const *tests, size_t count)
{
	Suite *suite = suite_create(name);
	for (size_t i = 0; i < count; i++) {
		TCase *promise = tcase_create(tests[i]->name);
		tcase_set_timeout(promise, UNIT_TIMEOUT_S);
		tcase_add_test(promise, tests[i]);
		suite_add_tcase(suite, promise);
	}
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}

#define UNIT_RUN(name, ...) \
	unit_run(name, (const TTest *const[]){__VA_ARGS__}, \
		sizeof((const TTest *const[]){__VA_ARGS__}) / sizeof(const TTest *))

#endif /* UNIT_H */
