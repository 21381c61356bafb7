/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The keeper: a thread that doubles the index when it is full, and compacts the log. With
 * `periodic` it also syncs the log at intervals. It works beside the sessions, and sleeps until
 * one of them wakes it or a sync is due.
 */
#include "store.h"

#include <time.h>

enum { WAIT_NS = 1000000 };

static void
add_counts(struct counts *sum, const struct counts *counts)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)counts;

	for (size_t i = 0; i < COUNTS; i++)
		to[i] += __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

void
keeper_sum(struct nb_db *db, struct counts *sum)
{
	/* read first: sessions have counted at least as many */
	uint64_t removed = __atomic_load_n(&db->removed_entries, __ATOMIC_ACQUIRE);

	pthread_mutex_lock(&db->lock);
	*sum = db->closed;
	for (uint32_t id = 0; id < db->sessions; id++)
		if (db->open[id] != NULL)
			add_counts(sum, &db->open[id]->counts);
	pthread_mutex_unlock(&db->lock);
	sum->entries -= removed;
}

void
keeper_ask(struct nb_db *db)
{
	pthread_mutex_lock(&db->lock);
	db->is_asked = true;
	pthread_cond_signal(&db->wake);
	pthread_mutex_unlock(&db->lock);
}

int
keeper_wait_for_index(struct nb_db *db)
{
	const struct timespec a_while = {.tv_nsec = WAIT_NS};

	if (!__atomic_load_n(&db->can_grow, __ATOMIC_ACQUIRE))
		return db->host->fail(
			NB_FAIL, "the index has no room for another key: %s", db->keeper_error);
	keeper_ask(db);
	nanosleep(&a_while, NULL);
	return NB_OK;
}

/* ---- growth ---- */

static bool
is_full(struct nb_db *db)
{
	struct counts sum;
	uint64_t buckets, overflows;

	keeper_sum(db, &sum);
	index_count(&db->index, &buckets, &overflows);
	return sum.entries >= buckets * RECORDS_A_BUCKET || overflows > buckets / 2;
}

/* Store the new level before the growth: a later open needs it. */
static int
grow(struct nb_db *db)
{
	struct meta meta = db->meta;

	if (db->meta.level == LEVEL_MAX)
		return db->host->fail(NB_FAIL, "it has its greatest size");
	meta.level++;
	int rc = meta_write(&meta, db->host, db->path, db->durability >= NB_DUR_PERIODIC);
	if (rc != NB_OK)
		return rc;
	db->meta = meta;
	rc = index_grow(&db->index, db->keeper_epoch);
	if (rc != NB_OK)
		return rc;
	count_one(&db->growths);
	return NB_OK;
}

