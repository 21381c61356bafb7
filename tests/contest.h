/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONTEST_H
#define CONTEST_H
/**
 * A contest: many threads put, insert, delete and get few keys of an engine, and the history of
 * each key must be linearizable (history.h).
 */
#include <mininb/engine.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CONTEST_KEY_MAX = 64, CONTEST_VALUE_MAX = 3000, CONTEST_SIZES = 4 };

/** What is tried: the verbs of an engine, and the shape of its keys and values. */
struct contest_subject {
	const char *name;
	void *(*session_open)(void *to, unsigned id);
	void (*session_close)(void *session);
	int (*get)(void *session, struct nb_slice key, struct nb_slice *value);
	int (*multi_get)(void *session, const struct nb_slice *keys, size_t count,
		struct nb_slice *values, int32_t *answers);
	void (*release)(void *session);
	int (*put)(void *session, struct nb_slice key, struct nb_slice value);
	int (*insert)(void *session, struct nb_slice key, struct nb_slice value);
	int (*del)(void *session, struct nb_slice key);
	/** The key of a number, in a room of CONTEST_KEY_MAX bytes. `format` is the subject's. */
	struct nb_slice (*key)(uint8_t *room, const void *format, uint64_t number);
	const void *format;
	size_t values[CONTEST_SIZES]; /* bytes that values have, one of these */
	/** Between the rounds, no session being open. records: -1, or how many there are. */
	void (*check)(void *to, int64_t records);
	void *to;
};

/** Rounds of 4 to 8 threads with 3 to 12 keys. Asserts. `salt` tells the seeds apart. */
void
contest_run(const struct contest_subject *subject, unsigned rounds, uint64_t salt);

#endif /* CONTEST_H */
