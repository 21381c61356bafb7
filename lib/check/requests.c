/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * submit and reap: several operations in flight in one session. Each request must come back
 * exactly once, with its own tag and the answer that its verb would give.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "check/flights.h"

#define LONG_WAIT_NS UINT64_C(4000000000)
#define AT_ONCE_NS (LONG_WAIT_NS / 2) /* a busy machine may make any call this slow */

/** A flight of the main session; only one exists. */
static struct flight *
main_flight(struct suite *s)
{
	static struct flight flight;
	flight_begin(&flight, s, s->main.session, 0);
	return &flight;
}

/** Run REQUESTS of one verb, each with its own key. */
static bool
fly(struct suite *s, uint32_t verb, int32_t answer)
{
	struct flight *flight = main_flight(s);
	for (uint32_t i = 0; i < REQUESTS; i++)
		flight_add(flight, verb, i, i)->answer = answer;
	return flight_land(flight);
}

PROMISE(every_request_comes_back_once)
{
	return suite_open(s) && fly(s, NB_REQ_GET, NB_NOT_FOUND) && fly(s, NB_REQ_PUT, NB_OK) &&
		fly(s, NB_REQ_GET, NB_OK) && fly(s, NB_REQ_DEL, NB_OK) &&
		fly(s, NB_REQ_GET, NB_NOT_FOUND);
}

/* --- several verbs --- */

enum { VERBS = NB_REQ_EXECUTE + 1, UNKNOWN_VERB = 77 };

/**
 * Set a bit for each verb of a request that the engine supports; verbs from insert on are
 * optional.
 */
static bool
find_verbs(struct suite *s, uint32_t *verbs)
{
	struct flight *flight = main_flight(s);
	for (uint32_t verb = 0; verb < VERBS; verb++) {
		struct flown *flown = flight_add(flight, verb, UINT32_MAX - verb, 0);
		flown->also = verb == NB_REQ_GET || verb == NB_REQ_DEL ? NB_NOT_FOUND
			: verb < NB_REQ_INSERT                         ? NB_OK
								       : NB_UNSUPPORTED;
	}
	if (!flight_land(flight))
		return false;
	for (uint32_t verb = *verbs = 0; verb < VERBS; verb++)
		*verbs |= (uint32_t)(flight->all[verb].got != NB_UNSUPPORTED) << verb;
	return true;
}

/** The expected number of a key. */
struct cell {
	bool is_there;
	uint64_t number;
};

/** Set the expected answer of the request, and apply the request to the cell. */
static void
foresee(struct flown *flown, struct cell *cell, uint64_t number)
{
	uint32_t verb = flown->request.verb;
	bool was_there = cell->is_there;
	uint64_t before = was_there ? cell->number : 0;
	flown->value.size = sizeof(number);
	flown->answer = flown->also = NB_OK;
	if (verb == NB_REQ_GET || verb == NB_REQ_DEL)
		flown->answer = was_there ? NB_OK : NB_NOT_FOUND;
	if (verb == NB_REQ_INSERT && was_there)
		flown->answer = flown->also = NB_EXISTS;
	if (verb == NB_REQ_GET)
		flown->also = flown->answer;
	else if (flown->answer != NB_EXISTS)
		*cell = (struct cell){
			verb != NB_REQ_DEL, verb == NB_REQ_MERGE ? before + number : number};
	memcpy(flown->bytes, verb == NB_REQ_GET ? &before : &number, sizeof(number));
	flown->request.value = flown->value;
	flown->request.operand = number;
}

static void
add_steps(struct flown *flown)
{
	flown->steps[0] = (struct nb_step){.key = flown->request.key,
		.value = flown->value,
		.verb = NB_STEP_PUT,
		.answer = INT32_MAX};
	flown->steps[1] = (struct nb_step){
		.key = flown->request.key, .verb = NB_STEP_GET, .answer = INT32_MAX};
	flown->request.step_count = 2;
	flown->request.key = flown->request.value = (struct nb_slice){0};
}

static bool
cells_are_right(struct suite *s, const struct cell *cells, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct nb_slice key = {&i, sizeof(i)};
		struct nb_slice number = {&cells[i].number, sizeof(cells[i].number)};
		if (cells[i].is_there ? !has(s, key, number) : !lacks(s, key))
			return false;
	}
	return true;
}

