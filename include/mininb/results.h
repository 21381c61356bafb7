/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_RESULTS_H
#define MININB_RESULTS_H
/**
 * Result files: what one or more runs left, whole: environment, options, counts,
 * histograms, what happened over time, notes. A file is JSON; its schema is
 * extra/schema/result.schema.json.
 *
 * The results of one call of the command are one file, however many runs it made: one for
 * each engine, or for each rate of a sweep.
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

/** Of the files that are written; a higher one of those that are read is refused. */
#define NB_RESULTS_VERSION 1u

/** Empty ones. */
NB_MUST_CHECK int
nb_results_new(struct nb_results **out);

/** NULL is fine. */
void
nb_results_delete(struct nb_results *results);

/** How many runs. */
size_t
nb_results_count(const struct nb_results *results);

/**
 * Append what came of a run, copied. `label` says which of several it is, and may be "".
 * NB_FAIL if the run did not come as far as its first operation.
 */
NB_MUST_CHECK int
nb_results_add_run(struct nb_results *results, const struct nb_run *run, const char *label);

/** The result of the last run, which lives as long as `results`; NULL: it has none. */
const struct nb_result *
nb_results_last(const struct nb_results *results);

/** Append a run that has no result: of which engine, and how it ended. */
NB_MUST_CHECK int
nb_results_add_failure(struct nb_results *results, const char *driver, const char *end);

/**
 * Say of the last one how it ended, if that was not well. Behind a curve's points that is the
 * run that is the capacity.
 */
void
nb_results_set_end(struct nb_results *results, const char *end);

/**
 * Mark all of them as one repetition of a contestant of vs. `contestant` is its place on the
 * command line, from 1: the lowest one is the base of comparisons. `name` is its label,
 * `round` counts repetitions from 1.
 */
void
nb_results_set_contestant(
	struct nb_results *results, uint32_t contestant, const char *name, uint32_t round);

/** Label all of them as one work: comparisons are between runs of the same label. Cut at 63 bytes. */
void
nb_results_set_label(struct nb_results *results, const char *label);

/** Keep the lines of figures that were printed while the last one ran. Copied. */
NB_MUST_CHECK int
nb_results_set_intervals(
	struct nb_results *results, const struct nb_interval *intervals, size_t count);

/** The line of figures that is printed for an interval, with titles above unless it has them. */
void
nb_interval_write_text(const struct nb_interval *interval, FILE *out, int has_titles);

/** The status line of TAOBench: the time, the seconds since the begin, and its kinds of operations. */
void
nb_interval_write_taobench(const struct nb_interval *interval, FILE *out);

/** They are of a list of so many engines, one after the other. */
void
nb_results_set_list(struct nb_results *results, uint32_t engines);

/**
 * Keep the curve of a sweep, and of a search what was looked for and found. Copied. It is kept
 * with the run that is the capacity: the last one without a label. Those behind it are its
 * points. NB_ERR_USAGE: each run has a label.
 */
NB_MUST_CHECK int
nb_results_set_curve(struct nb_results *results, double capacity_ops_s,
	const struct nb_curve_point *points, size_t count, const char *slo, double slo_ops_s);

/** How they were asked for. Texts are borrowed for the call. Append only. */
struct nb_command {
	size_t size;
	const char *action;
	const char *directory;
	const char *const *words; /* as typed, without the program */
	size_t word_count;
	const char *const *names; /* of all options that the action looks at */
	const char *const *values;
	size_t option_count;
	const char *job; /* the workload as a file; NULL: none */
};

NB_MUST_CHECK int
nb_results_set_command(struct nb_results *results, const struct nb_command *command);

/** What was kept of that; NULL texts where there is nothing. Lives as long as the results. */
void
nb_results_command(const struct nb_results *results, struct nb_command *out);

/** The value of an option of that command; NULL: not known. Lives as long as the results. */
const char *
nb_results_option(const struct nb_results *results, const char *name);

/**
 * Move all runs of `from` behind those of `into`; what `into` lacks of the rest as well.
 * Runs of a contestant that then has several repetitions lose the note "one-run". Contestants
 * of a whole file of vs stay apart from those that are there.
 */
NB_MUST_CHECK int
nb_results_append(struct nb_results *into, struct nb_results *from);

/**
 * One run that is all of these together: histograms, counts and times merged, as if it had
 * been one run with all their threads side by side. NB_ERR_USAGE says which differ in what
 * makes that no sense: engine, action, durability, workload.
 */
NB_MUST_CHECK int
nb_results_merge(struct nb_results **out, const struct nb_results *from);

/** Read a file, "-" for stdin. Any input is safe; NB_ERR_DATA says what is wrong and where. */
NB_MUST_CHECK int
nb_results_read(struct nb_results **out, const char *path);

/** As nb_result_summarize(), of the index-th. is_measured is 0 if it has no result. */
void
nb_results_summarize(const struct nb_results *results, size_t index, struct nb_summary *out);

/** The index-th note of a run; NULL behind the last. */
const char *
nb_results_note(const struct nb_results *results, size_t run, size_t index);

/** Its identifier, "closed-loop", which stays the same whatever the text says; NULL likewise. */
const char *
nb_results_note_id(const struct nb_results *results, size_t run, size_t index);

