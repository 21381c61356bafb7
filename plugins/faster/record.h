/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_RECORD_H
#define FASTER_RECORD_H
/**
 * The format of the log.
 *
 * An address is an offset in the log in bytes, a multiple of 8. The log is a sequence of items,
 * each of which begins with a header word:
 *
 *   small record   header, key, value: keys and values of 8 bytes each, 24 bytes in all
 *   sized record   header, sizes, lock, key, value; key and value padded to 8 bytes
 *   filler         header with its size: it fills the rest of a page
 *   seal           header, and a checksum of all items since the previous seal
 *
 * A header contains the address of the previous record in the same chain (bits 0 to 41, in
 * units of 8 bytes), and flags. It is never zero. That of a seal contains the address up to
 * which the log was synced before the seal was written.
 *
 * A record may change in place while sessions read it. A small value is one atomic word. A
 * sized value has a seqlock, `lock`: odd while a session writes it.
 */
#include <xxhash.h>

#include "moment.h"

enum {
	ADDRESS_SHIFT = 3,
	ADDRESS_BITS = 42, /* of a header or entry: 32 TiB of log */
	SMALL_SIZE = 24,
	SIZED_HEAD = 24
};
#define ADDRESS_MASK ((1ull << ADDRESS_BITS) - 1)
#define ADDRESS_MAX (ADDRESS_MASK << ADDRESS_SHIFT)

#define HEADER_LIVE (1ull << 63)
#define HEADER_TOMBSTONE (1ull << 62) /* the key is deleted */
#define HEADER_INVALID (1ull << 61)   /* was never linked into a chain */
#define HEADER_KIND (3ull << 59)
#define HEADER_SMALL (0ull << 59)
#define HEADER_SIZED (1ull << 59)
#define HEADER_FILLER (2ull << 59)
#define HEADER_SEAL (3ull << 59)

/** The key of an operation. */
struct key {
	const void *data;
	size_t size;
	uint64_t word; /* the key itself if it has 8 bytes */
	uint64_t hash;
};

struct small_record {
	uint64_t header, key, value;
};

struct sized_record {
	uint64_t header;
	uint32_t key_size, value_size;
	uint64_t lock;
	unsigned char bytes[];
};

/** A seal covers the bytes from `start` to its own address. */
struct seal {
	uint64_t header;
	uint64_t start;
	uint64_t checksum; /* see seal_checksum() */
	uint64_t number;   /* seals are numbered from 0 */
	uint32_t opening;  /* number of the open that wrote the seal */
	uint32_t is_cut;   /* the log up to here is a consistent prefix, see log.h */
};
enum { SEAL_SIZE = sizeof(struct seal) };

static inline uint64_t
hash_word(uint64_t word)
{
	word ^= word >> 32; /* the finisher of MurmurHash3, with other shifts */
	word *= 0xff51afd7ed558ccdull;
	word ^= word >> 29;
	word *= 0xc4ceb9fe1a85ec53ull;
	return word ^ word >> 32;
}

static inline struct key
key_of(const void *data, size_t size)
{
	struct key key = {.data = data, .size = size};

	if (__builtin_expect(size == sizeof(key.word), 1)) {
		memcpy(&key.word, data, sizeof(key.word));
		key.hash = hash_word(key.word);
	} else {
		key.hash = XXH3_64bits(data, size);
	}
	return key;
}

static inline size_t
padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

static inline uint64_t
header_of(uint64_t kind, uint64_t previous)
{
	return HEADER_LIVE | kind | previous >> ADDRESS_SHIFT;
}

static inline uint64_t
header_previous(uint64_t header)
{
	return (header & ADDRESS_MASK) << ADDRESS_SHIFT;
}

/** A filler keeps its size where records keep the previous address. */
static inline uint64_t
filler_of(uint64_t size)
{
	return HEADER_LIVE | HEADER_FILLER | size >> ADDRESS_SHIFT;
}

static inline bool
is_small(size_t key_size, size_t value_size)
{
	return key_size == 8 && value_size == 8;
}

static inline size_t
record_size(size_t key_size, size_t value_size)
{
	return is_small(key_size, value_size)
		? SMALL_SIZE
		: SIZED_HEAD + padded(key_size) + padded(value_size);
}

/** The size of any item, from its first SIZED_HEAD bytes. 0: it is not an item. */
static inline size_t
item_size(const uint64_t *item)
{
	uint64_t header = __atomic_load_n(item, __ATOMIC_ACQUIRE);
	const struct sized_record *sized = (const void *)item;

	if ((header & HEADER_LIVE) == 0)
		return 0;
	switch (header & HEADER_KIND) {
	case HEADER_SMALL:
		return SMALL_SIZE;
	case HEADER_SIZED:
		return SIZED_HEAD + padded(sized->key_size) + padded(sized->value_size);
	case HEADER_FILLER:
		return (size_t)header_previous(header);
	default:
		return SEAL_SIZE;
	}
}

static inline bool
is_record(uint64_t header)
{
	return (header & HEADER_LIVE) != 0 && (header & HEADER_KIND) <= HEADER_SIZED;
}

static inline unsigned char *
sized_value(struct sized_record *sized)
{
	return sized->bytes + padded(sized->key_size);
}

/** Whether the record has the key. `header` is the header of the record. */
static inline bool
record_has_key(const uint64_t *record, uint64_t header, const struct key *key)
{
	const struct sized_record *sized = (const void *)record;

	if ((header & HEADER_KIND) == HEADER_SMALL)
		return record[1] == key->word && key->size == 8;
	return sized->key_size == key->size && memcmp(sized->bytes, key->data, key->size) == 0;
}

