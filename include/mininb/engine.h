/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_ENGINE_H
#define MININB_ENGINE_H
/**
 * The plugin ABI of mininb: what an engine must answer to be measured.
 *
 * A plugin is one shared object that exports one function, nb_engine_plugin(),
 * which returns a pointer to one static const table, struct nb_engine. This
 * header is all that it includes of mininb, and it links nothing of mininb's.
 * C11, and C++17 as well (an exception must not leave a verb).
 *
 *     static const struct nb_engine engine = {
 *             .abi = NB_ENGINE_ABI, .size = sizeof(engine), .name = "mine",
 *             .open = mine_open, ..., .del = mine_del,
 *     };
 *     NB_ENGINE_PLUGIN(engine)
 *
 * Growth. The ABI number must be equal on both sides and changes only when an
 * old field changes its meaning. Structures only ever grow at their end and
 * carry their size: a table shorter than the host's reads as NULL beyond its
 * end, a longer one is cut to what the host knows, and a plugin that wants a
 * late field of a structure from the host looks at that structure's size
 * first. The host ignores bits of `caps` and `durabilities` that it does not
 * know. Array elements cannot grow that way; they carry spare fields, which
 * are zero, but for nb_slice, which is what it is for good.
 *
 * Lifetimes. What a verb is given, structures, keys and values, is the host's
 * and lives until the verb returns, unless it is said otherwise.
 *
 * Answers. Every verb returns 0 when done, a positive answer that the host
 * counts, or a negative failure that stops the run. A failure's text is given
 * once, where the cause is known:
 *
 *     return db->host->fail(NB_FAIL, "mdb_put: %s", mdb_strerror(rc));
 *
 * Threads. One thread opens and closes the database and makes every call that
 * takes a struct nb_db, but for session_open: each worker opens, uses and closes
 * its session on its own thread, and a session is never shared. Sessions are
 * opened, run and closed in parallel only where NB_CAP_CONCURRENT says that they
 * may: the host never adds a lock.
 *
 * Time. The host times get + reading the value + release as one operation, and
 * every other verb alone. It owns clocks, threads, randomness and printing; a
 * plugin never prints, never exits and makes no threads of its own beyond
 * those of its engine. What it prints on standard output all the same comes out
 * on standard error, since standard output is for results. It keeps the working
 * directory as it is: the host returns to its own between calls.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NB_ENGINE_ABI 1u

#if defined(__GNUC__)
#define NB_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define NB_EXPORT __attribute__((visibility("default")))
#else
#define NB_PRINTF(fmt, args)
#define NB_EXPORT
#endif

/** Both are the engine's own; the host only hands the pointers back. */
struct nb_db;
struct nb_session;

/**
 * Borrowed bytes: not owned, not NUL-terminated. data may be NULL if size is 0.
 * A key has at least one byte; a value may have none.
 */
struct nb_slice {
	const void *data;
	size_t size;
};

/*
 * What a verb returns. Positive: an answer to count. Negative: the run stops.
 *
 * A verb that answers NB_CONFLICT within a transaction has lost that transaction: the host
 * calls abort() next and begins anew. From commit and execute it says that the transaction is
 * over, and from a verb without a transaction that nothing happened.
 */
enum {
	NB_OK = 0,
	NB_NOT_FOUND = 1,   /* no such key; a scan that is at its end */
	NB_CONFLICT = 2,    /* a transaction lost; nothing happened, try again */
	NB_EXISTS = 3,      /* a condition was not met: see the verb; nothing happened */
	NB_PENDING = 4,     /* submitted, and will come out of reap */
	NB_FAIL = -1,       /* the engine or the system failed */
	NB_UNSUPPORTED = -2 /* cannot be had: a durability level, a size, an option */
};

/*
 * Durability: what a crash may take of the writes that have returned. Weakest
 * first. A level that open is asked for is honoured exactly, or refused with
 * NB_UNSUPPORTED.
 *
 * An engine may ask the kernel whether the machine was started since the last
 * open, by /proc/sys/kernel/random/boot_id. `mininb crash --power` simulates
 * that file if the engine opens it with the C library.
 */
