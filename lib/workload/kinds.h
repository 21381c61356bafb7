/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_KINDS_H
#define WORKLOAD_KINDS_H
/**
 * Kinds of operations other than NB_OP_*: short lists of steps. `add` is built in; a job
 * defines others in sections [kind NAME]. The numbers of kinds in weights and results are
 * NB_OP_*, then NB_OP_KINDS, which is not a kind and means "all" or "mixed", then KIND_ADD,
 * then the job's kinds.
 */
#include <stdbool.h>
#include <stdio.h>

#include <mininb/job.h>

enum { KIND_ADD = NB_OP_KINDS + 1, KIND_OWN = KIND_ADD + 1 };

/** Set of all kinds that are lists of steps. */
#define KINDS_OF_STEPS (UINT32_MAX << KIND_ADD)

static inline bool
kind_is_steps(uint32_t kind)
{
	return kind >= KIND_ADD;
}

/** The definition; NULL for NB_OP_* and unknown kinds. */
const struct nb_kind *
kind_row(const struct nb_job *job, uint32_t kind);

/** "read", "add", "transfer"; NULL if the kind does not exist. */
const char *
kind_name(const struct nb_job *job, uint32_t kind);

/** The number of a kind that the job defines; NB_KINDS_MAX: it does not exist. */
uint32_t
kind_find(const struct nb_job *job, const char *name);

/** Append a kind without steps. NB_ERR_USAGE: invalid name, name in use, or too many kinds. */
NB_MUST_CHECK int
kind_add(struct nb_job *job, const char *name);

/** Set a key of a section [kind NAME]: steps, atomic, snapshot, calls. NB_ERR_USAGE. */
NB_MUST_CHECK int
kind_set(struct nb_kind *kind, const char *key, const char *text);

/** The value of the key `calls` as a user types it: "execute", "transaction", ... */
const char *
kind_calls_name(const struct nb_kind *kind);

/** Write its section in the form of a file. */
void
kind_write(FILE *to, const struct nb_kind *kind);

/** Check a definition that a program made. */
NB_MUST_CHECK int
kind_check(const struct nb_kind *kind);

/** Bits 1 << NB_STEP_* of its steps. */
uint32_t
kind_verbs(const struct nb_kind *kind);

/** Maximum number of records of an operation of the kind. */
uint32_t
kind_records_max(const struct nb_kind *kind);

/** Sets of verbs: those that put a value, change the database, use the whole space. */
enum {
	KIND_PUTS = 1 << NB_STEP_PUT | 1 << NB_STEP_INSERT | 1 << NB_STEP_PUT_IF_NEWER,
	KIND_CHANGES = KIND_PUTS | 1 << NB_STEP_DEL | 1 << NB_STEP_MERGE,
	KIND_SPACE = 1 << NB_STEP_INSERT | 1 << NB_STEP_DEL | 1 << NB_STEP_PREFIX_EMPTY,
};

/** Verbs of all kinds with a share in the group. */
uint32_t
kinds_verbs(const struct nb_job *job, const struct nb_group *group);

/** Sizes of the job's values: 8 bytes for counters. */
const struct nb_sizes *
kinds_sizes(const struct nb_job *job);

/** Whether the records are counters, because some group adds to them. */
bool
kinds_have_counters(const struct nb_job *job);

#endif /* WORKLOAD_KINDS_H */
