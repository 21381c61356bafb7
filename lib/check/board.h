/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CHECK_BOARD_H
#define CHECK_BOARD_H
/**
 * Memory that the process which checks an engine shares with those in which it is tried: what
 * they found, and which calls they are in. One check at a time.
 */
#include "check/suite.h"
#include "run/post.h"

enum { CALL_KEY_SIZE = 33, BOARD_PRINTED_SIZE = 256 };

/** A thread that calls the engine. */
struct call {
	struct post post; /* first: it is described by what follows */
	unsigned char key[CALL_KEY_SIZE];
	size_t key_size;
	bool has_value;
	size_t value_size;
};

/** What a child found. */
struct letter {
	uint32_t is_told; /* atomic: the rest is whole */
	uint32_t outcome, step_count;
	char text[SUITE_TEXT_SIZE];
	char steps[SUITE_STEPS_SIZE];
	char printed[BOARD_PRINTED_SIZE]; /* what the engine printed on standard output */
};

/** How far a sequence of operations came, see model.c. */
struct replayed {
	uint32_t is_told; /* atomic */
	uint32_t outcome; /* of the suite, if a sequence could not be done at all */
	uint64_t at;      /* operation that was begun last; atomic */
	char why[SUITE_TEXT_SIZE];
};

struct board {
	struct letter letter;
	struct replayed replayed;
	const struct post *culprit; /* where the fault was; NULL: not known */
	struct call calls[SUITE_SESSIONS + 1];
};

extern struct board *board;

/** Make it, once in a process. NB_FAIL: no memory. */
NB_MUST_CHECK int
board_make(void);

/** A copy of the engine's table whose verbs note each call. One at a time; forgets all calls. */
const struct nb_engine *
calls_watch(const struct nb_engine *engine);

/** Nobody is in a call. */
void
calls_forget(void);

/** To be called now and then by the process that waits, so that it knows for how long. */
void
calls_look(void);

/**
 * How a child ended before it was done, and in which call: "SIGSEGV in put (key a), worker 0".
 * `how` is PROCESS_ENDED or _LATE.
 */
void
calls_describe_end(char *text, size_t size, int how, int status, uint64_t timeout_ns);

/**
 * Do `work` in a process of its own, which gets no signal handlers of the caller's and notes
 * its calls. Returns PROCESS_*, or NB_FAIL, which is none of these, if none can be made.
 */
int
apart_do(void (*work)(void *arg), void *arg, uint64_t timeout_ns, int *status);

#endif /* CHECK_BOARD_H */
