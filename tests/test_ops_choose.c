/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "ops_rig.h"

/**
 * The stratum in which an insert makes the record. UINT64_MAX: no insert of this group makes
 * it.
 */
static uint64_t
inserter_stratum(const struct ops_spec *spec, uint64_t number)
{
	uint64_t weight = spec->group->weights[NB_OP_INSERT], k = number;
	if (!spec->is_load) {
		if (weight == 0 || number < spec->job->records ||
			(number - spec->job->records) % spec->streams != spec->stream)
			return UINT64_MAX;
		k = (number - spec->job->records) / spec->streams;
	}
	/*
	 * Among the first n operations, the last insert has index k, from 0; n is near this
	 * value.
	 */
	uint64_t stratum = (uint64_t)((uint128)k * spec->weight_sum / weight) / OPS_STRATUM;
	while (stratum > 0 && ops_count_before(spec, NB_OP_INSERT, stratum * OPS_STRATUM) > k)
		stratum--;
	while (ops_count_before(spec, NB_OP_INSERT, (stratum + 1) * OPS_STRATUM) <= k)
		stratum++;
	return stratum;
}

/** The records that the reads of a run choose. */
struct reads {
	double all, top, fresh;  /* all, of the ten hottest records, of inserted records */
	uint64_t fresh_distinct; /* number of different inserted records that it reads */
	uint64_t hottest;        /* number of the hottest record */
};

static void
count_read(const struct ops_op *op, void *arg)
{
	if (op->kind == NB_OP_READ)
		((uint32_t *)arg)[op->numbers[0]]++;
}

static struct reads
reads_of(uint32_t records, uint32_t count, uint32_t inserts, uint32_t reads, uint64_t lag)
{
	struct fixture f;
	struct reads sum = {.hottest = 0};
	uint32_t *seen = calloc(records + count, sizeof(*seen)), top[10] = {0};
	set_up(&f);
	f.job.records = records;
	f.job.lag = lag;
	f.group.count = count;
	f.group.distribution = NB_DIST_ZIPFIAN_YCSB;
	f.group.weights[NB_OP_INSERT] = inserts;
	f.group.weights[NB_OP_READ] = reads;
	make_spec(&f, &f.group, 0, 1);
	for (uint64_t s = 0; s * OPS_STRATUM < count; s++)
		each_op(&f.maker, s, count_read, seen);
	for (uint32_t number = 0; number < records + count; number++) {
		uint32_t left = seen[number];
		sum.hottest = left > seen[sum.hottest] ? number : sum.hottest;
		sum.all += left;
		sum.fresh += number >= records ? left : 0;
		sum.fresh_distinct += number >= records && left > 0;
		for (int k = 0; k < 10; k++) {
			uint32_t other = top[k];
			top[k] = left > other ? left : other;
			left = left > other ? other : left;
		}
	}
	for (int k = 0; k < 10; k++)
		sum.top += top[k];
	tear_down(&f);
	free(seen);
	return sum;
}

/** The difference between two shares of draws, in standard deviations. */
static double
apart(double hits, double draws, double other_hits, double other_draws)
{
	double p = (hits + other_hits) / (draws + other_draws);
	double variance = p * (1 - p) * (1 / draws + 1 / other_draws);
	return variance > 0 ? fabs(hits / draws - other_hits / other_draws) / sqrt(variance)
			    : 0;
}

/**
 * Compare with files made by YCSB, with 10000 operations on 100000 records:
 * 10w-rw-100-0-run.txt and others, of the project that fptree-220w.ini names. In the third
 * file, the run inserts the hottest record. The limit is 3 standard deviations of the
 * difference of two binomials.
 */
