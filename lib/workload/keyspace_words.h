/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_KEYSPACE_WORDS_H
#define WORKLOAD_KEYSPACE_WORDS_H
/**
 * The key formats `words` and `letters`, used only by keyspace.c: converts an ordered number to
 * a key and back.
 */
#include "workload/keyspace.h"

static inline bool
keyspace_is_words(const struct keyspace *space)
{
	return space->format == NB_KEY_WORDS || space->format == NB_KEY_LETTERS;
}

/** NB_ERR_USAGE: no words, or too few letters for the records. */
NB_MUST_CHECK int
keyspace_create_words(struct keyspace *space, const struct nb_job *job);

/** Write the key to out, which has key_size_max bytes; returns its size. */
size_t
keyspace_put_words(const struct keyspace *space, uint64_t written, uint8_t *out);

/** False: not a key of the space. */
bool
keyspace_get_words(const struct keyspace *space, struct nb_slice key, uint64_t *written);

#endif /* WORKLOAD_KEYSPACE_WORDS_H */
