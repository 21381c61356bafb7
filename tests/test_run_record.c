/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recorded jobs: the trace contains the operations that the engine received, and a replay of it
 * gives the same operations.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "toy.h"
#include "trace_kit.h"

static struct toy_rig rig;
static char path[128];

/** A call as both the toy and a trace represent it. */
struct seen {
	uint32_t kind, session;
	uint64_t number, size;
};

static int
compare_seen(const void *one, const void *other)
{
	const struct seen *a = one, *b = other;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

/** The gets, puts, deletes and scans that the toy received. Free them. */
static struct seen *
seen_by_toy(uint64_t *count)
{
	struct seen *calls = calloc(toy.logged + 1, sizeof(*calls));
	*count = 0;
	for (uint64_t i = 0; i < toy.logged; i++) {
		const struct toy_call *call = &toy.log[i];
		if (call->verb > TOY_SCAN_OPEN)
			continue;
		calls[(*count)++] = (struct seen){.kind = call->verb,
			.session = call->session,
			.number = call->number,
			.size = call->size};
	}
	return calls;
}

static uint64_t
number_of(struct nb_slice key)
{
	uint64_t number = 0;
	ck_assert_uint_eq(key.size, 8);
	for (size_t i = 0; i < 8; i++)
		number = number << 8 | ((const uint8_t *)key.data)[i];
	return number;
}

/** The calls that the trace contains. Free them. */
static struct seen *
seen_in_trace(uint64_t *count, uint64_t room, bool has_due)
{
	struct nb_trace_options from = trace_at(path, NB_TRACE_AUTO, 0);
	struct trace_reader *reader;
	struct trace_op op;
	uint64_t last_due = 0;
	struct seen *calls = calloc(room + 1, sizeof(*calls));
	ck_assert_msg(trace_reader_open(&reader, &from) == NB_OK, "%s", nb_error_text());
	int rc;
	for (*count = 0; (rc = trace_reader_next(reader, &op)) == NB_OK;) {
		struct seen it = {.number = number_of(op.key)};
		ck_assert_int_eq(op.has_due, has_due);
		ck_assert_uint_ge(op.due_ns, last_due);
		last_due = op.due_ns;
		it.kind = op.kind == NB_OP_READ   ? TOY_GET
			: op.kind == NB_OP_SCAN   ? TOY_SCAN_OPEN
			: op.kind == NB_OP_DELETE ? TOY_DEL
						  : TOY_PUT;
		it.size = op.kind == NB_OP_SCAN ? op.scan_length : op.value_size;
		if (op.kind == NB_OP_READ || op.kind == NB_OP_DELETE)
			it.size = 0;
		if (op.kind == NB_OP_RMW) {
			ck_assert_uint_lt(*count, room);
			calls[(*count)++] = (struct seen){.kind = TOY_GET, .number = it.number};
		}
		ck_assert_uint_lt(*count, room);
		calls[(*count)++] = it;
	}
	ck_assert_int_eq(rc, NB_NOT_FOUND);
	trace_reader_close(reader);
	return calls;
}

static void
assert_same(const struct seen *one, const struct seen *other, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		ck_assert_int_eq(compare_seen(&one[i], &other[i]), 0);
}

/** Both have the same calls, in any order. Frees both. */
static void
assert_same_set(struct seen *one, struct seen *other, uint64_t count)
{
	qsort(one, count, sizeof(*one), compare_seen);
	qsort(other, count, sizeof(*other), compare_seen);
	assert_same(one, other, count);
	free(one);
	free(other);
}

static void
begin(const char *text)
{
	toy_create(&rig, text);
	snprintf(path, sizeof(path), "%s/recorded", rig.dir);
	rig.options.record_path = path;
	rig.options.verify_rate = 0; /* no reading back */
	toy.is_logging = true;
}

#define MIX \
	"read = 3\nupdate = 2\ninsert = 1\nupsert = 1\ndelete = 1\nscan = 1\n" \
	"read-modify-write = 1\nlag = 640\nvalue-size = uniform:1..99\n"

static void
run_well(void)
{
	int rc = toy_run(&rig);
	ck_assert_msg(rc == NB_OK, "%s", nb_error_text());
}

/* ---- shards ---- */

enum { SHARDS = 3, DUE_OPS = 3000 };

struct due_op {
	uint64_t due, number, kind;
};

static int
compare_due(const void *one, const void *other)
{
	return memcmp(one, other, sizeof(struct due_op));
}

/** Run the job and append its trace to `ops`. Returns the new count. */
static uint64_t
run_shard(const char *text, struct due_op *ops, uint64_t count)
{
	struct trace_reader *reader;
	struct trace_op op;
	begin(text);
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	ck_assert(!toy_measured(&rig, 0)->is_partial);
	struct nb_trace_options from = trace_at(path, NB_TRACE_AUTO, 0);
	ck_assert_msg(trace_reader_open(&reader, &from) == NB_OK, "%s", nb_error_text());
	for (; trace_reader_next(reader, &op) == NB_OK; count++) {
		ck_assert_uint_lt(count, DUE_OPS);
		ops[count] = (struct due_op){
			op.has_due ? op.due_ns : 0, number_of(op.key), op.kind};
	}
	trace_reader_close(reader);
	return count;
}

/** Exactly one shard executes each operation of an undivided run, at the same due time. */
TEST(shards_do_all_operations_of_the_stream_once)
{
	static const char *const texts[] = {"read = 3\nupdate = 2\nrate = 500k\n",
		"read = 1\nupsert = 1\nspace = 9999\nrate = 500k\narrivals = poisson\n",
		"insert = 1\n", "read = 1\ndistribution = sequential\n",
		"update = 1\nkey-range = private\n"};
	static struct due_op whole[DUE_OPS], parts[DUE_OPS];
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char text[320];
		uint64_t count = 0;
		snprintf(text, sizeof(text), "threads = 6\ncount = 2345\nrecords = 500\n%s",
			texts[i]);
		ck_assert_uint_eq(run_shard(text, whole, 0), 2345);
		for (int shard = 0; shard < SHARDS; shard++) {
			snprintf(text, sizeof(text),
				"threads = 2\nshard = %d/3\ncount = 2345\nrecords = 500\n%s",
				shard, texts[i]);
			count = run_shard(text, parts, count);
		}
		ck_assert_uint_eq(count, 2345);
		qsort(whole, count, sizeof(*whole), compare_due);
		qsort(parts, count, sizeof(*parts), compare_due);
		ck_assert_mem_eq(whole, parts, count * sizeof(*whole));
	}
}

