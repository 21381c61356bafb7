/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_METRIC_H
#define REPORT_METRIC_H
/**
 * The metrics: what a report says of a run, one row each. The columns of CSV, the figures that
 * are compared, the derived members of JSON and the explanations are made from this table.
 *
 * A metric is not merged: it follows from members of the result, which are (json_tables.c).
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
	double real;      /* of a count, too */
	const char *text; /* lives as long as the source */
};

/** What values are taken from. Filled in once for each run. */
struct metric_source {
	const struct record *record;
	const struct walk_row *row;           /* of operations; NULL: of the whole run */
	const struct nb_histogram *histogram; /* for times; NULL: there are none */
	struct nb_summary summary;            /* of a run without a result: how it ended */
	struct record_figures figures;
	char digest[20];
};

/** A metric that runs are compared by. */
struct metric_figure {
	const char *name;  /* "throughput"; NULL: it is not compared */
	const char *place; /* in a sentence: "faster at p99", "in throughput" */
	bool is_higher_better;
	bool is_headline; /* stands in the verdict; all stand in the table */
};

struct metric {
	const char *name;  /* column of CSV; ends in its unit */
	const char *title; /* of columns for people; NULL: none has it */
	const char *line;  /* of the report in text; NULL: none has it */
	const char *json;  /* derived member of a result in JSON; NULL: it is not there */
	enum metric_unit unit;
	struct metric_value (*take)(
		const struct metric *metric, const struct metric_source *source);
	size_t at;      /* for take: offset of a member */
	uint64_t known; /* for take: SYSTEM_* */
	double number;  /* for take: a percentage or a factor */
	struct metric_figure figure;
	const char *
		missing; /* head of the reason in used_missing; NULL: it has no line of its own */
	const char *what;  /* what it says */
	const char *how;   /* how it is measured, and what makes it wrong */
	const char *where; /* reports that have it */
	bool is_optional;  /* without a column where no run has it */
};

/** In the order of the columns; ended by a NULL name. */
extern const struct metric metric_table[];

/** By its name, title or line; NULL: there is none. */
const struct metric *
metric_find(const char *name);

/** Of the whole run, with the service times of its operations. */
void
metric_source_create(struct metric_source *source, const struct record *record);

struct metric_value
metric_take(const struct metric *metric, const struct metric_source *source);

/** Of a metric with a line of its own: the value, or why it is not available; "": neither is known. */
void
metric_line(const struct metric *metric, const struct metric_source *source, char *text,
	size_t size);

/** "ns", "ops/s", "bytes", "J", or "". */
const char *
metric_unit_name(enum metric_unit unit);

#endif /* REPORT_METRIC_H */
