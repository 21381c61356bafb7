/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_COMPARE_H
#define REPORT_COMPARE_H
/** The data of a comparison, for the code that judges it or writes it. */
#include <stdbool.h>
#include <stdio.h>

#include "base/stats.h"
#include "report/metric.h"

/** A run that takes part in the comparison. */
struct compare_run {
	const struct record *record;
	size_t input;  /* index of the result file */
	size_t work;   /* index of the work; SIZE_MAX: the run has no result or is left out */
	size_t sample; /* index of the sample in that work */
	bool is_out;   /* a repetition of this contestant failed in vs */
};

/** The values of a metric in one sample. */
struct compare_values {
	double *values; /* one for each run that has the metric; sorted; owned */
	size_t count;
	double median, mad;
};

/** How a sample differs from the first sample. */
enum {
	COMPARE_ABSENT,    /* one of the two samples has no values */
	COMPARE_ONE_RUN,   /* a ratio only; one run shows no variation */
	COMPARE_TOO_FEW,   /* too few runs for any difference to be significant */
	COMPARE_UNCERTAIN, /* the difference is not significant */
	COMPARE_BETTER,
	COMPARE_WORSE
};

struct compare_pair {
	uint32_t verdict; /* COMPARE_* */
	/* of the untransformed values, to those of the first sample */
	struct stats_ratio ratio;
	struct stats_test test;
};

struct compare_metric {
	const struct metric *row;   /* a row with a figure */
	uint32_t op_kind;           /* NB_OP_*; NB_OP_KINDS: all foreground operations */
	char kind[24];              /* name of the kind; "" for all operations */
	char name[48];              /* "p99", "read.p99" */
	struct compare_values *of;  /* one for each sample; owned */
	struct compare_pair *pairs; /* one for each sample; the first is unused */
};

struct compare_sample {
	char name[256]; /* unique in its work */
	char driver[48];
	char label[96];      /* label of the contestant, else the driver */
	uint32_t contestant; /* of vs; 0: not a run of vs */
	char path[256]; /* path of the plugin: two builds of an engine can share a file name */
	size_t input;
	size_t runs;
	double taken; /* median percentage of CPU time used by others; below 0: unknown */
};

/** Samples that are compared with each other: all have the same action. */
struct compare_work {
	char action[16], label[64];
	/* label of all samples, if samples are files; "": samples are drivers */
	char driver[96];
	char title[184];
	bool is_response; /* latencies are response times, else service times */
	struct compare_sample *samples;
	size_t sample_count;
	struct compare_metric *metrics; /* metrics that at least one pair of samples has */
	size_t metric_count;
	char unsupported[64]; /* percentiles for which no record has enough operations */
};

struct compare_texts {
	char **items;
	size_t count;
};

struct nb_comparison {
	double confidence;
	struct compare_work *works;
	size_t work_count;
	/* reasons against a ranking; set if the ranking is forced */
	struct compare_texts differences;
	bool is_unranked; /* no verdicts: the samples differ and no ranking is forced */
	bool is_forced;
	struct compare_texts warnings;
	/* used during construction only */
	int rc; /* of the first failure; nothing is added after it */
	const struct nb_compare_input *inputs;
	size_t input_count;
	bool is_by_file; /* all files have the same drivers, so a sample is a file */
	struct compare_run *runs;
	size_t run_count;
};

/** Limit for the percentage of CPU time that others use: above it, they dominate the result. */
#define COMPARE_TAKEN_MAX 10.0

/** Append a formatted text, unless it is there already. */
void
compare_add_text(struct nb_comparison *comparison, struct compare_texts *texts, const char *fmt,
	...) NB_PRINTF(3, 4);

/** Fill in is_by_file, the runs and the works with their samples (compare_runs.c). */
void
compare_sort_runs(struct nb_comparison *comparison);

/** Fill in differences and warnings (compare_same.c). */
void
compare_look_for_differences(struct nb_comparison *comparison);

/* ---- texts (compare_words.c) ---- */

enum {
	COMPARE_STEP = 64,
	COMPARE_INTERVAL = 160
}; /* buffer sizes for the two functions below */

/** A ratio to the first sample in words: "4.2 % slower", "3.1 times faster", "the same". */
void
compare_step(char *text, const struct compare_metric *metric, double ratio);

/** "2.9 to 3.3"; if the interval contains 1: "1.2 % slower to 3.0 % faster". */
void
compare_interval(
	char *text, const struct compare_metric *metric, const struct stats_ratio *ratio);

/** The verdict on a sample relative to the first, as a sentence; *out is yours, to free(). */
NB_MUST_CHECK int
compare_verdict(char **out, const struct nb_comparison *comparison,
	const struct compare_work *work, size_t sample);

/** The names of all metrics: "throughput, p50, read.p50"; *out is yours, to free(). */
NB_MUST_CHECK int
compare_metric_names(char **out, const struct nb_comparison *comparison);

/** The verdict in words, for example "better". */
const char *
compare_verdict_name(uint32_t verdict);

/* ---- rows (compare_write.c) ---- */

enum { COMPARE_COLUMNS = 7, COMPARE_CELL = 64 };

/**
 * The cells of a metric: name, median of the first and of this sample, ratio, interval, p.
 * An unknown value is "". The function does not set the last cell.
 */
void
compare_row(char cells[COMPARE_COLUMNS][COMPARE_CELL], const struct compare_work *work,
	const struct compare_metric *metric, size_t sample);

/**
 * The comparison of the contestants of one vs command. is_unranked is set if vs refused to
 * rank them. NB_ERR_USAGE: the results have nothing to compare.
 */
NB_MUST_CHECK int
compare_versus(struct nb_comparison **out, const struct nb_results *results);

/** Write CSV: a row for each metric of each contestant (compare_csv.c). */
NB_MUST_CHECK int
compare_write_csv(const struct nb_comparison *comparison, FILE *out);

/** Write one table for people: a row for each sample of each work (compare_table.c). */
NB_MUST_CHECK int
compare_write_table(const struct nb_comparison *comparison, FILE *out);

/** Write JSON (compare_json.c). */
NB_MUST_CHECK int
compare_write_json(const struct nb_comparison *comparison, FILE *out);

#endif /* REPORT_COMPARE_H */
