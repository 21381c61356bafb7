/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hybrid log: allocation at the tail, the regions, and the flusher. log.h says what they
 * promise; reading a record from storage is in reads.c.
 *
 * The tail is one word: an address in units of 8 bytes, and above it the low bits of a version
 * that counts appended seals. An allocation is one compare-and-swap. FASTER adds to its tail and
 * mends an overflow of the page afterwards. But an allocation that needs a frame must not be
 * made before the frame is free: its session has to leave its epoch to wait for that, and the
 * log would then be written with a hole in it.
 *
 * Who waits for whom. The one that moves the regions holds `flushing` and waits for sessions that
 * are within an epoch. So a session never waits for a region, or for `flushing`, within an epoch.
 */
#include "log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum {
	VERSION_BITS = 64 - ADDRESS_BITS,
	PAGES_A_WRITE = 4,
	PAGES_FREE_SHARE = 16, /* 1 of so many pages is kept free before the tail needs it */
	QUICK_LOOKS = 200
};
#define VERSION_MASK ((1ull << VERSION_BITS) - 1)

static uint64_t
address_of(uint64_t word)
{
	return (word & ADDRESS_MASK) << ADDRESS_SHIFT;
}

static uint64_t
word_of(uint64_t address, uint64_t version)
{
	return address >> ADDRESS_SHIFT | version << ADDRESS_BITS;
}

static uint64_t
page_floor(const struct log *log, uint64_t address)
{
	return address & ~(log->page_size - 1);
}

static uint64_t
page_ceiling(const struct log *log, uint64_t address)
{
	return page_floor(log, address + log->page_size - 1);
}

static uint64_t
free_size(const struct log *log)
{
	uint64_t share = log->capacity / PAGES_FREE_SHARE;
	return share > 2 * log->page_size ? share : 2 * log->page_size;
}

static void
publish(uint64_t *region, uint64_t address)
{
	racy_meet();
	__atomic_store_n(region, address, __ATOMIC_RELEASE);
	racy_meet();
}

/* Others only read it. */
static void
add_to(uint64_t *counter, uint64_t more)
{
	__atomic_store_n(counter, *counter + more, __ATOMIC_RELAXED);
}

/* ---- open and close ---- */

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

/* The first page of those that fit, with room for new ones. */
static uint64_t
first_resident(const struct log *log, uint64_t begin, uint64_t tail)
{
	uint64_t most = log->capacity - free_size(log) - 2 * log->page_size;
	uint64_t last = page_floor(log, tail - 1);
	uint64_t first = last + log->page_size > most ? last + log->page_size - most : 0;

	return first > page_floor(log, begin) ? first : page_floor(log, begin);
}

int
log_resume(struct log *log, uint64_t begin, uint64_t tail, uint64_t seals)
{
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
	log->read_only = log->safe_read_only = log->flushed = log->durable = tail;
	log->tail = word_of(tail, 0);
	log->seals = seals;
	return NB_OK;
}

/* ---- failures ---- */

static int
set_error(struct log *log, const char *what, int error)
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

static bool
has_failed(struct log *log)
{
	return __atomic_load_n(&log->has_failed, __ATOMIC_ACQUIRE);
}

/* ---- allocation ---- */

static void
wake_flusher(struct log *log, bool is_flush_wanted)
{
	pthread_mutex_lock(&log->lock);
	log->is_woken = true;
	log->is_flush_wanted |= is_flush_wanted;
	pthread_cond_signal(&log->wake);
	pthread_mutex_unlock(&log->lock);
}

static bool
has_frame(struct log *log, uint64_t page)
{
	return page + log->page_size - log_read(&log->safe_head) <= log->capacity;
}

static bool
has_work(struct log *log)
{
	uint64_t tail = log_tail(log);
	return tail - log_read(&log->read_only) > log->mutable_size + log->page_size ||
		tail + free_size(log) - log_read(&log->safe_head) > log->capacity;
}

/* The rest of a page that an item did not fit into. */
static void
fill_page(struct log *log, uint64_t address, uint64_t page)
{
	if (address != page)
		racy_store64(log_at(log, address), filler_of(page - address));
}

/* Where the page begins that comes next if `address` is the tail. */
static uint64_t
next_page(const struct log *log, uint64_t address)
{
	return page_ceiling(log, address);
}

/* An allocation that begins a page. 0: the tail has moved. */
static uint64_t
allocate_in_next_page(struct log *log, uint64_t *word, size_t size, bool is_limited)
{
	uint64_t address = address_of(*word), page = next_page(log, address);
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
		wake_flusher(log, false);
	return at;
}

/* A seal came before this address: until `read_only` is there, too. It is the next store. */
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
log_allocate_anyway(struct log *log, size_t size)
{
	return allocate(log, size, false);
}

/* ---- moving the regions, with `flushing` held ---- */

