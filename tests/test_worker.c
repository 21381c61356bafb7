/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A job's worker alone, on this thread: the verbs that it calls, its counts, and where it
 * stops.
 */
#include "run/worker.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "toy.h"
#include "unit.h"

enum { COUNT = 200, ITEMS = 4, VALUE = 100, RECORDS = 500 };

#define BASE "records = 500\nitems = 4\nscan-length = 3\n"

static struct toy_rig rig;
static struct toy_worker with;

/** The verbs that one operation of a kind calls, and the bytes that it moves. */
static const struct {
	const char *mix;
	uint32_t kind;
	uint64_t verbs[TOY_VERBS], records, values;
} kinds[] = {
	{"read = 1", NB_OP_READ, {[TOY_GET] = 1, [TOY_RELEASE] = 1}, 1, 1},
	{"update = 1", NB_OP_UPDATE, {[TOY_PUT] = 1}, 1, 1},
	{"insert = 1", NB_OP_INSERT, {[TOY_PUT] = 1}, 1, 1},
	{"upsert = 1", NB_OP_UPSERT, {[TOY_PUT] = 1}, 1, 1},
	{"delete = 1\ndistribution = sequential", NB_OP_DELETE, {[TOY_DEL] = 1}, 0, 0},
	{"scan = 1\ndistribution = sequential", NB_OP_SCAN,
		{[TOY_SCAN_OPEN] = 1, [TOY_SCAN_NEXT] = 3, [TOY_SCAN_CLOSE] = 1}, 3, 3},
	{"read-modify-write = 1", NB_OP_RMW, {[TOY_GET] = 1, [TOY_RELEASE] = 1, [TOY_PUT] = 1},
		2, 2},
	{"batch = 1", NB_OP_BATCH, {[TOY_BATCH] = 1}, ITEMS, ITEMS},
	{"multi-get = 1", NB_OP_MULTIGET, {[TOY_MULTI_GET] = 1, [TOY_RELEASE] = 1}, ITEMS,
		ITEMS},
	{"txn-read = 1", NB_OP_TXN_READ,
		{[TOY_BEGIN] = 1, [TOY_GET] = ITEMS, [TOY_RELEASE] = ITEMS, [TOY_COMMIT] = 1},
		ITEMS, ITEMS},
	{"txn-write = 1", NB_OP_TXN_WRITE,
		{[TOY_BEGIN] = 1, [TOY_PUT] = ITEMS, [TOY_COMMIT] = 1}, ITEMS, ITEMS},
};

static struct job_worker *
begin(const char *text)
{
	char all[512];
	const char *count = strstr(text, "count = ") != NULL ? "" : "count = 200";
	snprintf(all, sizeof(all), BASE "%s\n%s\n", count, text);
	return toy_one(&rig, &with, all);
}

TEST(each_kind_calls_its_verbs_the_right_number_of_times)
{
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		struct job_worker *worker = begin(kinds[k].mix);
		toy_go(&with);
		ck_assert_msg(worker->rc == NB_OK, "%s", worker->text);
		for (uint32_t verb = TOY_GET; verb <= TOY_RELEASE; verb++)
			ck_assert_msg(toy_calls(verb) == COUNT * kinds[k].verbs[verb],
				"%s: verb %u: %llu calls", kinds[k].mix, verb,
				(unsigned long long)toy_calls(verb));
		const struct job_counts *counts = &worker->counts[kinds[k].kind];
		ck_assert_uint_eq(worker->done, COUNT);
		ck_assert_uint_eq(worker->measured, COUNT);
		ck_assert_uint_eq(counts->answers[NB_OK], COUNT);
		ck_assert_uint_eq(counts->records, COUNT * kinds[k].records);
		ck_assert_uint_eq(counts->bytes, COUNT * kinds[k].values * VALUE);
		ck_assert_uint_eq(nb_histogram_count(counts->service), COUNT);
		ck_assert_ptr_null(counts->response); /* the job has no rate */
		for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++)
			ck_assert_int_eq(
				worker->counts[kind].service != NULL, kind == kinds[k].kind);
		ck_assert_uint_eq(toy_wrong(&worker->findings), 0);
	}
}