TEST(zipfian_ycsb_reads_like_files_of_ycsb)
{
	static const struct {
		uint32_t inserts, reads; /* requested from YCSB */
		struct reads reads_of;
	} files[] = {{0, 100, {10000, 1199, 0, 0, 42439}},
		{50, 50, {4898, 609, 129, 103, 94428}}, {25, 75, {7512, 850, 347, 68, 100335}},
		{75, 25, {2484, 317, 71, 65, 48598}}};
	for (int i = 0; i < 4; i++) {
		const struct reads *file = &files[i].reads_of;
		struct reads ours = reads_of(
			100000, 10000, files[i].inserts, files[i].reads, 0);
		ck_assert_double_eq(ours.all, 100 * files[i].reads);
		ck_assert_uint_eq(ours.hottest, file->hottest);
		ck_assert_double_lt(apart(ours.top, ours.all, file->top, file->all), 3);
		ck_assert_double_lt(apart(ours.fresh, ours.all, file->fresh, file->all), 3);
		ck_assert_double_lt(apart((double)ours.fresh_distinct, ours.all,
					    (double)file->fresh_distinct, file->all),
			3);
	}
}

/**
 * fptree-220w. A model of YCSB's generator, independent of this code, gives the expected
 * numbers. It adds the probability of each rank to the record that the rank's hash modulo
 * 2550905 gives, over the records that exist at each read. The limit is 3 standard deviations.
 */
TEST(zipfian_ycsb_keeps_its_skew_while_records_are_added)
{
	const double top = 0.129983, fresh = 5485.6, fresh_distinct = 4005.1;
	struct reads ours = reads_of(2200000, 350000, 175452, 174548, 8192);
	ck_assert_double_eq(ours.all, 174548);
	ck_assert_uint_eq(ours.hottest, 907771);
	ck_assert_double_eq_tol(ours.top / ours.all, top, 3 * sqrt(top * (1 - top) / ours.all));
	ck_assert_double_eq_tol(ours.fresh, fresh, 3 * sqrt(fresh));
	ck_assert_double_eq_tol(
		(double)ours.fresh_distinct, fresh_distinct, 3 * sqrt(fresh_distinct));
}

/** YCSB would redraw here until it gets one of 2 records among 2 * 10^18. */
TEST(zipfian_ycsb_limits_its_draws)
{
	struct fixture f;
	set_up(&f);
	f.job.records = 2;
	f.group.count = INT64_MAX;
	f.group.distribution = NB_DIST_ZIPFIAN_YCSB;
	f.group.weights[NB_OP_INSERT] = 1;
	f.group.weights[NB_OP_READ] = 1;
	make_spec(&f, &f.group, 0, 1);
	uint32_t seen[2] = {0};
	each_op(&f.maker, 0, count_read, seen);
	ck_assert_uint_eq(seen[0] + seen[1], OPS_STRATUM / 2);
	tear_down(&f);
}

/** The order within strata is random: the kinds do not come one after the other. */
TEST(order_within_strata_is_mixed)
{
	struct fixture f;
	uint8_t kinds[OPS_STRATUM];
	uint64_t at[OPS_STRATUM] = {0};
	set_up(&f);
	f.group.weights[NB_OP_READ] = 50;
	f.group.weights[NB_OP_UPDATE] = 50;
	make_spec(&f, &f.group, 0, 1);
	for (uint64_t s = 0; s < 4096; s++) {
		ops_kinds(&f.spec, s, kinds);
		for (uint32_t j = 0; j < OPS_STRATUM; j++)
			at[j] += kinds[j] == NB_OP_READ;
	}
	/*
	 * binomial(4096, 1/2) has a standard deviation of 32; the limit at 64 places is 6 of
	 * them
	 */
	for (uint32_t j = 0; j < OPS_STRATUM; j++)
		ck_assert(at[j] > 2048 - 192 && at[j] < 2048 + 192);
	tear_down(&f);
}

struct inserts {
	const struct ops_spec *spec;
	uint64_t next; /* index of the next insert */
};

static void
check_insert(const struct ops_op *op, void *arg)
{
	struct inserts *inserts = arg;
	if (op->kind != NB_OP_INSERT)
		return;
	ck_assert_uint_eq(op->numbers[0], ops_inserted_number(inserts->spec, inserts->next));
	ck_assert_uint_eq(
		inserter_stratum(inserts->spec, op->numbers[0]), op->index / OPS_STRATUM);
	inserts->next++;
}

