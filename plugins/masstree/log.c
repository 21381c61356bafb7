/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The log of each session.
 *
 * A record is copied into a mapping of the segment, which survives kill -9 and costs no system
 * call. Its number comes from one counter, taken while the leaf is locked. That counter is the
 * only cache line that all writers share, and costs some 10 ns. In exchange, numbers have no
 * gaps, so a recovery knows for each change whether it has all earlier ones.
 */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { PAGE = 4096 };

#define LIST_BYTES_MAX (1u << 30)

uint32_t
record_checksum(const struct log_record *record, size_t size, uint64_t generation)
{
	const size_t head = offsetof(struct log_record, number_key);
	uint64_t seed = generation ^ (uint64_t)record->value_size << 32;
	uint64_t hash = XXH3_64bits_withSeed((const char *)record + head, size - head, seed);
	uint32_t checksum = (uint32_t)(hash ^ hash >> 32);

	return checksum != 0 ? checksum : 1;
}

/* --- segments --- */

const char *
log_directory(const struct log *log)
{
	const struct dirs *dirs = &log->store->log_dirs;

	return dirs->path[log->id % dirs->count];
}

void
log_name(char *name, size_t room, const struct log *log, uint64_t segment)
{
	const struct store *store = log->store;
	int size = snprintf(name, room,
		"%s/masstree-%016" PRIx64 "-log.%" PRIu64 ".%u.%" PRIu64, log_directory(log),
		store->id, store->generation, log->id, segment);

	if (size < 0 || (size_t)size >= room)
		name[0] = '\0'; /* creating a file then fails */
}

static int
segment_failed(const struct log *log, const char *what, uint64_t size, int error)
{
	return log->store->host->fail(NB_FAIL,
		"masstree: cannot %s a log segment of %llu KiB in %s: %s; the write was not done",
		what, (unsigned long long)(size >> 10), log_directory(log), strerror(error));
}

/* Create and map a file of `size` bytes with allocated blocks. */
static int
segment_make(const struct log *log, struct segment *segment, size_t size)
{
	const struct store *store = log->store;
	char name[STORE_PATH_MAX];
	struct log_header header = {.magic = LOG_MAGIC,
		.id = store->id,
		.generation = store->generation,
		.session = log->id,
		.segment = segment->number,
		.before = log->last};
	int fd, error;

	log_name(name, sizeof(name), log, segment->number);
	fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return segment_failed(log, "create", size, errno);
	error = posix_fallocate(fd, 0, (off_t)size);
	if (error != 0)
		goto remove_file;
	segment->map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	error = errno;
	if (segment->map == MAP_FAILED)
		goto remove_file;
	close(fd);
	header.checksum = XXH3_64bits(&header, offsetof(struct log_header, checksum));
	memcpy(segment->map, &header, sizeof(header));
	segment->size = size;
	segment->end = LOG_HEADER;
	segment->synced = 0;
	return NB_OK;

remove_file:
	close(fd);
	unlink(name);
	return segment_failed(log, "allocate", size, error);
}

void
segment_unmap(struct segment *segment)
{
	if (segment->map != NULL)
		munmap(segment->map, segment->size);
	segment->map = NULL;
}

/*
 * Only a recovery reads these pages. The next segments reuse their memory, so a log does not fill
 * the page cache. In a virtual machine, memory that is new to the guest costs several times as much.
 */
void
segment_uncache(const struct log *log, uint64_t number)
{
	char name[STORE_PATH_MAX];

	log_name(name, sizeof(name), log, number);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0) /* a failure costs only memory */
		return;
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

/* Undo segment_make(). If the file stayed, the next segment of this number could not be created. */
static void
segment_remove(const struct log *log, struct segment *segment)
{
	char name[STORE_PATH_MAX];

	log_name(name, sizeof(name), log, segment->number);
	unlink(name);
	segment_unmap(segment);
}

