/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_VERSUS_H
#define BENCH_VERSUS_H
/**
 * An engine by hand: plain loops over its own API, with the plugin's default settings, and
 * nothing else. Any failure ends the program.
 */
#include <stddef.h>
#include <stdint.h>

enum { KEY = 16, VALUE = 100 };

/** Keys are consecutive; values are a ring of 4096, `STRIDE` bytes apart. */
enum { RING = 4096, STRIDE = 112 };

struct hand {
	const char *driver; /* the name in mininb */
	/** Open the database in an existing directory, whose contents belong to the engine. */
	void *(*open)(const char *path, int is_put);
	void (*put)(void *db, const uint8_t *keys, const uint8_t *values, uint64_t count);
	/**
	 * Read a byte of each cache line of each value. Returns the number of values found
	 * with VALUE bytes.
	 */
	uint64_t (*get)(void *db, const uint8_t *keys, uint64_t count);
	void (*close)(void *db);
};

extern const struct hand hand;

/** End the program unless `is_good`. */
void
must(int is_good, const char *what);

/** Read a value: a get whose value is not read would be incomplete. */
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
