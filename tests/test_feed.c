/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Feeding a trace to threads: one thread gets each operation, once, and operations on a key
 * stay in order.
 */
#include "workload/feed.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "toy.h"
#include "trace_kit.h"

enum { OPS = 20000, KEYS = 300, SHARDS_MAX = 8, BLOCKS_OF_A_RING = 32 };

static struct toy_rig rig;
static char path[128];

/** The content of the trace. */
static struct made {
	uint32_t kind, key;
	uint64_t size, due_ns, length;
} made[OPS];

static void
make_trace(uint64_t count, bool has_scans)
{
	static const uint32_t kinds[] = {NB_OP_READ, NB_OP_UPDATE, NB_OP_INSERT, NB_OP_UPSERT,
		NB_OP_DELETE, NB_OP_RMW, NB_OP_SCAN};
	struct trace_writer *writer;
	struct nb_trace_options to = trace_at(path, NB_TRACE_MININB, 0);
	struct rng rng;
	rng_create(&rng, 5);
	ck_assert_int_eq(trace_writer_open(&writer, &to), NB_OK);
	for (uint64_t i = 0; i < count; i++) {
		char key[16];
		struct made *it = &made[i];
		*it = (struct made){.kind = kinds[rng_below(&rng, has_scans ? 7 : 6)],
			.key = (uint32_t)rng_below(&rng, KEYS),
			.due_ns = i * 1000};
		bool is_write = ops_is_write(it->kind);
		it->size = is_write ? 16 + rng_below(&rng, 200) : 0;
		it->length = it->kind == NB_OP_SCAN ? 1 + rng_below(&rng, 9) : 0;
		snprintf(key, sizeof(key), "key%05u", it->key);
		struct trace_op op = {.kind = it->kind,
			.key = slice(key),
			.has_value_size = is_write,
			.value_size = it->size,
			.scan_length = it->length,
			.has_due = true,
			.due_ns = it->due_ns};
		ck_assert_int_eq(trace_writer_add(writer, &op), NB_OK);
	}
	ck_assert_int_eq(trace_writer_finish(writer), NB_OK);
}

/** A feed of the trace, the result of its thread, and its takers. */
static struct feeding {
	struct trace_reader *reader;
	struct feed_options options;
	struct feed *feed;
	int halt, rc;
	char text[512];
	uint32_t seen[OPS];   /* number of times each operation was taken; atomic */
	int64_t last[KEYS];   /* index of the key's last operation; written by one thread */
	uint32_t owner[KEYS]; /* shard of the key, plus 1 */
	uint64_t wrong;       /* atomic */
	uint64_t takes[SHARDS_MAX];
} f;

static void
begin(uint32_t format, uint32_t flags, uint32_t shards)
{
	f = (struct feeding){.options = {.shards = shards, .can_scan = true}};
	memset(f.last, -1, sizeof(f.last));
	struct nb_trace_options from = trace_at(path, format, flags);
	ck_assert_msg(trace_reader_open(&f.reader, &from) == NB_OK, "%s", nb_error_text());
	f.options.reader = f.reader;
	rig.run->parts[0].spec.end = UINT64_MAX; /* as in a replay */
	f.options.spec = &rig.run->parts[0].spec;
}

static void
set_up(const char *mix)
{
	char text[128];
	snprintf(text, sizeof(text), "value-size = uniform:0..300\nrecords = 10\n%s", mix);
	toy_create(&rig, text);
	toy_new(&rig);
	snprintf(path, sizeof(path), "%s/trace", rig.dir);
}

static void
end(void)
{
	feed_delete(f.feed);
	trace_reader_close(f.reader);
	f.feed = NULL;
}

static void *
feed_all(void *arg)
{
	f.rc = feed_run(f.feed, &f.halt);
	snprintf(f.text, sizeof(f.text), "%s", f.rc == NB_OK ? "" : nb_error_text());
	return NULL;
}

