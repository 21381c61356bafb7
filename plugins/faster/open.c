/* SPDX-License-Identifier: BSD-2-Clause */
/* Open and close of a database: its options, the sizes that follow from them, and its parts. */
#include "store.h"

#include <sys/file.h>

enum {
	INFLIGHT = 64, /* requests in flight, if the host gives no number */
	PAGES_MIN = 8,
	PAGES_MAX = 1 << 22,
	PAGES_WANTED = 64
};
#define PAGE_MIN (4ull << 10)
#define PAGE_USUAL_MIN (64ull << 10)
#define PAGE_USUAL_MAX (4ull << 20)
#define PAGE_MAX (1ull << 29)
#define MEMORY_USUAL (1ull << 30)

#define OPTIONS(X) \
	X(PAGE_SIZE, BYTES, "page_size", NULL, PAGE_MIN, PAGE_MAX, \
		"page of a new log, a power of two; a record fits into one") \
	X(PAGES, U64, "log_pages", NULL, "pages", 0, 0, \
		"pages of the log in memory; default: as many as the cache has room for") \
	X(MUTABLE, REAL, "mutable_fraction", "0.9", NULL, \
		"part of the memory of the log in which records change in place, 0 to 1") \
	X(INDEX_SIZE, BYTES, "index_size", NULL, 0, 1ull << 42, \
		"size of a new hash index; it grows by itself") \
	X(LOG_DIR, TEXT, "log_dir", NULL, \
		"directory of the log, which has to exist; default: that of the database") \
	X(LIMIT, BYTES, "log_limit", NULL, 0, 0, \
		"largest size of the log; it is compacted when it is reached, and writes fail if that frees nothing") \
	X(INDEX_CHECKPOINT, CHOICE, "index_checkpoint", "auto", "auto|yes|no", \
		"copy the index to a file at a checkpoint or close, so that the next open need not read the whole log") \
	X(ACCEPT_LOSS, BOOL, "accept_loss", "no", \
		"open a log that is damaged before its synced end; all records after the last valid cut before the damage are dropped") \
	X(READS, CHOICE, "reads", "auto", "auto|io_uring|threads", \
		"how records on storage are read") \
	X(PROMOTE, BOOL, "promote", "no", \
		"append each record that a get reads from storage, so that the next get finds it in memory") \
	X(DIRECT, CHOICE, "direct", "auto", "auto|yes|no", \
		"read and write the log without the page cache") \
	X(SYNC_INTERVAL, TIME, "sync_interval", "1s", 1000000, 3600000000000ull, \
		"time between two syncs of the log, with the durability periodic")

enum { OPTIONS(OPTION_ID) };
const struct nb_option store_options[] = {OPTIONS(OPTION_ROW) NB_OPTION_END};

/* ---- sizes ---- */

static uint64_t
power_of_two(uint64_t least)
{
	uint64_t power = 1;

	while (power < least)
		power *= 2;
	return power;
}

static uint64_t
expected_record(const struct nb_open_args *args)
{
	uint64_t key = args->key_size != 0 ? args->key_size : 16;
	uint64_t value = args->value_size != 0 ? args->value_size : 100;
	return record_size((size_t)key, (size_t)value);
}

static uint64_t
usual_page(const struct nb_open_args *args, uint64_t memory)
{
	uint64_t page = power_of_two(memory / PAGES_WANTED / 2 + 1);
	uint64_t record = power_of_two(4 * expected_record(args));

	page = page < PAGE_USUAL_MIN ? PAGE_USUAL_MIN : page;
	page = page > PAGE_USUAL_MAX ? PAGE_USUAL_MAX : page;
	page = page < record ? record : page;
	return page < PAGE_MAX ? page : PAGE_MAX;
}

static unsigned
level_of(const struct nb_open_args *args)
{
	const struct nb_option_value *size = &args->options[INDEX_SIZE];
	uint64_t buckets = size->is_set != 0 ? size->u64 / sizeof(struct bucket)
					     : args->records / RECORDS_A_BUCKET + 1;
	uint64_t usual = size->is_set != 0 ? 1 : 1ull << 16;
	unsigned level = LEVEL_MIN;

	while (level < LEVEL_MAX && 1ull << level < (buckets > usual ? buckets : usual))
		level++;
	return level;
}

/* ---- opening ---- */

static int
choose_meta(struct nb_db *db, const struct nb_open_args *args, uint64_t memory)
{
	const struct nb_option_value *page = &args->options[PAGE_SIZE];
	int rc = meta_read(&db->meta, db->host, args->path);

	if (page->is_set != 0 && (page->u64 & (page->u64 - 1)) != 0)
		return db->host->fail(NB_UNSUPPORTED, "page_size is not a power of two: %llu",
			(unsigned long long)page->u64);
	if (rc == NB_OK && page->is_set != 0 && page->u64 != db->meta.page_size)
		return db->host->fail(NB_UNSUPPORTED,
			"the log has pages of %llu bytes; page_size is for a new one",
			(unsigned long long)db->meta.page_size);
	if (rc != NB_NOT_FOUND)
		return rc;
	if ((args->flags & NB_OPEN_CREATE) == 0)
		return db->host->fail(NB_FAIL, "no database in %s", args->path);
	db->meta = (struct meta){
		.page_size = page->is_set != 0 ? page->u64 : usual_page(args, memory),
		.level = level_of(args),
		.tag_level = level_of(args)};
	return NB_OK;
}

