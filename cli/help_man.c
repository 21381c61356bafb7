/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The man page. What stands in a table comes from there; the prose is here and in
 * help_man_text.c, in macros of man(7) that mandoc and groff both know. Text from a table is
 * escaped; prose is written as roff, so it says \- where a hyphen is typed.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "help.h"
#include "options.h"

enum { LINE_WIDTH = 60 }; /* of text from tables, so that escapes have room, too */

static const char head[] =
	".SH NAME\n"
	"mininb \\- measure a key\\-value storage engine\n"
	".SH SYNOPSIS\n"
	".B mininb\n"
	".I ACTION\n"
	".RI [ OPTION ]...\n"
	".br\n"
	".B mininb\n"
	".BI \\-\\-action= ACTION\n"
	".RI [ OPTION ]...\n"
	".SH DESCRIPTION\n"
	".B mininb\n"
	"runs operations on a storage engine, takes the time of each, checks the data,\n"
	"and prints how the times are distributed, together with all that says how they\n"
	"were measured and why they may be wrong.\n"
	"The operations are puts, gets and deletes of a file of keys, or those of a\n"
	"workload, or those of a trace.\n"
	"The result goes to standard output, everything else to standard error.\n"
	".PP\n"
	"On SIGINT, SIGTERM or SIGHUP a run ends at the next operation, the engine is\n"
	"closed, and what was measured is printed and marked as partial.\n"
	"A second SIGINT or SIGTERM ends the program at once.\n";

static const char options_head[] =
	".SH OPTIONS\n"
	"An option may be written\n"
	".BI \\-\\-name= value\\fR,\n"
	".BI \\-\\-name \" value\" \\fR,\n"
	".BI \\-n value\n"
	"or\n"
	".BI \\-n \" value\" \\fR.\n"
	"One that an action does not look at is no error, so that a script can give all\n"
	"actions the same.\n"
	"Of several values the last one counts.\n"
	"A\n"
	".I COUNT\n"
	"may be written 10k, 2.5M, 1e6 or 4Ki, and a\n"
	".I LEN\n"
	"or\n"
	".I SIZE\n"
	"also 4KiB or 64MB.\n";

static void
print_escaped(FILE *out, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '-')
			fputs("\\-", out);
		else if (text[i] == '\\')
			fputs("\\e", out);
		else if (text[i] == '\'')
			fputs("\\(aq", out);
		else
			fputc(text[i], out);
	}
}

/**
 * Text of a table: no character of it means anything to roff. A new line after
 * each sentence, as roff wants it, and where a line grows long.
 */
static void
print_prose(FILE *out, const char *text)
{
	size_t at = 0;
	while (*text != '\0') {
		size_t length = strcspn(text, " ");
		if (at == 0 && *text == '.')
			fputs("\\&", out); /* else a macro */
		print_escaped(out, text, length);
		at += length + 1;
		bool is_end = text[length - 1] == '.';
		text += length + strspn(text + length, " ");
		if (*text == '\0')
			break;
		bool is_full = at + strcspn(text, " ") > LINE_WIDTH;
		fputc(is_end || is_full ? '\n' : ' ', out);
		if (is_end || is_full)
			at = 0;
	}
	fputc('\n', out);
}

/** One line of a table as a sentence: there it has no capital and no full stop. */
static void
print_sentence(FILE *out, const char *text)
{
	char sentence[256];
	snprintf(sentence, sizeof(sentence), "%s.", text);
	if (sentence[0] >= 'a' && sentence[0] <= 'z')
		sentence[0] = (char)(sentence[0] - 'a' + 'A');
	print_prose(out, sentence);
}

static void
print_actions(FILE *out)
{
	fputs(".SH ACTIONS\n", out);
	for (size_t i = 0; i < ACTION_COUNT; i++) {
		const char *operand = actions[i].operand;
		fprintf(out, ".TP\n%s ", operand != NULL ? ".BI" : ".B");
		print_escaped(out, actions[i].name, strlen(actions[i].name));
		if (operand != NULL)
			fprintf(out, " \" %s\"", operand);
		fputc('\n', out);
		print_sentence(out, actions[i].help);
		print_prose(out, actions[i].detail);
	}
}

