/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Python's fractions and 60-digit decimals gave the moments of fixed arrivals. The critical
 * values of the dispersion of counts come from SciPy: chi2.ppf and isf(5e-5, 999). Seeds are
 * fixed, so a test always passes or always fails.
 */
#include "run/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "laws.h"
#include "unit.h"

#define S UINT64_C(1000000000)
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const double chi2_999_low = 834.4362967051167, chi2_999_high = 1182.4049566419424;

/** The schedule of a text, which must be valid. The next call overwrites it. */
static struct schedule
schedule_of(const char *text, uint32_t arrivals)
{
	static struct schedule schedule;
	struct nb_group group = {.name = "readers", .arrivals = arrivals};
	schedule_destroy(&schedule);
	ck_assert_msg(nb_rate_parse(&group.rate, &group.rate_count, text) == NB_OK, "%s",
		nb_error_text());
	ck_assert_msg(schedule_create(&schedule, &group) == NB_OK, "%s", nb_error_text());
	free(group.rate);
	return schedule;
}

/** Memory for due times. The second later call overwrites it. */
static uint64_t *
room_for(size_t count)
{
	static uint64_t *rooms[2];
	static unsigned next;
	uint64_t **room = &rooms[next++ % 2];
	*room = realloc(*room, count * sizeof(**room));
	ck_assert_ptr_nonnull(*room);
	return *room;
}

/** The first `count` due times of a single thread. */
static uint64_t *
dues_of(const struct schedule *schedule, uint32_t count, uint64_t seed)
{
	uint64_t *dues = room_for(count);
	struct arrivals arrivals;
	arrivals_create(&arrivals, schedule, 0, 1, seed);
	arrivals_next(&arrivals, dues, count);
	return dues;
}

TEST(offered_rate_matches_the_text)
{
	static const struct {
		const char *text;
		uint64_t at_ns;
		double offered;
	} cases[] = {
		{"200k", 0, 0},
		{"200k", S * 7 / 2, 700000},
		{"200k", 3600 * S, 720000000},
		{"10k/30s,20k/30s", 30 * S - 1, 299999.99999},
		{"10k/30s,20k/30s", 30 * S, 300000},
		{"10k/30s,20k/30s", 45 * S, 600000},
		{"10k/30s,20k/30s", 100 * S, 1700000},
		{"10k..50k/60s", 0, 0},
		{"10k..50k/60s", 15 * S, 225000},
		{"10k..50k/60s", 60 * S, 1800000},
		{"10k..50k/60s", 61 * S, 1850000},
		{"1k..0/10s", 5 * S, 3750},
		{"1k..0/10s", 10 * S, 5000},
		{"1k..0/10s", 1000 * S, 5000},
		{"0/5s,0..1/2s,0/3s,0.5", 4 * S, 0},
		{"0/5s,0..1/2s,0/3s,0.5", 6 * S, 0.25},
		{"0/5s,0..1/2s,0/3s,0.5", 9 * S, 1},
		{"0/5s,0..1/2s,0/3s,0.5", 14 * S, 3},
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct schedule schedule = schedule_of(cases[i].text, NB_ARRIVAL_FIXED);
		double offered = schedule_offered(&schedule, cases[i].at_ns);
		ck_assert_msg(fabs(offered - cases[i].offered) <= 1e-12 * cases[i].offered,
			"%s: %.17g are due", cases[i].text, offered);
	}
}

TEST(the_first_fixed_operation_is_due_at_once)
{
	struct schedule schedule = schedule_of("1k", NB_ARRIVAL_FIXED);
	for (uint32_t thread = 0; thread < 5; thread++) {
		struct arrivals arrivals;
		uint64_t dues[3];
		arrivals_create(&arrivals, &schedule, thread, 5, 1);
		arrivals_next(&arrivals, dues, 3);
		ck_assert_uint_eq(dues[0], thread * UINT64_C(1000000));
		ck_assert_uint_eq(dues[1], (thread + 5) * UINT64_C(1000000));
		ck_assert_uint_eq(dues[2], (thread + 10) * UINT64_C(1000000));
	}
}

