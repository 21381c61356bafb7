/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What exactly is timed.
 *
 * The clock brackets the engine's call, the reading of what it returned, and
 * the release of that; nothing else. Keys and values are made before the first
 * stamp, a block at a time (stream.c); the count is kept and the sample verified
 * outside. A value that is verified stays on loan while it is looked at, so the
 * clock is stopped for that: the operation's time is the sum of the two parts, and
 * holds the cost of one stamp more than that of others: some 20 ns, in a hundredth
 * of the operations by default.
 *
 * Both stamps are fenced (clock.h). A plain rdtsc is 9 ns cheaper here, and
 * wrong: it does not wait, so that loads of the engine which miss the cache are
 * still under way when it reads the counter, while the harness's own work before
 * the first stamp is still being done inside the window. One stamp for two
 * operations, the end of one being the start of the next, is cheaper still and
 * charges the engine with the harness. What the fences cost in an operation's
 * time, some 15 to 20 ns, is measured on the null engine in every run and printed.
 *
 * Times are put into the histogram a block at a time, too: between two fences each
 * step of that would be waited for, while those of many operations go side by side.
 *
 * Nothing is allocated, locked or asked of the kernel between the first
 * operation and the last, and the only line another thread reads is `done`.
 *
 * An operation that is answered NB_CONFLICT has done nothing and is done again at
 * once; its time is that of all attempts, as whoever waits for it would take it.
 *
 * An operation may never return, and what was measured before it is to be had all the same, by
 * another thread: worker_take_over(). What an operation leaves behind is written before `done`
 * is (release), and read after that was read (acquire), so it is all there, whatever the
 * worker has begun since. To count a block is to hold `is_counting`, which is taken once in
 * a block, behind its last stamp; who takes over takes it and keeps it. Two threads so never
 * write to the histogram at once, also if the operation returns in that very moment: then the
 * worker finds it taken, and leaves.
 *
 * The loop is made once for each verb and kind of clock, as constants, so that
 * it has no branch on either.
 */
#include "run/worker.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

__attribute__((noinline, cold)) int
worker_refuse(const struct nb_engine *engine, struct nb_session *session, const char *call,
	struct nb_slice value)
{
	if (engine->release != NULL)
		engine->release(session);
	return engine_refuse_size(call, value.size);
}

/** By the phase it is in: `done` has another meaning in each. */
static void
describe(const struct post *post, const char *call, char *buf, size_t size)
{
	const struct worker *worker = (const void *)((const char *)post -
		offsetof(struct worker, post));
	const struct keys *keys = worker->plan->keys;
	if (strncmp(call, "session_", strlen("session_")) == 0) {
		snprintf(buf, size, "%s", call);
		return;
	}
	uint64_t i = worker->begin + __atomic_load_n(post->done, __ATOMIC_ACQUIRE);
	char key[80] = "";
	if (i < keys->count)
		post_format_key(key, sizeof(key), keys_get(keys, i).data, keys->key_size);
	snprintf(buf, size, "%s, operation %llu (key %s)", call, (unsigned long long)i, key);
}

int
worker_new(struct worker **out, const struct worker_plan *plan, uint64_t begin, uint64_t end)
{
	struct worker *worker = aligned_alloc(HISTOGRAM_ALIGN, sizeof(*worker));
	if (worker == NULL)
		return error_set(NB_FAIL, "out of memory for a worker");
	memset(worker, 0, offsetof(struct worker, stream));
	histogram_create(&worker->service);
	worker->plan = plan;
	worker->begin = begin;
	worker->end = end;
	worker->post.done = &worker->done;
	worker->post.describe = describe;
	int rc = stream_create(&worker->stream, plan->workload, plan->keys);
	if (rc != NB_OK) {
		free(worker);
		return rc;
	}
	*out = worker;
	return NB_OK;
}

void
worker_delete(struct worker *worker)
{
	if (worker == NULL)
		return;
	stream_destroy(&worker->stream);
	free(worker);
}

static void
note_verdict(struct worker *worker, int verdict)
{
	worker->findings.verified++;
	worker->findings.verdicts[verdict]++;
}

/** Of a value that was read: whoever put it, and with whatever seed. */
static void
verify_read(struct worker *worker, const struct op *op, struct nb_slice value)
{
	size_t size = worker->plan->workload->value_size;
	note_verdict(worker, value_check(value, size, op->key));
}

