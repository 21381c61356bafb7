/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_ACTOR_H
#define FASTER_ACTOR_H
/** Operations on the database of the test, on the test's thread or another one. */
#include "faster_case.h"

#include <pthread.h>

enum { ACTOR_MANY = 4000 /* small records, three times the memory of the log */ };
enum { A_WHILE_MS = 40 };
/* Six records with such values leave room in a page for a chunk (log.h) and the copy of a record. */
enum { LONG = 560 };
enum { SLEEPS = 20 /* more sleeps than a thread has before it waits in a loop */ };

enum doing { GET, PUT, MERGE, DELETE, CHECKPOINT, PUT_MANY, TWO_PUTS };

struct actor {
	enum doing doing;
	uint64_t key, number;
	size_t size; /* of the value; the key has 8 bytes, or 13 with `is_long` */
	bool is_long;
	int answer;
	uint64_t found;
	bool is_whole, is_done; /* is_done: atomic */
	uint32_t id;
	pid_t tid; /* atomic */
	pthread_t thread;
};

/** Put `count` keys from `from` on; each value repeats its key. */
int
put_others(struct nb_session *own, uint64_t from, uint64_t count, size_t size);

/** Execute the operation. Returns the answer. */
int
act(struct nb_session *own, struct actor *actor);

/** Start a thread that executes the operation in a session of its own. */
void
start(struct actor *actor);

bool
is_done(const struct actor *actor);

/** Wait until it is done. Returns the answer. */
int
finish(struct actor *actor);

/** Start it, and wait until it is held at the moment. */
void
start_and_hold(struct actor *actor, enum moment moment);

void
wait_a_while(const struct actor *actor);

/** Wait until its thread has slept so often. Yields do not count. */
void
await_sleeps(const struct actor *actor, unsigned long more);

/** Wait until the actor is done, or the log has not grown for a while. */
void
wait_for_log(const struct actor *actor);

void
await_stat(const char *name, uint64_t least);

/** Put the long key 1, with a value of 100 bytes. */
void
put_long(uint64_t number);

#endif /* FASTER_ACTOR_H */
