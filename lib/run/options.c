/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options of engines: texts "name=value" that are checked against the engine's table.
 *
 * A plugin never parses options. It receives its values in the order of its table, with
 * defaults filled in. So the help, the checks and the options in a result have one source, and
 * all engines' options look alike.
 */
#include "run/options.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static size_t
option_count(const struct nb_engine *engine)
{
	size_t count = 0;
	while (engine->options != NULL && engine->options[count].name != NULL)
		count++;
	return count;
}

static int
parse_bool(uint64_t *out, const char *text)
{
	static const char *const no_yes[][2] = {
		{"no", "yes"}, {"false", "true"}, {"off", "on"}, {"0", "1"}};
	for (size_t i = 0; i < sizeof(no_yes) / sizeof(*no_yes); i++)
		for (uint64_t value = 0; value < 2; value++)
			if (strcmp(text, no_yes[i][value]) == 0) {
				*out = value;
				return NB_OK;
			}
	return error_set(NB_ERR_USAGE, "'%s' is neither yes nor no", text);
}

static int
parse_choice(uint64_t *out, const char *choices, const char *text)
{
	size_t length = strlen(text);
	uint64_t index = 0;
	for (const char *choice = choices;; index++) {
		size_t size = strcspn(choice, "|");
		if (size == length && strncmp(choice, text, size) == 0) {
			*out = index;
			return NB_OK;
		}
		if (choice[size] == '\0')
			return error_set(NB_ERR_USAGE, "'%s' is not one of %s", text, choices);
		choice += size + 1;
	}
}

static bool
is_number(const struct nb_option *option)
{
	return option->type == NB_OPT_U64 || option->type == NB_OPT_BYTES ||
		option->type == NB_OPT_TIME;
}

static void
format_number(uint32_t type, uint64_t number, char *buf, size_t size)
{
	static const struct unit {
		const char *suffix;
		uint64_t size;
	} bytes[] = {{"GiB", 1u << 30}, {"MiB", 1u << 20}, {"KiB", 1u << 10}, {"", 1}};
	static const struct unit times[] = {{"h", 3600000000000u}, {"m", 60000000000u},
		{"s", 1000000000u}, {"ms", 1000000u}, {"us", 1000u}, {"ns", 1}};
	const struct unit *unit = type == NB_OPT_TIME ? times : bytes;
	if (type == NB_OPT_U64 || number == 0) {
		snprintf(buf, size, "%llu%s", (unsigned long long)number,
			type == NB_OPT_TIME ? "s" : "");
		return;
	}
	while (number % unit->size != 0)
		unit++;
	snprintf(buf, size, "%llu%s", (unsigned long long)(number / unit->size), unit->suffix);
}

static int
check_range(const struct nb_option *option, uint64_t value)
{
	if ((option->min == 0 && option->max == 0) ||
		(value >= option->min && value <= option->max))
		return NB_OK;
	char number[32], min[32], max[32];
	format_number(option->type, value, number, sizeof(number));
	format_number(option->type, option->min, min, sizeof(min));
	format_number(option->type, option->max, max, sizeof(max));
	return error_set(
		NB_ERR_USAGE, "%s is out of range; allowed are %s to %s", number, min, max);
}

static int
parse_value(struct nb_option_value *value, const struct nb_option *option, const char *text)
{
	int rc = NB_FAIL;
	switch (option->type) {
	case NB_OPT_BOOL:
		rc = parse_bool(&value->u64, text);
		break;
	case NB_OPT_U64:
		rc = nb_parse_count(&value->u64, text);
		break;
	case NB_OPT_BYTES:
		rc = nb_parse_bytes(&value->u64, text);
		break;
	case NB_OPT_TIME:
		rc = nb_parse_time(&value->u64, text);
		break;
	case NB_OPT_CHOICE:
		rc = parse_choice(&value->u64, option->choices, text);
		break;
	case NB_OPT_REAL:
		rc = nb_parse_real(&value->real, text);
		break;
	case NB_OPT_TEXT:
		value->text = text;
		rc = NB_OK;
		break;
	}
	if (rc == NB_OK && is_number(option))
		rc = check_range(option, value->u64);
	value->is_set = 1;
	return rc;
}

/** Set a value. The value keeps a copy of the text. */
static int
set_value(struct nb_option_value *value, const struct nb_option *option, const char *text)
{
	char *copy = NULL;
	if (option->type == NB_OPT_TEXT) {
		copy = strdup(text);
		if (copy == NULL)
			return error_memory();
		if (value->is_set)
			free((char *)value->text);
		text = copy;
	}
	return parse_value(value, option, text);
}

static int
set_defaults(struct nb_option_value *values, const struct nb_engine *engine)
{
	for (size_t i = 0; i < option_count(engine); i++) {
		const struct nb_option *option = &engine->options[i];
		if (option->type > NB_OPT_TEXT)
			return error_set(NB_FAIL,
				"option %s: its type %u is not known to this mininb",
				option->name, option->type);
		if (option->type == NB_OPT_CHOICE && option->choices == NULL)
			return error_set(NB_FAIL, "option %s: has no choices", option->name);
		if (option->def == NULL)
			continue;
		if (set_value(&values[i], option, option->def) != NB_OK)
			return error_prefix(NB_FAIL, "option %s: its default", option->name);
	}
	return NB_OK;
}

