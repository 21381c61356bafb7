/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H
/** Changes to an input, the same ones for the same numbers on every machine. */
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

/** One or a few changes in place, never beyond `room`; pieces may come from `other`. */
void
mutate(struct bytes *input, const struct bytes *other, const struct dictionary *dictionary,
	struct rng *rng);

/** A file of libFuzzer's: lines [NAME=]"WORD" with \\, \" and \xNN. False: it cannot be read. */
int
dictionary_read(struct dictionary *dictionary, const char *path);

void
dictionary_destroy(struct dictionary *dictionary);

#endif /* FUZZ_MUTATE_H */
