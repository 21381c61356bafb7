/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A checkpoint, written while sessions write.
 *
 * The keys are divided into ranges of similar size. Each range is a part, which is a file.
 * Threads, one for each checkpoint directory, scan the ranges. A scan is not a snapshot. The
 * parts contain all changes up to the number `first`, which is read before the scans, and some
 * later ones. A recovery repeats the changes after `first` in order, so each record gets its
 * last state. Before the checkpoint becomes valid, the logs are synced up to every change that
 * it may contain. Otherwise a power failure could keep a change and lose those that it depends
 * on.
 *
 * A part consists of blocks with checksums, so a torn or cut part is detected. The state file
 * names only complete parts.
 */
#include "store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { BLOCK_BYTES = 1 << 20, PARTS_MAX = STORE_DIRS_MAX };

unsigned
store_threads(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (cpus < 1)
		return 1;
	return cpus < STORE_THREADS_MAX ? (unsigned)cpus : STORE_THREADS_MAX;
}

struct run {
	void (*body)(void *to, unsigned index);
	void *to;
	unsigned index;
};

static void *
run_one(void *arg)
{
	struct run *run = arg;

	run->body(run->to, run->index);
	return NULL;
}

void
store_run(unsigned count, void (*body)(void *to, unsigned index), void *to)
{
	pthread_t threads[STORE_THREADS_MAX];
	struct run runs[STORE_THREADS_MAX];
	bool is_running[STORE_THREADS_MAX] = {false};

	for (unsigned i = 0; i < count; i++)
		runs[i] = (struct run){body, to, i};
	for (unsigned i = 1; i < count; i++)
		is_running[i] = pthread_create(&threads[i], NULL, run_one, &runs[i]) == 0;
	body(to, 0);
	for (unsigned i = 1; i < count; i++) {
		if (is_running[i])
			pthread_join(threads[i], NULL);
		else
			body(to, i);
	}
}

/* --- a part --- */

struct part {
	int fd;
	char *block; /* the header, then records */
	size_t size, room;
	uint64_t count, total;
	int error; /* errno */
};

static void
write_block(struct part *part)
{
	struct block_header header = {
		.size = part->size - sizeof(header), .count = part->count};

	header.checksum = XXH3_64bits_withSeed(
		part->block + sizeof(header), header.size, header.size);
	memcpy(part->block, &header, sizeof(header));
	if (part->error == 0)
		part->error = store_write(part->fd, part->block, part->size);
	part->total += part->count;
	part->size = sizeof(header);
	part->count = 0;
}

static bool
add_record(struct part *part, struct nb_slice key, struct nb_slice value)
{
	uint32_t sizes[2] = {(uint32_t)key.size, (uint32_t)value.size};
	size_t size = sizeof(sizes) + key.size + value.size;

	if (part->count > 0 && part->room - part->size < size)
		write_block(part);
	if (part->room - part->size < size) {
		char *block = realloc(part->block, part->size + size);
		if (block == NULL) {
			part->error = ENOMEM;
			return false;
		}
		part->block = block;
		part->room = part->size + size;
	}
	char *to = part->block + part->size;
	memcpy(to, sizes, sizeof(sizes));
	memcpy(to + sizeof(sizes), key.data, key.size);
	if (value.size != 0)
		memcpy(to + sizeof(sizes) + key.size, value.data, value.size);
	part->size += size;
	part->count++;
	return part->error == 0;
}

static void
end_part(struct part *part, bool is_synced)
{
	struct block_header end = {.size = 0};

	if (part->count > 0)
		write_block(part);
	end.count = part->total;
	end.checksum = XXH3_64bits_withSeed(&end.count, sizeof(end.count), 0);
	if (part->error == 0)
		part->error = store_write(part->fd, (const char *)&end, sizeof(end));
	if (part->error == 0 && is_synced && fsync(part->fd) != 0)
		part->error = errno;
}

/* --- all parts --- */

struct job {
	struct store *store;
	struct state *state; /* the next state */
	uint64_t pivots[PARTS_MAX];
	unsigned parts, threads;
	uint64_t records; /* atomic */
	int error;        /* errno of a failed part; atomic */
	int rc;           /* return value of a failed tree call; atomic */
};

