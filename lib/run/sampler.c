/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples of a run, taken by the thread that otherwise waits for the workers.
 *
 * Pulses are the workers' own, taken when they are parked (pulse.c): this thread may not look for
 * a while, above all when the whole process stands still.
 *
 * The latencies of a sample are the difference of two readings of the workers' histograms,
 * which go on meanwhile (histogram_peek). An operation is counted in its block, and a block
 * may be told in the next sample; of all samples together none is missing.
 *
 * What is dear is done less often: the walk over the database's files, and the engine's own
 * counters where they are slow to tell. Rejected: a thread of its own, which would compete
 * with the workers for a CPU where the main thread does so anyway.
 *
 * What would make the numbers wrong: nothing here is allowed to wait, so if memory runs out
 * the sampling ends with a warning, and the run goes on.
 */
#include "run/sampler.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/histogram.h"
#include "run/syncs.h"

enum {
	SELDOM = 10,      /* what is dear is done in one of so many samples */
	EARLY_FACTOR = 5, /* SERIES_SAMPLE_NS / SERIES_SAMPLE_EARLY_NS */
	STRANDS_MAX = 2 * NB_OP_KINDS,
};

#define EARLY_NS UINT64_C(10000000000)      /* of the run, in which there are more samples */
#define DEAR_WALK_NS UINT64_C(5000000)      /* over the files */
#define DEAR_COUNTERS_NS UINT64_C(10000000) /* of the engine */
#define LIVE_NS UINT64_C(250000000)         /* a rate that is shown is of one or two of these */

/** Latencies of one kind of operation. */
struct strand {
	uint32_t kind;
	bool is_response;
	struct nb_histogram *before; /* as of the last sample */
};

/** How far it was at some time since the begin of the phase. */
struct mark {
	uint64_t since_ns, ops;
};

struct sampler {
	struct nb_run *run;
	struct system_probe *probe;
	bool is_of_processes;
	bool is_off;     /* there are no samples, or no more */
	bool is_open;    /* a phase is under way */
	bool has_origin; /* and so a first phase was begun */
	bool is_early;   /* its samples will be merged when that time is over */
	bool is_warm;
	struct sampler_phase phase;
	struct strand strands[STRANDS_MAX];
	size_t strand_count; /* that have memory */
	struct nb_histogram *now, *all;
	uint64_t origin_ns;       /* first operation, on CLOCK_MONOTONIC */
	uint64_t begin_ns;        /* of this phase, since that */
	bool has_begun;           /* begin_ns is known */
	struct mark tick, sample; /* the last ones */
	struct system_counts first, phase_first, last;
	struct counters counted; /* the engine's, as of the last sample that has them */
	bool has_counters;
	uint32_t walks_left, counters_left; /* samples that do without */
	uint64_t data_bytes;                /* as of the last walk */
	struct mark live[2];
	uint64_t p50_ns, p99_ns;
};

/* ---- the system ---- */

static struct system_counts
look(struct sampler *sampler)
{
	struct system_counts counts;
	system_look(sampler->probe, &counts);
	if (sampler->is_of_processes) /* this one says nothing of the others that do the work */
		system_forget(&counts,
			SYSTEM_PROCESS | SYSTEM_IO | SYSTEM_CYCLES | SYSTEM_CACHE |
				SYSTEM_BRANCHES);
	return counts;
}

static struct system_levels
look_levels(struct sampler *sampler, bool must_walk)
{
	struct system_levels levels;
	bool walks = must_walk || sampler->walks_left == 0;
	uint64_t begin_ns = clock_monotonic();
	system_levels(sampler->probe, &levels, walks);
	if (!walks) {
		sampler->walks_left--;
		levels.data_bytes = sampler->data_bytes;
	} else if (clock_monotonic() - begin_ns > DEAR_WALK_NS) {
		sampler->walks_left = SELDOM - 1;
	}
	sampler->data_bytes = levels.data_bytes;
	if (sampler->is_of_processes) {
		levels.anonymous_bytes = levels.file_bytes = levels.shared_bytes = 0;
		levels.threads = 0;
	}
	return levels;
}

