/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The times of a job's worker, alone on this thread: latencies, warm-up, limits and rates.
 */
#include "run/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "run/worker_taken.h"
#include "toy.h"
#include "unit.h"

enum { COUNT = 200, VALUE = 100 };

static struct toy_rig rig;
static struct toy_worker with;

static struct job_worker *
begin(const char *text)
{
	char all[512];
	const char *count = strstr(text, "count = ") != NULL ? "" : "count = 200";
	snprintf(all, sizeof(all), "records = 500\n%s\n%s\n", count, text);
	return toy_one(&rig, &with, all);
}

/* ---- the timed part of an operation ---- */

static void
spin(uint64_t ns)
{
	uint64_t begin_ns = clock_monotonic();
	while (clock_monotonic() - begin_ns < ns)
		continue;
}

enum { SPIN_NS = 200 * 1000 };

static int
get_slow(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	spin(SPIN_NS);
	return toy_engine().get(session, key, value);
}

static void
release_slow(struct nb_session *session)
{
	spin(SPIN_NS);
}

TEST(time_includes_the_call_and_the_release)
{
	struct job_worker *worker = begin("read = 1\ncount = 20");
	rig.run->engine->table.get = get_slow;
	rig.run->engine->table.release = release_slow;
	toy_go(&with);
	const struct nb_histogram *service = worker->counts[NB_OP_READ].service;
	ck_assert_uint_eq(nb_histogram_count(service), 20);
	ck_assert_uint_ge(nb_histogram_min(service), 2 * SPIN_NS);
	/* the window contains all operations */
	ck_assert_uint_ge(
		clock_ns(with.part->plan.clock, worker->last_ticks - worker->first_ticks),
		nb_histogram_sum(service));
}

enum { LENT_BYTES = 4 << 20 };

static char *lent; /* fresh memory that nothing has touched */
static uint64_t got_ns, shortest_ns;

static int
get_large(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	got_ns = clock_monotonic();
	*value = (struct nb_slice){lent, LENT_BYTES};
	return NB_OK;
}

static void
release_large(struct nb_session *session)
{
	uint64_t held_ns = clock_monotonic() - got_ns;
	shortest_ns = held_ns < shortest_ns ? held_ns : shortest_ns;
}

/**
 * Reads of a large value, all verified or none. With a warm-up, they use the loop of mixed
 * operations, otherwise the loop of reads.
 */
