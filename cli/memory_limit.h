/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_MEMORY_LIMIT_H
#define CLI_MEMORY_LIMIT_H
/** --memory: the control group of a run, and mininb's own share of its memory. */
#include "cmd_run.h"

struct nb_memory_group;

/**
 * Makes the group for a run on one engine. First measures mininb's own share for this action,
 * once per process. *group NULL: --memory is not given. STATUS_DONE, or the failure was
 * reported.
 */
int
memory_limit_begin(struct nb_memory_group **group, const struct options *options, run_fn run);

/**
 * Removes the group after the run; `is_good`: the run succeeded. Warns if mininb's share is not
 * known. NULL is fine.
 */
void
memory_limit_end(struct nb_memory_group *group, bool is_good);

#endif /* CLI_MEMORY_LIMIT_H */
