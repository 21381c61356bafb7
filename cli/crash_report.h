/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_CRASH_REPORT_H
#define CLI_CRASH_REPORT_H
/** Findings of crash tests, as text and as JSON. */
#include <stdbool.h>
#include <stdio.h>

#include <mininb/mininb.h>

struct options;

/** Own options of crash. */
struct crash_own {
	uint64_t rounds, ops, moment, states, file_system;
	const char *keep, *again;
	bool is_power;
};
extern struct crash_own crash_own;

enum { CRASH_LABEL = 13 };

/** A row for each engine and level; the three arrays have the same length. */
struct crash_rows {
	const struct options *options;
	struct nb_crash_row *items;
	struct nb_crash_tally *tallies;
	char (*labels)[CRASH_LABEL]; /* the engine; for two builds of one engine "leveldb#2" */
	size_t count;
};

/** For nb_crash_report_fn; `to` is a struct nb_crash_row. */
void
crash_row_take(void *to, const struct nb_crash_finding *finding);

void
crash_print_titles(FILE *out);

void
crash_print_row(FILE *out, const struct nb_crash_row *row, const char *label);

/** Prints each finding and the verdict, below the table. */
void
crash_print_findings(FILE *out, const struct crash_rows *rows);

/** Prints only the findings of a row, for a kept database. */
void
crash_print_found(FILE *out, const struct crash_rows *rows, size_t row);

/** Returns an exit status; a failure was reported. "-" is stdout. */
int
crash_write_json(const char *path, const struct crash_rows *rows);

#endif /* CLI_CRASH_REPORT_H */
