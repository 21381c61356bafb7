/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loops in which few operations have their own time stamps: which ones, and that the others are
 * counted, verified and stopped like any operation.
 */
#include "run/worker.h"

#include <stdio.h>
#include <string.h>

#include "run/worker_taken.h"
#include "toy.h"
#include "unit.h"

enum { COUNT = 1000, ITEMS = 4, VALUE = 100 };

#define BASE "records = 500\nitems = 4\nscan-length = 3\ncount = 1000\n"

static struct toy_rig rig;
static struct toy_worker with;

static const char *const modes[] = {"sampled:2", "sampled:7", "sampled:64", "block"};
enum { MODES = sizeof(modes) / sizeof(*modes) };

static struct job_worker *
begin(const char *mode, const char *text)
{
	char all[512];
	snprintf(all, sizeof(all), BASE "%s\nlatency = %s\n", text, mode);
	return toy_one(&rig, &with, all);
}

static uint64_t
count_stamped(uint64_t from, uint64_t until)
{
	uint64_t count = 0;
	for (uint64_t i = from; i < until; i++)
		count += has_stamps(i, with.part->plan.stamp_threshold);
	return count;
}

/* ---- which operations are stamped ---- */

static const uint32_t everies[] = {2, 3, 7, 10, 64, 100, 1000};
enum { EVERIES = sizeof(everies) / sizeof(*everies) };

TEST(one_operation_in_n_is_stamped_in_every_window)
{
	for (int e = 0; e < EVERIES; e++) {
		uint64_t every = everies[e], last = 0, gap_max = 0;
		uint64_t threshold = sample_threshold(1.0 / (double)every);
		uint64_t places[OPS_STRATUM] = {0}, count = 0,
			 total = every * OPS_STRATUM * 100;
		for (uint64_t i = 0; i < total; i++) {
			if (!has_stamps(i, threshold))
				continue;
			gap_max = i - last > gap_max ? i - last : gap_max;
			last = i;
			count++;
			places[i % OPS_STRATUM]++;
		}
		/* the discrepancy of Weyl's sequence is logarithmic */
		ck_assert_uint_ge(count, total / every - 8);
		ck_assert_uint_le(count, total / every + 8);
		/* by the three-gap theorem, gaps are below (1 + golden ratio) N */
		ck_assert_uint_le(gap_max, 2 * (every + every * 4 / 10) + 2);
		for (int place = 0; place < OPS_STRATUM; place++) {
			ck_assert_uint_ge(places[place], 90);
			ck_assert_uint_le(places[place], 110);
		}
	}
}

TEST(no_operation_of_a_small_share_is_both_verified_and_stamped)
{
	uint64_t verified = sample_threshold(0.01), stamped = sample_threshold(1.0 / 64);
	for (uint64_t i = 0; i < 1000000; i++)
		ck_assert(!is_sampled(i, verified) || !has_stamps(i, stamped));
}

TEST(each_kind_of_a_mix_has_its_share_of_stamps)
{
	struct job_worker *worker = toy_one(&rig, &with,
		"records = 500\ncount = 200000\nread = 70\nupdate = 20\ndelete = 0\n"
		"read-modify-write = 10\nlatency = sampled:10\n");
	static const struct {
		uint32_t kind;
		uint64_t share;
	} kinds[] = {{NB_OP_READ, 14000}, {NB_OP_UPDATE, 4000}, {NB_OP_RMW, 2000}};
	toy_go(&with);
	for (int k = 0; k < 3; k++) {
		uint64_t count = nb_histogram_count(worker->counts[kinds[k].kind].service);
		/* five standard deviations, if they were drawn at random */
		ck_assert_uint_ge(count, kinds[k].share * 92 / 100);
		ck_assert_uint_le(count, kinds[k].share * 108 / 100);
	}
}

/* ---- counts ---- */

