/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_NOTE_H
#define REPORT_NOTE_H
/**
 * Notes from inside: rules that look at a result. A note is one sentence with its figure and,
 * where there is one, the remedy.
 */
#include <stdbool.h>

#include <mininb/results.h>

#include "report/result.h"

enum { NOTE_SIZE = 512 };

enum note_weight { USUAL, SERIOUS };

/** What a kind of note means, and what to do about it. */
struct note_row {
	struct nb_note_kind kind;
	enum note_weight weight;
	const char *how; /* NULL: `kind` says all */
};

/** Ended by a NULL id. */
extern const struct note_row note_rows[];

/** How grave notes of that kind are: "serious" or "usual", also of kinds not known here. */
const char *
note_weight(const char *id);

/** Writes the sentence, of NOTE_SIZE at most, or leaves `note` empty. */
typedef void (*note_fn)(const struct nb_result *result, char *note);

struct note_rule {
	const char *id; /* one of nb_note_kinds() */
	note_fn write;
};

/* Each ended by a NULL id. */
extern const struct note_rule notes_of_cache[];   /* notes_cache.c */
extern const struct note_rule notes_of_machine[]; /* notes_machine.c */
extern const struct note_rule notes_of_claims[];  /* claims.c */

void
note_write(char *note, const char *fmt, ...) NB_PRINTF(2, 3);

/** Whether the engine has that NB_CAP_*. */
bool
note_has_cap(const struct nb_result *result, uint32_t cap);

/** Of a thread that only sleeps: that it woke up so late that the same would be a stall. */
void
note_hiccups(const struct nb_histogram *hiccups, char *note);

/** A get, or a job that only reads. */
bool
note_is_read(const struct nb_result *result);

#endif /* REPORT_NOTE_H */
