/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_SERIES_H
#define RUN_SERIES_H
/**
 * A run over time, as a list of samples. Its length is bounded for any duration, because
 * neighbours are merged when there are too many.
 *
 * Time starts at the first operation of the first phase, as wall time. Reading back between
 * phases leaves a gap.
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
	SERIES_BYTES_MAX = 4 << 20, /* only with a memory limit */
	SERIES_PULSES_MAX = 16384,
	SERIES_GAPS_MAX = 64,
};

#define SERIES_SAMPLE_NS UINT64_C(1000000000) /* but during the first ten seconds: */
#define SERIES_SAMPLE_EARLY_NS UINT64_C(200000000)
#define SERIES_PULSE_NS UINT64_C(20000000)
#define SERIES_GAP_NS (3 * SERIES_PULSE_NS) /* a gap is longer */

/** Latencies of one kind of operation in one sample. */
struct sample_latency {
	uint32_t kind; /* NB_OP_*; 0 for a classic action, which has only one */
	uint32_t is_response;
	uint64_t count;
	uint64_t p50_ns, p99_ns, p999_ns; /* 0: too few operations */
	uint64_t max_ns;                  /* upper end of the highest bucket */
	char *hdr;                        /* nb_histogram_encode(); owned */
};

/** A sample: a part of the run. Owns its arrays. */
struct sample {
	uint64_t end_ns, duration_ns;
	uint64_t ops;        /* done in it, by foreground and background groups */
	uint64_t behind_ops; /* with a rate: due by its end and not done */
	uint32_t phase;
	uint32_t is_warmup;
	struct system_counts used;   /* in it */
	struct system_levels levels; /* at its end */
	struct target_usage server;  /* of private servers: in it, and memory at its end */
	struct sample_latency *latencies;
	size_t latency_count;
	/* parallel to series.counters.items: growth, or the level of a gauge */
	uint64_t *counters;
	size_t counter_count; /* may be less than series.counters.count; the others are 0 */
};

/** A time in which no operation ended. */
struct gap {
	uint64_t begin_ns, duration_ns; /* in the time of the series */
};

/** Operations that ended in each pulse_ns of one phase, with the warm-up. */
struct pulses {
	uint64_t begin_ns, pulse_ns;
	uint32_t phase;
	uint32_t gap_count;
	uint32_t *ops; /* owned */
	size_t count;
	struct gap gaps[SERIES_GAPS_MAX]; /* the longest ones, unsorted */
};

/** A series. {0} is empty. */
struct series {
	uint64_t interval_ns; /* current interval of the samples */
	struct sample *samples;
	size_t count, room;       /* used and allocated samples */
	size_t bytes;             /* memory of the samples, with the allocator's overhead */
	struct counters counters; /* names, units and kinds; values at the end */
	struct pulses *pulses;    /* one per phase */
	size_t pulses_count;
};

/**
 * Append `sample` and take over the memory that it owns, even on a failure, which is a lack of
 * memory.
 */
NB_MUST_CHECK int
series_add(struct series *series, struct sample *sample);

/**
 * Merge groups of `factor` neighbours in each phase: sums of counts, merged histograms, the
 * levels of the last one. Overwrites `work`: a histogram for each merge would be most of the
 * memory of a run without an engine.
 */
NB_MUST_CHECK int
series_merge(struct series *series, size_t factor, struct nb_histogram *work);

/**
 * Add `from`, of the same kind of operation, to `into`. A failure does not change `into`.
 * Overwrites `work`.
 */
NB_MUST_CHECK int
sample_latency_merge(struct sample_latency *into, const struct sample_latency *from,
	struct nb_histogram *work);

void
series_destroy(struct series *series);

void
sample_destroy(struct sample *sample);

#endif /* RUN_SERIES_H */
