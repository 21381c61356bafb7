/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why a result may be wrong, said with the result.
 *
 * Each note is a rule that looks at the result and writes one sentence, or nothing where
 * there is nothing to say; and what the engine has warned of is a note, as it said it. Those
 * of the machine and of where the data was stand in notes_machine.c and notes_cache.c, and
 * that of durability in claims.c. The thresholds of those here:
 *   - the harness: a tenth of the median latency, where it begins to be seen;
 *   - short: under a second, in which no background work shows;
 *   - drift: the last third of the time against the one before by a tenth, from a second on
 *     and from 2000 operations in each on, of which a tenth is three standard deviations of
 *     the difference even if they come at random; not with a rate, whose changes are asked
 *     for, and without the warm-up;
 *   - misses: more than half of what was looked for.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/note.h"

enum { NAMES_SIZE = 256 };

void
note_write(char *note, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(note, NOTE_SIZE, fmt, args);
	va_end(args);
}

bool
note_has_cap(const struct nb_result *result, uint32_t cap)
{
	return (result->engine.caps & cap) != 0;
}

bool
note_is_read(const struct nb_result *result)
{
	return result->workload.verb == NB_VERB_GET;
}

/* ---- how it was measured ---- */

static void
note_closed_loop(const struct nb_result *result, char *note)
{
	if (!result->is_paced)
		note_write(note,
			"closed loop: each operation waits for the one before, so these are service times; what users would wait under a given load is told by a job with a rate");
}

static void
note_one_run(const struct nb_result *result, char *note)
{
	(void)result;
	note_write(note,
		"one repetition: how much it varies from run to run is not known; repeat it");
}

/** What has to be raised for more operations. */
static const char *
bound(const struct nb_result *result)
{
	return result->is_bound_by_time ? "duration" : "count";
}

static void
note_short(const struct nb_result *result, char *note)
{
	if (result->measured.wall_ns < 1000000000u)
		note_write(note, "short: %.3f seconds show no background work; raise --%s",
			(double)result->measured.wall_ns / 1e9, bound(result));
}

static void
note_few_samples(const struct nb_result *result, char *note)
{
	static const double percents[] = {50, 95, 99, 99.9, 99.99};
	const struct nb_histogram *service = result->measured.service;
	uint64_t needed, count = nb_histogram_count(service);
	for (size_t i = 0; i < sizeof(percents) / sizeof(*percents) && count > 0; i++) {
		if (nb_histogram_supports(service, percents[i], &needed))
			continue;
		note_write(note,
			"%llu operations are too few for p%g, which takes %llu, and for what is above; raise --%s",
			(unsigned long long)count, percents[i], (unsigned long long)needed,
			bound(result));
		return;
	}
}

/** End of the warm-up of a phase, on the series' time. */
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

/** The last third's rate against the middle one's, as a share of that; 0: cannot be told. */
static double
drift_of(const struct pulses *pulses, uint64_t from_ns)
{
	enum { OPS_MIN = 2000 };
	const uint64_t shortest_ns = 1000000000;
	size_t first = pulses->pulse_ns > 0 && from_ns > pulses->begin_ns
		? (from_ns - pulses->begin_ns + pulses->pulse_ns - 1) / pulses->pulse_ns
		: 0;
	/* the last one ends when the operations do, somewhere in it */
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
note_drift(const struct nb_result *result, char *note)
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
		note_write(note,
			"not steady: the rate %s by %.0f %% from the middle third of the time to the last one; raise --%s%s",
			worst > 0 ? "rose" : "fell", 100 * fabs(worst), bound(result),
			has_warmup                         ? ", or --warmup"
				: result->is_bound_by_time ? ", or take a --warmup"
							   : "");
}

/**
 * What a latency has of the harness's stamps, and an operation of its loop. With a rate the
 * loop is no part of what is measured.
 */
static void
note_harness(const struct nb_result *result, char *note)
{
	const struct measurement *measured = &result->measured;
	double median = (double)nb_histogram_percentile(measured->service, 50);
	double call = (double)measured->floor_call_ns, op = measured->floor_op_ns;
	double whole = median - call + op; /* of an operation in the loop */
	if (measured->ops == 0)
		return;
	if (call * 10 > median)
		note_write(note,
			"the harness is %.0f ns of the median latency of %.0f ns, and %.0f ns of each operation's time; nothing is subtracted: compare with the null engine",
			call, median, op);
	else if (!result->is_paced && op > call && op * 10 > whole)
		note_write(note,
			"the harness is %.0f ns of the some %.0f ns that an operation takes in its loop; nothing is subtracted: compare with the null engine",
			op, whole);
}

/* ---- what was measured ---- */

static void
note_had_data(const struct nb_result *result, char *note)
{
	if (result->workload.verb == NB_VERB_PUT && result->measured.had_data)
		note_write(note,
			"the database was not new: puts may have overwritten, and its shape is not that of a fresh one; remove it before, or --fresh");
}

static void
note_loaded(const struct nb_result *result, char *note)
{
	if (result->measured.is_loaded)
		note_write(note,
			"%s keeps nothing between runs: the data was put before the first operation, in %.3f seconds that do not count",
			result->engine.name, (double)result->measured.load_ns / 1e9);
}

static void
note_duplicates(const struct nb_result *result, char *note)
{
	if (result->keys.duplicates > 0)
		note_write(note,
			"%s%llu of %llu keys repeat one before them: puts of those overwrite, deletes of those find nothing",
			result->keys.is_estimate ? "about " : "",
			(unsigned long long)result->keys.duplicates,
			(unsigned long long)result->workload.count);
}

