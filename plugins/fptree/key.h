/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_KEY_H
#define FPTREE_KEY_H
/**
 * A key as the tree uses it. The first eight bytes, padded with zeros, form a number. These
 * numbers have the order of memcmp(), so most comparisons need nothing else.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct key {
	const uint8_t *data;
	size_t size;
	uint64_t word;
	uint64_t hash;
};

/** The first eight bytes, as a number with the same order. */
static inline uint64_t
word_of(const uint8_t *data, size_t size)
{
	uint64_t word = 0;

	if (size >= sizeof(word)) {
		memcpy(&word, data, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		word = __builtin_bswap64(word);
#endif
		return word;
	}
	for (size_t i = 0; i < size; i++)
		word |= (uint64_t)data[i] << (56 - 8 * i);
	return word;
}

/** The inverse of word_of(): `size` <= 8 bytes. */
static inline void
word_to_bytes(uint8_t *data, uint64_t word, size_t size)
{
	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(word >> (56 - 8 * i));
}

/*
 * 2^64 divided by the golden ratio, odd (Knuth, TAOCP 3, 6.4). The upper bits of a product
 * with it depend on every bit of the word. The tree needs no stronger hash.
 */
#define HASH_FACTOR 0x9e3779b97f4a7c15ull

/** The hash of a key of at most 8 bytes. */
static inline uint64_t
hash_of_word(uint64_t word, size_t size)
{
	uint64_t hash = word * HASH_FACTOR;

	if (size == sizeof(word))
		return hash;
	hash ^= size;
	hash = (hash ^ hash >> 32) * HASH_FACTOR;
	return hash ^ hash << 17;
}

static inline uint64_t
hash_of(const uint8_t *data, size_t size, uint64_t word)
{
	uint64_t hash = word * HASH_FACTOR ^ size;

	if (size <= sizeof(word))
		return hash_of_word(word, size);
	for (size_t i = sizeof(word); i < size; i += sizeof(word)) {
		hash = (hash ^ hash >> 32) * HASH_FACTOR;
		hash ^= word_of(data + i, size - i);
	}
	hash = (hash ^ hash >> 32) * HASH_FACTOR;
	return hash ^ hash << 17;
}

static inline struct key
key_of(const void *data, size_t size)
{
	uint64_t word = word_of(data, size);

	return (struct key){data, size, word, hash_of(data, size, word)};
}

/**
 * A byte that distinguishes this key from most others of a leaf. Not 0, which marks an empty
 * slot.
 */
static inline uint8_t
fingerprint_of(uint64_t hash)
{
	uint8_t fingerprint = (uint8_t)(hash >> 56);

	return fingerprint != 0 ? fingerprint : 1;
}

/** One of `count` <= 2^16 places, from hash bits that the fingerprint does not use. */
static inline unsigned
place_of(uint64_t hash, unsigned count)
{
	return (unsigned)((hash >> 40 & 0xffff) * count >> 16);
}

/** Also set *fraction to a number below 2^16 for a second choice. */
static inline unsigned
place_and_fraction(uint64_t hash, unsigned count, unsigned *fraction)
{
	unsigned product = (unsigned)(hash >> 40 & 0xffff) * count;

	*fraction = product & 0xffff;
	return product >> 16;
}

/**
 * Compare two keys in memcmp()'s order, a prefix first. If the words are equal and one of the
 * keys has at most eight bytes, the shorter key is a prefix of the other, so it is less.
 */
static inline int
key_compare(uint64_t word_a, const uint8_t *a, size_t size_a, uint64_t word_b, const uint8_t *b,
	size_t size_b)
{
	const size_t done = sizeof(word_a);
	size_t common = size_a < size_b ? size_a : size_b;
	int order = 0;

	if (word_a != word_b)
		return word_a < word_b ? -1 : 1;
	if (common > done)
		order = memcmp(a + done, b + done, common - done);
	return order != 0 ? order : (size_a > size_b) - (size_a < size_b);
}

#endif /* FPTREE_KEY_H */
