/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_CSV_H
#define REPORT_CSV_H
/**
 * Writes a line of CSV by RFC 4180, except that lines end in LF alone. Texts are quoted
 * where necessary. An unknown value is an empty field.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct csv {
	FILE *out;
	bool is_begun; /* the line has at least one field */
};

void
csv_text(struct csv *csv, const char *text);

void
csv_count(struct csv *csv, uint64_t count);

/** Write a number with 15 significant digits. */
void
csv_real(struct csv *csv, double value);

/** Like csv_real(), but 0 means unknown and writes an empty field. */
void
csv_known(struct csv *csv, double value);

void
csv_empty(struct csv *csv);

void
csv_end(struct csv *csv);

#endif /* REPORT_CSV_H */
