/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sums of the workers' counts: during the run, per interval, and at its end.
 *
 * During the run, the workers are not interrupted. Their counters and the counts of their
 * histograms are read as they are. An interval is the difference of two readings. So its
 * percentiles are those of its own operations, not a mean of others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/histogram.h"
#include "run/run.h"
#include "run/steps.h"
#include "run/sampler.h"

enum { STEADY_LOOKS = 10 }; /* per window */

/* ---- during the run ---- */

uint64_t
job_done(const struct nb_run *run)
{
	uint64_t done = 0;
	for (size_t p = 0; p < run->active_count; p++) {
		const struct job_part *part = run->active[p];
		for (uint32_t t = 0; t < part->plan.threads; t++)
			done += __atomic_load_n(&part->workers[t]->done, __ATOMIC_RELAXED);
	}
	return done;
}

static uint64_t
since_begin_ns(const struct nb_run *run)
{
	const struct clock *clock = &run->clock;
	uint64_t begin = __atomic_load_n(&run->shared->gate.begin, __ATOMIC_ACQUIRE);
	uint64_t now = clock_stamp(clock->kind);
	return begin == UINT64_MAX || now < begin ? 0 : clock_ns(clock, now - begin);
}

static void
peek(struct nb_run *run)
{
	nb_histogram_reset(run->interval_now);
	for (size_t p = 0; p < run->active_count; p++) {
		const struct job_part *part = run->active[p];
		for (uint32_t t = 0; t < part->plan.threads; t++) {
			for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
				const struct job_counts *counts =
					&part->workers[t]->counts[kind];
				if (counts->service != NULL)
					histogram_peek(run->interval_now,
						counts->response != NULL ? counts->response
									 : counts->service);
			}
		}
	}
	histogram_since(run->interval_now, run->interval_before);
}

/** Add the counts of all workers for one kind. */
static void
peek_kind(void *arg, uint32_t kind, bool is_response, struct nb_histogram *into)
{
	const struct nb_run *run = arg;
	if (run->classic != NULL)
		kind = run->active[0]->spec.one_kind;
	for (size_t p = 0; p < run->active_count; p++) {
		const struct job_part *part = run->active[p];
		for (uint32_t t = 0; t < part->plan.threads; t++) {
			const struct job_counts *counts = &part->workers[t]->counts[kind];
			const struct nb_histogram *from = is_response ? counts->response
								      : counts->service;
			if (from != NULL)
				histogram_peek(into, from);
		}
	}
}

/** Sum up each kind since the end of the warm-up. */
static void
peek_kinds(struct nb_run *run, struct nb_interval_kind kinds[NB_KINDS_MAX])
{
	struct nb_histogram *now = run->interval_now;
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
		nb_histogram_reset(now);
		peek_kind(run, kind, false, now);
		kinds[kind] = (struct nb_interval_kind){.ops = nb_histogram_count(now),
			.mean_ns = nb_histogram_mean(now),
			.min_ns = nb_histogram_min(now),
			.max_ns = nb_histogram_max(now)};
	}
}

/** The operations of `count` that were due by `until_ns`; for this shard's threads. */
static double
offered_by(const struct job_plan *plan, uint64_t until_ns, uint64_t count)
{
	double offered = schedule_offered(plan->schedule, until_ns) * plan->threads /
		plan->of_all;
	return count != UINT64_MAX && offered > (double)count ? (double)count : offered;
}

static uint64_t
behind(const struct nb_run *run, uint64_t at_ns)
{
	double ops = 0;
	for (size_t p = 0; p < run->active_count; p++) {
		const struct job_part *part = run->active[p];
		if (part->plan.schedule == NULL)
			continue;
		uint64_t end_ns = part->group->duration_ns;
		uint64_t until_ns = end_ns > 0 && end_ns < at_ns ? end_ns : at_ns;
		double offered = offered_by(&part->plan, until_ns, job_own_count(&part->plan));
		for (uint32_t t = 0; t < part->plan.threads; t++)
			offered -= (double)__atomic_load_n(
				&part->workers[t]->done, __ATOMIC_RELAXED);
		ops += offered > 0 ? offered : 0;
	}
	return (uint64_t)ops;
}

static uint64_t
warmup_ns(const struct nb_run *run)
{
	uint64_t longest = 0;
	for (size_t p = 0; p < run->active_count; p++) {
		uint64_t own = run->active[p]->group->warmup_ns;
		longest = own > longest ? own : longest;
	}
	return longest;
}

