/* SPDX-License-Identifier: BSD-2-Clause */
/* The social graph of TAOBench and its operations, compared with the published files. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "laws.h"
#include "unit.h"
#include "workload/job.h"
#include "workload/ops.h"
#include "workload/tao_job.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

enum { EDGES = 20000, NUMBERS_BITS = 62 };

bool unit_in_scratch = true;

struct graph {
	struct nb_job *job;
	struct keyspace keys;
	struct sizes sizes;
	struct ops_spec spec;
	struct ops_maker maker;
};

/** Create a job. `settings` are assignments of keys; NULL ends them. */
static void
set_up(struct graph *g, const char *name, const char *const *settings)
{
	memset(g, 0, sizeof(*g));
	ck_assert_int_eq(nb_job_read(&g->job, name), NB_OK);
	for (; settings != NULL && *settings != NULL; settings++)
		ck_assert_int_eq(nb_job_set(g->job, *settings), NB_OK);
	ck_assert_int_eq(nb_job_check(g->job), NB_OK);
	ck_assert_int_eq(keyspace_create(&g->keys, g->job, UINT64_C(1) << NUMBERS_BITS), NB_OK);
	ck_assert_int_eq(sizes_create(&g->sizes, &g->job->values), NB_OK);
	ops_spec_create(&g->spec, g->job, &g->job->groups[0], &g->keys, &g->sizes, 0, 1);
	ck_assert_int_eq(ops_maker_create(&g->maker, &g->spec), NB_OK);
}

static void
tear_down(struct graph *g)
{
	ops_maker_destroy(&g->maker);
	sizes_destroy(&g->sizes);
	keyspace_destroy(&g->keys);
	nb_job_delete(g->job);
}

typedef void
look_fn(const struct graph *g, const struct ops_op *op, void *arg);

static void
each_op(struct graph *g, uint64_t strata, look_fn *look, void *arg)
{
	for (uint64_t s = 0; s < strata; s++) {
		uint32_t made;
		ops_begin(&g->maker, s);
		while ((made = ops_make(&g->maker)) > 0) {
			for (uint32_t j = 0; j < made; j++)
				look(g, &g->maker.ops[j], arg);
		}
	}
}

/* ---- the published files ---- */

TEST(the_published_files_are_read_and_their_unused_names_kept)
{
	static const char *const names[] = {"taobench-o", "taobench-a"};
	for (size_t i = 0; i < 2; i++) {
		struct graph g;
		set_up(&g, names[i], NULL);
		ck_assert_ptr_null(g.job->graph->unknown);
		ck_assert_ptr_nonnull(strstr(g.job->graph->unused, "read_tiers"));
		ck_assert_uint_eq(g.job->graph->laws[TAO_PRIMARY_SHARDS].count, 50);
		ck_assert_uint_eq(g.job->graph->laws[TAO_TXN_READ_SIZES].count, 500);
		ck_assert_uint_eq(g.job->records, 3 * g.job->edges);
		tear_down(&g);
	}
}

TEST(defect_of_a_file_is_reported_with_its_line)
{
	static const struct {
		const char *text, *said;
	} wrong[] = {
		{"{\"name\": \"operations\", \"weights\": [1,2,3]}\n",
			"3 weights; allowed: 4 to 4"},
		{"{\"name\": \"operations\", \"weights\": [0,0,0,0]}\n", "sum up to nothing"},
		{"{\"name\": \"operations\", \"weights\": [1,-2,3,4]}\n", "from 0 up"},
		{"{\"name\": \"edge_types\", \"values\": [\"uniqe\"], \"weights\": [1]}\n",
			"unknown type 'uniqe'"},
		{"{\"name\": \"read_txn_sizes\", \"values\": [2000], \"weights\": [1]}\n",
			"1 to 1024"},
		{"{\"name\": \"write_txn_sizes\", \"values\": [1,2], \"weights\": [1]}\n",
			"go by pairs"},
		{"operations\n", "each line is a JSON object"},
		{"{\"name\": \"operations\", \"weights\": [1,1,1,1]}\n", "has no line"},
	};
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct tao_file *file = NULL;
		FILE *out = fopen("wrong.json", "w");
		ck_assert_ptr_nonnull(out);
		fputs(wrong[i].text, out);
		fclose(out);
		ck_assert_int_eq(tao_file_read(&file, "wrong.json"), NB_ERR_USAGE);
		ck_assert_msg(
			strstr(nb_error_text(), wrong[i].said) != NULL, "%s", nb_error_text());
		ck_assert_ptr_nonnull(strstr(nb_error_text(), "wrong.json"));
	}
}

