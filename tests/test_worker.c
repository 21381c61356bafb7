/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The worker alone, on this thread, with a clock that is known: what it times,
 * counts, verifies and where it stops.
 */
#include "run/worker.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "rig.h"
#include "unit.h"

enum { COUNT = 1000 };

static struct rig rig;
static struct keys keys;
static struct clock monotonic;
static struct nb_engine engine;
static struct worker_plan plan;
static struct nb_db *db;
static int halt;
static uint64_t calls[COUNT]; /* of the verb that is measured, for each key */

static void
count_call(struct nb_slice key)
{
	ck_assert_uint_lt(rig_number(key), COUNT);
	calls[rig_number(key)]++;
}

static int
put_counted(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	count_call(key);
	return rig_right()->put(session, key, value);
}

static int
get_counted(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	count_call(key);
	return rig_right()->get(session, key, value);
}

static int
del_counted(struct nb_session *session, struct nb_slice key)
{
	count_call(key);
	return rig_right()->del(session, key);
}

/** A worker of operations [begin, end) with a session of its own. */
static struct worker *
make_worker(uint32_t verb, uint64_t begin, uint64_t end)
{
	rig_create(&rig, verb, COUNT);
	ck_assert_int_eq(keys_open(&keys, rig.keys, 16, COUNT), NB_OK);
	ck_assert_int_eq(clock_create(&monotonic, NB_CLOCK_MONOTONIC), NB_OK);
	engine = *rig_right();
	engine.put = put_counted;
	engine.get = get_counted;
	engine.del = del_counted;
	struct nb_open_args args = {

		.size = sizeof(args),
		.flags = NB_OPEN_CREATE,
		.host = nb_engine_host(),
		.path = rig.dir,
		.sessions = 1};
	ck_assert_int_eq(engine.open(&db, &args), NB_OK);
	plan = (struct worker_plan){.engine = &engine,
		.workload = &rig.workload,
		.keys = &keys,
		.clock = &monotonic,
		.verify_threshold = UINT64_MAX,
		.halt = &halt};
	struct worker *worker;
	ck_assert_int_eq(worker_new(&worker, &plan, begin, end), NB_OK);
	ck_assert_int_eq(engine.session_open(&worker->session, db, 0), NB_OK);
	return worker;
}

static void
end_worker(struct worker *worker)
{
	ck_assert_int_eq(engine.session_close(worker->session), NB_OK);
	ck_assert_int_eq(engine.close(db), NB_OK);
	worker_delete(worker);
	keys_close(&keys);
	rig_destroy(&rig);
}

/** Load what get and delete need, with verbs that count nothing. */
static void
load_all(struct worker *worker)
{
	worker_load(worker);
	ck_assert_int_eq(worker->rc, NB_OK);
	ck_assert_uint_eq(worker_done(worker), worker->end - worker->begin);
	worker->done = 0;
	memset(calls, 0, sizeof(calls));
}

START_TEST(each_operation_of_the_share_is_called_once)
{
	static const uint64_t shares[][2] = {{0, COUNT}, {0, 1}, {COUNT - 1, COUNT}, {31, 33},
		{7, 7 + 64}, {5, 5}, {1, 998}};
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++)
		for (size_t s = 0; s < sizeof(shares) / sizeof(*shares); s++) {
			uint64_t begin = shares[s][0], end = shares[s][1];
			struct worker *worker = make_worker(verb, begin, end);
			load_all(worker);
			worker_run(worker);
			ck_assert_int_eq(worker->rc, NB_OK);
			ck_assert_uint_eq(worker_done(worker), end - begin);
			ck_assert_uint_eq(nb_histogram_count(&worker->service), end - begin);
			ck_assert_uint_eq(worker->answers[NB_OK], end - begin);
			for (uint64_t i = 0; i < COUNT; i++)
				ck_assert_uint_eq(calls[i], i >= begin && i < end);
			end_worker(worker);
		}
}
END_TEST

START_TEST(bytes_of_values_are_counted_for_put_and_get)
{
	static const uint64_t expected[] = {
		[NB_VERB_PUT] = COUNT * 100, [NB_VERB_GET] = COUNT * 100, [NB_VERB_DELETE] = 0};
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		struct worker *worker = make_worker(verb, 0, COUNT);
		load_all(worker);
		worker_run(worker);
		ck_assert_uint_eq(worker->value_bytes, expected[verb]);
		end_worker(worker);
	}
}
END_TEST

/* --- what is inside the time of an operation --- */

