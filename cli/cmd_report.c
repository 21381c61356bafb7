/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report, merge: results at hand, written in one of the formats.
 *
 * All files are read before anything is written, so that one that is damaged costs nothing.
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
#include "results_files.h"

static uint32_t
flags_of(const struct options *options, bool is_terminal)
{
	return (options->is_folded ? NB_TEXT_FOLD : 0) | (is_terminal ? NB_TEXT_BARS : 0);
}

/** Files beside the report itself; the report goes to stdout if nothing says where. */
static int
write_files(const struct options *options, const struct nb_results *results)
{
	int rc = 0;
	if (options->hlog != NULL)
		rc = nb_results_write_file(results, "hlog", options->hlog, 0);
	if (rc == 0 && options->csv != NULL)
		rc = nb_results_write_csv_files(results, options->csv);
	if (rc == 0 && options->notebook != NULL)
		rc = nb_results_append_notebook(results, options->notebook);
	return message_last_failure(rc);
}

static bool
has_only_files(const struct options *options)
{
	bool has_files = options->hlog != NULL || options->csv != NULL ||
		options->notebook != NULL;
	return has_files && options->output == NULL && !options_were_given(options, "format");
}

static int
write_as(const struct options *options, const struct nb_results *results, const char *format)
{
	if (options->output == NULL)
		return message_output_failure(nb_results_write(results, format, nb_stdout(),
			flags_of(options, isatty(fileno(nb_stdout())))));
	return message_last_failure(nb_results_write_file(
		results, format, options->output, flags_of(options, false)));
}

static int
write_report(const struct options *options, const struct nb_results *results)
{
	int status = write_files(options, results);
	if (status != STATUS_DONE || has_only_files(options))
		return status;
	char *format = options_choice(options, "format");
	if (format == NULL) {
		message_error("out of memory");
		return STATUS_FAILED;
	}
	status = write_as(options, results, format);
	free(format);
	return status;
}

/** Of what is whole by now, so that a notebook that is none costs no older plot. */
static int
write_text(const struct options *options, const char *text)
{
	if (options->output != NULL && strcmp(options->output, "-") != 0)
		return message_last_failure(nb_file_write(options->output, text, strlen(text)));
	fputs(text, nb_stdout()); /* what is wrong is seen in the end */
	return STATUS_DONE;
}

/** The plot of a notebook, which is no result file but has what that is made of. */
static int
plot_notebook(const struct options *options)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	if (memory == NULL) {
		message_error("out of memory");
		return STATUS_FAILED;
	}
	int status = message_last_failure(nb_notebook_write_plot(options->operand, memory));
	if (fclose(memory) != 0 && status == STATUS_DONE) {
		message_error("out of memory");
		status = STATUS_FAILED;
	}
	if (status == STATUS_DONE)
		status = write_text(options, text);
	free(text);
	return status;
}

/** Asked for by the option, as the option has no file to append to here. */
static bool
is_of_notebook(const struct options *options)
{
	char *format = options_choice(options, "format");
	bool is = format != NULL && strcmp(format, "candlestick") == 0 &&
		options->operand_count == 1 && results_files_is_notebook(options->operand);
	free(format);
	return is;
}

int
cmd_report(const struct options *options)
{
	struct nb_results *results;
	if (is_of_notebook(options))
		return plot_notebook(options);
	int status = results_files_read(&results, options->operands, options->operand_count);
	if (status != STATUS_DONE)
		return status;
	status = write_report(options, results);
	nb_results_delete(results);
	return status;
}

/** What is merged is a result again, so a file is a result file unless something else is said. */
static int
write_merged(const struct options *options, const struct nb_results *merged)
{
	if (options->output == NULL || options_were_given(options, "format"))
		return write_report(options, merged);
	int status = write_files(options, merged);
	return status != STATUS_DONE ? status
				     : message_last_failure(nb_results_write_file(
					       merged, "json", options->output, 0));
}

int
cmd_merge(const struct options *options)
{
	struct nb_results *results, *merged = NULL;
	int status = results_files_read(&results, options->operands, options->operand_count);
	if (status != STATUS_DONE)
		return status;
	status = message_last_failure(nb_results_merge(&merged, results));
	if (status == STATUS_DONE)
		status = write_merged(options, merged);
	nb_results_delete(merged);
	nb_results_delete(results);
	return status;
}
