/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_JOB_H
#define MININB_JOB_H
/**
 * A job: WHAT mixed workloads do, with how many threads, and WHEN each operation
 * is due. It is read from a file (INI), from one of the presets, or put together
 * by hand; any key can then be set again.
 *
 * A job has one set of records, described once, and groups of threads. A group has
 * a mix of operations, a distribution of the keys they go to, a rate and a bound.
 * Groups of equal phase run side by side, phases one after the other. The group of
 * the loading, which inserts records 0, 1, ... in order, is apart.
 *
 * Operation i of a group is a pure function of (seed, job, i); see <mininb/workload.h>.
 */
#include <mininb/mininb.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of operations. Each operation is timed as one and counts as one. */
enum {
	NB_OP_READ = 0,       /* get of an existing record */
	NB_OP_UPDATE = 1,     /* put of a new value to an existing record */
	NB_OP_INSERT = 2,     /* put of the next new record */
	NB_OP_UPSERT = 3,     /* put to any of `space` records, existing or not */
	NB_OP_DELETE = 4,     /* delete of any of `space` records */
	NB_OP_SCAN = 5,       /* of scan_min..scan_max records from an existing one up */
	NB_OP_RMW = 6,        /* get, then put of a new value, of one record */
	NB_OP_BATCH = 7,      /* `items` updates in one call */
	NB_OP_MULTIGET = 8,   /* `items` reads in one call */
	NB_OP_TXN_READ = 9,   /* a transaction of `items` reads */
	NB_OP_TXN_WRITE = 10, /* a transaction of `items` updates */
	NB_OP_KINDS = 11
};

/*
 * Numbers of kinds that a mix can contain: NB_OP_*, a number that means no kind, `add`, and
 * the kinds that the job defines.
 */
#define NB_KINDS_MAX 32u

/** "read", "update", ..., "read-modify-write", "batch", "multi-get", "txn-read", "txn-write". */
const char *
nb_op_name(uint32_t kind);

/*
 * How keys are chosen from n records: a rank is drawn, 0 the most frequent one, and turned
 * into a record. "Scrambled": the ranks of the records that exist at first are shuffled
 * among these, always in the same way, so the hottest are among the loaded records and are
 * not neighbours. Records that are added get the next ranks.
 */
enum {
	NB_DIST_UNIFORM = 0,
	NB_DIST_ZIPFIAN = 1, /* exact, exponent `theta`; scrambled */
	/*
	 * YCSB's ScrambledZipfian, its formula (exponent 0.99 alone, third rank 20 % too
	 * frequent) and its hash mod n, which moves when n grows
	 */
	NB_DIST_ZIPFIAN_YCSB = 2,
	NB_DIST_LATEST = 3, /* zipfian, rank 0 being the record inserted last */
	NB_DIST_HOTSPOT =
		4, /* hot_ops of the draws go to hot_share of the records; scrambled */
	/*
	 * exp_percent of the draws go to the first exp_share of the ranks, by a law that has
	 * no end; draws beyond n are left out, as in YCSB; scrambled
	 */
	NB_DIST_EXPONENTIAL = 5,
	NB_DIST_SEQUENTIAL = 6, /* operation i goes to record i mod n */
	/* self-similar: 1 - pareto_h of the draws to pareto_h of the records; scrambled */
	NB_DIST_PARETO = 7,
	NB_DIST_DESCENDING = 8, /* operation i goes to record n - 1 - i mod n */
	NB_DIST_KINDS = 9
};

/* How a record's number becomes its key. */
enum {
	NB_KEY_RAW = 0,   /* key_size bytes of any value */
	NB_KEY_TEXT = 1,  /* key_prefix, then the number in decimal, at least key_digits wide */
	NB_KEY_BE64 = 2,  /* 8 bytes, the number big-endian */
	NB_KEY_FILE = 3,  /* the number-th key of keys_path, key_size bytes each */
	NB_KEY_GRAPH = 4, /* of an object or an edge of a social graph; of 9 or 18 bytes */
	NB_KEY_WORDS = 5, /* word n mod W of the W in key_prefix, between '|'; then n / W */
	NB_KEY_LETTERS = 6 /* key_size letters a-z, the number in base 26 */
};

