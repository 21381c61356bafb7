/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_RESULTS_H
#define MININB_RESULTS_H
/**
 * Result files: the complete data of one or more runs: environment, options, counts,
 * histograms, time series, notes. A file is JSON; its schema is
 * extra/schema/result.schema.json.
 *
 * One execution of the command writes one file, even if it has several runs: one for each
 * engine, or for each rate of a sweep.
 */
#include <stdio.h>

#include <mininb/mininb.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nb_results;
struct nb_run;
struct nb_run;
struct nb_summary;
struct nb_curve_point;
struct nb_interval;

/** Version of the files that mininb writes. It rejects files with a higher one. */
#define NB_RESULTS_VERSION 1u

/** A new object without runs. */
NB_MUST_CHECK int
nb_results_new(struct nb_results **out);

/** NULL is fine. */
void
nb_results_delete(struct nb_results *results);

/** Number of runs. */
size_t
nb_results_count(const struct nb_results *results);

/**
 * Append a copy of the result of a run. `label` distinguishes several runs and may be "".
 * NB_FAIL if the run did not reach its first operation.
 */
NB_MUST_CHECK int
nb_results_add_run(struct nb_results *results, const struct nb_run *run, const char *label);

/** The result of the last run, valid as long as `results`; NULL: it has none. */
const struct nb_result *
nb_results_last(const struct nb_results *results);

/** Append a run without a result: its engine, and how it ended. */
NB_MUST_CHECK int
nb_results_add_failure(struct nb_results *results, const char *driver, const char *end);

/**
 * Set how the last run ended, if not normally. After the points of a curve it applies to the
 * run that measured the capacity.
 */
void
nb_results_set_end(struct nb_results *results, const char *end);

/**
 * Mark all runs as one repetition of a contestant of vs. `contestant` is the contestant's
 * position on the command line, from 1; the lowest one is the base of comparisons. `name` is
 * its label; `round` counts repetitions from 1.
 */
void
nb_results_set_contestant(
	struct nb_results *results, uint32_t contestant, const char *name, uint32_t round);

/**
 * Label all runs as the same work. Comparisons are between runs of the same label. The label is
 * cut to 63 bytes.
 */
void
nb_results_set_label(struct nb_results *results, const char *label);

/** Store a copy of the status lines that were printed during the last run. */
NB_MUST_CHECK int
nb_results_set_intervals(
	struct nb_results *results, const struct nb_interval *intervals, size_t count);

/** Write the status line of an interval, after a line of titles unless has_titles. */
void
nb_interval_write_text(const struct nb_interval *interval, FILE *out, int has_titles);

/** Write TAOBench's status line: the time, seconds since the start, its kinds of operations. */
void
nb_interval_write_taobench(const struct nb_interval *interval, FILE *out);

/** Record that the runs belong to a list of `engines` engines that ran one after another. */
void
nb_results_set_list(struct nb_results *results, uint32_t engines);

/**
 * Store a copy of the curve of a sweep and, for a search, its objective `slo` and the rate
 * found. It is stored with the run that measured the capacity: the last one without a label.
 * The runs after it are the points. NB_ERR_USAGE: each run has a label.
 */
NB_MUST_CHECK int
nb_results_set_curve(struct nb_results *results, double capacity_ops_s,
	const struct nb_curve_point *points, size_t count, const char *slo, double slo_ops_s);

/** The command that made the results. Texts are borrowed for the call. Append only. */
struct nb_command {
	size_t size;
	const char *action;
	const char *directory;
	const char *const *words; /* as typed, without the name of the program */
	size_t word_count;
	const char *const *names; /* of all options that the action uses */
	const char *const *values;
	size_t option_count;
	const char *job; /* the workload as a file; NULL: none */
};

NB_MUST_CHECK int
nb_results_set_command(struct nb_results *results, const struct nb_command *command);

/** The stored command; missing texts are NULL. Valid as long as the results. */
void
nb_results_command(const struct nb_results *results, struct nb_command *out);

/** The value of an option of that command; NULL: not known. Valid as long as the results. */
const char *
nb_results_option(const struct nb_results *results, const char *name);

/**
 * Move all runs of `from` to the end of `into`, and other data that `into` lacks. If a
 * contestant then has several repetitions, its runs lose the note "one-run". Contestants of a
 * file of vs do not merge with those in `into`.
 */
NB_MUST_CHECK int
nb_results_append(struct nb_results *into, struct nb_results *from);

/**
 * Merge all runs into one: histograms, counts and times, as if all their threads had run
 * together. NB_ERR_USAGE: the runs differ in engine, action, durability or workload; the text
 * names the runs.
 */
NB_MUST_CHECK int
nb_results_merge(struct nb_results **out, const struct nb_results *from);

/**
 * Read a file, "-" for stdin. Any input is safe. NB_ERR_DATA: the text has the error and its
 * position.
 */
NB_MUST_CHECK int
nb_results_read(struct nb_results **out, const char *path);

/** Same as nb_result_summarize(), of a run. is_measured is 0 if it has no result. */
void
nb_results_summarize(const struct nb_results *results, size_t index, struct nb_summary *out);

/** A note of a run; NULL if it has `index` notes or fewer. */
const char *
nb_results_note(const struct nb_results *results, size_t run, size_t index);

/** The identifier of a note, "closed-loop", independent of its text; NULL likewise. */
const char *
nb_results_note_id(const struct nb_results *results, size_t run, size_t index);

