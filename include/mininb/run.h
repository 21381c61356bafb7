/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_RUN_H
#define MININB_RUN_H
/**
 * Run an engine with a workload and threads: load the engine, execute the operations and
 * measure them.
 */
#include <mininb/mininb.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nb_workload;

/**
 * A loaded engine whose table was accepted. Its table is the host's copy: fields that an older
 * plugin lacks are NULL.
 */
struct nb_engine_ref;

/**
 * Find and load an engine. A name with a '/' is a path. For other names mininb looks for
 * <name>.so in this order:
 * - the directories of $MININB_PLUGIN_PATH
 * - the build directory, if the program runs from it
 * - the installed directory
 *
 * It never looks in the working directory. `null` and `memory` are built in. NB_ERR_USAGE: no
 * such engine; the text lists the available ones and names the nearest. NB_FAIL: the plugin was
 * rejected; the text has the reason.
 */
NB_MUST_CHECK int
nb_engine_load(struct nb_engine_ref **out, const char *name);

/**
 * Release an engine. The plugin stays in memory, because its engine may have threads. NULL is
 * fine.
 */
void
nb_engine_unload(struct nb_engine_ref *ref);

const struct nb_engine *
nb_engine_table(const struct nb_engine_ref *ref);

/** The file of the engine; "built in" for null and memory. */
const char *
nb_engine_path(const struct nb_engine_ref *ref);

/** The functions that the host provides to plugins. Valid for the life of the program. */
const struct nb_host *
nb_engine_host(void);

/**
 * Check and convert `count` texts "name=value" by an engine's option table. *out is an array
 * parallel to the table, with defaults filled in; free it with nb_options_delete().
 * NB_ERR_USAGE names the option, the allowed values or the nearest name.
 */
NB_MUST_CHECK int
nb_options_parse(struct nb_option_value **out, const struct nb_engine *engine,
	const char *const *texts, size_t count);

void
nb_options_delete(struct nb_option_value *values, const struct nb_engine *engine);

/**
 * Parse the engine's options. If they change the capabilities (nb_engine.variant),
 * nb_engine_table() returns the table for these options from then on. Call it once for each
 * nb_engine_load(). *out and failures as for nb_options_parse(); NB_FAIL if the variant is
 * rejected.
 */
NB_MUST_CHECK int
nb_engine_configure(struct nb_option_value **out, struct nb_engine_ref *ref,
	const char *const *texts, size_t count);

/* Lists: X(ID, NAME) for each entry, in the order of the numbers. */
#define NB_DURABILITY_LIST(X) \
	X(NONE, "none") X(PROCESS, "process") X(PERIODIC, "periodic") X(COMMIT, "commit")
#define NB_CLOCK_LIST(X) X(AUTO, "auto") X(TSC, "tsc") X(MONOTONIC, "monotonic")
#define NB_SETTLE_LIST(X) X(NONE, "none") X(FLUSH, "flush") X(COMPACT, "compact")

/** X for a list that produces "|none|process|...", the choices of an option. */
#define NB_CHOICE(id, name) "|" name

/** A name of NB_DURABILITY_LIST(); NULL if the level does not exist. */
const char *
nb_durability_name(uint32_t level);

/** The engine's strongest level that needs no sync for each write. */
#define NB_DUR_AUTO UINT32_MAX

enum {
	NB_CLOCK_AUTO = 0, /* the TSC if it can be trusted, else CLOCK_MONOTONIC */
	NB_CLOCK_TSC = 1,  /* an error if the TSC cannot be trusted */
	NB_CLOCK_MONOTONIC = 2
};

/*
 * How a write phase ends. If the engine does not support it, the result has a note; this is not
 * a failure.
 */
enum { NB_RUN_SETTLE_NONE = 0, NB_RUN_SETTLE_FLUSH = 1, NB_RUN_SETTLE_COMPACT = 2 };

#define NB_RUN_PIN (1u << 0) /* worker t runs on the t-th CPU allowed to the process */
#define NB_RUN_ALLOW_MISSING (1u << 1) /* missing keys do not make the run fail */
#define NB_RUN_FRESH (1u << 2)         /* before a database is made, the old one is removed */
/*
 * Remove an existing database from memory before it is opened. mininb drops all caches of the
 * kernel if that is permitted, which slows down everything on the machine. Otherwise it drops
 * the caches of the database's files. NB_UNSUPPORTED: the file system is in memory. No effect
 * on new databases and on engines that store none.
 */
#define NB_RUN_COLD (1u << 3)
/*
 * Use the processor's counters in a virtual machine too, where they take up to 5 % of the CPU
 * time.
 */
#define NB_RUN_HARDWARE (1u << 4)
/* Also write to, or remove for NB_RUN_FRESH, a database that mininb did not make. */
#define NB_RUN_FORCE (1u << 5)

