/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loading engines. Each defect of a plugin is rejected with a text that names the file, the
 * field and, if two numbers differ, both. The plugins are in tests/refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "unit.h"

static const char *plugins; /* directory of the plugins */

void
unit_setup(void)
{
	plugins = getenv("MININB_TEST_PLUGINS");
	ck_assert_msg(plugins != NULL, "MININB_TEST_PLUGINS is not set");
	unsetenv("MININB_PLUGIN_PATH");
}

static int
load_file(struct nb_engine_ref **ref, const char *name)
{
	char path[1024];
	snprintf(path, sizeof(path), "%s/%s.so", plugins, name);
	*ref = NULL;
	return nb_engine_load(ref, path);
}

static void
assert_told(const char *fact)
{
	const char *text = nb_error_text();
	ck_assert_msg(strstr(text, fact) != NULL, "'%s' is not in: %s", fact, text);
	ck_assert_msg(strchr(text, '\n') == NULL, "more than one line: %s", text);
}

/* --- options that select another table --- */

static int
configure(const char *file, const char *option, struct nb_engine *table)
{
	struct nb_engine_ref *ref;
	struct nb_option_value *values;
	ck_assert_int_eq(load_file(&ref, file), NB_OK);
	int rc = nb_engine_configure(&values, ref, &option, option != NULL);
	*table = *nb_engine_table(ref);
	if (rc == NB_OK)
		nb_options_delete(values, table);
	nb_engine_unload(ref);
	return rc;
}

TEST(variant_is_the_table_for_its_options)
{
	struct nb_engine table;
	ck_assert_int_eq(configure("variants", NULL, &table), NB_OK);
	ck_assert_uint_eq(table.durabilities, NB_DUR_BIT(NB_DUR_NONE));
	ck_assert_int_eq(configure("variants", "type=tree", &table), NB_OK);
	ck_assert_uint_eq(table.durabilities, NB_DUR_BIT(NB_DUR_NONE));
	ck_assert_int_eq(configure("variants", "type=hash", &table), NB_OK);
	ck_assert_uint_eq(table.durabilities, NB_DUR_BIT(NB_DUR_COMMIT));
	ck_assert_str_eq(table.summary, "a variant");
	ck_assert_int_eq(configure("variants", "type=heap", &table), NB_ERR_USAGE);
}

TEST(engine_without_variants_is_unchanged)
{
	struct nb_engine table;
	ck_assert_int_eq(configure("every_option", "levels=9", &table), NB_OK);
	ck_assert_str_eq(table.name, "every_option");
}

TEST(invalid_variant_is_refused)
{
	static const struct {
		const char *file;
		const char *facts[2];
	} cases[] = {
		{"variant_named_otherwise", {"another", "variant_named_otherwise"}},
		{"variant_with_other_options", {"other options", "variant"}},
		{"variant_without_get", {"'get' is NULL", "variant"}},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct nb_engine table;
		ck_assert_int_eq(configure(cases[i].file, "type=hash", &table), NB_FAIL);
		assert_told(cases[i].facts[0]);
		assert_told(cases[i].facts[1]);
		assert_told(cases[i].file);
	}
}

/* --- rejected plugins, each with its reason --- */

static const struct {
	const char *file;
	const char *facts[3];
	uint64_t numbers[2];
} refusals[] = {
	{"not_an_object", {"not_an_object.so", "shared object"}},
	{"no_entry", {"no_entry.so", "nb_engine_plugin"}},
	{"null_table", {"null_table.so", "NULL"}},
	{"undefined_symbol",
		{"undefined_symbol.so", "a_library_that_is_not_installed", "'ldd -r "}},
	{"other_abi", {"other_abi.so", "abi"}, {77, NB_ENGINE_ABI}},
	{"too_short", {"too_short.so", "size", "short"},
		{offsetof(struct nb_engine, del),
			offsetof(struct nb_engine, del) + sizeof(void *)}},
	{"empty_table", {"empty_table.so", "size", "short"}},
	{"too_long", {"too_long.so", "size", "100000"}},
	{"torn", {"torn.so", "size"}, {sizeof(struct nb_engine) - 3}},
	{"name_null", {"name_null.so", "name", "NULL"}},
	{"name_bad", {"name_bad.so", "name", "Bad Name"}},
	{"name_digit",
		{"'1a' is not a name of an engine: use a letter a-z, then a-z, 0-9, _ and -"}},
	{"no_durability", {"no_durability.so", "durabilities"}},
	{"auto_not_offered", {"auto_not_offered.so", "auto_durability"}},
	{"half_scan", {"half_scan.so", "scan_next"}},
	{"bad_default", {"bad_default.so", "levels", "seven"}},
	{"option_untypable", {"option_untypable.so", "'sync=now'", "name=value"}},
	{"version_unknown", {"version_unknown.so", "'version'", "NULL"}},
	{"no_version", {"no_version.so", "'version'"}},
	{"no_open", {"no_open.so", "'open'"}},
	{"no_close", {"no_close.so", "'close'"}},
	{"no_session_open", {"no_session_open.so", "'session_open'"}},
	{"no_session_close", {"no_session_close.so", "'session_close'"}},
	{"no_get", {"no_get.so", "'get'"}},
	{"no_put", {"no_put.so", "'put'"}},
	{"no_del", {"no_del.so", "'del'"}},
};

