/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Open and close of a store. An open recovers the existing records, then begins a new
 * generation with logs of its own. So no session ever appends to an older log, whether its end
 * is torn or not.
 */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

void
store_boot(char *boot)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 ? read(fd, boot, STORE_BOOT_SIZE - 1) : 0;

	if (fd >= 0)
		close(fd);
	boot[size > 0 ? size : 0] = '\0';
	boot[strcspn(boot, "\n")] = '\0';
}

/* Allow one process at a time. The lock ends with the process. */
static int
lock_store(struct store *store)
{
	char name[STORE_PATH_MAX + 32];

	snprintf(name, sizeof(name), "%s/masstree.lock", store->path);
	store->lock_fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	store->was_empty = store->lock_fd >= 0;
	if (store->lock_fd < 0 && errno == EEXIST)
		store->lock_fd = open(name, O_RDWR | O_CLOEXEC);
	if (store->lock_fd < 0)
		return store_failed(store, "open", name);
	if (flock(store->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return NB_OK;
	int rc = errno == EWOULDBLOCK
		? store->host->fail(
			  NB_FAIL, "masstree: %s is in use by another process", store->path)
		: store_failed(store, "lock", name);
	close(store->lock_fd);
	store->lock_fd = -1;
	return rc;
}

/*
 * Other directories keep the logs of a database whose directory is emptied. The next database in
 * this directory recognizes them by the upper bits of the id, and removes them. A directory that
 * replaces a deleted or moved one has other bits, because its time of birth is another. On a file
 * system without these times all bits are random, and nothing is removed.
 */
static int
begin_new(struct store *store, struct state *state)
{
	struct statx it;
	uint64_t id;

	if (statx(AT_FDCWD, store->path, 0, STATX_INO | STATX_BTIME, &it) != 0)
		return store_failed(store, "examine", store->path);
	if (getrandom(&id, sizeof(id), 0) != sizeof(id))
		return store_failed(store, "get random bytes for", store->path);
	if ((it.stx_mask & STATX_BTIME) != 0) {
		const uint64_t place[] = {it.stx_dev_major, it.stx_dev_minor, it.stx_ino,
			(uint64_t)it.stx_btime.tv_sec, it.stx_btime.tv_nsec};
		id = (XXH3_64bits(place, sizeof(place)) & ID_DIRECTORY) | (id & ~ID_DIRECTORY);
	}
	state->id = id | 1;
	return NB_OK;
}

/* Begin the generation of this open; `state` has the earlier ones. */
static int
begin_generation(struct store *store, struct state *state, uint64_t last, bool has_logs)
{
	bool has_memory = true;

	if (has_logs && state->closed_count < STORE_CLOSED_MAX)
		state->closed[state->closed_count++] = (struct closed){state->generation, last};
	state->generation++;
	state->level = store->durability;
	state->base = last;
	state->has_changes = false;
	store_boot(state->boot);
	for (unsigned i = 0; i < store->log_dirs.count; i++)
		has_memory = has_memory && dirs_add(&state->logs, store->log_dirs.path[i]);
	if (!has_memory)
		return store->host->fail(NB_UNSUPPORTED,
			"masstree: more than %d log directories, with those of earlier opens; write a checkpoint first",
			STORE_DIRS_MAX);
	store->id = state->id;
	store->generation = state->generation;
	store->counter = last;
	return NB_OK;
}

/* Log each directory if the user set the option. */
static void
log_directories(
	const struct store *store, const char *what, const char *list, const struct dirs *dirs)
{
	for (unsigned i = 0; list != NULL && list[0] != '\0' && i < dirs->count; i++)
		store->host->log(NB_LOG_INFO, "masstree: %s in %s", what, dirs->path[i]);
}

static void
log_recovery(const struct store *store)
{
	if (store->recovered + store->replayed > 0)
		store->host->log(NB_LOG_INFO,
			"masstree: recovered %llu records of a checkpoint and %llu changes of logs in %.3f s",
			(unsigned long long)store->recovered,
			(unsigned long long)store->replayed, (double)store->recovery_ns / 1e9);
	if (store->dropped > 0)
		store->host->log(NB_LOG_WARNING,
			"masstree: %llu changes were dropped: one before them was lost, with the power or by damage of a log",
			(unsigned long long)store->dropped);
}

static int
fill(struct store *store, const struct store_args *args)
{
	uint64_t begin = now_ns(), last = 0;
	bool has_logs = false;
	int rc = state_read(&store->state, store);

	if (rc == NB_NOT_FOUND) {
		if (!args->may_create)
			return store->host->fail(NB_FAIL,
				"masstree: no database in %s: it has no masstree.state",
				store->path);
		rc = begin_new(store, &store->state);
	} else if (rc == NB_OK) {
		rc = recover(store, &store->state, &last, &has_logs);
	}
	store->recovery_ns = now_ns() - begin;
	if (rc == NB_OK)
		rc = begin_generation(store, &store->state, last, has_logs);
	if (rc == NB_OK && store->durability != NB_DUR_NONE)
		rc = logs_open(store);
	if (rc == NB_OK) /* at the limit, a checkpoint replaces the old logs */
		rc = store->state.closed_count < STORE_CLOSED_MAX
			? state_write(&store->state, store)
			: checkpoint_write(store);
	return rc;
}

static void
store_free(struct store *store)
{
	logs_close(store);
	state_clear(&store->state);
	dirs_clear(&store->log_dirs);
	dirs_clear(&store->checkpoint_dirs);
	if (store->lock_fd >= 0)
		close(store->lock_fd);
	pthread_mutex_destroy(&store->checkpoint_lock);
	pthread_rwlock_destroy(&store->list_lock);
	free(store);
}

int
store_open(struct store **out, const struct nb_host *host, struct nb_db *tree,
	const struct store_args *args)
{
	struct store *store = aligned_alloc(128, (sizeof(*store) + 127) / 128 * 128);
	pthread_rwlockattr_t no_starving;
	int rc;

	if (store == NULL)
		return host->fail(NB_FAIL, "out of memory");
	*store = (struct store){.host = host,
		.tree = tree,
		.lock_fd = -1,
		.durability = args->durability,
		.sessions = args->sessions,
		.segment_bytes = args->segment_bytes,
		.sync_interval_ns = args->sync_interval_ns,
		.accepts_loss = args->accepts_loss};
	pthread_mutex_init(&store->checkpoint_lock, NULL);
	pthread_rwlockattr_init(&no_starving);
	pthread_rwlockattr_setkind_np(
		&no_starving, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&store->list_lock, &no_starving);
	pthread_rwlockattr_destroy(&no_starving);
	rc = realpath(args->path, store->path) != NULL
		? NB_OK
		: host->fail(NB_FAIL, "masstree: %s: %s", args->path, strerror(errno));
	if (rc == NB_OK)
		rc = dirs_read(&store->log_dirs, host, args->log_dirs, store->path, "log_dirs");
	if (rc == NB_OK)
		rc = dirs_read(&store->checkpoint_dirs, host, args->checkpoint_dirs,
			store->path, "checkpoint_dirs");
	if (rc == NB_OK)
		rc = lock_store(store);
	if (rc == NB_OK)
		rc = fill(store, args);
	if (rc != NB_OK) {
		store_free(store);
		return rc;
	}
	remove_strays(store, &store->state);
	log_recovery(store);
	if (store->logs != NULL)
		log_directories(store, "logs", args->log_dirs, &store->log_dirs);
	log_directories(store, "checkpoints", args->checkpoint_dirs, &store->checkpoint_dirs);
	*out = store;
	return NB_OK;
}

/* State how many changes the logs have, so the next open notices if they lack some. */
static int
close_logs(struct store *store)
{
	struct state *state = &store->state;
	int rc = store->durability >= NB_DUR_PERIODIC ? log_sync(store) : NB_OK;

	if (rc != NB_OK)
		return rc;
	state->has_changes = true;
	state->changes = store->checkpoints > 0
		? store->counter - state->first
		: store->replayed + store->counter - state->base;
	return state_write(state, store);
}

int
store_close(struct store *store)
{
	int rc = store->durability == NB_DUR_NONE ? checkpoint_write(store) : close_logs(store);

	store_free(store);
	return rc;
}
