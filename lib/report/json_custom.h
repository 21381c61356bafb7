/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_JSON_CUSTOM_H
#define REPORT_JSON_CUSTOM_H
/** Members of json_tables.c that need their own functions to write, read or check. */
#include "report/json_fields.h"

/** Latency: check that its histogram can be decoded. */
void
json_check_hdr(struct json_reader *reader, const void *into);

/** Series: check that no sample has more counters than the series has names. */
void
json_check_series(struct json_reader *reader, const void *into);

/** Derived members: skip them. */
void
json_read_nothing(struct json_reader *reader, const json_t *json, void *into);

/** Group: throughput. */
json_t *
json_write_rate(struct json_writer *writer, const void *from);

/** Note: weight. */
json_t *
json_write_weight(struct json_writer *writer, const void *from);

/** Job: names of its own operation kinds. */
json_t *
json_write_kinds(struct json_writer *writer, const void *from);

void
json_read_kinds(struct json_reader *reader, const json_t *json, void *into);

/** Group: the operation kinds that occurred. */
json_t *
json_write_operations(struct json_writer *writer, const void *from);

void
json_read_operations(struct json_reader *reader, const json_t *json, void *into);

/** Finding: key. */
json_t *
json_write_case_key(struct json_writer *writer, const void *from);

void
json_read_case_key(struct json_reader *reader, const json_t *json, void *into);

/** Record: sweep, or null. */
json_t *
json_write_sweep(struct json_writer *writer, const void *from);

void
json_read_sweep(struct json_reader *reader, const json_t *json, void *into);

#endif /* REPORT_JSON_CUSTOM_H */
