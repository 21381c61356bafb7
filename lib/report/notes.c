/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reasons why a result may be wrong, reported with the result.
 *
 * Each note is a rule that inspects the result and adds one sentence or nothing. A warning
 * of the engine is a note, too. notes_machine.c has the notes on the machine, notes_cache.c
 * those on the location of the data, durability_audit.c that on durability, and job_notes.c
 * those on a job's groups.
 *
 * Thresholds of the notes here:
 * - the harness: a tenth of the median latency, from which on it is visible;
 * - short: under a second, which shows no background work;
 * - drift: the rate of the last third of the time differs from the middle third by a tenth.
 *   It needs at least a second, and 2000 operations in each third, of which a tenth is
 *   three standard deviations of the difference for random arrivals. It excludes the
 *   warm-up, and runs with a rate, which changes on request;
 * - misses: more than half of the reads.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "report/note.h"

void
note_add(struct nb_result *result, bool is_of_job, const char *id, const char *fmt, ...)
{
	char text[512];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (result_add_note(result, is_of_job, id, text) != NB_OK)
		log_message(NB_LOG_WARNING, "a note is lost: %s", nb_error_text());
}

/* ---- how it was measured ---- */

/** The option that raises the number of operations. */
static const char *
bound(const struct nb_result *result)
{
	return result->is_bound_by_time ? "duration" : "count";
}

static void
note_few_samples(struct nb_result *result)
{
	static const double percents[] = {50, 95, 99, 99.9, 99.99};
	const struct nb_histogram *service = result->measured.service;
	uint64_t needed, count = nb_histogram_count(service);
	for (size_t i = 0; i < sizeof(percents) / sizeof(*percents) && count > 0; i++) {
		if (nb_histogram_supports(service, percents[i], &needed))
			continue;
		note_add(result, false, "few-samples",
			"%" PRIu64 " %soperations are too few for p%g, which needs %" PRIu64
			", and for higher percentiles; raise --%s",
			count, result->measured.stamping.ops > 0 ? "timed " : "", percents[i],
			needed, bound(result));
		return;
	}
}

static void
note_stamping(struct nb_result *result)
{
	const struct measurement *measured = &result->measured;
	uint64_t timed = nb_histogram_count(measured->service);
	if (measured->stamping.ops > 0 && timed > 0)
		note_add(result, false, "sampled-latency",
			"latencies and percentiles are those of %" PRIu64 " of %" PRIu64
			" operations; the others had no time stamps and count only for the throughput, which is exact",
			timed, measured->ops);
	else if (measured->stamping.ops > 0)
		note_add(result, false, "no-latency",
			"no latencies: mininb timed only blocks of operations; use --latency=sampled:64 for both");
}

/** End of the warm-up of a phase, in the series' time. */
static uint64_t
warmup_end(const struct series *series, uint32_t phase)
{
	uint64_t end_ns = 0;
	for (size_t i = 0; i < series->count; i++) {
		const struct sample *sample = &series->samples[i];
		if (sample->is_warmup && sample->phase == phase)
			end_ns = sample->end_ns;
	}
	return end_ns;
}

/** The change of the last third's rate relative to the middle third; 0: unknown. */
static double
drift_of(const struct pulses *pulses, uint64_t from_ns)
{
	enum { OPS_MIN = 2000 };
	const uint64_t shortest_ns = 1000000000;
	size_t first = pulses->pulse_ns > 0 && from_ns > pulses->begin_ns
		? (from_ns - pulses->begin_ns + pulses->pulse_ns - 1) / pulses->pulse_ns
		: 0;
	/* the last pulse is incomplete */
	size_t count = pulses->count > first + 1 ? pulses->count - 1 - first : 0;
	size_t third = count / 3;
	uint64_t middle = 0, last = 0;
	if (third == 0 || count * pulses->pulse_ns < shortest_ns)
		return 0;
	for (size_t i = 0; i < third; i++) {
		middle += pulses->ops[first + count - 2 * third + i];
		last += pulses->ops[first + count - third + i];
	}
	return middle == 0 || middle + last < 2 * OPS_MIN ? 0
							  : (double)last / (double)middle - 1;
}

