/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One plugin that is right, in as few lines as one can be, of which the build
 * makes many that are not: each macro below is a place for one defect, and
 * meson.build says which plugin has which.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mininb/engine.h>

#ifndef PLUGIN_ABI
#define PLUGIN_ABI NB_ENGINE_ABI
#endif
#ifndef PLUGIN_SIZE
#define PLUGIN_SIZE sizeof(engine)
#endif
#ifndef PLUGIN_NAME
#define PLUGIN_NAME "plugin"
#endif
#ifndef PLUGIN_DURABILITIES
#define PLUGIN_DURABILITIES NB_DUR_BIT(NB_DUR_NONE)
#endif
#ifndef PLUGIN_AUTO_DURABILITY_AT
#define PLUGIN_AUTO_DURABILITY_AT NULL
#endif
#ifndef PLUGIN_AUTO_DURABILITY
#define PLUGIN_AUTO_DURABILITY NB_DUR_NONE
#endif
#ifndef PLUGIN_OPTIONS
#define PLUGIN_OPTIONS NULL
#endif
#ifndef PLUGIN_KEY_SIZE_MAX
#define PLUGIN_KEY_SIZE_MAX 0
#endif
#ifndef PLUGIN_VALUE_SIZE_MAX
#define PLUGIN_VALUE_SIZE_MAX 0
#endif
#ifndef PLUGIN_VERSION
#define PLUGIN_VERSION version
#endif
#ifndef PLUGIN_OPEN
#define PLUGIN_OPEN db_open
#endif
#ifndef PLUGIN_CLOSE
#define PLUGIN_CLOSE db_close
#endif
#ifndef PLUGIN_SESSION_OPEN
#define PLUGIN_SESSION_OPEN session_open
#endif
#ifndef PLUGIN_SESSION_CLOSE
#define PLUGIN_SESSION_CLOSE session_close
#endif
#ifndef PLUGIN_GET
#define PLUGIN_GET get
#endif
#ifndef PLUGIN_PUT
#define PLUGIN_PUT put
#endif
#ifndef PLUGIN_DEL
#define PLUGIN_DEL del
#endif
#ifndef PLUGIN_CAPS
#define PLUGIN_CAPS NB_CAP_SYNTHETIC
#endif
#ifndef PLUGIN_INSERT
#define PLUGIN_INSERT put
#endif
#ifndef PLUGIN_FLUSH
#define PLUGIN_FLUSH NULL
#endif
#ifndef PLUGIN_SCAN_OPEN
#define PLUGIN_SCAN_OPEN NULL
#endif

struct nb_db {
	int dummy;
};

static struct nb_db the_db;

#ifndef PLUGIN_VARIANT
#define PLUGIN_VARIANT NULL
#endif

#ifdef PLUGIN_UNDEFINED
/* As of a library that is not there. */
int
a_library_that_is_not_installed(void);
#endif

const char *
version(void);
const char *
no_text(void);
int
db_open(struct nb_db **out, const struct nb_open_args *args);
int
db_open_failing(struct nb_db **out, const struct nb_open_args *args);
int
db_close(struct nb_db *db);
int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id);
int
session_close(struct nb_session *session);
int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value);
int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value);
int
del(struct nb_session *session, struct nb_slice key);
int
scan_open(struct nb_session *session, const struct nb_scan_args *args);
int
get_crashing(struct nb_session *session, struct nb_slice key, struct nb_slice *value);
int
put_hanging(struct nb_session *session, struct nb_slice key, struct nb_slice value);
int
flush_slowly(struct nb_db *db, uint32_t upto);
const struct nb_engine *
variant(const struct nb_option_value *values);
uint32_t
auto_by_path(const char *path);

/* Not static, since each plugin leaves another one unused; hidden by the build. */
const char *
version(void)
{
	return "1.2.3";
}

const char *
no_text(void)
{
	return NULL;
}

int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	(void)args;
	*out = &the_db;
