/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_CRASH_H
#define MININB_CRASH_H
/**
 * Tests durability: the data that remains after a crash of the engine's process or of the
 * machine during writes.
 *
 * A child process writes in one or more sessions, each with its own keys. It uses put and
 * delete and, if the engine has them, batches, transactions and counter additions. It records
 * in shared memory which operations have begun and which have returned. The child is ended at
 * some moment. Then another process opens the database and compares all data with the record.
 *
 * NB_CRASH_KILL sends SIGKILL at a random moment: during creation of the database, operations,
 * flush or close, and sometimes during the recovery from the previous crash. The page cache
 * survives, so this tests the level `process`, not `commit`.
 *
 * NB_CRASH_POWER records each call that changes the engine's files or makes them durable. From
 * the recording it constructs the files that a power loss may leave at any recorded moment:
 * unsynced data is lost, partial, or reordered. After a power loss the engine reads a new boot
 * id of the kernel; after a kill, the same one. This needs an engine that opens the kernel's
 * file with the C library.
 *
 * The promises of the levels, as in mininb(1):
 * - `none` promises nothing. All losses and wrong bytes are counted, but break no promise.
 * - `process`, `periodic` and `commit` keep all returned writes after a kill.
 * - `process` promises nothing after a power loss.
 * - `periodic` may lose the last writes of a session at a power loss. If a write is present,
 *   all earlier writes of its session are, too. A recording is shorter than most sync
 *   intervals: set a short interval with the engine's option.
 * - `commit` keeps all returned writes after a power loss.
 *
 * At `none` and `process`, NB_CRASH_POWER constructs states of kills.
 *
 * A level with any promise also promises:
 * - A value is complete and was put under its key.
 * - An atomic batch or transaction is complete or absent; an aborted one is absent.
 * - A counter is the sum of its first additions.
 * - The database opens, can be written, and is the same when it is opened again. Scans are in
 *   order and agree with get.
 *
 * A write that began but did not return may be present or not.
 *
 * Threads. One call at a time, in a process without other threads, because it uses fork().
 */
#include <mininb/mininb.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	NB_CRASH_KILL = 0, /* SIGKILL: written data remains, synced or not */
	NB_CRASH_POWER = 1 /* simulated power loss: only synced data remains for certain */
};

/* The names and sizes of files that a power loss may undo. */
enum {
	/*
	 * Metadata changes are ordered, as in the journals of ext4 and XFS: the state is that
	 * of some moment. A sync of a file makes metadata durable up to the last change of that
	 * file's own metadata.
	 */
	NB_CRASH_JOURNALLED = 0,
	/* The minimum of POSIX: a name is durable only after a sync of its directory. */
	NB_CRASH_POSIX = 1
};

/* How NB_CRASH_KILL chooses the moment. */
enum {
	/*
	 * The two below in turn, for blocks of eight rounds; with several sessions only TIMED.
	 */
	NB_CRASH_BOTH = 0,
	NB_CRASH_TIMED = 1, /* a delay after an operation: any moment, not reproducible */
	/*
	 * A number of system calls and instructions of the writer after an operation. The seed
	 * reproduces a finding if the engine's work is deterministic, which threads of the
	 * engine may prevent. Needs ptrace(2) and one session.
	 */
	NB_CRASH_COUNTED = 2
};

/** Kinds of findings, NB_CRASH_*, counted separately. */
enum {
	NB_CRASH_LOST = 0,    /* returned writes that the level promises are lost */
	NB_CRASH_TORN,        /* a value that was never put: cut, mixed, or added twice */
	NB_CRASH_GHOST,       /* a key or complete value that was never put there */
	NB_CRASH_REORDERED,   /* a later write is there and an earlier one is not */
	NB_CRASH_SPLIT_BATCH, /* an atomic batch or a transaction in part */
	NB_CRASH_SCAN,        /* a scan is out of order or differs from get */
	NB_CRASH_UNSTABLE,    /* a second open finds different data */
	NB_CRASH_NOT_OPENED,  /* open, or a verb after it, fails, crashes or hangs */
	NB_CRASH_NOT_WRITABLE,
	NB_CRASH_WRONGS
};

