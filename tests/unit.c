/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <errno.h>

#include "scratch.h"

enum { UNIT_TIMEOUT_S = 120 }; /* sanitizers and valgrind are slow */

static struct unit_test *tests;

static struct deferred {
	void (*undo)(void *arg);
	void *arg;
} deferred[8]; /* of the current test */
static size_t deferred_count;

__attribute__((weak)) bool unit_in_scratch;
__attribute__((weak)) void
unit_setup(void);
__attribute__((weak)) void
unit_teardown(void);

/** Returns whether the call was deferred. */
static bool
forget(void (*undo)(void *arg), void *arg)
{
	size_t at = 0, count = deferred_count;
	while (at < count && (deferred[at].undo != undo || deferred[at].arg != arg))
		at++;
	for (size_t i = at + 1; i < count; i++)
		deferred[i - 1] = deferred[i];
	deferred_count -= at < count;
	return at < count;
}

void
unit_forget(void (*undo)(void *arg), void *arg)
{
	(void)forget(undo, arg);
}

void
unit_defer(void (*undo)(void *arg), void *arg)
{
	if (forget(undo, arg))
		undo(arg);
	ck_assert_uint_lt(deferred_count, UNIT_COUNT(deferred));
	deferred[deferred_count++] = (struct deferred){undo, arg};
}

static void
end_test(void)
{
	while (deferred_count > 0) {
		struct deferred last = deferred[--deferred_count];
		last.undo(last.arg);
	}
	if (unit_teardown != NULL)
		unit_teardown();
}

/* Compilers may call constructors in any order, so the tests are sorted by line. */
void
unit_add(struct unit_test *test, size_t count)
{
	struct unit_test **at = &tests;
	while (*at != NULL && (*at)->check.line < test->check.line)
		at = &(*at)->next;
	test->count = count;
	test->next = *at;
	*at = test;
}

static Suite *
make_suite(void)
{
	Suite *suite = suite_create(program_invocation_short_name);
	for (const struct unit_test *test = tests; test != NULL; test = test->next) {
		TCase *promise = tcase_create(test->check.name);
		tcase_set_timeout(promise, UNIT_TIMEOUT_S);
		tcase_add_checked_fixture(promise, unit_setup, end_test);
		tcase_add_loop_test(promise, &test->check, 0, (int)test->count);
		suite_add_tcase(suite, promise);
	}
	return suite;
}

int
unit_run(void)
{
	SRunner *runner = srunner_create(make_suite());
	if (unit_in_scratch)
		scratch_enter();
	srunner_run_all(runner, CK_ENV);
	if (unit_in_scratch)
		scratch_leave();
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
