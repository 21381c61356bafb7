/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "message.h"
#include "options.h"
#include "progress.h"

int
cmd_keys(const struct options *options)
{
	int rc = nb_keys_make(options->keys, options->key_size, options->count, options->seed,
		progress_function(!options->is_quiet && options->report_interval > 0), NULL);
	progress_clear();
	if (rc < 0)
		return message_last_failure(rc);
	fprintf(nb_stdout(),
		"Action: keys\nFile: %s\nKey Len: %" PRIu64 "\nCount: %" PRIu64
		"\nSeed: %" PRIu64 "\n",
		options->keys, options->key_size, options->count, options->seed);
	return STATUS_DONE;
}