TEST(record_contains_the_executed_operations)
{
	static const char *const rates[] = {"", "rate = 200k\narrivals = poisson\n"};
	for (uint32_t threads = 1; threads <= 5; threads += 2)
		for (int r = 0; r < 2; r++) {
			char text[320];
			uint64_t count, other;
			snprintf(text, sizeof(text),
				"records = 200\ncount = 2001\nthreads = %u\n%s" MIX, threads,
				rates[r]);
			begin(text);
			run_well();
			struct seen *engine = seen_by_toy(&count);
			struct seen *trace = seen_in_trace(&other, count, r == 1);
			ck_assert_uint_eq(other, count);
			if (threads == 1)
				assert_same(trace, engine, count);
			assert_same_set(engine, trace, count);
		}
}

TEST(record_keeps_the_order_of_each_thread)
{
	uint64_t count, other, next[3] = {0};
	begin("records = 200\ncount = 1920\nthreads = 3\nread = 1\nupdate = 1\n");
	run_well();
	struct seen *engine = seen_by_toy(&count);
	struct seen *trace = seen_in_trace(&other, count, false);
	ck_assert_uint_eq(other, 1920);
	/* without a rate, the trace is in the order of numbers; threads take strata in turn */
	for (uint64_t i = 0; i < other; i++) {
		uint64_t thread = i / OPS_STRATUM % 3, at = next[thread];
		while (at < count && engine[at].session != thread)
			at++;
		ck_assert_uint_lt(at, count);
		assert_same(&trace[i], &engine[at], 1);
		next[thread] = at + 1;
	}
	free(engine), free(trace);
}

TEST(unexecuted_operations_are_not_recorded)
{
	uint64_t count, other;
	begin("records = 200\nduration = 20ms\nthreads = 3\nread = 1\nupdate = 1\nrate = "
	      "20k\n");
	run_well();
	struct seen *engine = seen_by_toy(&count);
	struct seen *trace = seen_in_trace(&other, count, true);
	ck_assert_uint_eq(other, count);
	ck_assert_uint_gt(count, 0);
	assert_same_set(engine, trace, count);
}

TEST(a_replay_of_the_record_does_the_same_again)
{
	uint64_t count, other;
	begin("records = 200\ncount = 2001\nthreads = 2\n" MIX);
	run_well();
	struct seen *engine = seen_by_toy(&count);
	struct nb_trace_options trace = trace_at(path, NB_TRACE_AUTO, 0);
	rig.options.record_path = NULL;
	rig.options.traces = &trace;
	rig.options.flags = NB_RUN_ALLOW_MISSING; /* it starts on an empty database */
	rig.job->groups[0].threads = 3;
	run_well();
	struct seen *again = seen_by_toy(&other);
	ck_assert_uint_eq(other, count);
	assert_same_set(engine, again, count);
}