enum {
	NB_DUR_NONE = 0,     /* kill -9 of the process may lose them */
	NB_DUR_PROCESS = 1,  /* survive kill -9, as after write(2); not power loss */
	NB_DUR_PERIODIC = 2, /* survive power loss, but for the last sync interval */
	NB_DUR_COMMIT = 3    /* survive power loss, as after write(2) + fsync(2) */
};
#define NB_DUR_BIT(level) (1u << (level))

/* Capabilities: only what a non-NULL verb cannot say. */
#define NB_CAP_ORDERED (1u << 0)       /* scans follow memcmp() of the keys */
#define NB_CAP_PERSISTENT (1u << 1)    /* what was put is there after close and open */
#define NB_CAP_CONCURRENT (1u << 2)    /* sessions may run in parallel */
#define NB_CAP_ATOMIC_BATCH (1u << 3)  /* batch can be all or nothing */
#define NB_CAP_SNAPSHOT (1u << 4)      /* a scan or transaction sees one version of the data */
#define NB_CAP_ZERO_COPY (1u << 5)     /* get lends the engine's own memory, not a copy */
#define NB_CAP_MULTI_PROCESS (1u << 6) /* several processes may have it open at once */
#define NB_CAP_SYNTHETIC (1u << 7)     /* keeps nothing: get makes its answer up */
#define NB_CAP_REMOTE (1u << 8)        /* the data is another process's, not in args->path */
#define NB_CAP_SERIALIZABLE (1u << 9)  /* transactions are as if one came after the other */
#define NB_CAP_COPIES (1u << 10)       /* submit keeps no pointer to what a request points to */

/* Types of an engine's option. */
enum {
	NB_OPT_BOOL = 0,   /* u64: 0 or 1 */
	NB_OPT_U64 = 1,    /* u64: a count; suffixes k M G */
	NB_OPT_BYTES = 2,  /* u64: bytes; suffixes KiB MiB GiB */
	NB_OPT_TIME = 3,   /* u64: nanoseconds; suffixes us ms s m h */
	NB_OPT_CHOICE = 4, /* u64: index into choices */
	NB_OPT_REAL = 5,   /* real */
	NB_OPT_TEXT = 6    /* text */
};

/**
 * One option of an engine, "-o name=value" at the command line. The host
 * parses, checks against choices or min..max, prints the help and keeps the
 * values in the result. The table ends with an element whose name is NULL. The macros
 * NB_OPTION_BOOL, NB_OPTION_U64, ... below write a row each.
 *
 * Not options, since they decide whether two engines are compared fairly, and
 * so common to all (struct nb_open_args): durability, cache, expected number
 * and sizes of records, number of sessions.
 */
struct nb_option {
	const char *name;    /* lower case: "map_size" */
	const char *def;     /* as it would be typed: "4GiB", "yes"; NULL: the engine's own */
	const char *choices; /* NB_OPT_CHOICE: "none|snappy"; else NULL */
	const char *unit;    /* what a plain number counts, "levels"; may be NULL */
	const char *help;    /* one line */
	uint64_t min, max;   /* U64, BYTES, TIME: in the type's unit; both 0: any */
	uint32_t type;       /* NB_OPT_* */
	uint32_t spare_u32;
	const void *spare_ptr;
};

/*
 * Rows of the table of options. `def` as it would be typed, or NULL; min and max in the
 * type's unit, both 0: any. For example:
 *
 *     enum { CACHE, SYNC };
 *     static const struct nb_option options[] = {
 *             [CACHE] = NB_OPTION_BYTES("cache", "8MiB", 4096, 1 << 30, "size of the cache"),
 *             [SYNC] = NB_OPTION_BOOL("sync", "no", "sync each write"),
 *             NB_OPTION_END,
 *     };
 */
#define NB_OPTION_ROW(name, def, choices, unit, help, min, max, type) \
	{ \
		name, def, choices, unit, help, min, max, type, 0, NULL \
	}