static void
note_misses(const struct nb_result *result, char *note)
{
	uint64_t found = result->measured.answers[NB_OK];
	uint64_t missed = result->measured.answers[NB_NOT_FOUND];
	if (note_is_read(result) && !note_has_cap(result, NB_CAP_SYNTHETIC) && missed > found)
		note_write(note,
			"%.0f %% of the reads found nothing: what was measured is how fast that is told; read the keys that were put",
			100 * (double)missed / ((double)missed + (double)found));
}

static void
note_synthetic(const struct nb_result *result, char *note)
{
	if (note_has_cap(result, NB_CAP_SYNTHETIC))
		note_write(note, "%s makes its answers up: nothing can be verified",
			result->engine.name);
}

static void
note_unverified(const struct nb_result *result, char *note)
{
	bool is_write = !note_is_read(result);
	if (note_has_cap(result, NB_CAP_SYNTHETIC))
		return;
	if (result->verify_rate == 0)
		note_write(note, "nothing was verified: --verify-rate is 0");
	else if (is_write && !result->measured.has_read_back)
		note_write(note,
			"the run ended before %s was read back: whether the writes had their effect is not known",
			result->measured.findings.verified > 0 ? "all of the sample" : "any");
	else if (result->measured.findings.verified == 0)
		note_write(note, "nothing was verified: %s",
			!is_write && result->measured.answers[NB_OK] == 0
				? "no operation found its key"
				: "no operation was in the sample; raise --verify-rate");
}

/** Where values are looked at, that is. */
static void
note_short_values(const struct nb_result *result, char *note)
{
	if (result->workload.value_size < 16 && result->workload.verb != NB_VERB_DELETE &&
		result->verify_rate > 0 && result->measured.findings.verified > 0 &&
		!note_has_cap(result, NB_CAP_SYNTHETIC))
		note_write(note,
			"values of %llu bytes are too short for a checksum: a wrong one is noticed by chance; take 16 bytes or more",
			(unsigned long long)result->workload.value_size);
}

static void
note_settle(const struct nb_result *result, char *note)
{
	if (note_is_read(result) || !result->measured.has_settled ||
		!note_has_cap(result, NB_CAP_PERSISTENT))
		return;
	if (result->settle == NB_RUN_SETTLE_NONE)
		note_write(note,
			"not settled, as asked: work that the writes put off is not counted");
	else if (result->measured.settled < (int)result->settle)
		note_write(note,
			"%s cannot be asked to %s: work that the writes put off may not be counted",
			result->engine.name,
			result->measured.settled == 0 ? "flush" : "compact");
}

/** No counter may, so what such ones say is not told at all. */
static void
note_run_back(const struct nb_result *result, char *note)
{
	const struct counters *counters = &result->measured.counters;
	char names[NAMES_SIZE] = "";
	size_t used = 0;
	for (size_t i = 0; i < counters->count; i++) {
		if (counters->items[i].has_run_back && used < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
				used > 0 ? ", " : "", counters->items[i].name);
	}
	if (used > 0)
		note_write(note, "counters of the engine ran backwards and are left out: %s",
			names);
}

static const struct note_rule notes_of_run[] = {
	{"closed-loop", note_closed_loop},
	{"one-run", note_one_run},
	{"short", note_short},
	{"few-samples", note_few_samples},
	{"drift", note_drift},
	{"had-data", note_had_data},
	{"loaded", note_loaded},
	{"duplicates", note_duplicates},
	{"misses", note_misses},
	{"synthetic", note_synthetic},
	{"unverified", note_unverified},
	{"short-values", note_short_values},
	{"not-settled", note_settle},
	{"harness", note_harness},
	{"ran-backwards", note_run_back},
	{NULL, NULL},
};

static const struct note_rule *const all[] = {
	notes_of_run, notes_of_claims, notes_of_cache, notes_of_machine};

enum { RULE_SETS = sizeof(all) / sizeof(*all) };

int
result_add_note(struct nb_result *result, bool is_of_job, const char *id, const char *text)
{
	void *grown = realloc(result->notes, (result->note_count + 1) * sizeof(*result->notes));
	if (grown == NULL)
		return error_set(NB_FAIL, "out of memory");
	result->notes = grown;
	struct result_note note = {.text = strdup(text), .is_of_job = is_of_job};
	snprintf(note.id, sizeof(note.id), "%s", id);
	if (note.text == NULL)
		return error_set(NB_FAIL, "out of memory");
	size_t at = result->note_count++;
	for (; at > 0 && !is_of_job && result->notes[at - 1].is_of_job; at--)
		result->notes[at] = result->notes[at - 1];
	result->notes[at] = note;
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

int
result_add_notes(struct nb_result *result)
{
	int rc = NB_OK;
	for (size_t set = 0; set < RULE_SETS; set++) {
		for (const struct note_rule *rule = all[set]; rule->id != NULL; rule++) {
			char text[NOTE_SIZE] = "";
			rule->write(result, text);
			if (text[0] != '\0' && rc == NB_OK)
				rc = result_add_note(result, false, rule->id, text);
		}
	}
	for (size_t i = 0; i < result->warnings.count && rc == NB_OK; i++)
		rc = result_add_note(result, false, "engine", result->warnings.texts[i]);
	return rc;
}
