/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_JOB_H
#define MININB_JOB_H
/**
 * A job: the operations of a mixed workload, its threads, and the time at which each operation
 * is due. It is read from an INI file or a preset, or built key by key; every key can be
 * changed later.
 *
 * A job describes its records once. It has groups of threads. Each group has a mix of
 * operations, a distribution of keys, a rate and a limit. Groups with the same phase number run
 * concurrently; phases run one after another. A separate load group inserts records 0, 1, ...
 * in order.
 *
 * Operation i of a group is a pure function of (seed, job, i); see <mininb/workload.h>.
 */
#include <mininb/mininb.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of operations. Each operation is timed and counted as one. */
enum {
	NB_OP_READ = 0,   /* get of an existing record */
	NB_OP_UPDATE = 1, /* put of a new value to an existing record */
	NB_OP_INSERT = 2, /* put of the next new record */
	NB_OP_UPSERT = 3, /* put to any of `space` records, existing or not */
	NB_OP_DELETE = 4, /* delete of any of `space` records */
	NB_OP_SCAN = 5,   /* scan upwards from an existing record, scan_min..scan_max records */
	NB_OP_RMW = 6,    /* read-modify-write: get, then put of a new value */
	NB_OP_BATCH = 7,  /* `items` updates in one call */
	NB_OP_MULTIGET = 8,   /* `items` reads in one call */
	NB_OP_TXN_READ = 9,   /* a transaction of `items` reads */
	NB_OP_TXN_WRITE = 10, /* a transaction of `items` updates */
	NB_OP_KINDS = 11
};

/*
 * Limit of the numbers of kinds in a mix: NB_OP_*, one number that is not a kind, `add`, and
 * the kinds that the job defines.
 */
#define NB_KINDS_MAX 32u

/**
 * "read", "update", ..., "read-modify-write", "batch", "multi-get", "txn-read", "txn-write".
 */
const char *
nb_op_name(uint32_t kind);

/*
 * How keys are chosen from n records. A rank is drawn, 0 the most frequent, and mapped to a
 * record. "Scrambled": a fixed permutation maps ranks to the initial records, so the hottest
 * records are among the loaded ones and are not neighbours. Added records get the next ranks.
 */
enum {
	NB_DIST_UNIFORM = 0,
	NB_DIST_ZIPFIAN = 1, /* exact, exponent `theta`; scrambled */
	/*
	 * YCSB's ScrambledZipfian: its formula (exponent 0.99 only, the third rank 20 % too
	 * frequent) and its hash mod n, so the mapping changes when n grows
	 */
	NB_DIST_ZIPFIAN_YCSB = 2,
	NB_DIST_LATEST = 3, /* zipfian; rank 0 is the last inserted record */
	/* hot_ops of the draws go to hot_share of the records; scrambled */
	NB_DIST_HOTSPOT = 4,
	/*
	 * exp_percent of the draws go to the first exp_share of the ranks. The law is
	 * unbounded; draws beyond n are discarded, as in YCSB. Scrambled.
	 */
	NB_DIST_EXPONENTIAL = 5,
	NB_DIST_SEQUENTIAL = 6, /* operation i goes to record i mod n */
	/* self-similar: 1 - pareto_h of the draws to pareto_h of the records; scrambled */
	NB_DIST_PARETO = 7,
	NB_DIST_DESCENDING = 8, /* operation i goes to record n - 1 - i mod n */
	NB_DIST_KINDS = 9
};

/* How the number of a record becomes its key. */
enum {
	NB_KEY_RAW = 0,    /* key_size bytes of any value */
	NB_KEY_TEXT = 1,   /* key_prefix, then the number in at least key_digits digits */
	NB_KEY_BE64 = 2,   /* 8 bytes, the number big-endian */
	NB_KEY_FILE = 3,   /* the number-th key of keys_path, key_size bytes each */
	NB_KEY_GRAPH = 4,  /* key of an object or an edge of a social graph; 9 or 18 bytes */
	NB_KEY_WORDS = 5,  /* word n mod W of the W words in key_prefix, "a|b", then n / W */
	NB_KEY_LETTERS = 6 /* key_size letters a-z, the number in base 26 */
};