/* ---- ids and keys ---- */

static uint64_t
id_in(const uint8_t *bytes)
{
	uint64_t id = 0;
	for (int i = 0; i < 8; i++)
		id = id << 8 | bytes[i];
	return id;
}

TEST(ids_have_the_published_layout_and_ascend_within_a_shard)
{
	struct graph g;
	uint8_t key[TAO_EDGE_KEY];
	uint64_t last[TAO_SHARDS] = {0};
	uint32_t falls = 0;
	set_up(&g, "taobench-o", NULL);
	for (uint64_t e = 0; e < EDGES; e++) {
		ck_assert_uint_eq(keyspace_key(&g.keys, e * TAO_PARTS, key), TAO_OBJECT_KEY);
		uint64_t id = id_in(key + 1);
		LAW_MUST(id >> 57 == e % TAO_SHARDS); /* the shard is in the bits from 57 on */
		falls += id < last[e % TAO_SHARDS];
		last[e % TAO_SHARDS] = id;
	}
	/* A 17-bit sequence number wraps at most once in 40,000 ids. */
	ck_assert_uint_le(falls, TAO_SHARDS);
	tear_down(&g);
}

TEST(keys_are_unique_and_identify_their_record)
{
	static const uint64_t bases[] = {
		0, 59000, UINT64_C(1) << 30, UINT64_C(1) << 47, UINT64_C(1) << 56};
	static const char *const degree[] = {"degree=uniform:1..9", NULL};
	for (int with_degree = 0; with_degree < 2; with_degree++) {
		struct graph g;
		set_up(&g, "taobench-o", with_degree ? degree : NULL);
		for (size_t b = 0; b < COUNT_OF(bases); b++) {
			for (uint64_t n = bases[b]; n < bases[b] + 1000; n++) {
				uint8_t bytes[TAO_EDGE_KEY];
				uint64_t number;
				struct nb_slice key = {bytes, keyspace_key(&g.keys, n, bytes)};
				LAW_MUST(keyspace_number(&g.keys, key, &number));
				LAW_MUST(number == n);
				bytes[key.size - 1] ^=
					0x40; /* no type, and the id's time is missing */
				LAW_MUST(
					!keyspace_number(&g.keys, key, &number) || number != n);
			}
		}
		tear_down(&g);
	}
}

TEST(number_of_edges_of_an_object_follows_the_degree)
{
	static const char *const degree[] = {"degree=4", "edges=10000", NULL};
	struct graph g;
	set_up(&g, "taobench-o", degree);
	for (uint64_t e = 0; e < 10000; e++) {
		uint64_t degrees, owner = tao_owner(g.keys.graph, e, &degrees);
		LAW_MUST(owner % TAO_SHARDS == e % TAO_SHARDS && owner <= e);
		LAW_MUST(degrees == 4 && (e - owner) / TAO_SHARDS < 4);
		LAW_MUST(tao_first_id(g.keys.graph, e) == tao_object_id(g.keys.graph, owner));
	}
	tear_down(&g);
}

/* ---- the distributions ---- */

