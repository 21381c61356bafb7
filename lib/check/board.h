/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CHECK_BOARD_H
#define CHECK_BOARD_H
/**
 * Memory that the checking process shares with the child processes that test the engine: their
 * findings and the calls they are in. One check at a time.
 */
#include "check/suite.h"
#include "run/heartbeat.h"

enum { CALL_KEY_SIZE = 33, BOARD_PRINTED_SIZE = 256 };

/** A thread that calls the engine. */
struct call {
	struct heartbeat heartbeat; /* first; the rest describes it */
	unsigned char key[CALL_KEY_SIZE];
	size_t key_size;
	bool has_value;
	size_t value_size;
};

/** The finding of a child. */
struct letter {
	uint32_t is_told; /* atomic: the rest is complete */
	uint32_t outcome, step_count;
	char text[SUITE_TEXT_SIZE];
	char steps[SUITE_STEPS_SIZE];
	char printed[BOARD_PRINTED_SIZE]; /* by the engine on standard output */
};

/** How far a sequence of operations came, see model.c. */
struct replayed {
	uint32_t is_told; /* atomic */
	uint32_t outcome; /* of the suite: broken if the sequence could not be done */
	uint64_t at;      /* atomic: the last operation that was begun */
	char why[SUITE_TEXT_SIZE];
};

struct board {
	struct letter letter;
	struct replayed replayed;
	const struct heartbeat *culprit; /* where the fault was; NULL: unknown */
	struct call calls[SUITE_SESSIONS + 1];
};

extern struct board *board;

/** Creates it once in a process. NB_FAIL: no memory. */
NB_MUST_CHECK int
board_make(void);

/** A copy of the engine's table whose verbs record each call. Forgets all calls. */
const struct nb_engine *
calls_watch(const struct nb_engine *engine);

/** No thread is in a call. */
void
calls_forget(void);

/** The waiting process calls it regularly, to know how long each call lasts. */
void
calls_look(void);

/**
 * How a child ended before it was done, and in which call: "SIGSEGV in put (key a), worker 0".
 * `how` is PROCESS_ENDED or PROCESS_LATE.
 */
void
calls_describe_end(char *text, size_t size, int how, int status, uint64_t timeout_ns);

/**
 * Does `work` in a child process, which has none of the caller's signal handlers and records its
 * calls. Returns PROCESS_*, or NB_FAIL if the process cannot be created.
 */
int
apart_do(void (*work)(void *arg), void *arg, uint64_t timeout_ns, int *status);

/* --- what an engine prints on standard output, which is reserved for results --- */

struct prints {
	int stdout_was; /* descriptor; -1: nothing is caught */
};

/** From here on, text that this process or its children print is caught. */
void
prints_begin(struct prints *prints);

/** Ends it. Its first bytes are quoted into *text; "" if nothing was printed. */
void
prints_end(struct prints *prints, char *text, size_t size);

#endif /* CHECK_BOARD_H */