/* How the number is transformed first. */
enum {
	NB_ORDER_HASHED = 0,  /* a bijection that looks random and depends on the seed */
	NB_ORDER_ORDERED = 1, /* nothing: byte order is the order of insertion */
	NB_ORDER_YCSB = 2     /* |FNV-1a-64 of its 8 little-endian bytes| as a signed number */
};

/* Distributions of value sizes. Cut: sizes outside do not occur, and none pile up there. */
enum {
	NB_SIZE_FIXED = 0,   /* min */
	NB_SIZE_UNIFORM = 1, /* min..max */
	NB_SIZE_ZIPFIAN = 2, /* min..max, small ones often; exponent a */
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
	uint64_t *weights; /* and how often each is, owned */
};

/**
 * "100", "uniform:10..1000", "zipfian:10..1000" or "zipfian:10..1000,0.99",
 * "normal:100,20" or "normal:100,20,1..500" (mean, deviation, bounds; without them 6
 * deviations to both sides), "pareto:SHAPE,SCALE,MIN..MAX", "histogram:FILE" of lines
 * "SIZE WEIGHT", # begins a comment. Sizes take suffixes. NB_ERR_USAGE says what is wrong,
 * of a file with its line; NB_FAIL that it cannot be read. *out is to be given to
 * nb_sizes_destroy(); if the call fails there is nothing in it.
 */
NB_MUST_CHECK int
nb_sizes_parse(struct nb_sizes *out, const char *text);

void
nb_sizes_destroy(struct nb_sizes *sizes);

/* When operations are due. */
enum {
	NB_ARRIVAL_CLOSED = 0, /* each when the previous one is done */
	NB_ARRIVAL_FIXED = 1,  /* evenly spaced */
	NB_ARRIVAL_POISSON = 2 /* at random, independent of each other */
};

/* What an insert calls. */
enum {
	NB_INSERT_PUT = 0,   /* put: also if the key should be there */
	NB_INSERT_NATIVE = 1 /* the engine's insert, which keeps a record that is there */
};

/* Which records a thread goes to. */
enum {
	NB_RANGE_SHARED = 0, /* all threads of the group go to all records */
	NB_RANGE_PRIVATE = 1 /* each goes to its own slice of them, all as long as can be */
};

/* What draws the operations of a group. */
enum {
	NB_SOURCE_RECORDS = 0,  /* records of the job, by the mix and the distribution */
	NB_SOURCE_TAO = 1,      /* objects and edges of a social graph, as TAOBench does */
	NB_SOURCE_MASSTREE = 2, /* sequences of which each operation knows its right answer */
	NB_SOURCES = 3
};

/*
 * The sequence of NB_SOURCE_MASSTREE, after the tests of Masstree's mttest. Each lists the kinds
 * of operations in its mix, and n, which is the job's `space`.
 */
enum {
	NB_TEST_RW2 = 0,     /* insert, read: new records, gets of the thread's own ones */
	NB_TEST_RWSMALL = 1, /* upsert, read: n records, shared or of each thread */
	NB_TEST_WD1 = 2,     /* insert, delete: even threads insert, odd ones remove */
	NB_TEST_WD2 = 3,     /* upsert, read, delete: of puts and removals that race */
	NB_TEST_WD3 = 4,     /* insert, read, delete: n records, which are then gone */
	NB_TEST_SCAN1 = 5,   /* upsert, scan: n fixed records that each scan must see */
	NB_TEST_CLUMPS = 6,  /* upsert, delete, read: writers between these */
	NB_TEST_URL = 7,     /* insert, delete: 10 records, and the 5 oldest ones */
	NB_TESTS = 8
};

