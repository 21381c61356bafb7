/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Manual pages, as source for scdoc. Their prose is in extra/man/NAME.SECTION.scd, which the
 * program contains. This file replaces @actions@, @options@ and other marks in it, so each
 * action and option is typed once.
 *
 * scdoc interprets some characters as markup, especially at the beginning of a line. So text
 * from a row is escaped, and an option in it is bold. A line is broken only before a word that
 * begins with a letter or a digit.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "help.h"
#include "options.h"

enum { LINE_WIDTH = 64 }; /* width of text from rows; leaves room for markup */

static void
print_escaped(FILE *out, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (strchr("\\*_`+", text[i]) != NULL)
			fputc('\\', out);
		fputc(text[i], out);
	}
}

/** Prints a word in bold anywhere in a line, without the punctuation at its end. */
static void
print_bold_word(FILE *out, const char *word, size_t length)
{
	size_t bold = length;
	while (bold > 1 && strchr(".,;:", word[bold - 1]) != NULL)
		bold--;
	fputc('*', out);
	print_escaped(out, word, bold);
	fputc('*', out);
	print_escaped(out, word + bold, length - bold);
}

static bool
is_option_word(const char *word)
{
	return word[0] == '-' && word[1] == '-' && isalpha((unsigned char)word[2]);
}

static void
print_word(FILE *out, const char *word, size_t length, bool is_at_begin)
{
	bool is_plain = isalnum((unsigned char)word[0]);
	if (is_option_word(word) || (is_at_begin && !is_plain))
		print_bold_word(out, word, length);
	else
		print_escaped(out, word, length);
}

/**
 * Prints text of a row, each line after `indent`. A line ends after each sentence, as roff
 * requires, and when it is long.
 */
static void
print_prose(FILE *out, const char *indent, const char *text)
{
	size_t at = 0;
	while (*text != '\0') {
		size_t length = strcspn(text, " ");
		if (at == 0)
			fputs(indent, out);
		print_word(out, text, length, at == 0);
		at += length + 1;
		bool is_end = text[length - 1] == '.' && isalnum((unsigned char)text[0]);
		text += length + strspn(text + length, " ");
		if (*text == '\0')
			break;
		bool is_full = at + strcspn(text, " ") > LINE_WIDTH;
		bool is_broken = (is_end || is_full) &&
			(isalnum((unsigned char)text[0]) || is_option_word(text));
		fputc(is_broken ? '\n' : ' ', out);
		if (is_broken)
			at = 0;
	}
	fputc('\n', out);
}

/** Prints a help line, which has no capital and no full stop, as a sentence. */
static void
print_sentence(FILE *out, const char *indent, const char *text)
{
	char sentence[512];
	snprintf(sentence, sizeof(sentence), "%s.", text);
	if (sentence[0] >= 'a' && sentence[0] <= 'z')
		sentence[0] = (char)(sentence[0] - 'a' + 'A');
	print_prose(out, indent, sentence);
}

/* ---- actions ---- */

/** The options that the action uses, without those that all actions use. */
static void
print_options_of(FILE *out, const struct cmd *cmd)
{
	char names[2048] = "", text[2100];
	for (const struct option_row *row = option_table(); row->name != NULL; row++) {
		if (option_is_of(row, cmd) && !row->is_for_all)
			options_add_word(names, sizeof(names), "--", row->name);
	}
	if (names[0] == '\0')
		return;
	snprintf(text, sizeof(text), "Options: %s%s.", names,
		cmd->has_workload ? ", and keys of the workload" : "");
	fputc('\n', out);
	print_prose(out, "", text);
}

