/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report, merge: writes result files in one of the formats.
 *
 * mininb reads all files before it writes, so a damaged file leaves existing output unchanged.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "results_files.h"

static uint64_t own_format; /* index into the choices */

/* clang-format off */
static const struct option_row format_options[] = {
	{.name = "format", .arg = "FORMAT", .type = OPTION_CHOICE, .def = "text",
		.choices = "text|md|csv|json|hgrm|hlog|gnuplot|candlestick|sofaster|taobench|mttest|mtclient|html",
		.group = GROUP_OUTPUT, .before = "quiet", .into = &own_format,
		.help = "format of the report"},
	{.name = NULL},
};

static const char *baseline_path; /* NULL: not given */

static const struct option_row baseline_options[] = {
	{.name = "baseline", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_OUTPUT,
		.words = WORDS_FILE, .before = "quiet", .into = &baseline_path,
		.help = "with --format=html: also show the changes from the result in FILE"},
	{.name = NULL},
};
/* clang-format on */

static bool
has_only_files(const struct options *options)
{
	bool has_files = options->hlog != NULL || options->csv != NULL ||
		options->notebook != NULL;
	return has_files && options->output == NULL && !options_were_given(options, "format");
}

/** merge writes json, unless --format is given. */
static int
write_report(const struct options *options, const struct nb_results *results)
{
	int status = output_write_others(options, results);
	if (status != STATUS_DONE || has_only_files(options))
		return status;
	char text[CHOICE_SIZE];
	const char *format = options_choice(options, "format", text);
	uint32_t flags = options->is_folded ? NB_TEXT_FOLD : 0;
	if (options->output == NULL) {
		flags |= isatty(fileno(nb_stdout())) ? NB_TEXT_BARS : 0;
		return message_output_failure(
			nb_results_write(results, format, nb_stdout(), flags));
	}
	if (options->action == &cmd_merge && !options_were_given(options, "format"))
		format = "json";
	return message_last_failure(
		nb_results_write_file(results, format, options->output, flags));
}

/** Writes only complete text, so a damaged notebook leaves an older plot unchanged. */
static int
write_text(const struct options *options, const char *text)
{
	if (options->output != NULL && strcmp(options->output, "-") != 0)
		return message_last_failure(nb_file_write(options->output, text, strlen(text)));
	fputs(text, nb_stdout()); /* main() reports a failed write */
	return STATUS_DONE;
}

/** Plots a notebook. It is not a result file, but contains the data of the plot. */
static int
plot_notebook(const struct options *options)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	if (memory == NULL)
		return message_no_memory();
	int status = message_last_failure(nb_notebook_write_plot(options->operand, memory));
	if (fclose(memory) != 0 && status == STATUS_DONE)
		status = message_no_memory();
	if (status == STATUS_DONE)
		status = write_text(options, text);
	free(text);
	return status;
}

/** Whether the operand is a notebook to plot. */
static bool
is_of_notebook(const struct options *options)
{
	char format[CHOICE_SIZE];
	return strcmp(options_choice(options, "format", format), "candlestick") == 0 &&
		options->operand_count == 1 && results_files_is_notebook(options->operand);
}

/** Only a page shows a comparison with a baseline. *out NULL: none was requested. */
static int
read_baseline(struct nb_results **out, const struct options *options)
{
	char format[CHOICE_SIZE];
	*out = NULL;
	if (baseline_path == NULL)
		return STATUS_DONE;
	if (strcmp(options_choice(options, "format", format), "html") == 0)
		return message_last_failure(nb_results_read(out, baseline_path));
	message_usage("--baseline needs --format=html; 'compare' compares files as text");
	return STATUS_USAGE;
}

static int
do_report(const struct options *options)
{
	struct nb_results *results, *baseline;
	if (is_of_notebook(options))
		return plot_notebook(options);
	int status = results_files_read(&results, options);
	if (status != STATUS_DONE)
		return status;
	status = read_baseline(&baseline, options);
	nb_results_set_baseline(results, baseline);
	if (status == STATUS_DONE)
		status = write_report(options, results);
	nb_results_delete(results);
	nb_results_delete(baseline);
	return status;
}

const struct cmd cmd_report = {
	.name = "report",
	.run = do_report,
	.operand = "FILE...",
	.help = "print results again, or as a page, a table or a plot",
	.detail =
		"text: exactly what was printed after the run; md: a page of Markdown; csv: "
		"a table; json: the results of all files together; hgrm and hlog: "
		"percentiles and a log for the tools of HdrHistogram; gnuplot and "
		"candlestick: scripts with their data, candlestick also from a notebook; "
		"taobench: the closing block of TAOBench, sofaster: the lines of SoFASTER's "
		"YCSB client, mttest and mtclient: the output of Masstree's tools, to compare with "
		"published figures; "
		"html: a page with charts that needs no other file. Several files appear "
		"side by side. For a file of vs, text, md, csv and html show the comparison "
		"with one row for each engine and phase; md and html also show the run with "
		"the median throughput of each engine.",
	.own = {format_options, baseline_options},
	.shares = SHARES_RESULT "force fold",
};

static int
do_merge(const struct options *options)
{
	struct nb_results *results, *merged = NULL;
	int status = results_files_read(&results, options);
	if (status != STATUS_DONE)
		return status;
	status = message_last_failure(nb_results_merge(&merged, results));
	if (status == STATUS_DONE)
		status = write_report(options, merged);
	nb_results_delete(merged);
	nb_results_delete(results);
	return status;
}

const struct cmd cmd_merge = {
	.name = "merge",
	.run = do_merge,
	.operand = "FILE...",
	.help = "combine the results of runs that ran side by side",
	.detail = "Merges histograms and counts of threads, processes or machines, and "
		  "computes percentiles from the merged histograms. Refuses results that "
		  "differ in engine, action, durability or size of records.",
	.own = {format_options},
	.shares = SHARES_RESULT "force fold",
};
