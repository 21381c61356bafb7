/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A comparison as JSON, for programs: all values that the statistics are of, and what came
 * of them. Ratios are of the values as they are: of latencies, less than 1 is better.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/compare.h"

enum { FORMAT_VERSION = 1, DIGITS = 12 };

static json_t *
texts_json(const struct compare_texts *texts)
{
	json_t *array = json_array();
	for (size_t i = 0; i < texts->count; i++)
		json_array_append_new(array, json_string(texts->items[i]));
	return array;
}

static json_t *
values_json(const struct compare_sample *sample, const struct compare_values *values)
{
	json_t *array = json_array();
	for (size_t i = 0; i < values->count; i++)
		json_array_append_new(array, json_real(values->values[i]));
	return json_pack("{s:s, s:o, s:f, s:f}", "sample", sample->name, "values", array,
		"median", values->median, "mad", values->mad);
}

static json_t *
pair_json(const struct compare_work *work, const struct compare_metric *metric, size_t sample)
{
	static const char *const methods[] = {
		[STATS_ORDER] = "order statistics", [STATS_BOOTSTRAP] = "bootstrap"};
	const struct compare_pair *pair = &metric->pairs[sample];
	json_t *object = json_pack("{s:s, s:s, s:s, s:f}", "of", work->samples[sample].name,
		"against", work->samples[0].name, "verdict",
		compare_verdict_name(pair->verdict), "ratio", pair->ratio.ratio);
	if (object == NULL || pair->verdict == COMPARE_ONE_RUN)
		return object;
	json_object_set_new(object, "low", json_real(pair->ratio.low));
	json_object_set_new(object, "high", json_real(pair->ratio.high));
	json_object_set_new(object, "confidence", json_real(pair->ratio.confidence));
	json_object_set_new(object, "method", json_string(methods[pair->ratio.method]));
	json_object_set_new(object, "u", json_real(pair->test.u));
	json_object_set_new(object, "p", json_real(pair->test.p));
	json_object_set_new(object, "p_is_exact", json_boolean(pair->test.is_exact));
	return object;
}

static json_t *
metric_json(const struct compare_work *work, const struct compare_metric *metric)
{
	json_t *samples = json_array(), *pairs = json_array();
	for (size_t s = 0; s < work->sample_count; s++)
		json_array_append_new(samples, values_json(&work->samples[s], &metric->of[s]));
	for (size_t s = 1; s < work->sample_count; s++)
		if (metric->pairs[s].verdict != COMPARE_ABSENT)
			json_array_append_new(pairs, pair_json(work, metric, s));
	return json_pack("{s:s, s:s, s:b, s:o, s:o}", "name", metric->name, "unit",
		metric_unit_name(metric->row->unit), "higher_is_better",
		metric->row->figure.is_higher_better, "samples", samples, "pairs", pairs);
}

/** NULL: memory did not reach. */
static json_t *
work_json(const struct nb_comparison *comparison, const struct compare_work *work)
{
	json_t *metrics = json_array(), *verdicts = json_array();
	for (size_t m = 0; m < work->metric_count; m++)
		json_array_append_new(metrics, metric_json(work, &work->metrics[m]));
	for (size_t s = 1; s < work->sample_count; s++) {
		char *verdict;
		if (compare_verdict(&verdict, comparison, work, s) != NB_OK) {
			json_decref(metrics);
			json_decref(verdicts);
			return NULL;
		}
		json_array_append_new(verdicts, json_string(verdict));
		free(verdict);
	}
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "action", work->action, "label",
		work->label, "driver", work->driver, "latency",
		work->is_response ? "response" : "service", "verdicts", verdicts, "metrics",
		metrics);
}

int
compare_write_json(const struct nb_comparison *comparison, FILE *out)
{
	json_t *works = json_array();
	for (size_t w = 0; w < comparison->work_count; w++)
		json_array_append_new(works, work_json(comparison, &comparison->works[w]));
	json_t *whole = json_pack("{s:s, s:i, s:f, s:o, s:o, s:o}", "format",
		"mininb comparison", "version", FORMAT_VERSION, "confidence",
		comparison->confidence, "not_comparable", texts_json(&comparison->differences),
		"warnings", texts_json(&comparison->warnings), "comparisons", works);
	bool is_whole = whole != NULL && json_array_size(works) == comparison->work_count;
	int rc = is_whole ? json_dumpf(whole, out, JSON_INDENT(1) | JSON_REAL_PRECISION(DIGITS))
			  : error_set(NB_FAIL, "out of memory");
	json_decref(whole);
	if (rc != 0)
		return is_whole ? error_system("the comparison cannot be written") : rc;
	fputc('\n', out);
	return NB_OK;
}
