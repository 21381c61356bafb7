/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that an action uses, as texts, with their defaults, for the result. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "kept.h"
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

/** Joins the words with spaces; NULL: no words. */
static char *
join(const char *const *words, size_t count)
{
	char *text = NULL;
	for (size_t i = 0; i < count; i++)
		text = text == NULL ? kept_text("%s", words[i])
				    : kept_text("%s %s", text, words[i]);
	return text;
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
		return kept_text("0s");
	while (ns % units[i].ns != 0)
		i++;
	return kept_text("%" PRIu64 "%s", ns / units[i].ns, units[i].name);
}

/** NULL: the option has no value. */
static char *
value_text(const struct options *options, const struct option_row *row)
{
	const void *field = option_field(options, row);
	char choice[CHOICE_SIZE];
	double real;
	switch (row->type) {
	case OPTION_FLAG:
		return kept_text("%s", *(const bool *)field ? "yes" : "no");
	case OPTION_TEXT:
		return *(char *const *)field;
	case OPTION_COUNT:
	case OPTION_BYTES:
		return kept_text("%" PRIu64, *(const uint64_t *)field);
	case OPTION_TIME:
		return time_text(*(const uint64_t *)field);
	case OPTION_SPEED:
		real = *(const double *)field;
		return real > 0 ? kept_text("%.15gx", real) : NULL;
	case OPTION_REAL:
		return kept_text("%.15g", *(const double *)field);
	case OPTION_CHOICE:
		return kept_text(
			"%s", choice_text(row->choices, *(const uint64_t *)field, choice));
	case OPTION_LIST:
		return join(options->engine_options, options->engine_option_count);
	case OPTION_SET:
		return join(
			(const char *const *)options->job_settings, options->job_setting_count);
	case OPTION_ACTION:
	case OPTION_HELP:
		break;
	}
	return NULL;
}

const char *
options_choice(const struct options *options, const char *name, char text[CHOICE_SIZE])
{
	const struct option_row *row = option_find(name, strlen(name), options->action);
	return row != NULL && row->choices != NULL && option_is_of(row, options->action)
		? choice_text(row->choices, *(const uint64_t *)option_field(options, row), text)
		: "";
}

struct options_list
options_list(const struct options *options)
{
	struct options_list list = {.names = kept_array(OPTIONS_MAX, sizeof(*list.names)),
		.values = kept_array(OPTIONS_MAX, sizeof(*list.values))};
	for (const struct option_row *row = option_table(); row->name != NULL; row++) {
		char *value = option_is_of(row, options->action) ? value_text(options, row)
								 : NULL;
		if (value == NULL)
			continue;
		list.names[list.count] = row->name;
		list.values[list.count++] = value;
	}
	return list;
}