static bool
fill_seal(struct log *log, uint64_t start, uint64_t at, bool is_cut)
{
	struct seal *seal = (void *)log_at(log, at);

	*seal = (struct seal){.header = HEADER_LIVE | HEADER_SEAL,
		.start = start,
		.number = log->seals++,
		.opening = log->opening,
		.is_cut = is_cut};
	seal->checksum = seal_checksum(seal, log_at(log, start), (size_t)(at - start));
	return true;
}

uint64_t
seal_checksum(const struct seal *seal, const void *bytes, size_t size)
{
	struct seal own = *seal;

	own.checksum = XXH3_64bits(bytes, size);
	return XXH3_64bits(&own, sizeof(own));
}

/*
 * Fill the seals from `flushed` to `to`: one at the start of each page, and the last, which ends
 * at `to`. Each closes a part of one page.
 */
static void
fill_seals(struct log *log, uint64_t to, bool is_cut)
{
	for (uint64_t start = log->flushed; start < to;) {
		uint64_t at = page_ceiling(log, start);

		if (at + SEAL_SIZE > to)
			at = to - SEAL_SIZE;
		fill_seal(log, start, at, is_cut && at + SEAL_SIZE == to);
		start = at + SEAL_SIZE;
	}
}

/* The block at the end also has bytes that sessions are changing: zeros instead. */
static int
write_last_block(struct log *log, uint64_t block, uint64_t to)
{
	if (block == to)
		return 0;
	memcpy(log->bounce, log_at(log, block), (size_t)(to - block));
	memset((char *)log->bounce + (to - block), 0, log->file->block - (size_t)(to - block));
	return file_write(log->file, log->bounce, log->file->block, block);
}

/* Immutable and sealed. What is before `flushed` in its block is written again, the same. */
static int
write_part(struct log *log, uint64_t from, uint64_t to)
{
	uint64_t last = block_floor(log->file, to);
	int error = 0;

	from = block_floor(log->file, from);
	add_to(&log->flushed_bytes, to - from);
	while (error == 0 && from < last) {
		uint64_t ring_end = (from | log->ring_mask) + 1;
		uint64_t end = last < ring_end ? last : ring_end;

		error = file_write(log->file, log_at(log, from), (size_t)(end - from), from);
		from = end;
	}
	return error != 0 ? error : write_last_block(log, last, to);
}

/* Frames that the ring has beyond its capacity go back to the system as others come. */
static void
drop_frames(struct log *log, uint64_t from, uint64_t to)
{
	while (log->ring_mask + 1 > log->capacity && from < to) {
		uint64_t ring_end = (from | log->ring_mask) + 1;
		uint64_t end = to < ring_end ? to : ring_end;

		(void)madvise(log_at(log, from), (size_t)(end - from), MADV_DONTNEED);
		from = end;
	}
}

static void
tell_moved(struct log *log)
{
	pthread_mutex_lock(&log->lock);
	pthread_cond_broadcast(&log->moved);
	pthread_mutex_unlock(&log->lock);
}

/* Not beyond the page that will be written next. */
static void
shift_head(struct log *log)
{
	uint64_t wanted = page_ceiling(log, log_tail(log)) + free_size(log);
	uint64_t most = page_floor(log, log->flushed);
	uint64_t head = log->head;

	if (wanted <= log->capacity || wanted - log->capacity <= head || most <= head)
		return;
	wanted -= log->capacity;
	publish(&log->head, wanted < most ? wanted : most);
	epochs_wait(log->epochs);
	drop_frames(log, head, log->head);
	publish(&log->safe_head, log->head);
	tell_moved(log);
}

/* `read_only` is published and the end of a seal: make what is before it immutable, write it. */
static int
settle(struct log *log, bool is_cut)
{
	uint64_t to = log->read_only;

	epochs_wait(log->epochs);
	publish(&log->safe_read_only, to);
	fill_seals(log, to, is_cut);
	while (log->flushed < to) {
		uint64_t end = page_floor(log, log->flushed) + PAGES_A_WRITE * log->page_size +
			SEAL_SIZE;
		int error = write_part(log, log->flushed, end < to ? end : to);

		if (error != 0)
			return set_error(log, "a write", error);
		publish(&log->flushed, end < to ? end : to);
		shift_head(log);
	}
	add_to(&log->flushes, 1);
	return NB_OK;
}

/* Sets `read_only` behind a seal that is the newest item. False: no frame for it. */
static bool
append_seal(struct log *log)
{
	uint64_t word = __atomic_load_n(&log->tail, __ATOMIC_ACQUIRE);
	uint64_t address, at, page;

	do {
		address = address_of(word);
		page = next_page(log, address);
		bool fits = page != address && address + SEAL_SIZE <= page;
		at = fits ? address : page;
		if (!fits && !has_frame(log, page))
			return false;
	} while (!__atomic_compare_exchange_n(&log->tail, &word,
		word_of(at + SEAL_SIZE, (word >> ADDRESS_BITS) + 1), false, __ATOMIC_ACQ_REL,
		__ATOMIC_ACQUIRE));
	fill_page(log, address, at);
	racy_meet();
	publish(&log->read_only, at + SEAL_SIZE);
	publish(&log->version, (word >> ADDRESS_BITS) + 1);
	return true;
}