/** "NAME" or "[NAME]", with the placeholder underlined. */
static void
print_operand(FILE *out, const char *operand)
{
	while (*operand != '\0') {
		size_t placeholder = strspn(operand, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_");
		if (placeholder > 0)
			fprintf(out, "_%.*s_", (int)placeholder, operand);
		else
			print_escaped(out, operand, 1);
		operand += placeholder > 0 ? placeholder : 1;
	}
}

static void
print_actions(FILE *out)
{
	for (size_t i = 0; cmds[i] != NULL; i++) {
		fprintf(out, "%s## %s\n\n*mininb %s* ", i > 0 ? "\n" : "", cmds[i]->name,
			cmds[i]->name);
		if (cmds[i]->operand != NULL) {
			print_operand(out, cmds[i]->operand);
			fputc(' ', out);
		}
		fputs("[_OPTION_]...\n\n", out);
		print_sentence(out, "", cmds[i]->help);
		print_prose(out, "", cmds[i]->detail);
		print_options_of(out, cmds[i]);
	}
}

/* ---- options ---- */

static void
print_heading(FILE *out, const struct option_row *row)
{
	fputc('\n', out);
	if (row->letter != 0)
		fprintf(out, "*-%c*, ", row->letter);
	fprintf(out, "*--%s*", row->name);
	if (row->type == OPTION_HELP)
		fputs("[=_WHAT_]", out);
	else if (row->arg != NULL)
		fprintf(out, "=_%s_", row->arg);
	fputc('\n', out);
}

static void
print_choices(FILE *out, const char *choices)
{
	size_t at = 0;
	fputs("\tOne of ", out);
	while (*choices != '\0') {
		size_t length = strcspn(choices, "|");
		bool is_full = at + length > LINE_WIDTH;
		if (at > 0)
			fputs(is_full ? ",\n\t" : ", ", out);
		at = (is_full ? 0 : at) + length + 8; /* with markup */
		print_bold_word(out, choices, length);
		choices += length + (choices[length] == '|');
	}
	fputs(".\n", out);
}

static void
print_default(FILE *out, const char *def)
{
	fputs("\tDefault: *", out);
	print_escaped(out, def, strlen(def));
	fputs("*.\n", out);
}

static void
print_allowed(FILE *out, const struct option_row *row)
{
	if (row->type == OPTION_CHOICE || row->type == OPTION_HELP)
		print_choices(out, row->choices);
	if (row->type == OPTION_COUNT || row->type == OPTION_BYTES || row->type == OPTION_REAL)
		fprintf(out, "\tFrom %" PRIu64 " to %" PRIu64 ".\n", row->min, row->max);
	if (row->def != NULL)
		print_default(out, row->def);
}

static void
print_takers(FILE *out, const struct option_row *row)
{
	if (row->is_for_all)
		return;
	char names[TAKERS_SIZE], text[TAKERS_SIZE + 16];
	snprintf(text, sizeof(text), "Used by %s.", option_takers(names, row));
	print_prose(out, "\t", text);
}

/** `before` is "--" for an option, "" for a key in a file. */
static void
print_key(FILE *out, const struct nb_job_key *key, const char *before)
{
	fprintf(out, "\n*%s%s*%s_%s_\n", before, key->name, before[0] != '\0' ? "=" : " = ",
		key->arg);
	print_sentence(out, "\t", key->help);
	if (key->choices != NULL)
		print_choices(out, key->choices);
	if (key->def != NULL)
		print_default(out, key->def);
}

static void
print_job_keys(FILE *out)
{
	char names[TAKERS_SIZE], text[TAKERS_SIZE + 16];
	snprintf(text, sizeof(text), "For %s,", option_takers(names, NULL));
	fputs("\n## Keys of the workload\n\n", out);
	print_prose(out, "", text);
	fputs("each for all groups of the run, or written *--*_GROUP_._KEY_=_VALUE_\n"
	      "for one of them.\n"
	      "mininb sets them in the order of the command line.\n"
	      "An option above that has the name of a key sets it only if you give the option;\n"
	      "its default does not.\n",
		out);
	for (const struct nb_job_key *key = NULL; (key = options_next_job_key(key)) != NULL;)
		print_key(out, key, "--");
}

static void
print_options(FILE *out)
{
	for (size_t group = 0; group < GROUP_COUNT; group++) {
		fprintf(out, "%s## %s\n", group > 0 ? "\n" : "", option_groups[group]);
		for (const struct option_row *row = option_table(); row->name != NULL; row++) {
			if (row->group != group)
				continue;
			print_heading(out, row);
			print_sentence(out, "\t", row->help);
			if (row->detail != NULL)
				print_prose(out, "\t", row->detail);
			print_allowed(out, row);
			print_takers(out, row);
		}
		if (group == GROUP_WORKLOAD)
			print_job_keys(out);
	}
}

/* ---- keys of workloads ---- */

static void
print_keys(FILE *out, bool is_global)
{
	for (const struct nb_job_key *key = nb_job_keys(); key->name != NULL; key++) {
		if ((key->is_global != 0) == is_global)
			print_key(out, key, "");
	}
}

static void
print_keys_of_job(FILE *out)
{
	print_keys(out, true);
}

static void
print_keys_of_group(FILE *out)
{
	print_keys(out, false);
}

static void
print_version(FILE *out)
{
	fputs(nb_version(), out);
}

/* ---- pages ---- */

static const struct help_mark marks[] = {
	{.text = "@version@", .print = print_version},
	{.text = "@actions@", .print = print_actions},
	{.text = "@options@", .print = print_options},
	{.text = "@job-keys@", .print = print_keys_of_job},
	{.text = "@group-keys@", .print = print_keys_of_group},
	{.text = NULL},
};

void
help_print_page(FILE *out, const char *name)
{
	const struct template_file *page = manual_files;
	while (page->name != NULL && strcmp(page->name, name) != 0)
		page++;
	if (page->name != NULL)
		help_print_marked(out, page, marks);
}
