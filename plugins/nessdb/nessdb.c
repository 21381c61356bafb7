/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nessDB 1.8.2 and 2.0; NESSDB_API is 1 or 2.
 *
 * - nessDB's keys are C strings. The plugin encodes keys without zeros by consistent
 *   overhead byte stuffing (Cheshire, Baker: IEEE/ACM Transactions on Networking 7, 2,
 *   1999): each zero becomes the distance to the next one. This costs one byte for a key of
 *   up to 254 bytes.
 * - nessDB does not return errors. It passes them to a function __debug() and then
 *   continues, or calls abort(). The plugin exports a function of that name, which the
 *   linker finds first. It keeps the text and jumps out of the call. The plugin makes no
 *   further calls for that database.
 * - nessDB ignores failed calls of write(2); the plugin detects them by errno.
 * - 2.0 cannot find an empty value, and its db_remove() does not hide records in an SST. So
 *   the plugin appends a marker byte to each value, and del stores a value that marks a
 *   removal.
 * - Neither version writes its index before close, or locks all of it: the plugin locks the
 *   directory with flock(2).
 */
#include "../common/plugin.h"

#include <setjmp.h>
#include <sys/file.h>

#include <nessdb/db.h>

#if NESSDB_API == 1
#define VERSION "1.8"
#define LICENCE "BSD-3-Clause"
#define DIRECTORY "/ndbs"
#define DATA_FILE "ness.db"
enum {
	ENCODED_KEY_MAX = 63,         /* NESSDB_MAX_KEY_SIZE - 1 */
	VALUE_SIZE_MAX = 4194304 - 1, /* NESSDB_MAX_VAL_SIZE - 1 */
	PATH_SIZE_MAX = 240, /* "/ndbs/" and the path are copied into 256 bytes, unchecked */
	INDEX_ENTRY = 72     /* bytes that a write may add to the index at close */
};
#else
#define VERSION "2.0"
#define LICENCE "GPL-2.0-only"
#define DIRECTORY ""
#define DATA_FILE "ness.DB"
enum {
	ENCODED_KEY_MAX = 35,          /* NESSDB_MAX_KEY_SIZE - 1 */
	VALUE_SIZE_MAX = 10485760 - 1, /* NESSDB_MAX_VAL_SIZE, less the marker byte */
	PATH_SIZE_MAX = 960, /* "/000000.SST" and the path are copied into 1024 bytes */
	INDEX_ENTRY = 3 * 49 /* an entry, and twice the entry that it moves down */
};
#endif

enum {
	KEY_SIZE_MAX = ENCODED_KEY_MAX - 1,
	LEVEL_ERROR = 3, /* of __debug() */
	INDEX_SLACK = 1 << 20,
	STATS_ROOM = 4096,
	PATH_ROOM = 1024 /* NESSDB_PATH_SIZE: 2.0 reads this many bytes, whatever the length */
};

/* The marker byte of a value, in 2.0. */
enum { DELETED = 1, PRESENT = 2 };

struct nb_db {
	const struct nb_host *host;
	struct nessdb *base;
	int directory;     /* locked */
	uint64_t writes;   /* since open */
	bool is_abandoned; /* nessDB has failed and is not called any more */
	jmp_buf way_out;
	char text[256]; /* the reason */
};

struct nb_session {
	struct nb_db *db;
	char key[ENCODED_KEY_MAX + 1];
	char *loan;
	struct buffer value; /* with its marker byte; 2.0 only */
};

static const struct nb_engine engine;

/* The database of this thread's current call. NULL: a thread of nessDB's own. */
static _Thread_local struct nb_db *current;

/* The message of such a thread, which does not belong to a database. */
static const struct nb_host *background_host;
static bool has_background_failed;
static char background_text[200];

/* In both versions; there the level is an enumeration. */
NB_EXPORT void
__debug(char *file, int line, int level, const char *fmt, ...) NB_PRINTF(4, 5);