/* Move `read_only` behind the seal at the start of this page. */
static int
move_read_only(struct log *log, uint64_t page)
{
	if (page + SEAL_SIZE <= log->read_only)
		return NB_OK;
	publish(&log->read_only, page + SEAL_SIZE);
	return settle(log, false);
}

static int
sync_flushed(struct log *log)
{
	uint64_t flushed = log->flushed;
	int error = file_sync(log->file);

	if (error != 0)
		return set_error(log, "a sync", error);
	publish(&log->durable, flushed);
	return NB_OK;
}

static int
flush_all(struct log *log, bool is_synced)
{
	int rc = has_failed(log) ? NB_FAIL : NB_OK;

	if (rc == NB_OK && log_tail(log) != log->flushed) {
		while (rc == NB_OK && !append_seal(log)) {
			rc = move_read_only(log, page_floor(log, log_tail(log) - 1));
			shift_head(log);
		}
		if (rc == NB_OK)
			rc = settle(log, true);
	}
	if (rc == NB_OK && is_synced && log->durable != log->flushed)
		rc = sync_flushed(log);
	return rc;
}

int
log_flush(struct log *log, bool is_synced)
{
	pthread_mutex_lock(&log->flushing);
	int rc = flush_all(log, is_synced);
	pthread_mutex_unlock(&log->flushing);
	return rc == NB_OK ? NB_OK : log_fail(log);
}

/* What the flusher does by itself. */
static void
advance(struct log *log, bool is_flush_wanted)
{
	uint64_t tail = log_tail(log);
	int rc = NB_OK;

	if (has_failed(log))
		return;
	if (is_flush_wanted)
		rc = flush_all(log, log->is_synced);
	else if (log->is_durable && tail - log->read_only > log->mutable_size)
		rc = flush_all(log, false);
	else if (tail > log->mutable_size)
		rc = move_read_only(log, page_floor(log, tail - log->mutable_size));
	if (rc == NB_OK)
		shift_head(log);
}

static void *
flusher_main(void *log_of_thread)
{
	struct log *log = log_of_thread;

	pthread_mutex_lock(&log->lock);
	while (!log->is_stopping) {
		if (!log->is_woken) {
			pthread_cond_wait(&log->wake, &log->lock);
			continue;
		}
		bool is_flush_wanted = log->is_flush_wanted;
		log->is_woken = log->is_flush_wanted = false;
		pthread_mutex_unlock(&log->lock);
		pthread_mutex_lock(&log->flushing);
		advance(log, is_flush_wanted);
		pthread_mutex_unlock(&log->flushing);
		pthread_mutex_lock(&log->lock);
	}
	pthread_mutex_unlock(&log->lock);
	return NULL;
}

int
log_start_flusher(struct log *log)
{
	int error = pthread_create(&log->flusher, NULL, flusher_main, log);

	return error == 0
		? NB_OK
		: log->host->fail(NB_FAIL, "no thread for the log: %s", strerror(error));
}

void
log_stop_flusher(struct log *log)
{
	pthread_mutex_lock(&log->lock);
	log->is_stopping = true;
	pthread_cond_signal(&log->wake);
	pthread_mutex_unlock(&log->lock);
	pthread_join(log->flusher, NULL);
}

/* ---- waiting, out of any epoch ---- */

int
log_wait_for_room(struct log *log)
{
	pthread_mutex_lock(&log->lock);
	add_to(&log->waits, 1);
	while (!log->has_failed && !has_frame(log, next_page(log, log_tail(log)))) {
		log->is_woken = true;
		pthread_cond_signal(&log->wake);
		pthread_cond_wait(&log->moved, &log->lock);
	}
	bool has_error = log->has_failed;
	pthread_mutex_unlock(&log->lock);
	return has_error ? log_fail(log) : NB_OK;
}

/* It takes as long as the calls of other sessions do. */
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

int
log_wait_for_flush(struct log *log, uint64_t address)
{
	const uint64_t *region = log->is_synced ? &log->durable : &log->flushed;
	int rc = NB_OK;

	if (log_read(region) >= address)
		return NB_OK;
	pthread_mutex_lock(
		&log->flushing); /* whoever waited for it finds all done, most times */
	if (log_read(region) < address)
		rc = flush_all(log, log->is_synced);
	pthread_mutex_unlock(&log->flushing);
	return rc == NB_OK ? NB_OK : log_fail(log);
}

void
log_ask_for_flush(struct log *log)
{
	wake_flusher(log, true);
}

void
log_truncate(struct log *log, uint64_t begin)
{
	uint64_t from = log->begin;

	publish(&log->begin, begin);
	epochs_wait(log->epochs);
	file_punch(log->file, from, begin);
}
