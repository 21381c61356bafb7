/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void *
array_append(void *items, size_t *count, size_t size)
{
	char *grown;
	size_t bytes;
	memcpy(&grown, items, sizeof(grown));
	grown = __builtin_mul_overflow(*count + 1, size, &bytes) ? NULL : realloc(grown, bytes);
	if (grown == NULL) {
		error_memory();
		return NULL;
	}
	memcpy(items, &grown, sizeof(grown));
	return memset(grown + (*count)++ * size, 0, size);
}
