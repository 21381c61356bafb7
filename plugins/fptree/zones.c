/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A check of the chunk headers of libpmemobj's heap, before libpmemobj opens the pool.
 *
 * A zone has a header and an array of chunk headers. Each chunk header states the number of
 * chunks to the next one. libpmemobj (1.12) adds these numbers without a check. So it never
 * leaves the loop if one of them is 0, and reads far outside the array if one is too large.
 * Everything else in the heap is left to libpmemobj.
 *
 * The layout is that of version 1 of the heap: "heap_layout.h" of PMDK 1.0 to 2.1.
 */
#include "parts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	HEAP_OFFSET_AT = 4096 + 1024 + 16, /* in the pool: after head, layout name, and lanes */
	HEAP_HEADER = 1024,
	CHUNKS_MAX = 65528 /* in a zone */
};

static const char heap_signature[16] = "MEMORY_HEAP_HDR";

#define CHUNK_BYTES (256ull << 10)
#define ZONE_MAGIC 0xC3F0A2D2u

struct chunk {
	uint16_t type, flags;
	uint32_t chunks; /* to the next header */
};

struct zone {
	uint32_t magic, chunks;
	uint8_t reserved[56];
	struct chunk at[CHUNKS_MAX];
};

#define ZONE_BYTES (sizeof(struct zone) + CHUNKS_MAX * CHUNK_BYTES)

/* Read bytes of the pool, which is the sequence of its parts. Returns the number of bytes. */
static size_t
read_pool(const struct pool *pool, void *to, size_t size, uint64_t at)
{
	char name[POOL_PART_NAME];
	size_t done = 0;

	for (unsigned number = 0; done < size; number++) {
		struct stat info;
		ssize_t got = -1;
		pool_part_name(name, number);
		int fd = openat(pool->parts_fd, name, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			break;
		if (fstat(fd, &info) == 0) {
			uint64_t bytes = (uint64_t)info.st_size;
			got = at < bytes ? pread(fd, (char *)to + done, size - done, (off_t)at)
					 : 0;
			at = got > 0 ? 0 : at - bytes;
		}
		close(fd);
		if (got < 0)
			break;
		done += (size_t)got;
	}
	return done;
}

static int
check_zone(const struct pool *pool, const struct zone *zone, unsigned number)
{
	uint32_t count = zone->magic == ZONE_MAGIC ? zone->chunks : 0, at = 0;

	while (at < count && count <= CHUNKS_MAX) {
		uint32_t chunks = zone->at[at].chunks;
		if (chunks == 0 || chunks > count - at)
			break;
		at += chunks;
	}
	return at == count
		? NB_OK
		: pool->host->fail(NB_FAIL,
			  "the pool is damaged: the header of chunk %u in zone %u of its heap is not valid; delete the pool to make a new one",
			  at, number);
}

int
pool_check_zones(const struct pool *pool)
{
	uint64_t heap;
	char signature[sizeof(heap_signature)];
	struct zone *zone;
	int rc = NB_OK;

	if (read_pool(pool, &heap, sizeof(heap), HEAP_OFFSET_AT) != sizeof(heap) ||
		heap > POOL_SIZE_MAX ||
		read_pool(pool, signature, sizeof(signature), heap) != sizeof(signature) ||
		memcmp(signature, heap_signature, sizeof(signature)) != 0)
		return NB_OK; /* libpmemobj refuses it */
	zone = malloc(sizeof(*zone));
	if (zone == NULL)
		return pool->host->fail(NB_FAIL, "out of memory");
	for (unsigned i = 0; rc == NB_OK &&
		read_pool(pool, zone, sizeof(*zone), heap + HEAP_HEADER + i * ZONE_BYTES) ==
			sizeof(*zone);
		i++)
		rc = check_zone(pool, zone, i);
	free(zone);
	return rc;
}