/** "lost", "torn", "ghost" ...; NULL if unknown. */
const char *
nb_crash_wrong_name(uint32_t wrong);

/**
 * A crash after which the data was wrong. The texts are valid until the report function
 * returns. Append only.
 */
struct nb_crash_finding {
	size_t size;
	uint32_t round;      /* from 0 */
	uint32_t wrong;      /* NB_CRASH_*, the worst finding */
	uint32_t is_broken;  /* a promise of the level is broken */
	uint32_t is_counted; /* the seed reproduces it, see NB_CRASH_COUNTED */
	const char *text;    /* the error, the key and the operation; one line */
	const char *when;    /* the moment: "after 713 operations, in put", one line */
	/*
	 * Directory for nb_crash_again(); NULL: not kept. At most ten are kept, and one of each
	 * kind that breaks no promise.
	 */
	const char *kept;
};

typedef void (*nb_crash_report_fn)(void *to, const struct nb_crash_finding *finding);

/** Arguments of a crash test. Borrowed during the call. Append only. */
struct nb_crash_args {
	size_t size;
	const struct nb_engine *engine;        /* the host's copy, see nb_engine_table() */
	const struct nb_option_value *options; /* parallel to engine->options; NULL: none */
	const char *driver;                    /* as the user typed it; written to `keep` */
	const char *const *engine_options;     /* the same, "name=value" */
	size_t engine_option_count;
	const char *scratch;  /* an existing directory for temporary files */
	const char *keep;     /* directory for findings, created if needed; NULL: none */
	uint64_t seed;        /* of the operations and all random choices */
	uint32_t how;         /* NB_CRASH_KILL or NB_CRASH_POWER */
	uint32_t durability;  /* NB_DUR_*, a level of the engine */
	uint32_t file_system; /* NB_CRASH_JOURNALLED or NB_CRASH_POSIX; only POWER */
	uint32_t rounds;      /* crashes of KILL, recordings of POWER; >= 1 */
	uint32_t states;      /* POWER: states of each recording; 0: 50 */
	uint32_t sessions;    /* concurrent, 1 to 16; 1 unless NB_CAP_CONCURRENT */
	/*
	 * Maximum number of operations of a round; 0: 10000, for POWER 300. KILL at
	 * NB_DUR_COMMIT uses at most 1000 if the moment is counted, and 100 before a close.
	 */
	uint64_t ops;
	uint64_t timeout_ns;       /* limit of one recovery with its checks; longer: a hang */
	nb_crash_report_fn report; /* may be NULL */
	void *report_arg;
	nb_progress_fn progress; /* may be NULL */
	void *progress_arg;
	uint32_t moment; /* KILL: NB_CRASH_BOTH, NB_CRASH_TIMED or NB_CRASH_COUNTED */
	uint32_t spare_u32;
};

#define NB_CRASH_ARGS_INIT \
	{ \
		.size = sizeof(struct nb_crash_args), .seed = 1, .rounds = 100, .sessions = 1, \
		.timeout_ns = 60 * UINT64_C(1000000000) \
	}

