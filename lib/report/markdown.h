/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_MARKDOWN_H
#define REPORT_MARKDOWN_H
/**
 * Pieces of a page in GitHub's Markdown that read well as plain text, too: tables whose
 * columns are aligned, and texts that cannot be taken for markup.
 */
#include <stdbool.h>
#include <stdio.h>

#include <mininb/mininb.h>

/** Text as it is, on one line. */
void
markdown_text(FILE *out, const char *text);

/** A span of code, whatever backquotes are in it. */
void
markdown_code(FILE *out, const char *text);

/** A block of code of several lines, likewise. */
void
markdown_block(FILE *out, const char *text);

struct markdown_column {
	const char *title;
	bool is_right; /* numbers */
};

/** Belongs to whoever declared it; `columns` must outlive it. */
struct markdown_table {
	const struct markdown_column *columns;
	size_t column_count;
	char **cells; /* row after row, escaped; owned */
	size_t cell_count, cell_room;
};

void
markdown_table_create(struct markdown_table *table, const struct markdown_column *columns,
	size_t column_count);

/** Append a row of as many texts as there are columns, copied; NULL is an empty one. */
NB_MUST_CHECK int
markdown_table_add(struct markdown_table *table, const char *const *texts);

/** Write it, without the columns that are empty in all rows; nothing if there are no rows. */
void
markdown_table_write(const struct markdown_table *table, FILE *out);

void
markdown_table_destroy(struct markdown_table *table);

#endif /* REPORT_MARKDOWN_H */
