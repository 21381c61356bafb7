/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_ENGINE_H
#define MININB_ENGINE_H
/**
 * The plugin ABI of mininb: the interface that an engine implements to be measured.
 *
 * A plugin is a shared object that exports one function, nb_engine_plugin(). The function
 * returns a pointer to one static const table, struct nb_engine. A plugin includes only this
 * header of mininb and links no library of mininb. The header is valid C11 and C++17; an
 * exception must not leave a verb.
 *
 *     static const struct nb_engine engine = {
 *             .abi = NB_ENGINE_ABI, .size = sizeof(engine), .name = "mine",
 *             .open = mine_open, ..., .del = mine_del,
 *     };
 *     NB_ENGINE_PLUGIN(engine)
 *
 * Growth. The ABI number must be equal on both sides. It changes only if an existing field
 * changes its meaning. Structures grow only at their end and carry their size:
 * - If the plugin's table is shorter than the host's, the host reads the missing fields as
 *   NULL.
 * - If the plugin's table is longer, the host ignores the fields that it does not know.
 * - A plugin checks the size of a structure from the host before it reads a field added later.
 * - The host ignores unknown bits of `caps` and `durabilities`.
 * - Array elements cannot grow. They have spare fields, which are zero. nb_slice has none and
 *   never changes.
 *
 * Lifetimes. The host owns the structures, keys and values that it passes to a verb. They are
 * valid until the verb returns, unless the verb's comment differs.
 *
 * Return values. A verb returns 0 for success, a positive answer that the host counts, or a
 * negative failure that stops the run. The text of a failure is set once, where the cause is
 * known:
 *
 *     return db->host->fail(NB_FAIL, "mdb_put: %s", mdb_strerror(rc));
 *
 * Threads. One thread, the database thread, opens and closes the database. It also makes every
 * other call that takes a struct nb_db, except session_open. Each worker opens, uses and closes
 * its session on its own thread; threads never share a session. Only with NB_CAP_CONCURRENT are
 * sessions opened, used and closed in parallel. The host never adds a lock.
 *
 * Time. The host times get, the read of the value and release as one operation. It times every
 * other verb alone.
 *
 * The host owns clocks, threads, randomness and output. A plugin never prints, never exits, and
 * creates no threads except those of its engine. If it writes to standard output all the same,
 * the text goes to standard error, because standard output is for results. A plugin does not
 * change the working directory; the host restores its own between calls.
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

/** Opaque types of the plugin. The host only passes the pointers back. */
struct nb_db;
struct nb_session;

/**
 * Borrowed bytes: not owned, not NUL-terminated. data may be NULL if size is 0. A key has at
 * least one byte; a value may be empty.
 */
struct nb_slice {
	const void *data;
	size_t size;
};

/*
 * Return values of a verb. Positive: an answer that the host counts. Negative: the run stops.
 *
 * NB_CONFLICT depends on the verb:
 * - A verb inside a transaction: the transaction is lost. The host calls abort() next and
 *   begins a new one.
 * - commit and execute: the transaction is over.
 * - A verb outside a transaction: it changed nothing.
 */
enum {
	NB_OK = 0,
	NB_NOT_FOUND = 1,   /* key not found; end of a scan */
	NB_CONFLICT = 2,    /* a transaction lost; it changed nothing, try again */
	NB_EXISTS = 3,      /* the condition of the verb was not met; it changed nothing */
	NB_PENDING = 4,     /* submitted; reap returns it later */
	NB_FAIL = -1,       /* the engine or the system failed */
	NB_UNSUPPORTED = -2 /* not available: a durability level, a size, an option */
};

/*
 * Durability: the completed writes that a crash may lose, weakest level first. open honours the
 * requested level exactly or returns NB_UNSUPPORTED.
 *
 * An engine may read /proc/sys/kernel/random/boot_id to learn whether the machine was restarted
 * since the last open. `mininb crash --power` simulates that file if the engine opens it with
 * the C library.
 */
enum {
	NB_DUR_NONE = 0,     /* kill -9 may lose completed writes */
	NB_DUR_PROCESS = 1,  /* survive kill -9, as after write(2); not power loss */
	NB_DUR_PERIODIC = 2, /* survive power loss, except those of the last sync interval */
	NB_DUR_COMMIT = 3    /* survive power loss, as after write(2) + fsync(2) */
};
#define NB_DUR_BIT(level) (1u << (level))

