/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_JOB_H
#define WORKLOAD_JOB_H
/** Internals of jobs: the table of keys, and their values as text. */
#include <stdbool.h>
#include <stdio.h>

#include <mininb/job.h>

/** The type of a key's value and of its field. */
enum job_key_type {
	JOB_COUNT,    /* uint64_t or uint32_t, min..max */
	JOB_BYTES,    /* the same, in bytes */
	JOB_THREADS,  /* the same; "all" is the number of CPUs */
	JOB_TIME,     /* uint64_t, ns */
	JOB_REAL,     /* double, real_min..real_max */
	JOB_CHOICE,   /* uint32_t, index into choices, from `min` */
	JOB_TEXT,     /* char *, owned; empty is NULL if min is 0, else an error */
	JOB_PREFIX,   /* char[] */
	JOB_SHARE,    /* uint32_t, one of a group's weights */
	JOB_RANGE,    /* two uint64_t: "1..100" or "100" */
	JOB_WARMUP,   /* warmup_ns or warmup_count */
	JOB_SIZES,    /* of the job's values */
	JOB_ITEMS,    /* items and item_sizes of a group */
	JOB_RATE,     /* of a group */
	JOB_ARRIVALS, /* as JOB_CHOICE; applies if there is a rate */
	JOB_CPUS,     /* char *, owned */
	JOB_LATENCY,  /* uint32_t, NB_LATENCY_* or N */
	JOB_SHARD,    /* two uint32_t: "0/4" */
	JOB_GRAPH,    /* graph_text and graph of the job */
	JOB_DEGREE,   /* struct nb_sizes of the job */
	JOB_START     /* as JOB_CHOICE; job_assign() makes it a phase */
};

struct job_key {
	struct nb_job_key said; /* for nb_job_keys() */
	enum job_key_type type;
	bool is_of_load; /* also a key of [load] */
	bool is_shown;   /* written even if it has the default */
	size_t offset;   /* of the field in struct nb_job or nb_group */
	size_t width;    /* of the field, in bytes */
	uint64_t min, max;
	double real_min, real_max;
};

enum { JOB_KEYS_MAX = 96, JOB_QUOTE_MAX = 60 /* bytes of a value in messages */ };

/** Ends with a NULL name. */
extern const struct job_key job_keys[];

/** NULL: unknown name. */
const struct job_key *
job_keys_find(const char *name);

/** The key for the share of a kind that the job defines; false if the kind does not exist. */
bool
job_kind_key(const struct nb_job *job, const char *name, struct job_key *key);

/** NB_ERR_USAGE for an unknown key, with the nearest name. */
int
job_refuse_key(const char *name);

/**
 * Parse the value into its field of `object`, a job or a group. NB_ERR_USAGE "KEY: ...":
 * nothing changed.
 */
NB_MUST_CHECK int
job_value_set(const struct job_key *key, void *object, const char *text);

/** Whether a number or choice is within its range; NB_ERR_USAGE "KEY: ...". */
NB_MUST_CHECK int
job_value_check(const struct job_key *key, const void *object);

/** The value as a user would type it. NB_ERR_USAGE if it cannot be expressed as text. */
NB_MUST_CHECK int
job_value_text(char **out, const struct job_key *key, const void *object);

/** Whether the ranges of keys that the group requests suffice for `threads`; NB_ERR_USAGE. */
NB_MUST_CHECK int
job_check_ranges(const struct nb_job *job, const struct nb_group *group, uint32_t threads);

/** The group whose puts `group` visits again; NULL: it draws records, or names no group. */
const struct nb_group *
job_again_of(const struct nb_job *job, const struct nb_group *group);

/** Check a list like "0-3,8"; NB_ERR_USAGE. */
NB_MUST_CHECK int
job_value_check_cpus(const char *text);

enum { JOB_LATENCY_SIZE = 24 };

/** "each", "block" or "sampled:64"; a literal, or stored in `text`. */
const char *
job_latency_text(uint32_t latency, char text[JOB_LATENCY_SIZE]);

/** The shortest text, up to 17 digits, that parses as the same number, in any locale. */
void
job_value_real_text(char *buf, size_t size, double real);

/** A group with all defaults and no mix. */
NB_MUST_CHECK int
job_group_create(struct nb_group *group, const char *name);

void
job_group_destroy(struct nb_group *group);

/** Check the name of a group: NB_ERR_USAGE if it is not a word, or "workload" or "load". */
NB_MUST_CHECK int
job_name_check(const char *name);

/** A job with all defaults and no group of the run. */
NB_MUST_CHECK int
job_create(struct nb_job **out, const char *name);

/** Append a copy of `defaults` to the run, defaults->phase phases after the last group. */
NB_MUST_CHECK int
job_add_group(struct nb_job *job, const struct nb_group *defaults, const char *name);

/**
 * Set a key of the job (group NULL) or of a group: one of the run, the load, or a separate one.
 * NB_ERR_USAGE "KEY: ...", also if the group cannot have the key.
 */
NB_MUST_CHECK int
job_assign(struct nb_job *job, struct nb_group *group, const struct job_key *key,
	const char *text);

/** Append a section [target] without keys. NB_ERR_USAGE: not the name of an engine. */
NB_MUST_CHECK int
job_target_add(struct nb_job *job, const char *name);

/** NULL: the section does not exist. */
struct nb_target *
job_target_find(const struct nb_job *job, const char *name);

/** Set a key of a target. NB_ERR_USAGE "KEY: ...". */
NB_MUST_CHECK int
job_target_set(struct nb_target *target, const char *key, const char *value);

/** Write all targets in the form of a file. */
void
job_targets_write(FILE *to, const struct nb_job *job);

void
job_targets_destroy(struct nb_job *job);

/** Whether the file contains several presets: its name ends in .presets. */
bool
presets_is_family(const char *path);

/** Path of the preset; NB_ERR_USAGE names the nearest. *out is yours to free(). */
NB_MUST_CHECK int
presets_find(char **out, const char *name);

/** The same for a workload file of TAOBench: an installed one, or a path if it contains '/'. */
NB_MUST_CHECK int
presets_find_graph(char **out, const char *name);

#endif /* WORKLOAD_JOB_H */
