/* SPDX-License-Identifier: BSD-2-Clause */
#include "kept.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "ending.h"
#include "message.h"

static struct block {
	struct block *next;
	max_align_t bytes[];
} * blocks;

void *
kept_array(size_t count, size_t size)
{
	struct block *block = calloc(1, sizeof(*block) + (count + 1) * size);
	if (block == NULL)
		ending_end(message_no_memory());
	block->next = blocks;
	blocks = block;
	return block->bytes;
}

char *
kept_text(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	int length = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	char *text = kept_array((size_t)length, 1);
	va_start(args, fmt);
	vsnprintf(text, (size_t)length + 1, fmt, args);
	va_end(args);
	return text;
}

void
kept_free(void)
{
	for (struct block *next; blocks != NULL; blocks = next) {
		next = blocks->next;
		free(blocks);
	}
}
