/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options of engines, with the plugin `every_option` of tests/refused. Typed values are
 * converted. A wrong one gives an error with the option's name and the allowed values.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mininb/mininb.h>

#include "unit.h"

/* In the order of the plugin's table. */
enum { SYNC, LEVELS, MAP_SIZE, INTERVAL, COMPRESSION, FILL, DIR, LABEL, LIMIT };

static struct nb_engine_ref *ref;
static const struct nb_engine *engine;
static struct nb_option_value *values;

void
unit_setup(void)
{
	char path[1024];
	const char *plugins = getenv("MININB_TEST_PLUGINS");
	ck_assert_msg(plugins != NULL, "MININB_TEST_PLUGINS is not set");
	snprintf(path, sizeof(path), "%s/every_option.so", plugins);
	ck_assert_msg(nb_engine_load(&ref, path) == NB_OK, "%s", nb_error_text());
	engine = nb_engine_table(ref);
	values = NULL;
}

void
unit_teardown(void)
{
	nb_options_delete(values, engine);
	nb_engine_unload(ref);
}

static void
parse(const char *const *texts, size_t count)
{
	ck_assert_msg(nb_options_parse(&values, engine, texts, count) == NB_OK, "%s",
		nb_error_text());
}

TEST(defaults_are_filled_in)
{
	parse(NULL, 0);
	ck_assert_uint_eq(values[SYNC].u64, 0);
	ck_assert_uint_eq(values[LEVELS].u64, 7);
	ck_assert_uint_eq(values[MAP_SIZE].u64, 4u << 20);
	ck_assert_uint_eq(values[INTERVAL].u64, 250000000);
	ck_assert_uint_eq(values[COMPRESSION].u64, 1);
	ck_assert_double_eq(values[FILL].real, 0.75);
	ck_assert_str_eq(values[DIR].text, "data");
	for (int i = SYNC; i <= DIR; i++)
		ck_assert_uint_eq(values[i].is_set, 1);
	ck_assert_uint_eq(values[LABEL].is_set, 0);
	ck_assert_uint_eq(values[LIMIT].is_set, 0);
}

TEST(typed_values_replace_defaults)
{
	char text[] = "dir=/tmp/a=b";
	const char *const texts[] = {"sync=yes", "levels=20", "map_size=1GiB", "interval=2s",
		"compression=zstd", "fill=1e-3", text, "label=x", "limit=10k"};
	parse(texts, sizeof(texts) / sizeof(texts[0]));
	memset(text, 'z', sizeof(text) - 1); /* the value is a copy that lives until close */
	ck_assert_uint_eq(values[SYNC].u64, 1);
	ck_assert_uint_eq(values[LEVELS].u64, 20);
	ck_assert_uint_eq(values[MAP_SIZE].u64, 1u << 30);
	ck_assert_uint_eq(values[INTERVAL].u64, 2000000000);
	ck_assert_uint_eq(values[COMPRESSION].u64, 2);
	ck_assert_double_eq(values[FILL].real, 0.001);
	ck_assert_str_eq(values[DIR].text, "/tmp/a=b"); /* only the first '=' separates */
	ck_assert_str_eq(values[LABEL].text, "x");
	ck_assert_uint_eq(values[LIMIT].u64, 10000);
	ck_assert_uint_eq(values[LABEL].is_set, 1);
	ck_assert_uint_eq(values[LIMIT].is_set, 1);
}

TEST(last_of_duplicates_wins)
{
	const char *const texts[] = {"levels=3", "dir=one", "levels=5", "dir=two", "dir=three"};
	parse(texts, sizeof(texts) / sizeof(texts[0]));
	ck_assert_uint_eq(values[LEVELS].u64, 5);
	ck_assert_str_eq(values[DIR].text, "three");
}

static const char *const allowed[] = {"sync=no", "sync=true", "sync=0", "sync=off", "levels=2",
	"map_size=64KiB", "map_size=65536", "map_size=1TiB", "interval=0s", "compression=none",
	"fill=-1", "dir=", "limit=0", "limit=1e6"};

TEST_EACH(allowed_values_are_accepted, UNIT_COUNT(allowed))
{
	parse(&allowed[_i], 1);
}

