/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rerun: repeats the command that made a result.
 *
 * It parses the old words, then the new ones, so new options override old ones. The old
 * directory becomes the current one, because file names are relative to it; new names are
 * relative to the present directory. It uses the workload stored in the file, because the
 * original may have changed or be lost. Only new options name result files: a repetition must
 * not overwrite the original result.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "kept.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "results_files.h"

enum { ABSOLUTE_MAX = 16 };

struct rerun {
	const struct options *now;
	struct options again;
	struct nb_command then;
	char **words;
	size_t word_count;
	char job_path[64]; /* a temporary file with the workload; "": none */
};

/* ---- words ---- */

static void
collect_words(struct rerun *rerun)
{
	const struct options *now = rerun->now;
	size_t room = now->word_count + rerun->then.word_count + ABSOLUTE_MAX + 1;
	rerun->words = kept_array(room, sizeof(*rerun->words));
	rerun->words[rerun->word_count++] = kept_text("mininb");
	for (size_t i = 0; i < rerun->then.word_count; i++)
		rerun->words[rerun->word_count++] = (char *)rerun->then.words[i];
	for (size_t i = 0; i < now->word_count; i++) {
		bool is_action = i >= now->action_from && i < now->action_to;
		if (!is_action && now->words[i] != now->operand)
			rerun->words[rerun->word_count++] = (char *)now->words[i];
	}
}

/* ---- paths ---- */

static bool
is_of_place(const struct option_row *row, const char *value)
{
	size_t length = strlen(value);
	bool is_ini = length > 4 && strcmp(value + length - 4, ".ini") == 0;
	return row->words == WORDS_FILE || row->words == WORDS_DIRECTORY ||
		(row->words == WORDS_DRIVER && strchr(value, '/') != NULL) ||
		(row->words == WORDS_WORKLOAD && (strchr(value, '/') != NULL || is_ini));
}

/** New names are relative to the present directory, also when the repetition is repeated. */
static bool
make_absolute(struct rerun *rerun)
{
	char *here = getcwd(NULL, 0);
	size_t left = ABSOLUTE_MAX;
	for (const struct option_row *row = option_table();
		here != NULL && left > 0 && row->name != NULL; row++) {
		const char **field = option_field(&rerun->again, row);
		if (row->type != OPTION_TEXT || !options_were_given(rerun->now, row->name) ||
			*field == NULL || !is_of_place(row, *field) || (*field)[0] == '/' ||
			strcmp(*field, "-") == 0)
			continue;
		char *word = kept_text("--%s=%s/%s", row->name, here, *field);
		*field = word + strlen("--=") + strlen(row->name);
		left--;
		rerun->words[rerun->word_count++] = word;
		rerun->again.word_count++;
	}
	free(here);
	return here != NULL;
}

static void
forget_files(struct rerun *rerun)
{
	struct options *again = &rerun->again;
	for (const struct option_row *row = option_table(); row->name != NULL; row++) {
		if (option_is_written(row, again->action) &&
			!options_were_given(rerun->now, row->name))
			*(const char **)option_field(again, row) = NULL;
	}
}

/** Writes the workload to a file, because options name workloads by file. */
static bool
write_job(struct rerun *rerun)
{
	const char *temporary = getenv("TMPDIR");
	size_t length = strlen(rerun->then.job);
	if (temporary == NULL || strlen(temporary) > 32)
		temporary = "/tmp";
	snprintf(rerun->job_path, sizeof(rerun->job_path), "%s/mininb-XXXXXX.ini", temporary);
	int fd = mkstemps(rerun->job_path, 4);
	bool is_good = fd >= 0 && write(fd, rerun->then.job, length) == (ssize_t)length;
	if (!is_good)
		message_error("cannot write the workload to %s: %s", rerun->job_path,
			strerror(errno));
	if (fd >= 0)
		close(fd);
	else
		rerun->job_path[0] = '\0';
	return is_good;
}

static bool
take_job(struct rerun *rerun)
{
	struct options *again = &rerun->again;
	bool has_workload = again->action == &cmd_load || again->action == &cmd_run;
	if (rerun->then.job == NULL || !has_workload || rerun->now->workload != NULL)
		return true;
	if (!write_job(rerun))
		return false;
	again->workload_name = again->workload != NULL ? again->workload : "by hand";
	again->workload = rerun->job_path;
	return true;
}

/* ---- the run ---- */

static int
run_again(struct rerun *rerun)
{
	if (!make_absolute(rerun) || !take_job(rerun))
		return STATUS_FAILED;
	forget_files(rerun);
	if (rerun->then.directory != NULL && chdir(rerun->then.directory) != 0)
		message_warning(
			"the directory of the first run does not exist; mininb uses the current one");
	int status = output_check(&rerun->again);
	return status == STATUS_DONE ? rerun->again.action->run(&rerun->again) : status;
}

static int
do_rerun(const struct options *options)
{
	struct nb_results *results;
	struct rerun rerun = {.now = options};
	int status = results_files_read(&results, options);
	if (status != STATUS_DONE)
		return status;
	nb_results_command(results, &rerun.then);
	const struct cmd *action = rerun.then.action != NULL ? cmd_find(rerun.then.action)
							     : NULL;
	if (action == NULL || !action->is_repeatable || rerun.then.word_count == 0) {
		message_error(
			"%s does not contain the command that made it, so mininb cannot repeat it",
			options->operand);
		status = STATUS_FAILED;
	} else {
		collect_words(&rerun);
		status = options_parse(&rerun.again, (int)rerun.word_count, rerun.words);
	}
	if (status == STATUS_DONE && rerun.again.action != action) {
		message_error("%s: its command is not one of the action '%s' that made it",
			options->operand, action->name);
		status = STATUS_DATA;
	} else if (status == STATUS_DONE) {
		rerun.again.same_as = results;
		status = run_again(&rerun);
	}
	if (rerun.job_path[0] != '\0')
		unlink(rerun.job_path);
	nb_results_delete(results);
	return status;
}

const struct cmd cmd_rerun = {
	.name = "rerun",
	.run = do_rerun,
	.operand = "FILE",
	.help = "repeat the run that made a result",
	.detail = "Uses the command, the directory and the workload that are stored in the "
		  "file; options that you add come last. Does not write the run's other result "
		  "files again. Reports if the stream of operations differs.",
};