TEST(no_operation_is_due_in_a_pause)
{
	static const uint64_t expected[] = {5 * S, 6 * S, 7 * S, 20 * S, 22 * S, 24 * S};
	/* 0.1/s for 30 s are 3 operations, although the double 0.1 is slightly more */
	static const uint64_t tenths[] = {0, 10 * S, 20 * S, 40 * S, 50 * S};
	struct schedule schedule = schedule_of("0/5s,1/3s,0/12s,0.5", NB_ARRIVAL_FIXED);
	uint64_t *dues = dues_of(&schedule, COUNT_OF(expected), 1);
	ck_assert_mem_eq(dues, expected, sizeof(expected));
	schedule = schedule_of("0.1/30s,0/10s,0.1", NB_ARRIVAL_FIXED);
	dues = dues_of(&schedule, COUNT_OF(tenths), 1);
	ck_assert_mem_eq(dues, tenths, sizeof(tenths));
}

TEST(no_operation_is_due_after_the_rate_ends_at_0)
{
	static const uint32_t kinds[] = {NB_ARRIVAL_FIXED, NB_ARRIVAL_POISSON};
	for (size_t k = 0; k < COUNT_OF(kinds); k++) {
		struct schedule schedule = schedule_of("1k..0/10s,0", kinds[k]);
		uint64_t *dues = dues_of(&schedule, 10000, 3);
		uint32_t due = 0;
		while (dues[due] <= 10 * S)
			due++;
		for (uint32_t i = due; i < 10000; i++)
			ck_assert_uint_eq(dues[i], UINT64_MAX);
		if (kinds[k] == NB_ARRIVAL_FIXED) {
			ck_assert_uint_eq(due, 5000);
			ck_assert_uint_eq(dues[4999], UINT64_C(9858578644));
		} else { /* 5000, within 4 standard deviations */
			ck_assert_uint_ge(due, 5000 - 283);
			ck_assert_uint_le(due, 5000 + 283);
		}
	}
}

/** The due time of fixed operation n, computed by one of many threads. */
static uint64_t
due_of(const struct schedule *schedule, uint64_t n, uint32_t threads)
{
	struct arrivals arrivals;
	uint64_t due_ns;
	arrivals_create(&arrivals, schedule, (uint32_t)(n % threads), threads, 1);
	arrivals.next = n / threads;
	arrivals_next(&arrivals, &due_ns, 1);
	return due_ns;
}

TEST(fixed_due_times_do_not_drift_in_30_days)
{
	static const struct {
		const char *text;
		uint64_t n, due_ns;
	} cases[] = {
		{"3858.025", 10000000000, 2591999792640017},
		{"3858.025", 9999999999, 2591999792380817},
		{"1k", 2591999999, 2591999999000000},
		{"1M", 2592000000000, 2592000000000000},
		{"0.3", 777600, 2592000000000000},
		{"7", 18144000, 2592000000000000},
		{"1000..6716/720h", 1, 1000000},
		{"1000..6716/720h", 123456789, 110092578333314},
		{"1000..6716/720h", 9999935999, 2591999999851102},
		{"6716..1000/720h", 1, 148898},
		{"6716..1000/720h", 9999935999, 2591999999000001},
		{"7716..0/720h", 9999935999, 2591974079917056},
		{"0..7716/720h", 1, 25920082944},
		{"0..7716/720h", 9999935999, 2591999999870399},
		{"1000..1001/720h", 2592000000, 2590705294382265},
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct schedule schedule = schedule_of(cases[i].text, NB_ARRIVAL_FIXED);
		static const uint32_t threads[] = {1, 2, 7, 1000};
		for (size_t t = 0; t < COUNT_OF(threads); t++) {
			uint64_t due = due_of(&schedule, cases[i].n, threads[t]);
			int64_t off = (int64_t)(due - cases[i].due_ns);
			ck_assert_msg(off >= -1 && off <= 1, "%s: operation %ju is %jd ns off",
				cases[i].text, (uintmax_t)cases[i].n, (intmax_t)off);
		}
	}
}

static const char *const shapes[] = {"200k", "0.5", "1G", "10k/30ms,20k/30ms,5k",
	"10k..50k/60ms,50k..0/60ms,0/1s,100k", "0..1M/100ms,1M..1/100ms,7k",
	"1/1ns,2/1ns,1M/1ms,3", "0/1s,1G..0.001/1ms,0/1h,0..1G/10ms,0", "0.0001/1us,1e-9",
	"333.3..333.4/1h"};

