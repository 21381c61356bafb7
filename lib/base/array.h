/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H
/** Lists that grow by one element at a time. */
#include <stddef.h>

/**
 * Append a zeroed element to the list that *items points to. `items` is the address of a
 * pointer to elements of `size` bytes. NULL: out of memory; the error is set and the list is
 * unchanged.
 */
void *
array_append(void *items, size_t *count, size_t size);

#endif /* BASE_ARRAY_H */