/* Capabilities: properties that a non-NULL verb cannot express. */
#define NB_CAP_ORDERED (1u << 0)       /* a scan returns keys in the order of memcmp() */
#define NB_CAP_PERSISTENT (1u << 1)    /* records survive close and open */
#define NB_CAP_CONCURRENT (1u << 2)    /* sessions may run in parallel */
#define NB_CAP_ATOMIC_BATCH (1u << 3)  /* batch can be all or nothing */
#define NB_CAP_SNAPSHOT (1u << 4)      /* a scan or transaction sees one version of the data */
#define NB_CAP_ZERO_COPY (1u << 5)     /* get lends the engine's own memory, not a copy */
#define NB_CAP_MULTI_PROCESS (1u << 6) /* several processes may open the database at once */
#define NB_CAP_SYNTHETIC (1u << 7)     /* stores nothing: get invents the value */
#define NB_CAP_REMOTE (1u << 8) /* another process holds the data; it is not in args->path */
#define NB_CAP_SERIALIZABLE (1u << 9) /* transactions behave as if executed one after another */
#define NB_CAP_COPIES (1u << 10)      /* submit keeps no pointer to data of a request */

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
 * One option of an engine, "-o name=value" on the command line. The host parses it, checks it
 * against choices or min..max, prints the help and stores the value in the result. The table
 * ends with an element whose name is NULL. The macros NB_OPTION_BOOL, NB_OPTION_U64, ... below
 * write one row each.
 *
 * Settings that decide whether a comparison of engines is fair are not options. All engines get
 * them in struct nb_open_args: durability, cache size, expected number and sizes of records,
 * number of sessions.
 */
struct nb_option {
	const char *name;    /* lower case: "map_size" */
	const char *def;     /* as typed by a user: "4GiB", "yes"; NULL: the engine decides */
	const char *choices; /* NB_OPT_CHOICE: "none|snappy"; else NULL */
	const char *unit;    /* unit of a plain number: "levels"; may be NULL */
	const char *help;    /* one line */
	uint64_t min, max;   /* U64, BYTES, TIME: in the type's unit; both 0: any */
	uint32_t type;       /* NB_OPT_* */
	uint32_t spare_u32;
	const void *spare_ptr;
};

/*
 * Rows of the table of options. `def` is the default as a user types it, or NULL. min and max
 * are in the unit of the type; both 0: any value. For example:
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

/** The value of an option: typed by the user, or the default. */
struct nb_option_value {
	union {
		uint64_t u64;
		double real;
		const char *text; /* owned by the host; valid until close returns */
	};
	uint32_t is_set; /* 0 only if def is NULL and the user typed no value */
	uint32_t spare_u32;
};

enum { NB_LOG_INFO = 0, NB_LOG_WARNING = 1 };

/** The functions that the host provides to a plugin. Outlives every database. Append only. */
struct nb_host {
	uint32_t size;
	uint32_t abi;
	/**
	 * Store the text as this thread's error and return `code`, so a verb can fail in one
	 * statement. Only for negative codes. Any thread.
	 */
	int (*fail)(int code, const char *fmt, ...) NB_PRINTF(2, 3);
	/**
	 * Print a message to the user; level: NB_LOG_*. In each run, the host prints the same
	 * text once and counts repetitions. After 32 different texts, it only counts further
	 * ones. Do not call it from get, put or other verbs that are timed. Any thread.
	 *
	 * A client logs the version and the settings of each server when it opens, at
	 * NB_LOG_INFO: "ADDRESS: version, settings", with the address as in `targets`. Results
	 * store that text, and comparisons warn if it differs.
	 */
	void (*log)(uint32_t level, const char *fmt, ...) NB_PRINTF(2, 3);
};

#define NB_OPEN_CREATE (1u << 0) /* create a missing database; set if not NB_CAP_PERSISTENT */
#define NB_OPEN_READ_ONLY (1u << 1) /* no writes follow; an engine may ignore it */

/* Types of a column. */
enum {
	NB_COLUMN_U64 = 0, /* 8 bytes: big-endian in a key, native byte order in a value */
	NB_COLUMN_U8 = 1,
	NB_COLUMN_BYTES = 2 /* `size` bytes; in the last column: all remaining bytes */
};

/** A column of a table. */
struct nb_column {
	const char *name; /* lower case: "id" */
	uint32_t type;    /* NB_COLUMN_* */
	uint32_t size;    /* of NB_COLUMN_BYTES; 0: all remaining bytes */
};