/** Check that the next call in the log is this one. Returns the index after it. */
static uint64_t
expect(uint64_t at, uint32_t verb, uint64_t number, uint64_t version)
{
	ck_assert_uint_lt(at, toy.logged);
	while (toy.log[at].verb == TOY_RELEASE || toy.log[at].verb == TOY_SCAN_NEXT)
		at++;
	ck_assert_uint_eq(toy.log[at].verb, verb);
	ck_assert_uint_eq(toy.log[at].number, number);
	ck_assert_uint_eq(toy.log[at].version, version);
	return at + 1;
}

/** Check the calls of one operation, in order, with their keys and versions. */
static uint64_t
expect_op(uint64_t at, const struct ops_op *op)
{
	uint64_t version = ops_version(&rig.run->parts[0].spec, op->index);
	switch (op->kind) {
	case NB_OP_READ:
		return expect(at, TOY_GET, op->numbers[0], 0);
	case NB_OP_DELETE:
		return expect(at, TOY_DEL, op->numbers[0], 0);
	case NB_OP_SCAN:
		at = expect(at, TOY_SCAN_OPEN, op->numbers[0], 0);
		ck_assert_uint_eq(toy.log[at - 1].size, op->length);
		return expect(at, TOY_SCAN_CLOSE, 0, 0);
	case NB_OP_RMW:
		at = expect(at, TOY_GET, op->numbers[0], 0);
		return expect(at, TOY_PUT, op->numbers[0], version);
	case NB_OP_BATCH:
		at = expect(at, TOY_BATCH, op->numbers[0], version);
		ck_assert_uint_eq(toy.log[at - 1].size, op->items);
		return at;
	case NB_OP_MULTIGET:
		at = expect(at, TOY_MULTI_GET, op->numbers[0], 0);
		ck_assert_uint_eq(toy.log[at - 1].size, op->items);
		return at;
	case NB_OP_TXN_READ:
	case NB_OP_TXN_WRITE:
		at = expect(at, TOY_BEGIN, 0, 0);
		ck_assert_uint_eq(toy.log[at - 1].size,
			op->kind == NB_OP_TXN_READ ? NB_TXN_READ_ONLY : 0);
		for (uint32_t k = 0; k < op->items; k++)
			at = op->kind == NB_OP_TXN_READ
				? expect(at, TOY_GET, op->numbers[k], 0)
				: expect(at, TOY_PUT, op->numbers[k], version);
		return expect(at, TOY_COMMIT, 0, 0);
	default:
		return expect(at, TOY_PUT, op->numbers[0], version);
	}
}

TEST(operations_follow_the_stream_in_order)
{
	struct job_worker *worker = begin("read = 1\nupdate = 1\ninsert = 1\nupsert = 1\n"
					  "delete = 1\nscan = 1\nread-modify-write = 1\n"
					  "batch = 1\nmulti-get = 1\ntxn-read = 1\n"
					  "txn-write = 1\nlag = 64");
	toy.is_logging = true;
	toy_go(&with);
	ck_assert_msg(worker->rc == NB_OK, "%s", worker->text);
	struct ops_maker maker;
	ck_assert_int_eq(ops_maker_create(&maker, &rig.run->parts[0].spec), NB_OK);
	uint64_t at = 0, i = 0;
	for (uint64_t s = 0; i < COUNT; s++) {
		ops_begin(&maker, s);
		for (uint32_t made; i < COUNT && (made = ops_make(&maker)) > 0;)
			for (uint32_t j = 0; j < made && i < COUNT; j++, i++)
				at = expect_op(at, &maker.ops[j]);
	}
	for (; at < toy.logged; at++)
		ck_assert_uint_eq(toy.log[at].verb, TOY_RELEASE);
	ops_maker_destroy(&maker);
}

TEST(each_loan_is_released_exactly_once)
{
	begin("read = 1");
	toy_break(TOY_MISS, TOY_GET, 10, 5);
	toy_go(&with);
	ck_assert_uint_eq(toy_calls(TOY_GET), COUNT);
	ck_assert_uint_eq(toy_calls(TOY_RELEASE), COUNT - 5);
	ck_assert_uint_eq(with.workers[0]->counts[NB_OP_READ].answers[NB_NOT_FOUND], 5);
	ck_assert_uint_eq(with.workers[0]->counts[NB_OP_READ].answers[NB_OK], COUNT - 5);
	ck_assert_uint_eq(with.workers[0]->counts[NB_OP_READ].records, COUNT - 5);
}