void
__debug(char *file, int line, int level, const char *fmt, ...)
{
	va_list args;
	if (level < LEVEL_ERROR)
		return; /* progress */
	char *text = current != NULL ? current->text : background_text;
	va_start(args, fmt);
	vsnprintf(text, sizeof(background_text), fmt, args); /* the shorter of the two */
	va_end(args);
	for (char *at = text; *at != '\0'; at++)
		if (*at < ' ' || *at > '~')
			*at = '?'; /* for example of an encoded key */
	if (current != NULL)
		longjmp(current->way_out, 1);
	background_host->log(NB_LOG_WARNING, "nessdb: in the background: %s", text);
	__atomic_store_n(&has_background_failed, true, __ATOMIC_RELEASE);
}

static const char *
version(void)
{
	return VERSION;
}

static int
abandon(struct nb_db *db, const char *call)
{
	current = NULL;
	db->is_abandoned = true;
	return db->host->fail(NB_FAIL, "%s: %s", call, db->text);
}

/* --- keys --- */

/* Returns the length, which is the key's plus one; a zero byte follows. */
static int
encode(char *to, struct nb_slice key)
{
	const unsigned char *from = key.data;
	size_t code_at = 0; /* position for the distance to the next zero */
	size_t at = 1;
	for (size_t i = 0; i < key.size; i++) {
		if (from[i] == 0) {
			to[code_at] = (char)(at - code_at);
			code_at = at;
		} else
			to[at] = (char)from[i];
		at++;
	}
	to[code_at] = (char)(at - code_at);
	to[at] = '\0';
	return (int)at;
}

/* --- the calls: each ends normally, or by the jump from __debug() --- */

/* Whether errno shows a failed write, which nessDB treats as done. */
static bool
is_failed_write(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EIO || error == EFBIG ||
		error == EROFS || error == EBADF || error == EMFILE || error == ENFILE;
}

static int
call_open(struct nb_db *db, char *path)
{
	if (setjmp(db->way_out) != 0)
		return abandon(db, "db_open");
	current = db;
#if NESSDB_API == 1
	db->base = db_open(path, 0, 0); /* no cache, see README; no log */
#else
	db->base = db_open(path);
#endif
	current = NULL;
	return NB_OK;
}

static int
call_close(struct nb_db *db)
{
	if (setjmp(db->way_out) != 0)
		return abandon(db, "db_close");
	current = db;
	db_close(db->base);
	current = NULL;
	return NB_OK;
}

/* *found: result of db_get(). */
static int
call_get(struct nb_db *db, struct slice *key, struct slice *value, int *found)
{
	if (setjmp(db->way_out) != 0)
		return abandon(db, "db_get");
	current = db;
	*found = db_get(db->base, key, value);
	current = NULL;
	return NB_OK;
}

/* value NULL: remove. */
static int
call_write(struct nb_db *db, struct slice *key, struct slice *value)
{
	if (setjmp(db->way_out) != 0)
		return abandon(db, "db_add");
	current = db;
	errno = 0;
	if (value != NULL)
		db_add(db->base, key, value);
	else
		db_remove(db->base, key);
	current = NULL;
	if (!is_failed_write(errno))
		return NB_OK;
	snprintf(db->text, sizeof(db->text), "a write failed, which nessDB passes over: %s",
		strerror(errno));
	return abandon(db, "db_add");
}

/* Check that nessDB can still be called. */
static int
check_health(struct nb_db *db)
{
	if (db->is_abandoned)
		return db->host->fail(NB_FAIL, "it has failed before: %s", db->text);
	if (!__atomic_load_n(&has_background_failed, __ATOMIC_ACQUIRE))
		return NB_OK;
	snprintf(db->text, sizeof(db->text), "in the background: %s", background_text);
	return abandon(db, "nessdb");
}

/* --- open and close --- */

