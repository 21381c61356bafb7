/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HISTORY_H
#define HISTORY_H
/**
 * A check for linearizability of the operations on one key. The history is linearizable if an
 * order of the operations explains every answer and places each operation between its begin and
 * its end. The property is local: a history of many keys is linearizable if the history of each
 * key is. (M. Herlihy and J. Wing, "Linearizability", 1990.)
 *
 * The search visits the begins and ends in the order of their times. It keeps every possible
 * state: the value, and the pending operations that have taken effect. At the end of an
 * operation, it drops the states in which the operation has not taken effect. If no state
 * remains, no order exists. (J. Wing and C. Gong, 1993.)
 *
 * Effects are tried only at the next end of an operation, and equal states are kept once. (G.
 * Lowe, "Testing for linearizability", 2017.)
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HISTORY_THREADS = 16, HISTORY_ABSENT = 0 };

enum verb { VERB_PUT, VERB_INSERT, VERB_DEL, VERB_GET, VERB_ADD };

/** An operation. `value` is the value written, added or read; HISTORY_ABSENT: none. */
struct operation {
	uint64_t begin, end; /* unique among all begins and ends */
	uint64_t value;
	enum verb verb;
	bool is_done;    /* the answer was NB_OK, not NB_EXISTS or NB_NOT_FOUND */
	bool is_blind;   /* a deletion that returns NB_OK even if the key did not exist */
	unsigned thread; /* < HISTORY_THREADS, one operation at a time */
};

/**
 * Check the operations on one key, in any order. The key is absent before them and has the
 * value `last` after them. If no order exists, returns false and sets *culprit to the first
 * operation that does not fit. *culprit is NULL if only `last` does not fit.
 */
bool
history_is_linearizable(const struct operation *operations, size_t count, uint64_t last,
	const struct operation **culprit);

#endif /* HISTORY_H */
