/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion for bash and zsh: extra/completions/mininb.bash.in and mininb.zsh.in, with three
 * tables made from the rows, the same for both shells. The fields of a line are separated by a
 * space, and an empty one is "-". The help text is last, so it may contain spaces.
 */
#include <string.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "help.h"
#include "options.h"

static const char *
or_dash(const char *text)
{
	return text != NULL ? text : "-";
}

/** "NAME OPERANDS KEYS HELP": the operands, and "keys" if keys of workloads are options. */
static void
print_actions(FILE *out)
{
	for (size_t i = 0; cmds[i] != NULL; i++) {
		const char *operand = cmds[i]->operand;
		const char *offer = cmds[i] == &cmd_workloads                ? "@workload"
			: operand != NULL && strstr(operand, "FILE") != NULL ? "@result"
									     : "-";
		fprintf(out, "%s %s %s %s\n", cmds[i]->name, offer,
			cmds[i]->has_workload ? "keys" : "-", cmds[i]->help);
	}
}

/** The values to offer: "@file" for a function of the script, or "a|b|c". */
static const char *
offer_of(const struct option_row *row)
{
	static const char *const of_words[] = {[WORDS_FILE] = "@file",
		[WORDS_DIRECTORY] = "@directory",
		[WORDS_DRIVER] = "@driver",
		[WORDS_WORKLOAD] = "@workload"};
	static const char *const of_type[] = {[OPTION_ACTION] = "@action",
		[OPTION_LIST] = "@engine-option",
		[OPTION_SET] = "@setting",
		[OPTION_HELP] = NULL};
	const char *offer = of_words[row->words];
	if (offer == NULL)
		offer = of_type[row->type];
	return or_dash(offer != NULL ? offer : row->choices);
}

/** "ACTIONS LETTER NAME VALUE OFFER HELP"; VALUE is "[WHAT]" if it is optional. */
static void
print_options(FILE *out)
{
	for (const struct option_row *row = option_table(); row->name != NULL; row++) {
		fputc(',', out);
		for (size_t i = 0; cmds[i] != NULL; i++) {
			if (option_is_of(row, cmds[i]))
				fprintf(out, "%s,", cmds[i]->name);
		}
		fprintf(out, " %c %s %s %s %s\n", row->letter != 0 ? row->letter : '-',
			row->name, row->type == OPTION_HELP ? "[WHAT]" : or_dash(row->arg),
			offer_of(row), row->help);
	}
}

/** "NAME VALUE CHOICES HELP" of each key of workloads. */
static void
print_keys(FILE *out)
{
	for (const struct nb_job_key *key = nb_job_keys(); key->name != NULL; key++)
		fprintf(out, "%s %s %s %s\n", key->name, key->arg, or_dash(key->choices),
			key->help);
}

void
help_print_completion(FILE *out, const struct template_file *script)
{
	static const struct help_mark marks[] = {
		{.text = "@actions@", .print = print_actions},
		{.text = "@options@", .print = print_options},
		{.text = "@keys@", .print = print_keys},
		{.text = NULL},
	};
	help_print_marked(out, script, marks);
}
