/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tests of the source `masstree`: the operations of a stratum, and the state of the records
 * after any number of operations.
 *
 * Differences from mttest (kvtest.hh): operations do not depend on results. The deleting thread of
 * wd1 waits for the inserts of its stratum instead of retrying. Scans begin at fixed keys
 * instead of the end of the last one. Clumps have 32 keys instead of 31.
 *
 * Cause of wrong results: other writers of the same keys, such as an earlier run on the same
 * database. So records that were not put yet are not expected to be missing, except in wd3,
 * which has deleted them itself.
 */
#include "workload/masstree_tests.h"

enum {
	RANGES_MOST = 1 << 20,
	SCAN_STEP = 3,    /* fixed records from scan to scan; 100 records contain as many */
	CLUMP = 32,       /* records put or deleted together */
	CLUMP_LANES = 30, /* clumps between two fixed records */
	SEPARATION = 32,  /* unused records after each thread's set */
	LETTERS = 26,
	WD2_RECORDS = 32,  /* records of a thread: its main one and the letters */
	WD2_PUTS = 12,     /* puts of the main record in each stratum */
	SCATTERED_MIN = 8, /* limit of keyspace_permute(), in bits */
	SCATTERED_MAX = 56,
	URL_ROUND = 15,
	URL_PUTS = 10,
};

#define CHOICE_SALT UINT64_C(0x6a09e667f3bcc909)

/** A random number for part `part` of the range. */
static uint64_t
choice(const struct ops_spec *spec, uint32_t range, uint64_t part)
{
	return splitmix64_mix((spec->seed ^ CHOICE_SALT) +
		(uint64_t)range * UINT64_C(0xd1b54a32d192ed03) +
		part * UINT64_C(0x9e3779b97f4a7c15));
}

static void
set(struct masstree_draw *draw, uint32_t j, uint32_t kind, uint64_t number, uint8_t expects)
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
draw_rw2(struct masstree_draw *draw)
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
	uint64_t size = masstree_set_size(spec->job);
	bool is_own = spec->group->key_range == NB_RANGE_PRIVATE;
	*filled = is_own ? size + SEPARATION : size;
	return is_own ? *filled * range : 0;
}

static void
draw_rwsmall(struct masstree_draw *draw)
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
				base +
					dist_below(
						&draw->random[j], masstree_set_size(spec->job)),
				draw->kinds[j] == NB_OP_READ ? OPS_PRESENT : OPS_ANY);
	}
}

static uint64_t
numbers_rwsmall(const struct nb_job *job)
{
	return (masstree_set_size(job) + SEPARATION) * RANGES_MOST;
}

/* ---- wd1: even threads insert ascending keys, odd ones delete them afterwards ---- */

static void
draw_wd1(struct masstree_draw *draw)
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
draw_wd2(struct masstree_draw *draw)
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
draw_wd3(struct masstree_draw *draw)
{
	static const struct {
		uint32_t kind;
		uint8_t expects;
	} passes[] = {{NB_OP_INSERT, OPS_ANY}, {NB_OP_READ, OPS_PRESENT},
		{NB_OP_DELETE, OPS_PRESENT}, {NB_OP_READ, OPS_ABSENT}};
	uint64_t size = masstree_set_size(draw->spec->job);
	for (uint32_t j = 0; j < OPS_STRATUM; j++) {
		uint64_t n = draw->local * OPS_STRATUM + j, pass = n / size % 4;
		set(draw, j, passes[pass].kind, size * draw->range + n % size,
			passes[pass].expects);
	}
}

static uint8_t
after_wd3(const struct ops_spec *spec, const uint64_t *done, uint64_t number)
{
	uint64_t size = masstree_set_size(spec->job), k = number % size,
		 n = done[number / size];
	uint64_t pass = n / size % 4;
	bool is_passed = k < n % size;
	bool is_put = pass == 1 || (pass == 0 && is_passed) || (pass == 2 && !is_passed);
	return n < size && !is_put ? OPS_ANY : is_put ? OPS_PRESENT : OPS_ABSENT;
}

static uint64_t
numbers_wd3(const struct nb_job *job)
{
	return masstree_set_size(job) * RANGES_MOST;
}

/*
 * ---- scan1: scans that must return every fixed record, and writers of clumps between them
 * ----
 */

static void
draw_scan1(struct masstree_draw *draw)
{
	uint64_t fixed = masstree_set_size(draw->spec->job);
	uint64_t filling = (fixed + OPS_STRATUM - 1) / OPS_STRATUM;
	bool is_backward = draw->spec->group->is_scan_backward != 0;
	for (uint32_t j = 0; j < OPS_STRATUM; j++) {
		uint64_t n = draw->local * OPS_STRATUM + j;
		if (draw->local < filling) {
			set(draw, j, NB_OP_UPSERT, (n % fixed + 1) * MASSTREE_FIXED_STEP,
				OPS_ANY);
			continue;
		}
		uint64_t at = (n - filling * OPS_STRATUM) * SCAN_STEP % fixed;
		at = is_backward ? fixed - 1 - at : at;
		set(draw, j, NB_OP_SCAN, (at + 1) * MASSTREE_FIXED_STEP, OPS_PRESENT);
	}
}

static void
draw_clumps(struct masstree_draw *draw)
{
	const struct ops_spec *spec = draw->spec;
	uint64_t fixed = masstree_set_size(spec->job), reads = spec->group->weights[NB_OP_READ];
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
			(splitmix64_mix(drawn) % fixed + 1) * MASSTREE_FIXED_STEP + lane +
				j % CLUMP,
			OPS_ANY);
	}
}

static uint64_t
numbers_scan1(const struct nb_job *job)
{
	return (masstree_set_size(job) + 2) * MASSTREE_FIXED_STEP;
}

/* ---- url: puts of ten keys, then deletes of the five oldest ones ---- */

static void
draw_url(struct masstree_draw *draw)
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

const struct masstree_test masstree_tests[NB_TESTS] = {
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
