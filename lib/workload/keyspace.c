/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Record numbers and keys.
 *
 * The order maps a number to another one, and the format writes it as a key. The hashed order
 * adds the seed's salt to the number and applies the mixer of splitmix64. That is a bijection,
 * so no two records have the same key. It can be inverted, so a key from an engine identifies
 * its record without a table. For keys of less than 8 bytes it is a bijection of their number
 * of bits, by multiplications with odd numbers and xors with higher bits. In a longer raw key,
 * the bytes after the first 8 are hashed from those.
 *
 * The ycsb order is YCSB's hash of record numbers, for comparisons on the same keys. It drops
 * the sign, so two numbers may have the same key (the probability of a collision among 10^8 is
 * 5 in 10^4), and it cannot be inverted.
 *
 * A format that maps two records to one key would make a run wrong, because an insert would be
 * an update. Such a keyspace is rejected.
 */
#include "workload/keyspace.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/rng.h"
#include "workload/keyspace_words.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { CHUNK_BYTES = 4 << 20 };

static inline uint64_t
ycsb_hash(uint64_t number)
{
	/* offset basis and prime of FNV-1a (Fowler, Noll, Vo) for 64 bits */
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (int i = 0; i < 8; i++)
		hash = (hash ^ (uint8_t)(number >> 8 * i)) * UINT64_C(0x100000001b3);
	return (int64_t)hash < 0 ? -hash : hash;
}

uint64_t
keyspace_ycsb_hash(uint64_t number)
{
	return ycsb_hash(number);
}

/* ---- orders and their inverses ---- */

static uint64_t
mask_of(unsigned bits)
{
	return UINT64_MAX >> (64 - bits);
}

/** A bijection of numbers of 8..56 bits: that of keys.c with the seed's salt. */
static uint64_t
permute(uint64_t x, unsigned bits, uint64_t salt)
{
	uint64_t mask = mask_of(bits);
	unsigned shift = bits / 2;
	for (int i = 0; i < 2; i++) {
		x = ((x + salt) * UINT64_C(0xbf58476d1ce4e5b9)) & mask;
		x ^= x >> shift;
		x = (x * UINT64_C(0x94d049bb133111eb)) & mask;
		x ^= x >> (shift - 1);
		salt >>= 8;
	}
	return x;
}

uint64_t
keyspace_permute(uint64_t number, unsigned bits, uint64_t salt)
{
	return permute(number, bits, salt);
}

static uint64_t
unpermute(uint64_t x, unsigned bits, uint64_t salt)
{
	uint64_t mask = mask_of(bits);
	unsigned shift = bits / 2;
	for (int i = 1; i >= 0; i--) {
		x = (rng_unshift(x, shift - 1) * UINT64_C(0x319642b2d24d8ec3)) & mask;
		x = (rng_unshift(x, shift) * UINT64_C(0x96de1b173f119089) - (salt >> 8 * i)) &
			mask;
	}
	return x;
}

/** The number to write; `bits` and `salt` are the keyspace's. */
static inline uint64_t
in_order(uint32_t order, uint32_t bits, uint64_t salt, uint64_t number)
{
	if (order == NB_ORDER_ORDERED)
		return number;
	if (order == NB_ORDER_YCSB)
		return ycsb_hash(number);
	return bits < 64 ? permute(number, bits, salt) : splitmix64_mix(number + salt);
}

static uint64_t
out_of_order(const struct keyspace *space, uint64_t written)
{
	if (space->order == NB_ORDER_ORDERED)
		return written;
	return space->bits < 64 ? unpermute(written, space->bits, space->salt)
				: splitmix64_unmix(written) - space->salt;
}

/* ---- formats and their inverses ---- */

/** The last `size` bytes of the number, big-endian. */
static inline void
put_big_endian(uint8_t *out, uint64_t number, size_t size)
{
	uint64_t bytes = __builtin_bswap64(number);
	memcpy(out, (const uint8_t *)&bytes + 8 - size, size);
}

static uint64_t
get_big_endian(const uint8_t *in, size_t size)
{
	uint64_t bytes = 0;
	memcpy((uint8_t *)&bytes + 8 - size, in, size);
	return __builtin_bswap64(bytes);
}