static void
look_at(uint32_t shard, const struct ops_op *op, uint64_t due_ns)
{
	const struct made *it = &made[op->index];
	uint64_t wrong = op->kind != it->kind || op->items != 1 || op->keys[0].size != 8;
	char key[16];
	snprintf(key, sizeof(key), "key%05u", it->key);
	wrong += memcmp(op->keys[0].data, key, 8) != 0;
	wrong += op->values[0].size != it->size;
	wrong += it->kind == NB_OP_SCAN && op->length != it->length;
	wrong += f.options.next_due != NULL ? due_ns != op->index * 7
		: f.options.speed > 0
		? due_ns != (uint64_t)((double)it->due_ns / f.options.speed)
		: due_ns != 0;
	if (it->size > 0) {
		wrong += value_check_any(op->values[0], op->keys[0]) != VALUE_GOOD;
		wrong += value_version(op->values[0]) != ops_version(f.options.spec, op->index);
	}
	/* a key always belongs to the same thread, and its operations keep the trace's order */
	wrong += f.last[it->key] >= (int64_t)op->index;
	wrong += f.owner[it->key] != 0 && f.owner[it->key] != shard + 1;
	f.last[it->key] = (int64_t)op->index;
	f.owner[it->key] = shard + 1;
	__atomic_add_fetch(&f.seen[op->index], 1, __ATOMIC_RELAXED);
	if (wrong > 0)
		__atomic_add_fetch(&f.wrong, wrong, __ATOMIC_RELAXED);
}

static void *
take_all(void *arg)
{
	uint32_t shard = *(uint32_t *)arg;
	struct feed_taken taken = {.room = 0};
	int count;
	while ((count = feed_take(f.feed, shard, &taken, &f.halt)) > 0) {
		f.takes[shard] += (uint64_t)count;
		for (int j = 0; j < count; j++)
			look_at(shard, &taken.ops[j], taken.due_ns[j]);
	}
	ck_assert_int_eq(count, 0);
	feed_taken_destroy(&taken);
	return NULL;
}

/** Read and take everything. The result of the reader is in f. */
static void
run(void)
{
	pthread_t reader, takers[SHARDS_MAX];
	uint32_t ids[SHARDS_MAX];
	ck_assert_int_eq(feed_new(&f.feed, &f.options), NB_OK);
	ck_assert_int_eq(pthread_create(&reader, NULL, feed_all, NULL), 0);
	for (uint32_t s = 0; s < f.options.shards; s++) {
		ids[s] = s;
		ck_assert_int_eq(pthread_create(&takers[s], NULL, take_all, &ids[s]), 0);
	}
	for (uint32_t s = 0; s < f.options.shards; s++)
		pthread_join(takers[s], NULL);
	pthread_join(reader, NULL);
}

TEST(each_operation_is_taken_once_and_in_order_for_each_key)
{
	static const uint32_t shards[] = {1, 2, 3, 8};
	uint64_t digest = 0;
	set_up("read = 1\n");
	make_trace(OPS, true);
	for (size_t s = 0; s < sizeof(shards) / sizeof(*shards); s++) {
		begin(NB_TRACE_AUTO, 0, shards[s]);
		run();
		ck_assert_msg(f.rc == NB_OK, "%s", f.text);
		ck_assert_uint_eq(f.wrong, 0);
		for (int i = 0; i < OPS; i++)
			ck_assert_uint_eq(f.seen[i], 1);
		ck_assert(s == 0 || feed_digest(f.feed) == digest);
		digest = feed_digest(f.feed);
		end();
	}
	toy_destroy(&rig);
}

TEST(different_operations_have_different_digests)
{
	uint64_t digests[2];
	set_up("read = 1\n");
	for (uint64_t k = 0; k < 2; k++) {
		make_trace(1000 + k, true);
		begin(NB_TRACE_AUTO, 0, 2);
		run();
		digests[k] = feed_digest(f.feed);
		end();
	}
	ck_assert_uint_ne(digests[0], digests[1]);
	toy_destroy(&rig);
}

TEST(speed_scales_due_times)
{
	static const double speeds[] = {0.5, 1, 3};
	set_up("read = 1\n");
	make_trace(2000, false);
	for (size_t s = 0; s < sizeof(speeds) / sizeof(*speeds); s++) {
		begin(NB_TRACE_AUTO, 0, 2);
		f.options.speed = speeds[s];
		run();
		ck_assert_uint_eq(f.wrong, 0);
		end();
	}
	toy_destroy(&rig);
}

static uint64_t
next_due(void *arg)
{
	uint64_t *next = arg;
	return 7 * (*next)++;
}

TEST(with_a_schedule_operations_are_due_in_the_order_of_the_trace)
{
	static const uint32_t shards[] = {1, 3};
	set_up("read = 1\n");
	make_trace(2000, true);
	for (size_t s = 0; s < sizeof(shards) / sizeof(*shards); s++) {
		uint64_t next = 0;
		begin(NB_TRACE_AUTO, 0, shards[s]);
		f.options.next_due = next_due;
		f.options.next_due_arg = &next;
		run();
		ck_assert_uint_eq(f.wrong, 0);
		ck_assert_uint_eq(next, 2000);
		end();
	}
	toy_destroy(&rig);
}

