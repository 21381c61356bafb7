/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_THREADS_H
#define REPORT_THREADS_H
/** Operations of threads, in the few kinds of Masstree's notebooks and of candlesticks. */
#include "report/boxplot.h"
#include "report/record.h"

/** Operations of a thread, by CANDLES_*; the first is the sum of the others. */
void
threads_count(const struct record *record, const struct job_thread *thread,
	uint64_t counts[BOXPLOTS_KINDS]);

/** Whether any thread of the group has such operations: bits 1 << CANDLES_*. */
uint32_t
threads_kinds(const struct record *record, const struct record_group *group);

#endif /* REPORT_THREADS_H */