#define NB_OPTION_BOOL(name, def, help) \
	NB_OPTION_ROW(name, def, NULL, NULL, help, 0, 1, NB_OPT_BOOL)
#define NB_OPTION_U64(name, def, unit, min, max, help) \
	NB_OPTION_ROW(name, def, NULL, unit, help, min, max, NB_OPT_U64)
#define NB_OPTION_BYTES(name, def, min, max, help) \
	NB_OPTION_ROW(name, def, NULL, NULL, help, min, max, NB_OPT_BYTES)
#define NB_OPTION_TIME(name, def, min, max, help) \
	NB_OPTION_ROW(name, def, NULL, NULL, help, min, max, NB_OPT_TIME)
#define NB_OPTION_CHOICE(name, def, choices, help) \
	NB_OPTION_ROW(name, def, choices, NULL, help, 0, 0, NB_OPT_CHOICE)
#define NB_OPTION_REAL(name, def, unit, help) \
	NB_OPTION_ROW(name, def, NULL, unit, help, 0, 0, NB_OPT_REAL)
#define NB_OPTION_TEXT(name, def, help) \
	NB_OPTION_ROW(name, def, NULL, NULL, help, 0, 0, NB_OPT_TEXT)
#define NB_OPTION_END NB_OPTION_ROW(NULL, NULL, NULL, NULL, NULL, 0, 0, 0)

/** The value of an option, typed or default. */
struct nb_option_value {
	union {
		uint64_t u64;
		double real;
		const char *text; /* the host's; lives until close returns */
	};
	uint32_t is_set; /* 0 only where def is NULL and nothing was typed */
	uint32_t spare_u32;
};

enum { NB_LOG_INFO = 0, NB_LOG_WARNING = 1 };

/** What the host lends a plugin. Lives longer than any database. Append only. */
struct nb_host {
	uint32_t size;
	uint32_t abi;
	/**
	 * Keep the text as this thread's error and return `code`, so that a verb
	 * fails in one line. Only for negative codes. Any thread.
	 */
	int (*fail)(int code, const char *fmt, ...) NB_PRINTF(2, 3);
	/**
	 * Tell the user, NB_LOG_*. The same text is printed once for each run; repetitions
	 * are counted. Of more than 32 different texts the rest is only counted, too. Not
	 * from get, put and the like. Any thread.
	 *
	 * A client logs the version and the settings of each server when it opens, at
	 * NB_LOG_INFO: "ADDRESS: version, settings", with the address as in `targets`. Results
	 * keep that text, and comparisons warn if it differs.
	 */
	void (*log)(uint32_t level, const char *fmt, ...) NB_PRINTF(2, 3);
};

#define NB_OPEN_CREATE (1u << 0) /* make the database if there is none; set unless PERSISTENT */
#define NB_OPEN_READ_ONLY (1u << 1) /* no write will come; an engine may ignore it */

/* What a column of a table holds. */
enum {
	NB_COLUMN_U64 = 0, /* 8 bytes: big-endian in a key, the machine's order in a value */
	NB_COLUMN_U8 = 1,
	NB_COLUMN_BYTES = 2 /* `size` bytes; the last column of all: what is left */
};

/** A column of a table. */
struct nb_column {
	const char *name; /* lower case: "id" */
	uint32_t type;    /* NB_COLUMN_* */
	uint32_t size;    /* of NB_COLUMN_BYTES; 0: whatever is left */
};

/**
 * A part of the records, those whose keys begin with `prefix`. A key-value engine may ignore
 * tables: the bytes of a key are the prefix and its columns, one after the other, and those of
 * a value are its columns. A SQL engine makes its schema of them.
 */
struct nb_table {
	const char *name; /* lower case: "edges" */
	struct nb_slice
		prefix; /* no other table's prefix begins with it; may be empty if alone */
	const struct nb_column *key_columns, *value_columns;
	uint32_t key_column_count, value_column_count;
	uint64_t rows; /* that are expected; 0: unknown */
	const void *spare_ptr;
};

