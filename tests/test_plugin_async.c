/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plugins/common/async.h with an engine that stores a number for each of a few keys.
 * Asynchronous requests give the same answers as the same requests one after the other.
 */
#include "../plugins/common/async.h"
#include "base/rng.h"
#include "unit.h"

enum { KEYS = 4, DEPTH = 10, REQUESTS = 4000, FAILS = KEYS };

struct nb_session {
	uint64_t numbers[KEYS];
	bool is_there[KEYS];
	unsigned multi_gets;
};

static uint8_t
index_of(struct nb_slice key)
{
	return *(const uint8_t *)key.data;
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	uint8_t i = index_of(key);

	if (i == FAILS)
		return NB_FAIL;
	if (!session->is_there[i])
		return NB_NOT_FOUND;
	*value = (struct nb_slice){&session->numbers[i], sizeof(uint64_t)};
	return NB_OK;
}

static int
multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	session->multi_gets++;
	for (size_t i = 0; i < count; i++) {
		answers[i] = get(session, keys[i], &values[i]);
		if (answers[i] < 0)
			return answers[i];
	}
	return NB_OK;
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	memcpy(&session->numbers[index_of(key)], value.data, value.size);
	session->is_there[index_of(key)] = true;
	return NB_OK;
}

static int
insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return session->is_there[index_of(key)] ? NB_EXISTS : put(session, key, value);
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	bool was_there = session->is_there[index_of(key)];

	session->is_there[index_of(key)] = false;
	return was_there ? NB_OK : NB_NOT_FOUND;
}

static int
merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	uint8_t i = index_of(key);

	session->numbers[i] = (session->is_there[i] ? session->numbers[i] : 0) + operand;
	session->is_there[i] = true;
	return NB_OK;
}

/* All steps are gets. */
static int
execute(struct nb_session *session, struct nb_step *steps, size_t count, uint32_t flags)
{
	for (size_t i = 0; i < count; i++)
		steps[i].answer = get(session, steps[i].key, &steps[i].value);
	return NB_OK;
}

static const struct nb_engine engine = {.get = get,
	.multi_get = multi_get,
	.put = put,
	.insert = insert,
	.del = del,
	.merge = merge,
	.execute = execute};

/* --- requests compared with the same verbs one by one --- */

static uint8_t keys[] = {0, 1, 2, 3, FAILS};
static uint64_t numbers[REQUESTS];
static struct nb_request requests[REQUESTS];
static struct nb_step steps[REQUESTS], wanted_steps[REQUESTS];
static struct nb_completion wanted[REQUESTS];
static uint64_t wanted_number[REQUESTS]; /* expected number of a get or of an execute's step */

static uint64_t
number_in(struct nb_slice value)
{
	uint64_t number;

	ck_assert_uint_eq(value.size, sizeof(number));
	memcpy(&number, value.data, sizeof(number));
	return number;
}

static void
draw(struct rng *rng, size_t i)
{
	numbers[i] = i;
	requests[i] = (struct nb_request){.tag = i,
		.key = {&keys[rng_below(rng, KEYS)], 1},
		.value = {&numbers[i], sizeof(numbers[i])},
		.steps = &steps[i],
		.step_count = 1,
		.operand = i,
		/* more than half of the requests are gets */
		.verb = rng_below(rng, 2) == 0 ? NB_REQ_GET
					       : (uint32_t)rng_below(rng, NB_REQ_EXECUTE + 1)};
	steps[i] = (struct nb_step){.verb = NB_STEP_GET, .key = requests[i].key};
}

/* Compute the answer of a request that is executed alone, after all earlier ones. */
static void
perform(struct nb_session *model, size_t i)
{
	const struct nb_request *request = &requests[i];
	struct nb_slice value;

	if (request->verb == NB_REQ_GET) {
		wanted[i].answer = get(model, request->key, &value);
	} else if (request->verb == NB_REQ_EXECUTE) {
		wanted[i].answer = NB_OK;
		wanted_steps[i].answer = get(model, request->key, &value);
	} else {
		const char *error = NULL;
		wanted[i].answer = async_perform(&engine, model, request, &error);
		ck_assert_ptr_null(error);
		return;
	}
	if (model->is_there[index_of(request->key)])
		wanted_number[i] = number_in(value);
}

