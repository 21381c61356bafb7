/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kyoto Cabinet through its C API. README.md has the measurements.
 *
 * - `type` selects one of nine databases with the same API. Each has a table here, because they
 *   differ in what they can do; with `transactions` each has a second one.
 * - Tree and hash offer durability 'none' only: a kill can turn the undo log of OAUTOTRAN and
 *   OAUTOSYNC against the file. Dir and forest write a file and rename it.
 * - A transaction belongs to the database: it would include other sessions' writes. So
 *   transactions exclude sessions in parallel.
 * - Kyoto Cabinet lends a value only inside a callback. get copies it once, into a buffer of
 *   the session.
 * - The first msiz bytes of the file are mapped, and a full disk there is a SIGBUS. open checks
 *   that they fit but does not reserve them, so that filling the file is measured.
 */
#include "../common/execute.h"

#include <kclangc.h>

/* MEMMAXSIZ in kcutil.h: beyond it nothing is promised, and nothing checked. */
#define RECORD_MAX (INT32_MAX / 2)
#define CACHE_KEY_MAX 0xfffffu /* KSIZMAX in kccachedb.h: CacheDB cuts longer keys */

#define MSIZ_DEFAULT (64ull << 20) /* DEFMSIZ in kchashdb.h */
#define BNUM_MEMORY_MAX (1ull << 28)

/* In the order of the option's choices. */
enum { TREE, HASH, DIR, FOREST, GRASS, CACHE, STASH, PTREE, PHASH, TYPES };
#define BIT(type) (1u << (type))
#define IN_FILE (BIT(TREE) | BIT(HASH))
#define IN_MEMORY (BIT(GRASS) | BIT(CACHE) | BIT(STASH) | BIT(PTREE) | BIT(PHASH))
#define PAGED (BIT(TREE) | BIT(FOREST) | BIT(GRASS))
#define SORTED (PAGED | BIT(PTREE))
#define SAFE (BIT(DIR) | BIT(FOREST)) /* from a kill */

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

/* In the order of the table: tunings from BNUM on, flags from SMALL on. */
enum { TYPE, TXN, BNUM, MSIZ, PSIZ, APOW, FPOW, DFUNIT, SMALL, LINEAR, COMPRESS, OPTIONS };

/* Tunings have Kyoto Cabinet's names and defaults, which differ from type to type. */
#define TYPE_NAMES "tree|hash|dir|forest|grass|cache|stash|ptree|phash"
static const struct nb_option options[] = {
	[TYPE] = NB_OPTION_CHOICE("type", "tree", TYPE_NAMES,
		"which database; from grass on they are in memory only"),
	[TXN] = NB_OPTION_BOOL("transactions", "no",
		"transactions and atomic batches, for one session at a time"),
	[BNUM] = NB_OPTION_U64("bnum", NULL, "buckets", 1, 1ull << 32,
		"of the hash table, a tree's is of pages; tree, hash, grass, cache, stash"),
	[MSIZ] = NB_OPTION_BYTES("msiz", NULL, 0, 1ull << 40,
		"bytes of the file mapped with mmap(2), else 64MiB; tree, hash"),
	[PSIZ] = NB_OPTION_BYTES(
		"psiz", NULL, 64, 1 << 30, "bytes of a page, else 8KiB; tree, forest, grass"),
	[APOW] = NB_OPTION_U64("apow", NULL, "power of 2", 0, 15,
		"alignment of records in the file; tree, hash"),
	[FPOW] = NB_OPTION_U64(
		"fpow", NULL, "power of 2", 0, 20, "free blocks remembered; tree, hash"),
	[DFUNIT] = NB_OPTION_U64("dfunit", NULL, "fragments", 0, 1 << 30,
		"defragment a little after so many, 0: never; tree, hash"),
	[SMALL] = NB_OPTION_BOOL("small", NULL, "addresses of 32 bits; tree, hash"),
	[LINEAR] = NB_OPTION_BOOL(
		"linear", NULL, "buckets are lists, not binary trees; tree, hash"),
	[COMPRESS] = NB_OPTION_CHOICE("compress", NULL, "none|zlib|def|gz|lzo|lzma",
		"records or pages; tree, hash, dir, forest, grass, cache"),
	NB_OPTION_END,
};
static const char *const compressors[] = {"", "zlib", "def", "gz", "lzo", "lzma"};

