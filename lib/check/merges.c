/* SPDX-License-Identifier: BSD-2-Clause */
/* merge: adds to numbers in place. Each sum is read back with get. */
#include <string.h>

#include "check/suite.h"

enum { THREADS = 4, ADDITIONS = 200, UNKNOWN_MERGE = 77 };

static bool
add(struct suite *s, struct nb_session *session, uint64_t operand)
{
	return suite_ok(s, "merge", session_merge(s, session, SLICE("number"), operand));
}

static bool
is_number(struct suite *s, uint64_t number)
{
	return has(s, SLICE("number"), (struct nb_slice){&number, sizeof(number)});
}

PROMISE(merge_counts_a_missing_key_as_0)
{
	return suite_open(s) && add(s, s->main.session, 5) && is_number(s, 5) &&
		del(s, SLICE("number")) && add(s, s->main.session, 0) && is_number(s, 0);
}

PROMISE(merge_adds_modulo_2_to_the_64)
{
	uint64_t sum = UINT64_C(0x00ffffffffffff01);
	if (!suite_open(s) || !put(s, SLICE("number"), (struct nb_slice){&sum, sizeof(sum)}))
		return false;
	const uint64_t operands[] = {0xff, 1, UINT64_MAX, UINT64_C(1) << 63, UINT64_C(1) << 63,
		UINT64_C(0xff00000000000000)};
	for (size_t i = 0; i < COUNT_OF(operands); i++)
		if (sum += operands[i],
			!add(s, s->main.session, operands[i]) || !is_number(s, sum))
			return false;
	return true;
}

/*
 * merge fails; or it returns NB_OK in an engine that adds later, without reading, and drops
 * the addition.
 */
PROMISE(merge_leaves_a_value_of_another_size)
{
	static const size_t sizes[] = {0, 1, 7, 9, 100};
	bool is_right = suite_open(s);
	for (size_t i = 0; is_right && i < COUNT_OF(sizes); i++) {
		struct nb_slice value = suite_value(s, sizes[i], i);
		if (!put(s, SLICE("number"), value))
			return false;
		int rc = session_merge(s, s->main.session, SLICE("number"), 1);
		is_right = (rc == NB_OK ||
				   suite_failed(
					   s, "merge of a value that is not of 8 bytes", rc)) &&
			has(s, SLICE("number"), value);
	}
	return is_right;
}

PROMISE(merge_of_an_unknown_kind_is_unsupported)
{
	uint64_t number = 7;
	if (!suite_open(s) ||
		!put(s, SLICE("number"), (struct nb_slice){&number, sizeof(number)}))
		return false;
	host_forget();
	int rc = s->engine->merge(s->main.session, SLICE("number"), UNKNOWN_MERGE, 1);
	return (rc == NB_UNSUPPORTED ||
		       suite_wrong(s, "merge of an unknown kind", rc, "NB_UNSUPPORTED")) &&
		suite_failed(s, "merge of an unknown kind", rc) && is_number(s, number);
}

static void
add_often(struct worker *worker)
{
	for (int i = 0; i < ADDITIONS; i++)
		if (!add(worker->suite, worker->session, worker->id + 1))
			return;
}

PROMISE(merges_of_threads_are_all_counted)
{
	return suite_open(s) && workers_run(s, THREADS, add_often) &&
		is_number(s, (uint64_t)ADDITIONS * THREADS * (THREADS + 1) / 2);
}
