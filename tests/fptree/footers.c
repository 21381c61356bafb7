/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A work-around for a defect of libpmemobj, at least up to 1.12.1, not of this engine.
 * libpmemobj joins free chunks with their neighbours by a footer in the header of their last
 * chunk. It does not flush the footer, because the next open would write it again. But the
 * open does that for used chunks only.
 *
 * The last chunk may still have an older header, of a chunk that was joined to its left
 * neighbour, for example when the pool grew. A crash after a free chunk was split and before
 * its footer was evicted leaves that header. The next allocation follows it out of the heap.
 * Corrected in DAOS' copy of PMDK (daos-stack/pmdk, pull request 24).
 *
 * This file writes the footers that an open should have written, so the images test only the
 * engine. The layout is that of libpmemobj's heap_layout.h, the same since 1.0.
 */
#include "footers.h"

#include <stddef.h>
#include <string.h>

enum {
	PAGE = 4096,
	HEAP_HEADER = 1024,
	ZONE_HEADER = 64,
	ZONE_MAGIC = (int)0xC3F0A2D2,
	CHUNK_FOOTER = 1,
	CHUNK_FREE = 2
};

struct chunk_header {
	uint16_t type, flags;
	uint32_t chunks;
};

struct zone_header {
	uint32_t magic, chunks;
};

static uint8_t *
heap_of(uint8_t *part, uint64_t bytes)
{
	static const char signature[16] = "MEMORY_HEAP_HDR";

	for (uint64_t at = PAGE; at + PAGE <= bytes; at += PAGE)
		if (memcmp(part + at, signature, sizeof(signature)) == 0)
			return part + at;
	return NULL;
}

bool
footers_mend(uint8_t *part, uint64_t bytes)
{
	uint8_t *heap = heap_of(part, bytes);
	if (heap == NULL)
		return false;
	struct zone_header zone;
	memcpy(&zone, heap + HEAP_HEADER, sizeof(zone));
	struct chunk_header *chunks = (void *)(heap + HEAP_HEADER + ZONE_HEADER);
	bool is_changed = false;
	if (zone.magic != (uint32_t)ZONE_MAGIC)
		return false;
	for (uint32_t i = 0; i < zone.chunks && chunks[i].chunks > 0; i += chunks[i].chunks) {
		struct chunk_header footer = {CHUNK_FOOTER, chunks[i].flags, chunks[i].chunks};
		uint32_t last = i + chunks[i].chunks - 1;
		if (chunks[i].type != CHUNK_FREE || last == i || last >= zone.chunks ||
			memcmp(&chunks[last], &footer, sizeof(footer)) == 0)
			continue;
		chunks[last] = footer;
		is_changed = true;
	}
	return is_changed;
}
