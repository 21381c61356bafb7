/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source `masstree`: sequences of operations with known results.
 *
 * They follow the tests of Masstree's mttest (kvtest.hh) that no mix of independent operations
 * can express: threads that use their own records, follow each other, or scan between writers.
 * A thread has the strata s with s mod `ranges` = r, its range. So operation n of a range is a
 * pure function of (seed, test, ranges, r, n), and the operations that put its records are
 * known. So each read and delete knows whether its record exists. The function `after` computes
 * the state of all records after any number of operations, which a later group verifies with
 * `again`.
 *
 * Differences from the original: operations do not depend on results. The deleting thread of
 * wd1 waits for the inserts of its stratum instead of retrying. Scans begin at fixed keys
 * instead of the end of the last one. Clumps have 32 keys instead of 31.
 *
 * Cause of wrong results: other writers of the same keys, such as an earlier run on the same
 * database. So records that were not put yet are not expected to be missing, except in wd3,
 * which has deleted them itself.
 */
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "workload/job.h"
#include "workload/ops_choose.h"

enum {
	MASSTREE_VERSION = 1, /* version of the algorithm of the streams; part of the digest */
	RANGES_MOST = 1 << 20,
	FIXED_STEP = 1024, /* distance between fixed records of scan1 */
	SCAN_STEP = 3,     /* fixed records from scan to scan; 100 records contain as many */
	CLUMP = 32,        /* records put or deleted together */
	CLUMP_LANES = 30,  /* clumps between two fixed records */
	SEPARATION = 32,   /* unused records after each thread's set */
	LETTERS = 26,
	WD2_RECORDS = 32,  /* records of a thread: its main one and the letters */
	WD2_PUTS = 12,     /* puts of the main record in each stratum */
	SCATTERED_MIN = 8, /* limit of keyspace_permute(), in bits */
	SCATTERED_MAX = 56,
	URL_ROUND = 15,
	URL_PUTS = 10,
};

#define CHOICE_SALT UINT64_C(0x6a09e667f3bcc909)

/** The `local`-th stratum of a range, and its operations. */
struct draw {
	const struct ops_spec *spec;
	uint64_t local;
	uint32_t range;
	uint64_t random[OPS_STRATUM];
	uint8_t kinds[OPS_STRATUM], expects[OPS_STRATUM];
	uint64_t numbers[OPS_STRATUM];
};

/** A row of the table of tests. */
struct test {
	uint32_t kinds; /* the mix must contain exactly these kinds: bits 1 << NB_OP_* */
	uint32_t ranges_min;
	bool has_own_keys; /* no two threads write the same record */
	bool has_waits;    /* threads of odd ranges follow those of even ranges */
	void (*draw)(struct draw *draw);
	/** State OPS_* of a record after done[r] operations of each range r. */
	uint8_t (*after)(const struct ops_spec *spec, const uint64_t *done, uint64_t number);
	/** Number of records; UINT64_MAX: the number of inserts. */
	uint64_t (*numbers)(const struct nb_job *job);
};

static uint64_t
set_size(const struct nb_job *job)
{
	return job->space > 0 ? job->space : 1;
}

/** A random number for part `part` of the range. */
static uint64_t
choice(const struct ops_spec *spec, uint32_t range, uint64_t part)
{
	return splitmix64_mix((spec->seed ^ CHOICE_SALT) +
		(uint64_t)range * UINT64_C(0xd1b54a32d192ed03) +
		part * UINT64_C(0x9e3779b97f4a7c15));
}

static void
set(struct draw *draw, uint32_t j, uint32_t kind, uint64_t number, uint8_t expects)
{
	draw->kinds[j] = (uint8_t)kind;
	draw->numbers[j] = number;
	draw->expects[j] = expects;
}

/** If records are scattered over a space, the size of the space. */
static uint64_t
inserts_or_space(const struct nb_job *job)
{
	return job->space > 0 ? job->space : UINT64_MAX;
}

static uint64_t
inserts_only(const struct nb_job *job)
{
	(void)job;
	return UINT64_MAX;
}

static uint8_t
is_there(const struct ops_spec *spec, const uint64_t *done, uint64_t number)
{
	(void)spec, (void)done, (void)number;
	return OPS_PRESENT;
}

