/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_METRIC_H
#define REPORT_METRIC_H
/**
 * The metrics of a run: everything a report prints, one row each. The columns of CSV, the
 * figures that are compared, the derived members of JSON and the explanations are made from
 * this table.
 *
 * Metrics are never merged. They are computed from members of the result, which are merged
 * by the rules in json_tables.c.
 */
#include "report/record.h"
#include "report/walk.h"

enum metric_unit {
	METRIC_NONE,  /* a text, a count or a ratio */
	METRIC_NS,    /* nanoseconds */
	METRIC_BYTES, /* bytes */
	METRIC_OPS_S, /* operations a second */
	METRIC_J,     /* joules */
};

enum metric_type { METRIC_UNKNOWN, METRIC_COUNT, METRIC_REAL, METRIC_TEXT };

struct metric_value {
	enum metric_type type;
	uint64_t count;
	double real;      /* also set for a count */
	const char *text; /* lives as long as the source */
};

/** The inputs of metrics. Filled in once for each run. */
struct metric_source {
	const struct record *record;
	/* for one kind of operation; NULL: for the whole run */
	const struct walk_row *row;
	const struct nb_histogram *histogram; /* for times; NULL: not measured */
	struct nb_summary summary;            /* for a run without a result: how it ended */
	struct record_figures figures;
	char digest[20];
};

/** A metric by which runs are compared. */
struct metric_figure {
	const char *name;  /* "throughput"; NULL: never compared */
	const char *place; /* phrase in a sentence: "faster at p99", "in throughput" */
	bool is_higher_better;
	bool is_headline; /* part of the verdict; the table has all */
};

struct metric {
	const char *name;  /* column of CSV; ends in its unit */
	const char *title; /* of columns for people; NULL: no column */
	const char *line;  /* label in the text report; NULL: no line */
	const char *json;  /* derived member of a result in JSON; NULL: none */
	enum metric_unit unit;
	struct metric_value (*take)(
		const struct metric *metric, const struct metric_source *source);
	size_t at;      /* for take: offset of the member */
	uint64_t known; /* for take: SYSTEM_* bits that must be known */
	double number;  /* for take: a percentage or a factor */
	struct metric_figure figure;
	const char *
		missing; /* start of the reason in used_missing; NULL: it has no line of its own */
	const char *what;  /* its meaning */
	const char *how;   /* its method, and possible errors */
	const char *where; /* the reports that show it */
	bool is_optional;  /* no column if no run has a value */
};

/** In the order of the columns; ended by a NULL name. */
extern const struct metric metric_table[];

/** Find a metric by its name, title or line; NULL: unknown. */
const struct metric *
metric_find(const char *name);

/** Inputs for the whole run, with the service times of its operations. */
void
metric_source_create(struct metric_source *source, const struct record *record);

struct metric_value
metric_take(const struct metric *metric, const struct metric_source *source);

/**
 * For a metric with a line: its value, or the reason why it is not available. "": neither
 * is known.
 */
void
metric_line(const struct metric *metric, const struct metric_source *source, char *text,
	size_t size);

/** "ns", "ops/s", "bytes", "J", or "". */
const char *
metric_unit_name(enum metric_unit unit);

#endif /* REPORT_METRIC_H */