TEST(as_many_are_due_as_are_offered)
{
	enum { COUNT = 20000 };
	for (size_t i = 0; i < COUNT_OF(shapes); i++) {
		struct schedule schedule = schedule_of(shapes[i], NB_ARRIVAL_FIXED);
		uint64_t *dues = dues_of(&schedule, COUNT, 1);
		for (uint32_t n = 0; n < COUNT && dues[n] != UINT64_MAX; n++) {
			/*
			 * a due time is a whole number of ns, so half a ns of the rate remains
			 */
			double offered = schedule_offered(&schedule, dues[n]);
			double step = (schedule_offered(&schedule, dues[n] + 1) - offered) *
					0.51 +
				2e-6;
			ck_assert_msg(fabs(offered - n) <= step,
				"%s: when %u is due there are %.17g", shapes[i], n, offered);
		}
	}
}

TEST(windows_hold_their_share)
{
	enum { COUNT = 100000 };
	struct schedule schedule = schedule_of(
		"10k/3s,20k/2s,0/1s,5k..15k/2s,15k..0/1s,0/1s,1k", NB_ARRIVAL_FIXED);
	/* operations that begin in each half second, computed by hand from the rates */
	static const double share[] = {5000, 5000, 5000, 5000, 5000, 5000, 10000, 10000, 10000,
		10000, 0, 0, 3125, 4375, 5625, 6875, 5625, 1875, 0, 0, 500, 500};
	uint64_t *dues = dues_of(&schedule, COUNT, 1);
	double seen[COUNT_OF(share)] = {0};
	for (uint32_t n = 0; n < COUNT && dues[n] < COUNT_OF(share) * (S / 2); n++)
		seen[dues[n] / (S / 2)]++;
	for (size_t w = 0; w < COUNT_OF(share); w++)
		ck_assert_msg(fabs(seen[w] - share[w]) <= 1, "window %zu: %g, not %g", w,
			seen[w], share[w]);
}

TEST(due_times_never_decrease)
{
	enum { COUNT = 50000 };
	static const uint32_t kinds[] = {NB_ARRIVAL_FIXED, NB_ARRIVAL_POISSON};
	for (size_t i = 0; i < COUNT_OF(shapes) * COUNT_OF(kinds); i++) {
		struct schedule schedule = schedule_of(
			shapes[i / COUNT_OF(kinds)], kinds[i % COUNT_OF(kinds)]);
		uint64_t *dues = dues_of(&schedule, COUNT, i);
		for (uint32_t n = 1; n < COUNT; n++)
			ck_assert_uint_ge(dues[n], dues[n - 1]);
	}
}

TEST(rounding_keeps_due_times_ascending)
{
	enum { COUNT = 1000000 };
	/* after a month, a double of ns has steps of half a ns, as do the arrivals */
	static const char *const ramps[] = {"0..1G/720h", "1G..0/720h"};
	static uint64_t dues[COUNT];
	for (size_t i = 0; i < COUNT_OF(ramps); i++) {
		struct schedule schedule = schedule_of(ramps[i], NB_ARRIVAL_POISSON);
		struct arrivals arrivals;
		uint64_t decreases = 0;
		arrivals_create(&arrivals, &schedule, 0, 1, 1);
		arrivals.whole = 907200000000000; /* of 1296 * 10^12 in all */
		arrivals_next(&arrivals, dues, COUNT);
		for (uint32_t n = 1; n < COUNT; n++)
			decreases += dues[n] < dues[n - 1];
		ck_assert_uint_eq(decreases, 0);
	}
}

TEST(due_times_are_the_same_in_any_portions)
{
	enum { COUNT = 5000 };
	static const uint32_t kinds[] = {NB_ARRIVAL_FIXED, NB_ARRIVAL_POISSON};
	for (size_t i = 0; i < COUNT_OF(shapes) * COUNT_OF(kinds); i++) {
		struct schedule schedule = schedule_of(
			shapes[i / COUNT_OF(kinds)], kinds[i % COUNT_OF(kinds)]);
		uint64_t *all = dues_of(&schedule, COUNT, 9), part[64];
		struct arrivals arrivals;
		arrivals_create(&arrivals, &schedule, 0, 1, 9);
		for (uint32_t at = 0, size = 1; at + size <= COUNT; at += size) {
			size = 1 + at % 64;
			if (at + size > COUNT)
				break;
			arrivals_next(&arrivals, part, size);
			ck_assert_mem_eq(part, all + at, size * sizeof(*part));
			ck_assert_uint_eq(arrivals.next, at + size);
		}
	}
}

