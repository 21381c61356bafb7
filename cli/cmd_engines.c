/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "message.h"
#include "options.h"

/** All engines. The driver's default is not meant here, only one that was typed. */
int
cmd_engines(const struct options *options)
{
	int rc = options_were_given(options, "driver")
		? nb_engine_write_text(nb_stdout(), options->driver)
		: nb_engines_write_text(nb_stdout());
	return message_output_failure(rc);
}
