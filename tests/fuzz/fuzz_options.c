/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For libFuzzer: any lines as the arguments of a command. The target reads them and processes
 * them as far as possible without running the action: the list of effective options, the
 * engines of --driver and their options, --allow, --steady, limits, and the job with all --set
 * values. A rejected command must print exactly one line, an accepted one at most one. The
 * target opens no named files: it replaces '@' and "histogram".
 *
 *     tests/fuzz/fuzz_options -max_len=1024 -dict=.../options.dict NEW_CORPUS
 * .../corpus/options
 */
#include "../../cli/options.h"
#include "../../cli/cmd.h"
#include "../../cli/cmd_run.h"
#include "../../cli/kept.h"
#include "../../cli/message.h"
#include "../../cli/output.h"
#include "fuzz.h"

enum { WORDS_MAX = 64 };

/* ---- messages ---- */

static char *said;
static size_t said_size;
static FILE *real_stderr;

/** Redirects stderr, which is a variable of the C library, to memory. */
static void
listen(void)
{
	real_stderr = stderr;
	stderr = open_memstream(&said, &said_size);
	require(stderr != NULL, "a memory stream can be opened");
}

/** The number of lines. Each must begin with "mininb: " and contain no control characters. */
static size_t
lines_said(void)
{
	size_t lines = 0;
	fclose(stderr);
	stderr = real_stderr;
	for (char *line = said, *end; *line != '\0'; line = end + 1, lines++) {
		end = strchr(line, '\n');
		require(end != NULL, "each line ends");
		require(strncmp(line, "mininb: ", 8) == 0 && line + 8 < end,
			"each line begins with the program's name");
		for (; line < end; line++)
			require((unsigned char)*line >= ' ',
				"a line has no control characters");
	}
	free(said);
	return lines;
}

/* ---- uses of the options ---- */

static void
use_drivers(const struct options *options)
{
	struct drivers drivers;
	struct options one = *options;
	if (drivers_read(&drivers, options, options->action == &cmd_vs) != STATUS_DONE)
		return;
	one.driver = drivers.names[0];
	drivers_choose_options(&one, drivers.numbers[0]);
	require(one.engine_option_count <= options->engine_option_count,
		"one engine has no more options than all");
}

static void
use_texts(const struct options *options)
{
	struct nb_steady steady = {0, 0.05, 0.1};
	if (options->steady != NULL)
		(void)!nb_steady_parse(&steady, options->steady);
	if (options->output == NULL)
		(void)output_begin(options);
}

static void
use_list(const struct options *options)
{
	struct options_list list = options_list(options);
	for (size_t i = 0; i < list.count; i++)
		require(list.names[i] != NULL && list.values[i] != NULL,
			"names and values are set");
	char format[CHOICE_SIZE];
	require(strlen(options_choice(options, "format", format)) < CHOICE_SIZE,
		"the choice is short");
}

static void
use_job(const struct options *options)
{
	struct nb_job *job;
	char *text;
	if (job_options_read(&job, NULL, options) != NB_OK) {
		require(nb_error_text()[0] != '\0', "the failure has a text");
		return;
	}
	if (nb_job_write(job, &text) == NB_OK)
		free(text);
	nb_job_delete(job);
}

static void
use(const struct options *options)
{
	require(options->operand_count == 0 || options->operand == options->operands[0],
		"operand is the first operand");
	require(options->help <= HELP_ZSH, "the kind of help exists");
	use_texts(options);
	use_drivers(options);
	if (options->action == NULL)
		return;
	use_list(options);
	if (options->action->has_workload)
		use_job(options);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *words[WORDS_MAX + 2] = {(char[]){"mininb"}};
	int count = 1;
	struct options options;
	char *text = text_of(data, size), *rest = text;
	defuse(text);
	for (char *word; count <= WORDS_MAX && (word = strsep(&rest, "\n")) != NULL;)
		words[count++] = word;
	listen();
	bool is_good = options_parse(&options, count, words) == STATUS_DONE;
	size_t lines = lines_said();
	require(is_good ? lines <= 1 : lines == 1,
		"one error if rejected, otherwise at most one warning");
	if (is_good) {
		listen();
		use(&options);
		(void)lines_said();
	}
	kept_free();
	free(text);
	return 0;
}
