/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A comparison as JSON, for programs: all values, and the statistics on them. Ratios are
 * not inverted: for latencies, less than 1 is better.
 */
#include <jansson.h>
#include <stdlib.h>

#include "base/error.h"
#include "report/compare.h"
#include "report/json_value.h"

enum { FORMAT_VERSION = 1, DIGITS = 12 };

static json_t *
texts_json(struct json_writer *writer, const struct compare_texts *texts)
{
	json_t *array = json_array();
	for (size_t i = 0; i < texts->count; i++)
		json_add(writer, array, json_from_text(texts->items[i]));
	return array;
}

static json_t *
values_json(struct json_writer *writer, const struct compare_sample *sample,
	const struct compare_values *values)
{
	json_t *array = json_array();
	for (size_t i = 0; i < values->count; i++)
		json_add(writer, array, json_real(values->values[i]));
	return json_pack("{s:o, s:o, s:f, s:f}", "sample", json_from_text(sample->name),
		"values", array, "median", values->median, "mad", values->mad);
}

static json_t *
pair_json(struct json_writer *writer, const struct compare_work *work,
	const struct compare_metric *metric, size_t sample)
{
	static const char *const methods[] = {
		[STATS_ORDER] = "order statistics", [STATS_BOOTSTRAP] = "bootstrap"};
	const struct compare_pair *pair = &metric->pairs[sample];
	json_t *object = json_pack("{s:o, s:o, s:s, s:f}", "of",
		json_from_text(work->samples[sample].name), "against",
		json_from_text(work->samples[0].name), "verdict",
		compare_verdict_name(pair->verdict), "ratio", pair->ratio.ratio);
	if (pair->verdict == COMPARE_ONE_RUN)
		return object;
	json_put(writer, object, "low", json_real(pair->ratio.low));
	json_put(writer, object, "high", json_real(pair->ratio.high));
	json_put(writer, object, "confidence", json_real(pair->ratio.confidence));
	json_put(writer, object, "method", json_string(methods[pair->ratio.method]));
	json_put(writer, object, "u", json_real(pair->test.u));
	json_put(writer, object, "p", json_real(pair->test.p));
	json_put(writer, object, "p_is_exact", json_boolean(pair->test.is_exact));
	return object;
}

static json_t *
metric_json(struct json_writer *writer, const struct compare_work *work,
	const struct compare_metric *metric)
{
	json_t *samples = json_array(), *pairs = json_array();
	for (size_t s = 0; s < work->sample_count; s++)
		json_add(writer, samples,
			values_json(writer, &work->samples[s], &metric->of[s]));
	for (size_t s = 1; s < work->sample_count; s++)
		if (metric->pairs[s].verdict != COMPARE_ABSENT)
			json_add(writer, pairs, pair_json(writer, work, metric, s));
	return json_pack("{s:s, s:s, s:b, s:o, s:o}", "name", metric->name, "unit",
		metric_unit_name(metric->row->unit), "higher_is_better",
		metric->row->figure.is_higher_better, "samples", samples, "pairs", pairs);
}

static json_t *
work_json(struct json_writer *writer, const struct nb_comparison *comparison,
	const struct compare_work *work)
{
	json_t *metrics = json_array(), *verdicts = json_array();
	for (size_t m = 0; m < work->metric_count; m++)
		json_add(writer, metrics, metric_json(writer, work, &work->metrics[m]));
	for (size_t s = 1; s < work->sample_count; s++) {
		char *verdict = NULL;
		if (compare_verdict(&verdict, comparison, work, s) != NB_OK)
			writer->has_failed = true;
		json_add(writer, verdicts, json_from_text(verdict));
		free(verdict);
	}
	return json_pack("{s:s, s:o, s:o, s:s, s:o, s:o}", "action", work->action, "label",
		json_from_text(work->label), "driver", json_from_text(work->driver), "latency",
		work->is_response ? "response" : "service", "verdicts", verdicts, "metrics",
		metrics);
}

int
compare_write_json(const struct nb_comparison *comparison, FILE *out)
{
	struct json_writer writer = {.verb = NULL};
	json_t *works = json_array();
	for (size_t w = 0; w < comparison->work_count; w++)
		json_add(&writer, works, work_json(&writer, comparison, &comparison->works[w]));
	json_t *whole = json_pack("{s:s, s:i, s:f, s:o, s:o, s:o}", "format",
		"mininb comparison", "version", FORMAT_VERSION, "confidence",
		comparison->confidence, "not_comparable",
		texts_json(&writer, &comparison->differences), "warnings",
		texts_json(&writer, &comparison->warnings), "comparisons", works);
	int rc = NB_OK;
	if (whole == NULL || writer.has_failed)
		rc = error_memory();
	else if (json_dumpf(whole, out, JSON_INDENT(1) | JSON_REAL_PRECISION(DIGITS)) != 0 ||
		fputc('\n', out) == EOF)
		rc = error_system("the comparison cannot be written");
	json_decref(whole);
	return rc;
}
