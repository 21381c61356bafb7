/* SPDX-License-Identifier: BSD-2-Clause */
/* compare: result files against the first, or the engines of one file against its first. */
#include <stdio.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "compare_files.h"
#include "message.h"
#include "options.h"

int
cmd_compare(const struct options *options)
{
	/* in the order of --format's choices */
	static const char *const formats[] = {"text", "md", "json"};
	struct nb_comparison *comparison;
	int status = compare_files(&comparison, options);
	if (status != STATUS_DONE)
		return status;
	uint32_t flags = isatty(fileno(nb_stdout())) ? NB_TEXT_BARS : 0;
	status = message_output_failure(nb_comparison_write(
		comparison, formats[options->compare_format], nb_stdout(), flags));
	nb_comparison_delete(comparison);
	return status;
}
