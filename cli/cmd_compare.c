/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compare: compares result files with the first one, or the engines of one file with its first.
 * gate: tests whether the second file is worse than the first by more than the limits. The
 * result is the exit status, for scripts; the figures go to stdout.
 */
#include <stdio.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "message.h"
#include "results_files.h"

static struct {
	uint64_t format; /* index into the choices */
	const char *max_regress;
} own;

#define INTO(name) .into = &own.name
/* clang-format off */
static const struct option_row format_options[] = {
	{.name = "format", .arg = "FORMAT", .type = OPTION_CHOICE, .def = "text",
		.choices = "text|md|table|json", .group = GROUP_OUTPUT, .before = "quiet",
		INTO(format),
		.help = "format of the comparison"},
	{.name = NULL},
};
static const struct option_row gate_options[] = {
	{.name = "max-regress", .arg = "LIMITS", .type = OPTION_TEXT, .group = GROUP_COMPARE,
		.before = "confidence", .decides = true, INTO(max_regress),
		.help = "how much each figure may get worse: p99:5%,throughput:3%",
		.detail = "Figures are throughput, settled, p50, p90, p99, p99.9 and p99.99; "
			"read.p99 is that of one kind of operation. The result must have all "
			"figures named."},
	{.name = NULL},
};
/* clang-format on */

static int
do_compare(const struct options *options)
{
	/* in the order of --format's choices */
	static const char *const formats[] = {"text", "md", "table", "json"};
	struct nb_comparison *comparison;
	int status = compare_files(&comparison, options);
	if (status != STATUS_DONE)
		return status;
	uint32_t flags = isatty(fileno(nb_stdout())) ? NB_TEXT_BARS : 0;
	status = message_output_failure(
		nb_comparison_write(comparison, formats[own.format], nb_stdout(), flags));
	nb_comparison_delete(comparison);
	return status;
}

const struct cmd cmd_compare = {
	.name = "compare",
	.run = do_compare,
	.operand = "FILE...",
	.help = "compare results: how much they differ, and how certainly",
	.detail = "Compares each file with the first, or the engines of one file with its "
		  "first engine. Each run counts as one value of each figure. Prints the ratio "
		  "with its confidence interval, and tests whether the difference may be "
		  "chance. Does not rank runs that differ in stream of operations, durability, "
		  "size, rate or number of threads, or that did not end well, unless you give "
		  "--force. vs makes the repetitions.",
	.own = {format_options, compare_options},
	.measures = true,
};

static int
do_gate(const struct options *options)
{
	struct nb_comparison *comparison;
	if (options->operand_count != 2)
		return message_usage(
			"gate: needs two files, the old and the new result (mininb gate BASE NEW --max-regress=p99:5%%)");
	if (own.max_regress == NULL)
		return message_usage(
			"gate: --max-regress is missing (--max-regress=p99:5%%,throughput:3%%)");
	int status = compare_files(&comparison, options);
	if (status != STATUS_DONE)
		return status;
	int rc = nb_comparison_gate(comparison, own.max_regress, nb_stdout());
	nb_comparison_delete(comparison);
	if (rc < 0)
		return rc == NB_ERR_USAGE ? message_usage("gate: %s", nb_error_text())
					  : message_output_failure(rc);
	return rc == 0 ? STATUS_DONE : STATUS_GATE;
}

const struct cmd cmd_gate = {
	.name = "gate",
	.run = do_gate,
	.operand = "BASE NEW",
	.help = "fail if a result got worse (use vs if the load changes)",
	.detail = "For scripts. The exit status is 4 if a figure of NEW is worse than in BASE "
		  "by more than its limit, and its confidence interval shows that it is worse "
		  "at all. With one run in a file the figure alone decides, and gate says so. "
		  "The exit status is 2 if the files are not comparable: they did different "
		  "work, or the machine was not equally busy. That is so if the shares of CPU "
		  "time of other processes and the hypervisor differ by more than 10 points, "
		  "or, with one run in a file, if the share is more than 10 %. In that case, "
		  "and if the load changes, run both sides in turn with vs. --force judges "
		  "anyway.",
	.own = {gate_options, compare_options},
	.measures = true,
};
