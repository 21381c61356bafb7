/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MASSTREE_KEY_H
#define MASSTREE_KEY_H
/**
 * A key during a descent through the layers. It has the slice of the current layer, as a number
 * in the order of the bytes. `klen` is the number of key bytes in the slice. No byte beyond the
 * key is read.
 */
#include <mininb/engine.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "node.h"

enum { SLICE = 8 };

static inline uint64_t
from_big_endian(uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __builtin_bswap64(word);
#else
	return word;
#endif
}

static inline uint64_t
big_endian_32(const uint8_t *bytes)
{
	uint32_t word;
	memcpy(&word, bytes, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __builtin_bswap32(word);
#else
	return word;
#endif
}

/** The first `size` < 8 bytes, then zeros. The loads may overlap; both give the same bits there. */
static inline uint64_t
slice_of_few(const uint8_t *bytes, size_t size)
{
	if (size >= 4)
		return big_endian_32(bytes) << 32 |
			big_endian_32(bytes + size - 4) << (64 - 8 * size);
	if (size == 0)
		return 0;
	return (uint64_t)bytes[0] << 56 | (uint64_t)bytes[size / 2] << (56 - 8 * (size / 2)) |
		(uint64_t)bytes[size - 1] << (64 - 8 * size);
}

static inline uint64_t
slice_of_bytes(const uint8_t *bytes, size_t size)
{
	uint64_t word;

	if (size < SLICE)
		return slice_of_few(bytes, size);
	memcpy(&word, bytes, sizeof(word));
	return from_big_endian(word);
}

static inline void
slice_to_bytes(uint8_t *bytes, uint64_t slice)
{
	uint64_t word = from_big_endian(slice);
	memcpy(bytes, &word, sizeof(word));
}

/** The part of a key that belongs to the layer and the layers below it. */
struct key {
	const uint8_t *data;
	size_t size; /* from `data` on */
	uint64_t slice;
	unsigned klen; /* KLEN_SUFFIX: the key has more bytes than the slice */
};

static inline void
key_set(struct key *key, const uint8_t *data, size_t size)
{
	key->data = data;
	key->size = size;
	key->slice = slice_of_bytes(data, size);
	key->klen = size > SLICE ? KLEN_SUFFIX : (unsigned)size;
}

static inline void
key_start(struct key *key, struct nb_slice whole)
{
	key_set(key, whole.data, whole.size);
}

/** Go to the next layer; only if klen is KLEN_SUFFIX. */
static inline void
key_shift(struct key *key)
{
	key_set(key, key->data + SLICE, key->size - SLICE);
}

static inline bool
key_has_suffix(const struct key *key, const struct record *record)
{
	return record->suffix_size == key->size - SLICE &&
		memcmp(record->bytes + record->value_size, key->data + SLICE,
			record->suffix_size) == 0;
}

#endif /* MASSTREE_KEY_H */
