/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_KEYSPACE_H
#define WORKLOAD_KEYSPACE_H
/** Conversion of record numbers to keys and, if possible, back. */
#include <stdbool.h>

#include <mininb/job.h>

#include "workload/keys.h"
#include "workload/tao_graph.h"

/** Made once, then read-only. */
struct keyspace {
	uint32_t format, order; /* NB_KEY_*, NB_ORDER_* */
	uint64_t key_size;      /* of all keys; 0: sizes differ */
	uint64_t key_size_max;
	uint64_t numbers; /* records are 0..numbers-1 */
	uint64_t seed;
	uint64_t salt;      /* derived from the seed; added to a number before it is mixed */
	bool is_ordered;    /* key(n) < key(n + 1) by memcmp() */
	bool is_reversible; /* keyspace_number() works */
	bool is_swapped;    /* reverse the byte order of the 8-byte keys in the file */
	uint32_t bits; /* of the number in a raw key: 64, less for keys of less than 8 bytes */
	char prefix[32];
	uint32_t prefix_size, digits; /* digits: 1 or more */
	uint32_t words;               /* in the prefix of NB_KEY_WORDS */
	struct keys file;             /* NB_KEY_FILE: mapped; else data is NULL */
	struct tao_graph *graph;      /* NB_KEY_GRAPH: owned; else NULL */
};

/**
 * Only numbers 0..numbers-1 are used. NB_ERR_USAGE: the format has too few keys. NB_FAIL as for
 * keys_open(): the file has too few.
 */
NB_MUST_CHECK int
keyspace_create(struct keyspace *space, const struct nb_job *job, uint64_t numbers);

void
keyspace_destroy(struct keyspace *space);

/** Write the key of record `number` to out, which has key_size_max bytes; returns its size. */
size_t
keyspace_key(const struct keyspace *space, uint64_t number, uint8_t *out);

/**
 * The same for `count` numbers, with keys `stride` bytes apart; faster than single calls.
 * `slices` must point to the keys and have key_size; for text keys the function sets their
 * sizes.
 */
void
keyspace_keys(const struct keyspace *space, const uint64_t *numbers, uint32_t count,
	uint8_t *out, size_t stride, struct nb_slice *slices);

/** Copy the keys of records first, first + 1, ... of a file, `stride` bytes apart. */
void
keyspace_copy(const struct keyspace *space, uint64_t first, uint32_t count, uint8_t *out,
	size_t stride);

/** The record of a key. False if it has none, or if keys are not reversible. */
bool
keyspace_number(const struct keyspace *space, struct nb_slice key, uint64_t *number);

/**
 * A pseudo-random bijection of the numbers of `bits` bits, 8 to 56, that depends on the salt.
 */
uint64_t
keyspace_permute(uint64_t number, unsigned bits, uint64_t salt);

/** Digest of everything that determines the bytes of the keys. */
uint64_t
keyspace_hash(const struct keyspace *space);

/** YCSB's hash of a record number: |FNV-1a-64 of its 8 little-endian bytes|. */
uint64_t
keyspace_ycsb_hash(uint64_t number);

#endif /* WORKLOAD_KEYSPACE_H */
