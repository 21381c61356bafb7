/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_DIST_PARTS_H
#define WORKLOAD_DIST_PARTS_H
/** Internal interface of the files that draw records: dist.c, dist_zipf.c and dist_scramble.c. */
#include <stdbool.h>
#include <string.h>

#include "base/wide.h"
#include "workload/dist.h"

enum { DIST_CHUNK = 64 /* maximum number of draws that are made together */ };

/** 63 random bits as a number in [0, 1], dense near 0. */
static inline double
dist_dense_unit(uint64_t *random)
{
	return (double)(int64_t)(splitmix64_next(random) >> 1) * 0x1p-63;
}

/** The bits of the flags that are 1, of DIST_CHUNK flags that are 0 or 1. */
static inline uint64_t
dist_bits_of(const uint8_t *flags)
{
	uint64_t bits = 0;
	for (uint32_t j = 0; j < DIST_CHUNK; j += 8) {
		uint64_t eight;
		memcpy(&eight, flags + j, sizeof(eight));
		/* moves the lowest bit of byte k to bit 56 + k */
		bits |= (eight * UINT64_C(0x0102040810204080)) >> 56 << j;
	}
	return bits;
}

void
zipf_create(struct dist *dist, double theta);

void
zipf_resize(struct dist *dist);

uint64_t
zipf_rank(const struct dist *dist, uint64_t *random);

/** Draw `count` ranks, at most DIST_CHUNK, each from its own state. */
void
zipf_ranks(const struct dist *dist, uint64_t *random, uint32_t count, uint64_t *out);

void
scramble_create(struct dist *dist);

/** The record of a rank. */
uint64_t
scramble(const struct dist *dist, uint64_t rank);

/** scramble() for `count` ranks in place, at most DIST_CHUNK. */
void
scramble_all(const struct dist *dist, uint32_t count, uint64_t *ranks);

#endif /* WORKLOAD_DIST_PARTS_H */
