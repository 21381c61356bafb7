/* SPDX-License-Identifier: BSD-2-Clause */
/* Heartbeats: when a thread counts as hanging, and the text that reports it. */
#include "run/heartbeat.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

enum { LIMIT = 1000 };

TEST(worker_stuck_in_a_call_is_overdue)
{
	uint64_t done = 0;
	struct heartbeat heartbeat = {.done = &done};
	heartbeat_enter(&heartbeat, "put");
	ck_assert(
		!heartbeat_is_overdue(&heartbeat, 50000, LIMIT)); /* the first call starts it */
	ck_assert(!heartbeat_is_overdue(&heartbeat, 50000 + LIMIT - 1, LIMIT));
	ck_assert(heartbeat_is_overdue(&heartbeat, 50000 + LIMIT, LIMIT));
	done++;
	ck_assert(!heartbeat_is_overdue(&heartbeat, 50000 + 2 * LIMIT, LIMIT));
	ck_assert(heartbeat_is_overdue(&heartbeat, 50000 + 3 * LIMIT, LIMIT));
}

TEST(worker_waiting_outside_the_engine_is_not_overdue)
{
	uint64_t now = 0, done = 7;
	struct heartbeat heartbeat = {.done = &done};
	for (; now < 100 * LIMIT; now += LIMIT)
		ck_assert(!heartbeat_is_overdue(&heartbeat, now, LIMIT));
	/* nor right after, although nothing happened for a long time */
	heartbeat_enter(&heartbeat, "put");
	ck_assert(!heartbeat_is_overdue(&heartbeat, now, LIMIT));
	ck_assert(!heartbeat_is_overdue(&heartbeat, now + LIMIT - 1, LIMIT));
	heartbeat_leave(&heartbeat);
	ck_assert(!heartbeat_is_overdue(&heartbeat, now + 2 * LIMIT, LIMIT));
}

TEST(stopped_watcher_finds_no_overdue_worker)
{
	const uint64_t second = 1000000000, limit = 10 * second;
	struct heartbeat heartbeat = {.call = NULL};
	heartbeat_enter(&heartbeat, "put");
	uint64_t now = 5 * second;
	ck_assert(!heartbeat_is_overdue(&heartbeat, now, limit));
	now += 3600 * second; /* the process was suspended and continued */
	ck_assert(!heartbeat_is_overdue(&heartbeat, now, limit));
	for (int i = 0; i < 8; i++)
		ck_assert(!heartbeat_is_overdue(&heartbeat, now += second, limit));
	ck_assert(heartbeat_is_overdue(&heartbeat, now + second, limit));
}

TEST(repeated_call_counts_as_another_call)
{
	struct heartbeat heartbeat = {.call = NULL};
	for (uint64_t now = 0; now < 100 * LIMIT; now += LIMIT) {
		heartbeat_enter(
			&heartbeat, "tick"); /* the call may return between two checks */
		ck_assert(!heartbeat_is_overdue(&heartbeat, now, LIMIT));
	}
}

static void
describe_op(const struct heartbeat *heartbeat, const char *call, char *buf, size_t size)
{
	snprintf(buf, size, "%s, operation 12", call);
}

TEST(overdue_call_is_reported_with_its_worker)
{
	char text[HEARTBEAT_TEXT];
	struct heartbeat heartbeat = {.worker = 3, .describe = describe_op};
	heartbeat_describe(&heartbeat, text, sizeof(text));
	ck_assert_str_eq(text, "outside of all calls of the engine, worker 3");
	heartbeat_enter(&heartbeat, "put");
	heartbeat_describe(&heartbeat, text, sizeof(text));
	ck_assert_str_eq(text, "in put, operation 12, worker 3");
	heartbeat = (struct heartbeat){.worker = HEARTBEAT_DATABASE};
	heartbeat_enter(&heartbeat, "close");
	heartbeat_describe(&heartbeat, text, sizeof(text));
	ck_assert_str_eq(text, "in close");
}

TEST(key_is_printed_as_text_or_as_bytes)
{
	static const struct {
		const char *key;
		size_t size;
		const char *text;
	} cases[] = {{"user123", 7, "user123"}, {"\0\1\xff", 3, "0001ff"}, {"a b", 3, "612062"},
		{"", 0, ""},
		{"0123456789012345678901234567890123456789", 40,
			"01234567890123456789012345678901..."}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[80];
		heartbeat_format_key(text, sizeof(text), cases[i].key, cases[i].size);
		ck_assert_str_eq(text, cases[i].text);
		char small[5];
		heartbeat_format_key(small, sizeof(small), cases[i].key, cases[i].size);
		ck_assert_uint_lt(strlen(small), sizeof(small));
	}
}