TEST(inserts_take_the_next_record_each)
{
	for (uint32_t stream = 0; stream < 3; stream++) {
		struct fixture f;
		set_up(&f);
		f.group.weights[NB_OP_READ] = 95;
		f.group.weights[NB_OP_INSERT] = 5;
		make_spec(&f, &f.group, stream, 3);
		struct inserts inserts = {.spec = &f.spec};
		for (uint64_t s = 0; s < STRATA; s++)
			each_op(&f.maker, s, check_insert, &inserts);
		ck_assert_uint_eq(inserts.next, STRATA * OPS_STRATUM * 5 / 100);
		ck_assert_uint_eq(ops_inserted_number(&f.spec, 0), RECORDS + stream);
		ck_assert_uint_eq(ops_inserted_number(&f.spec, 1), RECORDS + stream + 3);
		ck_assert_uint_eq(inserter_stratum(&f.spec, RECORDS - 1), UINT64_MAX);
		tear_down(&f);
	}
}

TEST(loading_inserts_all_records_in_order)
{
	struct fixture f;
	set_up(&f);
	make_spec(&f, &f.loading, 0, 1);
	ops_begin(&f.maker, 3);
	ck_assert_uint_gt(ops_make(&f.maker), 0);
	ck_assert_uint_eq(f.maker.ops[0].numbers[0], 3 * OPS_STRATUM);
	ck_assert_uint_eq(ops_version(&f.spec, 5), 0);
	tear_down(&f);
}

struct bounds {
	const struct ops_spec *spec;
	uint64_t newest; /* the newest record chosen so far */
};

static void
check_bounds(const struct ops_op *op, void *arg)
{
	struct bounds *bounds = arg;
	const struct ops_spec *spec = bounds->spec;
	uint64_t stratum = op->index / OPS_STRATUM, needed = ops_needs(spec, stratum);
	if (op->kind == NB_OP_INSERT)
		return;
	for (uint32_t k = 0; k < op->items; k++) {
		uint64_t number = op->numbers[k];
		if (number < RECORDS)
			continue;
		uint64_t inserter = inserter_stratum(spec, number);
		ck_assert_uint_lt(inserter, needed);
		if (number > bounds->newest)
			bounds->newest = number;
	}
}

TEST(only_existing_records_are_chosen)
{
	struct fixture f;
	set_up(&f);
	f.group.weights[NB_OP_READ] = 90;
	f.group.weights[NB_OP_MULTIGET] = 5;
	f.group.weights[NB_OP_INSERT] = 5;
	f.group.distribution = NB_DIST_LATEST;
	make_spec(&f, &f.group, 1, 2);
	struct bounds bounds = {.spec = &f.spec};
	for (uint64_t s = 0; s < STRATA; s++)
		each_op(&f.maker, s, check_bounds, &bounds);
	/*
	 * 'latest' really chooses the latest: of 640 inserts the last ones, except for the lag
	 */
	uint64_t last = ops_count_before(
		&f.spec, NB_OP_INSERT, (STRATA - 1 - 256 / OPS_STRATUM) * OPS_STRATUM);
	ck_assert_uint_ge(bounds.newest, ops_inserted_number(&f.spec, last - 10));
	tear_down(&f);
}

static void
check_writes(const struct ops_op *op, void *arg)
{
	const struct ops_spec *spec = arg;
	bool is_write = ops_is_write(op->kind);
	for (uint32_t k = 0; k < op->items; k++)
		ck_assert_int_eq(ops_writes(spec, op->index, op->numbers[k]), is_write);
	ck_assert(!ops_writes(spec, op->index, 987654321));
}

TEST(operation_reports_its_writes)
{
	struct fixture f;
	set_up(&f);
	set_all_kinds(&f);
	f.group.distribution = NB_DIST_ZIPFIAN;
	make_spec(&f, &f.group, 0, 1);
	for (uint64_t s = 0; s < 50; s++)
		each_op(&f.maker, s, check_writes, &f.spec);
	tear_down(&f);
}