struct nb_job;
struct nb_trace_options;
struct nb_memory_group;

/* The part of a job to execute. */
enum { NB_JOB_LOAD = 0, NB_JOB_RUN = 1 };

/** Operations of one kind, from the end of the warm-up to a moment of the run. */
struct nb_interval_kind {
	uint64_t ops;
	double mean_ns;          /* service times, rounded to three digits */
	uint64_t min_ns, max_ns; /* 0 without operations; rounded likewise */
};

/** Measurements between two moments of a job. Append only. */
struct nb_interval {
	size_t size;
	uint64_t end_ns, duration_ns; /* since the first operation */
	uint64_t ops;                 /* completed in the interval by all threads */
	double rate_ops_s;
	/* Response times with a rate, else service times; 0: too few. */
	uint64_t p50_ns, p99_ns, max_ns;
	uint64_t behind_ops; /* with a rate: due operations that are not complete */
	uint32_t is_warmup;
	uint32_t phase;
	/*
	 * NB_KINDS_MAX elements in a job with a social graph; else NULL. Valid until the
	 * callback returns.
	 */
	const struct nb_interval_kind *kinds;
};

typedef void (*nb_interval_fn)(void *arg, const struct nb_interval *interval);

struct nb_run;

/**
 * Called during the operations of `run`. nb_result_new() and nb_results_add_run() then make a
 * partial result of the operations so far. It lacks data that is known only at the end. The run
 * does not pause during the call; objects made from it must not outlive the call.
 */
typedef void (*nb_partial_fn)(void *arg, const struct nb_run *run);

/** Condition under which a job with steady throughput may end. window_ns 0: not used. */
struct nb_steady {
	uint64_t window_ns;
	double slope, band; /* fractions of the mean; see lib/run/steady.h */
};

/** Parse "10s" or "10s,slope:5%,band:10%": the window, and optional limits. NB_ERR_USAGE. */
NB_MUST_CHECK int
nb_steady_parse(struct nb_steady *out, const char *text);

/**
 * Options of a run. It executes a workload, which puts, gets or deletes the keys of a file in
 * order, or a job. Texts and job are borrowed until nb_run_delete(). Append only.
 */
struct nb_run_options {
	size_t size;
	const struct nb_workload *workload; /* copied; NULL: a job */
	const struct nb_job *job;           /* NULL: a workload */
	uint32_t what;                      /* of a job: NB_JOB_LOAD or NB_JOB_RUN */
	uint32_t threads;   /* of a workload, >= 1; a job's groups have their own */
	const char *driver; /* as nb_engine_load() takes it */
	const char *path;   /* the database is <path>/<driver's name> */
	const char *const *engine_options; /* "name=value"; see nb_options_parse() */
	size_t engine_option_count;
	uint32_t durability;  /* NB_DUR_* or NB_DUR_AUTO */
	uint32_t clock;       /* NB_CLOCK_* */
	uint32_t settle;      /* NB_RUN_SETTLE_* */
	uint32_t flags;       /* NB_RUN_* bits */
	uint64_t cache_bytes; /* 0: the engine's default */
	double verify_rate;   /* fraction of operations whose data is verified, 0..1 */
	/* workload: minimum operations between two calls of progress; 0: no calls */
	uint64_t report_interval;
	nb_progress_fn progress; /* may be NULL */
	void *progress_arg;
	/*
	 * Time between two samples of the run, at least 20 ms. UINT64_MAX: no samples. 0: one
	 * second, but 200 ms in the first ten seconds.
	 */
	uint64_t sample_ns;
	/*
	 * If a call of the engine takes longer, the run ends with a failure and leaves the
	 * thread inside the engine. 0: no limit.
	 */
	uint64_t op_timeout_ns;
	uint64_t call_timeout_ns; /* the same for open, flush and close */
	/* The following members are for jobs. */
	uint32_t procs;       /* processes that open the database at once, >= 1 */
	uint32_t is_point;    /* point of a sweep: the database has values of earlier points */
	uint64_t interval_ns; /* 0: no intervals */
	nb_interval_fn interval;
	void *interval_arg;
	struct nb_steady steady;
	/* replay these traces, one for each group of the run; NULL: the job's operations */
	const struct nb_trace_options *traces;
	double speed; /* factor for the times of a trace without a rate; 0: no waits */
	uint32_t makes_database; /* the first trace creates the database; it need not exist */
	uint32_t spare_u32;
	/* also write the operations to this file, as a trace of mininb's format; NULL: no */
	const char *record_path;
	const char *latency; /* of a workload; same as the key of a job; NULL: "each" */
	/* of a workload, as in struct nb_group */
	uint32_t depth;
	uint32_t spare_u32_2;
	uint64_t batch_bytes;
	/* Interval between calls of the engine's checkpoint during the operations; 0: never. */
	uint64_t checkpoint_every_ns;
	/*
	 * Addresses of the servers of an engine with NB_CAP_REMOTE, "a,b,c", each "host:port",
	 * "[v6]:port" or "unix:PATH"; NULL: none.
	 */
	const char *servers;
	/* group of this process; borrowed, outlives the run; NULL: no memory limit */
	const struct nb_memory_group *memory;
	/* time of the first operation, ns since the epoch; 0: as soon as all are ready */
	uint64_t start_at_ns;
	/*
	 * Replaces start_at_ns. Called when all threads are ready, then every few ms until it
	 * returns the start time. 0: not known yet. A late start is then not a failure.
	 */
	uint64_t (*start)(void *arg);
	void *start_arg;
	/*
	 * Called on the thread of nb_run_execute() every partial_ns of measured operations, or
	 * less often if calls would take more than 1 % of the CPU time of a thread.
	 */
	nb_partial_fn partial;
	void *partial_arg;
	uint64_t partial_ns; /* 0: never */
	/* of a job: the shard to execute, overrides the job's own; shards 0: the job's own */
	uint32_t shard, shards;
};

