/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "message.h"
#include "options.h"
#include "progress.h"

static int
finish(const struct options *options, int rc)
{
	progress_clear();
	if (rc < 0)
		return message_last_failure(rc);
	fprintf(nb_stdout(),
		"Action: %s\nFile: %s\nKey Len: %" PRIu64 "\nCount: %" PRIu64 "\nSeed: %" PRIu64
		"\n",
		options->action->name, options->keys, options->key_size, options->count,
		options->seed);
	return STATUS_DONE;
}

static int
do_keys(const struct options *options)
{
	return finish(options,
		nb_keys_make(options->keys, options->key_size, options->count, options->seed,
			progress_of(options), NULL));
}

const struct cmd cmd_keys = {
	.name = "keys",
	.run = do_keys,
	.help = "write the key file",
	.detail = "Writes COUNT different keys of LEN random bytes. They depend only on seed, "
		  "length and count. Any other file of COUNT x LEN bytes works as well, for "
		  "example from /dev/urandom.",
	.shares = SHARES_FILE "seed force",
	.writes = "keys",
};

static int
do_shuffle(const struct options *options)
{
	return finish(options,
		nb_keys_shuffle(options->keys, options->key_size, options->count, options->seed,
			progress_of(options), NULL));
}

const struct cmd cmd_shuffle = {
	.name = "shuffle",
	.run = do_shuffle,
	.help = "put the keys of the file into a random order",
	.detail = "Moves only the first COUNT keys. Any program may have written the file. "
		  "mininb writes a new file and renames it, so the key file is complete at "
		  "every moment.",
	.shares = SHARES_FILE "seed force",
};