static void
tell_interval(struct nb_run *run, uint64_t now_ns, uint64_t done)
{
	uint64_t duration_ns = now_ns - run->interval_ns;
	struct nb_interval_kind kinds[NB_KINDS_MAX];
	bool has_kinds = run->job->graph != NULL;
	if (duration_ns == 0)
		return;
	if (has_kinds)
		peek_kinds(run, kinds);
	peek(run);
	struct nb_interval interval = {.size = sizeof(interval),
		.end_ns = now_ns,
		.duration_ns = duration_ns,
		.ops = done - run->interval_ops,
		.rate_ops_s = (double)(done - run->interval_ops) * 1e9 / (double)duration_ns,
		.p50_ns = histogram_supported(run->interval_now, 50),
		.p99_ns = histogram_supported(run->interval_now, 99),
		.max_ns = nb_histogram_max(run->interval_now),
		.behind_ops = behind(run, now_ns),
		.is_warmup = run->interval_ns + duration_ns / 2 < warmup_ns(run),
		.phase = run->phase,
		.kinds = has_kinds ? kinds : NULL};
	run->options.interval(run->options.interval_arg, &interval);
	run->interval_ns = now_ns;
	run->interval_ops = done;
}

static bool
look_steady(struct nb_run *run, uint64_t now_ns, uint64_t done)
{
	uint64_t pace_ns = run->options.steady.window_ns / STEADY_LOOKS;
	if (pace_ns == 0 || run->is_steady || now_ns < warmup_ns(run))
		return false;
	if (run->steady_ns == 0) {
		run->steady_ns = now_ns;
		run->steady_ops = done;
		return false;
	}
	if (now_ns - run->steady_ns < pace_ns)
		return false;
	double seconds = (double)(now_ns - run->steady_ns) * 1e-9;
	run->is_steady = steady_add(&run->steady, (double)(done - run->steady_ops) / seconds);
	run->steady_ns = now_ns;
	run->steady_ops = done;
	return run->is_steady;
}

bool
job_watch(struct nb_run *run, bool is_end)
{
	uint64_t now_ns = since_begin_ns(run), every_ns = run->options.interval_ns;
	if (now_ns == 0)
		return false;
	uint64_t done = job_done(run);
	sampler_tick(run->sampler, now_ns, done);
	bool is_due = now_ns - run->interval_ns >= every_ns ||
		(is_end && done > run->interval_ops);
	if (every_ns > 0 && run->options.interval != NULL && is_due)
		tell_interval(run, now_ns, done);
	if (!is_end)
		job_tell_partial(run, now_ns);
	return !is_end && look_steady(run, now_ns, done);
}

/* ---- callbacks of the sampler ---- */

static uint64_t
behind_now(void *arg, uint64_t since_ns)
{
	return behind(arg, since_ns);
}

static uint64_t
errors(void *arg)
{
	const struct nb_run *run = arg;
	uint64_t sum = 0;
	for (size_t p = 0; p < run->active_count; p++) {
		const struct job_part *part = run->active[p];
		for (uint32_t t = 0; t < part->plan.threads; t++) {
			for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
				const uint64_t *answers =
					part->workers[t]->counts[kind].answers;
				sum += __atomic_load_n(
					&answers[NB_NOT_FOUND], __ATOMIC_RELAXED);
				sum += __atomic_load_n(&answers[NB_CONFLICT], __ATOMIC_RELAXED);
			}
		}
	}
	return sum;
}

static void
add_pulses(void *arg, struct pulse_track *into)
{
	const struct nb_run *run = arg;
	pulse_begin(into, &run->clock, run->shared->gate.begin);
	for (size_t p = 0; p < run->active_count; p++) {
		const struct job_part *part = run->active[p];
		for (uint32_t t = 0; t < part->plan.threads; t++)
			if (part->workers[t]->counted > 0)
				pulse_merge(into, &part->workers[t]->pulses);
	}
}

void
job_sample_begin(struct nb_run *run)
{
	struct sampler_phase phase = {.phase = run->phase,
		.db = run->options.procs > 1 ? NULL : run->db,
		.warm_ns = warmup_ns(run),
		.arg = run,
		.peek = peek_kind,
		.pulses = add_pulses,
		.errors = errors};
	for (size_t p = 0; p < run->active_count; p++) {
		const struct job_plan *plan = &run->active[p]->plan;
		/* a trace may contain any kind */
		phase.kinds |= plan->feed != NULL ? (1u << NB_OP_KINDS) - 1
			: run->classic != NULL    ? 1 /* one kind, in the first position */
						  : plan->kinds;
		phase.has_response |= plan->is_paced;
		phase.warm_ops += plan->warmup_count;
		if (plan->schedule != NULL)
			phase.behind = behind_now;
	}
	sampler_begin(run->sampler, &phase);
}