static inline size_t
put_raw(uint32_t order, uint64_t salt, size_t size, uint64_t written, uint8_t *out)
{
	if (size < 8) {
		put_big_endian(out, written, size);
		return size;
	}
	if (order == NB_ORDER_ORDERED) {
		memset(out, 0, size - 8);
		put_big_endian(out + size - 8, written, 8);
		return size;
	}
	uint64_t word = __builtin_bswap64(written), at = 8;
	memcpy(out, &word, 8);
	uint64_t state = written ^ salt; /* generates the bytes after the first 8 */
	for (; at + 8 <= size; at += 8) {
		word = splitmix64_next(&state);
		memcpy(out + at, &word, 8);
	}
	if (at < size) { /* write whole words; the last one overlaps the previous one */
		unsigned over = 8 * (unsigned)(size - at);
		word = word >> over | splitmix64_next(&state) << (64 - over);
		memcpy(out + size - 8, &word, 8);
	}
	return size;
}

static inline size_t
put_text(const struct keyspace *space, uint64_t written, uint8_t *out)
{
	uint32_t prefix = space->prefix_size, digits = decimal_digits(written);
	digits = digits > space->digits ? digits : space->digits;
	/* usually one store; the digits overwrite its excess */
	if (prefix <= 8 && prefix + digits >= 8)
		memcpy(out, space->prefix, 8);
	else
		memcpy(out, space->prefix, prefix);
	decimal_write(out + prefix, written, digits);
	return prefix + (size_t)digits;
}

/** Whether put_raw() of the number writes these bytes. */
static bool
is_raw(const struct keyspace *space, uint64_t written, const uint8_t *in)
{
	size_t size = space->key_size;
	bool is_ordered = space->order == NB_ORDER_ORDERED;
	uint64_t state = written ^ space->salt, word = 0;
	for (size_t at = is_ordered ? 0 : 8; at + (is_ordered ? 8 : 0) < size; at += 8) {
		size_t left = size - at - (is_ordered ? 8 : 0);
		if (!is_ordered)
			word = splitmix64_next(&state);
		if (memcmp(in + at, &word, left < 8 ? left : 8) != 0)
			return false;
	}
	return true;
}

/** Parse the number in a text key; false if it is invalid. */
static bool
get_text(const struct keyspace *space, struct nb_slice key, uint64_t *written)
{
	const uint8_t *in = key.data;
	uint32_t prefix = space->prefix_size;
	*written = 0;
	for (size_t at = prefix; at < key.size; at++) {
		uint64_t digit = (uint64_t)in[at] - '0';
		if (digit > 9 || *written > (UINT64_MAX - digit) / 10)
			return false;
		*written = *written * 10 + digit;
	}
	/* unique spelling: no leading zeros except for the width */
	return key.size >= prefix + (size_t)space->digits &&
		memcmp(in, space->prefix, prefix) == 0 &&
		(key.size == prefix + (size_t)space->digits || in[prefix] != '0');
}

size_t
keyspace_key(const struct keyspace *space, uint64_t number, uint8_t *out)
{
	assert(number < space->numbers);
	if (space->format == NB_KEY_FILE) {
		keyspace_copy(space, number, 1, out, 0);
		return space->key_size;
	}
	if (space->format == NB_KEY_GRAPH)
		return tao_key(space->graph, number, out);
	uint64_t written = in_order(space->order, space->bits, space->salt, number);
	if (space->format == NB_KEY_TEXT)
		return put_text(space, written, out);
	if (keyspace_is_words(space))
		return keyspace_put_words(space, written, out);
	/* be64 is a raw key of 8 bytes */
	return put_raw(space->order, space->salt, space->key_size, written, out);
}

bool
keyspace_number(const struct keyspace *space, struct nb_slice key, uint64_t *number)
{
	if (!space->is_reversible || (space->key_size != 0 && key.size != space->key_size))
		return false;
	uint64_t written;
	const uint8_t *in = key.data;
	if (space->format == NB_KEY_GRAPH)
		return tao_key_number(space->graph, key, number) && *number < space->numbers;
	if (space->format == NB_KEY_TEXT) {
		if (!get_text(space, key, &written))
			return false;
	} else if (keyspace_is_words(space)) {
		if (!keyspace_get_words(space, key, &written))
			return false;
	} else {
		size_t at = space->order == NB_ORDER_ORDERED && key.size > 8 ? key.size - 8 : 0;
		written = get_big_endian(in + at, key.size < 8 ? key.size : 8);
		if (!is_raw(space, written, in))
			return false;
	}
	*number = out_of_order(space, written);
	return *number < space->numbers;
}