#ifdef PLUGIN_UNDEFINED
	return a_library_that_is_not_installed();
#else
	return NB_OK;
#endif
}

int
db_open_failing(struct nb_db **out, const struct nb_open_args *args)
{
	(void)out;
	return args->host->fail(NB_FAIL, "open_fails: no luck with %s", args->path);
}

int
db_close(struct nb_db *db)
{
	(void)db;
	return NB_OK;
}

int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	(void)id;
	*out = (void *)db;
	return NB_OK;
}

int
session_close(struct nb_session *session)
{
	(void)session;
	return NB_OK;
}

int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	(void)session;
	(void)key;
	*value = (struct nb_slice){0};
	return NB_OK;
}

int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	(void)session;
	(void)key;
	(void)value;
	return NB_OK;
}

int
del(struct nb_session *session, struct nb_slice key)
{
	(void)session;
	(void)key;
	return NB_OK;
}

int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	(void)session;
	(void)args;
	return NB_OK;
}

/* Ends its process, as a bug would. */
int
get_crashing(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	(void)session;
	(void)key;
	(void)value;
	raise(SIGSEGV);
	return NB_OK;
}

int
put_hanging(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	(void)session;
	(void)key;
	(void)value;
	while (pause() != 0)
		continue;
	return NB_OK;
}

/* Long enough for somebody who looks to see seconds pass. */
int
flush_slowly(struct nb_db *db, uint32_t upto)
{
	(void)db;
	(void)upto;
	nanosleep(&(struct timespec){.tv_sec = 3, .tv_nsec = 500000000}, NULL);
	return NB_OK;
}

/* Right, but not as the host would write them. */
extern const struct nb_option odd_defaults[];
const struct nb_option odd_defaults[] = {
	{.name = "cached", .type = NB_OPT_BOOL, .def = "1", .help = "a bool"},
	{.name = "checked", .type = NB_OPT_BOOL, .def = "off", .help = "a bool"},
	{.name = "map_size", .type = NB_OPT_BYTES, .def = "1048576", .help = "a size"},
	{.name = NULL},
};

/* More rows than any engine has, and none of them ends the table. */
#define ROW \
	{ \
		.name = "again", .type = NB_OPT_U64, .def = "1", .help = "a number" \
	}
#define ROWS_4(row) row, row, row, row
extern const struct nb_option endless[];
const struct nb_option endless[] = {ROWS_4(ROWS_4(ROWS_4(ROWS_4(ROW)))), ROW};

/* A table of which nothing can be read. */
#define NO_TABLE ((const struct nb_option *)sizeof(struct nb_option))

#ifdef PLUGIN_LOADING
static void __attribute__((constructor)) on_load(void)
{
	PLUGIN_LOADING;
}
#endif