struct seen {
	uint64_t kinds[NB_KINDS_MAX], reads[2], txn_reads[2], writes[6], txn_writes[6];
	uint64_t read_sizes[TAO_READS_MAX + 1], write_sizes[TAO_WRITES_MAX + 1];
	uint64_t shards[TAO_SHARDS], types[TAO_TYPES], remotes[TAO_SHARDS];
	uint64_t writes_made;
};

/** The index of a write in the file's list: inserts and updates; deletes do not occur. */
static uint32_t
type_of(const struct nb_step *step)
{
	uint32_t verb = step->verb == NB_STEP_INSERT ? 0 : 1;
	return step->table * 3 + verb;
}

static void
look_at_step(struct seen *seen, const struct graph *g, const struct nb_step *step,
	uint64_t number, uint64_t *writes)
{
	const uint8_t *key = step->key.data;
	if (step->verb == NB_STEP_PREFIX_EMPTY)
		return;
	if (step->verb == NB_STEP_GET) {
		seen->txn_reads[step->table]++;
		return;
	}
	writes[type_of(step)]++;
	seen->writes_made++;
	if (step->verb != NB_STEP_INSERT || step->table != TAO_EDGES)
		return;
	seen->types[key[TAO_EDGE_KEY - 1]]++;
	seen->remotes[id_in(key + 9) >> 57]++;
	LAW_MUST(number >= g->job->edges * TAO_PARTS);
}

static void
look_at_law(const struct graph *g, const struct ops_op *op, void *arg)
{
	struct seen *seen = arg;
	uint64_t before = seen->writes_made;
	seen->kinds[op->kind]++;
	if (op->kind == NB_OP_READ) {
		const uint8_t *key = op->keys[0].data;
		seen->reads[op->numbers[0] % TAO_PARTS == TAO_EDGE]++;
		seen->shards[id_in(key + 1) >> 57]++;
		LAW_MUST(op->numbers[0] < g->job->records);
		return;
	}
	uint64_t *writes = op->kind == TAO_KIND_TXN_WRITE ? seen->txn_writes : seen->writes;
	for (uint32_t k = 0; k < op->items; k++)
		look_at_step(seen, g, &op->steps[k], op->numbers[k], writes);
	if (op->kind >= TAO_KIND_TXN_READ)
		seen->read_sizes[op->items]++;
	else if (op->kind == TAO_KIND_TXN_WRITE)
		seen->write_sizes[seen->writes_made - before]++;
}

static uint64_t
sum_of(const uint64_t *counts, size_t cells)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < cells; i++)
		sum += counts[i];
	return sum;
}

/** `observed` has a cell for each entry of the distribution or for each of its values. */
static void
check_law(const struct graph *g, uint32_t law, const uint64_t *observed, size_t cells)
{
	const struct tao_law *of = &g->job->graph->laws[law];
	double shares[100] = {0};
	uint64_t counts[100] = {0};
	size_t width = cells / COUNT_OF(counts) + 1; /* adjacent sizes share a cell */
	for (uint32_t i = 0; i < of->count; i++) {
		size_t cell = (of->values != NULL ? of->values[i] : i) / width;
		shares[cell] += tao_file_share(g->job->graph, law, i);
	}
	for (size_t i = 0; i < cells; i++)
		counts[i / width] += observed[i];
	double misfit = law_misfit(
		shares, counts, cells / width + 1, (double)sum_of(observed, cells));
	ck_assert_msg(misfit <= 1, "law %u: %.3f of the critical value", law, misfit);
}

