/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Movement of the regions of the log: seals, writes, and the flusher thread.
 *
 * A thread that moves the regions holds `flushing` and waits for sessions that are inside an
 * epoch. So a session inside an epoch must not wait for `flushing` or for a region to move. The
 * only exception is wait_for_version(): append_seal() publishes the version without waiting for
 * epochs.
 */
#include "pace.h"
#include "regions.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	PAGES_A_WRITE = 4,
	PAUSE = 15,      /* times the processor time of a page */
	FRAME_PAUSE = 3, /* times that of a huge page */
	HUGE_PAGE = 2 << 20
};

static void
publish(uint64_t *region, uint64_t address)
{
	racy_meet();
	__atomic_store_n(region, address, __ATOMIC_RELEASE);
	racy_meet();
}

static void
lock_regions(struct log *log)
{
	__atomic_add_fetch(&log->waiting, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&log->flushing);
	__atomic_sub_fetch(&log->waiting, 1, __ATOMIC_RELAXED);
}

static void
unlock_regions(struct log *log)
{
	pthread_mutex_unlock(&log->flushing);
}

/* ---- moving the regions, with `flushing` held ---- */

static void
publish_read_only(struct log *log, uint64_t address)
{
	if (address > log->floor)
		publish(&log->floor, address);
	publish(&log->read_only, address);
}

static void
fill_seal(struct log *log, uint64_t start, uint64_t at, bool is_cut)
{
	struct seal *seal = (void *)log_at(log, at);

	*seal = (struct seal){.header = header_of(HEADER_SEAL, log->durable),
		.start = start,
		.number = log->seals++,
		.opening = log->opening,
		.is_cut = is_cut};
	seal->checksum = log->seal_checksum = seal_checksum(
		seal, log_at(log, start), (size_t)(at - start), log->seal_checksum);
}

uint64_t
seal_checksum(const struct seal *seal, const void *bytes, size_t size, uint64_t previous)
{
	struct seal own = *seal;

	own.checksum = XXH3_64bits_withSeed(bytes, size, previous);
	return XXH3_64bits(&own, sizeof(own));
}

/*
 * Fill the seals from `flushed` to `to`: one at the start of each page, and the last one, which
 * ends at `to`. Each seal covers a part of one page.
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

/* The last block also contains bytes that sessions are changing: write zeros instead. */
static int
write_last_block(struct log *log, uint64_t block, uint64_t to)
{
	if (block == to)
		return 0;
	memcpy(log->bounce, log_at(log, block), (size_t)(to - block));
	memset((char *)log->bounce + (to - block), 0, log->file->block - (size_t)(to - block));
	return file_write(log->file, log->bounce, log->file->block, block);
}

/*
 * Write a part of the log, which is immutable and sealed. Bytes before `from` in its block are
 * written again, unchanged.
 */
static int
write_part(struct log *log, uint64_t from, uint64_t to)
{
	uint64_t last = block_floor(log->file, to);
	int error = 0;

	from = block_floor(log->file, from);
	count_more(&log->flushed_bytes, to - from);
	while (error == 0 && from < last) {
		uint64_t ring_end = (from | log->ring_mask) + 1;
		uint64_t end = last < ring_end ? last : ring_end;

		error = file_write(log->file, log_at(log, from), (size_t)(end - from), from);
		from = end;
	}
	return error != 0 ? error : write_last_block(log, last, to);
}

/*
 * If the ring is larger than its capacity, give the old frames back to the system. madvise(2)
 * rounds the end of a range up, so a page of the system that also contains later frames stays.
 */
static void
drop_frames(struct log *log, uint64_t from, uint64_t to)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	from = (from + page - 1) / page * page;
	to = to / page * page;
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

/*
 * Move `head` until enough frames are free, but at most to the start of the first page that is not
 * completely written.
 */
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

/* Seal and write the next pages before `to`. */
static int
write_pages(struct log *log, uint64_t pages, uint64_t to, bool is_cut)
{
	uint64_t end = page_floor(log, log->flushed) + pages * log->page_size + SEAL_SIZE;

	if (end > to)
		end = to;
	fill_seals(log, end, is_cut && end == to);
	int error = write_part(log, log->flushed, end);
	if (error != 0)
		return log_set_error(log, "a write", error);
	publish(&log->flushed, end);
	shift_head(log);
	return NB_OK;
}

/*
 * Make the log before `read_only` immutable and write it. `read_only` is published, and is the end
 * of a seal.
 */
static int
settle(struct log *log, bool is_cut, bool is_paced)
{
	uint64_t to = log->read_only;
	struct pace pace;
	int rc = NB_OK;

	epochs_wait(log->epochs);
	moment_reached(MOMENT_SETTLED);
	publish(&log->safe_read_only, to);
	pace_begin(&pace, PAUSE);
	while (rc == NB_OK && log->flushed < to) {
		rc = write_pages(log, is_paced ? 1 : PAGES_A_WRITE, to, is_cut);
		if (is_paced && log->flushed < to &&
			__atomic_load_n(&log->waiting, __ATOMIC_RELAXED) == 0)
			pace_pause(&pace);
	}
	count_more(&log->flushes, rc == NB_OK);
	return rc;
}

