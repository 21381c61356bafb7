/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_RANKS_H
#define MININB_RANKS_H
/**
 * Many load generators: processes that an MPI launcher started, which execute one run together.
 * Rank k executes shard k. Rank 0 collects all results and merges them.
 *
 * MPI only transports messages, and is loaded only under a launcher. The process that runs the
 * engine must not contain MPI: create it by fork() before nb_ranks_join(). Then an engine that
 * crashes leaves the rank alive to report it. No function waits while other ranks measure: call
 * nb_ranks_poll() often, and sleep between the calls.
 */
#include <mininb/mininb.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nb_results;

/** The launcher, as the environment describes it. */
struct nb_launch {
	size_t size;
	const char *mpi; /* "openmpi", "mpich"; NULL: not started by a launcher */
	uint32_t rank, ranks;
};

/**
 * Set *out from the environment variables of launchers. NB_ERR_USAGE: they are inconsistent.
 */
NB_MUST_CHECK int
nb_launch_read(struct nb_launch *out);

/** Remove these variables, for a child that executes its own run. */
void
nb_launch_forget(void);

struct nb_ranks;

/**
 * Load the launcher's MPI and join the other ranks. `silence_ns`: a rank that is silent for
 * longer counts as dead; 0: the default, 30 s. NB_FAIL: MPI cannot be loaded, or its number of
 * ranks differs from the launcher's.
 */
NB_MUST_CHECK int
nb_ranks_join(struct nb_ranks **out, const struct nb_launch *launch, uint64_t silence_ns);

/**
 * This rank cannot join the others: make the launcher end them with `status`. Returns if the
 * launcher does that anyway when this process exits, or if MPI cannot be loaded.
 */
void
nb_ranks_give_up(const struct nb_launch *launch, int status);

/**
 * Handle received messages, and report that this rank is alive. Spins for some ms while clocks
 * are compared; no rank measures then.
 */
void
nb_ranks_poll(struct nb_ranks *ranks);

/**
 * Report that this rank is ready. When all are, they compare their clocks and agree on a start
 * time.
 */
void
nb_ranks_ready(struct nb_ranks *ranks);

/** The start time, in ns since the epoch by this machine's clock; 0: not agreed yet. */
uint64_t
nb_ranks_start_ns(const struct nb_ranks *ranks);

/** Whether this rank must end its run early, because another one failed. */
int
nb_ranks_is_stopping(const struct nb_ranks *ranks);

/** On rank 0: end the runs of all other ranks early. */
void
nb_ranks_stop(struct nb_ranks *ranks);

/** Send rank 0 a copy of this rank's partial result file. */
NB_MUST_CHECK int
nb_ranks_tell_partial(struct nb_ranks *ranks, const char *json, size_t size);

/**
 * Report that this rank's run ended with exit status `status`. `end` describes an abnormal end.
 * The result file may be empty.
 */
NB_MUST_CHECK int
nb_ranks_tell_end(
	struct nb_ranks *ranks, int status, const char *end, const char *json, size_t size);

/**
 * Whether all ranks are finished. On rank 0: each rank has ended or is lost. On others: rank 0
 * has reported it.
 */
int
nb_ranks_is_over(const struct nb_ranks *ranks);

/**
 * On rank 0: a text that names the first failed rank and describes how it ended; NULL: none
 * failed.
 */
const char *
nb_ranks_failure(struct nb_ranks *ranks);

/** The exit status of that rank; 0: none failed. */
int
nb_ranks_status(const struct nb_ranks *ranks);

/**
 * On rank 0: merge the latest results of all ranks. The merged result is partial unless all
 * ranks ended normally. NB_ERR_USAGE: they are not shards of one run, or none has a result.
 */
NB_MUST_CHECK int
nb_ranks_merge(struct nb_results **out, struct nb_ranks *ranks);

/** On rank 0: number of partial results received since nb_ranks_merge(). */
uint32_t
nb_ranks_news(const struct nb_ranks *ranks);

/**
 * On rank 0: merge the partial results and write them to the result file `path`, if that is due:
 * after news of each rank, and if merging takes at most 0.1 % of a CPU. Also once when a rank
 * has failed. Returns whether the file was written.
 */
NB_MUST_CHECK int
nb_ranks_write_partial(struct nb_ranks *ranks, const char *path);

/**
 * Leave and free. Write all output before: if MPI does not end within 3 s, the process ends.
 * Rank 0 leaves last. If a rank was lost, rank 0 makes the launcher end all processes with
 * `status` and does not return.
 */
void
nb_ranks_leave(struct nb_ranks *ranks, int status);

#ifdef __cplusplus
}
#endif
#endif /* MININB_RANKS_H */