/** How to open a database. Lives until open returns, but for what is said. Append only. */
struct nb_open_args {
	uint32_t size;
	uint32_t flags;             /* NB_OPEN_* */
	const struct nb_host *host; /* lives on */
	const char *path;           /* an existing directory, this database's alone */
	const struct nb_option_value *options; /* parallel to nb_engine.options; lives on */
	uint64_t cache_bytes; /* what the engine may keep in memory; 0: its default */
	uint64_t records;     /* expected number of records; a hint, 0: unknown */
	uint64_t key_size;    /* of the workload; a hint, 0: unknown or mixed */
	uint64_t value_size;  /* likewise */
	uint32_t sessions;    /* most that will be open at once */
	uint32_t durability;  /* NB_DUR_*, one that nb_engine.durabilities offers */
	uint64_t
		inflight_bytes; /* of keys and values in flight, at most; one request fits; 0: any */
	uint32_t inflight_ops; /* requests in flight in a session, at most; 0: none */
	uint32_t target_count;
	const char *const *targets;    /* addresses of servers: "127.0.0.1:6379"; live on */
	const struct nb_table *tables; /* live on */
	uint32_t table_count;          /* 0: one table that has no name */
	uint32_t spare_u32;
};

#define NB_SCAN_BACKWARD (1u << 0)  /* from `from`, or the last key, down */
#define NB_SCAN_KEYS_ONLY (1u << 1) /* values will not be looked at */

/** Where a scan begins. Append only. */
struct nb_scan_args {
	uint32_t size;
	uint32_t flags; /* NB_SCAN_* */
	struct nb_slice
		from;   /* first key, itself included; size 0: lowest, or backward highest */
	uint64_t limit; /* most records that will be asked for; a hint, 0: unknown */
};

/** One write of a batch. */
struct nb_write {
	struct nb_slice key, value;
	uint32_t is_delete; /* then value is not looked at */
	uint32_t spare_u32;
};

#define NB_BATCH_ATOMIC (1u << 0) /* all or nothing, else NB_UNSUPPORTED */

#define NB_TXN_READ_ONLY (1u << 0) /* no write will come; it fails, or abort undoes it */

/* What a step of execute does. */
enum {
	NB_STEP_GET = 0,    /* sets `value`, lent until release */
	NB_STEP_PUT = 1,    /* store `value`, in place of what was there */
	NB_STEP_DEL = 2,    /* remove; NB_NOT_FOUND, or NB_OK if that costs a search */
	NB_STEP_INSERT = 3, /* store `value` if the key is not there, else NB_EXISTS */
	NB_STEP_MERGE = 4,  /* as merge with `operand` */
	/*
	 * Store `value` if the key is there with an older value, NB_NOT_FOUND if it is not
	 * there, NB_EXISTS if its value is as new. The age of a value is the signed number of
	 * 8 bytes, in the machine's order, at byte `operand`.
	 */
	NB_STEP_PUT_IF_NEWER = 5,
	/*
	 * NB_OK if no key begins with `key`, else NB_EXISTS. If `operand` is not 0, only longer
	 * keys count, and of them those whose last byte b has its bit 1 << b in it.
	 */
	NB_STEP_PREFIX_EMPTY = 6
};

/** A step of execute. Only `value` of NB_STEP_GET and `answer` are the engine's to set. */
struct nb_step {
	struct nb_slice key, value;
	uint64_t operand;
	uint32_t verb;  /* NB_STEP_* */
	uint32_t table; /* index into nb_open_args.tables; 0 if there are none */
	/*
	 * So many of the steps that follow are left out if this one is answered NB_NOT_FOUND
	 * or NB_EXISTS; each of them then has the answer NB_EXISTS.
	 */
	uint32_t skips;
	int32_t answer; /* what the verb would have returned */
	const void *spare_ptr;
};

#define NB_EXEC_ATOMIC (1u << 0)    /* all of the writes or none, also after a crash */
#define NB_EXEC_SNAPSHOT (1u << 1)  /* all of the reads see one version of the data */
#define NB_EXEC_READ_ONLY (1u << 2) /* there is no write among the steps */

