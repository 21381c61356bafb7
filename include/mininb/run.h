/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_RUN_H
#define MININB_RUN_H
/**
 * DOING it: engine x workload x threads. Loads an engine, runs the operations
 * and measures them.
 */
#include <mininb/mininb.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nb_workload;

/**
 * An engine that was found and whose table was found good. `table` inside is
 * the host's copy: fields that an older plugin lacks are NULL.
 */
struct nb_engine_ref;

/**
 * Find and load an engine. A name with a '/' is a path. Else <name>.so is
 * looked for in each directory of $MININB_PLUGIN_PATH, then among the build's
 * own plugins if the program runs from the build tree, then in the installed
 * directory; `null` and `memory` are always there. Never in the working
 * directory. NB_ERR_USAGE: no such engine; the text lists those that there are
 * and names the nearest. NB_FAIL: it was found and refused; the text says why.
 */
NB_MUST_CHECK int
nb_engine_load(struct nb_engine_ref **out, const char *name);

/** The plugin stays in memory; its engine may have threads. NULL is fine. */
void
nb_engine_unload(struct nb_engine_ref *ref);

const struct nb_engine *
nb_engine_table(const struct nb_engine_ref *ref);

/** File that the engine was loaded from; "built in" for null and memory. */
const char *
nb_engine_path(const struct nb_engine_ref *ref);

/** What a host lends the plugins it opens; lives as long as the program. */
const struct nb_host *
nb_engine_host(void);

/**
 * Check and convert `count` texts "name=value" by an engine's option table.
 * *out is an array parallel to the table with defaults filled in, to be given
 * to nb_options_delete(). NB_ERR_USAGE names the option, what is allowed, or
 * the nearest name.
 */
NB_MUST_CHECK int
nb_options_parse(struct nb_option_value **out, const struct nb_engine *engine,
	const char *const *texts, size_t count);

void
nb_options_delete(struct nb_option_value *values, const struct nb_engine *engine);

/**
 * Parse the engine's options and, where they change what it can do
 * (nb_engine.variant), let nb_engine_table() be the table that holds for them
 * from then on. Once for each nb_engine_load(). *out and failures as of
 * nb_options_parse(); NB_FAIL if the variant is refused.
 */
NB_MUST_CHECK int
nb_engine_configure(struct nb_option_value **out, struct nb_engine_ref *ref,
	const char *const *texts, size_t count);

/* Lists: X(ID, NAME) of each, in the order of the numbers. */
#define NB_DURABILITY_LIST(X) \
	X(NONE, "none") X(PROCESS, "process") X(PERIODIC, "periodic") X(COMMIT, "commit")
#define NB_CLOCK_LIST(X) X(AUTO, "auto") X(TSC, "tsc") X(MONOTONIC, "monotonic")
#define NB_SETTLE_LIST(X) X(NONE, "none") X(FLUSH, "flush") X(COMPACT, "compact")

/** X of a list that makes "|none|process|...", the choices of an option. */
#define NB_CHOICE(id, name) "|" name

/** A name of NB_DURABILITY_LIST(); NULL if there is no such level. */
const char *
nb_durability_name(uint32_t level);

/** The strongest level that the engine gives without a sync for each write. */
#define NB_DUR_AUTO UINT32_MAX

enum {
	NB_CLOCK_AUTO = 0, /* the TSC if it can be trusted, else CLOCK_MONOTONIC */
	NB_CLOCK_TSC = 1,  /* refused where it cannot be trusted */
	NB_CLOCK_MONOTONIC = 2
};

/* How a phase of writes ends; beyond what the engine can do is no failure, but noted. */
enum { NB_RUN_SETTLE_NONE = 0, NB_RUN_SETTLE_FLUSH = 1, NB_RUN_SETTLE_COMPACT = 2 };

#define NB_RUN_PIN (1u << 0)           /* worker t on the t-th CPU that the process may use */
#define NB_RUN_ALLOW_MISSING (1u << 1) /* a key that is not there is no error of the run */
#define NB_RUN_FRESH (1u << 2)         /* a put removes the engine's database first */
/*
 * A database that is there is put out of memory before it is opened: all of the kernel's
 * caches are dropped if that is allowed, which everybody on the machine feels, else those of
 * its files. On a file system that is memory that is NB_UNSUPPORTED. Engines that keep no
 * database and new ones have nothing that could be cold.
 */
#define NB_RUN_COLD (1u << 3)
/* The processor's counters in a virtual machine too, where they take up to 5 % of the CPU */
#define NB_RUN_HARDWARE (1u << 4)
/* A database that mininb did not make is removed by NB_RUN_FRESH and written all the same */
#define NB_RUN_FORCE (1u << 5)

struct nb_job;
struct nb_trace_options;
struct nb_memory_group;

/* What of a job is done. */
enum { NB_JOB_LOAD = 0, NB_JOB_RUN = 1 };

