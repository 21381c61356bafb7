/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run over time, as a list of bounded length.
 *
 * Neighbours are merged by their histograms, never by their percentiles. So a coarser series
 * has exactly the values that it would have had from the start. Samples of different phases are
 * never merged, nor those of a warm-up with measured ones.
 */
#include "run/series.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/histogram.h"

void
sample_destroy(struct sample *sample)
{
	for (size_t i = 0; i < sample->latency_count; i++)
		free(sample->latencies[i].hdr);
	free(sample->latencies);
	free(sample->counters);
	*sample = (struct sample){0};
}

/** The size of a chunk in glibc: one more word, in whole pairs of words, at least two pairs. */
static size_t
chunk_bytes(size_t bytes)
{
	enum { PAIR = 2 * sizeof(size_t) };
	size_t pairs = (bytes + sizeof(size_t) + PAIR - 1) / PAIR;
	return (pairs < 2 ? 2 : pairs) * PAIR;
}

static size_t
sample_bytes(const struct sample *sample)
{
	size_t bytes = sizeof(*sample) +
		chunk_bytes(sample->latency_count * sizeof(*sample->latencies)) +
		chunk_bytes(sample->counter_count * sizeof(*sample->counters));
	for (size_t i = 0; i < sample->latency_count; i++)
		bytes += chunk_bytes(strlen(sample->latencies[i].hdr) + 1);
	return bytes;
}

int
series_add(struct series *series, struct sample *sample)
{
	if (series->count >= series->room) {
		size_t room = series->count < 8 ? 16 : 2 * series->count;
		struct sample *grown = realloc(series->samples, room * sizeof(*grown));
		if (grown == NULL) {
			sample_destroy(sample);
			return error_memory();
		}
		series->samples = grown;
		series->room = room;
	}
	series->bytes += sample_bytes(sample);
	series->samples[series->count++] = *sample;
	*sample = (struct sample){0};
	return NB_OK;
}

/* ---- merging neighbours ---- */

static struct sample_latency *
find_latency(struct sample *sample, const struct sample_latency *like)
{
	for (size_t i = 0; i < sample->latency_count; i++) {
		struct sample_latency *it = &sample->latencies[i];
		if (it->kind == like->kind && it->is_response == like->is_response)
			return it;
	}
	return NULL;
}

int
sample_latency_merge(struct sample_latency *into, const struct sample_latency *from,
	struct nb_histogram *work)
{
	char *text = NULL;
	nb_histogram_reset(work);
	int rc = histogram_add_text(work, into->hdr);
	if (rc == NB_OK)
		rc = histogram_add_text(work, from->hdr);
	if (rc == NB_OK)
		rc = nb_histogram_encode(work, &text);
	if (rc != NB_OK)
		return rc;
	free(into->hdr);
	into->hdr = text;
	into->count += from->count;
	into->p50_ns = histogram_supported(work, 50);
	into->p99_ns = histogram_supported(work, 99);
	into->p999_ns = histogram_supported(work, 99.9);
	into->max_ns = from->max_ns > into->max_ns ? from->max_ns : into->max_ns;
	return NB_OK;
}

/** Move the latencies of `from`, which is then empty. */
static int
take_latencies(struct sample *into, struct sample *from, struct nb_histogram *work)
{
	int rc = NB_OK;
	for (size_t i = 0; i < from->latency_count && rc == NB_OK; i++) {
		struct sample_latency *same = find_latency(into, &from->latencies[i]);
		if (same != NULL) {
			rc = sample_latency_merge(same, &from->latencies[i], work);
			continue;
		}
		struct sample_latency *place = array_append(
			&into->latencies, &into->latency_count, sizeof(*into->latencies));
		if (place == NULL)
			return NB_FAIL;
		*place = from->latencies[i];
		from->latencies[i].hdr = NULL;
	}
	return rc;
}

static void
take_counters(const struct series *series, struct sample *into, struct sample *from)
{
	if (into->counter_count < from->counter_count) {
		uint64_t *counters = into->counters;
		size_t count = into->counter_count;
		into->counters = from->counters;
		into->counter_count = from->counter_count;
		from->counters = counters;
		from->counter_count = count;
		for (size_t i = 0; i < count; i++) {
			if (series->counters.items[i].kind == NB_STAT_COUNTER)
				into->counters[i] += counters[i];
		}
		return;
	}
	for (size_t i = 0; i < from->counter_count; i++) {
		if (series->counters.items[i].kind == NB_STAT_COUNTER)
			into->counters[i] += from->counters[i];
		else
			into->counters[i] = from->counters[i];
	}
}

/** Merge `from`, the later one, which is then empty. */
static int
merge_sample(const struct series *series, struct sample *into, struct sample *from,
	struct nb_histogram *work)
{
	into->end_ns = from->end_ns;
	into->duration_ns += from->duration_ns;
	into->ops += from->ops;
	into->behind_ops = from->behind_ops;
	system_add(&into->used, &from->used);
	into->levels = from->levels;
	target_usage_add(&into->server, &(struct target_usage){0}, &from->server);
	take_counters(series, into, from);
	int rc = take_latencies(into, from, work);
	sample_destroy(from);
	return rc;
}

int
series_merge(struct series *series, size_t factor, struct nb_histogram *work)
{
	size_t kept = 0, run = 0, bytes = 0;
	int rc = NB_OK;
	for (size_t i = 0; i < series->count; i++) {
		struct sample *next = &series->samples[i];
		struct sample *last = kept > 0 ? &series->samples[kept - 1] : NULL;
		if (rc == NB_OK && last != NULL && run < factor && last->phase == next->phase &&
			last->is_warmup == next->is_warmup) {
			rc = merge_sample(series, last, next, work);
			run++;
			continue;
		}
		if (kept != i)
			series->samples[kept] = *next;
		kept++;
		run = 1;
	}
	for (size_t i = 0; i < kept; i++)
		bytes += sample_bytes(&series->samples[i]);
	series->bytes = bytes;
	series->count = kept;
	series->interval_ns *= factor;
	return rc;
}

void
series_destroy(struct series *series)
{
	for (size_t i = 0; i < series->count; i++)
		sample_destroy(&series->samples[i]);
	for (size_t i = 0; i < series->pulses_count; i++)
		free(series->pulses[i].ops);
	free(series->samples);
	free(series->pulses);
	counters_destroy(&series->counters);
	*series = (struct series){0};
}