/** A kind of note. */
struct nb_note_kind {
	const char *id;
	int is_serious;   /* it changes the meaning of the numbers */
	const char *what; /* one line */
	const char *how;  /* meaning and remedy; NULL: `what` is complete */
};

/** All kinds; ends with a NULL id. */
const struct nb_note_kind *
nb_note_kinds(void);

/** A format of results. */
struct nb_format {
	const char *name;   /* "md" */
	const char *suffix; /* ".md" */
	const char *help;   /* one line */
};

/** All formats; ends with a NULL name. */
const struct nb_format *
nb_formats(void);

/**
 * Write the results; flags: NB_TEXT_*. NB_ERR_USAGE: unknown format. NB_FAIL: `out` cannot be
 * written.
 */
NB_MUST_CHECK int
nb_results_write(
	const struct nb_results *results, const char *format, FILE *out, uint32_t flags);

/** Write them to a temporary file and rename it to `path`; "-": stdout. */
NB_MUST_CHECK int
nb_results_write_file(
	const struct nb_results *results, const char *format, const char *path, uint32_t flags);

/**
 * Let the HTML page compare `results` with `baseline`, which is borrowed. NULL: no comparison.
 */
void
nb_results_set_baseline(struct nb_results *results, const struct nb_results *baseline);

/** Write PREFIX-operations.csv, PREFIX-series.csv, PREFIX-latency.csv, PREFIX-counters.csv. */
NB_MUST_CHECK int
nb_results_write_csv_files(const struct nb_results *results, const char *prefix);

/** The suffix of file number `file`, without PREFIX; NULL after the last. */
const char *
nb_results_csv_suffix(size_t file);

/**
 * Append one experiment to a notebook in Masstree's form; create it if it is missing. Written
 * to a temporary file and renamed, under a lock.
 */
NB_MUST_CHECK int
nb_results_append_notebook(const struct nb_results *results, const char *path);

/**
 * Write a gnuplot script of a notebook of mininb or Masstree: the throughput of threads as
 * candlesticks, runs of the same test side by side. NB_ERR_DATA: the file is not a notebook.
 */
NB_MUST_CHECK int
nb_notebook_write_plot(const char *path, FILE *out);

/* ---- comparing ---- */

struct nb_comparison;

/* Treatment of results that cannot be ranked: other work or durability. */
enum {
	NB_COMPARE_REFUSE = 0,
	NB_COMPARE_FORCE = 1, /* rank them anyway */
	/* Compare them without verdicts, and give the reason. */
	NB_COMPARE_UNRANKED = 2
};

/** Append only. */
struct nb_compare_options {
	size_t size;
	double confidence;  /* of intervals, 0..1; 0: value of the file of vs, else 0.95 */
	uint32_t resamples; /* number of bootstrap resamples */
	uint32_t force;     /* NB_COMPARE_* */
	uint64_t seed;      /* of the bootstrap */
	uint32_t is_alone;  /* 1: accept a single result */
	uint32_t spare_u32;
};

#define NB_COMPARE_OPTIONS_INIT \
	{ \
		.size = sizeof(struct nb_compare_options), .confidence = 0.95, \
		.resamples = 10000, .seed = 1 \
	}

/** The runs of one file with the same engine and action form one sample. */
struct nb_compare_input {
	const struct nb_results *results;
	const char *name; /* name of the file, to distinguish inputs */
};

/**
 * Compare each sample with the first. NB_ERR_USAGE: fewer than two samples, or they are not
 * comparable; the text has the reason: stream, durability, size.
 */
NB_MUST_CHECK int
nb_comparison_new(struct nb_comparison **out, const struct nb_compare_input *inputs,
	size_t count, const struct nb_compare_options *options);

void
nb_comparison_delete(struct nb_comparison *comparison);

/**
 * Write verdicts in words, then a table for each sample; `format`: "text", "md" or "json". Or
 * "table": one table of all samples, without verdicts. flags: NB_TEXT_*.
 */
NB_MUST_CHECK int
nb_comparison_write(
	const struct nb_comparison *comparison, const char *format, FILE *out, uint32_t flags);

/**
 * Describe the ratio of throughputs with the widest interval: "get: lmdb is 3.1 times faster
 * than leveldb (2.9 to 3.3)". "" if there are none. Text that does not fit is cut.
 */
void
nb_comparison_brief(const struct nb_comparison *comparison, char *text, size_t size);

/** Whether the widest interval of a throughput ratio is within `share` of the ratio. */
int
nb_comparison_is_tight(const struct nb_comparison *comparison, double share);

/**
 * Test whether the second sample is worse than the first by more than the limits, for example
 * "p99:5%,throughput:3%". 0: it is not. 1: it is, and the excess is written to `out`.
 * Differences that are not statistically significant do not count. NB_ERR_USAGE: invalid
 * limits.
 */
NB_MUST_CHECK int
nb_comparison_gate(const struct nb_comparison *comparison, const char *limits, FILE *out);

/* ---- explaining ---- */

/** A figure of the reports, by its name there: "p99 us", "Settled throughput". */
struct nb_explanation {
	const char *name;
	const char *what;  /* meaning and unit */
	const char *how;   /* how it is measured, and what may make it wrong */
	const char *where; /* reports that contain it: "text, csv" */
};

/** All figures; ends with a NULL name. */
const struct nb_explanation *
nb_explanations(void);

#ifdef __cplusplus
}
#endif
#endif /* MININB_RESULTS_H */
