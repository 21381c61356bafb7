/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion for bash and zsh: extra/completions/mininb.bash.in and mininb.zsh.in, with text
 * made from the rows. After an action, a shell offers only the options that it uses.
 *
 * bash gets arms of a case statement. zsh gets specs for its _arguments,
 * "=[help]:VALUE:offer", in single quotes: a quote in a text ends them for a moment, and
 * brackets and colons are escaped.
 */
#include <stdbool.h>
#include <string.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "help.h"
#include "options.h"

enum { BASH, ZSH, SHELLS };

/* ---- both ---- */

/** Letter, name and default of the option whose values are such. */
static void
print_given(FILE *out, enum option_words words)
{
	for (const struct option_row *row = option_table(); row->name != NULL; row++) {
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

/** "a b c" of "a|b|c". */
static void
print_choices(FILE *out, const char *before, const char *choices, const char *after)
{
	fputs(before, out);
	for (const char *c = choices; *c != '\0'; c++)
		fputc(*c == '|' ? ' ' : *c, out);
	fputs(after, out);
}

/** The command that offers the values of an option; NULL: its choices, if it has any. */
static const char *
offer_of(const struct option_row *row, int shell)
{
	static const char *const of_words[][SHELLS] = {
		[WORDS_FILE] = {"_mininb_files", "_files"},
		[WORDS_DIRECTORY] = {"_mininb_directories", "_files -/"},
		[WORDS_DRIVER] = {"_mininb_drivers", "_mininb_drivers"},
		[WORDS_WORKLOAD] = {"_mininb_workloads", "_mininb_workloads"},
	};
	static const char *const of_type[][SHELLS] = {
		[OPTION_ACTION] = {"_mininb_offer \"$actions\"", "_mininb_actions"},
		[OPTION_LIST] = {"_mininb_engine_options", "_mininb_engine_options"},
		[OPTION_SET] = {"_mininb_settings", "_mininb_settings"},
		[OPTION_HELP] = {NULL, NULL},
	};
	const char *offer = of_words[row->words][shell];
	return offer != NULL ? offer : of_type[row->type][shell];
}

/** The words after an action: workloads, or files of results. */
static void
print_operands(FILE *out, const char *before, const char *between, const char *after)
{
	for (size_t i = 0; cmds[i] != NULL; i++) {
		const char *operand = cmds[i]->operand, *offer = NULL;
		if (cmds[i] == &cmd_workloads)
			offer = "_mininb_workloads";
		else if (operand != NULL && strstr(operand, "FILE") != NULL)
			offer = "_mininb_results";
		if (offer != NULL)
			fprintf(out, "%s%s%s%s%s", before, cmds[i]->name, between, offer,
				after);
	}
}

/* ---- bash ---- */

static void
bash_actions(FILE *out)
{
	for (size_t i = 0; cmds[i] != NULL; i++)
		fprintf(out, "%s%s", i == 0 ? "" : " ", cmds[i]->name);
}

static void
bash_keys(FILE *out)
{
	for (const struct nb_job_key *key = nb_job_keys(); key->name != NULL; key++)
		fprintf(out, "%s%s=", key == nb_job_keys() ? "" : " ", key->name);
}

static void
bash_set(FILE *out)
{
	for (const struct option_row *row = option_table(); row->name != NULL; row++) {
		if (row->type == OPTION_SET)
			fprintf(out, "--%s", row->name);
	}
}

/** Whether only that action means the row: other actions mean an earlier row. */
static bool
is_of_action(const struct option_row *row, char letter, const char *name, const struct cmd *cmd)
{
	return option_is_of(row, cmd) && options_have_before(row, letter, name, NULL) &&
		!options_have_before(row, letter, name, cmd);
}

/** Ends an arm. */
static void
bash_offer(FILE *out, const struct option_row *row)
{
	fputs(")\n", out);
	const char *offer = offer_of(row, BASH);
	if (offer != NULL || row->choices != NULL) {
		fputs(row->type == OPTION_HELP ? "\t\t[[ -z $joined ]] || " : "\t\t", out);
		if (offer != NULL)
			fputs(offer, out);
		else
			print_choices(out, "_mininb_offer '", row->choices, "'");
		fputc('\n', out);
	}
	fputs("\t\treturn\n\t\t;;\n", out);
}

/** An arm for the actions that mean this row, if an earlier row has the name or letter. */
static void
bash_value_of_actions(FILE *out, const struct option_row *row)
{
	const char *between = "\t";
	for (size_t i = 0; cmds[i] != NULL; i++) {
		if (row->letter != 0 && is_of_action(row, row->letter, NULL, cmds[i])) {
			fprintf(out, "%s%s:-%c", between, cmds[i]->name, row->letter);
			between = " | ";
		}
		if (is_of_action(row, 0, row->name, cmds[i])) {
			fprintf(out, "%s%s:--%s", between, cmds[i]->name, row->name);
			between = " | ";
		}
	}
	if (between[0] != '\t')
		bash_offer(out, row);
}

static void
bash_value(FILE *out, const struct option_row *row)
{
	const char *between = "\t";
	if (row->letter != 0 && row->arg != NULL &&
		!options_have_before(row, row->letter, NULL, NULL)) {
		fprintf(out, "%s*:-%c", between, row->letter);
		between = " | ";
	}
	if (!options_have_before(row, 0, row->name, NULL)) {
		fprintf(out, "%s*:--%s", between, row->name);
		between = " | ";
	}
	if (between[0] != '\t')
		bash_offer(out, row);
}

static bool
takes_value(const struct option_row *row)
{
	return row->arg != NULL || row->type == OPTION_HELP;
}

/** An arm "ACTION:OPTION" for each option that has a value. */
static void
bash_values(FILE *out)
{
	for (const struct option_row *row = option_table(); row->name != NULL; row++) {
		if (takes_value(row))
			bash_value_of_actions(out, row);
	}
	for (const struct option_row *row = option_table(); row->name != NULL; row++) {
		if (takes_value(row))
			bash_value(out, row);
	}
	for (const struct nb_job_key *key = NULL; (key = options_next_job_key(key)) != NULL;) {
		fprintf(out, "\t*:--%s | *:--*.%s)\n", key->name, key->name);
		if (key->choices != NULL)
			print_choices(out, "\t\t_mininb_offer '", key->choices, "'\n");
		fputs("\t\treturn\n\t\t;;\n", out);
	}
}

static void
bash_names(FILE *out, const struct cmd *cmd)
{
	const char *before = "options='";
	for (const struct option_row *row = option_table(); row->name != NULL; row++) {
		bool is_again = cmd == NULL && options_have_before(row, 0, row->name, NULL);
		if (!option_is_of(row, cmd) || is_again)
			continue;
		fprintf(out, "%s--%s%s", before, row->name, row->arg != NULL ? "=" : "");
		before = " ";
	}
	for (const struct nb_job_key *key = NULL; (cmd == NULL || cmd->has_workload) &&
		(key = options_next_job_key(key)) != NULL;)
		fprintf(out, " --%s=", key->name);
	fputs("'", out);
}

static void
bash_options(FILE *out)
{
	for (size_t i = 0; cmds[i] != NULL; i++) {
		fprintf(out, "\t%s) ", cmds[i]->name);
		bash_names(out, cmds[i]);
		fputs(" ;;\n", out);
	}
	fputs("\t*) ", out);
	bash_names(out, NULL);
	fputs(" ;;\n", out);
}

static void
bash_operands(FILE *out)
{
	print_operands(out, "\t", ") ", " ;;\n");
}

void
help_print_bash(FILE *out)
{
	static const struct help_mark marks[] = {
		{"@actions@", bash_actions},
		{"@keys@", bash_keys},
		{"@driver@", print_driver},
		{"@workload@", print_workload},
		{"@set@", bash_set},
		{"@values@", bash_values},
		{"@options@", bash_options},
		{"@operands@", bash_operands},
		{NULL, NULL},
	};
	help_print_marked(out, &completion_files[0], marks);
}

/* ---- zsh ---- */

static void
zsh_escaped(FILE *out, const char *text, const char *special)
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
zsh_actions(FILE *out)
{
	for (size_t i = 0; cmds[i] != NULL; i++) {
		fprintf(out, "\t\t'%s:", cmds[i]->name);
		zsh_escaped(out, cmds[i]->help, "");
		fputs("'\n", out);
	}
}

/** "[help]", and if it has a value ":VALUE:offer". */
static void
zsh_spec(FILE *out, const char *begin, const char *help, const char *arg, const char *choices,
	const char *offer)
{
	fprintf(out, "'%s[", begin);
	zsh_escaped(out, help, "[]\\");
	fputc(']', out);
	if (arg != NULL) {
		fputs(strcmp(begin, "=-") == 0 ? "::" : ":", out);
		zsh_escaped(out, arg, ":\\");
		fputc(':', out);
		if (offer != NULL)
			fputs(offer, out);
		else if (choices != NULL)
			print_choices(out, "(", choices, ")");
		else
			fputc(' ', out);
	}
	fputs("'\n", out);
}

/** "format", or "format/2" of the second row of that name. */
static void
zsh_name(FILE *out, const struct option_row *row)
{
	int same = 1;
	for (const struct option_row *before = option_table(); before < row; before++)
		same += strcmp(before->name, row->name) == 0;
	fputs(row->name, out);
	if (same > 1)
		fprintf(out, "/%d", same);
}

static void
zsh_options(FILE *out)
{
	for (const struct option_row *row = option_table(); row->name != NULL; row++) {
		fputs("\t\t", out);
		zsh_name(out, row);
		fputc(' ', out);
		if (row->type == OPTION_HELP)
			zsh_spec(out, "=-", row->help, "what", row->choices, NULL);
		else
			zsh_spec(out, row->arg != NULL ? "=" : "", row->help, row->arg,
				row->choices, offer_of(row, ZSH));
	}
}

static void
zsh_letters(FILE *out)
{
	const char *before = "";
	for (const struct option_row *row = option_table(); row->name != NULL; row++) {
		if (row->letter != 0) {
			fputs(before, out);
			zsh_name(out, row);
			fprintf(out, " %c", row->letter);
			before = " ";
		}
	}
}

static void
zsh_repeated(FILE *out)
{
	const char *before = "";
	for (const struct option_row *row = option_table(); row->name != NULL; row++) {
		if (row->type == OPTION_LIST || row->type == OPTION_SET) {
			fputs(before, out);
			zsh_name(out, row);
			fputs(" '*'", out);
			before = " ";
		}
	}
}

static void
zsh_key_choices(FILE *out)
{
	for (const struct nb_job_key *key = nb_job_keys(); key->name != NULL; key++)
		fprintf(out, "\t\t%s '%s'\n", key->name,
			key->choices != NULL ? key->choices : "");
}

static void
zsh_key_options(FILE *out)
{
	for (const struct nb_job_key *key = NULL; (key = options_next_job_key(key)) != NULL;) {
		fprintf(out, "\t\t%s ", key->name);
		zsh_spec(out, "=", key->help, key->arg, key->choices, NULL);
	}
}

/** The options of each action; of none all. */
static void
zsh_names(FILE *out)
{
	for (size_t i = 0; i == 0 || cmds[i - 1] != NULL; i++) {
		fprintf(out, "\t(%s) names=(", cmds[i] != NULL ? cmds[i]->name : "*");
		const char *before = "";
		for (const struct option_row *row = option_table(); row->name != NULL; row++) {
			if (!option_is_of(row, cmds[i]))
				continue;
			fputs(before, out);
			zsh_name(out, row);
			before = " ";
		}
		fputs(") ;;\n", out);
	}
}

static void
zsh_job_actions(FILE *out)
{
	const char *before = "";
	for (size_t i = 0; cmds[i] != NULL; i++) {
		if (cmds[i]->has_workload) {
			fprintf(out, "%s%s", before, cmds[i]->name);
			before = "|";
		}
	}
}

static void
zsh_operands(FILE *out)
{
	print_operands(out, "\t(", ") specs+=('*:operand:", "') ;;\n");
}

void
help_print_zsh(FILE *out)
{
	static const struct help_mark marks[] = {
		{"@actions@", zsh_actions},
		{"@options@", zsh_options},
		{"@letters@", zsh_letters},
		{"@repeated@", zsh_repeated},
		{"@key-choices@", zsh_key_choices},
		{"@key-options@", zsh_key_options},
		{"@names@", zsh_names},
		{"@job-actions@", zsh_job_actions},
		{"@driver@", print_driver},
		{"@workload@", print_workload},
		{"@operands@", zsh_operands},
		{NULL, NULL},
	};
	help_print_marked(out, &completion_files[1], marks);
}
