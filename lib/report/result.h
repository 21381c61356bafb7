/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_RESULT_H
#define REPORT_RESULT_H
/** The data of a result, for the code that fills it in or writes it. */
#include <stdbool.h>

#include <mininb/mininb.h>
#include <mininb/trace.h>

#include "run/environment.h"
#include "run/measurement.h"
#include "run/sysinfo.h"

/** An option of the engine with its effective value. Both texts are owned. */
struct result_option {
	char *name, *value;
};

/** A reason why the numbers may be wrong. */
struct result_note {
	char id[24];    /* "closed-loop": stable, even if the text changes */
	char *text;     /* owned */
	bool is_of_job; /* applies to jobs only, not to every run */
};

/** The settings and the measurements of a group. Owns the histograms. */
struct job_result_group {
	char name[48];
	uint32_t phase, threads, arrivals, distribution;
	uint32_t weights[NB_KINDS_MAX];
	uint64_t duration_ns, warmup_ns, warmup_count;
	bool is_background;
	bool is_blind_to_gaps;  /* scans were verified, but not for missing records */
	bool is_paced;          /* operations have due times */
	double rate_ops_s;      /* of a rate with one step; else 0 */
	double speed;           /* replay speed of a trace; 0: due times come from a rate */
	uint32_t insert_verb;   /* NB_INSERT_* */
	uint32_t key_range;     /* NB_RANGE_* */
	uint32_t masstree_test; /* NB_TEST_* + 1; 0: the source is not masstree */
	char again[48];         /* the group whose puts it visited; "": none */
	uint64_t again_keys;    /* number of those puts */
	char *rate_text;        /* a rate with several steps; owned; else NULL */
	uint32_t depth;       /* limit for the requests in flight of a thread; 0: synchronous */
	uint64_t batch_bytes; /* submitted together; 0: as many as there is room for */
	struct job_measurement measured;
};

/** A shard of a run: the part that one load generator executed. */
struct result_generator {
	char shard[24]; /* "0/4" */
	char host[64];
	char end[128]; /* the reason if it failed or was cut short; else "" */
	bool is_partial;
	uint64_t ops, wall_ns;
	uint64_t begun_at_ns; /* by the clock of the first generator, if clocks were compared */
	uint64_t p50_ns, p99_ns; /* of service times; 0: too few samples */
	double rate_ops_s;
	double clock_offset_ns; /* its clock minus the clock of the first generator */
	double clock_error_ns;  /* 0: the clocks were not compared */
};

/**
 * All data for the writers. The texts of `engine` belong to the plugin, which stays in
 * memory. After reading a file they belong to `texts`, and `engine` has no verbs.
 */
struct nb_result {
	struct nb_engine engine;
	char *engine_path;
	const char *engine_version;
	const char *version; /* of mininb */
	bool has_counters;   /* the engine has counters */
	char **texts;        /* texts of `engine` if read from a file; owned */
	size_t text_count;
	/* addresses of the servers that the engine connected to */
	struct addresses servers;
	struct addresses server_settings; /* texts: versions and settings of the servers */
	struct result_option *options;
	size_t option_count;
	struct nb_workload workload; /* owns its keys_path */
	uint32_t threads, durability, settle, flags;
	bool is_auto_durability;
	bool is_paced; /* operations had due times: not a closed loop */
	bool is_bound_by_time;
	/* run by several processes, whose own use of CPU and memory is unknown */
	bool is_of_processes;
	uint64_t cache_bytes;
	double verify_rate;
	struct keys_facts keys;
	uint64_t digest;
	struct clock clock;
	struct sysinfo sysinfo;
	struct environment environment;
	struct measurement measured; /* owns its histogram and counters */
	struct engine_warnings warnings;
	struct result_note *notes; /* owned; those for jobs come last */
	size_t note_count;
	/* only for a job, not for put, get or delete */
	bool is_job;
	char *name; /* of the job; else NULL */
	bool is_load, is_replay, is_point;
	uint32_t procs;
	char shard[24]; /* "0/4"; "": the run is not sharded */
	uint64_t records, key_size, value_min, value_max;
	double value_mean, value_ratio, measured_ratio;
	const char *key_format, *key_order;
	bool is_steady, was_steady_asked;
	double steady_slope, steady_band;
	char kinds[NB_KINDS_MAX][NB_KIND_NAME]; /* names of the kinds beyond NB_OP_*; else "" */
	struct job_result_group *groups;
	size_t group_count;
	struct nb_histogram *service, *response; /* of the foreground groups */
	struct result_generator *generators;     /* of the merged shards; owned */
	size_t generator_count;
};

/** Derive the notes from all other members. */
void
result_add_notes(struct nb_result *result);

/** Append a note. Notes for every run are placed before those for jobs. */
NB_MUST_CHECK int
result_add_note(struct nb_result *result, bool is_of_job, const char *id, const char *text);

/** Copy the settings and measurements of the job and its groups (job_result.c). */
NB_MUST_CHECK int
result_take_job(struct nb_result *result, const struct nb_run *run);

/** Free the memory that result_take_job() or a reader of files allocated. */
void
result_destroy_job(struct nb_result *result);

/** Like nb_result_summarize(), for the members that only a job has. */
void
result_summarize_job(const struct nb_result *result, struct nb_summary *out);

/** Whether more operations were due than the group could execute; *behind_ops is their number. */
bool
job_result_grew(const struct job_result_group *group, uint64_t *behind_ops);

/** The text after the number of verified records. */
static inline const char *
job_result_gaps(bool is_blind_to_gaps)
{
	return is_blind_to_gaps ? "; gaps of scans were not looked for" : "";
}

/**
 * The percentage of the machine's CPU time that other processes or a hypervisor took while
 * the operations ran. Below 0: unknown, for example in a run shorter than 200 ms.
 */
double
result_taken_percent(const struct nb_result *result);

/** Whether the data is stored by servers that mininb did not start. */
static inline bool
result_is_elsewhere(const struct nb_result *result)
{
	return result->servers.count > 0 && result->measured.server.servers == 0;
}

/** Remove all notes with that identifier. */
void
result_remove_note(struct nb_result *result, const char *id);

/**
 * The number of all calls that made data durable (durability_audit.c). SYSTEM_SYNCS must be
 * known.
 */
uint64_t
result_syncs(const struct system_counts *counts);

/**
 * A lower bound for the writes at `commit` that were acknowledged before they could be
 * durable. 0 if unknown.
 */
uint64_t
result_unsynced(const struct nb_result *result);

/** "2000 fdatasync, 1 per write; ..."; empty if nothing is known. */
void
result_syncs_text(const struct nb_result *result, char *text, size_t size);

/** The mean time of operations without their own timestamps; 0: each had its own. */
double
result_unstamped_ns(const struct nb_result *result);

/** The bytes of all keys and values that were read or written. */
uint64_t
result_bytes(const struct nb_result *result);

/** `count` per second during `ns`; 0 if no time passed. */
double
result_rate(double count, uint64_t ns);

/** The name of an operation kind of this result. */
static inline const char *
result_kind_name(const struct nb_result *result, uint32_t kind)
{
	return kind < NB_OP_KINDS ? nb_op_name(kind) : result->kinds[kind];
}

#endif /* REPORT_RESULT_H */