/* The least key whose slice is at least the pivot. */
static struct nb_slice
key_of_pivot(uint64_t pivot, uint8_t *bytes)
{
	size_t size = 8;

	for (size_t i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(pivot >> (56 - 8 * i));
	while (size > 0 && bytes[size - 1] == 0)
		size--;
	return (struct nb_slice){bytes, size};
}

static uint64_t
slice_of(struct nb_slice key)
{
	const uint8_t *bytes = key.data;
	uint64_t slice = 0;

	for (size_t i = 0; i < 8; i++)
		slice = slice << 8 | (i < key.size ? bytes[i] : 0);
	return slice;
}

static int
scan_part(const struct job *job, struct nb_session *session, unsigned index, struct part *part)
{
	uint8_t bytes[8];
	struct nb_scan_args args = {.size = sizeof(args)};
	struct nb_slice key, value;
	int rc;

	if (index > 0)
		args.from = key_of_pivot(job->pivots[index - 1], bytes);
	rc = mt_scan_open(session, &args);
	if (rc != NB_OK)
		return rc;
	while ((rc = mt_scan_next(session, &key, &value)) == NB_OK) {
		if (index + 1 < job->parts && slice_of(key) >= job->pivots[index])
			break;
		if (!add_record(part, key, value))
			break;
	}
	mt_scan_close(session);
	return rc == NB_NOT_FOUND ? NB_OK : rc;
}

static int
write_part(struct job *job, struct nb_session *session, unsigned index)
{
	const struct state *state = job->state;
	struct part_header header = {PART_MAGIC, state->id, state->checkpoint, index};
	struct part part = {.size = sizeof(struct block_header), .room = BLOCK_BYTES};
	int rc = NB_OK;

	part.block = malloc(part.room);
	part.fd = part.block == NULL ? -1
				     : open(state->parts.path[index],
					       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	part.error = part.fd < 0 ? errno
				 : store_write(part.fd, (char *)&header, sizeof(header));
	if (part.error == 0)
		rc = scan_part(job, session, index, &part);
	if (part.fd >= 0) {
		end_part(&part, job->store->durability != NB_DUR_NONE);
		close(part.fd);
	}
	free(part.block);
	__atomic_fetch_add(&job->records, part.total, __ATOMIC_RELAXED);
	if (part.error != 0)
		__atomic_store_n(&job->error, part.error, __ATOMIC_RELAXED);
	return rc;
}

static void
write_parts(void *to, unsigned thread)
{
	struct job *job = to;
	struct nb_session *session;
	int rc = mt_session_open(&session, job->store->tree, job->store->sessions + thread);

	if (rc == NB_OK) {
		for (unsigned i = thread; i < job->parts && rc == NB_OK; i += job->threads)
			rc = write_part(job, session, i);
		mt_session_close(session);
	}
	if (rc != NB_OK)
		__atomic_store_n(&job->rc, rc, __ATOMIC_RELAXED);
}

static unsigned
divide(struct job *job, unsigned wanted)
{
	struct nb_session *session;

	if (wanted == 1 ||
		mt_session_open(&session, job->store->tree, job->store->sessions) != NB_OK)
		return 1;
	size_t count = mt_pivots(session, job->pivots, wanted - 1);
	mt_session_close(session);
	return (unsigned)count + 1;
}

static bool
name_parts(struct job *job)
{
	const struct dirs *dirs = &job->store->checkpoint_dirs;
	struct state *state = job->state;

	for (unsigned i = 0; i < job->parts; i++) {
		char name[STORE_PATH_MAX];
		int size = snprintf(name, sizeof(name),
			"%s/masstree-%016" PRIx64 "-checkpoint.%" PRIu64 ".%u",
			dirs->path[i % dirs->count], state->id, state->checkpoint, i);

		if (size < 0 || (size_t)size >= sizeof(name) || !dirs_add(&state->parts, name))
			return false;
	}
	return true;
}

static bool
sync_directories(const struct dirs *dirs)
{
	for (unsigned i = 0; i < dirs->count; i++) {
		int fd = open(dirs->path[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		bool is_done = fd >= 0 && fsync(fd) == 0;
		if (fd >= 0)
			close(fd);
		if (!is_done)
			return false;
	}
	return true;
}

static void
unlink_parts(const struct state *state)
{
	for (unsigned i = 0; i < state->parts.count; i++)
		unlink(state->parts.path[i]);
}

/*
 * Write the parts, sync the logs up to the changes that they may contain, then write the state
 * file.
 */
static int
write_files(struct job *job)
{
	struct store *store = job->store;
	int rc = NB_OK;

	if (store->logs == NULL)
		pthread_rwlock_wrlock(&store->list_lock);
	store_run(job->threads, write_parts, job);
	if (store->logs == NULL)
		pthread_rwlock_unlock(&store->list_lock);
	job->state->records = job->records;
	if (job->rc != NB_OK)
		return job->rc;
	errno = job->error;
	if (errno != 0 ||
		(store->durability != NB_DUR_NONE &&
			!sync_directories(&store->checkpoint_dirs)))
		return store_failed(
			store, "write a checkpoint in", store->checkpoint_dirs.path[0]);
	if (store->durability >= NB_DUR_PERIODIC)
		rc = log_sync(store);
	return rc == NB_OK ? state_write(job->state, store) : rc;
}

/* The caller holds checkpoint_lock. */
static int
write_checkpoint(struct store *store)
{
	const struct dirs *dirs = &store->checkpoint_dirs;
	struct state next = {.id = store->state.id,
		.generation = store->state.generation,
		.level = store->state.level,
		.base = store->state.base,
		.checkpoint = store->state.checkpoint + 1};
	struct job job = {.store = store, .state = &next};
	unsigned wanted = store_threads() > dirs->count ? store_threads() : dirs->count;
	bool has_memory = true;
	int rc;

	memcpy(next.boot, store->state.boot, sizeof(next.boot));
	next.first = logs_settled(store);
	job.parts = divide(&job, wanted);
	job.threads = dirs->count < job.parts ? dirs->count : job.parts;
	if (job.threads > STORE_THREADS_MAX)
		job.threads = STORE_THREADS_MAX;
	for (unsigned i = 0; i < store->log_dirs.count; i++)
		has_memory = has_memory && dirs_add(&next.logs, store->log_dirs.path[i]);
	if (!has_memory || !name_parts(&job)) {
		state_clear(&next);
		return store->host->fail(NB_FAIL, "masstree: out of memory for a checkpoint");
	}
	rc = write_files(&job);
	if (rc != NB_OK) {
		unlink_parts(&next);
		state_clear(&next);
		return rc;
	}
	struct state old = store->state;
	store->state = next;
	count_one(&store->checkpoints);
	unlink_parts(&old);
	logs_trim(store, next.first);
	remove_strays(store, &old);
	state_clear(&old);
	return NB_OK;
}

int
checkpoint_write(struct store *store)
{
	pthread_mutex_lock(&store->checkpoint_lock);
	int rc = write_checkpoint(store);
	pthread_mutex_unlock(&store->checkpoint_lock);
	return rc;
}

/* --- stray files --- */

static bool
is_named(const struct state *state, const char *directory, const char *name, const char *rest)
{
	char path[STORE_PATH_MAX];
	uint64_t generation;

	if (sscanf(rest, "log.%" SCNu64, &generation) == 1) {
		for (unsigned i = 0; i < state->closed_count; i++)
			if (state->closed[i].generation == generation)
				return true;
		return generation == state->generation;
	}
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	for (unsigned i = 0; i < state->parts.count; i++)
		if (strcmp(state->parts.path[i], path) == 0)
			return true;
	return false;
}

static bool
is_stray(const struct store *store, const char *directory, const char *name)
{
	uint64_t id, own = store->state.id;
	int size = 0;

	if (sscanf(name, "masstree-%16" SCNx64 "-%n", &id, &size) != 1 || size == 0)
		return false;
	return id == own ? !is_named(&store->state, directory, name, name + size)
			 : store->was_empty && ((id ^ own) & ID_DIRECTORY) == 0;
}

static void
clean_directory(const struct store *store, const char *directory)
{
	DIR *dir = opendir(directory);

	if (dir == NULL)
		return;
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		if (is_stray(store, directory, entry->d_name))
			unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
}

void
remove_strays(const struct store *store, const struct state *old)
{
	const struct dirs *lists[] = {
		&store->log_dirs, &store->checkpoint_dirs, &store->state.logs, &old->logs};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (unsigned j = 0; j < lists[i]->count; j++)
			clean_directory(store, lists[i]->path[j]);
}
