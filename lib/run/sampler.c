/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples of a run, taken by the thread that otherwise waits for the workers.
 *
 * Workers record their own pulses, which are taken when the workers are parked (pulse.c). This
 * thread may be delayed, above all when the whole process stands still.
 *
 * The latencies of a sample are the difference of two readings of the workers' histograms,
 * which continue meanwhile (histogram_peek). An operation is counted with its block, perhaps in
 * the next sample. All samples together contain each operation.
 *
 * Expensive readings are less frequent: the walk over the database's files, and the engine's
 * counters if they are slow. Rejected: a separate thread. It would compete with the workers for
 * a CPU, where the main thread does so anyway.
 *
 * With a memory limit, mininb's share of it is measured in a short run. So memory for samples
 * and pulses is allocated before the run, and a series that needs more is made coarser.
 *
 * Nothing here may wait. If memory runs out, the sampling ends with a warning, and the run
 * continues.
 */
#include "run/sampler.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/histogram.h"
#include "run/reserve.h"
#include "run/syncs.h"

enum {
	SELDOM = 10,      /* one in this many samples has expensive readings */
	EARLY_FACTOR = 5, /* SERIES_SAMPLE_NS / SERIES_SAMPLE_EARLY_NS */
};

#define EARLY_NS UINT64_C(10000000000)      /* part of the run with more samples */
#define DEAR_WALK_NS UINT64_C(5000000)      /* a slower walk over the files is expensive */
#define DEAR_SERVER_NS UINT64_C(2000000)    /* a slower reading of servers' memory is */
#define DEAR_COUNTERS_NS UINT64_C(10000000) /* slower counters of the engine are */
#define LIVE_NS UINT64_C(250000000)         /* a displayed rate covers one or two of these */

/** The progress at a time since the start of the phase. */
struct mark {
	uint64_t since_ns, ops;
};

struct sampler {
	struct nb_run *run;
	struct system_probe *probe;
	bool is_of_processes;
	bool is_off;     /* no samples, or no more */
	bool is_open;    /* a phase is in progress */
	bool has_origin; /* a first phase has begun */
	bool is_early;   /* samples are frequent, and are merged later */
	bool is_warm;
	struct sampler_phase phase;
	/* at the last sample: service, response; NULL: no phase has had it */
	struct nb_histogram *before[NB_KINDS_MAX][2];
	struct nb_histogram *now, *all;
	struct pulse_track *track; /* of all workers, when they are parked */
	struct reserve reserve;    /* for samples; only with a memory limit */
	uint64_t origin_ns;        /* CLOCK_MONOTONIC of the first operation */
	uint64_t begin_ns;         /* start of this phase, since origin_ns */
	bool has_begun;            /* begin_ns is known */
	struct mark tick, sample;  /* the last ones */
	struct system_counts first, phase_first, last;
	struct target_usage server,
		server_last;     /* at the start of the phase; at the last sample */
	struct counters counted; /* the engine's counters at the last sample that has them */
	bool has_counters;
	uint32_t walks_left, counters_left, server_left; /* samples to skip */
	uint64_t data_bytes;                             /* at the last walk */
	struct mark live[2];
	uint64_t p50_ns, p99_ns;
};

/* ---- the system ---- */

