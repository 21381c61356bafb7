/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TARGET_TARGET_H
#define TARGET_TARGET_H
/**
 * Private servers: started for an engine that is a client, awaited, watched and stopped. Their
 * data stays in a directory below that of the database.
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
	const char *directory; /* of the database; it exists when they start */
	const char *logs;      /* directory for files of output; likewise */
	uint64_t cache_bytes;  /* that servers may use; 0: what the spec says */
	uint32_t sessions;     /* that will be open at once */
	uint32_t durability;   /* NB_DUR_* */
	const struct placeholder *placeholders; /* more of them; NULL: none */
};

/** Check what can be checked before anything is written. The spec is borrowed, too. */
NB_MUST_CHECK int
target_new(
	struct target **out, const struct target_spec *spec, const struct target_place *place);

/** Wait until no server of a run that was killed uses the directories. */
NB_MUST_CHECK int
target_wait(struct target *target);

/** Start all servers, and wait until they are ready. After a failure none runs. */
NB_MUST_CHECK int
target_start(struct target *target);

/** What the engine connects to; after each start. */
const struct addresses *
target_addresses(const struct target *target);

/** NB_FAIL if a server has ended: how, with the end of its output. Cheap. */
NB_MUST_CHECK int
target_look(struct target *target);

/** Stop all, in order if they do. NB_FAIL if one had to be killed. It may be started again. */
NB_MUST_CHECK int
target_stop(struct target *target);

/** How many servers there are, and the process of which each is a child; 0: it does not run. */
size_t
target_count(const struct target *target);
pid_t
target_guard(const struct target *target, size_t index);

/** Stop what runs. NULL is fine. */
void
target_delete(struct target *target);

#endif /* TARGET_TARGET_H */
