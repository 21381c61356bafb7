/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of an engine, which a host reads before it opens anything. A mistake there
 * would otherwise only show as a strange line in a report or in the help.
 *
 * Only the parts that this host knows are checked: the table may be from a newer header,
 * with more capabilities and with a meaning for spare fields.
 */
#include <stdio.h>
#include <string.h>

#include <mininb/mininb.h>

#include "check/suite.h"
#include "run/engine.h"

static const char *const name_letters = "abcdefghijklmnopqrstuvwxyz0123456789_-";

static bool
is_empty(const char *text)
{
	return text == NULL || text[0] == '\0';
}

static bool
is_line(const char *text)
{
	return !is_empty(text) && strchr(text, '\n') == NULL;
}

PROMISE(name_is_lower_case_letters_digits_dash_underscore)
{
	const char *name = s->engine->name;
	if (is_empty(name))
		return suite_break(s, "the name is %s", name == NULL ? "NULL" : "empty");
	return engine_is_name(name) ||
		suite_break(s, "'%s' is not a name of an engine: " ENGINE_NAME_RULE, name,
			ENGINE_NAME_MAX);
}

PROMISE(table_tells_summary_licence_home_build_version)
{
	const struct nb_engine *engine = s->engine;
	if (engine->version == NULL)
		return suite_break(s, "version is NULL");
	const struct {
		const char *field, *text;
	} texts[] = {
		{"summary", engine->summary},
		{"licence", engine->licence},
		{"home", engine->home},
		{"build", engine->build},
		{"version()", engine->version()},
	};
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (!is_line(texts[i].text))
			return suite_break(s, "%s is %s", texts[i].field,
				texts[i].text == NULL             ? "NULL"
					: is_empty(texts[i].text) ? "empty"
								  : "more than one line");
	return true;
}

PROMISE(verbs_come_whole_and_fit_the_capabilities)
{
	const struct nb_engine *e = s->engine;
	int scan = (e->scan_open != NULL) + (e->scan_next != NULL) + (e->scan_close != NULL);
	int txn = (e->begin != NULL) + (e->commit != NULL) + (e->abort != NULL);
	bool is_data = (e->caps & NB_CAP_SYNTHETIC) == 0;

	if (e->open == NULL || e->close == NULL || e->session_open == NULL ||
		e->session_close == NULL || e->get == NULL || e->put == NULL || e->del == NULL)
		return suite_break(s,
			"one of open, close, session_open, session_close, get, put, del is missing");
	if (scan != 0 && scan != 3)
		return suite_break(s,
			"the engine has only %d of scan_open, scan_next and scan_close", scan);
	if (txn != 0 && txn != 3)
		return suite_break(s, "the engine has only %d of begin, commit and abort", txn);
	if ((e->submit == NULL) != (e->reap == NULL))
		return suite_break(s, "submit and reap need each other");
	if ((e->caps & NB_CAP_ATOMIC_BATCH) != 0 && e->batch == NULL)
		return suite_break(s, "NB_CAP_ATOMIC_BATCH without batch");
	if ((e->caps & NB_CAP_ORDERED) != 0 && is_data && scan == 0)
		return suite_break(s, "NB_CAP_ORDERED without scans");
	if ((e->caps & NB_CAP_SNAPSHOT) != 0 && scan == 0 && txn == 0)
		return suite_break(s, "NB_CAP_SNAPSHOT without scans and transactions");
	if ((e->caps & NB_CAP_PERSISTENT) != 0 && !is_data)
		return suite_break(s, "a synthetic engine cannot be persistent");
	return true;
}

PROMISE(durability_levels_fit_the_capabilities)
{
	uint32_t levels = s->engine->durabilities;
	if (levels == 0)
		return suite_break(s, "durabilities is 0: the engine offers no level");
	if ((s->engine->caps & NB_CAP_PERSISTENT) == 0 &&
		(levels & ~NB_DUR_BIT(NB_DUR_NONE)) != 0)
		return suite_break(
			s, "the engine offers to survive a crash, but lacks NB_CAP_PERSISTENT");
	return true;
}

static bool
is_offered(struct suite *s, const char *field, uint32_t level)
{
	return (level <= NB_DUR_COMMIT && (s->engine->durabilities & NB_DUR_BIT(level)) != 0) ||
		suite_break(s, "%s is %u, which durabilities (0x%x) does not offer", field,
			(unsigned)level, (unsigned)s->engine->durabilities);
}

