/* SPDX-License-Identifier: BSD-2-Clause */
/* The cost of the harness: measured for every workload, and nothing else is touched by it. */
#include "rig.h"
#include "unit.h"

static struct rig rig;

START_TEST(every_verb_and_size_has_a_floor)
{
	static const struct {
		uint64_t count, value_size;
	} cases[] = {{1, 0}, {7, 100}, {1000, 100}, {30000, 1}, {2, 20 << 20}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
			rig_create(&rig, verb, cases[i].count);
			rig.workload.value_size = cases[i].value_size;
			rig_new(&rig, NULL);
			ck_assert_int_eq(floor_measure(rig.run), NB_OK);
			ck_assert(rig.run->measured.floor_op_ns > 0);
			ck_assert(rig.run->measured.floor_op_ns < 1e9);
			rig_destroy(&rig);
		}
}
END_TEST

START_TEST(latency_is_within_the_operation)
{
	rig_create(&rig, NB_VERB_GET, 30000);
	rig_new(&rig, NULL);
	ck_assert_int_eq(floor_measure(rig.run), NB_OK);
	/*
	 * Half of the latencies of 7 passes are at least the median m; in the 4 passes that
	 * take at most M an operation, no more than M/m of them can be: m <= 8 M.
	 */
	ck_assert(
		(double)rig.run->measured.floor_call_ns <= 8.1 * rig.run->measured.floor_op_ns);
	ck_assert_uint_gt(rig.run->measured.floor_call_ns, 0);
	rig_destroy(&rig);
}
END_TEST

/** Of a get of large values, in ns: reading all bytes of each to verify it, or only its lines. */
static double
floor_of(const char *driver)
{
	rig_create(&rig, NB_VERB_GET, 200);
	rig.workload.value_size = 64 << 10;
	rig.options.driver = driver;
	ck_assert_int_eq(rig_run(&rig, NULL), NB_OK);
	double op_ns = rig.run->measured.floor_op_ns;
	rig_destroy(&rig);
	return op_ns;
}

START_TEST(what_is_not_verified_in_the_run_is_not_in_its_floor)
{
	/* some 30 times as long; what disturbs one of them must do so in most of its passes */
	ck_assert(floor_of("null") < floor_of("memory"));
}
END_TEST

START_TEST(run_and_its_engine_are_not_touched)
{
	struct nb_engine engine = rig_counting();
	rig_create(&rig, NB_VERB_PUT, 1000);
	rig_new(&rig, &engine);
	ck_assert_int_eq(floor_measure(rig.run), NB_OK);
	ck_assert_int_eq(rig_opened, 0);
	ck_assert_uint_eq(nb_histogram_count(rig.run->measured.service), 0);
	ck_assert_uint_eq(rig.run->measured.ops, 0);
	ck_assert(!rig_has(&rig, "nb"));
	rig_destroy(&rig);
}
END_TEST

START_TEST(stop_does_not_make_it_endless_nor_short)
{
	rig_create(&rig, NB_VERB_PUT, 1000);
	rig_new(&rig, NULL);
	nb_stop();
	ck_assert_int_eq(floor_measure(rig.run), NB_OK);
	ck_assert(rig.run->measured.floor_op_ns > 0);
	nb_stop_clear();
	rig_destroy(&rig);
}
END_TEST

int
main(void)
{
	return UNIT_RUN("floor", every_verb_and_size_has_a_floor,
		latency_is_within_the_operation,
		what_is_not_verified_in_the_run_is_not_in_its_floor,
		run_and_its_engine_are_not_touched, stop_does_not_make_it_endless_nor_short);
}
