/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that an action uses, as texts: a result contains them, with their defaults. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "message.h"
#include "options.h"

/** Choice number `index` of "a|b|c". */
static const char *
choice_text(const char *choices, uint64_t index, char text[CHOICE_SIZE])
{
	for (; index > 0; index--)
		choices += strcspn(choices, "|") + 1;
	snprintf(text, CHOICE_SIZE, "%.*s", (int)strcspn(choices, "|"), choices);
	return text;
}

/** Joins them, with a space between two. */
static char *
join(const char *const *words, size_t count)
{
	size_t size = 1, used = 0;
	for (size_t i = 0; i < count; i++)
		size += strlen(words[i]) + 1;
	char *text = calloc(size, 1);
	for (size_t i = 0; i < count && text != NULL; i++)
		used += (size_t)snprintf(
			text + used, size - used, "%s%s", i > 0 ? " " : "", words[i]);
	return text;
}

static char *
number_text(uint64_t number, const char *unit)
{
	char text[40];
	snprintf(text, sizeof(text), "%" PRIu64 "%s", number, unit);
	return strdup(text);
}

/** In the largest unit that divides it. */
static char *
time_text(uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = {{3600000000000u, "h"}, {60000000000u, "m"}, {1000000000u, "s"},
		{1000000u, "ms"}, {1000u, "us"}, {1u, "ns"}};
	size_t i = 0;
	if (ns == 0)
		return number_text(0, "s");
	while (ns % units[i].ns != 0)
		i++;
	return number_text(ns / units[i].ns, units[i].name);
}

static char *
real_text(double number, const char *unit)
{
	char text[48];
	snprintf(text, sizeof(text), "%.15g%s", number, unit);
	return strdup(text);
}

/** NULL: the option has no value, or memory is exhausted (*is_short). */
static char *
value_text(const struct options *options, const struct option_row *row, bool *is_short)
{
	const void *field = option_field(options, row);
	const char *text;
	char *copy = NULL, choice[CHOICE_SIZE];
	switch (row->type) {
	case OPTION_FLAG:
		copy = strdup(*(const bool *)field ? "yes" : "no");
		break;
	case OPTION_TEXT:
		text = *(const char *const *)field;
		if (text == NULL)
			return NULL;
		copy = strdup(text);
		break;
	case OPTION_COUNT:
	case OPTION_BYTES:
		copy = number_text(*(const uint64_t *)field, "");
		break;
	case OPTION_TIME:
		copy = time_text(*(const uint64_t *)field);
		break;
	case OPTION_SPEED:
		if (*(const double *)field <= 0)
			return NULL;
		copy = real_text(*(const double *)field, "x");
		break;
	case OPTION_REAL:
		copy = real_text(*(const double *)field, "");
		break;
	case OPTION_CHOICE:
		copy = strdup(choice_text(row->choices, *(const uint64_t *)field, choice));
		break;
	case OPTION_LIST:
		if (options->engine_option_count == 0)
			return NULL;
		copy = join(options->engine_options, options->engine_option_count);
		break;
	case OPTION_SET:
		if (options->job_setting_count == 0)
			return NULL;
		copy = join(
			(const char *const *)options->job_settings, options->job_setting_count);
		break;
	case OPTION_ACTION:
	case OPTION_HELP:
		return NULL;
	}
	*is_short |= copy == NULL;
	return copy;
}

const char *
options_choice(const struct options *options, const char *name, char text[CHOICE_SIZE])
{
	const struct option_row *row = option_find(name, strlen(name), options->action);
	return row != NULL && row->choices != NULL && option_is_of(row, options->action)
		? choice_text(row->choices, *(const uint64_t *)option_field(options, row), text)
		: "";
}

bool
options_list(struct options_list *list, const struct options *options)
{
	size_t rows = 0;
	bool is_short = false;
	while (option_table()[rows].name != NULL)
		rows++;
	*list = (struct options_list){.names = calloc(rows + 1, sizeof(*list->names)),
		.values = calloc(rows + 1, sizeof(*list->values))};
	is_short = list->names == NULL || list->values == NULL;
	for (size_t i = 0; i < rows && !is_short; i++) {
		const struct option_row *row = &option_table()[i];
		if (!option_is_of(row, options->action))
			continue;
		char *value = value_text(options, row, &is_short);
		if (value == NULL)
			continue;
		list->names[list->count] = row->name;
		list->values[list->count++] = value;
	}
	if (!is_short)
		return true;
	options_list_destroy(list);
	message_error("out of memory");
	return false;
}

void
options_list_destroy(struct options_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->values[i]);
	free(list->values);
	free(list->names);
	*list = (struct options_list){0};
}