/* How the number is transformed before it becomes a key. */
enum {
	NB_ORDER_HASHED = 0,  /* pseudo-random bijection, depends on the seed */
	NB_ORDER_ORDERED = 1, /* unchanged: byte order is the order of insertion */
	NB_ORDER_YCSB = 2     /* |FNV-1a-64 of its 8 little-endian bytes| as a signed number */
};

/*
 * Distributions of value sizes. Cut: sizes outside the limits do not occur, nor pile up at
 * them.
 */
enum {
	NB_SIZE_FIXED = 0,   /* min */
	NB_SIZE_UNIFORM = 1, /* min..max */
	NB_SIZE_ZIPFIAN = 2, /* min..max, small sizes more often; exponent a */
	NB_SIZE_NORMAL = 3,  /* mean a, standard deviation b; cut to min..max */
	NB_SIZE_PARETO = 4, /* generalised Pareto: shape a, scale b, location min; cut to max */
	NB_SIZE_HISTOGRAM = 5 /* a file of lines "size weight" */
};

/** Sizes of values, in bytes. As text: see nb_sizes_parse(). */
struct nb_sizes {
	uint32_t kind; /* NB_SIZE_* */
	uint32_t count;
	uint64_t min, max;
	double a, b;
	uint64_t *sizes;   /* NB_SIZE_HISTOGRAM: `count` sizes, owned */
	uint64_t *weights; /* and their weights, owned */
};

/**
 * Read a distribution of sizes. Sizes take suffixes.
 *
 *     100
 *     uniform:10..1000
 *     zipfian:10..1000            zipfian:10..1000,0.99
 *     normal:100,20               normal:100,20,1..500
 *     pareto:SHAPE,SCALE,MIN..MAX
 *     histogram:FILE
 *
 * normal has the mean, the standard deviation and the limits; by default the limits are 6
 * deviations from the mean. FILE has lines "SIZE WEIGHT"; # begins a comment. NB_ERR_USAGE
 * describes a wrong text, with the line of a file. NB_FAIL: the file cannot be read. Free *out
 * with nb_sizes_destroy(); a failed call leaves *out empty.
 */
NB_MUST_CHECK int
nb_sizes_parse(struct nb_sizes *out, const char *text);

void
nb_sizes_destroy(struct nb_sizes *sizes);

/* When operations are due. */
enum {
	NB_ARRIVAL_CLOSED = 0, /* each when the previous one is complete */
	NB_ARRIVAL_FIXED = 1,  /* evenly spaced */
	NB_ARRIVAL_POISSON = 2 /* at random, independently (Poisson process) */
};

/* The verb that executes an insert. */
enum {
	NB_INSERT_PUT = 0,   /* put, which replaces an existing record */
	NB_INSERT_NATIVE = 1 /* the engine's insert, which keeps an existing record */
};

/* The records that a thread uses. */
enum {
	NB_RANGE_SHARED = 0, /* all threads of the group use all records */
	NB_RANGE_PRIVATE = 1 /* each uses its own slice; all slices have the same size */
};

/* The source of a group's operations. */
enum {
	NB_SOURCE_RECORDS = 0,  /* records of the job, by the mix and the distribution */
	NB_SOURCE_TAO = 1,      /* objects and edges of a social graph, as TAOBench does */
	NB_SOURCE_MASSTREE = 2, /* sequences in which each operation has a known result */
	NB_SOURCES = 3
};

/*
 * The sequence of NB_SOURCE_MASSTREE, named after a test of Masstree's mttest. Listed are the
 * kinds of operations in its mix; n is the job's `space`.
 */
enum {
	NB_TEST_RW2 = 0,     /* insert, read: new records; each thread reads its own ones */
	NB_TEST_RWSMALL = 1, /* upsert, read: n records, shared or per thread */
	NB_TEST_WD1 = 2,     /* insert, delete: even threads insert, odd ones delete */
	NB_TEST_WD2 = 3,     /* upsert, read, delete: concurrent puts and deletes */
	NB_TEST_WD3 = 4,     /* insert, read, delete: n records, then they are absent */
	NB_TEST_SCAN1 = 5,   /* upsert, scan: n fixed records that each scan must return */
	NB_TEST_CLUMPS = 6,  /* upsert, delete, read: writers between the records of scan1 */
	NB_TEST_URL = 7,     /* insert, delete: 10 records, then delete the 5 oldest */
	NB_TESTS = 8
};

