/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_THREADS_H
#define REPORT_THREADS_H
/**
 * Counts the operations of threads by the few kinds of Masstree's notebooks and of
 * candlesticks.
 */
#include "report/boxplot.h"
#include "report/record.h"

/** The operations of a thread, by BOXPLOTS_*; the first is the sum of the others. */
void
threads_count(const struct record *record, const struct job_thread *thread,
	uint64_t counts[BOXPLOTS_KINDS]);

/** Bits 1 << BOXPLOTS_* of the kinds that any thread of the group executed. */
uint32_t
threads_kinds(const struct record *record, const struct record_group *group);

#endif /* REPORT_THREADS_H */
