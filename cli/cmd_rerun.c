/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rerun: what made a result, once more.
 *
 * The words of then are read by the same code as those of now, which come behind them and so
 * win. The directory is that of then, since files are named from there; those that are named
 * now are of the present one. The workload is the one that is kept in the file, which may
 * have been changed or lost where it was. Files of results are only those that are asked for
 * now: a repetition must not overwrite what it repeats.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "message.h"
#include "options.h"
#include "replace.h"
#include "results_files.h"

enum { OWNED_MAX = 16 };

/* Those that leave a result which says how it was made. */
#define REPEATABLE \
	(ACTION_BIT(ACTION_PUT) | ACTION_BIT(ACTION_GET) | ACTION_BIT(ACTION_DELETE) | \
		ACTION_BIT(ACTION_LOAD) | ACTION_BIT(ACTION_RUN) | ACTION_BIT(ACTION_REPLAY) | \
		ACTION_BIT(ACTION_VS))

struct rerun {
	const struct options *now;
	struct options again;
	struct nb_command then;
	char **words;
	size_t word_count;
	char *owned[OWNED_MAX]; /* words with paths that were made absolute */
	size_t owned_count;
	char job_path[64]; /* the workload, in a file of our own; "" */
};

/* ---- words ---- */

static void
add_word(struct rerun *rerun, const char *word)
{
	rerun->words[rerun->word_count++] = (char *)word;
}

/** Whether the word is "rerun", said as an action; *skip: with the one behind it. */
static bool
is_action(const char *const *word, size_t left, size_t *skip)
{
	static const char name[] = "rerun";
	bool is_alone = strcmp(word[0], "--action") == 0 || strcmp(word[0], "-a") == 0;
	*skip = is_alone && left > 1;
	return is_alone || strcmp(word[0], name) == 0 ||
		strcmp(word[0], "--action=rerun") == 0 || strcmp(word[0], "-arerun") == 0;
}

static bool
collect_words(struct rerun *rerun, const char *program)
{
	const struct options *now = rerun->now;
	size_t room = now->word_count + rerun->then.word_count + OWNED_MAX + 2, skip;
	bool has_action = false;
	rerun->words = calloc(room, sizeof(*rerun->words));
	if (rerun->words == NULL)
		return false;
	add_word(rerun, program);
	for (size_t i = 0; i < rerun->then.word_count; i++)
		add_word(rerun, rerun->then.words[i]);
	for (size_t i = 0; i < now->word_count; i++) {
		if (now->words[i] == now->operand)
			continue;
		if (!has_action && is_action(&now->words[i], now->word_count - i, &skip)) {
			has_action = true;
			i += skip;
		} else {
			add_word(rerun, now->words[i]);
		}
	}
	return true;
}

/* ---- places ---- */

static bool
is_of_place(const struct option_row *row, const char *value)
{
	size_t length = strlen(value);
	bool is_ini = length > 4 && strcmp(value + length - 4, ".ini") == 0;
	return row->words == WORDS_FILE || row->words == WORDS_DIRECTORY ||
		(row->words == WORDS_DRIVER && strchr(value, '/') != NULL) ||
		(row->words == WORDS_WORKLOAD && (strchr(value, '/') != NULL || is_ini));
}

/** What is named now is of the present directory, also when this is repeated in turn. */
static bool
make_absolute(struct rerun *rerun)
{
	char *here = getcwd(NULL, 0);
	for (const struct option_row *row = option_table; here != NULL && row->name != NULL;
		row++) {
		const char **field = (const char **)((char *)&rerun->again + row->offset);
		if (row->type != OPTION_TEXT || !options_were_given(rerun->now, row->name) ||
			*field == NULL || !is_of_place(row, *field) || (*field)[0] == '/' ||
			strcmp(*field, "-") == 0 || rerun->owned_count == OWNED_MAX)
			continue;
		char **word = &rerun->owned[rerun->owned_count];
		if (asprintf(word, "--%s=%s/%s", row->name, here, *field) < 0)
			break;
		*field = *word + strlen("--=") + strlen(row->name);
		rerun->owned_count++;
		add_word(rerun, *word);
		rerun->again.word_count++;
	}
	free(here);
	return here != NULL;
}

static void
forget_files(struct rerun *rerun)
{
	struct options *again = &rerun->again;
	const struct options *now = rerun->now;
	if (now->output == NULL)
		again->output = NULL;
	if (now->hlog == NULL)
		again->hlog = NULL;
	if (now->csv == NULL)
		again->csv = NULL;
	if (now->notebook == NULL)
		again->notebook = NULL;
	if (now->record == NULL)
		again->record = NULL;
}

/** In a file of its own, since that is what a workload is read from. */
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
		message_error("%s: the workload cannot be kept there: %s", rerun->job_path,
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
	bool has_workload = again->action == ACTION_LOAD || again->action == ACTION_RUN;
	if (rerun->then.job == NULL || !has_workload || rerun->now->workload != NULL)
		return true;
	if (!write_job(rerun))
		return false;
	again->workload_name = again->workload != NULL ? again->workload : "by hand";
	again->workload = rerun->job_path;
	return true;
}

/* ---- the whole ---- */

static int
run_again(struct rerun *rerun)
{
	if (!make_absolute(rerun) || !take_job(rerun))
		return STATUS_FAILED;
	forget_files(rerun);
	if (rerun->then.directory != NULL && chdir(rerun->then.directory) != 0)
		message_log(NULL, NB_LOG_WARNING,
			"the directory of then is not there; files are taken from this one");
	int status = replace_check(&rerun->again);
	return status == STATUS_DONE ? actions[rerun->again.action].run(&rerun->again) : status;
}

static void
destroy(struct rerun *rerun)
{
	if (rerun->job_path[0] != '\0')
		unlink(rerun->job_path);
	for (size_t i = 0; i < rerun->owned_count; i++)
		free(rerun->owned[i]);
	free(rerun->words);
}

int
cmd_rerun(const struct options *options)
{
	struct nb_results *results;
	struct rerun rerun = {.now = options};
	int status = results_files_read(&results, options->operands, options->operand_count);
	if (status != STATUS_DONE)
		return status;
	nb_results_command(results, &rerun.then);
	size_t action = rerun.then.action != NULL ? action_find(rerun.then.action)
						  : ACTION_COUNT;
	bool is_known = action < ACTION_COUNT && (REPEATABLE & ACTION_BIT(action)) != 0;
	if (!is_known || rerun.then.word_count == 0) {
		message_error("%s does not tell how it was made, so it cannot be repeated",
			options->operand);
		status = STATUS_FAILED;
	} else if (!collect_words(&rerun, "mininb")) {
		message_error("out of memory");
		status = STATUS_FAILED;
	} else if (!options_parse(&rerun.again, (int)rerun.word_count, rerun.words)) {
		status = STATUS_USAGE;
	} else if (rerun.again.action != action) {
		message_error("%s: its words are not those of the action '%s' that made it",
			options->operand, actions[action].name);
		status = STATUS_DATA;
		options_destroy(&rerun.again);
	} else {
		rerun.again.same_as = results;
		status = run_again(&rerun);
		options_destroy(&rerun.again);
	}
	destroy(&rerun);
	nb_results_delete(results);
	return status;
}