/** Operations of one kind, from the end of the warm-up to a moment of the run. */
struct nb_interval_kind {
	uint64_t ops;
	double mean_ns;          /* of service times, in three digits, as is what follows */
	uint64_t min_ns, max_ns; /* 0 without operations */
};

/** What happened between two moments of a job. Append only. */
struct nb_interval {
	size_t size;
	uint64_t end_ns, duration_ns; /* from the first operation on */
	uint64_t ops;                 /* done within it, of all threads */
	double rate_ops_s;
	uint64_t p50_ns, p99_ns, max_ns; /* service times, or with a rate response times;
					    0: too few */
	uint64_t behind_ops;             /* with a rate: due by now and not done */
	uint32_t is_warmup;
	uint32_t phase;
	/* NB_KINDS_MAX of them, in a job with a social graph; else NULL. Live until the callback ends */
	const struct nb_interval_kind *kinds;
};

typedef void (*nb_interval_fn)(void *arg, const struct nb_interval *interval);

struct nb_run;

/**
 * While the operations of `run` go on: nb_result_new() and nb_results_add_run() make a partial
 * result of what was done so far. It lacks what is known at the end only. The run waits for nothing
 * meanwhile; nothing that was made of it may outlive the call.
 */
typedef void (*nb_partial_fn)(void *arg, const struct nb_run *run);

/** When a job whose throughput is steady may end. window_ns 0: it does not ask. */
struct nb_steady {
	uint64_t window_ns;
	double slope, band; /* shares of the mean; see lib/run/steady.h */
};

/** "10s", "10s,slope:5%,band:10%": the window, and the limits if not these. NB_ERR_USAGE. */
NB_MUST_CHECK int
nb_steady_parse(struct nb_steady *out, const char *text);

/**
 * What to run: a workload, which puts, gets or deletes the keys of a file in their order, or a
 * job. Texts and job are borrowed until nb_run_delete(). Append only.
 */
struct nb_run_options {
	size_t size;
	const struct nb_workload *workload; /* copied; NULL: a job */
	const struct nb_job *job;           /* NULL: a workload */
	uint32_t what;                      /* of a job: NB_JOB_LOAD or NB_JOB_RUN */
	uint32_t threads;   /* of a workload, >= 1; a job's groups say how many */
	const char *driver; /* as nb_engine_load() takes it */
	const char *path;   /* the database is <path>/<driver's name> */
	const char *const *engine_options; /* "name=value"; see nb_options_parse() */
	size_t engine_option_count;
	uint32_t durability;  /* NB_DUR_* or NB_DUR_AUTO */
	uint32_t clock;       /* NB_CLOCK_* */
	uint32_t settle;      /* NB_RUN_SETTLE_* */
	uint32_t flags;       /* NB_RUN_* bits */
	uint64_t cache_bytes; /* 0: the engine's default */
	double verify_rate;   /* share of operations whose data is verified, 0..1 */
	/* of a workload: operations between two calls of progress, at least; 0: no calls */
	uint64_t report_interval;
	nb_progress_fn progress; /* may be NULL */
	void *progress_arg;
	/*
	 * Between two samples of the run over time; 0: a second, and a fifth of one in the
	 * first ten; at least 20 ms; UINT64_MAX: no samples
	 */
	uint64_t sample_ns;
	/*
	 * A call of the engine that has not returned after so long ends the run with a failure,
	 * and the engine is left where it is. 0: never
	 */
	uint64_t op_timeout_ns;
	uint64_t call_timeout_ns; /* the same for open, flush and close */
	/* The rest is for jobs. */
	uint32_t procs;       /* processes that have the database open at once, >= 1 */
	uint32_t is_point;    /* of a sweep: values of its earlier points are in the database */
	uint64_t interval_ns; /* 0: no intervals */
	nb_interval_fn interval;
	void *interval_arg;
	struct nb_steady steady;
	/* operations are those of traces, one for each group of the run; NULL: the job's */
	const struct nb_trace_options *traces;
	double speed; /* of the traces' times, where there is no rate; 0: as fast as can be */
	uint32_t makes_database; /* the first trace does: the database need not be there */
	uint32_t spare_u32;
	/* what is done is written there too, as a trace of our own; NULL: not */
	const char *record_path;
	const char *latency; /* of a workload, as a job's key; NULL: "each" */
	/* of a workload, as in struct nb_group */
	uint32_t depth;
	uint32_t spare_u32_2;
	uint64_t batch_bytes;
	/* The engine's checkpoint is called so often while the operations run; 0: never. */
	uint64_t checkpoint_every_ns;
	/*
	 * Addresses of the servers of an engine with NB_CAP_REMOTE, "a,b,c", each "host:port",
	 * "[v6]:port" or "unix:PATH"; NULL: none are named
	 */
	const char *servers;
	/* that this process is in; borrowed, outlives the run; NULL: memory has no limit */
	const struct nb_memory_group *memory;
	/* the first operation begins then, in ns since the epoch; 0: as soon as all are ready */
	uint64_t start_at_ns;
	/*
	 * In place of start_at_ns: called when all threads are ready, and again every few ms until
	 * it returns the moment; 0: it is not known yet. A late begin is then not a failure.
	 */
	uint64_t (*start)(void *arg);
	void *start_arg;
	/* Called on the thread of nb_run_execute() every partial_ns of measured operations. */
	nb_partial_fn partial;
	void *partial_arg;
	uint64_t partial_ns; /* 0: never */
	/* of a job: the shard that is done, in place of the job's own; shards 0: the job's own */
	uint32_t shard, shards;
};

