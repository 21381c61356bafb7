/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_NOTE_H
#define REPORT_NOTE_H
/**
 * Notes from inside: rules that look at a result. A note is one sentence with its figure and,
 * if there is one, the remedy. Its id is one of nb_note_kinds().
 */
#include <stdbool.h>

#include <mininb/results.h>

#include "report/result.h"

/** How grave notes of that kind are: "serious" or "usual", also of kinds not known here. */
const char *
note_weight(const char *id);

/** Add a note of at most 511 bytes; see result_add_note(). If memory runs out, warn instead. */
void
note_add(struct nb_result *result, bool is_of_job, const char *id, const char *fmt, ...)
	NB_PRINTF(4, 5);

/* Add the notes that apply, in this order; result_add_notes() calls all of them. */
void
notes_of_claims(struct nb_result *result); /* claims.c */
void
notes_of_cache(struct nb_result *result); /* notes_cache.c */
void
notes_of_machine(struct nb_result *result); /* notes_machine.c */
void
notes_of_job(struct nb_result *result); /* job_notes.c */

/** Of a thread that only sleeps: that it woke up so late that the same would be a stall. */
void
note_hiccups(struct nb_result *result);

/** Whether the engine has that NB_CAP_*. */
static inline bool
note_has_cap(const struct nb_result *result, uint32_t cap)
{
	return (result->engine.caps & cap) != 0;
}

/** A get, or a job that only reads. */
static inline bool
note_is_read(const struct nb_result *result)
{
	return result->workload.verb == NB_VERB_GET;
}

#endif /* REPORT_NOTE_H */
