/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sql_tables DRIVER ADDRESS [SEED [OPTION...]]: compare random use of an engine that makes its
 * own tables of the tables of a job with `memory`, which stores bytes. The server must serve
 * only this test, because the test resets it. With an empty ADDRESS, the engine is in the
 * working directory, which must be empty.
 *
 * Ids are few and at the ends of their range, so that keys repeat and signed columns show.
 * Lists of keys are either short or so long that an engine may search for them differently.
 */
#include <mininb/mininb.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"

enum { ROUNDS = 2000, GROUP = 6, MANY = 100, KEY_ROOM = 32, VALUE_ROOM = 64, SCAN = 12 };
enum { OBJECTS, EDGES, COUNTERS, TABLES };

static const struct nb_column id[] = {{"id", NB_COLUMN_U64, 0}};
static const struct nb_column ids[] = {
	{"id1", NB_COLUMN_U64, 0}, {"id2", NB_COLUMN_U64, 0}, {"type", NB_COLUMN_U8, 0}};
static const struct nb_column names[] = {
	{"zone", NB_COLUMN_U8, 0}, {"name", NB_COLUMN_BYTES, 0}};
static const struct nb_column dated[] = {
	{"timestamp", NB_COLUMN_U64, 0}, {"value", NB_COLUMN_BYTES, 0}};
static const struct nb_column marked[] = {{"timestamp", NB_COLUMN_U64, 0},
	{"mark", NB_COLUMN_U8, 0}, {"value", NB_COLUMN_BYTES, 9}};
static const struct nb_column counter[] = {{"count", NB_COLUMN_U64, 0}};

#define COLUMNS(key, value) \
	.key_columns = (key), .value_columns = (value), \
	.key_column_count = sizeof(key) / sizeof((key)[0]), \
	.value_column_count = sizeof(value) / sizeof((value)[0])

/* In another order than their prefixes. */
static const struct nb_table tables[TABLES] = {
	[OBJECTS] = {.name = "objects", .prefix = {"o", 1}, COLUMNS(id, marked)},
	[EDGES] = {.name = "edges", .prefix = {"e", 1}, COLUMNS(ids, dated)},
	[COUNTERS] = {.name = "counters", .prefix = {"c", 1}, COLUMNS(names, counter)},
};

struct one {
	struct nb_engine_ref *ref;
	const struct nb_engine *engine;
	struct nb_option_value *options;
	struct nb_db *db;
	struct nb_session *session;
};

static struct one subject, oracle;
static uint64_t seed;
static uint32_t step_now;

static _Noreturn void
fail(const char *what)
{
	fprintf(stderr, "operation %u: %s: %s\n", step_now, what, nb_error_text());
	exit(1);
}

static void
check(bool is_right, const char *what)
{
	if (!is_right)
		fail(what);
}

static uint64_t
draw(uint64_t below)
{
	return splitmix64_next(&seed) % below;
}

/* --- records --- */

static size_t
put_id(unsigned char *to)
{
	static const uint64_t all[] = {0, 1, 255, 256, UINT64_C(1) << 63, UINT64_MAX};
	uint64_t number = all[draw(6)];
	for (int i = 0; i < 8; i++)
		to[i] = (unsigned char)(number >> 8 * (7 - i));
	return 8;
}

static struct nb_slice
draw_key(unsigned char *to, uint32_t table)
{
	static const char *const texts[] = {"", "a", "a ", "a\0", "\xff\xff", "b'\\\"%"};
	static const size_t sizes[] = {0, 1, 2, 2, 2, 5};
	size_t size = 1, i = draw(6);
	to[0] = *(const unsigned char *)tables[table].prefix.data;
	if (table != COUNTERS)
		size += put_id(to + size);
	if (table == EDGES)
		size += put_id(to + size);
	if (table == EDGES)
		to[size++] = (unsigned char)(draw(3) == 0 ? 100 : draw(3));
	if (table != COUNTERS)
		return (struct nb_slice){to, size};
	to[size++] = (unsigned char)(draw(2) * 255);
	memcpy(to + size, texts[i], sizes[i]);
	return (struct nb_slice){to, size + sizes[i]};
}

/** A random value. Its age is small and may be negative. */
static struct nb_slice
draw_value(unsigned char *to, uint32_t table)
{
	int64_t age = (int64_t)draw(20) - 10;
	size_t size = table == COUNTERS ? 8 : table == OBJECTS ? 18 : 8 + draw(30);
	for (size_t i = 8; i < size; i++)
		to[i] = (unsigned char)draw(256);
	memcpy(to, &age, sizeof(age));
	return (struct nb_slice){to, size};
}