/**
 * A table: the records whose keys begin with `prefix`. A key consists of the prefix and the key
 * columns, one after the other; a value consists of the value columns. A key-value engine may
 * ignore tables. A SQL engine creates its schema from them.
 */
struct nb_table {
	const char *name; /* lower case: "edges" */
	/* No other table's prefix begins with it. May be empty if this is the only table. */
	struct nb_slice prefix;
	const struct nb_column *key_columns, *value_columns;
	uint32_t key_column_count, value_column_count;
	uint64_t rows; /* expected number of rows; 0: unknown */
	const void *spare_ptr;
};

/** How to open a database. Valid until open returns, except where noted. Append only. */
struct nb_open_args {
	uint32_t size;
	uint32_t flags;             /* NB_OPEN_* */
	const struct nb_host *host; /* outlives the database */
	const char *path;           /* an existing directory, used by this database only */
	/* Parallel to nb_engine.options; valid until close. */
	const struct nb_option_value *options;
	uint64_t cache_bytes; /* memory limit of the engine's cache; 0: its default */
	uint64_t records;     /* expected number of records; a hint, 0: unknown */
	uint64_t key_size;    /* of the workload; a hint, 0: unknown or mixed */
	uint64_t value_size;  /* of the workload; a hint, 0: unknown or mixed */
	uint32_t sessions;    /* maximum number of open sessions at once */
	uint32_t durability;  /* NB_DUR_*, a level in nb_engine.durabilities */
	/* Maximum bytes of keys and values in flight; one request always fits. 0: any. */
	uint64_t inflight_bytes;
	uint32_t inflight_ops; /* maximum number of requests in flight in a session; 0: none */
	uint32_t target_count;
	const char *const *targets; /* server addresses: "127.0.0.1:6379"; valid until close */
	const struct nb_table *tables; /* valid until close */
	uint32_t table_count;          /* 0: one table without a name */
	uint32_t spare_u32;
};

#define NB_SCAN_BACKWARD (1u << 0)  /* downwards from `from`, or from the last key */
#define NB_SCAN_KEYS_ONLY (1u << 1) /* the host does not read values */

/** Start and direction of a scan. Append only. */
struct nb_scan_args {
	uint32_t size;
	uint32_t flags; /* NB_SCAN_* */
	/*
	 * First key, inclusive. Size 0: the lowest key, or the highest with NB_SCAN_BACKWARD.
	 */
	struct nb_slice from;
	uint64_t limit; /* maximum number of records to be read; a hint, 0: unknown */
};

/** One write of a batch. */
struct nb_write {
	struct nb_slice key, value;
	uint32_t is_delete; /* 1: delete the key and ignore `value` */
	uint32_t spare_u32;
};

#define NB_BATCH_ATOMIC (1u << 0) /* all or nothing, else NB_UNSUPPORTED */

#define NB_TXN_READ_ONLY (1u << 0) /* no writes follow: a write fails, or abort undoes it */

/* The action of a step of execute. */
enum {
	NB_STEP_GET = 0, /* sets `value`, lent until release */
	NB_STEP_PUT = 1, /* store `value`; replaces an existing one */
	/*
	 * Remove the key. If it does not exist: NB_NOT_FOUND, or NB_OK if detecting that costs
	 * a search.
	 */
	NB_STEP_DEL = 2,
	NB_STEP_INSERT = 3, /* store `value` if the key does not exist, else NB_EXISTS */
	NB_STEP_MERGE = 4,  /* same as merge with `operand` */
	/*
	 * Store `value` if the key exists with an older value. NB_NOT_FOUND if the key does not
	 * exist, NB_EXISTS if its value is as new or newer. The age of a value is the signed
	 * 8-byte integer, in native byte order, at byte offset `operand`.
	 */
	NB_STEP_PUT_IF_NEWER = 5,
	/*
	 * NB_OK if no key begins with `key`, else NB_EXISTS. If `operand` is not 0, a key
	 * counts only if it is longer than `key` and its last byte b has bit 1 << b set in
	 * `operand`.
	 */
	NB_STEP_PREFIX_EMPTY = 6
};