/* ---- rw2: reads of the thread's own keys between its inserts ---- */

/** With a space, records are scattered over the largest power of two inside it. */
static uint64_t
rw2_record(const struct ops_spec *spec, uint64_t k)
{
	uint64_t space = spec->job->space;
	uint32_t bits = space > 0 ? 63 - (uint32_t)__builtin_clzll(space) : 0;
	if (bits < SCATTERED_MIN || bits > SCATTERED_MAX)
		return k;
	return keyspace_permute(k & ((UINT64_C(1) << bits) - 1), bits, spec->seed);
}

/** Makes a record available to reads. Without an insert in the stratum, none exists yet. */
static void
begin_with_insert(uint8_t *kinds)
{
	uint8_t *insert = memchr(kinds, NB_OP_INSERT, OPS_STRATUM);
	if (insert == NULL)
		return;
	*insert = kinds[0];
	kinds[0] = NB_OP_INSERT;
}

static void
draw_rw2(struct draw *draw)
{
	const struct ops_spec *spec = draw->spec;
	uint64_t there = ops_count_before(spec, NB_OP_INSERT, draw->local * OPS_STRATUM);
	ops_kinds(spec, draw->local, draw->kinds);
	if (there == 0)
		begin_with_insert(draw->kinds);
	for (uint32_t j = 0; j < OPS_STRATUM; j++) {
		bool is_insert = draw->kinds[j] == NB_OP_INSERT;
		uint64_t own = is_insert ? there
			: there > 0      ? dist_below(&draw->random[j], there)
					 : 0;
		set(draw, j, draw->kinds[j], rw2_record(spec, own * spec->ranges + draw->range),
			is_insert || there == 0 ? OPS_ANY : OPS_PRESENT);
		there += is_insert;
	}
}

/* ---- rwsmall: a small set of keys, put once and then put and read ---- */

/** The start of the range's set; *filled: number of records that are put first. */
static uint64_t
set_of(const struct ops_spec *spec, uint32_t range, uint64_t *filled)
{
	uint64_t size = set_size(spec->job);
	bool is_own = spec->group->key_range == NB_RANGE_PRIVATE;
	*filled = is_own ? size + SEPARATION : size;
	return is_own ? *filled * range : 0;
}

static void
draw_rwsmall(struct draw *draw)
{
	const struct ops_spec *spec = draw->spec;
	uint64_t filled, base = set_of(spec, draw->range, &filled);
	uint64_t filling = (filled + OPS_STRATUM - 1) / OPS_STRATUM;
	bool is_filling = draw->local < filling;
	if (!is_filling)
		ops_kinds(spec, draw->local - filling, draw->kinds);
	for (uint32_t j = 0; j < OPS_STRATUM; j++) {
		uint64_t n = draw->local * OPS_STRATUM + j;
		if (is_filling)
			set(draw, j, NB_OP_UPSERT, base + n % filled, OPS_ANY);
		else
			set(draw, j, draw->kinds[j],
				base + dist_below(&draw->random[j], set_size(spec->job)),
				draw->kinds[j] == NB_OP_READ ? OPS_PRESENT : OPS_ANY);
	}
}

static uint64_t
numbers_rwsmall(const struct nb_job *job)
{
	return (set_size(job) + SEPARATION) * RANGES_MOST;
}

/* ---- wd1: even threads insert ascending keys, odd ones delete them afterwards ---- */

static void
draw_wd1(struct draw *draw)
{
	uint64_t pairs = (draw->spec->ranges + 1) / 2, pair = draw->range / 2;
	bool removes = draw->range % 2 == 1;
	for (uint32_t j = 0; j < OPS_STRATUM; j++) {
		uint64_t n = draw->local * OPS_STRATUM + j;
		set(draw, j, removes ? NB_OP_DELETE : NB_OP_INSERT, n * pairs + pair,
			removes ? OPS_PRESENT : OPS_ANY);
	}
}

static uint8_t
after_wd1(const struct ops_spec *spec, const uint64_t *done, uint64_t number)
{
	uint64_t pairs = (spec->ranges + 1) / 2, n = number / pairs;
	uint32_t writer = 2 * (uint32_t)(number % pairs), remover = writer + 1;
	if (n >= done[writer])
		return OPS_ANY;
	return remover < spec->ranges && n < done[remover] ? OPS_ABSENT : OPS_PRESENT;
}