static const struct {
	const char *mix;
	uint32_t kind;
	uint64_t records, values;
} kinds[] = {
	{"read = 1", NB_OP_READ, 1, 1},
	{"update = 1", NB_OP_UPDATE, 1, 1},
	{"insert = 1", NB_OP_INSERT, 1, 1},
	{"upsert = 1", NB_OP_UPSERT, 1, 1},
	{"delete = 1", NB_OP_DELETE, 0, 0},
	{"scan = 1\ndistribution = hotspot\nhot-share = 0.5\nhot-ops = 1", NB_OP_SCAN, 3, 3},
	{"read-modify-write = 1", NB_OP_RMW, 2, 2},
	{"batch = 1", NB_OP_BATCH, ITEMS, ITEMS},
	{"multi-get = 1", NB_OP_MULTIGET, ITEMS, ITEMS},
	{"txn-read = 1", NB_OP_TXN_READ, ITEMS, ITEMS},
	{"txn-write = 1", NB_OP_TXN_WRITE, ITEMS, ITEMS},
};

static void
check_counts(const struct job_worker *worker, uint32_t kind, uint64_t records, uint64_t values)
{
	const struct job_counts *counts = &worker->counts[kind];
	ck_assert_msg(worker->rc == NB_OK, "%s", worker->text);
	ck_assert_uint_eq(worker->done, COUNT);
	ck_assert_uint_eq(worker->measured, COUNT);
	ck_assert_uint_eq(counts->answers[NB_OK] + counts->answers[NB_NOT_FOUND], COUNT);
	if (kind != NB_OP_SCAN) { /* a scan near the last record returns fewer records */
		ck_assert_uint_eq(counts->records, COUNT * records);
		ck_assert_uint_eq(counts->bytes, COUNT * values * VALUE);
	}
	ck_assert_uint_eq(nb_histogram_count(counts->service), count_stamped(0, COUNT));
	ck_assert_uint_eq(worker->unstamped.ops, COUNT - count_stamped(0, COUNT));
	ck_assert_uint_gt(worker->unstamped.count, COUNT / OPS_STRATUM);
	ck_assert_uint_gt(worker->unstamped.ticks, 0);
	ck_assert_uint_eq(toy_wrong(&worker->findings), 0);
}

TEST(each_kind_is_counted_exactly)
{
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		for (int m = 0; m < MODES; m++) {
			const struct job_worker *worker = begin(modes[m], kinds[k].mix);
			toy_go(&with);
			check_counts(worker, kinds[k].kind, kinds[k].records, kinds[k].values);
		}
	}
}

TEST(loops_are_the_same_with_the_time_stamp_counter)
{
	struct clock tsc;
	if (clock_create(&tsc, NB_CLOCK_TSC) != NB_OK)
		return; /* not available here */
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		char text[256];
		snprintf(text, sizeof(text), BASE "%s\nlatency = sampled:7\n", kinds[k].mix);
		toy_create(&rig, text);
		rig.options.clock = NB_CLOCK_TSC;
		toy_new(&rig);
		toy_load(&rig);
		toy_enter(&rig, &with, &rig.run->parts[0]);
		toy_go(&with);
		const struct job_worker *worker = with.workers[0];
		check_counts(worker, kinds[k].kind, kinds[k].records, kinds[k].values);
		/* its duration is part of the run */
		ck_assert_uint_le(
			worker->unstamped.ticks, worker->last_ticks - worker->first_ticks);
	}
}

TEST(operations_are_the_same_as_with_all_stamps)
{
	static const char mix[] = "read = 5\nupdate = 3\ndelete = 1\ninsert = 1\nseed = 3";
	static const char *const all[] = {
		"each", "sampled:2", "sampled:7", "sampled:64", "block"};
	struct job_counts first[NB_OP_KINDS];
	for (int m = 0; m < 5; m++) {
		struct job_worker *worker = begin(all[m], mix);
		toy_go(&with);
		ck_assert_uint_eq(worker->done, COUNT);
		for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
			const struct job_counts *counts = &worker->counts[kind];
			if (m == 0)
				first[kind] = *counts;
			ck_assert_mem_eq(
				counts->answers, first[kind].answers, sizeof(counts->answers));
			ck_assert_uint_eq(counts->records, first[kind].records);
			ck_assert_uint_eq(counts->bytes, first[kind].bytes);
		}
		ck_assert_uint_gt(first[NB_OP_READ].answers[NB_NOT_FOUND], 0);
	}
}