/** A step of execute. The engine sets only `answer` and, for NB_STEP_GET, `value`. */
struct nb_step {
	struct nb_slice key, value;
	uint64_t operand;
	uint32_t verb;  /* NB_STEP_* */
	uint32_t table; /* index into nb_open_args.tables; 0 without tables */
	/*
	 * The number of following steps that are skipped if this step's answer is NB_NOT_FOUND
	 * or NB_EXISTS. Each skipped step gets the answer NB_EXISTS.
	 */
	uint32_t skips;
	int32_t answer; /* return value of the equivalent verb */
	const void *spare_ptr;
};

#define NB_EXEC_ATOMIC (1u << 0)    /* all writes happen or none, also after a crash */
#define NB_EXEC_SNAPSHOT (1u << 1)  /* all reads see one version of the data */
#define NB_EXEC_READ_ONLY (1u << 2) /* no step writes */

/* How merge combines the stored value with the operand. */
enum {
	/*
	 * Both are unsigned 8-byte integers in native byte order; the result is their sum mod
	 * 2^64. A missing key counts as 0. A stored value of another size is a failure.
	 */
	NB_MERGE_ADD_U64 = 0
};

/* Verbs of a request. */
enum {
	NB_REQ_GET = 0,
	NB_REQ_PUT = 1,
	NB_REQ_DEL = 2,
	NB_REQ_INSERT = 3,
	NB_REQ_MERGE = 4, /* NB_MERGE_ADD_U64 of `operand` */
	NB_REQ_EXECUTE = 5
};

/**
 * An operation passed to submit. The host owns all data that it points to. The data stays valid
 * until the request is reaped or, with NB_CAP_COPIES, until submit returns. The steps of
 * NB_REQ_EXECUTE always stay valid until the request is reaped, because they hold the answers.
 */
struct nb_request {
	uint64_t tag; /* the completion returns it */
	struct nb_slice key, value;
	struct nb_step *steps; /* of NB_REQ_EXECUTE */
	uint64_t step_count;
	uint64_t operand; /* of NB_REQ_MERGE */
	uint32_t verb;    /* NB_REQ_* */
	uint32_t flags;   /* NB_EXEC_* */
	uint32_t table;   /* index into nb_open_args.tables; 0 without tables */
	uint32_t spare_u32;
	const void *spare_ptr;
};

/** A completed operation. */
struct nb_completion {
	uint64_t tag;
	struct nb_slice value; /* of a get; lent until release */
	/* Cause of a negative answer, lent until release. NULL: the engine called fail(). */
	const char *error;
	int32_t answer; /* return value of the equivalent verb */
	uint32_t spare_u32;
	const void *spare_ptr;
};

/* Targets of flush. */
enum {
	NB_SETTLE_FLUSH = 0,  /* write out data in memory; durably if PERSISTENT */
	NB_SETTLE_COMPACT = 1 /* also complete the work that writes postponed */
};

/* How to interpret a counter. */
enum {
	NB_STAT_COUNTER = 0, /* only grows; differences are meaningful */
	NB_STAT_GAUGE = 1    /* a current level */
};

/**
 * Receives one counter. name and unit ("bytes", "files") are valid until it returns. Results
 * print them, with bytes, ns and us in human-readable form.
 */
typedef void (*nb_stat_emit)(
	void *to, const char *name, const char *unit, uint32_t kind, uint64_t value);

/**
 * The table of an engine: static const, valid for the life of the program. Append only. An
 * optional verb that is NULL is not supported.
 */
struct nb_engine {
	uint32_t abi;  /* NB_ENGINE_ABI */
	uint32_t size; /* sizeof(struct nb_engine) of the plugin's header */
	/* as in --driver: a letter a-z, then a-z, 0-9, _ and -, 64 characters at most */
	const char *name;
	const char *summary;      /* one line */
	const char *licence;      /* SPDX, of the engine: "BSD-3-Clause" */
	const char *home;         /* home page of the engine */
	const char *build;        /* NB_ENGINE_BUILD, or how the engine was built if known */
	uint32_t caps;            /* NB_CAP_* */
	uint32_t durabilities;    /* NB_DUR_BIT() of each supported level */
	uint32_t auto_durability; /* strongest level that needs no sync for each write */
	uint32_t spare_u32;
	uint64_t key_size_max;           /* in bytes; 0: any. The host uses no longer keys */
	uint64_t value_size_max;         /* in bytes; 0: any. The host uses no longer values */
	const struct nb_option *options; /* ends with a NULL name; NULL: none */

	/**
	 * Version of the loaded engine, not of the plugin. Valid for the life of the program.
	 * Any time.
	 */
	const char *(*version)(void);

