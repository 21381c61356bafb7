/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A minimal correct plugin. The build makes many defective plugins from it: each macro below is
 * the place of one defect, and meson.build selects the defects of each plugin.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PLAIN_SESSIONS
#define PLAIN_VERSION "1.2.3"
#include "plain.h"

/* An initializer in the table that replaces the correct one. */
#ifndef PLUGIN_DEFECT
#define PLUGIN_DEFECT
#endif
#ifndef PLUGIN_VARIANT_DEFECT
#define PLUGIN_VARIANT_DEFECT
#endif

/* Each plugin leaves some parts unused. */
#define PART static __attribute__((unused))

struct nb_db {
	int dummy;
};

static struct nb_db the_db;

#ifdef PLUGIN_UNDEFINED
/* A function of a library that is not installed. */
int
a_library_that_is_not_installed(void);
#endif

PART const char *
no_text(void)
{
	return NULL;
}

PART int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	*out = &the_db;
#ifdef PLUGIN_UNDEFINED
	return a_library_that_is_not_installed();
#else
	return NB_OK;
#endif
}

PART int
db_open_failing(struct nb_db **out, const struct nb_open_args *args)
{
	return args->host->fail(NB_FAIL, "open_fails: no luck with %s", args->path);
}

PART int
db_close(struct nb_db *db)
{
	return NB_OK;
}

PART int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	*value = (struct nb_slice){0};
	return NB_OK;
}

PART int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return NB_OK;
}

PART int
del(struct nb_session *session, struct nb_slice key)
{
	return NB_OK;
}

PART int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	return NB_OK;
}

/* Dies of a signal, as with a bug. */
PART int
get_crashing(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	raise(SIGSEGV);
	return NB_OK;
}

PART int
put_hanging(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	while (pause() != 0)
		continue;
	return NB_OK;
}

/* Long enough that the progress line shows seconds. */
PART int
flush_slowly(struct nb_db *db, uint32_t upto)
{
	nanosleep(&(struct timespec){.tv_sec = 3, .tv_nsec = 500000000}, NULL);
	return NB_OK;
}

/* Correct defaults, but not written as the host prints them. */
PART const struct nb_option odd_defaults[] = {
	NB_OPTION_BOOL("cached", "1", "a bool"),
	NB_OPTION_BOOL("checked", "off", "a bool"),
	NB_OPTION_BYTES("map_size", "1048576", 0, 0, "a size"),
	NB_OPTION_END,
};

/* More rows than any engine has, without an end of the table. */
#define ROW NB_OPTION_U64("again", "1", NULL, 0, 0, "a number")
#define ROWS_4(row) row, row, row, row
PART const struct nb_option endless[] = {ROWS_4(ROWS_4(ROWS_4(ROWS_4(ROW)))), ROW};

/* A pointer to a table that cannot be read. */
#define NO_TABLE ((const struct nb_option *)sizeof(struct nb_option))

#ifdef PLUGIN_LOADING
static void __attribute__((constructor)) on_load(void)
{
	PLUGIN_LOADING;
}
#endif

/* One option of each type, and options without a default. */
PART const struct nb_option every_option[] = {
	NB_OPTION_BOOL("sync", "no", "a bool"),
	NB_OPTION_U64("levels", "7", "levels", 2, 20, "a count"),
	NB_OPTION_BYTES("map_size", "4MiB", 65536, 1ull << 40, "a size"),
	NB_OPTION_TIME("interval", "250ms", 0, 0, "a time"),
	NB_OPTION_CHOICE("compression", "snappy", "none|snappy|zstd", "a choice"),
	NB_OPTION_REAL("fill", "0.75", NULL, "a number"),
	NB_OPTION_TEXT("dir", "data", "a text"),
	NB_OPTION_TEXT("label", NULL, "a text that has no default"),
	NB_OPTION_U64("limit", NULL, NULL, 0, 0, "a count that has no default"),
	NB_OPTION_END,
};

PART const struct nb_option bad_default[] = {
	{.name = "levels", .type = NB_OPT_U64, .def = "seven", .help = "a count"},
	{.name = NULL},
};

PART const struct nb_option name_with_equals[] = {
	{.name = "sync=now", .type = NB_OPT_BOOL, .help = "cannot be typed"},
	{.name = NULL},
};

/* A future header may use the spare fields. */
PART const struct nb_option later_option[] = {
	{.name = "sync", .type = NB_OPT_BOOL, .def = "no", .help = "a bool", .spare_u32 = 1},
	{.name = NULL},
};

/* type=hash or flat=yes selects another table. */
PART const struct nb_option types[] = {
	NB_OPTION_CHOICE("type", "tree", "tree|hash", "a choice"),
	NB_OPTION_BOOL("flat", "no", "a bool"),
	NB_OPTION_END,
};

/*
 * Returns an offered level that depends on the path, or a level that the engine does not offer.
 */
PART uint32_t
auto_by_path(const char *path)
{
	if (strstr(path, "none-such") != NULL)
		return NB_DUR_PERIODIC;
	return strstr(path, "memory") != NULL ? NB_DUR_COMMIT : NB_DUR_PROCESS;
}

PART const struct nb_engine *
variant(const struct nb_option_value *values)
{
	static const struct nb_engine hash = {PLAIN_ENGINE, .name = PLUGIN_NAME,
		.summary = "a variant", .caps = NB_CAP_SYNTHETIC,
		.durabilities = NB_DUR_BIT(NB_DUR_COMMIT), .auto_durability = NB_DUR_COMMIT,
		.options = types, PLUGIN_VARIANT_DEFECT};
	return values[0].u64 == 1 || values[1].u64 == 1 ? &hash : NULL;
}

/* A future header may have more fields. Only the plugin `newer` includes them in its size. */
PART const struct {
	struct nb_engine known;
	void *later[4];
} engine = {{PLAIN_ENGINE, .name = PLUGIN_NAME, .summary = "made for the tests of the loader",
		    .caps = NB_CAP_SYNTHETIC, .durabilities = NB_DUR_BIT(NB_DUR_NONE),
		    .auto_durability = NB_DUR_NONE, .insert = put, PLUGIN_DEFECT},
	{&the_db, &the_db, &the_db, &the_db}};

#ifndef PLUGIN_NO_ENTRY
const struct nb_engine *
nb_engine_plugin(void);

__attribute__((visibility("default"))) const struct nb_engine *
nb_engine_plugin(void)
{
#ifdef PLUGIN_NULL_TABLE
	return NULL;
#else
	return &engine.known;
#endif
}
#endif
