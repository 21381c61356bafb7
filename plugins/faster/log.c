/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of the hybrid log, and allocation at the tail. log.h documents the regions; flush.c
 * moves them, and reads.c reads records from storage.
 *
 * The tail is one word: an address in units of 8 bytes, and above it the low bits of a version,
 * the number of cuts. An allocation is one compare-and-swap. FASTER instead adds to its tail and
 * corrects an overflow of the page afterwards. Here the session must leave its epoch to wait for
 * a free frame. If it allocated before, the flusher could write the log with a hole in it.
 */
#include "regions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum {
	QUICK_LOOKS = 200,
	CHUNK_MAX = 4096,
	CHUNKS_A_PAGE = 16, /* at least */
	RECORDS_A_CHUNK = 4 /* at least */
};

/* ---- open and close ---- */

static size_t
chunk_size_of(const struct log_args *args)
{
	uint64_t size = args->page_size / CHUNKS_A_PAGE;

	if (args->is_durable) /* each flush would leave the rest of a chunk unused */
		return 0;
	return (size_t)(size < CHUNK_MAX ? size : CHUNK_MAX);
}

static int
map_ring(struct log *log, uint64_t capacity)
{
	uint64_t size = log->page_size;

	while (size < capacity)
		size *= 2;
	log->ring = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (log->ring == MAP_FAILED)
		return log->host->fail(NB_FAIL, "no memory for the log: %llu bytes: %s",
			(unsigned long long)size, strerror(errno));
	(void)madvise(log->ring, size, MADV_HUGEPAGE);
	log->ring_mask = size - 1;
	log->capacity = capacity;
	return NB_OK;
}

int
log_open(struct log *log, const struct nb_host *host, struct epochs *epochs, struct file *file,
	const struct log_args *args)
{
	double least = 2.0 * (double)args->page_size;
	double most = (double)args->capacity - (double)args->capacity / PAGES_FREE_SHARE -
		3.0 * (double)args->page_size;
	double wanted = (double)args->capacity * args->mutable_fraction;

	*log = (struct log){.page_size = args->page_size,
		.limit = args->limit,
		.host = host,
		.epochs = epochs,
		.file = file,
		.chunk_size = chunk_size_of(args),
		.is_durable = args->is_durable,
		.is_synced = args->is_synced,
		.mutable_size = (uint64_t)(wanted < least ? least
				: wanted > most           ? most
							  : wanted)};
	int rc = map_ring(log, args->capacity);
	if (rc != NB_OK)
		return rc;
	log->bounce = aligned_alloc(4096, 4096);
	if (log->bounce == NULL) {
		munmap(log->ring, log->ring_mask + 1);
		return host->fail(NB_FAIL, "out of memory");
	}
	pthread_mutex_init(&log->flushing, NULL);
	pthread_mutex_init(&log->lock, NULL);
	pthread_cond_init(&log->wake, NULL);
	pthread_cond_init(&log->moved, NULL);
	return NB_OK;
}

void
log_close(struct log *log)
{
	pthread_cond_destroy(&log->moved);
	pthread_cond_destroy(&log->wake);
	pthread_mutex_destroy(&log->lock);
	pthread_mutex_destroy(&log->flushing);
	free(log->bounce);
	munmap(log->ring, log->ring_mask + 1);
}

/* The first page that an open reads into memory. Leaves room for new pages. */
static uint64_t
first_resident(const struct log *log, uint64_t begin, uint64_t tail)
{
	uint64_t most = log->capacity - free_size(log) - 2 * log->page_size;
	uint64_t last = page_floor(log, tail - 1);
	uint64_t first = last + log->page_size > most ? last + log->page_size - most : 0;

	return first > page_floor(log, begin) ? first : page_floor(log, begin);
}

int
log_resume(struct log *log, uint64_t begin, const struct cut *cut)
{
	uint64_t tail = cut->address;
	uint64_t head = tail == 0 ? 0 : first_resident(log, begin, tail);

	for (uint64_t page = head; page < tail; page += log->page_size) {
		uint64_t end = page + log->page_size < tail ? page + log->page_size : tail;
		size_t size = (size_t)(block_ceiling(log->file, end) - page), got = 0;
		int error = file_read(log->file, log_at(log, page), size, page, &got);

		if (error != 0 || got < end - page)
			return log->host->fail(NB_FAIL, "%s: cannot read the page at %llu: %s",
				log->file->path, (unsigned long long)page,
				error != 0 ? strerror(error) : "the file ends before it");
	}
	log->begin = begin;
	log->head = log->safe_head = head;
	log->read_only = log->floor = log->safe_read_only = log->flushed = tail;
	log->durable = begin; /* a killed process may have left the log without a sync */
	log->tail = word_of(tail, 0);
	log->seals = cut->seals;
	log->seal_checksum = cut->checksum;
	return NB_OK;
}

/* ---- failures ---- */

int
log_set_error(struct log *log, const char *what, int error)
{
	pthread_mutex_lock(&log->lock);
	if (!log->has_failed)
		snprintf(log->error, sizeof(log->error), "%s of the log %.150s: %s", what,
			log->file->path, strerror(error));
	__atomic_store_n(&log->has_failed, true, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&log->moved);
	pthread_mutex_unlock(&log->lock);
	return NB_FAIL;
}

