/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RIG_H
#define RIG_H
/**
 * What the tests of runs and results stand on: a directory of their own, a file
 * of keys that tell their number, and an engine in which a test replaces the
 * verbs that shall be wrong.
 */
#include <stdbool.h>

#include <mininb/mininb.h>

#include "report/result.h"
#include "run/run.h"

struct rig {
	char dir[64];  /* removed at the end */
	char keys[96]; /* <dir>/keys, exactly as long as the workload needs */
	char path[96]; /* <dir>/nb, not there yet */
	struct nb_workload workload;
	struct nb_run_options options; /* memory, one thread, everything verified */
	struct nb_run *run;            /* of the last rig_new() or rig_run() */
};

/** It is destroyed when it is created again, and when the test is over. */
void
rig_create(struct rig *rig, uint32_t verb, uint64_t count);

/** Now; deletes the run too. */
void
rig_destroy(struct rig *rig);

/** The number of a key in the file. */
uint64_t
rig_number(struct nb_slice key);

/** The engine `memory`, right in all. */
const struct nb_engine *
rig_right(void);

/** nb_run_new() of the rig's options, which must go well; `engine`, if given, takes the place. */
void
rig_new(struct rig *rig, const struct nb_engine *engine);

/** rig_new() and nb_run_execute(); returns what that does. */
int
rig_run(struct rig *rig, const struct nb_engine *engine);

/** Fails the test if the error text does not hold `part`, or is more than a line. */
void
rig_assert_told(const char *part);

/** Whether there is a file or directory at <dir>/<name>. */
bool
rig_has(const struct rig *rig, const char *name);

#endif /* RIG_H */