TEST(read_modify_write_of_a_missing_record_puts_it)
{
	begin("read-modify-write = 1");
	toy_break(TOY_MISS, TOY_GET, 10, 1);
	toy_go(&with);
	ck_assert_uint_eq(toy_calls(TOY_PUT), COUNT);
	ck_assert_uint_eq(with.workers[0]->counts[NB_OP_RMW].answers[NB_NOT_FOUND], 1);
	ck_assert_uint_eq(with.workers[0]->findings.verdicts[JOB_MISSING], 1);
}

/* ---- failures ---- */

static void
assert_failed(const char *text, uint64_t done)
{
	const struct job_worker *worker = with.workers[0];
	ck_assert_int_eq(worker->rc, NB_FAIL);
	ck_assert_str_eq(worker->text, text);
	ck_assert_uint_eq(worker->done, done);
	ck_assert_uint_eq(worker->measured, done);
}

#define HUGE(number, is) \
	"lent " number \
	" bytes, which is not a size (the limit is 9223372036854775807); as a signed number it is " is
#define HUGE_SIZE HUGE("18446744073709551615", "-1")
#define HUGE_KEY_SIZE HUGE("9223372036854775808", "-9223372036854775808")

TEST(failure_ends_the_worker_and_is_reported_with_its_operation)
{
	static const struct {
		const char *mix;
		uint32_t defect, verb;
		uint64_t nth, times, done;
		const char *text; /* after the engine's name */
		struct {
			uint32_t verb;
			uint64_t calls;
		} calls[3];
	} cases[] = {
		{"update = 1", TOY_FAIL, TOY_PUT, 10, 1, 9,
			"update, operation 9: the toy is broken", {{TOY_PUT, 10}}},
		/* nothing stays open */
		{"scan = 1", TOY_FAIL, TOY_SCAN_NEXT, 4, 1, 1,
			"scan, operation 1: the toy is broken", {{TOY_SCAN_CLOSE, 2}}},
		{"scan = 1", TOY_FAIL, TOY_SCAN_CLOSE, 3, 1, 2,
			"scan, operation 2: the toy is broken", {{TOY_SCAN_CLOSE, 3}}},
		/* a failure without a text, and an unknown answer */
		{"delete = 1", TOY_MUTE, TOY_DEL, 1, 1, 0,
			"delete, operation 0: failed without saying why", {{TOY_DEL, 1}}},
		{"read = 1", TOY_ODD, TOY_GET, 3, 1, 2,
			"read, operation 2: answered 9, which means nothing here",
			{{TOY_GET, 3}}},
		/* a loan without a valid size is not read, but released */
		{"read = 1", TOY_HUGE, TOY_GET, 3, 1, 2, "read, operation 2: get " HUGE_SIZE,
			{{TOY_RELEASE, 3}}},
		{"multi-get = 1", TOY_HUGE, TOY_MULTI_GET, 3, 1, 2,
			"multi-get, operation 2: multi_get " HUGE_SIZE, {{TOY_RELEASE, 3}}},
		{"scan = 1", TOY_HUGE, TOY_SCAN_NEXT, 8, 1, 2,
			"scan, operation 2: scan_next " HUGE_SIZE, {{TOY_SCAN_CLOSE, 3}}},
		{"scan = 1", TOY_HUGE_KEY, TOY_SCAN_NEXT, 8, 1, 2,
			"scan, operation 2: scan_next " HUGE_KEY_SIZE, {{TOY_SCAN_CLOSE, 3}}},
		/* a transaction that fails in the middle is aborted */
		{"txn-write = 1", TOY_FAIL, TOY_PUT, ITEMS + 2, 1, 1,
			"txn-write, operation 1: the toy is broken",
			{{TOY_BEGIN, 2}, {TOY_COMMIT, 1}, {TOY_ABORT, 1}}},
		{"txn-read = 1", TOY_FAIL, TOY_GET, 1, 1, 0,
			"txn-read, operation 0: the toy is broken",
			{{TOY_BEGIN, 1}, {TOY_COMMIT, 0}, {TOY_ABORT, 1}}},
		/* a transaction that has not begun or is over is not aborted */
		{"txn-write = 1", TOY_FAIL, TOY_BEGIN, 3, 1, 2,
			"txn-write, operation 2: the toy is broken", {{TOY_ABORT, 0}}},
		{"txn-write = 1", TOY_FAIL, TOY_COMMIT, 3, 1, 2,
			"txn-write, operation 2: the toy is broken", {{TOY_ABORT, 0}}},
	};
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		char text[256];
		begin(cases[c].mix);
		toy_break(cases[c].defect, cases[c].verb, cases[c].nth, cases[c].times);
		toy_go(&with);
		snprintf(text, sizeof(text), "toy: %s", cases[c].text);
		assert_failed(text, cases[c].done);
		for (size_t i = 0; i == 0 || (i < 3 && cases[c].calls[i].verb != 0); i++)
			ck_assert_msg(
				toy_calls(cases[c].calls[i].verb) == cases[c].calls[i].calls,
				"%s: %llu calls of verb %u", text,
				(unsigned long long)toy_calls(cases[c].calls[i].verb),
				cases[c].calls[i].verb);
	}
}

