/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H
/**
 * A table of plain text: a row of titles, and columns as wide as what they hold,
 * two blanks apart. Rows are kept until they are written, since the last one
 * may be the widest. Text is UTF-8; each character counts as one cell.
 */
#include <stdbool.h>
#include <stdio.h>

#include <mininb/mininb.h>

struct table_column {
	const char *title;
	bool is_right; /* numbers stand at the right edge of their column */
};

/** Belongs to whoever declared it; `columns` must outlive it. */
struct table {
	const struct table_column *columns;
	size_t column_count;
	char **cells; /* row after row */
	size_t cell_count, cell_room;
};

void
table_create(struct table *table, const struct table_column *columns, size_t column_count);

void
table_destroy(struct table *table);

/** Append a row: column_count texts, copied; NULL is an empty one. */
NB_MUST_CHECK int
table_add(struct table *table, const char *const *texts);

/** Write it. Fails if the stream has an error then. */
NB_MUST_CHECK int
table_write(const struct table *table, FILE *to);

/** Write it into a text; *out is yours, to free(). */
NB_MUST_CHECK int
table_text(const struct table *table, char **out);

#endif /* BASE_TABLE_H */
