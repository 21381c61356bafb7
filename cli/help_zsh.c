/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion for zsh: extra/completions/mininb.zsh.in, with what the tables say, as specs
 * for its _arguments: "=[help]:VALUE:what offers values". Within single quotes, so a quote
 * of a text ends them for a moment; brackets and colons are escaped for _arguments.
 */
#include <string.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "help.h"
#include "help_marks.h"
#include "options.h"

static void
print_escaped(FILE *out, const char *text, const char *special)
{
	for (const char *c = text; *c != '\0'; c++) {
		if (*c == '\'')
			fputs("'\\'", out);
		else if (strchr(special, *c) != NULL)
			fputc('\\', out);
		fputc(*c, out);
	}
}

static void
print_actions(FILE *out)
{
	for (size_t i = 0; i < ACTION_COUNT; i++) {
		fprintf(out, "\t\t'%s:", actions[i].name);
		print_escaped(out, actions[i].help, "");
		fputs("'\n", out);
	}
}

/** "(a b c)" of "a|b|c". */
static void
print_choices(FILE *out, const char *choices)
{
	fputc('(', out);
	for (const char *c = choices; *c != '\0'; c++)
		fputc(*c == '|' ? ' ' : *c, out);
	fputc(')', out);
}

/** "_files" and the like; NULL: its choices, if it has any. */
static const char *
offer_of(const struct option_row *row)
{
	static const char *const of_words[] = {
		[WORDS_FILE] = "_files",
		[WORDS_DIRECTORY] = "_files -/",
		[WORDS_DRIVER] = "_mininb_drivers",
		[WORDS_WORKLOAD] = "_mininb_workloads",
	};
	static const char *const of_type[] = {
		[OPTION_ACTION] = "_mininb_actions",
		[OPTION_LIST] = "_mininb_engine_options",
		[OPTION_SET] = "_mininb_settings",
		[OPTION_HELP] = NULL,
	};
	size_t words = row->words;
	const char *offer = words < sizeof(of_words) / sizeof(of_words[0]) ? of_words[words]
									   : NULL;
	if (offer == NULL && row->type < sizeof(of_type) / sizeof(of_type[0]))
		offer = of_type[row->type];
	return offer;
}

/** "[help]", and of one with a value the rest. */
static void
print_spec(FILE *out, const char *begin, const char *help, const char *arg, const char *choices,
	const char *offer)
{
	fprintf(out, "'%s[", begin);
	print_escaped(out, help, "[]\\");
	fputc(']', out);
	if (arg != NULL) {
		fputs(strcmp(begin, "=-") == 0 ? "::" : ":", out);
		print_escaped(out, arg, ":\\");
		fputc(':', out);
		if (offer != NULL)
			fputs(offer, out);
		else if (choices != NULL)
			print_choices(out, choices);
		else
			fputc(' ', out);
	}
	fputs("'\n", out);
}

/** "format", or of a row whose name one before has "format/2". */
static void
print_row_name(FILE *out, const struct option_row *row)
{
	int same = 1;
	for (const struct option_row *before = option_table; before < row; before++)
		same += strcmp(before->name, row->name) == 0;
	fputs(row->name, out);
	if (same > 1)
		fprintf(out, "/%d", same);
}

static void
print_options(FILE *out)
{
	for (const struct option_row *row = option_table; row->name != NULL; row++) {
		fputs("\t\t", out);
		print_row_name(out, row);
		fputc(' ', out);
		if (row->type == OPTION_HELP)
			print_spec(out, "=-", row->help, "what", row->choices, NULL);
		else
			print_spec(out, row->arg != NULL ? "=" : "", row->help, row->arg,
				row->choices, offer_of(row));
	}
}

static void
print_letters(FILE *out)
{
	const char *before = "";
	for (const struct option_row *row = option_table; row->name != NULL; row++) {
		if (row->letter != 0) {
			fputs(before, out);
			print_row_name(out, row);
			fprintf(out, " %c", row->letter);
			before = " ";
		}
	}
}

static void
print_repeated(FILE *out)
{
	const char *before = "";
	for (const struct option_row *row = option_table; row->name != NULL; row++) {
		if (row->type == OPTION_LIST || row->type == OPTION_SET) {
			fputs(before, out);
			print_row_name(out, row);
			fputs(" '*'", out);
			before = " ";
		}
	}
}

static void
print_key_choices(FILE *out)
{
	for (const struct nb_job_key *key = nb_job_keys(); key->name != NULL; key++)
		fprintf(out, "\t\t%s '%s'\n", key->name,
			key->choices != NULL ? key->choices : "");
}

static void
print_key_options(FILE *out)
{
	for (const struct nb_job_key *key = NULL; (key = options_next_job_key(key)) != NULL;) {
		fprintf(out, "\t\t%s ", key->name);
		print_spec(out, "=", key->help, key->arg, key->choices, NULL);
	}
}

/** The options of each action; of none all. */
static void
print_names(FILE *out)
{
	for (size_t i = 0; i <= ACTION_COUNT; i++) {
		if (i < ACTION_COUNT)
			fprintf(out, "\t(%s) names=(", actions[i].name);
		else
			fputs("\t(*) names=(", out);
		const char *before = "";
		for (const struct option_row *row = option_table; row->name != NULL; row++) {
			if (i < ACTION_COUNT && (row->actions & ACTION_BIT(i)) == 0)
				continue;
			fputs(before, out);
			print_row_name(out, row);
			before = " ";
		}
		fputs(") ;;\n", out);
	}
}

static void
print_job_actions(FILE *out)
{
	const char *before = "";
	for (size_t i = 0; i < ACTION_COUNT; i++) {
		if ((JOB_ACTIONS & ACTION_BIT(i)) != 0) {
			fprintf(out, "%s%s", before, actions[i].name);
			before = "|";
		}
	}
}

/** Letter, name and default of the option whose values are such. */
static void
print_given(FILE *out, enum option_words words)
{
	for (const struct option_row *row = option_table; row->name != NULL; row++) {
		if (row->words == words) {
			fprintf(out, "%c %s '%s'", row->letter, row->name,
				row->def != NULL ? row->def : "");
			return;
		}
	}
}

static void
print_driver(FILE *out)
{
	print_given(out, WORDS_DRIVER);
}

static void
print_workload(FILE *out)
{
	print_given(out, WORDS_WORKLOAD);
}

static void
print_operands(FILE *out)
{
	for (size_t i = 0; i < ACTION_COUNT; i++) {
		const char *operand = actions[i].operand, *offer = NULL;
		if (i == ACTION_WORKLOADS)
			offer = "_mininb_workloads";
		else if (operand != NULL && strstr(operand, "FILE") != NULL)
			offer = "_mininb_results";
		if (offer != NULL)
			fprintf(out, "\t(%s) specs+=('*:operand:%s') ;;\n", actions[i].name,
				offer);
	}
}

void
help_print_zsh(FILE *out)
{
	static const struct help_mark marks[] = {
		{"@actions@", print_actions},
		{"@options@", print_options},
		{"@letters@", print_letters},
		{"@repeated@", print_repeated},
		{"@key-choices@", print_key_choices},
		{"@key-options@", print_key_options},
		{"@names@", print_names},
		{"@job-actions@", print_job_actions},
		{"@driver@", print_driver},
		{"@workload@", print_workload},
		{"@operands@", print_operands},
		{NULL, NULL},
	};
	help_print_marked(out, &completion_files[1], marks);
}
