/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening and closing a Kyoto Cabinet database. All tunings are part of the name that it
 * opens.
 */
#include "database.h"

#define MSIZ_DEFAULT (64ull << 20) /* DEFMSIZ in kchashdb.h */
#define BNUM_MEMORY_MAX (1ull << 28)

/* The name, or its suffix, selects the type. */
static const char *const places[TYPES] = {
	[TREE] = "data.kct",
	[HASH] = "data.kch",
	[DIR] = "data.kcd",
	[FOREST] = "data.kcf",
	[GRASS] = "%",
	[CACHE] = "*",
	[STASH] = ":",
	[PTREE] = "+",
	[PHASH] = "-",
};

#define OPTION_TUNING(id, types, keeps, flag, ...) {types, keeps, flag},
static const struct {
	uint32_t types;
	bool is_kept;
	uint32_t flag;
} tunings[] = {OPTIONS(OPTION_TUNING)};

#define OPTION_OF(id, types, keeps, flag, kind, ...) NB_OPTION_##kind(__VA_ARGS__),
const struct nb_option database_options[] = {OPTIONS(OPTION_OF) NB_OPTION_END};
static const char *const compressors[] = {"", "zlib", "def", "gz", "lzo", "lzma"};

/*
 * Fail with the last error of this thread. Kyoto Cabinet reports only the name of a failed
 * system call; errno usually contains the reason.
 */
int
database_failure(struct nb_db *db, const char *call)
{
	int reason = errno;
	int32_t code = kcdbecode(db->base);
	bool is_system = code == KCESYSTEM && reason != 0;
	if (code == KCESUCCESS)
		return db->host->fail(
			NB_FAIL, "%s failed, and Kyoto Cabinet keeps no reason", call);
	return db->host->fail(NB_FAIL, "%s: %s: %s%s%s", call, kcecodename(code),
		kcdbemsg(db->base), is_system ? ": " : "", is_system ? strerror(reason) : "");
}

/* --- open and close --- */

/* Reject options that the type would ignore. */
static int
check_options(const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	uint32_t type = BIT(value[TYPE].u64);
	for (size_t i = BNUM; i < OPTION_COUNT; i++)
		if (value[i].is_set && (tunings[i].types & type) == 0)
			return args->host->fail(NB_UNSUPPORTED, "this type has no option %s",
				database_options[i].name);
	if ((type & IN_MEMORY) != 0 && value[BNUM].is_set && value[BNUM].u64 > BNUM_MEMORY_MAX)
		return args->host->fail(
			NB_UNSUPPORTED, "in memory bnum is at most %llu", BNUM_MEMORY_MAX);
	if (args->cache_bytes > INT64_MAX)
		return args->host->fail(NB_UNSUPPORTED, "cache is larger than 8 EiB");
	if (args->cache_bytes != 0 && (type & PAGED) == 0)
		args->host->log(NB_LOG_WARNING,
			"kyotocabinet: this type has no cache of its own; cache is ignored");
	return NB_OK;
}

/* Tunings follow the path as "#name=value"; flags are written as their first letters. */
static void
write_tunings(char *to, size_t room, const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	char flags[OPTION_COUNT + 1] = "";
	size_t count = 0, at = 0;
	for (size_t i = BNUM; i < OPTION_COUNT; i++) {
		if (!value[i].is_set)
			continue;
		if (tunings[i].flag == 0)
			at += (size_t)snprintf(to + at, room - at, "#%s=%llu",
				database_options[i].name, (unsigned long long)value[i].u64);
		else if (value[i].u64 != 0)
			flags[count++] = database_options[i].name[0];
	}
	if (args->cache_bytes != 0 && (BIT(value[TYPE].u64) & PAGED) != 0)
		at += (size_t)snprintf(to + at, room - at, "#pccap=%llu",
			(unsigned long long)args->cache_bytes);
	snprintf(to + at, room - at, "#opts=%s#zcomp=%s", flags,
		value[COMPRESS].is_set ? compressors[value[COMPRESS].u64] : "");
}

static bool
read_status(const char *text, const char *name, uint64_t *number)
{
	size_t length = strlen(name);
	for (; text != NULL && *text != '\0'; text = strchr(text, '\n'), text += text != NULL)
		if (strncmp(text, name, length) == 0 && text[length] == '\t') {
			*number = strtoull(text + length + 1, NULL, 10);
			return true;
		}
	return false;
}

/* Large bnum are rounded up to one of Kyoto Cabinet's primes. */
static bool
is_same(size_t option, uint64_t typed, uint64_t kept)
{
	uint32_t flag = tunings[option].flag;
	if (flag != 0)
		return (typed != 0) == ((kept & flag) != 0);
	return kept == typed || (option == BNUM && kept > typed && kept / 2 < typed);
}

/*
 * After a crash, an open repairs the pages of a tree or forest with
 * PlantDB::reorganize_file(), which recreates them with the default size. Rejecting this
 * would make the data inaccessible.
 */
static bool
is_from_crash(struct nb_db *db, size_t option, uint64_t kept)
{
	enum { PSIZ_DEFAULT = 8192 };

	if (option != PSIZ || kept != PSIZ_DEFAULT)
		return false;
	db->host->log(NB_LOG_WARNING,
		"kyotocabinet: pages have the default psiz, %d bytes, and not the one given: as they were made, or as a crash made Kyoto Cabinet rebuild them",
		PSIZ_DEFAULT);
	return true;
}