	/* --- on the database thread --- */

	/**
	 * Open the database at args->path. Create it if it is missing and NB_OPEN_CREATE is
	 * set; without that flag a missing database is a failure. If open fails, nothing needs
	 * to be closed.
	 */
	int (*open)(struct nb_db **out, const struct nb_open_args *args);
	/** Close. Frees everything, even on failure. All sessions are closed. */
	int (*close)(struct nb_db *db);

	/* --- on the worker's own thread, from here to `tick` --- */

	/** `id` counts from 0 and is below args->sessions. *out may be (void *)db. */
	int (*session_open)(struct nb_session **out, struct nb_db *db, uint32_t id);
	int (*session_close)(struct nb_session *session);
	/**
	 * Look up the key and lend its value until release or, if release is NULL, until the
	 * session's next call. If the answer is not NB_OK, nothing is lent and the host does
	 * not call release. A loan may block the writes of other sessions; the host ends it as
	 * soon as it has read the value.
	 */
	int (*get)(struct nb_session *session, struct nb_slice key, struct nb_slice *value);
	/** End the loans of get, multi_get, execute or reap. NULL if a loan needs no end. */
	void (*release)(struct nb_session *session);
	/** Store the value; replaces an existing one. */
	int (*put)(struct nb_session *session, struct nb_slice key, struct nb_slice value);
	/**
	 * Remove the key. If it does not exist: NB_NOT_FOUND, or NB_OK if detecting that costs
	 * a search.
	 */
	int (*del)(struct nb_session *session, struct nb_slice key);

	/* The verbs above are mandatory, except release. Those below are optional. */

	/** Store the value if the key does not exist, else NB_EXISTS. */
	int (*insert)(struct nb_session *session, struct nb_slice key, struct nb_slice value);
	/**
	 * A session has at most one open scan. Until scan_close it makes no other call.
	 * NB_UNSUPPORTED: the engine cannot scan in that direction.
	 */
	int (*scan_open)(struct nb_session *session, const struct nb_scan_args *args);
	/** The next record, lent until the next call. NB_NOT_FOUND after the last one. */
	int (*scan_next)(
		struct nb_session *session, struct nb_slice *key, struct nb_slice *value);
	/**
	 * Close the scan, even if it returns a failure. A failure is an error that occurred
	 * during the scan.
	 */
	int (*scan_close)(struct nb_session *session);
	/** Execute the writes in order; a later write of the same key wins. */
	int (*batch)(struct nb_session *session, const struct nb_write *writes, size_t count,
		uint32_t flags);
	/**
	 * Look up `count` keys. Sets answers[i] to the return value of the equivalent get, and
	 * values[i] if that is NB_OK. The values are lent until release. Returns NB_OK, or a
	 * failure that lends nothing.
	 */
	int (*multi_get)(struct nb_session *session, const struct nb_slice *keys, size_t count,
		struct nb_slice *values, int32_t *answers);
	/**
	 * Begin a transaction: all verbs of this session until commit or abort. All of its
	 * writes happen, or none. With NB_CAP_SNAPSHOT its reads see one version of the data
	 * and its own writes. With NB_CAP_SERIALIZABLE transactions behave as if executed one
	 * after another. flags: NB_TXN_*.
	 */
	int (*begin)(struct nb_session *session, uint32_t flags);
	/**
	 * Commit. NB_CONFLICT: the transaction changed nothing. The transaction is over,
	 * whatever commit returns.
	 */
	int (*commit)(struct nb_session *session);
	void (*abort)(struct nb_session *session);
	/**
	 * Submit up to `count` requests. *taken is the number of requests accepted, counted
	 * from the first one. It may be less than `count`, or 0, if the engine has no room
	 * until the host reaps some.
	 *
	 * NB_PENDING: reap returns each accepted request once, in any order. Requests of one
	 * session for the same key take effect in the order of submission. Returns NB_PENDING
	 * or NB_OK, or a failure that accepted nothing.
	 */
	int (*submit)(struct nb_session *session, const struct nb_request *requests,
		size_t count, size_t *taken);
	/**
	 * Wait until at least one request is complete or timeout_ns has passed. Sets *count to
	 * the number of completions in `out`, at most `room`. With a timeout of 0 it does not
	 * wait. With nothing in flight it returns at once with *count = 0.
	 *
	 * Completions lend their data until release or, if release is NULL, until the session's
	 * next call. The host does not call reap again before that. A failed request is
	 * reported by its answer; reap itself fails only if it can report no more completions.
	 *
	 * session_close with requests in flight waits for them or drops them. A request that
	 * was not reaped may or may not have taken effect.
	 */
	int (*reap)(struct nb_session *session, struct nb_completion *out, size_t room,
		size_t *count, uint64_t timeout_ns);
	/**
	 * Housekeeping of an idle session. The host calls it repeatedly while the session has
	 * nothing to do: about every millisecond, or at least every 10 ms until the next
	 * operation is due. No engine may need it to make progress: a session outside a call
	 * blocks no other session.
	 */
	int (*tick)(struct nb_session *session);

