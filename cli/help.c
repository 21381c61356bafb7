/* SPDX-License-Identifier: BSD-2-Clause */
#include "help.h"

#include <stdbool.h>
#include <string.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "options.h"

enum {
	WIDTH = 80, /* of a terminal that nobody made wider */
	HELP_COLUMN = 31,
};

static void
print_actions(FILE *out)
{
	char words[ACTION_COUNT][32];
	int width = 0;
	for (size_t i = 0; i < ACTION_COUNT; i++) {
		const char *operand = actions[i].operand;
		int length = snprintf(words[i], sizeof(words[i]), "%s%s%s", actions[i].name,
			operand != NULL ? " " : "", operand != NULL ? operand : "");
		width = length > width ? length : width;
	}
	fputs("Actions:\n", out);
	for (size_t i = 0; i < ACTION_COUNT; i++)
		fprintf(out, "  %-*s  %s\n", width, words[i], actions[i].help);
}

/** Length of the word, or of what of its choices, "a|b|c", has room in a line. */
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

/** Words from column `column` on, which is where the line stands, broken at WIDTH. */
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
help_print_text(FILE *out, const char *text, int indent)
{
	fprintf(out, "%*s", indent, "");
	print_wrapped(out, text, indent);
}

/** "-k, --name=ARG", and `help` with choices and default behind it, wrapped. */
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

static void
print_option(FILE *out, const struct option_row *row, unsigned looking)
{
	char name[64], letter[8] = "    ";
	if (row->letter != 0 && !options_have_before(row, row->letter, NULL, looking))
		snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	if (row->type == OPTION_HELP)
		snprintf(name, sizeof(name), "--%s[=%s]", row->name, row->choices);
	else
		snprintf(name, sizeof(name), "--%s%s%s", row->name, row->arg ? "=" : "",
			row->arg ? row->arg : "");
	print_entry(out, letter, name, row->help,
		row->type == OPTION_CHOICE ? row->choices : NULL, row->def);
}

/** Those of jobs; a default that is nothing is left out. */
static void
print_job_keys(FILE *out)
{
	for (const struct nb_job_key *key = NULL; (key = options_next_job_key(key)) != NULL;) {
		char name[64];
		snprintf(name, sizeof(name), "--%s=%s", key->name, key->arg);
		bool is_said = key->choices != NULL && strcmp(key->choices, "no|yes") != 0;
		print_entry(out, "    ", name, key->help, is_said ? key->choices : NULL,
			key->def != NULL && strcmp(key->def, "0") != 0 ? key->def : NULL);
	}
}

/** Of a group the options that one of the actions looks at; nothing if there are none. */
static void
print_group(FILE *out, size_t group, unsigned looking)
{
	bool has_title = false;
	for (const struct option_row *row = option_table; row->name != NULL; row++) {
		if (row->group != group || (row->actions & looking) == 0)
			continue;
		if (!has_title)
			fprintf(out, "\n%s [default]:\n", option_groups[group]);
		has_title = true;
		print_option(out, row, looking);
	}
	if (group == GROUP_WORKLOAD && (JOB_ACTIONS & looking) != 0)
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
		print_group(out, group, ACTION_BIT(ACTION_COUNT) - 1);
	fputs("\nOf a workload with several groups --GROUP.KEY=VALUE is for one of them.\n"
	      "Counts may be written 10k, 2.5M, 1e6 or 4Ki, sizes 4KiB or 64MB.\n"
	      "The result goes to standard output, all else to standard error. The exit\n"
	      "status is 0 if all is well, 1 if the engine or the system failed, 2 for\n"
	      "wrong usage or results that cannot be compared, 3 if data was missing or\n"
	      "wrong, 4 if a promise is broken, no rate held a limit, a gate failed or\n"
	      "--strict met a note, 130 when interrupted.\n\n"
	      "'mininb ACTION --help' has the options of that action only.\n\n"
	      "A first run:\n"
	      "  mininb keys && mininb put && mininb shuffle && mininb get\n",
		out);
}

/** Of one action: what it does, and the options that it looks at. */
static void
print_action(FILE *out, size_t action)
{
	const struct action *row = &actions[action];
	fprintf(out, "Usage: mininb %s%s%s [OPTION]...\n\n%s: ", row->name,
		row->operand != NULL ? " " : "", row->operand != NULL ? row->operand : "",
		row->name);
	print_wrapped(out, row->help, (int)strlen(row->name) + 2);
	if (row->detail != NULL)
		print_wrapped(out, row->detail, 0);
	for (size_t group = 0; group < GROUP_COUNT; group++)
		print_group(out, group, ACTION_BIT(action));
	fputs("\n'mininb --help' lists all actions; the manual page mininb(1) tells more.\n",
		out);
}

void
help_print_usage(FILE *out)
{
	fputs("Usage: mininb ACTION [OPTION]...\n\n", out);
	print_actions(out);
	fputs("\nTry 'mininb --help'.\n", out);
}

void
help_print(uint64_t help, size_t action)
{
	if (help == HELP_SCDOC)
		help_print_page(nb_stdout(), "mininb.1.scd");
	else if (help == HELP_SCDOC_WORKLOAD)
		help_print_page(nb_stdout(), "mininb-workload.5.scd");
	else if (help == HELP_BASH)
		help_print_bash(nb_stdout());
	else if (help == HELP_ZSH)
		help_print_zsh(nb_stdout());
	else if (action < ACTION_COUNT)
		print_action(nb_stdout(), action);
	else
		print_text(nb_stdout());
}