struct drawn_items {
	uint64_t ops, items, least, most;
};

static void
note_items(const struct ops_op *op, void *arg)
{
	struct drawn_items *drawn = arg;
	if (!ops_is_many(op->kind)) {
		ck_assert_uint_eq(op->items, 1);
		return;
	}
	drawn->ops++;
	drawn->items += op->items;
	drawn->least = op->items < drawn->least ? op->items : drawn->least;
	drawn->most = op->items > drawn->most ? op->items : drawn->most;
}

TEST(number_of_items_is_drawn_for_each_operation)
{
	struct fixture f;
	struct drawn_items drawn = {.least = UINT64_MAX};
	set_up(&f);
	set_all_kinds(&f);
	f.group.items = 500;
	f.group.item_sizes = (struct nb_sizes){.kind = NB_SIZE_UNIFORM, .min = 2, .max = 500};
	make_spec(&f, &f.group, 0, 1);
	for (uint64_t s = 0; s < STRATA; s++)
		each_op(&f.maker, s, note_items, &drawn);
	/*
	 * uniform: standard deviation 144; with more than 7000 draws, 10 is six times that of
	 * the mean
	 */
	ck_assert_uint_gt(drawn.ops, 7000);
	double mean = (double)drawn.items / (double)drawn.ops;
	ck_assert(mean > 241 && mean < 261);
	ck_assert_uint_eq(drawn.least, 2);
	ck_assert_uint_eq(drawn.most, 500);
	for (uint64_t s = 0; s < 5; s++)
		each_op(&f.maker, s, check_writes, &f.spec);
	tear_down(&f);
}

/* ---- private ranges of keys ---- */

enum { RANGES = 7, SPACE = 1500 };

struct slices {
	uint64_t ends[RANGES]; /* number after the last record of each range */
	uint64_t all;          /* records visited in a whole round */
	uint8_t seen[SPACE];
};

static void
look_in_slice(const struct ops_op *op, void *arg)
{
	struct slices *slices = arg;
	uint32_t range = (uint32_t)(op->index / OPS_STRATUM % RANGES);
	for (uint32_t k = 0; k < op->items; k++) {
		uint64_t number = op->numbers[k];
		ck_assert_uint_lt(number, slices->ends[range]);
		ck_assert_uint_ge(number, range > 0 ? slices->ends[range - 1] : 0);
		slices->all += slices->seen[number]++ == 0;
	}
}

TEST(threads_with_private_ranges_go_to_their_own_slices)
{
	static const uint32_t kinds[] = {NB_OP_READ, NB_OP_MULTIGET, NB_OP_SCAN, NB_OP_UPSERT,
		NB_OP_DELETE, NB_OP_TXN_WRITE};
	for (uint32_t distribution = 0; distribution < NB_DIST_KINDS; distribution++)
		for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
			bool is_of_space = kinds[k] == NB_OP_UPSERT || kinds[k] == NB_OP_DELETE;
			struct slices slices = {.all = 0};
			struct fixture f;
			set_up(&f);
			f.job.space = SPACE;
			f.group.threads = RANGES;
			f.group.key_range = NB_RANGE_PRIVATE;
			f.group.distribution = distribution;
			f.group.weights[kinds[k]] = 3;
			f.group.weights[NB_OP_READ] += kinds[k] == NB_OP_READ;
			make_spec(&f, &f.group, 0, 1);
			/* 1000 = 6 * 143 + 142, 1500 = 2 * 215 + 5 * 214 */
			for (uint64_t r = 0, end = 0; r < RANGES; r++)
				slices.ends[r] = end += is_of_space ? 214 + (r < 2)
								    : 142 + (r < 6);
			for (uint64_t s = 0; s < 40 * RANGES; s++)
				each_op(&f.maker, s, look_in_slice, &slices);
			if (distribution == NB_DIST_SEQUENTIAL)
				ck_assert_uint_eq(slices.all, is_of_space ? SPACE : RECORDS);
			ck_assert_uint_gt(slices.all, RANGES);
			tear_down(&f);
		}
}

