/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRASH_RIG_H
#define CRASH_RIG_H
/**
 * An engine to crash, one of those in $MININB_TEST_PLUGINS, and what a crash test tells of it.
 * Each call fails the test if it does.
 */
#include <stdint.h>

#include "crash/crash.h"

/** What was told since crash_rig_forget(): how often, and the first of it. */
extern struct crash_rig_told {
	uint32_t count, wrong, is_broken;
	char text[512], when[512], kept[256];
} told;

void
crash_rig_forget(void);

/** An empty working directory for this test. */
void
crash_rig_fresh(void);

/** Load a plugin, its option `name` set to `value`. One at a time. */
void
crash_rig_load(const char *plugin, const char *name, const char *value);
void
crash_rig_unload(void);

/** Of what is loaded; borrowed, until it is unloaded. */
const struct nb_engine *
crash_rig_engine(void);
const struct nb_option_value *
crash_rig_values(void);

/** Of the engine that is loaded, in the working directory; what is found is told. */
struct nb_crash_args
crash_rig_args(uint32_t durability);

/**
 * Two sessions that have written to one database, round after round: their operations are done
 * here, one by one, so that how far they are is no matter of chance.
 */
struct crash_rig_chain {
	struct crash_plan plan;
	struct crash_oracle state;  /* as of before the last round */
	struct crash_moment moment; /* as of its end */
	struct crash_subject subject;
	const char *path;
};

/** Of the engine that is loaded, at the level process; in directory `path`, which is made. */
void
crash_rig_begin(struct crash_rig_chain *chain, const char *path);

/** A round: each session does as many operations more, and the database is closed. */
void
crash_rig_round(struct crash_rig_chain *chain, uint64_t ops);

void
crash_rig_end(struct crash_rig_chain *chain);

/** Of a session, the write that key `index` has after its first `ops` operations; 0: none. */
uint64_t
crash_rig_last(const struct crash_plan *plan, uint32_t session, uint32_t index, uint64_t ops);

/** Writes in operations `from` to `to - 1` of all sessions. */
uint64_t
crash_rig_writes(const struct crash_plan *plan, uint64_t from, uint64_t to);

/** Write to the chain's database behind its back; `value` NULL deletes. */
void
crash_rig_tamper(
	const struct crash_rig_chain *chain, struct nb_slice key, const struct nb_slice *value);

#endif /* CRASH_RIG_H */