static int
compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/** The due times of all threads together, in order. */
static uint64_t *
merged_dues(const struct schedule *schedule, uint32_t threads, uint32_t each, uint64_t seed)
{
	uint64_t *dues = room_for((size_t)threads * each);
	for (uint32_t thread = 0; thread < threads; thread++) {
		struct arrivals arrivals;
		arrivals_create(&arrivals, schedule, thread, threads, seed);
		arrivals_next(&arrivals, dues + (size_t)thread * each, each);
	}
	qsort(dues, (size_t)threads * each, sizeof(*dues), compare_u64);
	return dues;
}

TEST(threads_together_equal_one_thread_at_fixed_rates)
{
	enum { THREADS = 7, EACH = 3000 };
	for (size_t i = 0; i < COUNT_OF(shapes); i++) {
		struct schedule schedule = schedule_of(shapes[i], NB_ARRIVAL_FIXED);
		uint64_t *together = merged_dues(&schedule, THREADS, EACH, 1);
		uint64_t *alone = dues_of(&schedule, THREADS * EACH, 1);
		ck_assert_mem_eq(together, alone, THREADS * EACH * sizeof(*alone));
	}
}

/** The number of operations of a thread that takes turns of 64 until `count` are done. */
static uint32_t
turns_of(uint32_t thread, uint32_t threads, uint32_t count)
{
	uint32_t own = 0;
	for (uint32_t i = 0; i < count; i++)
		own += i / 64 % threads == thread;
	return own;
}

static uint64_t *
dues_in_turns(const struct schedule *schedule, uint32_t threads, uint32_t count)
{
	uint64_t *dues = room_for(count);
	uint32_t used = 0;
	for (uint32_t t = 0; t < threads; t++) {
		struct arrivals arrivals;
		uint32_t own = turns_of(t, threads, count);
		arrivals_create(&arrivals, schedule, t, threads, 1);
		arrivals_take_turns(&arrivals, count, 64);
		arrivals_next(&arrivals, dues + used, own / 2);
		arrivals_next(&arrivals, dues + used + own / 2, own - own / 2);
		for (uint32_t i = 1; i < own; i++)
			ck_assert_uint_le(dues[used + i - 1], dues[used + i]);
		used += own;
	}
	ck_assert_uint_eq(used, count);
	qsort(dues, count, sizeof(*dues), compare_u64);
	return dues;
}

TEST(threads_that_take_turns_keep_the_rate_to_the_end)
{
	static const uint32_t counts[] = {1, 63, 64, 65, 100, 448, 449, 512, 1000, 3001};
	struct schedule schedule = schedule_of("1k", NB_ARRIVAL_FIXED);
	for (size_t c = 0; c < COUNT_OF(counts); c++) {
		uint64_t *together = dues_in_turns(&schedule, 7, counts[c]);
		uint64_t *alone = dues_of(&schedule, counts[c], 1);
		ck_assert_mem_eq(together, alone, counts[c] * sizeof(*alone));
	}
	/*
	 * random arrivals: 640 operations are 64 for each of 10 of 100 threads; each thread
	 * takes 640 ms with a standard deviation of 80
	 */
	schedule = schedule_of("1k", NB_ARRIVAL_POISSON);
	uint64_t *random = dues_in_turns(&schedule, 100, 640);
	ck_assert_uint_gt(random[639], 640000000 - 200000000);
	ck_assert_uint_lt(random[639], 640000000 + 400000000);
}

/**
 * law_distance() of the offered operations between consecutive arrivals, as a share of `mean`,
 * from 1 - exp(-x).
 */
static double
distance_of_gaps(
	const struct schedule *schedule, const uint64_t *dues, size_t count, double mean)
{
	double *below = malloc(count * sizeof(*below)), before = 0;
	ck_assert_ptr_nonnull(below);
	for (size_t i = 0; i < count; i++) {
		double offered = schedule_offered(schedule, dues[i]);
		below[i] = -expm1(-(offered - before) / mean);
		before = offered;
	}
	double distance = law_distance(below, count);
	free(below);
	return distance;
}