/* ---- wd2: puts of a key race with deletes by the next thread, and with its neighbours ---- */

enum { KEEPS, PUTS, REMOVES };

/**
 * The action of a stratum on all letters; puts and deletes are 10000/65536 each, as in the
 * original.
 */
static int
letters_action(const struct ops_spec *spec, uint32_t range, uint64_t local)
{
	uint64_t drawn = choice(spec, range, local) >> 48;
	return drawn < 10000 ? PUTS : drawn < 20000 ? REMOVES : KEEPS;
}

/** The state of the letters before the stratum: that of the last put or delete. */
static uint8_t
letters_before(const struct ops_spec *spec, uint32_t range, uint64_t local)
{
	while (local-- > 0) {
		int action = letters_action(spec, range, local);
		if (action != KEEPS)
			return action == PUTS ? OPS_PRESENT : OPS_ABSENT;
	}
	return OPS_ANY;
}

static void
draw_wd2(struct draw *draw)
{
	const struct ops_spec *spec = draw->spec;
	uint32_t next = (draw->range + 1) % spec->ranges;
	uint64_t own = (uint64_t)draw->range * WD2_RECORDS;
	uint64_t other = (uint64_t)next * WD2_RECORDS;
	int action = letters_action(spec, draw->range, draw->local);
	uint8_t before = letters_before(spec, draw->range, draw->local);
	bool removes_main = draw->random[0] % 4 == 0;
	for (uint32_t j = 0; j < WD2_PUTS; j++) {
		bool removes = removes_main && j == WD2_PUTS / 2;
		set(draw, j, removes ? NB_OP_DELETE : NB_OP_UPSERT, removes ? other : own,
			OPS_ANY);
	}
	for (uint32_t k = 0; k < LETTERS; k++) {
		uint32_t read = WD2_PUTS + k, j = read + LETTERS;
		uint64_t letter = other + LETTERS - k;
		set(draw, read, NB_OP_READ, letter, before);
		if (action == KEEPS)
			set(draw, j, NB_OP_READ, letter, before);
		else
			set(draw, j, action == PUTS ? NB_OP_UPSERT : NB_OP_DELETE, letter,
				action == PUTS ? OPS_ANY : before);
	}
}

static uint8_t
after_wd2(const struct ops_spec *spec, const uint64_t *done, uint64_t number)
{
	uint32_t letter = (uint32_t)(number % WD2_RECORDS);
	uint32_t of = (uint32_t)(number / WD2_RECORDS);
	uint32_t range = (of + spec->ranges - 1) % spec->ranges;
	if (letter == 0)
		return OPS_ANY; /* two threads write it */
	uint64_t local = done[range] / OPS_STRATUM, at = done[range] % OPS_STRATUM;
	int action = letters_action(spec, range, local);
	bool is_done = at > WD2_PUTS + LETTERS + LETTERS - letter;
	if (is_done && action != KEEPS)
		return action == PUTS ? OPS_PRESENT : OPS_ABSENT;
	return letters_before(spec, range, local);
}

static uint64_t
numbers_wd2(const struct nb_job *job)
{
	(void)job;
	return (uint64_t)WD2_RECORDS * RANGES_MOST;
}

/* ---- wd3: insert all, read all, delete all, find none ---- */

static void
draw_wd3(struct draw *draw)
{
	static const struct {
		uint32_t kind;
		uint8_t expects;
	} passes[] = {{NB_OP_INSERT, OPS_ANY}, {NB_OP_READ, OPS_PRESENT},
		{NB_OP_DELETE, OPS_PRESENT}, {NB_OP_READ, OPS_ABSENT}};
	uint64_t size = set_size(draw->spec->job);
	for (uint32_t j = 0; j < OPS_STRATUM; j++) {
		uint64_t n = draw->local * OPS_STRATUM + j, pass = n / size % 4;
		set(draw, j, passes[pass].kind, size * draw->range + n % size,
			passes[pass].expects);
	}
}

