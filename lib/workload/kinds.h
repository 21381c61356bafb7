/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_KINDS_H
#define WORKLOAD_KINDS_H
/**
 * Kinds of operations beside NB_OP_*: short lists of steps. The built-in one is `add`; a job
 * defines others in sections [kind NAME]. Numbers of kinds, in weights and results: NB_OP_*, then
 * NB_OP_KINDS, which is none and stands for "all" or "mixed", then KIND_ADD, then the job's.
 */
#include <stdbool.h>
#include <stdio.h>

#include <mininb/job.h>

enum { KIND_ADD = NB_OP_KINDS + 1, KIND_OWN = KIND_ADD + 1 };

/** Every kind that is a list of steps. */
#define KINDS_OF_STEPS (UINT32_MAX << KIND_ADD)

static inline bool
kind_is_steps(uint32_t kind)
{
	return kind >= KIND_ADD;
}

/** The definition; NULL for NB_OP_* and for a kind that the job does not have. */
const struct nb_kind *
kind_row(const struct nb_job *job, uint32_t kind);

/** "read", "add", "transfer"; NULL if there is no such kind. */
const char *
kind_name(const struct nb_job *job, uint32_t kind);

/** The number of the job's own kind of that name; NB_KINDS_MAX: there is none. */
uint32_t
kind_find(const struct nb_job *job, const char *name);

/** Append a kind without steps. NB_ERR_USAGE: not a name, or taken, or too many. */
NB_MUST_CHECK int
kind_add(struct nb_job *job, const char *name);

/** Set a key of a section [kind NAME]: steps, atomic, snapshot, calls. NB_ERR_USAGE says what is wrong. */
NB_MUST_CHECK int
kind_set(struct nb_kind *kind, const char *key, const char *text);

/** "execute", "transaction", ...: the key `calls` as it would be typed. */
const char *
kind_calls_name(const struct nb_kind *kind);

/** Its section, as a file has it. */
void
kind_write(FILE *to, const struct nb_kind *kind);

/** Whether a definition that a program made is one. */
NB_MUST_CHECK int
kind_check(const struct nb_kind *kind);

/** Bits 1 << NB_STEP_* of its steps. */
uint32_t
kind_verbs(const struct nb_kind *kind);

/** Most records that an operation of the kind goes to. */
uint32_t
kind_records_max(const struct nb_kind *kind);

/** Bits of verbs that put a value, that change the database, and that go to the whole space. */
enum {
	KIND_PUTS = 1 << NB_STEP_PUT | 1 << NB_STEP_INSERT | 1 << NB_STEP_PUT_IF_NEWER,
	KIND_CHANGES = KIND_PUTS | 1 << NB_STEP_DEL | 1 << NB_STEP_MERGE,
	KIND_SPACE = 1 << NB_STEP_INSERT | 1 << NB_STEP_DEL | 1 << NB_STEP_PREFIX_EMPTY,
};

/** Verbs of all kinds with a share in that group. */
uint32_t
kinds_verbs(const struct nb_job *job, const struct nb_group *group);

/** Sizes of the job's values: counters have 8 bytes. */
const struct nb_sizes *
kinds_sizes(const struct nb_job *job);

/** Whether the records of the job are counters, since some group adds to them. */
bool
kinds_have_counters(const struct nb_job *job);

#endif /* WORKLOAD_KINDS_H */
