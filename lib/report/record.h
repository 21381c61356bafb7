/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_RECORD_H
#define REPORT_RECORD_H
/**
 * Results as the library keeps them: one record for each run, and their command. Writers
 * use records only, so a run and its result file give the same report.
 */
#include <stdbool.h>

#include <mininb/results.h>

#include "report/result.h"

/** The result of a sweep, stored with the run that found the capacity. curve NULL: not a sweep. */
struct record_sweep {
	double capacity_ops_s;
	struct nb_curve_point *curve; /* owned */
	size_t curve_count;
	char slo[64];     /* limit of the search for a rate; "": none */
	double slo_ops_s; /* highest rate that met the limit */
};

/** One run. */
struct record {
	char label[64];        /* "sweep 40 %"; "" */
	struct nb_result *run; /* NULL: no result; `end` has the reason */
	char driver[48];
	char end[256];  /* the reason if the run failed or was cut short; else "" */
	uint32_t block; /* repetition number in vs, from 1; 0: not a run of vs */
	/* in vs: position on the command line, from 1; 0: not a run of vs */
	uint32_t contestant;
	char name[96];            /* of the contestant: "leveldb#2"; "" */
	uint32_t is_merged;       /* number of merged records; 0: not merged */
	uint32_t picked_of;       /* number of repetitions that it represents; 0: not picked */
	bool is_titled_by_action; /* the records have different actions */
	bool is_point;            /* a point of the curve of an earlier record */
	struct nb_interval *intervals; /* printed during the run; owned */
	size_t interval_count;
	struct record_sweep sweep;
};

/** The result of a job; NULL: the record has no result, or a result of put, get or delete. */
static inline struct nb_result *
record_job(const struct record *record)
{
	return record->run != NULL && record->run->is_job ? record->run : NULL;
}

struct record_option {
	char *name, *value; /* owned */
};

/** The command that made the records, with all details to rerun it. All members are owned. */
struct record_command {
	char *action;    /* "put"; NULL: unknown */
	char *directory; /* working directory */
	char **words;    /* arguments as typed, without the program */
	size_t word_count;
	struct record_option *options; /* effective values, with defaults */
	size_t option_count;
	char *job; /* the complete workload as a file; NULL: none */
};

struct nb_results {
	struct record *records;
	size_t count;
	uint32_t list_count; /* number of engines in --driver=a,b,c; 0: not a list */
	struct record_command command;
	/* the results that the HTML page compares with; borrowed; NULL: none */
	const struct nb_results *baseline;
};

/** Append an empty record. Returns NULL and sets the error if memory runs out. */
struct record *
results_append(struct nb_results *results);

void
record_destroy(struct record *record);

/* ---- a record as writers see it, the same for classic actions and jobs ---- */

struct record_kind {
	const char *name; /* "read", "put" */
	uint32_t kind;    /* NB_OP_*, or 0; as in struct sample_latency */
	uint64_t ops, records, bytes;
	const uint64_t *answers; /* an array of WORKER_ANSWERS counts */
	const struct nb_histogram *service;
	const struct nb_histogram *response; /* NULL: no rate was set */
};

struct record_group {
	const char *name;
	uint32_t phase, thread_count;
	bool is_background, is_paced;
	uint64_t ops, wall_ns;
	const struct job_thread *threads;       /* NULL: unknown */
	struct record_kind kinds[NB_KINDS_MAX]; /* the kinds that were executed */
	size_t kind_count;
	const struct job_result_group *job; /* NULL: a classic action */
};

/** Fill in the groups of a record. `groups` needs room for NB_GROUPS_MAX. Returns their number. */
size_t
record_groups(const struct record *record, struct record_group *groups);

/** "put", "load", "run", "replay". */
const char *
record_action(const struct record *record);

/** Set is_titled_by_action of the records. Call it after adding records. */
void
results_find_actions(struct nb_results *results);

/**
 * Set is_point of labelled records that follow the capacity run of the same engine. Call it
 * after adding curves.
 */
void
results_find_points(struct nb_results *results);

