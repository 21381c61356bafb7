/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that are passed to the engine together get the same answers as one by one. */
#include "serve/window.h"

#include <mininb/wire.h>

#include "base/rng.h"
#include "run/engine.h"
#include "serve/resp.h"

#include "unit.h"

enum { KEYS = 5, OPS = 20000, VALUE = 8, THREADS = 4, SUMS = 2000 };

static struct nb_engine engine;
static struct nb_db *db;
static struct gate gate;
static struct gate_seat seats[THREADS];

/** A multi_get whose last get loses to another transaction, every other time. */
static int
lose_last(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	static uint64_t calls;
	size_t lost = calls++ % 2;
	answers[count - 1] = NB_CONFLICT;
	return engine_builtin("memory")->multi_get(
		session, keys, count - lost, values, answers);
}

/** The engine memory without some of its verbs, or with conflicts. */
static void
open_engine(int without, uint32_t threads)
{
	engine = *engine_builtin("memory");
	if ((without & 1) != 0)
		engine.multi_get = NULL;
	if ((without & 2) != 0)
		engine.batch = NULL;
	if ((without & 4) != 0)
		engine.insert = NULL, engine.merge = NULL;
	if (without == 8)
		engine.multi_get = lose_last;
	struct nb_open_args args = {.size = sizeof(args),
		.flags = NB_OPEN_CREATE,
		.host = nb_engine_host(),
		.path = "/",
		.sessions = threads};
	ck_assert_int_eq(engine.open(&db, &args), NB_OK);
	gate = (struct gate){
		.mutex = PTHREAD_MUTEX_INITIALIZER, .seats = seats, .count = threads};
}

static void
open_window(struct window *window, uint32_t id)
{
	window_create(window, &engine, &gate, id);
	ck_assert_int_eq(engine.session_open(&window->session, db, id), NB_OK);
	window->value_size = VALUE;
}

/** The answer of a map of KEYS numbers, in bytes of the compact protocol. */
static void
expect(struct bytes *out, uint64_t *values, bool *is_there, const struct window_op *op,
	uint32_t key)
{
	uint64_t value;
	int answer = NB_OK;
	switch (op->verb) {
	case NB_REQ_GET:
		answer = is_there[key] ? NB_OK : NB_NOT_FOUND;
		break;
	case NB_REQ_DEL:
		answer = is_there[key] ? NB_OK : NB_NOT_FOUND;
		is_there[key] = false;
		break;
	case NB_REQ_INSERT:
		if (is_there[key]) {
			answer = NB_EXISTS;
			break;
		} /* fall through */
	case NB_REQ_PUT:
		memcpy(&value, op->value.data, sizeof(value));
		values[key] = value;
		is_there[key] = true;
		break;
	case NB_REQ_MERGE:
		values[key] = (is_there[key] ? values[key] : 0) + op->operand;
		is_there[key] = true;
		break;
	}
	wire_add_answer(out, answer, NULL);
	if (op->verb == NB_REQ_GET && answer == NB_OK)
		bytes_add(out, &values[key], sizeof(values[key]));
}

TEST_EACH(requests_that_go_together_are_answered_one_by_one, 9)
{
	static uint64_t numbers[OPS];
	uint64_t random = 1, values[KEYS] = {0};
	bool is_there[KEYS] = {false};
	struct bytes out = {.data = NULL}, wanted = {.data = NULL};
	struct window window;
	open_engine(_i, 1);
	open_window(&window, 0);
	for (int i = 0; i < OPS; i++) {
		uint64_t draw = splitmix64_next(&random);
		static const char keys[KEYS][10] = {"a", "b", "key00001", "key000012", "c"};
		uint32_t key = (uint32_t)(draw % KEYS);
		numbers[i] = draw;
		struct window_op op = {.verb = (uint32_t)(draw >> 32) % NB_REQ_EXECUTE,
			.reply = REPLY_WIRE,
			.key = {keys[key], strlen(keys[key])},
			.value = {&numbers[i], VALUE},
			.operand = draw};
		expect(&wanted, values, is_there, &op, key);
		window_add(&window, &op, &out);
		if (draw >> 40 == 0)
			window_run(&window, &out);
	}
	window_run(&window, &out);
	ck_assert_uint_eq(out.size, wanted.size);
	ck_assert(memcmp(out.data, wanted.data, out.size) == 0);
	ck_assert_uint_eq(window.counts.failures, 0);
	engine.session_close(window.session);
	engine.close(db);
	bytes_free(&out);
	bytes_free(&wanted);
}

static void *
add_ones(void *arg)
{
	struct window *window = arg;
	struct bytes out = {.data = NULL};
	struct window_op op = {
		.verb = NB_REQ_MERGE, .reply = REPLY_WIRE, .key = {"n", 1}, .operand = 1};
	struct window_op other = {.verb = NB_REQ_PUT, .key = {"x", 1}, .value = {"y", 1}};
	for (int i = 0; i < SUMS; i++) {
		window_add(window, &op, &out);
		window_add(window, &other, &out);
	}
	window_run(window, &out);
	bytes_free(&out);
	return NULL;
}

TEST(a_merge_by_get_and_put_loses_none_of_several_threads)
{
	static struct window windows[THREADS];
	pthread_t threads[THREADS];
	struct nb_slice value;
	uint64_t sum = 0;
	open_engine(4, THREADS);
	for (uint32_t i = 0; i < THREADS; i++) {
		open_window(&windows[i], i);
		ck_assert_int_eq(pthread_create(&threads[i], NULL, add_ones, &windows[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(engine.get(windows[0].session, (struct nb_slice){"n", 1}, &value), 0);
	memcpy(&sum, value.data, sizeof(sum));
	ck_assert_uint_eq(sum, THREADS * SUMS);
	for (uint32_t i = 0; i < THREADS; i++)
		engine.session_close(windows[i].session);
	engine.close(db);
}

TEST(numbers_are_those_that_redis_accepts)
{
	static const struct {
		const char *text;
		bool is_number;
		int64_t number;
	} rows[] = {{"0", true, 0}, {"-1", true, -1}, {"9223372036854775807", true, INT64_MAX},
		{"-9223372036854775808", true, INT64_MIN}, {"9223372036854775808", false, 0},
		{"-9223372036854775809", false, 0}, {"", false, 0}, {"-", false, 0},
		{"01", false, 0}, {"-0", false, 0}, {"+1", false, 0}, {" 1", false, 0},
		{"1 ", false, 0}, {"99999999999999999999", false, 0}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int64_t number = 0;
		struct nb_slice text = {rows[i].text, strlen(rows[i].text)};
		ck_assert_int_eq(resp_number(&number, text), rows[i].is_number);
		ck_assert_int_eq(number, rows[i].number);
	}
}
