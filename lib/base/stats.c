/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two samples of repetitions: a test, a ratio and its interval.
 *
 * The test is the Mann-Whitney test (Annals of Mathematical Statistics 18, 1947). It does not
 * need a normal distribution, which latencies do not have. Up to EXACT_MAX values its p is
 * exact: it counts all assignments of the values to the two samples, also with ties, which
 * percentiles of a histogram often have. The normal approximation would call 3 against 3
 * significant, which is impossible. Above EXACT_MAX it is used, with corrections for ties and
 * continuity (Lehmann, "Nonparametrics", 1975, section 1.3).
 *
 * The ratio is the Hodges-Lehmann estimate (Annals of Mathematical Statistics 34, 1963) on
 * logarithms: the median of the ratios of all pairs. It is consistent with the test, and one
 * bad repetition hardly changes it. Rejected: the ratio of means, which one bad repetition
 * changes.
 *
 * The interval, if a sample has less than BOOTSTRAP_MIN values, consists of the order
 * statistics of the ratios that the test does not reject (Lehmann, section 2.6). Its confidence
 * is at least the stated one, and it agrees with the exact p.
 *
 * For larger samples it is the percentile bootstrap (Efron and Tibshirani, "An Introduction to
 * the Bootstrap", 1993, chapter 13), which is then narrower and has no steps. The bootstrap
 * draws only from observed values and is too narrow for few of them. In a simulation with
 * normal samples its 95 % intervals contained the true ratio in 89 % of the cases with 4 values
 * each, in 90 % with 5, in 94 % with 8. The variance of values drawn from n values is (n - 1) /
 * n of the population's, so both ends are moved outwards by sqrt(n / (n - 1)) (Hesterberg, The
 * American Statistician 69, 2015). In 3000 pairs of equal lognormal samples with 8, 12 and 20
 * values each, the interval then contained the true ratio in 95 % of them.
 *
 * If one sample varies many times as much as the other, both are slightly too narrow. With
 * deviations of 5 and 30 percent and equal medians, the interval contained the true ratio in 93
 * to 95 % of 3000 pairs, and 5 to 6 % seemed to differ by interval and test.
 *
 * The results are wrong if repetitions depend on each other: for example if all repetitions of
 * one engine came first and the machine then became hot. So vs mixes their order.
 */
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"

enum {
	EXACT_MAX = 40,    /* total: C(40, 20) and all sums are integers below 2^53 */
	BOOTSTRAP_MIN = 8, /* of each sample */
	RESAMPLES_MIN = 1000
};

/* Maximum number of ratios in all resamples together: some tenths of a second. */
static const double work_max = 5e7;

