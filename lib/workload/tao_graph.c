/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ids and keys of the social graph and their inverses.
 *
 * The published layout of an id is shard << 57 | (sequence & 0x1ffff) << 40 | (ns &
 * 0xffffffffff), with a counter that is incremented for each id and the wall clock. So the ids
 * of a shard ascend until the counter wraps, which determines where an engine inserts. Here the
 * clock is a function of the counter, TAO_STEP_NS later for each id. The number n of an id
 * follows from its counter and time: each round of the counter adds an odd number to the time,
 * which is invertible mod 2^40. So all ids differ, and a key found by a scan identifies its
 * record.
 *
 * In the original each thread has a counter with a random start. One counter gives the same
 * order inside a shard: that of one loading thread.
 */
#include "workload/tao_graph.h"

#include <stdlib.h>

#include "base/error.h"
#include "workload/sizes.h"

/* Separates the random numbers of a graph from those of operations. */
#define GRAPH_SALT UINT64_C(0x7a6f2b8c4d1e9053)

static void
alias_destroy(struct tao_alias *alias)
{
	free(alias->slots);
	*alias = (struct tao_alias){0};
}

/** Fill slots with a share below 1 / count from those above. */
static void
fill_slots(struct tao_alias *alias, double *shares, uint32_t *light, uint32_t *heavy)
{
	uint32_t lights = 0, heavies = 0;
	for (uint32_t i = 0; i < alias->count; i++) {
		if (shares[i] < 1)
			light[lights++] = i;
		else
			heavy[heavies++] = i;
	}
	while (lights > 0 && heavies > 0) {
		uint32_t small = light[--lights], large = heavy[heavies - 1];
		struct tao_slot *slot = &alias->slots[small];
		slot->bar = (uint64_t)(shares[small] * 18446744073709551616.0);
		slot->other = alias->slots[large].own;
		shares[large] -= 1 - shares[small];
		if (shares[large] < 1)
			light[lights++] = heavy[--heavies];
	}
	/* The remaining shares are 1, apart from rounding: they always draw `own`. */
}

/**
 * Draw values[i], or i if `values` is NULL, with the probability weights[i] / sum. If all
 * weights are 0, it draws nothing.
 */
static int
alias_create(
	struct tao_alias *alias, const double *weights, const uint32_t *values, uint32_t count)
{
	double sum = 0;
	*alias = (struct tao_alias){.slots = calloc(count + 1, sizeof(*alias->slots))};
	double *shares = calloc(count + 1, sizeof(*shares));
	uint32_t *room = calloc(2 * (size_t)count + 2, sizeof(*room));
	bool has_room = alias->slots != NULL && shares != NULL && room != NULL;
	for (uint32_t i = 0; i < count; i++)
		sum += weights[i];
	for (uint32_t i = 0; i < count && has_room; i++) {
		uint32_t own = values != NULL ? values[i] : i;
		if (weights[i] <= 0)
			continue;
		shares[alias->count] = weights[i] / sum;
		alias->slots[alias->count++] = (struct tao_slot){UINT64_MAX, own, own};
	}
	for (uint32_t i = 0; i < alias->count && has_room; i++)
		shares[i] *= alias->count;
	if (has_room)
		fill_slots(alias, shares, room, room + count + 1);
	free(shares);
	free(room);
	if (has_room)
		return NB_OK;
	alias_destroy(alias);
	return error_memory();
}

/** The inverse of `odd` mod 2^64. Each round doubles the number of right bits. */
static uint64_t
inverse(uint64_t odd)
{
	uint64_t result = odd;
	for (int i = 0; i < 6; i++)
		result *= 2 - odd * result;
	return result;
}

/** Threshold for the share of objects in objects + edges. */
static uint64_t
bar_of(double objects, double edges)
{
	double share = objects + edges > 0 ? objects / (objects + edges) : 0;
	return share < 1 ? (uint64_t)(share * 18446744073709551616.0) : UINT64_MAX;
}