/*
 * The directory of a new log is synced before meta is written. Otherwise a power loss may leave
 * meta without the log: until a sync, a POSIX file system may store names in any order.
 */
static int
open_file(struct nb_db *db, const struct nb_open_args *args)
{
	uint64_t direct = args->options[DIRECT].u64;
	bool is_direct = direct == 1 ||
		(direct == 0 && args->durability != NB_DUR_PROCESS &&
			args->durability != NB_DUR_PERIODIC);
	bool is_elsewhere = args->options[LOG_DIR].is_set != 0;
	const char *dir = is_elsewhere ? args->options[LOG_DIR].text : db->path;
	char path[sizeof(db->path) + 8];
	bool is_new = db->meta.opening == 0;

	snprintf(path, sizeof(path), "%s/log", dir);
	bool is_there = access(path, F_OK) == 0;
	if (!is_new && !is_there)
		return db->host->fail(NB_FAIL,
			"the log of this database is not at %s; set log_dir to its directory",
			path);
	int rc = NB_OK;
	if (is_new && is_elsewhere)
		rc = file_make(db->host, path, db->path, db->durability >= NB_DUR_PERIODIC);
	if (rc == NB_OK)
		rc = file_open(&db->file, db->host, path, is_direct);
	if (rc != NB_OK || !is_new || db->durability < NB_DUR_PERIODIC)
		return rc;
	int error = sync_path(dir);
	if (error == 0)
		return NB_OK;
	file_close(&db->file);
	return db->host->fail(NB_FAIL, "sync %s: %s", dir, strerror(error));
}

