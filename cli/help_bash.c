/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion for bash, complete in itself: it needs no function of the
 * bash-completion package. Once an action stands in the line, only the options
 * that it looks at are offered.
 */
#include <string.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "help.h"
#include "options.h"

static const char head[] =
	"# bash completion for mininb, printed by mininb --help=bash\n"
	"# shellcheck shell=bash\n"
	"_mininb()\n"
	"{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev='' joined='' word action='' options\n"
	"\t((COMP_CWORD > 0)) && prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
	"\t# readline takes --name=value apart at the '='\n"
	"\tif [[ $cur == '=' ]]; then\n"
	"\t\tcur='' joined=1\n"
	"\telif [[ $prev == '=' ]] && ((COMP_CWORD > 1)); then\n"
	"\t\tprev=${COMP_WORDS[COMP_CWORD - 2]} joined=1\n"
	"\tfi\n"
	"\tCOMPREPLY=()\n";

static const char tail[] = "\tif [[ $cur == -* ]]; then\n"
			   "\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
			   "\t\tif [[ ${COMPREPLY[0]-} == *= ]]; then\n"
			   "\t\t\tcompopt -o nospace 2>/dev/null\n"
			   "\t\tfi\n"
			   "\telif [[ -z $action ]]; then\n"
			   "\t\tmapfile -t COMPREPLY < <(compgen -W \"$actions\" -- \"$cur\")\n"
			   "\telif [[ $action == workloads ]]; then\n";

static const char end[] = "\tfi\n"
			  "}\n"
			  "complete -F _mininb mininb\n";

/* The first column of the table of engines: behind its head, up to an empty line. */
static const char drivers[] =
	"\t\t[[ $cur == */* ]] && return\n"
	"\t\tlocal drivers\n"
	"\t\tdrivers=$(\"${COMP_WORDS[0]}\" engines 2>/dev/null | sed '1d; /^$/,$d; s/ .*//')\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -W \"$drivers\" -- \"$cur\")\n";

/* The same of the table of workloads, and files of them. */
static const char workloads[] =
	"\t\tcompopt -o filenames 2>/dev/null\n"
	"\t\tlocal workloads\n"
	"\t\tworkloads=$(\"${COMP_WORDS[0]}\" workloads 2>/dev/null | sed '1d; s/ .*//')\n"
	"\t\tmapfile -t COMPREPLY < <(\n"
	"\t\t\tcompgen -W \"$workloads\" -- \"$cur\" || :\n"
	"\t\t\tcompgen -f -X '!*.ini' -- \"$cur\" || :\n"
	"\t\t\tcompgen -d -- \"$cur\"\n"
	"\t\t)\n";

static void
print_actions(FILE *out)
{
	fputs("\tlocal actions='", out);
	for (size_t i = 0; i < ACTION_COUNT; i++)
		fprintf(out, "%s%s", i == 0 ? "" : " ", actions[i].name);
	fputs("'\n", out);
}

static void
print_choices(FILE *out, const char *choices)
{
	fputs("\t\tmapfile -t COMPREPLY < <(compgen -W '", out);
	for (const char *c = choices; *c != '\0'; c++)
		fputc(*c == '|' ? ' ' : *c, out);
	fputs("' -- \"$cur\")\n", out);
}

/** What may stand behind the option, for each one that has a value. */
static void
print_value(FILE *out, const struct option_row *row)
{
	if (row->arg == NULL && row->type != OPTION_HELP)
		return;
	fputs("\t", out);
	if (row->letter != 0 && row->arg != NULL)
		fprintf(out, "-%c | ", row->letter);
	fprintf(out, "--%s)\n", row->name);
	if (row->type == OPTION_ACTION)
		fputs("\t\tmapfile -t COMPREPLY < <(compgen -W \"$actions\" -- \"$cur\")\n",
			out);
	else if (row->type == OPTION_HELP)
		fputs("\t\t[[ -n $joined ]] || return\n", out);
	if (row->choices != NULL)
		print_choices(out, row->choices);
	if (row->words == WORDS_FILE || row->words == WORDS_DRIVER)
		fputs("\t\tcompopt -o filenames 2>/dev/null\n"
		      "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n",
			out);
	if (row->words == WORDS_DRIVER)
		fputs(drivers, out);
	if (row->words == WORDS_WORKLOAD)
		fputs(workloads, out);
	if (row->words == WORDS_DIRECTORY)
		fputs("\t\tcompopt -o filenames 2>/dev/null\n"
		      "\t\tmapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n",
			out);
	fputs("\t\treturn\n\t\t;;\n", out);
}

/** Those with choices, also of one group. */
static void
print_job_values(FILE *out)
{
	for (const struct nb_job_key *key = NULL; (key = options_next_job_key(key)) != NULL;) {
		fprintf(out, "\t--%s | --*.%s)\n", key->name, key->name);
		if (key->choices != NULL)
			print_choices(out, key->choices);
		fputs("\t\treturn\n\t\t;;\n", out);
	}
}

static void
print_names(FILE *out, unsigned action_bits)
{
	const char *before = "options='";
	for (const struct option_row *row = option_table; row->name != NULL; row++) {
		if ((row->actions & action_bits) == 0)
			continue;
		fprintf(out, "%s--%s%s", before, row->name, row->arg != NULL ? "=" : "");
		before = " ";
	}
	for (const struct nb_job_key *key = NULL;
		(action_bits & JOB_ACTIONS) != 0 && (key = options_next_job_key(key)) != NULL;)
		fprintf(out, " --%s=", key->name);
	fputs("'", out);
}

void
help_print_bash(FILE *out)
{
	fputs(head, out);
	print_actions(out);
	fputs("\tcase $prev in\n", out);
	for (const struct option_row *row = option_table; row->name != NULL; row++)
		print_value(out, row);
	print_job_values(out);
	fputs("\tesac\n"
	      "\tfor word in \"${COMP_WORDS[@]:1}\"; do\n"
	      "\t\t[[ -z $action && -n $word && \" $actions \" == *\" $word \"* ]] && "
	      "action=$word\n"
	      "\tdone\n"
	      "\tcase $action in\n",
		out);
	for (size_t i = 0; i < ACTION_COUNT; i++) {
		fprintf(out, "\t%s) ", actions[i].name);
		print_names(out, ACTION_BIT(i));
		fputs(" ;;\n", out);
	}
	fputs("\t*) ", out);
	print_names(out, ACTION_BIT(ACTION_COUNT) - 1);
	fputs(" ;;\n\tesac\n", out);
	fputs(tail, out);
	fputs(workloads, out);
	fputs(end, out);
}
