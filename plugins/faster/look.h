/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_LOOK_H
#define FASTER_LOOK_H
/** Looking for the newest record of a key in memory: for verbs.c and quick.c. */
#include "store.h"

/* The regions as this operation sees them. */
struct view {
	uint64_t begin, head, safe_read_only, read_only;
};

/* The newest record of a key. */
struct place {
	struct slot slot;
	uint64_t address, header;
	uint64_t *record;
};

enum { PLACE_HERE, PLACE_ABSENT, PLACE_ON_STORAGE };

/*
 * `safe_read_only` before `read_only`: what is between them may only be taken for larger than it
 * is.
 */
static inline void
look_at_regions(const struct log *log, struct view *view)
{
	view->begin = log_read(&log->begin);
	view->head = log_read(&log->head);
	view->safe_read_only = log_read(&log->safe_read_only);
	view->read_only = log_read(&log->read_only);
	racy_meet();
}

/* What is changed there now is not written before the session leaves its epoch. */
static inline bool
is_mutable(const struct view *view, uint64_t address)
{
	return address >= view->read_only;
}

static inline void
count_one(uint64_t *counter)
{
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED); /* others only read it */
}

/* A page begins with a seal: no record has the address of its region's begin, nor 0. */
static inline int
follow(const struct log *log, const struct view *view, const struct key *key,
	struct place *place)
{
	uint64_t address = entry_address(place->slot.entry);

	while (address > view->head) {
		place->record = log_at(log, address);
		place->header = __atomic_load_n(place->record, __ATOMIC_ACQUIRE);
		if (__builtin_expect(record_has_key(place->record, place->header, key), 1)) {
			place->address = address;
			moment_reached(MOMENT_FOUND);
			return PLACE_HERE;
		}
		address = header_previous(place->header);
	}
	place->address = address;
	return address > view->begin ? PLACE_ON_STORAGE : PLACE_ABSENT;
}

#endif /* FASTER_LOOK_H */