static const char *const poisson_shapes[] = {
	"20k", "0.01", "1k/3s,5k/4s,0/1h,2k", "100..10k/10s,10k..1/10s,1k", "0..2k/60s,0/1s,1"};

TEST(gaps_of_poisson_arrivals_are_exponential)
{
	enum { COUNT = 50000 };
	for (size_t i = 0; i < COUNT_OF(poisson_shapes); i++) {
		struct schedule schedule = schedule_of(poisson_shapes[i], NB_ARRIVAL_POISSON);
		for (uint64_t seed = 0; seed < 5; seed++) {
			uint64_t *dues = dues_of(&schedule, COUNT, seed);
			double distance = distance_of_gaps(&schedule, dues, COUNT, 1);
			ck_assert_msg(distance < 1, "%s, seed %ju: %g", poisson_shapes[i],
				(uintmax_t)seed, distance);
		}
	}
}

TEST(each_of_many_poisson_threads_has_its_share)
{
	enum { COUNT = 20000, THREADS = 16 };
	struct schedule schedule = schedule_of("1k/3s,5k/4s,0/1h,2k", NB_ARRIVAL_POISSON);
	for (uint32_t thread = 0; thread < THREADS; thread++) {
		uint64_t *dues = room_for(COUNT);
		struct arrivals arrivals;
		arrivals_create(&arrivals, &schedule, thread, THREADS, 5);
		arrivals_next(&arrivals, dues, COUNT);
		ck_assert_double_lt(distance_of_gaps(&schedule, dues, COUNT, THREADS), 1);
	}
}

TEST(poisson_threads_together_keep_the_law)
{
	enum { THREADS = 7, EACH = 10000 };
	for (size_t i = 0; i < COUNT_OF(poisson_shapes); i++) {
		struct schedule schedule = schedule_of(poisson_shapes[i], NB_ARRIVAL_POISSON);
		uint64_t *dues = merged_dues(&schedule, THREADS, EACH, 11);
		/* near the end, some threads have no operations left */
		size_t whole = (size_t)THREADS * EACH * 9 / 10;
		double distance = distance_of_gaps(&schedule, dues, whole, 1);
		ck_assert_msg(distance < 1, "%s: %g", poisson_shapes[i], distance);
	}
}

TEST(counts_of_poisson_arrivals_are_dispersed_as_they_should_be)
{
	enum { WINDOWS = 1000, MEAN = 100 };
	struct schedule schedule = schedule_of("1k", NB_ARRIVAL_POISSON);
	for (uint32_t threads = 1; threads <= 4; threads++) {
		uint32_t each = (WINDOWS + 50) * MEAN / threads;
		uint64_t *dues = merged_dues(&schedule, threads, each, 77);
		double counts[WINDOWS] = {0}, sum = 0, squares = 0;
		for (size_t i = 0; i < (size_t)threads * each; i++)
			if (dues[i] < WINDOWS * MEAN * UINT64_C(1000000))
				counts[dues[i] / (MEAN * UINT64_C(1000000))]++;
		for (size_t w = 0; w < WINDOWS; w++)
			sum += counts[w];
		double mean = sum / WINDOWS;
		for (size_t w = 0; w < WINDOWS; w++)
			squares += (counts[w] - mean) * (counts[w] - mean);
		/* 100000 expected, 4 standard deviations */
		ck_assert_double_eq_tol(sum, WINDOWS * MEAN, 1265);
		ck_assert_double_gt(squares / mean, chi2_999_low);
		ck_assert_double_lt(squares / mean, chi2_999_high);
	}
}

TEST(poisson_gaps_are_as_fine_after_10_to_the_10_operations)
{
	enum { COUNT = 50000 };
	static uint64_t early[COUNT], late[COUNT];
	struct schedule schedule = schedule_of("3858.025", NB_ARRIVAL_POISSON);
	struct arrivals arrivals;
	arrivals_create(&arrivals, &schedule, 0, 1, 1);
	arrivals_next(&arrivals, early, COUNT);
	arrivals_create(&arrivals, &schedule, 0, 1, 1);
	arrivals.whole = 10000000000;
	arrivals_next(&arrivals, late, COUNT);
	uint64_t begin_ns = UINT64_C(2591999792640017); /* same as for fixed arrivals */
	for (size_t i = 0; i < COUNT; i++) {
		int64_t off = (int64_t)(late[i] - begin_ns - early[i]);
		ck_assert_msg(off >= -2 && off <= 2, "%zu is %jd ns off", i, (intmax_t)off);
	}
}