/** A piece of a schedule: the rate goes evenly from one to the other. */
struct nb_rate_step {
	uint64_t duration_ns; /* UINT64_MAX: for ever */
	double from_ops_s, to_ops_s;
};

#define NB_RATE_STEPS_MAX 4096

/**
 * "200k" (for ever), or steps one after the other: "10k/30s,20k/30s", ramps
 * "10k..50k/60s", and "@FILE" of lines "SECONDS RATE" (the rate holds from then on).
 * The last rate stays in force. *out is yours to free(). NB_ERR_USAGE says what is
 * wrong, of a file with its line.
 */
NB_MUST_CHECK int
nb_rate_parse(struct nb_rate_step **out, size_t *count, const char *text);

/* How the latency of a group's operations is stamped; N >= 2: one operation in N is. */
enum {
	NB_LATENCY_EACH = 0, /* each operation has two fenced stamps */
	NB_LATENCY_BLOCK = 1 /* no operation has its own: two stamps for each block of them */
};

/** Threads that do one mix. Made by nb_job_read(). Append only. */
struct nb_group {
	size_t size;
	char name[48];                  /* of its section */
	uint32_t phase;                 /* from 0 up */
	uint32_t threads;               /* >= 1 */
	uint32_t weights[NB_KINDS_MAX]; /* shares of the mix, on any scale; together >= 1 */
	uint32_t distribution;          /* NB_DIST_* */
	uint32_t scan_distribution;     /* NB_DIST_UNIFORM or NB_DIST_ZIPFIAN */
	uint64_t scan_min, scan_max;    /* records, >= 1 */
	uint64_t items;            /* of a batch, multi-get or transaction, 1..NB_ITEMS_MAX */
	double theta;              /* exponent of zipfian and latest, > 0 */
	double hot_share, hot_ops; /* 0..1 */
	double exp_percent, exp_share;    /* 0..100, 0..1 */
	double pareto_h;                  /* 0..1 */
	uint64_t count;                   /* operations; 0: no such bound */
	uint64_t duration_ns;             /* 0: no such bound. With the warm-up */
	uint64_t warmup_ns, warmup_count; /* of that, what is not measured */
	uint32_t arrivals;                /* NB_ARRIVAL_* */
	uint32_t is_background;    /* runs until the other groups of its phase are done */
	struct nb_rate_step *rate; /* of all threads together; owned */
	size_t rate_count;
	char *cpus; /* "0-3,8": threads are pinned to these in turn; NULL: anywhere; owned */
	uint32_t weight_scale;   /* how often a share of 1 is in its weight; 0 and 1: once */
	uint32_t arrivals_asked; /* of a rate, should there be one; NB_ARRIVAL_CLOSED: fixed */
	char *rate_text;         /* that `rate` was made of; NULL: it was not; owned */
	/* If not NB_SIZE_FIXED: the law by which each operation draws its number of items;
	   `items` is then the largest. Not a histogram. */
	struct nb_sizes item_sizes;
	uint32_t latency;          /* NB_LATENCY_*, or N; other than EACH only without a rate */
	uint32_t insert_verb;      /* NB_INSERT_* */
	uint32_t is_scan_backward; /* from the first record down */
	uint32_t is_scan_keys_only; /* values are not read */
	uint32_t is_batch_atomic;   /* all of a batch or nothing */
	uint32_t depth; /* requests in flight of a thread, 1..NB_DEPTH_MAX; 1: no requests */
	uint32_t key_range; /* NB_RANGE_* */
	uint64_t
		batch_bytes; /* that a thread hands over together; 0: as soon as there is room */
	char again[48];      /* group whose puts it goes to, each once; "": it draws records */
	uint32_t source;     /* NB_SOURCE_* */
	uint32_t masstree_test; /* NB_TEST_*, of NB_SOURCE_MASSTREE */
	double verify_rate; /* share of operations that is verified, if the run's is lower */
};

