/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_CSV_H
#define REPORT_CSV_H
/**
 * A line of CSV by RFC 4180, except that lines end in LF alone. Texts are quoted if they need it.
 * A field that is not known is empty.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct csv {
	FILE *out;
	bool is_begun; /* the line has a field */
};

void
csv_text(struct csv *csv, const char *text);

void
csv_count(struct csv *csv, uint64_t count);

/** 15 significant digits. */
void
csv_real(struct csv *csv, double value);

/** As that with an empty field for 0, which says that it is not known. */
void
csv_known(struct csv *csv, double value);

void
csv_empty(struct csv *csv);

void
csv_end(struct csv *csv);

#endif /* REPORT_CSV_H */
