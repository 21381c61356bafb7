/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/flights.h"

#include <string.h>

#include "base/clock.h"

enum {
	ROOM = 7,          /* does not divide REQUESTS, so the last reap is short */
	IDLE_REAPS = 10000 /* of a millisecond each; after that a request counts as lost */
};

void
flight_begin(struct flight *flight, struct suite *s, struct nb_session *session, uint32_t id)
{
	memset(flight, 0, sizeof(*flight));
	flight->suite = s;
	flight->session = session;
	/* use all 64 bits of a tag */
	flight->tag = (UINT64_C(0xfeed) << 48) + ((uint64_t)id << 32);
}

struct flown *
flight_add_slices(
	struct flight *flight, uint32_t verb, struct nb_slice key, struct nb_slice value)
{
	struct flown *flown = &flight->all[flight->count];
	flown->request = (struct nb_request){.tag = flight->tag + flight->count++,
		.key = key,
		.value = value,
		.steps = flown->steps,
		.verb = verb};
	return flown;
}

struct flown *
flight_add(struct flight *flight, uint32_t verb, uint32_t i, uint64_t seed)
{
	struct flown *flown = &flight->all[flight->count];
	memcpy(flown->key, &i, sizeof(i));
	bytes_fill(flown->bytes, VALUE_SIZE, seed);
	flown->value = (struct nb_slice){flown->bytes, VALUE_SIZE};
	return flight_add_slices(
		flight, verb, (struct nb_slice){flown->key, sizeof(i)}, flown->value);
}

bool
flight_submit(struct flight *flight)
{
	static const struct nb_request none;
	struct nb_request requests[REQUESTS] = {none};
	struct suite *s = flight->suite;
	size_t left = flight->count - flight->taken, taken = 0;
	for (size_t i = 0; i < left; i++)
		requests[i] = flight->all[flight->taken + i].request;
	host_forget();
	int rc = s->engine->submit(flight->session, requests, left, &taken);
	if (rc != NB_PENDING && rc != NB_OK)
		return suite_wrong(s, "submit", rc, "NB_PENDING");
	if (taken > left)
		return suite_break(s, "submit took more requests than it was given");
	flight->taken += taken;
	return true;
}

static bool
steps_are_right(struct suite *s, const struct flown *flown)
{
	for (size_t i = 0; i < flown->request.step_count; i++)
		if (flown->steps[i].answer != NB_OK)
			return suite_wrong(
				s, "a step of a request", flown->steps[i].answer, "NB_OK");
	return flown->request.step_count == 0 ||
		slice_equal(flown->steps[1].value, flown->value) ||
		suite_break(s, "a step of a request lent another value than was put");
}

static bool
take_completion(struct flight *flight, const struct nb_completion *done)
{
	struct suite *s = flight->suite;
	uint64_t i = done->tag - flight->tag;
	struct flown *flown = &flight->all[i < flight->count ? i : 0];
	if (i >= flight->taken)
		return suite_break(s,
			"reap returned tag %llu, which was never submitted in this session",
			(unsigned long long)done->tag);
	if (++flown->reaped > 1)
		return suite_break(s, "reap returned one request twice");
	flight->reaped++;
	flown->got = done->answer;
	if (done->answer < 0 && done->error == NULL && host_text()[0] == '\0')
		return suite_break(s, "a request failed with %s and without a text",
			answer_name(done->answer));
	if (flown->may_fail && done->answer < 0)
		return true;
	if (done->answer == NB_CONFLICT && flight->has_rivals)
		return true;
	if (done->answer != flown->answer && done->answer != flown->also)
		return suite_break(s, "a request answered %s (%s), not %s",
			answer_name(done->answer),
			done->error != NULL ? done->error : host_text(),
			answer_name(flown->answer));
	if (done->answer != NB_OK)
		return true;
	if (flown->request.verb == NB_REQ_GET && !slice_equal(done->value, flown->value))
		return suite_break(s, "reap lent another value than was put");
	return steps_are_right(s, flown);
}

bool
flight_reap(struct flight *flight, uint64_t timeout_ns, uint64_t at_most_ns)
{
	struct suite *s = flight->suite;
	struct nb_completion done[ROOM] = {{0}};
	size_t count = 0;
	uint64_t begin_ns = clock_monotonic();
	host_forget();
	int rc = s->engine->reap(flight->session, done, ROOM, &count, timeout_ns);
	if (clock_monotonic() - begin_ns > at_most_ns)
		return suite_break(s, "reap waited, with a timeout of %llu s and %zu in flight",
			(unsigned long long)(timeout_ns / 1000000000),
			flight->taken - flight->reaped);
	if (rc < 0)
		return suite_wrong(s, "reap", rc, "NB_OK");
	if (count > ROOM)
		return suite_break(
			s, "reap returned %zu completions, with room for %d", count, ROOM);
	bool is_right = true;
	for (size_t i = 0; is_right && i < count; i++)
		is_right = take_completion(flight, &done[i]);
	session_release(s, flight->session);
	flight->idle = count == 0 ? flight->idle + 1 : 0;
	return is_right;
}

bool
flight_wait(struct flight *flight)
{
	while (flight->reaped < flight->taken) {
		if (!flight_reap(flight, REAP_NS, UINT64_MAX))
			return false;
		if (flight->idle == IDLE_REAPS)
			return suite_break(flight->suite, "only %zu of %zu requests came back",
				flight->reaped, flight->taken);
	}
	return true;
}

/** Submit a request again, alone, until it does not conflict. */
static bool
fly_again(struct flight *flight, struct flown *flown)
{
	struct suite *s = flight->suite;
	for (uint32_t i = 0; flown->got == NB_CONFLICT && suite_may_retry(i); i++) {
		size_t taken = 0;
		host_forget();
		int rc = s->engine->submit(flight->session, &flown->request, 1, &taken);
		if (rc != NB_PENDING && rc != NB_OK)
			return suite_wrong(s, "submit", rc, "NB_PENDING");
		if (taken != 1)
			return suite_break(
				s, "submit took no request though none is in flight");
		flown->reaped--;
		flight->reaped--;
		if (!flight_wait(flight))
			return false;
	}
	return flown->got != NB_CONFLICT ||
		suite_break(s, "a request of a key that no other session has always conflicts");
}

bool
flight_land(struct flight *flight)
{
	while (flight->taken < flight->count) {
		if (!flight_submit(flight))
			return false;
		if (flight->taken == flight->count)
			break;
		if (!flight_reap(flight, REAP_NS, UINT64_MAX))
			return false;
		if (flight->idle == IDLE_REAPS)
			return suite_break(flight->suite,
				"submit takes no more than %zu of %zu requests", flight->taken,
				flight->count);
	}
	bool is_right = flight_wait(flight);
	for (size_t i = 0; is_right && flight->has_rivals && i < flight->count; i++)
		is_right = fly_again(flight, &flight->all[i]);
	return is_right;
}