static void
print_heading(FILE *out, const struct option_row *row)
{
	fputs(".TP\n", out);
	if (row->letter != 0)
		fprintf(out, "\\fB\\-%c\\fR, ", row->letter);
	fputs("\\fB\\-\\-", out);
	print_escaped(out, row->name, strlen(row->name));
	if (row->type == OPTION_HELP)
		fprintf(out, "\\fR[\\fB=\\fR%s]\n", row->choices);
	else if (row->arg != NULL)
		fprintf(out, "=\\fI%s\\fR\n", row->arg);
	else
		fputs("\\fR\n", out);
}

static void
print_choices(FILE *out, const char *choices)
{
	size_t at = 0;
	fputs("One of ", out);
	for (const char *c = choices; *c != '\0'; c++, at++) {
		if (*c != '|') {
			print_escaped(out, c, 1);
			continue;
		}
		bool is_full = at + strcspn(c + 1, "|") > LINE_WIDTH;
		fputs(is_full ? ",\n" : ", ", out);
		at = is_full ? 0 : at + 1;
	}
	fputs(".\n", out);
}

static void
print_default(FILE *out, const char *def)
{
	fputs("Default: ", out);
	print_escaped(out, def, strlen(def));
	fputs(".\n", out);
}

static void
print_allowed(FILE *out, const struct option_row *row)
{
	if (row->choices != NULL && row->type == OPTION_CHOICE)
		print_choices(out, row->choices);
	if (row->type == OPTION_COUNT || row->type == OPTION_BYTES || row->type == OPTION_REAL)
		fprintf(out, "From %" PRIu64 " to %" PRIu64 ".\n", row->min, row->max);
	if (row->def != NULL)
		print_default(out, row->def);
}

static void
print_takers(FILE *out, const struct option_row *row)
{
	if (row->actions == ACTION_BIT(ACTION_COUNT) - 1)
		return;
	char text[256] = "Looked at by";
	size_t used = strlen(text);
	for (size_t i = 0; i < ACTION_COUNT; i++) {
		if (row->actions & ACTION_BIT(i))
			used += (size_t)snprintf(
				text + used, sizeof(text) - used, " %s,", actions[i].name);
	}
	text[used - 1] = '.';
	print_prose(out, text);
}

static void
print_job_keys(FILE *out)
{
	fputs(".SS Keys of the workload\n"
	      "For load, run, replay, workloads and convert, each for all groups of the\n"
	      "run, or written\n"
	      ".BI \\-\\- GROUP . KEY = VALUE\n"
	      "for one of them.\n"
	      "They are set in the order in which they stand.\n"
	      "Of the keys that stand above as well, \\-\\-keys, \\-\\-count, \\-\\-threads,\n"
	      "\\-\\-seed and \\-\\-value\\-ratio, only what is typed counts here, not the\n"
	      "default.\n",
		out);
	for (const struct nb_job_key *key = NULL; (key = options_next_job_key(key)) != NULL;) {
		fputs(".TP\n\\fB\\-\\-", out);
		print_escaped(out, key->name, strlen(key->name));
		fprintf(out, "\\fR=\\fI%s\\fR\n", key->arg);
		print_sentence(out, key->help);
		if (key->choices != NULL)
			print_choices(out, key->choices);
		if (key->def != NULL)
			print_default(out, key->def);
	}
}

static void
print_options(FILE *out)
{
	fputs(options_head, out);
	for (size_t group = 0; group < GROUP_COUNT; group++) {
		fprintf(out, ".SS %s\n", option_groups[group]);
		for (const struct option_row *row = option_table; row->name != NULL; row++) {
			if (row->group != group)
				continue;
			print_heading(out, row);
			print_sentence(out, row->help);
			if (row->detail != NULL)
				print_prose(out, row->detail);
			print_allowed(out, row);
			print_takers(out, row);
		}
		if (group == GROUP_WORKLOAD)
			print_job_keys(out);
	}
}

void
help_print_man(FILE *out)
{
	fprintf(out,
		".\\\" printed by mininb --help=man\n"
		".TH MININB 1 2026-11-20 \"mininb %s\" \"User Commands\"\n",
		nb_version());
	fputs(head, out);
	print_actions(out);
	print_options(out);
	for (size_t i = 0; help_man_prose[i] != NULL; i++)
		fputs(help_man_prose[i], out);
}