static uint64_t
spin(uint64_t ns)
{
	uint64_t begin = clock_monotonic(), now;
	do
		now = clock_monotonic();
	while (now - begin < ns);
	return now - begin;
}

enum { SPIN_NS = 200 * 1000 };

static int
get_slow(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	spin(SPIN_NS);
	return rig_right()->get(session, key, value);
}

static void
release_slow(struct nb_session *session)
{
	(void)session;
	spin(SPIN_NS);
}

START_TEST(time_holds_the_call_and_the_release)
{
	struct worker *worker = make_worker(NB_VERB_GET, 0, 20);
	load_all(worker);
	engine.get = get_slow;
	engine.release = release_slow;
	worker_run(worker);
	ck_assert_uint_eq(nb_histogram_count(&worker->service), 20);
	ck_assert_uint_ge(nb_histogram_min(&worker->service), 2 * SPIN_NS);
	/* and the window holds all the operations */
	ck_assert_uint_ge(clock_ns(&monotonic, worker->end_ticks - worker->begin_ticks),
		nb_histogram_sum(&worker->service));
	end_worker(worker);
}
END_TEST

enum { LENT_BYTES = 4 << 20 };

static char *lent; /* fresh memory, not touched */
static uint64_t got_ns, shortest_ns;

static int
get_large(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	(void)session, (void)key;
	got_ns = clock_monotonic();
	*value = (struct nb_slice){lent, LENT_BYTES};
	return NB_OK;
}

static void
release_large(struct nb_session *session)
{
	(void)session;
	uint64_t held_ns = clock_monotonic() - got_ns;
	shortest_ns = held_ns < shortest_ns ? held_ns : shortest_ns;
}

