/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TARGET_TARGET_H
#define TARGET_TARGET_H
/**
 * Private servers for an engine that is a client. mininb starts them, waits for them,
 * watches and stops them. They store their data in a directory below that of the database.
 *
 * Threads: one at a time.
 */
#include <sys/types.h>

#include "target/addresses.h"
#include "target/spec.h"
#include "target/words.h"

struct target;

/** Borrowed for the life of the target. */
struct target_place {
	const char *name;      /* of the engine */
	const char *directory; /* of the database; it exists when the servers start */
	const char *logs;      /* directory for the output of servers; must also exist then */
	uint64_t cache_bytes;  /* for the servers; 0: the setting of the spec */
	uint32_t sessions;     /* open at once */
	uint32_t durability;   /* NB_DUR_* */
	const struct placeholder *placeholders; /* additional placeholders; NULL: none */
};

/** Check everything that can be checked before writing. The spec is borrowed, too. */
NB_MUST_CHECK int
target_new(
	struct target **out, const struct target_spec *spec, const struct target_place *place);

/** Wait until no server of a killed run uses the directories. */
NB_MUST_CHECK int
target_wait(struct target *target);

/** Start all servers, and wait until they are ready. After a failure none of them runs. */
NB_MUST_CHECK int
target_start(struct target *target);

/** The addresses for the engine; call it after each start. */
const struct addresses *
target_addresses(const struct target *target);

/**
 * NB_FAIL if a server has ended; the text has its exit status and the end of its output.
 * Cheap.
 */
NB_MUST_CHECK int
target_look(struct target *target);

/**
 * Stop all servers in an orderly way. NB_FAIL if one had to be killed. They may be started
 * again.
 */
NB_MUST_CHECK int
target_stop(struct target *target);

/** The number of servers; the guard process that is the parent of a server, 0: not running. */
size_t
target_count(const struct target *target);
pid_t
target_guard(const struct target *target, size_t index);

/** Stop the servers that run, and free the target. NULL is allowed. */
void
target_delete(struct target *target);

#endif /* TARGET_TARGET_H */