TEST(reader_is_at_most_one_ring_ahead)
{
	pthread_t reader;
	set_up("read = 1\n");
	make_trace(OPS, false);
	begin(NB_TRACE_AUTO, 0, 1);
	ck_assert_int_eq(feed_new(&f.feed, &f.options), NB_OK);
	ck_assert_int_eq(pthread_create(&reader, NULL, feed_all, NULL), 0);
	struct timespec moment = {.tv_nsec = 20000000};
	nanosleep(&moment, NULL);
	__atomic_store_n(&f.halt, 1, __ATOMIC_RELAXED);
	pthread_join(reader, NULL);
	/* with any amount of time, it could fill only its ring plus one operation */
	ck_assert_uint_le(
		trace_reader_counts(f.reader)->ops, BLOCKS_OF_A_RING * OPS_STRATUM + 1);
	end();
	toy_destroy(&rig);
}

TEST(a_halt_ends_the_reader_and_the_takers)
{
	pthread_t reader, taker;
	uint32_t shard = 1;
	set_up("read = 1\n");
	make_trace(OPS, false);
	begin(NB_TRACE_AUTO, 0, 2);
	ck_assert_int_eq(feed_new(&f.feed, &f.options), NB_OK);
	/* nothing takes from shard 0, so the reader meets a full ring, and the taker waits */
	ck_assert_int_eq(pthread_create(&reader, NULL, feed_all, NULL), 0);
	ck_assert_int_eq(pthread_create(&taker, NULL, take_all, &shard), 0);
	struct timespec moment = {.tv_nsec = 10000000};
	nanosleep(&moment, NULL);
	__atomic_store_n(&f.halt, 1, __ATOMIC_RELAXED);
	pthread_join(reader, NULL);
	pthread_join(taker, NULL);
	ck_assert_int_eq(f.rc, NB_OK);
	ck_assert_uint_lt(f.takes[1], OPS);
	end();
	toy_destroy(&rig);
}

TEST(operations_before_a_damage_are_taken_and_then_it_is_reported)
{
	set_up("read = 1\n");
	FILE *file = fopen(path, "w");
	for (int i = 0; i < 100; i++)
		fprintf(file, "READ %d\n", i % 7);
	fprintf(file, "RAED 5\nREAD 1\n");
	fclose(file);
	for (uint32_t shards = 1; shards <= 3; shards++) {
		begin(NB_TRACE_YCSB_TEXT, 0, shards);
		ck_assert_int_eq(feed_new(&f.feed, &f.options), NB_OK);
		feed_all(NULL);
		uint64_t taken = 0;
		struct feed_taken into = {.room = 0};
		for (uint32_t s = 0; s < shards; s++)
			for (int n; (n = feed_take(f.feed, s, &into, &f.halt)) > 0;)
				taken += (uint64_t)n;
		feed_taken_destroy(&into);
		ck_assert_uint_eq(taken, 100);
		ck_assert_int_eq(f.rc, NB_ERR_DATA);
		ck_assert_msg(strstr(f.text, "101") != NULL, "%s", f.text);
		end();
	}
	toy_destroy(&rig);
}

/** The engine's size limits in the next feed_text(); 0: none. */
static uint64_t key_most, value_most;

/** Feed the text to one shard. Returns the result; its error text is in f. */
static int
feed_text(const char *text, uint32_t format, bool can_scan, bool are_values_keys)
{
	FILE *file = fopen(path, "w");
	fputs(text, file);
	fclose(file);
	begin(format, 0, 1);
	f.options.can_scan = can_scan;
	f.options.key_size_max = key_most;
	f.options.value_size_max = value_most;
	f.options.are_values_keys = are_values_keys;
	ck_assert_int_eq(feed_new(&f.feed, &f.options), NB_OK);
	feed_all(NULL);
	return f.rc;
}

TEST(impossible_scan_is_reported_with_its_operation)
{
	set_up("read = 1\n");
	ck_assert_int_eq(
		feed_text("READ 1\nINSERT 2\nSCAN 1 5\n", NB_TRACE_YCSB_TEXT, false, true),
		NB_UNSUPPORTED);
	ck_assert_str_eq(f.text,
		"operation 2 of the trace: it is a scan, and the engine cannot do ordered scans");
	end();
	toy_destroy(&rig);
}

