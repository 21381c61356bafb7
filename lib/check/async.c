/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * submit and reap: several operations in flight in one session. Each request must come back
 * exactly once, with its own tag and the answer that its verb would give. The engine chooses the
 * order, so requests in flight together have different keys.
 */
#include <stdio.h>
#include <string.h>

#include "check/suite.h"

enum {
	REQUESTS = 64,
	TAG = 1000,         /* of the first */
	ROOM = 7,           /* does not divide REQUESTS, so the last reap is short */
	IDLE_REAPS = 10000, /* of a millisecond each; after that a request is lost */
	VALUE_SIZE = 20
};

struct flight {
	struct suite *suite;
	struct nb_request requests[REQUESTS];
	unsigned char keys[REQUESTS], values[REQUESTS][VALUE_SIZE];
	uint32_t answers[REQUESTS]; /* how often each has come back */
	size_t reaped;
	int32_t wanted; /* the answer */
};

static bool
take_completion(struct flight *flight, const struct nb_completion *done)
{
	struct suite *s = flight->suite;
	size_t i = (size_t)done->tag - TAG;
	if (done->tag < TAG || i >= REQUESTS)
		return suite_break(s, "reap returned tag %llu, which was never submitted",
			(unsigned long long)done->tag);
	if (++flight->answers[i] > 1)
		return suite_break(s, "reap returned one request twice");
	if (done->answer != flight->wanted)
		return suite_wrong(
			s, "a request", done->answer, answer_name((int)flight->wanted));
	if (flight->requests[i].verb == NB_REQ_GET && done->answer == NB_OK &&
		!slice_equal(done->value, flight->requests[i].value))
		return suite_break(s, "reap lent another value than was put");
	flight->reaped++;
	return true;
}

static bool
reap_some(struct flight *flight, uint32_t *idle)
{
	struct suite *s = flight->suite;
	struct nb_completion done[ROOM] = {{0}};
	size_t count = 0;
	int rc = s->engine->reap(s->main.session, done, ROOM, &count, 1000000);
	if (rc < 0)
		return suite_wrong(s, "reap", rc, "NB_OK");
	if (count > ROOM)
		return suite_break(
			s, "reap returned %zu completions, with room for %d", count, ROOM);
	bool is_right = true;
	for (size_t i = 0; is_right && i < count; i++)
		is_right = take_completion(flight, &done[i]);
	session_release(s, s->main.session);
	if (count == 0 && ++*idle == IDLE_REAPS)
		return suite_break(
			s, "only %zu of %d requests came back", flight->reaped, REQUESTS);
	return is_right;
}

static bool
fly(struct suite *s, uint32_t verb, int32_t wanted)
{
	static struct flight flight;
	flight = (struct flight){.suite = s, .wanted = wanted};
	for (size_t i = 0; i < REQUESTS; i++) {
		flight.keys[i] = (unsigned char)i;
		bytes_fill(flight.values[i], VALUE_SIZE, i);
		flight.requests[i] = (struct nb_request){.tag = TAG + i,
			.key = {&flight.keys[i], 1},
			.value = {flight.values[i], VALUE_SIZE},
			.verb = verb};
	}
	uint32_t idle = 0;
	for (size_t sent = 0; flight.reaped < REQUESTS;) {
		size_t taken = 0;
		int rc = sent == REQUESTS
			? NB_PENDING
			: s->engine->submit(s->main.session, flight.requests + sent,
				  REQUESTS - sent, &taken);
		if (rc != NB_PENDING && rc != NB_OK)
			return suite_wrong(s, "submit", rc, "NB_PENDING");
		if (taken > REQUESTS - sent)
			return suite_break(s, "submit took more requests than it was given");
		sent += taken;
		if (!reap_some(&flight, &idle))
			return false;
	}
	return true;
}

bool
check_every_request_comes_back_once(struct suite *s)
{
	return suite_open(s) && fly(s, NB_REQ_GET, NB_NOT_FOUND) && fly(s, NB_REQ_PUT, NB_OK) &&
		fly(s, NB_REQ_GET, NB_OK) && fly(s, NB_REQ_DEL, NB_OK) &&
		fly(s, NB_REQ_GET, NB_NOT_FOUND);
}
