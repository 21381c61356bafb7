/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_MEMORY_LIMIT_H
#define CLI_MEMORY_LIMIT_H
/** --memory: the control group of a run, and what mininb itself needs in it. */
#include "cmd_run.h"

struct nb_memory_group;

/**
 * Makes the group for a run on one engine. First measures what mininb needs itself for this
 * action, once in a process. *group NULL: there is no --memory. STATUS_DONE, or the failure was
 * reported.
 */
int
memory_limit_begin(struct nb_memory_group **group, const struct options *options, run_fn run);

/** Removes it after the run, which `is_good`; warns if mininb's share is not known. NULL is fine. */
void
memory_limit_end(struct nb_memory_group *group, bool is_good);

#endif /* CLI_MEMORY_LIMIT_H */
