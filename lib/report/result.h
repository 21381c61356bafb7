/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_RESULT_H
#define REPORT_RESULT_H
/** A result from inside: plain data, for those who write it. */
#include <stdbool.h>

#include <mininb/mininb.h>
#include <mininb/trace.h>

#include "run/environment.h"
#include "run/measurement.h"
#include "run/sysinfo.h"

/** An option of the engine as it was in force. Both texts owned. */
struct result_option {
	char *name, *value;
};

/** Why the numbers may be wrong. */
struct result_note {
	char id[24];    /* "closed-loop": stays the same, whatever the text says */
	char *text;     /* owned */
	bool is_of_job; /* not of every run, but of what jobs have */
};

/** What came of a group, and what it was asked to do. Owns the histograms. */
struct job_result_group {
	char name[48];
	uint32_t phase, threads, arrivals, distribution;
	uint32_t weights[NB_KINDS_MAX];
	uint64_t duration_ns, warmup_ns, warmup_count;
	bool is_background;
	bool is_blind_to_gaps; /* scans were verified, but not whether they leave records out */
	bool is_paced;         /* operations have times at which they are due */
	double rate_ops_s;     /* of a rate with one step; else 0 */
	double speed;          /* of a trace's times; 0: they are those of a rate */
	uint32_t insert_verb;  /* NB_INSERT_* */
	uint32_t key_range;    /* NB_RANGE_* */
	uint32_t masstree_test; /* NB_TEST_* + 1; 0: the source was not masstree */
	char again[48];         /* group whose puts it visited; "": none */
	uint64_t again_keys;    /* how many those were */
	char *rate_text;        /* of a rate with more than one step; owned; else NULL */
	uint32_t depth;         /* requests in flight of a thread, at most; 0: none */
	uint64_t batch_bytes;   /* handed over together; 0: as there was room */
	struct job_measurement measured;
};

/** A shard of a run, as one generator of load did it. */
struct result_generator {
	char shard[24]; /* "0/4" */
	char host[64];
	char end[128]; /* how it ended, if not well; "" */
	bool is_partial;
	uint64_t ops, wall_ns;
	uint64_t begun_at_ns; /* by the clock of the first generator, if those were compared */
	uint64_t p50_ns, p99_ns; /* of service; 0: too few */
	double rate_ops_s;
	double clock_offset_ns; /* its clock less that of the first one */
	double clock_error_ns;  /* 0: the clocks were not compared */
};

/**
 * All that a writer may tell. The texts of engine's table are the plugin's, which stays in
 * memory, or of a result that was read, its own; then it has no verbs.
 */
struct nb_result {
	struct nb_engine engine;
	char *engine_path;
	const char *engine_version;
	const char *version; /* of mininb */
	bool has_counters;   /* the engine can tell some */
	char **texts;        /* that those of the engine are, read from a file; owned */
	size_t text_count;
	struct addresses servers;         /* that the engine was a client of */
	struct addresses server_settings; /* texts: their versions and settings */
	struct result_option *options;
	size_t option_count;
	struct nb_workload workload; /* its keys_path owned */
	uint32_t threads, durability, settle, flags;
	bool is_auto_durability;
	bool is_paced; /* operations were due at their own time: no closed loop */
	bool is_bound_by_time;
	bool is_of_processes; /* whose own use of CPU and memory is not known */
	uint64_t cache_bytes;
	double verify_rate;
	struct keys_facts keys;
	uint64_t digest;
	struct clock clock;
	struct sysinfo sysinfo;
	struct environment environment;
	struct measurement measured; /* its histogram and counters owned */
	struct engine_warnings warnings;
	struct result_note *notes; /* owned; those of the job come last */
	size_t note_count;
	/* of a job: not of put, get and delete */
	bool is_job;
	char *name; /* of the job; NULL: of put, get and delete */
	bool is_load, is_replay, is_point;
	uint32_t procs;
	char shard[24]; /* "0/4"; "": it did all operations of the run */
	uint64_t records, key_size, value_min, value_max;
	double value_mean, value_ratio, measured_ratio;
	const char *key_format, *key_order;
	bool is_steady, was_steady_asked;
	double steady_slope, steady_band;
	char kinds[NB_KINDS_MAX][NB_KIND_NAME]; /* names of those beside NB_OP_*; else "" */
	struct job_result_group *groups;
	size_t group_count;
	struct nb_histogram *service, *response; /* of the foreground groups */
	struct result_generator *generators;     /* of shards that were merged; owned */
	size_t generator_count;
};

/** Fill in notes from all the rest. */
void
result_add_notes(struct nb_result *result);

/** Append a note; one of every run comes before those of jobs. */
NB_MUST_CHECK int
result_add_note(struct nb_result *result, bool is_of_job, const char *id, const char *text);

/** Take the job and its groups (job_result.c). */
NB_MUST_CHECK int
result_take_job(struct nb_result *result, const struct nb_run *run);

/** Free what result_take_job() and readers of files make. */
void
result_destroy_job(struct nb_result *result);

/** As nb_result_summarize(), of what only a job has. */
void
result_summarize_job(const struct nb_result *result, struct nb_summary *out);

/** Whether more was due than could be done: the operations that were left lying. */
bool
job_result_grew(const struct job_result_group *group, uint64_t *behind_ops);

/** What stands after the count of verified records. */
static inline const char *
job_result_gaps(bool is_blind_to_gaps)
{
	return is_blind_to_gaps ? "; gaps of scans were not looked for" : "";
}

/**
 * Percent of the machine's CPU time that other processes used, and that a hypervisor kept
 * back, while the operations ran. Below 0: not known, as of a run of less than 200 ms.
 */
double
result_taken_percent(const struct nb_result *result);

/** Whether its data is kept by servers that mininb did not start. */
static inline bool
result_is_elsewhere(const struct nb_result *result)
{
	return result->servers.count > 0 && result->measured.server.servers == 0;
}

/** Remove the notes of that identifier, if there are any. */
void
result_remove_note(struct nb_result *result, const char *id);

/** Calls of all kinds that have made data durable (claims.c); only if SYSTEM_SYNCS is known. */
uint64_t
result_syncs(const struct system_counts *counts);

/**
 * Writes of a run at `commit` that were acknowledged before they can have been durable: at
 * least so many. 0 where that cannot be told.
 */
uint64_t
result_unsynced(const struct nb_result *result);

/** "2000 fdatasync, 1 per write; ..."; empty: there is nothing to tell. */
void
result_syncs_text(const struct nb_result *result, char *text, size_t size);

/** Mean time of an operation without stamps of its own; 0: each had its own. */
double
result_unstamped_ns(const struct nb_result *result);

/** Bytes of all keys and values that were read or written. */
uint64_t
result_bytes(const struct nb_result *result);

/** `count` in `ns` as a rate; 0 if no time has passed. */
double
result_rate(double count, uint64_t ns);

/** The name of a kind of its operations. */
static inline const char *
result_kind_name(const struct nb_result *result, uint32_t kind)
{
	return kind < NB_OP_KINDS ? nb_op_name(kind) : result->kinds[kind];
}

#endif /* REPORT_RESULT_H */