TEST(draws_follow_the_published_laws)
{
	static const char *const names[] = {"taobench-o", "taobench-a"};
	static const uint64_t strata[] = {60000, 6000};
	for (size_t i = 0; i < 2; i++) {
		struct graph g;
		struct seen *seen = calloc(1, sizeof(*seen));
		uint64_t txn_reads[5] = {0};
		set_up(&g, names[i], NULL);
		each_op(&g, strata[i], look_at_law, seen);
		check_law(&g, TAO_PRIMARY_SHARDS, seen->shards, TAO_SHARDS);
		check_law(&g, TAO_TXN_READ_SIZES, seen->read_sizes, TAO_READS_MAX + 1);
		check_law(&g, TAO_TXN_WRITE_SIZES, seen->write_sizes, TAO_WRITES_MAX + 1);
		check_law(&g, TAO_TXN_WRITES, seen->txn_writes, 6);
		txn_reads[TAO_READ_OBJECT] = seen->txn_reads[TAO_OBJECTS];
		txn_reads[TAO_READ_EDGE] = seen->txn_reads[TAO_EDGES];
		check_law(&g, TAO_TXN_READS, txn_reads, 5);
		/* ranges, counts and times read one edge */
		double objects = tao_file_share(g.job->graph, TAO_READS, TAO_READ_OBJECT);
		double all = (double)(seen->reads[0] + seen->reads[1]);
		ck_assert_double_lt(fabs((double)seen->reads[0] / all - objects),
			4 * sqrt(objects * (1 - objects) / all));
		free(seen);
		tear_down(&g);
	}
}

static uint32_t
shard_of(uint64_t id)
{
	return (uint32_t)(id >> (TAO_SEQUENCE_BITS + TAO_TIME_BITS));
}

TEST(added_edges_follow_the_laws_of_types_and_remote_shards)
{
	struct graph g;
	uint64_t types[TAO_TYPES] = {0}, remotes[TAO_SHARDS] = {0}, shards[TAO_SHARDS] = {0};
	set_up(&g, "taobench-o", NULL);
	for (uint64_t e = 0; e < 200000; e++) {
		types[tao_type(g.keys.graph, e)]++;
		remotes[shard_of(tao_second_id(g.keys.graph, e))]++;
		shards[shard_of(tao_first_id(g.keys.graph, EDGES + e))]++;
	}
	check_law(&g, TAO_EDGE_TYPES, types, TAO_TYPES);
	check_law(&g, TAO_REMOTE_SHARDS, remotes, TAO_SHARDS);
	check_law(&g, TAO_PRIMARY_SHARDS, shards, TAO_SHARDS);
	tear_down(&g);
}

/** The rows that operations add, according to the file's shares. */
static double
growth_of(const struct graph *g, uint32_t single, uint32_t law_place)
{
	const struct tao_file *file = g->job->graph;
	const struct tao_law *sizes = &file->laws[TAO_TXN_WRITE_SIZES];
	double mean = 0;
	for (uint32_t i = 0; i < sizes->count; i++)
		mean += sizes->values[i] * tao_file_share(file, TAO_TXN_WRITE_SIZES, i);
	return tao_file_share(file, TAO_OPERATIONS, single) *
		tao_file_share(file, TAO_WRITES, law_place) +
		tao_file_share(file, TAO_OPERATIONS, TAO_OP_TXN_WRITE) * mean *
		tao_file_share(file, TAO_TXN_WRITES, law_place);
}

TEST(growth_is_that_of_the_mix)
{
	struct graph g;
	struct seen *seen = calloc(1, sizeof(*seen));
	uint64_t strata = 60000;
	double ops = (double)(strata * OPS_STRATUM);
	set_up(&g, "taobench-a", NULL);
	each_op(&g, strata, look_at_law, seen);
	double objects = (double)(seen->writes[0] + seen->txn_writes[0]);
	double predicted = ops * growth_of(&g, TAO_OP_WRITE, TAO_ADD_OBJECT);
	ck_assert_double_lt(fabs(objects / predicted - 1), 0.001);
	free(seen);
	tear_down(&g);
}

/* ---- steps ---- */

