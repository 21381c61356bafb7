/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_NOTE_H
#define REPORT_NOTE_H
/**
 * The rules that add notes to a result. A note is one sentence with its figure and, if
 * possible, a remedy. Its id is one of nb_note_kinds().
 */
#include <stdbool.h>

#include <mininb/results.h>

#include "report/result.h"

/** The weight of that kind of note: "serious" or "usual", also for unknown kinds. */
const char *
note_weight(const char *id);

/**
 * Add a note of at most 511 bytes; see result_add_note(). If memory runs out, log a warning
 * instead.
 */
void
note_add(struct nb_result *result, bool is_of_job, const char *id, const char *fmt, ...)
	NB_PRINTF(4, 5);

/* Add the notes that apply; result_add_notes() calls all of them in this order. */
void
notes_of_claims(struct nb_result *result); /* durability_audit.c */
void
notes_of_cache(struct nb_result *result); /* notes_cache.c */
void
notes_of_machine(struct nb_result *result); /* notes_machine.c */
void
notes_of_job(struct nb_result *result); /* job_notes.c */

/** Add a note if a thread that only sleeps woke up so late that operations would have stalled. */
void
note_hiccups(struct nb_result *result);

/** Whether the engine has the capability NB_CAP_*. */
static inline bool
note_has_cap(const struct nb_result *result, uint32_t cap)
{
	return (result->engine.caps & cap) != 0;
}

/** Whether the run is a get, or a job that only reads. */
static inline bool
note_is_read(const struct nb_result *result)
{
	return result->workload.verb == NB_VERB_GET;
}

#endif /* REPORT_NOTE_H */
