/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_JSON_CUSTOM_H
#define REPORT_JSON_CUSTOM_H
/** Members of json_tables.c that are written, read or checked by functions of their own. */
#include "report/json_fields.h"

/** Of a latency: its histogram can be decoded. */
void
json_check_hdr(struct json_reader *reader, const void *into);

/** Of a series: its samples have no more counters than names. */
void
json_check_series(struct json_reader *reader, const void *into);

/** What is derived is not read. */
void
json_read_nothing(struct json_reader *reader, const json_t *json, void *into);

/** Throughput of a group. */
json_t *
json_write_rate(struct json_writer *writer, const void *from);

/** Weight of a note. */
json_t *
json_write_weight(struct json_writer *writer, const void *from);

/** Names of the job's own kinds. */
json_t *
json_write_kinds(struct json_writer *writer, const void *from);

void
json_read_kinds(struct json_reader *reader, const json_t *json, void *into);

/** The kinds of operations that there were, of a group. */
json_t *
json_write_operations(struct json_writer *writer, const void *from);

void
json_read_operations(struct json_reader *reader, const json_t *json, void *into);

/** Key of a finding. */
json_t *
json_write_case_key(struct json_writer *writer, const void *from);

void
json_read_case_key(struct json_reader *reader, const json_t *json, void *into);

/** Sweep of a record, or null. */
json_t *
json_write_sweep(struct json_writer *writer, const void *from);

void
json_read_sweep(struct json_reader *reader, const json_t *json, void *into);

#endif /* REPORT_JSON_CUSTOM_H */
