/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds stalls: times in which a run stood still or was slow. It examines the run's pulses.
 *
 * A gap is a time in which no operation ended: more than 60 ms, and longer than twenty
 * operations take at the median rate. So chance rarely makes one (one in e^20 of random
 * arrivals). The workers' stamps have the exact length of the longest gaps. Other gaps are
 * more than three consecutive pulses without an operation.
 *
 * A slow stretch is at least 100 ms in which the rate is below half of the median. The rate
 * at a pulse is that of a window around it, with at least 100 ms and 40 operations at the
 * mean rate. With random arrivals, one window in some 5000 is below half. An engine with
 * long operations does not get stalls from such windows.
 *
 * The median is computed over blocks of pulses that have 20 operations at the mean rate.
 * Stalls would lower the mean itself.
 *
 * Warm-ups are left out, and the end of a phase after the first thread has finished. With a
 * constant rate, a low rate of operations was requested, so only gaps are reported. With a
 * changing rate, or the times of a trace, nothing is reported, unless other groups run in a
 * closed loop in parallel.
 *
 * The cause is a guess by coincidence: the engine's counters that grew most out of
 * proportion during the stall, compared with the whole phase. Samples are coarser than
 * stalls, so a cause may have happened shortly before or after. If no counter of the engine
 * is unusual, the system's counts are used: storage, memory, CPU time taken by others.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "base/units.h"
#include "report/record.h"

enum {
	PULSES_LEAST = 10, /* with fewer pulses there is no result */
	GAP_PULSES = 3,    /* a gap has more pulses */
	GAP_OPS = 20,
	BLOCK_OPS = 20,
	WINDOW_OPS = 40,
	CAUSES_MAX = 3,
};

/*
 * The reason why a pulse is in a stall. A stamped gap begins and ends somewhere in its
 * outer pulses.
 */
enum { MARK_EMPTY = 1, MARK_SLOW = 2, MARK_STAMPED = 4 };

#define WINDOW_NS UINT64_C(100000000) /* also the least time of a slow stretch */

static const double unusual = 1.5; /* relative to the mean rate of a counter */

/** The kinds of stalls to look for in a phase. */
struct mode {
	bool finds_gaps, finds_slow;
	uint64_t until_ns; /* since the beginning of the phase */
};

/** The examined pulses of a phase. */
struct look {
	const struct pulses *pulses;
	size_t begin, end;
	uint64_t *sums; /* sums[i]: operations in pulses begin .. begin + i - 1; owned */
	uint8_t *marks; /* MARK_*, not 0: in a stall; owned */
	double median;  /* operations per pulse */
};

static size_t
length(const struct look *look)
{
	return look->end - look->begin;
}

static double
sum_between(const struct look *look, size_t from, size_t to)
{
	return (double)(look->sums[to] - look->sums[from]);
}

/* ---- the pulses to examine ---- */

/** The time at which the first thread was done, if threads began together. */
static uint64_t
end_of_threads(const struct record_group *group, uint64_t span_ns)
{
	uint64_t until_ns = UINT64_MAX;
	uint64_t before_ns = span_ns > group->wall_ns ? span_ns - group->wall_ns : 0;
	for (uint32_t t = 0; group->threads != NULL && t < group->thread_count; t++) {
		uint64_t end_ns = before_ns + group->threads[t].wall_ns;
		if (group->threads[t].ops > 0 && end_ns < until_ns)
			until_ns = end_ns;
	}
	return until_ns;
}

static struct mode
mode_of(const struct record *record, uint32_t phase)
{
	struct record_group groups[NB_GROUPS_MAX];
	size_t count = record_groups(record, groups);
	bool has_closed = false, has_even = false, has_uneven = false;
	uint64_t until_ns = UINT64_MAX;
	for (size_t g = 0; g < count; g++) {
		const struct record_group *group = &groups[g];
		const struct job_result_group *job = group->job;
		if (group->phase != phase)
			continue;
		has_closed |= !group->is_paced;
		if (group->is_paced && job != NULL &&
			(job->speed > 0 || job->rate_text != NULL))
			has_uneven = true;
		else
			has_even |= group->is_paced;
		uint64_t end_ns = end_of_threads(
			group, job != NULL ? job->measured.span_ns : group->wall_ns);
		if (!group->is_background && end_ns < until_ns)
			until_ns = end_ns;
	}
	return (struct mode){.finds_gaps = has_closed || (has_even && !has_uneven),
		.finds_slow = has_closed && !has_uneven,
		.until_ns = until_ns};
}

