/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_FEED_H
#define WORKLOAD_FEED_H
/**
 * Distributes the operations of a trace to threads. One thread reads ahead. All operations of a
 * key go to the same thread, so their order is that of the trace.
 */
#include <stdbool.h>

#include <mininb/job.h>

#include "workload/ops.h"
#include "workload/trace.h"

/** Maximum size of a value of a trace, in bytes. */
#define FEED_VALUE_MAX (UINT64_C(4) << 20)

struct feed;

/** How a feed converts operations of a trace. */
struct feed_options {
	struct trace_reader *reader; /* borrowed; used only by feed_run() */
	const struct ops_spec *spec; /* mix of bare keys, and versions; borrowed */
	uint32_t shards;             /* threads that take operations */
	bool are_values_keys;        /* a value is its key's bytes */
	bool can_scan;               /* else a scan in the trace is an error */
	uint64_t count;              /* maximum number of operations to read; 0: all */
	/* limits of the engine; 0: any */
	uint64_t key_size_max, value_size_max;
	double speed; /* factor for the trace's times, which must exist; 0: ignore them */
	/*
	 * Returns the due time of the next operation, instead of the trace's times. feed_run()
	 * calls it once for each operation, in order. NULL: no schedule.
	 */
	uint64_t (*next_due)(void *arg);
	void *next_due_arg;
};

NB_MUST_CHECK int
feed_new(struct feed **out, const struct feed_options *options);

/**
 * Read until the end of the trace, a failure, or until *halt is not 0; then feed_take() returns
 * 0. Runs on its own thread.
 */
NB_MUST_CHECK int
feed_run(struct feed *feed, const int *halt);

/** Operations of a shard and their due times, in ns since the trace's first operation. */
struct feed_taken {
	struct ops_op ops[OPS_STRATUM];
	uint64_t due_ns[OPS_STRATUM]; /* only with a speed or a schedule */
	uint64_t numbers[OPS_STRATUM];
	struct nb_slice keys[OPS_STRATUM], values[OPS_STRATUM];
	uint8_t *bytes; /* of values; owned */
	size_t room;
	void (*idle)(void *arg); /* called every millisecond of a wait; or NULL */
	void *idle_arg;
};

/**
 * Take the next operations of a shard, valid until the next call. Returns their number, 0 at
 * the end; NB_FAIL (negative): out of memory. Waits for the reader until *halt is not 0. Zero
 * `taken` before the first call, except for idle.
 */
NB_MUST_CHECK int
feed_take(struct feed *feed, uint32_t shard, struct feed_taken *taken, const int *halt);

void
feed_taken_destroy(struct feed_taken *taken);

/** Digest of the operations read: kinds, keys and sizes, in order. */
uint64_t
feed_digest(const struct feed *feed);

/** NULL is fine. */
void
feed_delete(struct feed *feed);

#endif /* WORKLOAD_FEED_H */
