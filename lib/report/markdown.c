/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Markdown as GitHub reads it (GitHub Flavored Markdown Spec 0.29): characters that could be
 * markup are escaped where they could be it, and only there, since a page is read as plain
 * text as well: an underscore between letters is none (section 6.4).
 */
#include "report/markdown.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static bool
is_word(char c)
{
	return isalnum((unsigned char)c) != 0 || (unsigned char)c >= 0x80;
}

/** Whether the character there could be the begin or the end of something. */
static bool
is_markup(const char *text, const char *at)
{
	if (*at == '_')
		return at == text || !is_word(at[-1]) || !is_word(at[1]);
	if (at == text && strchr("#+-=", *at) != NULL)
		return true;
	return strchr("\\`*[]<>|~&", *at) != NULL;
}

void
markdown_text(FILE *out, const char *text)
{
	for (const char *at = text; *at != '\0'; at++) {
		if ((unsigned char)*at < ' ') {
			fputc(' ', out);
			continue;
		}
		if (is_markup(text, at))
			fputc('\\', out);
		fputc(*at, out);
	}
}

/** Of backquotes in a row. */
static size_t
longest_run(const char *text)
{
	size_t longest = 0;
	for (const char *at = text; *at != '\0'; at++) {
		size_t run = strspn(at, "`");
		longest = run > longest ? run : longest;
		at += run > 0 ? run - 1 : 0;
	}
	return longest;
}

static void
repeat(FILE *out, char c, size_t times)
{
	while (times-- > 0)
		fputc(c, out);
}

void
markdown_code(FILE *out, const char *text)
{
	size_t fence = longest_run(text) + 1;
	repeat(out, '`', fence);
	/* blanks beside the fence are no part of the text (section 6.3) */
	if (fence > 1)
		fputc(' ', out);
	for (const char *at = text; *at != '\0'; at++)
		fputc((unsigned char)*at < ' ' ? ' ' : *at, out);
	if (fence > 1)
		fputc(' ', out);
	repeat(out, '`', fence);
}

void
markdown_block(FILE *out, const char *text)
{
	size_t fence = longest_run(text) + 1, length = strlen(text);
	if (fence < 3)
		fence = 3;
	repeat(out, '`', fence);
	fprintf(out, "\n%s%s", text, length > 0 && text[length - 1] == '\n' ? "" : "\n");
	repeat(out, '`', fence);
	fputc('\n', out);
}

void
markdown_table_create(struct markdown_table *table, const struct markdown_column *columns,
	size_t column_count)
{
	*table = (struct markdown_table){.columns = columns, .column_count = column_count};
}

static char *
escaped(const char *text)
{
	char *copy = NULL;
	size_t size;
	FILE *out = open_memstream(&copy, &size);
	if (out == NULL)
		return NULL;
	markdown_text(out, text);
	if (fclose(out) == 0)
		return copy;
	free(copy);
	return NULL;
}

int
markdown_table_add(struct markdown_table *table, const char *const *texts)
{
	if (table->cell_count + table->column_count > table->cell_room) {
		size_t room = 2 * table->cell_room + 8 * table->column_count;
		char **grown = realloc(table->cells, room * sizeof(*grown));
		if (grown == NULL)
			return error_set(NB_FAIL, "out of memory");
		table->cells = grown;
		table->cell_room = room;
	}
	size_t before = table->cell_count;
	for (size_t i = 0; i < table->column_count; i++) {
		char *cell = escaped(texts[i] != NULL ? texts[i] : "");
		if (cell == NULL) {
			while (table->cell_count > before)
				free(table->cells[--table->cell_count]);
			return error_set(NB_FAIL, "out of memory");
		}
		table->cells[table->cell_count++] = cell;
	}
	return NB_OK;
}

/** In characters of UTF-8. */
static size_t
width_of(const char *text)
{
	size_t width = 0;
	for (; *text != '\0'; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

/** Of a column, at least 3 as the dashes below its title; 0: it is empty. */
static size_t
column_width(const struct markdown_table *table, size_t column)
{
	size_t widest = 0;
	for (size_t i = column; i < table->cell_count; i += table->column_count) {
		size_t width = width_of(table->cells[i]);
		widest = width > widest ? width : widest;
	}
	size_t title = width_of(table->columns[column].title);
	if (widest == 0)
		return 0;
	widest = widest > title ? widest : title;
	return widest > 3 ? widest : 3;
}

static void
write_cell(const char *text, size_t width, bool is_right, FILE *out)
{
	size_t blanks = width - width_of(text);
	fputs("| ", out);
	repeat(out, ' ', is_right ? blanks : 0);
	fputs(text, out);
	repeat(out, ' ', is_right ? 1 : blanks + 1);
}

static void
write_titles(const struct markdown_table *table, FILE *out)
{
	for (size_t i = 0; i < table->column_count; i++) {
		size_t width = column_width(table, i);
		if (width > 0)
			write_cell(table->columns[i].title, width, table->columns[i].is_right,
				out);
	}
	fputs("|\n", out);
	for (size_t i = 0; i < table->column_count; i++) {
		size_t width = column_width(table, i);
		if (width == 0)
			continue;
		fputs("| ", out);
		repeat(out, '-', table->columns[i].is_right ? width - 1 : width);
		fputs(table->columns[i].is_right ? ": " : " ", out);
	}
	fputs("|\n", out);
}

void
markdown_table_write(const struct markdown_table *table, FILE *out)
{
	if (table->cell_count == 0)
		return;
	write_titles(table, out);
	for (size_t i = 0; i < table->cell_count; i++) {
		size_t column = i % table->column_count;
		size_t width = column_width(table, column);
		if (width > 0)
			write_cell(
				table->cells[i], width, table->columns[column].is_right, out);
		if (column == table->column_count - 1)
			fputs("|\n", out);
	}
}

void
markdown_table_destroy(struct markdown_table *table)
{
	for (size_t i = 0; i < table->cell_count; i++)
		free(table->cells[i]);
	free(table->cells);
	*table = (struct markdown_table){0};
}