/* Append a cut and set `read_only` to its end. False: the log has no free frame for it. */
static bool
append_seal(struct log *log)
{
	uint64_t word = __atomic_load_n(&log->tail, __ATOMIC_ACQUIRE);
	uint64_t address, at, page;

	do {
		address = address_of(word);
		page = page_ceiling(log, address);
		bool fits = page != address && address + SEAL_SIZE <= page;
		at = fits ? address : page;
		if (!fits && !has_frame(log, page))
			return false;
	} while (!__atomic_compare_exchange_n(&log->tail, &word,
		word_of(at + SEAL_SIZE, (word >> ADDRESS_BITS) + 1), false, __ATOMIC_ACQ_REL,
		__ATOMIC_ACQUIRE));
	fill_page(log, address, at);
	moment_reached(MOMENT_SEAL);
	publish_read_only(log, at + SEAL_SIZE);
	moment_reached(MOMENT_SEALED);
	publish(&log->version, (word >> ADDRESS_BITS) + 1);
	moment_reached(MOMENT_CUT);
	return true;
}

/* Move `read_only` to the end of the seal at the start of this page. Write the log before it. */
static int
move_read_only(struct log *log, uint64_t page)
{
	if (page + SEAL_SIZE <= log->read_only)
		return NB_OK;
	publish_read_only(log, page + SEAL_SIZE);
	return settle(log, false, false);
}

static int
sync_flushed(struct log *log)
{
	uint64_t flushed = log->flushed;
	int error = file_sync(log->file);

	if (error != 0)
		return log_set_error(log, "a sync", error);
	publish(&log->durable, flushed);
	return NB_OK;
}

static int
flush_all(struct log *log, bool is_synced, bool is_paced)
{
	int rc = has_failed(log) ? NB_FAIL : NB_OK;

	if (rc == NB_OK && log_tail(log) != log->flushed) {
		while (rc == NB_OK && !append_seal(log)) {
			rc = move_read_only(log, page_floor(log, log_tail(log) - 1));
			shift_head(log);
		}
		if (rc == NB_OK)
			rc = settle(log, true, is_paced);
	}
	if (rc == NB_OK && is_synced && log->durable != log->flushed)
		rc = sync_flushed(log);
	return rc;
}

/*
 * After a cut, sessions append copies of the records that were mutable before it. Make the kernel
 * provide the frames for these copies. Otherwise the sessions clear a huge page for each 2 MiB of
 * them, which takes up to a tenth of their time.
 */
static void
provide_frames(struct log *log)
{
#ifdef MADV_POPULATE_WRITE
	uint64_t tail = log_tail(log), from = page_ceiling(log, tail);
	uint64_t to = from + tail - log_read(&log->flushed);
	uint64_t most = page_floor(log, log_read(&log->safe_head) + log->capacity);
	struct pace pace;

	pace_begin(&pace, FRAME_PAUSE);
	for (to = to < most ? to : most; from < to; pace_pause(&pace)) {
		uint64_t ring_end = (from | log->ring_mask) + 1;
		uint64_t end = from + HUGE_PAGE < to ? from + HUGE_PAGE : to;

		end = end < ring_end ? end : ring_end;
		(void)madvise(log_at(log, from), (size_t)(end - from), MADV_POPULATE_WRITE);
		from = end;
	}
#else
	(void)log;
#endif
}

int
log_cut(struct log *log, bool is_synced, bool is_paced, struct cut *cut)
{
	if (is_paced)
		provide_frames(log);
	lock_regions(log);
	int rc = flush_all(log, is_synced, is_paced);
	*cut = (struct cut){log->flushed, log->seal_checksum, log->seals};
	unlock_regions(log);
	return rc == NB_OK ? NB_OK : log_fail(log);
}

int
log_flush(struct log *log, bool is_synced)
{
	struct cut cut;
	return log_cut(log, is_synced, false, &cut);
}

uint64_t
log_bound(struct log *log)
{
	lock_regions(log);
	uint64_t tail = log_tail(log);
	uint64_t bound = tail == log->flushed ? tail : page_floor(log, tail) + SEAL_SIZE;
	if (bound > log->floor)
		publish(&log->floor, bound);
	epochs_wait(log->epochs);
	unlock_regions(log);
	return bound;
}

/* One round of the flusher. */
static void
advance(struct log *log, bool is_flush_wanted)
{
	uint64_t tail = log_tail(log);
	int rc = NB_OK;

	if (has_failed(log))
		return;
	if (is_flush_wanted)
		rc = flush_all(log, log->is_synced, false);
	else if (log->is_durable && tail - log->read_only > log->mutable_size)
		rc = flush_all(log, false, false);
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
		lock_regions(log);
		advance(log, is_flush_wanted);
		unlock_regions(log);
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

int
log_wait_for_flush(struct log *log, uint64_t address)
{
	const uint64_t *region = log->is_synced ? &log->durable : &log->flushed;
	int rc = NB_OK;

	if (log_read(region) >= address)
		return NB_OK;
	lock_regions(log); /* after a wait, another thread has usually flushed all */
	if (log_read(region) < address)
		rc = flush_all(log, log->is_synced, false);
	unlock_regions(log);
	return rc == NB_OK ? NB_OK : log_fail(log);
}

void
log_ask_for_flush(struct log *log)
{
	log_wake_flusher(log, true);
}

void
log_truncate(struct log *log, uint64_t begin)
{
	uint64_t from = log->begin;

	publish(&log->begin, begin);
	epochs_wait(log->epochs);
	file_punch(log->file, from, begin);
}