/* Which types look at an option, whether a database keeps it for good, its bit in "opts". */
static const struct {
	uint32_t types;
	bool is_kept;
	uint32_t flag;
} tunings[OPTIONS] = {
	[BNUM] = {IN_FILE | BIT(GRASS) | BIT(CACHE) | BIT(STASH), true, 0},
	[MSIZ] = {IN_FILE, false, 0},
	[PSIZ] = {PAGED, true, 0},
	[APOW] = {IN_FILE, true, 0},
	[FPOW] = {IN_FILE, true, 0},
	[DFUNIT] = {IN_FILE, false, 0},
	[SMALL] = {IN_FILE, true, 1 << 0},  /* TSMALL */
	[LINEAR] = {IN_FILE, true, 1 << 1}, /* TLINEAR */
	[COMPRESS] = {PAGED | BIT(HASH) | BIT(DIR) | BIT(CACHE), true, 1 << 2},
};

struct nb_db {
	const struct nb_host *host;
	const struct nb_engine *engine; /* the table of its type */
	KCDB *base;
	size_t value_size; /* of the workload, a hint */
	bool is_transactional;
	bool is_in_transaction;
	bool is_read_only;    /* the transaction */
	bool is_root_watched; /* a transactional one with pages */
	bool is_root_old;     /* in the file: see save_root() */
};

struct nb_session {
	struct nb_db *db;
	struct buffer buffer;          /* what get and scans lend */
	struct buffer kept;            /* what the gets of an execute lend */
	struct buffer keys;            /* of a batch: an array of KCSTR */
	const struct nb_write *writes; /* the batch's next one */

	KCCUR *cursor; /* of a scan */
	size_t key_size, value_size;
	bool is_backward, is_keys_only;
	bool is_fresh;         /* scan_next has not returned the cursor's record yet */
	bool is_out_of_memory; /* in a callback, which cannot fail */
};

static const struct nb_engine engines[2][TYPES]; /* [transactions][type] */

static const char *
version(void)
{
	return KCVERSION;
}

static const struct nb_engine *
variant(const struct nb_option_value *value)
{
	return &engines[value[TXN].u64][value[TYPE].u64];
}

/* --- errors --- */

/*
 * The last error of this thread becomes the failure. Kyoto Cabinet keeps only the name of a
 * system call that failed; errno mostly has the reason.
 */
static int
fail(struct nb_db *db, const char *call)
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

static int
outcome(struct nb_db *db, const char *call, int32_t is_done)
{
	return is_done ? NB_OK : fail(db, call);
}

/* The same for calls whose failure may be an answer: `code` means `answer`. */
static int
outcome_or(struct nb_db *db, const char *call, int32_t is_done, int32_t code, int answer)
{
	if (is_done)
		return NB_OK;
	return kcdbecode(db->base) == code ? answer : fail(db, call);
}

/* --- open and close --- */

/* An option that the type would not look at is refused. */
static int
check_options(const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	uint32_t type = BIT(value[TYPE].u64);
	for (size_t i = BNUM; i < OPTIONS; i++)
		if (value[i].is_set && (tunings[i].types & type) == 0)
			return args->host->fail(
				NB_UNSUPPORTED, "this type has no option %s", options[i].name);
	if ((type & IN_MEMORY) != 0 && value[BNUM].is_set && value[BNUM].u64 > BNUM_MEMORY_MAX)
		return args->host->fail(
			NB_UNSUPPORTED, "in memory bnum is at most %llu", BNUM_MEMORY_MAX);
	if (args->cache_bytes > INT64_MAX)
		return args->host->fail(NB_UNSUPPORTED, "cache is larger than 8 EiB");
	if (args->cache_bytes != 0 && (type & PAGED) == 0)
		args->host->log(
			NB_LOG_WARNING, "this type has no cache of its own; cache is ignored");
	return NB_OK;
}