/* A wrong argument and the required parts of its error text. */
static const struct {
	const char *text;
	const char *facts[4];
} wrong[] = {
	{"map_sise=1GiB", {"map_sise", "map_size"}}, /* the error names the nearest option */
	{"comperssion=none", {"comperssion", "compression"}},
	{"zzzzzzzzzzzz=1", {"zzzzzzzzzzzz"}},
	{"level=3", {"'level'", "levels"}}, /* a prefix is not the name */
	{"sync", {"sync", "name=value"}},
	{"", {"name=value"}},
	{"=1", {"=1", "name=value"}},
	{"sync=perhaps", {"sync", "perhaps", "yes", "no"}},
	{"sync=", {"sync"}},
	{"levels=1", {"levels", "1", "2", "20"}},
	{"levels=21", {"levels", "21", "2", "20"}},
	{"levels=-3", {"levels", "-3"}},
	{"levels=", {"levels"}},
	{"levels=7x", {"levels", "7x"}},
	{"levels=7 ", {"levels", "7 "}},
	{"levels=1.5", {"levels", "1.5"}},
	{"limit=99999999999999999999", {"limit", "99999999999999999999"}},
	{"map_size=1KiB", {"map_size", "1KiB", "64KiB"}},
	{"map_size=lots", {"map_size", "lots"}},
	{"interval=5", {"interval", "5"}}, /* a time needs a unit */
	{"compression=lz4", {"compression", "lz4", "none|snappy|zstd"}},
	{"compression=snap", {"compression", "snap", "none|snappy|zstd"}},
	{"compression=none|snappy", {"compression", "none|snappy|zstd"}},
	{"compression=", {"compression", "none|snappy|zstd"}},
	{"fill=nan", {"fill", "nan"}},
	{"fill=inf", {"fill", "inf"}},
	{"fill=0.5x", {"fill", "0.5x"}},
};

TEST_EACH(wrong_text_is_reported_with_the_allowed_values, UNIT_COUNT(wrong))
{
	ck_assert_int_eq(nb_options_parse(&values, engine, &wrong[_i].text, 1), NB_ERR_USAGE);
	ck_assert_ptr_null(values); /* a failed call returns nothing */
	const char *text = nb_error_text();
	for (size_t i = 0; i < 4 && wrong[_i].facts[i] != NULL; i++)
		ck_assert_msg(strstr(text, wrong[_i].facts[i]) != NULL,
			"'%s': '%s' is not in: %s", wrong[_i].text, wrong[_i].facts[i], text);
	ck_assert_msg(strchr(text, '\n') == NULL, "more than one line: %s", text);
}

TEST(wrong_text_among_valid_ones_is_reported)
{
	const char *const texts[] = {"levels=3", "dir=x", "levels=300", "sync=yes"};
	ck_assert_int_eq(nb_options_parse(&values, engine, texts, 4), NB_ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "300"));
}

TEST(engine_without_options_refuses_any)
{
	struct nb_engine plain = *engine;
	const char *const texts[] = {"sync=yes"};
	plain.options = NULL;
	ck_assert_int_eq(nb_options_parse(&values, &plain, NULL, 0), NB_OK);
	nb_options_delete(values, &plain);
	values = NULL;
	ck_assert_int_eq(nb_options_parse(&values, &plain, texts, 1), NB_ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "sync"));
}

TEST(unknown_type_is_refused_with_or_without_a_default)
{
	static const char *const defaults[] = {NULL, "7"};
	for (size_t i = 0; i < UNIT_COUNT(defaults); i++) {
		struct nb_option options[] = {
			{.name = "later", .type = NB_OPT_TEXT + 1, .def = defaults[i]},
			{.name = NULL}};
		struct nb_engine other = *engine;
		other.options = options;
		ck_assert_int_eq(nb_options_parse(&values, &other, NULL, 0), NB_FAIL);
		ck_assert_str_eq(nb_error_text(),
			"option later: its type 7 is not known to this mininb");
	}
}

TEST(delete_of_null_is_allowed)
{
	nb_options_delete(NULL, engine);
}