/* How merge makes one value of two. */
enum {
	/*
	 * Both are unsigned numbers of 8 bytes in the machine's order; their sum mod 2^64. A
	 * key that is not there counts as 0. A value of another size is a failure.
	 */
	NB_MERGE_ADD_U64 = 0
};

/* What a request asks for. */
enum {
	NB_REQ_GET = 0,
	NB_REQ_PUT = 1,
	NB_REQ_DEL = 2,
	NB_REQ_INSERT = 3,
	NB_REQ_MERGE = 4, /* NB_MERGE_ADD_U64 of `operand` */
	NB_REQ_EXECUTE = 5
};

/**
 * An operation handed to submit. What it points to is the host's and stays until it is
 * reaped, with NB_CAP_COPIES until submit returns. The steps of NB_REQ_EXECUTE always stay:
 * their answers are in them when the request comes out of reap.
 */
struct nb_request {
	uint64_t tag; /* comes back with the completion */
	struct nb_slice key, value;
	struct nb_step *steps; /* of NB_REQ_EXECUTE */
	uint64_t step_count;
	uint64_t operand; /* of NB_REQ_MERGE */
	uint32_t verb;    /* NB_REQ_* */
	uint32_t flags;   /* NB_EXEC_* */
	uint32_t table;   /* index into nb_open_args.tables; 0 if there are none */
	uint32_t spare_u32;
	const void *spare_ptr;
};

/** An operation that is done. */
struct nb_completion {
	uint64_t tag;
	struct nb_slice value; /* of a get; lent until release */
	const char
		*error; /* of a negative answer: why, lent likewise; NULL: fail() was called */
	int32_t answer; /* what the verb would have returned */
	uint32_t spare_u32;
	const void *spare_ptr;
};

/* How far flush goes. */
enum {
	NB_SETTLE_FLUSH = 0,  /* what is in memory is written out; for good where PERSISTENT */
	NB_SETTLE_COMPACT = 1 /* and the work that writes have put off is done */
};

/* How to read a counter. */
enum {
	NB_STAT_COUNTER = 0, /* only grows; a difference means something */
	NB_STAT_GAUGE = 1    /* a level at this moment */
};

/**
 * Takes one counter. name and unit ("bytes", "files") live until it returns. Results print
 * them; bytes, ns and us in human form.
 */
typedef void (*nb_stat_emit)(
	void *to, const char *name, const char *unit, uint32_t kind, uint64_t value);

/**
 * The table of an engine. static const, lives as long as the program. Append
 * only. NULL in an optional verb says 'cannot'.
 */
struct nb_engine {
	uint32_t abi;  /* NB_ENGINE_ABI */
	uint32_t size; /* sizeof(struct nb_engine) of the plugin's header */
	/* as in --driver: a letter a-z, then a-z, 0-9, _ and -, 64 characters at most */
	const char *name;
	const char *summary;      /* one line */
	const char *licence;      /* SPDX, of the engine: "BSD-3-Clause" */
	const char *home;         /* where the engine comes from */
	const char *build;        /* NB_ENGINE_BUILD, or what is known of the engine's build */
	uint32_t caps;            /* NB_CAP_* */
	uint32_t durabilities;    /* NB_DUR_BIT() of each level that it honours */
	uint32_t auto_durability; /* strongest level without a sync for each write */
	uint32_t spare_u32;
	uint64_t key_size_max;   /* in bytes; 0: any. The host asks for no longer ones */
	uint64_t value_size_max; /* likewise */
	const struct nb_option *options; /* ended by a NULL name; NULL: none */

	/** Version of the engine that is loaded (not of the plugin), lives on. Any time. */
	const char *(*version)(void);

	/* --- the thread of the database --- */

	/**
	 * Open, or with NB_OPEN_CREATE make, the database at args->path. Without
	 * it a database that is not there is a failure. If open fails there is
	 * nothing to close.
	 */
	int (*open)(struct nb_db **out, const struct nb_open_args *args);
	/** Close. Frees everything even when it fails. No session is open. */
	int (*close)(struct nb_db *db);

	/* --- the worker's own thread, from here to `tick` --- */