/** The result. Append only. */
struct nb_crash_tally {
	size_t size;
	uint32_t rounds;  /* completed */
	uint32_t crashes; /* checked moments: rounds of KILL, states of POWER */
	uint32_t broken;  /* crashes that broke a promise of the level */
	uint32_t spare_u32;
	uint64_t acknowledged;   /* returned writes, of all crashes; a batch has several */
	uint64_t in_flight;      /* writes begun but not returned */
	uint64_t in_flight_kept; /* those of them that were present */
	uint64_t survived;       /* acknowledged, and present or overwritten by a present one */
	uint64_t lost;           /* acknowledged but absent */
	uint64_t holes;          /* lost, although a later write of the session is present */
	uint64_t wrong[NB_CRASH_WRONGS]; /* crashes by kind of finding */
	struct nb_histogram *recovery;   /* time of open after a crash; owned by the tally */
	struct nb_histogram *reopening;  /* time of open after a close; same owner */
	/* For POWER. */
	uint64_t calls;        /* recorded */
	uint64_t syncs;        /* included in `calls` */
	uint64_t mapped_pages; /* pages changed through a mapping */
	/* For KILL. */
	/*
	 * Crashes that the seed reproduces: their moments, and all earlier ones on their
	 * databases, were counted, see NB_CRASH_COUNTED.
	 */
	uint32_t counted;
	uint32_t spare2_u32;
	/*
	 * POWER: writes that the recording misses, which may cause or hide findings; "": none.
	 */
	char unseen[256];
};

/**
 * Execute all rounds and report each crash after which the data was wrong. *out is also set if
 * nb_stop() ends the call (NB_ERR_INTERRUPTED); free it with nb_crash_tally_clear(). A broken
 * promise is not a failure. NB_UNSUPPORTED: the engine cannot be tested (not persistent; POWER
 * without the recorder, or with an engine that makes no syncs because the medium needs none).
 * NB_FAIL: the scratch or `keep` directory, a process, or an engine that fails before the first
 * crash. NB_ERR_DATA: the engine overwrote shared memory.
 */
NB_MUST_CHECK int
nb_crash(struct nb_crash_tally *out, const struct nb_crash_args *args);

void
nb_crash_tally_clear(struct nb_crash_tally *tally);

/**
 * Check a finding in the directory `kept` again: copy its database, open it and compare it with
 * the recorded writes, which gives the same finding. NB_ERR_USAGE: args->engine is not the
 * engine of the finding. NB_UNSUPPORTED: it no longer has the level.
 */
NB_MUST_CHECK int
nb_crash_again(struct nb_crash_tally *out, const struct nb_crash_args *args, const char *kept);

/** Results of one engine at one level. Borrowed. Append only. */
struct nb_crash_row {
	size_t size;
	const char *driver, *engine, *version;
	const struct nb_crash_tally *tally;
	const struct nb_crash_finding *findings;
	size_t finding_count;
	uint32_t durability; /* NB_DUR_* */
	uint32_t is_whole;   /* all rounds are complete */
};

/**
 * The results as JSON, format mininb-crash, yours to free(). NULL: out of memory. It uses how,
 * seed, sessions and the engine options of the `args` of nb_crash().
 */
NB_MUST_CHECK char *
nb_crash_to_json(
	const struct nb_crash_args *args, const struct nb_crash_row *rows, size_t row_count);

/**
 * A kept finding: its driver, level and options as the user typed them. Free it with
 * nb_crash_kept_clear(). Append only.
 */
struct nb_crash_kept {
	size_t size;
	char *driver;
	char **engine_options;
	size_t engine_option_count;
	uint32_t durability, how, file_system, round;
	uint64_t seed;
	/*
	 * Simulated restarts of the machine before it; if above 0, a check needs the recorder.
	 */
	uint32_t boots;
};

/** NB_ERR_USAGE: not a kept finding, or one of a version of mininb with other operations. */
NB_MUST_CHECK int
nb_crash_kept_read(struct nb_crash_kept *out, const char *kept);

void
nb_crash_kept_clear(struct nb_crash_kept *kept);

/**
 * The path of the recorder, yours to free(). NB_CRASH_POWER needs it in LD_PRELOAD from the
 * start of the process. NULL: not found.
 */
char *
nb_crash_recorder_path(void);

/** 1 if the recorder is loaded, else 0. */
int
nb_crash_recorder_is_loaded(void);

#ifdef __cplusplus
}
#endif
#endif /* MININB_CRASH_H */