/* Lock a separate file: the io_uring of a killed process keeps the log open for some time. */
static int
lock_directory(struct nb_db *db)
{
	char path[sizeof(db->path) + 8];

	snprintf(path, sizeof(path), "%s/lock", db->path);
	db->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (db->lock_fd < 0)
		return db->host->fail(NB_FAIL, "open %s: %s", path, strerror(errno));
	if (flock(db->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return NB_OK;
	close(db->lock_fd);
	return db->host->fail(
		NB_FAIL, "the database in %s is in use by another process", db->path);
}

static int
open_log(struct nb_db *db, const struct nb_open_args *args, uint64_t memory)
{
	const struct nb_option_value *pages = &args->options[PAGES];
	uint64_t page = db->meta.page_size, least = PAGES_MIN * page;
	struct log_args to = {.page_size = page,
		.capacity = memory > least ? memory / page * page : least,
		.mutable_fraction = args->options[MUTABLE].real,
		.limit = args->options[LIMIT].is_set != 0 ? args->options[LIMIT].u64 : 0,
		.is_durable = args->durability != NB_DUR_NONE,
		.is_synced = args->durability == NB_DUR_COMMIT};

	if (pages->is_set != 0)
		to.capacity = pages->u64 * page;
	if (pages->is_set != 0 && (pages->u64 < PAGES_MIN || pages->u64 > PAGES_MAX))
		return db->host->fail(
			NB_UNSUPPORTED, "log_pages is from %u to %u", PAGES_MIN, PAGES_MAX);
	if (to.capacity > memory && pages->is_set == 0 && args->cache_bytes != 0)
		db->host->log(NB_LOG_WARNING,
			"faster: the log takes %llu bytes of memory, %u pages, instead of %llu",
			(unsigned long long)to.capacity, PAGES_MIN, (unsigned long long)memory);
	if (to.limit != 0 && to.limit < 2 * page)
		return db->host->fail(NB_UNSUPPORTED,
			"log_limit is less than two pages of %llu bytes",
			(unsigned long long)page);
	return log_open(&db->log, db->host, db->epochs, &db->file, &to);
}

static int
open_index(struct nb_db *db)
{
	int rc = recover(db);

	if (rc != NB_OK)
		goto close_index;
	db->meta.is_closed = 0;
	db->meta.tail = db->log.durable;
	db->meta.opening++;
	db->log.opening = db->meta.opening;
	rc = meta_write(&db->meta, db->host, db->path, db->durability >= NB_DUR_PERIODIC);
	if (rc == NB_OK)
		return NB_OK;
close_index:
	index_close(&db->index);
	return rc;
}

static int
open_threads(struct nb_db *db)
{
	pthread_condattr_t clock;

	db->keeper_epoch = epoch_open(db->epochs, db->sessions, NULL);
	db->stats_epoch = epoch_open(db->epochs, db->sessions + 1, NULL);
	db->readers = readers_new(&db->file);
	db->open = calloc(db->sessions, sizeof(*db->open));
	if (db->keeper_epoch == NULL || db->stats_epoch == NULL || db->readers == NULL ||
		db->open == NULL) {
		db->host->fail(NB_FAIL, "out of memory");
		goto free_parts;
	}
	pthread_mutex_init(&db->lock, NULL);
	pthread_mutex_init(&db->shaping, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&db->wake, &clock);
	pthread_condattr_destroy(&clock);
	pthread_cond_init(&db->compaction_ended, NULL);
	db->can_grow = true;
	if (log_start_flusher(&db->log) != NB_OK)
		goto destroy_lock;
	if (keeper_start(db) == NB_OK)
		return NB_OK;
	log_stop_flusher(&db->log);
destroy_lock:
	pthread_cond_destroy(&db->compaction_ended);
	pthread_cond_destroy(&db->wake);
	pthread_mutex_destroy(&db->shaping);
	pthread_mutex_destroy(&db->lock);
free_parts:
	if (db->readers != NULL)
		readers_delete(db->readers);
	free(db->open);
	return NB_FAIL;
}

static void
take_args(struct nb_db *db, const struct nb_open_args *args)
{
	db->host = args->host;
	snprintf(db->path, sizeof(db->path), "%s", args->path);
	db->durability = args->durability;
	db->sessions = args->sessions != 0 ? args->sessions : 1;
	db->inflight_ops = args->inflight_ops != 0 ? args->inflight_ops : INFLIGHT;
	db->inflight_bytes = args->inflight_bytes;
	db->record_guess = expected_record(args);
	db->how_to_read = (int)args->options[READS].u64;
	db->index_files = (int)args->options[INDEX_CHECKPOINT].u64;
	db->accepts_loss = args->options[ACCEPT_LOSS].u64 != 0;
	db->promotes = args->options[PROMOTE].u64 != 0;
	if (args->durability == NB_DUR_PERIODIC)
		db->periodic_ns = args->options[SYNC_INTERVAL].u64;
}

static void
keep(void *to, unsigned kind, uint64_t what)
{
	(void)to; /* never called: nothing is retired, index_grow() itself waits */
	(void)kind;
	(void)what;
}

static int
open_parts(struct nb_db *db, const struct nb_open_args *args)
{
	uint64_t memory = args->cache_bytes != 0 ? args->cache_bytes : MEMORY_USUAL;

	db->epochs = epochs_new(db->sessions + 2, keep);
	if (db->epochs == NULL)
		return db->host->fail(NB_FAIL, "out of memory");
	int rc = lock_directory(db);
	if (rc != NB_OK)
		goto delete_epochs;
	rc = choose_meta(db, args, memory);
	if (rc == NB_OK)
		rc = open_file(db, args);
	if (rc != NB_OK)
		goto unlock;
	rc = open_log(db, args, memory);
	if (rc != NB_OK)
		goto close_file;
	rc = open_index(db);
	if (rc != NB_OK)
		goto close_log;
	rc = open_threads(db);
	if (rc == NB_OK)
		return NB_OK;
	index_close(&db->index);
close_log:
	log_close(&db->log);
close_file:
	file_close(&db->file);
unlock:
	close(db->lock_fd);
delete_epochs:
	epochs_delete(db->epochs);
	return rc;
}

int
store_open(struct nb_db **out, const struct nb_open_args *args)
{
	double part = args->options[MUTABLE].real;

	if (!(part >= 0 && part <= 1))
		return args->host->fail(
			NB_UNSUPPORTED, "mutable_fraction is from 0 to 1, not %g", part);
	struct nb_db *db = aligned_alloc(128, (sizeof(*db) + 127) & ~(size_t)127);
	if (db == NULL)
		return args->host->fail(NB_FAIL, "out of memory");
	memset(db, 0, sizeof(*db));
	take_args(db, args);
	int rc = open_parts(db, args);
	if (rc != NB_OK) {
		free(db);
		return rc;
	}
	*out = db;
	return NB_OK;
}

/* Stores the end of the log in meta, so the next open can detect damage. */
int
store_close(struct nb_db *db)
{
	bool is_synced = db->durability >= NB_DUR_PERIODIC;

	keeper_stop(db);
	log_stop_flusher(&db->log);
	int rc = checkpoint_write(db, is_synced, false);
	if (rc == NB_OK) {
		db->meta.is_closed = 1;
		db->meta.tail = db->log.flushed;
		rc = meta_write(&db->meta, db->host, db->path, is_synced);
	}
	readers_delete(db->readers);
	index_close(&db->index);
	log_close(&db->log);
	file_close(&db->file);
	close(db->lock_fd);
	epochs_delete(db->epochs);
	pthread_cond_destroy(&db->compaction_ended);
	pthread_cond_destroy(&db->wake);
	pthread_mutex_destroy(&db->shaping);
	pthread_mutex_destroy(&db->lock);
	free(db->open);
	free(db);
	return rc;
}