PROMISE(automatic_durability_is_among_those_offered)
{
	const struct nb_engine *e = s->engine;
	return is_offered(s, "auto_durability", e->auto_durability) &&
		(e->auto_durability_at == NULL ||
			is_offered(s, "auto_durability_at()",
				e->auto_durability_at(s->args->scratch)));
}

/** Check each option; skip the promise if there are none. */
static bool
each_option(struct suite *s, bool (*check)(struct suite *s, const struct nb_option *option))
{
	const struct nb_option *option = s->engine->options;
	if (option == NULL || option->name == NULL)
		return suite_skip(s, "no options");
	while (option->name != NULL && check(s, option))
		option++;
	return option->name == NULL;
}

static bool
option_is_well_formed(struct suite *s, const struct nb_option *option)
{
	const char *name = option->name;
	if (name[0] == '\0' || name[strspn(name, name_letters)] != '\0')
		return suite_break(
			s, "'%s' is not a name of an option: use a-z, 0-9, '_'", name);
	for (const struct nb_option *other = s->engine->options; other != option; other++)
		if (strcmp(other->name, name) == 0)
			return suite_break(s, "option %s is defined twice", name);
	if (!is_line(option->help))
		return suite_break(
			s, "option %s has no help, or more than one line of it", name);
	if (option->type > NB_OPT_TEXT)
		return suite_break(
			s, "option %s has the unknown type %u", name, (unsigned)option->type);
	if (option->min > option->max)
		return suite_break(s, "option %s has a min above its max", name);
	return true;
}

PROMISE(options_have_names_types_and_help)
{
	return each_option(s, option_is_well_formed);
}

static bool
option_has_good_choices(struct suite *s, const struct nb_option *option)
{
	const char *choices = option->choices;
	if (option->type != NB_OPT_CHOICE)
		return choices == NULL ||
			suite_break(s, "option %s has choices but is not of type NB_OPT_CHOICE",
				option->name);
	if (is_empty(choices))
		return suite_break(s, "option %s has no choices", option->name);
	size_t length = strlen(choices);
	if (choices[0] == '|' || choices[length - 1] == '|' || strstr(choices, "||") != NULL)
		return suite_break(
			s, "option %s has an empty choice: '%s'", option->name, choices);
	if (strpbrk(choices, " \t\n=,") != NULL)
		return suite_break(s,
			"option %s has a choice that cannot be typed: '%s' (space, '=' or ',')",
			option->name, choices);
	return true;
}

PROMISE(choices_of_options_are_well_formed)
{
	return each_option(s, option_has_good_choices);
}

static bool
is_choice(const char *word, const char *choices)
{
	size_t length = strlen(word);
	for (const char *at = choices; at != NULL; at = strchr(at, '|')) {
		at += *at == '|';
		if (strncmp(at, word, length) == 0 && (at[length] == '|' || at[length] == '\0'))
			return true;
	}
	return false;
}

static int
parse_number(uint64_t *out, const struct nb_option *option)
{
	double real;
	switch (option->type) {
	case NB_OPT_U64:
		return nb_parse_count(out, option->def);
	case NB_OPT_BYTES:
		return nb_parse_bytes(out, option->def);
	case NB_OPT_TIME:
		return nb_parse_time(out, option->def);
	default:
		*out = option->min;
		return nb_parse_real(&real, option->def);
	}
}

static bool
number_is_allowed(struct suite *s, const struct nb_option *option)
{
	uint64_t number = 0;
	if (parse_number(&number, option) != NB_OK)
		return suite_break(s, "default of option %s cannot be read: %s", option->name,
			nb_error_text());
	return (option->min == 0 && option->max == 0) ||
		(number >= option->min && number <= option->max) ||
		suite_break(s, "default of option %s, %s, is not within its min and max",
			option->name, option->def);
}

static bool
default_is_allowed(struct suite *s, const struct nb_option *option)
{
	static const char *const booleans = "0|1|no|yes|off|on|false|true";
	if (option->def == NULL)
		return true;
	switch (option->type) {
	case NB_OPT_U64:
	case NB_OPT_BYTES:
	case NB_OPT_TIME:
	case NB_OPT_REAL:
		return number_is_allowed(s, option);
	case NB_OPT_BOOL:
		return is_choice(option->def, booleans) ||
			suite_break(s, "default of option %s, '%s', is not one of %s",
				option->name, option->def, booleans);
	case NB_OPT_CHOICE:
		return is_choice(option->def, option->choices) ||
			suite_break(s, "default of option %s, '%s', is not one of its choices",
				option->name, option->def);
	default:
		return true;
	}
}

PROMISE(defaults_of_options_are_allowed_values)
{
	return each_option(s, default_is_allowed);
}
