/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_RANKS_H
#define MININB_RANKS_H
/**
 * Many load generators: processes that an MPI launcher has started, and that do one run together.
 * Rank k does shard k; rank 0 gets all results and merges them.
 *
 * MPI is used for messages only, and is loaded only under a launcher. It stays out of the process
 * that runs the engine: start that by fork() before nb_ranks_join(). Then an engine that crashes
 * leaves the rank alive to report it. Nothing here waits while others measure: call
 * nb_ranks_poll() often, and sleep between the calls.
 */
#include <mininb/mininb.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nb_results;

/** What the environment says about the launcher. */
struct nb_launch {
	size_t size;
	const char *mpi; /* "openmpi", "mpich"; NULL: no launcher has started this process */
	uint32_t rank, ranks;
};

/** Fill *out from the variables of launchers. NB_ERR_USAGE: they make no sense. */
NB_MUST_CHECK int
nb_launch_read(struct nb_launch *out);

/** Remove these variables, for a child that does a run of its own. */
void
nb_launch_forget(void);

struct nb_ranks;

/**
 * Load the MPI of the launcher and join the other ranks. NB_FAIL: it cannot be loaded, or it has
 * another number of ranks than the launcher says. `silence_ns` is how long a rank may be silent
 * before it counts as dead; 0: the default, 30 s.
 */
NB_MUST_CHECK int
nb_ranks_join(struct nb_ranks **out, const struct nb_launch *launch, uint64_t silence_ns);

/**
 * Handle the messages that have come, and say that this rank is alive. Spins for some ms while
 * clocks are compared, when no rank measures.
 */
void
nb_ranks_poll(struct nb_ranks *ranks);

/** This rank is ready to begin. When all are, they compare their clocks and agree on a moment. */
void
nb_ranks_ready(struct nb_ranks *ranks);

/** That moment, in ns since the epoch by this machine's clock; 0: it is not agreed yet. */
uint64_t
nb_ranks_start_ns(const struct nb_ranks *ranks);

/** Whether this rank shall end its run early, because another one has failed. */
int
nb_ranks_is_stopping(const struct nb_ranks *ranks);

/** On rank 0: end all other ranks' runs early. */
void
nb_ranks_stop(struct nb_ranks *ranks);

/** Give rank 0 this rank's result file so far, which is copied. */
NB_MUST_CHECK int
nb_ranks_tell_partial(struct nb_ranks *ranks, const char *json, size_t size);

/**
 * The run of this rank has ended with an exit status; `end` says how, if not well. The result file
 * may be empty.
 */
NB_MUST_CHECK int
nb_ranks_tell_end(
	struct nb_ranks *ranks, int status, const char *end, const char *json, size_t size);

/** Whether all is over: on rank 0, each rank has ended or is lost; on others, rank 0 says so. */
int
nb_ranks_is_over(const struct nb_ranks *ranks);

/** On rank 0: partial results that have come since nb_ranks_merge(). */
uint32_t
nb_ranks_news(const struct nb_ranks *ranks);

/** On rank 0: how the first rank that failed has ended, as a text with its name; NULL: none has. */
const char *
nb_ranks_failure(struct nb_ranks *ranks);

/** Its exit status; 0: none has failed. */
int
nb_ranks_status(const struct nb_ranks *ranks);

/**
 * On rank 0: the latest results of all ranks as one. It is partial unless all of them ended well.
 * NB_ERR_USAGE: they are not shards of one run, or none has a result.
 */
NB_MUST_CHECK int
nb_ranks_merge(struct nb_results **out, struct nb_ranks *ranks);

/**
 * Leave, and free. Write all output before: if MPI does not end within 3 s, the process ends.
 * Rank 0 leaves last. If a rank was lost, rank 0 makes the launcher end all processes with `status`, and
 * does not return.
 */
void
nb_ranks_leave(struct nb_ranks *ranks, int status);

#ifdef __cplusplus
}
#endif
#endif /* MININB_RANKS_H */