/* Tunings follow the path as "#name=value"; flags by their first letters. */
static void
write_tunings(char *to, size_t room, const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	char flags[OPTIONS + 1] = "";
	size_t count = 0, at = 0;
	for (size_t i = BNUM; i < OPTIONS; i++) {
		if (!value[i].is_set)
			continue;
		if (tunings[i].flag == 0)
			at += (size_t)snprintf(to + at, room - at, "#%s=%llu", options[i].name,
				(unsigned long long)value[i].u64);
		else if (value[i].u64 != 0)
			flags[count++] = options[i].name[0];
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

/* Big bnum are rounded up, to the next of Kyoto Cabinet's primes. */
static bool
is_same(size_t option, uint64_t typed, uint64_t kept)
{
	uint32_t flag = tunings[option].flag;
	if (flag != 0)
		return (typed != 0) == ((kept & flag) != 0);
	return kept == typed || (option == BNUM && kept > typed && kept / 2 < typed);
}

/*
 * PlantDB::reorganize_file(), by which an open mends the pages of a tree or forest after a
 * crash, makes them anew with the default size. Refused, the data would be out of reach.
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

/* An existing database silently keeps the tuning that it was made with. */
static int
check_kept(struct nb_db *db, const struct nb_option_value *value)
{
	int rc = NB_OK;
	char *status = kcdbstatus(db->base);
	if (status == NULL)
		return fail(db, "kcdbstatus");
	for (size_t i = BNUM; i < OPTIONS && rc == NB_OK; i++) {
		const char *line = tunings[i].flag != 0 ? "opts" : options[i].name;
		uint64_t kept;
		if (value[i].is_set && tunings[i].is_kept && read_status(status, line, &kept) &&
			!is_same(i, value[i].u64, kept) && !is_from_crash(db, i, kept))
			rc = db->host->fail(NB_UNSUPPORTED,
				"the database was made with another %s, and keeps it (%s %llu)",
				options[i].name, line, (unsigned long long)kept);
	}
	kcfree(status);
	return rc;
}

static uint32_t
open_mode(const struct nb_open_args *args)
{
	uint32_t mode = KCOTRYLOCK; /* another process's lock is a failure, not a wait */
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
		return fail(db, "another process has it open: kcdbopen");
	return fail(db, "kcdbopen");
}

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
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
		rc = check_map_room(
			args, name, map->is_set ? map->u64 : MSIZ_DEFAULT, "-o msiz=");
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

static int
db_close(struct nb_db *db)
{
	int rc = outcome(db, "kcdbclose", kcdbclose(db->base));
	kcdbdel(db->base);
	free(db);
	return rc;
}

SESSION_OPEN_WITH(buffer)

static int
session_close(struct nb_session *session)
{
	free(session->keys.data);
	free(session->buffer.data);
	free(session->kept.data);
	free(session);
	return NB_OK;
}

static int
out_of_memory(struct nb_session *session)
{
	return session->db->host->fail(NB_FAIL, "out of memory");
}

/* --- records --- */

/* kcdbgetbuf() truncates a value that is too long for the buffer, and returns its size. */
static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	for (;;) {
		struct buffer *to = &session->buffer;
		int32_t size = kcdbgetbuf(
			session->db->base, key.data, key.size, to->data, to->room);
		if (size < 0)
			return outcome_or(
				session->db, "kcdbgetbuf", false, KCENOREC, NB_NOT_FOUND);
		*value = (struct nb_slice){to->data, (size_t)size};
		if ((size_t)size <= to->room)
			return NB_OK;
		if (!buffer_reserve(to, (size_t)size))
			return out_of_memory(session);
	}
}

static int
refuse_write(struct nb_db *db)
{
	return db->host->fail(NB_UNSUPPORTED, "a write in a read-only transaction");
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	KCDB *base = session->db->base;
	if (session->db->is_read_only)
		return refuse_write(session->db);
	return outcome(session->db, "kcdbset",
		kcdbset(base, key.data, key.size, address(value), value.size));
}

static int
insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	KCDB *base = session->db->base;
	if (session->db->is_read_only)
		return refuse_write(session->db);
	return outcome_or(session->db, "kcdbadd",
		kcdbadd(base, key.data, key.size, address(value), value.size), KCEDUPREC,
		NB_EXISTS);
}

static void
note_removal(struct nb_db *db)
{
	if (db->is_root_watched)
		db->is_root_old = true;
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	struct nb_db *db = session->db;
	if (db->is_read_only)
		return refuse_write(db);
	note_removal(db);
	return outcome_or(db, "kcdbremove", kcdbremove(db->base, key.data, key.size), KCENOREC,
		NB_NOT_FOUND);
}

/* --- transactions and batches --- */

/*
 * PlantDB writes which page is the root, the first and the last only when the number of records
 * or pages is not what it wrote last. After a removal that emptied a page, and a put, it is: to
 * abort would read back a page that is gone. So it is made to write them.
 */
static int
save_root(struct nb_db *db)
{
	if (!db->is_root_old)
		return NB_OK;
	db->is_root_old = !kcdbsync(db->base, false, NULL, NULL);
	return outcome(db, "kcdbsync", !db->is_root_old);
}

/* kcdbbegintran() would wait without end for one that is open. */
static int
begin(struct nb_session *session, uint32_t flags)
{
	struct nb_db *db = session->db;
	if (db->is_in_transaction || db->is_read_only)
		return db->host->fail(
			NB_FAIL, "a transaction is open, another session's or a failed one");
	db->is_read_only = (flags & NB_TXN_READ_ONLY) != 0;
	if (db->is_read_only)
		return NB_OK; /* no other session writes */
	int rc = save_root(db);
	if (rc != NB_OK)
		return rc;
	db->is_in_transaction = kcdbbegintran(db->base, false);
	return outcome(db, "kcdbbegintran", db->is_in_transaction);
}

