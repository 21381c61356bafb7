/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_REGIONS_H
#define FASTER_REGIONS_H
/** Addresses, pages and frames, for log.c and flush.c. */
#include "log.h"

enum {
	VERSION_BITS = 64 - ADDRESS_BITS,
	PAGES_FREE_SHARE = 16 /* 1 of this many pages is kept free for the tail */
};
#define VERSION_MASK ((1ull << VERSION_BITS) - 1)

static inline uint64_t
address_of(uint64_t word)
{
	return (word & ADDRESS_MASK) << ADDRESS_SHIFT;
}

static inline uint64_t
word_of(uint64_t address, uint64_t version)
{
	return address >> ADDRESS_SHIFT | version << ADDRESS_BITS;
}

static inline uint64_t
page_floor(const struct log *log, uint64_t address)
{
	return address & ~(log->page_size - 1);
}

/** The start of the next page if `address` is the tail. */
static inline uint64_t
page_ceiling(const struct log *log, uint64_t address)
{
	return page_floor(log, address + log->page_size - 1);
}

static inline uint64_t
free_size(const struct log *log)
{
	uint64_t share = log->capacity / PAGES_FREE_SHARE;
	return share > 2 * log->page_size ? share : 2 * log->page_size;
}

static inline bool
has_frame(const struct log *log, uint64_t page)
{
	return page + log->page_size - log_read(&log->safe_head) <= log->capacity;
}

static inline bool
has_failed(const struct log *log)
{
	return __atomic_load_n(&log->has_failed, __ATOMIC_ACQUIRE);
}

/** Fill the rest of a page into which an item did not fit. */
static inline void
fill_page(const struct log *log, uint64_t address, uint64_t page)
{
	if (address != page)
		racy_store64(log_at(log, address), filler_of(page - address));
}

/** Mark the log as failed, permanently. `what`: the failed action. Returns NB_FAIL. Any thread. */
int
log_set_error(struct log *log, const char *what, int error);

void
log_wake_flusher(struct log *log, bool is_flush_wanted);

#endif /* FASTER_REGIONS_H */