/* ---- making and deleting ---- */

/**
 * To a virtual machine each access to a counter of the processor is a call of the hypervisor,
 * some at each switch of a thread. Measured under KVM on the null engine: 2 % of the CPU time
 * for one event, 4 to 5 % for all six. On the bare machine it is a register of its own.
 */
static const char *
no_hardware(const struct nb_run *run)
{
	if (run->sysinfo.hypervisor[0] == '\0' || (run->options.flags & NB_RUN_HARDWARE) != 0)
		return NULL;
	return "left out, as they cost up to 5 % in a virtual machine";
}

int
sampler_new(struct nb_run *run, bool is_of_processes)
{
	struct sampler *sampler = calloc(1, sizeof(*sampler));
	if (sampler == NULL)
		return error_set(NB_FAIL, "out of memory");
	uint64_t asked_ns = run->options.sample_ns;
	*sampler = (struct sampler){.run = run,
		.is_of_processes = is_of_processes,
		.is_off = asked_ns == SAMPLER_OFF,
		.is_early = asked_ns == 0};
	run->measured.series.interval_ns = sampler->is_off ? 0
		: sampler->is_early                        ? SERIES_SAMPLE_EARLY_NS
		: asked_ns > SAMPLER_LEAST_NS              ? asked_ns
							   : SAMPLER_LEAST_NS;
	int rc = nb_histogram_new(&sampler->now);
	if (rc == NB_OK)
		rc = nb_histogram_new(&sampler->all);
	if (rc == NB_OK && is_of_processes)
		rc = syncs_share();
	if (rc == NB_OK) {
		syncs_begin();
		sampler->probe = system_probe_new(run->path, run->environment.device_major,
			run->environment.device_minor, no_hardware(run));
		rc = sampler->probe != NULL ? NB_OK : NB_FAIL;
	}
	if (rc != NB_OK) {
		sampler_delete(sampler);
		return rc;
	}
	snprintf(run->measured.used_missing, sizeof(run->measured.used_missing), "%s",
		is_of_processes ? "of several processes only the machine's are known"
				: system_missing(sampler->probe));
	snprintf(run->measured.syncs_missing, sizeof(run->measured.syncs_missing), "%s",
		syncs_missing());
	run->sampler = sampler;
	return NB_OK;
}

void
sampler_delete(struct sampler *sampler)
{
	if (sampler == NULL)
		return;
	for (size_t i = 0; i < sampler->strand_count; i++)
		nb_histogram_delete(sampler->strands[i].before);
	nb_histogram_delete(sampler->now);
	nb_histogram_delete(sampler->all);
	counters_destroy(&sampler->counted);
	system_probe_delete(sampler->probe);
	free(sampler);
}

/** Memory has run out; what there is stays. */
static void
give_up(struct sampler *sampler)
{
	log_message(NB_LOG_WARNING, "no more samples of this run: %s", nb_error_text());
	sampler->is_off = true;
}

/* ---- pulses ---- */

static int
take_pulses(struct sampler *sampler, uint64_t since_ns)
{
	struct series *series = &sampler->run->measured.series;
	void *grown = realloc(
		series->pulses, (series->pulses_count + 1) * sizeof(*series->pulses));
	if (grown == NULL)
		return error_set(NB_FAIL, "out of memory");
	series->pulses = grown;
	struct pulse_track *track = malloc(sizeof(*track));
	if (track == NULL)
		return error_set(NB_FAIL, "out of memory");
	sampler->phase.pulses(sampler->phase.arg, track);
	struct pulses *pulses = &series->pulses[series->pulses_count];
	*pulses = (struct pulses){.begin_ns = sampler->begin_ns, .phase = sampler->phase.phase};
	int rc = pulse_take(pulses, track, &sampler->run->clock, since_ns);
	series->pulses_count += rc == NB_OK;
	free(track);
	return rc;
}

/* ---- samples ---- */

/** Whether somebody looks at the latencies of all kinds together. */
static bool
is_shown(const struct sampler *sampler)
{
	return sampler->run->options.progress != NULL;
}