/* A tree that cannot write its pages leaves the transaction open below, for close to undo. */
static int
commit(struct nb_session *session)
{
	struct nb_db *db = session->db;
	db->is_read_only = false;
	if (!db->is_in_transaction)
		return NB_OK; /* it was read-only */
	db->is_in_transaction = !kcdbendtran(db->base, true);
	return outcome(db, "kcdbendtran", !db->is_in_transaction);
}

static void
abort_txn(struct nb_session *session)
{
	struct nb_db *db = session->db;
	if (db->is_in_transaction && !kcdbendtran(db->base, false))
		db->host->log(NB_LOG_WARNING, "a transaction could not be undone whole: %s",
			kcdbemsg(db->base));
	db->is_in_transaction = db->is_read_only = false;
}

/* Called for each write of a batch in its turn; removing a missing key does nothing. */
static const char *
write_full(const char *key, size_t key_size, const char *value, size_t value_size, size_t *size,
	void *of)
{
	struct nb_session *session = of;
	const struct nb_write *write = session->writes++;
	if (write->is_delete) {
		note_removal(session->db);
		return KCVISREMOVE;
	}
	*size = write->value.size;
	return address(write->value);
}

static const char *
write_empty(const char *key, size_t key_size, size_t *size, void *of)
{
	return write_full(key, key_size, NULL, 0, size, of);
}

/* All under one lock. */
static int
write_all(struct nb_session *session, const struct nb_write *writes, size_t count)
{
	KCDB *base = session->db->base;
	session->writes = writes;
	return outcome(session->db, "kcdbacceptbulk",
		kcdbacceptbulk(base, (KCSTR *)(void *)session->keys.data, count, write_full,
			write_empty, session, true));
}

/* Set the keys. Their type allows writes to them, which Kyoto Cabinet does not do. */
static int
take_keys(struct nb_session *session, const struct nb_write *writes, size_t count)
{
	if (!buffer_reserve(&session->keys, count * sizeof(KCSTR)))
		return out_of_memory(session);
	KCSTR *keys = (KCSTR *)(void *)session->keys.data;
	for (size_t i = 0; i < count; i++)
		keys[i] = (KCSTR){(char *)(uintptr_t)writes[i].key.data, writes[i].key.size};
	return NB_OK;
}

static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	struct nb_db *db = session->db;
	bool is_atomic = (flags & NB_BATCH_ATOMIC) != 0;
	if (db->is_read_only)
		return refuse_write(db);
	if (is_atomic && !db->is_transactional)
		return db->host->fail(
			NB_UNSUPPORTED, "an atomic batch needs -o transactions=yes");
	if (is_atomic && db->is_in_transaction)
		return db->host->fail(NB_UNSUPPORTED,
			"no atomic batch within a transaction: they do not nest");
	int rc = take_keys(session, writes, count);
	if (rc == NB_OK && is_atomic)
		rc = begin(session, 0);
	if (rc != NB_OK)
		return rc;
	rc = write_all(session, writes, count);
	if (!is_atomic)
		return rc;
	if (rc == NB_OK)
		return commit(session);
	abort_txn(session);
	return rc;
}

/* --- scans --- */

static int32_t
jump(KCCUR *cursor, const struct nb_scan_args *args)
{
	const char *key = args->from.data;
	size_t size = args->from.size;
	if ((args->flags & NB_SCAN_BACKWARD) != 0)
		return size == 0 ? kccurjumpback(cursor) : kccurjumpbackkey(cursor, key, size);
	return size == 0 ? kccurjump(cursor) : kccurjumpkey(cursor, key, size);
}

/* A cursor that finds no record is at its end; scan_next returns that. */
static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	KCCUR *cursor = kcdbcursor(session->db->base);
	int rc = outcome_or(session->db, "kccurjump", jump(cursor, args), KCENOREC, NB_OK);
	if (rc != NB_OK) {
		kccurdel(cursor);
		return rc;
	}
	session->cursor = cursor;
	session->is_backward = (args->flags & NB_SCAN_BACKWARD) != 0;
	session->is_keys_only = (args->flags & NB_SCAN_KEYS_ONLY) != 0;
	session->is_fresh = true;
	return NB_OK;
}