static void
create_bars(struct tao_graph *graph, const struct tao_file *file)
{
#define SHARE(law, place) tao_file_share(file, law, place)
	static const uint32_t writes[][3] = {{TAO_BAR_INSERT, TAO_ADD_OBJECT, TAO_ADD_EDGE},
		{TAO_BAR_UPDATE, TAO_UPDATE_OBJECT, TAO_UPDATE_EDGE},
		{TAO_BAR_DELETE, TAO_DELETE_OBJECT, TAO_DELETE_EDGE}};
	double object = SHARE(TAO_READS, TAO_READ_OBJECT);
	double in_txn = SHARE(TAO_TXN_READS, TAO_READ_OBJECT);
	graph->bars[TAO_BAR_READ] = bar_of(object, 1 - object);
	graph->bars[TAO_BAR_TXN_READ] = bar_of(in_txn, 1 - in_txn);
	for (uint32_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++)
		graph->bars[writes[i][0]] = bar_of(
			SHARE(TAO_WRITES, writes[i][1]), SHARE(TAO_WRITES, writes[i][2]));
#undef SHARE
}

/** The sizes of each class of read transactions. */
static int
create_classes(struct tao_graph *graph, const struct tao_law *law)
{
	double *weights = calloc(law->count + 1, sizeof(*weights));
	int rc = weights != NULL ? NB_OK : error_memory();
	for (uint32_t c = 0; c < TAO_CLASSES && rc == NB_OK; c++) {
		for (uint32_t i = 0; i < law->count; i++)
			weights[i] = tao_class_of(law->values[i]) == c ? law->weights[i] : 0;
		rc = alias_create(&graph->classes[c], weights, law->values, law->count);
	}
	free(weights);
	return rc;
}

/**
 * Draw the degrees of the groups, once for all shards. More groups would hardly change the
 * distribution and are slower to search.
 */
static int
create_groups(struct tao_graph *graph, const struct nb_sizes *law, uint64_t seed)
{
	enum { GROUPS = 1024 };
	struct sizes degrees;
	if (law->min == 1 && law->max == 1)
		return NB_OK;
	int rc = sizes_create(&degrees, law);
	if (rc != NB_OK)
		return rc;
	graph->group_begins = calloc(GROUPS + 1, sizeof(*graph->group_begins));
	if (graph->group_begins == NULL)
		rc = error_memory();
	graph->group_count = rc == NB_OK ? GROUPS : 0;
	for (uint32_t g = 0; g < graph->group_count; g++)
		graph->group_begins[g + 1] = graph->group_begins[g] +
			(uint32_t)sizes_draw(&degrees, &seed);
	sizes_destroy(&degrees);
	return rc;
}

uint64_t
tao_owner(const struct tao_graph *graph, uint64_t e, uint64_t *degree)
{
	uint32_t shard = (uint32_t)(e % graph->shards), low = 0, high = graph->group_count;
	*degree = 1;
	if (high == 0)
		return e;
	uint64_t nth = e / graph->shards, period = graph->group_begins[high];
	uint64_t round = nth / period * period, of_shard = tao_edges_of(graph, shard);
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (graph->group_begins[middle] <= nth - round)
			low = middle;
		else
			high = middle;
	}
	uint64_t begin = round + graph->group_begins[low];
	uint64_t end = round + graph->group_begins[low + 1];
	*degree = (end < of_shard ? end : of_shard) - begin;
	return begin * graph->shards + shard;
}

