/* SPDX-License-Identifier: BSD-2-Clause */
/* put, get, delete: applies one verb to the keys of the file, on each engine of the list. */
#include <mininb/mininb.h>

#include "cmd.h"
#include "cmd_run.h"
#include "message.h"

static int
run_verb(const struct options *options, const struct run_sink *sink)
{
	struct nb_workload workload = NB_WORKLOAD_INIT;
	workload.verb = options->action == &cmd_put ? NB_VERB_PUT
		: options->action == &cmd_get       ? NB_VERB_GET
						    : NB_VERB_DELETE;
	workload.keys_path = options->keys;
	workload.count = options->count;
	workload.key_size = options->key_size;
	workload.value_size = options->value_size;
	workload.value_ratio = options->value_ratio;
	workload.seed = options->seed;
	struct nb_run_options run;
	int status = run_options_of(&run, options, sink);
	run.workload = &workload;
	struct nb_irqs *irqs = NULL;
	if (status == STATUS_DONE)
		status = irqs_begin_run(&irqs, options, &run);
	return status == STATUS_DONE ? irqs_end(irqs, run_one(options, &run, sink)) : status;
}

static int
do_verb(const struct options *options)
{
	return run_drivers(options, run_verb, options->action == &cmd_put);
}

const struct cmd cmd_put = {
	.name = "put",
	.run = do_verb,
	.help = "store a value under each key, in the order of the file",
	.detail = "Makes the database if it does not exist. At the end the engine completes "
		  "its postponed work (--settle), and mininb times that too.",
	.shares = SHARES_FILE SHARES_ENGINE
	"vlen value-ratio seed force fresh threads depth batch-bytes settle fold",
	.measures = true,
	.is_repeatable = true,
};

const struct cmd cmd_get = {
	.name = "get",
	.run = do_verb,
	.help = "look up each key, in the order of the file",
	.detail = "Reads every value and verifies a share of them: a value contains its key "
		  "and a checksum. --klen and --vlen must be the same as for put.",
	.shares = SHARES_FILE SHARES_ENGINE
	"vlen force threads depth batch-bytes allow-missing fold",
	.rejects = "fresh",
	.measures = true,
	.is_repeatable = true,
};

const struct cmd cmd_delete = {
	.name = "delete",
	.run = do_verb,
	.help = "remove each key, in the order of the file",
	.detail = "At the end the engine completes its postponed work (--settle), and mininb "
		  "times that too.",
	.shares = SHARES_FILE SHARES_ENGINE
	"force threads depth batch-bytes settle allow-missing fold",
	.rejects = "fresh",
	.measures = true,
	.is_repeatable = true,
};