static void
look_at_next(const struct ops_op *op, void *arg)
{
	uint64_t *next = arg;
	ck_assert_uint_eq(op->numbers[0], (*next)++);
}

TEST(private_range_is_visited_in_order)
{
	struct fixture f;
	set_up(&f);
	f.job.records = 3 * 640 + 2; /* slices of 641, 641 and 640 */
	f.group.threads = 3;
	f.group.key_range = NB_RANGE_PRIVATE;
	f.group.distribution = NB_DIST_SEQUENTIAL;
	f.group.weights[NB_OP_UPDATE] = 1;
	make_spec(&f, &f.group, 0, 1);
	ck_assert(!ops_is_once(&f.spec));
	for (uint64_t range = 0, begin = 0; range < 3;
		begin += range < 2 ? 641 : 640, range++) {
		uint64_t next = begin;
		for (uint64_t turn = 0; turn < 10; turn++)
			each_op(&f.maker, turn * 3 + range, look_at_next, &next);
		ck_assert_uint_eq(next, begin + 640);
	}
	/* the ranges depend on the total number of threads */
	ops_spec_divide(&f.spec, 1922);
	for (uint64_t s = 0; s < 1922; s++)
		ck_assert(ops_writes(&f.spec, s * OPS_STRATUM + 5, s));
	tear_down(&f);
}

/* ---- visiting records that another group has put ---- */

enum { PUTTERS = 3, VISITS_MAX = 1000 };

struct visits {
	uint64_t numbers[VISITS_MAX], count;
	uint64_t limit; /* number of operations that the current thread has executed */
};

static void
note_visit(const struct ops_op *op, void *arg)
{
	struct visits *visits = arg;
	if (visits->count < visits->limit)
		visits->numbers[visits->count++] = op->numbers[0];
}

static int
compare_numbers(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;
	return *a < *b ? -1 : *a > *b;
}

/** Visit the first visits->limit operations of the threads, in the order of their strata. */
static void
visit_turns(struct ops_maker *maker, struct ops_turns turns, struct visits *visits)
{
	for (uint64_t s = 0; visits->count < visits->limit; s++) {
		uint64_t turn = s % turns.of_all;
		if (turn >= turns.before && turn < turns.before + turns.threads)
			each_op(maker, s, note_visit, visits);
	}
}

/** done[t]: number of operations that thread t of `did` has executed. */
static void
check_again(struct fixture *f, const uint64_t done[PUTTERS], struct ops_turns did,
	struct ops_turns visit)
{
	static struct visits puts, gets;
	uint64_t before[PUTTERS];
	struct nb_group getters = group_of("gets");
	struct ops_maker maker;
	puts = gets = (struct visits){.count = 0};
	for (uint32_t t = 0; t < PUTTERS; t++) {
		struct ops_turns own = {1, did.before + t, did.of_all};
		before[t] = puts.limit;
		puts.limit += done[t];
		visit_turns(&f->maker, own, &puts);
	}
	struct ops_again again = {.of = &f->spec,
		.count = puts.count,
		.bits = ops_again_bits(puts.count),
		.visit = visit,
		.did = did,
		.before = before};
	struct ops_spec spec;
	getters.weights[NB_OP_READ] = 1;
	getters.weights[NB_OP_DELETE] = puts.count % 2;
	ops_spec_create(&spec, &f->job, &getters, &f->keys, &f->sizes, 1, 2);
	ops_spec_go_again(&spec, &again);
	ck_assert_int_eq(ops_maker_create(&maker, &spec), NB_OK);
	gets.limit = puts.count;
	visit_turns(&maker, visit, &gets);
	bool is_permuted = memcmp(gets.numbers, puts.numbers, gets.count * 8) != 0;
	ck_assert(is_permuted || puts.count < OPS_STRATUM);
	qsort(puts.numbers, puts.count, 8, compare_numbers);
	qsort(gets.numbers, gets.count, 8, compare_numbers);
	ck_assert_mem_eq(gets.numbers, puts.numbers, gets.count * 8);
	ops_maker_destroy(&maker);
}