/** Run flights of all supported verbs over that many keys; each key has a cell. */
static bool
fly_mixed(struct suite *s, uint32_t keys, uint32_t verbs)
{
	struct cell cells[REQUESTS] = {{0}};
	uint64_t random = s->args->seed;
	uint32_t offered;
	if (!find_verbs(s, &offered))
		return false;
	for (int round = 0; round < 8; round++) {
		struct flight *flight = main_flight(s);
		while (flight->count < REQUESTS) {
			uint64_t roll = splitmix64_next(&random);
			uint32_t verb = (uint32_t)(roll >> 32) % VERBS;
			if ((verbs & offered & 1u << verb) == 0)
				continue;
			uint32_t key = keys == REQUESTS ? (uint32_t)flight->count
							: (uint32_t)roll % keys;
			struct flown *flown = flight_add(flight, verb, key, 0);
			foresee(flown, &cells[key], roll);
			if (verb == NB_REQ_EXECUTE)
				add_steps(flown);
		}
		if (!flight_land(flight))
			return false;
	}
	return cells_are_right(s, cells, keys);
}

enum { OF_ONE_KEY = (1u << VERBS) - 1 - (1u << NB_REQ_EXECUTE), OF_ANY = (1u << VERBS) - 1 };

PROMISE(requests_answer_as_their_verbs_do)
{
	return suite_open(s) && fly_mixed(s, REQUESTS, OF_ANY);
}

/* An execute has its keys in its steps, so it does not take part in this order. */
PROMISE(requests_of_one_key_keep_their_order)
{
	return suite_open(s) && fly_mixed(s, 3, OF_ONE_KEY);
}

PROMISE(requests_of_an_unknown_verb_are_unsupported)
{
	size_t taken = 0;
	if (!suite_open(s) || !put(s, SLICE("key"), SLICE("value")))
		return false;
	struct flight *flight = main_flight(s);
	struct flown *flown = flight_add_slices(
		flight, UNKNOWN_VERB, SLICE("key"), SLICE("other"));
	flown->answer = flown->also = NB_UNSUPPORTED;
	host_forget();
	int rc = s->engine->submit(s->main.session, &flown->request, 1, &taken);
	if (rc == NB_UNSUPPORTED && taken == 0)
		return suite_failed(s, "submit", rc) && has(s, SLICE("key"), SLICE("value"));
	flight->taken = taken;
	return (rc == NB_PENDING || rc == NB_OK ||
		       suite_wrong(s, "submit of an unknown verb", rc, "NB_UNSUPPORTED")) &&
		flight_land(flight) && has(s, SLICE("key"), SLICE("value"));
}

PROMISE(request_that_fails_is_told_by_its_answer)
{
	uint64_t max = s->engine->key_size_max;
	if (max == 0 || max >= SUITE_LONG)
		return suite_skip(s,
			"the suite tries no key that is too long for it, so no request is sure to fail");
	if (!suite_open(s))
		return false;
	struct flight *flight = main_flight(s);
	flight_add(flight, NB_REQ_PUT, 1, 1);
	struct flown *bad = flight_add_slices(flight, NB_REQ_PUT,
		suite_value(s, (size_t)max + 1, s->args->seed), SLICE("value"));
	flight_add(flight, NB_REQ_PUT, 2, 2);
	bad->may_fail = true;
	if (!flight_land(flight))
		return false;
	if (bad->got == NB_OK)
		return suite_skip(
			s, "it accepts a key that is too long, so no request is sure to fail");
	return has(s, flight->all[0].request.key, flight->all[0].value) &&
		has(s, flight->all[2].request.key, flight->all[2].value);
}

PROMISE(requests_keep_long_values)
{
	static const size_t sizes[] = {
		0, 1, 4095, 4096, SUITE_LONG - 1, SUITE_LONG, SUITE_LONG + 1, SUITE_VALUE_SIZE};
	bool is_right = suite_open(s);
	for (size_t i = 0; is_right && i < COUNT_OF(sizes); i++) {
		uint32_t key = (uint32_t)i;
		struct nb_slice name = {&key, sizeof(key)};
		size_t size = limited(sizes[i], s->engine->value_size_max);
		struct nb_slice value = suite_value(s, size, i);
		struct flight *flight = main_flight(s);
		flight_add_slices(flight, NB_REQ_PUT, name, value);
		flight_add_slices(flight, NB_REQ_GET, name, value)->value = value;
		is_right = flight_land(flight) && has(s, name, value);
	}
	return is_right;
}

/* --- room --- */

static bool
open_narrow(struct suite *s, uint32_t ops)
{
	if (!database_make(s, &s->main, s->engine, s->args->options))
		return false;
	s->main.inflight_ops = ops;
	return suite_ok(s, "open of a new database", database_open(&s->main, NB_OPEN_CREATE));
}

