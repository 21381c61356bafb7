/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_CRASH_REPORT_H
#define CLI_CRASH_REPORT_H
/** What crash tests have found, as text and as JSON. */
#include <stdbool.h>
#include <stdio.h>

#include <mininb/mininb.h>

struct options;

struct crash_found {
	uint32_t round, wrong;
	bool is_broken, is_counted;
	char *text, *when, *kept; /* owned; `kept` NULL: it was not */
};

/** One engine at one level. */
struct crash_row {
	char *driver, *engine, *version; /* owned */
	uint32_t durability;
	struct nb_crash_tally tally; /* owned */
	bool is_whole;               /* it was not ended before its time */
	struct crash_found *found;
	size_t found_count;
};

struct crash_rows {
	const struct options *options;
	struct crash_row *items;
	size_t count;
};

/** Append one, all 0; NULL: no memory, which has been said. */
struct crash_row *
crash_rows_append(struct crash_rows *rows);

void
crash_rows_destroy(struct crash_rows *rows);

/** As of nb_crash_report_fn, `to` a struct crash_row. */
void
crash_row_take(void *to, const struct nb_crash_finding *finding);

void
crash_print_titles(FILE *out);

void
crash_print_row(FILE *out, const struct crash_row *row);

/** Below the table: each finding, and what it comes to. */
void
crash_print_findings(FILE *out, const struct crash_rows *rows);

/** Only the findings, of one that was kept. */
void
crash_print_found(FILE *out, const struct crash_rows *rows, const struct crash_row *row);

/** False: it cannot be written, which has been said. "-": stdout. */
bool
crash_write_json(const char *path, const struct crash_rows *rows);

#endif /* CLI_CRASH_REPORT_H */
