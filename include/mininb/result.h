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

#define NB_TEXT_FOLD (1u << 0) /* one bucket [0, 1) for all below a microsecond */
#define NB_TEXT_BARS (1u << 1) /* a bar of # behind each bucket */

/** The classic report. NB_FAIL if `out` cannot be written. */
NB_MUST_CHECK int
nb_result_write_text(const struct nb_result *result, FILE *out, uint32_t flags);

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
	double cpu_ns_op; /* user and system, all threads of the process */
	uint64_t data_bytes, max_resident_bytes;
	char end[256]; /* how it ended, if not well; "" else */
};

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

/**
 * A table of the engines that can be had: version, licence, capabilities,
 * durability levels; then, for each plugin that was found and refused, why.
 */
NB_MUST_CHECK int
nb_engines_write_text(FILE *out);

/** One engine: the same, and its options with types, defaults and help. */
NB_MUST_CHECK int
nb_engine_write_text(FILE *out, const char *driver);

#ifdef __cplusplus
}
#endif
#endif /* MININB_RESULT_H */