/* Move the current segment, which is full, to the full ones. The caller holds log->lock. */
static bool
segment_put_aside(struct log *log)
{
	if (log->full_count == log->full_room) {
		size_t room = log->full_room == 0 ? 16 : 2 * log->full_room;
		struct segment *full = realloc(log->full, room * sizeof(*full));
		if (full == NULL)
			return false;
		log->full = full;
		log->full_room = room;
	}
	log->now.last = log->last;
	log->full[log->full_count++] = log->now;
	return true;
}

/* Ask the sync thread to make the pages of a new segment writable. */
static void
ask_for_pages(struct store *store)
{
	pthread_mutex_lock(&store->sync_lock);
	store->has_new_segment = true;
	pthread_cond_broadcast(&store->synced);
	pthread_mutex_unlock(&store->sync_lock);
}

/* Begin a segment with room for `size` bytes. On failure the old segment stays. */
static int
segment_next(struct log *log, size_t size)
{
	size_t wanted = size + LOG_HEADER;
	struct segment next = {.number = log->now.number + 1};
	int rc;

	if (__atomic_load_n(&log->store->counter, __ATOMIC_RELAXED) > NUMBER_MAX)
		return log->store->host->fail(NB_FAIL,
			"masstree: all %d-bit numbers of log records are used; copy the records to a new database",
			NUMBER_BITS);
	if (wanted < log->store->segment_bytes)
		wanted = log->store->segment_bytes;
	wanted = (wanted + PAGE - 1) / PAGE * PAGE;
	rc = segment_make(log, &next, wanted);
	if (rc != NB_OK)
		return rc;
	pthread_mutex_lock(&log->lock);
	if (log->now.map != NULL && !segment_put_aside(log)) {
		segment_remove(log, &next);
		rc = log->store->host->fail(NB_FAIL, "masstree: out of memory for the log");
	} else {
		log->now = next;
		log->has_new_name = true;
	}
	pthread_mutex_unlock(&log->lock);
	if (rc == NB_OK && log->store->has_syncer)
		ask_for_pages(log->store);
	return rc;
}

/* --- records --- */

/*
 * Make the pages from `from` on writable with one call. Page faults, each of which calls the
 * file system, cost a write about twice as much. If the call fails, page faults do the work.
 * Returns the end of these pages.
 */
static size_t
populate(char *map, size_t from, size_t size)
{
	enum { AHEAD = 256 << 10 };
	size_t count = size - from < AHEAD ? size - from : AHEAD;

#ifdef MADV_POPULATE_WRITE
	(void)madvise(map + from, count, MADV_POPULATE_WRITE);
#endif
	return from + count;
}

/*
 * Called by the session if the sync thread is not ahead of it. Preparing a page twice is
 * harmless.
 */
static void
prepare_pages(struct segment *segment, size_t end)
{
	size_t ready = __atomic_load_n(&segment->ready, __ATOMIC_RELAXED);

	do
		ready = populate(segment->map, ready, segment->size);
	while (ready < end);
	__atomic_store_n(&segment->ready, ready, __ATOMIC_RELAXED);
}

/* Called by the sync thread. False: no pages remain. The lock is not held during the long call. */
static bool
prepare_ahead(struct log *log)
{
	pthread_mutex_lock(&log->lock);
	struct segment now = {.map = log->now.map, .size = log->now.size};
	size_t from = __atomic_load_n(&log->now.ready, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&log->lock);
	if (now.map == NULL || from >= now.size)
		return false;
	/*
	 * The segment may be unmapped meanwhile, and another mapping may be in its place. That is
	 * harmless, because populate() does not change the contents of pages.
	 */
	size_t ready = populate(now.map, from, now.size);
	pthread_mutex_lock(&log->lock);
	if (log->now.map == now.map &&
		__atomic_load_n(&log->now.ready, __ATOMIC_RELAXED) < ready)
		__atomic_store_n(&log->now.ready, ready, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&log->lock);
	return true;
}

