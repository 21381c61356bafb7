/* SPDX-License-Identifier: BSD-2-Clause */
/* explain: prints the meaning of a figure, from the library's table. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "help.h"
#include "message.h"
#include "options.h"

enum { NAMES_MAX = 512 };

static void
print_one(const struct nb_explanation *it)
{
	fprintf(nb_stdout(), "%s\n", it->name);
	help_print_text(nb_stdout(), it->what);
	help_print_text(nb_stdout(), it->how);
	if (it->where != NULL)
		fprintf(nb_stdout(), "    In: %s\n", it->where);
}

/**
 * Prints figures with that name or, with `is_part`, those whose name contains it; returns their
 * number.
 */
static size_t
print_matching(const char *word, bool is_part)
{
	size_t count = 0;
	for (const struct nb_explanation *it = nb_explanations(); it->name != NULL; it++) {
		if (is_part ? strcasestr(it->name, word) == NULL
			    : strcasecmp(it->name, word) != 0)
			continue;
		if (count > 0)
			fputc('\n', nb_stdout());
		print_one(it);
		count++;
	}
	return count;
}

static void
print_names(void)
{
	for (const struct nb_explanation *it = nb_explanations(); it->name != NULL; it++) {
		int length = (int)strcspn(it->what, ".:;");
		fprintf(nb_stdout(), "%-22s %.*s\n", it->name, length, it->what);
	}
}

static int
do_explain(const struct options *options)
{
	if (options->operand == NULL) {
		print_names();
		return STATUS_DONE;
	}
	if (print_matching(options->operand, false) > 0 ||
		print_matching(options->operand, true) > 0)
		return STATUS_DONE;
	const char *names[NAMES_MAX];
	size_t count = 0;
	for (const struct nb_explanation *it = nb_explanations();
		it->name != NULL && count < NAMES_MAX; it++)
		names[count++] = it->name;
	/* In a short word one wrong letter is too many: "foo" does not mean "for". */
	const char *near = strlen(options->operand) > 3
		? nb_nearest(options->operand, names, count)
		: NULL;
	return message_usage("unknown figure '%s'%s; mininb explain lists them",
		options->operand, message_guess(near));
}

const struct cmd cmd_explain = {
	.name = "explain",
	.run = do_explain,
	.operand = "[FIGURE]",
	.help = "explain a figure of the reports",
	.detail = "Prints what it means, how it was measured, and what would make it wrong. "
		  "Without a name, lists all figures.",
};
