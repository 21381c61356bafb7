/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void *
array_append(void *items, size_t *count, size_t size)
{
	char *grown;
	memcpy(&grown, items, sizeof(grown));
	grown = realloc(grown, (*count + 1) * size);
	if (grown == NULL) {
		error_memory();
		return NULL;
	}
	memcpy(items, &grown, sizeof(grown));
	return memset(grown + (*count)++ * size, 0, size);
}
