/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_SAMPLER_H
#define RUN_SAMPLER_H
/**
 * Looks at a run while it goes on, from the main thread: every so often what that time had; see
 * series.h. Workers do nothing for it.
 *
 * All of it is for that one thread. What it finds goes into run->measured.
 */
#include <stdbool.h>

#include "run/run.h"

/** Of nb_run_options.sample_ns. */
#define SAMPLER_OFF UINT64_MAX
#define SAMPLER_LEAST_NS UINT64_C(20000000)

struct sampler;

/** A phase of operations, as the sampler sees it. The functions read what workers write. */
struct sampler_phase {
	uint32_t phase;
	uint32_t
		kinds; /* bits 1 << NB_OP_* of those that there may be; of a classic action 1 */
	bool has_response;
	struct nb_db *db;  /* for the engine's counters; NULL: there are none to be had */
	uint64_t warm_ns;  /* a sample is of the warm-up until then, */
	uint64_t warm_ops; /* or until so many operations are done */
	void *arg;         /* of these */
	/* Add the counts of all workers, by histogram_peek(). */
	void (*peek)(void *arg, uint32_t kind, bool is_response, struct nb_histogram *into);
	/* When all workers are parked: begin `into`, and merge theirs. */
	void (*pulses)(void *arg, struct pulse_track *into);
	uint64_t (*behind)(void *arg, uint64_t since_ns); /* NULL: there is no rate */
	uint64_t (*errors)(void *arg);                    /* not found, and conflicts */
};

/**
 * Into run->sampler; run->path, options and environment are as they will be. Counters of the
 * processor are those of this thread and of all that are made from here on. With
 * `is_of_processes` the operations are those of other processes, of which the system does not
 * tell what they take.
 */
NB_MUST_CHECK int
sampler_new(struct nb_run *run, bool is_of_processes);

/** NULL is fine. */
void
sampler_delete(struct sampler *sampler);

/** Operations are about to begin; copied. */
void
sampler_begin(struct sampler *sampler, const struct sampler_phase *phase);

/** So many operations are done, so long after the begin. Nothing before that, since_ns 0. */
void
sampler_tick(struct sampler *sampler, uint64_t since_ns, uint64_t done);

/** They have ended, and workers are parked. */
void
sampler_end(struct sampler *sampler, uint64_t since_ns, uint64_t done);

/** The database was closed: what was used from the last operation until now. */
void
sampler_finish(struct sampler *sampler);

/** Fill in what is known of this moment, if operations are under way. NULL is fine. */
void
sampler_tell(const struct sampler *sampler, struct nb_progress *progress);

#endif /* RUN_SAMPLER_H */
