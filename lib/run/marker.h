/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_MARKER_H
#define RUN_MARKER_H
/**
 * The marker shows that mininb made the directory of a database. It is a file next to the
 * directory: <path>/.mininb-<name> for <path>/<name>.
 */
#include <stdbool.h>
#include <stdint.h>

#include <mininb/mininb.h>

/**
 * Check that <path>/<name>, if it exists, may be written; with `is_cleared`, that its content
 * may be removed. It must be empty or made by mininb. In a directory that everyone can write,
 * it must not belong to another user. `is_forced` skips these checks, but mininb never removes
 * anything through a symbolic link.
 */
NB_MUST_CHECK int
marker_allow(const char *path, const char *name, bool is_cleared, bool is_forced);

/** Remove the content of <path>/<name>, after marker_allow() has permitted it. */
NB_MUST_CHECK int
marker_clear(const char *path, const char *name);

/** The other processes that the lock of a database excludes: none, those that write, all. */
enum { MARKER_UNLOCKED, MARKER_SHARED, MARKER_EXCLUSIVE };

/** The known state of the records of an unfinished load. */
enum {
	MARKER_KILLED,   /* these are written; the database was not closed */
	MARKER_FIRST,    /* these are the first ones, and the database was closed */
	MARKER_SCATTERED /* several threads wrote these, and the database was closed */
};

/** An action that makes a database and has not written all of its records. */
struct marker_load {
	char action[16];      /* "put", "load", "run", "replay"; "": no unfinished action */
	uint64_t done, total; /* records; total 0: not known */
	uint32_t end;         /* MARKER_KILLED, ... */
	uint64_t keys; /* digest of the mapping from record numbers to keys; 0: not known */
};

/** An open marker. It stays locked until it is closed here and in forked processes. */
struct marker {
	bool is_open;
	int fd;
	uint64_t head_size;      /* bytes before the line of the load */
	struct marker_load load; /* as in the file */
};

/**
 * Mark the existing directory <path>/<name> as mininb's. NB_FAIL if another process uses it, or
 * if the marker cannot be written; with `is_forced` the latter is only a warning.
 */
NB_MUST_CHECK int
marker_put(struct marker *marker, const char *path, const char *name, uint32_t lock,
	bool is_forced);

/**
 * Open the marker of a database that is only read. A database without one is not locked:
 * !is_open.
 */
NB_MUST_CHECK int
marker_open(struct marker *marker, const char *path, const char *name, uint32_t lock);

/**
 * Write the unfinished load into the marker, or remove it. One system call and no sync: it
 * survives the end of the process, but not a loss of power. NB_FAIL if it cannot be written.
 */
NB_MUST_CHECK int
marker_note(struct marker *marker, const struct marker_load *load);

void
marker_close(struct marker *marker);

/**
 * Lock the open file: shared with other shared locks, or exclusive. The lock ends when `fd` and
 * its copies in forked processes are closed. NB_FAIL if another process keeps its lock for half
 * a second. The text then contains `what` and that process. A file system without locks only
 * causes a warning.
 */
NB_MUST_CHECK int
lock_take(int fd, bool is_shared, const char *what);

#endif /* RUN_MARKER_H */