static struct system_counts
look(struct sampler *sampler)
{
	struct system_counts counts;
	system_look(sampler->probe, &counts);
	if ((sampler->run->engine->table.caps & NB_CAP_REMOTE) != 0)
		system_forget(&counts, SYSTEM_SYNCS); /* the server makes these calls */
	/* this process does not show the usage of the others, which do the work */
	if (sampler->is_of_processes)
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

/** The usage so far of private servers. */
static struct target_usage
look_server(struct sampler *sampler, bool must_be_whole)
{
	struct target_usage usage = {.resident_bytes = sampler->server_last.resident_bytes};
	bool is_whole = must_be_whole || sampler->server_left == 0;
	uint64_t begin_ns = clock_monotonic();
	if (sampler->run->target == NULL)
		return usage;
	target_usage(sampler->run->target, is_whole, &usage);
	if (!is_whole)
		sampler->server_left--;
	else if (clock_monotonic() - begin_ns > DEAR_SERVER_NS)
		sampler->server_left = SELDOM - 1;
	return usage;
}

/* ---- creation and deletion ---- */

/**
 * The reason for not counting hardware events, or NULL. In a virtual machine, each access to a
 * hardware counter is a call of the hypervisor, and each thread switch makes some. Measured
 * under KVM on the null engine: 2 % of the CPU time for one event, 4 to 5 % for all six. On
 * bare metal, it is only an access to a register.
 */
static const char *
no_hardware(const struct nb_run *run)
{
	if (run->sysinfo.hypervisor[0] == '\0' || (run->options.flags & NB_RUN_HARDWARE) != 0)
		return NULL;
	return "counting them costs up to 5 % in a virtual machine";
}

/** Allocate the sampler's memory; with a memory limit, all that it may need. */
static int
allocate(struct sampler *sampler)
{
	bool is_limited = sampler->run->options.memory != NULL && !sampler->is_off;
	int rc = nb_histogram_new(&sampler->now);
	if (rc == NB_OK)
		rc = nb_histogram_new(&sampler->all);
	sampler->track = malloc(sizeof(*sampler->track));
	if (rc == NB_OK && sampler->track == NULL)
		rc = error_memory();
	if (rc != NB_OK || !is_limited)
		return rc;
	memset(sampler->track, 0, sizeof(*sampler->track));
	return reserve_create(&sampler->reserve, SERIES_BYTES_MAX);
}

int
sampler_new(struct nb_run *run, bool is_of_processes)
{
	struct sampler *sampler = calloc(1, sizeof(*sampler));
	if (sampler == NULL)
		return error_memory();
	uint64_t asked_ns = run->options.sample_ns;
	*sampler = (struct sampler){.run = run,
		.is_of_processes = is_of_processes,
		.is_off = asked_ns == SAMPLER_OFF,
		.is_early = asked_ns == 0};
	run->measured.series.interval_ns = sampler->is_off ? 0
		: sampler->is_early                        ? SERIES_SAMPLE_EARLY_NS
		: asked_ns > SAMPLER_LEAST_NS              ? asked_ns
							   : SAMPLER_LEAST_NS;
	int rc = allocate(sampler);
	if (rc == NB_OK && is_of_processes)
		rc = syncs_share();
	if (rc == NB_OK) {
		syncs_begin();
		sampler->probe = system_probe_new("", run->path, run->environment.device_major,
			run->environment.device_minor, no_hardware(run));
		rc = sampler->probe != NULL ? NB_OK : NB_FAIL;
	}
	if (rc != NB_OK) {
		sampler_delete(sampler);
		return rc;
	}
	snprintf(run->measured.used_missing, sizeof(run->measured.used_missing), "%s",
		is_of_processes ? "of several processes, only the machine's are known"
				: system_missing(sampler->probe));
	bool is_remote = (run->engine->table.caps & NB_CAP_REMOTE) != 0;
	snprintf(run->measured.syncs_missing, sizeof(run->measured.syncs_missing), "%s",
		is_remote ? "the server makes these calls, in a process of its own"
			  : syncs_missing());
	size_t used = strlen(run->measured.used_missing);
	if (run->servers.count > 0)
		snprintf(run->measured.used_missing + used,
			sizeof(run->measured.used_missing) - used,
			"%sserver: not sampled, since mininb did not start it",
			used > 0 ? "; " : "");
	run->sampler = sampler;
	return NB_OK;
}

void
sampler_delete(struct sampler *sampler)
{
	if (sampler == NULL)
		return;
	for (size_t kind = 0; kind < NB_KINDS_MAX; kind++) {
		nb_histogram_delete(sampler->before[kind][false]);
		nb_histogram_delete(sampler->before[kind][true]);
	}
	nb_histogram_delete(sampler->now);
	nb_histogram_delete(sampler->all);
	free(sampler->track);
	reserve_destroy(&sampler->reserve);
	counters_destroy(&sampler->counted);
	system_probe_delete(sampler->probe);
	free(sampler);
}

/** End the sampling when memory runs out. Existing samples stay. */
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
	struct pulses *pulses = array_append(
		&series->pulses, &series->pulses_count, sizeof(*series->pulses));
	if (pulses == NULL)
		return NB_FAIL;
	sampler->phase.pulses(sampler->phase.arg, sampler->track);
	pulses->begin_ns = sampler->begin_ns;
	pulses->phase = sampler->phase.phase;
	int rc = pulse_take(pulses, sampler->track, &sampler->run->clock, since_ns);
	if (rc != NB_OK)
		series->pulses_count--;
	return rc;
}