/** Of a value that was put just now: an older one of the key shows that the put was lost. */
static void
verify_written(struct worker *worker, const struct op *op, struct nb_slice value)
{
	int verdict = value_check(value, op->value.size, op->key);
	if (verdict == VALUE_GOOD && value.size > 0 &&
		memcmp(value.data, op->value.data, value.size) != 0)
		verdict = VALUE_STALE;
	note_verdict(worker, verdict);
}

static __attribute__((noinline)) void
fail(struct worker *worker, const char *what, uint64_t i, int rc)
{
	worker->rc = rc < 0 ? rc : NB_FAIL;
	if (rc < 0)
		snprintf(worker->text, sizeof(worker->text), "%s: %s, operation %llu: %s",
			worker->plan->engine->name, what, (unsigned long long)i,
			nb_error_text()[0] != '\0' ? nb_error_text()
						   : "failed without saying why");
	else if (rc == NB_CONFLICT)
		snprintf(worker->text, sizeof(worker->text),
			"%s: %s, operation %llu: answered with a conflict %d times in a row",
			worker->plan->engine->name, what, (unsigned long long)i,
			WORKER_CONFLICTS_MAX);
	else
		snprintf(worker->text, sizeof(worker->text),
			"%s: %s, operation %llu: answered %d, which means nothing here",
			worker->plan->engine->name, what, (unsigned long long)i, rc);
}

/** One get, into *value. Returns the time for which the clock is stopped; *rc is the answer. */
static ALWAYS_INLINE uint64_t
get(struct worker *worker, const struct nb_engine *engine, const struct op *op, bool is_sample,
	uint32_t clock_kind, struct nb_slice *value, int *rc)
{
	uint64_t paused = 0;
	*rc = engine->get(worker->session, op->key, value);
	if (*rc != NB_OK)
		return 0;
	if (!worker_may_consume(*value)) {
		*rc = worker_refuse(engine, worker->session, "get", *value);
		return 0;
	}
	worker_consume(*value);
	if (__builtin_expect(is_sample, 0)) {
		uint64_t pause = clock_stamp(clock_kind);
		verify_read(worker, op, *value);
		paused = clock_stamp(clock_kind) - pause;
	}
	if (engine->release != NULL)
		engine->release(worker->session);
	return paused;
}

/** An answer other than NB_OK: others look at these while the worker runs. */
static void
note_odd(struct worker *worker, int answer)
{
	uint64_t count = __atomic_load_n(&worker->answers[answer], __ATOMIC_RELAXED) + 1;
	__atomic_store_n(&worker->answers[answer], count, __ATOMIC_RELAXED);
}

/** After NB_CONFLICT: count it, and say whether to try again. */
static __attribute__((noinline)) bool
retries(struct worker *worker, uint32_t *attempts)
{
	note_odd(worker, NB_CONFLICT);
	post_enter(&worker->post, worker->post.call); /* an answer is a sign of life */
	return ++*attempts < WORKER_CONFLICTS_MAX &&
		__atomic_load_n(worker->plan->halt, __ATOMIC_RELAXED) == 0;
}

/** One operation that is not timed, until it does not conflict. */
static int
put_again(struct worker *worker, const struct op *op)
{
	const struct nb_engine *engine = worker->plan->engine;
	uint32_t attempts = 0;
	int rc;
	do
		rc = engine->put(worker->session, op->key, op->value);
	while (rc == NB_CONFLICT && retries(worker, &attempts));
	return rc;
}

static int
get_again(struct worker *worker, const struct op *op, struct nb_slice *value)
{
	const struct nb_engine *engine = worker->plan->engine;
	uint32_t attempts = 0;
	int rc;
	do
		rc = engine->get(worker->session, op->key, value);
	while (rc == NB_CONFLICT && retries(worker, &attempts));
	return rc;
}

/** Count `count` operations of the block, `odd` of which did not answer NB_OK. */
static ALWAYS_INLINE void
count_ticks(struct worker *worker, uint64_t count, uint64_t odd, uint64_t value_bytes)
{
	const struct clock *clock = worker->plan->clock;
	for (uint64_t j = 0; j < count; j++)
		histogram_add(&worker->service, clock_ns(clock, worker->ticks[j]));
	pulse_add_block(&worker->pulses, worker->ends, count);
	if (count > 0)
		worker->last_ticks = worker->ends[count - 1];
	worker->answers[NB_OK] += count - odd;
	worker->value_bytes += value_bytes;
	worker->counted += count;
	worker->odd += odd;
}

