/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_KEYS_H
#define WORKLOAD_KEYS_H
/** The file of raw keys, mapped: `count` keys of `key_size` bytes, one after the other. */
#include <stdbool.h>

#include <mininb/mininb.h>

/** Read by any number of threads; opened, surveyed and closed by one. */
struct keys {
	const uint8_t *data;
	uint64_t key_size;
	uint64_t count;
	uint64_t mapped_size;
	char *path;
};

/**
 * Map the file. It must hold `count` whole keys; the text of the failure says
 * how many there are and which command makes more.
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
 * Let the memory go that maps keys [begin, end), which is page cache and comes
 * back when it is touched. Any thread.
 */
void
keys_forget(const struct keys *keys, uint64_t begin, uint64_t end);

/**
 * Whether a file of `file_size` bytes that begins with `size` bytes at `begin` holds keys that
 * nb_keys_make() made, shuffled or not: of 16 bytes and more with any seed, below with `seed`.
 */
bool
keys_are_made(const void *begin, size_t size, uint64_t file_size, uint64_t seed);

/** What keys_survey() finds. */
struct keys_facts {
	uint64_t hash;       /* XXH3-64 of all the keys' bytes in their order */
	uint64_t duplicates; /* keys that are equal to one before them */
	bool is_estimate;    /* of duplicates: counted in a part of the keys and scaled */
	uint64_t looked;     /* keys in which they were counted: all, or that part */
};

/* How often the file is read. Duplicates are counted exactly in up to 1.3 million keys for each. */
enum { KEYS_QUICK = 1, KEYS_EXACT = 8 };

/**
 * Look at all keys, at most `passes_max` times; see keys_survey.c. The hash is that of all
 * keys, whatever the number of passes.
 */
NB_MUST_CHECK int
keys_survey(const struct keys *keys, struct keys_facts *facts, uint32_t passes_max,
	nb_progress_fn progress, void *progress_arg);

/** What nb_keys_shuffle() takes into memory at a time. */
#define KEYS_BUCKET_BYTES ((uint64_t)128 << 20)

/** nb_keys_shuffle() with another size of its buckets. */
NB_MUST_CHECK int
keys_shuffle(const char *path, uint64_t key_size, uint64_t count, uint64_t seed,
	uint64_t bucket_bytes, nb_progress_fn progress, void *progress_arg);

#endif /* WORKLOAD_KEYS_H */