/** A step of a rate schedule: the rate changes linearly from one value to the other. */
struct nb_rate_step {
	uint64_t duration_ns; /* UINT64_MAX: no end */
	double from_ops_s, to_ops_s;
};

#define NB_RATE_STEPS_MAX 4096

/**
 * Read a schedule: "200k" (constant); steps "10k/30s,20k/30s"; ramps "10k..50k/60s"; "@FILE"
 * with lines "SECONDS RATE", each rate valid from that second on. The last rate stays in force.
 * *out is yours to free(). NB_ERR_USAGE describes the error, with the line of a file.
 */
NB_MUST_CHECK int
nb_rate_parse(struct nb_rate_step **out, size_t *count, const char *text);

/* How the latency of a group's operations is measured. N >= 2: of one operation in N. */
enum {
	NB_LATENCY_EACH = 0, /* two timestamps for each operation, fenced from the others */
	NB_LATENCY_BLOCK = 1 /* two timestamps only for each block of operations */
};

/** A group of threads with one mix. Made by nb_job_read(). Append only. */
struct nb_group {
	size_t size;
	char name[48];                  /* name of its section */
	uint32_t phase;                 /* from 0 up */
	uint32_t threads;               /* >= 1 */
	uint32_t weights[NB_KINDS_MAX]; /* shares of the mix, on any scale; their sum is >= 1 */
	uint32_t distribution;          /* NB_DIST_* */
	uint32_t scan_distribution;     /* NB_DIST_UNIFORM or NB_DIST_ZIPFIAN */
	uint64_t scan_min, scan_max;    /* records, >= 1 */
	uint64_t items; /* items of a batch, multi-get or transaction, 1..NB_ITEMS_MAX */
	double theta;   /* exponent of zipfian and latest, > 0 */
	double hot_share, hot_ops;        /* 0..1 */
	double exp_percent, exp_share;    /* 0..100, 0..1 */
	double pareto_h;                  /* 0..1 */
	uint64_t count;                   /* operations; 0: no limit */
	uint64_t duration_ns;             /* includes the warm-up; 0: no limit */
	uint64_t warmup_ns, warmup_count; /* part of the above that is not measured */
	uint32_t arrivals;                /* NB_ARRIVAL_* */
	uint32_t is_background;           /* runs until the other groups of its phase end */
	struct nb_rate_step *rate;        /* total rate of all threads; owned */
	size_t rate_count;
	/* "0-3,8": CPUs to which threads are pinned, in turn; NULL: not pinned; owned. */
	char *cpus;
	uint32_t weight_scale; /* weight of a share of 1; 0 and 1: 1 */
	/* Arrivals if the group has a rate. NB_ARRIVAL_CLOSED: fixed. */
	uint32_t arrivals_asked;
	char *rate_text; /* text from which `rate` was parsed; NULL: not parsed; owned */
	/*
	 * Distribution of the number of items of an operation, if not NB_SIZE_FIXED; `items` is
	 * then the maximum. Not a histogram.
	 */
	struct nb_sizes item_sizes;
	uint32_t latency;           /* NB_LATENCY_*, or N; with a rate only EACH */
	uint32_t insert_verb;       /* NB_INSERT_* */
	uint32_t is_scan_backward;  /* scans go downwards from the first record */
	uint32_t is_scan_keys_only; /* values are not read */
	uint32_t is_batch_atomic;   /* a batch is all or nothing */
	uint32_t depth; /* requests in flight in each thread, 1..NB_DEPTH_MAX; 1: synchronous */
	uint32_t key_range; /* NB_RANGE_* */
	/* Bytes that a thread submits together; 0: submit as soon as there is room. */
	uint64_t batch_bytes;
	/* Group whose written records this one visits, each once; "": draws records. */
	char again[48];
	uint32_t source;        /* NB_SOURCE_* */
	uint32_t masstree_test; /* NB_TEST_*, of NB_SOURCE_MASSTREE */
	double verify_rate;     /* share of operations to verify, if higher than the run's */
};