/** A kind of note. */
struct nb_note_kind {
	const char *id;
	int is_fact;      /* how the run was set up; else something was wrong with it */
	int is_serious;   /* it changes what the numbers mean */
	const char *what; /* one line */
	const char *how;  /* what it means, and what to do; NULL: `what` says all */
};

/** All that there are, ended by a NULL id. */
const struct nb_note_kind *
nb_note_kinds(void);

/** A way to write results. */
struct nb_format {
	const char *name;   /* "md" */
	const char *suffix; /* ".md" */
	const char *help;   /* one line */
};

/** All that there are, ended by a NULL name. */
const struct nb_format *
nb_formats(void);

/** Write them; flags NB_TEXT_*. NB_ERR_USAGE: no such format. NB_FAIL: `out` cannot be written. */
NB_MUST_CHECK int
nb_results_write(
	const struct nb_results *results, const char *format, FILE *out, uint32_t flags);

/** The same into a file, aside first; `path` "-": stdout. */
NB_MUST_CHECK int
nb_results_write_file(
	const struct nb_results *results, const char *format, const char *path, uint32_t flags);

/** Let the HTML page compare `results` with `baseline`, which is borrowed. NULL: no comparison. */
void
nb_results_set_baseline(struct nb_results *results, const struct nb_results *baseline);

/** PREFIX-operations.csv, PREFIX-series.csv, PREFIX-latency.csv, PREFIX-counters.csv. */
NB_MUST_CHECK int
nb_results_write_csv_files(const struct nb_results *results, const char *prefix);

/** What stands behind PREFIX, of the file'th of them; NULL if there are not so many. */
const char *
nb_results_csv_suffix(size_t file);

/**
 * Append to a notebook in Masstree's form, which is made if it is not there: one experiment
 * for this call. Written aside and renamed, under a lock.
 */
NB_MUST_CHECK int
nb_results_append_notebook(const struct nb_results *results, const char *path);

/**
 * A gnuplot script of what is in a notebook, ours or Masstree's: the threads' throughput as
 * candlesticks, runs of the same test side by side. NB_ERR_DATA: it is no notebook.
 */
NB_MUST_CHECK int
nb_notebook_write_plot(const char *path, FILE *out);

/* ---- comparing ---- */

struct nb_comparison;

/* What is done about results that cannot be ranked: other work, another durability. */
enum {
	NB_COMPARE_REFUSE = 0,
	NB_COMPARE_FORCE = 1, /* they are ranked all the same */
	NB_COMPARE_UNRANKED =
		2 /* they are compared without verdicts, and the reason is given */
};

/** Append only. */
struct nb_compare_options {
	size_t size;
	double confidence;  /* of the intervals, 0..1; 0: that of the file of vs, else 0.95 */
	uint32_t resamples; /* of the bootstrap */
	uint32_t force;     /* NB_COMPARE_* */
	uint64_t seed;      /* of the bootstrap */
	uint32_t is_alone;  /* 1: a result without another to compare is accepted */
	uint32_t spare_u32;
};

#define NB_COMPARE_OPTIONS_INIT \
	{ \
		.size = sizeof(struct nb_compare_options), .confidence = 0.95, \
		.resamples = 10000, .seed = 1 \
	}

/** One file's runs of one engine and action are one sample. */
struct nb_compare_input {
	const struct nb_results *results;
	const char *name; /* of the file, to tell them apart */
};

/**
 * Compare the samples of these, each with the first. NB_ERR_USAGE: there are fewer than two,
 * or they cannot be compared, and why: another stream, durability, size.
 */
NB_MUST_CHECK int
nb_comparison_new(struct nb_comparison **out, const struct nb_compare_input *inputs,
	size_t count, const struct nb_compare_options *options);

void
nb_comparison_delete(struct nb_comparison *comparison);

/**
 * Verdicts in words, then a table for each sample; `format` "text", "md" or "json". Or "table":
 * one of all samples, without verdicts. flags: NB_TEXT_*.
 */
NB_MUST_CHECK int
nb_comparison_write(
	const struct nb_comparison *comparison, const char *format, FILE *out, uint32_t flags);

/**
 * The ratio of throughputs whose interval is the widest, in a few words: "get: lmdb is 3.1
 * times faster than leveldb (2.9 to 3.3)". "" if there is none. What does not fit is cut.
 */
void
nb_comparison_brief(const struct nb_comparison *comparison, char *text, size_t size);

/** Whether the widest interval of throughput ratios is within `share` of its ratio. */
int
nb_comparison_is_tight(const struct nb_comparison *comparison, double share);

/**
 * Whether the second sample is worse than the first by more than the limits allow:
 * "p99:5%,throughput:3%". 0: it is not; 1: it is, and what is wrong is written. A difference
 * that cannot be told from chance is none. NB_ERR_USAGE: no such limits.
 */
NB_MUST_CHECK int
nb_comparison_gate(const struct nb_comparison *comparison, const char *limits, FILE *out);

/* ---- explaining ---- */

/** A figure of the reports, by the name that stands there: "p99 us", "Settled throughput". */
struct nb_explanation {
	const char *name;
	const char *what;  /* what it says, in which unit */
	const char *how;   /* how it was measured, and what would make it wrong */
	const char *where; /* which reports have it: "text, csv" */
};

/** All of them, ended by a NULL name. */
const struct nb_explanation *
nb_explanations(void);

#ifdef __cplusplus
}
#endif
#endif /* MININB_RESULTS_H */