/* An existing database silently keeps the tuning of its creation. */
static int
check_kept(struct nb_db *db, const struct nb_option_value *value)
{
	int rc = NB_OK;
	char *status = kcdbstatus(db->base);
	if (status == NULL)
		return database_failure(db, "kcdbstatus");
	for (size_t i = BNUM; i < OPTION_COUNT && rc == NB_OK; i++) {
		const char *line = tunings[i].flag != 0 ? "opts" : database_options[i].name;
		uint64_t kept;
		if (value[i].is_set && tunings[i].is_kept && read_status(status, line, &kept) &&
			!is_same(i, value[i].u64, kept) && !is_from_crash(db, i, kept))
			rc = db->host->fail(NB_UNSUPPORTED,
				"the database was made with another %s, and keeps it (%s %llu)",
				database_options[i].name, line, (unsigned long long)kept);
	}
	kcfree(status);
	return rc;
}

static uint32_t
open_mode(const struct nb_open_args *args)
{
	uint32_t mode = KCOTRYLOCK; /* fail instead of waiting for another process's lock */
	if ((args->flags & NB_OPEN_READ_ONLY) != 0)
		return mode | KCOREADER;
	mode |= KCOWRITER;
	if ((args->flags & NB_OPEN_CREATE) != 0)
		mode |= KCOCREATE;
	return args->durability == NB_DUR_PROCESS ? mode | KCOAUTOTRAN : mode;
}

static int
open_failure(struct nb_db *db, const struct nb_open_args *args)
{
	int32_t code = kcdbecode(db->base);
	if (code == KCENOREPOS)
		return args->host->fail(NB_FAIL, "kcdbopen: no database in %s of this type: %s",
			args->path, kcdbemsg(db->base));
	if (code == KCESYSTEM && strcmp(kcdbemsg(db->base), "fcntl failed") == 0)
		return database_failure(db, "another process has it open: kcdbopen");
	return database_failure(db, "kcdbopen");
}

int
database_open(struct nb_db **out, const struct nb_open_args *args)
{
	const struct nb_host *host = args->host;
	uint64_t type = args->options[TYPE].u64;
	const struct nb_engine *engine = variant(args->options);
	char name[PATH_MAX + 512];
	int rc = check_durability(args, engine);
	if (rc == NB_OK)
		rc = check_options(args);
	if (rc != NB_OK)
		return rc;
	int length = (engine->caps & NB_CAP_PERSISTENT) == 0
		? snprintf(name, sizeof(name), "%s", places[type])
		: snprintf(name, sizeof(name), "%s/%s", args->path, places[type]);
	if (length >= PATH_MAX || strchr(name, '#') != NULL)
		return host->fail(NB_UNSUPPORTED,
			"the path is too long, or has a '#' (it begins parameters)");
	const struct nb_option_value *map = &args->options[MSIZ];
	if ((BIT(type) & IN_FILE) != 0 && (args->flags & NB_OPEN_READ_ONLY) == 0)
		rc = check_map_room(args, name, map->is_set ? map->u64 : MSIZ_DEFAULT, "msiz");
	if (rc != NB_OK)
		return rc;
	write_tunings(name + length, sizeof(name) - (size_t)length, args);

	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return host->fail(NB_FAIL, "out of memory");
	db->host = host;
	db->engine = engine;
	db->value_size = args->value_size <= RECORD_MAX ? args->value_size : 0;
	db->is_transactional = engine->begin != NULL;
	db->is_root_watched = db->is_transactional &&
		(BIT(args->options[TYPE].u64) & PAGED) != 0;
	db->base = kcdbnew();
	errno = 0;
	if (!kcdbopen(db->base, name, open_mode(args))) {
		rc = open_failure(db, args);
		goto free_db;
	}
	rc = check_kept(db, args->options);
	if (rc != NB_OK)
		goto close_base;
	*out = db;
	return NB_OK;

close_base:
	kcdbclose(db->base);
free_db:
	kcdbdel(db->base);
	free(db);
	return rc;
}

int
database_close(struct nb_db *db)
{
	int rc = outcome(db, "kcdbclose", kcdbclose(db->base));
	kcdbdel(db->base);
	free(db);
	return rc;
}

/* --- operations on the whole database --- */

int
database_flush(struct nb_db *db, uint32_t upto)
{
	if (upto != NB_SETTLE_FLUSH)
		return db->host->fail(
			NB_UNSUPPORTED, "its C API cannot defragment; see option dfunit");
	return outcome(db, "kcdbsync", kcdbsync(db->base, true, NULL, NULL));
}

void
database_stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	static const struct {
		const char *status, *name, *unit;
	} counters[] = {
		{"count", "records", "records"},
		{"size", "size", "bytes"},
		{"realsize", "file", "bytes"},
		{"frgcnt", "fragments", "blocks"},
		{"lcnt", "leaf_nodes", "nodes"},
		{"icnt", "inner_nodes", "nodes"},
		{"pnum", "pages", "pages"},
		{"cusage", "page_cache", "bytes"},
	};
	char *status = kcdbstatus(db->base);
	uint64_t number;

	for (size_t i = 0; i < COUNT_OF(counters); i++)
		if (read_status(status, counters[i].status, &number))
			emit(to, counters[i].name, counters[i].unit, NB_STAT_GAUGE, number);
	if (status != NULL)
		kcfree(status);
}