/** Gets of a large value; the worker is yours. */
static struct worker *
run_large(uint64_t verify_threshold)
{
	struct worker *worker = make_worker(NB_VERB_GET, 0, 20);
	rig.workload.value_size = LENT_BYTES;
	plan.verify_threshold = verify_threshold;
	engine.get = get_large;
	engine.release = release_large;
	lent = mmap(NULL, LENT_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(lent, MAP_FAILED);
	ck_assert_int_eq(madvise(lent, LENT_BYTES, MADV_NOHUGEPAGE), 0);
	shortest_ns = UINT64_MAX;
	worker_run(worker);
	ck_assert_uint_eq(nb_histogram_count(&worker->service), 20);
	return worker;
}

START_TEST(every_page_that_is_lent_is_read)
{
	struct worker *worker = run_large(0);
	size_t pages = LENT_BYTES / (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *is_there = calloc(pages, 1);
	ck_assert_int_eq(mincore(lent, LENT_BYTES, is_there), 0);
	for (size_t i = 0; i < pages; i++)
		ck_assert_int_eq(is_there[i] & 1, 1);
	free(is_there);
	munmap(lent, LENT_BYTES);
	end_worker(worker);
}
END_TEST

START_TEST(clock_stands_still_while_a_value_is_verified)
{
	struct worker *worker = run_large(UINT64_MAX);
	/*
	 * The value is verified while it is held, so a latency that counts that is never
	 * less than the shortest time for which one was held.
	 */
	ck_assert_uint_eq(worker->findings.verified, 20);
	ck_assert_uint_lt(nb_histogram_min(&worker->service), shortest_ns);
	munmap(lent, LENT_BYTES);
	end_worker(worker);
}
END_TEST

static uint32_t loans;

static int
get_lent(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	int rc = rig_number(key) % 3 == 0 ? NB_NOT_FOUND
					  : rig_right()->get(session, key, value);
	ck_assert_uint_eq(loans, 0);
	loans += rc == NB_OK;
	return rc;
}

static void
release_lent(struct nb_session *session)
{
	(void)session;
	ck_assert_uint_eq(loans, 1);
	loans--;
}

START_TEST(loan_is_given_back_once_and_only_if_there_was_one)
{
	struct worker *worker = make_worker(NB_VERB_GET, 0, COUNT);
	load_all(worker);
	engine.get = get_lent;
	engine.release = release_lent;
	worker_run(worker);
	ck_assert_uint_eq(loans, 0);
	ck_assert_uint_eq(worker->answers[NB_NOT_FOUND], 334);
	ck_assert_uint_eq(worker->answers[NB_OK], 666);
	ck_assert_uint_eq(worker->value_bytes, 66600);
	worker_read_back(worker);
	ck_assert_uint_eq(loans, 0);
	end_worker(worker);
}
END_TEST

static int
get_without_size(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	int rc = rig_right()->get(session, key, value);
	if (rig_number(key) == 5)
		*value = (struct nb_slice){NULL, (size_t)-1};
	loans++;
	return rc;
}

START_TEST(what_is_lent_without_a_size_is_not_read)
{
	static const uint64_t thresholds[] = {0, UINT64_MAX};
	for (size_t i = 0; i < sizeof(thresholds) / sizeof(*thresholds); i++) {
		struct worker *worker = make_worker(NB_VERB_GET, 0, COUNT);
		load_all(worker);
		plan.verify_threshold = thresholds[i];
		engine.get = get_without_size;
		engine.release = release_lent;
		worker_run(worker);
		ck_assert_int_eq(worker->rc, NB_FAIL);
		ck_assert_uint_eq(worker_done(worker), 5);
		ck_assert_uint_eq(worker->value_bytes, 500);
		ck_assert_uint_eq(loans, 0);
		ck_assert_ptr_nonnull(strstr(worker->text,
			": get, operation 5: get lent 18446744073709551615 bytes, which is not "
			"a size"));
		end_worker(worker);
	}
}
END_TEST

/* --- verification --- */

START_TEST(share_that_is_verified_is_as_asked)
{
	static const struct {
		double rate;
		uint64_t least, most;
	} cases[] = {{0, 0, 0}, {0.5, 495, 505}, {1, COUNT, COUNT}, {0.01, 8, 12}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
			struct worker *worker = make_worker(verb, 0, COUNT);
			plan.verify_threshold = sample_threshold(cases[i].rate);
			load_all(worker);
			worker_run(worker);
			if (verb != NB_VERB_GET) {
				ck_assert_uint_eq(worker->findings.verified, 0);
				worker_read_back(worker);
				ck_assert_uint_eq(worker_looked(worker), COUNT);
			}
			ck_assert_uint_ge(worker->findings.verified, cases[i].least);
			ck_assert_uint_le(worker->findings.verified, cases[i].most);
			ck_assert_uint_eq(worker->findings.missing, 0);
			if (verb != NB_VERB_DELETE)
				ck_assert_uint_eq(worker->findings.verdicts[VALUE_GOOD],
					worker->findings.verified);
			end_worker(worker);
		}
}
END_TEST

static char twisted[200];

/** Every 10th key is answered with a byte that is wrong, another's value, a short one. */
static int
get_twisted(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	uint64_t number = rig_number(key), other[2] = {number + 1, ~(number + 1)};
	if (number % 10 == 1)
		key.data = other;
	int rc = rig_right()->get(session, key, value);
	if (number % 10 == 2) {
		memcpy(twisted, value->data, value->size);
		twisted[number % value->size] ^= 1;
		value->data = twisted;
	}
	value->size -= number % 10 == 3;
	return rc;
}

START_TEST(each_kind_of_wrong_value_is_told_from_the_others)
{
	struct worker *worker = make_worker(NB_VERB_GET, 0, COUNT);
	load_all(worker);
	engine.get = get_twisted;
	worker_run(worker);
	ck_assert_int_eq(worker->rc, NB_OK);
	ck_assert_uint_eq(worker->findings.verified, COUNT);
	ck_assert_uint_eq(worker->findings.verdicts[VALUE_GOOD], 700);
	ck_assert_uint_eq(worker->findings.verdicts[VALUE_OF_OTHER_KEY], 100);
	ck_assert_uint_eq(worker->findings.verdicts[VALUE_CORRUPT], 100);
	ck_assert_uint_eq(worker->findings.verdicts[VALUE_WRONG_SIZE], 100);
	end_worker(worker);
}
END_TEST

START_TEST(values_that_went_wrong_on_their_way_in_are_found_by_reading_back)
{
	struct worker *worker = make_worker(NB_VERB_PUT, 0, COUNT);
	worker_run(worker);
	engine.get = get_twisted;
	worker_read_back(worker);
	ck_assert_uint_eq(worker->findings.verified, COUNT);
	ck_assert_uint_eq(worker->findings.verdicts[VALUE_GOOD], 700);
	end_worker(worker);
}
END_TEST

static int
get_nothing(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	(void)session, (void)key, (void)value; /* and says that it is done */
	return NB_OK;
}

START_TEST(get_that_sets_no_value_is_a_value_of_the_wrong_size)
{
	struct worker *worker = make_worker(NB_VERB_GET, 0, COUNT);
	engine.get = get_nothing;
	worker_run(worker);
	ck_assert_uint_eq(worker->findings.verdicts[VALUE_WRONG_SIZE], COUNT);
	ck_assert_uint_eq(worker->value_bytes, 0);
	end_worker(worker);
	worker = make_worker(NB_VERB_PUT, 0, COUNT);
	worker_run(worker);
	engine.get = get_nothing;
	worker_read_back(worker);
	ck_assert_uint_eq(worker->findings.verdicts[VALUE_WRONG_SIZE], COUNT);
	end_worker(worker);
}
END_TEST

static int
put_some(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return rig_number(key) % 10 == 3 ? NB_OK : rig_right()->put(session, key, value);
}

START_TEST(lost_put_is_found_by_reading_back)
{
	struct worker *worker = make_worker(NB_VERB_PUT, 0, COUNT);
	engine.put = put_some;
	worker_run(worker);
	ck_assert_uint_eq(worker->findings.missing, 0);
	worker_read_back(worker);
	ck_assert_int_eq(worker->rc, NB_OK);
	ck_assert_uint_eq(worker->findings.verified, COUNT);
	ck_assert_uint_eq(worker->findings.missing, 100);
	ck_assert_uint_eq(worker->findings.verdicts[VALUE_GOOD], 900);
	end_worker(worker);
}
END_TEST

START_TEST(lost_overwrite_is_found_by_reading_back)
{
	struct worker *worker = make_worker(NB_VERB_PUT, 0, COUNT);
	rig.workload.seed++; /* what was there before is right too, but of another run */
	load_all(worker);
	engine.put = put_some;
	worker_run(worker);
	worker_read_back(worker);
	ck_assert_int_eq(worker->rc, NB_OK);
	ck_assert_uint_eq(worker->findings.verified, COUNT);
	ck_assert_uint_eq(worker->findings.missing, 0);
	ck_assert_uint_eq(worker->findings.verdicts[VALUE_GOOD], 900);
	ck_assert_uint_eq(worker->findings.verdicts[VALUE_STALE], 100);
	end_worker(worker);
}
END_TEST

static int
del_some(struct nb_session *session, struct nb_slice key)
{
	return rig_number(key) % 10 == 3 ? NB_OK : rig_right()->del(session, key);
}

START_TEST(delete_that_does_nothing_is_found_by_reading_back)
{
	struct worker *worker = make_worker(NB_VERB_DELETE, 0, COUNT);
	load_all(worker);
	engine.del = del_some;
	worker_run(worker);
	worker_read_back(worker);
	ck_assert_uint_eq(worker->findings.verified, COUNT);
	ck_assert_uint_eq(worker->findings.missing, 100);
	end_worker(worker);
}
END_TEST

/* --- where it stops --- */

enum { STOP_AT = 321 };

static int answer;

static int
put_answers(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	if (rig_number(key) == STOP_AT)
		return answer;
	return rig_right()->put(session, key, value);
}

static int
put_tells(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	if (rig_number(key) == STOP_AT)
		return error_set(NB_FAIL, "the disk is full of eels");
	return rig_right()->put(session, key, value);
}

static void
assert_stopped(const struct worker *worker, int rc, const char *text)
{
	ck_assert_int_eq(worker->rc, rc);
	ck_assert_str_eq(worker->text, text);
	ck_assert_uint_eq(worker_done(worker), STOP_AT);
	ck_assert_uint_eq(nb_histogram_count(&worker->service), STOP_AT);
	ck_assert_uint_ge(worker->end_ticks, worker->begin_ticks);
}

START_TEST(failure_names_engine_verb_operation_and_cause)
{
	struct worker *worker = make_worker(NB_VERB_PUT, 0, COUNT);
	engine.put = put_tells;
	worker_run(worker);
	assert_stopped(worker, NB_FAIL, "memory: put, operation 321: the disk is full of eels");
	end_worker(worker);
}
END_TEST

START_TEST(failure_without_a_text_is_told_as_one)
{
	struct worker *worker = make_worker(NB_VERB_PUT, 0, COUNT);
	engine.put = put_answers;
	answer = NB_UNSUPPORTED;
	worker_run(worker);
	assert_stopped(worker, NB_UNSUPPORTED,
		"memory: put, operation 321: failed without saying why");
	end_worker(worker);
}
END_TEST

START_TEST(answer_that_means_nothing_here_stops_the_run)
{
	static const struct {
		int answer;
		const char *text;
	} cases[] = {
		{17, "memory: put, operation 321: answered 17, which means nothing here"},
		{NB_EXISTS, "memory: put, operation 321: answered 3, which means nothing here"},
		{NB_PENDING,
			"memory: put, operation 321: answered 4, which means nothing here"},
		{INT32_MAX,
			"memory: put, operation 321: answered 2147483647, which means nothing "
			"here"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct worker *worker = make_worker(NB_VERB_PUT, 0, COUNT);
		engine.put = put_answers;
		answer = cases[i].answer;
		worker_run(worker);
		assert_stopped(worker, NB_FAIL, cases[i].text);
		end_worker(worker);
	}
}
END_TEST

/* Every key conflicts twice, then the operation is done. */
static int conflicts_left;

static bool
conflicts(void)
{
	if (conflicts_left == 0)
		conflicts_left = 3;
	return --conflicts_left > 0;
}

static int
put_conflicting(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return conflicts() ? NB_CONFLICT : rig_right()->put(session, key, value);
}

static int
get_conflicting(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	return conflicts() ? NB_CONFLICT : rig_right()->get(session, key, value);
}

static int
del_conflicting(struct nb_session *session, struct nb_slice key)
{
	return conflicts() ? NB_CONFLICT : rig_right()->del(session, key);
}

START_TEST(conflict_is_counted_and_tried_again)
{
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		struct worker *worker = make_worker(verb, 0, COUNT);
		conflicts_left = 0;
		load_all(worker);
		engine.put = put_conflicting;
		engine.get = get_conflicting;
		engine.del = del_conflicting;
		worker_run(worker);
		ck_assert_int_eq(worker->rc, NB_OK);
		ck_assert_uint_eq(worker_done(worker), COUNT);
		ck_assert_uint_eq(worker->answers[NB_CONFLICT], 2 * COUNT);
		ck_assert_uint_eq(worker->answers[NB_OK], COUNT);
		ck_assert_uint_eq(nb_histogram_count(&worker->service), COUNT);
		end_worker(worker);
	}
}
END_TEST

START_TEST(conflicts_of_loading_and_reading_back_are_tried_again)
{
	struct worker *worker = make_worker(NB_VERB_PUT, 0, COUNT);
	conflicts_left = 0;
	engine.put = put_conflicting;
	engine.get = get_conflicting;
	worker_load(worker);
	ck_assert_int_eq(worker->rc, NB_OK);
	worker_run(worker);
	worker_read_back(worker);
	ck_assert_int_eq(worker->rc, NB_OK);
	ck_assert_uint_eq(worker_looked(worker), COUNT);
	ck_assert_uint_eq(worker->findings.missing, 0);
	end_worker(worker);
}
END_TEST

START_TEST(conflict_that_never_ends_is_a_failure)
{
	struct worker *worker = make_worker(NB_VERB_PUT, 0, COUNT);
	engine.put = put_answers;
	answer = NB_CONFLICT;
	worker_run(worker);
	assert_stopped(worker, NB_FAIL,
		"memory: put, operation 321: answered with a conflict 1000000 times in a row");
	end_worker(worker);
}
END_TEST

static int
put_conflicts_and_halts(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	(void)session;
	(void)key;
	(void)value;
	halt = 1;
	return NB_CONFLICT;
}

START_TEST(stop_ends_a_conflict_that_is_tried_again)
{
	struct worker *worker = make_worker(NB_VERB_PUT, 0, COUNT);
	engine.put = put_conflicts_and_halts;
	worker_run(worker);
	ck_assert_int_eq(worker->rc, NB_OK);
	ck_assert_uint_eq(worker_done(worker), 0);
	ck_assert_uint_eq(worker->answers[NB_OK], 0);
	ck_assert_uint_eq(nb_histogram_count(&worker->service), 0);
	end_worker(worker);
}
END_TEST

static int
put_halts(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	if (rig_number(key) == STOP_AT - 1)
		__atomic_store_n(&halt, 1, __ATOMIC_RELAXED);
	return rig_right()->put(session, key, value);
}

START_TEST(halt_ends_after_the_current_operation)
{
	struct worker *worker = make_worker(NB_VERB_PUT, 0, COUNT);
	engine.put = put_halts;
	worker_run(worker);
	assert_stopped(worker, NB_OK, "");
	worker_read_back(worker); /* halted as well */
	ck_assert_uint_eq(worker->findings.verified, 0);
	halt = 0;
	worker_read_back(worker);
	ck_assert_uint_eq(worker->findings.verified, STOP_AT);
	ck_assert_uint_eq(worker->findings.missing, 0);
	end_worker(worker);
}
END_TEST

START_TEST(halted_load_ends)
{
	struct worker *worker = make_worker(NB_VERB_GET, 0, COUNT);
	engine.put = put_halts;
	worker_load(worker);
	ck_assert_uint_eq(worker_done(worker), STOP_AT);
	halt = 0;
	end_worker(worker);
}
END_TEST

START_TEST(failing_load_says_so)
{
	struct worker *worker = make_worker(NB_VERB_GET, 0, COUNT);
	engine.put = put_tells;
	worker_load(worker);
	ck_assert_int_eq(worker->rc, NB_FAIL);
	ck_assert_str_eq(
		worker->text, "memory: loading, operation 321: the disk is full of eels");
	end_worker(worker);
}
END_TEST

static int
get_answers(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	if (rig_number(key) == STOP_AT)
		return answer;
	return rig_right()->get(session, key, value);
}

START_TEST(reading_back_takes_no_other_answer)
{
	static const int answers[] = {NB_FAIL, NB_CONFLICT, NB_PENDING, 17};
	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
		struct worker *worker = make_worker(NB_VERB_PUT, 0, COUNT);
		worker_run(worker);
		engine.get = get_answers;
		answer = answers[i];
		worker_read_back(worker);
		ck_assert_int_eq(worker->rc, NB_FAIL);
		ck_assert_ptr_nonnull(
			strstr(worker->text, "memory: reading back, operation 321: "));
		ck_assert_uint_eq(worker_looked(worker), STOP_AT);
		end_worker(worker);
	}
}
END_TEST

START_TEST(loop_is_the_same_with_the_time_stamp_counter)
{
	struct clock tsc;
	if (clock_create(&tsc, NB_CLOCK_TSC) != NB_OK)
		return; /* not to be had here */
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		struct worker *worker = make_worker(verb, 3, COUNT);
		load_all(worker);
		plan.clock = &tsc;
		uint64_t before = clock_monotonic();
		worker_run(worker);
		uint64_t window = clock_monotonic() - before;
		ck_assert_uint_eq(worker->answers[NB_OK], COUNT - 3);
		for (uint64_t i = 0; i < COUNT; i++)
			ck_assert_uint_eq(calls[i], i >= 3);
		/* calibration is good to some parts in 10^7; a thousandth is ample */
		uint64_t told = clock_ns(&tsc, worker->end_ticks - worker->begin_ticks);
		ck_assert_uint_le(told, window + window / 1000 + 1000);
		ck_assert_uint_le(nb_histogram_sum(&worker->service), told);
		end_worker(worker);
	}
}
END_TEST