static int
out_of_memory(void)
{
	error_set(NB_FAIL, "out of memory");
	return NB_FAIL; /* lets the compiler see that this is a failure */
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

void
stats_sort(double *values, size_t count)
{
	if (count > 0)
		qsort(values, count, sizeof(*values), compare);
}

double
stats_median(const double *sorted, size_t count)
{
	if (count == 0)
		return 0;
	return count % 2 == 1 ? sorted[count / 2]
			      : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* The number of values below the median is binomial with probability 1/2: P(at most i of n). */
double
stats_median_interval(
	double *low, double *high, const double *sorted, size_t count, double wanted)
{
	long double term = ldexpl(1, -(int)count),
		    tail = term; /* 2^-count, for up to 16,000 runs */
	double is = 0;
	size_t from = 0;
	for (size_t i = 0; 2 * i + 1 <= count; i++) {
		double confidence = (double)(1 - 2 * tail);
		if (i > 0 && confidence < wanted)
			break;
		from = i;
		is = confidence > 0 ? confidence : 0;
		term *= (long double)(count - i) / (long double)(i + 1);
		tail += term;
	}
	*low = sorted[from];
	*high = sorted[count - 1 - from];
	return is;
}

int
stats_mad(double *mad, const double *sorted, size_t count)
{
	double *away = malloc((count + 1) * sizeof(*away)),
	       median = stats_median(sorted, count);
	if (away == NULL)
		return out_of_memory();
	for (size_t i = 0; i < count; i++)
		away[i] = fabs(sorted[i] - median);
	stats_sort(away, count);
	*mad = stats_median(away, count);
	free(away);
	return NB_OK;
}

/* ---- the test ---- */

/** Both samples combined. */
struct pool {
	size_t count, second_count;
	double *values;        /* sorted */
	unsigned *twice_ranks; /* of each value; equal values share the mean of their ranks */
	double ties;           /* sum of t^3 - t over the groups of t equal values */
	unsigned twice_sum;    /* of the second sample's ranks */
};

static void
rank(struct pool *pool)
{
	for (size_t i = 0, end; i < pool->count; i = end) {
		for (end = i + 1; end < pool->count && pool->values[end] == pool->values[i];)
			end++;
		double size = (double)(end - i);
		pool->ties += size * size * size - size;
		for (size_t j = i; j < end; j++)
			pool->twice_ranks[j] = (unsigned)(i + 1 + end); /* ranks i+1 .. end */
	}
}

static unsigned
twice_rank_of(const struct pool *pool, double value)
{
	const double *at = bsearch(&value, pool->values, pool->count, sizeof(value), compare);
	return pool->twice_ranks[at - pool->values];
}

static void
pool_destroy(struct pool *pool)
{
	free(pool->values);
	free(pool->twice_ranks);
}

static int
pool_create(struct pool *pool, const double *first, size_t first_count, const double *second,
	size_t second_count)
{
	size_t count = first_count + second_count;
	*pool = (struct pool){.count = count,
		.second_count = second_count,
		.values = malloc(count * sizeof(*pool->values)),
		.twice_ranks = malloc(count * sizeof(*pool->twice_ranks))};
	if (pool->values == NULL || pool->twice_ranks == NULL) {
		pool_destroy(pool);
		return out_of_memory();
	}
	memcpy(pool->values, first, first_count * sizeof(*first));
	memcpy(pool->values + first_count, second, second_count * sizeof(*second));
	stats_sort(pool->values, count);
	rank(pool);
	for (size_t i = 0; i < second_count; i++)
		pool->twice_sum += twice_rank_of(pool, second[i]);
	return NB_OK;
}

/**
 * ways[k * sums + s]: number of choices of k values of the pool whose doubled ranks have the
 * sum s. Each value in turn is chosen or not.
 */
static void
count_ways(const struct pool *pool, double *ways, size_t sums)
{
	ways[0] = 1;
	for (size_t i = 0; i < pool->count; i++) {
		unsigned rank = pool->twice_ranks[i];
		size_t most = i + 1 < pool->second_count ? i + 1 : pool->second_count;
		for (size_t k = most; k > 0; k--)
			for (size_t s = sums - 1; s >= rank; s--)
				ways[k * sums + s] += ways[(k - 1) * sums + s - rank];
	}
}

/** Twice the smaller tail, because the tails differ if values are tied. */
static int
exact_p(const struct pool *pool, double *p)
{
	size_t sums = pool->count * (pool->count + 1) + 1;
	double *ways = calloc((pool->second_count + 1) * sums, sizeof(*ways));
	if (ways == NULL)
		return out_of_memory();
	count_ways(pool, ways, sums);
	const double *of_sum = ways + pool->second_count * sums;
	double all = 0, below = 0, above = 0;
	for (size_t s = 0; s < sums; s++) {
		all += of_sum[s];
		below += s <= pool->twice_sum ? of_sum[s] : 0;
		above += s >= pool->twice_sum ? of_sum[s] : 0;
	}
	*p = fmin(1, 2 * fmin(below, above) / all);
	free(ways);
	return NB_OK;
}

static double
normal_p(const struct pool *pool, double u)
{
	double second = (double)pool->second_count, all = (double)pool->count;
	double pairs = second * (all - second);
	double variance = pairs / 12 * (all + 1 - pool->ties / (all * (all - 1)));
	double away = fabs(u - pairs / 2) - 0.5;
	if (variance <= 0 || away <= 0)
		return 1;
	return erfc(away / sqrt(variance) / sqrt(2));
}

int
stats_mann_whitney(struct stats_test *out, const double *first, size_t first_count,
	const double *second, size_t second_count)
{
	struct pool pool;
	int rc = pool_create(&pool, first, first_count, second, second_count);
	if (rc != NB_OK)
		return rc;
	double least = (double)second_count * (double)(second_count + 1) / 2;
	*out = (struct stats_test){
		.u = pool.twice_sum / 2.0 - least, .is_exact = pool.count <= EXACT_MAX};
	if (out->is_exact)
		rc = exact_p(&pool, &out->p);
	else
		out->p = normal_p(&pool, out->u);
	pool_destroy(&pool);
	return rc;
}

/** 2 / C(first + second, first). */
double
stats_least_p(size_t first_count, size_t second_count)
{
	double p = 2;
	for (size_t i = 1; i <= second_count; i++)
		p *= (double)i / (double)(first_count + i);
	return fmin(p, 1);
}

size_t
stats_least_count(double confidence)
{
	size_t count = 1;
	while (count < 1000 && stats_least_p(count, count) >= 1 - confidence)
		count++;
	return count;
}

/* ---- the ratio ---- */

static void
swap(double *a, double *b)
{
	double kept = *a;
	*a = *b;
	*b = kept;
}

/**
 * Hoare's selection. Afterwards the nth smallest value is at its place, and no value before it
 * is greater.
 */
static double
select_nth(double *values, size_t count, size_t nth)
{
	size_t low = 0, high = count - 1;
	while (low < high) {
		double pivot = values[low + (high - low) / 2];
		size_t i = low - 1, j = high + 1;
		for (;;) {
			while (values[++i] < pivot)
				continue;
			while (values[--j] > pivot)
				continue;
			if (i >= j)
				break;
			swap(&values[i], &values[j]);
		}
		if (nth <= j)
			high = j;
		else
			low = j + 1;
	}
	return values[nth];
}

/** Changes the order of the values. */
static double
median_of(double *values, size_t count)
{
	double upper = select_nth(values, count, count / 2);
	if (count % 2 == 1)
		return upper;
	double lower = values[0];
	for (size_t i = 1; i < count / 2; i++)
		lower = fmax(lower, values[i]);
	return (lower + upper) / 2;
}

/** Logarithms of both samples, and space for the differences of all pairs. */
struct logs {
	double *first, *second, *pairs, *resampled;
	size_t first_count, second_count, pair_count;
};

/** Allocated in one block: free logs->first. */
static int
logs_create(struct logs *logs, const double *first, size_t first_count, const double *second,
	size_t second_count)
{
	size_t count = first_count + second_count, pairs = first_count * second_count;
	double *memory = malloc((2 * count + pairs) * sizeof(*memory));
	if (memory == NULL)
		return out_of_memory();
	*logs = (struct logs){.first = memory,
		.second = memory + first_count,
		.resampled = memory + count,
		.pairs = memory + 2 * count,
		.first_count = first_count,
		.second_count = second_count,
		.pair_count = pairs};
	for (size_t i = 0; i < first_count; i++)
		logs->first[i] = log(first[i]);
	for (size_t i = 0; i < second_count; i++)
		logs->second[i] = log(second[i]);
	return NB_OK;
}

static void
fill_pairs(struct logs *logs, const double *first, const double *second)
{
	for (size_t i = 0, at = 0; i < logs->first_count; i++)
		for (size_t j = 0; j < logs->second_count; j++)
			logs->pairs[at++] = second[j] - first[i];
}

/**
 * The number of ordered ratios 1..pairs to leave out at either end, and the confidence of the
 * rest: the largest number for which twice the probability of such a small U is not above 1 -
 * wanted.
 */
static int
count_left_out(const struct logs *logs, double wanted, size_t *left_out, double *confidence)
{
	size_t m = logs->first_count, n = logs->second_count, pairs = m * n;
	double *ways = calloc(pairs + 1, sizeof(*ways)), all = 0, tail = 0;
	if (ways == NULL)
		return out_of_memory();
	/*
	 * Number of assignments for each U: the Gaussian polynomial, one factor at a time
	 * (Andrews, "The Theory of Partitions", 1976, theorem 3.1).
	 */
	ways[0] = 1;
	for (size_t i = 1; i <= m; i++) {
		for (size_t u = pairs; u >= n + i; u--)
			ways[u] -= ways[u - n - i];
		for (size_t u = i; u <= pairs; u++)
			ways[u] += ways[u - i];
	}
	for (size_t u = 0; u <= pairs; u++)
		all += ways[u];
	*left_out = 0;
	*confidence = 1 - 2 * ways[0] / all;
	while (2 * (tail + ways[*left_out]) <= (1 - wanted) * all) {
		tail += ways[(*left_out)++];
		*confidence = 1 - 2 * tail / all;
	}
	if (*left_out > 0)
		--*left_out; /* the index of the interval's end */
	free(ways);
	return NB_OK;
}

static int
interval_by_order(struct logs *logs, double wanted, struct stats_ratio *out)
{
	size_t left_out;
	int rc = count_left_out(logs, wanted, &left_out, &out->confidence);
	if (rc != NB_OK)
		return rc;
	stats_sort(logs->pairs, logs->pair_count);
	out->low = exp(logs->pairs[left_out]);
	out->high = exp(logs->pairs[logs->pair_count - 1 - left_out]);
	out->method = STATS_ORDER;
	return NB_OK;
}

static void
resample(double *into, const double *from, size_t count, struct rng *rng)
{
	for (size_t i = 0; i < count; i++)
		into[i] = from[rng_below(rng, count)];
}

/** Quantile of sorted values, interpolated linearly (Hyndman and Fan's type 7). */
static double
quantile(const double *sorted, size_t count, double share)
{
	double at = share * (double)(count - 1);
	size_t index = (size_t)at;
	double rest = at - (double)index;
	return index + 1 < count ? sorted[index] + rest * (sorted[index + 1] - sorted[index])
				 : sorted[count - 1];
}

/** Resamples each sample from itself. */
static int
interval_by_bootstrap(struct logs *logs, double wanted, uint32_t resamples, uint64_t seed,
	struct stats_ratio *out)
{
	double most = work_max / (double)logs->pair_count;
	if (resamples > most)
		resamples = (uint32_t)most;
	if (resamples < RESAMPLES_MIN)
		resamples = RESAMPLES_MIN;
	double *estimates = malloc(resamples * sizeof(*estimates));
	double *first = logs->resampled, *second = first + logs->first_count;
	double least = (double)(logs->first_count < logs->second_count ? logs->first_count
								       : logs->second_count);
	struct rng rng;
	if (estimates == NULL)
		return out_of_memory();
	rng_create(&rng, seed);
	for (uint32_t i = 0; i < resamples; i++) {
		resample(first, logs->first, logs->first_count, &rng);
		resample(second, logs->second, logs->second_count, &rng);
		fill_pairs(logs, first, second);
		estimates[i] = median_of(logs->pairs, logs->pair_count);
	}
	stats_sort(estimates, resamples);
	double middle = log(out->ratio), wider = sqrt(least / (least - 1));
	double low = quantile(estimates, resamples, (1 - wanted) / 2);
	double high = quantile(estimates, resamples, (1 + wanted) / 2);
	out->low = exp(middle + wider * (low - middle));
	out->high = exp(middle + wider * (high - middle));
	out->confidence = wanted;
	out->method = STATS_BOOTSTRAP;
	free(estimates);
	return NB_OK;
}

int
stats_ratio(struct stats_ratio *out, const double *first, size_t first_count,
	const double *second, size_t second_count, double confidence, uint32_t resamples,
	uint64_t seed)
{
	struct logs logs;
	int rc = logs_create(&logs, first, first_count, second, second_count);
	if (rc != NB_OK)
		return rc;
	fill_pairs(&logs, logs.first, logs.second);
	double ratio = exp(median_of(logs.pairs, logs.pair_count));
	size_t least = first_count < second_count ? first_count : second_count;
	*out = (struct stats_ratio){.ratio = ratio, .low = ratio, .high = ratio};
	if (least >= BOOTSTRAP_MIN)
		rc = interval_by_bootstrap(&logs, confidence, resamples, seed, out);
	else if (least > 1)
		rc = interval_by_order(&logs, confidence, out);
	free(logs.first);
	return rc;
}
