/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the findings of crash tests as JSON, format mininb-crash. The text of an engine
 * may contain any bytes; it is encoded as in result files (report/json_value.h).
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/error.h"
#include "crash/crash.h"
#include "report/json_value.h"

static json_t *
times_to_json(const struct nb_histogram *times)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "count",
		json_from_u64(nb_histogram_count(times)), "p50_ns",
		json_from_u64(nb_histogram_percentile(times, 50)), "p90_ns",
		json_from_u64(nb_histogram_percentile(times, 90)), "max_ns",
		json_from_u64(nb_histogram_max(times)));
}

static json_t *
finding_to_json(const struct nb_crash_finding *finding)
{
	json_t *json = json_pack("{s:I, s:s, s:b, s:b, s:o, s:o}", "round",
		(json_int_t)finding->round + 1, "wrong", nb_crash_wrong_name(finding->wrong),
		"is_broken", (int)finding->is_broken, "is_counted", (int)finding->is_counted,
		"text", json_from_text(finding->text), "when", json_from_text(finding->when));
	if (finding->kept != NULL)
		json_object_set_new(json, "kept", json_from_text(finding->kept));
	return json;
}

static json_t *
wrong_to_json(const struct nb_crash_tally *tally)
{
	json_t *json = json_object();
	for (uint32_t i = 0; i < NB_CRASH_WRONGS; i++)
		json_object_set_new(
			json, nb_crash_wrong_name(i), json_from_u64(tally->wrong[i]));
	return json;
}

static json_t *
row_to_json(const struct nb_crash_row *row)
{
	const struct nb_crash_tally *tally = row->tally;
	const struct {
		const char *name;
		uint64_t value;
	} counts[] = {{"rounds", tally->rounds}, {"crashes", tally->crashes},
		{"counted", tally->counted}, {"broken", tally->broken},
		{"acknowledged", tally->acknowledged}, {"survived", tally->survived},
		{"lost", tally->lost}, {"holes", tally->holes}, {"in_flight", tally->in_flight},
		{"in_flight_kept", tally->in_flight_kept}};
	json_t *findings = json_array();
	for (size_t i = 0; i < row->finding_count; i++)
		json_array_append_new(findings, finding_to_json(&row->findings[i]));
	json_t *json = json_pack("{s:o, s:o, s:o, s:s, s:b}", "driver",
		json_from_text(row->driver), "engine", json_from_text(row->engine),
		"engine_version", json_from_text(row->version), "durability",
		nb_durability_name(row->durability), "is_whole", (int)row->is_whole);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		json_object_set_new(json, counts[i].name, json_from_u64(counts[i].value));
	json_t *rest = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "recovery",
		times_to_json(tally->recovery), "reopening", times_to_json(tally->reopening),
		"wrong", wrong_to_json(tally), "calls", json_from_u64(tally->calls), "syncs",
		json_from_u64(tally->syncs), "mapped_pages", json_from_u64(tally->mapped_pages),
		"unseen", json_from_text(tally->unseen), "findings", findings);
	if (rest == NULL || json_object_update(json, rest) != 0) {
		json_decref(json);
		json = NULL;
	}
	json_decref(rest);
	return json;
}

char *
nb_crash_to_json(
	const struct nb_crash_args *args, const struct nb_crash_row *rows, size_t row_count)
{
	json_t *options = json_array(), *engines = json_array();
	for (size_t i = 0; i < args->engine_option_count; i++)
		json_array_append_new(options,
			json_pack("{s:o}", "option", json_from_text(args->engine_options[i])));
	for (size_t i = 0; i < row_count; i++)
		json_array_append_new(engines, row_to_json(&rows[i]));
	json_t *json = json_pack("{s:s, s:i, s:s, s:s, s:o, s:i, s:o, s:o}", "format",
		"mininb-crash", "version", 1, "mininb", nb_version(), "how",
		args->how == NB_CRASH_POWER ? "power" : "kill", "seed",
		json_sprintf("%" PRIu64, args->seed), "threads", (int)args->sessions, "options",
		options, "engines", engines);
	char *text = json != NULL && json_array_size(engines) == row_count
		? json_dumps(json, JSON_INDENT(1))
		: NULL;
	json_decref(json);
	if (text == NULL)
		error_set(NB_FAIL, "out of memory");
	return text;
}
