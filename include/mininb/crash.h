/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_CRASH_H
#define MININB_CRASH_H
/**
 * Durability, put to the test: what is left of an engine's data when its process, or
 * the machine, ends in the middle of a write.
 *
 * A child process writes: puts, overwrites, deletes and, where the engine has them,
 * batches, on one or more sessions, each on keys of its own. What it begins and what
 * has returned stands in memory that it shares with this process. It is ended at some
 * moment, the database is opened again by another process, and all of it is held
 * against what was written.
 *
 * Two ways of ending it. NB_CRASH_KILL sends SIGKILL at a random moment: while the
 * database is being made, in the midst of operations, in flush or close, and now and
 * then in the recovery from the crash before. The page cache stays, so that says what
 * `process` is worth, and not what `commit` is. NB_CRASH_POWER records each call by
 * which the engine's files are changed or made durable, and makes of that the files
 * that power loss may leave at any recorded moment: what was not synced is lost, or
 * there in part, or in another order.
 *
 * What a level promises, as mininb(1) defines it. `none`: nothing; what a crash took is
 * counted, wrong bytes as well, and no promise is broken. `process`, `periodic` and `commit`,
 * at a kill: all that has returned is there. At a power loss `process` promises nothing either;
 * `periodic`: the latest writes of a session may be gone, but none that is older than
 * one which is there, which is not tried, as an interval is longer than a recording; `commit`:
 * all that has returned is there. At the other levels POWER makes states of kills. Where anything is
 * promised, whatever was lost: no value that was never put under that key, none in part, no
 * batch in part where it was to be atomic, a database that opens, whose scans are in
 * order and tell what get tells, that can be written, and is the same when it is opened
 * once more. A write that was begun and has not returned may be there or not.
 *
 * Threads. One call at a time in a process, which has no other threads: it makes its
 * children by fork().
 */
#include <mininb/mininb.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	NB_CRASH_KILL = 0, /* SIGKILL: what was written stays, synced or not */
	NB_CRASH_POWER = 1 /* power loss, simulated: only what was synced surely stays */
};

/* What of the names and sizes of files a power loss may take. */
enum {
	/*
	 * Metadata in their order, as the journals of ext4 and XFS keep it: what is left is
	 * as of some moment, and a sync of a file brings what is not younger than the last
	 * change of that file's own metadata.
	 */
	NB_CRASH_JOURNALLED = 0,
	/* As little as POSIX says: a name is there for sure when its directory was synced. */
	NB_CRASH_POSIX = 1
};

/* How a moment of NB_CRASH_KILL is drawn. */
enum {
	/* Each in turn, of blocks of eight rounds; with several sessions only TIMED. */
	NB_CRASH_BOTH = 0,
	NB_CRASH_TIMED = 1, /* a time after some operation: any moment, and never the same */
	/*
	 * So many system calls and instructions of the writer after an operation: the same seed
	 * finds the same again, in so far as the engine does the same again, which
	 * one with threads of its own need not. By ptrace(2); one session.
	 */
	NB_CRASH_COUNTED = 2
};

/** What was found wrong, NB_CRASH_*; each is counted by itself. */
enum {
	NB_CRASH_LOST = 0,    /* writes that returned, and that the level promises, are gone */
	NB_CRASH_TORN,        /* a value that is neither of those put: cut, or of two */
	NB_CRASH_GHOST,       /* a key or whole value that was never put there */
	NB_CRASH_REORDERED,   /* a later write is there and an earlier one is not */
	NB_CRASH_SPLIT_BATCH, /* an atomic batch in part */
	NB_CRASH_SCAN,        /* a scan out of order, or that differs from get */
	NB_CRASH_UNSTABLE,    /* another open finds other data */
	NB_CRASH_NOT_OPENED, /* open fails, crashes or hangs, or a verb does on what it opened */
	NB_CRASH_NOT_WRITABLE,
	NB_CRASH_WRONGS
};

/** "lost", "torn", "ghost" ...; NULL if there is no such. */
const char *
nb_crash_wrong_name(uint32_t wrong);

/** One crash after which something was wrong. The texts live until the function that takes it
 * returns. Append only. */
struct nb_crash_finding {
	size_t size;
	uint32_t round;      /* from 0 */
	uint32_t wrong;      /* NB_CRASH_*, the worst of what was wrong */
	uint32_t is_broken;  /* a promise of the level; else it is only told */
	uint32_t is_counted; /* the seed repeats it, see NB_CRASH_COUNTED */
	const char *text;    /* what was wrong with which key, by which operation; one line */
	const char *when;    /* the moment: "after 713 operations, in put", one line */
	const char *kept; /* directory that repeats it, see nb_crash_again(); NULL: not kept, as
			   * of ten there are enough, and of what is only told one of a kind */
};

typedef void (*nb_crash_report_fn)(void *to, const struct nb_crash_finding *finding);