/* A callback cannot fail: scan_next looks at the flag. */
static const char *
read_record(const char *key, size_t key_size, const char *value, size_t value_size,
	size_t *size, void *to)
{
	struct nb_session *session = to;
	session->key_size = key_size;
	session->value_size = session->is_keys_only ? 0 : value_size;
	session->is_out_of_memory = !buffer_set(&session->buffer, key, key_size) ||
		!buffer_add(&session->buffer, value, session->value_size);
	return KCVISNOP;
}

/* kccuraccept() steps forward by itself. */
static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	KCCUR *cursor = session->cursor;
	int32_t is_there = true;
	if (session->is_backward && !session->is_fresh)
		is_there = kccurstepback(cursor);
	session->is_fresh = false;
	is_there = is_there &&
		kccuraccept(cursor, read_record, session, false, !session->is_backward);
	if (!is_there)
		return outcome_or(session->db, "kccuraccept", false, KCENOREC, NB_NOT_FOUND);
	if (session->is_out_of_memory)
		return out_of_memory(session);
	*key = (struct nb_slice){session->buffer.data, session->key_size};
	*value = (struct nb_slice){
		session->buffer.data + session->key_size, session->value_size};
	return NB_OK;
}

static int
scan_close(struct nb_session *session)
{
	kccurdel(session->cursor);
	session->cursor = NULL;
	return NB_OK;
}

EXECUTE_AND_MERGE(
	*session->db->engine, session->db->is_in_transaction || session->db->is_read_only)

/* --- the whole --- */

static int
flush(struct nb_db *db, uint32_t upto)
{
	if (upto != NB_SETTLE_FLUSH)
		return db->host->fail(
			NB_UNSUPPORTED, "its C API cannot defragment; see option dfunit");
	return outcome(db, "kcdbsync", kcdbsync(db->base, true, NULL, NULL));
}

static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
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

/* --- the tables: of each type one without transactions, and one with them --- */

#define FOR(types, type, what, otherwise) ((BIT(type) & (types)) != 0 ? (what) : (otherwise))
#define CAPS(type) \
	(FOR(SORTED, type, NB_CAP_ORDERED, 0) | FOR(IN_MEMORY, type, 0, NB_CAP_PERSISTENT))
#define COMMON(type, about) \
	ENGINE_BASE("kyotocabinet"), \
		.summary = "Kyoto Cabinet: " about, .licence = "GPL-3.0-or-later", \
		.home = "https://dbmx.net/kyotocabinet/", \
		.durabilities = NB_DUR_BIT(NB_DUR_NONE) | \
		FOR(SAFE, type, NB_DUR_BIT(NB_DUR_PROCESS), 0), \
		.auto_durability = FOR(SAFE, type, NB_DUR_PROCESS, NB_DUR_NONE), \
		.key_size_max = FOR(BIT(CACHE), type, CACHE_KEY_MAX, RECORD_MAX), \
		.value_size_max = RECORD_MAX, .options = options, .open = db_open, \
		.close = db_close, ENGINE_RECORDS, .insert = insert, .batch = batch, \
		.stats = stats, .variant = variant, \
		.scan_open = FOR(SORTED, type, scan_open, NULL), \
		.scan_next = FOR(SORTED, type, scan_next, NULL), \
		.scan_close = FOR(SORTED, type, scan_close, NULL), \
		.flush = FOR(IN_MEMORY, type, NULL, flush)
#define PLAIN(type, about) \
	[type] = {COMMON(type, about), .caps = CAPS(type) | NB_CAP_CONCURRENT}
#define TRANSACTIONAL(type, about) \
	[type] = {COMMON(type, about), ENGINE_TXN, ENGINE_EXECUTE, \
		.caps = CAPS(type) | NB_CAP_ATOMIC_BATCH | NB_CAP_SERIALIZABLE}
#define EACH_TYPE(TABLE) \
	TABLE(TREE, "B+ tree in a file (TreeDB)"), \
		TABLE(HASH, "hash table in a file (HashDB)"), \
		TABLE(DIR, "a file for each record (DirDB)"), \
		TABLE(FOREST, "B+ tree, a file for each page (ForestDB)"), \
		TABLE(GRASS, "B+ tree in memory (GrassDB)"), \
		TABLE(CACHE, "hash table in memory (CacheDB)"), \
		TABLE(STASH, "compact hash table in memory (StashDB)"), \
		TABLE(PTREE, "std::map in memory (ProtoTreeDB)"), \
		TABLE(PHASH, "std::unordered_map in memory (ProtoHashDB)")

static const struct nb_engine engines[2][TYPES] = {
	{EACH_TYPE(PLAIN)}, {EACH_TYPE(TRANSACTIONAL)}};
NB_ENGINE_PLUGIN(engines[false][TREE])
