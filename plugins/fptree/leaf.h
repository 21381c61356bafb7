/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_LEAF_H
#define FPTREE_LEAF_H
/**
 * Leaves: the half in persistent memory that holds the records, and the line in
 * memory that finds them.
 *
 * In memory, for each leaf one line: version and fingerprints, 0 for an empty slot. It
 * is all that a search looks at before it goes to the right record.
 *
 * In the pool: the offset of the next leaf, then slots, in no order. Whether a slot
 * holds a record is told by the slot alone, so an insert writes one line, and is
 * committed by one store of 8 bytes, the last one into the slot's first line. There are two
 * formats.
 *
 * LEAF_WORDS: 16 bytes, {key word, value word}. The key word is, as a big-endian number,
 *
 *     0                      empty
 *     0xf8f1.. to 0xf8f6..   a key of 1 to 6 bytes, in the lower six
 *     0xf8fb..               the offset of a blob: key and value of any size
 *     else                   a key of the size that the pool is laid out for, at most 8
 *
 * and the value has the size that the pool is laid out for, at most 8. A key of 8 bytes
 * that falls into 0 or 0xf8f... (one in 4096 random ones; no text in ASCII or UTF-8)
 * is kept in a blob, as is all else that does not fit.
 *
 * LEAF_CELLS: 32 bytes, or 64, 128, ... A header word
 *
 *     bits 0-1   0 empty, 1 a record, 2 a blob
 *     bits 2-15  generation               (record)
 *     bits 16-31 bytes of the key         (record);  bits 16-63 offset of the blob
 *     bits 32-47 bytes of the value       (record)
 *
 * then the bytes of key and value. Each further line of the slot ends with the generation,
 * two bytes, stored last. A record is there if the header says so and every line
 * that it reaches into carries its generation: a new record takes one that none of these
 * lines carries yet. So no line can be missing unnoticed, and one fence is enough.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "key.h"
#include "pm.h"
#include "version.h"
#include "tree.h"

/** In memory, one line. A record of slot s >= 1 has the fingerprint fp[s]; fp[0] is unused. */
struct leaf {
	uint64_t version;
	uint8_t fp[56];
} __attribute__((aligned(64)));

/** What follows from the pool's layout. */
struct layout {
	enum leaf_format format;
	uint32_t slots; /* 1 to slots */
	uint32_t slot_bytes;
	uint32_t leaf_bytes, leaf_lines;
	int64_t origin;       /* slot s is at origin + s * slot_bytes */
	uint32_t places;      /* to begin looking for an empty slot at: lines, or slots */
	uint32_t inline_room; /* CELLS: bytes of key and value that a slot holds */
	uint32_t key_size, value_size; /* WORDS: of those that are no blobs */
	uint64_t usable;               /* a bit for each slot */
};

/** An out-of-line record: key, then value. Never changes once it is pointed to. */
struct blob {
	uint32_t key_size;
	uint32_t spare;
	uint64_t value_size;
	uint8_t bytes[];
};

/** A record that is looked at while nobody can change it. */
struct record {
	uint64_t word;
	const uint8_t *key, *value;
	size_t key_size, value_size;
	uint64_t blob; /* its offset, 0: within the leaf */
	unsigned slot;
	uint8_t short_key[8];
};

/** First word of a leaf. */
static inline uint64_t *
leaf_next(char *bytes)
{
	return (uint64_t *)(void *)bytes;
}

static inline uint64_t *
slot_at(const struct layout *layout, const char *bytes, unsigned slot)
{
	return (uint64_t *)(uintptr_t)(bytes + layout->origin +
		(int64_t)slot * layout->slot_bytes);
}

/** Where the line is that a key's record begins in, if that was free. */
static inline size_t
home_offset(const struct layout *layout, uint64_t hash)
{
	unsigned place = place_of(hash, layout->places);

	if (layout->format == LEAF_WORDS)
		return (size_t)place * PM_LINE;
	return (size_t)(layout->origin + (int64_t)(place + 1) * layout->slot_bytes);
}

/** LEAF_WORDS: the slots of the line that is the key's home. */
static inline uint64_t
home_slots(const struct layout *layout, uint64_t hash)
{
	return 0xfull << 4 * place_of(hash, layout->places);
}

/** The slots in the lines that prefetching a leaf for the key asks for, as far as a mask. */
static inline uint64_t
near_slots(const struct layout *layout, uint64_t hash)
{
	unsigned place = place_of(hash, layout->places);

	if (layout->format == LEAF_WORDS)
		return 0xffull << 4 * (place & ~1u);
	return 2ull << place;
}

/** One of `slots` != 0, which loses it; those that are `near` first. */
static inline unsigned
take_slot(uint64_t *slots, uint64_t near)
{
	uint64_t first = (*slots & near) != 0 ? *slots & near : *slots;

	*slots &= ~(first & -first);
	return (unsigned)__builtin_ctzll(first);
}

/**
 * One of the empty slots, `empty` != 0: in the key's home, or in the line that is asked for
 * together with it, or the nearest after it.
 */
