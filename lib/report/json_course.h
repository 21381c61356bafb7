/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_JSON_COURSE_H
#define REPORT_JSON_COURSE_H
/**
 * Parts of a record that are more than a table: a run over time, the operations of a group.
 * Each pair is that of a json_field, and sees the structure that the table is of.
 */
#include "report/json_fields.h"

extern const struct json_field json_system_fields[]; /* struct system_counts */
extern const struct json_field json_latency_fields[];
extern const struct json_field json_sample_fields[];
extern const struct json_field json_level_fields[];   /* struct system_levels */
extern const struct json_field json_counter_fields[]; /* struct counter */
extern const struct json_field json_series_fields[];  /* struct series */

/** Of struct measurement. */
json_t *
json_write_series(struct json_writer *writer, const void *from);
int
json_read_series(struct json_reader *reader, const json_t *json, void *into);

/** Of struct job_result_group: an array of those kinds of operations that there were. */
json_t *
json_write_operations(struct json_writer *writer, const void *from);
int
json_read_operations(struct json_reader *reader, const json_t *json, void *into);

/** Of struct job_case: its first bytes, in hexadecimal. */
json_t *
json_write_case_key(struct json_writer *writer, const void *from);
int
json_read_case_key(struct json_reader *reader, const json_t *json, void *into);

#endif /* REPORT_JSON_COURSE_H */
