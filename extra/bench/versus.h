/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_VERSUS_H
#define BENCH_VERSUS_H
/**
 * An engine by hand: plain loops over its own API, with the settings that the plugin
 * has by default, and nothing else. Whatever fails ends the program.
 */
#include <stddef.h>
#include <stdint.h>

enum { KEY = 16, VALUE = 100 };

/** Keys one after the other; values 4096 in a ring, `STRIDE` apart. */
enum { RING = 4096, STRIDE = 112 };

struct hand {
	const char *driver; /* mininb's name for it */
	/** The directory is there; what is in it is the engine's. */
	void *(*open)(const char *path, int is_put);
	void (*put)(void *db, const uint8_t *keys, const uint8_t *values, uint64_t count);
	/** Read a byte of each cache line of each value; how many were found, of VALUE bytes. */
	uint64_t (*get)(void *db, const uint8_t *keys, uint64_t count);
	void (*close)(void *db);
};

extern const struct hand hand;

/** End the program unless `is_good`. */
void
must(int is_good, const char *what);

/** A get whose value nobody reads is none. */
static inline uint64_t
consume(const void *data, size_t size)
{
	const volatile uint8_t *bytes = data;
	for (size_t at = 0; at < size; at += 64)
		(void)bytes[at];
	if (size > 0)
		(void)bytes[size - 1];
	return size == VALUE;
}

#endif /* BENCH_VERSUS_H */