static int
refuse_name(const struct nb_engine *engine, const char *text, size_t length)
{
	const char *names[256];
	size_t count = option_count(engine);
	if (count > sizeof(names) / sizeof(*names))
		count = sizeof(names) / sizeof(*names);
	for (size_t i = 0; i < count; i++)
		names[i] = engine->options[i].name;
	char name[64];
	snprintf(name, sizeof(name), "%.*s", (int)(length < 63 ? length : 63), text);
	const char *nearest = nb_nearest(name, names, count);
	if (nearest != NULL)
		return error_set(NB_ERR_USAGE,
			"option '%s': %s has no such option; did you mean '%s'?", name,
			engine->name, nearest);
	return error_set(NB_ERR_USAGE,
		"option '%s': %s has no such option; 'mininb engines --driver=%s' lists them",
		name, engine->name, engine->name);
}

static int
set_typed(struct nb_option_value *values, const struct nb_engine *engine, const char *text)
{
	size_t length = strcspn(text, "=");
	if (text[length] == '\0' || length == 0)
		return error_set(
			NB_ERR_USAGE, "option '%s': must have the form name=value", text);
	for (size_t i = 0; i < option_count(engine); i++) {
		const struct nb_option *option = &engine->options[i];
		if (strlen(option->name) != length || strncmp(option->name, text, length) != 0)
			continue;
		int rc = set_value(&values[i], option, text + length + 1);
		return rc == NB_OK ? rc : error_prefix(rc, "option %s", option->name);
	}
	return refuse_name(engine, text, length);
}

int
nb_options_parse(struct nb_option_value **out, const struct nb_engine *engine,
	const char *const *texts, size_t count)
{
	struct nb_option_value *values = calloc(option_count(engine) + 1, sizeof(*values));
	if (values == NULL)
		return error_memory();
	int rc = set_defaults(values, engine);
	for (size_t i = 0; i < count && rc == NB_OK; i++)
		rc = set_typed(values, engine, texts[i]);
	if (rc != NB_OK) {
		nb_options_delete(values, engine);
		return rc;
	}
	*out = values;
	return NB_OK;
}

void
nb_options_delete(struct nb_option_value *values, const struct nb_engine *engine)
{
	for (size_t i = 0; values != NULL && i < option_count(engine); i++)
		if (engine->options[i].type == NB_OPT_TEXT && values[i].is_set)
			free((char *)values[i].text);
	free(values);
}

const char *
option_type_text(const struct nb_option *option, char *buf, size_t size)
{
	static const char *const names[] = {[NB_OPT_BOOL] = "yes|no",
		[NB_OPT_U64] = "count",
		[NB_OPT_BYTES] = "bytes",
		[NB_OPT_TIME] = "time",
		[NB_OPT_CHOICE] = "",
		[NB_OPT_REAL] = "number",
		[NB_OPT_TEXT] = "text"};
	if (option->type == NB_OPT_CHOICE) {
		snprintf(buf, size, "%s", option->choices);
	} else if (is_number(option) && option->max != 0) {
		char min[32], max[32];
		format_number(option->type, option->min, min, sizeof(min));
		format_number(option->type, option->max, max, sizeof(max));
		snprintf(buf, size, "%s..%s%s%s", min, max, option->unit != NULL ? " " : "",
			option->unit != NULL ? option->unit : "");
	} else {
		snprintf(buf, size, "%s",
			option->unit != NULL ? option->unit : names[option->type]);
	}
	return buf;
}

const char *
option_value_text(const struct nb_option *option, const struct nb_option_value *value,
	char *buf, size_t size)
{
	if (!value->is_set) {
		snprintf(buf, size, "engine's default");
	} else if (option->type == NB_OPT_BOOL) {
		snprintf(buf, size, "%s", value->u64 ? "yes" : "no");
	} else if (option->type == NB_OPT_CHOICE) {
		const char *choice = option->choices;
		for (uint64_t i = 0; i < value->u64; i++)
			choice += strcspn(choice, "|") + 1;
		snprintf(buf, size, "%.*s", (int)strcspn(choice, "|"), choice);
	} else if (option->type == NB_OPT_REAL) {
		snprintf(buf, size, "%g", value->real);
	} else if (option->type == NB_OPT_TEXT) {
		snprintf(buf, size, "%s", value->text);
	} else {
		format_number(option->type, value->u64, buf, size);
	}
	return buf;
}

const char *
nb_durability_name(uint32_t level)
{
	static const char *const names[] = {
#define NAME(id, name) [NB_DUR_##id] = name,
		NB_DURABILITY_LIST(NAME)
#undef NAME
	};
	return level < sizeof(names) / sizeof(*names) ? names[level] : NULL;
}

const char *
run_settle_name(uint32_t settle)
{
	static const char *const names[] = {
#define NAME(id, name) [NB_RUN_SETTLE_##id] = name,
		NB_SETTLE_LIST(NAME)
#undef NAME
	};
	return settle < sizeof(names) / sizeof(*names) ? names[settle] : NULL;
}