static uint8_t
after_wd3(const struct ops_spec *spec, const uint64_t *done, uint64_t number)
{
	uint64_t size = set_size(spec->job), k = number % size, n = done[number / size];
	uint64_t pass = n / size % 4;
	bool is_passed = k < n % size;
	bool is_put = pass == 1 || (pass == 0 && is_passed) || (pass == 2 && !is_passed);
	return n < size && !is_put ? OPS_ANY : is_put ? OPS_PRESENT : OPS_ABSENT;
}

static uint64_t
numbers_wd3(const struct nb_job *job)
{
	return set_size(job) * RANGES_MOST;
}

/*
 * ---- scan1: scans that must return every fixed record, and writers of clumps between them
 * ----
 */

static void
draw_scan1(struct draw *draw)
{
	uint64_t fixed = set_size(draw->spec->job);
	uint64_t filling = (fixed + OPS_STRATUM - 1) / OPS_STRATUM;
	bool is_backward = draw->spec->group->is_scan_backward != 0;
	for (uint32_t j = 0; j < OPS_STRATUM; j++) {
		uint64_t n = draw->local * OPS_STRATUM + j;
		if (draw->local < filling) {
			set(draw, j, NB_OP_UPSERT, (n % fixed + 1) * FIXED_STEP, OPS_ANY);
			continue;
		}
		uint64_t at = (n - filling * OPS_STRATUM) * SCAN_STEP % fixed;
		at = is_backward ? fixed - 1 - at : at;
		set(draw, j, NB_OP_SCAN, (at + 1) * FIXED_STEP, OPS_PRESENT);
	}
}

static void
draw_clumps(struct draw *draw)
{
	const struct ops_spec *spec = draw->spec;
	uint64_t fixed = set_size(spec->job), reads = spec->group->weights[NB_OP_READ];
	uint64_t lane = 1 + draw->range % CLUMP_LANES * CLUMP;
	for (uint32_t j = 0; j < OPS_STRATUM; j++) {
		uint64_t clump = draw->local * (OPS_STRATUM / CLUMP) + j / CLUMP;
		uint64_t drawn = choice(spec, draw->range, clump);
		bool is_quiet = (drawn >> 32) % spec->weight_sum < reads;
		bool removes = (drawn & 1) != 0;
		set(draw, j,
			is_quiet          ? NB_OP_READ
				: removes ? NB_OP_DELETE
					  : NB_OP_UPSERT,
			(splitmix64_mix(drawn) % fixed + 1) * FIXED_STEP + lane + j % CLUMP,
			OPS_ANY);
	}
}

static uint64_t
numbers_scan1(const struct nb_job *job)
{
	return (set_size(job) + 2) * FIXED_STEP;
}

/* ---- url: puts of ten keys, then deletes of the five oldest ones ---- */

static void
draw_url(struct draw *draw)
{
	for (uint32_t j = 0; j < OPS_STRATUM; j++) {
		uint64_t n = draw->local * OPS_STRATUM + j;
		uint64_t round = n / URL_ROUND, at = n % URL_ROUND;
		bool removes = at >= URL_PUTS;
		uint64_t k = removes ? round * (URL_ROUND - URL_PUTS) + at - URL_PUTS
				     : round * URL_PUTS + at;
		set(draw, j, removes ? NB_OP_DELETE : NB_OP_INSERT,
			k * draw->spec->ranges + draw->range, removes ? OPS_PRESENT : OPS_ANY);
	}
}

static uint8_t
after_url(const struct ops_spec *spec, const uint64_t *done, uint64_t number)
{
	uint64_t n = done[number % spec->ranges], k = number / spec->ranges;
	uint64_t round = n / URL_ROUND, at = n % URL_ROUND;
	uint64_t put = round * URL_PUTS + (at < URL_PUTS ? at : URL_PUTS);
	uint64_t removed = round * (URL_ROUND - URL_PUTS) + (at > URL_PUTS ? at - URL_PUTS : 0);
	return k >= put ? OPS_ANY : k < removed ? OPS_ABSENT : OPS_PRESENT;
}

/* ---- the table ---- */

enum {
	INSERT = 1 << NB_OP_INSERT,
	UPSERT = 1 << NB_OP_UPSERT,
	READ = 1 << NB_OP_READ,
	DELETE = 1 << NB_OP_DELETE,
	SCAN = 1 << NB_OP_SCAN,
};

