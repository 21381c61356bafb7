/* SPDX-License-Identifier: BSD-2-Clause */
/* The cost of the harness in a job: measured for every mix that the null engine has. */
#include <string.h>

#include "base/error.h"
#include "toy.h"
#include "unit.h"

static struct toy_rig rig;

static void
measure(const char *text, uint32_t what)
{
	toy_create(&rig, text);
	rig.options.what = what;
	toy_new(&rig);
	ck_assert_msg(job_floor_measure(rig.run) == NB_OK, "%s", nb_error_text());
}

START_TEST(mixes_and_sizes_have_a_floor)
{
	static const char *const texts[] = {"records = 1000\nread = 1\nupdate = 1\n",
		"records = 10\ninsert = 1\nread = 1\n",
		"records = 10\nread = 1\nvalue-size = 0\n",
		"records = 10\nupdate = 1\nvalue-size = 9MiB\n",
		"records = 10\nupdate = 1\nvalue-size = uniform:1..10000\n",
		"records = 10\nread-modify-write = 1\nrate = 10\n",
		"records = 10\nread = 1\nduration = 1s\nwarmup = 500ms\n",
		"records = 10\nread = 1\ncount = 1\n"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		for (uint32_t what = NB_JOB_LOAD; what <= NB_JOB_RUN; what++) {
			measure(texts[i], what);
			ck_assert(rig.run->base.measured.floor_op_ns > 0);
			ck_assert(rig.run->base.measured.floor_op_ns < 1e9);
			toy_destroy(&rig);
		}
}
END_TEST

START_TEST(nothing_of_the_run_is_touched_by_it)
{
	measure("records = 100\nread = 1\nupdate = 1\nrate = 10k\nthreads = 3\n", NB_JOB_RUN);
	const struct job_part *part = &rig.run->parts[0];
	ck_assert_ptr_eq(part->plan.engine, &rig.run->base.engine->table);
	ck_assert_ptr_null(part->workers);
	ck_assert_uint_eq(part->measured.ops, 0);
	ck_assert_uint_eq(part->plan.threads, 3);
	ck_assert(part->plan.is_paced);
	ck_assert_uint_eq(toy_calls(TOY_GET) + toy_calls(TOY_PUT), 0);
	toy_destroy(&rig);
}
END_TEST

START_TEST(what_the_null_engine_cannot_do_has_none)
{
	static const char *const texts[] = {"records = 10\nscan = 1\n",
		"records = 10\nbatch = 1\n", "records = 10\nmulti-get = 1\n",
		"records = 10\ntxn-read = 1\n", "records = 10\ntxn-write = 1\nread = 1\n"};
	const struct nb_engine *null = engine_builtin("null");
	const bool can[] = {null->scan_open != NULL, null->batch != NULL,
		null->multi_get != NULL, null->begin != NULL, null->begin != NULL};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		measure(texts[i], NB_JOB_RUN);
		ck_assert_int_eq(rig.run->base.measured.floor_op_ns > 0, can[i]);
		toy_destroy(&rig);
	}
}
END_TEST

int
main(void)
{
	return UNIT_RUN("job_floor", mixes_and_sizes_have_a_floor,
		nothing_of_the_run_is_touched_by_it, what_the_null_engine_cannot_do_has_none);
}
