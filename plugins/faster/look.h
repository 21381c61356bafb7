/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_LOOK_H
#define FASTER_LOOK_H
/** The search for the newest record of a key in memory, for verbs.c and quick.c. */
#include "store.h"

/* The regions as one operation has read them. */
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
 * Read `safe_read_only` before `read_only`: the fuzzy region between them may then seem larger
 * than it is, but never smaller.
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

/* The flusher does not write a mutable record before the session leaves its epoch. */
static inline bool
is_mutable(const struct view *view, uint64_t address)
{
	return address >= view->read_only;
}

/*
 * Follow a chain to the record of the key. A page begins with a seal, so no record has the address
 * `begin` or 0. A record at `head` itself is on storage, too, and is read there.
 */
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