/* ---- samples ---- */

static int
take_latency(struct sampler *sampler, uint32_t kind, bool is_response, struct sample *sample)
{
	struct nb_histogram *now = sampler->now;
	nb_histogram_reset(now);
	sampler->phase.peek(sampler->phase.arg, kind, is_response, now);
	histogram_since(now, sampler->before[kind][is_response]);
	uint64_t count = nb_histogram_count(now);
	if (count == 0)
		return NB_OK;
	if (sampler->run->options.progress != NULL && /* the caller displays latencies */
		is_response == sampler->phase.has_response)
		nb_histogram_merge(sampler->all, now);
	struct sample_latency *into = &sample->latencies[sample->latency_count];
	*into = (struct sample_latency){.kind = kind,
		.is_response = is_response,
		.count = count,
		.p50_ns = histogram_supported(now, 50),
		.p99_ns = histogram_supported(now, 99),
		.p999_ns = histogram_supported(now, 99.9),
		.max_ns = nb_histogram_max(now)};
	int rc = nb_histogram_encode(now, &into->hdr);
	sample->latency_count += rc == NB_OK;
	return rc;
}

static bool
has_kind(const struct sampler *sampler, uint32_t kind)
{
	return (sampler->phase.kinds >> kind & 1) != 0;
}

static int
take_latencies(struct sampler *sampler, struct sample *sample)
{
	size_t most = (size_t)__builtin_popcountll(sampler->phase.kinds) *
		(sampler->phase.has_response ? 2 : 1);
	sample->latencies = calloc(most + 1, sizeof(*sample->latencies));
	if (sample->latencies == NULL)
		return error_memory();
	nb_histogram_reset(sampler->all);
	int rc = NB_OK;
	for (uint32_t kind = 0; kind < NB_KINDS_MAX && rc == NB_OK; kind++) {
		if (has_kind(sampler, kind))
			rc = take_latency(sampler, kind, false, sample);
		if (has_kind(sampler, kind) && sampler->phase.has_response && rc == NB_OK)
			rc = take_latency(sampler, kind, true, sample);
	}
	sampler->p50_ns = histogram_supported(sampler->all, 50);
	sampler->p99_ns = histogram_supported(sampler->all, 99);
	struct sample_latency *exact = realloc(sample->latencies,
		(sample->latency_count + (sample->latency_count == 0)) * sizeof(*exact));
	sample->latencies = exact != NULL ? exact : sample->latencies;
	return rc;
}

