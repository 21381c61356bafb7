/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operations of the source `masstree` expect certain states of their records. The tests compare
 * these with a plain model, for any number of threads and wherever the run ends. The
 * expectations must also detect an engine that loses a write, keeps a deleted record, or omits
 * a fixed record from a scan.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job_text.h"
#include "ops_rig.h"
#include "toy.h"

enum { MODEL = 1 << 18, ROUNDS = 24, SIZE = 20 };

/** Each test with its mix of operations. `knows`: some operations have an expectation. */
static const struct {
	uint32_t test, kinds, ranges_min, range;
	bool knows, is_visited;
} cases[] = {
	{NB_TEST_RW2, 1 << NB_OP_INSERT | 1 << NB_OP_READ, 1, NB_RANGE_SHARED, true, true},
	{NB_TEST_RWSMALL, 1 << NB_OP_UPSERT | 1 << NB_OP_READ, 1, NB_RANGE_SHARED, true, true},
	{NB_TEST_RWSMALL, 1 << NB_OP_UPSERT | 1 << NB_OP_READ, 1, NB_RANGE_PRIVATE, true, true},
	{NB_TEST_WD1, 1 << NB_OP_INSERT | 1 << NB_OP_DELETE, 2, NB_RANGE_SHARED, true, true},
	{NB_TEST_WD2, 1 << NB_OP_UPSERT | 1 << NB_OP_READ | 1 << NB_OP_DELETE, 2,
		NB_RANGE_SHARED, true, true},
	{NB_TEST_WD3, 1 << NB_OP_INSERT | 1 << NB_OP_READ | 1 << NB_OP_DELETE, 1,
		NB_RANGE_SHARED, true, true},
	{NB_TEST_SCAN1, 1 << NB_OP_UPSERT | 1 << NB_OP_SCAN, 1, NB_RANGE_SHARED, true, true},
	{NB_TEST_CLUMPS, 1 << NB_OP_UPSERT | 1 << NB_OP_READ | 1 << NB_OP_DELETE, 1,
		NB_RANGE_SHARED, false, false},
	{NB_TEST_URL, 1 << NB_OP_INSERT | 1 << NB_OP_DELETE, 1, NB_RANGE_SHARED, true, true},
};

static struct fixture f;
static uint8_t model[MODEL]; /* whether a record exists */
static uint64_t expected;    /* number of operations with an expectation */

static void
make_case(size_t c, uint32_t threads, uint64_t space)
{
	set_up(&f);
	f.job.records = 0;
	f.job.space = space;
	f.group.source = NB_SOURCE_MASSTREE;
	f.group.masstree_test = cases[c].test;
	f.group.key_range = cases[c].range;
	f.group.threads = threads;
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++)
		f.group.weights[kind] = cases[c].kinds >> kind & 1;
	make_spec(&f, &f.group, 0, 1);
	memset(model, 0, sizeof(model));
	expected = 0;
}

static void
act(const struct ops_op *op, void *arg)
{
	uint64_t number = op->numbers[0], *left = arg;
	ck_assert_uint_lt(number, MODEL);
	if (*left == 0)
		return;
	--*left;
	expected += op->expects == OPS_PRESENT || op->expects == OPS_ABSENT;
	if (op->expects == OPS_PRESENT)
		ck_assert_int_eq(model[number], 1);
	if (op->expects == OPS_ABSENT)
		ck_assert_int_eq(model[number], 0);
	if (ops_is_write(op->kind) || op->kind == NB_OP_DELETE)
		model[number] = op->kind != NB_OP_DELETE;
}

/**
 * Perform the operations of all strata below `strata`, but only `last` of the last stratum.
 * done[i]: the number of operations of range i.
 */
static void
run_model(uint32_t threads, uint64_t strata, uint64_t last, uint64_t *done)
{
	memset(done, 0, threads * sizeof(*done));
	for (uint64_t s = 0; s < strata; s++) {
		uint64_t left = s + 1 < strata ? OPS_STRATUM : last;
		done[s % threads] += left;
		ck_assert_uint_le(ops_needs(&f.spec, s), s);
		each_op(&f.maker, s, act, &left);
	}
}

