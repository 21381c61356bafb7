/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_BLOCK_H
#define WORKLOAD_BLOCK_H
/** Layout in memory of keys and values that are made ahead: see the head of ops.c. */
#include <stddef.h>
#include <stdint.h>

enum {
	BLOCK_BYTES = 8 << 10, /* keys and values of a block: a quarter of a small L1 cache */
	BLOCK_LINE = 64,
};

/** Distance between keys or values of a block: whole words, or whole lines for large ones. */
static inline size_t
block_stride(uint64_t size)
{
	size_t unit = size > BLOCK_LINE ? BLOCK_LINE : 16;
	return (size_t)((size + unit - 1) / unit * unit) + (size == 0 ? unit : 0);
}

/** `size` rounded up to whole cache lines. */
static inline size_t
block_whole_lines(size_t size)
{
	return (size + BLOCK_LINE - 1) / BLOCK_LINE * BLOCK_LINE;
}

#endif /* WORKLOAD_BLOCK_H */
