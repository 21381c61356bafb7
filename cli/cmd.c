/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "message.h"
#include "options.h"

enum { CMDS_MAX = 64 };

const struct cmd *
cmd_find(const char *name)
{
	const struct cmd *const *cmd = cmds;
	while (*cmd != NULL && strcmp((*cmd)->name, name) != 0)
		cmd++;
	return *cmd;
}

const char *
cmd_nearest(const char *name)
{
	const char *names[CMDS_MAX];
	size_t count = 0;
	for (; cmds[count] != NULL && count < CMDS_MAX; count++)
		names[count] = cmds[count]->name;
	return options_guess(name, names, count);
}

/* ---- options that the action does not use ---- */

/** Whether the action uses an option of that name: several rows may have it. */
static bool
uses(const struct cmd *cmd, const char *name)
{
	return option_is_of(option_find(name, strlen(name), cmd), cmd);
}

static bool
refuse(const char *name, const struct cmd *action)
{
	char names[512] = "";
	for (size_t i = 0; cmds[i] != NULL; i++) {
		if (uses(cmds[i], name))
			options_add_word(names, sizeof(names), "", cmds[i]->name);
	}
	message_usage("--%s: the action '%s' does not use it; it is for: %s", name,
		action->name, names);
	return false;
}

bool
cmd_check_unused(const struct options *options)
{
	char ignored[512] = "";
	/* rerun passes them on to the action that it repeats, which checks them. */
	if (options->action == NULL || options->action == &cmd_rerun ||
		options->help != HELP_NONE)
		return true;
	for (const struct option_row *row = option_table(); row->name != NULL; row++) {
		size_t number = (size_t)(row - option_table());
		if ((options->given[number / 64] >> number % 64 & 1) == 0 ||
			uses(options->action, row->name))
			continue;
		if (option_is_rejected(row, options->action))
			return refuse(row->name, options->action);
		options_add_word(ignored, sizeof(ignored), "--", row->name);
	}
	if (ignored[0] != '\0')
		message_warning("the action '%s' ignores %s", options->action->name, ignored);
	return true;
}