int
log_fail(struct log *log)
{
	return log->host->fail(NB_FAIL, "%s", log->error);
}

/* ---- allocation ---- */

void
log_wake_flusher(struct log *log, bool is_flush_wanted)
{
	pthread_mutex_lock(&log->lock);
	log->is_woken = true;
	log->is_flush_wanted |= is_flush_wanted;
	pthread_cond_signal(&log->wake);
	pthread_mutex_unlock(&log->lock);
}

static bool
has_work(struct log *log)
{
	uint64_t tail = log_tail(log);
	return tail - log_read(&log->read_only) > log->mutable_size + log->page_size ||
		tail + free_size(log) - log_read(&log->safe_head) > log->capacity;
}

/* Allocate in the next page, after its seal. 0: the tail has moved. */
static uint64_t
allocate_in_next_page(struct log *log, uint64_t *word, size_t size, bool is_limited)
{
	uint64_t address = address_of(*word), page = page_ceiling(log, address);
	uint64_t at = page + SEAL_SIZE, begin = log_read(&log->begin);

	if (size > log->page_size - SEAL_SIZE)
		return LOG_TOO_LONG;
	if (page + log->page_size > ADDRESS_MAX ||
		(is_limited && log->limit != 0 && page + log->page_size - begin > log->limit))
		return LOG_FULL;
	if (!has_frame(log, page))
		return LOG_WAIT;
	if (!__atomic_compare_exchange_n(&log->tail, word,
		    word_of(at + size, *word >> ADDRESS_BITS), false, __ATOMIC_ACQ_REL,
		    __ATOMIC_ACQUIRE))
		return 0;
	fill_page(log, address, page);
	if (has_work(log))
		log_wake_flusher(log, false);
	return at;
}

/*
 * A cut is before the allocated address: wait until `read_only` is after the cut. append_seal()
 * stores `read_only` and then `version`, immediately after the cut has its address.
 */
static void
wait_for_version(struct log *log, uint64_t version)
{
	unsigned spins = 0;

	while (((log_read(&log->version) - version) & VERSION_MASK) > VERSION_MASK / 2)
		pause_a_little(&spins);
}

static inline uint64_t
allocate(struct log *log, size_t size, bool is_limited)
{
	uint64_t word = __atomic_load_n(&log->tail, __ATOMIC_ACQUIRE);
	uint64_t address;

	for (;;) {
		address = address_of(word);
		uint64_t offset = address & (log->page_size - 1);

		if (__builtin_expect(offset != 0 && offset + size <= log->page_size, 1)) {
			if (__atomic_compare_exchange_n(&log->tail, &word,
				    word + (size >> ADDRESS_SHIFT), false, __ATOMIC_ACQ_REL,
				    __ATOMIC_ACQUIRE))
				break;
		} else {
			address = allocate_in_next_page(log, &word, size, is_limited);
			if (address != 0)
				break;
		}
	}
	if (address > LOG_TOO_LONG)
		wait_for_version(log, word >> ADDRESS_BITS);
	return address;
}

uint64_t
log_allocate(struct log *log, size_t size)
{
	return allocate(log, size, true);
}

uint64_t
log_allocate_in(struct log *log, struct log_chunk *chunk, size_t size, uint64_t after)
{
	uint64_t at = log_take(log, chunk, size, after);
	bool is_usable = size <= chunk->end - chunk->at && chunk->at >= log_read(&log->floor);

	if (at != 0)
		return at;
	if (size > log->chunk_size / RECORDS_A_CHUNK || is_usable)
		return log_allocate(log, size);
	at = log_allocate(log, log->chunk_size);
	if (at <= LOG_TOO_LONG)
		return at;
	*chunk = (struct log_chunk){at + size, at + log->chunk_size};
	racy_store64(log_at(log, chunk->at), filler_of(chunk->end - chunk->at));
	return at;
}

uint64_t
log_allocate_anyway(struct log *log, size_t size)
{
	return allocate(log, size, false);
}

/* ---- waiting, outside any epoch ---- */

int
log_wait_for_room(struct log *log)
{
	pthread_mutex_lock(&log->lock);
	count_one(&log->waits);
	while (!log->has_failed && !has_frame(log, page_ceiling(log, log_tail(log)))) {
		log->is_woken = true;
		pthread_cond_signal(&log->wake);
		pthread_cond_wait(&log->moved, &log->lock);
	}
	bool has_error = log->has_failed;
	pthread_mutex_unlock(&log->lock);
	return has_error ? log_fail(log) : NB_OK;
}

/* Takes as long as the calls that other sessions are in. */
int
log_wait_for_safety(struct log *log, uint64_t address)
{
	const struct timespec a_while = {.tv_nsec = 20000};

	for (unsigned looks = 0, spins = 0; log_read(&log->safe_read_only) <= address;) {
		if (has_failed(log))
			return log_fail(log);
		if (++looks < QUICK_LOOKS)
			pause_a_little(&spins);
		else
			nanosleep(&a_while, NULL);
	}
	return NB_OK;
}