/* During a copy of the index, the growth is postponed. The copy asks the keeper when it ends. */
static void
grow_as_needed(struct nb_db *db)
{
	if (pthread_mutex_trylock(&db->shaping) != 0)
		return;
	while (__atomic_load_n(&db->can_grow, __ATOMIC_ACQUIRE) && is_full(db)) {
		if (grow(db) == NB_OK)
			continue;
		snprintf(db->keeper_error, sizeof(db->keeper_error),
			"it could not grow: no memory, or the file meta could not be written");
		db->host->log(NB_LOG_WARNING, "faster: the index stays as it is: %s",
			db->keeper_error);
		__atomic_store_n(&db->can_grow, false, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&db->shaping);
}

/* ---- compaction ---- */

int
keeper_wait_for_compaction(struct nb_db *db)
{
	pthread_mutex_lock(&db->lock);
	uint64_t number = db->compactions;
	db->is_asked = db->is_full = true;
	pthread_cond_signal(&db->wake);
	while (db->compactions == number)
		pthread_cond_wait(&db->compaction_ended, &db->lock);
	bool is_futile = db->is_futile;
	pthread_mutex_unlock(&db->lock);
	if (!is_futile)
		return NB_OK;
	return db->log.has_failed
		? log_fail(&db->log)
		: db->host->fail(NB_FAIL,
			  "the log has reached its limit on storage, and all of it is needed: give a larger log_limit");
}

/*
 * Compact the oldest quarter of the log, at least two pages. Flushes the log first if this part is
 * not written. The rest of the log remains in memory for a while.
 */
static int
compact_some(struct nb_db *db, uint64_t *freed)
{
	uint64_t page = db->log.page_size, begin = db->meta.begin;
	uint64_t some = (log_tail(&db->log) - begin) / 4 / page * page;
	int rc = NB_OK;

	some = some < 2 * page ? 2 * page : some;
	*freed = 0;
	if (log_read(&db->log.flushed) < begin + some)
		rc = log_flush(&db->log, false);
	uint64_t most = log_read(&db->log.flushed) / page * page;
	if (rc == NB_OK && most > begin)
		rc = compact(db, most < begin + some ? most : begin + some, freed);
	return rc;
}

/*
 * Whether another page exceeds the limit. The number of freed bytes is not enough to know: copies
 * also leave unused ends of pages.
 */
static bool
is_over_limit(const struct log *log)
{
	uint64_t page = log->page_size;
	uint64_t next = (log_tail(log) + page - 1) / page * page;

	return next + page - log_read(&log->begin) > log->limit;
}

/* For the sessions that wait now: compact each part of the log at most once. */
static void
compact_as_needed(struct nb_db *db)
{
	uint64_t sum = 0, freed, end = log_tail(&db->log);
	bool is_over = true;
	int rc = NB_OK;

	pthread_mutex_lock(&db->lock);
	bool is_full = db->is_full;
	db->is_full = false;
	pthread_mutex_unlock(&db->lock);
	if (!is_full)
		return;
	while (rc == NB_OK && (is_over = is_over_limit(&db->log)) &&
		db->meta.begin + db->log.page_size < end) {
		rc = compact_some(db, &freed);
		sum += freed;
	}
	pthread_mutex_lock(&db->lock);
	db->compactions++;
	db->compacted += sum;
	db->is_futile = rc != NB_OK || is_over;
	pthread_cond_broadcast(&db->compaction_ended);
	pthread_mutex_unlock(&db->lock);
}

/* ---- the thread ---- */

static void
sleep_until_asked(struct nb_db *db, uint64_t until)
{
	struct timespec time = {
		.tv_sec = (time_t)(until / 1000000000), .tv_nsec = (long)(until % 1000000000)};

	if (until == UINT64_MAX)
		pthread_cond_wait(&db->wake, &db->lock);
	else
		pthread_cond_timedwait(&db->wake, &db->lock, &time);
}

static void *
keeper_main(void *db_of_thread)
{
	struct nb_db *db = db_of_thread;
	uint64_t due = db->periodic_ns != 0 ? now_ns() + db->periodic_ns : UINT64_MAX;

	pthread_mutex_lock(&db->lock);
	while (!db->is_stopping) {
		if (!db->is_asked && now_ns() < due) {
			sleep_until_asked(db, due);
			continue;
		}
		db->is_asked = false;
		pthread_mutex_unlock(&db->lock);
		grow_as_needed(db);
		compact_as_needed(db);
		if (now_ns() >= due) {
			(void)log_flush(
				&db->log, true); /* the log keeps the error of a failure */
			due = now_ns() + db->periodic_ns;
		}
		pthread_mutex_lock(&db->lock);
	}
	pthread_mutex_unlock(&db->lock);
	return NULL;
}

int
keeper_start(struct nb_db *db)
{
	int error = pthread_create(&db->keeper, NULL, keeper_main, db);

	return error == 0
		? NB_OK
		: db->host->fail(NB_FAIL, "no thread for the index: %s", strerror(error));
}

void
keeper_stop(struct nb_db *db)
{
	pthread_mutex_lock(&db->lock);
	db->is_stopping = true;
	pthread_cond_signal(&db->wake);
	pthread_mutex_unlock(&db->lock);
	pthread_join(db->keeper, NULL);
}