static void
look_at_writes(const struct graph *g, const struct ops_op *op, void *arg)
{
	uint64_t *looked = arg;
	for (uint32_t k = 0; op->steps != NULL && k < op->items; k++) {
		uint32_t verb = op->steps[k].verb;
		bool is_write = verb != NB_STEP_GET && verb != NB_STEP_PREFIX_EMPTY;
		if (!is_write || ++*looked % 64 != 0)
			continue;
		ck_assert(ops_writes(&g->spec, op->index, op->numbers[k]));
		uint64_t remote = op->numbers[k] / TAO_PARTS * TAO_PARTS + TAO_REMOTE_OBJECT;
		ck_assert(!ops_writes(&g->spec, op->index, remote));
		ck_assert(!ops_writes(&g->spec, op->index + 1, op->numbers[k]) ||
			op->numbers[k] < g->job->records);
		ck_assert_int_eq(ops_puts_at_once(&g->spec, op->index, op->numbers[k]),
			op->kind == TAO_KIND_TXN_WRITE);
	}
}

TEST(operation_reports_its_writes_afterwards)
{
	static const char *const settings[] = {"edges=300", NULL};
	struct graph g;
	uint64_t looked = 0;
	set_up(&g, "taobench-a", settings);
	each_op(&g, 1000, look_at_writes, &looked);
	ck_assert_uint_gt(looked, 10000);
	tear_down(&g);
}

static int
compare(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
	return one < other ? -1 : one > other;
}

struct inserted {
	size_t count;
	uint64_t numbers[100000];
};

static void
look_at_inserts(const struct graph *g, const struct ops_op *op, void *arg)
{
	struct inserted *inserted = arg;
	(void)g;
	for (uint32_t k = 0; op->steps != NULL && k < op->items; k++)
		if (op->steps[k].verb == NB_STEP_INSERT &&
			inserted->count < COUNT_OF(inserted->numbers))
			inserted->numbers[inserted->count++] = op->numbers[k] / TAO_PARTS;
}

TEST(no_id_is_inserted_twice_by_a_run_or_the_next_one)
{
	static const char *const epochs[] = {"epoch=0", "epoch=1"};
	struct inserted *all = calloc(1, sizeof(*all));
	for (size_t i = 0; i < 2; i++) {
		const char *const settings[] = {epochs[i], NULL};
		struct graph g;
		set_up(&g, "taobench-a", settings);
		each_op(&g, 5000, look_at_inserts, all);
		tear_down(&g);
	}
	ck_assert_uint_gt(all->count, 20000);
	ck_assert_uint_lt(all->count, COUNT_OF(all->numbers));
	qsort(all->numbers, all->count, sizeof(all->numbers[0]), compare);
	for (size_t i = 1; i < all->count; i++)
		LAW_MUST(all->numbers[i] != all->numbers[i - 1]);
	free(all);
}

/** Checks of an edge; each of them skips the insert if it fails. */
static void
look_at_checks(const struct graph *g, const struct ops_op *op, void *arg)
{
	uint64_t *types = arg;
	(void)g;
	if (op->kind != TAO_KIND_INSERT || op->steps[0].table != TAO_EDGES)
		return;
	uint32_t last = op->items - 1;
	const uint8_t *key = op->steps[last].key.data;
	uint32_t type = key[TAO_EDGE_KEY - 1];
	types[type]++;
	ck_assert_uint_eq(op->steps[last].verb, NB_STEP_INSERT);
	ck_assert_uint_eq(last, type == TAO_UNIQUE || type == TAO_UNIQUE_BIDIRECTIONAL ? 2 : 3);
	for (uint32_t k = 0; k < last; k++) {
		ck_assert_uint_eq(op->steps[k].verb, NB_STEP_PREFIX_EMPTY);
		ck_assert_uint_eq(op->steps[k].skips, last - k);
	}
	/* edges that start at its first object; the inverse edge */
	ck_assert_uint_eq(op->steps[0].key.size, 9);
	ck_assert_mem_eq(op->steps[0].key.data, key, 9);
	const uint8_t *back = op->steps[last - 1].key.data;
	ck_assert_uint_eq(op->steps[last - 1].key.size, 17);
	ck_assert_mem_eq(back + 1, key + 9, 8);
	ck_assert_mem_eq(back + 9, key + 1, 8);
}

