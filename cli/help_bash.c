/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion for bash: extra/completions/mininb.bash.in, with what the tables say. Once an
 * action stands in the line, only the options that it looks at are offered.
 */
#include <stdbool.h>
#include <string.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "help.h"
#include "help_marks.h"
#include "options.h"

#define ANY (ACTION_BIT(ACTION_COUNT) - 1)

static void
print_actions(FILE *out)
{
	for (size_t i = 0; i < ACTION_COUNT; i++)
		fprintf(out, "%s%s", i == 0 ? "" : " ", actions[i].name);
}

static void
print_keys(FILE *out)
{
	for (const struct nb_job_key *key = nb_job_keys(); key->name != NULL; key++)
		fprintf(out, "%s%s=", key == nb_job_keys() ? "" : " ", key->name);
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

/** The option that sets keys. */
static void
print_set(FILE *out)
{
	for (const struct option_row *row = option_table; row->name != NULL; row++) {
		if (row->type == OPTION_SET)
			fprintf(out, "--%s", row->name);
	}
}

static void
print_choices(FILE *out, const char *choices)
{
	fputs("_mininb_offer '", out);
	for (const char *c = choices; *c != '\0'; c++)
		fputc(*c == '|' ? ' ' : *c, out);
	fputs("'", out);
}

/** What offers the values of an option; NULL: its choices, if it has any. */
static const char *
offer_of(const struct option_row *row)
{
	static const char *const of_words[] = {
		[WORDS_FILE] = "_mininb_files",
		[WORDS_DIRECTORY] = "_mininb_directories",
		[WORDS_DRIVER] = "_mininb_drivers",
		[WORDS_WORKLOAD] = "_mininb_workloads",
	};
	static const char *const of_type[] = {
		[OPTION_ACTION] = "_mininb_offer \"$actions\"",
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

/** Whether it is meant by that action alone: others mean a row before. */
static bool
is_of_action(const struct option_row *row, char letter, const char *name, size_t action)
{
	return (row->actions & ACTION_BIT(action)) != 0 &&
		options_have_before(row, letter, name, ANY) &&
		!options_have_before(row, letter, name, ACTION_BIT(action));
}

/** Ends an arm: what is offered, and nothing more. */
static void
print_offer(FILE *out, const struct option_row *row)
{
	fputs(")\n", out);
	const char *offer = offer_of(row);
	if (offer != NULL || row->choices != NULL) {
		fputs(row->type == OPTION_HELP ? "\t\t[[ -z $joined ]] || " : "\t\t", out);
		if (offer != NULL)
			fputs(offer, out);
		else
			print_choices(out, row->choices);
		fputc('\n', out);
	}
	fputs("\t\treturn\n\t\t;;\n", out);
}

/** Where its name or its letter is also one of a row before: for its own actions. */
static void
print_value_of_actions(FILE *out, const struct option_row *row)
{
	const char *between = "\t";
	for (size_t i = 0; i < ACTION_COUNT; i++) {
		if (row->letter != 0 && is_of_action(row, row->letter, NULL, i)) {
			fprintf(out, "%s%s:-%c", between, actions[i].name, row->letter);
			between = " | ";
		}
		if (is_of_action(row, 0, row->name, i)) {
			fprintf(out, "%s%s:--%s", between, actions[i].name, row->name);
			between = " | ";
		}
	}
	if (between[0] != '\t')
		print_offer(out, row);
}

static void
print_value(FILE *out, const struct option_row *row)
{
	const char *between = "\t";
	if (row->letter != 0 && row->arg != NULL &&
		!options_have_before(row, row->letter, NULL, ANY)) {
		fprintf(out, "%s*:-%c", between, row->letter);
		between = " | ";
	}
	if (!options_have_before(row, 0, row->name, ANY)) {
		fprintf(out, "%s*:--%s", between, row->name);
		between = " | ";
	}
	if (between[0] != '\t')
		print_offer(out, row);
}

static bool
takes_value(const struct option_row *row)
{
	return row->arg != NULL || row->type == OPTION_HELP;
}

/** What may stand behind each option that has a value: arms of "ACTION:OPTION". */
static void
print_values_of_options(FILE *out)
{
	for (const struct option_row *row = option_table; row->name != NULL; row++) {
		if (takes_value(row))
			print_value_of_actions(out, row);
	}
	for (const struct option_row *row = option_table; row->name != NULL; row++) {
		if (takes_value(row))
			print_value(out, row);
	}
}

/** Also of keys of jobs, for all groups or for one. */
static void
print_values(FILE *out)
{
	print_values_of_options(out);
	for (const struct nb_job_key *key = NULL; (key = options_next_job_key(key)) != NULL;) {
		fprintf(out, "\t*:--%s | *:--*.%s)\n", key->name, key->name);
		if (key->choices != NULL) {
			fputs("\t\t", out);
			print_choices(out, key->choices);
			fputc('\n', out);
		}
		fputs("\t\treturn\n\t\t;;\n", out);
	}
}

static void
print_names(FILE *out, unsigned action_bits)
{
	const char *before = "options='";
	for (const struct option_row *row = option_table; row->name != NULL; row++) {
		bool is_again = action_bits == ANY &&
			options_have_before(row, 0, row->name, ANY);
		if ((row->actions & action_bits) == 0 || is_again)
			continue;
		fprintf(out, "%s--%s%s", before, row->name, row->arg != NULL ? "=" : "");
		before = " ";
	}
	for (const struct nb_job_key *key = NULL;
		(action_bits & JOB_ACTIONS) != 0 && (key = options_next_job_key(key)) != NULL;)
		fprintf(out, " --%s=", key->name);
	fputs("'", out);
}

static void
print_options(FILE *out)
{
	for (size_t i = 0; i < ACTION_COUNT; i++) {
		fprintf(out, "\t%s) ", actions[i].name);
		print_names(out, ACTION_BIT(i));
		fputs(" ;;\n", out);
	}
	fputs("\t*) ", out);
	print_names(out, ANY);
	fputs(" ;;\n", out);
}

static void
print_operands(FILE *out)
{
	for (size_t i = 0; i < ACTION_COUNT; i++) {
		const char *operand = actions[i].operand;
		if (i == ACTION_WORKLOADS)
			fprintf(out, "\t%s) _mininb_workloads ;;\n", actions[i].name);
		else if (operand != NULL && strstr(operand, "FILE") != NULL)
			fprintf(out, "\t%s) _mininb_results ;;\n", actions[i].name);
	}
}

void
help_print_bash(FILE *out)
{
	static const struct help_mark marks[] = {
		{"@actions@", print_actions},
		{"@keys@", print_keys},
		{"@driver@", print_driver},
		{"@workload@", print_workload},
		{"@set@", print_set},
		{"@values@", print_values},
		{"@options@", print_options},
		{"@operands@", print_operands},
		{NULL, NULL},
	};
	help_print_marked(out, &completion_files[0], marks);
}