/* Check the conditions for which nessDB would abort. */
static int
check_directory(struct nb_db *db, const struct nb_open_args *args, const char *directory)
{
	const struct nb_host *host = db->host;
	char file[PATH_ROOM];
	snprintf(file, sizeof(file), "%s/" DATA_FILE, directory);
	bool is_there = access(file, F_OK) == 0;
	if (!is_there && (args->flags & NB_OPEN_CREATE) == 0)
		return host->fail(NB_FAIL, "no database: %s: %s", file, strerror(errno));
	if (mkdir(directory, 0755) != 0 && errno != EEXIST)
		return host->fail(NB_FAIL, "%s: %s", directory, strerror(errno));
	db->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (db->directory < 0)
		return host->fail(NB_FAIL, "%s: %s", directory, strerror(errno));
	if (flock(db->directory, LOCK_EX | LOCK_NB) != 0)
		return host->fail(NB_FAIL, "%s: %s", directory,
			errno == EWOULDBLOCK ? "another process has it open" : strerror(errno));
	/* nessDB writes to its directory even without a put. */
	snprintf(file, sizeof(file), "%s/mininb.probe", directory);
	int probe = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (probe < 0)
		return host->fail(NB_FAIL, "%s: %s", directory, strerror(errno));
	close(probe);
	unlink(file);
	return NB_OK;
}

static int
open_base(struct nb_db *db, const struct nb_open_args *args)
{
	char directory[PATH_ROOM] = {0};
	char path[PATH_ROOM] = {0};
	if (strlen(args->path) > PATH_SIZE_MAX)
		return db->host->fail(NB_UNSUPPORTED,
			"a path of more than %d bytes, which it writes past its memory",
			PATH_SIZE_MAX);
	snprintf(path, sizeof(path), "%s", args->path);
	snprintf(directory, sizeof(directory), "%s" DIRECTORY, args->path);
	int rc = check_directory(db, args, directory);
	return rc == NB_OK ? call_open(db, path) : rc;
}

static int
engine_open(struct nb_db **out, const struct nb_open_args *args)
{
	const struct nb_host *host = args->host;
	int rc = check_durability(args, &engine);
	if (rc != NB_OK)
		return rc;
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return host->fail(NB_FAIL, "out of memory");
	db->host = background_host = host;
	has_background_failed = false;
	db->directory = -1;
	rc = open_base(db, args);
	if (rc != NB_OK)
		goto close_directory;
	if (args->cache_bytes != 0)
		host->log(NB_LOG_WARNING,
			"nessdb: cache is ignored: the cache of NessDB does not work");
	*out = db;
	return NB_OK;

close_directory:
	if (db->directory >= 0)
		close(db->directory);
	free(db);
	return rc;
}

/*
 * Close writes the index. 1.8.2 uses a map of a sparse file, so a full disk ends the
 * process; 2.0 uses unchecked writes.
 */
static int
check_room(struct nb_db *db)
{
	uint64_t need = db->writes * INDEX_ENTRY + INDEX_SLACK;
	struct statvfs info;
	if (db->writes == 0 || fstatvfs(db->directory, &info) != 0)
		return NB_OK;
	uint64_t room = (uint64_t)info.f_bavail * info.f_frsize;
	if (room >= need)
		return NB_OK;
	return db->host->fail(NB_FAIL,
		"%llu bytes are free, and its index may need %llu; the last writes are lost",
		(unsigned long long)room, (unsigned long long)need);
}

static int
engine_close(struct nb_db *db)
{
	int rc = check_health(db);
	if (rc == NB_OK)
		rc = check_room(db);
	if (rc == NB_OK)
		rc = call_close(db);
	close(db->directory);
	free(db);
	return rc;
}

SESSION_OPEN()

static int
session_close(struct nb_session *session)
{
	free(session->value.data);
	free(session);
	return NB_OK;
}

/* --- records --- */

static void
release(struct nb_session *session)
{
#if NESSDB_API == 1
	free(session->loan);
#else
	db_free_data(session->loan);
#endif
	session->loan = NULL;
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	struct nb_db *db = session->db;
	struct slice name = {.data = session->key};
	struct slice data = {0};
	int found = 0;
	int rc = check_health(db);
	if (rc != NB_OK)
		return rc;
	name.len = encode(session->key, key);
	rc = call_get(db, &name, &data, &found);
	if (rc != NB_OK)
		return rc;
	if (found != 1) /* -1: removed, and still in memory */
		return NB_NOT_FOUND;
	if (data.data == NULL)
		return db->host->fail(NB_FAIL, "db_get: the record cannot be read");
	session->loan = data.data;
#if NESSDB_API == 2
	if (data.len < 1 || data.data[data.len - 1] != PRESENT) {
		release(session);
		return NB_NOT_FOUND;
	}
	data.len--;
#endif
	*value = (struct nb_slice){data.data, (size_t)data.len};
	return NB_OK;
}

