/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RIG_H
#define RIG_H
/**
 * The fixture for tests of runs and results: a temporary directory, a key file whose keys
 * contain their numbers, and an engine. A test replaces the verbs of the engine that must
 * misbehave.
 */
#include <stdbool.h>

#include <mininb/mininb.h>

#include "report/result.h"
#include "run/run.h"

struct rig {
	char dir[64];  /* removed at the end */
	char keys[96]; /* <dir>/keys, with exactly workload.count keys */
	char path[96]; /* <dir>/nb, which does not exist yet */
	struct nb_workload workload;
	struct nb_run_options options; /* memory, one thread, all values verified */
	struct nb_run *run;            /* of the last rig_new() or rig_run() */
};

/** Create the fixture. It is destroyed by another rig_create() or at the end of the test. */
void
rig_create(struct rig *rig, uint32_t verb, uint64_t count);

/** Destroy the fixture now, and its run. */
void
rig_destroy(struct rig *rig);

/** The number of a key in the file. */
uint64_t
rig_number(struct nb_slice key);

/** The correct engine `memory`. */
const struct nb_engine *
rig_right(void);

/**
 * Call nb_run_new() with the rig's options, which must succeed. `engine`, if not NULL, replaces
 * the engine.
 */
void
rig_new(struct rig *rig, const struct nb_engine *engine);

/** Call rig_new() and nb_run_execute(). Returns the value of nb_run_execute(). */
int
rig_run(struct rig *rig, const struct nb_engine *engine);

/** Fail the test if the error text does not contain `part` or has more than one line. */
void
rig_assert_told(const char *part);

/** Whether <dir>/<name> exists. */
bool
rig_has(const struct rig *rig, const char *name);

#endif /* RIG_H */