static int
take_latency(struct sampler *sampler, const struct strand *strand, struct sample *sample)
{
	struct nb_histogram *now = sampler->now;
	nb_histogram_reset(now);
	sampler->phase.peek(sampler->phase.arg, strand->kind, strand->is_response, now);
	histogram_since(now, strand->before);
	uint64_t count = nb_histogram_count(now);
	if (count == 0)
		return NB_OK;
	if (is_shown(sampler) && strand->is_response == sampler->phase.has_response)
		nb_histogram_merge(sampler->all, now);
	struct sample_latency *into = &sample->latencies[sample->latency_count];
	*into = (struct sample_latency){.kind = strand->kind,
		.is_response = strand->is_response,
		.count = count,
		.p50_ns = histogram_supported(now, 50),
		.p99_ns = histogram_supported(now, 99),
		.p999_ns = histogram_supported(now, 99.9),
		.max_ns = nb_histogram_max(now)};
	int rc = nb_histogram_encode(now, &into->hdr);
	sample->latency_count += rc == NB_OK;
	return rc;
}

static int
take_latencies(struct sampler *sampler, struct sample *sample)
{
	sample->latencies = calloc(sampler->strand_count + 1, sizeof(*sample->latencies));
	if (sample->latencies == NULL)
		return error_set(NB_FAIL, "out of memory");
	if (is_shown(sampler))
		nb_histogram_reset(sampler->all);
	int rc = NB_OK;
	for (size_t i = 0; i < sampler->strand_count && rc == NB_OK; i++) {
		uint32_t kind = sampler->strands[i].kind;
		if ((sampler->phase.kinds >> kind & 1) != 0)
			rc = take_latency(sampler, &sampler->strands[i], sample);
	}
	if (is_shown(sampler)) {
		sampler->p50_ns = histogram_supported(sampler->all, 50);
		sampler->p99_ns = histogram_supported(sampler->all, 99);
	}
	return rc;
}

/** Most engines tell theirs in the same order each time. */
static const struct counter *
counter_at(const struct counters *counters, size_t index, const char *name)
{
	if (index < counters->count && strcmp(counters->items[index].name, name) == 0)
		return &counters->items[index];
	return counters_find(counters, name);
}

static uint64_t
counter_growth(const struct counters *from, const struct counters *until, size_t index,
	const struct counter *like)
{
	const struct counter *was = counter_at(from, index, like->name);
	const struct counter *is = counter_at(until, index, like->name);
	uint64_t before = was != NULL ? was->value : 0, after = is != NULL ? is->value : 0;
	if (like->kind == NB_STAT_GAUGE)
		return after;
	return after > before ? after - before : 0;
}

static int
add_counters(struct sampler *sampler, struct sample *sample, const struct counters *now)
{
	struct counters *all = &sampler->run->measured.series.counters;
	int rc = counters_add_growth(all, &sampler->counted, now);
	if (rc != NB_OK)
		return rc;
	sample->counters = calloc(all->count + 1, sizeof(*sample->counters));
	if (sample->counters == NULL)
		return error_set(NB_FAIL, "out of memory");
	sample->counter_count = all->count;
	for (size_t i = 0; i < all->count; i++)
		sample->counters[i] = counter_growth(&sampler->counted, now, i, &all->items[i]);
	return NB_OK;
}

static int
take_counters(struct sampler *sampler, struct sample *sample, bool is_end)
{
	struct nb_run *run = sampler->run;
	if (!sampler->has_counters || run->left.is_left)
		return NB_OK;
	if (sampler->counters_left > 0 && !is_end) {
		sampler->counters_left--;
		return NB_OK;
	}
	int rc = run_ask_counters(run);
	if (run->left.is_left)
		return NB_OK; /* which is told elsewhere */
	if (run->call_ns > DEAR_COUNTERS_NS)
		sampler->counters_left = SELDOM - 1;
	if (rc == NB_OK)
		rc = add_counters(sampler, sample, &run->told);
	counters_destroy(&sampler->counted);
	sampler->counted = run->told;
	run->told = (struct counters){0};
	return rc;
}