static int32_t multi_answers[ITEMS];

static int
multi_get_of(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	for (size_t i = 0; i < count; i++) {
		answers[i] = multi_answers[i];
		values[i] = keys[i];
		if (answers[i] < 0)
			(void)error_set(NB_FAIL, "one of many");
	}
	return NB_OK;
}

TEST(failure_among_many_is_not_hidden_by_a_miss)
{
	static const int32_t cases[][ITEMS] = {{NB_NOT_FOUND, NB_FAIL, NB_OK, NB_OK},
		{NB_OK, NB_FAIL, NB_NOT_FOUND, NB_OK}, {NB_FAIL, NB_NOT_FOUND},
		{NB_FAIL, NB_EXISTS}}; /* the first of two failures is reported */
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		begin("multi-get = 1");
		memcpy(multi_answers, cases[c], sizeof(multi_answers));
		rig.run->engine->table.multi_get = multi_get_of;
		toy_go(&with);
		assert_failed("toy: multi-get, operation 0: one of many", 0);
		ck_assert_uint_eq(toy_calls(TOY_RELEASE), 1);
	}
}

enum { ODD_AT = 32 };

static int odd_answer;

static int
put_odd(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	if (toy_calls(TOY_PUT) == ODD_AT)
		return odd_answer;
	return toy_engine().put(session, key, value);
}

TEST(invalid_answer_ends_the_worker)
{
	/* not even NB_EXISTS, which only an insert may return */
	static const int answers[] = {NB_EXISTS, NB_PENDING, 17, INT32_MAX};
	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
		char text[96];
		begin("update = 1");
		odd_answer = answers[i];
		snprintf(text, sizeof(text),
			"toy: update, operation 32: answered %d, which means nothing here",
			odd_answer);
		rig.run->engine->table.put = put_odd;
		toy_go(&with);
		assert_failed(text, ODD_AT);
	}
}

/* ---- conflicts ---- */

TEST(conflict_is_counted_and_the_operation_retried)
{
	static const struct {
		const char *mix;
		uint32_t kind, verb;
	} cases[] = {{"read = 1", NB_OP_READ, TOY_GET}, {"update = 1", NB_OP_UPDATE, TOY_PUT},
		{"delete = 1\ndistribution = sequential", NB_OP_DELETE, TOY_DEL},
		{"batch = 1", NB_OP_BATCH, TOY_BATCH},
		{"multi-get = 1", NB_OP_MULTIGET, TOY_MULTI_GET},
		{"scan = 1\ndistribution = sequential", NB_OP_SCAN, TOY_SCAN_OPEN},
		{"scan = 1\ndistribution = sequential", NB_OP_SCAN, TOY_SCAN_CLOSE}};
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		struct job_worker *worker = begin(cases[c].mix);
		toy_break(TOY_CONFLICT, cases[c].verb, 20, 3);
		toy_go(&with);
		ck_assert_msg(worker->rc == NB_OK, "%s", worker->text);
		const struct job_counts *counts = &worker->counts[cases[c].kind];
		ck_assert_uint_eq(toy_calls(cases[c].verb), COUNT + 3);
		ck_assert_uint_eq(counts->answers[NB_CONFLICT], 3);
		ck_assert_uint_eq(counts->answers[NB_OK], COUNT);
		ck_assert_uint_eq(nb_histogram_count(counts->service), COUNT);
		/* bytes of failed attempts do not count */
		ck_assert_uint_eq(counts->bytes, counts->records * VALUE);
	}
}

