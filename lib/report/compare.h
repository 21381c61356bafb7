/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_COMPARE_H
#define REPORT_COMPARE_H
/** A comparison from inside: plain data, for those who write it or judge by it. */
#include <stdbool.h>
#include <stdio.h>

#include "base/stats.h"
#include "report/metric.h"

/** A run that is compared. */
struct compare_run {
	const struct record *record;
	size_t input;  /* index of the file */
	size_t work;   /* index of the work; SIZE_MAX: it has no result, or is left out */
	size_t sample; /* of that work */
	bool is_out;   /* a repetition of this contestant of vs failed */
};

/** The values of a metric in one sample. */
struct compare_values {
	double *values; /* one for each run that has it; sorted; owned */
	size_t count;
	double median, mad;
};

/** How a sample differs from the first. */
enum {
	COMPARE_ABSENT,    /* one of them has no values */
	COMPARE_ONE_RUN,   /* a ratio; its variation is not known */
	COMPARE_TOO_FEW,   /* no difference is significant with so few runs */
	COMPARE_UNCERTAIN, /* not significant */
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
	uint32_t op_kind;           /* NB_OP_*; NB_OP_KINDS: all foreground operations */
	char kind[24];              /* its name; "" of all */
	char name[48];              /* "p99", "read.p99" */
	struct compare_values *of;  /* one for each sample; owned */
	struct compare_pair *pairs; /* the same; the first is none */
};

struct compare_sample {
	char name[256]; /* different from all others of its work */
	char driver[48];
	char label[96];      /* of the contestant, else the driver */
	uint32_t contestant; /* of vs; 0: it was no vs */
	char path[256];      /* of its plugin: one file may have two builds of an engine */
	size_t input;
	size_t runs;
	double taken; /* percent of the CPU time used by others, median; below 0: not known */
};

/** The samples that are compared with each other: they have the same action. */
struct compare_work {
	char action[16], label[64];
	char driver[96]; /* label of all samples, if they are files; "": they are drivers */
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
	struct compare_texts differences; /* reasons against ranking, if it was forced */
	bool is_unranked; /* the samples differ, and nobody forced it: no verdicts */
	bool is_forced;
	struct compare_texts warnings;
	/* while it is made */
	int rc; /* of the first failure; from then on nothing is added */
	const struct nb_compare_input *inputs;
	size_t input_count;
	bool is_by_file; /* all files have the same drivers */
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

/* ---- words (compare_words.c) ---- */

enum { COMPARE_STEP = 64, COMPARE_INTERVAL = 160 }; /* room for these */

/** "4.2 % slower", "3.1 times faster", "the same": a ratio of values to the first's. */
void
compare_step(char *text, const struct compare_metric *metric, double ratio);

/** "2.9 to 3.3"; if 1 is inside, "1.2 % slower to 3.0 % faster". */
void
compare_interval(
	char *text, const struct compare_metric *metric, const struct stats_ratio *ratio);

/** The verdict on a sample against the first, as a sentence; *out is yours, to free(). */
NB_MUST_CHECK int
compare_verdict(char **out, const struct nb_comparison *comparison,
	const struct compare_work *work, size_t sample);

/** Names of all metrics, "throughput, p50, read.p50"; *out is yours, to free(). */
NB_MUST_CHECK int
compare_metric_names(char **out, const struct nb_comparison *comparison);

/** "better", "cannot be told apart". */
const char *
compare_verdict_name(uint32_t verdict);

/* ---- rows (compare_write.c) ---- */

enum { COMPARE_COLUMNS = 7, COMPARE_CELL = 64 };

/**
 * The cells of a metric: name, median of the first and of this sample, ratio, interval, p. An
 * absent value is "". The last cell is not written.
 */
void
compare_row(char cells[COMPARE_COLUMNS][COMPARE_CELL], const struct compare_work *work,
	const struct compare_metric *metric, size_t sample);

/**
 * The comparison that vs made of these results; if vs refused to rank them, is_unranked.
 * NB_ERR_USAGE: there is nothing to compare.
 */
NB_MUST_CHECK int
compare_versus(struct nb_comparison **out, const struct nb_results *results);

/** As a table for programs: a row for each metric of each contestant (compare_csv.c). */
NB_MUST_CHECK int
compare_write_csv(const struct nb_comparison *comparison, FILE *out);

/** As one table for people: a row for each sample of each work (compare_table.c). */
NB_MUST_CHECK int
compare_write_table(const struct nb_comparison *comparison, FILE *out);

/** As JSON (compare_json.c). */
NB_MUST_CHECK int
compare_write_json(const struct nb_comparison *comparison, FILE *out);

#endif /* REPORT_COMPARE_H */
