/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef JOB_TEXT_H
#define JOB_TEXT_H
/**
 * Jobs made from texts. Each text is written to my.ini in the scratch directory and read back.
 */
#include <stdbool.h>
#include <string.h>

#include <mininb/mininb.h>

#include "scratch.h"
#include "unit.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static inline int
job_try_text(struct nb_job **out, const char *text)
{
	file_put("my.ini", text, strlen(text));
	return nb_job_read(out, "my.ini");
}

/** To be given to nb_job_delete(). */
static inline struct nb_job *
job_of_text(const char *text)
{
	struct nb_job *job = NULL;
	ck_assert_msg(job_try_text(&job, text) == NB_OK, "%s", nb_error_text());
	return job;
}

static inline void
job_set(struct nb_job *job, const char *assignment)
{
	ck_assert_msg(nb_job_set(job, assignment) == NB_OK, "%s", nb_error_text());
}

static inline void
assert_usage(int rc, const char *why)
{
	ck_assert_msg(rc == NB_ERR_USAGE, "returned %d, not '%s'", rc, why);
	ck_assert_str_eq(nb_error_text(), why);
}

#endif /* JOB_TEXT_H */
