/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_RECORD_H
#define REPORT_RECORD_H
/**
 * Results from inside: one record for each run, and their command. Writers see records only, so
 * they write the same of a run and of its file.
 */
#include <stdbool.h>

#include <mininb/results.h>

#include "report/result.h"

/** The result of a sweep, kept with the run of its capacity; curve NULL: it was not a sweep. */
struct record_sweep {
	double capacity_ops_s;
	struct nb_curve_point *curve; /* owned */
	size_t curve_count;
	char slo[64];     /* limit of the search; "" */
	double slo_ops_s; /* highest rate that held it */
};

/** One run. */
struct record {
	char label[64];        /* "sweep 40 %"; "" */
	struct nb_result *run; /* NULL: it has no result; `end` is the reason */
	char driver[48];
	char end[256];            /* how it ended, if not well; "" else */
	uint32_t block;           /* repetition of vs, from 1; 0: not of vs */
	uint32_t contestant;      /* of vs: place on the command line, from 1; 0: not of vs */
	char name[96];            /* of the contestant: "leveldb#2"; "" */
	uint32_t is_merged;       /* number of records; 0: not merged */
	uint32_t picked_of;       /* number of repetitions that it represents; 0: not picked */
	bool is_titled_by_action; /* other records have another action */
	bool is_point;            /* of the curve of a record before it */
	struct nb_interval *intervals; /* that were printed during the run; owned */
	size_t interval_count;
	struct record_sweep sweep;
};

/** The result of a job; NULL: it has none, or is of put, get or delete. */
static inline struct nb_result *
record_job(const struct record *record)
{
	return record->run != NULL && record->run->is_job ? record->run : NULL;
}

struct record_option {
	char *name, *value; /* owned */
};

/** The command of the records, complete enough to rerun it. All owned. */
struct record_command {
	char *action;    /* "put"; NULL: not known */
	char *directory; /* working directory */
	char **words;    /* as typed, without the program */
	size_t word_count;
	struct record_option *options; /* effective ones, with defaults */
	size_t option_count;
	char *job; /* the complete workload as a file; NULL: none */
};

struct nb_results {
	struct record *records;
	size_t count;
	uint32_t list_count; /* engines of --driver=a,b,c; 0: not a list */
	struct record_command command;
	const struct nb_results
		*baseline; /* that the HTML page compares with, borrowed; NULL */
};

/** Append an empty record; NULL if memory does not reach, which is set as the error. */
struct record *
results_append(struct nb_results *results);

void
record_destroy(struct record *record);

/* ---- a record as writers see it, the same of classic actions and jobs ---- */

struct record_kind {
	const char *name; /* "read", "put" */
	uint32_t kind;    /* NB_OP_*, or 0; as struct sample_latency has it */
	uint64_t ops, records, bytes;
	const uint64_t *answers; /* WORKER_ANSWERS of them */
	const struct nb_histogram *service;
	const struct nb_histogram *response; /* NULL: there was no rate */
};

struct record_group {
	const char *name;
	uint32_t phase, thread_count;
	bool is_background, is_paced;
	uint64_t ops, wall_ns;
	const struct job_thread *threads;       /* NULL: not known */
	struct record_kind kinds[NB_KINDS_MAX]; /* those that were done */
	size_t kind_count;
	const struct job_result_group *job; /* NULL: a classic action */
};

/** Groups of a record, at most NB_GROUPS_MAX; room for as many. */
size_t
record_groups(const struct record *record, struct record_group *groups);

/** "put", "load", "run", "replay". */
const char *
record_action(const struct record *record);

/** Find whether titles need the action. Call it after records were added. */
void
results_find_actions(struct nb_results *results);

/**
 * Find the points of curves: records with labels, of the same engine, after the capacity. Call
 * it after curves were added.
 */
void
results_find_points(struct nb_results *results);

/**
 * Of vs one repetition of each contestant and action, the one with the median throughput, by
 * action in the order of the command line, then failures. Of other results every record. They
 * are borrowed: free() out->records alone.
 */
NB_MUST_CHECK int
results_pick(struct nb_results *out, const struct nb_results *from);

/** Whether all of them are repetitions of vs. */
bool
results_are_versus(const struct nb_results *results);