/** Submit puts repeatedly, until no more are taken. */
static bool
fill(struct flight *flight)
{
	for (uint32_t i = 0; i < REQUESTS; i++)
		flight_add(flight, NB_REQ_PUT, i, i);
	for (size_t before = 1; before != flight->taken && flight->taken < flight->count;) {
		before = flight->taken;
		if (!flight_submit(flight))
			return false;
	}
	return true;
}

PROMISE(requests_in_flight_stay_within_inflight_ops)
{
	static const uint32_t limits[] = {1, 4};
	for (size_t i = 0; i < COUNT_OF(limits); i++) {
		if (!open_narrow(s, limits[i]))
			return false;
		struct flight *flight = main_flight(s);
		if (!fill(flight) || !flight_wait(flight))
			return false;
		if (flight->taken > limits[i])
			return suite_break(s, "%zu requests were in flight; inflight_ops is %u",
				flight->taken, (unsigned)limits[i]);
		database_remove(&s->main);
	}
	return true;
}

/** The bytes of the keys and values of the first `count` requests. */
static uint64_t
bytes_of(const struct flight *flight, size_t count)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < count; i++)
		bytes += flight->all[i].request.key.size + flight->all[i].request.value.size;
	return bytes;
}

/** Submit as many as there is room for and reap them, repeatedly. */
static bool
stays_within_bytes(struct flight *flight, uint64_t most)
{
	struct suite *s = flight->suite;
	while (flight->taken < flight->count) {
		size_t before = flight->taken;
		if (!flight_submit(flight))
			return false;
		uint64_t bytes = bytes_of(flight, flight->taken) - bytes_of(flight, before);
		if (bytes > most)
			return suite_break(s,
				"submit took %llu bytes of keys and values; inflight_bytes is %llu",
				(unsigned long long)bytes, (unsigned long long)most);
		if (flight->taken == before)
			return suite_break(s, "with nothing in flight, submit took no request");
		if (!flight_wait(flight))
			return false;
	}
	return true;
}

PROMISE(requests_in_flight_stay_within_inflight_bytes)
{
	enum { OF_ONE = sizeof(uint32_t) + VALUE_SIZE };
	static const uint64_t limits[] = {OF_ONE, 3 * OF_ONE + 1};
	for (size_t i = 0; i < COUNT_OF(limits); i++) {
		if (!database_make(s, &s->main, s->engine, s->args->options))
			return false;
		s->main.inflight_bytes = limits[i];
		if (!suite_ok(s, "open of a new database",
			    database_open(&s->main, NB_OPEN_CREATE)))
			return false;
		struct flight *flight = main_flight(s);
		for (uint32_t k = 0; k < REQUESTS; k++)
			flight_add(flight, NB_REQ_PUT, k, k);
		if (!stays_within_bytes(flight, limits[i]) || !fly(s, NB_REQ_GET, NB_OK))
			return false;
		database_remove(&s->main);
	}
	return true;
}

PROMISE(requests_that_are_not_taken_do_not_happen)
{
	if (!open_narrow(s, 4))
		return false;
	struct flight *flight = main_flight(s);
	if (!fill(flight) || !flight_wait(flight))
		return false;
	for (size_t i = 0; i < REQUESTS; i++) {
		const struct flown *flown = &flight->all[i];
		if (i < flight->taken ? !has(s, flown->request.key, flown->value)
				      : !lacks(s, flown->request.key))
			return false;
	}
	return true;
}

PROMISE(requests_that_find_no_room_are_taken_later)
{
	return open_narrow(s, 4) && fly_mixed(s, 3, OF_ONE_KEY);
}

/* --- waiting --- */

PROMISE(reap_with_nothing_in_flight_returns_at_once)
{
	if (!suite_open(s))
		return false;
	struct flight *flight = main_flight(s);
	return flight_reap(flight, LONG_WAIT_NS, AT_ONCE_NS) && fly(s, NB_REQ_PUT, NB_OK) &&
		flight_reap(main_flight(s), LONG_WAIT_NS, AT_ONCE_NS);
}

PROMISE(reap_with_no_timeout_does_not_wait)
{
	if (!suite_open(s))
		return false;
	struct flight *flight = main_flight(s);
	if (!fill(flight))
		return false;
	uint64_t begin_ns = clock_monotonic();
	while (flight->reaped < flight->taken) {
		if (!flight_reap(flight, 0, AT_ONCE_NS))
			return false;
		if (flight->idle > 0 && clock_monotonic() - begin_ns > 4 * LONG_WAIT_NS)
			return suite_break(s, "only %zu of %zu requests came back",
				flight->reaped, flight->taken);
	}
	return true;
}