static bool
equal(struct nb_slice a, struct nb_slice b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static void
release(const struct one *one)
{
	if (one->engine->release != NULL)
		one->engine->release(one->session);
}

/* --- verbs --- */

static void
compare_answers(int is, int right, const char *verb)
{
	if (is != right) {
		fprintf(stderr, "operation %u: %s answered %d, not %d (%s)\n", step_now, verb,
			is, right, nb_error_text());
		exit(1);
	}
}

static void
do_single(void)
{
	unsigned char key_bytes[KEY_ROOM], value_bytes[VALUE_ROOM];
	uint32_t table = (uint32_t)draw(TABLES);
	struct nb_slice key = draw_key(key_bytes, table),
			value = draw_value(value_bytes, table);
	struct nb_slice found[2] = {{0}};
	uint64_t operand = splitmix64_next(&seed);
	const struct one *all[] = {&subject, &oracle};
	uint64_t verb = draw(table == COUNTERS ? 5 : 4);
	int rc[2];
	for (int i = 0; i < 2; i++) {
		const struct nb_engine *engine = all[i]->engine;
		struct nb_session *session = all[i]->session;
		rc[i] = verb == 0   ? engine->get(session, key, &found[i])
			: verb == 1 ? engine->put(session, key, value)
			: verb == 2 ? engine->del(session, key)
			: verb == 3 ? engine->insert(session, key, value)
				    : engine->merge(session, key, NB_MERGE_ADD_U64, operand);
	}
	compare_answers(rc[0], rc[1], "a verb");
	check(equal(found[0], found[1]), "get lent another value");
	for (int i = 0; i < 2 && verb == 0 && rc[0] == NB_OK; i++)
		release(all[i]);
}

static void
do_batch(void)
{
	unsigned char keys[GROUP][KEY_ROOM], values[GROUP][VALUE_ROOM];
	struct nb_write writes[GROUP];
	for (int i = 0; i < GROUP; i++) {
		uint32_t table = (uint32_t)draw(TABLES);
		writes[i] = (struct nb_write){.key = draw_key(keys[i], table),
			.value = draw_value(values[i], table),
			.is_delete = draw(3) == 0};
	}
	uint32_t flags = draw(2) != 0 ? NB_BATCH_ATOMIC : 0;
	size_t count = 1 + draw(GROUP);
	compare_answers(subject.engine->batch(subject.session, writes, count, flags),
		oracle.engine->batch(oracle.session, writes, count, flags), "batch");
}

static void
do_multi_get(void)
{
	unsigned char bytes[MANY][KEY_ROOM];
	struct nb_slice keys[MANY], values[2][MANY] = {{{0}}};
	int32_t answers[2][MANY];
	size_t count = draw(2) == 0 ? GROUP : 1 + draw(MANY);
	for (size_t i = 0; i < count; i++)
		keys[i] = draw_key(bytes[i], (uint32_t)draw(TABLES));
	compare_answers(
		subject.engine->multi_get(subject.session, keys, count, values[0], answers[0]),
		oracle.engine->multi_get(oracle.session, keys, count, values[1], answers[1]),
		"multi_get");
	for (size_t i = 0; i < count; i++) {
		compare_answers(answers[0][i], answers[1][i], "a key of multi_get");
		check(answers[0][i] != NB_OK || equal(values[0][i], values[1][i]),
			"multi_get lent another value");
	}
	release(&subject);
	release(&oracle);
}

/** The beginning of a key, with at least the prefix of its table. */
static struct nb_slice
draw_prefix(unsigned char *to)
{
	struct nb_slice key = draw_key(to, (uint32_t)draw(TABLES));
	key.size = 1 + draw(key.size);
	return key;
}

static void
draw_step(struct nb_step *step, unsigned char *key, unsigned char *value, bool reads)
{
	uint32_t table = (uint32_t)draw(TABLES);
	*step = (struct nb_step){.verb = reads ? NB_STEP_GET : (uint32_t)draw(7),
		.key = draw_key(key, table),
		.value = draw_value(value, table),
		.skips = draw(3) == 0 ? (uint32_t)draw(4) : 0,
		.table = table};
	if (step->verb == NB_STEP_MERGE && table != COUNTERS)
		step->verb = NB_STEP_PUT;
	if (step->verb == NB_STEP_MERGE)
		step->operand = splitmix64_next(&seed);
	if (step->verb == NB_STEP_PREFIX_EMPTY)
		step->key = draw_prefix(key);
	if (step->verb == NB_STEP_PREFIX_EMPTY && key[0] == 'e' && step->key.size < 18)
		step->operand = draw(8); /* a bit mask of types */
	if (step->verb == NB_STEP_GET)
		step->value = (struct nb_slice){0};
}

static void
compare_steps(const struct nb_step *is, const struct nb_step *right, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (is[i].answer != right[i].answer)
			fprintf(stderr, "step %zu, verb %u\n", i, is[i].verb);
		compare_answers(is[i].answer, right[i].answer, "a step of execute");
		check(is[i].verb != NB_STEP_GET || is[i].answer != NB_OK ||
				equal(is[i].value, right[i].value),
			"a step lent another value");
	}
}