TEST(due_times_depend_on_seed_and_thread)
{
	enum { COUNT = 1000 };
	static const struct {
		uint64_t seed;
		uint32_t thread;
	} who[] = {{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {0, 2}, {UINT64_MAX, 0}};
	static uint64_t dues[COUNT_OF(who)][COUNT], again[COUNT];
	struct schedule schedule = schedule_of("1k", NB_ARRIVAL_POISSON);
	for (size_t i = 0; i < COUNT_OF(who); i++) {
		struct arrivals arrivals;
		arrivals_create(&arrivals, &schedule, who[i].thread, 3, who[i].seed);
		arrivals_next(&arrivals, dues[i], COUNT);
		arrivals_create(&arrivals, &schedule, who[i].thread, 3, who[i].seed);
		arrivals_next(&arrivals, again, COUNT);
		ck_assert_mem_eq(again, dues[i], sizeof(again));
		for (size_t j = 0; j < i; j++) {
			size_t equal = 0;
			for (size_t n = 0; n < COUNT; n++)
				equal += dues[i][n] == dues[j][n];
			ck_assert_uint_le(equal, 1);
		}
	}
}

TEST(invalid_steps_are_refused)
{
	static struct nb_rate_step endless[] = {{UINT64_MAX, 1, 1}, {S, 1, 1}},
				   ramp[] = {{S, 1, 1}, {UINT64_MAX, 1, 2}},
				   nan[] = {{S, (double)NAN, 1}}, negative[] = {{S, 1, -1}},
				   fast[] = {{S, 1, 1.1e9}},
				   late[] = {{UINT64_MAX / 2, 1, 1}, {1, 1, 1}};
	static const struct {
		struct nb_rate_step *rate;
		size_t count;
		uint32_t arrivals;
		const char *why;
	} bad[] = {
		{endless, 2, NB_ARRIVAL_FIXED,
			"group 'g': step 1 is for ever, but not the last one"},
		{ramp, 2, NB_ARRIVAL_FIXED,
			"group 'g': step 2 is for ever, but not of one rate"},
		{nan, 1, NB_ARRIVAL_POISSON, "group 'g': step 1 has a rate outside of 0..1G"},
		{negative, 1, NB_ARRIVAL_FIXED,
			"group 'g': step 1 has a rate outside of 0..1G"},
		{fast, 1, NB_ARRIVAL_FIXED, "group 'g': step 1 has a rate outside of 0..1G"},
		{late, 2, NB_ARRIVAL_FIXED, "group 'g': the steps take more than 292 years"},
		{NULL, 0, NB_ARRIVAL_FIXED, "group 'g' has a rate of 0 steps, not 1..4096"},
		{endless, 1, NB_ARRIVAL_CLOSED, "group 'g' has no arrivals"},
	};
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct schedule schedule;
		struct nb_group group = {.name = "g",
			.rate = bad[i].rate,
			.rate_count = bad[i].count,
			.arrivals = bad[i].arrivals};
		ck_assert_int_eq(schedule_create(&schedule, &group), NB_ERR_USAGE);
		ck_assert_str_eq(nb_error_text(), bad[i].why);
	}
}

TEST(handmade_steps_may_end)
{
	static struct nb_rate_step rate[] = {{S, 1, 3}, {0, 7, 7}, {2 * S, 3, 5}};
	struct nb_group group = {
		.name = "g", .rate = rate, .rate_count = 3, .arrivals = NB_ARRIVAL_FIXED};
	struct schedule schedule;
	ck_assert_int_eq(schedule_create(&schedule, &group), NB_OK);
	ck_assert_double_eq_tol(schedule_offered(&schedule, S), 2, 1e-12);
	ck_assert_double_eq_tol(schedule_offered(&schedule, 3 * S), 10, 1e-12);
	ck_assert_double_eq_tol(schedule_offered(&schedule, 13 * S), 60, 1e-12);
	ck_assert_uint_eq(due_of(&schedule, 60, 1), 13 * S);
	schedule_destroy(&schedule);
}