/* Atomicity of a kind of operations: whether all of its writes happen or none. */
enum {
	NB_ATOMIC_YES = 0, /* the strongest level of the engine, which the result states */
	NB_ATOMIC_NO = 1,
	NB_ATOMIC_REQUIRED = 2 /* an engine without atomic writes is rejected */
};

/* The engine calls that execute the steps of a kind. */
enum {
	NB_CALLS_AUTO = 0, /* the first one below that the engine supports */
	NB_CALLS_EXECUTE = 1,
	NB_CALLS_TRANSACTION = 2, /* begin, a verb for each step, commit */
	NB_CALLS_BATCH = 3,       /* multi_get of gets, batch of puts and deletes */
	NB_CALLS_SINGLE = 4       /* a verb for each step */
};

/* Social graph: how an update depends on the existing value. */
enum {
	NB_UPDATE_RMW = 0,  /* update only an existing, older value */
	NB_UPDATE_BLIND = 1 /* put without a read */
};

/* Social graph: how all edges of an object are read. */
enum {
	NB_EDGES_POINT = 0, /* one edge, as TAOBench's generator does */
	NB_EDGES_SCAN = 1   /* all edges of the object, by a scan */
};

#define NB_KIND_STEPS_MAX 16u
#define NB_KIND_NAME 24 /* bytes, including the NUL */

/** The action of a step of a kind. */
struct nb_kind_step {
	uint32_t verb; /* NB_STEP_* */
	uint32_t same; /* the step, from 1, whose records it uses; 0: draws its own */
	uint32_t times_min, times_max; /* number of records, drawn for each operation */
	uint64_t operand; /* the addend of NB_STEP_MERGE; 0: a random number 1..1000 */
};

#define NB_TARGET_NAME 72 /* bytes of an engine's name, including the NUL */

/** A kind of operations, defined by the job. */
struct nb_kind {
	char name[NB_KIND_NAME];
	uint32_t atomic;   /* NB_ATOMIC_* */
	uint32_t snapshot; /* NB_ATOMIC_YES or _NO: whether reads see one version of the data */
	uint32_t step_count;
	uint32_t calls; /* NB_CALLS_* */
	struct nb_kind_step steps[NB_KIND_STEPS_MAX];
};

#define NB_ITEMS_MAX 1024u
#define NB_DEPTH_MAX 65536u
#define NB_GROUPS_MAX 64u

/** Settings of the servers of a client engine. */
struct nb_target {
	char name[NB_TARGET_NAME]; /* name of the engine; "": any engine */
	char *text;                /* lines "key = value", as in nb_engine.server; owned */
};

/** A job. Append only. */
struct nb_job {
	size_t size;
	char *name;    /* name of the preset or path of the file; owned */
	char *summary; /* one line; owned */
	uint64_t seed;
	uint64_t records;               /* inserted by the load */
	uint64_t space;                 /* record numbers of upsert and delete; 0: `records` */
	uint32_t key_format, key_order; /* NB_KEY_*, NB_ORDER_* */
	uint64_t key_size;              /* of NB_KEY_RAW, NB_KEY_FILE and NB_KEY_LETTERS */
	char key_prefix[32];            /* of NB_KEY_TEXT; the words of NB_KEY_WORDS */
	uint32_t key_digits;
	uint32_t spare_u32;
	char *keys_path; /* of NB_KEY_FILE; owned */
	struct nb_sizes values;
	double value_ratio;      /* size after ideal compression : size, 0..1 */
	struct nb_group *load;   /* one group: its mix is all inserts; owned */
	struct nb_group *groups; /* of the run phase; owned */
	size_t group_count;
	uint64_t lag;      /* operations until an inserted record may be read; see ops.h */
	char *values_text; /* text from which `values` was parsed; NULL: not parsed; owned */
	/* Kinds that the job defines; owned. weights[13 + k] is the share of kinds[k]. */
	struct nb_kind *kinds;
	size_t kind_count;
	uint32_t shard, shards;    /* executes only this part, 0..shards-1; shards 0: 1 */
	struct nb_target *targets; /* owned */
	size_t target_count;
	/* A social graph: the name of its workload file and its content; NULL: none. Owned. */
	char *graph_text;
	struct tao_file *graph;
	uint64_t edges;         /* inserted by the load, each with two objects */
	uint64_t epoch;         /* earlier runs on this database; keeps ids and ages distinct */
	uint32_t graph_update;  /* NB_UPDATE_* */
	uint32_t edge_range;    /* NB_EDGES_* */
	uint32_t preconditions; /* 1: add an edge only if its type allows it */
	uint32_t batch_read;    /* 1: read all edges before the run, page by page */
	/* Number of edges that begin at an object, if it has any; not a histogram. */
	struct nb_sizes degree;
};