static void
do_execute(void)
{
	unsigned char keys[GROUP][KEY_ROOM], values[GROUP][VALUE_ROOM];
	struct nb_step steps[2][GROUP];
	bool reads = draw(3) == 0;
	uint32_t flags = (draw(2) != 0 && (subject.engine->caps & NB_CAP_SNAPSHOT) != 0
					 ? NB_EXEC_SNAPSHOT
					 : 0) |
		(reads ? NB_EXEC_READ_ONLY : NB_EXEC_ATOMIC);
	size_t count = 1 + draw(GROUP);
	for (size_t i = 0; i < count; i++) {
		draw_step(&steps[0][i], keys[i], values[i], reads);
		steps[1][i] = steps[0][i];
	}
	int is = subject.engine->execute(subject.session, steps[0], count, flags);
	int right = oracle.engine->execute(oracle.session, steps[1], count, flags);
	compare_answers(is, right, "execute");
	compare_steps(steps[0], steps[1], count);
	release(&subject);
	release(&oracle);
}

/** A random start of a scan. It may lie between tables and be longer than a key. */
static struct nb_slice
draw_from(unsigned char *to)
{
	struct nb_slice from = draw_key(to, (uint32_t)draw(TABLES));
	uint64_t how = draw(8);
	if (how == 0)
		from.size = 0;
	else if (how == 1)
		to[0] = (unsigned char)draw(256);
	else if (how == 2)
		to[from.size++] = (unsigned char)(draw(2) * 255);
	else if (how < 5)
		from.size = 1 + draw(from.size);
	return from;
}

static void
do_scan(void)
{
	unsigned char bytes[KEY_ROOM];
	struct nb_slice key[2] = {{0}}, value[2] = {{0}};
	struct nb_scan_args args = {.size = sizeof(args), .from = draw_from(bytes)};
	size_t limit = draw(4) == 0 ? SIZE_MAX : draw(SCAN);
	int rc[2] = {NB_OK, NB_OK};
	args.flags = (draw(2) != 0 ? NB_SCAN_BACKWARD : 0) |
		(draw(2) != 0 ? NB_SCAN_KEYS_ONLY : 0);
	args.limit = draw(2) != 0 && limit != SIZE_MAX ? limit : 0;
	check(subject.engine->scan_open(subject.session, &args) == NB_OK, "scan_open");
	check(oracle.engine->scan_open(oracle.session, &args) == NB_OK, "scan_open");
	for (size_t i = 0; i < limit && rc[0] == NB_OK; i++) {
		rc[0] = subject.engine->scan_next(subject.session, &key[0], &value[0]);
		rc[1] = oracle.engine->scan_next(oracle.session, &key[1], &value[1]);
		compare_answers(rc[0], rc[1], "scan_next");
		check(rc[0] != NB_OK || equal(key[0], key[1]), "a scan gave another key");
		check(rc[0] != NB_OK || (args.flags & NB_SCAN_KEYS_ONLY) != 0 ||
				equal(value[0], value[1]),
			"a scan gave another value");
	}
	check(subject.engine->scan_close(subject.session) == NB_OK, "scan_close");
	check(oracle.engine->scan_close(oracle.session) == NB_OK, "scan_close");
}

/** Submit requests with different keys, so that their order does not matter. */
static void
do_requests(void)
{
	struct nb_step steps[TABLES];
	struct nb_request requests[TABLES];
	struct nb_completion done[TABLES];
	struct nb_slice values[TABLES] = {{0}};
	int answers[TABLES];
	size_t taken = 0, left = TABLES, count;
	unsigned char keys[TABLES][KEY_ROOM];
	for (uint32_t t = 0; t < TABLES; t++) {
		requests[t] = (struct nb_request){.tag = t,
			.verb = draw(2) != 0 ? NB_REQ_GET : NB_REQ_EXECUTE,
			.key = draw_key(keys[t], t),
			.steps = &steps[t],
			.step_count = 1,
			.flags = NB_EXEC_READ_ONLY};
		steps[t] = (struct nb_step){.verb = NB_STEP_GET, .key = requests[t].key};
	}
	check(subject.engine->submit(subject.session, requests, TABLES, &taken) >= NB_OK &&
			taken == TABLES,
		"submit");
	while (left > 0) {
		check(subject.engine->reap(subject.session, done, TABLES, &count, UINT64_MAX) ==
				NB_OK,
			"reap");
		for (size_t i = 0; i < count; i++) {
			uint32_t t = (uint32_t)done[i].tag;
			bool is_get = requests[t].verb == NB_REQ_GET;
			int answer = is_get ? done[i].answer : steps[t].answer;
			struct nb_slice value = is_get ? done[i].value : steps[t].value;
			answers[t] = oracle.engine->get(
				oracle.session, requests[t].key, &values[t]);
			compare_answers(answer, answers[t], "a request");
			check(answer != NB_OK || equal(value, values[t]),
				"a request lent another value");
			if (answers[t] == NB_OK)
				release(&oracle);
		}
		left -= count;
		release(&subject);
	}
}