static bool
is_of_warmup(const struct sampler *sampler, uint64_t since_ns, uint64_t done)
{
	return since_ns <= sampler->phase.warm_ns && sampler->phase.warm_ns > 0
		? true
		: done <= sampler->phase.warm_ops && sampler->phase.warm_ops > 0;
}

static int
make_sample(struct sampler *sampler, struct sample *sample, uint64_t since_ns, uint64_t done,
	bool is_end)
{
	const struct sampler_phase *phase = &sampler->phase;
	struct system_counts now = look(sampler);
	*sample = (struct sample){.end_ns = sampler->begin_ns + since_ns,
		.duration_ns = since_ns - sampler->sample.since_ns,
		.ops = done - sampler->sample.ops,
		.behind_ops = phase->behind != NULL ? phase->behind(phase->arg, since_ns) : 0,
		.phase = phase->phase,
		.is_warmup = !sampler->is_warm,
		.used = system_between(&sampler->last, &now),
		.levels = look_levels(sampler, is_end)};
	sampler->last = now;
	int rc = take_latencies(sampler, sample);
	return rc == NB_OK ? take_counters(sampler, sample, is_end) : rc;
}

/** There is no more of it than series.h says. */
static int
bound_series(struct sampler *sampler, uint64_t at_ns)
{
	struct series *series = &sampler->run->measured.series;
	int rc = NB_OK;
	if (sampler->is_early && at_ns >= EARLY_NS) {
		sampler->is_early = false;
		rc = series_merge(series, EARLY_FACTOR);
	}
	if (rc == NB_OK && series->count >= SERIES_SAMPLES_MAX)
		rc = series_merge(series, 2);
	return rc;
}

static void
take_sample(struct sampler *sampler, uint64_t since_ns, uint64_t done, bool is_end)
{
	struct sample sample;
	int rc = make_sample(sampler, &sample, since_ns, done, is_end);
	if (rc == NB_OK)
		rc = series_add(&sampler->run->measured.series, &sample);
	else
		sample_destroy(&sample);
	sampler->sample = (struct mark){since_ns, done};
	if (rc == NB_OK)
		rc = bound_series(sampler, sampler->begin_ns + since_ns);
	if (rc != NB_OK)
		give_up(sampler);
}

/* ---- phases ---- */

/** Memory for the strands of the phase that no phase before has had. */
static int
make_strands(struct sampler *sampler)
{
	for (uint32_t at = 0; at < STRANDS_MAX; at++) {
		uint32_t kind = at / 2;
		bool is_response = at % 2 != 0, is_there = false;
		for (size_t i = 0; i < sampler->strand_count; i++)
			is_there |= sampler->strands[i].kind == kind &&
				sampler->strands[i].is_response == is_response;
		if (is_there || (sampler->phase.kinds >> kind & 1) == 0 ||
			(is_response && !sampler->phase.has_response))
			continue;
		struct strand *strand = &sampler->strands[sampler->strand_count];
		*strand = (struct strand){.kind = kind, .is_response = is_response};
		int rc = nb_histogram_new(&strand->before);
		if (rc != NB_OK)
			return rc;
		sampler->strand_count++;
	}
	for (size_t i = 0; i < sampler->strand_count; i++)
		nb_histogram_reset(sampler->strands[i].before);
	return NB_OK;
}

static void
begin_counters(struct sampler *sampler)
{
	const struct nb_engine *engine = &sampler->run->engine->table;
	counters_destroy(&sampler->counted);
	sampler->has_counters = !sampler->is_off && sampler->phase.db != NULL &&
		engine->stats != NULL && (engine->caps & NB_CAP_CONCURRENT) != 0;
	if (!sampler->has_counters)
		return;
	if (run_ask_counters(sampler->run) != NB_OK && !sampler->run->left.is_left)
		give_up(sampler);
	sampler->counted = sampler->run->told;
	sampler->run->told = (struct counters){0};
}

