/* SPDX-License-Identifier: BSD-2-Clause */
#include "options_unused.h"

#include <stdio.h>
#include <string.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "message.h"
#include "options.h"

struct list {
	char text[512];
	size_t length;
};

static void
add(struct list *list, const char *before, const char *word)
{
	int written = snprintf(list->text + list->length, sizeof(list->text) - list->length,
		"%s%s%s", list->length > 0 ? ", " : "", before, word);
	if (written > 0 && list->length + (size_t)written < sizeof(list->text))
		list->length += (size_t)written;
}

/** The actions that look at an option of that name: two rows may share one. */
static unsigned
takers_of(const char *name)
{
	unsigned takers = 0;
	for (const struct option_row *row = option_table; row->name != NULL; row++) {
		if (strcmp(row->name, name) == 0)
			takers |= row->actions;
	}
	return takers;
}

static bool
refuse(const struct option_row *row, unsigned takers, size_t action)
{
	struct list names = {.length = 0};
	for (size_t i = 0; i < ACTION_COUNT; i++) {
		if ((takers & ACTION_BIT(i)) != 0)
			add(&names, "", actions[i].name);
	}
	message_usage("--%s: the action '%s' does not look at it; it is for: %s", row->name,
		actions[action].name, names.text);
	return false;
}

bool
options_check_unused(const struct options *options)
{
	struct list ignored = {.length = 0};
	/* A rerun passes them on to the action that it repeats, which checks them. */
	if (options->action == ACTION_COUNT || options->action == ACTION_RERUN ||
		options->help != HELP_NONE)
		return true;
	for (const struct option_row *row = option_table; row->name != NULL; row++) {
		size_t number = (size_t)(row - option_table);
		unsigned takers = takers_of(row->name), bit = ACTION_BIT(options->action);
		if ((options->given[number / 64] >> number % 64 & 1) == 0 ||
			(takers & bit) != 0)
			continue;
		if ((row->decides & bit) != 0)
			return refuse(row, takers, options->action);
		add(&ignored, "--", row->name);
	}
	if (ignored.length > 0) {
		char text[640];
		snprintf(text, sizeof(text), "the action '%s' does not look at %s",
			actions[options->action].name, ignored.text);
		message_log(NULL, NB_LOG_WARNING, text);
	}
	return true;
}
