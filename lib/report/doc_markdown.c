/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Documents as GitHub Flavored Markdown (Spec 0.29), readable as plain text, too.
 * Characters are escaped only where they could be markup: an underscore between letters is
 * not (section 6.4).
 */
#include <ctype.h>
#include <string.h>

#include "report/doc.h"

static bool
is_word(char c)
{
	return isalnum((unsigned char)c) != 0 || (unsigned char)c >= 0x80;
}

/** Whether the character at `at` could begin or end markup. */
static bool
is_markup(const char *text, const char *at)
{
	if (*at == '_')
		return at == text || !is_word(at[-1]) || !is_word(at[1]);
	if (at == text && strchr("#+-=", *at) != NULL)
		return true;
	return strchr("\\`*[]<>|~&", *at) != NULL;
}

/** Write a text on one line. With out == NULL, only count. Returns the width. */
static size_t
write_text(const char *text, FILE *out)
{
	size_t escapes = 0;
	for (const char *at = text; *at != '\0'; at++) {
		bool is_escaped = (unsigned char)*at >= ' ' && is_markup(text, at);
		escapes += is_escaped;
		if (is_escaped && out != NULL)
			fputc('\\', out);
		if (out != NULL)
			fputc((unsigned char)*at < ' ' ? ' ' : *at, out);
	}
	return doc_width(text) + escapes;
}

/** The longest sequence of backquotes. */
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
repeat(char c, size_t times, FILE *out)
{
	while (times-- > 0)
		fputc(c, out);
}

static void
write_code(const char *text, FILE *out)
{
	size_t fence = longest_run(text) + 1;
	repeat('`', fence, out);
	/* blanks beside the fence are not part of the text (section 6.3) */
	if (fence > 1)
		fputc(' ', out);
	for (const char *at = text; *at != '\0'; at++)
		fputc((unsigned char)*at < ' ' ? ' ' : *at, out);
	if (fence > 1)
		fputc(' ', out);
	repeat('`', fence, out);
}

/** Write a code block of several lines. */
static void
write_block(const struct doc_item *item, FILE *out)
{
	const char *text = item->text;
	size_t fence = longest_run(text) + 1, length = strlen(text);
	fence = fence < 3 ? 3 : fence;
	repeat('`', fence, out);
	fprintf(out, "\n%s%s", text, length > 0 && text[length - 1] == '\n' ? "" : "\n");
	repeat('`', fence, out);
}

static void
write_fold(const struct doc_item *item, FILE *out)
{
	fprintf(out, "\n<details>\n<summary>%s</summary>\n", item->text);
}

static void
write_unfold(const struct doc_item *item, FILE *out)
{
	(void)item;
	fputs("\n</details>", out);
}

/* ---- tables ---- */

/**
 * The width of a column, at least 3, the dashes below its title; 0: all its cells are
 * empty.
 */
static size_t
column_width(const struct doc_item *table, size_t column)
{
	size_t widest = 0, title = doc_width(table[1 + column].text);
	for (size_t i = column + table->columns; i < table->cells; i += table->columns) {
		size_t width = write_text(table[1 + i].text, NULL);
		widest = width > widest ? width : widest;
	}
	if (widest == 0)
		return 0;
	widest = widest > title ? widest : title;
	return widest > 3 ? widest : 3;
}

static bool
is_right(const struct doc_item *table, size_t column)
{
	return (table->right >> column & 1) != 0;
}

/** Write the dashes below the titles. */
static void
write_rule(const struct doc_item *table, const size_t *widths, FILE *out)
{
	for (size_t i = 0; i < table->columns; i++) {
		bool is_plain = (table->flags & DOC_PLAIN) != 0;
		if (widths[i] == 0)
			continue;
		fputs("| ", out);
		repeat('-', is_right(table, i) && !is_plain ? widths[i] - 1 : widths[i], out);
		fputs(is_right(table, i) ? ": " : " ", out);
	}
	fputs("|\n", out);
}

static void
write_row(const struct doc_item *table, size_t first, const size_t *widths, FILE *out)
{
	for (size_t i = 0; i < table->columns; i++) {
		const char *text = table[1 + first + i].text;
		bool is_plain = (table->flags & DOC_PLAIN) != 0;
		size_t blanks = is_plain ? 0 : widths[i] - write_text(text, NULL);
		if (widths[i] == 0)
			continue;
		fputs("| ", out);
		repeat(' ', is_right(table, i) ? blanks : 0, out);
		if (is_plain)
			fputs(text, out);
		else
			write_text(text, out);
		repeat(' ', is_right(table, i) ? 1 : blanks + 1, out);
	}
	fputs("|\n", out);
}

static void
write_table(const struct doc_item *table, FILE *out)
{
	size_t widths[DOC_COLUMNS];
	bool is_plain = (table->flags & DOC_PLAIN) != 0;
	if (table->cells <= table->columns && !is_plain)
		return;
	fputs((table->flags & DOC_APART) != 0 ? "\n" : "", out);
	for (size_t i = 0; i < table->columns; i++)
		widths[i] = is_plain ? 3 : column_width(table, i);
	for (size_t i = 0; i < table->cells; i += table->columns) {
		write_row(table, i, widths, out);
		if (i == 0)
			write_rule(table, widths, out);
	}
}

/* ---- items ---- */

static void
write_line(const struct doc_item *item, FILE *out)
{
	fprintf(out, "- **%s**%s", item->label, item->of != NULL ? " of " : "");
	write_text(item->of != NULL ? item->of : "", out);
	fputs(": ", out);
	write_text(item->text, out);
}

static void
write_bullet(const struct doc_item *item, FILE *out)
{
	fputs("- ", out);
	if (item->text[0] != '\0')
		write_code(item->text, out);
	fputs(item->label[0] != '\0' && item->text[0] != '\0' ? ": " : "", out);
	write_text(item->label, out);
}

static void
write_heading(const struct doc_item *item, FILE *out)
{
	fprintf(out, "%s%s ", item->label[1] != '\0' ? "\n" : "", item->label);
	write_text(item->text, out);
	fputc('\n', out);
}

static void
write_paragraph(const struct doc_item *item, FILE *out)
{
	write_text(item->text, out);
	if (item->of != NULL)
		write_code(item->of, out);
	write_text(item->label, out);
}

/** Write a text without escaping, and replace each run of blanks by one blank. */
static void
write_words(const struct doc_item *item, FILE *out)
{
	fputs(item->label, out);
	for (const char *text = item->text; *text != '\0'; text += strspn(text, " ")) {
		size_t length = strcspn(text, " ");
		fprintf(out, "%s%.*s", text > item->text ? " " : "", (int)length, text);
		text += length;
	}
}

void
doc_markdown_item(const struct doc_item *item, FILE *out)
{
	static void (*const writers[])(const struct doc_item *item, FILE *out) = {
		[DOC_HEADING] = write_heading,
		[DOC_LINE] = write_line,
		[DOC_BULLET] = write_bullet,
		[DOC_PARAGRAPH] = write_paragraph,
		[DOC_WRAPPED] = write_words,
		[DOC_BLOCK] = write_block,
		[DOC_FOLD] = write_fold,
		[DOC_UNFOLD] = write_unfold,
		[DOC_GAP] = write_paragraph,
		[DOC_TABLE] = write_table};
	writers[item->kind](item, out);
	fputs(item->kind == DOC_TABLE ? "" : "\n", out);
}