TEST(each_put_is_visited_again_once)
{
	static const uint32_t kinds[] = {NB_OP_UPSERT, NB_OP_UPDATE, NB_OP_RMW, NB_OP_INSERT};
	static const uint64_t done[][PUTTERS] = {
		{1, 0, 0}, {0, 0, 2}, {64, 64, 64}, {200, 3, 65}, {0, 333, 640}};
	for (uint32_t distribution = 0; distribution < NB_DIST_KINDS; distribution++)
		for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
			for (size_t d = 0; d < sizeof(done) / sizeof(*done); d++) {
				struct fixture f;
				set_up(&f);
				f.job.space = UINT64_C(1) << 20;
				f.group.distribution = distribution;
				f.group.weights[kinds[k]] = 5;
				make_spec(&f, &f.group, 0, 2);
				check_again(&f, done[d],
					(struct ops_turns){PUTTERS, 0, PUTTERS},
					(struct ops_turns){1, 0, 1});
				check_again(&f, done[d], (struct ops_turns){PUTTERS, 6, 9},
					(struct ops_turns){2, 4, 6});
				tear_down(&f);
			}
}

/** An operation in a block overwrites an earlier one, of which nothing may remain. */
static void
check_length(const struct ops_op *op, void *arg)
{
	(void)arg;
	ck_assert_uint_eq(op->length > 0, op->kind == NB_OP_SCAN);
}

TEST(only_scans_have_a_length)
{
	static const uint32_t kinds[] = {
		NB_OP_READ, NB_OP_UPDATE, NB_OP_INSERT, NB_OP_MULTIGET};
	for (size_t k = 0; k < 4; k++) {
		struct fixture f;
		set_up(&f);
		f.group.weights[kinds[k]] = 1;
		f.group.weights[NB_OP_SCAN] = 1;
		make_spec(&f, &f.group, 0, 1);
		for (uint64_t s = 0; s < STRATA; s++)
			each_op(&f.maker, s, check_length, NULL);
		tear_down(&f);
	}
}

/** Print the effect of an operation on its record to a stream. */
static void
print_addition(const struct ops_op *op, void *arg)
{
	ck_assert_uint_eq(op->items, 1);
	ck_assert_uint_eq(op->steps[0].verb, NB_STEP_MERGE);
	fprintf(arg, "%llu %llu %d\n", (unsigned long long)op->numbers[0],
		(unsigned long long)op->steps[0].operand,
		memcmp(op->steps[0].key.data, op->keys[0].data, op->keys[0].size));
}

static char *
additions_of(uint32_t kind, uint32_t distribution)
{
	struct nb_kind own = {.name = "own",
		.step_count = 1,
		.steps = {{.verb = NB_STEP_MERGE, .times_min = 1, .times_max = 1}}};
	struct fixture f;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	set_up(&f);
	f.job.kinds = &own;
	f.job.kind_count = 1;
	f.group.distribution = distribution;
	f.group.weights[kind] = 1;
	make_spec(&f, &f.group, 0, 1);
	for (uint64_t s = 0; s < STRATA; s++)
		each_op(&f.maker, s, print_addition, out);
	tear_down(&f);
	fclose(out);
	return text;
}

/**
 * Separate code makes the kind `add`. Its operations equal those of any kind with this step.
 */
TEST(add_equals_a_kind_of_one_addition)
{
	for (uint32_t distribution = 0; distribution < NB_DIST_KINDS; distribution++) {
		char *add = additions_of(KIND_ADD, distribution);
		char *own = additions_of(KIND_OWN, distribution);
		ck_assert(strcmp(add, own) == 0);
		free(add);
		free(own);
	}
}