void
job_sample_end(struct nb_run *run)
{
	sampler_end(run->sampler, since_begin_ns(run), job_done(run));
}

/* ---- at the end ---- */

static int
merge_histogram(struct nb_histogram **into, const struct nb_histogram *from)
{
	if (from == NULL || nb_histogram_count(from) == 0)
		return NB_OK;
	if (*into == NULL) {
		int rc = nb_histogram_new(into);
		if (rc != NB_OK)
			return rc;
	}
	nb_histogram_merge(*into, from);
	return NB_OK;
}

static int
collect_kind(struct job_kind *into, const struct job_counts *from)
{
	for (int i = 0; i < WORKER_ANSWERS; i++) {
		into->answers[i] += from->answers[i];
		into->ops += i == NB_CONFLICT ? 0 : from->answers[i];
	}
	into->records += from->records;
	into->bytes += from->bytes;
	int rc = NB_OK;
	if (into->ops > 0 && into->service == NULL) /* there may be no stamped operation */
		rc = nb_histogram_new(&into->service);
	if (rc == NB_OK)
		rc = merge_histogram(&into->service, from->service);
	return rc == NB_OK ? merge_histogram(&into->response, from->response) : rc;
}

static void
collect_findings(struct job_findings *into, const struct job_findings *from)
{
	into->verified += from->verified;
	into->foreign += from->foreign;
	into->read_back += from->read_back;
	for (int i = 0; i < JOB_VERDICTS; i++)
		into->verdicts[i] += from->verdicts[i];
	for (uint64_t i = 0; i < from->case_count && into->case_count < JOB_CASES; i++)
		into->cases[into->case_count++] = from->cases[i];
}

static int
collect_worker(struct nb_run *run, struct job_part *part, uint32_t thread)
{
	struct job_measurement *measured = &part->measured;
	const struct job_worker *worker = part->workers[thread];
	struct job_thread *own = &measured->threads[thread];
	*own = (struct job_thread){.ops = worker->measured,
		.done = worker->counted,
		.wall_ns = clock_ns(&run->clock, worker->last_ticks - worker->first_ticks)};
	uint32_t level = steps_level(worker);
	if (level != STEPS_NONE && (measured->level == STEPS_NONE || level < measured->level))
		measured->level = level;
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
		uint64_t before = measured->kinds[kind].ops;
		int rc = collect_kind(&measured->kinds[kind], &worker->counts[kind]);
		if (rc != NB_OK)
			return rc;
		own->kinds[kind] = measured->kinds[kind].ops - before;
		for (int i = 0; i < WORKER_ANSWERS; i++)
			measured->commits += job_is_commit(kind, i)
				? worker->counts[kind].answers[i]
				: 0;
	}
	measured->stamping.ops += worker->unstamped.ops;
	measured->stamping.stretches += worker->unstamped.count;
	measured->stamping.ns += clock_ns(&run->clock, worker->unstamped.ticks);
	measured->commits += worker->warm_commits;
	measured->ops += worker->measured;
	measured->done += worker->counted;
	measured->waited_ns += worker->waited_ns;
	measured->spin_ns += clock_ns(&run->clock, worker->pacer.spin_ticks);
	if (worker->lag_ns > measured->lag_ns)
		measured->lag_ns = worker->lag_ns;
	if (worker->lag_max_ns > measured->lag_max_ns)
		measured->lag_max_ns = worker->lag_max_ns;
	collect_findings(&measured->findings, &worker->findings);
	int rc = run->is_measured ? merge_histogram(&run->measured.batch, worker->batch)
				  : NB_OK;
	if (rc != NB_OK)
		return rc;
	return part->plan.is_paced
		? merge_histogram(&measured->lateness, &worker->pacer.lateness)
		: NB_OK;
}

/**
 * Measure from the first measured operation, and from the start, to the end of the last
 * operation.
 */