/* ---- several keys at once ---- */

/* Instead of a number of bits: the numbers are in hashed order already. */
enum { MIXED = 0 };

/**
 * Constant order, bits and size remove the branches. `size` is of raw keys; 0: text keys, whose
 * sizes are written to `slices`.
 */
static inline __attribute__((always_inline)) void
keys_of(const struct keyspace *space, uint32_t order, uint32_t bits, size_t size,
	const uint64_t *numbers, uint32_t count, uint8_t *out, size_t stride,
	struct nb_slice *slices)
{
	uint64_t salt = space->salt; /* in a register, because a byte of `out` could alias it */
	for (uint32_t i = 0; i < count; i++) {
		uint8_t *key = out + i * stride;
		uint64_t written = bits == MIXED ? numbers[i]
						 : in_order(order, bits, salt, numbers[i]);
		if (size == 0)
			slices[i].size = put_text(space, written, key);
		else
			put_raw(order, salt, size, written, key);
	}
}

/** Separate loops for text keys and the most frequent sizes; not for keys of a file. */
static inline __attribute__((always_inline)) void
keys_in_order(const struct keyspace *space, uint32_t order, uint32_t bits,
	const uint64_t *numbers, uint32_t count, uint8_t *out, size_t stride,
	struct nb_slice *slices)
{
	size_t size = space->key_size;
	if (space->format == NB_KEY_TEXT)
		keys_of(space, order, bits, 0, numbers, count, out, stride, slices);
	else if (size == 16)
		keys_of(space, order, bits, 16, numbers, count, out, stride, slices);
	else if (size == 8)
		keys_of(space, order, bits, 8, numbers, count, out, stride, slices);
	else
		keys_of(space, order, bits, size, numbers, count, out, stride, slices);
}

/** Keys of 8 or more bytes in hashed order. */
static void
hashed_keys(const struct keyspace *space, const uint64_t *numbers, uint32_t count, uint8_t *out,
	size_t stride, struct nb_slice *slices)
{
	enum { CHUNK = 64 };
	uint64_t mixed[CHUNK];
	for (uint32_t at = 0; at < count; at += CHUNK) {
		uint32_t some = count - at < CHUNK ? count - at : CHUNK;
		splitmix64_mix_all(numbers + at, space->salt, mixed, some);
		keys_in_order(space, NB_ORDER_HASHED, MIXED, mixed, some, out + at * stride,
			stride, slices + at);
	}
}

void
keyspace_keys(const struct keyspace *space, const uint64_t *numbers, uint32_t count,
	uint8_t *out, size_t stride, struct nb_slice *slices)
{
#define IN(order, bits) keys_in_order(space, order, bits, numbers, count, out, stride, slices)
	if (space->format == NB_KEY_FILE)
		for (uint32_t i = 0; i < count; i++)
			keyspace_copy(space, numbers[i], 1, out + i * stride, 0);
	else if (space->format == NB_KEY_GRAPH)
		for (uint32_t i = 0; i < count; i++)
			slices[i].size = tao_key(space->graph, numbers[i], out + i * stride);
	else if (keyspace_is_words(space))
		for (uint32_t i = 0; i < count; i++)
			slices[i].size = keyspace_key(space, numbers[i], out + i * stride);
	else if (space->order == NB_ORDER_YCSB)
		IN(NB_ORDER_YCSB, 64);
	else if (space->order == NB_ORDER_ORDERED)
		IN(NB_ORDER_ORDERED, 64);
	else if (space->bits == 64)
		hashed_keys(space, numbers, count, out, stride, slices);
	else
		IN(NB_ORDER_HASHED, space->bits);
#undef IN
}

