/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_WORKLOAD_H
#define MININB_WORKLOAD_H
/**
 * Workloads: the operations, their keys and their values. This part depends on no engine,
 * thread or clock.
 *
 * Operation i is a pure function of (seed, workload, i). So a run can be repeated, split over
 * threads and verified afterwards. The digest identifies the stream of operations. Two results
 * are comparable if their digests are equal.
 */
#include <mininb/mininb.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Limits of a workload. */
#define NB_KEY_SIZE_MAX (1u << 20)
#define NB_VALUE_SIZE_MAX (1u << 30)

enum { NB_VERB_PUT = 0, NB_VERB_GET = 1, NB_VERB_DELETE = 2 };

/** "put", "get", "delete". NULL if the verb does not exist. */
const char *
nb_verb_name(uint32_t verb);

/** The classic workload: one verb applied to the keys of a file, in order. Append only. */
struct nb_workload {
	size_t size;
	uint32_t verb; /* NB_VERB_* */
	uint32_t spare_u32;
	const char *keys_path; /* count x key_size raw bytes, or more */
	uint64_t count;        /* operations, which is also the number of keys used; >= 1 */
	uint64_t key_size;     /* bytes, 1..NB_KEY_SIZE_MAX */
	uint64_t value_size;   /* bytes, 0..NB_VALUE_SIZE_MAX */
	double value_ratio;    /* size after ideal compression : size, 0..1 */
	uint64_t seed;
};

#define NB_WORKLOAD_INIT \
	{ \
		.size = sizeof(struct nb_workload), .verb = NB_VERB_PUT, \
		.keys_path = "keys.bin", .count = 100000, .key_size = 16, .value_size = 100, \
		.value_ratio = 0.5, .seed = 1 \
	}

/**
 * Write a file of `count` distinct pseudo-random keys, which depend only on (seed, key_size,
 * count). Written to a temporary file and renamed: an old file stays unchanged until the new
 * one is complete, even on a full disk or a kill. NB_ERR_USAGE: `count` is above the number of
 * distinct keys.
 */
NB_MUST_CHECK int
nb_keys_make(const char *path, uint64_t key_size, uint64_t count, uint64_t seed,
	nb_progress_fn progress, void *progress_arg);

/**
 * Shuffle the first `count` keys of the file; the rest stays. Each of the count! orders has
 * equal probability, as far as the generator's 256 bits of state allow. Written to a temporary
 * file and renamed, so the file is a permutation of itself at every moment. Needs as much free
 * disk space as the file has bytes, and about 128 MiB of memory for a file of any size.
 */
NB_MUST_CHECK int
nb_keys_shuffle(const char *path, uint64_t key_size, uint64_t count, uint64_t seed,
	nb_progress_fn progress, void *progress_arg);

#ifdef __cplusplus
}
#endif
#endif /* MININB_WORKLOAD_H */