/* Of a kind of operations: whether all of its writes have to happen, or none. */
enum {
	NB_ATOMIC_YES = 0, /* as well as the engine can; the result has the level */
	NB_ATOMIC_NO = 1,
	NB_ATOMIC_REQUIRED = 2 /* an engine that cannot is refused */
};

/* Which calls of the engine do its steps. */
enum {
	NB_CALLS_AUTO = 0, /* the first of those below that the engine has */
	NB_CALLS_EXECUTE = 1,
	NB_CALLS_TRANSACTION = 2, /* begin, a verb for each step, commit */
	NB_CALLS_BATCH = 3,       /* multi_get of gets, batch of puts and deletes */
	NB_CALLS_SINGLE = 4       /* a verb for each step */
};

/* Of a social graph: how an update depends on what is there. */
enum {
	NB_UPDATE_RMW = 0,  /* it is there, and is older */
	NB_UPDATE_BLIND = 1 /* not at all: a put, which reads nothing */
};

/* Reads of all edges of an object. */
enum {
	NB_EDGES_POINT = 0, /* of one edge, as the generator of TAOBench makes them */
	NB_EDGES_SCAN = 1   /* of as many as the object has, by a scan */
};

#define NB_KIND_STEPS_MAX 16u
#define NB_KIND_NAME 24 /* bytes of a name, its NUL included */

/** What a step of a kind does. */
struct nb_kind_step {
	uint32_t verb; /* NB_STEP_* */
	uint32_t same; /* goes to the records of that step, from 1; 0: draws its own */
	uint32_t times_min, times_max; /* records; drawn for each operation */
	uint64_t operand;              /* what NB_STEP_MERGE adds; 0: a number of 1..1000 */
};

#define NB_TARGET_NAME 72 /* bytes of an engine's name, its NUL included */

/** A kind of operations that the job defines. */
struct nb_kind {
	char name[NB_KIND_NAME];
	uint32_t atomic;   /* NB_ATOMIC_* */
	uint32_t snapshot; /* NB_ATOMIC_YES or _NO: its reads see one version of the data */
	uint32_t step_count;
	uint32_t calls; /* NB_CALLS_* */
	struct nb_kind_step steps[NB_KIND_STEPS_MAX];
};

#define NB_ITEMS_MAX 1024u
#define NB_DEPTH_MAX 65536u
#define NB_GROUPS_MAX 64u

/** Settings of the servers of an engine that is a client. */
struct nb_target {
	char name[NB_TARGET_NAME]; /* of the engine; "": of any */
	char *text;                /* lines "key = value", as in nb_engine.server; owned */
};

/** A job. Append only. */
struct nb_job {
	size_t size;
	char *name;    /* of the preset, or path of the file; owned */
	char *summary; /* one line; owned */
	uint64_t seed;
	uint64_t records; /* that the loading inserts */
	uint64_t space;   /* record numbers that upsert and delete go to; 0: `records` */
	uint32_t key_format, key_order; /* NB_KEY_*, NB_ORDER_* */
	uint64_t key_size;              /* of NB_KEY_RAW and NB_KEY_FILE */
	char key_prefix[32];            /* of NB_KEY_TEXT */
	uint32_t key_digits;
	uint32_t spare_u32;
	char *keys_path; /* of NB_KEY_FILE; owned */
	struct nb_sizes values;
	double value_ratio;      /* size after ideal compression : size, 0..1 */
	struct nb_group *load;   /* one group: its mix is all inserts; owned */
	struct nb_group *groups; /* of the run; owned */
	size_t group_count;
	uint64_t lag; /* operations after which an inserted record may be read; see ops.h */
	char *values_text;     /* that `values` was made of; NULL: it was not; owned */
	struct nb_kind *kinds; /* of its own; owned. weights[13 + k] is the share of kinds[k] */
	size_t kind_count;
	uint32_t shard, shards; /* does part 0..shards-1 of the run's operations; 0 shards: 1 */
	struct nb_target *targets; /* owned */
	size_t target_count;
	/* A social graph: its workload file as it was named, and what was read; NULL: none. Owned. */
	char *graph_text;
	struct tao_file *graph;
	uint64_t edges;         /* that the loading inserts, each with two objects */
	uint64_t epoch;         /* runs that the database has had: keeps ids and ages apart */
	uint32_t graph_update;  /* NB_UPDATE_* */
	uint32_t edge_range;    /* NB_EDGES_* */
	uint32_t preconditions; /* whether an edge is added only if its type allows it */
	uint32_t batch_read;    /* whether all edges are read before a run, page by page */
	struct nb_sizes
		degree; /* edges that begin at an object that has some; not a histogram */
};

