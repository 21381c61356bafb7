/* SPDX-License-Identifier: BSD-2-Clause */
/* put, get, delete: one verb over the keys of the file, on each engine of the list. */
#include <mininb/mininb.h>

#include "cmd.h"
#include "cmd_run.h"
#include "options.h"

static struct nb_workload
workload_of(const struct options *options, uint32_t verb)
{
	struct nb_workload workload = NB_WORKLOAD_INIT;
	workload.verb = verb;
	workload.keys_path = options->keys;
	workload.count = options->count;
	workload.key_size = options->key_size;
	workload.value_size = options->value_size;
	workload.value_ratio = options->value_ratio;
	workload.seed = options->seed;
	return workload;
}

static int
run_verb(const struct options *options, uint32_t verb, nb_progress_fn progress,
	struct nb_results *results, struct nb_summary *summary)
{
	struct nb_workload workload = workload_of(options, verb);
	struct nb_run_options run = run_options_of(options, progress);
	run.workload = &workload;
	return run_one(options, &run, results, summary);
}

static int
run_put(const struct options *options, nb_progress_fn progress, struct nb_results *results,
	struct nb_summary *summary)
{
	return run_verb(options, NB_VERB_PUT, progress, results, summary);
}

static int
run_get(const struct options *options, nb_progress_fn progress, struct nb_results *results,
	struct nb_summary *summary)
{
	return run_verb(options, NB_VERB_GET, progress, results, summary);
}

static int
run_delete(const struct options *options, nb_progress_fn progress, struct nb_results *results,
	struct nb_summary *summary)
{
	return run_verb(options, NB_VERB_DELETE, progress, results, summary);
}

static int
do_put(const struct options *options)
{
	return run_drivers(options, &(struct run_kind){.run = run_put, .makes_data = true});
}

const struct cmd cmd_put = {
	.name = "put",
	.run = do_put,
	.help = "store a value under each key, in the order of the file",
	.detail = "Makes the database if it does not exist. At the end the engine completes "
		  "its postponed work (--settle), and mininb times that too.",
	.shares = SHARES_FILE SHARES_ENGINE
	"vlen value-ratio seed force fresh threads settle fold",
	.measures = true,
	.is_repeatable = true,
};

static int
do_get(const struct options *options)
{
	return run_drivers(options, &(struct run_kind){.run = run_get});
}

const struct cmd cmd_get = {
	.name = "get",
	.run = do_get,
	.help = "look up each key, in the order of the file",
	.detail = "Reads every value and verifies a share of them: a value contains its key "
		  "and a checksum. --klen and --vlen must be the same as for put.",
	.shares = SHARES_FILE SHARES_ENGINE "vlen force threads allow-missing fold",
	.rejects = "fresh",
	.measures = true,
	.is_repeatable = true,
};

static int
do_delete(const struct options *options)
{
	return run_drivers(options, &(struct run_kind){.run = run_delete});
}

const struct cmd cmd_delete = {
	.name = "delete",
	.run = do_delete,
	.help = "remove each key, in the order of the file",
	.detail = "At the end the engine completes its postponed work (--settle), and mininb "
		  "times that too.",
	.shares = SHARES_FILE SHARES_ENGINE "force threads settle allow-missing fold",
	.rejects = "fresh",
	.measures = true,
	.is_repeatable = true,
};