int
tao_graph_create(struct tao_graph *graph, const struct tao_file *file, uint64_t edges,
	const struct nb_sizes *degree, uint64_t seed)
{
	uint32_t shards = TAO_SHARDS;
	*graph = (struct tao_graph){.edges = edges,
		.seed = splitmix64_mix(seed ^ GRAPH_SALT),
		.unlap = inverse(TAO_LAP_NS) & TAO_TIME_MASK};
	graph->start = graph->seed & TAO_SEQUENCE_MASK;
	for (uint32_t law = TAO_PRIMARY_SHARDS; law <= TAO_REMOTE_SHARDS; law++)
		shards = file->laws[law].count > shards ? file->laws[law].count : shards;
	graph->shards = shards;
	if (edges < shards)
		return error_set(NB_ERR_USAGE, "edges: %llu are too few for %u shards",
			(unsigned long long)edges, shards);
	int rc = NB_OK;
	for (uint32_t i = 0; i < TAO_LAWS && rc == NB_OK; i++) {
		const struct tao_law *law = &file->laws[i];
		rc = alias_create(&graph->laws[i], law->weights, law->values, law->count);
	}
	if (rc == NB_OK)
		rc = create_groups(graph, degree, graph->seed);
	graph->hash = file->hash;
	for (uint32_t g = 0; g < graph->group_count; g++)
		graph->hash = splitmix64_mix(graph->hash + graph->group_begins[g + 1]);
	if (rc == NB_OK)
		rc = create_classes(graph, &file->laws[TAO_TXN_READ_SIZES]);
	create_bars(graph, file);
	if (rc != NB_OK)
		tao_graph_destroy(graph);
	return rc;
}

void
tao_graph_destroy(struct tao_graph *graph)
{
	free(graph->group_begins);
	for (uint32_t c = 0; c < TAO_CLASSES; c++)
		alias_destroy(&graph->classes[c]);
	for (uint32_t i = 0; i < TAO_LAWS; i++)
		alias_destroy(&graph->laws[i]);
}

/* ---- keys and their inverses ---- */

static uint64_t
get_id(const uint8_t *in)
{
	uint64_t bytes;
	memcpy(&bytes, in, sizeof(bytes));
	return __builtin_bswap64(bytes);
}

/** The number of an id, if it is valid. */
static uint64_t
nth_of(const struct tao_graph *graph, uint64_t id)
{
	uint64_t low = ((id >> TAO_TIME_BITS) - graph->start) & TAO_SEQUENCE_MASK;
	uint64_t lap = ((id & TAO_TIME_MASK) - low * TAO_STEP_NS) * graph->unlap;
	return (lap & TAO_TIME_MASK) << TAO_SEQUENCE_BITS | low;
}

bool
tao_key_number(const struct tao_graph *graph, struct nb_slice key, uint64_t *number)
{
	const uint8_t *in = key.data;
	uint8_t own[TAO_EDGE_KEY];
	bool is_edge = key.size == TAO_EDGE_KEY;
	if (key.size != TAO_OBJECT_KEY && !is_edge)
		return false;
	uint64_t nth = nth_of(graph, get_id(in + (is_edge ? 9 : 1)));
	*number = nth / 2 * TAO_PARTS + (is_edge ? TAO_EDGE : nth % 2);
	return tao_key(graph, *number, own) == key.size && memcmp(own, in, key.size) == 0;
}

void
tao_schema_create(struct tao_schema *schema, uint64_t edges, uint64_t value_size)
{
	static const struct nb_column id[] = {{"id", NB_COLUMN_U64, 0}};
	static const struct nb_column ids[] = {{"id1", NB_COLUMN_U64, 0},
		{"id2", NB_COLUMN_U64, 0}, {"type", NB_COLUMN_U8, 0}};
	schema->row[0] = (struct nb_column){"timestamp", NB_COLUMN_U64, 0};
	schema->row[1] = (struct nb_column){
		"value", NB_COLUMN_BYTES, (uint32_t)(value_size - TAO_AGE_BYTES)};
	schema->tables[TAO_OBJECTS] = (struct nb_table){.name = "objects",
		.prefix = {"o", 1},
		.key_columns = id,
		.value_columns = schema->row,
		.key_column_count = 1,
		.value_column_count = 2,
		.rows = 2 * edges};
	schema->tables[TAO_EDGES] = (struct nb_table){.name = "edges",
		.prefix = {"e", 1},
		.key_columns = ids,
		.value_columns = schema->row,
		.key_column_count = 3,
		.value_column_count = 2,
		.rows = edges};
}