/* --- both engines --- */

static void
open_one(struct one *one, const char *driver, const char *const *target,
	const char *const *texts, size_t count, bool is_remote)
{
	struct nb_open_args args = {.size = sizeof(args),
		.flags = NB_OPEN_CREATE,
		.host = nb_engine_host(),
		.path = ".",
		.sessions = 1,
		.inflight_ops = TABLES,
		.targets = target,
		.target_count = is_remote,
		.tables = tables,
		.table_count = TABLES};
	if (nb_engine_load(&one->ref, driver) != NB_OK ||
		nb_engine_configure(&one->options, one->ref, texts, count) != NB_OK)
		fail(driver);
	one->engine = nb_engine_table(one->ref);
	const struct nb_engine *variant = one->engine->variant != NULL
		? one->engine->variant(one->options)
		: NULL;
	one->engine = variant != NULL ? variant : one->engine;
	args.durability = one->engine->auto_durability;
	args.options = one->options;
	check(one->engine->open(&one->db, &args) == NB_OK, "open");
	if (is_remote)
		check(one->engine->reset(one->db) == NB_OK, "reset");
	check(one->engine->session_open(&one->session, one->db, 0) == NB_OK, "session_open");
}

static void
close_one(struct one *one)
{
	check(one->engine->close(one->db) == NB_OK, "close");
	nb_options_delete(one->options, one->engine);
	nb_engine_unload(one->ref);
}

static void
refuses_what_does_not_fit(void)
{
	static const struct nb_slice keys[] = {{"x1234567", 8}, {"o1234567", 8},
		{"o123456789", 10}, {"e1234567812345678", 17}, {"c", 1}, {"o12345678", 9}};
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		check(subject.engine->put(
			      subject.session, keys[i], (struct nb_slice){"short", 5}) < 0,
			"a record that does not fit its table was put");
}

static void
counts_its_rows(void)
{
	const struct nb_scan_args all = {.size = sizeof(all)};
	struct nb_slice key, value;
	uint64_t counted[TABLES] = {0}, rows;
	check(oracle.engine->scan_open(oracle.session, &all) == NB_OK, "scan_open");
	while (oracle.engine->scan_next(oracle.session, &key, &value) == NB_OK)
		for (uint32_t t = 0; t < TABLES; t++)
			counted[t] += memcmp(key.data, tables[t].prefix.data, 1) == 0;
	check(oracle.engine->scan_close(oracle.session) == NB_OK, "scan_close");
	check(subject.engine->session_close(subject.session) == NB_OK, "session_close");
	for (uint32_t t = 0; t < TABLES; t++)
		check(subject.engine->count(subject.db, t, &rows) == NB_OK &&
				rows == counted[t],
			"count");
}

int
main(int argc, char **argv)
{
	static void (*const acts[])(void) = {do_single, do_single, do_batch, do_execute,
		do_execute, do_scan, do_multi_get, do_requests};
	if (argc < 3) {
		fprintf(stderr, "usage: %s DRIVER ADDRESS [SEED [OPTION...]]\n", argv[0]);
		return 2;
	}
	const char *const *options = argc > 4 ? (const char *const *)argv + 4 : NULL;
	seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
	open_one(&subject, argv[1], (const char *const *)argv + 2, options,
		argc > 4 ? (size_t)argc - 4 : 0, argv[2][0] != '\0');
	open_one(&oracle, "memory", NULL, NULL, 0, false);
	refuses_what_does_not_fit();
	uint64_t act_count = sizeof(acts) / sizeof(acts[0]);
	if (subject.engine->submit == NULL) /* embedded engines have no submit */
		act_count -= subject.engine->multi_get != NULL ? 1 : 2;
	for (step_now = 0; step_now < ROUNDS; step_now++)
		acts[draw(act_count)]();
	counts_its_rows();
	close_one(&subject);
	check(oracle.engine->session_close(oracle.session) == NB_OK, "session_close");
	close_one(&oracle);
	printf("%d operations on %d tables answered alike\n", ROUNDS, TABLES);
	return 0;
}
