/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_RANKS_H
#define CLI_RANKS_H
/**
 * The action run under mpirun: the processes are ranks of one run (mininb/ranks.h). Each rank
 * runs its engine in a child, and waits for the child and for messages of other ranks.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <mininb/mininb.h>

struct options;

/**
 * Whether the action is one run of several ranks. *status is a failure that was reported:
 * invalid variables of the launcher, or an option that is not allowed with ranks.
 */
bool
ranks_are_launched(const struct options *options, int *status);

/**
 * The options with the files of the merged result, after ranks_are_launched(). Checks this
 * rank's own files (rank_files.h); *status is a failure that was reported.
 */
const struct options *
ranks_name_files(const struct options *options, int *status);

/** Whether only rank 0 writes the report and the merged result. Set by ranks_are_launched(). */
bool
ranks_is_silent(void);

/* ---- in the rank, in this order ---- */

/** Call it before the child is started. STATUS_DONE, or the failure was reported. */
int
ranks_prepare(void);

/**
 * Joins the other ranks, then lets the child begin. STATUS_DONE, or the failure was reported.
 */
int
ranks_join(const struct options *options);

/** Call it often while the child runs. Returns the number of ms until the next call. */
int
ranks_look(const struct options *options, pid_t child, bool is_stopping);

/**
 * The child has ended with `status`; `summary` describes its end, and the file fd has its
 * results. Waits for the other ranks, and writes this rank's own files. Rank 0 appends the
 * merged result to `results` and prints it. Returns the exit status of the run.
 */
int
ranks_end(const struct options *options, int status, const struct nb_summary *summary, int fd,
	struct nb_results *results);

/**
 * The action has failed. If this rank has not joined the others, the launcher ends them, because
 * they wait for it. May not return.
 */
void
ranks_give_up(int status);

/** Call it last, after files were written. */
void
ranks_leave(int status);

/* ---- in the child ---- */

/** Waits until the rank has joined the others. False: it failed, and the child must end. */
bool
ranks_enter_child(pid_t rank);

/** Sets the run options of a rank: its shard, its start, its partial results. */
void
ranks_set_run(struct nb_run_options *run);

#endif /* CLI_RANKS_H */
