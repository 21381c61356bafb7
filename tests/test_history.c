/* SPDX-License-Identifier: BSD-2-Clause */
#include "history.h"

#include "unit.h"

#define OPERATION(thread_, begin_, end_, verb_, is_done_, value_) \
	{ \
		.thread = (thread_), .begin = (begin_), .end = (end_), .verb = VERB_##verb_, \
		.is_done = (is_done_), .value = (value_) \
	}

/* Histories of one key, some with an order that explains them, some without. */
static const struct {
	const char *what;
	bool is_linearizable;
	uint64_t last;
	struct operation operations[4]; /* up to an operation that ends at 0 */
} histories[] = {
	{"a read after a write", true, 7,
		{OPERATION(0, 1, 2, PUT, true, 7), OPERATION(1, 3, 4, GET, true, 7)}},
	{"a read of nothing", true, 0, {OPERATION(0, 1, 2, GET, false, 0)}},
	{"a read beside a write: the new value", true, 7,
		{OPERATION(0, 1, 4, PUT, true, 7), OPERATION(1, 2, 3, GET, true, 7)}},
	{"a read beside a write: the old value", true, 7,
		{OPERATION(0, 1, 4, PUT, true, 7), OPERATION(1, 2, 3, GET, false, 0)}},
	{"two writes at once: the first is last", true, 7,
		{OPERATION(0, 1, 4, PUT, true, 7), OPERATION(1, 2, 3, PUT, true, 8)}},
	{"two writes at once: the second is last", true, 8,
		{OPERATION(0, 1, 4, PUT, true, 7), OPERATION(1, 2, 3, PUT, true, 8)}},
	{"two inserts and a delete between them, all at once", true, 8,
		{OPERATION(0, 1, 6, INSERT, true, 7), OPERATION(1, 2, 5, INSERT, true, 8),
			OPERATION(2, 3, 4, DEL, true, 0)}},
	{"a stale read", false, 8,
		{OPERATION(0, 1, 2, PUT, true, 7), OPERATION(0, 3, 4, PUT, true, 8),
			OPERATION(1, 5, 6, GET, true, 7)}},
	{"a stale read after a fresh one, beside the write", false, 8,
		{OPERATION(0, 1, 2, PUT, true, 7), OPERATION(0, 3, 8, PUT, true, 8),
			OPERATION(1, 4, 5, GET, true, 8), OPERATION(2, 6, 7, GET, true, 7)}},
	{"a read of nothing after a write", false, 7,
		{OPERATION(0, 1, 2, PUT, true, 7), OPERATION(1, 3, 4, GET, false, 0)}},
	{"a lost update", false, 7,
		{OPERATION(0, 1, 2, PUT, true, 7), OPERATION(0, 3, 4, PUT, true, 8)}},
	{"a lost put", false, 0, {OPERATION(0, 1, 2, PUT, true, 7)}},
	{"a put lost to an earlier delete", false, 0,
		{OPERATION(0, 1, 2, DEL, false, 0), OPERATION(1, 3, 4, PUT, true, 7)}},
	{"a deleted record that comes back", false, 7,
		{OPERATION(0, 1, 2, PUT, true, 7), OPERATION(0, 3, 4, DEL, true, 0)}},
	{"additions at once", true, 12,
		{OPERATION(0, 1, 4, ADD, true, 7), OPERATION(1, 2, 3, ADD, true, 5)}},
	{"a lost addition", false, 5,
		{OPERATION(0, 1, 4, ADD, true, 7), OPERATION(1, 2, 3, ADD, true, 5)}},
	{"an addition that a later put replaces", true, 7,
		{OPERATION(0, 1, 2, ADD, true, 5), OPERATION(1, 3, 4, PUT, true, 7)}},
	{"a read of a deleted record", false, 0,
		{OPERATION(0, 1, 2, PUT, true, 7), OPERATION(0, 3, 4, DEL, true, 0),
			OPERATION(1, 5, 6, GET, true, 7)}},
	{"two deletes of one record", false, 0,
		{OPERATION(0, 1, 2, PUT, true, 7), OPERATION(1, 3, 6, DEL, true, 0),
			OPERATION(2, 4, 5, DEL, true, 0)}},
	{"two inserts of one key", false, 7,
		{OPERATION(0, 1, 4, INSERT, true, 7), OPERATION(1, 2, 3, INSERT, true, 8)}},
	{"an insert rejected for no record", false, 0, {OPERATION(0, 1, 2, INSERT, false, 7)}},
	{"a rejected insert that leaves its value", false, 8,
		{OPERATION(0, 1, 2, PUT, true, 7), OPERATION(1, 3, 4, INSERT, false, 8)}},
	{"a value that was never written", false, 7,
		{OPERATION(0, 1, 4, PUT, true, 7), OPERATION(1, 2, 3, GET, true, 9)}},
};

TEST_EACH(checker_accepts_exactly_the_histories_that_some_order_explains, UNIT_COUNT(histories))
{
	const struct operation *culprit, *operations = histories[_i].operations;
	size_t count = 0;

	while (count < UNIT_COUNT(histories[_i].operations) && operations[count].end != 0)
		count++;
	ck_assert_msg(history_is_linearizable(operations, count, histories[_i].last,
			      &culprit) == histories[_i].is_linearizable,
		"%s", histories[_i].what);
}