static struct job_worker *
read_large(uint64_t verify_threshold, uint64_t warmup_count)
{
	struct job_worker *worker = toy_one(&rig, &with,
		"records = 20\nread = 1\ncount = 20\nvalue-size = uniform:100..4194304\n");
	with.part->plan.verify_threshold = verify_threshold;
	with.part->plan.warmup_count = warmup_count;
	rig.run->engine->table.get = get_large;
	rig.run->engine->table.release = release_large;
	lent = mmap(NULL, LENT_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(lent, MAP_FAILED);
	ck_assert_int_eq(madvise(lent, LENT_BYTES, MADV_NOHUGEPAGE), 0);
	shortest_ns = UINT64_MAX;
	toy_go(&with);
	ck_assert_uint_eq(
		nb_histogram_count(worker->counts[NB_OP_READ].service), 20 - warmup_count);
	return worker;
}

TEST(every_page_that_is_lent_is_read)
{
	read_large(0, 0);
	size_t pages = LENT_BYTES / (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *is_there = calloc(pages, 1);
	ck_assert_int_eq(mincore(lent, LENT_BYTES, is_there), 0);
	for (size_t i = 0; i < pages; i++)
		ck_assert_int_eq(is_there[i] & 1, 1);
	free(is_there);
	munmap(lent, LENT_BYTES);
}

TEST(clock_stands_still_while_a_value_is_verified)
{
	for (uint64_t warmup_count = 0; warmup_count < 2; warmup_count++) {
		struct job_worker *worker = read_large(UINT64_MAX, warmup_count);
		const struct nb_histogram *service = worker->counts[NB_OP_READ].service;
		/*
		 * The worker verifies a value before it releases it. So a latency that included
		 * verification would be at least the shortest time between get and release.
		 */
		ck_assert_uint_eq(worker->findings.verified, 20);
		ck_assert_uint_lt(nb_histogram_min(service), shortest_ns);
		munmap(lent, LENT_BYTES);
	}
}

/* ---- counted operations ---- */

TEST(only_the_warm_up_by_count_is_excluded)
{
	static const uint64_t counts[] = {1, 63, 64, 65, 130, 199};
	for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
		char text[64];
		snprintf(text, sizeof(text), "update = 1\nwarmup = %d", (int)counts[c]);
		struct job_worker *worker = begin(text);
		/* conflicts in both parts; those of the warm-up do not count */
		toy_break(TOY_CONFLICT, TOY_PUT, 1, 3);
		toy_go(&with);
		uint64_t left = COUNT - counts[c];
		ck_assert_uint_eq(worker->done, COUNT);
		ck_assert_uint_eq(worker->measured, left);
		ck_assert_uint_eq(worker->counts[NB_OP_UPDATE].answers[NB_OK], left);
		ck_assert_uint_eq(worker->counts[NB_OP_UPDATE].answers[NB_CONFLICT], 0);
		ck_assert_uint_eq(worker->counts[NB_OP_UPDATE].bytes, left * VALUE);
		ck_assert_uint_eq(worker->counts[NB_OP_UPDATE].records, left);
		ck_assert_uint_eq(
			nb_histogram_count(worker->counts[NB_OP_UPDATE].service), left);
	}
}

static uint64_t stamps[COUNT + 1], stamp_count;

static int
get_stamped(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	struct timespec moment = {.tv_nsec = 200000};
	nanosleep(&moment, NULL);
	stamps[stamp_count++] = clock_monotonic();
	*value = key;
	return NB_OK;
}

TEST(warm_up_by_time_excludes_operations_that_began_in_it)
{
	enum { WARM_NS = 10 * 1000 * 1000 };
	struct job_worker *worker = begin("read = 1");
	with.part->plan.verify_threshold = 0;
	with.part->plan.warm_ticks = clock_ticks(with.part->plan.clock, WARM_NS);
	rig.run->engine->table.get = get_stamped;
	stamp_count = 0;
	uint64_t warm = with.gate.begin + WARM_NS; /* ticks of this clock are ns */
	toy_go(&with);
	ck_assert_uint_eq(worker->done, COUNT);
	/* An operation begins before its own stamp and after the previous one. */
	uint64_t least = 0, most = 0;
	for (uint64_t i = 0; i < stamp_count; i++) {
		most += stamps[i] >= warm;
		least += i > 0 && stamps[i - 1] >= warm;
	}
	ck_assert_uint_ge(worker->measured, least);
	ck_assert_uint_le(worker->measured, most);
	ck_assert_uint_gt(most, 0);
	ck_assert_uint_ge(worker->first_ticks, worker->measured > 0 ? warm : 0);
	worker = begin("read = 1");
	with.part->plan.warm_ticks = clock_ticks(with.part->plan.clock, UINT64_C(1) << 60);
	toy_go(&with);
	ck_assert_uint_eq(worker->done, COUNT);
	ck_assert_uint_eq(worker->measured, 0);
	ck_assert_uint_eq(nb_histogram_count(worker->counts[NB_OP_READ].service), 0);
}

TEST(time_limit_ends_the_run_after_the_current_operation)
{
	begin("read = 1\nduration = 1ms\ncount = 0");
	ck_assert_uint_eq(with.part->plan.count, UINT64_MAX);
	toy_break(TOY_SLOW, TOY_GET, 5, 1);
	toy.sleep_ns = 2000000;
	toy_go(&with);
	ck_assert_int_eq(with.workers[0]->rc, NB_OK);
	ck_assert_uint_le(with.workers[0]->done, 5); /* fewer if the machine is slow */
	ck_assert_uint_eq(with.workers[0]->done, toy_calls(TOY_GET));
	ck_assert_uint_gt(with.workers[0]->done, 0);
}

/* ---- a rate ---- */

TEST(response_times_are_never_less_than_service_times)
{
	static const char *const arrivals[] = {"fixed", "poisson"};
	for (int a = 0; a < 2; a++) {
		char text[96];
		snprintf(text, sizeof(text), "read = 1\nupdate = 1\nrate = 100k\narrivals = %s",
			arrivals[a]);
		struct job_worker *worker = begin(text);
		toy_go(&with);
		ck_assert_uint_eq(worker->done, COUNT);
		for (uint32_t kind = NB_OP_READ; kind <= NB_OP_UPDATE; kind++) {
			const struct job_counts *counts = &worker->counts[kind];
			uint64_t count = nb_histogram_count(counts->service);
			ck_assert_uint_ge(count, COUNT / 2 - 1); /* of a truncated stratum */
			ck_assert_uint_eq(nb_histogram_count(counts->response), count);
			ck_assert_uint_ge(nb_histogram_sum(counts->response),
				nb_histogram_sum(counts->service));
			ck_assert_uint_ge(nb_histogram_min(counts->response),
				nb_histogram_min(counts->service));
			ck_assert_uint_ge(nb_histogram_max(counts->response),
				nb_histogram_max(counts->service));
		}
	}
}

TEST(an_engine_slower_than_the_rate_has_a_queue)
{
	enum { SLEEP_NS = 1000000, LEFT = COUNT - 1 };
	struct job_worker *worker = begin("read = 1\nrate = 1M");
	toy_break(TOY_SLOW, TOY_GET, 1, 0);
	toy.sleep_ns = SLEEP_NS;
	toy_go(&with);
	/*
	 * the last operation was due at most 200 us after the begin, and began after 199 sleeps
	 */
	ck_assert_uint_ge(worker->lag_ns, (uint64_t)LEFT * SLEEP_NS - 200 * 1000);
	ck_assert_uint_ge(worker->lag_max_ns, worker->lag_ns);
	const struct job_counts *counts = &worker->counts[NB_OP_READ];
	ck_assert_uint_ge(
		nb_histogram_max(counts->response), (uint64_t)COUNT * SLEEP_NS - 200 * 1000);
	ck_assert_uint_ge(
		nb_histogram_sum(counts->response), (uint64_t)SLEEP_NS * COUNT * LEFT / 2);
}

TEST(measured_time_begins_after_a_delayed_warm_up)
{
	enum { SLEEP_NS = 1000000, WARM = 150 };
	struct job_worker *worker = begin("read = 1\nrate = 1M\nwarmup = 150");
	toy_break(TOY_SLOW, TOY_GET, 1, 0);
	toy.sleep_ns = SLEEP_NS;
	toy_go(&with);
	ck_assert_uint_eq(worker->measured, COUNT - WARM);
	/* due within the first ms, but begun after 150 sleeps */
	ck_assert_uint_ge(worker->first_ticks, with.gate.begin + (uint64_t)WARM * SLEEP_NS);
}

TEST(time_with_a_rate_begins_when_the_first_operation_was_due)
{
	struct job_worker *worker = begin("read = 1\nrate = 1M\ncount = 64"); /* one block */
	toy_go(&with);
	ck_assert_uint_eq(worker->done, 64);
	ck_assert_uint_eq(worker->first_ticks, worker->taken->due[0]);
}

TEST(time_limit_beyond_the_clock_is_no_limit)
{
	begin("read = 1");
	with.part->plan.end_ticks = UINT64_MAX - 1;
	toy_go(&with);
	ck_assert_uint_eq(with.workers[0]->done, COUNT);
}

TEST(operations_due_after_the_end_do_not_begin)
{
	/* due at 0, 10, 20, ... ms or a period later: at most 3 within 25 ms */
	begin("read = 1\nrate = 100\nduration = 25ms\ncount = 0");
	toy_go(&with);
	ck_assert_uint_le(with.workers[0]->done, 3);
	ck_assert_uint_eq(with.workers[0]->done, toy_calls(TOY_GET));
}