	/** `id` counts from 0 and is below args->sessions. *out may be (void *)db. */
	int (*session_open)(struct nb_session **out, struct nb_db *db, uint32_t id);
	int (*session_close)(struct nb_session *session);
	/**
	 * Look the key up and lend its value until release or, where that is NULL,
	 * the session's next call. On any other answer than NB_OK there is no loan
	 * and release is not called. A loan may hold other sessions' writes up; the
	 * host keeps none for longer than it reads.
	 */
	int (*get)(struct nb_session *session, struct nb_slice key, struct nb_slice *value);
	/** End the loans of get, multi_get, execute or reap. NULL if a loan needs no end. */
	void (*release)(struct nb_session *session);
	/** Store, in place of what was there. */
	int (*put)(struct nb_session *session, struct nb_slice key, struct nb_slice value);
	/** Remove. A key that is not there: NB_NOT_FOUND, or NB_OK if that costs a search. */
	int (*del)(struct nb_session *session, struct nb_slice key);

	/* Mandatory up to here (release may be NULL); optional from here on. */

	/** Store if the key is not there, else NB_EXISTS. */
	int (*insert)(struct nb_session *session, struct nb_slice key, struct nb_slice value);
	/**
	 * One scan a session. Between open and close the session makes no other call.
	 * A direction that the engine cannot go is NB_UNSUPPORTED.
	 */
	int (*scan_open)(struct nb_session *session, const struct nb_scan_args *args);
	/** The next record, lent until the next call; NB_NOT_FOUND after the last. */
	int (*scan_next)(
		struct nb_session *session, struct nb_slice *key, struct nb_slice *value);
	/** Ends it, whatever it returns: a failure that the records read so far have met. */
	int (*scan_close)(struct nb_session *session);
	/** The writes in their order; a later one of the same key wins. */
	int (*batch)(struct nb_session *session, const struct nb_write *writes, size_t count,
		uint32_t flags);
	/**
	 * Look `count` keys up; answers[i] is what get would have returned, and
	 * values[i] is lent until release where it is NB_OK. Returns NB_OK, or a
	 * failure with nothing lent.
	 */
	int (*multi_get)(struct nb_session *session, const struct nb_slice *keys, size_t count,
		struct nb_slice *values, int32_t *answers);
	/**
	 * The verbs of this session up to commit or abort are one transaction: all of its
	 * writes happen, or none; with NB_CAP_SNAPSHOT its reads see one version of the data
	 * and its own writes, with NB_CAP_SERIALIZABLE it is as if transactions came one after
	 * the other. NB_TXN_*.
	 */
	int (*begin)(struct nb_session *session, uint32_t flags);
	/** NB_CONFLICT: nothing happened. The transaction is over, whatever it returns. */
	int (*commit)(struct nb_session *session);
	void (*abort)(struct nb_session *session);
	/**
	 * Hand over up to `count` requests; *taken says how many were taken, from the first
	 * on: fewer, or none, where there is no room until something was reaped. NB_PENDING:
	 * they come out of reap, each once and in any order; requests of one key and one session
	 * take effect in the order in which they were taken. Returns NB_PENDING or NB_OK, or a
	 * failure with nothing taken.
	 */
	int (*submit)(struct nb_session *session, const struct nb_request *requests,
		size_t count, size_t *taken);
	/**
	 * Wait until at least one is done or timeout_ns is over; *count of at most
	 * `room` are told. What they lend is lent until release, or where that is
	 * NULL the session's next call; reap is not called again before that. With a timeout
	 * of 0 it tells what is done and does not wait; with nothing in flight it returns at
	 * once with *count = 0. A request that failed is told by its answer: reap itself fails
	 * only if nothing more can be told. session_close with requests in flight waits for them
	 * or drops them; what is not reaped may or may not have happened.
	 */
	int (*reap)(struct nb_session *session, struct nb_completion *out, size_t room,
		size_t *count, uint64_t timeout_ns);
	/**
	 * Housekeeping of a session that waits; called where it has nothing to do for more than
	 * a millisecond. No engine may need it to make progress: a session outside a call holds
	 * nobody up.
	 */
	int (*tick)(struct nb_session *session);