static inline struct key
record_key(const uint64_t *record, uint64_t header)
{
	const struct sized_record *sized = (const void *)record;

	return (header & HEADER_KIND) == HEADER_SMALL ? key_of(&record[1], 8)
						      : key_of(sized->bytes, sized->key_size);
}

static inline size_t
record_value_size(const uint64_t *record, uint64_t header)
{
	const struct sized_record *sized = (const void *)record;

	return (header & HEADER_KIND) == HEADER_SMALL ? 8 : sized->value_size;
}

/** Write bytes that another thread may be reading; see racy_copy(). */
static inline void
racy_write(void *to, const void *from, size_t size)
{
#ifdef RACY_TSAN
	for (size_t i = 0; i < size; i++)
		racy_store8((uint8_t *)to + i, ((const uint8_t *)from)[i]);
#else
	if (size != 0)
		memcpy(to, from, size);
#endif
}

/* Bytes that are read or written before MOMENT_HALF_*: all, except in test builds. */
static inline size_t
half_of(size_t size)
{
#ifdef RACY_MEET
	return size / 2;
#else
	return size;
#endif
}

static inline void
store_in_halves(unsigned char *to, const unsigned char *from, size_t size)
{
	size_t half = half_of(size);

	racy_write(to, from, half);
	moment_reached(MOMENT_HALF_STORED);
	racy_write(to + half, from + half, size - half);
}

static inline void
load_in_halves(unsigned char *to, const unsigned char *from, size_t size)
{
	size_t half = half_of(size);

	racy_copy(to, from, half);
	moment_reached(MOMENT_HALF_READ);
	racy_copy(to + half, from + half, size - half);
}

/** Lock a sized value for writing. Waits for other writers. Returns the previous `lock`. */
static inline uint64_t
sized_lock(struct sized_record *sized)
{
	unsigned spins = 0;

	uint64_t lock;

	for (;;) {
		lock = __atomic_load_n(&sized->lock, __ATOMIC_ACQUIRE);
		if ((lock & 1) == 0 &&
			__atomic_compare_exchange_n(&sized->lock, &lock, lock + 1, false,
				__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			break;
		pause_a_little(&spins);
	}
#if !defined(RACY_TSAN) && !defined(__x86_64__)
	__atomic_thread_fence(__ATOMIC_RELEASE); /* write the value after the lock */
#endif
	return lock;
}

static inline void
sized_unlock(struct sized_record *sized, uint64_t lock)
{
	__atomic_store_n(&sized->lock, lock + 2, __ATOMIC_RELEASE);
}

/** Store a value of the same size as the old one. */
static inline void
record_store(uint64_t *record, uint64_t header, const void *value, size_t size)
{
	struct sized_record *sized = (void *)record;
	uint64_t word;

	if ((header & HEADER_KIND) == HEADER_SMALL) {
		memcpy(&word, value, sizeof(word));
		__atomic_store_n(&record[2], word, __ATOMIC_RELEASE);
		return;
	}
	uint64_t lock = sized_lock(sized);
	racy_meet();
	store_in_halves(sized_value(sized), value, size);
	racy_meet();
	sized_unlock(sized, lock);
}

/** Add to a value of 8 bytes. */
static inline void
record_add(uint64_t *record, uint64_t header, uint64_t operand)
{
	struct sized_record *sized = (void *)record;

	if ((header & HEADER_KIND) == HEADER_SMALL) {
		__atomic_fetch_add(&record[2], operand, __ATOMIC_RELAXED);
		return;
	}
	uint64_t lock = sized_lock(sized);
	uint64_t *at = (uint64_t *)(void *)sized_value(sized);
	racy_meet();
	racy_store64(at, racy_load64(at) + operand);
	sized_unlock(sized, lock);
}

/** Copy a consistent state of the value, which has `size` bytes. */
static inline void
record_load(const uint64_t *record, uint64_t header, void *to, size_t size)
{
	struct sized_record *sized = (struct sized_record *)(uintptr_t)record;
	unsigned spins = 0;

	if ((header & HEADER_KIND) == HEADER_SMALL) {
		uint64_t word = __atomic_load_n(&record[2], __ATOMIC_ACQUIRE);
		memcpy(to, &word, sizeof(word));
		return;
	}
	for (;;) {
		uint64_t lock = __atomic_load_n(&sized->lock, __ATOMIC_ACQUIRE);

		load_in_halves(to, sized_value(sized), size);
		racy_fence();
		if ((lock & 1) == 0 && racy_load64(&sized->lock) == lock)
			return;
		pause_a_little(&spins);
	}
}

/**
 * Write a record that no other session can see yet. `flags`: 0 or HEADER_TOMBSTONE. The value
 * of a tombstone has 8 bytes if the key has 8 bytes, else it is empty.
 */
static inline void
record_write(uint64_t *record, const struct key *key, const void *value, size_t value_size,
	uint64_t previous, uint64_t flags)
{
	struct sized_record *sized = (void *)record;

	if (is_small(key->size, value_size)) {
		record[1] = key->word;
		memcpy(&record[2], value, 8);
		racy_store64(&record[0], header_of(HEADER_SMALL, previous) | flags);
		return;
	}
	sized->key_size = (uint32_t)key->size;
	sized->value_size = (uint32_t)value_size;
	sized->lock = 0;
	memset(sized->bytes + padded(key->size) - 8, 0, 8);
	memcpy(sized->bytes, key->data, key->size);
	if (value_size != 0) {
		memset(sized_value(sized) + padded(value_size) - 8, 0, 8);
		memcpy(sized_value(sized), value, value_size);
	}
	racy_store64(&record[0], header_of(HEADER_SIZED, previous) | flags);
}

#endif /* FASTER_RECORD_H */
