/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_LEAF_H
#define FPTREE_LEAF_H
/**
 * Leaves. Each has a persistent half in the pool, which holds the records, and a line in
 * memory, which finds them.
 *
 * In memory, each leaf has one line: the version and the fingerprints, 0 for an empty slot. A
 * search reads only this line before it reads the right record.
 *
 * In the pool, a leaf has the offset of the next leaf, then slots, in no order. The slot
 * alone shows whether it holds a record. So an insert writes only its slot. One store of 8
 * bytes commits it, the last one into the slot's first line. There are two formats.
 *
 * LEAF_WORDS: 16 bytes, {key word, value word}. The key word is, as a big-endian number,
 *
 *     0                      empty
 *     0xf8f1.. to 0xf8f6..   a key of 1 to 6 bytes, in the lower six
 *     0xf8fb..               the offset of a blob: key and value of any size
 *     else                   a key of the size that the pool is laid out for, at most 8
 *
 * The value has the size that the pool is laid out for, at most 8. A blob holds every record
 * that does not fit. It also holds a key of 8 bytes whose word is 0 or 0xf8f... (one in 4096
 * random keys; no text in ASCII or UTF-8).
 *
 * LEAF_CELLS: 32 bytes, or 64, 128, ... A header word
 *
 *     bits 0-1   0 empty, 1 a record, 2 a blob
 *     bits 2-15  generation               (record)
 *     bits 16-31 bytes of the key         (record);  bits 16-63 offset of the blob
 *     bits 32-47 bytes of the value       (record)
 *
 * then the bytes of key and value. Each further line of the slot ends with its mark: the
 * generation, two bytes, stored last. The slot holds a record if the header says so and each
 * further line that the record occupies carries its generation. A new record takes a
 * generation that none of these lines carries yet. So a missing line is always detected, and
 * one fence is enough.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "key.h"
#include "pm.h"
#include "version.h"
#include "tree.h"

/**
 * In memory, one line. fp[s] is the fingerprint of the record in slot s >= 1; fp[0] is
 * unused.
 */
struct leaf {
	uint64_t version;
	uint8_t fp[56];
} __attribute__((aligned(64)));

/** The dimensions of a leaf, derived from the pool's layout. */
struct layout {
	enum leaf_format format;
	uint32_t slots; /* numbered 1 to slots */
	uint32_t slot_bytes;
	uint32_t leaf_bytes, leaf_lines;
	uint64_t
		leaf_share; /* 2^64 / leaf_lines, rounded up: divides a 32-bit number exactly */
	int64_t origin;     /* slot s is at origin + s * slot_bytes */
	uint32_t places;    /* number of homes: lines, or slots */
	uint32_t inline_room; /* LEAF_CELLS: bytes of key and value that a slot holds */
	uint32_t key_size, value_size; /* LEAF_WORDS: sizes of inline records */
	uint64_t usable;               /* a bit for each slot */
};

/** A record outside the leaves: key, then value. Never changes once something points to it. */
struct blob {
	uint32_t key_size;
	uint32_t spare;
	uint64_t value_size;
	uint8_t bytes[];
};

/** A decoded record. No thread may change its slot while it is in use. */
struct record {
	uint64_t word;
	const uint8_t *key, *value;
	size_t key_size, value_size;
	uint64_t blob; /* its offset, 0: within the leaf */
	unsigned slot;
	uint8_t short_key[8];
};

/** The first word of a leaf. */
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

/** LEAF_CELLS: the offset of a key's home slot, where its record begins if that was free. */
static inline size_t
home_offset(const struct layout *layout, uint64_t hash)
{
	unsigned place = place_of(hash, layout->places);

	return (size_t)(layout->origin + (int64_t)(place + 1) * layout->slot_bytes);
}

/** LEAF_WORDS: the two lines in which a record is stored unless both are full. */
struct home_lines {
	unsigned first, second;
};