static uint64_t
warm_until_ns(const struct series *series, const struct pulses *pulses)
{
	uint64_t until_ns = pulses->begin_ns;
	for (size_t i = 0; i < series->count; i++) {
		const struct sample *it = &series->samples[i];
		if (it->is_warmup && it->phase == pulses->phase && it->end_ns > until_ns)
			until_ns = it->end_ns;
	}
	return until_ns - pulses->begin_ns;
}

static size_t
pulses_of(double ops, double mean)
{
	double pulses = ops / mean;
	return pulses <= 1 ? 1 : pulses > 1e9 ? (size_t)1e9 : (size_t)(pulses + 0.999999);
}

static double
find_median(const struct look *look, double mean)
{
	size_t block = pulses_of(BLOCK_OPS, mean), count = length(look) / block;
	double *rates = count > 0 ? malloc(count * sizeof(*rates)) : NULL;
	if (rates == NULL)
		return mean;
	for (size_t i = 0; i < count; i++)
		rates[i] = sum_between(look, i * block, (i + 1) * block) / (double)block;
	stats_sort(rates, count);
	double median = stats_median(rates, count);
	free(rates);
	return median > 0 ? median : mean;
}

/** Prepare a look at a phase. False: nothing to examine. */
static bool
open_look(struct look *look, const struct series *series, const struct pulses *pulses,
	const struct mode *mode)
{
	*look = (struct look){.pulses = pulses};
	if (pulses->pulse_ns == 0 || pulses->count == 0)
		return false;
	uint64_t warm_ns = warm_until_ns(series, pulses);
	size_t end = pulses->count - 1; /* the last one is shorter */
	look->begin = warm_ns / pulses->pulse_ns + (warm_ns % pulses->pulse_ns != 0);
	look->end = mode->until_ns / pulses->pulse_ns < end ? mode->until_ns / pulses->pulse_ns
							    : end;
	if (look->end < PULSES_LEAST || look->end - PULSES_LEAST < look->begin)
		return false;
	look->sums = malloc((length(look) + 1) * sizeof(*look->sums));
	look->marks = calloc(length(look), 1);
	if (look->sums == NULL || look->marks == NULL)
		return false;
	look->sums[0] = 0;
	for (size_t i = 0; i < length(look); i++)
		look->sums[i + 1] = look->sums[i] + pulses->ops[look->begin + i];
	double mean = sum_between(look, 0, length(look)) / (double)length(look);
	look->median = mean > 0 ? find_median(look, mean) : 0;
	return look->median > 0;
}

static void
close_look(struct look *look)
{
	free(look->sums);
	free(look->marks);
}

/* ---- stalls ---- */

static uint64_t
time_at(const struct look *look, size_t i)
{
	return look->pulses->begin_ns + (look->begin + i) * look->pulses->pulse_ns;
}

/** The first i from `from` on at which the run of marked or empty pulses ends. */
static size_t
end_of_row(const struct look *look, size_t from, bool is_of_marks)
{
	size_t i = from;
	while (i < length(look) &&
		(is_of_marks ? look->marks[i] != 0 : look->sums[i + 1] == look->sums[i]))
		i++;
	return i;
}

static void
mark(struct look *look, size_t from, size_t to, uint8_t why)
{
	for (size_t i = from; i < to; i++)
		look->marks[i] |= why;
}

static void
note_gap(struct stalls *out, uint64_t begin_ns, uint64_t gap_ns)
{
	if (gap_ns <= out->longest_gap_ns)
		return;
	out->longest_gap_ns = gap_ns;
	out->longest_gap_at_ns = begin_ns;
}

/** The part of a gap inside the examined time. */
static struct gap
clip(const struct look *look, const struct gap *gap)
{
	uint64_t from_ns = time_at(look, 0), until_ns = time_at(look, length(look));
	uint64_t end_ns = gap->duration_ns < UINT64_MAX - gap->begin_ns
		? gap->begin_ns + gap->duration_ns
		: UINT64_MAX;
	uint64_t begin_ns = gap->begin_ns > from_ns ? gap->begin_ns : from_ns;
	end_ns = end_ns < until_ns ? end_ns : until_ns;
	return (struct gap){begin_ns, end_ns > begin_ns ? end_ns - begin_ns : 0};
}