/** With a constant size, memcpy is a load and a store. */
static inline void
copy_keys(const uint8_t *from, uint32_t count, uint8_t *out, size_t stride, size_t size)
{
	for (uint32_t i = 0; i < count; i++)
		memcpy(out + i * stride, from + i * size, size);
}

void
keyspace_copy(const struct keyspace *space, uint64_t first, uint32_t count, uint8_t *out,
	size_t stride)
{
	const uint8_t *from = keys_get(&space->file, first).data;
	for (uint32_t i = 0; i < count && space->is_swapped; i++) {
		uint64_t key;
		memcpy(&key, from + i * sizeof(key), sizeof(key));
		key = __builtin_bswap64(key);
		memcpy(out + i * stride, &key, sizeof(key));
	}
	if (space->is_swapped)
		return;
	if (space->key_size == 16)
		copy_keys(from, count, out, stride, 16);
	else if (space->key_size == 8)
		copy_keys(from, count, out, stride, 8);
	else
		copy_keys(from, count, out, stride, space->key_size);
}

/* ---- creation ---- */

static int
set_size(struct keyspace *space, uint64_t key_size)
{
	if (key_size == 0 || key_size > NB_KEY_SIZE_MAX)
		return error_set(NB_ERR_USAGE, "keys of %llu bytes: a key has 1..%u",
			(unsigned long long)key_size, NB_KEY_SIZE_MAX);
	space->key_size = key_size;
	space->key_size_max = key_size;
	return NB_OK;
}

static int
create_raw(struct keyspace *space, uint64_t key_size)
{
	int rc = set_size(space, key_size);
	if (rc != NB_OK)
		return rc;
	space->bits = key_size < 8 ? (uint32_t)key_size * 8 : 64;
	if (space->bits == 64)
		return NB_OK;
	if (space->order == NB_ORDER_YCSB)
		return error_set(NB_ERR_USAGE,
			"the order ycsb needs raw keys of 8 bytes or more, not of %llu: cut to that, its hashes are the same for many records",
			(unsigned long long)key_size);
	if (space->numbers - 1 > mask_of(space->bits))
		return error_set(NB_ERR_USAGE,
			"there are only %llu different keys of %llu bytes, and %llu records",
			1ULL << space->bits, (unsigned long long)key_size,
			(unsigned long long)space->numbers);
	return NB_OK;
}

/** The longest number decides; for hashed numbers, the longest possible one. */
static int
create_text(struct keyspace *space, const struct nb_job *job)
{
	uint64_t largest = space->order == NB_ORDER_ORDERED ? space->numbers - 1
		: space->order == NB_ORDER_YCSB             ? INT64_MAX
							    : UINT64_MAX;
	uint32_t most = decimal_digits(largest);
	space->bits = 64;
	space->digits = job->key_digits > 1 ? job->key_digits : 1;
	space->prefix_size = (uint32_t)strnlen(job->key_prefix, sizeof(job->key_prefix));
	memcpy(space->prefix, job->key_prefix, space->prefix_size);
	if (space->digits > NB_KEY_SIZE_MAX - sizeof(space->prefix))
		return error_set(NB_ERR_USAGE,
			"text keys of %u digits: a key has no more than %u bytes",
			space->digits, NB_KEY_SIZE_MAX);
	bool is_padded = space->digits >= most;
	space->key_size_max = space->prefix_size + (is_padded ? space->digits : most);
	space->key_size = is_padded ? space->key_size_max : 0;
	return NB_OK;
}

static int
create_file(struct keyspace *space, const struct nb_job *job)
{
	if (job->keys_path == NULL)
		return error_set(NB_ERR_USAGE, "keys of a file: the file is not named");
	int rc = set_size(space, job->key_size);
	if (rc != NB_OK)
		return rc;
	rc = keys_open(&space->file, job->keys_path, job->key_size, space->numbers);
	if (rc == NB_OK) /* records are used in any order, not in that of the file */
		madvise((void *)space->file.data, space->file.mapped_size, MADV_NORMAL);
	return rc;
}

