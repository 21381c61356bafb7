/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_BLOCK_H
#define WORKLOAD_BLOCK_H
/** How keys and values that are made ahead lie in memory: see the head of ops.c. */
#include <stddef.h>
#include <stdint.h>

enum {
	BLOCK_BYTES = 8 << 10, /* keys and values of a block: a quarter of a small L1 */
	BLOCK_LINE = 64,
};

/** Bytes from one key or value of a block to the next: whole words, whole lines for large ones. */
static inline size_t
block_stride(uint64_t size)
{
	size_t unit = size > BLOCK_LINE ? BLOCK_LINE : 16;
	return (size_t)((size + unit - 1) / unit * unit) + (size == 0 ? unit : 0);
}

/** `size` and what is missing to a whole line. */
static inline size_t
block_whole_lines(size_t size)
{
	return (size + BLOCK_LINE - 1) / BLOCK_LINE * BLOCK_LINE;
}

#endif /* WORKLOAD_BLOCK_H */
