/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { GAP = 2 }; /* blanks between columns */

void
table_create(struct table *table, const struct table_column *columns, size_t column_count)
{
	*table = (struct table){.columns = columns, .column_count = column_count};
}

void
table_destroy(struct table *table)
{
	for (size_t i = 0; i < table->cell_count; i++)
		free(table->cells[i]);
	free(table->cells);
	*table = (struct table){0};
}

static int
make_room(struct table *table)
{
	if (table->cell_count + table->column_count <= table->cell_room)
		return NB_OK;
	size_t room = 2 * table->cell_room + table->column_count;
	char **cells = realloc(table->cells, room * sizeof(cells[0]));
	if (cells == NULL)
		return error_system("memory for a table");
	table->cells = cells;
	table->cell_room = room;
	return NB_OK;
}

int
table_add(struct table *table, const char *const *texts)
{
	int rc = make_room(table);
	if (rc != NB_OK)
		return rc;
	char **row = table->cells + table->cell_count;
	for (size_t i = 0; i < table->column_count; i++) {
		row[i] = strdup(texts[i] != NULL ? texts[i] : "");
		if (row[i] == NULL) {
			rc = error_system("memory for a table");
			while (i > 0)
				free(row[--i]);
			return rc;
		}
	}
	table->cell_count += table->column_count;
	return NB_OK;
}

/* Characters, that is bytes but for those that continue one. */
static size_t
width_of(const char *text)
{
	size_t width = 0;
	for (; *text != '\0'; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static size_t
column_width(const struct table *table, size_t column)
{
	size_t widest = width_of(table->columns[column].title);
	for (size_t i = column; i < table->cell_count; i += table->column_count) {
		size_t width = width_of(table->cells[i]);
		widest = width > widest ? width : widest;
	}
	return widest;
}

static void
write_blanks(FILE *to, size_t count)
{
	fprintf(to, "%*s", (int)count, "");
}

static void
write_cell(const struct table *table, FILE *to, size_t column, size_t width, const char *text)
{
	size_t padding = width - width_of(text);
	bool is_last = column + 1 == table->column_count;
	if (table->columns[column].is_right)
		write_blanks(to, padding);
	fputs(text, to);
	if (is_last)
		fputc('\n', to);
	else
		write_blanks(to, (table->columns[column].is_right ? 0 : padding) + GAP);
}

int
table_write(const struct table *table, FILE *to)
{
	size_t *widths = calloc(table->column_count + 1, sizeof(widths[0]));
	if (widths == NULL)
		return error_system("memory for a table");
	for (size_t i = 0; i < table->column_count; i++)
		widths[i] = column_width(table, i);
	for (size_t i = 0; i < table->column_count; i++)
		write_cell(table, to, i, widths[i], table->columns[i].title);
	for (size_t i = 0; i < table->cell_count; i++) {
		size_t column = i % table->column_count;
		write_cell(table, to, column, widths[column], table->cells[i]);
	}
	free(widths);
	return fflush(to) == 0 && !ferror(to) ? NB_OK : error_system("cannot write a table");
}

int
table_text(const struct table *table, char **out)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	if (stream == NULL)
		return error_system("memory for a table");
	int rc = table_write(table, stream);
	if (fclose(stream) != 0 && rc == NB_OK)
		rc = error_system("memory for a table");
	if (rc == NB_OK)
		*out = text;
	else
		free(text);
	return rc;
}