TEST(size_outside_the_engines_limits_is_refused_with_its_operation)
{
	static const char text[] = "READ 12\nINSERT 34\n";
	set_up("read = 1\n");
	key_most = value_most = 8;
	ck_assert_int_eq(feed_text(text, NB_TRACE_YCSB_TEXT, true, true), NB_OK);
	end();
	value_most = 7;
	ck_assert_int_eq(feed_text(text, NB_TRACE_YCSB_TEXT, true, true), NB_UNSUPPORTED);
	ck_assert_str_eq(f.text,
		"operation 1 of the trace: its value has 8 bytes; the engine takes at most 7");
	end();
	key_most = 7;
	ck_assert_int_eq(feed_text(text, NB_TRACE_YCSB_TEXT, true, true), NB_UNSUPPORTED);
	ck_assert_str_eq(f.text,
		"operation 0 of the trace: its key has 8 bytes; the engine takes at most 7");
	end();
	key_most = value_most = 0;
	toy_destroy(&rig);
}

TEST(mix_determines_the_operation_of_a_bare_key)
{
	char keys[8 * 100 + 1];
	memset(keys, 'k', sizeof(keys));
	keys[800] = '\0';
	set_up("read = 1\nupdate = 3\n");
	ck_assert_int_eq(feed_text(keys, NB_TRACE_U64, true, false), NB_OK);
	struct feed_taken into = {.room = 0};
	uint8_t kinds[OPS_STRATUM];
	uint64_t at = 0;
	for (int n; (n = feed_take(f.feed, 0, &into, &f.halt)) > 0;)
		for (int j = 0; j < n; j++, at++) {
			ops_kinds(f.options.spec, at / OPS_STRATUM, kinds);
			ck_assert_uint_eq(into.ops[j].kind, kinds[at % OPS_STRATUM]);
			ck_assert_uint_eq(into.ops[j].keys[0].size, 8);
		}
	ck_assert_uint_eq(at, 100);
	feed_taken_destroy(&into);
	end();
	toy_destroy(&rig);
	set_up("scan = 1\n");
	ck_assert_int_eq(feed_text(keys, NB_TRACE_U64, false, false), NB_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(f.text, "operation 0 of the trace: it is a scan"));
	end();
	toy_destroy(&rig);
	set_up("batch = 1\n");
	ck_assert_int_eq(feed_text(keys, NB_TRACE_U64, true, false), NB_ERR_USAGE);
	ck_assert_str_eq(f.text,
		"operation 0 of the trace: it has one key, and the mix makes it a batch");
	end();
	toy_destroy(&rig);
}

TEST(values_can_be_keys)
{
	struct feed_taken into = {.room = 0};
	set_up("read = 1\n");
	ck_assert_int_eq(
		feed_text("INSERT 72623859790382856\nREAD 1\n", NB_TRACE_YCSB_TEXT, true, true),
		NB_OK);
	ck_assert_int_eq(feed_take(f.feed, 0, &into, &f.halt), 2);
	ck_assert_uint_eq(into.ops[0].values[0].size, 8);
	ck_assert_int_eq(memcmp(into.ops[0].values[0].data, "\1\2\3\4\5\6\7\10", 8), 0);
	ck_assert_int_eq(memcmp(into.ops[0].keys[0].data, "\1\2\3\4\5\6\7\10", 8), 0);
	ck_assert_uint_eq(into.ops[1].values[0].size, 0);
	feed_taken_destroy(&into);
	end();
	toy_destroy(&rig);
}

TEST(oversized_value_is_refused)
{
	set_up("read = 1\n");
	struct trace_writer *writer;
	struct nb_trace_options to = trace_at(path, NB_TRACE_MININB, 0);
	ck_assert_int_eq(trace_writer_open(&writer, &to), NB_OK);
	struct trace_op op = {.kind = NB_OP_UPDATE,
		.key = slice("k"),
		.has_value_size = true,
		.value_size = FEED_VALUE_MAX + 1};
	ck_assert_int_eq(trace_writer_add(writer, &op), NB_OK);
	ck_assert_int_eq(trace_writer_finish(writer), NB_OK);
	begin(NB_TRACE_AUTO, 0, 1);
	ck_assert_int_eq(feed_new(&f.feed, &f.options), NB_OK);
	feed_all(NULL);
	ck_assert_int_eq(f.rc, NB_ERR_DATA);
	ck_assert_str_eq(f.text,
		"operation 0 of the trace: its value has 4194305 bytes; allowed: up to 4194304");
	end();
	toy_destroy(&rig);
}
