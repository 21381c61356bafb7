/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The keys of jobs: one table for files, command lines, written jobs and help. Its defaults are
 * texts, parsed by the same code as user input.
 */
#include "workload/job.h"

#include <pthread.h>
#include <string.h>

#include "workload/dist.h"
#include "workload/kinds.h"
#include "workload/op_kind.h"
#include "workload/source.h"
#include "workload/tao_graph.h"

#define JOB_FIELD(name) \
	.offset = offsetof(struct nb_job, name), .width = sizeof(((struct nb_job *)NULL)->name)
#define GROUP_FIELD(name) \
	.offset = offsetof(struct nb_group, name), \
	.width = sizeof(((struct nb_group *)NULL)->name)
#define SHARE(op, key, flags, counted, traced, text) \
	{.said = {.name = key, .arg = "SHARE", .def = "0", .help = text}, \
		.type = JOB_SHARE, \
		GROUP_FIELD(weights[NB_OP_##op])},
#define CHOICE(name) "|" name
#define SOURCE_CHOICE(id, name, table) "|" name
#define TEST_CHOICE(id, name) "|" name
#define IS_GLOBAL .is_global = 1

/* clang-format off */
const struct job_key job_keys[] = {
	{.said = {.name = "summary", .arg = "TEXT", IS_GLOBAL,
		.help = "one-line description of the workload"},
		.type = JOB_TEXT, JOB_FIELD(summary)},
	{.said = {.name = "records", .arg = "COUNT", .def = "100000", IS_GLOBAL,
		.help = "number of records that load inserts"},
		.type = JOB_COUNT, JOB_FIELD(records), .max = INT64_MAX, .is_shown = true},
	{.said = {.name = "space", .arg = "COUNT", .def = "0", IS_GLOBAL,
		.help = "number of records that upsert and delete use, existing or not; 0: as records"},
		.type = JOB_COUNT, JOB_FIELD(space), .max = INT64_MAX},
	{.said = {.name = "seed", .arg = "NUMBER", .def = "1", IS_GLOBAL,
		.help = "seed of all random choices; the same seed gives the same operations"},
		.type = JOB_COUNT, JOB_FIELD(seed), .max = UINT64_MAX},
	{.said = {.name = "key-format", .arg = "FORMAT", .def = "raw", IS_GLOBAL,
		.choices = "raw|text|be64|file|graph|words|letters",
		.help = "how a record's number becomes its key: bytes, prefix and decimal "
			"number, 8 bytes big-endian, the key at that place of the key file, "
			"graph id, one of several words and a number, or letters"},
		.type = JOB_CHOICE, JOB_FIELD(key_format), .is_shown = true},
	{.said = {.name = "key-order", .arg = "ORDER", .def = "hashed", IS_GLOBAL,
		.choices = "hashed|ordered|ycsb",
		.help = "transform the number first: scramble it, keep it, or hash it as YCSB does"},
		.type = JOB_CHOICE, JOB_FIELD(key_order), .is_shown = true},
	{.said = {.name = "key-size", .arg = "LEN", .def = "16", IS_GLOBAL,
		.help = "bytes of a key, with key-format raw, file or letters"},
		.type = JOB_BYTES, JOB_FIELD(key_size), .min = 1, .max = NB_KEY_SIZE_MAX},
	{.said = {.name = "key-prefix", .arg = "TEXT", .def = "user", IS_GLOBAL,
		.help = "prefix of keys, with key-format text; words of it, with key-format words: user|node"},
		.type = JOB_PREFIX, JOB_FIELD(key_prefix)},
	{.said = {.name = "key-digits", .arg = "COUNT", .def = "1", IS_GLOBAL,
		.help = "minimum number of digits in a key, with key-format text or words"},
		.type = JOB_COUNT, JOB_FIELD(key_digits), .min = 1, .max = NB_KEY_SIZE_MAX},
	{.said = {.name = "keys", .arg = "FILE", .def = "keys.bin", IS_GLOBAL,
		.help = "key file, with key-format file"},
		.type = JOB_TEXT, JOB_FIELD(keys_path), .min = 1},
	{.said = {.name = "value-size", .arg = "SIZES", .def = "100", IS_GLOBAL,
		.help = "bytes of a value: 100, uniform:10..1000, zipfian:10..1000, "
			"normal:MEAN,DEVIATION, pareto:SHAPE,SCALE,MIN..MAX or histogram:FILE"},
		.type = JOB_SIZES, JOB_FIELD(values), .is_shown = true},
	{.said = {.name = "value-ratio", .arg = "RATIO", .def = "0.5", IS_GLOBAL,
		.help = "size of a value after ideal compression, over its size; 1: incompressible"},
		.type = JOB_REAL, JOB_FIELD(value_ratio), .real_min = 0, .real_max = 1,
		.is_shown = true},
	{.said = {.name = "graph", .arg = "FILE", IS_GLOBAL,
		.help = "workload file of TAOBench: the records are objects and edges; a name "
			"without '/' is one that mininb has, workload_o.json or workload_a.json"},
		.type = JOB_GRAPH, JOB_FIELD(graph_text)},
	{.said = {.name = "edges", .arg = "COUNT", .def = "20000", IS_GLOBAL,
		.help = "with graph: number of edges that load inserts, each with two objects"},
		.type = JOB_COUNT, JOB_FIELD(edges), .min = 1, .max = UINT64_C(1) << 40},
	{.said = {.name = "degree", .arg = "COUNTS", .def = "1", IS_GLOBAL,
		.help = "with graph: number of edges that begin at the same object: 1, or "
			"drawn for each: uniform:1..10, zipfian:1..1000, normal:..., pareto:..."},
		.type = JOB_DEGREE, .offset = offsetof(struct nb_job, degree),
		.width = sizeof(uint64_t), .min = 1, .max = TAO_DEGREE_MAX},
	{.said = {.name = "graph-update", .arg = "HOW", .def = "rmw", IS_GLOBAL,
		.choices = "rmw|blind",
		.help = "with graph: an update reads the timestamp and writes if it is newer, or "
			"writes blindly"},
		.type = JOB_CHOICE, JOB_FIELD(graph_update)},
	{.said = {.name = "edge-range", .arg = "HOW", .def = "point", IS_GLOBAL,
		.choices = "point|scan",
		.help = "with graph: a read of an object's edges gets one of them, or scans all"},
		.type = JOB_CHOICE, JOB_FIELD(edge_range)},
	{.said = {.name = "preconditions", .arg = "yes|no", .def = "yes", IS_GLOBAL,
		.choices = "no|yes",
		.help = "with graph: add an edge only if the edges that are there allow its type"},
		.type = JOB_CHOICE, JOB_FIELD(preconditions)},
	{.said = {.name = "batch-read", .arg = "yes|no", .def = "no", IS_GLOBAL,
		.choices = "no|yes",
		.help = "with graph: before the run, read the keys of all edges in pages of 500, "
			"and report how long that took"},
		.type = JOB_CHOICE, JOB_FIELD(batch_read)},
	{.said = {.name = "epoch", .arg = "NUMBER", .def = "0", IS_GLOBAL,
		.help = "with graph: number of runs that the database has had; new ids and "
			"timestamps follow those of these runs"},
		.type = JOB_COUNT, JOB_FIELD(epoch), .max = 15},
	{.said = {.name = "lag", .arg = "COUNT", .def = "8192", IS_GLOBAL,
		.help = "delay, in operations, before an inserted record may be read"},
		.type = JOB_COUNT, JOB_FIELD(lag), .max = 1u << 30},
	{.said = {.name = "shard", .arg = "K/N", .def = "0/1", IS_GLOBAL,
		.help = "do only part K of the run's operations, of N parts 0/N to N-1/N for as "
			"many processes of mininb"},
		.type = JOB_SHARD, JOB_FIELD(shard), .max = 1024},

	OP_KINDS(SHARE)
	{.said = {.name = "add", .arg = "SHARE", .def = "0",
		.help = "share of additions to a counter; all records are then counters of 8 bytes"},
		.type = JOB_SHARE, GROUP_FIELD(weights[KIND_ADD])},
	{.said = {.name = "source", .arg = "NAME", .def = "records",
		.choices = &EACH_SOURCE(SOURCE_CHOICE)[1],
		.help = "what draws the operations of the group: records by its mix and "
			"distribution, or a sequence of Masstree's tests"},
		.type = JOB_CHOICE, GROUP_FIELD(source)},
	{.said = {.name = "masstree-test", .arg = "NAME", .def = "rw2",
		.choices = &MASSTREE_TESTS(TEST_CHOICE)[1],
		.help = "with source masstree: the sequence of operations"},
		.type = JOB_CHOICE, GROUP_FIELD(masstree_test)},
	{.said = {.name = "verify", .arg = "SHARE", .def = "0",
		.help = "share of the group's operations to verify, 0 to 1, if --verify-rate is lower "
			"and not 0"},
		.type = JOB_REAL, GROUP_FIELD(verify_rate), .real_min = 0, .real_max = 1},
	{.said = {.name = "distribution", .arg = "NAME", .def = "uniform",
		.choices = &DIST_NAMES(CHOICE)[1],
		.help = "how an operation chooses its record"},
		.type = JOB_CHOICE, GROUP_FIELD(distribution), .is_shown = true},
	{.said = {.name = "key-range", .arg = "RANGE", .def = "shared",
		.choices = "shared|private",
		.help = "records that a thread chooses from: all, or its own contiguous slice"},
		.type = JOB_CHOICE, GROUP_FIELD(key_range)},
	{.said = {.name = "again", .arg = "GROUP",
		.help = "visit the keys that this group of an earlier phase put, each put once, in "
			"permuted order"},
		.type = JOB_PREFIX, GROUP_FIELD(again)},
	{.said = {.name = "theta", .arg = "NUMBER", .def = "0.99",
		.help = "exponent of zipfian and latest"},
		.type = JOB_REAL, GROUP_FIELD(theta), .real_min = 0.001, .real_max = 100},
	{.said = {.name = "hot-share", .arg = "SHARE", .def = "0.2",
		.help = "hotspot: share of the records that is hot, 0 to 1"},
		.type = JOB_REAL, GROUP_FIELD(hot_share), .real_min = 0, .real_max = 1},
	{.said = {.name = "hot-ops", .arg = "SHARE", .def = "0.8",
		.help = "hotspot: share of the operations on hot records, 0 to 1"},
		.type = JOB_REAL, GROUP_FIELD(hot_ops), .real_min = 0, .real_max = 1},
	{.said = {.name = "exp-percent", .arg = "NUMBER", .def = "95",
		.help = "exponential: percent of the operations on the records of exp-share"},
		.type = JOB_REAL, GROUP_FIELD(exp_percent), .real_min = 0, .real_max = 100},
	{.said = {.name = "exp-share", .arg = "SHARE", .def = "0.8571428571",
		.help = "exponential: share of the records, 0 to 1"},
		.type = JOB_REAL, GROUP_FIELD(exp_share), .real_min = 0, .real_max = 1},
	{.said = {.name = "pareto-h", .arg = "SHARE", .def = "0.2",
		.help = "pareto: the share h of the records gets 1 - h of the operations"},
		.type = JOB_REAL, GROUP_FIELD(pareto_h), .real_min = 0, .real_max = 1},
	{.said = {.name = "scan-length", .arg = "RANGE", .def = "1..100",
		.help = "number of records in a scan: MIN..MAX, or one number"},
		.type = JOB_RANGE, GROUP_FIELD(scan_min), .min = 1, .max = INT64_MAX},
	{.said = {.name = "scan-distribution", .arg = "NAME", .def = "uniform",
		.choices = "uniform|zipfian", .help = "distribution of the length of a scan"},
		.type = JOB_CHOICE, GROUP_FIELD(scan_distribution)},
	{.said = {.name = "scan-direction", .arg = "NAME", .def = "forward",
		.choices = "forward|backward",
		.help = "whether a scan goes from its first key up or down"},
		.type = JOB_CHOICE, GROUP_FIELD(is_scan_backward)},
	{.said = {.name = "scan-keys-only", .arg = "yes|no", .def = "no", .choices = "no|yes",
		.help = "scan keys without reading their values"},
		.type = JOB_CHOICE, GROUP_FIELD(is_scan_keys_only)},
	{.said = {.name = "batch-atomic", .arg = "yes|no", .def = "no", .choices = "no|yes",
		.help = "require that a batch is written completely or not at all"},
		.type = JOB_CHOICE, GROUP_FIELD(is_batch_atomic)},
	{.said = {.name = "items", .arg = "COUNTS", .def = "10",
		.help = "number of records in a batch, a multi-get or a transaction: 10, or drawn "
			"for each: uniform:2..500, zipfian:2..500, normal:..., pareto:..."},
		.type = JOB_ITEMS, GROUP_FIELD(items), .min = 1, .max = NB_ITEMS_MAX},
	{.said = {.name = "threads", .arg = "COUNT|all", .def = "1",
		.help = "threads of the group; all: as many as CPUs that mininb may use"},
		.type = JOB_THREADS, GROUP_FIELD(threads), .min = 1, .max = 1024,
		.is_of_load = true, .is_shown = true},
	{.said = {.name = "depth", .arg = "COUNT", .def = "1",
		.help = "number of requests that each thread keeps in flight; 1: one call after the other"},
		.type = JOB_COUNT, GROUP_FIELD(depth), .min = 1, .max = NB_DEPTH_MAX,
		.is_of_load = true},
	{.said = {.name = "batch-bytes", .arg = "LEN", .def = "0",
		.help = "with depth: bytes of keys and values to gather before handing them over; 0: none"},
		.type = JOB_BYTES, GROUP_FIELD(batch_bytes), .max = INT64_MAX,
		.is_of_load = true},
	{.said = {.name = "count", .arg = "COUNT",
		.help = "operations of the group; without it and duration: as many as records"},
		.type = JOB_COUNT, GROUP_FIELD(count), .max = INT64_MAX},
	{.said = {.name = "duration", .arg = "TIME",
		.help = "how long the group runs, including its warm-up"},
		.type = JOB_TIME, GROUP_FIELD(duration_ns)},
	{.said = {.name = "warmup", .arg = "TIME|COUNT",
		.help = "first part of the group's time or operations, which is not measured"},
		.type = JOB_WARMUP, GROUP_FIELD(warmup_ns)},
	{.said = {.name = "rate", .arg = "RATE",
		.help = "operations a second of the whole group: 200k, steps 10k/30s,20k/30s, "
			"ramps 10k..50k/60s, or @FILE; without it: full speed"},
		.type = JOB_RATE, GROUP_FIELD(rate), .is_of_load = true},
	{.said = {.name = "arrivals", .arg = "HOW", .def = "fixed", .choices = "fixed|poisson",
		.help = "with a rate: operations are due evenly spaced or at random times"},
		.type = JOB_ARRIVALS, GROUP_FIELD(arrivals_asked), .min = NB_ARRIVAL_FIXED,
		.is_of_load = true},
	{.said = {.name = "background", .arg = "yes|no", .def = "no", .choices = "no|yes",
		.help = "run until the other groups of the phase are done"},
		.type = JOB_CHOICE, GROUP_FIELD(is_background)},
	{.said = {.name = "cpus", .arg = "LIST",
		.help = "pin the threads to these CPUs in turn: 0-3,8; any: do not pin"},
		.type = JOB_CPUS, GROUP_FIELD(cpus), .is_of_load = true},
	{.said = {.name = "latency", .arg = "HOW", .def = "each",
		.help = "which operations are timed one by one: each; one in N, sampled:N, the "
			"others run without time stamps; or block, none, only blocks of them"},
		.type = JOB_LATENCY, GROUP_FIELD(latency), .is_of_load = true},
	{.said = {.name = "insert-verb", .arg = "VERB", .def = "put", .choices = "put|insert",
		.help = "call that makes a new record: put, or the engine's insert, which keeps "
			"a record that is there"},
		.type = JOB_CHOICE, GROUP_FIELD(insert_verb), .is_of_load = true},
	{.said = {.name = "start", .arg = "WHEN", .def = "together", .choices = "together|after",
		.help = "start with the previous group, or after the previous phase"},
		.type = JOB_START, GROUP_FIELD(phase)},
	{.said = {.name = NULL}},
};
/* clang-format on */

_Static_assert(sizeof(job_keys) / sizeof(job_keys[0]) <= JOB_KEYS_MAX, "raise JOB_KEYS_MAX");

static struct nb_job_key said[JOB_KEYS_MAX];

static void
say(void)
{
	for (size_t i = 0; job_keys[i].said.name != NULL; i++)
		said[i] = job_keys[i].said;
}

const struct nb_job_key *
nb_job_keys(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, say);
	return said;
}

const struct job_key *
job_keys_find(const char *name)
{
	for (const struct job_key *key = job_keys; key->said.name != NULL; key++) {
		if (strcmp(key->said.name, name) == 0)
			return key;
	}
	return NULL;
}

bool
job_kind_key(const struct nb_job *job, const char *name, struct job_key *key)
{
	uint32_t kind = kind_find(job, name);
	if (kind == NB_KINDS_MAX)
		return false;
	*key = (struct job_key){
		.said = {.name = kind_name(job, kind), .arg = "SHARE", .def = "0"},
		.type = JOB_SHARE,
		.offset = offsetof(struct nb_group, weights) + kind * sizeof(uint32_t),
		.width = sizeof(uint32_t)};
	return true;
}