TEST_EACH(bad_plugin_is_refused_with_its_reason, UNIT_COUNT(refusals))
{
	struct nb_engine_ref *ref;
	ck_assert_int_eq(load_file(&ref, refusals[_i].file), NB_FAIL);
	ck_assert_ptr_null(ref);
	for (size_t i = 0; i < 3 && refusals[_i].facts[i] != NULL; i++)
		assert_told(refusals[_i].facts[i]);
	for (size_t i = 0; i < 2 && refusals[_i].numbers[i] != 0; i++) {
		char number[24];
		snprintf(number, sizeof(number), "%ju", (uintmax_t)refusals[_i].numbers[i]);
		assert_told(number);
	}
}

TEST(directory_is_refused_as_a_directory)
{
	struct nb_engine_ref *ref = NULL;
	ck_assert_int_eq(nb_engine_load(&ref, "/tmp/"), NB_FAIL);
	ck_assert_ptr_null(ref);
	assert_told("/tmp/: refused: is a directory");
}

/* --- found by name --- */

TEST(name_is_looked_up_in_the_plugin_path_and_with_a_slash_is_a_path)
{
	static const struct {
		const char *variable, *name; /* %s: the plugin directory */
	} cases[] = {{"%s", "right"}, {"/nonexistent::%s", "right"}, {"", "./right.so"}};
	ck_assert_int_eq(chdir(plugins), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct nb_engine_ref *ref = NULL;
		char variable[1100], want[1024];
		snprintf(variable, sizeof(variable), cases[i].variable, plugins);
		setenv("MININB_PLUGIN_PATH", variable, 1);
		ck_assert_msg(
			nb_engine_load(&ref, cases[i].name) == NB_OK, "%s", nb_error_text());
		ck_assert_str_eq(nb_engine_table(ref)->name, "right");
		snprintf(want, sizeof(want), "%s/right.so", plugins);
		ck_assert_str_eq(
			nb_engine_path(ref), cases[i].name[0] == '.' ? cases[i].name : want);
		nb_engine_unload(ref);
	}
}

TEST(name_in_the_table_must_match_the_file_name)
{
	struct nb_engine_ref *ref = NULL;
	setenv("MININB_PLUGIN_PATH", plugins, 1);
	ck_assert_int_eq(nb_engine_load(&ref, "name_differs"), NB_FAIL);
	assert_told("name_differs.so");
	assert_told("'another'");
	assert_told("'name_differs'");
}

TEST(unknown_name_lists_the_engines_and_the_nearest)
{
	struct nb_engine_ref *ref = NULL;
	ck_assert_int_eq(nb_engine_load(&ref, "memroy"), NB_ERR_USAGE);
	ck_assert_ptr_null(ref);
	assert_told("memroy");
	assert_told("did you mean 'memory'");
	assert_told("null");
	setenv("MININB_PLUGIN_PATH", plugins, 1);
	ck_assert_int_eq(nb_engine_load(&ref, "zzzzzzzz"), NB_ERR_USAGE);
	assert_told("every_option");
}

TEST(engine_is_not_found_in_the_working_directory)
{
	struct nb_engine_ref *ref = NULL;
	ck_assert_int_eq(chdir(plugins), 0);
	ck_assert_int_eq(nb_engine_load(&ref, "right"), NB_ERR_USAGE);
	ck_assert_int_eq(nb_engine_load(&ref, "right.so"), NB_ERR_USAGE);
	setenv("MININB_PLUGIN_PATH", "", 1); /* an empty entry does not mean '.' either */
	ck_assert_int_eq(nb_engine_load(&ref, "right"), NB_ERR_USAGE);
}

static const char *const odd_names[] = {
	"", "..", "/", "./", "/nonexistent/mine.so", "a b", "%s%n"};

TEST_EACH(invalid_name_is_refused_with_a_text, UNIT_COUNT(odd_names))
{
	struct nb_engine_ref *ref = NULL;
	ck_assert_int_lt(nb_engine_load(&ref, odd_names[_i]), 0);
	ck_assert_ptr_null(ref);
	assert_told(odd_names[_i]);
}