TEST(conflicting_transaction_is_repeated_as_a_whole)
{
	static const struct {
		uint32_t verb, nth;
		uint64_t begins, puts, commits, aborts;
	} cases[] = {/* a conflict in commit ends the transaction */
		{TOY_COMMIT, 5, COUNT + 2, (COUNT + 2) * ITEMS, COUNT + 2, 0},
		/* otherwise the worker aborts it: the second put conflicts twice */
		{TOY_PUT, 1, COUNT + 2, COUNT * ITEMS + 3, COUNT, 2},
		{TOY_BEGIN, 7, COUNT + 2, COUNT * ITEMS, COUNT, 0}};
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		struct job_worker *worker = begin("txn-write = 1");
		toy.is_logging = true;
		if (cases[c].verb ==
			TOY_PUT) { /* the record of the second put, whenever it is written */
			struct ops_maker *maker = &worker->maker;
			ops_begin(maker, 0);
			ck_assert_uint_gt(ops_make(maker), 0);
			ck_assert_uint_ne(maker->ops[0].numbers[0], maker->ops[0].numbers[1]);
			toy.number = maker->ops[0].numbers[1] + 1;
		}
		toy_break(TOY_CONFLICT, cases[c].verb, cases[c].nth, 2);
		toy_go(&with);
		const struct job_counts *counts = &worker->counts[NB_OP_TXN_WRITE];
		ck_assert_msg(worker->rc == NB_OK, "%s", worker->text);
		ck_assert_uint_eq(counts->answers[NB_CONFLICT], 2);
		ck_assert_uint_eq(counts->answers[NB_OK], COUNT);
		ck_assert_uint_eq(counts->records, COUNT * ITEMS);
		ck_assert_uint_eq(toy_calls(TOY_BEGIN), cases[c].begins);
		ck_assert_uint_eq(toy_calls(TOY_COMMIT), cases[c].commits);
		ck_assert_uint_eq(toy_calls(TOY_ABORT), cases[c].aborts);
		if (cases[c].verb !=
			TOY_PUT) /* each attempt has a successful put before the conflict */
			ck_assert_uint_eq(toy_calls(TOY_PUT), cases[c].puts);
		else
			ck_assert_uint_eq(toy_calls(TOY_PUT), COUNT * ITEMS + 2 * 2);
	}
}

TEST(conflicts_are_retried_with_pauses_until_the_end)
{
	enum { LIMIT_NS = 50 * 1000 * 1000 };
	begin("update = 1");
	with.part->plan.conflict_ns = LIMIT_NS;
	toy_break(TOY_CONFLICT, TOY_PUT, 6, 0);
	uint64_t begin_ns = clock_monotonic();
	toy_go(&with);
	ck_assert_uint_ge(clock_monotonic() - begin_ns, LIMIT_NS);
	assert_failed(
		"toy: update, operation 5: answered with nothing but conflicts for 0.05 s", 5);
	/* waits increase: with waits below 5 us, there would be ten thousand */
	ck_assert_uint_gt(toy_calls(TOY_PUT), 5 + 2);
	ck_assert_uint_lt(toy_calls(TOY_PUT), 5 + LIMIT_NS / 5000);
}

static int
put_conflicts_and_halts(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	with.halt = 1;
	return NB_CONFLICT;
}

TEST(halt_ends_retries_of_a_conflict)
{
	struct job_worker *worker = begin("update = 1");
	rig.run->engine->table.put = put_conflicts_and_halts;
	toy_go(&with);
	const struct job_counts *counts = &worker->counts[NB_OP_UPDATE];
	ck_assert_int_eq(worker->rc, NB_OK);
	ck_assert_uint_eq(worker->done, 0);
	ck_assert_uint_eq(counts->answers[NB_OK], 0);
	ck_assert_uint_eq(nb_histogram_count(counts->service), 0);
}

TEST(loop_is_the_same_with_the_time_stamp_counter)
{
	struct clock tsc;
	if (clock_create(&tsc, NB_CLOCK_TSC) != NB_OK)
		return; /* not available here */
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		char text[256];
		snprintf(text, sizeof(text), BASE "count = 200\n%s\n", kinds[k].mix);
		toy_create(&rig, text);
		rig.options.clock = NB_CLOCK_TSC;
		toy_new(&rig);
		toy_load(&rig);
		toy_enter(&rig, &with, &rig.run->parts[0]);
		const struct job_worker *worker = with.workers[0];
		uint64_t before_ns = clock_monotonic();
		toy_go(&with);
		uint64_t window_ns = clock_monotonic() - before_ns;
		const struct job_counts *counts = &worker->counts[kinds[k].kind];
		ck_assert_uint_eq(counts->answers[NB_OK], COUNT);
		ck_assert_uint_eq(counts->bytes, COUNT * kinds[k].values * VALUE);
		/* the calibration is exact to some parts in 10^7; a thousandth is ample */
		uint64_t told_ns = clock_ns(&tsc, worker->last_ticks - worker->first_ticks);
		ck_assert_uint_le(told_ns, window_ns + window_ns / 1000 + 1000);
		ck_assert_uint_le(nb_histogram_sum(counts->service), told_ns);
	}
}