START_TEST(no_two_workers_share_a_cache_line)
{
	ck_assert_uint_eq(_Alignof(struct worker) % 128, 0);
	ck_assert_uint_eq(sizeof(struct worker) % 128, 0);
	struct worker *worker = make_worker(NB_VERB_PUT, 0, 1);
	ck_assert_uint_eq((uintptr_t)worker % 128, 0);
	end_worker(worker);
	worker_delete(NULL);
}
END_TEST

int
main(void)
{
	return UNIT_RUN("worker", each_operation_of_the_share_is_called_once,
		bytes_of_values_are_counted_for_put_and_get,
		time_holds_the_call_and_the_release, every_page_that_is_lent_is_read,
		clock_stands_still_while_a_value_is_verified,
		loan_is_given_back_once_and_only_if_there_was_one,
		what_is_lent_without_a_size_is_not_read, share_that_is_verified_is_as_asked,
		each_kind_of_wrong_value_is_told_from_the_others,
		values_that_went_wrong_on_their_way_in_are_found_by_reading_back,
		get_that_sets_no_value_is_a_value_of_the_wrong_size,
		lost_put_is_found_by_reading_back, lost_overwrite_is_found_by_reading_back,
		delete_that_does_nothing_is_found_by_reading_back,
		failure_names_engine_verb_operation_and_cause,
		failure_without_a_text_is_told_as_one,
		answer_that_means_nothing_here_stops_the_run,
		conflict_is_counted_and_tried_again,
		conflicts_of_loading_and_reading_back_are_tried_again,
		conflict_that_never_ends_is_a_failure, stop_ends_a_conflict_that_is_tried_again,
		halt_ends_after_the_current_operation, halted_load_ends, failing_load_says_so,
		reading_back_takes_no_other_answer,
		loop_is_the_same_with_the_time_stamp_counter,
		no_two_workers_share_a_cache_line);
}