	/* --- on the database thread; no session is inside a call --- */

	/**
	 * Settle up to NB_SETTLE_*. Returns when done, and may sleep until the engine's
	 * background threads are idle. NB_UNSUPPORTED: the engine cannot settle that far.
	 */
	int (*flush)(struct nb_db *db, uint32_t upto);
	/**
	 * Write everything to storage that a later open needs, so that open needs no recovery.
	 * With NB_CAP_CONCURRENT the host also calls it while sessions are inside calls; the
	 * checkpoint may or may not contain their concurrent writes.
	 */
	int (*checkpoint)(struct nb_db *db);
	/**
	 * Emit each counter. Must be cheap, because the host calls it repeatedly. With
	 * NB_CAP_CONCURRENT it does so also while sessions are inside calls.
	 */
	void (*stats)(struct nb_db *db, nb_stat_emit emit, void *to);

	/**
	 * The table that is valid for these options, if they change the capabilities of the
	 * engine. For example, a hash table instead of a tree is not ordered and has no scan.
	 * `options` is parallel to nb_engine.options. The table is static const, of the same
	 * plugin, with the same name and options; the host ignores its `variant`. The exported
	 * table is valid for the default options. NULL, as this pointer or as the result:
	 * options change nothing. Called before open, on any thread.
	 */
	const struct nb_engine *(*variant)(const struct nb_option_value *options);
	/**
	 * The value of auto_durability for a database in the directory `path`, which need not
	 * exist yet. For engines whose need for syncs depends on the storage medium. Returns
	 * one of `durabilities`. NULL: auto_durability everywhere. Called before open, on any
	 * thread.
	 */
	uint32_t (*auto_durability_at)(const char *path);

	/* --- on the worker's own thread --- */

	/**
	 * Execute the steps in order as one operation and, with a server, in one message. Each
	 * step sees the writes of earlier steps. Sets the answer of each step. release ends the
	 * loans of all gets.
	 *
	 * - NB_OK.
	 * - NB_CONFLICT: it changed nothing.
	 * - A failure; with NB_EXEC_ATOMIC it changed nothing.
	 * - NB_UNSUPPORTED: the engine does not support a flag or a step. The host uses other
	 *   ways (begin to commit, multi_get and batch, single verbs) and reports which one.
	 */
	int (*execute)(struct nb_session *session, struct nb_step *steps, size_t count,
		uint32_t flags);
	/**
	 * Combine the stored value with an operand, in place; how: NB_MERGE_*. Loses no update.
	 */
	int (*merge)(struct nb_session *session, struct nb_slice key, uint32_t how,
		uint64_t operand);

	/* --- on the database thread; no session is open --- */

	/**
	 * Remove every record of an open database that is not in a directory: for
	 * NB_CAP_REMOTE.
	 */
	int (*reset)(struct nb_db *db);

	/**
	 * How to start a private server if the user names none: the lines "key = value" of a
	 * [target] section, see mininb-workload(5). NULL: the engine has no server.
	 */
	const char *server;
	/**
	 * Number of rows in a table, counted by the engine; may read all of them. `table` is an
	 * index into nb_open_args.tables. On the database thread; no session is open.
	 */
	int (*count)(struct nb_db *db, uint32_t table, uint64_t *rows);
};

/*
 * How the plugin was compiled. Reveals an unoptimised plugin, whose overhead would be measured
 * as the engine's. It does not show how the engine's own library was compiled.
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

/* The exported name. The host compiles its built-in engines with other names. */
#ifndef NB_ENGINE_ENTRY
#define NB_ENGINE_ENTRY nb_engine_plugin
#endif

/** A function, not the table itself, because dlsym() guarantees no more. */
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
