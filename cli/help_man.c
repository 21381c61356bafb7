/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The man page. What stands in a table comes from there; the prose is here, in
 * macros of man(7) that mandoc and groff both know. Text from a table is
 * escaped; prose is written as roff, so it says \- where a hyphen is typed.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "help.h"
#include "options.h"

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
	"Every operation takes the next key of a file of keys.\n"
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

static const char tail[] =
	".SH DURABILITY\n"
	"A level says what a crash may take of the writes that have returned.\n"
	"A level that is asked for is given or refused, never approximated, and the\n"
	"result states the one that was given.\n"
	".TP\n"
	".B none\n"
	"The end of the process may lose them.\n"
	".TP\n"
	".B process\n"
	"They survive the end of the process, as after\n"
	".BR write (2),\n"
	"but not a loss of power.\n"
	".TP\n"
	".B periodic\n"
	"They survive a loss of power, but for those since the last of the syncs that the\n"
	"engine makes from time to time.\n"
	".TP\n"
	".B commit\n"
	"They survive a loss of power, as after\n"
	".BR write (2)\n"
	"and\n"
	".BR fsync (2).\n"
	".TP\n"
	".B auto\n"
	"The strongest of these that the engine gives without a sync for each write.\n"
	".PP\n"
	"Engines are only comparable at the same level.\n"
	".SH ENVIRONMENT\n"
	".TP\n"
	".B MININB_PLUGIN_PATH\n"
	"Directories, separated by colons, in which the plugins of engines are looked for\n"
	"before the installed ones.\n"
	"The working directory is never searched.\n"
	".TP\n"
	".B NO_COLOR\n"
	"If set and not empty, the progress line has no colour.\n"
	".TP\n"
	".B TERM\n"
	"If it is\n"
	".BR dumb ,\n"
	"there is no progress line, and neither is there if standard error is no\n"
	"terminal.\n"
	".SH FILES\n"
	".TP\n"
	".I keys.bin\n"
	"The keys: as many raw bytes for each as\n"
	".B \\-\\-klen\n"
	"says, with nothing between them.\n"
	".TP\n"
	".I ./nb/NAME\n"
	"The database of the engine of that name.\n"
	".SH EXIT STATUS\n"
	".TP\n"
	".B 0\n"
	"All is well.\n"
	".TP\n"
	".B 1\n"
	"The engine, a file or the system failed, or the engine cannot do what was asked.\n"
	".TP\n"
	".B 2\n"
	"Wrong usage; nothing was done.\n"
	".TP\n"
	".B 3\n"
	"Data was missing or was not what had been written.\n"
	".TP\n"
	".B 4\n"
	"A promise of the plugin interface is broken.\n"
	".TP\n"
	".B 130\n"
	"Interrupted.\n"
	".SH EXAMPLES\n"
	"Keys, a database of them, and how long it takes to find each again in another\n"
	"order:\n"
	".PP\n"
	".nf\n"
	".RS\n"
	"mininb keys \\-c 1M\n"
	"mininb put \\-c 1M\n"
	"mininb shuffle \\-c 1M\n"
	"mininb get \\-c 1M\n"
	".RE\n"
	".fi\n"
	".PP\n"
	"Every write safe on the disk, with a larger write buffer:\n"
	".PP\n"
	".nf\n"
	".RS\n"
	"mininb put \\-\\-durability=commit \\-o write_buffer=64MiB\n"
	".RE\n"
	".fi\n"
	".PP\n"
	"The engines that there are, and the options of one:\n"
	".PP\n"
	".nf\n"
	".RS\n"
	"mininb engines\n"
	"mininb engines \\-\\-driver=leveldb\n"
	".RE\n"
	".fi\n";

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
	enum { WIDTH = 70 };
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
		fputc(is_end || at > WIDTH ? '\n' : ' ', out);
		if (is_end || at > WIDTH)
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
print_allowed(FILE *out, const struct option_row *row)
{
	if (row->choices != NULL && row->type == OPTION_CHOICE) {
		fputs("One of ", out);
		for (const char *c = row->choices; *c != '\0'; c++)
			fputs(*c == '|' ? ", " : (char[]){*c, '\0'}, out);
		fputs(".\n", out);
	}
	if (row->type == OPTION_COUNT || row->type == OPTION_BYTES || row->type == OPTION_REAL)
		fprintf(out, "From %" PRIu64 " to %" PRIu64 ".\n", row->min, row->max);
	if (row->def != NULL) {
		fputs("Default: ", out);
		print_escaped(out, row->def, strlen(row->def));
		fputs(".\n", out);
	}
}

static void
print_takers(FILE *out, const struct option_row *row)
{
	if (row->actions == ACTION_BIT(ACTION_COUNT) - 1)
		return;
	const char *before = "Looked at by ";
	for (size_t i = 0; i < ACTION_COUNT; i++) {
		if (row->actions & ACTION_BIT(i)) {
			fprintf(out, "%s%s", before, actions[i].name);
			before = ", ";
		}
	}
	fputs(".\n", out);
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
	fputs(tail, out);
}