static void
is_wanted(const struct nb_completion *done)
{
	size_t i = (size_t)done->tag;
	struct nb_slice value = done->value;
	int32_t answer = done->answer;

	ck_assert_int_eq(answer, wanted[i].answer);
	if (requests[i].verb == NB_REQ_EXECUTE) {
		answer = steps[i].answer;
		value = steps[i].value;
		ck_assert_int_eq(answer, wanted_steps[i].answer);
	}
	if ((requests[i].verb == NB_REQ_GET || requests[i].verb == NB_REQ_EXECUTE) &&
		answer == NB_OK)
		ck_assert_uint_eq(number_in(value), wanted_number[i]);
}

/* For any sizes of submit and reap, which are random. */
TEST_EACH(requests_answer_as_in_sequence, 20)
{
	struct nb_session session = {0}, model = {0};
	struct async async = {0};
	struct nb_completion done[2 * DEPTH];
	size_t sent = 0, reaped = 0, count;
	static bool is_reaped[REQUESTS];
	struct rng rng;

	rng_create(&rng, (uint64_t)_i);
	for (size_t i = 0; i < REQUESTS; i++) {
		draw(&rng, i);
		perform(&model, i);
	}
	ck_assert(async_open(&async, DEPTH, 0));
	while (reaped < REQUESTS) {
		count = rng_below(&rng, 2 * DEPTH);
		if (count > REQUESTS - sent)
			count = REQUESTS - sent;
		ck_assert_int_eq(
			async_submit(&async, &requests[sent], count, &count), NB_PENDING);
		sent += count;
		ck_assert_uint_le(sent - reaped, DEPTH);
		ck_assert_int_eq(async_reap(&async, &engine, &session, done,
					 1 + rng_below(&rng, 2 * DEPTH), &count),
			NB_OK);
		ck_assert(count != 0 || sent == reaped);
		for (size_t i = 0; i < count; i++) {
			ck_assert(!is_reaped[done[i].tag]);
			is_reaped[done[i].tag] = true;
			is_wanted(&done[i]);
		}
		reaped += count;
	}
	ck_assert_uint_gt(session.multi_gets, REQUESTS / DEPTH);
	async_close(&async);
}

static struct nb_request
get_of(uint8_t key)
{
	return (struct nb_request){.verb = NB_REQ_GET, .key = {&keys[key], 1}};
}

TEST(gets_of_a_reap_form_one_multi_get_across_writes_of_other_keys)
{
	struct nb_session session = {0};
	struct async async = {0};
	struct nb_completion done[4];
	struct nb_request four[] = {get_of(0), get_of(1), get_of(2), get_of(3)};
	size_t count;

	four[2].verb = NB_REQ_DEL;
	ck_assert(async_open(&async, 0, 0));
	async_submit(&async, four, 4, &count);
	ck_assert_uint_eq(count, 4);
	async_reap(&async, &engine, &session, done, 4, &count);
	ck_assert_uint_eq(count, 4);
	ck_assert_uint_eq(session.multi_gets, 1);
	async_close(&async);
}

TEST(bytes_in_flight_are_limited_and_one_request_always_fits)
{
	struct nb_session session = {0};
	struct async async = {0};
	struct nb_completion done[4];
	struct nb_request four[] = {get_of(0), get_of(1), get_of(2), get_of(3)};
	size_t count;

	ck_assert(async_open(&async, 0, 2 * four[0].key.size));
	for (int round = 0; round < 3; round++) {
		async_submit(&async, four, 4, &count);
		ck_assert_uint_eq(count, 2);
		async_submit(&async, four, 4, &count);
		ck_assert_uint_eq(count, 0);
		async_reap(&async, &engine, &session, done, 4, &count);
		ck_assert_uint_eq(count, 2);
	}
	four[0].verb = NB_REQ_DEL;
	four[0].value.size = 100;
	async_submit(&async, four, 4, &count);
	ck_assert_uint_eq(count, 1);
	async_close(&async);
}

TEST(a_failure_is_the_answer_of_the_requests_and_not_of_reap)
{
	struct nb_engine poor = engine;
	struct nb_session session = {0};
	struct async async = {0};
	struct nb_completion done[3];
	struct nb_request three[] = {get_of(FAILS), get_of(1), get_of(2)};
	size_t count;

	poor.merge = NULL;
	three[2].verb = NB_REQ_MERGE;
	ck_assert(async_open(&async, 3, 0));
	async_submit(&async, three, 3, &count);
	ck_assert_int_eq(async_reap(&async, &poor, &session, done, 3, &count), NB_OK);
	ck_assert_uint_eq(count, 3);
	ck_assert_int_eq(done[0].answer, NB_FAIL);
	ck_assert_int_eq(done[1].answer, NB_FAIL);
	ck_assert_int_eq(done[2].answer, NB_UNSUPPORTED);
	ck_assert_ptr_nonnull(done[2].error);
	async_close(&async);
}