/*
 * Defaults of op_timeout_ns and call_timeout_ns. A call of the latter kind does the work of many
 * operations.
 */
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
 * Check all that can be checked without access to the database: the engine, its options, the
 * durability, the key file. Writes nothing.
 */
NB_MUST_CHECK int
nb_run_new(struct nb_run **out, const struct nb_run_options *options);

/**
 * Open the database, run, settle, verify and close. Once for each nb_run_new(). After any
 * return value, nb_result_new() gives the measurements so far, if a first operation was
 * started.
 */
NB_MUST_CHECK int
nb_run_execute(struct nb_run *run);

/**
 * File for the report of the client of private servers, next to the output of the servers. It
 * is in a directory that the run made. NULL: no such servers. Valid as long as the run.
 */
const char *
nb_run_client_log(const struct nb_run *run);

/** NULL is fine. */
void
nb_run_delete(struct nb_run *run);

/**
 * Make a control group whose processes may use limit_bytes + harness_bytes of memory, including
 * page cache, and no swap. `harness_bytes` is the need of mininb itself. limit_bytes 0: no
 * limit; the group only counts. NB_FAIL: the text has the reason and a remedy.
 */
NB_MUST_CHECK int
nb_memory_group_new(struct nb_memory_group **out, uint64_t limit_bytes, uint64_t harness_bytes);

/**
 * Move this process into the group; future children are in it, too. Existing memory is not
 * charged, so call it early.
 */
NB_MUST_CHECK int
nb_memory_group_enter(const struct nb_memory_group *group);

/** The peak memory use of the group, in bytes; 0: not known. */
uint64_t
nb_memory_group_peak(const struct nb_memory_group *group);

/** Number of processes that the kernel killed because of the limit. */
uint64_t
nb_memory_group_kills(const struct nb_memory_group *group);

/** Remove the group. Its processes have ended or are about to end. NULL is fine. */
void
nb_memory_group_delete(struct nb_memory_group *group);

/** Network interrupts that were moved. */
struct nb_irqs;

/**
 * Move the interrupts of network interfaces to CPUs without measured threads. `interfaces`:
 * "all" for each interface with a device, or "eth0,eth1". Measured threads are `threads`
 * workers with NB_RUN_PIN, and threads pinned to the list `cpus`, "0-3,8"; NULL: none. Needs
 * root. After a failure nothing is changed, or the text lists the changes.
 */
NB_MUST_CHECK int
nb_irqs_move(struct nb_irqs **out, const char *interfaces, uint32_t threads, const char *cpus);

/** One line that describes the changes. */
const char *
nb_irqs_text(const struct nb_irqs *irqs);

/** Restore the interrupts, and free. NULL is fine. */
NB_MUST_CHECK int
nb_irqs_restore(struct nb_irqs *irqs);

struct nb_trace_counts;

/**
 * Write the operations of a job as a trace, as one thread would execute them: its load
 * (NB_JOB_LOAD) or its only group (NB_JOB_RUN), which must have a count. With a rate, the trace
 * has due times. NB_ERR_USAGE: the trace format cannot hold an operation, for example a batch.
 * *counts, if not NULL, is set also on failure.
 */
NB_MUST_CHECK int
nb_trace_generate(const struct nb_job *job, uint32_t what, const struct nb_trace_options *to,
	struct nb_trace_counts *counts, nb_progress_fn progress, void *progress_arg);

#ifdef __cplusplus
}
#endif
#endif /* MININB_RUN_H */
