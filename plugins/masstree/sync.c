/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How logs come onto storage.
 *
 * What is made durable together is a round: the counter is read, sessions that are in the middle
 * of an older write are waited for, and then all logs are synced. One thread does it, for
 * `commit` one of those who wait, and for `periodic` a thread of its own. A write is acknowledged
 * at `commit` when a round has covered its number, and so everything that it may depend on.
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

/* 0 or errno. */
static int
segment_sync(struct segment *segment)
{
	size_t end = __atomic_load_n(&segment->end, __ATOMIC_ACQUIRE);
	size_t begin = segment->synced / PAGE * PAGE;

	if (end == segment->synced)
		return 0;
	if (msync(segment->map + begin, end - begin, MS_SYNC) != 0)
		return errno;
	segment->synced = end;
	return 0;
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

/* Older segments first. 0 or errno. */
static int
sync_one(struct log *log)
{
	int error = 0;

	pthread_mutex_lock(&log->lock);
	for (size_t i = 0; error == 0 && i < log->full_count; i++) {
		if (log->full[i].map == NULL)
			continue;
		error = segment_sync(&log->full[i]);
		if (error == 0)
			segment_unmap(&log->full[i]);
	}
	if (error == 0 && log->now.map != NULL)
		error = segment_sync(&log->now);
	if (error == 0 && log->has_new_name) {
		error = sync_directory(log_directory(log));
		log->has_new_name = error != 0;
	}
	pthread_mutex_unlock(&log->lock);
	return error;
}

/* With sync_lock held, which is released meanwhile. */
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
	__atomic_store_n(&store->syncs, store->syncs + 1, __ATOMIC_RELAXED);
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
			  "masstree: the log cannot be synced: %s; what was written since may be lost",
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

/* With sync_lock held, which is released meanwhile. */
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
		uint64_t due = store_now_ns() + store->sync_interval_ns;
		uint64_t last = __atomic_load_n(&store->counter, __ATOMIC_ACQUIRE);

		if (store->durable < last && store->error == 0 && !store->is_syncing)
			sync_round(store);
		at = (struct timespec){(time_t)(due / 1000000000), (long)(due % 1000000000)};
		while (!store->is_closing && store_now_ns() < due) {
			if (store->has_new_segment)
				prepare_segments(store);
			else
				pthread_cond_timedwait(&store->synced, &store->sync_lock, &at);
		}
	}
	pthread_mutex_unlock(&store->sync_lock);
	return NULL;
}