static int
write_record(struct nb_session *session, struct nb_slice key, struct slice *value)
{
	struct slice name = {.data = session->key, .len = encode(session->key, key)};
	session->db->writes++;
	return call_write(session->db, &name, value);
}

#if NESSDB_API == 1

static int
write_value(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	/* nessDB does not write to it. */
	char *data = (char *)(uintptr_t)address(value);
	struct slice slice = {.data = data, .len = (int)value.size};
	return write_record(session, key, &slice);
}

static int
write_deleted(struct nb_session *session, struct nb_slice key)
{
	return write_record(session, key, NULL);
}

#else

static int
write_value(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	const char mark = PRESENT;
	if (!buffer_set(&session->value, value.data, value.size) ||
		!buffer_add(&session->value, &mark, 1))
		return session->db->host->fail(NB_FAIL, "out of memory");
	struct slice slice = {.data = session->value.data, .len = (int)session->value.size};
	return write_record(session, key, &slice);
}

static int
write_deleted(struct nb_session *session, struct nb_slice key)
{
	char mark = DELETED;
	struct slice slice = {.data = &mark, .len = 1};
	return write_record(session, key, &slice);
}

#endif

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	int rc = check_health(session->db);
	return rc == NB_OK ? write_value(session, key, value) : rc;
}

/* Does not check whether the key exists. */
static int
del(struct nb_session *session, struct nb_slice key)
{
	int rc = check_health(session->db);
	return rc == NB_OK ? write_deleted(session, key) : rc;
}

/* --- counters, from a text with a line "name:value" for each --- */

static const struct {
	const char *label, *name, *unit;
	uint32_t kind;
} counters[] = {
#if NESSDB_API == 1
	{"total_memtable_count:", "memtable", "records", NB_STAT_GAUGE},
	{"total_count(in sst):", "indexed", "records", NB_STAT_GAUGE},
	{"total_bg_merge_count:", "merges", "merges", NB_STAT_COUNTER},
#else
	{"total_read_count:", "reads", "operations", NB_STAT_COUNTER},
	{"total_write_count:", "writes", "operations", NB_STAT_COUNTER},
	{"total_r_from_disk:", "reads_of_sst", "operations", NB_STAT_COUNTER},
	{"total_crc_errors:", "crc_errors", "records", NB_STAT_COUNTER},
	{"total_compress_count:", "compressed", "records", NB_STAT_COUNTER},
#endif
};

static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	if (db->is_abandoned)
		return;
#if NESSDB_API == 1
	const char *text = db_info(db->base);
#else
	char text[STATS_ROOM];
	struct slice slice = {.data = text, .len = sizeof(text)};
	db_stats(db->base, &slice);
#endif
	for (size_t i = 0; i < COUNT_OF(counters); i++) {
		const char *at = strstr(text, counters[i].label);
		if (at != NULL)
			emit(to, counters[i].name, counters[i].unit, counters[i].kind,
				strtoull(at + strlen(counters[i].label), NULL, 10));
	}
}

static const struct nb_engine engine = {ENGINE_BASE("nessdb"), ENGINE_RECORDS,
	.summary = "nessDB " VERSION " of BohuTANG: an index of keys beside a log of values",
	.licence = LICENCE, .home = "https://github.com/BohuTANG/nessDB",
	.caps = NB_CAP_PERSISTENT, .durabilities = NB_DUR_BIT(NB_DUR_NONE),
	.auto_durability = NB_DUR_NONE, .key_size_max = KEY_SIZE_MAX,
	.value_size_max = VALUE_SIZE_MAX, .open = engine_open, .close = engine_close,
	.release = release, .stats = stats};
NB_ENGINE_PLUGIN(engine)