TEST(conflicts_and_misses_of_unstamped_operations_are_counted)
{
	for (int m = 0; m < MODES; m++) {
		struct job_worker *worker = begin(modes[m], "read = 1");
		with.part->plan.may_miss = true;
		toy_break(TOY_MISS, TOY_GET, 100, 300);
		toy_go(&with);
		const struct job_counts *counts = &worker->counts[NB_OP_READ];
		ck_assert_uint_eq(counts->answers[NB_NOT_FOUND], 300);
		ck_assert_uint_eq(counts->answers[NB_OK], COUNT - 300);
		ck_assert_uint_eq(counts->bytes, (COUNT - 300) * VALUE);
		worker = begin(modes[m], "update = 1");
		toy_break(TOY_CONFLICT, TOY_PUT, 100, 300);
		toy_go(&with);
		counts = &worker->counts[NB_OP_UPDATE];
		ck_assert_uint_eq(counts->answers[NB_CONFLICT], 300);
		ck_assert_uint_eq(counts->answers[NB_OK], COUNT);
		ck_assert_uint_eq(counts->bytes, COUNT * VALUE);
	}
}

TEST(warm_up_by_count_is_excluded_exactly)
{
	static const uint64_t warm[] = {1, 63, 64, 65, 130, 999};
	for (int m = 0; m < MODES; m++) {
		for (size_t w = 0; w < sizeof(warm) / sizeof(*warm); w++) {
			char text[64];
			snprintf(text, sizeof(text), "update = 1\nwarmup = %d", (int)warm[w]);
			struct job_worker *worker = begin(modes[m], text);
			toy_go(&with);
			uint64_t stamped = count_stamped(warm[w], COUNT);
			const struct job_counts *counts = &worker->counts[NB_OP_UPDATE];
			ck_assert_uint_eq(worker->measured, COUNT - warm[w]);
			ck_assert_uint_eq(counts->answers[NB_OK], COUNT - warm[w]);
			ck_assert_uint_eq(nb_histogram_count(counts->service), stamped);
			ck_assert_uint_eq(worker->unstamped.ops, COUNT - warm[w] - stamped);
		}
	}
}

TEST(warm_up_by_time_excludes_stretches_that_began_in_it)
{
	struct job_worker *worker = begin("block", "read = 1");
	with.part->plan.warm_ticks = clock_ticks(with.part->plan.clock, UINT64_C(1) << 60);
	toy_go(&with);
	ck_assert_uint_eq(worker->done, COUNT);
	ck_assert_uint_eq(worker->measured, 0);
	ck_assert_uint_eq(worker->unstamped.ops, 0);
	ck_assert_uint_eq(worker->unstamped.count, 0);
}

/* ---- verification ---- */

TEST(unstamped_operations_are_verified)
{
	for (int m = 0; m < MODES; m++) {
		struct job_worker *worker = begin(modes[m], "read = 1");
		toy_break(TOY_FLIP, TOY_GET, 500, 20);
		toy_go(&with);
		ck_assert_uint_eq(worker->findings.verified, COUNT);
		ck_assert_uint_eq(toy_wrong(&worker->findings), 20);
	}
}

TEST(writes_of_unstamped_operations_are_remembered)
{
	struct job_worker *worker = begin("block", "update = 1");
	toy_break(TOY_DROP, TOY_PUT, 900, 0);
	toy_go(&with);
	toy_break(TOY_RIGHT, TOY_PUT, 0, 0);
	ck_assert_int_eq(job_worker_read_back(worker), NB_OK);
	ck_assert_uint_gt(worker->findings.verdicts[JOB_STALE], 0);
}

/* ---- stopping ---- */

static uint64_t told;

static int
get_watched(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	ck_assert_uint_eq(__atomic_load_n(&with.workers[0]->done, __ATOMIC_RELAXED), told++);
	*value = key;
	return NB_OK;
}

TEST(progress_is_published_before_the_next_unstamped_operation)
{
	for (int m = 0; m < MODES; m++) {
		begin(modes[m], "read = 1");
		with.part->plan.verify_threshold = 0;
		rig.run->engine->table.get = get_watched;
		told = 0;
		toy_go(&with);
		ck_assert_uint_eq(told, COUNT);
	}
}

