/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes the result out of a run: a copy of everything that determines the meaning of the
 * numbers, and a reference to the measurements. So it outlives the run, and all writers use
 * the same data.
 */
#include "report/result.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "run/run.h"
#include "run/options.h"

static bool
copy_options(struct nb_result *result, const struct nb_run *run)
{
	const struct nb_option *option = result->engine.options;
	for (size_t i = 0; option != NULL && option[i].name != NULL; i++) {
		char value[4096]; /* a path is the longest reasonable value */
		option_value_text(&option[i], &run->values[i], value, sizeof(value));
		struct result_option *copy = array_append(
			&result->options, &result->option_count, sizeof(*copy));
		if (copy == NULL)
			return false;
		*copy = (struct result_option){strdup(option[i].name), strdup(value)};
		if (copy->name == NULL || copy->value == NULL)
			return false;
	}
	return true;
}

static bool
copy_owned(struct nb_result *result, const struct nb_run *run)
{
	result->workload.keys_path = strdup(run->workload.keys_path);
	result->engine_path = strdup(run->engine->path);
	return result->workload.keys_path != NULL && result->engine_path != NULL &&
		addresses_copy(&result->servers, run_addresses(run)) == NB_OK &&
		engine_told_of_servers(&result->server_settings, &result->servers) == NB_OK &&
		copy_options(result, run);
}

int
nb_result_new(struct nb_result **out, const struct nb_run *run)
{
	if (!run->measured.has_begun)
		return error_set(
			NB_FAIL, "the run has no result: it ended before its first operation");
	struct nb_result *result = calloc(1, sizeof(*result));
	if (result == NULL)
		return error_memory();
	*result = (struct nb_result){.engine = run->engine->table,
		.engine_version = run->engine->table.version(),
		.version = nb_version(),
		.has_counters = run->engine->table.stats != NULL,
		.workload = run->workload,
		.threads = run->options.threads,
		.durability = run->durability,
		.settle = run->options.settle,
		.flags = run->options.flags,
		.is_auto_durability = run->options.durability == NB_DUR_AUTO,
		.cache_bytes = run->options.cache_bytes,
		.verify_rate = run->options.verify_rate,
		.keys = run->keys_facts,
		.digest = run->digest,
		.clock = run->clock,
		.sysinfo = run->sysinfo,
		.environment = run->environment,
		.measured = measurement_share(&run->measured),
		.is_job = run->classic == NULL};
	engine_warnings(&result->warnings);
	int rc = copy_owned(result, run) ? NB_OK : error_memory();
	if (rc == NB_OK && result->is_job)
		rc = result_take_job(result, run);
	if (rc != NB_OK) {
		nb_result_delete(result);
		return rc;
	}
	result_add_notes(result);
	*out = result;
	return NB_OK;
}

void
nb_result_delete(struct nb_result *result)
{
	if (result == NULL)
		return;
	for (size_t i = 0; i < result->option_count; i++) {
		free(result->options[i].name);
		free(result->options[i].value);
	}
	for (size_t i = 0; i < result->note_count; i++)
		free(result->notes[i].text);
	free(result->options);
	free(result->notes);
	free((char *)result->workload.keys_path);
	free(result->engine_path);
	free(result->generators);
	addresses_destroy(&result->servers);
	addresses_destroy(&result->server_settings);
	for (size_t i = 0; i < result->text_count; i++)
		free(result->texts[i]);
	free(result->texts);
	measurement_destroy(&result->measured);
	result_destroy_job(result);
	free(result);
}

uint64_t
nb_result_ops(const struct nb_result *result)
{
	return result->measured.ops;
}

uint64_t
nb_result_wall_ns(const struct nb_result *result)
{
	return result->measured.wall_ns;
}

const struct nb_histogram *
nb_result_service(const struct nb_result *result)
{
	return result->measured.service;
}

uint64_t
nb_result_digest(const struct nb_result *result)
{
	return result->digest;
}

int
nb_result_is_partial(const struct nb_result *result)
{
	return result->measured.is_partial;
}

void
nb_result_counters(const struct nb_result *result, nb_stat_emit emit, void *to)
{
	const struct counters *counters = &result->measured.counters;
	for (size_t i = 0; i < counters->count; i++) {
		const struct counter *it = &counters->items[i];
		if (!it->has_run_back)
			emit(to, it->name, it->unit, it->kind, it->value);
	}
}

double
result_unstamped_ns(const struct nb_result *result)
{
	const struct stamping *stamping = &result->measured.stamping;
	return stamping->ops > 0 ? (double)stamping->ns / (double)stamping->ops : 0;
}

uint64_t
result_bytes(const struct nb_result *result)
{
	return result->measured.ops * result->workload.key_size + result->measured.value_bytes;
}

double
result_rate(double count, uint64_t ns)
{
	return ns > 0 ? count * 1e9 / (double)ns : 0;
}