/* --- other calls in between --- */

PROMISE(verbs_between_submit_and_reap_answer_right)
{
	if (!suite_open(s) || !put(s, SLICE("old"), SLICE("0")))
		return false;
	struct flight *flight = main_flight(s);
	return fill(flight) && has(s, SLICE("old"), SLICE("0")) &&
		put(s, SLICE("new"), SLICE("1")) && del(s, SLICE("old")) &&
		has(s, SLICE("new"), SLICE("1")) && flight_wait(flight) &&
		flight_land(flight) && fly(s, NB_REQ_GET, NB_OK) && lacks(s, SLICE("old"));
}

/** Overwrite the keys and values of the requests from `first` to before `end`. */
static void
scribble(struct flight *flight, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		memset(flight->all[i].key, 0xee, sizeof(flight->all[i].key));
		memset(flight->all[i].bytes, 0xee, VALUE_SIZE);
	}
}

PROMISE(submit_copies_keys_and_values)
{
	if (!suite_open(s))
		return false;
	struct flight *flight = main_flight(s);
	for (uint32_t i = 0; i < REQUESTS; i++)
		flight_add(flight, NB_REQ_PUT, i, i);
	while (flight->taken < REQUESTS) {
		size_t first = flight->taken;
		if (!flight_submit(flight))
			return false;
		scribble(flight, first, flight->taken);
		if (!flight_wait(flight))
			return false;
	}
	return fly(s, NB_REQ_GET, NB_OK);
}

/** Check the record of a request that was in flight at the end: complete or missing. */
static bool
is_whole_or_missing(struct suite *s, uint32_t i)
{
	unsigned char wanted[VALUE_SIZE];
	struct nb_slice found = {0};
	int rc = session_get(s, s->main.session, (struct nb_slice){&i, sizeof(i)}, &found);
	if (rc == NB_NOT_FOUND)
		return true;
	if (!suite_ok(s, "get after session_close with requests in flight", rc))
		return false;
	bytes_fill(wanted, VALUE_SIZE, i);
	bool is_whole = slice_equal(found, (struct nb_slice){wanted, VALUE_SIZE});
	session_release(s, s->main.session);
	return is_whole ||
		suite_break(s,
			"session_close with requests in flight left a value that was never put");
}

PROMISE(session_closes_with_requests_in_flight)
{
	bool is_right = suite_open(s);
	for (int round = 0; is_right && round < 20; round++) {
		struct flight *flight = main_flight(s);
		is_right = fill(flight) && suite_close_session(s);
		/* detects requests that are executed after the close */
		scribble(flight, 0, REQUESTS);
		is_right = is_right && suite_open_session(s, "session_open", 0);
		for (uint32_t i = 0; is_right && i < REQUESTS; i++)
			is_right = is_whole_or_missing(s, i);
	}
	return is_right && fly(s, NB_REQ_PUT, NB_OK) && fly(s, NB_REQ_GET, NB_OK);
}

/** Run puts, gets and deletes of keys that no other session uses. */
static void
fly_own(struct worker *worker)
{
	static struct flight flights[SUITE_SESSIONS];
	static const uint32_t verbs[] = {NB_REQ_PUT, NB_REQ_GET, NB_REQ_DEL};
	struct flight *flight = &flights[worker->id];
	for (size_t round = 0; round < 3 * COUNT_OF(verbs); round++) {
		flight_begin(flight, worker->suite, worker->session, worker->id);
		flight->has_rivals = true;
		for (uint32_t i = 0; i < REQUESTS; i++) {
			uint32_t key = worker->id * 1000 + i;
			flight_add(flight, verbs[round % COUNT_OF(verbs)], key, key);
		}
		if (!flight_land(flight))
			return;
	}
}

/* First while the main session has requests in flight, then in several sessions at once. */
PROMISE(sessions_reap_their_own_requests)
{
	static struct worker worker;
	if (!suite_open(s))
		return false;
	struct flight *flight = main_flight(s);
	flight->has_rivals = true;
	if (!fill(flight) || !worker_start(&worker, s, 1, fly_own))
		return false;
	worker_join(&worker);
	return s->outcome == NB_CHECK_KEPT && flight_land(flight) && workers_run(s, 4, fly_own);
}