/* Of op_timeout_ns, and of call_timeout_ns, whose calls do the work of many operations */
#define NB_OP_TIMEOUT_NS UINT64_C(600000000000)
#define NB_CALL_TIMEOUT_NS UINT64_C(36000000000000)

#define NB_RUN_OPTIONS_INIT \
	{ \
		.size = sizeof(struct nb_run_options), .what = NB_JOB_RUN, .threads = 1, \
		.driver = "leveldb", .path = "./nb", .durability = NB_DUR_AUTO, \
		.settle = NB_RUN_SETTLE_COMPACT, .verify_rate = 0.01, \
		.report_interval = 10000, .op_timeout_ns = NB_OP_TIMEOUT_NS, \
		.call_timeout_ns = NB_CALL_TIMEOUT_NS, .procs = 1, .depth = 1, .steady = { \
			0, \
			0.05, \
			0.1 \
		} \
	}

/** A run: checked, then executed once, then the source of a result. */
struct nb_run;

/**
 * Check all that can be checked without touching the database: the engine, its
 * options, the durability, the key file. Nothing is written.
 */
NB_MUST_CHECK int
nb_run_new(struct nb_run **out, const struct nb_run_options *options);

/**
 * Open the database, run, settle, verify and close. Whatever it returns, what
 * was measured until then can be had by nb_result_new(), if a first operation
 * was begun. Once for each nb_run_new().
 */
NB_MUST_CHECK int
nb_run_execute(struct nb_run *run);

/**
 * File for what the client of private servers reports, beside what they print, in a directory
 * that the run has made; NULL: there are no such servers. Lives as long as the run.
 */
const char *
nb_run_client_log(const struct nb_run *run);

/** NULL is fine. */
void
nb_run_delete(struct nb_run *run);

/**
 * Make a control group in which processes may use limit_bytes + harness_bytes of memory, page
 * cache included, and no swap. `harness_bytes` is what mininb itself needs for the run. With
 * limit_bytes 0 there is no limit and the group only counts. NB_FAIL says why none can be made
 * and what to do.
 */
NB_MUST_CHECK int
nb_memory_group_new(struct nb_memory_group **out, uint64_t limit_bytes, uint64_t harness_bytes);

/**
 * Move this process into it, and with it the children that it will start. Memory that it already
 * has is not charged, so call it early.
 */
NB_MUST_CHECK int
nb_memory_group_enter(const struct nb_memory_group *group);

/** The most memory that it used so far, in bytes; 0: not known. */
uint64_t
nb_memory_group_peak(const struct nb_memory_group *group);

/** How many processes the kernel killed because of the limit. */
uint64_t
nb_memory_group_kills(const struct nb_memory_group *group);

/** Remove it. Its processes have ended, or end at once. NULL is fine. */
void
nb_memory_group_delete(struct nb_memory_group *group);

/** Interrupts of the network that were moved. */
struct nb_irqs;

/**
 * Let the interrupts of network interfaces be handled by CPUs on which no measured thread is.
 * `interfaces`: "all" for each that has a device, or "eth0,eth1". Measured are `threads` workers
 * with NB_RUN_PIN, and those that are pinned to the list `cpus`, "0-3,8"; NULL: none. Needs root.
 * On a failure nothing is changed, or the text says what.
 */
NB_MUST_CHECK int
nb_irqs_move(struct nb_irqs **out, const char *interfaces, uint32_t threads, const char *cpus);

/** What was changed, a line. */
const char *
nb_irqs_text(const struct nb_irqs *irqs);

/** Put them back where they were, and free. NULL is fine. */
NB_MUST_CHECK int
nb_irqs_restore(struct nb_irqs *irqs);

struct nb_trace_counts;

/**
 * Write the operations of a job, as one thread would do them, as a trace: those of its
 * loading (NB_JOB_LOAD) or of its group (NB_JOB_RUN), of which there must be one, with a
 * count; with due times if it has a rate. What a trace cannot hold, a batch say, is
 * NB_ERR_USAGE. *counts, if not NULL, is filled in also on a failure.
 */
NB_MUST_CHECK int
nb_trace_generate(const struct nb_job *job, uint32_t what, const struct nb_trace_options *to,
	struct nb_trace_counts *counts, nb_progress_fn progress, void *progress_arg);

#ifdef __cplusplus
}
#endif
#endif /* MININB_RUN_H */