static void
measure_time(struct nb_run *run, struct job_part *part)
{
	uint64_t first = UINT64_MAX, last = 0, begin = run->shared->gate.begin;
	for (uint32_t t = 0; t < part->plan.threads; t++) {
		const struct job_worker *worker = part->workers[t];
		if (worker->measured == 0)
			continue;
		first = worker->first_ticks < first ? worker->first_ticks : first;
		last = worker->last_ticks > last ? worker->last_ticks : last;
	}
	if (last == 0 || begin == UINT64_MAX)
		return;
	part->measured.wall_ns = clock_ns(&run->clock, last - first);
	part->measured.span_ns = clock_ns(&run->clock, last - begin);
}

/** Whether the part ended before its limit. In the background it has none. */
static bool
is_partial(const struct nb_run *run, const struct job_part *part)
{
	uint64_t wanted = job_own_count(&part->plan);
	if (!part->is_foreground || (wanted != UINT64_MAX && part->measured.done >= wanted))
		return false;
	if (run->was_cut || part->feed_rc != NB_OK || stop_requested())
		return true;
	return wanted != UINT64_MAX && part->plan.end_ticks == UINT64_MAX && !run->is_steady;
}

int
job_collect(struct nb_run *run, struct job_part *part)
{
	struct job_measurement *measured = &part->measured;
	uint32_t count = part->plan.threads;
	measured->threads = calloc(count, sizeof(*measured->threads));
	if (measured->threads == NULL)
		return error_memory();
	measured->thread_count = count;
	if (part->plan.is_sparse) {
		char text[JOB_LATENCY_SIZE];
		snprintf(measured->stamping.latency, sizeof(measured->stamping.latency), "%s",
			job_latency_text(part->group->latency, text));
	}
	measure_time(run, part);
	int rc = NB_OK;
	for (uint32_t t = 0; t < count && rc == NB_OK; t++)
		rc = collect_worker(run, part, t);
	measured->has_begun = measured->done > 0;
	uint64_t wanted = part->plan.feed != NULL ? trace_reader_counts(part->reader)->ops
						  : job_own_count(&part->plan);
	measured->is_partial = is_partial(run, part);
	if (run->is_measured && part->plan.depth > 1) {
		struct measurement *sum = &run->measured;
		sum->depth = part->plan.depth > sum->depth ? part->plan.depth : sum->depth;
		if (part->plan.batch_bytes > sum->batch_bytes)
			sum->batch_bytes = part->plan.batch_bytes;
	}
	if (part->plan.schedule != NULL) {
		uint64_t until_ns = part->group->duration_ns;
		if (until_ns == 0 || until_ns > measured->span_ns)
			until_ns = measured->span_ns;
		measured->offered_ops = offered_by(&part->plan, until_ns, wanted);
	}
	return rc;
}

void
job_collect_read_back(struct nb_run *run, struct job_part *part)
{
	for (uint32_t t = 0; t < part->plan.threads; t++) {
		const struct job_findings *findings = &part->workers[t]->findings;
		collect_findings(&part->measured.findings, findings);
		run->measured.findings.verified += findings->verified;
	}
}

/* ---- verdict ---- */

static int
judge_part(const struct job_part *part)
{
	const struct job_findings *findings = &part->measured.findings;
	uint64_t wrong = 0;
	char text[256] = "";
	for (int i = JOB_GOOD + 1; i < JOB_VERDICTS; i++) {
		size_t used = strlen(text);
		if (findings->verdicts[i] == 0)
			continue;
		wrong += findings->verdicts[i];
		snprintf(text + used, sizeof(text) - used, "%s%s %llu", used > 0 ? ", " : "",
			job_verdict_name(i), (unsigned long long)findings->verdicts[i]);
	}
	if (wrong == 0)
		return NB_OK;
	bool is_other = findings->verdicts[JOB_MISSING] == findings->verified;
	bool is_again = findings->verdicts[JOB_EXISTS] == wrong;
	return error_set(NB_ERR_DATA,
		"%s: %llu of %llu verified records are wrong: %s; the first are listed in the report%s",
		part->group->name, (unsigned long long)wrong,
		(unsigned long long)findings->verified, text,
		is_other ? ". Was this database loaded with the same keys and records?"
			: is_again ? ". If an earlier run inserted them, use --fresh"
				   : "");
}

int
job_judge(const struct nb_run *run)
{
	int rc = judge_part(&run->loading);
	for (size_t g = 0; g < run->part_count && rc == NB_OK; g++)
		rc = judge_part(&run->parts[g]);
	return rc;
}