static void
note_drift(struct nb_result *result)
{
	const struct series *series = &result->measured.series;
	double worst = 0;
	bool has_warmup = false;
	for (size_t i = 0; i < series->pulses_count && !result->is_paced; i++) {
		const struct pulses *pulses = &series->pulses[i];
		uint64_t warm_ns = warmup_end(series, pulses->phase);
		double drift = drift_of(pulses, warm_ns);
		has_warmup |= warm_ns > 0;
		worst = fabs(drift) > fabs(worst) ? drift : worst;
	}
	if (fabs(worst) > 0.1)
		note_add(result, false, "drift",
			"not steady: the rate %s by %.0f %% from the middle third of the time to the last third; raise --%s%s",
			worst > 0 ? "rose" : "fell", 100 * fabs(worst), bound(result),
			has_warmup                         ? ", or --warmup"
				: result->is_bound_by_time ? ", or add a --warmup"
							   : "");
}

/**
 * Note the share of the harness's stamps in a latency, and of its loop in an operation.
 * With a rate the loop is not measured.
 */
static void
note_harness(struct nb_result *result)
{
	const struct measurement *measured = &result->measured;
	double median = nb_histogram_count(measured->service) > 0
		? (double)nb_histogram_percentile(measured->service, 50)
		: result_unstamped_ns(result);
	double call = (double)measured->floor_call_ns, op = measured->floor_op_ns;
	double whole = median - call + op; /* for an operation in the loop */
	if (measured->ops == 0)
		return;
	/*
	 * if all operations have stamps, the result cannot show the time of operations
	 * without
	 */
	const char *more = result->is_paced || measured->stamping.ops > 0
		? ""
		: ", and with --latency=sampled:64, because stamps also keep memory accesses of neighbouring operations from overlapping";
	if (call * 10 > median)
		note_add(result, false, "harness",
			"the harness takes %.0f ns of the median latency of %.0f ns, and %.0f ns of each operation's time; nothing is subtracted: compare with the null engine%s",
			call, median, op, more);
	else if (!result->is_paced && op > call && op * 10 > whole)
		note_add(result, false, "harness",
			"the harness takes %.0f ns of the about %.0f ns of an operation in its loop; nothing is subtracted: compare with the null engine%s",
			op, whole, more);
}

static void
note_measuring(struct nb_result *result)
{
	const struct measurement *measured = &result->measured;
	if (!result->is_paced)
		note_add(result, false, "closed-loop",
			"closed loop: each operation waits for %s, so the latencies are service times; a job with a rate measures what users wait under a given load",
			measured->depth > 0 ? "one of those before it" : "the one before");
	if (measured->depth > 0)
		note_add(result, false, "in-flight",
			"up to %u requests of each thread were in flight: service times include the time that a request waited for those before it",
			measured->depth);
	note_add(result, false, "one-run",
		"one repetition: the variation from run to run is unknown; repeat the run");
	if (measured->wall_ns < 1000000000u)
		note_add(result, false, "short",
			"short: %.3f seconds show no background work; raise --%s",
			(double)measured->wall_ns / 1e9, bound(result));
	note_stamping(result);
	note_few_samples(result);
	note_drift(result);
}

/* ---- the data ---- */

static void
note_data(struct nb_result *result)
{
	const struct measurement *measured = &result->measured;
	uint64_t found = measured->answers[NB_OK], missed = measured->answers[NB_NOT_FOUND];
	bool is_synthetic = note_has_cap(result, NB_CAP_SYNTHETIC);
	if (result->workload.verb == NB_VERB_PUT && measured->had_data)
		note_add(result, false, "had-data",
			"the database was not new: puts may have overwritten records, and its structure may differ from that of a new one; remove it first, or use --fresh");
	if (measured->is_loaded)
		note_add(result, false, "loaded",
			"%s %s: mininb put the data before the first operation, in %.3f seconds that do not count",
			result->engine.name,
			result->servers.count > 0 && note_has_cap(result, NB_CAP_PERSISTENT)
				? "had no database"
				: "keeps no data between runs",
			(double)measured->load_ns / 1e9);
	if (result->keys.duplicates > 0)
		note_add(result, false, "duplicates",
			"%s%" PRIu64 " of %" PRIu64
			" keys repeat an earlier key: a put of these overwrites, a delete of these finds nothing",
			result->keys.is_estimate ? "about " : "", result->keys.duplicates,
			result->workload.count);
	if (note_is_read(result) && !is_synthetic && missed > found)
		note_add(result, false, "misses",
			"%.0f %% of the reads found nothing: this measures how fast the engine reports a missing key; read keys that were put",
			100 * (double)missed / ((double)missed + (double)found));
	if (is_synthetic)
		note_add(result, false, "synthetic",
			"%s makes its answers up: nothing can be verified",
			result->engine.name);
}

