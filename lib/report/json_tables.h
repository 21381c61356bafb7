/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_JSON_TABLES_H
#define REPORT_JSON_TABLES_H
/**
 * The tables that name each member of a record in a result file. For a new member of a
 * structure, add a row to its table; extra/schema/schema.c makes the schema from the
 * tables.
 */
#include "report/json_fields.h"
#include "report/record.h"

/** Limits for the lists of a document, so that a bad file cannot exhaust memory. */
enum {
	JSON_RESULTS_MAX = 1 << 16,
	JSON_LIST_MAX = 1 << 20, /* threads, intervals, points, words, options, counters */
	JSON_SAMPLES_MAX = 16 * SERIES_SAMPLES_MAX,
	JSON_PULSES_MAX = 16 * SERIES_PULSES_MAX,
};

extern const struct json_names json_verbs; /* NB_VERB_* */
extern const struct json_names json_kinds; /* NB_OP_* */

extern const struct json_field json_head_fields[];    /* struct nb_results */
extern const struct json_field json_command_fields[]; /* struct record_command */
extern const struct json_field json_sweep_fields[];   /* struct record_sweep */
extern const struct json_field
	json_record_fields[]; /* struct record: members of every record */
extern const struct json_field json_result_fields[]; /* struct nb_result */
extern const struct json_field json_option_fields[]; /* struct result_option */
extern const struct json_field json_engine_fields[]; /* struct nb_result */
extern const struct json_field json_environment_fields[];
extern const struct json_field json_residency_fields[];
extern const struct json_field json_thread_fields[];
extern const struct json_field json_measurement_fields[];
extern const struct json_field json_system_fields[]; /* struct system_counts */
extern const struct json_field json_level_fields[];  /* struct system_levels */
extern const struct json_field json_counter_fields[];
extern const struct json_field json_series_fields[];
extern const struct json_field json_sample_fields[];
extern const struct json_field json_latency_fields[];
extern const struct json_field json_job_fields[];   /* struct nb_result */
extern const struct json_field json_group_fields[]; /* struct job_result_group */
extern const struct json_field json_kind_fields[];  /* struct job_kind */

#endif /* REPORT_JSON_TABLES_H */
