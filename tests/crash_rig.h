/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRASH_RIG_H
#define CRASH_RIG_H
/**
 * A plugin from $MININB_TEST_PLUGINS to crash, and the findings that a crash test reports. If a
 * call fails, it fails the test.
 */
#include <stdint.h>

#include "crash/crash.h"

/** The findings since crash_rig_forget(): their number, and the text of the first. */
extern struct crash_rig_told {
	uint32_t count, wrong, is_broken;
	char text[512], when[512], kept[256];
} told;

void
crash_rig_forget(void);

/** Create an empty working directory for this test. */
void
crash_rig_fresh(void);

/** Load a plugin with its option `name` set to `value`. Unloads the previous one. */
void
crash_rig_load(const char *plugin, const char *name, const char *value);
void
crash_rig_unload(void);

/** The loaded engine; borrowed until it is unloaded. */
const struct nb_engine *
crash_rig_engine(void);

/** Arguments for the loaded engine. They use the working directory; findings go to `told`. */
struct nb_crash_args
crash_rig_args(uint32_t durability);

/** The counts of the last crash_rig_call() or crash_rig_again(). */
extern struct nb_crash_tally rig_tally;

/** nb_crash() and nb_crash_again(); they forget earlier findings. */
int
crash_rig_call(const struct nb_crash_args *args);
int
crash_rig_again(const struct nb_crash_args *args, const char *path);

/**
 * Two sessions that write to one database in rounds. This process executes their operations one
 * by one, so their progress does not depend on chance.
 */
struct crash_rig_chain {
	struct crash_plan plan;
	struct crash_oracle state;  /* before the last round */
	struct crash_moment moment; /* at the end of the last round */
	struct crash_subject subject;
	const char *path;
};

/** Start a chain for the loaded engine at durability `process`. Creates directory `path`. */
void
crash_rig_begin(struct crash_rig_chain *chain, const char *path);

/**
 * Execute a round: each session executes `ops` more operations, then the database is closed.
 */
void
crash_rig_round(struct crash_rig_chain *chain, uint64_t ops);

void
crash_rig_end(struct crash_rig_chain *chain);

/**
 * The last write to key `index` in the first `ops` operations of a session; 0: none, or a
 * deletion.
 */
uint64_t
crash_rig_last(const struct crash_plan *plan, uint32_t session, uint32_t index, uint64_t ops);

/** The number of writes in operations `from` to `to - 1` of all sessions. */
uint64_t
crash_rig_writes(const struct crash_plan *plan, uint64_t from, uint64_t to);

/** Write to the chain's database without recording it in the chain. `value` NULL deletes. */
void
crash_rig_tamper(
	const struct crash_rig_chain *chain, struct nb_slice key, const struct nb_slice *value);

#endif /* CRASH_RIG_H */
