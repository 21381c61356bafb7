/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_COMPARE_H
#define REPORT_COMPARE_H
/** A comparison from inside: plain data, for those who write it or judge by it. */
#include <stdbool.h>
#include <stdio.h>

#include "base/stats.h"
#include "report/metric.h"

/** A run that is compared, and where it comes from. */
struct compare_run {
	const struct record *record;
	size_t input;  /* index of the file */
	size_t work;   /* index of the work; SIZE_MAX: it has no result, or is left out */
	size_t sample; /* of that work */
	bool is_out;   /* a repetition of this contestant of vs failed */
};

/** What one sample has of a metric. */
struct compare_values {
	double *values; /* one for each run that has it; sorted; owned */
	size_t count;
	double median, mad;
};

/** What can be said of a sample against the first. */
enum {
	COMPARE_ABSENT,    /* one of them has no values */
	COMPARE_ONE_RUN,   /* a ratio, and no idea how much it varies */
	COMPARE_TOO_FEW,   /* no difference could be told with so few runs */
	COMPARE_UNCERTAIN, /* it may be chance */
	COMPARE_BETTER,
	COMPARE_WORSE
};

struct compare_pair {
	uint32_t verdict;         /* COMPARE_* */
	struct stats_ratio ratio; /* of the values as they are, to the first's */
	struct stats_test test;
};

struct compare_metric {
	const struct metric *row;   /* with a figure */
	char kind[24];              /* "read"; "": all foreground operations */
	char name[48];              /* "p99", "read.p99" */
	struct compare_values *of;  /* one for each sample; owned */
	struct compare_pair *pairs; /* the same; the first is none */
};

struct compare_sample {
	char name[256]; /* by which it is told apart */
	char driver[48];
	char label[96];      /* of the contestant, else the driver */
	uint32_t contestant; /* of vs; 0: it was no vs */
	char path[256];      /* of its plugin: two builds of an engine may be in one file */
	size_t input;
	size_t runs;
	double taken; /* percent of the CPU time that others had, its median; below 0: not known */
};

/** What can be compared at all: the same action. */
struct compare_work {
	char action[16], label[64];
	char driver[96]; /* label of all samples, which are files then; "": they are drivers */
	char title[184];
	bool is_response; /* latencies are response times, else service times */
	struct compare_sample *samples;
	size_t sample_count;
	struct compare_metric *metrics; /* that at least one pair has */
	size_t metric_count;
	char unsupported[64]; /* percentiles that no record has operations enough for */
};

struct compare_texts {
	char **items;
	size_t count;
};

struct nb_comparison {
	double confidence;
	struct compare_work *works;
	size_t work_count;
	struct compare_texts differences; /* why it should not be compared, and was by force */
	bool is_unranked;                 /* and nobody asked for the force: no verdicts */
	bool is_forced;
	struct compare_texts warnings;
};

/** The runs while they are sorted into works and samples. */
struct compare_runs {
	struct compare_run *items;
	size_t count;
};

/** From so many percent on, what others do to a run decides more than what it does itself. */
#define COMPARE_TAKEN_MAX 10.0

/** Append a formatted text, unless it stands there. */
NB_MUST_CHECK int
compare_add_text(struct compare_texts *texts, const char *fmt, ...) NB_PRINTF(2, 3);

/** Fill in differences and warnings (compare_same.c). */
NB_MUST_CHECK int
compare_look_for_differences(struct nb_comparison *comparison, const struct compare_runs *runs);

/* ---- words (compare_words.c) ---- */

enum { COMPARE_STEP = 64, COMPARE_INTERVAL = 160 }; /* room for these */

/** "4.2 % slower", "3.1 times faster", "the same": a ratio of values to the first's. */
void
compare_step(char *text, const struct compare_metric *metric, double ratio);

/** "2.9 to 3.3", or where it has no change in it "1.2 % slower to 3.0 % faster". */
void
compare_interval(
	char *text, const struct compare_metric *metric, const struct stats_ratio *ratio);

/** The verdict on a sample against the first, as a sentence; *out is yours, to free(). */
NB_MUST_CHECK int
compare_verdict(char **out, const struct nb_comparison *comparison,
	const struct compare_work *work, size_t sample);

/** Names of all metrics that there are, "throughput, p50, read.p50"; to free(). */
NB_MUST_CHECK int
compare_metric_names(char **out, const struct nb_comparison *comparison);

/** "better", "cannot be told apart". */
const char *
compare_verdict_name(uint32_t verdict);

/* ---- rows (compare_write.c) ---- */

enum { COMPARE_COLUMNS = 7, COMPARE_CELL = 64 };

/**
 * The cells of a metric: name, median of the first and of this sample, ratio, interval, p;
 * "" for what there is none of. The last one is left alone.
 */
void
compare_row(char cells[COMPARE_COLUMNS][COMPARE_CELL], const struct compare_work *work,
	const struct compare_metric *metric, size_t sample);

/**
 * The comparison that vs made of these results, or refused, which is_unranked then says.
 * NB_ERR_USAGE: there is nothing to be compared.
 */
NB_MUST_CHECK int
compare_versus(struct nb_comparison **out, const struct nb_results *results);

/** As a table for programs: a row for each figure of each contestant (compare_csv.c). */
NB_MUST_CHECK int
compare_write_csv(const struct nb_comparison *comparison, FILE *out);

/** As JSON (compare_json.c). */
NB_MUST_CHECK int
compare_write_json(const struct nb_comparison *comparison, FILE *out);

#endif /* REPORT_COMPARE_H */
