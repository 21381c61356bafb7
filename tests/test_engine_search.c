/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where engines are searched, and which of two with the same name is used. The search does not
 * open files, so empty ones suffice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rig.h"
#include "run/engine.h"
#include "unit.h"

static struct rig rig; /* provides the directory */
static struct engine_sites sites;

/** <dir>/<name>. The fourth later call overwrites it. */
static char *
in_rig(const char *name)
{
	static char paths[4][256];
	static unsigned next;
	char *path = paths[next++ % 4];
	snprintf(path, sizeof(paths[0]), "%s/%s", rig.dir, name);
	return path;
}

static void
make_file(const char *name)
{
	FILE *file = fopen(in_rig(name), "w");
	ck_assert_ptr_nonnull(file);
	fclose(file);
}

/** Make two directories: a with one.so and both.so, b with both.so and two.so. */
static void
set_up(void)
{
	rig_create(&rig, NB_VERB_PUT, 1);
	ck_assert_int_eq(mkdir(in_rig("a"), 0777), 0);
	ck_assert_int_eq(mkdir(in_rig("b"), 0777), 0);
	make_file("a/one.so");
	make_file("a/both.so");
	make_file("b/both.so");
	make_file("b/two.so");
}

/** Search with the variable set to `fmt`, in which two %s are the rig's directory. */
static void NB_PRINTF(1, 0) search(const char *fmt)
{
	char variable[512];
	snprintf(variable, sizeof(variable), fmt, rig.dir, rig.dir);
	setenv("MININB_PLUGIN_PATH", variable, 1);
	ck_assert_int_eq(engine_sites_create(&sites), NB_OK);
}

static void
tear_down(void)
{
	engine_sites_destroy(&sites);
	ck_assert_uint_eq(sites.count, 0);
	rig_destroy(&rig);
}

static const struct engine_site *
find(const char *name)
{
	const struct engine_site *found = NULL;
	for (size_t i = 0; i < sites.count; i++)
		if (strcmp(sites.items[i].name, name) == 0) {
			ck_assert_msg(found == NULL, "%s is listed twice", name);
			found = &sites.items[i];
		}
	return found;
}

static void
assert_at(const char *name, const char *path)
{
	const struct engine_site *site = find(name);
	ck_assert_msg(site != NULL, "%s was not found", name);
	ck_assert_str_eq(site->path, path);
}

TEST(first_directory_of_the_variable_wins)
{
	set_up();
	search("%s/a:%s/b");
	assert_at("one", in_rig("a/one.so"));
	assert_at("both", in_rig("a/both.so"));
	assert_at("two", in_rig("b/two.so"));
	engine_sites_destroy(&sites);
	search("%s/b:%s/a");
	assert_at("one", in_rig("a/one.so"));
	assert_at("both", in_rig("b/both.so"));
	assert_at("two", in_rig("b/two.so"));
	tear_down();
}

TEST(variable_comes_before_all_others)
{
	set_up();
	make_file("b/null.so");
	make_file("b/leveldb.so"); /* the build's own plugin, if it was built */
	search("%s/b");
	ck_assert_uint_ge(sites.count, 5);
	ck_assert_str_eq(sites.items[0].path, in_rig("b/both.so"));
	assert_at("null", in_rig("b/null.so"));
	assert_at("leveldb", in_rig("b/leveldb.so"));
	ck_assert_ptr_null(find("memory")->path);
	tear_down();
}

TEST(built_in_engines_always_exist_and_come_last)
{
	rig_create(&rig, NB_VERB_PUT, 1);
	unsetenv("MININB_PLUGIN_PATH");
	ck_assert_int_eq(engine_sites_create(&sites), NB_OK);
	ck_assert_uint_ge(sites.count, 2);
	for (size_t i = 0; i < sites.count; i++)
		ck_assert_int_eq(sites.items[i].path == NULL, i >= sites.count - 2);
	ck_assert_ptr_nonnull(find("memory"));
	ck_assert_ptr_nonnull(find("null"));
	tear_down();
}

TEST(missing_directories_are_skipped)
{
	set_up();
	make_file("file");
	search("/nonexistent:%s/file:%s/a");
	assert_at("one", in_rig("a/one.so"));
	ck_assert_ptr_null(find("two"));
	tear_down();
}

TEST(empty_parts_are_not_the_working_directory)
{
	static const char *const variables[] = {"", ":", "::", ":%s/a", "%s/a:", "%s/a::%s/x"};
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		set_up();
		ck_assert_int_eq(chdir(in_rig("b")), 0);
		search(variables[i]);
		ck_assert_ptr_null(find("two"));
		ck_assert_int_eq(find("one") != NULL, i >= 3);
		tear_down();
	}
}

TEST(relative_parts_are_skipped)
{
	static const char *const variables[] = {
		".:%s/a", "b:%s/a", "./b:%s/a", "%s/a:../b", "%s/a:b/"};
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		set_up();
		ck_assert_int_eq(chdir(in_rig(i == 0 || i == 3 ? "b" : "")), 0);
		search(variables[i]);
		ck_assert_ptr_null(find("two"));
		ck_assert_ptr_nonnull(find("one"));
		tear_down();
	}
}

TEST(working_directory_is_never_searched)
{
	set_up();
	ck_assert_int_eq(chdir(in_rig("b")), 0);
	unsetenv("MININB_PLUGIN_PATH");
	ck_assert_int_eq(engine_sites_create(&sites), NB_OK);
	ck_assert_ptr_null(find("two"));
	tear_down();
}

TEST(only_files_that_end_in_so_are_engines)
{
	static const char *const others[] = {"a/.so", "a/.hidden.so", "a/lib.so.1",
		"a/text.txt", "a/so", "a/no_dot_so", "a/x.SO"};
	set_up();
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		make_file(others[i]);
	ck_assert_int_eq(symlink("/nonexistent/gone.so", in_rig("a/gone.so")), 0);
	search("%s/a");
	size_t in_a = 0;
	for (size_t i = 0; i < sites.count; i++)
		in_a += sites.items[i].path != NULL &&
			strncmp(sites.items[i].path, in_rig("a"), strlen(in_rig("a"))) == 0;
	ck_assert_uint_eq(in_a, 2); /* `one` and `both` */
	tear_down();
}

TEST(list_of_missing_engines_is_parsed)
{
	struct engine_missing missing;
	const char *at =
		"tdb=its library is missing: apt-get install libtdb-dev;x=-Dx_prefix=DIR;half";
	at = engine_missing_next(at, &missing);
	ck_assert_ptr_nonnull(at);
	ck_assert_str_eq(missing.name, "tdb");
	ck_assert_str_eq(missing.reason, "its library is missing: apt-get install libtdb-dev");
	at = engine_missing_next(at, &missing);
	ck_assert_ptr_nonnull(at);
	ck_assert_str_eq(missing.name, "x");
	ck_assert_str_eq(missing.reason, "-Dx_prefix=DIR");
	ck_assert_ptr_null(engine_missing_next(at, &missing));
	ck_assert_ptr_null(engine_missing_next("", &missing));
}