void
logs_prepare(struct store *store)
{
	for (bool has_more = true; has_more;) {
		has_more = false;
		for (uint32_t id = 0; id < store->sessions; id++)
			has_more |= prepare_ahead(&store->logs[id]);
	}
}

/* Reserve room for a record of `size` bytes at *record. */
static int
reserve_record(struct log *log, size_t size, struct log_record **record)
{
	struct store *store = log->store;

	if (__builtin_expect(__atomic_load_n(&store->error, __ATOMIC_RELAXED) != 0, 0))
		return store->host->fail(NB_FAIL,
			"masstree: a sync of the log failed earlier: %s; nothing is written any more",
			strerror(store->error));
	if (__builtin_expect(log->now.map == NULL || size > log->now.size - log->now.end, 0)) {
		int rc = segment_next(log, size);
		if (rc != NB_OK)
			return rc;
	}
	if (__builtin_expect(
		    log->now.end + size > __atomic_load_n(&log->now.ready, __ATOMIC_RELAXED),
		    0))
		prepare_pages(&log->now, log->now.end + size);
	*record = (void *)(log->now.map + log->now.end);
	/* The cache lines of the next records: no other CPU needs them. */
	__builtin_prefetch(log->now.map + log->now.end + size + 128, 1);
	__builtin_prefetch(log->now.map + log->now.end + size + 192, 1);
	return NB_OK;
}

/*
 * Take the next number. An atomic addition waits for all earlier stores and loads, so a session
 * that is the only one avoids it.
 */
static uint64_t
take_number(struct store *store)
{
	if (store->sessions > 1)
		return __atomic_add_fetch(&store->counter, 1, __ATOMIC_ACQ_REL);
	uint64_t number = store->counter + 1;
	__atomic_store_n(&store->counter, number, __ATOMIC_RELEASE);
	return number;
}

/*
 * Begin a record with its number. This comes before all other stores to the mapping, because
 * take_number() would wait for them, and they often miss the cache.
 */
static void
begin_record(struct log *log, struct log_record *record, size_t key_size, uint32_t value_size)
{
	log->last = take_number(log->store);
	record->number_key = log->last | (uint64_t)key_size << NUMBER_BITS;
	record->value_size = value_size;
}

/* Complete the record with its checksum, and append it. */
static void
append_record(struct log *log, struct log_record *record, size_t size)
{
	record->checksum = record_checksum(record, size, log->store->generation);
	count_more(&log->appended_bytes, size);
	__atomic_store_n(&log->now.end, log->now.end + size, __ATOMIC_RELEASE);
}

static char *
add_bytes(char *at, struct nb_slice key, struct nb_slice value)
{
	memcpy(at, key.data, key.size);
	if (value.size != 0)
		memcpy(at + key.size, value.data, value.size);
	return at + key.size + value.size;
}

int
log_record(void *to, enum mt_change change, struct nb_slice key, struct nb_slice value)
{
	size_t size = log_record_size(key.size + value.size);
	struct log_record *record;
	int rc = reserve_record(to, size, &record);

	if (rc != NB_OK)
		return rc;
	begin_record(to, record, key.size,
		(uint32_t)value.size | (change == MT_DEL ? RECORD_DELETE : 0));
	add_bytes((char *)(record + 1), key, value);
	append_record(to, record, size);
	return NB_OK;
}

