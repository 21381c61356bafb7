/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_RESULT_H
#define MININB_RESULT_H
/**
 * What came of a run, with all that says how it was measured and why it may be
 * wrong; and ways of writing it.
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
 * Take the result out of an executed run. It needs the run no longer.
 * NB_FAIL if the run did not come as far as its first operation.
 */
NB_MUST_CHECK int
nb_result_new(struct nb_result **out, const struct nb_run *run);

/** NULL is fine. */
void
nb_result_delete(struct nb_result *result);

/** Operations that were done. */
uint64_t
nb_result_ops(const struct nb_result *result);

/** From the first operation's start to the last one's end, all threads, without settling. */
uint64_t
nb_result_wall_ns(const struct nb_result *result);

/** Service times of all operations. */
const struct nb_histogram *
nb_result_service(const struct nb_result *result);

/** Digest of the stream of operations that was asked for. */
uint64_t
nb_result_digest(const struct nb_result *result);

/** Whether the run ended before its last operation. */
int
nb_result_is_partial(const struct nb_result *result);

/**
 * Emit what the engine counted by itself: of a NB_STAT_COUNTER how much it grew from the
 * first operation's start, a warm-up's too, until the run was settled, without what was
 * read back; of a NB_STAT_GAUGE its level then. None where the engine has no stats, or
 * several processes had it open; nor one that ran backwards.
 */
void
nb_result_counters(const struct nb_result *result, nb_stat_emit emit, void *to);

#define NB_TEXT_FOLD (1u << 0) /* one bucket [0, 1) for all below a microsecond */
#define NB_TEXT_BARS (1u << 1) /* a bar of # behind each bucket */

/**
 * The report: of put, get and delete with their histogram; of a job for each group its
 * operations with service times and, with a rate, response times, what became of the rate, the
 * threads, and what was verified; then how it was measured. The flags are for the histogram.
 * NB_FAIL if `out` cannot be written.
 */
NB_MUST_CHECK int
nb_result_write_text(const struct nb_result *result, FILE *out, uint32_t flags);

/** A part of a run that is told apart: a group of a job. Plain data. */
struct nb_summary_part {
	char name[24];
	uint64_t ops, inserts, reads, updates; /* updates: all other puts */
	uint64_t p50_ns, p99_ns;               /* service time; 0: too few samples */
	double ns_op;                          /* wall time of a thread for an operation */
	double rate_ops_s;
};

enum { NB_SUMMARY_PARTS = 4 };

/**
 * What a table side by side tells of one result. Plain data without a pointer, so that
 * it can be handed to another process of the same program.
 */
struct nb_summary {
	size_t size;
	char driver[48], version[48];
	uint32_t verb, threads, durability; /* NB_VERB_*, count, NB_DUR_* */
	uint32_t is_measured;               /* 0: of the rest only driver and end are set */
	uint32_t is_partial;
	uint32_t spare_u32;
	uint64_t ops, digest;
	double rate_ops_s;    /* operations over wall time, without settling */
	double settled_ops_s; /* with settling and closing; 0: not a write, or not settled */
	uint64_t p50_ns, p99_ns, p999_ns; /* service time; 0: too few samples */
	uint64_t max_ns;
	double cpu_ns_op; /* user and system, all threads of the process; 0: not known */
	uint64_t data_bytes, max_resident_bytes;
	char end[256];       /* how it ended, if not well; "" else */
	uint32_t part_count; /* 0: the run has no parts to be told apart */
	uint32_t spare_u32_2;
	struct nb_summary_part parts[NB_SUMMARY_PARTS];
};

/** For a table side by side; response times are not in it. */
void
nb_result_summarize(const struct nb_result *result, struct nb_summary *out);

/**
 * A table with a row for each, behind a line that says so if they cannot be
 * compared. NB_TEXT_BARS: with bars of the rates. NB_FAIL if `out` cannot be
 * written.
 */
NB_MUST_CHECK int
nb_summaries_write_text(
	const struct nb_summary *summaries, size_t count, FILE *out, uint32_t flags);

/** Figures of all foreground groups of a job together. Plain data. */
struct nb_job_summary {
	size_t size;
	uint64_t ops, wall_ns; /* that count, and in which time */
	uint64_t digest;
	double rate_ops_s;        /* done */
	double offered_ops_s;     /* with a rate: due in that time; 0 without one */
	uint64_t behind_ops;      /* with a rate: due and not done at the end */
	uint64_t behind_ns;       /* how late the last operation began */
	uint32_t has_queue_grown; /* the offered rate was above what could be done */
	uint32_t is_partial;
	uint32_t is_steady; /* as was asked for */
	uint32_t spare_u32;
};

/** Of a job; zeros of put, get and delete. */
void
nb_result_summarize_job(const struct nb_result *result, struct nb_job_summary *out);

/**
 * The histogram of all foreground groups' operations: response times where there is a
 * rate and `is_response`, else service times. Lives as long as the result. Never NULL.
 */
const struct nb_histogram *
nb_result_histogram(const struct nb_result *result, int is_response);

/** One point of a curve of latency over throughput: what came of one offered rate. */
struct nb_curve_point {
	size_t size;
	double share; /* of the capacity that was offered, 0..1 and above; 0: not known */
	double offered_ops_s, achieved_ops_s;
	uint64_t service_p50_ns, service_p99_ns, service_p999_ns;    /* 0: too few samples */
	uint64_t response_p50_ns, response_p99_ns, response_p999_ns; /* likewise */
	uint64_t response_max_ns;
	uint32_t queue_grew; /* 1: more and more operations were overdue */
	uint32_t spare_u32;
};

/**
 * Which point is the knee: the first whose p99 of response is above twice that of the
 * lowest rate, or that did less than 98 % of what was offered. `count` if none is.
 * Points are in order of their offered rates.
 */
size_t
nb_curve_knee(const struct nb_curve_point *points, size_t count);

/**
 * A table with a row for each point, in order of their offered rates; the knee is marked
 * there and explained below. NB_TEXT_BARS: with bars of the p99 of response, on a
 * logarithmic scale. NB_FAIL if `out` cannot be written.
 */
NB_MUST_CHECK int
nb_curve_write_text(
	const struct nb_curve_point *points, size_t count, FILE *out, uint32_t flags);

/**
 * A table of the engines that can be had: version, licence, capabilities,
 * durability levels; then, for each plugin that was found and refused, why.
 */
NB_MUST_CHECK int
nb_engines_write_text(FILE *out);

/** One engine: the same, and its options with types, defaults and help. */
NB_MUST_CHECK int
nb_engine_write_text(FILE *out, const char *driver);

/** A table of the presets: name, summary, and the file that each is. */
NB_MUST_CHECK int
nb_presets_write_text(FILE *out);

#ifdef __cplusplus
}
#endif
#endif /* MININB_RESULT_H */