/**
 * Names in the workload file of a social graph that decide nothing, "errors, read_tiers"; NULL:
 * none. is_known: those that TAOBench reads and does not use either; else those that it does not
 * know. Lives as long as the job.
 */
const char *
nb_job_unused_names(const struct nb_job *job, int is_known);

/** A key of job files: "distribution", "threads". Its value is a text there. */
struct nb_job_key {
	const char *name;
	const char *arg;     /* what the value is called: "TIME" */
	const char *def;     /* as it would be typed; NULL: none */
	const char *choices; /* "uniform|zipfian"; NULL: any */
	const char *help;    /* one line */
	uint32_t is_global;  /* of the job; else of each group */
	uint32_t spare_u32;
};

/** All keys, ended by a NULL name. */
const struct nb_job_key *
nb_job_keys(void);

/**
 * Read a job: a name without '/' and without ".ini" is a preset, looked for in
 * $MININB_WORKLOAD_PATH, then in the build's own if the program runs from the build
 * tree, then in the installed directory; anything else is a file. NB_ERR_USAGE names
 * file and line, the wrong key, and the nearest right one. To be given to
 * nb_job_delete().
 *
 * A file is INI: [workload] first, with the keys of the job, and with keys of groups as
 * defaults of the groups after it; [load] is the group of the loading; every other section
 * is a group of the run. [kind NAME] is not a group: its keys steps, atomic, snapshot and calls
 * define a kind of operations, whose name is a key of the groups after it; [target NAME] has
 * settings of the servers of the engine NAME, and [target] of any engine. Without a group,
 * the defaults become a group named "run". NULL instead of a name: no file, all defaults, one
 * group "run" without a mix.
 */
NB_MUST_CHECK int
nb_job_read(struct nb_job **out, const char *name);

/**
 * Set a key: "records=1M", "readers.threads=4" for one group, "threads=4" for every
 * group of the run (and "load.threads=4" for the loading); "target.cpus=0" for servers. A share of the mix leaves the
 * other shares as they are. NB_ERR_USAGE as above.
 */
NB_MUST_CHECK int
nb_job_set(struct nb_job *job, const char *assignment);

/**
 * Append a copy of the last group to the run, in a phase of its own. NB_ERR_USAGE: too many, or
 * an invalid name.
 */
NB_MUST_CHECK int
nb_job_add_group(struct nb_job *job, const char *name);

/**
 * Check that the whole job is consistent: bounds exist, sizes are within limits, ... Call it
 * last; nb_run_new() does it, too.
 */
NB_MUST_CHECK int
nb_job_check(const struct nb_job *job);

/** The job as a file that nb_job_read() reads as the same. *out is yours to free(). */
NB_MUST_CHECK int
nb_job_write(const struct nb_job *job, char **out);

/** NULL is fine. */
void
nb_job_delete(struct nb_job *job);

/** A preset: its name, where it is, its summary. */
struct nb_preset {
	char *name, *path, *summary;
};

/** All presets by name, ended by a NULL name. To be given to nb_presets_delete(). */
NB_MUST_CHECK int
nb_presets_list(struct nb_preset **out);

void
nb_presets_delete(struct nb_preset *presets);

#ifdef __cplusplus
}
#endif
#endif /* MININB_JOB_H */
