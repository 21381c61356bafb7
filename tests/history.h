/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HISTORY_H
#define HISTORY_H
/**
 * Is there an order of these operations on one key that explains what each was answered, and
 * in which each comes between its beginning and its end? (Linearizability: M. Herlihy and
 * J. Wing, 1990. It is local: a history of many keys has such an order if each key's has.)
 *
 * The operations' beginnings and ends are gone through in the order in which they were. Kept is
 * each way in which things can stand: the value, and which of the operations that
 * are under way have taken effect. An operation that ends must have; ways in which
 * it cannot have are dropped, and where none is left there is no order. (J. Wing and
 * C. Gong, 1993; that effects need be tried no earlier than at the next end, and ways that
 * are the same be kept once, is G. Lowe's, "Testing for linearizability", 2017.)
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HISTORY_THREADS = 16, HISTORY_ABSENT = 0 };

enum verb { VERB_PUT, VERB_INSERT, VERB_DEL, VERB_GET, VERB_ADD };

/** `value`: that was written, added to what is there, or got; HISTORY_ABSENT is none. */
struct operation {
	uint64_t begin, end; /* no two of all these are equal */
	uint64_t value;
	enum verb verb;
	bool is_done;    /* NB_OK; else the key was, or was not, there */
	bool is_blind;   /* a deletion that is NB_OK whether the key was there or not */
	unsigned thread; /* < HISTORY_THREADS, one operation at a time */
};

/**
 * The operations on one key, in any order; it is absent before them, and `last` after. False,
 * with the first that cannot be so in *culprit (NULL: it is `last` that cannot): there is
 * no order.
 */
bool
history_is_linearizable(const struct operation *operations, size_t count, uint64_t last,
	const struct operation **culprit);

#endif /* HISTORY_H */
