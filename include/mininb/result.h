/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_RESULT_H
#define MININB_RESULT_H
/**
 * The result of a run: its measurements, how they were made, and why they may be wrong. Also
 * the functions that write it as text.
 */
#include <stdio.h>

#include <mininb/mininb.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nb_result;
struct nb_run;
struct nb_histogram;

/**
 * Make the result of an executed run. The result does not need the run any more. NB_FAIL if the
 * run did not reach its first operation.
 */
NB_MUST_CHECK int
nb_result_new(struct nb_result **out, const struct nb_run *run);

/** NULL is fine. */
void
nb_result_delete(struct nb_result *result);

/** Completed operations. */
uint64_t
nb_result_ops(const struct nb_result *result);

/**
 * From the start of the first operation to the end of the last, over all threads; no settling.
 */
uint64_t
nb_result_wall_ns(const struct nb_result *result);

/** Service times of all operations. */
const struct nb_histogram *
nb_result_service(const struct nb_result *result);

/** Digest of the stream of requested operations. */
uint64_t
nb_result_digest(const struct nb_result *result);

/** Whether the run ended before its last operation. */
int
nb_result_is_partial(const struct nb_result *result);

/**
 * Emit the engine's own counters. For a NB_STAT_COUNTER, emit its growth from the start of the
 * first operation, warm-up included, until the run was settled; reads for verification at the
 * end do not count. For a NB_STAT_GAUGE, emit its level at that end. Emits none if the engine
 * has no stats or several processes had the database open, and no counter that decreased.
 */
void
nb_result_counters(const struct nb_result *result, nb_stat_emit emit, void *to);

#define NB_TEXT_FOLD (1u << 0) /* one bucket [0, 1) for all times below a microsecond */
#define NB_TEXT_BARS (1u << 1) /* a bar of # after each bucket */

/**
 * Write the report. For put, get and delete it has their histogram. For a job it has for each
 * group the operations, service times and, with a rate, response times and the achieved rate;
 * also the threads and the verification. Then it states how the run was measured. flags:
 * NB_TEXT_*, for the histogram. NB_FAIL if `out` cannot be written.
 */
NB_MUST_CHECK int
nb_result_write_text(const struct nb_result *result, FILE *out, uint32_t flags);

/** A separate part of a run: a group of a job. Plain data. */
struct nb_summary_part {
	char name[24];
	uint64_t ops, inserts, reads, updates; /* updates: all puts that are not inserts */
	uint64_t p50_ns, p99_ns;               /* service time; 0: too few samples */
	double ns_op;                          /* wall time per operation of a thread */
	double rate_ops_s;
};

enum { NB_SUMMARY_PARTS = 4 };

/**
 * A row of a table that compares results. Plain data without pointers, so it can be passed to
 * another process of the same program.
 */
struct nb_summary {
	size_t size;
	char driver[48], version[48];
	uint32_t verb, threads, durability; /* NB_VERB_*, count, NB_DUR_* */
	uint32_t is_measured;               /* 0: only driver and end are set */
	uint32_t is_partial;
	uint32_t spare_u32;
	uint64_t ops, digest;
	double rate_ops_s;    /* operations / wall time, without settling */
	double settled_ops_s; /* includes settling and closing; 0: no writes, or not settled */
	uint64_t p50_ns, p99_ns, p999_ns; /* service time; 0: too few samples */
	uint64_t max_ns;
	double cpu_ns_op; /* user and system time of all threads; 0: not known */
	uint64_t data_bytes, max_resident_bytes;
	char end[256];       /* how the run ended, if not normally; else "" */
	uint32_t part_count; /* 0: the run has no separate parts */
	uint32_t spare_u32_2;
	struct nb_summary_part parts[NB_SUMMARY_PARTS];
};

/** For a table that compares results; without response times. */
void
nb_result_summarize(const struct nb_result *result, struct nb_summary *out);

/**
 * Write a table with a row for each summary. A line above it states if they are not comparable.
 * NB_TEXT_BARS: with bars of the rates. NB_FAIL if `out` cannot be written.
 */
NB_MUST_CHECK int
nb_summaries_write_text(
	const struct nb_summary *summaries, size_t count, FILE *out, uint32_t flags);

/** Totals of all foreground groups of a job. Plain data. */
struct nb_job_summary {
	size_t size;
	uint64_t ops, wall_ns; /* measured operations and their time */
	uint64_t digest;
	double rate_ops_s;        /* achieved */
	double offered_ops_s;     /* with a rate: due in that time; 0 without a rate */
	uint64_t behind_ops;      /* with a rate: due but not done at the end */
	uint64_t behind_ns;       /* how late the last operation began */
	uint32_t has_queue_grown; /* the offered rate exceeded the capacity */
	uint32_t is_partial;
	uint32_t is_steady; /* throughput was steady, as requested */
	uint32_t spare_u32;
};

/** Totals of a job; zeros for put, get and delete. */
void
nb_result_summarize_job(const struct nb_result *result, struct nb_job_summary *out);

/**
 * The histogram of the operations of all foreground groups: response times if the job has a
 * rate and `is_response` is set, else service times. Valid as long as the result. Never NULL.
 */
const struct nb_histogram *
nb_result_histogram(const struct nb_result *result, int is_response);

/** A point of a latency-throughput curve: the result at one offered rate. */
struct nb_curve_point {
	size_t size;
	double share; /* offered rate / capacity, 0..1 and above; 0: not known */
	double offered_ops_s, achieved_ops_s;
	uint64_t service_p50_ns, service_p99_ns, service_p999_ns;    /* 0: too few samples */
	uint64_t response_p50_ns, response_p99_ns, response_p999_ns; /* likewise */
	uint64_t response_max_ns;
	uint32_t queue_grew; /* 1: the number of overdue operations grew */
	uint32_t spare_u32;
};

/**
 * Index of the knee: the first point whose response p99 is more than twice that of the lowest
 * rate, or whose achieved rate is below 98 % of the offered rate. `count` if no point is.
 * Points are in order of their offered rates.
 */
size_t
nb_curve_knee(const struct nb_curve_point *points, size_t count);

/**
 * Write a table with a row for each point, in order of their offered rates. The knee is marked,
 * and explained below the table. NB_TEXT_BARS: with bars of the response p99 on a logarithmic
 * scale. NB_FAIL if `out` cannot be written.
 */
NB_MUST_CHECK int
nb_curve_write_text(
	const struct nb_curve_point *points, size_t count, FILE *out, uint32_t flags);

/**
 * Write a table of the available engines: version, licence, capabilities, durability levels.
 * Then list each rejected plugin with the reason.
 */
NB_MUST_CHECK int
nb_engines_write_text(FILE *out);

/** Write the same of one engine, and its options with types, defaults and help. */
NB_MUST_CHECK int
nb_engine_write_text(FILE *out, const char *driver);

/** Write a table of the presets: name, summary and file. */
NB_MUST_CHECK int
nb_presets_write_text(FILE *out);

#ifdef __cplusplus
}
#endif
#endif /* MININB_RESULT_H */