	/* --- the thread of the database; no session is within a call --- */

	/**
	 * Settle, NB_SETTLE_*; returns when done, and may sleep until the engine's own
	 * threads are. NB_UNSUPPORTED: cannot go that far.
	 */
	int (*flush)(struct nb_db *db, uint32_t upto);
	/**
	 * Leave on storage all that a later open needs, so that it recovers nothing. With
	 * CONCURRENT it is also called while sessions are within calls; then what they write
	 * meanwhile may be in it or not.
	 */
	int (*checkpoint)(struct nb_db *db);
	/**
	 * Emit each counter. Must be cheap: it is called again and again, with
	 * CONCURRENT also while sessions are within calls.
	 */
	void (*stats)(struct nb_db *db, nb_stat_emit emit, void *to);

	/**
	 * The table that holds for these options, parallel to nb_engine.options,
	 * where they change what the engine can do: a hash table instead of a tree
	 * is not ordered and has no scan. Of the same plugin, static const, with the
	 * same name and options; its own `variant` is not asked. The table that the
	 * plugin exports is that of the default options. NULL here, or returned:
	 * they change nothing. Before open, on any thread.
	 */
	const struct nb_engine *(*variant)(const struct nb_option_value *options);
	/**
	 * What auto_durability is for a database in the directory `path`, which need not be
	 * there yet, where the medium decides what costs a sync. One of `durabilities`.
	 * NULL: the same everywhere. Before open, on any thread.
	 */
	uint32_t (*auto_durability_at)(const char *path);

	/* --- the worker's own thread --- */

	/**
	 * The steps in their order, each seeing the writes of those before it, as one operation
	 * (and, to a server, in one message); each step's answer is set. Returns NB_OK,
	 * NB_CONFLICT, nothing happened; or a failure, after which the same holds with
	 * NB_EXEC_ATOMIC. NB_UNSUPPORTED for a flag, or a step, that it cannot do: the host has
	 * other ways (begin to commit, multi_get and batch, single verbs) and says which one
	 * it took. release ends the loans of all gets.
	 */
	int (*execute)(struct nb_session *session, struct nb_step *steps, size_t count,
		uint32_t flags);
	/** Change the value in place by an operand, NB_MERGE_*. No update is lost. */
	int (*merge)(struct nb_session *session, struct nb_slice key, uint32_t how,
		uint64_t operand);

	/* --- the thread of the database; no session is open --- */

	/** Remove every record, of an open database that is not in a directory: NB_CAP_REMOTE. */
	int (*reset)(struct nb_db *db);

	/**
	 * How to start a private server where the user names none: the lines "key = value" of
	 * a [target] section, see mininb-workload(5). NULL: there is no server.
	 */
	const char *server;
	/**
	 * The rows of a table, by the engine's own counting; may read all of them. `table` is an
	 * index into nb_open_args.tables. On the thread of the database; no session is open.
	 */
	int (*count)(struct nb_db *db, uint32_t table, uint64_t *rows);
};

/*
 * How the plugin was compiled. Tells an unoptimised build, which would be
 * measured as if it were the engine; it cannot tell the engine's own library.
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define NB_HAS_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(NB_HAS_SANITIZER)
#define NB_ENGINE_BUILD "sanitizer"
#elif defined(__OPTIMIZE__)
#define NB_ENGINE_BUILD "release"
#else
#define NB_ENGINE_BUILD "debug"
#endif

/* The one exported name; the host's linked-in engines are built with others. */
#ifndef NB_ENGINE_ENTRY
#define NB_ENGINE_ENTRY nb_engine_plugin
#endif

/** A function and not the table itself: dlsym() promises no more. */
NB_EXPORT const struct nb_engine *
NB_ENGINE_ENTRY(void);

#define NB_ENGINE_PLUGIN(table) \
	NB_EXPORT const struct nb_engine *NB_ENGINE_ENTRY(void) \
	{ \
		return &(table); \
	}

#ifdef __cplusplus
}
#endif
#endif /* MININB_ENGINE_H */
