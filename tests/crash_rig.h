/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRASH_RIG_H
#define CRASH_RIG_H
/**
 * An engine to crash, one of those in $MININB_TEST_PLUGINS, and what a crash test tells of it.
 * Each call fails the test if it does.
 */
#include <stdint.h>

#include <mininb/crash.h>

/** What was told since crash_rig_forget(): how often, and the first of it. */
extern struct crash_rig_told {
	uint32_t count, wrong, is_broken;
	char text[512], when[512], kept[256];
} told;

void
crash_rig_forget(void);

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

#endif /* CRASH_RIG_H */
