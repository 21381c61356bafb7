/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_KEYS_H
#define WORKLOAD_KEYS_H
/** The file of raw keys, mapped: `count` keys of `key_size` bytes, one after the other. */
#include <stdbool.h>

#include <mininb/mininb.h>

/** Any thread may read it; one thread opens, surveys and closes it. */
struct keys {
	const uint8_t *data;
	uint64_t key_size;
	uint64_t count;
	uint64_t mapped_size;
	char *path;
};

/**
 * Map the file, which must contain at least `count` whole keys. The text of a failure has their
 * number and the command that makes more.
 */
NB_MUST_CHECK int
keys_open(struct keys *keys, const char *path, uint64_t key_size, uint64_t count);

void
keys_close(struct keys *keys);

static inline struct nb_slice
keys_get(const struct keys *keys, uint64_t i)
{
	return (struct nb_slice){keys->data + i * keys->key_size, keys->key_size};
}

/**
 * Release the mapped memory of keys [begin, end). It is page cache and is mapped again when it
 * is accessed. Any thread.
 */
void
keys_forget(const struct keys *keys, uint64_t begin, uint64_t end);

/**
 * Whether nb_keys_make() made a file of `file_size` bytes whose first `size` bytes are at
 * `begin`. The keys may be shuffled. `seed` matters only for keys of less than 16 bytes.
 */
bool
keys_are_made(const void *begin, size_t size, uint64_t file_size, uint64_t seed);

/** Results of keys_survey(). */
struct keys_facts {
	uint64_t hash;       /* XXH3-64 of the bytes of all keys in order */
	uint64_t duplicates; /* keys equal to an earlier one */
	bool is_estimate;    /* duplicates were counted in a part of the keys and scaled */
	uint64_t looked;     /* number of keys in which duplicates were counted */
};

/* Number of passes over the file. Each allows an exact count for 1.3 million keys. */
enum { KEYS_QUICK = 1, KEYS_EXACT = 8 };

/**
 * Read all keys in at most `passes_max` passes; see keys_survey.c. The hash covers all keys for
 * any number of passes.
 */
NB_MUST_CHECK int
keys_survey(const struct keys *keys, struct keys_facts *facts, uint32_t passes_max,
	nb_progress_fn progress, void *progress_arg);

/** Maximum bytes that nb_keys_shuffle() has in memory. */
#define KEYS_BUCKET_BYTES ((uint64_t)128 << 20)

/** nb_keys_shuffle() with another size of buckets. */
NB_MUST_CHECK int
keys_shuffle(const char *path, uint64_t key_size, uint64_t count, uint64_t seed,
	uint64_t bucket_bytes, nb_progress_fn progress, void *progress_arg);

#endif /* WORKLOAD_KEYS_H */