static bool
is_gap(const struct look *look, const struct gap *gap)
{
	return gap->duration_ns > SERIES_GAP_NS &&
		(double)gap->duration_ns >
		GAP_OPS / look->median * (double)look->pulses->pulse_ns;
}

/** Mark the pulses from the begin of each stamped gap to its end. */
static void
mark_stamped_gaps(struct look *look, struct stalls *out)
{
	uint64_t pulse_ns = look->pulses->pulse_ns;
	for (size_t g = 0; g < look->pulses->gap_count; g++) {
		struct gap gap = clip(look, &look->pulses->gaps[g]);
		if (!is_gap(look, &gap))
			continue;
		size_t from = (gap.begin_ns - time_at(look, 0)) / pulse_ns;
		size_t last = (gap.begin_ns + gap.duration_ns - 1 - time_at(look, 0)) /
			pulse_ns;
		mark(look, from, last + 1, MARK_STAMPED);
		note_gap(out, gap.begin_ns, gap.duration_ns);
	}
}

static void
mark_gaps(struct look *look, struct stalls *out)
{
	double least = GAP_OPS / look->median;
	mark_stamped_gaps(look, out);
	for (size_t i = 0, end; i < length(look); i = end + 1) {
		end = end_of_row(look, i, false);
		if (end - i <= GAP_PULSES || (double)(end - i) <= least)
			continue;
		mark(look, i, end, MARK_EMPTY);
		note_gap(out, time_at(look, i), (end - i) * look->pulses->pulse_ns);
	}
}

static bool
is_slow(const struct look *look, size_t i, size_t radius)
{
	size_t from = i > radius ? i - radius : 0;
	size_t to = i + radius + 1 < length(look) ? i + radius + 1 : length(look);
	return sum_between(look, from, to) < 0.5 * look->median * (double)(to - from);
}

static void
mark_slow(struct look *look)
{
	double mean = sum_between(look, 0, length(look)) / (double)length(look);
	size_t least = (WINDOW_NS + look->pulses->pulse_ns - 1) / look->pulses->pulse_ns;
	size_t window = pulses_of(WINDOW_OPS, mean);
	size_t radius = (window > least ? window : least) / 2;
	for (size_t i = 0, end; i < length(look); i = end + 1) {
		for (end = i; end < length(look) && is_slow(look, end, radius);)
			end++;
		if (end > i && end - i >= least)
			mark(look, i, end, MARK_SLOW);
	}
}

/** Keep the eight longest stalls: replace the shortest by a longer one. */
static void
keep(struct stalls *out, const struct stall *stall)
{
	size_t at = 0;
	if (out->count < STALLS_MAX) {
		out->worst[out->count++] = *stall;
		return;
	}
	for (size_t i = 1; i < STALLS_MAX; i++) {
		if (out->worst[i].duration_ns < out->worst[at].duration_ns)
			at = i;
	}
	if (out->worst[at].duration_ns < stall->duration_ns)
		out->worst[at] = *stall;
}

/** Compute a stall. If it begins or ends with a stamped gap, that gap limits it. */
static struct stall
stall_of(const struct look *look, size_t from, size_t to)
{
	uint64_t begin_ns = time_at(look, from), end_ns = time_at(look, to);
	uint64_t first_ns = UINT64_MAX, last_ns = 0; /* of the stamped gaps at its ends */
	for (size_t g = 0; g < look->pulses->gap_count; g++) {
		struct gap gap = clip(look, &look->pulses->gaps[g]);
		uint64_t gap_end_ns = gap.begin_ns + gap.duration_ns;
		if (!is_gap(look, &gap) || gap.begin_ns >= end_ns || gap_end_ns <= begin_ns)
			continue;
		if (look->marks[from] == MARK_STAMPED && gap.begin_ns < first_ns)
			first_ns = gap.begin_ns;
		if (look->marks[to - 1] == MARK_STAMPED && gap_end_ns > last_ns)
			last_ns = gap_end_ns;
	}
	/* operations in the outer pulses were done before or after the gap */
	if (first_ns < end_ns) {
		begin_ns = first_ns;
		from++;
	}
	if (last_ns > begin_ns) {
		end_ns = last_ns;
		to--;
	}
	struct stall stall = {.begin_ns = begin_ns, .duration_ns = end_ns - begin_ns};
	if (from < to)
		stall.rate_ops_s = sum_between(look, from, to) * 1e9 /
			(double)stall.duration_ns;
	return stall;
}