static inline unsigned
slot_for(const struct layout *layout, uint64_t hash, uint64_t empty)
{
	unsigned place = place_of(hash, layout->places);
	unsigned begin = place + 1;
	uint64_t behind;

	if (layout->format == LEAF_WORDS) {
		uint64_t pair = empty & 0xffull << 4 * (place & ~1u);

		if ((empty & home_slots(layout, hash)) != 0)
			return (unsigned)__builtin_ctzll(empty & home_slots(layout, hash));
		if (pair != 0)
			return (unsigned)__builtin_ctzll(pair);
		begin = 4 * place;
	}
	behind = empty & ~0ull << begin;
	return (unsigned)__builtin_ctzll(behind != 0 ? behind : empty);
}

/* --- LEAF_WORDS --- */

#define WORD_RESERVED 0xf8full   /* the upper 12 bits */
#define WORD_TAG_BLOB 0xf8fbull  /* the upper 16 */
#define WORD_TAG_SHORT 0xf8f0ull /* and the number of bytes */

enum { WORD_SHORT_MAX = 6 };

static inline bool
word_is_reserved(uint64_t word)
{
	return word >> 52 == WORD_RESERVED || word == 0;
}

static inline bool
word_is_blob(uint64_t word)
{
	return word >> 48 == WORD_TAG_BLOB;
}

static inline uint64_t
word_of_blob(uint64_t offset)
{
	return WORD_TAG_BLOB << 48 | offset;
}

static inline uint64_t
blob_of_word(uint64_t word)
{
	return word & ((1ull << 48) - 1);
}

/** What the key's slot says if it is no blob; 0 if it must be one. */
static inline uint64_t
word_plain(const struct layout *layout, const struct key *key)
{
	if (key->size == layout->key_size && !word_is_reserved(key->word))
		return key->word;
	if (key->size > WORD_SHORT_MAX)
		return 0;
	return (WORD_TAG_SHORT + key->size) << 48 | key->word >> 16;
}

/* --- LEAF_CELLS --- */

enum cell_kind { CELL_EMPTY = 0, CELL_RECORD = 1, CELL_BLOB = 2 };

enum {
	CELL_HEADER = 8,
	CELL_FIRST = PM_LINE - CELL_HEADER, /* bytes in the first line, */
	CELL_MARK = 62,                     /* and in each further one, where its mark is */
	CELL_GENERATIONS = 1 << 14
};

static inline unsigned
cell_kind(uint64_t header)
{
	return header & 3;
}

static inline uint16_t
cell_generation(uint64_t header)
{
	return (header >> 2) & (CELL_GENERATIONS - 1);
}

static inline size_t
cell_key_size(uint64_t header)
{
	return header >> 16 & 0xffff;
}

static inline size_t
cell_value_size(uint64_t header)
{
	return header >> 32 & 0xffff;
}

static inline uint64_t
cell_blob(uint64_t header)
{
	return header >> 16;
}

static inline uint64_t
cell_header_of_blob(uint64_t offset)
{
	return CELL_BLOB | offset << 16;
}

/** Lines that so many bytes of key and value reach into. */
static inline unsigned
cell_lines(size_t size)
{
	return size <= CELL_FIRST
		? 1
		: 1 + (unsigned)((size - CELL_FIRST + CELL_MARK - 1) / CELL_MARK);
}

/** Where byte `at` of key and value is, and how many from there on are in one piece. */
static inline size_t
cell_place(size_t at, size_t *run)
{
	size_t behind = at - CELL_FIRST;

	if (at < CELL_FIRST) {
		*run = CELL_FIRST - at;
		return CELL_HEADER + at;
	}
	*run = CELL_MARK - behind % CELL_MARK;
	return PM_LINE + behind / CELL_MARK * PM_LINE + behind % CELL_MARK;
}

/** Copy bytes of a cell that may be changing. */
void
cell_read(const char *cell, size_t at, void *to, size_t size);
bool
cell_is_equal(const char *cell, size_t at, const void *data, size_t size);

/** The mark of each line that a record reaches into is the header's. */
bool
cell_is_whole(const char *cell, uint64_t header);

/**
 * Write key and value into an empty cell: all but the header, which is returned. Flushed,
 * not fenced, but for the first line: store the header, then flush that.
 */
uint64_t
cell_fill(struct pm *pm, char *cell, const struct record *record);

/* --- both --- */

void
layout_set(struct layout *layout, const struct pool_layout *pool);

/**
 * Look at slot `slot` of the leaf's bytes, which do not change meanwhile. `room` takes
 * what is not in one piece: layout->inline_room bytes; may be NULL for LEAF_WORDS.
 * False: empty, or torn.
 */
bool
record_read(struct record *record, const struct layout *layout, const char *base,
	const char *bytes, unsigned slot, uint8_t *room);

static inline int
record_compare(const struct record *a, const struct record *b)
{
	return key_compare(a->word, a->key, a->key_size, b->word, b->key, b->key_size);
}

#endif /* FPTREE_LEAF_H */
