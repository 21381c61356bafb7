/* SPDX-License-Identifier: BSD-2-Clause */
#include "help.h"

#include <stdbool.h>
#include <string.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "options.h"

enum {
	WIDTH = 80, /* default width of a terminal, in columns */
	HELP_COLUMN = 31,
};

/** Writes "compare FILE..."; returns its length. */
static int
usage_of(char *text, size_t size, const struct cmd *cmd)
{
	return snprintf(text, size, "%s%s%s", cmd->name, cmd->operand != NULL ? " " : "",
		cmd->operand != NULL ? cmd->operand : "");
}

static void
print_actions(FILE *out)
{
	char words[64];
	int width = 0;
	for (size_t i = 0; cmds[i] != NULL; i++) {
		int length = usage_of(words, sizeof(words), cmds[i]);
		width = length > width ? length : width;
	}
	fputs("Actions:\n", out);
	for (size_t i = 0; cmds[i] != NULL; i++) {
		usage_of(words, sizeof(words), cmds[i]);
		fprintf(out, "  %-*s  %s\n", width, words, cmds[i]->help);
	}
}

/**
 * Length of the word. For a long list of choices, "a|b|c", of the part that fits into a line.
 */
static int
word_length(const char *text, int room)
{
	int length = (int)strcspn(text, " "), fitting = 0;
	for (int i = 0; i < length && i < room; i++) {
		if (text[i] == '|')
			fitting = i + 1;
	}
	return length > room && fitting > 0 ? fitting : length;
}

