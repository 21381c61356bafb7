/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_WALK_H
#define REPORT_WALK_H
/** Visits all histograms of results, in the order of the reports. */
#include "report/record.h"

enum { WALK_TITLE = 160 };

enum {
	WALK_KIND,    /* one kind of operation of a group */
	WALK_ALL,     /* all kinds of a group that has more than one */
	WALK_HARNESS, /* how late the pacer of a group woke up */
	WALK_HICCUPS, /* how late a thread woke up that only sleeps; belongs to no group */
};

/**
 * A histogram and its origin. The histogram is empty only if no operation was timed. Valid
 * during the call only.
 */
struct walk_row {
	uint32_t what; /* WALK_* */
	size_t index;  /* of the record */
	const struct record *record;
	const char *title;                /* of the record; unique in these results */
	const struct record_group *group; /* NULL: hiccups */
	const char *kind;                 /* "read", "all", "harness", "hiccups" */
	const char *series;               /* "service", "response", "lateness" */
	uint64_t ops, records, bytes;     /* of the operations; else 0 */
	uint64_t answers[WORKER_ANSWERS]; /* of the operations; else 0 */
	const struct nb_histogram *histogram;
};

/** A result other than NB_OK ends the walk and becomes its result. */
typedef int (*walk_fn)(void *to, const struct walk_row *row);

/** Visit one record. */
NB_MUST_CHECK int
walk_record(const struct nb_results *results, size_t index, walk_fn visit, void *to);

/** Visit one group; rows have no record. */
NB_MUST_CHECK int
walk_group(const struct record_group *group, walk_fn visit, void *to);

/** Visit all records. */
NB_MUST_CHECK int
walk_results(const struct nb_results *results, walk_fn visit, void *to);

/** record_title(); appends " #2" if another record has the same title. */
void
walk_title(const struct nb_results *results, size_t index, char title[WALK_TITLE]);

/** The time series of the record; empty if it has no run. */
static inline const struct series *
walk_series(const struct record *record)
{
	static const struct series none;
	return record->run != NULL ? &record->run->measured.series : &none;
}

/** The name of a kind of operation in the samples of a record. */
const char *
walk_sample_kind(const struct record *record, uint32_t kind);

#endif /* REPORT_WALK_H */
