/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_RANKS_H
#define CLI_RANKS_H
/**
 * The action run under mpirun: the processes are ranks of one run (mininb/ranks.h). Each rank runs
 * its engine in a child, and itself waits for the child and for messages of the others.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <mininb/mininb.h>

struct options;

/**
 * Whether the action is one run of several ranks. *status is a failure that was reported: the
 * launcher's variables are wrong, or an option does not go with ranks.
 */
bool
ranks_are_launched(const struct options *options, int *status);

/** Whether this is a rank that writes no files: rank 0 does. Set by ranks_are_launched(). */
bool
ranks_is_silent(void);

/* ---- in the rank, in this order ---- */

/** Before the child is started. STATUS_DONE, or it was reported. */
int
ranks_prepare(void);

/** After that: joins the others, and lets the child begin. STATUS_DONE, or it was reported. */
int
ranks_join(const struct options *options);

/** While the child runs, often. Returns after how many ms to call it again. */
int
ranks_look(const struct options *options, pid_t child, bool is_stopping);

/**
 * The child has ended with `status`, as `end` says if not well, and left its results in the file
 * fd. Waits for the other ranks. Rank 0 appends the merged result to `results`, and prints it.
 * Returns the exit status of the run.
 */
int
ranks_end(const struct options *options, int status, const char *end, int fd,
	struct nb_results *results);

/** Last of all, after files were written. */
void
ranks_leave(int status);

/* ---- in the child ---- */

/** Waits until the rank has joined the others. False: it has not, and the child must end. */
bool
ranks_enter_child(pid_t rank);

/** What a run does as a rank: its shard, its begin, its partial results. */
void
ranks_set_run(struct nb_run_options *run);

#endif /* CLI_RANKS_H */
