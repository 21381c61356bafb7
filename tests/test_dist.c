/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The test sums the expected shares of the distributions from their definitions. The shares
 * of 10^12 records come from mpmath (differences of Hurwitz's zeta, 30 digits). A Python script made
 * ycsb_ranks and ycsb_records from the same random words. It used the formulas of YCSB's
 * ZipfianGenerator and Utils.fnvhash64, and Python's own pow. Another script made zipf_records
 * with the formulas of dist.c and real.h.
 */
#include "workload/dist.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "laws.h"
#include "unit.h"

static struct nb_group
group_of(uint32_t kind, double theta)
{
	return (struct nb_group){.distribution = kind,
		.theta = theta,
		.hot_share = 0.2,
		.hot_ops = 0.8,
		.exp_percent = 95,
		.exp_share = 0.8571428571,
		.pareto_h = 0.2};
}

static struct dist
make(uint32_t kind, double theta, uint64_t n)
{
	struct nb_group group = group_of(kind, theta);
	struct dist dist;
	dist_create(&dist, &group, n);
	return dist;
}

/** The random state of an operation as in a run: a hash of its number. */
static uint64_t
state_of(uint64_t i)
{
	return splitmix64_mix(i * 2 + 1);
}

/* ---- distributions of ranks ---- */

enum { EDGES_MAX = 64 };

/** Cells [edges[c], edges[c + 1]): single ranks first, then increasingly wide cells. */
struct cells {
	uint64_t edges[EDGES_MAX + 1];
	size_t count;
};

static struct cells
cells_of(uint64_t n)
{
	struct cells cells = {.count = 0};
	uint64_t edge = 0;
	while (edge < n) {
		cells.edges[cells.count++] = edge;
		edge += n <= EDGES_MAX || edge < 20 ? 1 : edge / 3;
	}
	cells.edges[cells.count] = n;
	ck_assert_uint_le(cells.count, EDGES_MAX);
	return cells;
}

static size_t
cell_of(const struct cells *cells, uint64_t rank)
{
	size_t low = 0, high = cells->count;
	while (high - low > 1) {
		size_t middle = (low + high) / 2;
		if (cells->edges[middle] <= rank)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void
observe(uint64_t *observed, const struct cells *cells, const struct dist *dist, uint64_t draws)
{
	memset(observed, 0, EDGES_MAX * sizeof(*observed));
	for (uint64_t i = 0; i < draws; i++) {
		uint64_t random = state_of(i);
		uint64_t rank = dist_draw_rank(dist, &random, i);
		LAW_MUST(rank < dist->n);
		observed[cell_of(cells, rank)]++;
	}
}

static void
zipf_shares(double *shares, const struct cells *cells, double theta)
{
	double sum = 0;
	for (size_t c = 0; c < cells->count; c++) {
		shares[c] = 0;
		for (uint64_t rank = cells->edges[c]; rank < cells->edges[c + 1]; rank++)
			shares[c] += pow((double)rank + 1, -theta);
		sum += shares[c];
	}
	for (size_t c = 0; c < cells->count; c++)
		shares[c] /= sum;
}

/** Compare observed draws with the distribution of an exponent. */
static double
misfit_of(const uint64_t *observed, const struct cells *cells, double theta, uint64_t draws)
{
	double shares[EDGES_MAX];
	zipf_shares(shares, cells, theta);
	return law_misfit(shares, observed, cells->count, (double)draws);
}

static double
zipf_misfit(const struct dist *dist, double theta, uint64_t draws)
{
	struct cells cells = cells_of(dist->n);
	uint64_t observed[EDGES_MAX];
	observe(observed, &cells, dist, draws);
	return misfit_of(observed, &cells, theta, draws);
}

enum { MANY = 1000000 };

/* 0.9982 and 1.0018 use the logarithm, 0.9978 and 1.0022 use powers */
static const double thetas[] = {
	0.1, 0.5, 0.9, 0.99, 0.9978, 0.9982, 0.9999999, 1, 1.0018, 1.0022, 1.2, 2, 5};
enum { THETAS = sizeof(thetas) / sizeof(thetas[0]) };

/* The comparison must also detect an exponent that is off by 2 percent. */
TEST(zipfian_is_exact_for_any_exponent)
{
	static const uint64_t counts[] = {2, 3, 50, 1000000};
	for (size_t t = 0; t < THETAS; t += UNIT_STEP)
		for (size_t c = 0; c < 4; c++) {
			if (thetas[t] == 5 && counts[c] > 50)
				continue; /* no draw exceeds the first ranks */
			struct dist dist = make(NB_DIST_ZIPFIAN, thetas[t], counts[c]);
			struct cells cells = cells_of(counts[c]);
			uint64_t observed[EDGES_MAX];
			observe(observed, &cells, &dist, MANY);
			double misfit = misfit_of(observed, &cells, thetas[t], MANY);
			ck_assert_msg(misfit < 1, "theta %g, n %llu: %g", thetas[t],
				(unsigned long long)counts[c], misfit);
			if (counts[c] < 50 || t == 0 || t == THETAS - 1)
				continue;
			for (int sign = -1; sign <= 1; sign += 2)
				ck_assert_double_gt(
					misfit_of(observed, &cells,
						thetas[t] * (1 + sign * 0.02), MANY),
					1);
		}
}

TEST(zipfian_of_10_to_the_12_records_is_exact)
{
	static const struct cells cells = {
		{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 50, 100, 1000, 10000, 1000000, 100000000,
			10000000000, 100000000000, 1000000000000},
		20};
	static const struct {
		double theta, shares[20];
	} cases[] = {
		{0.99,
			{0.03086213921867311, 0.01553840118643301, 0.010401021254388314,
				0.007823239656843312, 0.006272572962626277,
				0.005236683039182104, 0.004495509982887326,
				0.003938827295941096, 0.0035053060440082035,
				0.0031581010789261225, 0.021201767804059756,
				0.028803984418051463, 0.02216416643478934, 0.07513030982964362,
				0.07701363658161989, 0.15947974290701325, 0.16699752724442726,
				0.1748678964059255, 0.09050056880123201, 0.092608597853329}},
		{1,
			{0.03545063832843207, 0.017725319164216036, 0.011816879442810692,
				0.008862659582108018, 0.007090127665686415,
				0.005908439721405346, 0.0050643769040617246,
				0.004431329791054009, 0.003938959814270231,
				0.0035450638328432074, 0.023708373138370126,
				0.031957533829209434, 0.024396143036414637, 0.08146887594450553,
				0.08161216148960063, 0.1632544679272841, 0.1632562051562791,
				0.16325622252886143, 0.08162811135057577, 0.08162811135201152}},
		{0.1,
			{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6.942357514778164e-09,
				5.515171698706243e-08, 3.917974923297811e-06,
				0.0002472075707863049, 0.015597743281170178,
				0.11004360925555595, 0.8741074588275922}},
	};
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct dist dist = make(NB_DIST_ZIPFIAN, cases[c].theta, 1000000000000);
		uint64_t observed[EDGES_MAX];
		observe(observed, &cells, &dist, MANY);
		double misfit = law_misfit(cases[c].shares, observed, cells.count, MANY);
		ck_assert_msg(misfit < 1, "theta %g: %g", cases[c].theta, misfit);
	}
}

TEST(no_exponent_and_no_count_leaves_the_range)
{
	static const double extreme[] = {1e-9, 0.001, 0.999999999, 1.000000001, 20, 300, 1e6};
	static const uint64_t counts[] = {1, 2, 3, 7, UINT64_C(1) << 52, UINT64_C(1) << 62};
	for (uint32_t kind = 0; kind < NB_DIST_KINDS; kind++)
		for (size_t t = 0; t < sizeof(extreme) / sizeof(extreme[0]); t++)
			for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
				struct dist dist = make(kind, extreme[t], counts[c]);
				for (uint64_t i = 0; i < 1000; i++) {
					uint64_t random = state_of(i), again = random;
					LAW_MUST(dist_draw(&dist, &random, i) < counts[c]);
					dist_draw_rank(&dist, &again, i);
					LAW_MUST(again == random);
				}
			}
}

TEST(parameters_at_their_bounds_are_laws_too)
{
	static const double bounds[] = {0, 1e-300, 1e-9, 0.5, 1 - 1e-9, 1};
	enum { BOUNDS = sizeof(bounds) / sizeof(bounds[0]) };
	for (size_t a = 0; a < BOUNDS * BOUNDS; a++)
		for (uint32_t kind = 0; kind < NB_DIST_KINDS; kind++) {
			struct nb_group group = group_of(kind, 1);
			group.hot_share = group.exp_share = bounds[a / BOUNDS];
			group.hot_ops = group.pareto_h = bounds[a % BOUNDS];
			group.exp_percent = 100 * bounds[a % BOUNDS];
			struct dist dist;
			dist_create(&dist, &group, 1000);
			for (uint64_t i = 0; i < 200; i++) {
				uint64_t random = state_of(i);
				LAW_MUST(dist_draw(&dist, &random, i) < 1000);
			}
		}
}

TEST(uniform_is_even)
{
	for (uint64_t n = 2; n <= 64; n++) {
		struct dist dist = make(NB_DIST_UNIFORM, 0, n);
		double shares[EDGES_MAX];
		uint64_t observed[EDGES_MAX] = {0};
		for (uint64_t i = 0; i < n; i++)
			shares[i] = 1 / (double)n;
		for (uint64_t i = 0; i < 100000; i++) {
			uint64_t random = state_of(i + n * MANY);
			observed[dist_draw(&dist, &random, i)]++;
		}
		ck_assert_double_lt(law_misfit(shares, observed, n, 100000), 1);
	}
}

TEST(uniform_lacks_the_bias_of_a_product)
{
	/* (x * n) >> 64 would draw each third number twice as often: see test_rng.c */
	struct dist dist = make(NB_DIST_UNIFORM, 0, UINT64_C(3) << 62);
	static const double shares[3] = {1 / 3.0, 1 / 3.0, 1 / 3.0};
	uint64_t thirds[3] = {0}, remainders[3] = {0};
	for (uint64_t i = 0; i < 100000; i++) {
		uint64_t random = state_of(i), record = dist_draw(&dist, &random, i);
		thirds[record >> 62]++;
		remainders[record % 3]++;
	}
	ck_assert_double_lt(law_misfit(shares, thirds, 3, 100000), 1);
	ck_assert_double_lt(law_misfit(shares, remainders, 3, 100000), 1);
}

TEST(latest_is_zipfian_from_the_end)
{
	struct dist dist = make(NB_DIST_LATEST, 0.99, 1000);
	dist_resize(&dist, 1700);
	struct dist fresh = make(NB_DIST_ZIPFIAN, 0.99, 1700);
	for (uint64_t i = 0; i < 10000; i++) {
		uint64_t a = state_of(i), b = a;
		LAW_MUST(dist_draw(&dist, &a, i) == 1699 - dist_draw_rank(&fresh, &b, i));
	}
	ck_assert_double_lt(zipf_misfit(&dist, 0.99, MANY), 1);
}

TEST(sequential_wraps)
{
	struct dist dist = make(NB_DIST_SEQUENTIAL, 0, 10);
	for (uint64_t i = 0; i < 35; i++) {
		uint64_t random = 1;
		ck_assert_uint_eq(dist_draw(&dist, &random, i), i % 10);
		ck_assert_uint_eq(random, 1);
	}
}

TEST(descending_starts_at_the_last_record_and_wraps)
{
	struct dist dist = make(NB_DIST_DESCENDING, 0, 10);
	uint64_t block[35], randoms[35];
	for (uint64_t i = 0; i < 35; i++)
		randoms[i] = 1;
	dist_draw_block(&dist, randoms, 0, 35, block);
	for (uint64_t i = 0; i < 35; i++) {
		uint64_t random = 1;
		ck_assert_uint_eq(dist_draw(&dist, &random, i), 9 - i % 10);
		ck_assert_uint_eq(block[i], 9 - i % 10);
		ck_assert_uint_eq(random, 1);
	}
}

static double
hotspot_misfit(double hot_ops, double claimed)
{
	struct nb_group group = group_of(NB_DIST_HOTSPOT, 0);
	group.hot_ops = hot_ops;
	struct dist dist;
	dist_create(&dist, &group, 50);
	struct cells cells = cells_of(50);
	double shares[EDGES_MAX];
	uint64_t observed[EDGES_MAX];
	for (size_t i = 0; i < 50; i++)
		shares[i] = i < 10 ? claimed / 10 : (1 - claimed) / 40;
	observe(observed, &cells, &dist, MANY);
	return law_misfit(shares, observed, 50, MANY);
}

TEST(hotspot_is_even_in_both_parts)
{
	ck_assert_double_lt(hotspot_misfit(0.8, 0.8), 1);
	ck_assert_double_lt(hotspot_misfit(0.2, 0.2), 1);
	ck_assert_double_lt(hotspot_misfit(0, 0), 1);
	ck_assert_double_gt(hotspot_misfit(0.8 * 1.02, 0.8), 1);
}

/** The share of exponential or pareto draws below x, 0..1. */
static double
share_below(uint32_t kind, double x, double parameter)
{
	if (kind == NB_DIST_EXPONENTIAL) {
		double rate = -log(1 - 0.95) / parameter;
		return expm1(-rate * x) / expm1(-rate);
	}
	return pow(x, log(1 - parameter) / log(parameter));
}

static double
continuous_distance(uint32_t kind, double drawn, double claimed)
{
	enum { DRAWS = 200000 };
	static double below[DRAWS];
	struct nb_group group = group_of(kind, 0);
	group.exp_share = group.pareto_h = drawn;
	struct dist dist;
	uint64_t n = UINT64_C(1) << 40;
	dist_create(&dist, &group, n);
	for (uint64_t i = 0; i < DRAWS; i++) {
		uint64_t random = state_of(i);
		double rank = (double)dist_draw_rank(&dist, &random, i);
		below[i] = share_below(kind, (rank + 0.5) / (double)n, claimed);
	}
	return law_distance(below, DRAWS);
}

static double
discrete_misfit(uint32_t kind, double drawn, double claimed)
{
	struct nb_group group = group_of(kind, 0);
	group.exp_share = group.pareto_h = drawn;
	struct dist dist;
	dist_create(&dist, &group, 20);
	dist_resize(&dist, 50);
	struct cells cells = cells_of(50);
	double shares[EDGES_MAX];
	uint64_t observed[EDGES_MAX];
	for (int i = 0; i < 50; i++)
		shares[i] = share_below(kind, (i + 1) / 50.0, claimed) -
			share_below(kind, i / 50.0, claimed);
	observe(observed, &cells, &dist, MANY);
	return law_misfit(shares, observed, 50, MANY);
}

TEST(exponential_and_pareto_are_their_laws)
{
	static const uint32_t kinds[] = {NB_DIST_EXPONENTIAL, NB_DIST_PARETO};
	static const double parameters[] = {0.1, 0.2, 0.4};
	for (int i = 0; i < 6; i++) {
		uint32_t kind = kinds[i / 3];
		double p = parameters[i % 3];
		ck_assert_double_lt(discrete_misfit(kind, p, p), 1);
		ck_assert_double_gt(discrete_misfit(kind, p * 1.02, p), 1);
		/* a steep pareto is not continuous: many draws are rank 0 */
		p = kind == NB_DIST_PARETO ? 0.35 + 0.05 * (i % 3) : p;
		ck_assert_double_lt(continuous_distance(kind, p, p), 1);
		ck_assert_double_gt(continuous_distance(kind, p * 1.02, p), 1);
	}
	/* the shares in the options' names; YCSB redraws values that exp_percent excludes */
	ck_assert_double_eq_tol(share_below(NB_DIST_PARETO, 0.2, 0.2), 0.8, 1e-12);
	ck_assert_double_eq_tol(
		share_below(NB_DIST_EXPONENTIAL, 0.1, 0.1), 0.95 / (1 - pow(0.05, 10)), 1e-12);
}

/* ---- YCSB ---- */

TEST(zipfian_ycsb_draws_the_same_ranks_as_ycsb)
{
	static const uint64_t ycsb_ranks[48] = {814865608, 645282, 1145484, 8, 26086, 8821,
		34157828, 9505, 2156534, 9320050, 0, 1555, 864630, 65225220, 18239, 265579,
		5403, 141164, 2, 30901517, 111, 0, 86659579, 1439706684, 6585480, 3008341,
		59407222, 1141429, 606511, 28879757, 5581436, 324652607, 1715657990, 40, 312952,
		1096, 1547729323, 83807543, 1728320569, 150413549, 117, 2, 35525160, 26291723,
		6751433805, 5104206498, 27515330, 90254};
	static const uint64_t ycsb_records[48] = {581488, 320830, 143518, 213555, 61396, 615066,
		204855, 137683, 146170, 548799, 377211, 221996, 571523, 935127, 725805, 238311,
		880149, 967766, 198393, 446803, 224458, 377211, 913420, 703864, 454931, 609752,
		155653, 650105, 544996, 807994, 721530, 243288, 497884, 868179, 731263, 833953,
		597893, 673445, 180127, 275535, 790704, 198393, 420525, 831086, 16921, 237264,
		533028, 814834};
	struct dist dist = make(NB_DIST_ZIPFIAN_YCSB, 0.99, 1000000);
	for (uint64_t state = 0; state < 48; state++) {
		uint64_t random = state, again = state;
		ck_assert_uint_eq(dist_draw_rank(&dist, &random, 0), ycsb_ranks[state]);
		ck_assert_uint_eq(dist_draw(&dist, &again, 0), ycsb_records[state]);
	}
}

/**
 * Ranks 0 to 9 by Gray's formula with 10^10 + 1 items (mpmath). Ranks 0 and 1 are exact; the
 * third is 20 % above a zipfian.
 */
TEST(zipfian_ycsb_has_the_deviation_of_its_formula)
{
	static const double shares[10] = {0.03778000432719466, 0.01902139251921776,
		0.015314368476302135, 0.010903436682850997, 0.008478990172200489,
		0.006941898160625602, 0.005879173611523094, 0.005100102470965737,
		0.004504265504593789, 0.004033700708179867};
	double cells[11], exact[11], zeta = 26.46902820175148;
	uint64_t observed[11] = {0};
	cells[10] = exact[10] = 1;
	for (int i = 0; i < 10; i++) {
		cells[i] = shares[i];
		exact[i] = pow(i + 1, -0.99) / zeta;
		cells[10] -= cells[i];
		exact[10] -= exact[i];
	}
	struct dist dist = make(NB_DIST_ZIPFIAN_YCSB, 0.99, 1000000);
	for (uint64_t i = 0; i < MANY; i++) {
		uint64_t random = state_of(i), rank = dist_draw_rank(&dist, &random, i);
		observed[rank < 10 ? rank : 10]++;
	}
	ck_assert_double_lt(law_misfit(cells, observed, 11, MANY), 1);
	ck_assert_double_gt(law_misfit(exact, observed, 11, MANY), 10);
	ck_assert_double_eq_tol((double)observed[2] / (exact[2] * MANY), 1.203, 0.03);
	ck_assert_double_eq_tol((double)observed[5] / (exact[5] * MANY), 1.083, 0.04);
	ck_assert_double_eq_tol((double)observed[0] / (exact[0] * MANY), 1, 0.02);
}

/* ---- records ---- */

/** The records of all ranks must look uniformly drawn. All ranks are hot. */
static void
record_of_each(uint64_t *records, uint64_t n)
{
	struct nb_group group = group_of(NB_DIST_HOTSPOT, 0);
	group.hot_share = 1;
	struct dist dist;
	dist_create(&dist, &group, n);
	memset(records, 0xff, n * sizeof(*records));
	uint64_t missing = n;
	for (uint64_t i = 0; missing > 0; i++) {
		LAW_MUST(i < 100 * n + 10000);
		uint64_t a = state_of(i), b = a;
		uint64_t rank = dist_draw_rank(&dist, &a, i), record = dist_draw(&dist, &b, i);
		LAW_MUST(records[rank] == UINT64_MAX || records[rank] == record);
		missing -= records[rank] == UINT64_MAX;
		records[rank] = record;
	}
}

TEST(each_rank_has_its_own_record)
{
	static const uint64_t large[] = {
		1000, 1023, 1024, 1025, 4097, 65535, 65536, 65537, 100003};
	static uint64_t records[100003];
	static bool is_taken[100003];
	for (uint64_t c = 1; c <= 300 + 9; c++) {
		uint64_t n = c <= 300 ? c : large[c - 301];
		record_of_each(records, n);
		memset(is_taken, 0, sizeof(is_taken));
		for (uint64_t rank = 0; rank < n; rank++) {
			LAW_MUST(records[rank] < n);
			LAW_MUST(!is_taken[records[rank]]);
			is_taken[records[rank]] = true;
		}
	}
}

TEST(hot_records_are_spread_over_all)
{
	enum { N = 100003, HOT = 1000, PARTS = 20 };
	static uint64_t records[N];
	record_of_each(records, N);
	double shares[PARTS];
	uint64_t parts[PARTS] = {0}, steps[PARTS] = {0};
	for (int i = 0; i < HOT; i++) {
		shares[i % PARTS] = 1.0 / PARTS;
		parts[records[i] * PARTS / N]++;
		steps[(records[i + 1] + N - records[i]) % N * PARTS / N]++;
		for (int j = 0; j < i && i < 20; j++) {
			int64_t apart = (int64_t)(records[i] - records[j]);
			LAW_MUST(apart > 16 || apart < -16);
		}
	}
	ck_assert_double_lt(law_misfit(shares, parts, PARTS, HOT), 1);
	ck_assert_double_lt(law_misfit(shares, steps, PARTS, HOT), 1);
}

static const uint32_t scrambled[] = {
	NB_DIST_ZIPFIAN, NB_DIST_HOTSPOT, NB_DIST_EXPONENTIAL, NB_DIST_PARETO};

TEST(growing_keeps_the_law_and_the_records)
{
	for (int k = 0; k < 4; k++) {
		struct dist small = make(scrambled[k], 0.99, 1000), grown = small;
		dist_resize(&grown, 1200);
		dist_resize(&grown, 1500);
		struct dist fresh = make(scrambled[k], 0.99, 1500);
		static uint64_t record_of[1500];
		memset(record_of, 0xff, sizeof(record_of));
		for (uint64_t i = 0; i < 100000; i++) {
			uint64_t a = state_of(i), b = a, c = a, d = a, e = a;
			uint64_t rank = dist_draw_rank(&grown, &a, i);
			LAW_MUST(rank == dist_draw_rank(&fresh, &b, i));
			uint64_t record = dist_draw(&grown, &c, i);
			LAW_MUST((rank < 1000) == (record < 1000));
			LAW_MUST(rank < 1000 || record == rank);
			record_of[dist_draw_rank(&small, &d, i)] = dist_draw(&small, &e, i);
		}
		for (uint64_t i = 0; i < 100000; i++) {
			uint64_t a = state_of(i), b = a;
			uint64_t rank = dist_draw_rank(&grown, &a, i);
			if (rank < 1000 && record_of[rank] != UINT64_MAX)
				LAW_MUST(dist_draw(&grown, &b, i) == record_of[rank]);
		}
	}
	struct dist grown = make(NB_DIST_ZIPFIAN, 0.99, 1000);
	dist_resize(&grown, 1500);
	ck_assert_double_lt(zipf_misfit(&grown, 0.99, MANY), 1);
}

TEST(block_equals_single_draws)
{
	static const uint32_t counts[] = {0, 1, 63, 64, 65, 1000};
	static const uint64_t ns[] = {1, 2, 1000, 1000000};
	for (uint32_t kind = 0; kind < NB_DIST_KINDS; kind++)
		for (size_t t = 0; t < THETAS; t++)
			for (size_t c = 0; c < 6 * 4; c++) {
				struct dist dist = make(kind, thetas[t], ns[c / 6]);
				if (c % 2 == 1)
					dist_resize(&dist, ns[c / 6] * 3 / 2);
				uint64_t states[1000], out[1001];
				uint32_t count = counts[c % 6];
				for (uint32_t j = 0; j < count; j++)
					states[j] = state_of(j * 7 + c);
				out[count] = 42;
				dist_draw_block(&dist, states, 12345, count, out);
				for (uint32_t j = 0; j < count; j++) {
					uint64_t state = state_of(j * 7 + c);
					uint64_t one = dist_draw(&dist, &state, 12345 + j);
					LAW_MUST(out[j] == one);
					LAW_MUST(states[j] == state);
				}
				ck_assert_uint_eq(out[count], 42);
			}
}

TEST(draws_of_one_state_equal_single_draws)
{
	for (uint32_t kind = 0; kind < NB_DIST_KINDS; kind++) {
		struct dist dist = make(kind, 0.99, 1000);
		uint64_t out[100], state = state_of(kind), other = state;
		dist_draw_more(&dist, &state, 12345, 100, out);
		for (uint32_t j = 0; j < 100; j++)
			LAW_MUST(out[j] == dist_draw(&dist, &other, 12345 + j));
		ck_assert_uint_eq(state, other);
		dist_draw_more(&dist, &state, 12345, 0, out);
		ck_assert_uint_eq(state, other);
	}
}

TEST(draws_equal_those_of_the_first_release)
{
	static const struct {
		double theta;
		uint64_t records[12];
	} zipf_records[] = {
		{0.5,
			{655464, 390532, 336240, 318296, 444576, 475402, 351613, 599590, 227204,
				654988, 772724, 636985}},
		{0.99,
			{708505, 446856, 470506, 526499, 691959, 860698, 143562, 898053, 931219,
				166233, 801387, 72016}},
		{0.999,
			{708505, 426788, 223372, 290492, 827858, 683727, 686473, 770417, 850214,
				453625, 235855, 833356}},
		{1,
			{708505, 74305, 887170, 908333, 235607, 866140, 929374, 145255, 638391,
				566109, 730517, 908705}},
		{1.2,
			{843573, 65830, 610020, 81709, 509093, 568729, 484002, 866154, 739599,
				708505, 182980, 98922}},
		{2,
			{843573, 843573, 843573, 739599, 843573, 484002, 843573, 484002, 843573,
				843573, 995053, 484002}},
	};
	for (size_t c = 0; c < sizeof(zipf_records) / sizeof(zipf_records[0]); c++) {
		struct dist dist = make(NB_DIST_ZIPFIAN, zipf_records[c].theta, 1000000);
		for (uint64_t state = 0; state < 12; state++) {
			uint64_t random = state;
			ck_assert_uint_eq(
				dist_draw(&dist, &random, 0), zipf_records[c].records[state]);
		}
	}
}