/* One of each type, and one without a default. */
extern const struct nb_option every_option[];
const struct nb_option every_option[] = {
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

extern const struct nb_option bad_default[];
const struct nb_option bad_default[] = {
	{.name = "levels", .type = NB_OPT_U64, .def = "seven", .help = "a count"},
	{.name = NULL},
};

extern const struct nb_option name_with_equals[];
const struct nb_option name_with_equals[] = {
	{.name = "sync=now", .type = NB_OPT_BOOL, .help = "cannot be typed"},
	{.name = NULL},
};

/* Of a header to come, which has a use for the spare fields. */
extern const struct nb_option later_option[];
const struct nb_option later_option[] = {
	{.name = "sync", .type = NB_OPT_BOOL, .def = "no", .help = "a bool", .spare_u32 = 1},
	{.name = NULL},
};

/* With the second choice, or flat, it is another table. */
extern const struct nb_option types[];
const struct nb_option types[] = {
	{.name = "type",
		.type = NB_OPT_CHOICE,
		.def = "tree",
		.choices = "tree|hash",
		.help = "a choice"},
	{.name = "flat", .type = NB_OPT_BOOL, .def = "no", .help = "a bool"},
	{.name = NULL},
};

/* One of those offered where the path says so, and one that is none. */
uint32_t
auto_by_path(const char *path)
{
	if (strstr(path, "none-such") != NULL)
		return NB_DUR_PERIODIC;
	return strstr(path, "memory") != NULL ? NB_DUR_COMMIT : NB_DUR_PROCESS;
}

#ifndef PLUGIN_VARIANT_NAME
#define PLUGIN_VARIANT_NAME PLUGIN_NAME
#endif
#ifndef PLUGIN_VARIANT_OPTIONS
#define PLUGIN_VARIANT_OPTIONS PLUGIN_OPTIONS
#endif
#ifndef PLUGIN_VARIANT_GET
#define PLUGIN_VARIANT_GET get
#endif

const struct nb_engine *
variant(const struct nb_option_value *values)
{
	static const struct nb_engine hash = {
		.abi = PLUGIN_ABI,
		.size = sizeof(hash),
		.name = PLUGIN_VARIANT_NAME,
		.summary = "a variant",
		.licence = "BSD-2-Clause",
		.home = "part of mininb",
		.build = NB_ENGINE_BUILD,
		.caps = NB_CAP_SYNTHETIC,
		.durabilities = NB_DUR_BIT(NB_DUR_COMMIT),
		.auto_durability = NB_DUR_COMMIT,
		.options = PLUGIN_VARIANT_OPTIONS,
		.version = version,
		.open = db_open,
		.close = db_close,
		.session_open = session_open,
		.session_close = session_close,
		.get = PLUGIN_VARIANT_GET,
		.put = put,
		.del = del,
	};
	return values[0].u64 == 1 || values[1].u64 == 1 ? &hash : NULL;
}

#ifdef PLUGIN_NEWER
/* Of a header to come, which knows four more fields. */
static const struct {
	struct nb_engine known;
	void *later[4];
} engine = {{
#else
static const struct nb_engine engine = {
#endif
		    .abi = PLUGIN_ABI,
		    .size = PLUGIN_SIZE,
		    .name = PLUGIN_NAME,
		    .summary = "made for the tests of the loader",
		    .licence = "BSD-2-Clause",
		    .home = "part of mininb",
		    .build = NB_ENGINE_BUILD,
		    .caps = PLUGIN_CAPS,
		    .durabilities = PLUGIN_DURABILITIES,
		    .auto_durability = PLUGIN_AUTO_DURABILITY,
		    .key_size_max = PLUGIN_KEY_SIZE_MAX,
		    .value_size_max = PLUGIN_VALUE_SIZE_MAX,
		    .options = PLUGIN_OPTIONS,
		    .version = PLUGIN_VERSION,
		    .open = PLUGIN_OPEN,
		    .close = PLUGIN_CLOSE,
		    .session_open = PLUGIN_SESSION_OPEN,
		    .session_close = PLUGIN_SESSION_CLOSE,
		    .get = PLUGIN_GET,
		    .put = PLUGIN_PUT,
		    .del = PLUGIN_DEL,
		    .insert = PLUGIN_INSERT,
		    .scan_open = PLUGIN_SCAN_OPEN,
		    .flush = PLUGIN_FLUSH,
		    .variant = PLUGIN_VARIANT,
		    .auto_durability_at = PLUGIN_AUTO_DURABILITY_AT,
#ifdef PLUGIN_NEWER
	    },
	{&the_db, &the_db, &the_db, &the_db}};
#else
};
#endif

#if defined(PLUGIN_NO_ENTRY)
extern const void *const unused;
const void *const unused = &engine;
#elif defined(PLUGIN_NULL_TABLE)
extern const void *const unused;
const void *const unused = &engine;
const struct nb_engine *
nb_engine_plugin(void)
{
	return NULL;
}
#elif defined(PLUGIN_NEWER)
	NB_ENGINE_PLUGIN(engine.known)
#else
	NB_ENGINE_PLUGIN(engine)
#endif
