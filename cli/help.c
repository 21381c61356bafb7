/* SPDX-License-Identifier: BSD-2-Clause */
#include "help.h"

#include <string.h>

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

/** Words from column `column` on, which is where the line stands, broken at WIDTH. */
static void
print_wrapped(FILE *out, const char *text, int column)
{
	int at = column;
	while (*text != '\0') {
		int length = (int)strcspn(text, " ");
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

static void
print_option(FILE *out, const struct option_row *row)
{
	char name[64], letter[8] = "    ", help[256];
	if (row->letter != 0)
		snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	if (row->type == OPTION_HELP)
		snprintf(name, sizeof(name), "--%s[=%s]", row->name, row->choices);
	else
		snprintf(name, sizeof(name), "--%s%s%s", row->name, row->arg ? "=" : "",
			row->arg ? row->arg : "");
	int used = fprintf(out, "  %s%s", letter, name);
	fprintf(out, "%*s", used < HELP_COLUMN ? HELP_COLUMN - used : 1, "");
	bool is_choice = row->type == OPTION_CHOICE;
	snprintf(help, sizeof(help), "%s%s%s%s%s%s", row->help, is_choice ? ": " : "",
		is_choice ? row->choices : "", row->def != NULL ? " [" : "",
		row->def != NULL ? row->def : "", row->def != NULL ? "]" : "");
	print_wrapped(out, help, HELP_COLUMN);
}

static void
print_text(FILE *out)
{
	fputs("mininb measures a key-value storage engine.\n\n"
	      "Usage: mininb ACTION [OPTION]...\n"
	      "       mininb --action=ACTION [OPTION]...\n\n",
		out);
	print_actions(out);
	for (size_t group = 0; group < GROUP_COUNT; group++) {
		fprintf(out, "\n%s [default]:\n", option_groups[group]);
		for (const struct option_row *row = option_table; row->name != NULL; row++) {
			if (row->group == group)
				print_option(out, row);
		}
	}
	fputs("\nCounts may be written 10k, 2.5M, 1e6 or 4Ki, sizes 4KiB or 64MB.\n"
	      "The result goes to standard output, all else to standard error. The exit\n"
	      "status is 0 if all is well, 1 if the engine or the system failed, 2 for\n"
	      "wrong usage, 3 if data was missing or wrong, 4 if a promise is broken,\n"
	      "130 when interrupted.\n\n"
	      "A first run:\n"
	      "  mininb keys && mininb put && mininb shuffle && mininb get\n",
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
help_print(uint64_t help)
{
	if (help == HELP_MAN)
		help_print_man(stdout);
	else if (help == HELP_BASH)
		help_print_bash(stdout);
	else
		print_text(stdout);
}