static inline struct home_lines
home_lines(const struct layout *layout, uint64_t hash)
{
	unsigned lines = layout->places, fraction;
	struct home_lines home;

	home.first = place_and_fraction(hash, lines, &fraction);
	home.second = home.first + 1 + (fraction * (lines - 1) >> 16);
	home.second -= home.second >= lines ? lines : 0;
	return home;
}

static inline uint64_t
slots_of_line(unsigned line)
{
	return 0xfull << 4 * line;
}

/**
 * A mask of the slots in the lines that prefetch_leaf() requests for the key. LEAF_CELLS: the
 * home slot only.
 */
static inline uint64_t
near_slots(const struct layout *layout, uint64_t hash)
{
	if (layout->format == LEAF_WORDS) {
		struct home_lines home = home_lines(layout, hash);

		return slots_of_line(home.first) | slots_of_line(home.second);
	}
	return 2ull << place_of(hash, layout->places);
}

/** Remove one slot from `slots` != 0 and return it. The slots in `near` come first. */
static inline unsigned
take_slot(uint64_t *slots, uint64_t near)
{
	uint64_t first = (*slots & near) != 0 ? *slots & near : *slots;

	*slots &= ~(first & -first);
	return (unsigned)__builtin_ctzll(first);
}

/** The number of slots of the line that are in `slots`. */
static inline unsigned
count_in_line(uint64_t slots, unsigned line)
{
	const uint64_t bits_of_nibble = 0x4332322132212110ull; /* 4 bits for each number */

	return bits_of_nibble >> 4 * (slots >> 4 * line & 0xf) & 0xf;
}

/**
 * Choose one of the empty slots, `empty` != 0. LEAF_WORDS: in the home line with more of
 * them, else the nearest one after the first home line, else the first. LEAF_CELLS: the home,
 * else the nearest one after it, else the first.
 */
static inline unsigned
slot_for(const struct layout *layout, uint64_t hash, uint64_t empty)
{
	unsigned begin;
	uint64_t behind;

	if (layout->format == LEAF_WORDS) {
		struct home_lines home = home_lines(layout, hash);
		unsigned first = count_in_line(empty, home.first);
		unsigned second = count_in_line(empty, home.second);

		if ((first | second) != 0)
			return (unsigned)__builtin_ctzll(empty &
				slots_of_line(first >= second ? home.first : home.second));
		begin = 4 * home.first;
	} else {
		begin = place_of(hash, layout->places) + 1;
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

/** The key word of a record in the slot; 0 if the record must be in a blob. */
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
	CELL_FIRST = PM_LINE - CELL_HEADER, /* bytes of a record in the first line */
	CELL_MARK = 62,                     /* in each further line, and offset of its mark */
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

/** The number of lines that `size` bytes of key and value occupy. */
static inline unsigned
cell_lines(size_t size)
{
	return size <= CELL_FIRST
		? 1
		: 1 + (unsigned)((size - CELL_FIRST + CELL_MARK - 1) / CELL_MARK);
}

/**
 * The offset in the cell of byte `at` of key and value. *run: the number of contiguous bytes
 * from there on.
 */
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

/** Copy, or compare, bytes of a cell that another thread may be changing. */
void
cell_read(const char *cell, size_t at, void *to, size_t size);
bool
cell_is_equal(const char *cell, size_t at, const void *data, size_t size);

/** Does each further line of the record carry the header's generation? */
bool
cell_is_whole(const char *cell, uint64_t header);

/**
 * Write key and value into an empty cell: all but the header, which is returned. The further
 * lines are flushed, not fenced. The caller stores the header, then flushes the first line.
 */
uint64_t
cell_fill(struct pm *pm, char *cell, const struct record *record);

/* --- both formats --- */

void
layout_set(struct layout *layout, const struct pool_layout *pool);

/**
 * Decode slot `slot` of the leaf's bytes, which no thread changes meanwhile. `room` takes key
 * and value of a cell: layout->inline_room bytes. It may be NULL for LEAF_WORDS. False: the
 * slot is empty, or torn.
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