static uint64_t
counter_growth(
	const struct counters *from, const struct counters *until, const struct counter *like)
{
	const struct counter *was = counters_find(from, like->name);
	const struct counter *is = counters_find(until, like->name);
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
		return error_memory();
	sample->counter_count = all->count;
	for (size_t i = 0; i < all->count; i++)
		sample->counters[i] = counter_growth(&sampler->counted, now, &all->items[i]);
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
	/* the keeper is busy with it; the next sample has the counters */
	if (run->checkpoints.goes_on)
		return NB_OK;
	struct counters now;
	int rc = run_ask_counters(run, &now);
	if (run->left.is_left)
		return NB_OK; /* this is reported elsewhere */
	if (run->call_ns > DEAR_COUNTERS_NS)
		sampler->counters_left = SELDOM - 1;
	if (rc == NB_OK)
		rc = add_counters(sampler, sample, &now);
	counters_destroy(&sampler->counted);
	sampler->counted = now;
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
	struct target_usage server = look_server(sampler, is_end);
	target_usage_add(&sample->server, &sampler->server_last, &server);
	sampler->server_last = server;
	int rc = take_latencies(sampler, sample);
	return rc == NB_OK ? take_counters(sampler, sample, is_end) : rc;
}

/** Keep the series within the limits of series.h. */
static int
bound_series(struct sampler *sampler, uint64_t at_ns)
{
	struct series *series = &sampler->run->measured.series;
	bool is_limited = sampler->reserve.bytes > 0;
	int rc = NB_OK;
	if (sampler->is_early && at_ns >= EARLY_NS) {
		sampler->is_early = false;
		rc = series_merge(series, EARLY_FACTOR, sampler->now);
	}
	if (rc == NB_OK &&
		(series->count >= SERIES_SAMPLES_MAX ||
			(is_limited && series->bytes > SERIES_BYTES_MAX)))
		rc = series_merge(series, 2, sampler->now);
	if (is_limited)
		reserve_use(&sampler->reserve, series->bytes);
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

/** Allocate the histograms that no earlier phase has needed. */
static int
make_histograms(struct sampler *sampler)
{
	for (uint32_t at = 0; at < 2 * NB_KINDS_MAX; at++) {
		struct nb_histogram **before = &sampler->before[at / 2][at % 2];
		bool is_wanted = has_kind(sampler, at / 2) &&
			(at % 2 == 0 || sampler->phase.has_response);
		int rc = is_wanted && *before == NULL ? nb_histogram_new(before) : NB_OK;
		if (rc != NB_OK)
			return rc;
		if (*before != NULL)
			nb_histogram_reset(*before);
	}
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
	if (run_ask_counters(sampler->run, &sampler->counted) != NB_OK &&
		!sampler->run->left.is_left)
		give_up(sampler);
}

void
sampler_begin(struct sampler *sampler, const struct sampler_phase *phase)
{
	struct measurement *measured = &sampler->run->measured;
	sampler->phase = *phase;
	sampler->is_open = true;
	sampler->has_begun = false;
	sampler->is_warm = phase->warm_ns == 0 && phase->warm_ops == 0;
	sampler->tick = sampler->sample = sampler->live[0] = sampler->live[1] = (struct mark){
		0};
	if (!sampler->is_off && make_histograms(sampler) != NB_OK)
		give_up(sampler);
	begin_counters(sampler);
	struct system_levels levels = look_levels(sampler, true);
	sampler->server = sampler->server_last = look_server(sampler, true);
	sampler->last = sampler->phase_first = look(sampler);
	if (sampler->has_origin)
		return;
	measured->before = levels;
	sampler->first = sampler->last;
}

/** Find the start of the phase in the time of the run, once its first operation has begun. */
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
	if (!sampler->is_open || since_ns <= sampler->tick.since_ns)
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
	if (!sampler->is_open)
		return;
	struct measurement *measured = &sampler->run->measured;
	if (since_ns > 0 && !sampler->has_begun)
		place(sampler, since_ns);
	struct system_counts used = look(sampler);
	used = system_between(&sampler->phase_first, &used);
	system_add(&measured->used, &used);
	struct target_usage server = look_server(sampler, true);
	target_usage_add(&measured->server, &sampler->server, &server);
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
	if (!sampler->has_origin)
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
