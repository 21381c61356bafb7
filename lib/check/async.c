/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * submit and reap: several operations in flight on one session. Each request
 * must come back exactly once, under its own tag and with the answer that its
 * verb would have given. In which order they are done is the engine's affair,
 * so only requests on different keys are ever in flight together.
 */
#include <stdio.h>
#include <string.h>

#include "check/suite.h"

enum {
	REQUESTS = 64,
	ROOM = 7, /* no divisor of REQUESTS: the last reap is a short one */
	IDLE_REAPS =
		10000 /* of a millisecond each: an engine that is still silent has lost one */
};

struct flight {
	struct suite *suite;
	struct nb_request requests[REQUESTS];
	unsigned char keys[REQUESTS];
	uint32_t answers[REQUESTS]; /* how often each has come back */
	size_t reaped;
	int32_t wanted; /* the answer */
};

static bool
take_completion(struct flight *flight, const struct nb_completion *done)
{
	struct suite *s = flight->suite;
	size_t i = (size_t)done->tag - 1000;
	if (done->tag < 1000 || i >= REQUESTS)
		return suite_break(s, "reap told of tag %llu, which was never submitted",
			(unsigned long long)done->tag);
	if (++flight->answers[i] > 1)
		return suite_break(s, "reap told of one request twice");
	if (done->answer != flight->wanted)
		return suite_wrong(
			s, "a request", done->answer, answer_name((int)flight->wanted));
	if (flight->requests[i].verb == NB_REQ_GET && done->answer == NB_OK &&
		!slice_equal(done->value, suite_value(s, 20, i)))
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
			s, "reap told of %zu where there was room for %d", count, ROOM);
	bool is_right = true;
	for (size_t i = 0; is_right && i < count; i++)
		is_right = take_completion(flight, &done[i]);
	session_release(s, s->main.session);
	if (count == 0 && ++*idle == IDLE_REAPS)
		return suite_break(
			s, "of %d requests only %zu came back", REQUESTS, flight->reaped);
	return is_right;
}

static bool
fly(struct suite *s, uint32_t verb, int32_t wanted)
{
	static struct flight flight;
	static unsigned char values[REQUESTS][20];
	flight = (struct flight){.suite = s, .wanted = wanted};
	for (size_t i = 0; i < REQUESTS; i++) {
		flight.keys[i] = (unsigned char)i;
		bytes_fill(values[i], sizeof(values[i]), i);
		flight.requests[i] = (struct nb_request){.tag = 1000 + i,
			.key = {&flight.keys[i], 1},
			.value = {values[i], sizeof(values[i])},
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
			return suite_break(s, "submit took more than it was given");
		sent += taken;
		if (!reap_some(&flight, &idle))
			return false;
	}
	return true;
}

void
check_every_request_comes_back(struct suite *s)
{
	if (suite_open(s) && fly(s, NB_REQ_GET, NB_NOT_FOUND) && fly(s, NB_REQ_PUT, NB_OK) &&
		fly(s, NB_REQ_GET, NB_OK) && fly(s, NB_REQ_DEL, NB_OK))
		fly(s, NB_REQ_GET, NB_NOT_FOUND);
}
