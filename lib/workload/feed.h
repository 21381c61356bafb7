/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_FEED_H
#define WORKLOAD_FEED_H
/**
 * Operations of a trace, read ahead by one thread and handed to others, each key always to
 * the same one, so that the order of a key's operations is the trace's.
 */
#include <stdbool.h>

#include <mininb/job.h>

#include "workload/ops.h"
#include "workload/trace.h"

/** Bytes of a value of a trace, at most. */
#define FEED_VALUE_MAX (UINT64_C(4) << 20)

struct feed;

/** What a feed makes of a trace's operations. */
struct feed_options {
	struct trace_reader *reader; /* lent; used by feed_run() alone */
	const struct ops_spec *spec; /* of bare keys' mix, and of versions; lent */
	uint32_t shards;             /* threads that take */
	bool are_values_keys;        /* a value is its key's bytes */
	bool can_scan;               /* else a scan in the trace is a failure */
	uint64_t count;              /* operations that are read at most; 0: all */
	/* of a key and a value that the engine takes; 0: any */
	uint64_t key_size_max, value_size_max;
	double speed; /* of the trace's times, without which it fails; 0: not honoured */
	/*
	 * When the next operation is due, instead of those times: called once for each, in their
	 * order, by feed_run(). NULL: no schedule
	 */
	uint64_t (*next_due)(void *arg);
	void *next_due_arg;
};

NB_MUST_CHECK int
feed_new(struct feed **out, const struct feed_options *options);

/**
 * Read until the trace is at its end, fails, or *halt is not 0; then the takers come to
 * their end, too. On a thread of its own.
 */
NB_MUST_CHECK int
feed_run(struct feed *feed, const int *halt);

/** What is taken: operations, and when they are due, in ns from the trace's first. */
struct feed_taken {
	struct ops_op ops[OPS_STRATUM];
	uint64_t due_ns[OPS_STRATUM]; /* only with a speed or a schedule */
	uint64_t numbers[OPS_STRATUM];
	struct nb_slice keys[OPS_STRATUM], values[OPS_STRATUM];
	uint8_t *bytes; /* of values; owned */
	size_t room;
	void (*idle)(void *arg); /* or NULL: called every millisecond of a wait */
	void *idle_arg;
};

/**
 * The next operations of a shard, lent until the next call. Returns how many, 0 at the end;
 * NB_FAIL (negative): out of memory. Waits for the reader until *halt is not 0. `taken` is zero
 * at first, but for idle.
 */
NB_MUST_CHECK int
feed_take(struct feed *feed, uint32_t shard, struct feed_taken *taken, const int *halt);

void
feed_taken_destroy(struct feed_taken *taken);

/** Names the operations that were read: kinds, keys and sizes, in their order. */
uint64_t
feed_digest(const struct feed *feed);

/** NULL is fine. */
void
feed_delete(struct feed *feed);

#endif /* WORKLOAD_FEED_H */
