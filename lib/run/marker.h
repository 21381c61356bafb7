/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_MARKER_H
#define RUN_MARKER_H
/**
 * Whether mininb made the directory of a database, which stands in a file beside it:
 * <path>/.mininb-<name> for <path>/<name>.
 */
#include <stdbool.h>
#include <stdint.h>

#include <mininb/mininb.h>

/**
 * See that <path>/<name>, if it is there, may be written, or with `is_cleared` that all in it may
 * be removed: that it is empty or was made by mininb, and is of nobody else's in a directory that
 * everyone can write. With `is_forced` it is what it is, but nothing is ever removed through a
 * symbolic link.
 */
NB_MUST_CHECK int
marker_allow(const char *path, const char *name, bool is_cleared, bool is_forced);

/** Remove all that is in <path>/<name>, as marker_allow() has allowed. */
NB_MUST_CHECK int
marker_clear(const char *path, const char *name);

/** How a database is kept from other processes: from none, from those that write, from all. */
enum { MARKER_UNLOCKED, MARKER_SHARED, MARKER_EXCLUSIVE };

/** What is known of the records of an unfinished load. */
enum {
	MARKER_KILLED,   /* they were written; the database was not closed */
	MARKER_FIRST,    /* they are the first ones, and the database was closed */
	MARKER_SCATTERED /* several threads wrote them, and the database was closed */
};

/** An action that makes a database and has not written all records. */
struct marker_load {
	char action[16];      /* "put", "load", "run", "replay"; "": none is unfinished */
	uint64_t done, total; /* records; total 0: not known */
	uint32_t end;         /* MARKER_KILLED... */
	uint64_t keys; /* digest of how a record's number becomes its key; 0: not known */
};

/** A marker that is open, and locked until it is closed here and in forked processes. */
struct marker {
	bool is_open;
	int fd;
	uint64_t head_size;      /* bytes before the line of the load */
	struct marker_load load; /* as the file has it */
};

/**
 * <path>/<name>, which is there, is mininb's from now on. NB_FAIL if another process has it, or
 * if the marker cannot be written; with `is_forced` that is only a warning.
 */
NB_MUST_CHECK int
marker_put(struct marker *marker, const char *path, const char *name, uint32_t lock,
	bool is_forced);

/** The marker of a database that is only read. One without a marker is not locked: !is_open. */
NB_MUST_CHECK int
marker_open(struct marker *marker, const char *path, const char *name, uint32_t lock);

/**
 * Write the unfinished load into the marker, or that there is none. One system call and no sync:
 * it survives the end of the process, not a loss of power. NB_FAIL if it cannot be written.
 */
NB_MUST_CHECK int
marker_note(struct marker *marker, const struct marker_load *load);

void
marker_close(struct marker *marker);

/**
 * Lock the open file: shared with other shared locks, or alone. The lock ends when `fd` and the
 * copies of it that forked processes have are closed. If another process keeps its lock for
 * half a second, NB_FAIL, with `what` and that process in the text. A file system without locks
 * is a warning.
 */
NB_MUST_CHECK int
lock_take(int fd, bool is_shared, const char *what);

#endif /* RUN_MARKER_H */