void
sampler_begin(struct sampler *sampler, const struct sampler_phase *phase)
{
	if (sampler == NULL)
		return;
	struct measurement *measured = &sampler->run->measured;
	sampler->phase = *phase;
	sampler->is_open = true;
	sampler->has_begun = false;
	sampler->is_warm = phase->warm_ns == 0 && phase->warm_ops == 0;
	sampler->tick = sampler->sample = sampler->live[0] = sampler->live[1] = (struct mark){
		0};
	if (!sampler->is_off && make_strands(sampler) != NB_OK)
		give_up(sampler);
	begin_counters(sampler);
	struct system_levels levels = look_levels(sampler, true);
	sampler->last = sampler->phase_first = look(sampler);
	if (sampler->has_origin)
		return;
	measured->before = levels;
	sampler->first = sampler->last;
}

/** Where the phase is in the time of the run: known when its first operation has begun. */
static void
place(struct sampler *sampler, uint64_t since_ns)
{
	uint64_t begin_ns = clock_monotonic() - since_ns;
	if (!sampler->has_origin)
		sampler->origin_ns = begin_ns;
	sampler->has_origin = sampler->has_begun = true;
	sampler->begin_ns = begin_ns > sampler->origin_ns ? begin_ns - sampler->origin_ns : 0;
}

static void
note_live(struct sampler *sampler, uint64_t since_ns, uint64_t done)
{
	sampler->tick = (struct mark){since_ns, done};
	if (since_ns - sampler->live[1].since_ns < LIVE_NS)
		return;
	sampler->live[0] = sampler->live[1];
	sampler->live[1] = sampler->tick;
}

void
sampler_tick(struct sampler *sampler, uint64_t since_ns, uint64_t done)
{
	if (sampler == NULL || !sampler->is_open || since_ns <= sampler->tick.since_ns)
		return;
	if (!sampler->has_begun)
		place(sampler, since_ns);
	bool has_warmed = !sampler->is_warm && !is_of_warmup(sampler, since_ns, done);
	if (!sampler->is_off) {
		uint64_t interval_ns = sampler->run->measured.series.interval_ns;
		if (has_warmed || since_ns - sampler->sample.since_ns >= interval_ns)
			take_sample(sampler, since_ns, done, false);
	}
	sampler->is_warm |= has_warmed;
	note_live(sampler, since_ns, done);
}

void
sampler_end(struct sampler *sampler, uint64_t since_ns, uint64_t done)
{
	if (sampler == NULL || !sampler->is_open)
		return;
	struct measurement *measured = &sampler->run->measured;
	if (since_ns > 0 && !sampler->has_begun)
		place(sampler, since_ns);
	struct system_counts used = look(sampler);
	used = system_between(&sampler->phase_first, &used);
	system_add(&measured->used, &used);
	measured->after = look_levels(sampler, true);
	sampler->is_warm |= !is_of_warmup(sampler, since_ns, done);
	if (sampler->has_begun && !sampler->is_off) {
		if (take_pulses(sampler, since_ns) != NB_OK)
			give_up(sampler);
		if (since_ns > sampler->sample.since_ns)
			take_sample(sampler, since_ns, done, true);
	}
	sampler->is_open = false;
}

void
sampler_finish(struct sampler *sampler)
{
	if (sampler == NULL || !sampler->has_origin)
		return;
	struct measurement *measured = &sampler->run->measured;
	struct system_counts all = look(sampler);
	all = system_between(&sampler->first, &all);
	measured->used_after = system_between(&measured->used, &all);
	measured->durable_by = syncs_elsewhere();
}

void
sampler_tell(const struct sampler *sampler, struct nb_progress *progress)
{
	if (sampler == NULL || !sampler->is_open || !sampler->has_begun)
		return;
	const struct mark *from = &sampler->live[0], *to = &sampler->tick;
	if (to->since_ns > from->since_ns)
		progress->rate_ops_s = (double)(to->ops - from->ops) * 1e9 /
			(double)(to->since_ns - from->since_ns);
	progress->p50_ns = sampler->p50_ns;
	progress->p99_ns = sampler->p99_ns;
	progress->is_warmup = !sampler->is_warm;
	if (sampler->phase.errors != NULL)
		progress->errors = sampler->phase.errors(sampler->phase.arg);
}