static int
create_graph(struct keyspace *space, const struct nb_job *job)
{
	space->key_size_max = TAO_EDGE_KEY;
	space->graph = malloc(sizeof(*space->graph));
	if (space->graph == NULL)
		return error_memory();
	int rc = tao_graph_create(
		space->graph, job->graph, job->edges, &job->degree, job->seed);
	if (rc == NB_OK)
		return rc;
	free(space->graph);
	space->graph = NULL;
	return rc;
}

static int
create_format(struct keyspace *space, const struct nb_job *job)
{
	switch (space->format) {
	case NB_KEY_RAW:
		return create_raw(space, job->key_size);
	case NB_KEY_BE64:
		return create_raw(space, 8);
	case NB_KEY_TEXT:
		return create_text(space, job);
	case NB_KEY_FILE:
		return create_file(space, job);
	case NB_KEY_GRAPH:
		return create_graph(space, job);
	case NB_KEY_WORDS:
	case NB_KEY_LETTERS:
		return keyspace_create_words(space, job);
	default:
		return error_set(NB_ERR_USAGE, "unknown format of keys %u", space->format);
	}
}

int
keyspace_create(struct keyspace *space, const struct nb_job *job, uint64_t numbers)
{
	uint64_t state = job->seed;
	*space = (struct keyspace){.format = job->key_format,
		.order = job->key_order,
		.numbers = numbers,
		.seed = job->seed,
		.salt = splitmix64_next(&state)};
	if (numbers == 0)
		return error_set(NB_ERR_USAGE, "no records: there has to be 1 at least");
	if (space->order > NB_ORDER_YCSB)
		return error_set(NB_ERR_USAGE, "unknown order of keys %u", space->order);
	int rc = create_format(space, job);
	if (rc != NB_OK)
		return rc;
	bool is_file = space->format == NB_KEY_FILE;
	bool is_graph = space->format == NB_KEY_GRAPH;
	space->is_ordered = !is_file && !is_graph && space->order == NB_ORDER_ORDERED &&
		space->key_size != 0;
	space->is_reversible = is_graph || (!is_file && space->order != NB_ORDER_YCSB);
	return NB_OK;
}

void
keyspace_destroy(struct keyspace *space)
{
	if (space->file.data != NULL)
		keys_close(&space->file);
	if (space->graph != NULL)
		tao_graph_destroy(space->graph);
	free(space->graph);
	*space = (struct keyspace){0};
}

/* ---- digest ---- */

/** One pass over all keys, in chunks of 4 MiB that are then released from memory. */
static uint64_t
hash_file(const struct keyspace *space)
{
	const struct keys *keys = &space->file;
	uint64_t in_chunk = keys->key_size < CHUNK_BYTES ? CHUNK_BYTES / keys->key_size : 1;
	XXH3_state_t state;
	XXH3_INITSTATE(&state);
	XXH3_64bits_reset_withSeed(
		&state, keys->key_size + ((uint64_t)space->is_swapped << 32));
	for (uint64_t i = 0; i < keys->count; i += in_chunk) {
		uint64_t end = keys->count - i < in_chunk ? keys->count : i + in_chunk;
		XXH3_64bits_update(&state, keys_get(keys, i).data, (end - i) * keys->key_size);
		keys_forget(keys, i, end);
	}
	return XXH3_64bits_digest(&state);
}

/** Excludes settings without effect on the bytes, for example the seed of ordered keys. */
uint64_t
keyspace_hash(const struct keyspace *space)
{
	if (space->format == NB_KEY_FILE)
		return hash_file(space);
	if (space->format == NB_KEY_GRAPH) {
		uint64_t words[] = {space->graph->edges, space->seed, space->graph->hash};
		return XXH3_64bits(words, sizeof(words));
	}
	bool is_text = space->format == NB_KEY_TEXT, is_words = keyspace_is_words(space);
	bool is_seeded = space->order == NB_ORDER_HASHED ||
		(space->order == NB_ORDER_YCSB && !is_text && space->key_size > 8);
	uint64_t facts[4 + sizeof(space->prefix) / 8] = {is_words ? space->format : is_text,
		space->order,
		is_text || space->format == NB_KEY_WORDS ? space->digits : space->key_size,
		is_seeded ? space->seed : 0};
	memcpy(&facts[4], space->prefix, sizeof(space->prefix));
	return XXH3_64bits(facts, sizeof(facts));
}
