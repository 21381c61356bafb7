/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of engines show the values of an engine's own table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"
#include "run/engine.h"
#include "unit.h"

static char *text; /* of the last write_...() */

static const char *
plugins(void)
{
	const char *dir = getenv("MININB_TEST_PLUGINS");
	ck_assert_msg(dir != NULL, "MININB_TEST_PLUGINS is not set");
	return dir;
}

static void
write_all(void)
{
	size_t size;
	FILE *out = open_memstream(&text, &size);
	ck_assert_msg(nb_engines_write_text(out) == NB_OK, "%s", nb_error_text());
	fclose(out);
}

static void
write_plugin(const char *name)
{
	char path[1024];
	size_t size;
	FILE *out = open_memstream(&text, &size);
	snprintf(path, sizeof(path), "%s/%s.so", plugins(), name);
	ck_assert_msg(nb_engine_write_text(out, path) == NB_OK, "%s", nb_error_text());
	fclose(out);
}

/**
 * Whether a line of the text consists of these words, with any number of spaces between them.
 */
static bool
has_row(const char *words)
{
	char want[1024];
	snprintf(want, sizeof(want), "%s", words);
	for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
		char have[1024] = "";
		for (const char *c = line; *c != '\n' && *c != '\0' && strlen(have) < 1000; c++)
			if (*c != ' ' || (have[0] != '\0' && have[strlen(have) - 1] != ' '))
				strncat(have, c, 1);
		while (have[0] != '\0' && have[strlen(have) - 1] == ' ')
			have[strlen(have) - 1] = '\0';
		if (strcmp(have, want) == 0)
			return true;
	}
	return false;
}

#define ASSERT_ROW(words) ck_assert_msg(has_row(words), "no row '%s' in:\n%s", words, text)

TEST(table_has_a_row_for_each_available_engine)
{
	setenv("MININB_PLUGIN_PATH", plugins(), 1);
	write_all();
	ASSERT_ROW("driver version licence durability capabilities");
	ASSERT_ROW("right 1.2.3 BSD-2-Clause none* synthetic");
	ASSERT_ROW("limited 1.2.3 BSD-2-Clause process* commit synthetic");
	ck_assert_ptr_nonnull(strstr(text, "\nmemory "));
	ck_assert_ptr_nonnull(strstr(text, "\nnull "));
	free(text);
}

TEST(refused_plugin_is_listed_with_its_reason)
{
	char line[1100];
	setenv("MININB_PLUGIN_PATH", plugins(), 1);
	write_all();
	const char *table_end = strstr(text, "\n* is what --durability=auto gives.");
	ck_assert_ptr_nonnull(table_end);
	snprintf(line, sizeof(line), "\n%s/no_put.so: refused: 'put' is NULL in its table\n",
		plugins());
	ck_assert_ptr_nonnull(strstr(table_end, line));
	snprintf(line, sizeof(line), "\n%s/not_an_object.so: refused: not a shared object",
		plugins());
	ck_assert_ptr_nonnull(strstr(table_end, line));
	ck_assert_ptr_null(strstr(text, "\nno_put "));
	free(text);
}

TEST(refusals_are_omitted_if_there_are_none)
{
	unsetenv("MININB_PLUGIN_PATH");
	write_all();
	ck_assert_ptr_null(strstr(text, "refused"));
	ck_assert_ptr_null(strstr(text, "\n\n\n"));
	if (engines_missing[0] == '\0')
		ck_assert_str_eq(text + strlen(text) - 2, ".\n");
	free(text);
}

TEST(engine_is_described_with_its_whole_table)
{
	char line[1100];
	write_plugin("limited");
	ASSERT_ROW("Driver: limited");
	ASSERT_ROW("Version: 1.2.3");
	ASSERT_ROW("Licence: BSD-2-Clause");
	ASSERT_ROW("Home: part of mininb");
	ASSERT_ROW("Capabilities: synthetic");
	ASSERT_ROW("Durability: process* commit (* is auto)");
	ASSERT_ROW("Longest key: 8");
	ASSERT_ROW("Longest value: 32");
	ASSERT_ROW("Options: none");
	snprintf(line, sizeof(line), "File: %s/limited.so", plugins());
	ASSERT_ROW(line);
	free(text);
	write_plugin("by_place");
	ASSERT_ROW("Durability: process commit* (* is auto; another where a sync costs more)");
	free(text);
	write_plugin("older"); /* it has only the mandatory verbs */
	ASSERT_ROW("Verbs: get put delete");
	ASSERT_ROW("Capabilities: none");
	ck_assert_ptr_null(strstr(text, "Longest"));
	free(text);
}

TEST(variant_of_an_engine_is_described)
{
	write_plugin("variants");
	ASSERT_ROW("Verbs: get put delete insert");
	ASSERT_ROW("with durability capabilities verbs");
	ASSERT_ROW("type=hash commit* synthetic get put delete");
	ASSERT_ROW("flat=yes commit* synthetic get put delete");
	ck_assert_ptr_null(strstr(text, "flat=no"));
	ck_assert_ptr_null(strstr(text, "type=tree"));
	free(text);
	write_plugin("every_option"); /* has choices, and no variant */
	ck_assert_ptr_null(strstr(text, "with "));
	free(text);
}

TEST(each_option_has_default_values_and_help)
{
	write_plugin("every_option");
	ASSERT_ROW("option default values help");
	ASSERT_ROW("sync no yes|no a bool");
	ASSERT_ROW("levels 7 2..20 levels a count");
	ASSERT_ROW("map_size 4MiB 64KiB..1024GiB a size");
	ASSERT_ROW("interval 250ms time a time");
	ASSERT_ROW("compression snappy none|snappy|zstd a choice");
	ASSERT_ROW("fill 0.75 number a number");
	ASSERT_ROW("dir data text a text");
	ASSERT_ROW("label engine's own text a text that has no default");
	ASSERT_ROW("limit engine's own count a count that has no default");
	free(text);
}

TEST(default_is_printed_as_in_a_result)
{
	write_plugin("odd_defaults");
	ASSERT_ROW("cached yes yes|no a bool");
	ASSERT_ROW("checked no yes|no a bool");
	ASSERT_ROW("map_size 1MiB bytes a size");
	free(text);
}

TEST(engine_that_was_not_built_is_listed_with_the_reason)
{
	struct engine_missing missing;
	unsetenv("MININB_PLUGIN_PATH");
	write_all();
	for (const char *at = engines_missing;
		(at = engine_missing_next(at, &missing)) != NULL;) {
		char line[256];
		snprintf(line, sizeof(line), "%s: not built, %s", missing.name, missing.reason);
		ASSERT_ROW(line);
	}
	free(text);
}