TEST(operations_expect_the_records_of_a_model)
{
	for (size_t c = 0; c < COUNT_OF(cases); c++) {
		for (uint32_t threads = cases[c].ranges_min; threads <= 5; threads++) {
			uint64_t done[5];
			make_case(c, threads, SIZE);
			run_model(threads, ROUNDS * threads, OPS_STRATUM, done);
			ck_assert_int_eq(expected > 0, cases[c].knows);
			tear_down(&f);
		}
	}
}

TEST(visit_expects_the_final_state_wherever_the_run_ended)
{
	for (size_t c = 0; c < COUNT_OF(cases); c++) {
		const struct source *source = source_of(NB_SOURCE_MASSTREE);
		make_case(c, 3, SIZE);
		ck_assert_int_eq(source->can_visit(&f.group), cases[c].is_visited);
		tear_down(&f);
		for (uint64_t end = 1; end < 60 && cases[c].is_visited; end += 4) {
			uint64_t done[3], last = 1 + end * 37 % OPS_STRATUM;
			make_case(c, 3, SIZE);
			run_model(3, end, last, done);
			struct ops_again again = {.of = &f.spec, .count = 1, .done = done};
			for (uint64_t s = 0; s < end; s++) {
				uint64_t indexes[OPS_STRATUM], numbers[OPS_STRATUM];
				uint8_t expects[OPS_STRATUM];
				uint32_t count = s + 1 < end ? OPS_STRATUM : (uint32_t)last;
				for (uint32_t j = 0; j < count; j++)
					indexes[j] = s * OPS_STRATUM + j;
				source->visit(&again, indexes, count, numbers, expects);
				for (uint32_t j = 0; j < count; j++) {
					if (expects[j] == OPS_PRESENT)
						ck_assert_int_eq(model[numbers[j]], 1);
					if (expects[j] == OPS_ABSENT)
						ck_assert_int_eq(model[numbers[j]], 0);
				}
			}
			tear_down(&f);
		}
	}
}

TEST(the_window_of_wd1_and_the_passes_of_wd3_are_known_for_each_record)
{
	static const size_t known[] = {3, 5};
	for (size_t k = 0; k < COUNT_OF(known); k++) {
		uint64_t done[2] = {7 * OPS_STRATUM + 5, 3 * OPS_STRATUM + 9};
		uint64_t indexes[OPS_STRATUM], numbers[OPS_STRATUM];
		uint8_t expects[OPS_STRATUM];
		make_case(known[k], 2, SIZE);
		struct ops_again again = {.of = &f.spec, .count = 1, .done = done};
		for (uint32_t j = 0; j < OPS_STRATUM; j++)
			indexes[j] = 6 * OPS_STRATUM + j; /* the fourth stratum of range 0 */
		f.spec.source->visit(&again, indexes, OPS_STRATUM, numbers, expects);
		for (uint32_t j = 0; j < OPS_STRATUM; j++) {
			uint64_t n = 3 * OPS_STRATUM + j, at = done[0] % SIZE;
			bool is_put = done[0] / SIZE % 4 == 1 ||
				(done[0] / SIZE % 4 == 0 && n % SIZE < at) ||
				(done[0] / SIZE % 4 == 2 && n % SIZE >= at);
			if (k == 0)
				is_put = n >= done[1];
			ck_assert_uint_eq(numbers[j], k == 0 ? n : n % SIZE);
			ck_assert_int_eq(expects[j], is_put ? OPS_PRESENT : OPS_ABSENT);
		}
		tear_down(&f);
	}
}

/** Operation `i` of the fixture's stream, found by take_wanted(). */
struct wanted {
	uint64_t i, number;
	bool is_write;
};

static void
take_wanted(const struct ops_op *op, void *arg)
{
	struct wanted *wanted = arg;
	if (op->index != wanted->i)
		return;
	wanted->number = op->numbers[0];
	wanted->is_write = ops_is_write(op->kind);
}

