/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For libFuzzer: the table of a plugin, with arbitrary numbers and with pointers that are NULL
 * or valid, and typed options for it. The input:
 *
 *     byte 0      abi
 *     bytes 1-2   size, little-endian, like all numbers below
 *     bytes 3-5   caps, durabilities, auto_durability
 *     byte 6      bits 0-3: result of `auto_durability_at`; 4-5: table that `variant` returns
 *     bytes 7-10  bit mask of the functions, from `version` on, that are NULL
 *
 * Then lines:
 *
 *     name, summary, licence, home, build, version: one line each
 *     options, one line each: the type as a digit, then after tabs name, default, choices,
 *                 unit, help, minimum and maximum
 *     "--"
 *     the typed options, one line each
 *
 * A line or field "~", or a missing one, is NULL. The table has exactly `size` bytes, so that a
 * sanitizer detects reads beyond it.
 *
 *     tests/fuzz/fuzz_engine -max_len=1024 -dict=.../engine.dict NEW_CORPUS .../corpus/engine
 */
#include <stdbool.h>

#include "fuzz.h"
#include "run/engine.h"
#include "run/options.h"

enum {
	HEAD = 11,
	OPTIONS_MAX = 24,
	TYPED_MAX = 16,
	FUNCTIONS = (sizeof(struct nb_engine) - offsetof(struct nb_engine, version)) /
		sizeof(void *)
};

static struct nb_option options[OPTIONS_MAX + 1], other_options[1];
static const char *typed[TYPED_MAX];
static size_t typed_count;
static const char *version_text;
static struct nb_engine variant_table;
static uint32_t told_durability, variant_kind;

/* ---- the plugin's functions ---- */

static const char *
version(void)
{
	return version_text;
}

static const struct nb_engine *
variant(const struct nb_option_value *values)
{
	(void)values;
	variant_table.options = variant_kind == 3 ? other_options : options;
	if (variant_kind == 2)
		variant_table.name = "another";
	return variant_kind == 0 ? NULL : &variant_table;
}

static uint32_t
auto_durability_at(const char *path)
{
	(void)path;
	return told_durability;
}

static void
never_called(void)
{
	require(0, "no verb of the table is called");
}

/* ---- the table ---- */

/** The next line of *text, or the next field of a line. NULL if it is "~" or missing. */
static const char *
next_part(char **text, const char *separator)
{
	const char *part = strsep(text, separator);
	return part != NULL && strcmp(part, "~") != 0 ? part : NULL;
}

static uint64_t
number_of(const char *text)
{
	return text != NULL ? strtoull(text, NULL, 0) : 0;
}

static void
take_option(struct nb_option *option, char *line)
{
	const char *type = next_part(&line, "\t");
	*option = (struct nb_option){.type = type != NULL ? (uint32_t)(type[0] - '0') : 0};
	option->name = next_part(&line, "\t");
	option->def = next_part(&line, "\t");
	option->choices = next_part(&line, "\t");
	option->unit = next_part(&line, "\t");
	option->help = next_part(&line, "\t");
	option->min = number_of(next_part(&line, "\t"));
	option->max = number_of(next_part(&line, "\t"));
}

static void
take_lines(struct nb_engine *table, char *text)
{
	size_t count = 0;
	memset(options, 0, sizeof(options));
	table->name = next_part(&text, "\n");
	table->summary = next_part(&text, "\n");
	table->licence = next_part(&text, "\n");
	table->home = next_part(&text, "\n");
	table->build = next_part(&text, "\n");
	version_text = next_part(&text, "\n");
	for (char *line; (line = strsep(&text, "\n")) != NULL && strcmp(line, "--") != 0;) {
		if (count < OPTIONS_MAX)
			take_option(&options[count++], line);
	}
	table->options = options;
	typed_count = 0;
	for (char *line; (line = strsep(&text, "\n")) != NULL;) {
		if (typed_count < TYPED_MAX)
			typed[typed_count++] = line;
	}
}

