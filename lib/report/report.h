/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H
/**
 * Builders for the parts of a report. Each appends to a document, which is rendered as text
 * or Markdown (doc.h).
 */
#include "report/doc.h"
#include "report/record.h"

/** In text: the report of a classic action (report_text.c) or of a job (report_job.c). */
void
report_classic(struct doc *doc, const struct record *record, uint32_t flags);
NB_MUST_CHECK int
report_job(struct doc *doc, const struct record *record);

/** In Markdown: the latencies of a record's operations. */
NB_MUST_CHECK int
report_operations(struct doc *doc, const struct nb_results *results, size_t index);

/** The rates of the first `shown` threads, if the group has several. */
void
report_threads(
	struct doc *doc, const struct job_thread *threads, uint32_t count, uint32_t shown);

/** The resources and the conditions of the run, its notes, options and counters. */
void
report_conditions(struct doc *doc, const struct record *record);

/** The rate until the run was settled and closed; the number of operations that conflicted. */
void
report_settled(struct doc *doc, const struct record *record);
void
report_conflicts(struct doc *doc, uint64_t count);

/** The use of system resources, and the stalls (report_usage.c). */
void
report_memory(struct doc *doc, const struct nb_result *result);
void
report_usage(struct doc *doc, const struct record *record);

/** In text: a sweep, below the run that found its capacity (report_sweep.c). */
void
report_curve(struct doc *doc, const struct record_sweep *sweep, uint32_t flags);

/** In Markdown: the section of a sweep. */
void
report_sweep(struct doc *doc, const struct record *record, bool is_only);

/** In text: tables of runs side by side (report_summary.c). */
void
report_summaries(
	struct doc *doc, const struct nb_summary *summaries, size_t count, uint32_t flags);

/** In Markdown: a table of these results side by side. */
void
report_side_by_side(struct doc *doc, const struct nb_results *results);

/** A comparison in this rendering (compare_write.c). */
struct nb_comparison;
NB_MUST_CHECK int
report_comparison(struct doc *doc, const struct nb_comparison *comparison, uint32_t rendering,
	bool has_bars);

/** The comparison's reasons against a ranking, and its warnings. */
void
report_comparison_head(struct doc *doc, const struct nb_comparison *comparison);

#endif /* REPORT_REPORT_H */
