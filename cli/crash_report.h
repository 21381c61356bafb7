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

/** One engine at one level. */
struct crash_row {
	char *driver, *engine, *version; /* owned */
	char label[CRASH_LABEL];         /* the engine; of two builds of one, "leveldb#2" */
	uint32_t durability;
	struct nb_crash_tally tally;    /* owned */
	bool is_whole;                  /* all rounds were done */
	struct nb_crash_finding *found; /* with owned texts */
	size_t found_count;
};

struct crash_rows {
	const struct options *options;
	struct crash_row *items;
	size_t count;
};

/** Appends a row of zeros; NULL: out of memory, which was reported. */
struct crash_row *
crash_rows_append(struct crash_rows *rows);

void
crash_rows_destroy(struct crash_rows *rows);

/** For nb_crash_report_fn; `to` is a struct crash_row. */
void
crash_row_take(void *to, const struct nb_crash_finding *finding);

void
crash_print_titles(FILE *out);

void
crash_print_row(FILE *out, const struct crash_row *row);

/** Below the table: each finding, and the verdict. */
void
crash_print_findings(FILE *out, const struct crash_rows *rows);

/** Only the findings, for a kept database. */
void
crash_print_found(FILE *out, const struct crash_rows *rows, const struct crash_row *row);

/** False: the write failed, which was reported. "-" is stdout. */
bool
crash_write_json(const char *path, const struct crash_rows *rows);

#endif /* CLI_CRASH_REPORT_H */