/** The same, on the worker's own thread, if nobody has taken it over. */
static ALWAYS_INLINE void
count_block(struct worker *worker, uint32_t count, uint32_t odd, uint64_t value_bytes)
{
	if (__atomic_exchange_n(&worker->is_counting, 1, __ATOMIC_ACQUIRE) != 0)
		return;
	count_ticks(worker, count, odd, value_bytes);
	__atomic_store_n(&worker->is_counting, 0, __ATOMIC_RELEASE);
}

void
worker_take_over(struct worker *worker)
{
	while (__atomic_exchange_n(&worker->is_counting, 1, __ATOMIC_ACQUIRE) != 0)
		sched_yield(); /* it counts a block, which takes a microsecond */
	uint64_t done = __atomic_load_n(&worker->done, __ATOMIC_ACQUIRE);
	uint64_t count = done - worker->counted;
	uint64_t odd = __atomic_load_n(&worker->answers[NB_NOT_FOUND], __ATOMIC_RELAXED) -
		worker->odd;
	uint64_t size = worker->plan->workload->verb == NB_VERB_DELETE
		? 0
		: worker->plan->workload->value_size;
	odd = odd < count ? odd : count; /* the one at hand may have been answered by now */
	count_ticks(worker, count, odd, (count - odd) * size);
	if (done > 0)
		worker->end_ticks = worker->last_ticks;
}

/**
 * Do `count` operations from `first` on, which are made. False if the run is to stop
 * here. `verb` and `clock_kind` are constants wherever this is called.
 */
static ALWAYS_INLINE bool
run_block(struct worker *worker, uint64_t first, uint32_t count, uint32_t verb,
	uint32_t clock_kind)
{
	const struct worker_plan *plan = worker->plan;
	const struct nb_engine *engine = plan->engine;
	uint64_t threshold = verb == NB_VERB_GET ? plan->verify_threshold : 0;
	uint64_t value_bytes = 0;
	uint32_t odd = 0, j = 0;
	bool is_over = false;
	while (j < count && !is_over) {
		const struct op *op = &worker->stream.ops[j];
		struct nb_slice value = {NULL, op->value.size};
		bool is_sample = is_sampled(first + j, threshold);
		uint64_t paused = 0, t1;
		uint32_t attempts = 0;
		int rc;

		uint64_t t0 = clock_stamp(clock_kind);
		do {
			if (verb == NB_VERB_GET)
				paused = get(
					worker, engine, op, is_sample, clock_kind, &value, &rc);
			else if (verb == NB_VERB_PUT)
				rc = engine->put(worker->session, op->key, op->value);
			else
				rc = engine->del(worker->session, op->key);
			t1 = clock_stamp(clock_kind);
		} while (__builtin_expect(rc == NB_CONFLICT, 0) && retries(worker, &attempts));

		if (__builtin_expect(rc == NB_CONFLICT && attempts < WORKER_CONFLICTS_MAX, 0)) {
			is_over = true; /* stopped meanwhile: this one has not been done */
			break;
		}
		if (__builtin_expect(rc < 0 || rc >= NB_CONFLICT, 0)) {
			fail(worker, nb_verb_name(verb), first + j, rc);
			is_over = true;
			break;
		}
		if (__builtin_expect(rc != NB_OK, 0)) {
			note_odd(worker, rc);
			odd++;
		} else {
			value_bytes += value.size;
		}
		worker->ends[j] = t1;
		worker->ticks[j++] = t1 - t0 - paused;
		__atomic_store_n(&worker->done, first + j - worker->begin, __ATOMIC_RELEASE);
		is_over = __atomic_load_n(plan->halt, __ATOMIC_RELAXED) != 0;
	}
	count_block(worker, j, odd, value_bytes);
	return !is_over;
}

static ALWAYS_INLINE void
run_ops(struct worker *worker, uint32_t verb, uint32_t clock_kind)
{
	const struct worker_plan *plan = worker->plan;
	uint32_t count, block = worker->stream.block;
	worker->counted = worker->odd = 0;
	worker->begin_ticks = clock_stamp(clock_kind);
	pulse_begin(&worker->pulses, plan->clock,
		plan->begin_ticks != 0 ? plan->begin_ticks : worker->begin_ticks);
	for (uint64_t first = worker->begin; first < worker->end; first += count) {
		uint64_t left = worker->end - first;
		count = left < block ? (uint32_t)left : block;
		stream_fill(&worker->stream, first, count);
		if (stop_requested())
			break; /* also if the keys just read were lost */
		post_enter(&worker->post, nb_verb_name(verb));
		bool goes_on = run_block(worker, first, count, verb, clock_kind);
		post_leave(&worker->post);
		if (!goes_on)
			break;
	}
	uint64_t end_ticks = clock_stamp(clock_kind);
	if (__atomic_load_n(&worker->is_counting, __ATOMIC_RELAXED) == 0)
		worker->end_ticks = end_ticks;
}