static void
set_functions(struct nb_engine *table, uint32_t missing)
{
	void (*const dummy)(void) = never_called;
	char *first = (char *)&table->version;
	for (size_t i = 0; i < FUNCTIONS; i++)
		memcpy(first + i * sizeof(dummy), &dummy, sizeof(dummy));
	table->version = version;
	table->variant = variant;
	table->auto_durability_at = auto_durability_at;
	for (size_t i = 0; i < FUNCTIONS && i < 32; i++) {
		if ((missing >> i & 1) != 0)
			memset(first + i * sizeof(dummy), 0, sizeof(dummy));
	}
}

/** A copy of the table with exactly `size` bytes, or enough for the field itself. Free it. */
static struct nb_engine *
cut(const struct nb_engine *table)
{
	size_t least = offsetof(struct nb_engine, size) + sizeof(table->size);
	size_t size = table->size > least ? table->size : least;
	void *copy = calloc(1, size);
	require(copy != NULL, "memory is available");
	memcpy(copy, table, size < sizeof(*table) ? size : sizeof(*table));
	return copy;
}

/* ---- checks ---- */

/** Reading the text of a value gives the same value. */
static void
check_value(const struct nb_engine *engine, size_t index, const struct nb_option_value *value)
{
	const struct nb_option *option = &engine->options[index];
	char told[4096], short_text[4];
	struct nb_option_value *again;
	const char *text = told;
	option_type_text(option, short_text, sizeof(short_text));
	option_value_text(option, value, short_text, sizeof(short_text));
	int length = snprintf(told, sizeof(told), "%s=", option->name);
	for (size_t i = 0; i < index; i++)
		if (strcmp(engine->options[i].name, option->name) == 0)
			return; /* a typed value belongs to the first option with the name */
	if (!value->is_set || option->type == NB_OPT_REAL || option->type == NB_OPT_TEXT)
		return;
	size_t left = sizeof(told) - (size_t)length;
	if ((size_t)length >= sizeof(told) ||
		(option->choices != NULL && strlen(option->choices) >= left))
		return;
	option_value_text(option, value, told + length, left);
	require(nb_options_parse(&again, engine, &text, 1) == NB_OK,
		"a printed value can be read");
	require(again[index].u64 == value->u64, "the value read equals the printed one");
	nb_options_delete(again, engine);
}

static void
configure(const struct nb_engine *engine)
{
	struct nb_engine_ref ref = {.table = *engine, .path = "variant.so"};
	struct nb_option_value *values;
	if (nb_engine_configure(&values, &ref, typed, typed_count) != NB_OK) {
		require(nb_error_text()[0] != '\0', "the failure has a text");
		return;
	}
	bool is_another = variant_kind == 3 ||
		(variant_kind == 2 && strcmp(engine->name, "another") != 0);
	require(engine->variant == NULL || !is_another, "another table is rejected");
	for (size_t i = 0; ref.table.options[i].name != NULL; i++)
		check_value(&ref.table, i, &values[i]);
	nb_options_delete(values, &ref.table);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nb_engine engine, table = {.key_size_max = 0};
	if (size < HEAD)
		return 0;
	char *text = text_of(data + HEAD, size - HEAD);
	table.abi = data[0];
	table.size = (uint32_t)(data[1] | data[2] << 8);
	table.caps = data[3];
	table.durabilities = data[4];
	table.auto_durability = data[5];
	told_durability = data[6] & 15;
	variant_kind = data[6] >> 4 & 3;
	take_lines(&table, text);
	set_functions(&table,
		(uint32_t)data[7] | (uint32_t)data[8] << 8 | (uint32_t)data[9] << 16 |
			(uint32_t)data[10] << 24);
	variant_table = table;
	struct nb_engine *plugin = cut(&table);
	if (engine_import(&engine, plugin, "plugin.so") == NB_OK) {
		uint32_t level = engine_auto_durability(&engine, "/");
		require((engine.durabilities & NB_DUR_BIT(level)) != 0,
			"the engine offers the level");
		configure(&engine);
	} else {
		require(strncmp(nb_error_text(), "plugin.so: refused", 18) == 0,
			"the error names the plugin");
	}
	free(plugin);
	free(text);
	return 0;
}