static const struct test tests[NB_TESTS] = {
	[NB_TEST_RW2] = {.kinds = INSERT | READ,
		.has_own_keys = true,
		.draw = draw_rw2,
		.after = is_there,
		.numbers = inserts_or_space},
	[NB_TEST_RWSMALL] = {.kinds = UPSERT | READ,
		.draw = draw_rwsmall,
		.after = is_there,
		.numbers = numbers_rwsmall},
	[NB_TEST_WD1] = {.kinds = INSERT | DELETE,
		.ranges_min = 2,
		.has_waits = true,
		.draw = draw_wd1,
		.after = after_wd1,
		.numbers = inserts_only},
	[NB_TEST_WD2] = {.kinds = UPSERT | READ | DELETE,
		.ranges_min = 2,
		.draw = draw_wd2,
		.after = after_wd2,
		.numbers = numbers_wd2},
	[NB_TEST_WD3] = {.kinds = INSERT | READ | DELETE,
		.has_own_keys = true,
		.draw = draw_wd3,
		.after = after_wd3,
		.numbers = numbers_wd3},
	[NB_TEST_SCAN1] = {.kinds = UPSERT | SCAN,
		.draw = draw_scan1,
		.after = is_there,
		.numbers = numbers_scan1},
	[NB_TEST_CLUMPS] = {.kinds = UPSERT | READ | DELETE,
		.draw = draw_clumps,
		.numbers = numbers_scan1},
	[NB_TEST_URL] = {.kinds = INSERT | DELETE,
		.has_own_keys = true,
		.draw = draw_url,
		.after = after_url,
		.numbers = inserts_only},
};

static const struct test *
test_of(const struct nb_group *group)
{
	return &tests[group->masstree_test];
}

/* ---- the source ---- */

static int
check(const struct nb_job *job, const struct nb_group *group)
{
	const struct test *test = test_of(group);
	const char *name = masstree_test_name(group->masstree_test);
	uint32_t kinds = 0;
	(void)job;
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++)
		kinds |= (uint32_t)(group->weights[kind] > 0) << kind;
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
		/* clumps may have no reads */
		bool is_optional = group->masstree_test == NB_TEST_CLUMPS && kind == NB_OP_READ;
		if (!is_optional && ((kinds ^ test->kinds) >> kind & 1) != 0)
			return error_set(NB_ERR_USAGE, "masstree-test: %s needs %s %s = 0",
				name, nb_op_name(kind),
				(kinds >> kind & 1) != 0 ? "with the share"
							 : "with a share above");
	}
	if ((kinds & KINDS_OF_STEPS) != 0)
		return error_set(NB_ERR_USAGE,
			"masstree-test: %s has no operations of several steps", name);
	if (group->depth > 1)
		return error_set(NB_ERR_USAGE,
			"depth: must be 1 with source masstree, because its operations expect the effects of earlier operations");
	if (group->again[0] != '\0')
		return error_set(NB_ERR_USAGE,
			"again: needs source = records; masstree chooses the records itself");
	return NB_OK;
}

static int
check_ranges(const struct nb_job *job, const struct nb_group *group, uint32_t threads)
{
	(void)job;
	if (threads >= test_of(group)->ranges_min)
		return NB_OK;
	return error_set(NB_ERR_USAGE,
		"masstree-test: %s needs at least %u threads, of which some follow the others; got %u",
		masstree_test_name(group->masstree_test), test_of(group)->ranges_min, threads);
}

static uint64_t
numbers(const struct nb_job *job, const struct nb_group *group)
{
	return test_of(group)->numbers(job);
}

static void
divide(struct ops_spec *spec, uint32_t threads)
{
	spec->ranges = threads;
	spec->plain_count = 0;
	spec->has_draws = false;
	spec->one_kind = NB_OP_KINDS;
	spec->has_own_keys = test_of(spec->group)->has_own_keys ||
		spec->group->key_range == NB_RANGE_PRIVATE;
}

static uint64_t
needs(const struct ops_spec *spec, uint64_t stratum)
{
	bool follows = stratum % spec->ranges % 2 == 1;
	return test_of(spec->group)->has_waits && follows ? stratum : 0;
}

