/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SERVE_BYTES_H
#define SERVE_BYTES_H
/** A growing byte buffer, for the unparsed input and the unsent output of a connection. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/** All zeros: an empty buffer. */
struct bytes {
	char *data;
	size_t size, room;
	bool is_failed; /* memory ran out: some added bytes are missing */
};

bool
bytes_grow(struct bytes *bytes, size_t more);

/** Make room for `more` bytes at the end; false: out of memory. */
static inline bool
bytes_reserve(struct bytes *bytes, size_t more)
{
	return __builtin_expect(bytes->room - bytes->size >= more, 1) ||
		bytes_grow(bytes, more);
}

static inline void
bytes_add(struct bytes *bytes, const void *data, size_t size)
{
	if (size == 0 || !bytes_reserve(bytes, size))
		return;
	memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
}

#define BYTES_ADD_TEXT(bytes, text) bytes_add(bytes, text, sizeof(text) - 1)

static inline void
bytes_free(struct bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct bytes){.data = NULL};
}

#endif /* SERVE_BYTES_H */
