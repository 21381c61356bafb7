/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A partial result during a run, for a process that may be killed before the end.
 *
 * The main thread reads the workers' counts and histograms as they are, like for intervals,
 * without their cooperation. So counts of different kinds are from slightly different times.
 * Data that workers keep for themselves is missing: bytes, records, findings. The series is
 * missing, too, because its size grows with the run: merging it would take most of the CPU time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/histogram.h"
#include "run/run.h"

static int
peek_into(struct nb_histogram **into, const struct nb_histogram *from)
{
	if (from == NULL)
		return NB_OK;
	int rc = *into == NULL ? nb_histogram_new(into) : NB_OK;
	if (rc == NB_OK)
		histogram_peek(*into, from);
	return rc;
}

static int
peek_counts(struct job_kind *into, const struct job_counts *from)
{
	for (int i = 0; i < WORKER_ANSWERS; i++) {
		uint64_t count = __atomic_load_n(&from->answers[i], __ATOMIC_RELAXED);
		into->answers[i] += count;
		into->ops += i == NB_CONFLICT ? 0 : count;
	}
	if (into->ops == 0)
		return NB_OK;
	int rc = peek_into(&into->service, from->service);
	return rc == NB_OK ? peek_into(&into->response, from->response) : rc;
}

static int
peek_worker(struct job_measurement *into, const struct job_worker *worker, uint32_t thread)
{
	int rc = NB_OK;
	uint64_t before = into->ops;
	for (uint32_t kind = 0; kind < NB_KINDS_MAX && rc == NB_OK; kind++) {
		uint64_t ops = into->kinds[kind].ops;
		rc = peek_counts(&into->kinds[kind], &worker->counts[kind]);
		into->threads[thread].kinds[kind] = into->kinds[kind].ops - ops;
		into->ops += into->kinds[kind].ops - ops;
	}
	into->threads[thread].ops = into->ops - before;
	into->threads[thread].wall_ns = into->wall_ns;
	into->threads[thread].done = __atomic_load_n(&worker->done, __ATOMIC_RELAXED);
	into->done += into->threads[thread].done;
	return rc;
}

static int
peek_part(struct job_part *part, uint64_t now_ns)
{
	uint64_t warm_ns = part->group->warmup_ns;
	struct job_measurement *into = &part->measured;
	*into = (struct job_measurement){.has_begun = true,
		.is_partial = true,
		.span_ns = now_ns,
		.wall_ns = now_ns > warm_ns ? now_ns - warm_ns : 0,
		.threads = calloc(part->plan.threads + 1, sizeof(*into->threads))};
	if (into->threads == NULL)
		return error_memory();
	into->thread_count = part->plan.threads;
	if (part->plan.is_sparse) {
		char text[JOB_LATENCY_SIZE];
		snprintf(into->stamping.latency, sizeof(into->stamping.latency), "%s",
			job_latency_text(part->group->latency, text));
	}
	int rc = NB_OK;
	for (uint32_t t = 0; t < part->plan.threads && rc == NB_OK; t++)
		rc = peek_worker(into, part->workers[t], t);
	if (part->plan.schedule != NULL) /* the overdue operations are known only at the end */
		into->offered_ops = (double)into->done;
	return rc;
}

static void
forget_part(struct job_part *part)
{
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
		nb_histogram_delete(part->measured.kinds[kind].service);
		nb_histogram_delete(part->measured.kinds[kind].response);
	}
	free(part->measured.threads);
	part->measured = (struct job_measurement){.has_begun = false};
}

/** Add the results of the active parts so far. The histogram is not the run's own. */
static void
add_parts(struct nb_run *run, uint64_t now_ns)
{
	struct measurement *sum = &run->measured;
	sum->has_begun = sum->is_partial = true;
	sum->wall_ns += now_ns;
	if (sum->begun_at_ns == 0)
		sum->begun_at_ns = clock_real_ns() - now_ns;
	for (size_t p = 0; p < run->active_count; p++) {
		const struct job_measurement *from = &run->active[p]->measured;
		sum->ops += from->ops;
		if (sum->stamping.latency[0] == '\0')
			memcpy(sum->stamping.latency, from->stamping.latency,
				sizeof(sum->stamping.latency));
		for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
			for (int i = 0; i < WORKER_ANSWERS; i++)
				sum->answers[i] += from->kinds[kind].answers[i];
			if (from->kinds[kind].service != NULL)
				nb_histogram_merge(sum->service, from->kinds[kind].service);
		}
	}
}

static int
tell(struct nb_run *run, uint64_t now_ns)
{
	struct measurement own = run->measured;
	int rc = nb_histogram_new(&run->measured.service);
	if (rc != NB_OK) {
		run->measured = own;
		return rc;
	}
	nb_histogram_merge(run->measured.service, own.service);
	run->measured.series = (struct series){0};
	size_t peeked = 0;
	for (; peeked < run->active_count && rc == NB_OK; peeked++)
		rc = peek_part(run->active[peeked], now_ns);
	if (rc == NB_OK) {
		add_parts(run, now_ns);
		run->options.partial(run->options.partial_arg, run);
	}
	while (peeked-- > 0)
		forget_part(run->active[peeked]);
	nb_histogram_delete(run->measured.service);
	run->measured = own;
	return rc;
}

void
job_tell_partial(struct nb_run *run, uint64_t now_ns)
{
	uint64_t every_ns = run->options.partial_ns;
	if (run->options.partial == NULL || every_ns == 0)
		return;
	if (every_ns < PARTIAL_SHARE * run->partial_cost_ns)
		every_ns = PARTIAL_SHARE * run->partial_cost_ns;
	if (now_ns - run->partial_ns < every_ns)
		return;
	uint64_t begin_ns = clock_thread_cpu_ns();
	run->partial_ns = now_ns;
	if (tell(run, now_ns) != NB_OK)
		log_message(NB_LOG_WARNING, "no partial result was made: %s", nb_error_text());
	run->partial_cost_ns = clock_thread_cpu_ns() - begin_ns;
}
