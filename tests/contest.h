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
	void *(*session_open)(void *to, unsigned id);
	void (*session_close)(void *session);
	int (*get)(void *session, struct nb_slice key, struct nb_slice *value);
	int (*multi_get)(void *session, const struct nb_slice *keys, size_t count,
		struct nb_slice *values, int32_t *answers);
	void (*release)(void *session);
	int (*put)(void *session, struct nb_slice key, struct nb_slice value);
	int (*insert)(void *session, struct nb_slice key, struct nb_slice value);
	int (*del)(void *session, struct nb_slice key);
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
};

/** Define the verbs of a subject as calls of `name`_get() and so on. */
#define CONTEST_VERBS(name) \
	static int contest_get(void *session, struct nb_slice key, struct nb_slice *value) \
	{ \
		return name##_get(session, key, value); \
	} \
\
	static int contest_multi_get(void *session, const struct nb_slice *keys, size_t count, \
		struct nb_slice *values, int32_t *answers) \
	{ \
		return name##_multi_get(session, keys, count, values, answers); \
	} \
\
	static void contest_release(void *session) \
	{ \
		name##_release(session); \
	} \
\
	static int contest_put(void *session, struct nb_slice key, struct nb_slice value) \
	{ \
		return name##_put(session, key, value); \
	} \
\
	static int contest_insert(void *session, struct nb_slice key, struct nb_slice value) \
	{ \
		return name##_insert(session, key, value); \
	} \
\
	static int contest_del(void *session, struct nb_slice key) \
	{ \
		return name##_del(session, key); \
	}

/** These verbs, in the order of struct contest_subject. */
#define CONTEST_VERB_NAMES \
	contest_get, contest_multi_get, contest_release, contest_put, contest_insert, \
		contest_del

/**
 * Run rounds of 4 to 8 threads with 3 to 12 keys. Fails the test on a violation. `salt` selects
 * the seeds.
 */
void
contest_run(const struct contest_subject *subject, unsigned rounds, uint64_t salt);

#endif /* CONTEST_H */
