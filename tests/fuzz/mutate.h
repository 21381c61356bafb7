/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H
/** Mutations of an input. The same random numbers give the same mutations on every machine. */
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"

struct bytes {
	uint8_t *data;
	size_t size, room;
};

struct dictionary {
	struct bytes *words;
	size_t count;
};

/** Apply one or a few changes in place, never beyond `room`. Pieces may come from `other`. */
void
mutate(struct bytes *input, const struct bytes *other, const struct dictionary *dictionary,
	struct rng *rng);

/**
 * Read a dictionary of libFuzzer: lines [NAME=]"WORD" with \\, \" and \xNN. False on failure.
 */
int
dictionary_read(struct dictionary *dictionary, const char *path);

void
dictionary_destroy(struct dictionary *dictionary);

#endif /* FUZZ_MUTATE_H */
