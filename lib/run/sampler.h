/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_SAMPLER_H
#define RUN_SAMPLER_H
/**
 * Samples of a run, taken by the main thread while the operations run; see series.h. Workers do
 * nothing for it.
 *
 * Only that thread uses the sampler. The results go into run->measured.
 */
#include <stdbool.h>

#include "run/run.h"

/** Values of nb_run_options.sample_ns. */
#define SAMPLER_OFF UINT64_MAX
#define SAMPLER_LEAST_NS UINT64_C(20000000)

struct sampler;

/** A phase of operations for the sampler. The functions read data that workers write. */
struct sampler_phase {
	uint32_t phase;
	/* bits 1 << NB_OP_* of the kinds that may occur; 1 for a classic action */
	uint32_t kinds;
	bool has_response;
	struct nb_db *db;  /* for the engine's counters; NULL: not available */
	uint64_t warm_ns;  /* the warm-up lasts until then, */
	uint64_t warm_ops; /* or until this many operations are done */
	void *arg;         /* argument of the functions */
	/* Add the counts of all workers, by histogram_peek(). */
	void (*peek)(void *arg, uint32_t kind, bool is_response, struct nb_histogram *into);
	/* When all workers are parked: begin `into`, and merge their pulses. */
	void (*pulses)(void *arg, struct pulse_track *into);
	uint64_t (*behind)(void *arg, uint64_t since_ns); /* NULL: no rate */
	uint64_t (*errors)(void *arg);                    /* misses and conflicts */
};

/**
 * Create run->sampler. run->path, options and environment must be set. Hardware counters cover
 * this thread and all threads that are created from now on. is_of_processes: other processes
 * execute the operations, and the system does not report their usage.
 */
NB_MUST_CHECK int
sampler_new(struct nb_run *run, bool is_of_processes);

/** Accepts NULL. */
void
sampler_delete(struct sampler *sampler);

/** Begin a phase, before its operations begin. Copies `phase`. */
void
sampler_begin(struct sampler *sampler, const struct sampler_phase *phase);

/**
 * `done` operations are done, since_ns after the start. since_ns 0, before the start, does
 * nothing.
 */
void
sampler_tick(struct sampler *sampler, uint64_t since_ns, uint64_t done);

/** End a phase. The operations have ended, and workers are parked. */
void
sampler_end(struct sampler *sampler, uint64_t since_ns, uint64_t done);

/** Record the usage from the last operation until now. The database was closed. */
void
sampler_finish(struct sampler *sampler);

/** Set the current values in `progress`, if operations are running. Accepts NULL. */
void
sampler_tell(const struct sampler *sampler, struct nb_progress *progress);

#endif /* RUN_SAMPLER_H */