TEST(a_stream_depends_on_its_test_seed_and_threads_and_knows_its_writes)
{
	uint64_t digests[3 * COUNT_OF(cases)];
	size_t count = 0;
	for (size_t c = 0; c < COUNT_OF(cases); c++) {
		for (uint32_t variant = 0; variant < 3; variant++) {
			make_case(c, variant == 1 ? 4 : 2, SIZE);
			f.job.seed += variant == 2;
			digests[count++] = ops_digest(&f.spec, 1);
			for (uint64_t i = 0; i < 500; i += 61) {
				struct wanted wanted = {.i = i};
				each_op(&f.maker, i / OPS_STRATUM, take_wanted, &wanted);
				ck_assert_int_eq(
					ops_writes(&f.spec, i, wanted.number), wanted.is_write);
				ck_assert(!ops_writes(&f.spec, i, wanted.number + 1));
			}
			tear_down(&f);
		}
	}
	for (size_t a = 0; a < count; a++)
		for (size_t b = 0; b < a; b++)
			ck_assert_uint_ne(digests[a], digests[b]);
}

TEST(fixed_records_of_scans_stay_in_place)
{
	uint64_t fixed[SIZE];
	make_case(6, 1, SIZE);
	uint64_t done[1];
	run_model(1, 1, SIZE, done);
	size_t count = 0;
	for (uint64_t number = 0; number < MODEL; number++)
		if (model[number])
			fixed[count++] = number;
	ck_assert_uint_eq(count, SIZE);
	for (uint64_t from = 0; from < MODEL; from += 2047) {
		uint64_t to = from + from % 3000;
		bool is_between = false;
		for (size_t k = 0; k < count; k++)
			is_between |= fixed[k] >= from && fixed[k] < to;
		ck_assert_int_eq(f.spec.source->has_between(&f.spec, from, to), is_between);
	}
	ck_assert(f.spec.source->has_between(&f.spec, fixed[SIZE - 1], UINT64_MAX));
	ck_assert(!f.spec.source->has_between(&f.spec, fixed[SIZE - 1] + 1, UINT64_MAX));
	tear_down(&f);
}

/* ---- engines with errors ---- */

static struct toy_rig rig;
static struct toy_worker with;

#define BASE "records = 0\nvalue-size = 16\ncount = 2000\nsource = masstree\n"

static void
begin(const char *text)
{
	char all[512];
	snprintf(all, sizeof(all), BASE "%s\n", text);
	toy_one(&rig, &with, all);
}

TEST(correct_engine_causes_no_findings)
{
	static const char *const right[] = {"masstree-test = rw2\ninsert = 1\nread = 3",
		"masstree-test = rwsmall\nspace = 24\nupsert = 1\nread = 7",
		"masstree-test = wd3\nspace = 30\ninsert = 1\nread = 2\ndelete = 1",
		"masstree-test = scan1\nspace = 100\nupsert = 1\nscan = 9\nscan-length = 5",
		("masstree-test = scan1\nspace = 100\nupsert = 1\nscan = 9\nscan-length = 5\n"
		 "scan-direction = backward"),
		"masstree-test = url\ninsert = 2\ndelete = 1"};
	for (size_t r = 0; r < COUNT_OF(right); r++) {
		begin(right[r]);
		toy_go(&with);
		const struct job_findings *findings = &with.workers[0]->findings;
		ck_assert_int_eq(with.workers[0]->rc, NB_OK);
		ck_assert_uint_eq(toy_wrong(findings), 0);
		ck_assert_uint_eq(with.workers[0]->done, 2000);
	}
}

