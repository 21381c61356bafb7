/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CHECK_BOARD_H
#define CHECK_BOARD_H
/**
 * Memory that the checking process shares with the child processes that test the engine. It
 * contains their findings and their current calls. One check at a time.
 */
#include "check/suite.h"
#include "run/heartbeat.h"

enum { CALL_KEY_SIZE = 33, BOARD_PRINTED_SIZE = 256 };

/** The current call of a thread that uses the engine. */
struct call {
	struct heartbeat heartbeat; /* must be first; the rest describes the call */
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
	char printed[BOARD_PRINTED_SIZE]; /* text that the engine printed on standard output */
};

/** The progress of replaying a sequence of operations, see model.c. */
struct replayed {
	uint32_t is_told; /* atomic */
	uint32_t outcome; /* of the suite: broken if the sequence failed */
	uint64_t at;      /* atomic: the last operation that has begun */
	char why[SUITE_TEXT_SIZE];
};

struct board {
	struct letter letter;
	struct replayed replayed;
	const struct heartbeat *culprit; /* the thread with the fault; NULL: unknown */
	struct call calls[SUITE_SESSIONS + 1];
};

extern struct board *board;

/** Create the board once in a process. NB_FAIL: out of memory. */
NB_MUST_CHECK int
board_make(void);

/** A copy of the engine's table whose verbs record each call. Forgets all calls. */
const struct nb_engine *
calls_watch(const struct nb_engine *engine);

/** Clear the record of calls: no thread is in a call. */
void
calls_forget(void);

/** Call it regularly in the waiting process to measure how long each call lasts. */
void
calls_look(void);

/**
 * Describe how a child ended early, and in which call: "SIGSEGV in put (key a), worker 0".
 * `how` is PROCESS_ENDED or PROCESS_LATE.
 */
void
calls_describe_end(char *text, size_t size, int how, int status, uint64_t timeout_ns);

/**
 * Run `work` in a child process, without the caller's signal handlers, and record its
 * calls. Returns PROCESS_*, or NB_FAIL if the process cannot be created.
 */
int
apart_do(void (*work)(void *arg), void *arg, uint64_t timeout_ns, int *status);

/* --- text that an engine prints on standard output, which is reserved for results --- */

struct prints {
	int stdout_was; /* descriptor; -1: not capturing */
};

/** Capture the text that this process or its children print from now on. */
void
prints_begin(struct prints *prints);

/** Stop capturing. Quotes the first bytes into *text; "" if nothing was printed. */
void
prints_end(struct prints *prints, char *text, size_t size);

#endif /* CHECK_BOARD_H */