static void
collect(const struct look *look, struct stalls *out)
{
	for (size_t i = 0, end; i < length(look); i = end + 1) {
		end = end_of_row(look, i, true);
		if (end == i)
			continue;
		struct stall stall = stall_of(look, i, end);
		out->slow_ns += stall.duration_ns;
		keep(out, &stall);
	}
}

static int
compare_stalls(const void *a, const void *b)
{
	const struct stall *x = a, *y = b;
	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* ---- causes ---- */

/** How much a quantity grew during a stall, and during its whole phase. */
struct growth {
	double then, then_ns, all, all_ns;
};

static double
times_the_mean(const struct growth *growth)
{
	if (growth->then <= 0 || growth->then_ns <= 0 || growth->all <= 0)
		return 0;
	return (growth->then / growth->then_ns) / (growth->all / growth->all_ns);
}

static void
add_stretch(struct growth *growth, const struct stall *stall, uint64_t begin_ns,
	uint64_t end_ns, double grown)
{
	growth->all += grown;
	growth->all_ns += (double)(end_ns - begin_ns);
	if (begin_ns < stall->begin_ns + stall->duration_ns && end_ns > stall->begin_ns) {
		growth->then += grown;
		growth->then_ns += (double)(end_ns - begin_ns);
	}
}

static uint32_t
phase_at(const struct series *series, uint64_t at_ns)
{
	for (size_t i = 0; i < series->count; i++) {
		if (series->samples[i].end_ns > at_ns)
			return series->samples[i].phase;
	}
	return series->count > 0 ? series->samples[series->count - 1].phase : 0;
}

/** The growth of counter number `which` in a sample; false: the sample does not have it. */
static bool
counter_growth(const struct sample *sample, size_t which, uint64_t *grown)
{
	*grown = which < sample->counter_count ? sample->counters[which] : 0;
	return sample->counter_count > 0;
}

/** Counts of the system. For times, the share of the stall is reported. */
static const struct {
	size_t offset;
	uint64_t known;
	double least; /* share of the time below which it explains nothing; 0: not a time */
	const char *text;
} signs[] = {
	{offsetof(struct system_counts, throttled_ns), SYSTEM_CGROUP, 0.05,
		"throttled by the cgroup"},
	{offsetof(struct system_counts, steal_ns), SYSTEM_MACHINE, 0.1,
		"CPU taken by the hypervisor"},
	{offsetof(struct system_counts, pressure_io_ns), SYSTEM_PRESSURE, 0.1,
		"waiting for storage"},
	{offsetof(struct system_counts, pressure_memory_ns), SYSTEM_PRESSURE, 0.05,
		"waiting for memory"},
	{offsetof(struct system_counts, pressure_cpu_ns), SYSTEM_PRESSURE, 0.3,
		"waiting for a CPU"},
	{offsetof(struct system_counts, device_busy_ns), SYSTEM_DEVICE, 0.5, "device busy"},
	{offsetof(struct system_counts, device_flushes), SYSTEM_DEVICE, 0, "device flushes"},
	{offsetof(struct system_counts, major_faults), SYSTEM_PROCESS, 0, "major faults"},
};

/** The same for a sign. */
static bool
sign_growth(const struct sample *sample, size_t which, uint64_t *grown)
{
	memcpy(grown, (const char *)&sample->used + signs[which].offset, sizeof(*grown));
	return (sample->used.known & signs[which].known) != 0;
}

/** Sum up the growth. A sample without the counter belongs to the next one that has it. */
static struct growth
growth_of(const struct series *series, const struct stall *stall, size_t which,
	bool (*grow)(const struct sample *sample, size_t which, uint64_t *grown))
{
	struct growth growth = {0};
	uint32_t phase = phase_at(series, stall->begin_ns);
	uint64_t duration_ns = 0;
	for (size_t i = 0; i < series->count; i++) {
		const struct sample *it = &series->samples[i];
		uint64_t grown;
		if (it->phase != phase)
			continue;
		duration_ns += it->duration_ns;
		if (!grow(it, which, &grown))
			continue;
		add_stretch(
			&growth, stall, it->end_ns - duration_ns, it->end_ns, (double)grown);
		duration_ns = 0;
	}
	return growth;
}

struct cause {
	double times; /* relative to the mean rate */
	char text[80];
};

/** Insert a cause into a list with the most unusual ones first. */
static void
add_cause(struct cause causes[CAUSES_MAX], const struct cause *cause)
{
	size_t at = CAUSES_MAX;
	while (at > 0 && causes[at - 1].times < cause->times)
		at--;
	if (at == CAUSES_MAX)
		return;
	memmove(&causes[at + 1], &causes[at], (CAUSES_MAX - 1 - at) * sizeof(*causes));
	causes[at] = *cause;
}

static void
find_counters(
	const struct series *series, const struct stall *stall, struct cause causes[CAUSES_MAX])
{
	for (size_t c = 0; c < series->counters.count; c++) {
		const struct counter *counter = &series->counters.items[c];
		if (counter->kind != NB_STAT_COUNTER || counter->has_run_back)
			continue;
		struct growth growth = growth_of(series, stall, c, counter_growth);
		struct cause cause = {.times = times_the_mean(&growth)};
		char value[UNITS_SIZE];
		if (cause.times < unusual)
			continue;
		if (!units_format_of(value, sizeof(value), counter->unit, growth.then))
			snprintf(value, sizeof(value), "%.0f", growth.then);
		snprintf(cause.text, sizeof(cause.text), "%.40s %s", counter->name, value);
		add_cause(causes, &cause);
	}
}

static void
find_signs(
	const struct series *series, const struct stall *stall, struct cause causes[CAUSES_MAX])
{
	for (size_t s = 0; s < sizeof(signs) / sizeof(*signs); s++) {
		struct growth growth = growth_of(series, stall, s, sign_growth);
		double share = growth.then_ns > 0 ? growth.then / growth.then_ns : 0;
		struct cause cause = {.times = times_the_mean(&growth)};
		if (cause.times < unusual || share < signs[s].least)
			continue;
		if (signs[s].least > 0)
			snprintf(cause.text, sizeof(cause.text), "%s %.0f %% of the time",
				signs[s].text, 100 * share);
		else
			snprintf(cause.text, sizeof(cause.text), "%s %.0f", signs[s].text,
				growth.then);
		add_cause(causes, &cause);
	}
}

static void
find_cause(const struct series *series, struct stall *stall)
{
	struct cause causes[CAUSES_MAX] = {{0}};
	size_t used = 0;
	find_counters(series, stall, causes);
	if (causes[0].times <= 0)
		find_signs(series, stall, causes);
	for (size_t i = 0; i < CAUSES_MAX && causes[i].times > 0; i++) {
		int room = (int)(sizeof(stall->cause) - used);
		int length = snprintf(stall->cause + used, (size_t)room, "%s%s",
			used > 0 ? ", " : "", causes[i].text);
		if (length >= room) {
			stall->cause[used] = '\0';
			return;
		}
		used += (size_t)length;
	}
}

/** Find the stalls of one phase. Returns the length of the examined time. */
static uint64_t
find_in_phase(const struct series *series, const struct pulses *pulses, const struct mode *mode,
	struct stalls *out, double *median_ops_s)
{
	struct look look;
	uint64_t looked_ns = 0;
	if (open_look(&look, series, pulses, mode)) {
		if (mode->finds_gaps)
			mark_gaps(&look, out);
		if (mode->finds_slow)
			mark_slow(&look);
		collect(&look, out);
		looked_ns = length(&look) * pulses->pulse_ns;
		*median_ops_s = look.median * 1e9 / (double)pulses->pulse_ns;
	}
	close_look(&look);
	return looked_ns;
}

void
stalls_find(const struct record *record, struct stalls *out)
{
	const struct series *series = &record->run->measured.series;
	uint64_t longest_ns = 0;
	*out = (struct stalls){0};
	for (size_t p = 0; p < series->pulses_count; p++) {
		struct mode mode = mode_of(record, series->pulses[p].phase);
		double median_ops_s = 0;
		if (!mode.finds_gaps && !mode.finds_slow)
			continue;
		uint64_t looked_ns = find_in_phase(
			series, &series->pulses[p], &mode, out, &median_ops_s);
		if (looked_ns > longest_ns) {
			longest_ns = looked_ns;
			out->median_ops_s = median_ops_s;
		}
		out->looked_ns += looked_ns;
	}
	qsort(out->worst, out->count, sizeof(*out->worst), compare_stalls);
	for (size_t i = 0; i < out->count; i++)
		find_cause(series, &out->worst[i]);
}
