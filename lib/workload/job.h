/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_JOB_H
#define WORKLOAD_JOB_H
/** Jobs from inside: the table of keys, and what reads and writes a value by it. */
#include <stdbool.h>

#include <mininb/job.h>

/** What a value is, and so the field that takes it. */
enum job_key_type {
	JOB_COUNT,    /* uint64_t or uint32_t, min..max */
	JOB_BYTES,    /* the same, in bytes */
	JOB_TIME,     /* uint64_t, ns */
	JOB_REAL,     /* double, real_min..real_max */
	JOB_CHOICE,   /* uint32_t, index into choices, from `min` up */
	JOB_TEXT,     /* char *, owned; empty is NULL if min is 0, else refused */
	JOB_PREFIX,   /* char[] */
	JOB_SHARE,    /* uint32_t, one of a group's weights */
	JOB_RANGE,    /* two uint64_t: "1..100" or "100" */
	JOB_WARMUP,   /* warmup_ns or warmup_count */
	JOB_SIZES,    /* of the job's values */
	JOB_RATE,     /* of a group, with all that hangs on it */
	JOB_ARRIVALS, /* as JOB_CHOICE, in force once there is a rate */
	JOB_CPUS,     /* char *, owned */
	JOB_START     /* phase, which depends on the group before */
};

struct job_key {
	struct nb_job_key said; /* what nb_job_keys() tells of it */
	enum job_key_type type;
	bool is_of_load; /* [load] has it, too */
	bool is_shown;   /* a written job states it even if it is the default */
	size_t offset;   /* of the field in struct nb_job or nb_group */
	size_t width;    /* of the field, in bytes */
	uint64_t min, max;
	double real_min, real_max;
};

enum { JOB_KEYS_MAX = 64, JOB_QUOTE_MAX = 60 /* of a value, in messages */ };

/** Ended by a NULL name. */
extern const struct job_key job_keys[];

/** NULL if there is none of that name. */
const struct job_key *
job_keys_find(const char *name);

/** The nearest name, or NULL. */
const char *
job_keys_nearest(const char *name);

/** Whether a line of a job file can hold the text as a value. */
bool
job_value_can_hold(const char *text);

/** Index of `text` among the choices of `key`. NB_ERR_USAGE names the nearest and all. */
NB_MUST_CHECK int
job_value_choose(const struct job_key *key, const char *text, uint32_t *out);

/**
 * Read the value into its field of `object`, a job or a group. NB_ERR_USAGE "KEY: ...", and
 * nothing has changed. Not for JOB_START.
 */
NB_MUST_CHECK int
job_value_set(const struct job_key *key, void *object, const char *text);

/** The field, which is a whole number of either width. */
uint64_t
job_value_number(const struct job_key *key, const void *object);

/** "0-3,8"; else NB_ERR_USAGE. */
NB_MUST_CHECK int
job_value_check_cpus(const char *text);

/** The shortest text, up to 17 digits, that is read as the same number. For any locale. */
void
job_value_real_text(char *buf, size_t size, double real);

/** One group as it is if nothing is said of it; no mix. */
NB_MUST_CHECK int
job_group_create(struct nb_group *group, const char *name);

/** A deep copy under another name. */
NB_MUST_CHECK int
job_group_copy(struct nb_group *group, const struct nb_group *from, const char *name);

void
job_group_destroy(struct nb_group *group);

/** Whether a group may be called so: a word, and neither "workload" nor "load". */
bool
job_name_is_good(const char *name);

/** A job of all defaults, without a group of the run. */
NB_MUST_CHECK int
job_create(struct nb_job **out, const char *name);

/** Append a group to the run, as `defaults` has it; its phase there is 1 for one more. */
NB_MUST_CHECK int
job_add_group(struct nb_job *job, const struct nb_group *defaults, const char *name);

/**
 * Set a key of the job, or of a group: of the run, of the loading, or one that stands
 * alone. NB_ERR_USAGE "KEY: ...", also if that group cannot have it.
 */
NB_MUST_CHECK int
job_assign(struct nb_job *job, struct nb_group *group, const struct job_key *key,
	const char *text);

/** "there is no key ...", with the nearest; NB_ERR_USAGE. */
int
job_refuse_key(const char *name);

#endif /* WORKLOAD_JOB_H */
