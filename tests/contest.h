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

/** The engine under test: its verbs and the shapes of its keys and values. */
struct contest_subject {
	const char *name;
	const struct nb_engine *verbs;
	struct nb_db *db;
	/**
	 * Make the key of a number in `room`, which has CONTEST_KEY_MAX bytes. `format` is the
	 * subject's.
	 */
	struct nb_slice (*key)(uint8_t *room, const void *format, uint64_t number);
	const void *format;
	size_t values[CONTEST_SIZES]; /* possible sizes of a value, in bytes */
	/**
	 * Check the engine between rounds, while no session is open. records: expected number,
	 * or -1.
	 */
	void (*check)(void *to, int64_t records);
	void *to;

	/* For crowd.h. */
	uint64_t (*number)(struct nb_slice key, const void *format, uint64_t count);
	struct nb_db *(*reopen)(void *to); /* NULL: the engine keeps no records */
	unsigned less;                     /* divides the numbers of operations; 0: as 1 */
};

/** Open a session. Fails the test if that is not possible. */
struct nb_session *
contest_session(const struct contest_subject *subject, unsigned id);

void
contest_end_session(const struct contest_subject *subject, struct nb_session *session);

/** A value of one of the subject's sizes that repeats `mark`. room: CONTEST_VALUE_MAX bytes. */
struct nb_slice
contest_value(
	const struct contest_subject *subject, uint8_t *room, uint64_t *random, uint64_t mark);

/**
 * Run rounds of 4 to 8 threads with 3 to 12 keys. Fails the test on a violation. `salt` selects
 * the seeds.
 */
void
contest_run(const struct contest_subject *subject, unsigned rounds, uint64_t salt);

#endif /* CONTEST_H */