/**
 * Unused names in the workload file of a social graph, "errors, read_tiers"; NULL: none.
 * is_known: the names that TAOBench reads and does not use either; else the names that TAOBench
 * does not know. Valid as long as the job.
 */
const char *
nb_job_unused_names(const struct nb_job *job, int is_known);

/** A key of job files: "distribution", "threads". Values are texts. */
struct nb_job_key {
	const char *name;
	const char *arg;     /* name of the value: "TIME" */
	const char *def;     /* default as a user types it; NULL: none */
	const char *choices; /* "uniform|zipfian"; NULL: any */
	const char *help;    /* one line */
	uint32_t is_global;  /* 1: a key of the job; 0: a key of each group */
	uint32_t spare_u32;
};

/** All keys; ends with a NULL name. */
const struct nb_job_key *
nb_job_keys(void);

/**
 * Read a job. A name without '/' and ".ini" is a preset. mininb looks for a preset in
 * $MININB_WORKLOAD_PATH, then in the build directory if the program runs from it, then in the
 * installed directory. Any other name is a file. NULL: all defaults and one group "run" without
 * a mix. NB_ERR_USAGE names file, line, the wrong key and the nearest valid key. Free *out with
 * nb_job_delete().
 *
 * A file is INI:
 * - [workload] comes first. It has the keys of the job, and default keys of the groups below
 *   it.
 * - [load] is the load group.
 * - [kind NAME] defines a kind of operations by its keys steps, atomic, snapshot and calls.
 *   NAME is a key of the groups below it.
 * - [target NAME] has settings for the servers of the engine NAME; [target] for any engine.
 * - Every other section is a group of the run. Without one, the defaults form a group "run".
 */
NB_MUST_CHECK int
nb_job_read(struct nb_job **out, const char *name);

/**
 * Set a key: "records=1M"; "readers.threads=4" for one group; "threads=4" for every group of
 * the run; "load.threads=4" for the load; "target.cpus=0" for servers. A share of the mix does
 * not change the other shares. NB_ERR_USAGE as above.
 */
NB_MUST_CHECK int
nb_job_set(struct nb_job *job, const char *assignment);

/**
 * Append a copy of the last group to the run, in its own phase. NB_ERR_USAGE: too many groups,
 * or an invalid name.
 */
NB_MUST_CHECK int
nb_job_add_group(struct nb_job *job, const char *name);

/**
 * Check that the whole job is consistent: each group has a limit, sizes are in range, ... Call
 * it last; nb_run_new() calls it, too.
 */
NB_MUST_CHECK int
nb_job_check(const struct nb_job *job);

/**
 * Write the job as a file from which nb_job_read() reads the same job. *out is yours to free().
 */
NB_MUST_CHECK int
nb_job_write(const struct nb_job *job, char **out);

/** NULL is fine. */
void
nb_job_delete(struct nb_job *job);

/** A preset: its name, path and summary. */
struct nb_preset {
	char *name, *path, *summary;
};

/** All presets, sorted by name; ends with a NULL name. Free it with nb_presets_delete(). */
NB_MUST_CHECK int
nb_presets_list(struct nb_preset **out);

void
nb_presets_delete(struct nb_preset *presets);

#ifdef __cplusplus
}
#endif
#endif /* MININB_JOB_H */
