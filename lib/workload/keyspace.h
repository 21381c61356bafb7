/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_KEYSPACE_H
#define WORKLOAD_KEYSPACE_H
/** How a record's number becomes its key, and, where that can be, back. */
#include <stdbool.h>

#include <mininb/job.h>

#include "workload/keys.h"
#include "workload/tao_graph.h"

/** Made once, then only read. */
struct keyspace {
	uint32_t format, order; /* NB_KEY_*, NB_ORDER_* */
	uint64_t key_size;      /* of all keys; 0: they differ */
	uint64_t key_size_max;
	uint64_t numbers; /* there are records 0..numbers-1 */
	uint64_t seed;
	uint64_t salt;      /* of the seed: what is added to a number before it is mixed */
	bool is_ordered;    /* key(n) < key(n + 1) by memcmp() */
	bool is_reversible; /* keyspace_number() works */
	bool is_swapped;    /* the 8 bytes of each key in the file are the other way round */
	uint32_t bits; /* of the number in a raw key: 64, less in keys of less than 8 bytes */
	char prefix[32];
	uint32_t prefix_size, digits; /* digits: 1 or more */
	uint32_t words;               /* in the prefix of NB_KEY_WORDS */
	struct keys file;             /* NB_KEY_FILE: mapped; data NULL else */
	struct tao_graph *graph;      /* NB_KEY_GRAPH: owned; NULL else */
};

/**
 * Numbers 0..numbers-1 will be asked for, no others. NB_ERR_USAGE if the format cannot
 * tell so many apart; the failure of keys_open(), NB_FAIL, if the file holds fewer.
 */
NB_MUST_CHECK int
keyspace_create(struct keyspace *space, const struct nb_job *job, uint64_t numbers);

void
keyspace_destroy(struct keyspace *space);

/** Write the key of record `number` to out, which has key_size_max bytes; its size. */
size_t
keyspace_key(const struct keyspace *space, uint64_t number, uint8_t *out);

/**
 * The same for `count` numbers, keys `stride` bytes apart. Faster than one by one. `slices` point to
 * them already, with key_size; of texts they get the sizes.
 */
void
keyspace_keys(const struct keyspace *space, const uint64_t *numbers, uint32_t count,
	uint8_t *out, size_t stride, struct nb_slice *slices);

/** The keys of records first, first + 1, ... of a file, `stride` bytes apart. */
void
keyspace_copy(const struct keyspace *space, uint64_t first, uint32_t count, uint8_t *out,
	size_t stride);

/** The record of the key. False if it has none, or if the keys are not reversible. */
bool
keyspace_number(const struct keyspace *space, struct nb_slice key, uint64_t *number);

/**
 * A bijection of the numbers of `bits` bits, 8 to 56, that looks random and depends on the salt.
 */
uint64_t
keyspace_permute(uint64_t number, unsigned bits, uint64_t salt);

/** What names the keys in a digest: everything that decides their bytes. */
uint64_t
keyspace_hash(const struct keyspace *space);

/** YCSB's hash of a record number: |FNV-1a-64 of its 8 little-endian bytes|. */
uint64_t
keyspace_ycsb_hash(uint64_t number);

#endif /* WORKLOAD_KEYSPACE_H */
