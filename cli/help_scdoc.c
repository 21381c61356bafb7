/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The manual pages that tell of tables, as source for scdoc. Their prose is in
 * extra/man/NAME.SECTION.scd and within the program; at @actions@, @options@ and the like it
 * has what is made here of the tables, so that an action or an option is typed once.
 *
 * scdoc takes characters for markup, most of all at the beginning of a line. So what comes
 * from a table is escaped, an option in it is printed bold, and a line is broken only
 * before a word that begins with a letter or a digit.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "help.h"
#include "help_marks.h"
#include "options.h"

enum { LINE_WIDTH = 64 }; /* of text from tables, so that markup has room, too */

static void
print_escaped(FILE *out, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (strchr("\\*_`+", text[i]) != NULL)
			fputc('\\', out);
		fputc(text[i], out);
	}
}

/** Bold, so that it may stand anywhere in a line; punctuation at its end is not. */
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
 * Text of a table, each line with `indent` before it. A new line after each sentence, as
 * roff wants it, and where a line grows long.
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

/** One line of a table as a sentence: there it has no capital and no full stop. */
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

/** The options that it looks at, but for those that all do. */
static void
print_options_of(FILE *out, size_t action)
{
	char text[2048] = "Options:";
	size_t used = strlen(text), before = used;
	for (const struct option_row *row = option_table; row->name != NULL; row++) {
		bool is_of_all = row->actions == ACTION_BIT(ACTION_COUNT) - 1;
		if ((row->actions & ACTION_BIT(action)) != 0 && !is_of_all &&
			used < sizeof(text))
			used += (size_t)snprintf(
				text + used, sizeof(text) - used, " --%s,", row->name);
	}
	if (used == before || used >= sizeof(text))
		return;
	if ((JOB_ACTIONS & ACTION_BIT(action)) != 0)
		snprintf(text + used - 1, sizeof(text) - used + 1,
			", and keys of the workload.");
	else
		text[used - 1] = '.';
	fputc('\n', out);
	print_prose(out, "", text);
}

/** "NAME" or "[NAME]", with what is a placeholder underlined. */
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
	for (size_t i = 0; i < ACTION_COUNT; i++) {
		fprintf(out, "%s## %s\n\n*mininb %s* ", i > 0 ? "\n" : "", actions[i].name,
			actions[i].name);
		if (actions[i].operand != NULL) {
			print_operand(out, actions[i].operand);
			fputc(' ', out);
		}
		fputs("[_OPTION_]...\n\n", out);
		print_sentence(out, "", actions[i].help);
		if (actions[i].detail != NULL)
			print_prose(out, "", actions[i].detail);
		print_options_of(out, i);
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
	if (row->actions == ACTION_BIT(ACTION_COUNT) - 1)
		return;
	char text[1024] = "Looked at by";
	size_t used = strlen(text);
	for (size_t i = 0; i < ACTION_COUNT && used < sizeof(text); i++) {
		if (row->actions & ACTION_BIT(i))
			used += (size_t)snprintf(
				text + used, sizeof(text) - used, " %s,", actions[i].name);
	}
	if (used >= sizeof(text))
		return;
	text[used - 1] = '.';
	print_prose(out, "\t", text);
}

/** A key with `before` it: "--" of options, nothing in a file. */
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
	char text[1024] = "For";
	size_t used = strlen(text);
	for (size_t i = 0; i < ACTION_COUNT && used < sizeof(text); i++) {
		if ((JOB_ACTIONS & ACTION_BIT(i)) != 0)
			used += (size_t)snprintf(
				text + used, sizeof(text) - used, " %s,", actions[i].name);
	}
	fputs("\n## Keys of the workload\n\n", out);
	print_prose(out, "", text);
	fputs("each for all groups of the run, or written *--*_GROUP_._KEY_=_VALUE_\n"
	      "for one of them.\n"
	      "They are set in the order in which they stand.\n"
	      "An option above that has the name of a key counts here only if it is typed;\n"
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
		for (const struct option_row *row = option_table; row->name != NULL; row++) {
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
	{"@version@", print_version},
	{"@actions@", print_actions},
	{"@options@", print_options},
	{"@job-keys@", print_keys_of_job},
	{"@group-keys@", print_keys_of_group},
	{NULL, NULL},
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
