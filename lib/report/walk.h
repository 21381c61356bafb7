/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_WALK_H
#define REPORT_WALK_H
/** A walk over all histograms of results, in the order of the reports. */
#include "report/record.h"

enum { WALK_TITLE = 160 };

enum {
	WALK_KIND,    /* one kind of operation of a group */
	WALK_ALL,     /* all kinds of a group that has more than one */
	WALK_HARNESS, /* how late a group's pacer woke up */
	WALK_HICCUPS, /* how late a thread woke up that only sleeps; of no group */
};

/** A histogram that is not empty, and its origin. Lives as long as the call. */
struct walk_row {
	uint32_t what; /* WALK_* */
	size_t index;  /* of the record */
	const struct record *record;
	const char *title;                /* of the record; unique among these results */
	const struct record_group *group; /* NULL: hiccups */
	const char *kind;                 /* "read", "all", "harness", "hiccups" */
	const char *series;               /* "service", "response", "lateness" */
	uint64_t ops, records, bytes;     /* of operations; else 0 */
	uint64_t answers[WORKER_ANSWERS]; /* likewise */
	const struct nb_histogram *histogram;
};

/** Not NB_OK ends the walk, which then returns it. */
typedef int (*walk_fn)(void *to, const struct walk_row *row);

/** Of one record. */
NB_MUST_CHECK int
walk_record(const struct nb_results *results, size_t index, walk_fn visit, void *to);

/** Of one group; rows have no record. */
NB_MUST_CHECK int
walk_group(const struct record_group *group, walk_fn visit, void *to);

/** Of all. */
NB_MUST_CHECK int
walk_results(const struct nb_results *results, walk_fn visit, void *to);

/** record_title(), with " #2" appended if another record has the same. */
void
walk_title(const struct nb_results *results, size_t index, char title[WALK_TITLE]);

/** What the record has over time; empty if it has no run. */
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