TEST(no_two_workers_share_a_cache_line)
{
	ck_assert_uint_eq(_Alignof(struct job_worker) % 128, 0);
	ck_assert_uint_eq(sizeof(struct job_worker) % 128, 0);
	begin("read = 1");
	ck_assert_uint_eq((uintptr_t)with.workers[0] % 128, 0);
	job_worker_delete(NULL);
}

/* ---- progress and halt ---- */

static uint64_t told;

static int
get_watched(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	ck_assert_uint_eq(__atomic_load_n(&with.workers[0]->done, __ATOMIC_RELAXED), told++);
	*value = key;
	return NB_OK;
}

TEST(progress_is_published_before_the_next_operation)
{
	begin("read = 1");
	with.part->plan.verify_threshold = 0;
	rig.run->engine->table.get = get_watched;
	told = 0;
	toy_go(&with);
	ck_assert_uint_eq(told, COUNT);
}

static int
scan_on(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	*key = *value = (struct nb_slice){"record", 6};
	return NB_OK;
}

/* A scan is one operation, but may visit all records of a large database. */
TEST(scan_shows_its_progress)
{
	toy_one(&rig, &with,
		"records = 10000\nscan-length = 10000\nscan = 1\ncount = 1\n"
		"distribution = sequential\n");
	with.part->plan.verify_threshold = 0;
	rig.run->engine->table.scan_next = scan_on;
	toy_go(&with);
	ck_assert_uint_eq(with.workers[0]->counts[NB_OP_SCAN].records, 10000);
	ck_assert_uint_eq(with.workers[0]->heartbeat.steps, 3); /* at 0, 4096, 8192 */
}

static int
put_halting(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	if (toy_calls(TOY_PUT) == 99)
		__atomic_store_n(&with.halt, 1, __ATOMIC_RELAXED);
	return toy_engine().put(session, key, value);
}

TEST(halt_stops_after_the_current_operation)
{
	begin("read = 1");
	with.halt = 1;
	toy_go(&with);
	ck_assert_uint_eq(toy_calls(TOY_GET), 0);
	ck_assert_int_eq(with.workers[0]->rc, NB_OK);
	struct job_worker *worker = begin("update = 1\ndistribution = sequential");
	rig.run->engine->table.put = put_halting;
	toy_go(&with);
	ck_assert_int_eq(worker->rc, NB_OK);
	ck_assert_uint_eq(worker->done, 100);
	ck_assert_uint_eq(nb_histogram_count(worker->counts[NB_OP_UPDATE].service), 100);
	with.halt = 0; /* only the finished operations are read back */
	toy_reset();
	job_worker_read_back(worker);
	ck_assert_uint_eq(worker->findings.verified, 100);
	ck_assert_uint_eq(toy_wrong(&worker->findings), 0);
}

/* ---- other workers ---- */

#define PAIR "read = 1\ninsert = 1\nthreads = 2\nlag = 64\ncount = 640"

TEST(a_thread_waits_for_the_inserts_that_it_may_read)
{
	begin(PAIR);
	/*
	 * the other thread has executed strata 1 and 3 and ended: operations that need its
	 * stratum 5 never begin
	 */
	with.workers[1]->strata_done = 5;
	with.workers[1]->is_over = 1;
	toy_go(&with);
	ck_assert_int_eq(with.workers[0]->rc, NB_OK);
	ck_assert_uint_eq(with.workers[0]->done, 4 * OPS_STRATUM); /* strata 0, 2, 4 and 6 */
	ck_assert_uint_eq(with.workers[0]->strata_done, 8);
}

TEST(finished_thread_delays_no_other)
{
	begin(PAIR);
	with.part->plan.verify_threshold = 0; /* its operations here are invented */
	with.part->plan.may_miss = true;
	with.workers[1]->strata_done = 11;
	with.workers[1]->is_over = 1;
	toy_go(&with);
	ck_assert_uint_eq(with.workers[0]->done, 5 * OPS_STRATUM);
}
