/* SPDX-License-Identifier: BSD-2-Clause */
/* plugins/null: requests in flight, their order and their delay. */
#include <mininb/mininb.h>

#include <string.h>

#include "base/clock.h"
#include "run/engine.h"
#include "unit.h"

enum { INFLIGHT = 48, REQUESTS = 1000, REORDER = 5, DELAY_NS = 3000000 };

static const struct nb_engine *engine;
static struct nb_db *db;
static struct nb_session *session;

static void
set_up(uint64_t delay_ns, uint64_t reorder)
{
	const struct nb_option_value values[] = {
		{.u64 = delay_ns, .is_set = 1}, {.u64 = reorder, .is_set = 1}};
	struct nb_open_args args = {.size = sizeof(args),
		.host = nb_engine_host(),
		.path = "/",
		.options = values,
		.value_size = 10,
		.sessions = 1,
		.durability = NB_DUR_NONE,
		.inflight_ops = INFLIGHT};
	engine = engine_builtin("null");
	ck_assert_str_eq(engine->options[0].name, "delay");
	ck_assert_str_eq(engine->options[1].name, "reorder");
	ck_assert_int_eq(engine->open(&db, &args), NB_OK);
	ck_assert_int_eq(engine->session_open(&session, db, 0), NB_OK);
}

static void
tear_down(void)
{
	engine->session_close(session);
	engine->close(db);
}

/*
 * Submits tags from 0 on, as many as there is room for, and stores their order of completion.
 */
static void
fly(uint64_t *tags)
{
	struct nb_completion done[7];
	size_t sent = 0, reaped = 0, taken, count;

	while (reaped < REQUESTS) {
		for (taken = 1; taken == 1 && sent < REQUESTS; sent += taken) {
			struct nb_request request = {.tag = sent, .verb = NB_REQ_PUT};
			engine->submit(session, &request, 1, &taken);
		}
		ck_assert_uint_le(sent - reaped, INFLIGHT);
		ck_assert_int_eq(engine->reap(session, done, 7, &count, 0), NB_OK);
		for (size_t i = 0; i < count; i++)
			tags[reaped++] = done[i].tag;
	}
}

TEST(requests_come_out_in_order_unless_reordered)
{
	uint64_t tags[REQUESTS];

	set_up(0, 0);
	fly(tags);
	for (uint64_t i = 0; i < REQUESTS; i++)
		ck_assert_uint_eq(tags[i], i);
	tear_down();
}

TEST(reorder_moves_each_request_by_so_many_places_at_most)
{
	uint64_t tags[REQUESTS], again[REQUESTS];
	bool is_out[REQUESTS] = {false};
	uint64_t moved = 0;

	set_up(0, REORDER);
	fly(tags);
	tear_down();
	set_up(0, REORDER);
	fly(again);
	tear_down();
	ck_assert_mem_eq(tags, again, sizeof(tags));
	for (uint64_t i = 0; i < REQUESTS; i++) {
		ck_assert_uint_lt(tags[i], REQUESTS);
		ck_assert(!is_out[tags[i]]);
		is_out[tags[i]] = true;
		ck_assert_uint_le(tags[i] > i ? tags[i] - i : i - tags[i], REORDER);
		moved += tags[i] != i;
	}
	ck_assert_uint_gt(moved, REQUESTS / 2);
}

TEST(requests_answer_as_the_verbs_do)
{
	struct nb_step steps[] = {{.verb = NB_STEP_GET, .answer = -9}, {.verb = NB_STEP_DEL}};
	struct nb_request requests[] = {{.verb = NB_REQ_GET},
		{.verb = NB_REQ_EXECUTE, .steps = steps, .step_count = 2},
		{.verb = NB_REQ_MERGE}};
	struct nb_completion done[3];
	struct nb_slice value;
	size_t count;

	set_up(0, 0);
	engine->get(session, (struct nb_slice){"k", 1}, &value);
	engine->submit(session, requests, 3, &count);
	ck_assert_uint_eq(count, 3);
	engine->reap(session, done, 3, &count, 0);
	ck_assert_uint_eq(count, 3);
	for (size_t i = 0; i < 3; i++)
		ck_assert_int_eq(done[i].answer, NB_OK);
	ck_assert_ptr_eq(done[0].value.data, value.data);
	ck_assert_uint_eq(done[0].value.size, 10);
	ck_assert_int_eq(steps[0].answer, NB_OK);
	ck_assert_ptr_eq(steps[0].value.data, value.data);
	tear_down();
}

TEST(request_completes_after_its_delay)
{
	struct nb_request request = {.tag = 1, .verb = NB_REQ_PUT};
	struct nb_completion done;
	size_t count;

	set_up(DELAY_NS, 0);
	uint64_t start = clock_monotonic();
	engine->submit(session, &request, 1, &count);
	engine->reap(session, &done, 1, &count, 0);
	/*
	 * A timeout of 0 returns only completed requests: none, unless this thread was delayed.
	 */
	ck_assert(count == 0 || clock_monotonic() - start >= DELAY_NS);
	if (count == 0)
		engine->reap(session, &done, 1, &count, UINT64_MAX);
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_ge(clock_monotonic() - start, DELAY_NS);
	engine->reap(session, &done, 1, &count, UINT64_MAX); /* no request is in flight */
	ck_assert_uint_eq(count, 0);
	tear_down();
}