TEST(lost_write_and_undeleted_record_are_detected)
{
	static const struct {
		const char *text;
		uint32_t defect, verb;
		uint64_t nth;
		int verdict;
		uint32_t kind;
	} wrong[] = {
		{"masstree-test = wd3\nspace = 30\ninsert = 1\nread = 2\ndelete = 1", TOY_DROP,
			TOY_PUT, 7, JOB_MISSING, NB_OP_READ},
		{"masstree-test = wd3\nspace = 30\ninsert = 1\nread = 2\ndelete = 1", TOY_DROP,
			TOY_DEL, 9, JOB_STALE, NB_OP_READ},
		{"masstree-test = wd3\nspace = 30\ninsert = 1\nread = 2\ndelete = 1", TOY_MISS,
			TOY_DEL, 9, JOB_MISSING, NB_OP_DELETE},
		{"masstree-test = url\ninsert = 2\ndelete = 1", TOY_DROP, TOY_PUT, 100,
			JOB_MISSING, NB_OP_DELETE},
		{"masstree-test = rw2\ninsert = 1\nread = 9", TOY_MISS, TOY_GET, 500,
			JOB_MISSING, NB_OP_READ},
		{"masstree-test = rwsmall\nspace = 24\nupsert = 1\nread = 7", TOY_OLD, TOY_GET,
			900, JOB_STALE, NB_OP_READ},
		{"masstree-test = scan1\nspace = 100\nupsert = 1\nscan = 9\nscan-length = 5",
			TOY_SKIP, TOY_SCAN_NEXT, 1003, JOB_GAP, NB_OP_SCAN},
		{"masstree-test = scan1\nspace = 100\nupsert = 1\nscan = 9\nscan-length = 5",
			TOY_SKIP, TOY_SCAN_NEXT, 1001, JOB_GAP, NB_OP_SCAN},
		{"masstree-test = scan1\nspace = 100\nupsert = 1\nscan = 9\nscan-length = 5\n"
		 "scan-direction = backward",
			TOY_MISS, TOY_SCAN_NEXT, 1003, JOB_GAP, NB_OP_SCAN},
		{"masstree-test = scan1\nspace = 100\nupsert = 1\nscan = 9\nscan-length = 5",
			TOY_REPEAT, TOY_SCAN_NEXT, 1003, JOB_UNORDERED, NB_OP_SCAN},
	};
	for (size_t w = 0; w < COUNT_OF(wrong); w++) {
		begin(wrong[w].text);
		toy_break(wrong[w].defect, wrong[w].verb, wrong[w].nth, 1);
		toy_go(&with);
		const struct job_findings *findings = &with.workers[0]->findings;
		ck_assert_int_eq(with.workers[0]->rc, NB_OK);
		ck_assert_uint_ge(findings->case_count, 1);
		ck_assert_str_eq(job_verdict_name((int)findings->cases[0].verdict),
			job_verdict_name(wrong[w].verdict));
		ck_assert_uint_eq(findings->cases[0].kind, wrong[w].kind);
	}
}

TEST(writers_beside_scans_take_no_fixed_record_from_them)
{
	toy_create(&rig,
		"records = 0\nspace = 50\nvalue-size = 16\nsource = masstree\n[scanner]\n"
		"masstree-test = scan1\nupsert = 1\nscan = 9\ncount = 2000\nscan-length = 40\n"
		"[writers]\nmasstree-test = clumps\nupsert = 1\ndelete = 1\nbackground = yes\n"
		"threads = 2\n");
	ck_assert_int_eq(toy_run(&rig), NB_OK);
	const struct job_measurement *scans = toy_measured(&rig, 0);
	ck_assert_uint_eq(toy_wrong(&scans->findings), 0);
	ck_assert_uint_gt(scans->findings.verified, 1000);
	ck_assert_uint_eq(toy_wrong(&toy_measured(&rig, 1)->findings), 0);
}

TEST(threads_that_follow_each_other_leave_the_window_that_is_expected)
{
	static const char *const texts[] = {"masstree-test = wd1\ninsert = 1\ndelete = 1\n",
		"masstree-test = wd2\nupsert = 2\nread = 2\ndelete = 1\n",
		"masstree-test = wd3\ninsert = 1\nread = 2\ndelete = 1\n",
		"masstree-test = url\ninsert = 2\ndelete = 1\n"};
	for (size_t t = 0; t < COUNT_OF(texts); t++) {
		char text[512];
		snprintf(text, sizeof(text),
			"records = 0\nspace = 30\nvalue-size = 16\n[run]\nsource = masstree\nthreads = 4\n"
			"count = 5000\n%s[check]\nstart = after\nagain = run\nread = 1\n"
			"distribution = sequential\n",
			texts[t]);
		toy_create(&rig, text);
		ck_assert_int_eq(toy_run(&rig), NB_OK);
		ck_assert_uint_eq(toy_wrong(&toy_measured(&rig, 0)->findings), 0);
		ck_assert_uint_eq(toy_measured(&rig, 1)->ops, 5000);
		ck_assert_uint_eq(toy_wrong(&toy_measured(&rig, 1)->findings), 0);
		/* deletes that report success, but do nothing */
		toy_create(&rig, text);
		toy_break_run(&rig, TOY_DROP, TOY_DEL, 100, 200);
		toy_run(&rig);
		ck_assert_uint_gt(toy_wrong(&toy_measured(&rig, 0)->findings) +
				toy_wrong(&toy_measured(&rig, 1)->findings),
			0);
	}
}