static int
put_halting(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	if (toy_calls(TOY_PUT) == 99)
		__atomic_store_n(&with.halt, 1, __ATOMIC_RELAXED);
	return toy_engine().put(session, key, value);
}

TEST(halt_stops_after_the_current_unstamped_operation)
{
	for (int m = 0; m < MODES; m++) {
		struct job_worker *worker = begin(modes[m], "update = 1");
		rig.run->engine->table.put = put_halting;
		toy_go(&with);
		ck_assert_int_eq(worker->rc, NB_OK);
		ck_assert_uint_eq(worker->done, 100);
		ck_assert_uint_eq(worker->measured, 100);
		ck_assert_uint_eq(worker->unstamped.ops, 100 - count_stamped(0, 100));
		with.halt = 0;
	}
}

TEST(failure_stops_at_once_and_earlier_operations_count)
{
	for (int m = 0; m < MODES; m++) {
		struct job_worker *worker = begin(modes[m], "update = 1");
		toy_break(TOY_FAIL, TOY_PUT, 101, 1);
		toy_go(&with);
		ck_assert_int_lt(worker->rc, NB_OK);
		ck_assert_ptr_nonnull(strstr(worker->text, "operation 100"));
		ck_assert_uint_eq(toy_calls(TOY_PUT), 101);
		ck_assert_uint_eq(worker->measured, 100);
		ck_assert_uint_eq(worker->unstamped.ops, 100 - count_stamped(0, 100));
	}
}

TEST(stretches_of_slow_operations_become_short)
{
	struct job_worker *worker = begin("block", "read = 1");
	with.part->plan.tell_ticks = clock_ticks(with.part->plan.clock, 1000000);
	with.part->plan.count = 4 * OPS_STRATUM;
	toy_break(TOY_SLOW, TOY_GET, 1, 0);
	toy.sleep_ns = 1000000;
	toy_go(&with);
	/* the first block has one operation; then come 32 and 32, four of 16, eight of 8 */
	ck_assert_uint_eq(worker->done, 4 * OPS_STRATUM);
	ck_assert_uint_ge(worker->unstamped.count, 1 + 2 + 4 + 8);
	ck_assert_uint_eq(worker->unstamped.ops, 4 * OPS_STRATUM);
}

static int
get_taken_over(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	if (told++ == 30)
		job_worker_take_over(with.workers[0]);
	return toy_engine().get(session, key, value);
}

TEST(finished_operations_count_if_the_next_never_returns)
{
	static const char *const mixes[] = {"read = 1", "read = 1\nwarmup = 2"};
	for (uint64_t x = 0; x < 2; x++) {
		struct job_worker *worker = begin("block", mixes[x]);
		rig.run->engine->table.get = get_taken_over;
		told = 0;
		toy_go(&with);
		uint64_t left = x == 0 ? 30 : 28;
		ck_assert_uint_eq(worker->measured, left);
		ck_assert_uint_eq(worker->counts[NB_OP_READ].answers[NB_OK], left);
		ck_assert_uint_eq(worker->counts[NB_OP_READ].bytes, left * VALUE);
	}
}

/* ---- a whole run ---- */

TEST(threads_and_their_sum_have_all_operations)
{
	for (int m = 0; m < MODES; m++) {
		char text[256];
		snprintf(text, sizeof(text),
			"records = 500\ncount = 20000\nread = 3\nupdate = 1\nthreads = 4\n"
			"latency = %s\n",
			modes[m]);
		toy_create(&rig, text);
		ck_assert_int_eq(toy_run(&rig), NB_OK);
		const struct job_measurement *measured = toy_measured(&rig, 0);
		uint64_t sum = 0;
		for (uint32_t t = 0; t < 4; t++)
			sum += measured->threads[t].ops;
		ck_assert_uint_eq(measured->ops, 20000);
		ck_assert_uint_eq(sum, 20000);
		ck_assert_uint_eq(measured->kinds[NB_OP_READ].ops, 15000);
		ck_assert_uint_eq(measured->kinds[NB_OP_UPDATE].ops, 5000);
		ck_assert_ptr_nonnull(measured->kinds[NB_OP_READ].service); /* even if empty */
	}
}
