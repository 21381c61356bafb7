/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a run is asked to do, checked before anything is touched: a wrong option
 * or a short key file must not cost an hour of loading, nor leave half a
 * database behind.
 */
#include "run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "run/sampler.h"

enum { THREADS_MAX = 1024 };

static int
check_workload(const struct nb_workload *workload)
{
	if (nb_verb_name(workload->verb) == NULL)
		return error_set(
			NB_ERR_USAGE, "verb %u: there is no such verb", workload->verb);
	if (workload->count == 0 || workload->count > INT64_MAX)
		return error_set(NB_ERR_USAGE, "count: must be at least 1");
	if (workload->key_size == 0 || workload->key_size > NB_KEY_SIZE_MAX)
		return error_set(
			NB_ERR_USAGE, "key size: must be 1 to %u bytes", NB_KEY_SIZE_MAX);
	if (workload->value_size > NB_VALUE_SIZE_MAX)
		return error_set(
			NB_ERR_USAGE, "value size: must be 0 to %u bytes", NB_VALUE_SIZE_MAX);
	if (!(workload->value_ratio >= 0 && workload->value_ratio <= 1))
		return error_set(NB_ERR_USAGE, "value ratio: must be 0 to 1");
	if (workload->count > INT64_MAX / workload->key_size)
		return error_set(NB_ERR_USAGE, "count: no file holds that many keys");
	return NB_OK;
}

static int
check_options(const struct nb_run_options *options, const struct nb_workload *workload)
{
	if (options->path == NULL || options->path[0] == '\0')
		return error_set(NB_ERR_USAGE, "path: must not be empty");
	if (options->threads == 0 || options->threads > THREADS_MAX)
		return error_set(NB_ERR_USAGE, "threads: must be 1 to %d", THREADS_MAX);
	if (options->threads > workload->count)
		return error_set(NB_ERR_USAGE, "threads: %u cannot share %llu operations",
			options->threads, (unsigned long long)workload->count);
	if (!(options->verify_rate >= 0 && options->verify_rate <= 1))
		return error_set(NB_ERR_USAGE, "verify rate: must be 0 to 1");
	if (options->clock > NB_CLOCK_MONOTONIC || options->settle > NB_RUN_SETTLE_COMPACT)
		return error_set(NB_ERR_USAGE, "clock or settle: no such value");
	return NB_OK;
}

int
run_check_engine(struct nb_run *run)
{
	const struct nb_engine *engine = &run->engine->table;
	const struct nb_workload *workload = &run->workload;
	run->durability = run->options.durability == NB_DUR_AUTO
		? engine_auto_durability(engine, run->options.path)
		: run->options.durability;
	int rc = engine_check_durability(engine, run->durability);
	if (rc != NB_OK)
		return rc;
	if (run->options.threads > 1 && (engine->caps & NB_CAP_CONCURRENT) == 0)
		return error_set(NB_UNSUPPORTED,
			"threads: %s works with one only: its sessions may not run in parallel",
			engine->name);
	if (engine->key_size_max != 0 && workload->key_size > engine->key_size_max)
		return error_set(NB_UNSUPPORTED, "key size: %s takes at most %llu bytes",
			engine->name, (unsigned long long)engine->key_size_max);
	if (engine->value_size_max != 0 && workload->value_size > engine->value_size_max)
		return error_set(NB_UNSUPPORTED, "value size: %s takes at most %llu bytes",
			engine->name, (unsigned long long)engine->value_size_max);
	return NB_OK;
}

/** Texts are borrowed, structures copied, as far as both sides know them. */
static void
copy_asked(struct nb_run *run, const struct nb_run_options *options)
{
	const struct nb_workload *workload = options->workload;
	run->options = (struct nb_run_options)NB_RUN_OPTIONS_INIT;
	run->workload = (struct nb_workload)NB_WORKLOAD_INIT;
	memcpy(&run->options, options,
		options->size < sizeof(*options) ? options->size : sizeof(*options));
	memcpy(&run->workload, workload,
		workload->size < sizeof(*workload) ? workload->size : sizeof(*workload));
	run->options.workload = &run->workload;
}

static int
check_all(struct nb_run *run)
{
	int rc = check_workload(&run->workload);
	if (rc == NB_OK)
		rc = check_options(&run->options, &run->workload);
	if (rc == NB_OK)
		rc = nb_engine_load(&run->engine, run->options.driver);
	if (rc == NB_OK)
		rc = nb_engine_configure(&run->values, run->engine, run->options.engine_options,
			run->options.engine_option_count);
	if (rc == NB_OK)
		rc = run_check_engine(run);
	if (rc == NB_OK)
		rc = keys_open(&run->keys, run->workload.keys_path, run->workload.key_size,
			run->workload.count);
	if (rc == NB_OK)
		rc = clock_create(&run->clock, run->options.clock);
	return rc;
}

int
nb_run_new(struct nb_run **out, const struct nb_run_options *options)
{
	uint64_t begin_ns = clock_monotonic();
	if (options->workload == NULL)
		return error_set(NB_ERR_USAGE, "a run needs a workload");
	struct nb_run *run = calloc(1, sizeof(*run));
	if (run == NULL)
		return error_set(NB_FAIL, "out of memory");
	copy_asked(run, options);
	int rc = nb_histogram_new(&run->measured.service);
	if (rc == NB_OK)
		rc = nb_histogram_new(&run->measured.hiccups);
	run->hiccup = aligned_alloc(HISTOGRAM_ALIGN, sizeof(*run->hiccup));
	if (rc == NB_OK && run->hiccup == NULL)
		rc = error_set(NB_FAIL, "out of memory");
	if (rc == NB_OK)
		rc = check_all(run);
	if (rc == NB_OK &&
		asprintf(&run->path, "%s/%s", run->options.path, run->engine->table.name) < 0) {
		run->path = NULL;
		rc = error_set(NB_FAIL, "out of memory");
	}
	if (rc != NB_OK) {
		nb_run_delete(run);
		return rc;
	}
	run_add_phase(run, "start", begin_ns);
	*out = run;
	return NB_OK;
}

void
nb_run_delete(struct nb_run *run)
{
	if (run == NULL || run->left.is_left)
		return; /* a thread is within the engine, and may use any of it */
	run_dismiss_keeper(run, NB_OK);
	run_release_path(run);
	counters_destroy(&run->told);
	if (run->keys.data != NULL)
		keys_close(&run->keys);
	if (run->engine != NULL)
		nb_options_delete(run->values, &run->engine->table);
	nb_engine_unload(run->engine);
	counters_destroy(&run->measured.counters);
	nb_histogram_delete(run->measured.service);
	nb_histogram_delete(run->measured.hiccups);
	free(run->measured.threads);
	series_destroy(&run->measured.series);
	sampler_delete(run->sampler);
	free(run->hiccup);
	free(run->path);
	free(run);
}
