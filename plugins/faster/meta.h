/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_META_H
#define FASTER_META_H
/**
 * The file `meta`: the parameters that an open needs before it reads the log. A write replaces
 * the whole file.
 */
#include <mininb/engine.h>

#include <stdbool.h>
#include <stdint.h>

struct meta {
	uint64_t magic;
	uint64_t page_size;
	uint64_t begin; /* begin of the log */
	uint64_t tail;  /* end of the last seal; or, if not is_closed, of a synced part */
	uint32_t is_closed;
	uint32_t level; /* of the index; it never had a greater level */
	uint32_t tag_level;
	uint32_t opening; /* number of opens */
	uint64_t checksum;
};

/**
 * Read the file. Returns NB_OK, NB_NOT_FOUND, or a failure: the file is unreadable or damaged.
 */
int
meta_read(struct meta *meta, const struct nb_host *host, const char *directory);

/** Write the file. `is_synced`: sync it and its directory. Returns NB_OK or a failure. */
int
meta_write(
	struct meta *meta, const struct nb_host *host, const char *directory, bool is_synced);

#endif /* FASTER_META_H */