/**
 * For vs, pick for each contestant and action the repetition with the median throughput.
 * The picked ones are ordered by action and then as on the command line; failures come
 * last. For other results, pick every record. The records are borrowed: free() out->records
 * alone.
 */
NB_MUST_CHECK int
results_pick(struct nb_results *out, const struct nb_results *from);

/** Whether all records are repetitions of vs. */
bool
results_are_versus(const struct nb_results *results);

/** Whether a repetition of the contestant failed, so that comparisons leave it out. */
bool
results_contestant_failed(const struct nb_results *results, uint32_t contestant);

/** The number of records that have curves. */
size_t
results_sweeps(const struct nb_results *results);

/** The contestant's label, else the driver. */
const char *
record_name(const struct record *record);

/** The title of a column: name, the action if actions differ, and label. */
void
record_title(const struct record *record, char *text, size_t size);

/** Latencies of all foreground operations: response times, or service times. Never NULL. */
const struct nb_histogram *
record_latency(const struct record *record, bool is_response);

/** How late a thread woke up that only sleeps; NULL: not measured. */
const struct nb_histogram *
record_hiccups(const struct record *record);

/** The text of a note by index; NULL beyond the last. */
const char *
record_note(const struct record *record, size_t index);

/** The identifier of a note by index. */
const char *
record_note_id(const struct record *record, size_t index);

/** Fill in a summary. record->run must not be NULL. */
void
record_summary(const struct record *record, struct nb_summary *out);

/* ---- figures that are derived from a record (figures.c) ---- */

enum { STALLS_MAX = 8 };

/** A period without operations, or with less than half of the median rate. */
struct stall {
	uint64_t begin_ns, duration_ns; /* times of the series */
	double rate_ops_s;              /* during the stall */
	/* changes of the engine's counters during the stall: "compactions 3, ..." */
	char cause[160];
};

struct stalls {
	uint64_t longest_gap_ns,
		longest_gap_at_ns; /* longest time in which no operation ended */
	uint64_t slow_ns;          /* time below half of the median rate, including gaps */
	uint64_t looked_ns;        /* length of the time that was examined */
	double median_ops_s;
	struct stall worst[STALLS_MAX]; /* the longest stalls, ordered by time */
	size_t count;
};

/** Derived figures; 0: unknown. */
struct record_figures {
	double cycles_op, instructions_op, cache_misses_op;
	/* requested keys and values, including those of a warm-up, as in the byte counts below */
	uint64_t logical_read_bytes, logical_write_bytes;
	uint64_t live_bytes; /* keys and values that the database holds at the end */
	/* bytes at each layer per logical byte; writes include settling and closing */
	double write_calls, write_storage, write_device;
	double read_calls, read_storage, read_device;
	double space; /* allocated bytes per live byte */
	/* of the database's pages before the first operation; < 0: unknown */
	double resident_share;
	struct stalls stalls;
};

void
record_figures(const struct record *record, struct record_figures *out);

/**
 * User and system CPU time of all threads per operation, both including a warm-up. 0:
 * unknown, for the reason that record_no_cpu() returns.
 */
double
record_cpu_ns_op(const struct record *record);

/** The process or thread whose CPU time is mixed with that of the operations; NULL: none. */
const char *
record_no_cpu(const struct record *record);

/**
 * Foreground operations divided by the whole time until the run was settled and closed. 0:
 * the foreground did not write, or the run was not settled.
 */
double
record_settled_rate(const struct record *record);

/** Find the stalls only (stalls.c). */
void
stalls_find(const struct record *record, struct stalls *out);

/* ---- writers ---- */

/** A format for results. To add one, add a file and a row of the table. */
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

/** Write one row for each kind of operation of each run, also for vs. */
int
csv_write_operations(const struct nb_results *results, FILE *out);

/** Read a stream to its end and append a NUL; *text is yours, also after a failure. */
NB_MUST_CHECK int
results_read_stream(FILE *in, const char *file, char **text, size_t *size);

/** Like nb_results_read(), for a text in memory; messages call it `file`. */
NB_MUST_CHECK int
results_parse(struct nb_results **out, const char *text, size_t size, const char *file);

#endif /* REPORT_RECORD_H */
