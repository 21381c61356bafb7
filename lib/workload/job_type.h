/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Types of job keys: common functions, and the functions of the types in job_law.c. Each type
 * parses a text into a field of `object`, a job or a group, and writes it back.
 */
#ifndef WORKLOAD_JOB_TYPE_H
#define WORKLOAD_JOB_TYPE_H

#include <stdio.h>

#include "workload/job.h"

/* ---- for every type ---- */

/** Read a field of 32 or 64 bits. */
uint64_t
job_load(const struct job_key *key, const void *object);

/** Check the key's range; NB_ERR_USAGE, with `text` as the typed value. */
NB_MUST_CHECK int
job_check_number(const struct job_key *key, uint64_t number, const char *text);

NB_MUST_CHECK int
job_parse_number(uint64_t *out, const struct job_key *key, const char *text);

NB_MUST_CHECK int
job_number_check(const struct job_key *key, const void *object);

void
job_number_write(FILE *to, const struct job_key *key, const void *object);

void
job_write_real(FILE *to, const char *before, double real);

/** In the largest unit without a fraction. */
void
job_write_duration(FILE *to, uint64_t ns);

/** NULL clears it. */
NB_MUST_CHECK int
job_replace_text(char **field, const char *text);

/** Set group->arrivals from arrivals_asked and the rate. */
void
job_settle_arrivals(struct nb_group *group);

/* ---- shares and laws ---- */

NB_MUST_CHECK int
job_share_set(const struct job_key *key, void *object, const char *text);

void
job_share_write(FILE *to, const struct job_key *key, const void *object);

NB_MUST_CHECK int
job_sizes_set(const struct job_key *key, void *object, const char *text);

void
job_sizes_write(FILE *to, const struct job_key *key, const void *object);

NB_MUST_CHECK int
job_degree_set(const struct job_key *key, void *object, const char *text);

void
job_degree_write(FILE *to, const struct job_key *key, const void *object);

NB_MUST_CHECK int
job_items_set(const struct job_key *key, void *object, const char *text);

void
job_items_write(FILE *to, const struct job_key *key, const void *object);

NB_MUST_CHECK int
job_items_check(const struct job_key *key, const void *object);

NB_MUST_CHECK int
job_rate_set(const struct job_key *key, void *object, const char *text);

void
job_rate_write(FILE *to, const struct job_key *key, const void *object);

#endif