/** Prints words, starting at `column` of the current line, and wraps at WIDTH. */
static void
print_wrapped(FILE *out, const char *text, int column)
{
	int at = column;
	while (*text != '\0') {
		int length = word_length(text, WIDTH - column);
		bool is_first = at == column;
		if (!is_first && at + 1 + length > WIDTH) {
			fprintf(out, "\n%*s", column, "");
			at = column;
			is_first = true;
		}
		at += fprintf(out, "%s%.*s", is_first ? "" : " ", length, text);
		text += length;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

void
help_print_text(FILE *out, const char *text)
{
	int column = fprintf(out, "    ");
	print_wrapped(out, text, column);
}

/** Prints "-k, --name=ARG" and `help` with choices and default, wrapped. */
static void
print_entry(FILE *out, const char *letter, const char *name, const char *help,
	const char *choices, const char *def)
{
	char text[512];
	int used = fprintf(out, "  %s%s", letter, name);
	if (used < HELP_COLUMN)
		fprintf(out, "%*s", HELP_COLUMN - used, "");
	else
		fprintf(out, "\n%*s", HELP_COLUMN, "");
	snprintf(text, sizeof(text), "%s%s%s%s%s%s", help, choices != NULL ? ": " : "",
		choices != NULL ? choices : "", def != NULL ? " [" : "", def != NULL ? def : "",
		def != NULL ? "]" : "");
	print_wrapped(out, text, HELP_COLUMN);
}

/** Whether the letter means this row: no earlier row that the action uses has it. */
static bool
has_letter(const struct option_row *row, const struct cmd *cmd)
{
	for (const struct option_row *before = option_table(); before < row; before++) {
		if (before->letter == row->letter && option_is_of(before, cmd))
			return false;
	}
	return row->letter != 0;
}

static void
print_option(FILE *out, const struct option_row *row, const struct cmd *cmd)
{
	char name[64], letter[8] = "    ";
	if (has_letter(row, cmd))
		snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	if (row->type == OPTION_HELP)
		snprintf(name, sizeof(name), "--%s[=%s]", row->name, row->choices);
	else
		snprintf(name, sizeof(name), "--%s%s%s", row->name, row->arg ? "=" : "",
			row->arg ? row->arg : "");
	print_entry(out, letter, name, row->help,
		row->type == OPTION_CHOICE ? row->choices : NULL, row->def);
}

/** Omits a default of 0. */
static void
print_job_keys(FILE *out)
{
	for (const struct nb_job_key *key = NULL; (key = options_next_job_key(key)) != NULL;) {
		char name[64];
		snprintf(name, sizeof(name), "--%s=%s", key->name, key->arg);
		bool has_choices = key->choices != NULL && strcmp(key->choices, "no|yes") != 0;
		print_entry(out, "    ", name, key->help, has_choices ? key->choices : NULL,
			key->def != NULL && strcmp(key->def, "0") != 0 ? key->def : NULL);
	}
}

/** Prints the options of a group that the action uses (NULL: any action). */
static void
print_group(FILE *out, size_t group, const struct cmd *cmd)
{
	bool has_title = false;
	for (const struct option_row *row = option_table(); row->name != NULL; row++) {
		if (row->group != group || !option_is_of(row, cmd))
			continue;
		if (!has_title)
			fprintf(out, "\n%s [default]:\n", option_groups[group]);
		has_title = true;
		print_option(out, row, cmd);
	}
	if (group == GROUP_WORKLOAD && (cmd == NULL || cmd->has_workload))
		print_job_keys(out);
}

static void
print_text(FILE *out)
{
	fputs("mininb measures a key-value storage engine.\n\n"
	      "Usage: mininb ACTION [OPTION]...\n"
	      "       mininb --action=ACTION [OPTION]...\n\n",
		out);
	print_actions(out);
	for (size_t group = 0; group < GROUP_COUNT; group++)
		print_group(out, group, NULL);
	fputs("\nIn a workload with several groups, --GROUP.KEY=VALUE sets a key of one group.\n"
	      "Counts may be written 10k, 2.5M, 1e6 or 4Ki, sizes 4KiB or 64MB.\n"
	      "The result goes to standard output, everything else to standard error. The exit\n"
	      "status is 0 on success, 1 if the engine or the system failed, 2 for\n"
	      "wrong usage or results that cannot be compared, 3 if data was missing or\n"
	      "wrong or crash found a broken promise, 4 if check found a broken promise, no\n"
	      "rate held a limit, a gate failed or --strict met a note, 130 when interrupted.\n\n"
	      "'mininb ACTION --help' lists only the options of that action.\n\n"
	      "A first run:\n"
	      "  mininb keys && mininb put && mininb shuffle && mininb get\n",
		out);
}

/** Prints the description of an action and its options. */
static void
print_action(FILE *out, const struct cmd *cmd)
{
	char words[64];
	usage_of(words, sizeof(words), cmd);
	fprintf(out, "Usage: mininb %s [OPTION]...\n\n%s: ", words, cmd->name);
	print_wrapped(out, cmd->help, (int)strlen(cmd->name) + 2);
	print_wrapped(out, cmd->detail, 0);
	for (size_t group = 0; group < GROUP_COUNT; group++)
		print_group(out, group, cmd);
	fputs("\n'mininb --help' lists all actions; mininb(1) describes them.\n", out);
}

void
help_print_usage(FILE *out)
{
	fputs("Usage: mininb ACTION [OPTION]...\n\n", out);
	print_actions(out);
	fputs("\nTry 'mininb --help'.\n", out);
}

void
help_print(uint64_t help, const struct cmd *action)
{
	if (help == HELP_SCDOC)
		help_print_page(nb_stdout(), "mininb.1.scd");
	else if (help == HELP_SCDOC_WORKLOAD)
		help_print_page(nb_stdout(), "mininb-workload.5.scd");
	else if (help >= HELP_BASH)
		help_print_completion(nb_stdout(), &completion_files[help - HELP_BASH]);
	else if (action != NULL)
		print_action(nb_stdout(), action);
	else
		print_text(nb_stdout());
}

/* ---- files with marks ---- */

/** The mark at the start of `text`; the final element if none matches. */
static const struct help_mark *
find_mark(const struct help_mark *mark, const char *text, size_t size)
{
	while (mark->text != NULL &&
		(strlen(mark->text) > size ||
			memcmp(text, mark->text, strlen(mark->text)) != 0))
		mark++;
	return mark;
}

void
help_print_marked(FILE *out, const struct template_file *file, const struct help_mark *marks)
{
	for (size_t i = 0; i < file->size;) {
		const struct help_mark *mark = find_mark(marks, file->text + i, file->size - i);
		if (mark->text == NULL)
			fputc(file->text[i], out);
		else if (mark->print != NULL)
			mark->print(out);
		else
			fputs(mark->to, out);
		i += mark->text != NULL ? strlen(mark->text) : 1;
	}
}