/** What to do. Borrowed meanwhile. Append only. */
struct nb_crash_args {
	size_t size;
	const struct nb_engine *engine;        /* the host's copy, see nb_engine_table() */
	const struct nb_option_value *options; /* parallel to engine->options; NULL: none */
	const char *driver; /* as it was typed, kept with what repeats a failure */
	const char *const *engine_options; /* likewise, "name=value" */
	size_t engine_option_count;
	const char *scratch; /* an existing directory; what is made there is removed again */
	const char
		*keep; /* directory, made if needed, for what repeats a failure; NULL: none */
	uint64_t seed; /* of the operations and of all that is random */
	uint32_t how;  /* NB_CRASH_KILL or NB_CRASH_POWER */
	uint32_t durability;  /* NB_DUR_*, one that the engine offers */
	uint32_t file_system; /* NB_CRASH_JOURNALLED or NB_CRASH_POSIX; of POWER only */
	uint32_t rounds;      /* crashes of KILL, recordings of POWER; >= 1 */
	uint32_t states;      /* of POWER: states made of each recording; 0: 50 */
	uint32_t sessions;    /* that write at once, 1 to 16; 1 unless NB_CAP_CONCURRENT */
	/* Most operations to wait for in a round; 0: 10000, of POWER 300. Of KILL at
	 * NB_DUR_COMMIT at most 1000 where the moment is counted, and 100 before a close. */
	uint64_t ops;
	uint64_t timeout_ns; /* for one recovery with all its checks; a longer one hangs */
	nb_crash_report_fn report; /* may be NULL */
	void *report_arg;
	nb_progress_fn progress; /* may be NULL */
	void *progress_arg;
	uint32_t moment; /* of KILL: NB_CRASH_BOTH, NB_CRASH_TIMED or NB_CRASH_COUNTED */
	uint32_t spare_u32;
};

#define NB_CRASH_ARGS_INIT \
	{ \
		.size = sizeof(struct nb_crash_args), .seed = 1, .rounds = 100, .sessions = 1, \
		.timeout_ns = 60 * UINT64_C(1000000000) \
	}

/** What came of it. Append only. */
struct nb_crash_tally {
	size_t size;
	uint32_t rounds; /* that were done */
	uint32_t
		crashes; /* moments whose data was checked: of KILL the rounds, of POWER states */
	uint32_t broken; /* of them: in how many a promise of the level was broken */
	uint32_t spare_u32;
	uint64_t
		acknowledged; /* writes that had returned, of all crashes; a batch has several */
	uint64_t in_flight;   /* that had been begun and had not; */
	uint64_t in_flight_kept; /* how many of those were there */
	uint64_t survived;       /* acknowledged, and there or overwritten by one that is */
	uint64_t lost;           /* acknowledged, and gone */
	uint64_t holes;          /* lost, while a later write of the same session is there */
	uint64_t wrong[NB_CRASH_WRONGS]; /* crashes with it */
	struct nb_histogram *recovery;   /* time of open after a crash; owned by the tally */
	struct nb_histogram *reopening;  /* and after a close, to compare; likewise */
	/* Of POWER. */
	uint64_t calls;        /* that changed a file or made it durable, recorded */
	uint64_t syncs;        /* of them */
	uint64_t mapped_pages; /* pages that were changed through a mapping; 0: none is used */
	/* Of KILL. */
	uint32_t counted; /* crashes that the seed repeats: their moment was counted, and all
			   * before it on that database, see NB_CRASH_COUNTED */
	uint32_t spare2_u32;
	/* Of POWER: what of the writes the recording does not show, so that what is found, and
	 * what is not, may be due to that; "": it shows all. */
	char unseen[256];
};

/**
 * Do all rounds and report each crash after which something was wrong. *out is filled
 * also when nb_stop() ends it (NB_ERR_INTERRUPTED), and is given to
 * nb_crash_tally_clear(). A broken promise is no failure of this. NB_UNSUPPORTED: the engine cannot be tried so
 * (it keeps nothing, POWER without the recorder in the process, or of an engine that makes no
 * syncs where the medium needs none); NB_FAIL: the scratch directory, which may be full, that
 * of what is kept, a process, or an engine that fails before anything has crashed;
 * NB_ERR_DATA: an engine that has written over what its process shares with this one.
 */
NB_MUST_CHECK int
nb_crash(struct nb_crash_tally *out, const struct nb_crash_args *args);

void
nb_crash_tally_clear(struct nb_crash_tally *tally);

/**
 * Check what was kept in directory `kept` once more: its database is copied, opened
 * and held against what was written, which gives the same finding again. The engine is
 * args->engine; NB_ERR_USAGE if it is not the one that made it, NB_UNSUPPORTED if it no longer
 * offers the level.
 */
NB_MUST_CHECK int
nb_crash_again(struct nb_crash_tally *out, const struct nb_crash_args *args, const char *kept);

/** One engine at one level. Borrowed. Append only. */
struct nb_crash_row {
	size_t size;
	const char *driver, *engine, *version;
	const struct nb_crash_tally *tally;
	const struct nb_crash_finding *findings;
	size_t finding_count;
	uint32_t durability; /* NB_DUR_* */
	uint32_t is_whole;   /* all rounds were done */
};

/**
 * The JSON of crash tests, format mininb-crash, ended by NUL; yours to free(). NULL: out of
 * memory. Of `args`, as of nb_crash(), it uses how, seed, sessions and the engine options.
 */
NB_MUST_CHECK char *
nb_crash_to_json(
	const struct nb_crash_args *args, const struct nb_crash_row *rows, size_t row_count);

/** What was kept: which engine, by the driver, level and options that were typed. Texts are
 * yours to free with nb_crash_kept_clear(). Append only. */
struct nb_crash_kept {
	size_t size;
	char *driver;
	char **engine_options;
	size_t engine_option_count;
	uint32_t durability, how, file_system, round;
	uint64_t seed;
};

/**
 * NB_ERR_USAGE: the directory holds no such thing, or what a mininb has kept that writes other
 * operations than this one.
 */
NB_MUST_CHECK int
nb_crash_kept_read(struct nb_crash_kept *out, const char *kept);

void
nb_crash_kept_clear(struct nb_crash_kept *kept);

/**
 * The library that records calls, which has to be in LD_PRELOAD from the start of the
 * process for NB_CRASH_POWER; NULL if it is not found. Yours to free(). 1 if it is loaded
 * already, else 0.
 */
char *
nb_crash_recorder_path(void);

int
nb_crash_recorder_is_loaded(void);

#ifdef __cplusplus
}
#endif
#endif /* MININB_CRASH_H */