TEST(a_loading_is_recorded_too)
{
	uint64_t count, other;
	begin("records = 300\nread = 1\n[load]\nthreads = 2\n");
	rig.options.what = NB_JOB_LOAD;
	run_well();
	struct seen *engine = seen_by_toy(&count);
	struct seen *trace = seen_in_trace(&other, count, false);
	ck_assert_uint_eq(other, 300);
	for (uint64_t i = 0; i < 300; i++) {
		ck_assert_uint_eq(trace[i].number, i);
		ck_assert_uint_eq(trace[i].kind, TOY_PUT);
	}
	free(engine), free(trace);
}

TEST(operations_that_a_trace_cannot_hold_are_refused_without_a_file)
{
	begin("records = 200\ncount = 200\nread = 1\nbatch = 1\n");
	ck_assert_int_eq(toy_run(&rig), NB_ERR_USAGE);
	toy_assert_told("a trace cannot hold a batch");
	ck_assert_int_ne(access(path, F_OK), 0);
	ck_assert_uint_eq(toy_measured(&rig, 0)->ops, 200); /* the run itself was complete */
	struct nb_run *run;
	begin("records = 200\n[one]\nread = 1\n[two]\nread = 1\n");
	ck_assert_int_eq(nb_run_new(&run, &rig.options), NB_ERR_USAGE);
	toy_assert_told("record: only a run of one group");
}

/* ---- without a run ---- */

TEST(generated_trace_equals_a_recorded_run)
{
	static const char *const rates[] = {"", "rate = 200k\n"};
	for (int r = 0; r < 2; r++) {
		char text[320], generated[160];
		struct nb_trace_counts counts = {.size = sizeof(counts)};
		snprintf(text, sizeof(text), "records = 200\ncount = 2001\n%s" MIX, rates[r]);
		begin(text);
		run_well();
		snprintf(generated, sizeof(generated), "%s/generated", rig.dir);
		struct nb_trace_options to = trace_at(generated, NB_TRACE_MININB, 0);
		ck_assert_msg(nb_trace_generate(
				      rig.job, NB_JOB_RUN, &to, &counts, NULL, NULL) == NB_OK,
			"%s", nb_error_text());
		size_t size;
		uint8_t *bytes = file_get(generated, &size);
		file_is(path, bytes, size);
		free(bytes);
		ck_assert_uint_eq(counts.ops, 2001);
		ck_assert_uint_eq(counts.reads + counts.updates + counts.inserts +
				counts.upserts + counts.deletes + counts.scans + counts.rmws,
			2001);
		ck_assert_uint_ge(counts.reads, 600 - 2);
		ck_assert_uint_le(counts.reads, 600 + 2);
	}
}

TEST(a_loading_is_generated_line_by_line)
{
	begin("records = 3\nread = 1\n");
	struct nb_trace_options to = trace_at(path, NB_TRACE_YCSB_TEXT, 0);
	ck_assert_int_eq(nb_trace_generate(rig.job, NB_JOB_LOAD, &to, NULL, NULL, NULL), NB_OK);
	static const char text[] = "INSERT 0\nINSERT 1\nINSERT 2\n";
	file_is(path, text, sizeof(text) - 1);
}

TEST(impossible_traces_are_refused)
{
	begin("records = 200\n[one]\nread = 1\n[two]\nread = 1\n");
	struct nb_trace_options to = trace_at(path, NB_TRACE_MININB, 0);
	ck_assert_int_eq(
		nb_trace_generate(rig.job, NB_JOB_RUN, &to, NULL, NULL, NULL), NB_ERR_USAGE);
	toy_assert_told("has 2 groups to run; a trace holds only one");
	begin("records = 200\ncount = 100\ntxn-write = 1\n");
	ck_assert_int_eq(
		nb_trace_generate(rig.job, NB_JOB_RUN, &to, NULL, NULL, NULL), NB_ERR_USAGE);
	toy_assert_told("a trace cannot hold a txn-write");
	ck_assert_int_ne(access(path, F_OK), 0);
	nb_stop();
	ck_assert_int_eq(nb_job_set(rig.job, "txn-write=0"), NB_OK);
	ck_assert_int_eq(nb_job_set(rig.job, "read=1"), NB_OK);
	ck_assert_int_eq(nb_job_set(rig.job, "count=1M"), NB_OK);
	ck_assert_int_eq(nb_trace_generate(rig.job, NB_JOB_RUN, &to, NULL, NULL, NULL),
		NB_ERR_INTERRUPTED);
	ck_assert_int_ne(access(path, F_OK), 0);
}
