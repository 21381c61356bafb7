/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CHECK_FLIGHTS_H
#define CHECK_FLIGHTS_H
/**
 * Several requests in flight in one session, each with the answer and the value that it must bring.
 * The engine chooses the order of requests with different keys, so what a request must answer
 * depends only on those before it of the same key.
 */
#include "check/suite.h"

enum { REQUESTS = SUITE_INFLIGHT, VALUE_SIZE = 20 };

#define REAP_NS UINT64_C(1000000)

/** A request and the answer that it must bring. */
struct flown {
	struct nb_request request;
	struct nb_step steps[2];
	struct nb_slice value; /* of a get */
	int32_t answer, also;  /* both are right */
	int32_t got;
	bool may_fail;
	uint32_t reaped; /* how often it came out of reap: must become 1 */
	unsigned char key[8], bytes[VALUE_SIZE];
};

struct flight {
	struct suite *suite;
	struct nb_session *session;
	bool has_rivals; /* other sessions: a request may conflict, and is then submitted again */
	uint64_t tag;    /* of the first */
	struct flown all[REQUESTS];
	size_t count, taken, reaped;
	uint32_t idle; /* calls of reap in a row that returned no completion */
};

/** None yet; their tags have `id` in them. */
void
flight_begin(struct flight *flight, struct suite *s, struct nb_session *session, uint32_t id);

/** Add a request that must be answered NB_OK. What the slices point to stays. */
struct flown *
flight_add_slices(
	struct flight *flight, uint32_t verb, struct nb_slice key, struct nb_slice value);

/** The same of key number `i` and a value made from `seed`, both kept in the flight. */
struct flown *
flight_add(struct flight *flight, uint32_t verb, uint32_t i, uint64_t seed);

/* False: the promise is broken. */

/** Give the requests that are left to submit, once. */
bool
flight_submit(struct flight *flight);

/** Reap once; the promise is broken if the call lasts longer than `at_most_ns`. */
bool
flight_reap(struct flight *flight, uint64_t timeout_ns, uint64_t at_most_ns);

/** Reap until everything that was taken has come back. */
bool
flight_wait(struct flight *flight);

/** Submit and reap until all have come back. */
bool
flight_land(struct flight *flight);

#endif /* CHECK_FLIGHTS_H */