static void
note_verification(struct nb_result *result)
{
	const struct measurement *measured = &result->measured;
	uint64_t verified = measured->findings.verified;
	bool is_write = !note_is_read(result);
	if (note_has_cap(result, NB_CAP_SYNTHETIC))
		return;
	if (result->verify_rate == 0)
		note_add(result, false, "unverified",
			"nothing was verified: --verify-rate is 0");
	else if (is_write && !measured->has_read_back)
		note_add(result, false, "unverified",
			"the run ended before %s was read back: whether the writes took effect is unknown",
			verified > 0 ? "all of the sample" : "any");
	else if (verified == 0)
		note_add(result, false, "unverified", "nothing was verified: %s",
			!is_write && measured->answers[NB_OK] == 0
				? "no operation found its key"
				: "no operation was in the sample; raise --verify-rate");
	if (result->workload.value_size < 16 && result->workload.verb != NB_VERB_DELETE &&
		result->verify_rate > 0 && verified > 0)
		note_add(result, false, "short-values",
			"values of %" PRIu64
			" bytes are too short for a checksum: mininb finds a wrong value only by chance; use 16 bytes or more",
			result->workload.value_size);
}

static void
note_settle(struct nb_result *result)
{
	const struct measurement *measured = &result->measured;
	if (note_is_read(result) || !measured->has_settled ||
		!note_has_cap(result, NB_CAP_PERSISTENT))
		return;
	if (result->settle == NB_RUN_SETTLE_NONE)
		note_add(result, false, "not-settled",
			"not settled, as requested: work that the writes deferred is not counted");
	else if (measured->settled < (int)result->settle)
		note_add(result, false, "not-settled",
			"%s cannot %s on request: work that the writes deferred may not be counted",
			result->engine.name, measured->settled == 0 ? "flush" : "compact");
}

/** Note counters that ran backwards; their values are left out. */
static void
note_run_back(struct nb_result *result)
{
	const struct counters *counters = &result->measured.counters;
	char names[256] = "";
	size_t used = 0;
	for (size_t i = 0; i < counters->count; i++) {
		if (counters->items[i].has_run_back && used < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
				used > 0 ? ", " : "", counters->items[i].name);
	}
	if (used > 0)
		note_add(result, false, "ran-backwards",
			"counters of the engine ran backwards and are left out: %s", names);
}

int
result_add_note(struct nb_result *result, bool is_of_job, const char *id, const char *text)
{
	char *copy = strdup(text);
	if (copy == NULL ||
		array_append(&result->notes, &result->note_count, sizeof(*result->notes)) ==
			NULL) {
		free(copy);
		return error_memory();
	}
	size_t at = result->note_count - 1;
	for (; at > 0 && !is_of_job && result->notes[at - 1].is_of_job; at--)
		result->notes[at] = result->notes[at - 1];
	result->notes[at] = (struct result_note){.text = copy, .is_of_job = is_of_job};
	snprintf(result->notes[at].id, sizeof(result->notes[at].id), "%s", id);
	return NB_OK;
}

void
result_remove_note(struct nb_result *run, const char *id)
{
	size_t kept = 0;
	for (size_t i = 0; i < run->note_count; i++) {
		if (strcmp(run->notes[i].id, id) == 0)
			free(run->notes[i].text);
		else
			run->notes[kept++] = run->notes[i];
	}
	run->note_count = kept;
}

void
result_add_notes(struct nb_result *result)
{
	note_measuring(result);
	note_data(result);
	note_verification(result);
	note_settle(result);
	note_harness(result);
	note_run_back(result);
	notes_of_claims(result);
	notes_of_cache(result);
	notes_of_machine(result);
	for (size_t i = 0; i < result->warnings.count; i++)
		note_add(result, false, "engine", "%s", result->warnings.texts[i]);
	notes_of_job(result);
}
