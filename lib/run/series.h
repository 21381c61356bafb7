/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_SERIES_H
#define RUN_SERIES_H
/**
 * A run over time: what each stretch of it had. It stays bounded however long the run is,
 * since neighbours are put together when there are too many.
 *
 * Time is counted from the first operation of the first phase, by the wall; what is read
 * back between phases is a gap.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mininb/mininb.h>

#include "run/counters.h"
#include "run/system.h"
#include "target/usage.h"

enum {
	SERIES_SAMPLES_MAX = 2048,
	SERIES_BYTES_MAX = 4 << 20, /* only with a limit of memory */
	SERIES_PULSES_MAX = 16384,
	SERIES_GAPS_MAX = 64,
};

#define SERIES_SAMPLE_NS UINT64_C(1000000000) /* and of the first ten seconds: */
#define SERIES_SAMPLE_EARLY_NS UINT64_C(200000000)
#define SERIES_PULSE_NS UINT64_C(20000000)
#define SERIES_GAP_NS (3 * SERIES_PULSE_NS) /* a gap is longer */

/** Latencies of one kind of operation in one stretch. */
struct sample_latency {
	uint32_t kind; /* NB_OP_*; of the classic actions 0, which is the one there is */
	uint32_t is_response;
	uint64_t count;
	uint64_t p50_ns, p99_ns, p999_ns; /* 0: too few */
	uint64_t max_ns;                  /* upper end of the highest bucket */
	char *hdr;                        /* nb_histogram_encode(); owned */
};

/** One stretch. Owns its arrays. */
struct sample {
	uint64_t end_ns, duration_ns;
	uint64_t ops;        /* done within it, by foreground and background groups */
	uint64_t behind_ops; /* with a rate: due at its end and not done */
	uint32_t phase;
	uint32_t is_warmup;
	struct system_counts used;   /* within it */
	struct system_levels levels; /* at its end */
	struct target_usage server;  /* of private servers: within it, and memory at its end */
	struct sample_latency *latencies;
	size_t latency_count;
	uint64_t *counters; /* parallel to series.counters.items: growth, or a gauge's level */
	size_t counter_count; /* may be less than there are: 0 then */
};

/** A time in which no operation ended. */
struct gap {
	uint64_t begin_ns, duration_ns; /* on the series' time */
};

/** Operations that ended in each pulse_ns of one phase, warm-up included. */
struct pulses {
	uint64_t begin_ns, pulse_ns;
	uint32_t phase;
	uint32_t gap_count;
	uint32_t *ops; /* owned */
	size_t count;
	struct gap gaps[SERIES_GAPS_MAX]; /* the longest ones, in no order */
};

/** {0} is an empty one. */
struct series {
	uint64_t interval_ns; /* of the samples, as it is by now */
	struct sample *samples;
	size_t count, room; /* what series_add() has allocated */
	size_t bytes;       /* that those of series_add() take, with the allocator's own */
	struct counters counters; /* names, units and kinds; values are those of the end */
	struct pulses *pulses;    /* one for each phase */
	size_t pulses_count;
};

/** Append; what `sample` owns is the series' now, also on a failure, which is of memory. */
NB_MUST_CHECK int
series_add(struct series *series, struct sample *sample);

/**
 * Put each `factor` neighbours of a phase together: counts added, histograms merged, levels
 * of the last one. `work` is overwritten: a histogram for each merge would be most of the memory
 * that a run without an engine needs.
 */
NB_MUST_CHECK int
series_merge(struct series *series, size_t factor, struct nb_histogram *work);

/**
 * Count in `into` what `from` has: of the same kind of operation. On a failure it is as it was.
 * `work` is overwritten.
 */
NB_MUST_CHECK int
sample_latency_merge(struct sample_latency *into, const struct sample_latency *from,
	struct nb_histogram *work);

void
series_destroy(struct series *series);

void
sample_destroy(struct sample *sample);

#endif /* RUN_SERIES_H */
