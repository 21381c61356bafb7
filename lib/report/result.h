/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_RESULT_H
#define REPORT_RESULT_H
/** A result from inside: plain data, for those who write it. */
#include <stdbool.h>

#include <mininb/mininb.h>

#include "run/run.h"

/** An option of the engine as it was in force. Both texts owned. */
struct result_option {
	char *name, *value;
};

/** Why the numbers may be wrong. */
struct result_note {
	char id[24]; /* "closed-loop": stays the same, whatever the text says */
	char *text;  /* owned */
};

/**
 * All that a writer may tell. The texts of engine's table are the plugin's, which stays in
 * memory, or of a result that was read, its own; then it has no verbs.
 */
struct nb_result {
	struct nb_engine engine;
	char *engine_path;
	const char *engine_version;
	const char *version; /* of mininb */
	bool has_counters;   /* the engine can tell some */
	char **texts;        /* that those of the engine are, read from a file; owned */
	size_t text_count;
	struct result_option *options;
	size_t option_count;
	struct nb_workload workload; /* its keys_path owned */
	uint32_t threads, durability, settle, flags;
	bool is_auto_durability;
	bool is_paced; /* operations were due at their own time: no closed loop */
	bool is_bound_by_time;
	bool is_of_processes; /* whose own use of CPU and memory is not known */
	uint64_t cache_bytes;
	double verify_rate;
	struct keys_facts keys;
	uint64_t digest;
	struct clock clock;
	struct sysinfo sysinfo;
	struct environment environment;
	struct measurement measured; /* its histogram and counters owned */
	struct engine_warnings warnings;
	struct result_note *notes; /* owned */
	size_t note_count;
};

/** nb_result_new() without the notes. */
NB_MUST_CHECK int
result_take(struct nb_result **out, const struct nb_run *run);

/** Fill in notes from all the rest. */
NB_MUST_CHECK int
result_add_notes(struct nb_result *result);

/**
 * Percent of the machine's CPU time that other processes used, and that a hypervisor kept
 * back, while the operations ran. Below 0: not known, as of a run of less than 200 ms.
 */
double
result_taken_percent(const struct nb_result *result);

/** Remove the notes of that identifier, if there are any. */
void
result_remove_note(struct nb_result *result, const char *id);

/* Parts of the text that reports of all kinds have (report_text.c). */

/** A result may be somebody else's: control characters, which a terminal obeys, become '?'. */
void
report_clean(char *text);

/** "name              : text", clean. */
void
report_line(FILE *out, const char *name, const char *fmt, ...) NB_PRINTF(3, 4);

struct record;

/** Durability, cache, CPU, what was used of the system, clock, digest. */
void
report_conditions(const struct record *record, FILE *out);

/** Resident memory (report_usage.c). */
void
report_memory(const struct nb_result *result, FILE *out);

/** What else was used of the system, and when the run stood still (report_usage.c). */
void
report_usage(const struct record *record, FILE *out);

/** The engine with its options and counters, and the notes. */
void
report_origin(const struct nb_result *result, FILE *out);

/** What of the database was in memory, as far as that is known (report_cache.c). */
void
report_cache_state(const struct nb_result *result, FILE *out);

/** Calls of all kinds that have made data durable (claims.c); only if SYSTEM_SYNCS is known. */
uint64_t
result_syncs(const struct system_counts *counts);

/**
 * Writes of a run at `commit` that were acknowledged before they can have been durable: at
 * least so many. 0 where that cannot be told.
 */
uint64_t
result_unsynced(const struct nb_result *result);

/** "2000 fdatasync, 1 per write; ..."; empty: there is nothing to tell. */
void
result_syncs_text(const struct nb_result *result, char *text, size_t size);

/** What the engine has counted (report_counters.c). */
void
report_counters(const struct nb_result *result, FILE *out);

/** Bytes of all keys and values that were read or written. */
uint64_t
result_bytes(const struct nb_result *result);

/** `count` in `ns` as a rate; 0 if no time has passed. */
double
result_rate(double count, uint64_t ns);

#endif /* REPORT_RESULT_H */