TEST(an_edge_is_added_after_the_checks_of_its_type)
{
	struct graph g;
	uint64_t types[TAO_TYPES] = {0};
	set_up(&g, "taobench-a", NULL);
	each_op(&g, 1000, look_at_checks, types);
	for (uint32_t type = 0; type < TAO_TYPES; type++)
		ck_assert_uint_gt(types[type], 0);
	tear_down(&g);
}

static void
look_at_update(const struct graph *g, const struct ops_op *op, void *arg)
{
	uint64_t *looked = arg;
	if (op->kind != TAO_KIND_UPDATE)
		return;
	const struct nb_step *step = &op->steps[0];
	uint64_t age, version = ops_version(&g->spec, op->index), i;
	ck_assert_uint_eq(step->verb, NB_STEP_PUT_IF_NEWER);
	ck_assert_uint_eq(step->operand, 0);
	ck_assert_uint_eq(step->value.size, 158);
	memcpy(&age, step->value.data, sizeof(age));
	ck_assert_uint_eq(age, version);
	struct nb_slice body = ops_value_body(&g->spec, step->value);
	ck_assert_int_eq(value_check(body, 150, step->key), VALUE_GOOD);
	ck_assert_uint_eq(value_version(body), version);
	ck_assert(
		ops_version_index(&g->spec, version, value_versions(body.size), op->index, &i));
	ck_assert_uint_eq(i, op->index);
	++*looked;
}

TEST(an_update_has_the_age_of_its_operation_and_is_conditional)
{
	struct graph g;
	uint64_t looked = 0;
	set_up(&g, "taobench-a", NULL);
	each_op(&g, 20, look_at_update, &looked);
	ck_assert_uint_gt(looked, 100);
	tear_down(&g);
}

/* ---- jobs ---- */

TEST(a_job_with_a_graph_is_written_and_read_as_the_same)
{
	struct nb_job *job, *again;
	char *text, *second;
	FILE *out = fopen("graph.ini", "w");
	ck_assert_int_eq(nb_job_read(&job, "taobench-a"), NB_OK);
	ck_assert_int_eq(nb_job_set(job, "degree=zipfian:1..100"), NB_OK);
	ck_assert_int_eq(nb_job_set(job, "graph-update=blind"), NB_OK);
	ck_assert_int_eq(nb_job_write(job, &text), NB_OK);
	ck_assert_ptr_null(strstr(text, "[kind"));
	fputs(text, out);
	fclose(out);
	ck_assert_int_eq(nb_job_read(&again, "./graph.ini"), NB_OK);
	ck_assert_int_eq(nb_job_write(again, &second), NB_OK);
	ck_assert_str_eq(text, second);
	ck_assert_mem_eq(job->groups[0].weights, again->groups[0].weights,
		sizeof(job->groups[0].weights));
	free(text);
	free(second);
	nb_job_delete(job);
	nb_job_delete(again);
}

TEST(keys_determined_by_a_graph_cannot_be_set)
{
	struct nb_job *job;
	ck_assert_int_eq(nb_job_read(&job, "taobench-o"), NB_OK);
	ck_assert_int_eq(nb_job_set(job, "records=5"), NB_ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "set edges"));
	ck_assert_int_eq(nb_job_set(job, "read=5"), NB_ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "source = records"));
	ck_assert_int_eq(nb_job_set(job, "graph=no-such.json"), NB_ERR_USAGE);
	ck_assert_int_eq(nb_job_set(job, "value-size=20"), NB_OK);
	ck_assert_int_eq(nb_job_check(job), NB_ERR_USAGE);
	nb_job_delete(job);
}
