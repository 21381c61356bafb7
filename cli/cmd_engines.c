/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "message.h"
#include "options.h"

/** Lists all engines, or describes the one of --driver, if given. */
static int
do_engines(const struct options *options)
{
	int rc = options_were_given(options, "driver")
		? nb_engine_write_text(nb_stdout(), options->driver)
		: nb_engines_write_text(nb_stdout());
	return message_output_failure(rc);
}

const struct cmd cmd_engines = {
	.name = "engines",
	.run = do_engines,
	.help = "list the engines; with --driver, one and its options",
	.detail = "Prints version, licence, capabilities and durability levels of each engine, "
		  "then the plugins that mininb refused, and why.",
	.shares = "driver",
};
