/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CHECK_FLIGHTS_H
#define CHECK_FLIGHTS_H
/**
 * Several requests in flight in one session, each with its expected answer and value. The
 * engine chooses the order of requests with different keys, so the expected answer depends
 * only on earlier requests with the same key.
 */
#include "check/suite.h"

enum { REQUESTS = SUITE_INFLIGHT, VALUE_SIZE = 20 };

#define REAP_NS UINT64_C(1000000)

/** A request and its expected answer. */
struct flown {
	struct nb_request request;
	struct nb_step steps[2];
	struct nb_slice value; /* of a get */
	int32_t answer, also;  /* both are correct */
	int32_t got;
	bool may_fail;
	uint32_t reaped; /* how often reap returned it: must become 1 */
	unsigned char key[8], bytes[VALUE_SIZE];
};

struct flight {
	struct suite *suite;
	struct nb_session *session;
	/*
	 * other sessions use the same keys: a request may conflict, and is then submitted
	 * again
	 */
	bool has_rivals;
	uint64_t tag; /* of the first request */
	struct flown all[REQUESTS];
	size_t count, taken, reaped;
	uint32_t idle; /* calls of reap in a row without a completion */
};

/** Begin without requests; their tags contain `id`. */
void
flight_begin(struct flight *flight, struct suite *s, struct nb_session *session, uint32_t id);

/** Add a request whose expected answer is NB_OK. The bytes of the slices must stay. */
struct flown *
flight_add_slices(
	struct flight *flight, uint32_t verb, struct nb_slice key, struct nb_slice value);

/** The same for key number `i` and a value made from `seed`, both stored in the flight. */
struct flown *
flight_add(struct flight *flight, uint32_t verb, uint32_t i, uint64_t seed);

/* These return false if the promise is broken. */

/** Call submit once with the remaining requests. */
bool
flight_submit(struct flight *flight);

/** Reap once; the promise is broken if the call lasts longer than `at_most_ns`. */
bool
flight_reap(struct flight *flight, uint64_t timeout_ns, uint64_t at_most_ns);

/** Reap until all requests taken have come back. */
bool
flight_wait(struct flight *flight);

/** Submit and reap until all requests have come back. */
bool
flight_land(struct flight *flight);

#endif /* CHECK_FLIGHTS_H */
