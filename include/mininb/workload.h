/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_WORKLOAD_H
#define MININB_WORKLOAD_H
/**
 * WHAT to do: which operations, on which keys, with which values. Nothing here
 * knows an engine, a thread or a clock.
 *
 * Operation i is a pure function of (seed, workload, i): a run can be repeated,
 * split over threads and verified afterwards. The digest names the stream of
 * operations; two results are comparable when their digests are equal.
 */
#include <mininb/mininb.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Bounds of what a workload may ask for. */
#define NB_KEY_SIZE_MAX (1u << 20)
#define NB_VALUE_SIZE_MAX (1u << 30)

enum { NB_VERB_PUT = 0, NB_VERB_GET = 1, NB_VERB_DELETE = 2 };

/** "put", "get", "delete". NULL if there is no such verb. */
const char *
nb_verb_name(uint32_t verb);

/** The classic workload: one verb, the keys of a file in its order. Append only. */
struct nb_workload {
	size_t size;
	uint32_t verb; /* NB_VERB_* */
	uint32_t spare_u32;
	const char *keys_path; /* count x key_size raw bytes, or more */
	uint64_t count;        /* operations, and keys taken from the file; >= 1 */
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
 * Write a file of `count` keys, all different, that look random and depend on
 * nothing but (seed, key_size, count). Written aside and renamed: an old file
 * stays as it was until the new one is whole, also on a full disk or a kill.
 * More keys than key_size can tell apart are NB_ERR_USAGE.
 */
NB_MUST_CHECK int
nb_keys_make(const char *path, uint64_t key_size, uint64_t count, uint64_t seed,
	nb_progress_fn progress, void *progress_arg);

/**
 * Put the first `count` keys of the file into a random order, each of the
 * count! orders with equal chance (as far as the generator's 256 bits of state
 * reach); what comes after them stays. Written aside and renamed, so the file
 * is a permutation of itself at every moment. Needs as much free space again,
 * and some 128 MiB of memory however large the file is.
 */
NB_MUST_CHECK int
nb_keys_shuffle(const char *path, uint64_t key_size, uint64_t count, uint64_t seed,
	nb_progress_fn progress, void *progress_arg);

#ifdef __cplusplus
}
#endif
#endif /* MININB_WORKLOAD_H */
