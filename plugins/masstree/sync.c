/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How logs reach storage.
 *
 * A round makes changes durable together. It reads the counter, waits for sessions in the
 * middle of an older write, and syncs all logs. One thread performs a round: at `commit` one of
 * the waiting sessions, at `periodic` the sync thread. At `commit` a write is acknowledged when
 * a round has covered its number. The round has then also covered every change that the write
 * may depend on.
 */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

uint64_t
logs_settled(struct store *store)
{
	uint64_t last = __atomic_load_n(&store->counter, __ATOMIC_ACQUIRE);

	for (uint32_t id = 0; store->logs != NULL && id < store->sessions; id++) {
		const uint64_t *active = &store->logs[id].active;
		uint64_t since = __atomic_load_n(active, __ATOMIC_ACQUIRE);

		while (since != LOG_IDLE && since <= last) {
			sched_yield();
			since = __atomic_load_n(active, __ATOMIC_ACQUIRE);
		}
	}
	return last;
}

/*
 * Sync the records up to segment->end. Returns 0 or an errno.
 *
 * The kernel makes each page that it writes read-only, and interrupts the session's CPU for
 * that. So full pages are first removed from the mapping, all with one call. Their contents
 * stay in the page cache.
 */
static int
segment_sync(const struct segment *segment)
{
	size_t begin = segment->synced / PAGE * PAGE, full = segment->end / PAGE * PAGE;

	if (segment->end == segment->synced)
		return 0;
	if (full > begin)
		(void)madvise(segment->map + begin, full - begin, MADV_DONTNEED);
	return msync(segment->map + begin, segment->end - begin, MS_SYNC) == 0 ? 0 : errno;
}

static int
sync_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int error = fd >= 0 && fsync(fd) == 0 ? 0 : errno;

	if (fd >= 0)
		close(fd);
	return error;
}

/* The next segment of a log to be synced: a full one, or at the end the current one. */
struct task {
	struct segment segment; /* map NULL: nothing */
	size_t at;              /* index in log->full */
	bool is_full, has_new_name;
};

/* Find the first full segment from `at` on that is not synced, else the current segment. */
static void
find_task(struct task *task, struct log *log, size_t at)
{
	pthread_mutex_lock(&log->lock);
	while (at < log->full_count && log->full[at].map == NULL)
		at++;
	task->at = at;
	task->is_full = at < log->full_count;
	const struct segment *from = task->is_full ? &log->full[at] : &log->now;
	task->segment = (struct segment){.number = from->number,
		.map = from->map,
		.synced = from->synced,
		.size = from->size,
		.end = __atomic_load_n(&from->end, __ATOMIC_ACQUIRE)};
	task->has_new_name = log->has_new_name;
	if (!task->is_full)
		log->has_new_name = false;
	pthread_mutex_unlock(&log->lock);
}

/*
 * Note the result of a sync. If the current segment has become full meanwhile, its `synced`
 * stays, so its next sync begins earlier.
 */
static void
end_task(struct log *log, struct task *task, int error)
{
	pthread_mutex_lock(&log->lock);
	if (task->is_full && error == 0)
		log->full[task->at].map = NULL;
	if (!task->is_full && error == 0 && log->now.number == task->segment.number)
		log->now.synced = task->segment.end;
	if (!task->is_full && error != 0)
		log->has_new_name |= task->has_new_name;
	pthread_mutex_unlock(&log->lock);
	if (task->is_full && error == 0) {
		segment_unmap(&task->segment);
		segment_uncache(log, task->segment.number);
	}
}

/*
 * Sync a log, older segments first. log->lock is not held during a sync, because the session
 * needs it to begin a new segment. `trimming` keeps the mappings. Returns 0 or an errno.
 */
static int
sync_one(struct log *log)
{
	struct task task = {.is_full = true};
	int error = 0;

	pthread_mutex_lock(&log->trimming);
	for (size_t at = 0; error == 0 && task.is_full; at = task.at + 1) {
		find_task(&task, log, at);
		if (task.segment.map != NULL)
			error = segment_sync(&task.segment);
		if (error == 0 && !task.is_full && task.has_new_name)
			error = sync_directory(log_directory(log));
		end_task(log, &task, error);
	}
	pthread_mutex_unlock(&log->trimming);
	return error;
}

/* The caller holds sync_lock, which is released meanwhile. */
static void
sync_round(struct store *store)
{
	uint64_t covered;
	int error = 0;

	store->is_syncing = true;
	pthread_mutex_unlock(&store->sync_lock);
	covered = logs_settled(store);
	for (uint32_t id = 0; error == 0 && id < store->sessions; id++)
		error = sync_one(&store->logs[id]);
	pthread_mutex_lock(&store->sync_lock);
	store->is_syncing = false;
	count_one(&store->syncs);
	if (error != 0)
		__atomic_store_n(&store->error, error, __ATOMIC_RELAXED);
	else
		__atomic_store_n(&store->durable, covered, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&store->synced);
}

static int
sync_up_to(struct store *store, uint64_t number)
{
	int error;

	if (__atomic_load_n(&store->durable, __ATOMIC_ACQUIRE) >= number)
		return NB_OK;
	pthread_mutex_lock(&store->sync_lock);
	while (store->error == 0 && store->durable < number) {
		if (store->is_syncing)
			pthread_cond_wait(&store->synced, &store->sync_lock);
		else
			sync_round(store);
	}
	error = store->error;
	pthread_mutex_unlock(&store->sync_lock);
	return error == 0
		? NB_OK
		: store->host->fail(NB_FAIL,
			  "masstree: the log cannot be synced: %s; later writes may be lost",
			  strerror(error));
}

int
log_commit(struct log *log)
{
	return sync_up_to(log->store, log->last);
}

int
log_sync(struct store *store)
{
	return sync_up_to(store, __atomic_load_n(&store->counter, __ATOMIC_ACQUIRE));
}

/* The caller holds sync_lock, which is released meanwhile. */
static void
prepare_segments(struct store *store)
{
	store->has_new_segment = false;
	pthread_mutex_unlock(&store->sync_lock);
	logs_prepare(store);
	pthread_mutex_lock(&store->sync_lock);
}

void *
logs_sync_now_and_then(void *arg)
{
	struct store *store = arg;

	pthread_mutex_lock(&store->sync_lock);
	while (!store->is_closing) {
		struct timespec at;
		uint64_t due = now_ns() + store->sync_interval_ns;
		uint64_t last = __atomic_load_n(&store->counter, __ATOMIC_ACQUIRE);

		if (store->durable < last && store->error == 0 && !store->is_syncing)
			sync_round(store);
		at = (struct timespec){(time_t)(due / 1000000000), (long)(due % 1000000000)};
		while (!store->is_closing && now_ns() < due) {
			if (store->has_new_segment)
				prepare_segments(store);
			else
				pthread_cond_timedwait(&store->synced, &store->sync_lock, &at);
		}
	}
	pthread_mutex_unlock(&store->sync_lock);
	return NULL;
}
