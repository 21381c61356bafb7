/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gate: whether the second result file is worse than the first by more than may be. Its
 * answer is the exit status, for scripts; what it is made of goes to stdout.
 */
#include <stdio.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "compare_files.h"
#include "message.h"
#include "options.h"

int
cmd_gate(const struct options *options)
{
	struct nb_comparison *comparison;
	if (options->operand_count != 2)
		return message_usage("gate: two files are needed, of before and of now "
				     "(mininb gate BASE NEW --max-regress=p99:5%%)");
	if (options->max_regress == NULL)
		return message_usage("gate: what may get worse, and by how much, is not said "
				     "(--max-regress=p99:5%%,throughput:3%%)");
	int status = compare_files(&comparison, options);
	if (status != STATUS_DONE)
		return status;
	int rc = nb_comparison_gate(comparison, options->max_regress, nb_stdout());
	nb_comparison_delete(comparison);
	if (rc < 0)
		return rc == NB_ERR_USAGE ? message_usage("gate: %s", nb_error_text())
					  : message_output_failure(rc);
	return rc == 0 ? STATUS_DONE : STATUS_GATE;
}
