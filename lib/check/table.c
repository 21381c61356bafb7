/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of an engine: what a host reads of it before anything is opened.
 * A fault here would otherwise show as a strange line in a report or in the
 * help, long after the engine's author has gone.
 *
 * Only what this host knows is looked at: the table may be of a newer header, with
 * further capabilities and spare fields that have got a meaning.
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

void
check_name_is_well_formed(struct suite *s)
{
	const char *name = s->engine->name;
	if (is_empty(name))
		suite_break(s, "the name is %s", name == NULL ? "NULL" : "empty");
	else if (!engine_is_name(name))
		suite_break(s, "'%s' is not a name of an engine: " ENGINE_NAME_RULE, name,
			ENGINE_NAME_MAX);
}

void
check_table_tells_what_it_is(struct suite *s)
{
	const struct nb_engine *engine = s->engine;
	const struct {
		const char *field, *text;
	} texts[] = {
		{"summary", engine->summary},
		{"licence", engine->licence},
		{"home", engine->home},
		{"build", engine->build},
		{"version()", engine->version == NULL ? NULL : engine->version()},
	};
	if (engine->version == NULL) {
		suite_break(s, "version is NULL");
		return;
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!is_line(texts[i].text))
			suite_break(s, "%s is %s", texts[i].field,
				texts[i].text == NULL             ? "NULL"
					: is_empty(texts[i].text) ? "empty"
								  : "more than one line");
}

void
check_verbs_are_whole(struct suite *s)
{
	const struct nb_engine *e = s->engine;
	int scan = (e->scan_open != NULL) + (e->scan_next != NULL) + (e->scan_close != NULL);
	int txn = (e->begin != NULL) + (e->commit != NULL) + (e->abort != NULL);
	bool is_data = (e->caps & NB_CAP_SYNTHETIC) == 0;

	if (e->open == NULL || e->close == NULL || e->session_open == NULL ||
		e->session_close == NULL || e->get == NULL || e->put == NULL || e->del == NULL)
		suite_break(s,
			"one of open, close, session_open, session_close, get, put, del is missing");
	if (scan != 0 && scan != 3)
		suite_break(
			s, "of scan_open, scan_next and scan_close only %d are there", scan);
	if (txn != 0 && txn != 3)
		suite_break(s, "of begin, commit and abort only %d are there", txn);
	if ((e->submit == NULL) != (e->reap == NULL))
		suite_break(s, "submit and reap need each other");
	if ((e->caps & NB_CAP_ATOMIC_BATCH) != 0 && e->batch == NULL)
		suite_break(s, "NB_CAP_ATOMIC_BATCH without batch");
	if ((e->caps & NB_CAP_ORDERED) != 0 && is_data && scan == 0)
		suite_break(s, "NB_CAP_ORDERED is about scans, and there is no scan");
	if ((e->caps & NB_CAP_SNAPSHOT) != 0 && scan == 0 && txn == 0)
		suite_break(s, "NB_CAP_SNAPSHOT without scan and transactions");
	if ((e->caps & NB_CAP_PERSISTENT) != 0 && !is_data)
		suite_break(s, "what is synthetic cannot be persistent");
}

void
check_durabilities_fit(struct suite *s)
{
	uint32_t levels = s->engine->durabilities;
	if (levels == 0)
		suite_break(s, "durabilities is 0: it offers no level at all");
	if ((s->engine->caps & NB_CAP_PERSISTENT) == 0 &&
		(levels & ~NB_DUR_BIT(NB_DUR_NONE)) != 0)
		suite_break(s, "it offers to survive a crash, but without NB_CAP_PERSISTENT");
}

void
check_auto_durability_is_offered(struct suite *s)
{
	uint32_t level = s->engine->auto_durability;
	if (level > NB_DUR_COMMIT || (s->engine->durabilities & NB_DUR_BIT(level)) == 0)
		suite_break(s,
			"auto_durability is %u, which durabilities (0x%x) does not offer",
			(unsigned)level, (unsigned)s->engine->durabilities);
	if (s->engine->auto_durability_at == NULL)
		return;
	level = s->engine->auto_durability_at(s->args->scratch);
	if (level > NB_DUR_COMMIT || (s->engine->durabilities & NB_DUR_BIT(level)) == 0)
		suite_break(s,
			"auto_durability_at says %u, which durabilities (0x%x) does not offer",
			(unsigned)level, (unsigned)s->engine->durabilities);
}

/* Do `check` on each option; skip where there are none. */
static void
each_option(struct suite *s, bool (*check)(struct suite *s, const struct nb_option *option))
{
	const struct nb_option *option = s->engine->options;
	if (option == NULL || option->name == NULL)
		suite_skip(s, "no options");
	else
		while (option->name != NULL && check(s, option))
			option++;
}

static bool
option_is_well_formed(struct suite *s, const struct nb_option *option)
{
	const char *name = option->name;
	if (name[0] == '\0' || name[strspn(name, name_letters)] != '\0')
		return suite_break(s, "'%s' is no name of an option: use a-z, 0-9, '_'", name);
	for (const struct nb_option *other = s->engine->options; other != option; other++)
		if (strcmp(other->name, name) == 0)
			return suite_break(s, "option %s is there twice", name);
	if (!is_line(option->help))
		return suite_break(s, "option %s has no line of help", name);
	if (option->type > NB_OPT_TEXT)
		return suite_break(
			s, "option %s has the unknown type %u", name, (unsigned)option->type);
	if (option->min > option->max)
		return suite_break(s, "option %s has a min that is above its max", name);
	return true;
}

void
check_options_are_well_formed(struct suite *s)
{
	each_option(s, option_is_well_formed);
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

void
check_choices_are_well_formed(struct suite *s)
{
	each_option(s, option_has_good_choices);
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
	switch (option->type) {
	case NB_OPT_U64:
		return nb_parse_count(out, option->def);
	case NB_OPT_BYTES:
		return nb_parse_bytes(out, option->def);
	default:
		return nb_parse_time(out, option->def);
	}
}

static bool
number_is_allowed(struct suite *s, const struct nb_option *option)
{
	uint64_t number = 0;
	if (parse_number(&number, option) != NB_OK)
		return suite_break(s, "default of option %s cannot be read: %s", option->name,
			nb_error_text());
	if (option->min == 0 && option->max == 0)
		return true;
	if (number < option->min || number > option->max)
		return suite_break(s, "default of option %s, %s, is not within its min and max",
			option->name, option->def);
	return true;
}

static bool
default_is_allowed(struct suite *s, const struct nb_option *option)
{
	static const char *const booleans = "0|1|no|yes|off|on|false|true";
	double real;
	if (option->def == NULL)
		return true;
	switch (option->type) {
	case NB_OPT_U64:
	case NB_OPT_BYTES:
	case NB_OPT_TIME:
		return number_is_allowed(s, option);
	case NB_OPT_REAL:
		if (nb_parse_real(&real, option->def) == NB_OK)
			return true;
		return suite_break(s, "default of option %s cannot be read: %s", option->name,
			nb_error_text());
	case NB_OPT_BOOL:
		return is_choice(option->def, booleans) ||
			suite_break(s, "default of option %s, '%s', is none of %s",
				option->name, option->def, booleans);
	case NB_OPT_CHOICE:
		return is_choice(option->def, option->choices) ||
			suite_break(s, "default of option %s, '%s', is none of its choices",
				option->name, option->def);
	default:
		return true;
	}
}

void
check_defaults_are_allowed(struct suite *s)
{
	each_option(s, default_is_allowed);
}