int
log_record_list(void *to, const struct nb_write *writes, size_t count)
{
	struct log *log = to;
	struct log_record *record;
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += sizeof(struct log_write) + writes[i].key.size + writes[i].value.size;
	if (bytes > LIST_BYTES_MAX)
		return log->store->host->fail(NB_FAIL,
			"masstree: a list writes %zu bytes, and its log record may have %u; nothing was written",
			bytes, LIST_BYTES_MAX);
	int rc = reserve_record(log, log_record_size(bytes), &record);
	if (rc != NB_OK)
		return rc;
	begin_record(log, record, 0, (uint32_t)bytes);
	char *at = (char *)(record + 1);
	for (size_t i = 0; i < count; i++) {
		struct log_write write = {(uint32_t)writes[i].key.size,
			(uint32_t)writes[i].value.size |
				(writes[i].is_delete != 0 ? RECORD_DELETE : 0)};

		memcpy(at, &write, sizeof(write));
		at = add_bytes(at + sizeof(write), writes[i].key, writes[i].value);
	}
	append_record(log, record, log_record_size(bytes));
	return NB_OK;
}

/* --- all logs --- */

int
logs_open(struct store *store)
{
	pthread_condattr_t monotonic;

	store->logs = aligned_alloc(128, store->sessions * sizeof(struct log));
	if (store->logs == NULL)
		return store->host->fail(NB_FAIL, "masstree: out of memory for the logs");
	memset(store->logs, 0, store->sessions * sizeof(struct log));
	for (uint32_t id = 0; id < store->sessions; id++) {
		store->logs[id].store = store;
		store->logs[id].id = id;
		pthread_mutex_init(&store->logs[id].trimming, NULL);
		pthread_mutex_init(&store->logs[id].lock, NULL);
	}
	pthread_mutex_init(&store->sync_lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&store->synced, &monotonic);
	pthread_condattr_destroy(&monotonic);
	store->durable = store->counter;
	if (store->durability != NB_DUR_PERIODIC)
		return NB_OK;
	int error = pthread_create(&store->syncer, NULL, logs_sync_now_and_then, store);
	store->has_syncer = error == 0;
	return error == 0 ? NB_OK
			  : store->host->fail(NB_FAIL,
				    "masstree: cannot start the thread that syncs the logs: %s",
				    strerror(error));
}

/* Cut off the unused end of the current segment. A failure costs only space. */
static void
cut_rest(const struct log *log)
{
	char name[STORE_PATH_MAX];

	if (log->now.map == NULL)
		return;
	log_name(name, sizeof(name), log, log->now.number);
	int ignored = truncate(name, (off_t)log->now.end);
	(void)ignored;
}

void
logs_close(struct store *store)
{
	if (store->logs == NULL)
		return;
	if (store->has_syncer) {
		pthread_mutex_lock(&store->sync_lock);
		store->is_closing = true;
		pthread_cond_broadcast(&store->synced);
		pthread_mutex_unlock(&store->sync_lock);
		pthread_join(store->syncer, NULL);
	}
	for (uint32_t id = 0; id < store->sessions; id++) {
		struct log *log = &store->logs[id];

		for (size_t i = 0; i < log->full_count; i++)
			segment_unmap(&log->full[i]);
		cut_rest(log);
		segment_unmap(&log->now);
		free(log->full);
		pthread_mutex_destroy(&log->lock);
		pthread_mutex_destroy(&log->trimming);
	}
	pthread_cond_destroy(&store->synced);
	pthread_mutex_destroy(&store->sync_lock);
	free(store->logs);
	store->logs = NULL;
}

void
logs_trim(struct store *store, uint64_t first)
{
	for (uint32_t id = 0; store->logs != NULL && id < store->sessions; id++) {
		struct log *log = &store->logs[id];
		size_t kept = 0;

		pthread_mutex_lock(&log->trimming);
		pthread_mutex_lock(&log->lock);
		for (size_t i = 0; i < log->full_count; i++) {
			struct segment *segment = &log->full[i];
			char name[STORE_PATH_MAX];

			if (segment->last > first) {
				log->full[kept++] = *segment;
				continue;
			}
			segment_unmap(segment);
			log_name(name, sizeof(name), log, segment->number);
			unlink(name);
		}
		log->full_count = kept;
		pthread_mutex_unlock(&log->lock);
		pthread_mutex_unlock(&log->trimming);
	}
}