#define LOOP(name, verb, clock_kind) \
	static __attribute__((noinline)) void name(struct worker *worker) \
	{ \
		run_ops(worker, verb, clock_kind); \
	}

LOOP(put_tsc, NB_VERB_PUT, NB_CLOCK_TSC)
LOOP(get_tsc, NB_VERB_GET, NB_CLOCK_TSC)
LOOP(delete_tsc, NB_VERB_DELETE, NB_CLOCK_TSC)
LOOP(put_monotonic, NB_VERB_PUT, NB_CLOCK_MONOTONIC)
LOOP(get_monotonic, NB_VERB_GET, NB_CLOCK_MONOTONIC)
LOOP(delete_monotonic, NB_VERB_DELETE, NB_CLOCK_MONOTONIC)

void
worker_run(struct worker *worker)
{
	static void (*const loops[][2])(struct worker *) = {
		[NB_VERB_PUT] = {put_tsc, put_monotonic},
		[NB_VERB_GET] = {get_tsc, get_monotonic},
		[NB_VERB_DELETE] = {delete_tsc, delete_monotonic},
	};
	bool is_monotonic = worker->plan->clock->kind == NB_CLOCK_MONOTONIC;
	loops[worker->plan->workload->verb][is_monotonic](worker);
}

static bool
is_halted(const struct worker *worker)
{
	return __atomic_load_n(worker->plan->halt, __ATOMIC_RELAXED) != 0;
}

void
worker_load(struct worker *worker)
{
	const struct worker_plan *plan = worker->plan;
	struct nb_workload workload = *plan->workload;
	workload.verb = NB_VERB_PUT;
	struct stream stream;
	worker->rc = stream_create(&stream, &workload, plan->keys);
	if (worker->rc != NB_OK) {
		snprintf(worker->text, sizeof(worker->text), "%s", nb_error_text());
		return;
	}
	for (uint64_t i = worker->begin; i < worker->end && !is_halted(worker); i++) {
		stream_fill(&stream, i, 1);
		if (stop_requested())
			break;
		post_enter(&worker->post, "loading");
		int rc = put_again(worker, &stream.ops[0]);
		post_leave(&worker->post);
		if (rc == NB_CONFLICT && is_halted(worker))
			break;
		if (rc != NB_OK) {
			fail(worker, "loading", i, rc);
			break;
		}
		__atomic_store_n(&worker->done, i + 1 - worker->begin, __ATOMIC_RELAXED);
	}
	stream_destroy(&stream);
}

static void
read_back_one(struct worker *worker, uint64_t i)
{
	const struct nb_engine *engine = worker->plan->engine;
	const struct op *op = &worker->stream.ops[0];
	struct nb_slice value = {NULL, 0};
	bool is_wanted = worker->plan->workload->verb == NB_VERB_PUT;
	stream_fill(&worker->stream, i, 1);
	if (stop_requested())
		return;
	post_enter(&worker->post, "reading back");
	int rc = get_again(worker, op, &value);
	post_leave(&worker->post);
	if (rc == NB_CONFLICT && is_halted(worker))
		return;
	if (rc < 0 || (rc != NB_OK && rc != NB_NOT_FOUND)) {
		fail(worker, "reading back", i, rc);
		return;
	}
	if (rc == NB_OK && is_wanted)
		verify_written(worker, op, value);
	else
		worker->findings.verified++;
	if ((rc == NB_OK) != is_wanted)
		worker->findings.missing++;
	if (rc == NB_OK && engine->release != NULL)
		engine->release(worker->session);
}

void
worker_read_back(struct worker *worker)
{
	uint64_t threshold = worker->plan->verify_threshold;
	uint64_t end = worker->begin + worker->done;
	worker->post.done = &worker->looked;
	for (uint64_t i = worker->begin; i < end && !is_halted(worker); i++) {
		if (is_sampled(i, threshold))
			read_back_one(worker, i);
		if (worker->rc != NB_OK)
			return;
		__atomic_store_n(&worker->looked, i + 1 - worker->begin, __ATOMIC_RELAXED);
	}
}
