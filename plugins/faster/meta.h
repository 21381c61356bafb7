/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_META_H
#define FASTER_META_H
/**
 * The file `meta`: what an open has to know before it reads the log. It is replaced as a whole.
 */
#include <mininb/engine.h>

#include <stdbool.h>
#include <stdint.h>

struct meta {
	uint64_t magic;
	uint64_t page_size;
	uint64_t begin; /* of the log */
	uint64_t tail;  /* if it was closed: the end of its last seal */
	uint32_t is_closed;
	uint32_t level; /* of the index: no record was linked in a larger one */
	uint32_t tag_level;
	uint32_t opening; /* counts the opens */
	uint64_t checksum;
};

/** NB_OK, NB_NOT_FOUND, or a failure: it cannot be read, or is damaged. */
int
meta_read(struct meta *meta, const struct nb_host *host, const char *directory);

/** `is_synced`: it survives power loss, as does the directory. */
int
meta_write(
	struct meta *meta, const struct nb_host *host, const char *directory, bool is_synced);

#endif /* FASTER_META_H */