/** Whether a repetition of the contestant failed, so that comparisons leave it out. */
bool
results_contestant_failed(const struct nb_results *results, uint32_t contestant);

/** How many of them have curves. */
size_t
results_sweeps(const struct nb_results *results);

/** The contestant's label, else the driver. */
const char *
record_name(const struct record *record);

/** The title of a column: name, action if that differs, and label. */
void
record_title(const struct record *record, char *text, size_t size);

/** Of all foreground operations: service, or response if there is a rate. Never NULL. */
const struct nb_histogram *
record_latency(const struct record *record, bool is_response);

/** NULL: not measured. */
const struct nb_histogram *
record_hiccups(const struct record *record);

/** Of all notes, one after the other; NULL behind the last. */
const char *
record_note(const struct record *record, size_t index);

/** Its identifier. */
const char *
record_note_id(const struct record *record, size_t index);

/** Only if record->run is there. */
void
record_summary(const struct record *record, struct nb_summary *out);

/* ---- figures that follow from a record (figures.c) ---- */

enum { STALLS_MAX = 8 };

/** A time without operations, or with less than half of the median rate. */
struct stall {
	uint64_t begin_ns, duration_ns; /* on the series' time */
	double rate_ops_s;              /* meanwhile */
	char cause[160]; /* what the engine's counters did then: "compactions 3, ..." */
};

struct stalls {
	uint64_t longest_gap_ns, longest_gap_at_ns; /* without an operation that ended */
	uint64_t slow_ns;   /* time below half of the median rate, gaps included */
	uint64_t looked_ns; /* in which that was looked for */
	double median_ops_s;
	struct stall worst[STALLS_MAX]; /* the longest ones, in order of time */
	size_t count;
};

/** 0: not known. */
struct record_figures {
	double cycles_op, instructions_op, cache_misses_op;
	/* keys and values, as asked for; of a warm-up, too, as what is divided by them is */
	uint64_t logical_read_bytes, logical_write_bytes;
	uint64_t live_bytes; /* keys and values that the database holds in the end */
	/* bytes at each layer for a logical one, with settling and closing for the writes */
	double write_calls, write_storage, write_device;
	double read_calls, read_storage, read_device;
	double space;          /* allocated blocks for a live byte */
	double resident_share; /* of the database's pages before the first operation; < 0: not known */
	struct stalls stalls;
};

void
record_figures(const struct record *record, struct record_figures *out);

/**
 * CPU time of an operation, user and system, of all threads: what the operations took, a
 * warm-up's too, over as many. 0: not known, which record_no_cpu() explains.
 */
double
record_cpu_ns_op(const struct record *record);

/** Whose CPU time cannot be told from that of the operations; NULL: nobody's. */
const char *
record_no_cpu(const struct record *record);

/**
 * Operations of the foreground over all the time until the run was settled and closed. 0: the
 * foreground did not write, or the run was not settled.
 */
double
record_settled_rate(const struct record *record);

/** The stalls alone (stalls.c). */
void
stalls_find(const struct record *record, struct stalls *out);

/* ---- writers ---- */

/** A way to write results. One more is a file of its own and a row of the table. */
struct writer {
	const char *name;   /* "md" */
	const char *suffix; /* of files: ".md" */
	const char *help;
	int (*write)(const struct nb_results *results, FILE *out, uint32_t flags);
};

/** Ended by a NULL name. */
extern const struct writer writers[];

typedef int
writer_fn(const struct nb_results *results, FILE *out, uint32_t flags);
writer_fn write_text, write_json, write_markdown, write_csv, write_hgrm, write_hlog,
	write_gnuplot, write_candlestick, write_sofaster, write_taobench, write_mttest,
	write_mtclient, write_html;

/** A row for each kind of operation of each run, also of vs. */
int
csv_write_operations(const struct nb_results *results, FILE *out);

/** All of a stream, which ends with a zero; *text is yours also after a failure. */
NB_MUST_CHECK int
results_read_stream(FILE *in, const char *file, char **text, size_t *size);

/** As nb_results_read(), of the text of a file that messages call `file`. */
NB_MUST_CHECK int
results_parse(struct nb_results **out, const char *text, size_t size, const char *file);

#endif /* REPORT_RECORD_H */