TEST(null_and_memory_are_built_in)
{
	static const char *const names[] = {"null", "memory"};
	for (size_t i = 0; i < 2; i++) {
		struct nb_engine_ref *ref = NULL;
		ck_assert_msg(nb_engine_load(&ref, names[i]) == NB_OK, "%s", nb_error_text());
		ck_assert_str_eq(nb_engine_table(ref)->name, names[i]);
		ck_assert_str_eq(nb_engine_path(ref), "built in");
		nb_engine_unload(ref);
	}
}

TEST(unload_of_null_is_allowed)
{
	nb_engine_unload(NULL);
}

/* --- plugins of other sizes --- */

TEST(older_plugin_loads_and_its_late_verbs_are_null)
{
	struct nb_engine_ref *ref;
	ck_assert_msg(load_file(&ref, "older") == NB_OK, "%s", nb_error_text());
	const struct nb_engine *table = nb_engine_table(ref);
	ck_assert(table->del != NULL);
	/* In the file, `insert` lies beyond the table's end and must be ignored. */
	ck_assert(table->insert == NULL);
	ck_assert(table->scan_open == NULL);
	ck_assert(table->stats == NULL);
	nb_engine_unload(ref);
}

TEST(newer_plugin_loads)
{
	struct nb_engine_ref *ref;
	ck_assert_msg(load_file(&ref, "newer") == NB_OK, "%s", nb_error_text());
	const struct nb_engine *table = nb_engine_table(ref);
	ck_assert_str_eq(table->version(), "1.2.3");
	ck_assert(table->insert != NULL);
	ck_assert(table->stats == NULL);
	ck_assert_uint_eq(nb_engine_table(ref)->caps, NB_CAP_SYNTHETIC);
	ck_assert_uint_eq(nb_engine_table(ref)->durabilities, NB_DUR_BIT(NB_DUR_NONE));
	nb_engine_unload(ref);
}

TEST(two_plugins_are_loaded_side_by_side)
{
	struct nb_engine_ref *one, *two;
	ck_assert_int_eq(load_file(&one, "right"), NB_OK);
	ck_assert_int_eq(load_file(&two, "older"), NB_OK);
	ck_assert_str_eq(nb_engine_table(one)->name, "right");
	ck_assert_str_eq(nb_engine_table(two)->name, "older");
	nb_engine_unload(two);
	ck_assert_str_eq(nb_engine_table(one)->version(), "1.2.3");
	nb_engine_unload(one);
}

/* --- the host --- */

TEST(text_of_a_failed_open_reaches_the_caller)
{
	struct nb_engine_ref *ref;
	ck_assert_int_eq(load_file(&ref, "open_fails"), NB_OK);
	struct nb_open_args args = {.size = sizeof(args),
		.host = nb_engine_host(),
		.path = "/some/where",
		.sessions = 1};
	struct nb_db *db = NULL;
	ck_assert_int_eq(nb_engine_table(ref)->open(&db, &args), NB_FAIL);
	assert_told("no luck with /some/where");
	nb_engine_unload(ref);
}

static char logged[128];
static uint32_t logged_level;

static void
keep_log(void *arg, uint32_t level, const char *text)
{
	ck_assert_ptr_eq(arg, logged);
	logged_level = level;
	snprintf(logged, sizeof(logged), "%s", text);
}

TEST(host_keeps_failures_and_passes_messages_on)
{
	const struct nb_host *host = nb_engine_host();
	ck_assert_uint_eq(host->size, sizeof(*host));
	ck_assert_uint_eq(host->abi, NB_ENGINE_ABI);
	ck_assert_int_eq(/* fail is a macro of check.h */
		(host->fail)(NB_UNSUPPORTED, "no level %d", 3), NB_UNSUPPORTED);
	ck_assert_str_eq(nb_error_text(), "no level 3");
	nb_set_log(keep_log, logged);
	host->log(NB_LOG_WARNING, "slow: %s", "yes");
	nb_set_log(NULL, NULL);
	ck_assert_str_eq(logged, "slow: yes");
	ck_assert_uint_eq(logged_level, NB_LOG_WARNING);
}

TEST(durability_levels_have_names)
{
	ck_assert_str_eq(nb_durability_name(NB_DUR_NONE), "none");
	ck_assert_str_eq(nb_durability_name(NB_DUR_PROCESS), "process");
	ck_assert_str_eq(nb_durability_name(NB_DUR_PERIODIC), "periodic");
	ck_assert_str_eq(nb_durability_name(NB_DUR_COMMIT), "commit");
	ck_assert_ptr_null(nb_durability_name(NB_DUR_COMMIT + 1));
	ck_assert_ptr_null(nb_durability_name(NB_DUR_AUTO));
}