static void
draw_stratum(const struct ops_spec *spec, uint64_t stratum, struct draw *draw)
{
	draw->spec = spec;
	draw->range = (uint32_t)(stratum % spec->ranges);
	draw->local = stratum / spec->ranges;
	for (uint32_t j = 0; j < OPS_STRATUM; j++)
		draw->random[j] = ops_random(spec, stratum * OPS_STRATUM + j);
	test_of(spec->group)->draw(draw);
}

static void
begin(struct ops_maker *maker, uint64_t stratum)
{
	struct draw draw;
	draw_stratum(maker->spec, stratum, &draw);
	maker->first = stratum * OPS_STRATUM;
	maker->until = maker->first + ops_stratum_size(maker->spec, maker->first);
	maker->at = 0;
	memcpy(maker->random, draw.random, sizeof(draw.random));
	memcpy(maker->drawn, draw.numbers, sizeof(draw.numbers));
	memcpy(maker->kinds, draw.kinds, sizeof(draw.kinds));
	memcpy(maker->expects, draw.expects, sizeof(draw.expects));
}

static uint32_t
make(struct ops_maker *maker)
{
	uint32_t begin = maker->at, left = (uint32_t)(maker->until - maker->first) - begin;
	uint32_t count = left < maker->block ? left : maker->block;
	for (uint32_t j = 0; j < count; j++) {
		struct ops_op *op = &maker->ops[j];
		op->index = maker->first + begin + j;
		op->kind = maker->kinds[begin + j];
		op->expects = maker->expects[begin + j];
		maker->numbers[j] = maker->drawn[begin + j];
		op->length = op->kind == NB_OP_SCAN ? ops_scan_length(maker, begin + j) : 0;
	}
	ops_fill(maker, count, count);
	return count;
}

static bool
writes(const struct ops_spec *spec, uint64_t i, uint64_t number)
{
	struct draw draw;
	uint32_t j = (uint32_t)(i % OPS_STRATUM);
	draw_stratum(spec, i / OPS_STRATUM, &draw);
	return ops_is_write(draw.kinds[j]) && draw.numbers[j] == number;
}

static bool
puts_at_once(const struct ops_spec *spec, uint64_t i, uint64_t number)
{
	(void)spec, (void)i, (void)number;
	return false; /* it has no operations of several steps */
}

static uint64_t
digest(const struct ops_spec *spec, uint64_t keys_hash)
{
	uint64_t words[] = {NB_SOURCE_MASSTREE, MASSTREE_VERSION, spec->group->masstree_test,
		spec->group->key_range, records_digest(spec, keys_hash), spec->ranges};
	return XXH3_64bits(words, sizeof(words));
}

static void
visit(const struct ops_again *again, const uint64_t *indexes, uint32_t count, uint64_t *numbers,
	uint8_t *expects)
{
	const struct ops_spec *of = again->of;
	const struct test *test = test_of(of->group);
	struct draw draw;
	for (uint32_t j = 0; j < count; j++) {
		draw_stratum(of, indexes[j] / OPS_STRATUM, &draw);
		numbers[j] = draw.numbers[indexes[j] % OPS_STRATUM];
		expects[j] = test->after(of, again->done, numbers[j]);
	}
}

static bool
can_visit(const struct nb_group *group)
{
	return test_of(group)->after != NULL;
}

static bool
has_between(const struct ops_spec *spec, uint64_t from, uint64_t to)
{
	uint64_t fixed = set_size(spec->job);
	uint64_t next = (from + FIXED_STEP - 1) / FIXED_STEP;
	next = next > 0 ? next : 1;
	return next <= fixed && next * FIXED_STEP < to;
}

const struct source source_masstree = {.check = check,
	.check_ranges = check_ranges,
	.numbers = numbers,
	.divide = divide,
	.needs = needs,
	.begin = begin,
	.make = make,
	.writes = writes,
	.puts_at_once = puts_at_once,
	.digest = digest,
	.can_visit = can_visit,
	.visit = visit,
	.has_between = has_between};

const char *
masstree_test_name(uint32_t test)
{
#define NAME(id, name) [NB_TEST_##id] = name,
	static const char *const names[NB_TESTS] = {MASSTREE_TESTS(NAME)};
#undef NAME
	return test < NB_TESTS ? names[test] : NULL;
}
